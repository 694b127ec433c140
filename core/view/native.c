/* The native view: every row of every table. */
#include "core/find/ident.h"
#include "core/view/view.h"

#ifndef BJ_VERSION
#define BJ_VERSION "unknown"
#define BJ_REVISION "unknown"
#endif

/* One metric on its way through the records. */
struct walk {
    const struct bj_snap *snap;
    const struct bj_sink *sink;
    const struct bj_table *table;
    const struct bj_metric *metric;
    bool begun;
};

static int put(struct walk *w, const struct bj_sample *s)
{
    if (!w->begun) {
        int r = w->sink->family(w->sink->ctx, w->table, w->metric);
        if (r < 0)
            return r;
        w->begun = true;
    }
    return w->sink->sample(w->sink->ctx, s);
}

static uint64_t value_of(const struct walk *w, const void *record)
{
    const char *at = (const char *)record + w->table->rows_off;
    return *(const uint64_t *)(const void *)(at + w->metric->off);
}

/* Values of bj_job_info_keys lie side by side in the identity. */
static const struct bj_slice *job_info(const struct bj_job *job)
{
    return &job->ident->f[BJ_ID_UID];
}

static const struct bj_slice build_info[] = {
    {BJ_VERSION, sizeof(BJ_VERSION) - 1},
    {BJ_REVISION, sizeof(BJ_REVISION) - 1},
    {__VERSION__, sizeof(__VERSION__) - 1},
};

static int put_record(struct walk *w, const struct bj_job *job,
                      const void *record)
{
    const struct bj_table *t = w->table;
    struct bj_sample s = {.job = job, .value = value_of(w, record)};
    if (s.value == BJ_ABSENT)
        return 0;
    if (t->list)
        s.sub = record;
    if (t->info)
        s.info = job ? job_info(job) : build_info;
    return put(w, &s);
}

/* The record itself, or each of the list that hangs there. */
static int put_owner(struct walk *w, const struct bj_job *job,
                     const void *owner)
{
    const struct bj_table *t = w->table;
    const char *at = (const char *)owner + t->off;
    if (!t->list)
        return put_record(w, job, at);
    const struct bj_list *list = (const void *)at;
    for (size_t i = 0; i < list->n; i++) {
        int r = put_record(w, job, (const char *)list->v + i * t->size);
        if (r < 0)
            return r;
    }
    return 0;
}

static int put_jobs(struct walk *w)
{
    const struct bj_job *jobs = w->snap->jobs.v;
    for (size_t i = 0; i < w->snap->jobs.n; i++) {
        const struct bj_job *job = &jobs[i];
        if (w->metric->live && job->end_sec != BJ_ABSENT)
            continue;
        int r = put_owner(w, job, job);
        if (r < 0)
            return r;
    }
    return 0;
}

int bj_view_native(const struct bj_snap *snap, const struct bj_sink *sink)
{
    for (size_t t = 0; t < bj_ntables; t++)
        for (size_t m = 0; m < bj_tables[t].nrows; m++) {
            struct walk w = {.snap = snap,
                             .sink = sink,
                             .table = &bj_tables[t],
                             .metric = &bj_tables[t].rows[m]};
            int r = w.table->owner == BJ_OF_JOB ? put_jobs(&w)
                                                : put_owner(&w, NULL, snap);
            if (r < 0)
                return r;
        }
    return 0;
}
