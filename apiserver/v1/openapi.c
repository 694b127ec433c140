/* /api/v1/openapi.json: the description of the API, generated from the tables
 * of endpoints. Format: OpenAPI 3.1.0. */
#include "apiserver/frame/params.h"
#include "apiserver/frame/state.h"
#include "base/json.h"
#include "base/version.h"
#include "report/chart/series.h"
#include "statsdb/job/job_column.h"

static void openapi_text(struct bj_buf *b, const char *before, const char *s)
{
    bj_buf_str(b, before);
    bj_json_string(b, bj_slice_str(s));
}

static void put_param(struct bj_buf *b, const struct bj_param_rule *p)
{
    static const char *const schema[] = {
        [BJ_PARAM_LIST] =
            "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
        [BJ_PARAM_TEXT] = "{\"type\":\"string\"}",
        [BJ_PARAM_TIME] = "{\"type\":[\"string\",\"integer\"],"
                          "\"description\":\"" BJ_PARAM_TIMES "\"}",
        [BJ_PARAM_UINT] = "{\"type\":\"integer\",\"minimum\":0}",
        [BJ_PARAM_FLAG] = "{\"type\":\"boolean\"}"};
    openapi_text(b, "{\"in\":\"query\",\"name\":", p->name);
    openapi_text(b, ",\"description\":", p->help);
    bj_buf_printf(b, ",\"schema\":%s%s}", schema[p->kind],
                  p->kind == BJ_PARAM_LIST
                      ? ",\"style\":\"form\",\"explode\":false"
                      : "");
}

static void put_own_param(struct bj_buf *b, const struct bj_own_param *p,
                          bool required)
{
    openapi_text(b, "{\"in\":\"query\",\"name\":", p->name);
    openapi_text(b, ",\"description\":", p->help);
    bj_buf_printf(b, "%s,\"schema\":%s}", required ? ",\"required\":true" : "",
                  p->schema);
}

/* The name of the first or second '*' of a path; NULL: it has none. */
static const char *name_in_path(const struct bj_endpoint *e, int which)
{
    if (!strstr(e->path, which == 0 ? "*" : "**"))
        return NULL;
    return which > 0                       ? "metric"
           : strstr(e->path, "/users/")    ? "user"
           : strstr(e->path, "/accounts/") ? "account"
           : strstr(e->path, "/nodes/")    ? "node"
           : strstr(e->path, "/label/")    ? "name"
                                           : "job";
}

static void put_params(struct bj_buf *b, const struct bj_endpoint *e, bool post)
{
    bool any = false;
    bj_buf_str(b, ",\"parameters\":[");
    for (int i = 0; i < 2 && name_in_path(e, i); i++) {
        bj_buf_printf(b,
                      "%s{\"in\":\"path\",\"name\":\"%s\",\"required\":true,"
                      "\"schema\":{\"type\":\"string\"}}",
                      any ? "," : "", name_in_path(e, i));
        any = true;
    }
    const unsigned mask =
        e->params | (bj_endpoint_has_rows(e) ? BJ_BIT(BJ_PARAM_FORMAT) : 0u);
    for (int i = 0; i < BJ_PARAMS; i++)
        if (mask & 1u << i) {
            bj_buf_str(b, any ? "," : "");
            put_param(b, &bj_param_rules[i]);
            any = true;
        }
    for (const struct bj_own_param *p = e->own; p && p->name && !post; p++)
        if (e->own_params & p->bit) {
            bj_buf_str(b, any ? "," : "");
            put_own_param(b, p, e->required & p->bit);
            any = true;
        }
    bj_buf_str(b, "]");
}

static void openapi_put_key(struct bj_buf *b, const char *name,
                            const char *type, const char *help, bool first)
{
    openapi_text(b, first ? "" : ",", name);
    bj_buf_printf(b, ":{\"type\":[\"%s\",\"null\"]", type);
    openapi_text(b, ",\"description\":", help);
    bj_buf_str(b, "}");
}

static void put_columns(struct bj_buf *b, const struct bj_column *first)
{
    for (const struct bj_column *k = first; k->name; k++)
        openapi_put_key(b, k->name, bj_value_type(k->kind), k->help,
                        k == first);
}

static void put_metrics(struct bj_buf *b)
{
    for (const struct bj_series_metric *m = bj_series_metrics; m->name; m++)
        openapi_put_key(b, m->name, "number", m->help, false);
}

/* Describe rows as JSON and as CSV. */
static void openapi_put_rows(struct bj_buf *b, const struct bj_endpoint *e)
{
    bj_buf_str(b, "\"description\":\"Rows; every row has every field, or those "
                  "of the parameter fields.\",\"content\":{"
                  "\"application/json\":{\"schema\":{\"type\":"
                  "\"object\",\"required\":[\"status\",\"data\"],"
                  "\"properties\":{\"status\":{\"const\":\"success\"},\"data\":"
                  "{\"type\":\"array\",\"items\":{\"type\":\"object\","
                  "\"properties\":{");
    put_columns(b, e->columns);
    if (e->series)
        put_metrics(b);
    bj_buf_str(b, "},\"additionalProperties\":false}}}}},\"text/csv\":{"
                  "\"schema\":{\"type\":\"string\"}}}");
}

/* "get_api_v1_jobs_job_steps": a unique name of the operation. */
static void put_operation(struct bj_buf *b, const struct bj_endpoint *e,
                          const char *method)
{
    bj_buf_printf(b, ",\"operationId\":\"%s", method);
    for (const char *p = e->path; *p; p++)
        if (*p == '*')
            bj_buf_str(b, name_in_path(e, p[-1] == '*'));
        else if (strchr("/.-", *p))
            bj_buf_str(b, "_");
        else
            bj_buf_put(b, p, 1);
    bj_buf_str(b, "\"");
}

/* Describe the possible refusals. */
static void put_refusals(struct bj_buf *b, const struct bj_endpoint *e)
{
    static const char ref[] = "{\"$ref\":\"#/components/responses/error\"}";
    const bool user = e->needs & BJ_NEED_USER;
    bj_buf_printf(b, "},\"400\":%s", ref);
    if (user)
        bj_buf_printf(b, ",\"403\":%s", ref);
    if (strchr(e->path, '*'))
        bj_buf_printf(b, ",\"404\":%s,\"409\":%s", ref, ref);
    if (user)
        bj_buf_printf(b, ",\"429\":%s", ref);
    if (e->needs & BJ_NEED_STORE)
        bj_buf_printf(b, ",\"503\":%s", ref);
    bj_buf_printf(b, ",\"default\":%s}}", ref);
}

/* Describe the body: a form with the endpoint's own parameters, or JSON. */
static void put_request_body(struct bj_buf *b, const struct bj_endpoint *e)
{
    const char *comma = "";
    if (!e->own) {
        bj_buf_str(b, ",\"requestBody\":{\"content\":{\"application/json\":"
                      "{\"schema\":{\"type\":\"object\"}}}}");
        return;
    }
    bj_buf_str(b, ",\"requestBody\":{\"content\":{"
                  "\"application/x-www-form-urlencoded\":{\"schema\":{"
                  "\"type\":\"object\",\"properties\":{");
    for (const struct bj_own_param *p = e->own; p->name; p++)
        if (e->own_params & p->bit) {
            openapi_text(b, comma, p->name);
            bj_buf_printf(b, ":%s", p->schema);
            comma = ",";
        }
    bj_buf_str(b, "}}}}}");
}

static void put_method(struct bj_buf *b, const struct bj_endpoint *e, bool post)
{
    const char *method = post ? "post" : "get";
    bj_buf_printf(b, "\"%s\":{\"summary\":", method);
    openapi_text(b, "", e->help);
    put_operation(b, e, method);
    put_params(b, e, post);
    bj_buf_str(b, e->needs & BJ_NEED_USER ? "" : ",\"security\":[]");
    if (post)
        put_request_body(b, e);
    bj_buf_str(b, ",\"responses\":{\"200\":{");
    if (bj_endpoint_has_rows(e))
        openapi_put_rows(b, e);
    else
        bj_buf_printf(b,
                      "\"description\":\"The answer.\",\"content\":{\"%s\":{}}",
                      e->type ? e->type : "application/json");
    put_refusals(b, e);
}

static void put_endpoint(struct bj_buf *b, const struct bj_endpoint *e)
{
    const bool get = e->methods & BJ_HTTP_GET;
    bj_buf_str(b, "\"");
    for (const char *p = e->path; *p; p++)
        if (*p == '*')
            bj_buf_printf(b, "%s{%s}", p[-1] == '*' ? "/" : "",
                          name_in_path(e, p[-1] == '*'));
        else
            bj_buf_put(b, p, 1);
    bj_buf_str(b, "\":{");
    if (get)
        put_method(b, e, false);
    if (e->methods & BJ_HTTP_POST) {
        bj_buf_str(b, get ? "," : "");
        put_method(b, e, true);
    }
    bj_buf_str(b, "}");
}

static int on_openapi(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    c->reply->type = "application/json";
    bj_buf_printf(b,
                  "{\"openapi\":\"3.1.0\",\"info\":{\"title\":"
                  "\"batchjob_stats_server\",\"version\":\"%s\",\"license\":{"
                  "\"name\":\"MIT\",\"identifier\":\"MIT\"}},"
                  "\"servers\":[{\"url\":\"/\"}],"
                  "\"security\":[{\"basic\":[]},{\"bearer\":[]},"
                  "{\"certificate\":[]},{}],"
                  "\"paths\":{",
                  bj_version);
    for (unsigned i = 0; c->worker->endpoint[i]; i++) {
        if (!c->worker->endpoint[i]->help)
            continue;
        bj_buf_str(b, i ? "," : "");
        put_endpoint(b, c->worker->endpoint[i]);
    }
    bj_buf_str(
        b,
        "},\"components\":{\"securitySchemes\":{\"basic\":{\"type\":\"http\","
        "\"scheme\":\"basic\"},\"bearer\":{\"type\":\"http\",\"scheme\":"
        "\"bearer\"},\"certificate\":{\"type\":\"mutualTLS\"}},\"responses\":{"
        "\"error\":{\"description\":\"The error in one "
        "sentence.\",\"content\":{\"application/json\":{"
        "\"schema\":{\"type\":\"object\",\"required\":[\"status\","
        "\"errorType\",\"error\"],\"properties\":{\"status\":{\"const\":"
        "\"error\"},\"errorType\":{\"type\":\"string\"},\"error\":{\"type\":"
        "\"string\"},\"data\":{\"type\":\"array\"}}}}}}}}}\n");
    return 0;
}

const struct bj_endpoint bj_endpoints_openapi[] = {
    {.path = "/api/v1/openapi.json",
     .methods = BJ_HTTP_GET,
     .run = on_openapi,
     .help = "This document."},
    {.path = NULL},
};
