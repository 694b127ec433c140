/* The lexer of PromQL: bytes to tokens of the grammar. */
#ifndef BJ_PROMQL_LEX_H
#define BJ_PROMQL_LEX_H

#include "promql/parser.h"

/* The kinds of token are those of the grammar. */
union BJ_GRAMMAR_STYPE;

/* The next token and its value; 0 at the end, or an undefined token when the
 * parse has failed. */
int bj_grammar_lex(union BJ_GRAMMAR_STYPE *value, struct bj_promql_parser *p);

#endif
