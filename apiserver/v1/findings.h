/* Findings of many jobs. */
#ifndef BJ_APISERVER_V1_FINDINGS_H
#define BJ_APISERVER_V1_FINDINGS_H

#include "apiserver/frame/column.h"
#include "apiserver/frame/params.h"
#include "apiserver/frame/query.h"

enum {
    BJ_FINDINGS_CURSOR = 48, /* bytes */
    BJ_FINDINGS_MASK = BJ_BIT(BJ_PARAM_USER) | BJ_BIT(BJ_PARAM_ACCOUNT) |
                       BJ_BIT(BJ_PARAM_PARTITION) | BJ_BIT(BJ_PARAM_CLUSTER) |
                       BJ_BIT(BJ_PARAM_MINE) | BJ_BIT(BJ_PARAM_FROM) |
                       BJ_BIT(BJ_PARAM_TO) | BJ_BIT(BJ_PARAM_LIMIT) |
                       BJ_BIT(BJ_PARAM_CURSOR) | BJ_BIT(BJ_PARAM_FINDING) |
                       BJ_BIT(BJ_PARAM_GPU) | BJ_BIT(BJ_PARAM_RUNNING)
};

/* Write findings, newest jobs first; next is the cursor of the next page, or
 * empty.  0, a refusal, or an error of the store. */
int bj_findings_list(struct bj_call *c, const struct bj_params *p,
                     const struct bj_output *out,
                     char next[BJ_FINDINGS_CURSOR]);

#endif
