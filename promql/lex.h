/* The lexer of PromQL: splits text into tokens of the grammar. */
#ifndef BJ_PROMQL_LEX_H
#define BJ_PROMQL_LEX_H

#include "promql/parser.h"

/* The kinds of token are those of the grammar. */
union BJ_GRAMMAR_STYPE;

/* Return the next token and its value; 0 at the end, or an undefined token if
 * the parse has failed. */
int bj_grammar_lex(union BJ_GRAMMAR_STYPE *value, struct bj_promql_parser *p);

#endif
