/* Usage of API v1 as a table. */
#ifndef BJ_APISERVER_V1_USAGE_H
#define BJ_APISERVER_V1_USAGE_H

#include "apiserver/frame/call.h"
#include "apiserver/frame/params.h"
#include "statsdb/derive/bill.h"
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

/* The sums of a group.  Texts are valid during the call that gets them; {NULL,
 * 0}: rows are not grouped by it, or it has no name. */
struct bj_usage_sum {
    struct bj_slice cluster, account, user, partition, faculty;
    int64_t month;          /* year * 12 + month - 1; 0: not grouped by it */
    unsigned day;           /* of the month; 0: not grouped by it */
    int64_t started, ended; /* jobs */
    int64_t oom, timeout;   /* of those that ended: out of memory; at a limit */
    struct bj_bill bill;
};

enum { BJ_USAGE_SUMS_MAX = 200000 }; /* rows */

/* Call each for the groups of the same parameters; it returns 0, or an error
 * that ends the call.  0, a refusal, or an error. */
typedef int bj_usage_each(void *ctx, const struct bj_usage_sum *sum);
int bj_usage_sums(struct bj_call *c, const struct bj_params *p,
                  bj_usage_each *each, void *ctx);

#endif
