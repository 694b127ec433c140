/* Which jobs batchjob_acct shows. */
#ifndef BJ_STATSDB_ACCT_QUERY_H
#define BJ_STATSDB_ACCT_QUERY_H

#include "base/err.h"
#include "statsdb/acct_source.h"
#include "statsdb/store.h"

/* Numbers of jobs, the newest first; free v. */
struct bj_acct_ids {
    int64_t *v;
    size_t n, cap;
};

/* Find them by an index: the jobs' ids, else the one user (or account), else
 * the time; runs that have not ended by their own.  Only numbers are read, so
 * that a slow reader does not hold a transaction open, which would let the
 * writer's log grow.
 *   -EINVAL  unknown state */
int bj_acct_find(struct bj_store *s, const struct bj_acct_filter *f,
                 struct bj_acct_ids *ret, struct bj_err *err);

/* True when all these are states of runs that have not ended. */
bool bj_acct_only_open(const struct bj_strv *states);

#endif
