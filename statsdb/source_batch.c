#include "statsdb/source_sacct.h"

int bj_source_room(const struct bj_source_run *run, uint64_t *lines,
                   uint64_t more, const struct bj_sacct_counts *counts,
                   struct bj_err *err)
{
    if (run->batch_lines > 0 && *lines >= run->batch_lines) {
        int r = bj_upsert_commit(run->upsert, err);
        if (r == 0 && counts && run->progress)
            run->progress(run->ctx, counts);
        if (r == 0)
            r = bj_upsert_begin(run->upsert, err);
        if (r < 0)
            return r;
        *lines = 0;
    }
    *lines += more;
    return 0;
}

int bj_source_take_job(void *sink, const struct bj_sched_job *job,
                       struct bj_err *err)
{
    struct bj_source_sink *to = sink;
    int r = bj_source_room(to->run, &to->lines, 1 + job->steps,
                           bj_sacct_counts(to->reader), err);
    return r < 0 ? r : bj_upsert_job(to->run->upsert, to->cluster, job, err);
}

void bj_source_take_bad(void *sink, const struct bj_sacct_bad *bad)
{
    const struct bj_source_sink *to = sink;
    if (to->run->bad)
        to->run->bad(to->run->ctx, bad);
}
