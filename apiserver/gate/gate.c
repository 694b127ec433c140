/* /prometheus/api/v1: the HTTP API of Prometheus, in which users see public
 * series and those of their own jobs.  Defines its paths, and the parts of
 * requests that are forwarded to the Prometheus server. */
#include "apiserver/frame/state.h"
#include "apiserver/gate/gate_error.h"
#include "apiserver/gate/gate_query.h"
#include "apiserver/gate/gate_send.h"
#include "base/json.h"
#include "promql/rules.h"

#include <stdio.h>

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
    bj_gate_time_put(&j->form, BJ_GATE_TIMEOUT, (int64_t)(usec / 1000));
}

static int fill(struct bj_call *c, struct bj_gate_job *j, fill_t *how)
{
    struct bj_arena arena = {0};
    struct bj_gate_params p;
    int r = bj_gate_params_read(c, &arena, &p);
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
static int check(struct bj_call *c)
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
    int r = check(c);
    if (r != 0)
        return r;
    j = bj_gate_job_new(bj_gate_admitted(g), c);
    if (!j)
        return -ENOMEM;
    j->post = post;
    j->keep = c->endpoint->after != NULL;
    bj_buf_str(&j->path, path);
    bj_buf_put(&j->path, "", 1);
    r = fill(c, j, how);
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
    int r = bj_gate_put_query(c, p, BJ_GATE_INSTANT, arena, &j->form, &j->span);
    bj_gate_param_pass(&j->form, p, BJ_GATE_TIME);
    bj_gate_param_pass(&j->form, p, BJ_GATE_LIMIT);
    return r;
}

static int fill_range(struct bj_call *c, const struct bj_gate_params *p,
                      struct bj_arena *arena, struct bj_gate_job *j)
{
    int r = bj_gate_put_query(c, p, BJ_GATE_RANGED, arena, &j->form, &j->span);
    bj_gate_param_pass(&j->form, p, BJ_GATE_START);
    bj_gate_param_pass(&j->form, p, BJ_GATE_END);
    bj_gate_param_pass(&j->form, p, BJ_GATE_STEP);
    bj_gate_param_pass(&j->form, p, BJ_GATE_LIMIT);
    return r;
}

static int fill_exemplars(struct bj_call *c, const struct bj_gate_params *p,
                          struct bj_arena *arena, struct bj_gate_job *j)
{
    int r = bj_gate_put_query(c, p, BJ_GATE_NEVER, arena, &j->form, &j->span);
    return r != 0 ? r : bj_gate_put_range(c, p, &j->form, &j->span);
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
    return bj_gate_put_text(c, p, arena, &j->form);
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
    int r = bj_gate_put_matches(c, p, arena, &j->form);
    if (r == 0)
        r = bj_gate_put_range(c, p, &j->form, &j->span);
    bj_gate_param_pass(&j->form, p, BJ_GATE_LIMIT);
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
    int r = check(c);
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
    bj_gate_param_pass(&j->form, p, BJ_GATE_METRIC);
    bj_gate_param_pass(&j->form, p, BJ_GATE_LIMIT);
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
    int r = check(c);
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
        .refused = bj_gate_refused, .own = bj_gate_param_docs,                 \
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
