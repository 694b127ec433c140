#include "statsdb/prom/prom.h"

#include "base/fetch.h"
#include "base/secret_file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADERS_MAX = 16, REPLY_BYTES = 32 << 20 };

struct bj_prom {
    const struct bj_prom_conf *conf;
    const atomic_bool *stop;
    uint64_t limit_usec; /* 0: the limit in conf */
    struct bj_fetch *fetch;
    struct bj_prom_request request;
    struct bj_buf body;
    struct bj_fetch_reply reply;
};

int bj_prom_new(const struct bj_prom_conf *conf, const atomic_bool *stop,
                struct bj_prom **ret, struct bj_err *err)
{
    struct bj_prom *p = calloc(1, sizeof(*p));
    if (!p)
        return bj_err_set(err, -ENOMEM, "prometheus");
    p->conf = conf;
    p->stop = stop;
    int r = bj_fetch_new(&p->fetch, err);
    if (r < 0) {
        free(p);
        return r;
    }
    *ret = p;
    return 0;
}

void bj_prom_free(struct bj_prom *p)
{
    if (!p)
        return;
    bj_fetch_free(p->fetch);
    bj_fetch_reply_free(&p->reply);
    bj_buf_free(&p->body);
    free(p);
}

void bj_prom_limit(struct bj_prom *p, uint64_t usec)
{
    p->limit_usec = usec;
}

static uint64_t timeout_usec(const struct bj_prom *p)
{
    const uint64_t most = p->conf->timeout_usec;
    return p->limit_usec && p->limit_usec < most ? p->limit_usec : most;
}

/* --- texts of queries -----------------------------------------------------*/

void bj_prom_expand(struct bj_buf *out, const char *template,
                    void (*put)(const void *ctx, char x, struct bj_buf *out),
                    const void *ctx)
{
    for (const char *p = template; *p; p++)
        if (*p == '$')
            put(ctx, *++p, out);
        else
            bj_buf_put(out, p, 1);
}

void bj_prom_put(struct bj_buf *out, struct bj_slice text, bool regex)
{
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.p[i];
        if (regex && c && strchr("\\.+*?()|[]{}^$", c))
            bj_buf_str(out, "\\\\"); /* of RE2, in a string of Go */
        if (c == '"' || c == '\\')
            bj_buf_str(out, "\\");
        bj_buf_put(out, c == '\n' ? "\\n" : &c, c == '\n' ? 2 : 1);
    }
}

/* --- requests -------------------------------------------------------------*/

static const char *prom_given(const char *s)
{
    return s && s[0] ? s : NULL;
}

/* Read secrets for each request: their files may have been renewed. */
static int read_secrets(struct bj_prom_request *q, const struct bj_prom_conf *c,
                        struct bj_err *err)
{
    int r = bj_secret_read(c->token_file, q->token, sizeof(q->token), err);
    if (r < 0)
        return bj_err_wrap(err, r, "prometheus.token-file");
    r = bj_secret_read(c->password_file, q->password, sizeof(q->password), err);
    return r < 0 ? bj_err_wrap(err, r, "prometheus.password-file") : 0;
}

int bj_prom_request_make(struct bj_prom_request *q,
                         const struct bj_prom_conf *c, const char *path,
                         struct bj_slice query, const char *header,
                         struct bj_err *err)
{
    unsigned headers = 0;
    size_t n = strlen(c->url);
    while (n > 0 && c->url[n - 1] == '/')
        n--;
    bj_buf_put(&q->url, c->url, n);
    bj_buf_str(&q->url, path);
    bj_buf_str(&q->url, query.n > 0 ? "?" : "");
    bj_buf_slice(&q->url, query);
    bj_buf_put(&q->url, "", 1);
    if (header)
        q->header[headers++] = header;
    for (size_t i = 0; i < c->headers.n && i < HEADERS_MAX; i++)
        q->header[headers++] = c->headers.v[i];
    if (q->url.failed)
        return bj_err_set(err, -ENOMEM, "prometheus");
    int r = read_secrets(q, c, err);
    if (r < 0)
        return r;
    q->fetch = (struct bj_fetch_request){
        .url = q->url.p,
        .headers = q->header,
        .bearer = prom_given(q->token),
        .user = prom_given(c->user),
        .password = prom_given(c->user) ? q->password : NULL,
        .ca_file = prom_given(c->ca_file),
        .cert_file = prom_given(c->cert_file),
        .key_file = prom_given(c->key_file)};
    return 0;
}

void bj_prom_request_clear(struct bj_prom_request *q)
{
    bj_buf_free(&q->url);
    explicit_bzero(q, sizeof(*q));
}

/* --- a query --------------------------------------------------------------*/

static void put_param(struct bj_buf *out, const char *name, const char *value)
{
    static const char hex[] = "0123456789ABCDEF";
    if (out->len > 0)
        bj_buf_str(out, "&");
    bj_buf_printf(out, "%s=", name);
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
        char escape[3] = {'%', hex[c >> 4], hex[c & 15]};
        bj_buf_put(out, plain ? value : escape, plain ? 1 : 3);
    }
}

static void prom_put_time(struct bj_buf *out, const char *name, int64_t v)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)v);
    put_param(out, name, text);
}

/* Request complete replies for exactly these times. Prometheus ignores the
 * parameters for VictoriaMetrics and Thanos. */
static void put_common(struct bj_prom *p)
{
    prom_put_time(&p->body, "timeout", (int64_t)(timeout_usec(p) / 1000000));
    put_param(&p->body, "nocache", "1");
    put_param(&p->body, "deny_partial_response", "1");
    put_param(&p->body, "partial_response", "false");
}

static int sink(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    return bj_prom_reply_feed(ctx, piece, err);
}

/* Append the server's reason to the message. */
static int prom_explain(struct bj_prom *p, int r, struct bj_err *err)
{
    char why[160], was[300];
    struct bj_slice body = {p->reply.body.p, p->reply.body.len};
    bj_prom_reply_why(body, why, sizeof(why));
    if (!err || !why[0] || p->reply.fault != BJ_FETCH_HTTP)
        return r;
    snprintf(was, sizeof(was), "%s", err->msg);
    return bj_err_set(err, r, "%.140s: %s", was, why);
}

static int send_request(struct bj_prom *p, struct bj_prom_reply *reply,
                        struct bj_err *err)
{
    struct bj_fetch_request *f = &p->request.fetch;
    f->method = "POST";
    f->form = true;
    f->body = (struct bj_slice){p->body.p, p->body.len};
    f->total_usec = timeout_usec(p);
    f->max_bytes =
        p->conf->max_bytes ? (size_t)p->conf->max_bytes : REPLY_BYTES;
    f->sink = sink;
    f->ctx = reply;
    f->abort = p->stop;
    int r = bj_fetch(p->fetch, f, &p->reply, err);
    return r < 0 ? prom_explain(p, r, err) : bj_prom_reply_end(reply, err);
}

static int send_query(struct bj_prom *p, const char *path, bool range,
                      const struct bj_prom_sink *to, struct bj_err *err)
{
    struct bj_prom_reply *reply;
    if (p->body.failed)
        return bj_err_set(err, -ENOMEM, "prometheus");
    int r = bj_prom_reply_new(range, to, &reply, err);
    if (r < 0)
        return r;
    r = bj_prom_request_make(&p->request, p->conf, path, BJ_SLICE(""), NULL,
                             err);
    if (r == 0)
        r = send_request(p, reply, err);
    bj_prom_request_clear(&p->request);
    bj_prom_reply_free(reply);
    return r;
}

int bj_prom_query(struct bj_prom *p, const char *query, int64_t at_sec,
                  const struct bj_prom_sink *to, struct bj_err *err)
{
    bj_buf_reset(&p->body);
    put_param(&p->body, "query", query);
    prom_put_time(&p->body, "time", at_sec);
    put_common(p);
    return send_query(p, "/api/v1/query", false, to, err);
}

int bj_prom_range(struct bj_prom *p, const char *query, int64_t start_sec,
                  int64_t end_sec, int64_t step_sec,
                  const struct bj_prom_sink *to, struct bj_err *err)
{
    bj_buf_reset(&p->body);
    put_param(&p->body, "query", query);
    prom_put_time(&p->body, "start", start_sec);
    prom_put_time(&p->body, "end", end_sec);
    prom_put_time(&p->body, "step", step_sec);
    put_common(p);
    return send_query(p, "/api/v1/query_range", true, to, err);
}

/* --- options ---------------------------------------------------------------*/

#define OF(member) offsetof(struct bj_prom_conf, member)
#define SEC(n) ((uint64_t)(n)*1000000)

enum { HOUR = 3600, DAY = 86400 };

const struct bj_opt bj_prom_opts[] = {
    {.name = "prometheus.url",
     .kind = BJ_OPT_STR,
     .off = OF(url),
     .check = bj_fetch_check,
     .help = "Prometheus-compatible server that scrapes the exporters of the "
             "cluster: http://HOST:9090."},
    {.name = "prometheus.match",
     .kind = BJ_OPT_LIST,
     .off = OF(match),
     .check = bj_prom_check_match,
     .arg = "LABEL=VALUE",
     .preset = "cluster=%c",
     .help =
         "Labels of this cluster's series on the server; %c is the cluster's "
         "name. Empty if the server has only this cluster and no such label.",
     .more = "Set it to the labels in the scrape configuration."},
    {.name = "prometheus.scrape-interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(scrape_usec),
     .lo = SEC(1),
     .hi = SEC(HOUR),
     .preset = "30s",
     .help = "Scrape interval of the server.",
     .more = "Set it to the value in the scrape configuration."},
    {.name = "prometheus.history",
     .kind = BJ_OPT_DURATION,
     .off = OF(history_usec),
     .lo = SEC(60),
     .preset = "15d",
     .help = "How long the server keeps samples (its "
             "--storage.tsdb.retention.time).",
     .more = "Set it to the retention of the server."},
    {.name = "prometheus.settle",
     .kind = BJ_OPT_DURATION,
     .off = OF(settle_usec),
     .lo = SEC(1),
     .hi = SEC(DAY),
     .preset = "5m",
     .help =
         "Query a job this long after its end; at least two scrape intervals.",
     .more =
         "Raise it when samples arrive late, for example over remote write.",
     .rare = true},
    {.name = "prometheus.grace",
     .kind = BJ_OPT_DURATION,
     .off = OF(grace_usec),
     .hi = SEC(DAY),
     .preset = "2m",
     .help = "How long the exporters show the last values of an ended job "
             "(their job.grace).",
     .more = "Set it to job.grace of the exporters.",
     .rare = true},
    {.name = "prometheus.timeout",
     .kind = BJ_OPT_DURATION,
     .off = OF(timeout_usec),
     .lo = SEC(1),
     .hi = SEC(HOUR),
     .preset = "60s",
     .help = "Timeout of a query.",
     .more = "Raise it when the server is slow.",
     .rare = true},
    {.name = "prometheus.max-samples",
     .kind = BJ_OPT_U64,
     .off = OF(max_samples),
     .lo = 1000,
     .hi = UINT64_C(1000000000),
     .preset = "5000000",
     .help = "Samples that one query may make the server read; well below its "
             "--query.max-samples.",
     .more = "Lower it when the server refuses queries, raise it to query more "
             "jobs at once.",
     .rare = true},
    BJ_PROM_CLIENT_OPTS(0),
    {.name = "prometheus.scratch-place",
     .kind = BJ_OPT_STR,
     .off = OF(scratch_place),
     .preset = "scratch",
     .help = "Place of collector.process.place that is scratch.",
     .more = "Set it when the exporters use another name for the scratch file "
             "system.",
     .rare = true},
    {.name = "prometheus.factors",
     .kind = BJ_OPT_BOOL,
     .off = OF(factors),
     .preset = "false",
     .help = "Also read emission factors from the server, as reported by an "
             "exporter with collector.emissions.",
     .more = "Set it when one exporter of the site requests emission factors.",
     .rare = true},
    {.name = NULL},
};

static bool is_label(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
              (i > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return s.n > 0;
}

static int cut_match(const char *text, struct bj_slice *label,
                     struct bj_slice *value, struct bj_err *err)
{
    *value = bj_slice_str(text);
    if (strchr(text, '=') && bj_slice_field(value, '=', label) &&
        is_label(*label) && !strchr(text, '\n'))
        return 0;
    return bj_err_set(err, -EINVAL, "'%.40s' is not LABEL=VALUE", text);
}

int bj_prom_check_match(const char *text, struct bj_err *err)
{
    struct bj_slice label, value;
    return cut_match(text, &label, &value, err);
}

int bj_prom_matchers(const struct bj_strv *match, const char *cluster,
                     struct bj_buf *out, struct bj_err *err)
{
    for (size_t i = 0; i < match->n; i++) {
        struct bj_slice label, v;
        int r = cut_match(match->v[i], &label, &v, err);
        if (r < 0)
            return bj_err_wrap(err, r, "prometheus.match");
        bj_buf_slice(out, label);
        bj_buf_str(out, "=\"");
        bj_prom_put(out,
                    bj_slice_eq(v, BJ_SLICE("%c")) ? bj_slice_str(cluster) : v,
                    false);
        bj_buf_str(out, "\",");
    }
    return 0;
}

int bj_prom_check_server(const struct bj_prom_conf *c, struct bj_err *err)
{
    if (!c->url || !c->url[0])
        return 0;
    if (c->headers.n > HEADERS_MAX)
        return bj_err_set(err, -EINVAL, "prometheus.header: more than %d",
                          HEADERS_MAX);
    if (c->user && c->user[0] && c->token_file && c->token_file[0])
        return bj_err_set(err, -EINVAL,
                          "prometheus: set only one of user and token-file");
    return 0;
}

int bj_prom_check(const struct bj_prom_conf *c, struct bj_err *err)
{
    int r = bj_prom_check_server(c, err);
    if (r < 0 || !c->url || !c->url[0] || c->settle_usec >= 2 * c->scrape_usec)
        return r;
    return bj_err_set(
        err, -EINVAL,
        "prometheus.settle: must be at least two scrape intervals");
}

/* --- replies ---------------------------------------------------------------*/

/* Sources of the format: prometheus.io, HTTP API, "Expression queries";
 * VictoriaMetrics' cluster version adds isPartial beside status. */
struct bj_prom_reply {
    struct bj_json_stream *stream;
    struct bj_prom_sink sink;
    bool range, success, type;
    char why[200];
};

enum { WARNINGS, PARTIAL, STATUS, PROBLEM, TYPE, RESULT };

static int on_warning(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    (void)key;
    struct bj_prom_reply *r = ctx;
    struct bj_slice text = bj_json_text(v);
    /* Warnings and infos about a query are not errors. */
    if (bj_slice_starts(text, BJ_SLICE("PromQL info")))
        return 0;
    bj_text_clean(text, r->why, sizeof(r->why));
    return bj_err_set(err, -EAGAIN, "the reply is incomplete: %s", r->why);
}

static int on_partial(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    (void)ctx;
    (void)key;
    bool partial;
    if (bj_json_bool(v, &partial) == 0 && !partial)
        return 0;
    return bj_err_set(err, -EAGAIN, "the reply is incomplete: isPartial");
}

static int on_status(void *ctx, struct bj_slice key, const struct bj_json *v,
                     struct bj_err *err)
{
    (void)key;
    (void)err;
    struct bj_prom_reply *r = ctx;
    r->success = bj_slice_eq(bj_json_text(v), BJ_SLICE("success"));
    return 0;
}

static int on_problem(void *ctx, struct bj_slice key, const struct bj_json *v,
                      struct bj_err *err)
{
    (void)key;
    (void)err;
    struct bj_prom_reply *r = ctx;
    bj_text_clean(bj_json_text(v), r->why, sizeof(r->why));
    return 0;
}

static int on_type(void *ctx, struct bj_slice key, const struct bj_json *v,
                   struct bj_err *err)
{
    (void)key;
    struct bj_prom_reply *r = ctx;
    r->type = bj_slice_eq(bj_json_text(v),
                          r->range ? BJ_SLICE("matrix") : BJ_SLICE("vector"));
    return r->type ? 0
                   : bj_err_set(err, -EPROTO, "expected a %s",
                                r->range ? "matrix" : "vector");
}

static int on_result(void *ctx, struct bj_slice key, const struct bj_json *v,
                     struct bj_err *err)
{
    (void)key;
    struct bj_prom_reply *r = ctx;
    const struct bj_json *metric = bj_json_get(v, "metric");
    const struct bj_json *value = bj_json_get(v, r->range ? "values" : "value");
    if (bj_json_kind(metric) != BJ_JSON_OBJECT ||
        bj_json_kind(value) != BJ_JSON_ARRAY)
        return bj_err_set(err, -EPROTO, "a series without metric or value");
    return r->sink.series(r->sink.ctx, metric, value, err);
}

static const struct bj_json_target targets[] = {
    [WARNINGS] = {"warnings", on_warning},
    [PARTIAL] = {"isPartial", on_partial},
    [STATUS] = {"status", on_status},
    [PROBLEM] = {"error", on_problem},
    [TYPE] = {"data.resultType", on_type},
    [RESULT] = {"data.result", on_result},
    {NULL, NULL},
};

int bj_prom_reply_new(bool range, const struct bj_prom_sink *sink,
                      struct bj_prom_reply **ret, struct bj_err *err)
{
    const struct bj_json_limits limits = {
        .bytes = 8 << 20, .values = 400000, .depth = 12};
    struct bj_prom_reply *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "prometheus");
    r->range = range;
    r->sink = *sink;
    int e =
        bj_json_stream_new(targets, r, "prometheus", &limits, &r->stream, err);
    if (e < 0) {
        free(r);
        return e;
    }
    *ret = r;
    return 0;
}

void bj_prom_reply_free(struct bj_prom_reply *r)
{
    if (!r)
        return;
    bj_json_stream_free(r->stream);
    free(r);
}

/* A reply that is not JSON comes from another server. */
static int of_others(int r, struct bj_err *err)
{
    if (r == -EINVAL && err)
        err->code = -EPROTO;
    return r == -EINVAL ? -EPROTO : r;
}

int bj_prom_reply_feed(struct bj_prom_reply *r, struct bj_slice piece,
                       struct bj_err *err)
{
    return of_others(bj_json_stream_feed(r->stream, piece, err), err);
}

int bj_prom_reply_end(struct bj_prom_reply *r, struct bj_err *err)
{
    int e = of_others(bj_json_stream_end(r->stream, err), err);
    if (e < 0)
        return e;
    if (r->success && r->type && bj_json_stream_found(r->stream, RESULT))
        return 0;
    return bj_err_set(err, -EPROTO, "not a reply of Prometheus%s%s",
                      r->why[0] ? ": " : "", r->why);
}

void bj_prom_reply_why(struct bj_slice body, char *ret, size_t cap)
{
    struct bj_arena a = {0};
    const struct bj_json *doc = NULL;
    const struct bj_json_limits limits = {
        .bytes = 65536, .values = 100, .depth = 4};
    ret[0] = '\0';
    if (bj_json_parse(&a, body, "error", &limits, &doc, NULL) == 0)
        bj_text_clean(bj_json_text(bj_json_get(doc, "error")), ret, cap);
    bj_arena_free(&a);
}

int bj_prom_value(const struct bj_json *pair, unsigned digits, int64_t *ret,
                  int64_t *ret_sec)
{
    int64_t sec, v;
    if (bj_json_kind(pair) != BJ_JSON_ARRAY || bj_json_len(pair) != 2 ||
        bj_json_fixed(bj_json_at(pair, 0), 0, &sec) < 0 ||
        bj_json_fixed(bj_json_at(pair, 1), digits, &v) < 0)
        return -EINVAL;
    *ret = v;
    if (ret_sec)
        *ret_sec = sec;
    return 0;
}
