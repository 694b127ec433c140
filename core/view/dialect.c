#include "core/view/dialect.h"

#include "core/find/ident.h"
#include "core/view/dialect_tables.h"

#include <errno.h>
#include <stdlib.h>

const struct bj_dialect *const bj_dialects[] = {
    &bj_dialect_batchjob_monitoring, &bj_dialect_ceems,
    &bj_dialect_jobs_exporter,       &bj_dialect_jobstats,
    &bj_dialect_slurm_job_exporter,  NULL,
};

/* A job that is told, and its labels where they begin in the room's text. */
struct bj_dialect_job {
    const struct bj_job *job;
    size_t begin[BJ_DIALECT_SETS + 1];
};

struct walk {
    const struct bj_dialect *dialect;
    const struct bj_snap *snap;
    const struct bj_dialect_env *env;
    struct bj_dialect_room *room;
    const struct bj_dialect_sink *sink;
    struct bj_slice bare[BJ_DIALECT_SETS]; /* labels of what has no job */
    /* The present family. */
    const struct bj_dialect_row *row;
    const char *key[BJ_INFO_MAX + 1];
    bool begun;
};

const struct bj_dialect *bj_dialect_find(struct bj_slice name)
{
    for (size_t i = 0; bj_dialects[i]; i++)
        if (bj_slice_eq(name, bj_slice_str(bj_dialects[i]->name)))
            return bj_dialects[i];
    return NULL;
}

void bj_dialect_room_free(struct bj_dialect_room *room)
{
    bj_buf_free(&room->text);
    free(room->v);
    *room = (struct bj_dialect_room){0};
}

/* Labels of jobs: written once a walk, and copied for each sample. */

static struct bj_slice short_host(struct bj_slice host)
{
    const char *dot = host.n > 0 ? memchr(host.p, '.', host.n) : NULL;
    return dot ? (struct bj_slice){host.p, (size_t)(dot - host.p)} : host;
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
    case BJ_LABEL_IDENT:
        break;
    }
    if ((l->field == BJ_ID_USER && env->hide_user) ||
        (l->field == BJ_ID_ACCOUNT && env->hide_account))
        return v;
    if (job)
        v = job->ident->f[l->field];
    return v.n > 0 ? v : bj_slice_str(l->text);
}

static void put_label(struct bj_buf *b, const char *name, struct bj_slice value)
{
    bj_buf_str(b, name);
    bj_buf_put(b, "=\"", 2);
    bj_buf_label(b, value);
    bj_buf_put(b, "\",", 2);
}

/* Where a host runs several slurmd, as tests and emulations do, a job may be
 * there twice.  A peer that has no name for that does not see such jobs: they
 * get our label. */
static void put_node(struct bj_buf *b, const struct bj_dialect_label *l,
                     const struct bj_job *job)
{
    bool told = job->ident->f[BJ_ID_NODE].n == 0;
    for (; l->name; l++)
        told |= l->of == BJ_LABEL_IDENT && l->field == BJ_ID_NODE;
    if (!told)
        put_label(b, "slurm_node", job->ident->f[BJ_ID_NODE]);
}

/* Write one set of labels; those that need a job only when there is one. */
static void put_set(const struct walk *w, int set, const struct bj_job *job)
{
    const struct bj_dialect_label *l = w->dialect->labels[set];
    struct bj_buf *b = &w->room->text;
    if (!l)
        return;
    if (w->snap->cluster.n > 0)
        put_label(b, "cluster", w->snap->cluster);
    if (job)
        put_node(b, l, job);
    for (; l->name; l++)
        if (job || l->of != BJ_LABEL_IDENT)
            put_label(b, l->name, label_value(l, w->env, job));
}

static struct bj_slice labels_of(const struct walk *w,
                                 const struct bj_dialect_job *j, unsigned set)
{
    return (struct bj_slice){w->room->text.p + j->begin[set],
                             j->begin[set + 1] - j->begin[set]};
}

static bool runs(const struct bj_job *job)
{
    return job->end_sec == BJ_ABSENT;
}

static bool same_id(const struct bj_job *a, const struct bj_job *b)
{
    return bj_slice_eq(a->ident->f[BJ_ID_JOBID], b->ident->f[BJ_ID_JOBID]);
}

/* Jobs come by id, so that those that might be one under the labels of a
 * dialect are neighbours.  True when the newest one may stay. */
static bool unique(struct walk *w)
{
    struct bj_dialect_room *room = w->room;
    struct bj_dialect_job *new = &room->v[room->n];
    for (size_t i = room->n; i-- > 0;) {
        struct bj_dialect_job *old = &room->v[i];
        if (!same_id(old->job, new->job))
            return true;
        if (!bj_slice_eq(labels_of(w, old, 0), labels_of(w, new, 0)))
            continue;
        if (runs(new->job) && !runs(old->job))
            *old = *new;
        return false;
    }
    return true;
}

static bool spoken(const struct bj_dialect *d, const struct bj_job *job)
{
    return !d->system ||
           bj_slice_eq(job->ident->f[BJ_ID_SYSTEM], bj_slice_str(d->system));
}

static int take_jobs(struct walk *w)
{
    const struct bj_job *job = w->snap->jobs.v;
    struct bj_dialect_room *room = w->room;
    room->n = 0;
    if (room->cap < w->snap->jobs.n) {
        size_t cap = w->snap->jobs.n + w->snap->jobs.n / 2;
        struct bj_dialect_job *v = realloc(room->v, cap * sizeof(*v));
        if (!v)
            return -ENOMEM;
        room->v = v;
        room->cap = cap;
    }
    for (size_t i = 0; i < w->snap->jobs.n; i++) {
        if (!spoken(w->dialect, &job[i]))
            continue;
        struct bj_dialect_job *j = &room->v[room->n];
        j->job = &job[i];
        for (int set = 0; set < BJ_DIALECT_SETS; set++) {
            j->begin[set] = room->text.len;
            put_set(w, set, &job[i]);
        }
        j->begin[BJ_DIALECT_SETS] = room->text.len;
        if (room->text.failed)
            return -ENOMEM;
        room->n += unique(w);
    }
    return 0;
}

/* Values */

static uint64_t times(uint64_t v, uint64_t by)
{
    uint64_t ret;
    return __builtin_mul_overflow(v, by, &ret) ? BJ_ABSENT : ret;
}

static uint64_t scaled(enum bj_scale scale, uint64_t v)
{
    switch (scale) {
    case BJ_SCALE_NONE:
    case BJ_SCALE_MICRO:
        break;
    case BJ_SCALE_NSEC:
    case BJ_SCALE_MILLI:
        return times(v, 1000);
    case BJ_SCALE_TICKS:
        return v / 10000;
    case BJ_SCALE_MIB: /* 10^6 / 2^20 */
        return v / 16384 * 15625 + v % 16384 * 15625 / 16384;
    case BJ_SCALE_PERCENT:
        return times(v, 100);
    case BJ_SCALE_FLAG:
        return v != 0;
    }
    return v;
}

static bool is_micro(enum bj_scale scale)
{
    return scale == BJ_SCALE_MICRO || scale == BJ_SCALE_MIB ||
           scale == BJ_SCALE_MILLI || scale == BJ_SCALE_PERCENT;
}

static inline uint64_t field(const char *record, size_t off)
{
    return *(const uint64_t *)(const void *)(record + off);
}

static inline uint64_t value_of(const struct bj_dialect_row *row,
                                const char *record)
{
    uint64_t v = field(record, row->off);
    if (row->use == BJ_SECOND_ELSE && v == BJ_ABSENT)
        v = field(record, row->second);
    if (v == BJ_ABSENT || v < row->least)
        return BJ_ABSENT;
    if (row->use == BJ_SECOND_ADD) {
        uint64_t more = field(record, row->second);
        if (more == BJ_ABSENT || __builtin_add_overflow(v, more, &v))
            return BJ_ABSENT;
    }
    return scaled(row->scale, v);
}

uint64_t bj_dialect_value(const struct bj_dialect_row *row, const char *record)
{
    return value_of(row, record);
}

/* Records that are told, and their identifiers as the peer has them. */

static bool fits(struct bj_slice s, const char *pattern)
{
    struct bj_slice want = bj_slice_str(pattern);
    if (want.n > 0 && want.p[want.n - 1] == '*') {
        want.n--;
        return bj_slice_starts(s, want);
    }
    if (want.n > 0 && want.p[0] == '*') {
        want = bj_slice_str(pattern + 1);
        if (s.n < want.n)
            return false;
        s = (struct bj_slice){s.p + (s.n - want.n), want.n};
    }
    return bj_slice_eq(s, want);
}

static bool skipped(const char *const *skip, struct bj_slice path)
{
    for (size_t i = path.n; i-- > 0;)
        if (path.p[i] == '/') {
            path = (struct bj_slice){path.p + i + 1, path.n - i - 1};
            break;
        }
    for (; *skip; skip++)
        if (bj_slice_eq(path, bj_slice_str(*skip)))
            return true;
    return false;
}

static const struct bj_dialect_word *find_word(const struct bj_dialect_row *row,
                                               const struct bj_sub *sub)
{
    for (const struct bj_dialect_word *w = row->words; w && w->ours; w++)
        if (bj_slice_eq(sub->key[row->word], bj_slice_str(w->ours)))
            return w;
    return NULL;
}

static bool wanted(const struct bj_dialect_row *row, const struct bj_sub *sub)
{
    for (int i = 0; i < 2; i++)
        if (row->only[i] && !fits(sub->key[i], row->only[i]))
            return false;
    if (row->words_only && !find_word(row, sub))
        return false;
    return !row->skip || !skipped(row->skip, sub->key[0]);
}

/* The identifiers that the peer tells; returns how many. */
static size_t put_keys(const struct bj_dialect_row *row,
                       const struct bj_sub *sub,
                       struct bj_slice key[BJ_SUB_KEYS])
{
    const struct bj_dialect_word *word = find_word(row, sub);
    size_t n = 0;
    for (unsigned k = 0; k < BJ_SUB_KEYS; k++)
        if (row->key[k])
            key[n++] = word && k == row->word ? bj_slice_str(word->theirs)
                                              : sub->key[k];
    return n;
}

/* Samples */

static int begin(struct walk *w)
{
    w->begun = true;
    return w->sink->family(w->sink->ctx, w->row, w->key);
}

static int put(struct walk *w, struct bj_slice labels,
               const struct bj_slice *key, uint64_t value)
{
    const struct bj_dialect_sample s = {labels, key, value,
                                        is_micro(w->row->scale)};
    int r = w->begun ? 0 : begin(w);
    return r < 0 ? r : w->sink->sample(w->sink->ctx, &s);
}

static int put_list(struct walk *w, struct bj_slice labels,
                    const struct bj_list *list)
{
    const struct bj_dialect_row *row = w->row;
    const char *record = list->v;
    int r = 0;
    for (size_t i = 0; i < list->n && r >= 0; i++, record += row->size) {
        const struct bj_sub *sub = (const void *)record;
        uint64_t v = value_of(row, record);
        if (v == BJ_ABSENT || !wanted(row, sub))
            continue;
        struct bj_slice key[BJ_SUB_KEYS];
        r = put(w, labels, put_keys(row, sub, key) > 0 ? key : NULL, v);
        if (row->first)
            break;
    }
    return r;
}

/* A field of a bj_usage, of the steps or tasks of a job. */
static int put_steps(struct walk *w, struct bj_slice labels,
                     const struct bj_list *list)
{
    const struct bj_step_use *s = list->v;
    size_t shift =
        offsetof(struct bj_step_use, use) - offsetof(struct bj_job, use);
    struct bj_dialect_row row = *w->row;
    row.off += shift;
    row.second += shift;
    int r = 0;
    for (size_t i = 0; i < list->n && r >= 0; i++) {
        uint64_t v = value_of(&row, (const char *)&s[i]);
        if (v != BJ_ABSENT)
            r = put(w, labels, s[i].sub.key, v);
    }
    return r;
}

static uint64_t uid_of(const struct bj_job *job)
{
    uint64_t uid = BJ_ABSENT;
    bj_slice_u64(job->ident->f[BJ_ID_UID], &uid);
    return uid;
}

static int put_job(struct walk *w, const struct bj_dialect_job *j)
{
    static const struct bj_slice no_step[BJ_SUB_KEYS];
    const struct bj_dialect_row *row = w->row;
    const char *record = (const char *)j->job;
    struct bj_slice labels = labels_of(w, j, row->labels);
    uint64_t v = BJ_ABSENT;
    int r = 0;
    if (row->of == BJ_ROW_JOBS)
        return put_list(w, labels, (const void *)(record + row->list));
    if (row->of == BJ_ROW_UID)
        v = uid_of(j->job);
    else
        v = row->of == BJ_ROW_ONE ? 1 : value_of(row, record);
    if (v != BJ_ABSENT)
        r = put(w, labels, no_step, v);
    if (row->of != BJ_ROW_USAGE || !w->dialect->step[0])
        return r;
    if (r >= 0)
        r = put_steps(w, labels, &j->job->steps);
    return r < 0 ? r : put_steps(w, labels, &j->job->tasks);
}

/* Nearly all samples are a field of a job. */
static int put_jobs(struct walk *w)
{
    const struct bj_dialect_row *row = w->row;
    const struct bj_dialect_job *j = w->room->v, *end = j + w->room->n;
    const bool plain = row->of == BJ_ROW_JOB;
    int r = 0;
    for (; j < end && r >= 0; j++) {
        if (row->live && !runs(j->job))
            continue;
        if (!plain) {
            r = put_job(w, j);
            continue;
        }
        uint64_t v = value_of(row, (const char *)j->job);
        if (v != BJ_ABSENT)
            r = put(w, labels_of(w, j, row->labels), NULL, v);
    }
    return r;
}

static uint64_t running_jobs(const struct walk *w)
{
    uint64_t n = 0;
    for (size_t i = 0; i < w->room->n; i++)
        n += runs(w->room->v[i].job);
    return n;
}

static int put_snap(struct walk *w)
{
    const struct bj_dialect_row *row = w->row;
    const char *record = (const char *)w->snap;
    struct bj_slice labels = w->bare[row->labels];
    if (row->of == BJ_ROW_SNAPS)
        return put_list(w, labels, (const void *)(record + row->list));
    if (row->of == BJ_ROW_COUNT)
        return put(w, labels, NULL, running_jobs(w));
    if (row->of == BJ_ROW_INFO) {
        const struct bj_info *info = (const void *)(record + row->off);
        return info->one == BJ_ABSENT ? 0 : put(w, labels, info->v, 1);
    }
    uint64_t v = value_of(row, record);
    return v == BJ_ABSENT ? 0 : put(w, labels, NULL, v);
}

/* Names of the labels that the samples of a family have of their own. */
static void name_keys(struct walk *w)
{
    const struct bj_dialect_row *row = w->row;
    size_t n = 0;
    if (row->of == BJ_ROW_USAGE)
        for (int i = 0; i < 2 && w->dialect->step[i]; i++)
            w->key[n++] = w->dialect->step[i];
    for (int i = 0; i < BJ_SUB_KEYS; i++)
        if (row->key[i])
            w->key[n++] = row->key[i];
    for (int i = 0; row->info && row->info[i]; i++)
        w->key[n++] = row->info[i];
    w->key[n] = NULL;
}

static int put_row(struct walk *w, const struct bj_dialect_row *row)
{
    bool of_snap = row->of == BJ_ROW_SNAP || row->of == BJ_ROW_SNAPS ||
                   row->of == BJ_ROW_INFO || row->of == BJ_ROW_COUNT;
    w->row = row;
    w->begun = false;
    name_keys(w);
    int r = w->dialect->empty ? begin(w) : 0;
    if (r < 0)
        return r;
    return of_snap ? put_snap(w) : put_jobs(w);
}

int bj_view_dialect(const struct bj_dialect *d, const struct bj_snap *snap,
                    const struct bj_dialect_env *env,
                    struct bj_dialect_room *room,
                    const struct bj_dialect_sink *sink)
{
    struct walk w = {
        .dialect = d, .snap = snap, .env = env, .room = room, .sink = sink};
    size_t begins[BJ_DIALECT_SETS + 1];
    room->text.len = 0;
    room->text.failed = false;
    for (int set = 0; set < BJ_DIALECT_SETS; set++) {
        begins[set] = room->text.len;
        put_set(&w, set, NULL);
    }
    begins[BJ_DIALECT_SETS] = room->text.len;
    int r = take_jobs(&w);
    /* The text has found its place only now. */
    for (int set = 0; set < BJ_DIALECT_SETS; set++)
        w.bare[set] = (struct bj_slice){room->text.p + begins[set],
                                        begins[set + 1] - begins[set]};
    if (r == 0 && room->text.failed)
        r = -ENOMEM;
    for (size_t i = 0; i < d->nrows && r >= 0; i++)
        r = put_row(&w, &d->rows[i]);
    return r < 0 ? r : 0;
}
