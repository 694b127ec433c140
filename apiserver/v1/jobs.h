/* Lists of jobs of API v1, and the columns that a request selects. */
#ifndef BJ_APISERVER_V1_JOBS_H
#define BJ_APISERVER_V1_JOBS_H

#include "apiserver/frame/params.h"
#include "apiserver/frame/query.h"
#include "statsdb/job/job_read.h"

/* Select the columns named by "fields"; by default those of lists, or all. 0 or
 * a refusal. */
int bj_jobs_pick(struct bj_call *c, const struct bj_params *p, bool all,
                 struct bj_picked *ret);

enum { BJ_JOBS_FIRST = 2 }; /* first value, after j.at and j.id */

/* Begin "SELECT j.at, j.id, VALUES"; they need BJ_JOB_FROM BJ_JOB_FROM_USE. */
void bj_jobs_select_values(struct bj_query *q, const struct bj_picked *k);

/* Parameters of a list of jobs. */
enum {
    BJ_JOBS_MASK =
        BJ_BIT(BJ_PARAM_USER) | BJ_BIT(BJ_PARAM_ACCOUNT) |
        BJ_BIT(BJ_PARAM_PARTITION) | BJ_BIT(BJ_PARAM_CLUSTER) |
        BJ_BIT(BJ_PARAM_STATE) | BJ_BIT(BJ_PARAM_NODE) | BJ_BIT(BJ_PARAM_NAME) |
        BJ_BIT(BJ_PARAM_JOB) | BJ_BIT(BJ_PARAM_FIELDS) | BJ_BIT(BJ_PARAM_FROM) |
        BJ_BIT(BJ_PARAM_TO) | BJ_BIT(BJ_PARAM_LIMIT) | BJ_BIT(BJ_PARAM_ORDER) |
        BJ_BIT(BJ_PARAM_MINE) | BJ_BIT(BJ_PARAM_RUNNING) |
        BJ_BIT(BJ_PARAM_GPU) | BJ_BIT(BJ_PARAM_FINDING) | BJ_BIT(BJ_PARAM_SORT)
};

enum { BJ_CURSOR_BYTES = 48 };

/* The end of a list. */
struct bj_jobs_end {
    char next[BJ_CURSOR_BYTES]; /* the cursor of the next page; empty: the list
                                   is complete */
    /* The list is incomplete: the time limit ended the search at jobs that
     * started at this time. */
    bool partial;
    int64_t at;
    int64_t total; /* number of matching jobs, if requested; else negative */
    bool at_least; /* total is only a lower bound */
};

/* Write a whole list, without an envelope, with the columns of bj_jobs_pick. 0,
 * a refusal, or an error of the store. */
int bj_jobs_list(struct bj_call *c, const struct bj_params *p,
                 const struct bj_output *out, struct bj_jobs_end *ret);

/* Refuse a partial list, for responses that cannot mark it as partial; 0 if it
 * is not partial. */
int bj_jobs_refuse_partial(struct bj_call *c, const struct bj_jobs_end *end);

/* Append the condition " AND ..." for the parameter gpu. */
void bj_jobs_with_gpu(struct bj_query *q, const struct bj_params *p);

#endif
