#include "standalone/serve.h"

#include "base/accept.h"
#include "base/clock.h"
#include "base/program.h"
#include "base/version.h"
#include "standalone/html.h"
#include "standalone/page.h"

#include <stdio.h>

enum {
    CONNECTIONS_PER_REQUEST = 4,
    GZIP_BYTES = 1024, /* smaller pages are not compressed */
    TRIM_FIRST = 4,    /* trim memory after this pass, */
    TRIM_PASSES = 64,  /* and again after this many */
};

/* Snapshots */

int bj_serve_pass(struct bj_serve *s, struct bj_err *err)
{
    struct bj_err why = {0};
    bj_snap_unref(s->snap);
    s->snap = NULL;
    int r = bj_core_pass(s->core, &s->snap, &why);
    if (s->passes++ % TRIM_PASSES == TRIM_FIRST)
        bj_trim();
    s->failure = why;
    s->failure.code = r < 0 ? r : 0;
    return r < 0 ? bj_err_copy(err, r, &why) : 0;
}

void bj_serve_round(struct bj_serve *s)
{
    if (s->conf->max_age_usec > 0)
        return;
    bj_snap_unref(s->snap);
    s->snap = NULL;
}

static int refresh(struct bj_serve *s, struct bj_err *err)
{
    uint64_t limit = s->conf->max_age_usec;
    if (s->snap &&
        (limit == 0 || bj_clock_boot_usec() - s->snap->boot_usec <= limit))
        return 0;
    return bj_serve_pass(s, err);
}

/* Routes */

static void header(struct bj_http_reply *r, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof(r->header) / sizeof(r->header[0]); i++)
        if (!r->header[i].name) {
            r->header[i].name = name;
            r->header[i].value = value;
            return;
        }
}

/* Replace a page by its compressed form; unchanged when out of memory. */
static void pack(struct bj_serve *s, struct bj_http_reply *r)
{
    struct bj_buf packed = bj_httpd_buf(s->httpd, s->packed_bytes);
    struct bj_slice page = {r->body.p, r->body.len};
    if (bj_gzip_pack(&s->gzip, page, &packed) < 0) {
        bj_buf_free(&packed);
        return;
    }
    bj_httpd_buf_return(s->httpd, &r->body);
    r->body = packed;
    s->packed_bytes = packed.len + packed.len / 16;
    header(r, "Content-Encoding", "gzip");
}

static void write_page(struct bj_serve *s, enum bj_page_format format,
                       struct bj_http_reply *r)
{
    size_t last = s->page_bytes[format];
    r->body = bj_httpd_buf(s->httpd, last + last / 16);
    bj_page_write(s->snap, format, &s->heads[format], &r->body);
    bool marked = bj_page_reopen(format, &r->body);
    bj_guard_metric(&s->guard,
                    "batchjob_tls_certificate_expiry_timestamp_seconds",
                    &r->body);
    bj_page_close(marked, &r->body);
    s->page_bytes[format] = r->body.len;
}

static bool lacks_collectors(const struct bj_serve *s,
                             const struct bj_dialect *d)
{
    for (unsigned i = 0; i < BJ_COLLECTORS; i++)
        if ((d->collect & 1u << i) && !s->conf->core.collect[i])
            return true;
    return false;
}

/* An empty page looks like an error: name the required options. */
static void explain_empty(const struct bj_serve *s, const struct bj_dialect *d,
                          struct bj_buf *page)
{
    if (page->len == 0 && !page->failed && !s->options.env.strict &&
        lacks_collectors(s, d))
        bj_buf_printf(page,
                      "# The metrics of this page are not collected; use "
                      "--dialect.also=%s.\n",
                      d->name);
}

static void write_dialect(struct bj_serve *s, const struct bj_dialect *d,
                          enum bj_page_format format, struct bj_http_reply *r)
{
    size_t last = s->dialect_bytes;
    r->body = bj_httpd_buf(s->httpd, last + last / 16);
    bj_dialect_page(d, s->snap, &s->options, format, &s->room, &r->body);
    explain_empty(s, d, &r->body);
    s->dialect_bytes = r->body.len;
}

int bj_serve_write(struct bj_serve *s, struct bj_buf *out, struct bj_err *err)
{
    int r = refresh(s, err);
    if (r < 0)
        return r;
    if (s->dialect)
        return bj_dialect_page(s->dialect, s->snap, &s->options, BJ_PAGE_TEXT,
                               &s->room, out);
    return bj_page_write(s->snap, BJ_PAGE_TEXT, &s->heads[BJ_PAGE_TEXT], out);
}

static void put_traced(struct bj_serve *s, const struct bj_dialect *d,
                       enum bj_page_format format, struct bj_buf *out)
{
    const bool strict = d && s->options.env.strict;
    const struct bj_trace_page page = {
        .format = format,
        .cluster = strict ? (struct bj_slice){0} : s->snap->cluster,
        .jobs = &s->snap->cluster_lists.list[BJ_CL_EACH_JOB],
        .strict = strict};
    bj_trace_metrics(s->trace, bj_clock_boot_usec(), &page, out);
}

/* Whether a snapshot exists. If not, the reply has the reason. */
static bool has_snapshot(struct bj_serve *s, struct bj_http_reply *r)
{
    struct bj_err err = {0};
    char text[256];
    if (refresh(s, &err) == 0)
        return true;
    r->status = 500;
    r->type = "text/plain; charset=utf-8";
    bj_buf_printf(&r->body, "The pass failed: %s\n",
                  bj_err_text(&err, text, sizeof(text)));
    return false;
}

/* A metrics page; d is NULL for native names. Traced jobs are only on the page
 * at the telemetry path. */
static void send_page(struct bj_serve *s, const struct bj_http_request *req,
                      const struct bj_dialect *d, bool traced,
                      struct bj_http_reply *r)
{
    enum bj_page_format format =
        bj_accept_format(bj_http_header(req, "Accept"));
    if (d && !d->openmetrics)
        format = BJ_PAGE_TEXT;
    r->type = bj_page_types[format];
    header(r, "Vary", "Accept, Accept-Encoding");
    if (req->method == BJ_HTTP_HEAD) {
        r->unsized = true;
        return;
    }
    if (!has_snapshot(s, r))
        return;
    if (d)
        write_dialect(s, d, format, r);
    else
        write_page(s, format, r);
    if (s->trace && traced && !r->body.failed)
        put_traced(s, d, format, &r->body);
    if (s->conf->gzip && !r->body.failed && r->body.len > GZIP_BYTES &&
        bj_accept_gzip(bj_http_header(req, "Accept-Encoding")))
        pack(s, r);
}

static void on_metrics(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *r)
{
    struct bj_serve *s = ctx;
    send_page(s, req, s->dialect, true, r);
}

static void on_dialect(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *r)
{
    struct bj_serve *s = ctx;
    const struct bj_dialect *d = bj_dialect_find(req->tail);
    if (d || bj_slice_eq(req->tail, BJ_SLICE("native"))) {
        send_page(s, req, d, false, r);
        return;
    }
    r->status = 404;
    bj_buf_str(&r->body, "Unknown dialect. Dialects: ");
    bj_dialect_names(&r->body);
    bj_buf_str(&r->body, "\n");
}

static void on_trace(void *ctx, const struct bj_http_request *req,
                     struct bj_http_reply *r)
{
    struct bj_serve *s = ctx;
    uint64_t now = bj_clock_boot_usec();
    if (req->method != BJ_HTTP_POST) {
        r->type = "text/html; charset=utf-8";
        bj_trace_html(s->trace, now, &r->body);
        return;
    }
    r->status =
        bj_trace_post(s->trace, req->body, bj_http_header(req, "Authorization"),
                      now, &r->body);
    if (s->options.env.strict && s->dialect) {
        /* The original always replies this. */
        r->status = 200;
        bj_buf_reset(&r->body);
    }
    if (r->status == 429)
        header(r, "Retry-After", "1");
    if (r->status == 401)
        header(r, "WWW-Authenticate", "Bearer");
}

static void serve_on_health(void *ctx, const struct bj_http_request *req,
                            struct bj_http_reply *r)
{
    struct bj_serve *s = ctx;
    char text[256];
    (void)req;
    if (s->failure.code == 0) {
        bj_buf_str(&r->body, "ok\n");
        return;
    }
    r->status = 503;
    bj_buf_printf(&r->body, "The last pass failed: %s\n",
                  bj_err_text(&s->failure, text, sizeof(text)));
}

static void on_cost(void *ctx, const struct bj_http_request *req,
                    struct bj_http_reply *r)
{
    struct bj_serve *s = ctx;
    (void)req;
    if (!has_snapshot(s, r))
        return;
    r->type = "text/html; charset=utf-8";
    bj_html_cost(s->snap, &r->body);
}

static void on_landing(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *r)
{
    const struct bj_serve *s = ctx;
    (void)req;
    r->type = "text/html; charset=utf-8";
    /* The path needs no HTML escapes: checked in conf.c. */
    bj_buf_printf(
        &r->body,
        "<!DOCTYPE html>\n"
        "<html lang=\"en\"><head><title>batchjob_exporter</title>"
        "</head>\n<body><h1>batchjob_exporter</h1>\n"
        "<p>Metrics of the batch jobs on this node, version %s (%s).</p>\n"
        "<ul><li><a href=\"%s\">Metrics</a></li>\n"
        "<li><a href=\"/cost\">Cost of the exporter</a></li>\n"
        "<li><a href=\"/health\">Health</a></li></ul>\n"
        "</body></html>\n",
        bj_version, bj_revision, s->conf->telemetry_path);
}

static bool on_guard(void *ctx, const struct bj_http_request *req,
                     struct bj_http_reply *r)
{
    struct bj_serve *s = ctx;
    return bj_guard_check(&s->guard, req, r);
}

/* Prepend the route. */
static void add_route(struct bj_serve *s, struct bj_http_route route)
{
    size_t n = 0;
    while (s->routes[n].path)
        n++;
    memmove(&s->routes[1], &s->routes[0], n * sizeof(route));
    s->routes[0] = route;
}

int bj_serve_init(struct bj_serve *s, const struct bj_exporter_conf *conf,
                  struct bj_core *core, struct bj_err *err)
{
    unsigned both = BJ_HTTP_GET | BJ_HTTP_HEAD;
    struct bj_http_limits limits = {
        .connections = CONNECTIONS_PER_REQUEST * (unsigned)conf->max_requests,
        .responses = (unsigned)conf->max_requests,
        .request_usec = conf->request_usec,
    };
    *s = (struct bj_serve){
        .conf = conf,
        .core = core,
        .dialect = bj_dialect_find(bj_slice_str(conf->dialect)),
        .routes = {{conf->telemetry_path, both, false, on_metrics},
                   {s->below, both, false, on_dialect},
                   {"/cost", both, false, on_cost},
                   {"/health", both, true, serve_on_health},
                   {"/", both, true, on_landing}},
    };
    snprintf(s->below, sizeof(s->below), "%s/*", conf->telemetry_path);
    int r = bj_dialect_options_init(&conf->dialect_conf, &conf->core,
                                    &s->options, err);
    if (r < 0)
        return r;
    if (conf->trace.enabled) {
        r = bj_trace_new(&conf->trace, &s->trace, err);
        if (r < 0)
            return r;
        add_route(s,
                  (struct bj_http_route){conf->trace.path, both | BJ_HTTP_POST,
                                         false, on_trace});
    }
    r = bj_httpd_new(s->routes, s, &limits, &s->httpd, err);
    if (r < 0)
        return r;
    bj_httpd_guard(s->httpd, on_guard);
    r = bj_guard_init(&s->guard, "web.config.file", conf->web_file, s->httpd,
                      err);
    s->guard.posts_have_token =
        conf->trace.token_file && *conf->trace.token_file;
    return r;
}

void bj_serve_free(struct bj_serve *s)
{
    bj_httpd_free(s->httpd);
    bj_guard_free(&s->guard);
    bj_gzip_free(s->gzip);
    for (int i = 0; i < BJ_PAGE_FORMATS; i++)
        bj_page_heads_free(&s->heads[i]);
    bj_dialect_room_free(&s->room);
    bj_dialect_options_free(&s->options);
    bj_trace_free(s->trace);
    bj_snap_unref(s->snap);
    *s = (struct bj_serve){0};
}
