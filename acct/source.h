/* The source from which batchjob_acct reads jobs: the store (acct/store.h) or
 * the API (acct/api.h). */
#ifndef BJ_ACCT_SOURCE_H
#define BJ_ACCT_SOURCE_H

#include "base/err.h"
#include "base/opt.h"
#include "base/slice.h"
#include "base/tz.h"
#include "statsdb/derive/price.h"
#include "statsdb/job/job_column.h"
#include "statsdb/job/job_read.h"
#include <stdbool.h>

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

/* A job: the values of the chosen columns. */
struct bj_acct_row {
    /* Read the value of selected column i.  0 or an error. */
    int (*value)(void *ctx, unsigned i, struct bj_job_value *ret,
                 struct bj_err *err);
    void *ctx;
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
