/* The parameters of a request to the gate.  Only the parameters below are read;
 * they are checked and encoded again, so that the Prometheus server reads the
 * same values. */
#ifndef BJ_APISERVER_GATE_GATE_PARAMS_H
#define BJ_APISERVER_GATE_GATE_PARAMS_H

#include "apiserver/frame/call.h"

enum bj_gate_param {
    BJ_GATE_QUERY,
    BJ_GATE_TIME,
    BJ_GATE_START,
    BJ_GATE_END,
    BJ_GATE_STEP,
    BJ_GATE_TIMEOUT,
    BJ_GATE_LIMIT,
    BJ_GATE_METRIC,
    BJ_GATE_PARAMS,
    BJ_GATE_MATCH = BJ_GATE_PARAMS /* match[], only in masks */
};

/* For the OpenAPI document; the bit of a parameter is 1 << it. */
extern const struct bj_own_param bj_gate_param_docs[];

enum { BJ_GATE_MATCHES = 32 }; /* match[] */

struct bj_gate_params {
    struct bj_slice text[BJ_GATE_PARAMS]; /* n is 0: not given */
    int64_t ms[BJ_GATE_PARAMS];           /* of times and durations */
    struct bj_slice match[BJ_GATE_MATCHES];
    unsigned matches;
    struct bj_arena *arena; /* for decoded bodies */
    char why[120];          /* the error, as text */
};

/* Read the URL and the form in the body of a POST; texts live as long as the
 * request and the arena.  0, or a refusal. */
int bj_gate_params_read(struct bj_call *c, struct bj_arena *arena,
                        struct bj_gate_params *ret);

/* Append "&NAME=VALUE" in URL encoding. */
void bj_gate_param_put(struct bj_buf *b, const char *name,
                       struct bj_slice value);
/* Append a time or duration, in seconds. */
void bj_gate_time_put(struct bj_buf *b, enum bj_gate_param which, int64_t ms);
/* Append a parameter as the client sent it; times in seconds. */
void bj_gate_param_pass(struct bj_buf *b, const struct bj_gate_params *p,
                        enum bj_gate_param which);

#endif
