/* The native view: every row of every table. */
#include "core/find/ident.h"
#include "core/view/view.h"

/* State of the walk for one metric. */
struct walk {
    const struct bj_snap *snap;
    const struct bj_sink *sink;
    const struct bj_metric_table *table;
    const struct bj_metric *metric;
    size_t off; /* offset of the value in a record */
    bool begun;
};

/* Announce the metric before its first sample. */
static int native_begin(struct walk *w)
{
    w->begun = true;
    return w->sink->family(w->sink->ctx, w->table, w->metric);
}

/* The values of bj_job_info_keys are contiguous in the identity. */
static const struct bj_slice *job_info(const struct bj_job *job)
{
    return &job->ident->f[BJ_ID_UID];
}

static inline uint64_t native_value_of(const struct walk *w, const char *record)
{
    return *(const uint64_t *)(const void *)(record + w->off);
}

static inline int native_put(struct walk *w, const struct bj_sample *s)
{
    int r = w->begun ? 0 : native_begin(w);
    return r < 0 ? r : w->sink->sample(w->sink->ctx, s);
}

static int native_put_list(struct walk *w, const struct bj_job *job,
                           const struct bj_list *list)
{
    const char *record = list->v;
    int r = 0;
    for (size_t i = 0; i < list->n && r >= 0; i++, record += w->table->size) {
        struct bj_sample s = {.job = job,
                              .sub = (const void *)record,
                              .value = native_value_of(w, record)};
        if (s.value != BJ_ABSENT)
            r = native_put(w, &s);
    }
    return r;
}

/* Whether any list of a table has records; usually none has. */
static bool any_listed(const struct bj_snap *snap,
                       const struct bj_metric_table *t)
{
    const struct bj_job *job = snap->jobs.v;
    if (t->owner == BJ_OF_SNAP) {
        const char *at = (const char *)snap + t->off;
        return ((const struct bj_list *)(const void *)at)->n > 0;
    }
    for (size_t i = 0; i < snap->jobs.n; i++) {
        const char *at = (const char *)&job[i] + t->off;
        if (((const struct bj_list *)(const void *)at)->n > 0)
            return true;
    }
    return false;
}

static int put_job_lists(struct walk *w)
{
    const struct bj_job *job = w->snap->jobs.v;
    const struct bj_job *end = job + w->snap->jobs.n;
    int r = 0;
    for (; job < end && r >= 0; job++)
        if (!w->metric->live || job->end_sec == BJ_ABSENT)
            r = native_put_list(
                w, job, (const void *)((const char *)job + w->table->off));
    return r;
}

/* Most fields of most jobs are absent: skip them quickly. */
static int native_put_jobs(struct walk *w)
{
    const struct bj_job *job = w->snap->jobs.v;
    const struct bj_job *end = job + w->snap->jobs.n;
    const char *field = (const char *)job + w->table->off + w->off;
    const bool info = w->table->info, live = w->metric->live;
    for (; job < end; job++, field += sizeof(*job)) {
        uint64_t value = *(const uint64_t *)(const void *)field;
        if (value == BJ_ABSENT || (live && job->end_sec != BJ_ABSENT))
            continue;
        struct bj_sample s = {
            .job = job, .info = info ? job_info(job) : NULL, .value = value};
        int r = native_put(w, &s);
        if (r < 0)
            return r;
    }
    return 0;
}

static int put_snap(struct walk *w)
{
    const char *at = (const char *)w->snap + w->table->off;
    if (w->table->list)
        return native_put_list(w, NULL, (const void *)at);
    struct bj_sample s = {.value = native_value_of(w, at)};
    if (w->table->info)
        s.info = ((const struct bj_info *)(const void *)at)->v;
    return s.value == BJ_ABSENT ? 0 : native_put(w, &s);
}

static int native_put_table(const struct bj_snap *snap,
                            const struct bj_sink *sink,
                            const struct bj_metric_table *t)
{
    int (*put_row)(struct walk *) = put_snap;
    if (t->owner == BJ_OF_JOB)
        put_row = t->list ? put_job_lists : native_put_jobs;
    if (t->list && !any_listed(snap, t))
        return 0;
    int r = 0;
    for (size_t m = 0; m < t->nrows && r >= 0; m++) {
        struct walk w = {.snap = snap,
                         .sink = sink,
                         .table = t,
                         .metric = &t->rows[m],
                         .off = t->rows_off + t->rows[m].off};
        r = put_row(&w);
    }
    return r;
}

int bj_view_native(const struct bj_snap *snap, const struct bj_sink *sink)
{
    int r = 0;
    for (size_t t = 0; t < bj_metric_ntables && r >= 0; t++)
        r = native_put_table(snap, sink, &bj_metric_tables[t]);
    return r;
}
