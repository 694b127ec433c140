/* The native view: every row of every table. */
#include "core/find/ident.h"
#include "core/view/view.h"

/* One metric on its way through the records. */
struct walk {
    const struct bj_snap *snap;
    const struct bj_sink *sink;
    const struct bj_table *table;
    const struct bj_metric *metric;
    size_t off; /* of the value in a record */
    bool begun;
};

/* Announce the metric before its first value. */
static int begin(struct walk *w)
{
    w->begun = true;
    return w->sink->family(w->sink->ctx, w->table, w->metric);
}

/* Values of bj_job_info_keys lie side by side in the identity. */
static const struct bj_slice *job_info(const struct bj_job *job)
{
    return &job->ident->f[BJ_ID_UID];
}

/* One record; most fields of most records are absent, so that is what this is
 * quick at. */
static inline int put_record(struct walk *w, const struct bj_job *job,
                             const char *record)
{
    const struct bj_table *t = w->table;
    uint64_t value = *(const uint64_t *)(const void *)(record + w->off);
    if (value == BJ_ABSENT)
        return 0;
    int r = w->begun ? 0 : begin(w);
    if (r < 0)
        return r;
    struct bj_sample s = {.job = job, .value = value};
    if (t->list)
        s.sub = (const void *)record;
    if (t->info)
        s.info = job ? job_info(job) : ((const struct bj_info *)(const void *)record)->v;
    return w->sink->sample(w->sink->ctx, &s);
}

static inline int put_list(struct walk *w, const struct bj_job *job,
                           const struct bj_list *list)
{
    int r = 0;
    for (size_t i = 0; i < list->n && r >= 0; i++)
        r = put_record(w, job, (const char *)list->v + i * w->table->size);
    return r;
}

static int put_jobs(struct walk *w)
{
    const struct bj_table *t = w->table;
    const struct bj_job *job = w->snap->jobs.v;
    const struct bj_job *end = job + w->snap->jobs.n;
    int r = 0;
    for (; job < end && r >= 0; job++) {
        const char *at = (const char *)job + t->off;
        if (w->metric->live && job->end_sec != BJ_ABSENT)
            continue;
        r = t->list ? put_list(w, job, (const void *)at)
                    : put_record(w, job, at);
    }
    return r;
}

static int put_snap(struct walk *w)
{
    const char *at = (const char *)w->snap + w->table->off;
    return w->table->list ? put_list(w, NULL, (const void *)at)
                          : put_record(w, NULL, at);
}

int bj_view_native(const struct bj_snap *snap, const struct bj_sink *sink)
{
    for (size_t t = 0; t < bj_ntables; t++)
        for (size_t m = 0; m < bj_tables[t].nrows; m++) {
            const struct bj_metric *row = &bj_tables[t].rows[m];
            struct walk w = {.snap = snap,
                             .sink = sink,
                             .table = &bj_tables[t],
                             .metric = row,
                             .off = bj_tables[t].rows_off + row->off};
            int r = w.table->owner == BJ_OF_JOB ? put_jobs(&w) : put_snap(&w);
            if (r < 0)
                return r;
        }
    return 0;
}
