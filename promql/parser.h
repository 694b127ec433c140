/* What lexer, grammar and the builders of nodes share during one parse. */
#ifndef BJ_PROMQL_PARSER_H
#define BJ_PROMQL_PARSER_H

#include "promql/promql.h"

struct bj_promql_parser {
    struct bj_slice text;
    size_t at;    /* next byte that the lexer reads */
    size_t token; /* first byte of the token it returned last */
    enum { BJ_LEX_NORMAL, BJ_LEX_BRACES, BJ_LEX_BRACKETS } mode;
    unsigned parens;                    /* open ones */
    bool only_selector, started, colon; /* colon: seen in these brackets */
    unsigned nodes;
    struct bj_arena *arena;
    struct bj_err *err; /* its code is set: the first error counts */
    struct bj_promql_node *tree;
};

/* Set the error of the parse, unless it has one; returns its code. */
int bj_promql_fail(struct bj_promql_parser *p, size_t position, int code,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
