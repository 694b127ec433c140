/* /prometheus/api/v1: the HTTP API of Prometheus, in which users see public
 * series and those of their own jobs.  Defines its paths, and the parts of
 * requests that are forwarded to the Prometheus server. */
#include "apiserver/frame/call.h"
#include "apiserver/frame/state.h"
#include "apiserver/gate/gate_job.h"
#include "apiserver/gate/gate_send.h"
#include "base/arena.h"
#include "base/digits.h"
#include "base/json.h"
#include "base/opt_value.h"
#include "base/stamp.h"
#include "promql/literal.h"
#include "promql/reach.h"
#include "promql/restrict.h"
#include "promql/rules.h"

#include <stdio.h>
#include <strings.h>

/* The parameters of a request to the gate.  Only the parameters below are read;
 * they are checked and encoded again, so that the Prometheus server reads the
 * same values. */

enum bj_gate_param {
    BJ_GATE_QUERY,
    BJ_GATE_TIME,
    BJ_GATE_START,
    BJ_GATE_END,
    BJ_GATE_STEP,
    BJ_GATE_TIMEOUT,
    BJ_GATE_LIMIT,
    BJ_GATE_METRIC,
    BJ_GATE_PARAMS,
    BJ_GATE_MATCH = BJ_GATE_PARAMS /* match[], only in masks */
};

enum { BJ_GATE_MATCHES = 32 }; /* match[] */

struct bj_gate_params {
    struct bj_slice text[BJ_GATE_PARAMS]; /* n is 0: not given */
    int64_t ms[BJ_GATE_PARAMS];           /* of times and durations */
    struct bj_slice match[BJ_GATE_MATCHES];
    unsigned matches;
    struct bj_arena *arena; /* for decoded bodies */
    char why[120];          /* the error, as text */
};

/* Makes the query that the gate sends to a Prometheus server: parses the
 * client's query, restricts it to the series that the user may see, and prints
 * it from the tree. */

/* When Prometheus evaluates a query. */
enum bj_gate_times {
    BJ_GATE_INSTANT,
    BJ_GATE_RANGED,
    BJ_GATE_NEVER /* it only takes the selectors, for exemplars */
};

static const char *const names[BJ_GATE_PARAMS] = {
    [BJ_GATE_QUERY] = "query", [BJ_GATE_TIME] = "time",
    [BJ_GATE_START] = "start", [BJ_GATE_END] = "end",
    [BJ_GATE_STEP] = "step",   [BJ_GATE_TIMEOUT] = "timeout",
    [BJ_GATE_LIMIT] = "limit", [BJ_GATE_METRIC] = "metric",
};

#define TEXT "{\"type\":\"string\"}"
#define WHEN                                                                   \
    "{\"type\":[\"string\",\"number\"],\"description\":\"seconds since "       \
    "1970, or RFC 3339\"}"
#define DURATION                                                               \
    "{\"type\":[\"string\",\"number\"],\"description\":\"seconds, or such "    \
    "as 1h30m\"}"
#define COUNT "{\"type\":\"integer\",\"minimum\":0}"
#define TEXTS "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"

static const struct bj_own_param param_docs[] = {
    {"query", "Query in PromQL.", TEXT, 1 << BJ_GATE_QUERY},
    {"time", "Time of the evaluation. Default: now.", WHEN, 1 << BJ_GATE_TIME},
    {"start", "Begin of the range.", WHEN, 1 << BJ_GATE_START},
    {"end", "End of the range.", WHEN, 1 << BJ_GATE_END},
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

static int gate_hex(char c)
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
            int high = i + 2 < s.n ? gate_hex(s.p[i + 1]) : -1;
            int low = high < 0 ? -1 : gate_hex(s.p[i + 2]);
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
static int gate_params_read(struct bj_call *c, struct bj_arena *arena,
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

static void gate_param_put(struct bj_buf *b, const char *name,
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

/* Append a time or duration, in seconds. */
static void gate_time_put(struct bj_buf *b, enum bj_gate_param which,
                          int64_t ms)
{
    char text[BJ_DIGITS_ROOM + 4], *at = text;
    uint64_t v = (uint64_t)(ms < 0 ? -ms : ms);
    if (ms < 0)
        *at++ = '-';
    at = bj_digits_u64(at, v / 1000);
    *at++ = '.';
    for (uint64_t part = v % 1000, digit = 100; digit > 0; digit /= 10)
        *at++ = (char)('0' + part / digit % 10);
    gate_param_put(b, names[which],
                   (struct bj_slice){text, (size_t)(at - text)});
}

/* Append a parameter as the client sent it; times in seconds. */
static void gate_param_pass(struct bj_buf *b, const struct bj_gate_params *p,
                            enum bj_gate_param which)
{
    if (p->text[which].n == 0)
        return;
    if (which >= BJ_GATE_TIME && which <= BJ_GATE_TIMEOUT)
        gate_time_put(b, which, p->ms[which]);
    else
        gate_param_put(b, names[which], p->text[which]);
}

/* --- limits ----------------------------------------------------------------
 */

enum { DEFAULT_STEP_MS = 60000 }; /* evaluation interval of Prometheus */

/* How far back and how often a part of a query reads. */
struct cost {
    uint64_t span_ms, points;
    uint64_t max_points;
    bool too_many;
};

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? (uint64_t)-v : (uint64_t)v;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The depth is bounded by the parser. */
static uint64_t span_of(const struct bj_promql_node *n, uint64_t points,
                        struct cost *c)
{
    uint64_t inside = 0, own = magnitude(n->offset_ms);
    if (n->kind == BJ_PROMQL_RANGE || n->kind == BJ_PROMQL_SUBQUERY)
        own += magnitude(n->range_ms);
    if (n->kind == BJ_PROMQL_SUBQUERY) {
        int64_t step = n->step_ms > 0 ? n->step_ms : DEFAULT_STEP_MS;
        points *= (uint64_t)(n->range_ms / step) + 1;
        c->too_many = c->too_many || points > c->max_points;
        points = points > c->max_points ? 1 : points;
    }
    for (const struct bj_promql_node *k = n->child; k; k = k->next)
        inside = larger(inside, span_of(k, points, c));
    return own + inside;
}

static int check_steps(struct bj_call *c, const struct bj_gate_params *p)
{
    const struct bj_gate_conf *conf = &c->worker->conf->gate;
    int64_t start = p->ms[BJ_GATE_START], end = p->ms[BJ_GATE_END];
    if (p->text[BJ_GATE_START].n == 0 || p->text[BJ_GATE_END].n == 0 ||
        p->text[BJ_GATE_STEP].n == 0)
        return bj_call_refuse(
            c, 400, "The parameters start, end and step are required.");
    if (end < start)
        return bj_call_refuse(c, 400, "The end must not be before the start.");
    if ((uint64_t)(end - start) / (uint64_t)p->ms[BJ_GATE_STEP] > conf->steps)
        return bj_call_refuse(c, 400,
                              "The query has more than %llu steps; use a "
                              "longer step or a shorter range.",
                              (unsigned long long)conf->steps);
    return 0;
}

static int check_span(struct bj_call *c, uint64_t span_ms)
{
    uint64_t max = c->worker->conf->gate.range_usec;
    char text[BJ_AMOUNT_MAX];
    if (max == 0 || span_ms <= max / 1000)
        return 0;
    return bj_call_refuse(c, 400,
                          "The query spans more than %s (gate.max-range).",
                          bj_duration_text(max, text));
}

static int check_cost(struct bj_call *c, const struct bj_promql_node *tree,
                      uint64_t range_ms)
{
    const struct bj_gate_conf *conf = &c->worker->conf->gate;
    struct cost k = {.max_points = conf->steps};
    int r = check_span(c, range_ms + span_of(tree, 1, &k));
    if (r != 0)
        return r;
    if (k.too_many)
        return bj_call_refuse(c, 400,
                              "A subquery has more than %llu steps; use a "
                              "longer step or a shorter range.",
                              (unsigned long long)conf->steps);
    return 0;
}

/* --- restriction ------------------------------------------------------------
 */

static int gate_refuse(struct bj_call *c, int code, const struct bj_err *err)
{
    if (code == -ENOMEM)
        return bj_call_refuse(c, 500, "The server is out of memory.");
    return bj_call_refuse(c, code == -EACCES ? 403 : 400, "%s", err->msg);
}

static struct bj_promql_viewer viewer_of(const struct bj_call *c)
{
    const struct bj_gate_conf *conf = &c->worker->conf->gate;
    return (struct bj_promql_viewer){.user = bj_slice_str(c->identity.user),
                                     .accounts = c->identity.account,
                                     .account_count = c->identity.accounts,
                                     .rules = {conf->rule, conf->rules}};
}

static int gate_parse(struct bj_call *c, const struct bj_gate_params *p,
                      const struct bj_promql_times *times,
                      struct bj_arena *arena, const struct bj_promql_node **ret)
{
    struct bj_err err = {0};
    if (p->text[BJ_GATE_QUERY].n == 0)
        return bj_call_refuse(c, 400, "The parameter query is required.");
    int r = bj_promql_parse(p->text[BJ_GATE_QUERY], times, arena, ret, &err);
    return r == 0 ? 0 : gate_refuse(c, r, &err);
}

static int put_tree(struct bj_call *c, const char *name,
                    const struct bj_promql_node *tree, struct bj_buf *b)
{
    struct bj_buf text = {0};
    bj_promql_print(tree, &text);
    gate_param_put(b, name, (struct bj_slice){text.p, text.len});
    bool failed = text.failed || b->failed;
    bj_buf_free(&text);
    return failed ? bj_call_refuse(c, 500, "The server is out of memory.") : 0;
}

/* The times at which the query is evaluated. */
static struct bj_promql_span times_of(const struct bj_call *c,
                                      const struct bj_gate_params *p,
                                      enum bj_gate_times times)
{
    int64_t at =
        p->text[BJ_GATE_TIME].n > 0 ? p->ms[BJ_GATE_TIME] : c->now_sec * 1000;
    if (times != BJ_GATE_RANGED)
        return (struct bj_promql_span){at, at};
    return (struct bj_promql_span){p->ms[BJ_GATE_START], p->ms[BJ_GATE_END]};
}

/* Append the restricted query of p to b as the parameter query.  *ret: the
 * times that it reads.  0 or a refusal. */
static int gate_put_query(struct bj_call *c, const struct bj_gate_params *p,
                          enum bj_gate_times times, struct bj_arena *arena,
                          struct bj_buf *b, struct bj_promql_span *ret)
{
    const struct bj_promql_node *tree = NULL;
    const struct bj_promql_viewer viewer = viewer_of(c);
    const struct bj_promql_span at = times_of(c, p, times);
    const struct bj_promql_times t = {p->ms[BJ_GATE_STEP],
                                      at.to_ms - at.from_ms};
    static const struct bj_promql_times instant;
    struct bj_err err = {0};
    int r = times == BJ_GATE_RANGED ? check_steps(c, p) : 0;
    if (r == 0)
        r = gate_parse(c, p,
                       times == BJ_GATE_RANGED    ? &t
                       : times == BJ_GATE_INSTANT ? &instant
                                                  : NULL,
                       arena, &tree);
    if (r == 0)
        r = check_cost(c, tree, (uint64_t)(at.to_ms - at.from_ms));
    if (r != 0)
        return r;
    *ret = bj_promql_reach(tree, at);
    if (!c->identity.admin &&
        (r = bj_promql_restrict(tree, &viewer, arena, &tree, &err)) < 0)
        return gate_refuse(c, r, &err);
    return put_tree(c, "query", tree, b);
}

/* Append the parameters start and end of a request for names, and return this
 * period.  If p has no start, it is the earliest that gate.max-range allows.  0
 * or a refusal. */
static int gate_put_range(struct bj_call *c, const struct bj_gate_params *p,
                          struct bj_buf *b, struct bj_promql_span *ret)
{
    const int64_t max = (int64_t)(c->worker->conf->gate.range_usec / 1000);
    const bool has_end = p->text[BJ_GATE_END].n > 0;
    const bool has_start = p->text[BJ_GATE_START].n > 0;
    int64_t end = has_end ? p->ms[BJ_GATE_END] : c->now_sec * 1000;
    int64_t start = has_start ? p->ms[BJ_GATE_START]
                    : max > 0 ? end - max
                              : INT64_MIN / 4;
    if (end < start && has_end)
        return bj_call_refuse(c, 400, "The end must not be before the start.");
    end = end < start ? start : end;
    int r = check_span(c, (uint64_t)(end - start));
    if (r != 0)
        return r;
    if (has_start || max > 0)
        gate_time_put(b, BJ_GATE_START, start);
    gate_param_pass(b, p, BJ_GATE_END);
    *ret = (struct bj_promql_span){start, end};
    return 0;
}

/* Append one selector, restricted; NULL: all series. */
static int put_match(struct bj_call *c, const struct bj_promql_node *tree,
                     struct bj_arena *arena, struct bj_buf *b)
{
    const struct bj_promql_node *all[BJ_PROMQL_MATCHES] = {tree};
    const struct bj_promql_viewer viewer = viewer_of(c);
    struct bj_err err = {0};
    int n = tree != NULL, r = 0;
    if (!c->identity.admin)
        n = bj_promql_restrict_match(tree, &viewer, arena, all, &err);
    if (n < 0)
        return gate_refuse(c, n, &err);
    for (int i = 0; r == 0 && i < n; i++)
        r = put_tree(c, "match[]", all[i], b);
    return r;
}

/* Append all selectors of p, restricted, or one for all series that the user
 * may see. */
static int gate_put_matches(struct bj_call *c, const struct bj_gate_params *p,
                            struct bj_arena *arena, struct bj_buf *b)
{
    struct bj_err err = {0};
    int r = p->matches == 0 ? put_match(c, NULL, arena, b) : 0;
    for (unsigned i = 0; r == 0 && i < p->matches; i++) {
        const struct bj_promql_node *tree = NULL;
        r = bj_promql_parse_selector(p->match[i], arena, &tree, &err);
        r = r < 0 ? gate_refuse(c, r, &err) : put_match(c, tree, arena, b);
    }
    return r;
}

/* Check that p has a query that can be parsed; append it unchanged. */
static int gate_put_text(struct bj_call *c, const struct bj_gate_params *p,
                         struct bj_arena *arena, struct bj_buf *b)
{
    const struct bj_promql_node *tree = NULL;
    int r = gate_parse(c, p, NULL, arena, &tree);
    if (r == 0)
        gate_param_put(b, "query", p->text[BJ_GATE_QUERY]);
    return r;
}

/* --- the common part --------------------------------------------------------
 */

/* Fills the form and the span of the job for an endpoint; 0 or a refusal. */
typedef int fill_t(struct bj_call *c, const struct bj_gate_params *p,
                   struct bj_arena *arena, struct bj_gate_job *j);

/* Send a timeout that is not longer than the client waits. */
static void put_timeout(struct bj_gate_job *j, const struct bj_gate_params *p)
{
    uint64_t usec = j->end_usec - j->start_usec;
    if (p->text[BJ_GATE_TIMEOUT].n > 0 &&
        (uint64_t)p->ms[BJ_GATE_TIMEOUT] < usec / 1000)
        usec = (uint64_t)p->ms[BJ_GATE_TIMEOUT] * 1000;
    j->end_usec = j->start_usec + usec;
    gate_time_put(&j->form, BJ_GATE_TIMEOUT, (int64_t)(usec / 1000));
}

static int gate_fill(struct bj_call *c, struct bj_gate_job *j, fill_t *how)
{
    struct bj_arena arena = {0};
    struct bj_gate_params p;
    int r = gate_params_read(c, &arena, &p);
    if (r == 0 && how)
        r = how(c, &p, &arena, j);
    if (r == 0 && j->post)
        put_timeout(j, &p);
    bj_arena_free(&arena);
    if (r == 0 && (j->form.failed || j->path.failed))
        return -ENOMEM;
    return r;
}

/* Check whether the gate serves this request: 0, or a refusal. */
static int gate_check(struct bj_call *c)
{
    if (!c->worker->conf->gate.enabled)
        return bj_call_refuse(c, 404, "The gate is off (gate.enabled).");
    if (c->req->method != BJ_HTTP_HEAD)
        return 0;
    bj_call_header(c, "Allow",
                   c->endpoint->methods & BJ_HTTP_POST ? "GET, POST" : "GET");
    return bj_call_refuse(c, 405, "This path does not allow that method.");
}

static int forward(struct bj_call *c, const char *path, bool post, fill_t *how)
{
    struct bj_gate *g = c->worker->server->gate;
    struct bj_gate_job *j;
    int r = gate_check(c);
    if (r != 0)
        return r;
    j = bj_gate_job_new(bj_gate_admitted(g), c);
    if (!j)
        return -ENOMEM;
    j->post = post;
    j->keep = c->endpoint->after != NULL;
    bj_buf_str(&j->path, path);
    bj_buf_put(&j->path, "", 1);
    r = gate_fill(c, j, how);
    if (r == 0)
        r = bj_gate_admit(j, c);
    if (r == 0)
        c->forward = j;
    else
        bj_gate_job_free(j);
    return r;
}

/* --- queries ----------------------------------------------------------------
 */

static int fill_query(struct bj_call *c, const struct bj_gate_params *p,
                      struct bj_arena *arena, struct bj_gate_job *j)
{
    int r = gate_put_query(c, p, BJ_GATE_INSTANT, arena, &j->form, &j->span);
    gate_param_pass(&j->form, p, BJ_GATE_TIME);
    gate_param_pass(&j->form, p, BJ_GATE_LIMIT);
    return r;
}

static int fill_range(struct bj_call *c, const struct bj_gate_params *p,
                      struct bj_arena *arena, struct bj_gate_job *j)
{
    int r = gate_put_query(c, p, BJ_GATE_RANGED, arena, &j->form, &j->span);
    gate_param_pass(&j->form, p, BJ_GATE_START);
    gate_param_pass(&j->form, p, BJ_GATE_END);
    gate_param_pass(&j->form, p, BJ_GATE_STEP);
    gate_param_pass(&j->form, p, BJ_GATE_LIMIT);
    return r;
}

static int fill_exemplars(struct bj_call *c, const struct bj_gate_params *p,
                          struct bj_arena *arena, struct bj_gate_job *j)
{
    int r = gate_put_query(c, p, BJ_GATE_NEVER, arena, &j->form, &j->span);
    return r != 0 ? r : gate_put_range(c, p, &j->form, &j->span);
}

static int on_query(struct bj_call *c)
{
    return forward(c, "/api/v1/query", true, fill_query);
}

static int on_range(struct bj_call *c)
{
    return forward(c, "/api/v1/query_range", true, fill_range);
}

static int on_exemplars(struct bj_call *c)
{
    return forward(c, "/api/v1/query_exemplars", true, fill_exemplars);
}

static int fill_text(struct bj_call *c, const struct bj_gate_params *p,
                     struct bj_arena *arena, struct bj_gate_job *j)
{
    return gate_put_text(c, p, arena, &j->form);
}

static int on_format(struct bj_call *c)
{
    return forward(c, "/api/v1/format_query", true, fill_text);
}

/* --- names ------------------------------------------------------------------
 */

static int fill_names(struct bj_call *c, const struct bj_gate_params *p,
                      struct bj_arena *arena, struct bj_gate_job *j)
{
    int r = gate_put_matches(c, p, arena, &j->form);
    if (r == 0)
        r = gate_put_range(c, p, &j->form, &j->span);
    gate_param_pass(&j->form, p, BJ_GATE_LIMIT);
    return r;
}

static int fill_series(struct bj_call *c, const struct bj_gate_params *p,
                       struct bj_arena *arena, struct bj_gate_job *j)
{
    if (p->matches == 0)
        return bj_call_refuse(c, 400, "A parameter match[] is required.");
    return fill_names(c, p, arena, j);
}

static int on_series(struct bj_call *c)
{
    return forward(c, "/api/v1/series", true, fill_series);
}

static int on_labels(struct bj_call *c)
{
    return forward(c, "/api/v1/labels", true, fill_names);
}

static int on_values(struct bj_call *c)
{
    char path[256];
    struct bj_slice name = c->tail;
    int r = gate_check(c);
    if (r != 0)
        return r;
    for (size_t i = 0; i < name.n; i++) {
        char k = name.p[i];
        bool digit = k >= '0' && k <= '9';
        if (!(k >= 'a' && k <= 'z') && !(k >= 'A' && k <= 'Z') && k != '_' &&
            !(digit && i > 0))
            return bj_call_refuse(c, 400, "This is not a label name.");
    }
    snprintf(path, sizeof(path), "/api/v1/label/%.*s/values", (int)name.n,
             name.p);
    return forward(c, path, false, fill_names);
}

/* --- descriptions of metrics ------------------------------------------------
 */

static int fill_metadata(struct bj_call *c, const struct bj_gate_params *p,
                         struct bj_arena *arena, struct bj_gate_job *j)
{
    (void)c;
    (void)arena;
    gate_param_pass(&j->form, p, BJ_GATE_METRIC);
    gate_param_pass(&j->form, p, BJ_GATE_LIMIT);
    return 0;
}

static void put_member(struct bj_buf *b, const struct bj_json *v)
{
    const char *before = "{";
    BJ_JSON_EACH(member, v)
    {
        bj_buf_str(b, before);
        bj_json_string(b, bj_json_key(member));
        bj_buf_str(b, ":");
        bj_json_string(b, bj_json_text(member));
        before = ",";
    }
    bj_buf_str(b, before[0] == '{' ? "{}" : "}");
}

static void put_metric(struct bj_buf *b, const struct bj_json *metric)
{
    const char *before = "";
    bj_json_string(b, bj_json_key(metric));
    bj_buf_str(b, ":[");
    BJ_JSON_EACH(one, metric)
    {
        bj_buf_str(b, before);
        put_member(b, one);
        before = ",";
    }
    bj_buf_str(b, "]");
}

/* A metric's name may identify a user, so users see only names that have a
 * rule. */
static int write_metadata(struct bj_call *c, const struct bj_gate_kept *k)
{
    const struct bj_gate_conf *conf = &k->settings->conf->gate;
    const struct bj_promql_rules rules = {conf->rule, conf->rules};
    const struct bj_slice text = {k->body.p, k->body.len};
    const struct bj_json *doc = NULL;
    struct bj_arena arena = {0};
    struct bj_err err = {0};
    struct bj_buf *b = &c->reply->body;
    const char *before = "";
    if (bj_json_parse(&arena, text, "metadata", NULL, &doc, &err) < 0) {
        bj_arena_free(&arena);
        return bj_call_refuse(c, 502, "The reply is not one of Prometheus.");
    }
    bj_buf_str(b, "{\"status\":\"success\",\"data\":{");
    BJ_JSON_EACH(metric, bj_json_get(doc, "data"))
    {
        if (!c->identity.admin &&
            !bj_promql_is_known(bj_json_key(metric), &rules))
            continue;
        bj_buf_str(b, before);
        put_metric(b, metric);
        before = ",";
    }
    bj_buf_str(b, "}}\n");
    bj_arena_free(&arena);
    return 0;
}

/* Converting a long text would take too long in the thread of the HTTP server.
 */
static int after_metadata(struct bj_call *c)
{
    struct bj_gate_kept *k = c->work;
    int r = write_metadata(c, k);
    bj_gate_kept_free(k);
    c->work = NULL;
    return r;
}

static int on_metadata(struct bj_call *c)
{
    return forward(c, "/api/v1/metadata", false, fill_metadata);
}

/* --- other paths ------------------------------------------------------------
 */

static int on_buildinfo(struct bj_call *c)
{
    return forward(c, "/api/v1/status/buildinfo", false, NULL);
}

/* Refuses rules, alerts, targets, federate, remote read and write, the
 * configuration, and all other paths of servers. */
static int on_others(struct bj_call *c)
{
    int r = gate_check(c);
    return r != 0 ? r
                  : bj_call_refuse(c, 403,
                                   "This path of Prometheus is not available "
                                   "here.");
}

#define GATE(name, how, with, has, must, text)                                 \
    {                                                                          \
        .path = "/prometheus/api/v1/" name, .methods = BJ_HTTP_GET | (with),   \
        .needs = BJ_NEED_USER, .quick = true, .run = how,                      \
        .after = (how) == on_metadata ? after_metadata : NULL,                 \
        .refused = bj_gate_refused, .own = param_docs,                         \
        .own_params = (has) | (must), .required = must, .help = text           \
    }

enum {
    QUERY = 1 << BJ_GATE_QUERY,
    TIME = 1 << BJ_GATE_TIME,
    RANGE = 1 << BJ_GATE_START | 1 << BJ_GATE_END,
    STEP = 1 << BJ_GATE_STEP,
    TIMEOUT = 1 << BJ_GATE_TIMEOUT,
    LIMIT = 1 << BJ_GATE_LIMIT,
    METRIC = 1 << BJ_GATE_METRIC,
    MATCH = 1 << BJ_GATE_MATCH,
};

const struct bj_endpoint bj_endpoints_gate[] = {
    GATE("query", on_query, BJ_HTTP_POST, TIME | TIMEOUT | LIMIT, QUERY,
         "Query at one time, as Prometheus has it."),
    GATE("query_range", on_range, BJ_HTTP_POST, TIMEOUT | LIMIT,
         QUERY | RANGE | STEP,
         "Query over a range of time, as Prometheus has "
         "it."),
    GATE("query_exemplars", on_exemplars, BJ_HTTP_POST, RANGE | TIMEOUT, QUERY,
         "Exemplars of the series of a query, as Prometheus has it."),
    GATE("format_query", on_format, BJ_HTTP_POST, TIMEOUT, QUERY,
         "The query, formatted by Prometheus."),
    GATE("series", on_series, BJ_HTTP_POST, RANGE | TIMEOUT | LIMIT, MATCH,
         "Series that match selectors, as Prometheus has it."),
    GATE("labels", on_labels, BJ_HTTP_POST, MATCH | RANGE | TIMEOUT | LIMIT, 0,
         "Names of labels, as Prometheus has it."),
    GATE("label/*/values", on_values, 0, MATCH | RANGE | LIMIT, 0,
         "Values of a label, as Prometheus has it."),
    GATE("metadata", on_metadata, 0, METRIC | LIMIT, 0,
         "Type, help and unit of metrics that have a rule."),
    GATE("status/buildinfo", on_buildinfo, 0, 0, 0,
         "Version of the Prometheus server."),
    {.path = "/prometheus/**",
     .methods = BJ_HTTP_GET | BJ_HTTP_POST,
     .needs = BJ_NEED_USER,
     .run = on_others,
     .refused = bj_gate_refused},
    {.path = NULL},
};
