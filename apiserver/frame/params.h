/* Parameters of requests, as people and Grafana write them. */
#ifndef BJ_APISERVER_FRAME_PARAMS_H
#define BJ_APISERVER_FRAME_PARAMS_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_call;

/* All parameters, in the order of bj_param_rules. */
enum bj_param {
    BJ_PARAM_USER,
    BJ_PARAM_ACCOUNT,
    BJ_PARAM_PARTITION,
    BJ_PARAM_CLUSTER,
    BJ_PARAM_STATE,
    BJ_PARAM_NODE,
    BJ_PARAM_NAME,
    BJ_PARAM_JOB,
    BJ_PARAM_FIELDS,
    BJ_PARAM_GROUP_BY,
    BJ_PARAM_FROM,
    BJ_PARAM_TO,
    BJ_PARAM_LIMIT,
    BJ_PARAM_CURSOR,
    BJ_PARAM_ORDER,
    BJ_PARAM_TOTAL,
    BJ_PARAM_MINE,
    BJ_PARAM_RUNNING,
    BJ_PARAM_METRIC,
    BJ_PARAM_BY,
    BJ_PARAM_STEP,
    BJ_PARAM_FINDING,
    BJ_PARAM_GPU,
    BJ_PARAM_BEGAN,
    BJ_PARAM_FORMAT,
    BJ_PARAM_LIVE,
    BJ_PARAM_SORT,
    BJ_PARAM_PAPER,
    BJ_PARAM_WIDTH,
    BJ_PARAM_MONTH,
    BJ_PARAM_SHOW,
    BJ_PARAMS
};

/* How times are written. */
#define BJ_PARAM_TIMES                                                         \
    "epoch seconds, epoch milliseconds, ISO 8601, now, now-7d, now/d or "      \
    "now-1w/w"

/* The kind of a parameter. */
struct bj_param_rule {
    const char *name;
    enum {
        BJ_PARAM_LIST, /* repeated, or "a,b", or "{a,b}"; empty, "*" and
                          "$__all": no filter */
        BJ_PARAM_TEXT, /* one text, unchanged; empty: none */
        BJ_PARAM_TIME, /* BJ_PARAM_TIMES */
        BJ_PARAM_UINT,
        BJ_PARAM_FLAG /* true, false, 1, 0; without value: true */
    } kind;
    const char *help;
};
extern const struct bj_param_rule bj_param_rules[BJ_PARAMS];

enum { BJ_PARAM_VALUES = 200 }; /* of all lists in total */

struct bj_params {
    struct {
        enum bj_param which;
        struct bj_slice text;
    } value[BJ_PARAM_VALUES];
    unsigned values;
    bool given[BJ_PARAMS];     /* the parameter filters */
    bool all[BJ_PARAMS];       /* one of its values is "no filter" */
    int64_t number[BJ_PARAMS]; /* value of times (seconds), counts and flags */
};

/* The bit of a parameter in a mask. */
#define BJ_BIT(param) (1 << (param))

/* Read the parameters of the request; mask: the parameters of the endpoint.
 * Names may begin with "var-"; unknown names that begin with it are ignored.  0
 * or a refusal. */
int bj_params_read(struct bj_call *c, unsigned mask, struct bj_params *ret);

/* Read parameters from other sources: clear, put any number of values, end.
 * bj_params_put returns the same as bj_params_read and ignores unknown names.
 */
void bj_params_clear(struct bj_params *p);
int bj_params_put(struct bj_call *c, struct bj_params *p, unsigned mask,
                  struct bj_slice name, struct bj_slice value);
void bj_params_end(struct bj_params *p);

/* Return the first value of a parameter, or {NULL, 0}. */
struct bj_slice bj_params_text(const struct bj_params *p, enum bj_param which);

/* Return the period of the parameters from and to, by default the last week.  0
 * or a refusal. */
int bj_params_period(struct bj_call *c, const struct bj_params *p,
                     int64_t *from, int64_t *to);

/* Parse a time (BJ_PARAM_TIMES); end: it is the end of a range, which "/d"
 * rounds up. -EINVAL. */
int bj_param_time(struct bj_slice s, int64_t now_sec, bool end, int64_t *ret);

#endif
