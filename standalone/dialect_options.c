#include "standalone/dialect_options.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define AT(member) offsetof(struct bj_dialect_conf, member)

enum { FILE_BYTES = 1 << 16, MATCH_LIMIT = 100000 };

struct bj_dialect_regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static void regex_free(struct bj_dialect_regex *r)
{
    if (!r)
        return;
    pcre2_match_context_free(r->limits);
    pcre2_match_data_free(r->match);
    pcre2_code_free(r->code);
    free(r);
}

static int regex_new(const char *text, struct bj_dialect_regex **ret,
                     struct bj_err *err)
{
    int code;
    PCRE2_SIZE at;
    struct bj_dialect_regex *r = calloc(1, sizeof(*r));
    *ret = r;
    if (!r)
        return bj_err_set(err, -ENOMEM, "regular expression");
    r->code =
        pcre2_compile((PCRE2_SPTR)text, strlen(text), 0, &code, &at, NULL);
    if (!r->code) {
        PCRE2_UCHAR why[120];
        pcre2_get_error_message(code, why, sizeof(why));
        return bj_err_set(err, -EINVAL, "at byte %zu: %s", (size_t)at,
                          (const char *)why);
    }
    r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
    r->limits = pcre2_match_context_create(NULL);
    if (!r->match || !r->limits)
        return bj_err_set(err, -ENOMEM, "regular expression");
    pcre2_set_match_limit(r->limits, MATCH_LIMIT);
    return 0;
}

static int check_regex(const char *text, struct bj_err *err)
{
    struct bj_dialect_regex *regex;
    int r = regex_new(text, &regex, err);
    regex_free(regex);
    return r;
}

/* Check a prefix: valid characters and length. */
static int check_prefix(const char *s, struct bj_err *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789";
    if (strlen(s) < BJ_PREFIX_BYTES && s[strspn(s, plain)] == '\0' &&
        (*s < '0' || *s > '9'))
        return 0;
    return bj_err_set(err, -EINVAL,
                      "'%.40s' is not a valid prefix of metric names", s);
}

const struct bj_opt bj_dialect_opts[] = {
    {.name = "dialect.strict",
     .kind = BJ_OPT_BOOL,
     .off = AT(strict),
     .preset = "false",
     .help = "Reproduce the errors of another exporter that dashboards may "
             "depend on. docs/dialects.md lists them.",
     .more = "Enable it only when a dashboard shows wrong values without it.",
     .rare = true},
    {.name = "dialect.exclude",
     .kind = BJ_OPT_STR,
     .off = AT(exclude),
     .preset = "",
     .arg = "REGEX",
     .check = check_regex,
     .help = "Regular expression; leave out the metrics of another exporter's "
             "page whose names match.",
     .more = "Set it to reduce the number of series.",
     .rare = true},
    {.name = "dialect.prefix",
     .kind = BJ_OPT_STR,
     .off = AT(prefix),
     .preset = "",
     .arg = "TEXT",
     .check = check_prefix,
     .help = "Prefix for the metric names of another exporter's page.",
     .more = "Set it when the original ran with a prefix.",
     .rare = true},
    {.name = "dialect.skip-uids",
     .kind = BJ_OPT_STR,
     .off = AT(skip_uids),
     .preset = "",
     .arg = "FILE",
     .help = "File with user ids, one a line, whose jobs another exporter's "
             "page leaves out. Read at the start.",
     .more = "Set it to hide the jobs of system users.",
     .rare = true},
    {.name = NULL},
};

bool bj_dialect_options_excludes(const struct bj_dialect_options *s,
                                 struct bj_slice family)
{
    const struct bj_dialect_regex *r = s->exclude;
    return r && pcre2_match(r->code, (PCRE2_SPTR)family.p, family.n, 0, 0,
                            r->match, r->limits) >= 0;
}

static bool given(const char *s)
{
    return s && *s;
}

static int read_uids(struct bj_dialect_options *s, const char *path,
                     struct bj_err *err)
{
    char text[FILE_BYTES];
    struct bj_slice rest, line;
    size_t lines = 1, n = 0;
    int r = bj_file_read_all(AT_FDCWD, path, text, sizeof(text), &rest, err);
    if (r < 0)
        return bj_err_wrap(err, r, "dialect.skip-uids");
    for (size_t i = 0; i < rest.n; i++)
        lines += rest.p[i] == '\n';
    s->uids = calloc(lines, sizeof(*s->uids));
    if (!s->uids)
        return bj_err_set(err, -ENOMEM, "dialect.skip-uids");
    while (bj_slice_line(&rest, &line)) {
        line = bj_slice_trim(line);
        if (line.n > 0 && bj_slice_u64(line, &s->uids[n++]) < 0)
            return bj_err_set(err, -EINVAL,
                              "dialect.skip-uids: %s: '%.*s' is not a number",
                              path, (int)(line.n < 40 ? line.n : 40), line.p);
    }
    s->env.skip_uids = s->uids;
    s->env.nskip_uids = n;
    return 0;
}

int bj_dialect_options_init(const struct bj_dialect_conf *conf,
                            const struct bj_conf *core,
                            struct bj_dialect_options *ret, struct bj_err *err)
{
    struct utsname name;
    size_t n = 0;
    char path[512];
    if (uname(&name) == 0)
        n = bj_text_clean(bj_slice_str(name.nodename), ret->host,
                          BJ_HOST_BYTES);
    snprintf(path, sizeof(path), "%s/cgroup.controllers",
             core->cgroupfs ? core->cgroupfs : "");
    ret->env = (struct bj_dialect_env){.unified = access(path, F_OK) == 0,
                                       .strict = conf->strict,
                                       .host = {ret->host, n},
                                       .hide_user = !core->label_user,
                                       .hide_account = !core->label_account};
    if (given(conf->prefix))
        ret->prefix = conf->prefix;
    int r = 0;
    if (given(conf->exclude))
        r = regex_new(conf->exclude, &ret->exclude, err);
    if (r == 0 && given(conf->skip_uids))
        r = read_uids(ret, conf->skip_uids, err);
    return r;
}

void bj_dialect_options_free(struct bj_dialect_options *s)
{
    regex_free(s->exclude);
    free(s->uids);
    *s = (struct bj_dialect_options){0};
}
