#include "promql/nullable.h"

struct re {
    struct bj_slice s;
    bool unknown; /* contains something that this parser does not understand */
};

static char next(const struct re *re)
{
    return re->s.n > 0 ? *re->s.p : '\0';
}

static void skip(struct re *re, size_t n)
{
    n = n < re->s.n ? n : re->s.n;
    re->s.p += n;
    re->s.n -= n;
}

/* Skip a class such as "[^]a-z[:alpha:]]". */
static void skip_class(struct re *re)
{
    skip(re, 1);
    if (next(re) == '^')
        skip(re, 1);
    if (next(re) == ']')
        skip(re, 1);
    while (re->s.n > 0 && next(re) != ']') {
        bool name = bj_slice_starts(re->s, BJ_SLICE("[:"));
        const char *end = name ? memmem(re->s.p, re->s.n, ":]", 2) : NULL;
        skip(re, end ? (size_t)(end - re->s.p) + 2 : next(re) == '\\' ? 2 : 1);
    }
    skip(re, 1);
}

/* Skip "?:", "?P<name>" and flags after a parenthesis; true if the group
 * contains nothing else: "(?i)". */
static bool skip_flags(struct re *re)
{
    if (next(re) != '?')
        return false;
    while (re->s.n > 0 && next(re) != ':' && next(re) != '>' && next(re) != ')')
        skip(re, 1);
    bool all = next(re) == ')';
    skip(re, 1);
    return all;
}

/* Find the end of "{2,3}"; 0: not a repetition.  *ret_zero: the minimum is 0.
 */
static size_t repetition(struct bj_slice s, bool *ret_zero)
{
    size_t i = 1, digits = 0;
    bool zero = true;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++, digits++)
        zero &= s.p[i] == '0';
    if (i < s.n && s.p[i] == ',')
        for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9';)
            i++;
    *ret_zero = zero;
    return digits > 0 && i < s.n && s.p[i] == '}' ? i + 1 : 0;
}

/* Skip the repetition after an atom; true if the atom may be missing. */
static bool optional(struct re *re)
{
    bool result = false, zero;
    for (size_t n;; skip(re, n)) {
        char c = next(re);
        n = c == '*' || c == '?' || c == '+' ? 1 : 0;
        if (c == '{' && (n = repetition(re->s, &zero)) > 0)
            result |= zero;
        result |= c == '*' || c == '?';
        if (n == 0 || re->s.n == 0)
            return result;
    }
}

static bool escape(struct re *re)
{
    char c = re->s.n > 1 ? re->s.p[1] : '\0';
    if (c == 'Q') {
        re->unknown = true;
        return false;
    }
    if ((c == 'x' || c == 'p' || c == 'P') && re->s.n > 2 &&
        re->s.p[2] == '{') {
        const char *end = memchr(re->s.p, '}', re->s.n);
        skip(re, end ? (size_t)(end - re->s.p) + 1 : re->s.n);
        return false;
    }
    skip(re, c == 'x' ? 4 : c == 'p' || c == 'P' ? 3 : 2);
    return c == 'A' || c == 'z' || c == 'B';
}

static bool alternatives(struct re *re, unsigned depth);

static bool atom(struct re *re, unsigned depth)
{
    char c = next(re);
    bool empty = false;
    if (c == '(' && depth < 100) {
        skip(re, 1);
        if (skip_flags(re))
            return true;
        empty = alternatives(re, depth + 1);
        re->unknown |= next(re) != ')';
        skip(re, 1);
    } else if (c == '[') {
        skip_class(re);
    } else if (c == '\\') {
        empty = escape(re);
    } else {
        re->unknown |= c == '(';
        empty = c == '^' || c == '$';
        skip(re, 1);
    }
    return optional(re) || empty;
}

static bool alternatives(struct re *re, unsigned depth)
{
    bool any = false, all = true;
    while (re->s.n > 0 && !re->unknown && next(re) != ')') {
        if (next(re) == '|') {
            any |= all;
            all = true;
            skip(re, 1);
        } else {
            bool empty = atom(re, depth);
            all &= empty;
        }
    }
    return any || all;
}

bool bj_promql_nullable(struct bj_slice s)
{
    struct re re = {.s = s};
    bool result = alternatives(&re, 0);
    return result && !re.unknown && re.s.n == 0;
}
