/* The grammar of PromQL, after Prometheus' promql/parser/generated_parser.y:
 * the same levels of operators, and the same words as names. */
%require "3.0"
%define api.pure full
%define api.prefix {bj_grammar_}
%define api.token.prefix {T_}
%param {struct bj_promql_parser *p}

%code requires {
#include "promql/parser.h"
}

%code {
#include "promql/build.h"
#include "promql/duration.h"
#include "promql/lex.h"

#define YYMAXDEPTH 2000
#define MADE(node) do { if (!(node)) YYABORT; } while (0)

static void bj_grammar_error(struct bj_promql_parser *p, const char *what)
{
    bj_promql_unexpected(p, what);
}
}

%union {
    struct bj_slice slice;
    struct bj_promql_node *node;
    struct bj_promql_matcher *matcher;
    struct bj_promql_label *label;
    enum bj_promql_match match;
    struct bj_promql_time time;
    bool negative;
}

%token START_QUERY START_SELECTOR BAD
%token <slice> IDENT METRIC STRING NUMBER DURATION INF NAN
%token <slice> AND OR UNLESS ATAN2
%token <slice> SUM AVG COUNT MIN MAX GROUP STDDEV STDVAR TOPK BOTTOMK
%token <slice> COUNT_VALUES QUANTILE LIMITK LIMIT_RATIO
%token <slice> OFFSET BY WITHOUT ON IGNORING GROUP_LEFT GROUP_RIGHT BOOL
%token <slice> SMOOTHED ANCHORED START END_OF STEP RANGE MAX_OF MIN_OF
%token FILL FILL_LEFT FILL_RIGHT
%token EQL NEQ LTE GTE LSS GTR TRIM_UPPER TRIM_LOWER
%token ASSIGN EQL_REGEX NEQ_REGEX
%token ADD SUB MUL DIV MOD POW AT COLON COMMA
%token LPAREN RPAREN LBRACE RBRACE LBRACKET RBRACKET

%precedence END_OF_OFFSET /* arithmetic goes on */
%left OR
%left AND UNLESS
%left EQL NEQ LTE GTE LSS GTR TRIM_UPPER TRIM_LOWER
%left ADD SUB
%left MUL DIV MOD ATAN2
%right POW
%nonassoc OFFSET
%right LBRACKET AT SMOOTHED ANCHORED

%type <node> expr aggregate clause arguments expressions call selector mods
%type <node> matching bool_or_not braces matchers
%type <matcher> matcher
%type <match> match_operator
%type <label> labels label_list optional_labels
%type <slice> name label number aggregator caller literal signed
%type <time> duration time_call offset offset_sum
%type <negative> sign

/* "group_left (a)" is a list of labels, not an operand in parentheses */
%expect 4

%%

query:
    START_QUERY expr          { p->tree = $2; }
  | START_SELECTOR selector   { p->tree = $2; }
;

expr:
    number           { MADE($$ = bj_promql_literal(p, BJ_PROMQL_NUMBER, $1)); }
  | STRING           { MADE($$ = bj_promql_literal(p, BJ_PROMQL_STRING, $1)); }
  | selector
  | aggregate
  | call
  | LPAREN expr RPAREN                  { MADE($$ = bj_promql_paren(p, $2)); }
  | ADD expr %prec MUL                  { MADE($$ = bj_promql_unary(p, '+', $2)); }
  | SUB expr %prec MUL                  { MADE($$ = bj_promql_unary(p, '-', $2)); }
  | expr LBRACKET duration RBRACKET     { MADE($$ = bj_promql_range(p, $1, $3)); }
  | expr LBRACKET duration COLON RBRACKET
                                        { MADE($$ = bj_promql_subquery(p, $1, $3, NULL)); }
  | expr LBRACKET duration COLON duration RBRACKET
                                        { MADE($$ = bj_promql_subquery(p, $1, $3, &$5)); }
  | expr OFFSET offset                  { MADE(bj_promql_offset(p, $1, $3)); $$ = $1; }
  | expr AT sign number                 { MADE(bj_promql_at_time(p, $1, $3, $4)); $$ = $1; }
  | expr AT START LPAREN RPAREN         { MADE(bj_promql_at(p, $1, BJ_PROMQL_AT_START)); $$ = $1; }
  | expr AT END_OF LPAREN RPAREN        { MADE(bj_promql_at(p, $1, BJ_PROMQL_AT_END)); $$ = $1; }
  | expr ANCHORED                       { MADE(bj_promql_extent(p, $1, "anchored")); $$ = $1; }
  | expr SMOOTHED                       { MADE(bj_promql_extent(p, $1, "smoothed")); $$ = $1; }
  | expr OR mods expr          { MADE($$ = bj_promql_binary(p, "or", $3, $1, $4)); }
  | expr AND mods expr         { MADE($$ = bj_promql_binary(p, "and", $3, $1, $4)); }
  | expr UNLESS mods expr      { MADE($$ = bj_promql_binary(p, "unless", $3, $1, $4)); }
  | expr EQL mods expr         { MADE($$ = bj_promql_binary(p, "==", $3, $1, $4)); }
  | expr NEQ mods expr         { MADE($$ = bj_promql_binary(p, "!=", $3, $1, $4)); }
  | expr LTE mods expr         { MADE($$ = bj_promql_binary(p, "<=", $3, $1, $4)); }
  | expr GTE mods expr         { MADE($$ = bj_promql_binary(p, ">=", $3, $1, $4)); }
  | expr LSS mods expr         { MADE($$ = bj_promql_binary(p, "<", $3, $1, $4)); }
  | expr GTR mods expr         { MADE($$ = bj_promql_binary(p, ">", $3, $1, $4)); }
  | expr TRIM_UPPER mods expr  { MADE($$ = bj_promql_binary(p, "</", $3, $1, $4)); }
  | expr TRIM_LOWER mods expr  { MADE($$ = bj_promql_binary(p, ">/", $3, $1, $4)); }
  | expr ADD mods expr         { MADE($$ = bj_promql_binary(p, "+", $3, $1, $4)); }
  | expr SUB mods expr         { MADE($$ = bj_promql_binary(p, "-", $3, $1, $4)); }
  | expr MUL mods expr         { MADE($$ = bj_promql_binary(p, "*", $3, $1, $4)); }
  | expr DIV mods expr         { MADE($$ = bj_promql_binary(p, "/", $3, $1, $4)); }
  | expr MOD mods expr         { MADE($$ = bj_promql_binary(p, "%", $3, $1, $4)); }
  | expr ATAN2 mods expr       { MADE($$ = bj_promql_binary(p, "atan2", $3, $1, $4)); }
  | expr POW mods expr         { MADE($$ = bj_promql_binary(p, "^", $3, $1, $4)); }
;

number: NUMBER | DURATION | INF | NAN ;
literal: NUMBER | DURATION ;

duration:
    literal                     { MADE(bj_promql_time_literal(p, $1, &$$)); }
  | time_call
  | LPAREN duration RPAREN      { $$ = bj_promql_time_result($2); }
  | ADD duration %prec MUL      { $$ = bj_promql_time_result($2); }
  | SUB duration %prec MUL      { $$ = bj_promql_time_negated($2); }
  | duration ADD duration       { MADE(bj_promql_time_binary(p, '+', $1, $3, &$$)); }
  | duration SUB duration       { MADE(bj_promql_time_binary(p, '-', $1, $3, &$$)); }
  | duration MUL duration       { MADE(bj_promql_time_binary(p, '*', $1, $3, &$$)); }
  | duration DIV duration       { MADE(bj_promql_time_binary(p, '/', $1, $3, &$$)); }
  | duration MOD duration       { MADE(bj_promql_time_binary(p, '%', $1, $3, &$$)); }
  | duration POW duration       { MADE(bj_promql_time_binary(p, '^', $1, $3, &$$)); }
;

time_call:
    STEP LPAREN RPAREN          { $$ = bj_promql_time_of_query(p, p->times.step_ms); }
  | RANGE LPAREN RPAREN         { $$ = bj_promql_time_of_query(p, p->times.range_ms); }
  | MAX_OF LPAREN duration COMMA duration RPAREN
                                { $$ = bj_promql_time_larger($3, $5); }
  | MIN_OF LPAREN duration COMMA duration RPAREN
                                { $$ = bj_promql_time_smaller($3, $5); }
;

/* An offset ends after one literal, call or sign with parentheses:
 * "m offset 5s - 8" is "(m offset 5s) - 8".  After parentheses without a sign,
 * Prometheus takes what follows as a part of the duration. */
offset:
    literal                     { MADE(bj_promql_time_literal(p, $1, &$$)); }
  | ADD literal                 { MADE(bj_promql_time_literal(p, $2, &$$)); }
  | SUB literal                 { MADE(bj_promql_time_literal(p, $2, &$$)); $$.seconds = -$$.seconds; }
  | time_call
  | ADD time_call               { $$ = $2; }
  | SUB time_call               { $$ = bj_promql_time_negated($2); }
  | ADD LPAREN duration RPAREN  { $$ = bj_promql_time_result($3); }
  | SUB LPAREN duration RPAREN  { $$ = bj_promql_time_negated($3); }
  | offset_sum %prec END_OF_OFFSET
;

offset_sum:
    LPAREN duration RPAREN      { $$ = bj_promql_time_result($2); }
  | offset_sum ADD duration     { MADE(bj_promql_time_binary(p, '+', $1, $3, &$$)); }
  | offset_sum SUB duration     { MADE(bj_promql_time_binary(p, '-', $1, $3, &$$)); }
  | offset_sum MUL duration     { MADE(bj_promql_time_binary(p, '*', $1, $3, &$$)); }
  | offset_sum DIV duration     { MADE(bj_promql_time_binary(p, '/', $1, $3, &$$)); }
  | offset_sum MOD duration     { MADE(bj_promql_time_binary(p, '%', $1, $3, &$$)); }
  | offset_sum POW duration     { MADE(bj_promql_time_binary(p, '^', $1, $3, &$$)); }
;

sign:
    %empty  { $$ = false; }
  | ADD     { $$ = false; }
  | SUB     { $$ = true; }
;

mods:
    matching
  | matching FILL LPAREN signed RPAREN        { $$ = $1; $$->fill_left = $$->fill_right = $4; }
  | matching FILL_LEFT LPAREN signed RPAREN   { $$ = $1; $$->fill_left = $4; }
  | matching FILL_RIGHT LPAREN signed RPAREN  { $$ = $1; $$->fill_right = $4; }
  | matching FILL_LEFT LPAREN signed RPAREN FILL_RIGHT LPAREN signed RPAREN
                                              { $$ = $1; $$->fill_left = $4; $$->fill_right = $8; }
  | matching FILL_RIGHT LPAREN signed RPAREN FILL_LEFT LPAREN signed RPAREN
                                              { $$ = $1; $$->fill_right = $4; $$->fill_left = $8; }
;

signed: sign number { $$ = bj_promql_signed(p, $1, $2); } ;

matching:
    bool_or_not
  | bool_or_not ON labels        { $$ = bj_promql_group_by($1, BJ_PROMQL_ON, $3); }
  | bool_or_not IGNORING labels  { $$ = bj_promql_group_by($1, BJ_PROMQL_IGNORING, $3); }
  | bool_or_not ON labels GROUP_LEFT optional_labels
        { $$ = bj_promql_group_by($1, BJ_PROMQL_ON, $3); $$->group = "group_left"; $$->include = $5; }
  | bool_or_not ON labels GROUP_RIGHT optional_labels
        { $$ = bj_promql_group_by($1, BJ_PROMQL_ON, $3); $$->group = "group_right"; $$->include = $5; }
  | bool_or_not IGNORING labels GROUP_LEFT optional_labels
        { $$ = bj_promql_group_by($1, BJ_PROMQL_IGNORING, $3); $$->group = "group_left"; $$->include = $5; }
  | bool_or_not IGNORING labels GROUP_RIGHT optional_labels
        { $$ = bj_promql_group_by($1, BJ_PROMQL_IGNORING, $3); $$->group = "group_right"; $$->include = $5; }
;

bool_or_not:
    %empty  { MADE($$ = bj_promql_node(p, BJ_PROMQL_BINARY)); }
  | BOOL    { MADE($$ = bj_promql_node(p, BJ_PROMQL_BINARY)); $$->returns_bool = true; }
;

optional_labels:
    %empty  { $$ = NULL; }
  | labels
;

/* lists are built in reverse and turned round at the end */
labels:
    LPAREN RPAREN                   { $$ = NULL; }
  | LPAREN label_list RPAREN        { $$ = bj_promql_in_order($2); }
  | LPAREN label_list COMMA RPAREN  { $$ = bj_promql_in_order($2); }
;

label_list:
    label                   { MADE($$ = bj_promql_label(p, $1, NULL)); }
  | label_list COMMA label  { MADE($$ = bj_promql_label(p, $3, $1)); }
;

label:
    IDENT | METRIC | STRING
  | AND | OR | UNLESS | ATAN2
  | aggregator
  | OFFSET | BY | ON | IGNORING | GROUP_LEFT | GROUP_RIGHT | BOOL
  | SMOOTHED | ANCHORED | START | END_OF | STEP | RANGE | MAX_OF | MIN_OF
;

aggregator:
    SUM | AVG | COUNT | MIN | MAX | GROUP | STDDEV | STDVAR | TOPK | BOTTOMK
  | COUNT_VALUES | QUANTILE | LIMITK | LIMIT_RATIO
;

aggregate:
    aggregator clause arguments  { MADE($$ = bj_promql_aggregate(p, $1, $2, $3)); }
  | aggregator arguments clause  { MADE($$ = bj_promql_aggregate(p, $1, $3, $2)); }
  | aggregator arguments         { MADE($$ = bj_promql_aggregate(p, $1, NULL, $2)); }
;

clause:
    BY labels       { MADE($$ = bj_promql_node(p, BJ_PROMQL_AGGREGATE)); bj_promql_group_by($$, BJ_PROMQL_BY, $2); }
  | WITHOUT labels  { MADE($$ = bj_promql_node(p, BJ_PROMQL_AGGREGATE)); bj_promql_group_by($$, BJ_PROMQL_WITHOUT, $2); }
;

arguments:
    LPAREN RPAREN              { MADE($$ = bj_promql_node(p, BJ_PROMQL_CALL)); }
  | LPAREN expressions RPAREN  { $$ = $2; }
;

expressions:
    expr                    { MADE($$ = bj_promql_node(p, BJ_PROMQL_CALL)); bj_promql_add(p, $$, $1); }
  | expressions COMMA expr  { $$ = $1; bj_promql_add(p, $$, $3); }
;

call: caller arguments { MADE($$ = bj_promql_call(p, $1, $2)); } ;

caller: IDENT | START | END_OF | STEP | RANGE | MAX_OF | MIN_OF ;

selector:
    name         { MADE($$ = bj_promql_selector(p, $1, NULL)); }
  | name braces  { MADE($$ = bj_promql_selector(p, $1, $2)); }
  | braces       { MADE($$ = bj_promql_selector(p, (struct bj_slice){0}, $1)); }
;

name:
    IDENT | METRIC | aggregator
  | AND | OR | UNLESS | BY | OFFSET | WITHOUT | START | END_OF | STEP | RANGE
  | ANCHORED | SMOOTHED | MAX_OF | MIN_OF
;

braces:
    LBRACE RBRACE                 { MADE($$ = bj_promql_node(p, BJ_PROMQL_SELECTOR)); }
  | LBRACE matchers RBRACE        { $$ = $2; }
  | LBRACE matchers COMMA RBRACE  { $$ = $2; }
;

matchers:
    matcher                 { MADE($$ = bj_promql_node(p, BJ_PROMQL_SELECTOR)); bj_promql_add_matcher($$, $1); }
  | matchers COMMA matcher  { $$ = $1; bj_promql_add_matcher($$, $3); }
;

matcher:
    IDENT match_operator STRING   { MADE($$ = bj_promql_matcher(p, $1, $2, $3)); }
  | STRING match_operator STRING  { MADE($$ = bj_promql_matcher(p, $1, $2, $3)); }
  | STRING                        { MADE($$ = bj_promql_matcher(p, BJ_SLICE("__name__"), BJ_PROMQL_EQ, $1)); }
;

match_operator:
    ASSIGN     { $$ = BJ_PROMQL_EQ; }
  | NEQ        { $$ = BJ_PROMQL_NE; }
  | EQL_REGEX  { $$ = BJ_PROMQL_RE; }
  | NEQ_REGEX  { $$ = BJ_PROMQL_NRE; }
;

%%
