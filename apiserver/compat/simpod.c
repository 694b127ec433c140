/* The endpoints of Grafana's JSON data source (simpod-json-datasource), old and
 * new: base URL /api/simpod.
 *
 * Targets are "jobs" and "usage", which are tables, and the sums of usage,
 * which are series by day.  The payload contains names and values of parameters
 * of API v1. Source: simPod/GrafanaJsonDatasource, README and src/types.ts, 0.2
 * to 0.6. */
#include "apiserver/frame/state.h"
#include "apiserver/v1/jobs.h"
#include "apiserver/v1/usage.h"
#include "base/json.h"

enum { TARGETS = 20, DEPTH = 12, BODY_VALUES = 4000 };

/* Sums of usage that are series. */
static const char *const series[] = {
    "core_hours",           "gpu_hours",
    "node_hours",           "job_hours",
    "cpu_used_hours",       "jobs_started",
    "jobs_ended",           "jobs_failed",
    "energy_scheduler_kwh", "cpu_efficiency_percent",
    "energy_kwh",           "emissions_grams"};
enum { SERIES = sizeof(series) / sizeof(series[0]) };

/* Parameters that a payload may contain. */
static const enum bj_param payloads[] = {
    BJ_PARAM_USER,    BJ_PARAM_ACCOUNT,  BJ_PARAM_PARTITION,
    BJ_PARAM_CLUSTER, BJ_PARAM_STATE,    BJ_PARAM_NAME,
    BJ_PARAM_FIELDS,  BJ_PARAM_GROUP_BY, BJ_PARAM_LIMIT};
enum { PAYLOADS = sizeof(payloads) / sizeof(payloads[0]) };

struct body {
    struct bj_arena arena;
    const struct bj_json *doc;
};

static int read_body(struct bj_call *c, struct body *b)
{
    struct bj_json_limits limits = {.values = BODY_VALUES, .depth = DEPTH};
    struct bj_err err = {0};
    struct bj_slice text = c->req->body;
    /* Some requests have no body. */
    if (bj_slice_trim(text).n == 0)
        text = BJ_SLICE("{}");
    int r = bj_json_parse(&b->arena, text, "body", &limits, &b->doc, &err);
    if (r == -ENOMEM)
        return bj_err_set(&c->err, r, "body");
    return r < 0 ? bj_call_refuse(c, 400, "The body is not valid JSON: %s.",
                                  err.msg)
                 : 0;
}

/* --- payloads --------------------------------------------------------------
 */

static int simpod_put_value(struct bj_call *c, struct bj_params *p,
                            unsigned mask, struct bj_slice name,
                            const struct bj_json *v)
{
    int r = 0;
    if (bj_json_kind(v) != BJ_JSON_ARRAY)
        return bj_params_put(c, p, mask, name, bj_json_text(v));
    BJ_JSON_EACH(item, v)
    if (r == 0)
        r = bj_params_put(c, p, mask, name, bj_json_text(item));
    return r;
}

/* Read ad hoc filters, which had another name until 0.6.3. */
static int read_filters(struct bj_call *c, const struct bj_json *doc,
                        unsigned mask, struct bj_params *p)
{
    static const char *const places[] = {"filters", "adhocFilters"};
    int r = 0;
    for (int i = 0; i < 2; i++)
        BJ_JSON_EACH(f, bj_json_get(doc, places[i]))
        {
            struct bj_slice is = bj_json_text(bj_json_get(f, "operator"));
            if (r == 0 && !bj_slice_eq(is, BJ_SLICE("=")))
                r = bj_call_refuse(c, 400,
                                   "The only supported operator is '='.");
            if (r == 0)
                r = bj_params_put(c, p, mask,
                                  bj_json_text(bj_json_get(f, "key")),
                                  bj_json_text(bj_json_get(f, "value")));
        }
    return r;
}

/* Read the parameters of a target: its payload ("data" until 0.2), and the
 * range of the panel. */
static int read_payload(struct bj_call *c, const struct bj_json *doc,
                        const struct bj_json *target, unsigned mask,
                        struct bj_params *p)
{
    static const char *const places[] = {"payload", "data"};
    int r = 0;
    bj_params_clear(p);
    for (int i = 0; i < 2; i++)
        BJ_JSON_EACH(v, bj_json_get(target, places[i]))
    if (r == 0 && bj_json_kind(v) != BJ_JSON_NULL)
        r = simpod_put_value(c, p, mask, bj_json_key(v), v);
    if (r == 0)
        r = read_filters(c, doc, mask, p);
    if (r == 0)
        r = bj_params_put(c, p, mask, BJ_SLICE("from"),
                          bj_json_text(bj_json_path(doc, "range.from")));
    if (r == 0)
        r = bj_params_put(c, p, mask, BJ_SLICE("to"),
                          bj_json_text(bj_json_path(doc, "range.to")));
    bj_params_end(p);
    return r;
}

/* --- /query ----------------------------------------------------------------
 */

static void simpod_put_head(struct bj_buf *b, struct bj_slice ref,
                            const char *type, bool first)
{
    bj_buf_str(b, first ? "{\"refId\":" : ",{\"refId\":");
    bj_json_string(b, ref);
    bj_buf_str(b, type);
}

static void put_column(struct bj_buf *b, const char *name, const char *type,
                       bool first)
{
    size_t n = strlen(name);
    bool time = n > 3 && strcmp(name + n - 3, "_ms") == 0;
    bool number = strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
    bj_buf_printf(b, "%s{\"text\":\"%s\",\"type\":\"%s\"}", first ? "" : ",",
                  name,
                  time     ? "time"
                  : number ? "number"
                           : "string");
}

static int simpod_put_jobs(struct bj_call *c, const struct bj_json *target,
                           struct bj_buf *b)
{
    struct bj_params p;
    struct bj_picked k;
    struct bj_jobs_end end;
    int r = read_payload(c, c->body, target, BJ_JOBS_MASK, &p);
    if (r == 0)
        r = bj_jobs_pick(c, &p, false, &k);
    if (r != 0)
        return r;
    bj_buf_str(b, ",\"type\":\"table\",\"columns\":[");
    for (unsigned i = 0; i < k.n; i++)
        put_column(b, k.key[i], bj_value_type(k.column[i]->kind), i == 0);
    bj_buf_str(b, "],\"rows\":");
    r = bj_jobs_list(
        c, &p, &(struct bj_output){.to = b, .shape = BJ_SHAPE_ARRAYS}, &end);
    if (r == 0)
        r = bj_jobs_refuse_partial(c, &end);
    bj_buf_str(b, "}");
    return r;
}

static int put_usage(struct bj_call *c, const struct bj_json *target,
                     struct bj_buf *b)
{
    struct bj_params p;
    bool cut;
    int r = read_payload(c, c->body, target, BJ_USAGE_MASK, &p);
    if (r != 0)
        return r;
    bj_buf_str(b, ",\"type\":\"table\",\"columns\":[");
    for (const struct bj_column *k = bj_usage_columns; k->name; k++)
        put_column(b, k->name, bj_value_type(k->kind), k == bj_usage_columns);
    bj_buf_str(b, "],\"rows\":");
    r = bj_usage_list(
        c, &p, &(struct bj_output){.to = b, .shape = BJ_SHAPE_ARRAYS}, &cut);
    bj_buf_str(b, "}");
    return r;
}

/* Converts rows of usage by day to pairs of a value and its time. */
struct pairs {
    struct bj_cells cells;
    struct bj_buf *b;
    const char *name;
    bool any;
};

static void put_pair(void *ctx, const struct bj_cells *row)
{
    struct pairs *p = ctx;
    const struct bj_cell *v = bj_cells_get(row, p->name);
    bj_buf_str(p->b, p->any ? ",[" : "[");
    if (bj_cell_is_empty(v))
        bj_buf_str(p->b, "null");
    else
        bj_cell_text(p->b, v);
    bj_buf_str(p->b, ",");
    bj_cell_text(p->b, bj_cells_get(row, "time_ms"));
    bj_buf_str(p->b, "]");
    p->any = true;
}

static int put_series(struct bj_call *c, const struct bj_json *target,
                      const char *name, struct bj_buf *b)
{
    struct bj_params p;
    struct pairs pairs = {
        .cells = {.row = put_pair, .ctx = &pairs}, .b = b, .name = name};
    bool cut;
    int r = read_payload(
        c, c->body, target,
        (unsigned)BJ_USAGE_MASK & ~(unsigned)BJ_BIT(BJ_PARAM_GROUP_BY), &p);
    if (r == 0)
        r = bj_params_put(c, &p, BJ_USAGE_MASK, BJ_SLICE("group_by"),
                          BJ_SLICE("day"));
    bj_buf_printf(b, ",\"target\":\"%s\",\"datapoints\":[", name);
    if (r == 0)
        r = bj_usage_list(c, &p, &(struct bj_output){.cells = &pairs.cells},
                          &cut);
    bj_buf_str(b, "]}");
    b->failed |= pairs.cells.text.failed;
    bj_cells_free(&pairs.cells);
    return r;
}

static int put_target(struct bj_call *c, const struct bj_json *target,
                      struct bj_buf *b, bool first)
{
    struct bj_slice name = bj_json_text(bj_json_get(target, "target"));
    struct bj_slice ref = bj_json_text(bj_json_get(target, "refId"));
    simpod_put_head(b, ref, "", first);
    if (bj_slice_eq(name, BJ_SLICE("jobs")))
        return simpod_put_jobs(c, target, b);
    if (bj_slice_eq(name, BJ_SLICE("usage")))
        return put_usage(c, target, b);
    for (unsigned i = 0; i < SERIES; i++)
        if (bj_slice_eq(name, bj_slice_str(series[i])))
            return put_series(c, target, series[i], b);
    return bj_call_refuse(
        c, 400, "Unknown target '%.*s'; /api/simpod/metrics lists them.",
        name.n < 60 ? (int)name.n : 60, name.p ? name.p : "");
}

static int on_query_body(struct bj_call *c, const struct bj_json *doc)
{
    struct bj_buf b = {0};
    unsigned n = 0;
    int r = 0;
    bj_buf_str(&b, "[");
    BJ_JSON_EACH(target, bj_json_get(doc, "targets"))
    {
        /* New panels send a target without a name. */
        struct bj_slice name = bj_json_text(bj_json_get(target, "target"));
        if (r != 0 || name.n == 0)
            continue;
        r = n < TARGETS
                ? put_target(c, target, &b, n == 0)
                : bj_call_refuse(
                      c, 400, "The request has more than %d targets.", TARGETS);
        n++;
    }
    bj_buf_str(&b, "]\n");
    if (r == 0) {
        bj_buf_put(&c->reply->body, b.p, b.len);
        c->reply->body.failed = c->reply->body.failed || b.failed;
    }
    bj_buf_free(&b);
    return r;
}

/* --- targets and words ------------------------------------------------------
 */

static int on_metrics_body(struct bj_call *c, const struct bj_json *doc)
{
    struct bj_buf *b = &c->reply->body;
    (void)doc;
    bj_buf_str(b, "[");
    for (unsigned i = 0; i < SERIES + 2; i++) {
        const char *name = i == 0 ? "jobs" : i == 1 ? "usage" : series[i - 2];
        bj_buf_printf(b,
                      "%s{\"text\":\"%s\",\"label\":\"%s\",\"value\":\"%s\","
                      "\"payloads\":[",
                      i ? "," : "", name, name, name);
        for (unsigned k = 0; k < PAYLOADS; k++) {
            bj_buf_printf(b,
                          "%s{\"type\":\"input\",\"name\":\"%s\","
                          "\"placeholder\":",
                          k ? "," : "", bj_param_rules[payloads[k]].name);
            bj_json_string(b, bj_slice_str(bj_param_rules[payloads[k]].help));
            bj_buf_str(b, "}");
        }
        bj_buf_str(b, "]}");
    }
    bj_buf_str(b, "]\n");
    return 0;
}

/* Words to choose from. */
static const struct {
    const char *name, *sql;
} lists[] = {
    {"user", "SELECT DISTINCT n.name FROM assoc AS a JOIN user AS n ON "
             "n.id = a.user WHERE n.name <> ''"},
    {"account", "SELECT DISTINCT n.name FROM assoc AS a JOIN account AS n "
                "ON n.id = a.account WHERE n.name <> ''"},
    {"partition", "SELECT DISTINCT n.name FROM assoc AS a JOIN partition "
                  "AS n ON n.id = a.partition WHERE n.name <> ''"},
    {"cluster", "SELECT DISTINCT n.name FROM assoc AS a JOIN cluster AS n "
                "ON n.id = a.cluster WHERE n.name <> ''"},
};

/* Find the kind of words; "accounts" and "account" are the same; -1: unknown.
 */
static int find_words(struct bj_slice what)
{
    if (what.n > 0 && what.p[what.n - 1] == 's')
        what.n--;
    for (int i = 0; i < (int)(sizeof(lists) / sizeof(lists[0])); i++)
        if (bj_slice_eq(bj_slice_str(lists[i].name), what))
            return i;
    return -1;
}

static int put_words(struct bj_call *c, struct bj_slice what,
                     const char *before, const char *between);

/* Until 0.5, metrics are texts; until 0.3, variables are also queried here. */
static int on_search_body(struct bj_call *c, const struct bj_json *doc)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_slice target = bj_json_text(bj_json_get(doc, "target"));
    if (find_words(target) >= 0)
        return put_words(c, target, "", "");
    bj_buf_str(b, "[\"jobs\",\"usage\"");
    for (unsigned i = 0; i < SERIES; i++)
        bj_buf_printf(b, ",\"%s\"", series[i]);
    bj_buf_str(b, "]\n");
    return 0;
}

/* Append the words that a user may choose from: names of users, accounts,
 * partitions or clusters.  before and between are the JSON around a word. */
static int put_words(struct bj_call *c, struct bj_slice what,
                     const char *before, const char *between)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_st *st = NULL;
    unsigned n = 0;
    int i = find_words(what);
    if (i < 0)
        return bj_call_refuse(
            c, 400, "Expected users, accounts, partitions or clusters.");
    struct bj_query q = {0};
    bj_query_sql(&q, lists[i].sql);
    int r = bj_query_visible(&q, c, false, "a");
    bj_query_sql(&q, " ORDER BY 1");
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    bj_buf_str(b, "[");
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        struct bj_slice text = bj_st_get_text(st, 0);
        r = 0;
        bj_buf_str(b, n++ ? "," : "");
        bj_buf_str(b, before);
        bj_json_string(b, text);
        if (*between) {
            bj_buf_str(b, between);
            bj_json_string(b, text);
        }
        bj_buf_str(b, *before ? "}" : "");
    }
    bj_buf_str(b, "]\n");
    bj_query_free(&q);
    return r;
}

static int on_variable_body(struct bj_call *c, const struct bj_json *doc)
{
    return put_words(c, bj_json_text(bj_json_path(doc, "payload.target")),
                     "{\"__text\":", ",\"__value\":");
}

static int on_options_body(struct bj_call *c, const struct bj_json *doc)
{
    return put_words(c, bj_json_text(bj_json_get(doc, "name")),
                     "{\"label\":", ",\"value\":");
}

static int on_tag_keys_body(struct bj_call *c, const struct bj_json *doc)
{
    (void)doc;
    bj_buf_str(&c->reply->body,
               "[{\"type\":\"string\",\"text\":\"user\"},{\"type\":\"string\","
               "\"text\":\"account\"},{\"type\":\"string\",\"text\":"
               "\"partition\"},{\"type\":\"string\",\"text\":\"cluster\"}]\n");
    return 0;
}

static int on_tag_values_body(struct bj_call *c, const struct bj_json *doc)
{
    return put_words(c, bj_json_text(bj_json_get(doc, "key")),
                     "{\"text\":", "");
}

/* --- annotations -----------------------------------------------------------
 */

struct annotations {
    struct bj_cells cells;
    struct bj_buf *b;
    bool any;
    struct bj_params p; /* its texts are in the next two members */
    struct bj_arena arena;
    struct bj_buf target;
};

/* Append the text of a cell as a JSON string. */
static void simpod_put_cell(struct bj_buf *b, const char *before,
                            const struct bj_cells *row, const char *key)
{
    struct bj_buf text = {0};
    bj_buf_str(&text, before);
    bj_cell_text(&text, bj_cells_get(row, key));
    bj_json_string(b, (struct bj_slice){text.p, text.len});
    b->failed |= text.failed;
    bj_buf_free(&text);
}

static void put_annotation(void *ctx, const struct bj_cells *row)
{
    static const char *const tags[] = {"state", "user", "account"};
    struct annotations *a = ctx;
    struct bj_buf *b = a->b;
    const struct bj_cell *start = bj_cells_get(row, "start_ms");
    const struct bj_cell *end = bj_cells_get(row, "end_ms");
    if (bj_cell_is_empty(
            start)) /* not started, so there is no time at which to show it */
        return;
    bj_buf_str(b, a->any ? ",{\"time\":" : "{\"time\":");
    bj_cell_text(b, start);
    if (!bj_cell_is_empty(end)) {
        bj_buf_str(b, ",\"isRegion\":true,\"timeEnd\":");
        bj_cell_text(b, end);
    }
    bj_buf_str(b, ",\"title\":");
    simpod_put_cell(b, "Job ", row, "display_id");
    bj_buf_str(b, ",\"text\":");
    simpod_put_cell(b, "", row, "name");
    for (unsigned i = 0; i < 3; i++) {
        bj_buf_str(b, i ? "," : ",\"tags\":[");
        simpod_put_cell(b, "", row, tags[i]);
    }
    bj_buf_str(b, "]}");
    a->any = true;
}

/* Read a query, whose text is a payload as JSON or empty: it selects jobs that
 * overlap with the range of the panel. */
static int read_annotation(struct bj_call *c, const struct bj_json *doc,
                           struct annotations *a)
{
    struct bj_slice text =
        bj_slice_trim(bj_json_text(bj_json_path(doc, "annotation.query")));
    const struct bj_json *payload = NULL;
    bj_buf_str(&a->target, "{\"payload\":");
    bj_buf_slice(&a->target,
                 text.n > 0 && text.p[0] == '{' ? text : BJ_SLICE("{}"));
    bj_buf_str(&a->target, "}");
    if (a->target.failed)
        return bj_err_set(&c->err, -ENOMEM, "annotations");
    int r =
        bj_json_parse(&a->arena, (struct bj_slice){a->target.p, a->target.len},
                      "query", NULL, &payload, NULL);
    if (r == -ENOMEM)
        return bj_err_set(&c->err, r, "annotations");
    if (r < 0)
        return bj_call_refuse(c, 400,
                              "The query of the annotation is not valid JSON.");
    r = read_payload(
        c, doc, payload,
        (unsigned)BJ_JOBS_MASK & ~(unsigned)BJ_BIT(BJ_PARAM_FIELDS), &a->p);
    return r != 0 ? r
                  : bj_params_put(c, &a->p, BJ_JOBS_MASK, BJ_SLICE("fields"),
                                  BJ_SLICE("start_ms,end_ms,display_id,name,"
                                           "state,user,account"));
}

static int reply_annotations(struct bj_call *c, struct annotations *a)
{
    struct bj_jobs_end end;
    bj_buf_str(a->b, "[");
    int r =
        bj_jobs_list(c, &a->p, &(struct bj_output){.cells = &a->cells}, &end);
    if (r == 0)
        r = bj_jobs_refuse_partial(c, &end);
    if (r == 0)
        bj_buf_str(a->b, "]\n");
    a->b->failed |= a->cells.text.failed;
    return r;
}

/* Annotations until 0.4; later versions send queries. */
static int on_annotations_body(struct bj_call *c, const struct bj_json *doc)
{
    struct annotations a = {.cells = {.row = put_annotation, .ctx = &a},
                            .b = &c->reply->body};
    int r = read_annotation(c, doc, &a);
    if (r == 0)
        r = reply_annotations(c, &a);
    bj_cells_free(&a.cells);
    bj_arena_free(&a.arena);
    bj_buf_free(&a.target);
    return r;
}

/* --- endpoints -------------------------------------------------------------
 */

static int with_body(struct bj_call *c,
                     int (*run)(struct bj_call *c, const struct bj_json *doc))
{
    struct body b = {0};
    int r = read_body(c, &b);
    c->body = b.doc;
    c->reply->type = "application/json";
    if (r == 0)
        r = run(c, b.doc);
    c->body = NULL;
    bj_arena_free(&b.arena);
    return r;
}

#define ENDPOINT(name)                                                         \
    static int on_##name(struct bj_call *c)                                    \
    {                                                                          \
        return with_body(c, on_##name##_body);                                 \
    }
ENDPOINT(query)
ENDPOINT(metrics)
ENDPOINT(search)
ENDPOINT(variable)
ENDPOINT(options)
ENDPOINT(annotations)
ENDPOINT(tag_keys)
ENDPOINT(tag_values)

static int on_base(struct bj_call *c)
{
    bj_call_open(c);
    bj_buf_str(&c->reply->body, "[]");
    bj_call_close(c, "");
    return 0;
}

#define POST(name, handler, need)                                              \
    {                                                                          \
        .path = "/api/simpod/" name, .methods = BJ_HTTP_POST,                  \
        .needs = BJ_NEED_USER | (need), .run = handler,                        \
        .help = "For Grafana's simpod-json-datasource."                        \
    }

const struct bj_endpoint bj_endpoints_simpod[] = {
    {.path = "/api/simpod",
     .methods = BJ_HTTP_GET,
     .run = on_base,
     .help = "For Grafana's simpod-json-datasource."},
    POST("query", on_query, BJ_NEED_STORE),
    POST("metrics", on_metrics, 0),
    POST("search", on_search, BJ_NEED_STORE),
    POST("variable", on_variable, BJ_NEED_STORE),
    POST("metric-payload-options", on_options, BJ_NEED_STORE),
    POST("options", on_options, BJ_NEED_STORE),
    POST("annotations", on_annotations, BJ_NEED_STORE),
    POST("tag-keys", on_tag_keys, 0),
    POST("tag-values", on_tag_values, BJ_NEED_STORE),
    {.path = NULL},
};
