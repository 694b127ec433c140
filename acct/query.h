/* Selects the jobs that batchjob_acct shows. */
#ifndef BJ_ACCT_QUERY_H
#define BJ_ACCT_QUERY_H

#include "acct/source.h"
#include "base/err.h"
#include "statsdb/tables/store.h"

/* Numbers of jobs, the newest first; the caller frees v. */
struct bj_acct_ids {
    int64_t *v;
    size_t n, cap;
};

/* Find the selected jobs by an index: that of job ids, else that of the single
 * user (or account), else that of times; runs that have not ended have their
 * own index.  Reads only numbers, because a slow reader of rows would hold a
 * transaction open, and the writer's log would grow.
 *   -EINVAL  unknown state */
int bj_acct_find(struct bj_store *s, const struct bj_acct_filter *f,
                 struct bj_acct_ids *ret, struct bj_err *err);

/* Are all these states of runs that have not ended? */
bool bj_acct_only_open(const struct bj_strv *states);

#endif
