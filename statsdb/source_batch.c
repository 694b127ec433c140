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
