/* The functions of PromQL and the types of their arguments. */
#ifndef BJ_PROMQL_FUNCTION_H
#define BJ_PROMQL_FUNCTION_H

#include "promql/promql.h"

struct bj_promql_function {
    const char *name;
    /* A letter for each argument: S scalar, V instant vector, M range vector, T
     * string, B selector in braces.  Arguments after '?' are optional; '*': any
     * number of the last one. */
    const char *args;
    enum bj_promql_type result;
};

/* Find a function by its name; NULL: Prometheus has none of that name. */
const struct bj_promql_function *bj_promql_function(struct bj_slice name);

#endif
