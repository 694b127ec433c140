#include "apiserver/gate/gate_params.h"

#include "base/digits.h"
#include "base/stamp.h"
#include "promql/literal.h"

#include <stdio.h>
#include <strings.h>

static const char *const names[BJ_GATE_PARAMS] = {
    [BJ_GATE_QUERY] = "query", [BJ_GATE_TIME] = "time",
    [BJ_GATE_START] = "start", [BJ_GATE_END] = "end",
    [BJ_GATE_STEP] = "step",   [BJ_GATE_TIMEOUT] = "timeout",
    [BJ_GATE_LIMIT] = "limit", [BJ_GATE_METRIC] = "metric",
};

#define TEXT "{\"type\":\"string\"}"
#define TIME                                                                   \
    "{\"type\":[\"string\",\"number\"],\"description\":\"seconds since "       \
    "1970, or RFC 3339\"}"
#define DURATION                                                               \
    "{\"type\":[\"string\",\"number\"],\"description\":\"seconds, or such "    \
    "as 1h30m\"}"
#define COUNT "{\"type\":\"integer\",\"minimum\":0}"
#define TEXTS "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"

const struct bj_own_param bj_gate_param_docs[] = {
    {"query", "Query in PromQL.", TEXT, 1 << BJ_GATE_QUERY},
    {"time", "Time of the evaluation. Default: now.", TIME, 1 << BJ_GATE_TIME},
    {"start", "Begin of the range.", TIME, 1 << BJ_GATE_START},
    {"end", "End of the range.", TIME, 1 << BJ_GATE_END},
    {"step", "Time between two evaluations.", DURATION, 1 << BJ_GATE_STEP},
    {"timeout", "Longest time for the query; at most gate.timeout.", DURATION,
     1 << BJ_GATE_TIMEOUT},
    {"limit", "Maximum number of results.", COUNT, 1 << BJ_GATE_LIMIT},
    {"metric", "Name of a metric. Default: all.", TEXT, 1 << BJ_GATE_METRIC},
    {"match[]", "Selector of series; repeat it for more.", TEXTS,
     1 << BJ_GATE_MATCH},
    {NULL, NULL, NULL, 0},
};

/* --- values ----------------------------------------------------------------
 */

/* The limit is beyond the year 300000, because Grafana tests for exemplars with
 * milliseconds, which Prometheus reads as seconds. */
static bool in_range(int64_t ms)
{
    const int64_t max = 10000000000000000;
    return ms > -max && ms < max;
}

static int parse_time(struct bj_slice s, int64_t *ret_ms)
{
    int64_t usec;
    /* bj_decimal_i64() permits blanks, Prometheus does not */
    if (s.n > 0 && s.p[0] > ' ' && s.p[s.n - 1] > ' ' &&
        bj_decimal_i64(s, 3, ret_ms) == 0)
        return in_range(*ret_ms) ? 0 : -ERANGE;
    if (s.n < 20 || !(s.p[10] == 'T' || s.p[10] == 't') ||
        bj_stamp_usec(s, BJ_STAMP_ZONED, &usec) < 0)
        return -EINVAL;
    *ret_ms = usec / 1000;
    return 0;
}

static int parse_span(struct bj_slice s, int64_t *ret_ms)
{
    if (bj_promql_duration(s, ret_ms) == 0)
        return 0;
    return s.n > 0 && s.p[0] > ' ' && s.p[s.n - 1] > ' '
               ? bj_decimal_i64(s, 3, ret_ms)
               : -EINVAL;
}

static int check_value(struct bj_gate_params *p, enum bj_gate_param which,
                       struct bj_slice s)
{
    uint64_t n;
    const char *want = NULL;
    if (which == BJ_GATE_TIME || which == BJ_GATE_START || which == BJ_GATE_END)
        want = parse_time(s, &p->ms[which]) < 0
                   ? "a time: seconds since 1970, or RFC 3339"
                   : NULL;
    else if (which == BJ_GATE_STEP || which == BJ_GATE_TIMEOUT)
        want = parse_span(s, &p->ms[which]) < 0 || p->ms[which] <= 0 ||
                       !in_range(p->ms[which])
                   ? "a duration above 0, in whole milliseconds"
                   : NULL;
    else if (which == BJ_GATE_LIMIT)
        want = bj_slice_u64(s, &n) < 0 ? "a number" : NULL;
    if (!want)
        return 0;
    snprintf(p->why, sizeof(p->why), "The parameter %s must be %s.",
             names[which], want);
    return -EINVAL;
}

static int on_param(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct bj_gate_params *p = ctx;
    if (bj_slice_eq(key, BJ_SLICE("match[]"))) {
        if (p->matches == BJ_GATE_MATCHES) {
            snprintf(p->why, sizeof(p->why),
                     "The request has more than %d match[] parameters.",
                     BJ_GATE_MATCHES);
            return -EINVAL;
        }
        p->match[p->matches++] = value.p ? value : BJ_SLICE("");
        return 0;
    }
    for (unsigned i = 0; i < BJ_GATE_PARAMS; i++) {
        if (!bj_slice_eq(key, bj_slice_str(names[i])))
            continue;
        if (p->text[i].p) {
            snprintf(p->why, sizeof(p->why),
                     "The parameter %s is given more than once.", names[i]);
            return -EINVAL;
        }
        p->text[i] = value.p ? value : BJ_SLICE("");
        /* Grafana sends empty parameters, which Prometheus ignores */
        return value.n > 0 ? check_value(p, i, value) : 0;
    }
    return 0;
}

/* --- the form --------------------------------------------------------------
 */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode a value; false: it has a '%' without two digits, or a ';', which some
 * servers read as '&'. */
static bool decode(struct bj_slice s, struct bj_arena *arena,
                   struct bj_slice *ret)
{
    char *to = bj_arena_alloc(arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; to && i < s.n; i++) {
        char c = s.p[i];
        if (c == ';')
            return false;
        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            int high = i + 2 < s.n ? hex(s.p[i + 1]) : -1;
            int low = high < 0 ? -1 : hex(s.p[i + 2]);
            if (low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        to[n++] = c;
    }
    *ret = (struct bj_slice){to, n};
    return to != NULL;
}

static int take_form(struct bj_gate_params *p, struct bj_slice body)
{
    struct bj_slice pair, key, value;
    while (bj_slice_field(&body, '&', &pair)) {
        if (pair.n == 0)
            continue;
        bj_slice_field(&pair, '=', &key);
        if (!decode(key, p->arena, &key) || !decode(pair, p->arena, &value)) {
            snprintf(p->why, sizeof(p->why),
                     "The form in the body is malformed.");
            return -EINVAL;
        }
        int r = on_param(p, key, value);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool is_form(const struct bj_http_request *req)
{
    static const char form[] = "application/x-www-form-urlencoded";
    struct bj_slice type = {0};
    if (bj_http_header_all(req, "Content-Type", &type, 1) != 1)
        return false;
    struct bj_slice first;
    bj_slice_field(&type, ';', &first);
    first = bj_slice_trim(first);
    return first.n == sizeof(form) - 1 &&
           strncasecmp(first.p, form, first.n) == 0;
}

/* Decodes the query itself, because the library leaves wrong escapes unchanged,
 * which another server might decode again. */
int bj_gate_params_read(struct bj_call *c, struct bj_arena *arena,
                        struct bj_gate_params *ret)
{
    *ret = (struct bj_gate_params){.arena = arena};
    int r = bj_http_each_arg(c->req, on_param, ret);
    if (r == 0 && c->req->body.n > 0 && !is_form(c->req))
        return bj_call_refuse(c, 400,
                              "The body must be a form with the type "
                              "application/x-www-form-urlencoded.");
    if (r == 0)
        r = take_form(ret, c->req->body);
    return r == 0 ? 0 : bj_call_refuse(c, 400, "%s", ret->why);
}

/* --- writing ---------------------------------------------------------------
 */

void bj_gate_param_put(struct bj_buf *b, const char *name,
                       struct bj_slice value)
{
    static const char digits[] = "0123456789ABCDEF";
    bj_buf_str(b, b->len > 0 ? "&" : "");
    bj_buf_str(b, name);
    bj_buf_str(b, "=");
    if (!bj_buf_room(b, 3 * value.n))
        return;
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
        if (plain) {
            b->p[b->len++] = (char)c;
        } else {
            b->p[b->len++] = '%';
            b->p[b->len++] = digits[c >> 4];
            b->p[b->len++] = digits[c & 15];
        }
    }
}

void bj_gate_time_put(struct bj_buf *b, enum bj_gate_param which, int64_t ms)
{
    char text[BJ_DIGITS_ROOM + 4], *at = text;
    uint64_t v = (uint64_t)(ms < 0 ? -ms : ms);
    if (ms < 0)
        *at++ = '-';
    at = bj_digits_u64(at, v / 1000);
    *at++ = '.';
    for (uint64_t part = v % 1000, digit = 100; digit > 0; digit /= 10)
        *at++ = (char)('0' + part / digit % 10);
    bj_gate_param_put(b, names[which],
                      (struct bj_slice){text, (size_t)(at - text)});
}

void bj_gate_param_pass(struct bj_buf *b, const struct bj_gate_params *p,
                        enum bj_gate_param which)
{
    if (p->text[which].n == 0)
        return;
    if (which >= BJ_GATE_TIME && which <= BJ_GATE_TIMEOUT)
        bj_gate_time_put(b, which, p->ms[which]);
    else
        bj_gate_param_put(b, names[which], p->text[which]);
}
