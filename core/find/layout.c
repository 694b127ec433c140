#include "core/find/layout.h"

#include "base/text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

enum { PATH_CAP = 4096, MATCH_LIMIT = 100000, MATCH_PAIRS = 32 };

/* The spelling of the id in the path. */
enum spelling {
    PLAIN,
    UNIT,   /* systemd's \xNN escapes */
    POD_ID, /* Kubernetes' systemd driver: '_' for '-' */
};

struct row {
    const char *system;
    unsigned versions;
    enum spelling spelling;
    const char *job, *step;
};

#define V1 BJ_CGROUP_V1
#define V2 BJ_CGROUP_V2
#define SLICES "(?:[^/]+\\.slice/)*"
/* Directories of containers in which a batch system's daemon may run: pods of
 * Kubernetes with both drivers of kubelet, and the containers of Docker,
 * containerd, CRI-O, Podman, LXC and systemd-nspawn. */
#define PODS                                                                   \
    "(?:[^/]*kubepods[^/]*/)+(?:(?:besteffort|burstable|guaranteed)/)?"        \
    "(?:pod[0-9A-Za-z_-]+/)?[^/]+/"
#define ENGINES "docker|libpod|podman|cri-containerd|crio|nerdctl|lxc"
#define IN_CONTAINERS                                                          \
    "(?:" SLICES "(?:" PODS "|(?:" ENGINES ")-[^/]+\\.scope/"                  \
    "|(?:docker|libpod_parent|lxc)/[^/]+/|lxc\\.payload\\.[^/]+/"              \
    "|machine-(?!qemu)[^/]+\\.scope/|systemd-nspawn@[^/]+\\.service/)"         \
    "(?:(?:container|payload|ns)/)?)*"
/* Crockford's base 32, thirteen of them (Slurm src/common/sluid.c). */
#define SLUID "[sS][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{13}"
/* The cgroup hook renames a directory to ID.orphan before it kills what is left
 * in it. */
#define PBS_ID                                                                 \
    "(?<jobid>[0-9]+(?:(?:\\[|\\\\x5b)[0-9]*(?:\\]|\\\\x5d))?\\.[^/]+?)"       \
    "(?:\\.orphan)?"

static const struct row rows[] = {
    {"slurm", V1, PLAIN,
     IN_CONTAINERS
     "slurm(?:_(?<node>[^/]+))?/uid_(?<uid>[0-9]+)/job_(?<jobid>[0-9]+)",
     "step_(?<step>[^/]+)(?:/task_(?<task>[^/]+))?"},
    {"slurm", V2, PLAIN,
     IN_CONTAINERS SLICES "(?:(?<node>[^/]+)_)?slurmstepd\\.scope/"
                          "(?:job_(?<jobid>[0-9]+)|(?<sluid>" SLUID "))",
     "step_(?<step>[^/]+)(?:/user/task_(?<task>[^/]+))?"},
    {"pbs", V1, UNIT,
     IN_CONTAINERS SLICES "pbs[^/]*(?:\\.service|\\.slice)?/(?:jobid/)?" PBS_ID,
     NULL},
    {"pbs", V2, UNIT,
     IN_CONTAINERS SLICES "pbs[^/]*\\.service/jobs?(?:id)?/" PBS_ID, NULL},
    {"lsf", V1 | V2, PLAIN,
     IN_CONTAINERS SLICES "lsf/[^/]+/job\\.(?<jobid>[0-9]+(?:\\[[0-9]+\\])?)"
                          "\\.[0-9]+\\.[0-9]+",
     NULL},
    {"oar", V1 | V2, PLAIN, IN_CONTAINERS "oar/(?<user>[^/]+)_(?<jobid>[0-9]+)",
     NULL},
    /* No job id in the path: the resolver reads the job ad. */
    {"htcondor", V1 | V2, PLAIN,
     IN_CONTAINERS SLICES "(?:htcondor|condor\\.service)/(?:[^/]*/)?"
                          "condor_[^/]*slot[^/]*",
     NULL},
    {"kubernetes", V1 | V2, POD_ID,
     "(?:kubelet\\.slice/)?(?:kubelet-)?kubepods\\.slice/"
     "(?:(?:kubelet-)?kubepods-[a-z]+\\.slice/)?"
     "(?:kubelet-)?kubepods-(?:[a-z]+-)?pod(?<jobid>[0-9A-Za-z_]+)\\.slice",
     NULL},
    {"kubernetes", V1 | V2, PLAIN,
     "kubepods/(?:(?:besteffort|burstable|guaranteed)/)?"
     "pod(?<jobid>[0-9A-Za-z-]+)",
     NULL},
    {"libvirt", V1 | V2, UNIT,
     "machine(?:\\.slice)?/(?:[^/]+\\.partition/)*machine-"
     "(?:qemu\\\\x2d[0-9]+\\\\x2d|lxc\\\\x2d[0-9]+\\\\x2d)(?<jobid>[^/]+)"
     "\\.scope",
     NULL},
};
enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

/* Named groups, and the fields that they fill. */
static const struct {
    const char *name;
    int field; /* of bj_path_match.f; -1 step, -2 task */
} groups[] = {
    {"jobid", BJ_ID_JOBID}, {"sluid", BJ_ID_SLUID}, {"node", BJ_ID_NODE},
    {"uid", BJ_ID_UID},     {"user", BJ_ID_USER},   {"step", -1},
    {"task", -2},
};
enum { NGROUPS = sizeof(groups) / sizeof(groups[0]) };

struct regex {
    pcre2_code *code;
    pcre2_match_data *match;     /* borrowed; shared by all expressions */
    pcre2_match_context *limits; /* likewise */
    int group[NGROUPS]; /* number of the group; 0: the expression has none */
};

struct bj_layout {
    char *system;
    unsigned versions;
    enum spelling spelling;
    struct regex job, step;
};

struct bj_layouts {
    pcre2_match_data *match;
    pcre2_match_context *limits;
    size_t n;
    struct bj_layout v[];
};

static int regex_new(struct regex *r, const struct bj_layouts *all,
                     const char *text, struct bj_err *err)
{
    struct bj_buf anchored = {0};
    bj_buf_printf(&anchored, "^(?:%s)$", text);
    if (anchored.failed) {
        bj_buf_free(&anchored);
        return bj_err_set(err, -ENOMEM, "compile a pattern");
    }
    int code;
    PCRE2_SIZE at;
    r->code = pcre2_compile((PCRE2_SPTR)anchored.p, anchored.len,
                            PCRE2_DOLLAR_ENDONLY, &code, &at, NULL);
    bj_buf_free(&anchored);
    if (!r->code) {
        unsigned char why[128];
        pcre2_get_error_message(code, why, sizeof(why));
        size_t n = strlen(text), pos = at > 4 ? at - 4 : 0; /* without "^(?:" */
        return bj_err_set(err, -EINVAL, "at character %zu of '%s': %s",
                          pos < n ? pos : n, text, (char *)why);
    }
    r->match = all->match;
    r->limits = all->limits;
    for (int i = 0; i < NGROUPS; i++) {
        int n = pcre2_substring_number_from_name(r->code,
                                                 (PCRE2_SPTR)groups[i].name);
        r->group[i] = n > 0 ? n : 0;
    }
    return 0;
}

/* Match, and determine whether a path below this one could match. */
static unsigned regex_kind(const struct regex *r, const char *path, size_t n)
{
    unsigned kind = BJ_PATH_OTHER;
    char below[PATH_CAP];
    if (n + 1 > sizeof(below))
        return kind;
    memcpy(below, path, n);
    below[n] = '/';
    if (pcre2_match(r->code, (PCRE2_SPTR)below, n + 1, 0, PCRE2_PARTIAL_HARD,
                    r->match, r->limits) == PCRE2_ERROR_PARTIAL)
        kind |= BJ_PATH_INNER;
    /* 0: matched, with more groups than fit. */
    if (pcre2_match(r->code, (PCRE2_SPTR)path, n, 0, 0, r->match, r->limits) >=
        0)
        kind |= BJ_PATH_HIT;
    return kind;
}

static void regex_fields(const struct regex *r, const char *path,
                         struct bj_path_match *ret)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->match);
    for (int i = 0; i < NGROUPS; i++) {
        size_t g = (size_t)r->group[i];
        if (g == 0 || g >= MATCH_PAIRS || at[2 * g] == PCRE2_UNSET)
            continue;
        struct bj_slice s = {path + at[2 * g], at[2 * g + 1] - at[2 * g]};
        if (groups[i].field == -1)
            ret->step = s;
        else if (groups[i].field == -2)
            ret->task = s;
        else
            ret->f[groups[i].field] = s;
    }
}

static void respell(enum spelling spelling, struct bj_path_match *m)
{
    struct bj_slice *id = &m->f[BJ_ID_JOBID];
    if (spelling == PLAIN || id->n >= sizeof(m->buf))
        return;
    size_t n = bj_text_unescape_unit(*id, m->buf, sizeof(m->buf));
    for (size_t i = 0; spelling == POD_ID && i < n; i++)
        if (m->buf[i] == '_')
            m->buf[i] = '-';
    *id = (struct bj_slice){m->buf, n};
}

/* Fill *ret from the last match of that layout. */
static void take_match(const struct bj_layout *lay, const char *path,
                       struct bj_path_match *ret)
{
    memset(ret->f, 0, sizeof(ret->f));
    ret->step = ret->task = (struct bj_slice){0};
    regex_fields(&lay->job, path, ret);
    respell(lay->spelling, ret);
    ret->layout = lay;
    ret->f[BJ_ID_SYSTEM] = bj_slice_str(lay->system);
}

unsigned bj_layouts_job(const struct bj_layouts *l, unsigned version,
                        const char *path, struct bj_path_match *ret)
{
    unsigned kind = BJ_PATH_OTHER;
    size_t n = strlen(path);
    ret->layout = NULL;
    for (size_t i = 0; i < l->n; i++) {
        const struct bj_layout *lay = &l->v[i];
        /* Jobs of one system do not contain each other. */
        if (!(lay->versions & version) ||
            (ret->layout && strcmp(lay->system, ret->layout->system) == 0))
            continue;
        unsigned k = regex_kind(&lay->job, path, n);
        if ((k & BJ_PATH_HIT) && !ret->layout) {
            take_match(lay, path, ret);
            kind = BJ_PATH_HIT; /* of the layouts before, too */
            i = SIZE_MAX;       /* from the first one */
            continue;
        }
        kind |= k & BJ_PATH_INNER;
    }
    return kind;
}

unsigned bj_layout_step(const struct bj_layout *l, const char *path,
                        struct bj_path_match *ret)
{
    if (!l->step.code)
        return BJ_PATH_OTHER;
    unsigned kind = regex_kind(&l->step, path, strlen(path));
    if (kind & BJ_PATH_HIT) {
        ret->step = ret->task = (struct bj_slice){0};
        regex_fields(&l->step, path, ret);
    }
    return kind;
}

static int layout_new(struct bj_layouts *all, const struct row *row,
                      struct bj_slice system, struct bj_err *err)
{
    struct bj_layout *l = &all->v[all->n++];
    l->system = strndup(system.p, system.n);
    if (!l->system)
        return bj_err_set(err, -ENOMEM, "compile a pattern");
    l->versions = row->versions;
    l->spelling = row->spelling;
    int r = regex_new(&l->job, all, row->job, err);
    if (r == 0 && row->step)
        r = regex_new(&l->step, all, row->step, err);
    return r;
}

/* "name=expression" of the configuration.  It needs a group "jobid", or all
 * jobs would be one. */
static int operator_row(struct bj_layouts *all, const char *text,
                        struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(text), name;
    if (!bj_slice_field(&rest, '=', &name) || name.n == 0 || rest.n == 0)
        return bj_err_set(err, -EINVAL,
                          "job.pattern '%s': expected NAME=EXPRESSION", text);
    struct row row = {"", V1 | V2, UNIT, rest.p, NULL};
    int r = layout_new(all, &row, name, err);
    if (r < 0)
        return bj_err_wrap(err, r, "job.pattern %.*s", (int)name.n, name.p);
    if (all->v[all->n - 1].job.group[0] == 0)
        return bj_err_set(err, -EINVAL,
                          "job.pattern %.*s: expected a group (?<jobid>...)",
                          (int)name.n, name.p);
    return 0;
}

static bool layout_wanted(const struct bj_conf *conf, const char *system)
{
    for (size_t i = 0; i < conf->systems.n; i++)
        if (strcmp(conf->systems.v[i], system) == 0)
            return true;
    return conf->systems.n == 0;
}

static int check_systems(const struct bj_conf *conf, struct bj_err *err)
{
    for (size_t i = 0; i < conf->systems.n; i++) {
        size_t k = 0;
        while (k < NROWS && strcmp(rows[k].system, conf->systems.v[i]) != 0)
            k++;
        if (k == NROWS && strcmp(conf->systems.v[i], "none") != 0)
            return bj_err_set(err, -EINVAL,
                              "job.system '%s': expected slurm, pbs, lsf, oar, "
                              "htcondor, kubernetes, libvirt or none",
                              conf->systems.v[i]);
    }
    return 0;
}

int bj_layouts_new(const struct bj_conf *conf, struct bj_layouts **ret,
                   struct bj_err *err)
{
    int r = check_systems(conf, err);
    if (r < 0)
        return r;
    size_t max = conf->patterns.n + NROWS;
    struct bj_layouts *l = calloc(1, sizeof(*l) + max * sizeof(l->v[0]));
    if (!l)
        return bj_err_set(err, -ENOMEM, "layouts");
    l->match = pcre2_match_data_create(MATCH_PAIRS, NULL);
    l->limits = pcre2_match_context_create(NULL);
    if (!l->match || !l->limits)
        r = bj_err_set(err, -ENOMEM, "layouts");
    else
        pcre2_set_match_limit(l->limits, MATCH_LIMIT);
    for (size_t i = 0; r == 0 && i < conf->patterns.n; i++)
        r = operator_row(l, conf->patterns.v[i], err);
    for (size_t i = 0; r == 0 && i < NROWS; i++)
        if (layout_wanted(conf, rows[i].system))
            r = layout_new(l, &rows[i], bj_slice_str(rows[i].system), err);
    if (r < 0) {
        bj_layouts_free(l);
        return r;
    }
    *ret = l;
    return 0;
}

void bj_layouts_free(struct bj_layouts *l)
{
    for (size_t i = 0; l && i < l->n; i++) {
        pcre2_code_free(l->v[i].job.code);
        pcre2_code_free(l->v[i].step.code);
        free(l->v[i].system);
    }
    if (l) {
        pcre2_match_data_free(l->match);
        pcre2_match_context_free(l->limits);
    }
    free(l);
}
