#include "promql/duration.h"

#include "base/json.h"
#include "promql/literal.h"

#include <math.h>

/* Set the error at the last token; false. */
static bool duration_wrong(struct bj_promql_parser *p, const char *what)
{
    bj_promql_fail(p, p->token, -EINVAL, "%s", what);
    return false;
}

/* Go's Duration.Seconds(): the sum of two rounded numbers. */
static double in_seconds(int64_t ms)
{
    return (double)(ms / 1000) + (double)(ms % 1000 * 1000000) / 1e9;
}

bool bj_promql_time_literal(struct bj_promql_parser *p, struct bj_slice text,
                            struct bj_promql_time *ret)
{
    const char last = text.n > 0 ? text.p[text.n - 1] : '0';
    uint64_t whole;
    int64_t v;
    *ret = (struct bj_promql_time){.literal = text};
    if (bj_slice_u64(text, &whole) == 0) {
        ret->seconds = (double)whole;
        return true;
    }
    if (last >= '0' && last <= '9') { /* the lexer has made it plain */
        if (bj_decimal_i64(text, 9, &v))
            return duration_wrong(p, "the number is too large for a duration");
        ret->seconds = (double)v / 1e9;
        return true;
    }
    int64_t ms;
    if (bj_promql_duration(text, &ms))
        return duration_wrong(p, "the duration is too long");
    ret->seconds = in_seconds(ms);
    return true;
}

struct bj_promql_time bj_promql_time_result(struct bj_promql_time t)
{
    t.literal = (struct bj_slice){0};
    return t;
}

struct bj_promql_time bj_promql_time_of_query(const struct bj_promql_parser *p,
                                              int64_t ms)
{
    return (struct bj_promql_time){.seconds = in_seconds(ms),
                                   .unknown = !p->evaluated};
}

static struct bj_promql_time either(struct bj_promql_time a,
                                    struct bj_promql_time b, double seconds)
{
    return (struct bj_promql_time){.seconds = seconds,
                                   .unknown = a.unknown || b.unknown};
}

struct bj_promql_time bj_promql_time_larger(struct bj_promql_time a,
                                            struct bj_promql_time b)
{
    return either(a, b, fmax(a.seconds, b.seconds));
}

struct bj_promql_time bj_promql_time_smaller(struct bj_promql_time a,
                                             struct bj_promql_time b)
{
    return either(a, b, fmin(a.seconds, b.seconds));
}

struct bj_promql_time bj_promql_time_negated(struct bj_promql_time t)
{
    t.seconds = -t.seconds;
    return bj_promql_time_result(t);
}

bool bj_promql_time_binary(struct bj_promql_parser *p, char op,
                           struct bj_promql_time a, struct bj_promql_time b,
                           struct bj_promql_time *ret)
{
    const double x = a.seconds, y = b.seconds;
    *ret = either(a, b, 1);
    if (ret->unknown)
        return true;
    if ((op == '/' || op == '%') && y == 0)
        return duration_wrong(p, "division by zero in a duration");
    const double v = op == '+'   ? x + y
                     : op == '-' ? x - y
                     : op == '*' ? x * y
                     : op == '/' ? x / y
                     : op == '%' ? fmod(x, y)
                                 : pow(x, y);
    if (!isfinite(v))
        return duration_wrong(p, "the duration is not finite");
    ret->seconds = v;
    return true;
}

bool bj_promql_time_ms(struct bj_promql_parser *p, struct bj_promql_time t,
                       int64_t *ret)
{
    if (t.literal.n > 0) {
        int e = bj_promql_duration(t.literal, ret);
        if (e)
            return duration_wrong(
                p, e == -ERANGE ? "the duration is too long"
                                : "the duration must be whole milliseconds");
        if (t.seconds < 0)
            *ret = -*ret;
        return true;
    }
    *ret = 1;
    if (t.unknown)
        return true;
    if (fabs(t.seconds) > (double)(INT64_MAX / 1000000000))
        return duration_wrong(p, "the duration is too long");
    *ret = (int64_t)(t.seconds * 1000);
    return true;
}

bool bj_promql_time_positive(struct bj_promql_parser *p,
                             struct bj_promql_time t, int64_t *ret)
{
    if (!bj_promql_time_ms(p, t, ret))
        return false;
    return *ret > 0 || duration_wrong(p, "the duration must be greater than 0");
}
