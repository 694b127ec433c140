/* The state of one parse, shared by the lexer, the grammar and the builders of
 * nodes. */
#ifndef BJ_PROMQL_PARSER_H
#define BJ_PROMQL_PARSER_H

#include "promql/promql.h"

/* A duration while it is parsed. */
struct bj_promql_time {
    double seconds;
    struct bj_slice literal; /* its text; empty: the result of operations */
    bool unknown; /* depends on times of a query that is not evaluated */
};

struct bj_promql_parser {
    struct bj_slice text;
    struct bj_promql_times times;
    bool evaluated; /* false: times are unknown */
    size_t at;      /* position of the next byte to read */
    size_t token;   /* position of the first byte of the last token */
    enum { BJ_LEX_NORMAL, BJ_LEX_BRACES, BJ_LEX_BRACKETS } mode;
    unsigned parens;                    /* number of open parentheses */
    bool only_selector, started, colon; /* colon: seen in these brackets */
    unsigned nodes;
    struct bj_arena *arena;
    struct bj_err *err; /* the first error; later ones are ignored */
    struct bj_promql_node *tree;
};

/* Set the error of the parse, unless it has one already; returns the error's
 * code. */
int bj_promql_fail(struct bj_promql_parser *p, size_t position, int code,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
