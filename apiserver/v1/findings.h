/* Findings of many jobs. */
#ifndef BJ_APISERVER_V1_FINDINGS_H
#define BJ_APISERVER_V1_FINDINGS_H

#include "apiserver/frame/params.h"
#include "apiserver/frame/query.h"
#include "statsdb/job/job_column.h"

enum {
    BJ_FINDINGS_MASK = BJ_BIT(BJ_PARAM_USER) | BJ_BIT(BJ_PARAM_ACCOUNT) |
                       BJ_BIT(BJ_PARAM_PARTITION) | BJ_BIT(BJ_PARAM_CLUSTER) |
                       BJ_BIT(BJ_PARAM_MINE) | BJ_BIT(BJ_PARAM_FROM) |
                       BJ_BIT(BJ_PARAM_TO) | BJ_BIT(BJ_PARAM_LIMIT) |
                       BJ_BIT(BJ_PARAM_CURSOR) | BJ_BIT(BJ_PARAM_FINDING) |
                       BJ_BIT(BJ_PARAM_GPU) | BJ_BIT(BJ_PARAM_RUNNING) |
                       BJ_BIT(BJ_PARAM_SORT)
};

/* The columns of findings; ends with name NULL. */
extern const struct bj_column bj_finding_columns[];

/* The end of a list. */
struct bj_findings_end {
    char
        next[48]; /* the cursor of the next page; empty: the list is complete */
    /* There are too many findings to sort: only those of jobs since this time
     * are listed. */
    bool partial;
    int64_t at;
};

/* Write findings: the newest jobs first; with sort=cost the most severe first,
 * and of these the most expensive (statsdb/job/wasted.h).  0, a refusal, or an
 * error of the store. */
int bj_findings_list(struct bj_call *c, const struct bj_params *p,
                     const struct bj_output *out, struct bj_findings_end *ret);

/* Append " ORDER BY ..." to a query of the findings f of a job, in the order of
 * sort=cost.  0 or an error of the store. */
int bj_findings_order(struct bj_call *c, int64_t job, struct bj_query *q);

#endif
