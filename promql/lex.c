#include "promql/lex.h"

#include "promql/literal.h"

/* bison writes it; the values need the types of parser.h */
#include "promql/grammar.h"

#include <stdio.h>

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool lex_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool lex_is_word(char c)
{
    return is_alpha(c) || lex_is_digit(c);
}

/* The byte n positions after the next one; 0 after the end. */
static char peek(const struct bj_promql_parser *p, size_t n)
{
    return p->at + n < p->text.n ? p->text.p[p->at + n] : '\0';
}

static int bad_token(struct bj_promql_parser *p, const char *what)
{
    bj_promql_fail(p, p->token, -EINVAL, "%s", what);
    return T_BAD;
}

struct word {
    const char *name;
    int token;
};

static const struct word words[] = {
    {"and", T_AND},
    {"or", T_OR},
    {"unless", T_UNLESS},
    {"atan2", T_ATAN2},
    {"sum", T_SUM},
    {"avg", T_AVG},
    {"count", T_COUNT},
    {"min", T_MIN},
    {"max", T_MAX},
    {"group", T_GROUP},
    {"stddev", T_STDDEV},
    {"stdvar", T_STDVAR},
    {"topk", T_TOPK},
    {"bottomk", T_BOTTOMK},
    {"count_values", T_COUNT_VALUES},
    {"quantile", T_QUANTILE},
    {"limitk", T_LIMITK},
    {"limit_ratio", T_LIMIT_RATIO},
    {"offset", T_OFFSET},
    {"by", T_BY},
    {"without", T_WITHOUT},
    {"on", T_ON},
    {"ignoring", T_IGNORING},
    {"group_left", T_GROUP_LEFT},
    {"group_right", T_GROUP_RIGHT},
    {"bool", T_BOOL},
    {"smoothed", T_SMOOTHED},
    {"anchored", T_ANCHORED},
    {"start", T_START},
    {"end", T_END_OF},
    {"step", T_STEP},
    {"range", T_RANGE},
    {"max_of", T_MAX_OF},
    {"min_of", T_MIN_OF},
    {"inf", T_INF},
    {"nan", T_NAN},
    /* keywords only if a parenthesis follows */
    {"fill", T_FILL},
    {"fill_left", T_FILL_LEFT},
    {"fill_right", T_FILL_RIGHT},
};

static bool same_word(struct bj_slice s, const char *word)
{
    size_t i = 0;
    for (; i < s.n && word[i]; i++)
        if ((s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] | 0x20 : s.p[i]) !=
            word[i])
            return false;
    return i == s.n && !word[i];
}

/* Words that may be in brackets. */
static bool is_duration_word(struct bj_slice s)
{
    return same_word(s, "step") || same_word(s, "range") ||
           same_word(s, "max_of") || same_word(s, "min_of");
}

static bool parenthesis_follows(const struct bj_promql_parser *p)
{
    size_t i = 0;
    while (peek(p, i) == ' ' || peek(p, i) == '\t' || peek(p, i) == '\n' ||
           peek(p, i) == '\r')
        i++;
    return peek(p, i) == '(';
}

static int lex_word(struct bj_promql_parser *p, struct bj_slice *ret)
{
    bool colon = false;
    size_t from = p->at;
    while (lex_is_word(peek(p, 0)) || peek(p, 0) == ':')
        colon |= p->text.p[p->at++] == ':';
    struct bj_slice s = {p->text.p + from, p->at - from};
    const char first = (char)(s.p[0] | 0x20); /* words begin with a letter */
    *ret = bj_arena_copy(p->arena, s);
    if (p->mode == BJ_LEX_BRACKETS && !is_duration_word(s))
        return bad_token(p, "a duration is made of numbers, units, "
                            "operators, step(), range(), max_of() and "
                            "min_of()");
    for (size_t i = 0; !colon && i < sizeof words / sizeof *words; i++) {
        if (words[i].name[0] != first || !same_word(s, words[i].name))
            continue;
        bool fill = words[i].token >= T_FILL && words[i].token <= T_FILL_RIGHT;
        if (fill && !parenthesis_follows(p))
            break;
        return words[i].token;
    }
    return colon ? T_METRIC : T_IDENT;
}

/* Read the bytes of a number or duration; returns which one it is. */
static int lex_number(struct bj_promql_parser *p, struct bj_slice *ret)
{
    size_t from = p->at;
    bool hex = peek(p, 0) == '0' && (peek(p, 1) | 0x20) == 'x';
    bool exponent = false, point = false;
    for (; p->at < p->text.n; p->at++) {
        char c = p->text.p[p->at];
        if ((c == '+' || c == '-') && exponent &&
            (p->text.p[p->at - 1] | 0x20) == 'e')
            continue;
        if (c == '.' && !point && !hex && !exponent) {
            point = true;
            continue;
        }
        if (!lex_is_word(c))
            break;
        exponent |= !hex && (c | 0x20) == 'e';
    }
    struct bj_slice s = {p->text.p + from, p->at - from}, number;
    int64_t ms;
    int e = bj_promql_number(s, p->arena, &number);
    if (e == 0) {
        *ret = number;
        return T_NUMBER;
    }
    if (e == -EINVAL && (e = bj_promql_duration(s, &ms)) == 0) {
        *ret = s;
        return T_DURATION;
    }
    return bad_token(p, e == -ERANGE ? "the number is too large"
                                     : "wrong number or duration");
}

static int lex_string(struct bj_promql_parser *p, struct bj_slice *ret)
{
    size_t from = p->at++;
    char quote = p->text.p[from];
    for (;; p->at++) {
        if (p->at >= p->text.n)
            return bad_token(p, "the string does not end");
        char c = p->text.p[p->at];
        if (c == quote)
            break;
        if (c == '\n' && quote != '`')
            return bad_token(p, "the string does not end in its line");
        if (c == '\\' && quote != '`' && ++p->at >= p->text.n)
            return bad_token(p, "the string does not end");
        if (c == '\\' && quote != '`' && p->text.p[p->at] == '\n')
            return bad_token(p, "the string does not end in its line");
    }
    p->at++;
    struct bj_slice s = {p->text.p + from, p->at - from};
    int e = bj_promql_string(s, p->arena, ret);
    return e ? bad_token(p, "wrong escape in the string") : T_STRING;
}

static const struct {
    char text[3];
    int token;
} operators[] = {
    /* longer ones first */
    {"==", T_EQL},       {"!=", T_NEQ},        {"<=", T_LTE},
    {">=", T_GTE},       {"</", T_TRIM_UPPER}, {">/", T_TRIM_LOWER},
    {"=~", T_EQL_REGEX}, {"!~", T_NEQ_REGEX},  {"<", T_LSS},
    {">", T_GTR},        {"=", T_ASSIGN},      {"+", T_ADD},
    {"-", T_SUB},        {"*", T_MUL},         {"/", T_DIV},
    {"%", T_MOD},        {"^", T_POW},         {"(", T_LPAREN},
    {")", T_RPAREN},     {"{", T_LBRACE},      {"}", T_RBRACE},
    {"[", T_LBRACKET},   {"]", T_RBRACKET},    {",", T_COMMA},
    {"@", T_AT},         {":", T_COLON},
};

/* Is this token allowed in the current mode, which it may change? */
static bool allowed(struct bj_promql_parser *p, int token)
{
    switch (p->mode) {
    case BJ_LEX_BRACES:
        if (token == T_RBRACE)
            p->mode = BJ_LEX_NORMAL;
        return token == T_RBRACE || token == T_COMMA || token == T_ASSIGN ||
               token == T_NEQ || token == T_EQL_REGEX || token == T_NEQ_REGEX;
    case BJ_LEX_BRACKETS:
        if (token == T_RBRACKET)
            p->mode = BJ_LEX_NORMAL;
        return token == T_RBRACKET || token == T_COLON || token == T_COMMA ||
               token == T_LPAREN || token == T_RPAREN ||
               (token >= T_ADD && token <= T_POW);
    case BJ_LEX_NORMAL:
        break;
    }
    if (token == T_LBRACE)
        p->mode = BJ_LEX_BRACES;
    if (token == T_LBRACKET)
        p->mode = BJ_LEX_BRACKETS;
    return token != T_ASSIGN && token != T_EQL_REGEX && token != T_NEQ_REGEX &&
           token != T_COLON && token != T_RBRACE && token != T_RBRACKET;
}

static int lex_operator(struct bj_promql_parser *p)
{
    struct bj_slice rest = {p->text.p + p->at, p->text.n - p->at};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        struct bj_slice s = {operators[i].text, operators[i].text[1] ? 2 : 1};
        if (s.p[0] != rest.p[0] || !bj_slice_starts(rest, s))
            continue;
        if (p->mode == BJ_LEX_BRACES && operators[i].token == T_EQL)
            continue; /* two = in a row: a syntax error */
        p->at += s.n;
        if (allowed(p, operators[i].token))
            return operators[i].token;
        p->at -= s.n;
        break;
    }
    char msg[64];
    if (rest.p[0] > ' ' && rest.p[0] < 0x7F)
        snprintf(msg, sizeof msg, "unexpected character '%c'", rest.p[0]);
    else
        snprintf(msg, sizeof msg, "unexpected byte 0x%02x",
                 (unsigned char)rest.p[0]);
    return bad_token(p, msg);
}

static void skip_blanks(struct bj_promql_parser *p)
{
    for (; p->at < p->text.n; p->at++) {
        char c = p->text.p[p->at];
        if (c == '#')
            while (p->at < p->text.n && p->text.p[p->at] != '\n' &&
                   p->text.p[p->at] != '\r')
                p->at++;
        else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return;
    }
}

int bj_grammar_lex(BJ_GRAMMAR_STYPE *value, struct bj_promql_parser *p)
{
    if (!p->started) {
        p->started = true;
        return p->only_selector ? T_START_SELECTOR : T_START_QUERY;
    }
    skip_blanks(p);
    p->token = p->at;
    if (p->at >= p->text.n)
        return 0;
    char c = p->text.p[p->at];
    if (p->mode == BJ_LEX_BRACES && is_alpha(c)) {
        while (lex_is_word(peek(p, 0)))
            p->at++;
        struct bj_slice s = {p->text.p + p->token, p->at - p->token};
        value->slice = bj_arena_copy(p->arena, s);
        return T_IDENT;
    }
    if ((c == '"' || c == '\'' || c == '`') && p->mode != BJ_LEX_BRACKETS)
        return lex_string(p, &value->slice);
    bool number = lex_is_digit(c) || (c == '.' && lex_is_digit(peek(p, 1)));
    if (number && p->mode != BJ_LEX_BRACES)
        return lex_number(p, &value->slice);
    if (is_alpha(c) || (p->mode == BJ_LEX_NORMAL && c == ':'))
        return lex_word(p, &value->slice);
    return lex_operator(p);
}
