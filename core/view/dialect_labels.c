#include "core/view/dialect_walk.h"

#include "base/grow.h"
#include "core/find/ident.h"

#include <errno.h>

/* Labels of jobs: written once in a walk, copied for each sample. */

static struct bj_slice short_host(struct bj_slice host)
{
    const char *dot = host.n > 0 ? memchr(host.p, '.', host.n) : NULL;
    return dot ? (struct bj_slice){host.p, (size_t)(dot - host.p)} : host;
}

static void put_text(struct bj_buf *b, const char *text, struct bj_slice value)
{
    bj_buf_str(b, text);
    bj_buf_label(b, value);
}

/* cgroup="...". Source: the directories of Slurm's cgroup plugins, v1 and v2;
 * with several slurmd on a host, including the node's name. */
static void put_cgroup(struct bj_buf *b, const char *name, bool unified,
                       const struct bj_slice *id)
{
    const struct bj_slice node = id[BJ_ID_NODE];
    bj_buf_str(b, name);
    if (unified) {
        put_text(b, "=\"/system.slice/", node);
        bj_buf_str(b, node.n > 0 ? "_slurmstepd.scope/" : "slurmstepd.scope/");
    } else {
        bj_buf_str(b, "=\"/slurm");
        put_text(b, node.n > 0 ? "_" : "", node);
        put_text(b, "/uid_", id[BJ_ID_UID]);
        bj_buf_str(b, "/");
    }
    if (unified && id[BJ_ID_SLUID].n > 0)
        put_text(b, "", id[BJ_ID_SLUID]);
    else
        put_text(b, "job_", id[BJ_ID_JOBID]);
    bj_buf_str(b, "\",");
}

static struct bj_slice label_value(const struct bj_dialect_label *l,
                                   const struct bj_dialect_env *env,
                                   const struct bj_job *job)
{
    struct bj_slice v = {0};
    switch (l->of) {
    case BJ_LABEL_HOST:
        return env->host;
    case BJ_LABEL_SHORT_HOST:
        return short_host(env->host);
    case BJ_LABEL_TEXT:
        return bj_slice_str(l->text);
    case BJ_LABEL_UUID:
        v = job->ident->f[BJ_ID_UUID];
        return v.n > 0 ? v : job->ident->f[BJ_ID_JOBID];
    case BJ_LABEL_IDENT:
    case BJ_LABEL_CGROUP:
        break;
    }
    if ((l->field == BJ_ID_USER && env->hide_user) ||
        (l->field == BJ_ID_ACCOUNT && env->hide_account))
        return v;
    if (job)
        v = job->ident->f[l->field];
    return v.n > 0 ? v : bj_slice_str(l->text);
}

/* name="value", as a single write. */
static void put_label(struct bj_buf *b, const char *name, struct bj_slice value)
{
    size_t n = strlen(name);
    if (!bj_buf_room(b, n + 2 * value.n + 4))
        return;
    char *at = b->p + b->len;
    memcpy(at, name, n);
    at += n;
    *at++ = '=';
    *at++ = '"';
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        if (c == '\\' || c == '"' || c == '\n')
            *at++ = '\\';
        *at++ = c == '\n' ? 'n' : c;
    }
    *at++ = '"';
    *at++ = ',';
    b->len = (size_t)(at - b->p);
}

/* With several slurmd on a host, as in tests and emulations, two jobs may have
 * the same id. Originals without a label for the node do not support this; here
 * such jobs get our label. */
static void put_node(struct bj_buf *b, const struct bj_dialect_label *l,
                     const struct bj_job *job)
{
    bool has_node = job->ident->f[BJ_ID_NODE].n == 0;
    for (; l->name; l++)
        has_node |= l->of == BJ_LABEL_CGROUP ||
                    (l->of == BJ_LABEL_IDENT && l->field == BJ_ID_NODE);
    if (!has_node)
        put_label(b, "slurm_node", job->ident->f[BJ_ID_NODE]);
}

/* Empty step labels of a job's own samples, at their end. */
static void put_no_step(const struct bj_dialect_walk *w)
{
    for (int i = 0; i < 2 && w->dialect->step[i]; i++)
        put_label(&w->room->text, w->dialect->step[i], (struct bj_slice){0});
}

size_t bj_dialect_no_step(const struct bj_dialect *d)
{
    size_t n = 0;
    for (int i = 0; i < 2 && d->step[i]; i++)
        n += strlen(d->step[i]) + sizeof("=\"\",") - 1;
    return n;
}

/* Write one set of labels; labels that need a job only when there is one. */
static void put_set(const struct bj_dialect_walk *w, int set,
                    const struct bj_job *job)
{
    const struct bj_dialect_label *l = w->dialect->labels[set];
    struct bj_buf *b = &w->room->text;
    if (!l)
        return;
    if (w->snap->cluster.n > 0 && !w->env->strict)
        put_label(b, "cluster", w->snap->cluster);
    if (job)
        put_node(b, l, job);
    for (; l->name; l++)
        if (job && l->of == BJ_LABEL_CGROUP)
            put_cgroup(b, l->name, w->env->unified, job->ident->f);
        else if (job || (l->of != BJ_LABEL_IDENT && l->of != BJ_LABEL_UUID))
            put_label(b, l->name, label_value(l, w->env, job));
}

static bool same_id(const struct bj_job *a, const struct bj_job *b)
{
    return bj_slice_eq(a->ident->f[BJ_ID_JOBID], b->ident->f[BJ_ID_JOBID]);
}

/* Drop duplicates. Jobs are sorted by id, so jobs with equal labels are
 * neighbours. True: keep the newest one. */
static bool unique(struct bj_dialect_walk *w)
{
    struct bj_dialect_room *room = w->room;
    struct bj_dialect_job *new = &room->v[room->n];
    for (size_t i = room->n; i-- > 0;) {
        struct bj_dialect_job *old = &room->v[i];
        if (!same_id(old->job, new->job))
            return true;
        if (!bj_slice_eq(bj_dialect_labels(w, old, 0),
                         bj_dialect_labels(w, new, 0)))
            continue;
        if (bj_dialect_runs(new->job) && !bj_dialect_runs(old->job))
            *old = *new;
        return false;
    }
    return true;
}

static bool skipped(const struct bj_dialect_env *env, const struct bj_job *job)
{
    uint64_t uid;
    if (env->nskip_uids == 0 ||
        bj_slice_u64(job->ident->f[BJ_ID_UID], &uid) < 0)
        return false;
    for (size_t i = 0; i < env->nskip_uids; i++)
        if (env->skip_uids[i] == uid)
            return true;
    return false;
}

/* Originals drop a job as soon as it ends. */
static bool shows_job(const struct bj_dialect_walk *w, const struct bj_job *job)
{
    const char *system = w->dialect->system;
    if (system &&
        !bj_slice_eq(job->ident->f[BJ_ID_SYSTEM], bj_slice_str(system)))
        return false;
    return !(w->env->strict && !bj_dialect_runs(job)) && !skipped(w->env, job);
}

/* The label sets of jobs and steps; the first set identifies jobs. */
static unsigned sets_of_jobs(const struct bj_dialect *d, unsigned *ret_steps)
{
    unsigned sets = 1;
    *ret_steps = 0;
    for (size_t i = 0; i < d->nrows; i++) {
        const unsigned set = 1u << d->rows[i].labels;
        if (bj_dialect_of_jobs(&d->rows[i]))
            sets |= set;
        if (d->rows[i].of == BJ_ROW_USAGE)
            *ret_steps |= set;
    }
    return sets;
}

static int put_jobs(struct bj_dialect_walk *w)
{
    const struct bj_job *job = w->snap->jobs.v;
    struct bj_dialect_room *room = w->room;
    unsigned steps;
    const unsigned sets = sets_of_jobs(w->dialect, &steps);
    room->n = 0;
    if (!BJ_GROW(room->v, w->snap->jobs.n, room->cap))
        return -ENOMEM;
    for (size_t i = 0; i < w->snap->jobs.n; i++) {
        if (!shows_job(w, &job[i]))
            continue;
        struct bj_dialect_job *j = &room->v[room->n];
        j->job = &job[i];
        for (int set = 0; set < BJ_DIALECT_SETS; set++) {
            j->begin[set] = room->text.len;
            if (sets & 1u << set)
                put_set(w, set, &job[i]);
            if (steps & 1u << set)
                put_no_step(w);
        }
        j->begin[BJ_DIALECT_SETS] = room->text.len;
        if (room->text.failed)
            return -ENOMEM;
        room->n += unique(w);
    }
    return 0;
}

int bj_dialect_take_jobs(struct bj_dialect_walk *w)
{
    struct bj_buf *text = &w->room->text;
    size_t begin[BJ_DIALECT_SETS + 1];
    text->len = 0;
    text->failed = false;
    for (int set = 0; set < BJ_DIALECT_SETS; set++) {
        begin[set] = text->len;
        put_set(w, set, NULL);
    }
    begin[BJ_DIALECT_SETS] = text->len;
    int r = put_jobs(w);
    if (r < 0 || text->failed)
        return -ENOMEM;
    /* text may have moved while it grew. */
    for (int set = 0; set < BJ_DIALECT_SETS; set++)
        w->bare[set] = (struct bj_slice){text->p + begin[set],
                                         begin[set + 1] - begin[set]};
    return 0;
}
