/* Lists of names in options of batchjob_acct. */
#ifndef BJ_ACCT_LIST_H
#define BJ_ACCT_LIST_H

#include "acct/source.h"
#include "base/opt.h"
#include "base/slice.h"

#include <stdbool.h>

/* A position in a list; zero-initialise. */
struct bj_acct_at {
    size_t text;
    struct bj_slice rest;
};

/* Return the next value of a list.  Commas separate values, except inside
 * brackets; blanks around a value are removed, and empty values are skipped.
 * False: the list has ended. */
bool bj_acct_list_next(const struct bj_strv *list, struct bj_acct_at *at,
                       struct bj_slice *ret);

unsigned bj_acct_list_count(const struct bj_strv *list);

/* Add a cluster to the list that a source returns.  0 or -ENOMEM. */
int bj_acct_cluster_add(struct bj_acct_clusters *list, struct bj_slice name,
                        int64_t complete_sec, struct bj_err *err);

#endif
