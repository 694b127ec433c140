/* batchjob_acct reads jobs from the store: all jobs, for users who can read the
 * file. */
#ifndef BJ_ACCT_STORE_H
#define BJ_ACCT_STORE_H

#include "acct/source.h"
#include "base/err.h"
#include "statsdb/tables/store.h"

/* Open the store for reading.  Errors are those of bj_store_open. */
int bj_acct_store_open(const char *path, bool any_filesystem,
                       struct bj_acct_source *ret, struct bj_err *err);

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
