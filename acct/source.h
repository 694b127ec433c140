/* The source from which batchjob_acct reads jobs: the store (acct_store.h) or
 * the API (acct_api.h). */
#ifndef BJ_ACCT_SOURCE_H
#define BJ_ACCT_SOURCE_H

#include "acct/row.h"
#include "base/opt.h"
#include "base/tz.h"
#include "statsdb/derive/price.h"
#include "statsdb/job/job_column.h"

/* Empty lists select all jobs; commas separate values within each text. */
struct bj_acct_filter {
    struct bj_strv user, account, partition, state, cluster, job;
    struct bj_strv node; /* lists of nodes on which they ran */
    /* Jobs that began in [since, until); INT64_MIN and INT64_MAX: no limit.
     * Pending jobs began when they were submitted. */
    int64_t since_sec, until_sec;
    /* Instead: jobs that ran within [since, until). */
    bool ran;
    uint64_t limit; /* maximum number of jobs, the newest first; 0: all */
};

struct bj_acct_query {
    struct bj_acct_filter filter;
    const struct bj_column *const *column;
    unsigned columns;
};

/* Receives one job; a negative return ends the list with that error. */
typedef int bj_acct_row_fn(void *ctx, const struct bj_acct_row *row,
                           struct bj_err *err);

/* What all programs use of the site; "" and BJ_SQL_NULL: not set. */
struct bj_acct_site {
    char time_zone[BJ_TZ_NAME];
    struct bj_prices prices;
};

struct bj_acct_cluster {
    char name[256];
    int64_t complete_sec; /* its accounting is imported up to then; INT64_MIN:
                             unknown */
};

struct bj_acct_clusters {
    struct bj_acct_cluster *v;
    size_t n, room;
};

struct bj_acct_source {
    int (*site)(void *source, struct bj_acct_site *ret, struct bj_err *err);
    /* The clusters that have jobs; the caller frees ret->v, if 0 is returned.
     */
    int (*clusters)(void *source, struct bj_acct_clusters *ret,
                    struct bj_err *err);
    /* Passes the selected jobs to fn, the newest first.
     *   -EINVAL  unknown state */
    int (*jobs)(void *source, const struct bj_acct_query *q, bj_acct_row_fn *fn,
                void *ctx, struct bj_err *err);
    /* API only: GET a path with its query; the reply is valid until the next
     * request.  NULL: the source is the store. */
    int (*get)(void *source, struct bj_slice path, struct bj_slice *ret,
               struct bj_err *err);
    struct bj_db *db; /* the store's connection; NULL: the source is the API */
    void (*close)(void *source);
    void *source;
};

#endif
