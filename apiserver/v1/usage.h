/* Usage of API v1 as a table. */
#ifndef BJ_APISERVER_V1_USAGE_H
#define BJ_APISERVER_V1_USAGE_H

#include "apiserver/frame/call.h"
#include "apiserver/frame/params.h"
#include "statsdb/job/rows.h"

/* The parameters of usage, and the columns of its rows. */
enum {
    BJ_USAGE_MASK = BJ_BIT(BJ_PARAM_USER) | BJ_BIT(BJ_PARAM_ACCOUNT) |
                    BJ_BIT(BJ_PARAM_PARTITION) | BJ_BIT(BJ_PARAM_CLUSTER) |
                    BJ_BIT(BJ_PARAM_GROUP_BY) | BJ_BIT(BJ_PARAM_FROM) |
                    BJ_BIT(BJ_PARAM_TO) | BJ_BIT(BJ_PARAM_MINE) |
                    BJ_BIT(BJ_PARAM_SORT)
};
extern const struct bj_column bj_usage_columns[];

/* Write the table; *cut: there are more rows.  0, a refusal, or an error of the
 * store. */
int bj_usage_list(struct bj_call *c, const struct bj_params *p,
                  const struct bj_output *out, bool *cut);

#endif
