#include "apiserver/server.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

static const struct bj_endpoint *const parts[] = {
    bj_endpoints_own,     bj_endpoints_lists,    bj_endpoints_series,
    bj_endpoints_parts,   bj_endpoints_facts,    bj_endpoints_pages,
    bj_endpoints_jobs,    bj_endpoints_original, bj_endpoints_usage,
    bj_endpoints_openapi, bj_endpoints_simpod,   NULL};

/* --- finding the endpoint --------------------------------------------------
 */

/* A pattern may have one '*', which stands for at least one byte. */
static bool fits(const char *pattern, struct bj_slice path,
                 struct bj_slice *ret_tail)
{
    struct bj_slice want = bj_slice_str(pattern);
    const char *star = memchr(pattern, '*', want.n);
    *ret_tail = (struct bj_slice){"", 0};
    if (!star)
        return bj_slice_eq(want, path);
    size_t before = (size_t)(star - pattern), behind = want.n - before - 1;
    if (path.n < want.n || memcmp(pattern, path.p, before) != 0 ||
        memcmp(star + 1, path.p + path.n - behind, behind) != 0)
        return false;
    *ret_tail = (struct bj_slice){path.p + before, path.n - before - behind};
    return true;
}

/* path is without its first slash. */
static unsigned find(struct bj_call *c, struct bj_slice path)
{
    unsigned i = 0;
    for (; c->api->endpoint[i]; i++)
        if (fits(c->api->endpoint[i]->path + 1, path, &c->tail)) {
            c->endpoint = c->api->endpoint[i];
            return i;
        }
    return BJ_API_ENDPOINTS - 1;
}

/* --- running it ------------------------------------------------------------
 */

static const char *allowed(unsigned methods)
{
    return methods & BJ_HTTP_POST
               ? methods & BJ_HTTP_GET ? "GET, HEAD, POST" : "POST"
               : "GET, HEAD";
}

static int failed(struct bj_call *c, int code)
{
    char text[320];
    if (code == -EINTR)
        return bj_call_refuse(c, 503,
                              "The store took too long for this request; ask "
                              "for a shorter time or fewer jobs.");
    if (code == -ENOMEM)
        return bj_call_refuse(c, 500, "There is not enough memory for this.");
    bj_log(BJ_LOG_ERROR, NULL, "request %s: %s", c->api->request_id,
           bj_err_text(&c->err, text, sizeof(text)));
    return bj_call_refuse(c, 503, "The store can't be read at present.");
}

void bj_call_log(const struct bj_call *c, const char *about)
{
    char text[320];
    bj_log(BJ_LOG_ERROR, NULL, "request %s: %s: %s", c->api->request_id, about,
           bj_err_text(&c->err, text, sizeof(text)));
}

static int with_store(struct bj_call *c)
{
    int r = bj_reader_begin(c->api->reader, &c->err);
    if (r < 0)
        return r;
    c->reader = c->api->reader;
    r = c->endpoint->run(c);
    bj_reader_end(c->reader);
    return r;
}

/* A store that was replaced or restored while it was being read is opened
 * anew, once. */
static int first_half(struct bj_call *c)
{
    if (!(c->endpoint->needs & BJ_NEED_STORE))
        return c->endpoint->run(c);
    int r = with_store(c);
    if (r < 0 && bj_reader_broken(r) && c->reader) {
        bj_reader_close(c->api->reader);
        c->reply->body.len = 0;
        c->reply->status = 200;
        c->err = (struct bj_err){0};
        r = with_store(c);
    }
    return r;
}

static int run(struct bj_call *c)
{
    int r = first_half(c);
    if (r == 0 && c->work)
        r = c->endpoint->after(c);
    return r < 0 ? failed(c, r) : r;
}

int bj_call_identify(struct bj_call *c)
{
    struct bj_err why = {0};
    unsigned status = bj_gate_identify(
        c->api->gate, c->req, bj_clock_boot_usec(), c->now_sec, &c->who, &why);
    return status ? bj_call_refuse(c, status, "%s", why.msg) : 0;
}

static void answer(struct bj_call *c)
{
    bj_call_header(c, "Cache-Control", "no-store");
    bj_call_header(c, "X-Content-Type-Options", "nosniff");
    bj_call_header(c, "X-Request-Id", c->api->request_id);
    const struct bj_web_conf *web = &bj_gate_web(c->api->gate)->conf;
    if (web->rate_usec > 0 &&
        bj_bucket_take(&c->api->bucket, web->rate_usec, web->burst,
                       bj_clock_boot_usec()) > 0) {
        bj_call_header(c, "Retry-After", "1");
        bj_call_refuse(c, 429, "There are too many requests; try again.");
        return;
    }
    if (!c->endpoint) {
        bj_call_refuse(c, 404, "There is nothing at this path.");
        return;
    }
    unsigned method =
        c->req->method == BJ_HTTP_HEAD ? BJ_HTTP_GET : c->req->method;
    if (!(c->endpoint->methods & method)) {
        bj_call_header(c, "Allow", allowed(c->endpoint->methods));
        bj_call_refuse(c, 405, "This path does not know that method.");
        return;
    }
    if (!(c->endpoint->needs & BJ_NEED_USER) || bj_call_identify(c) == 0)
        run(c);
}

static const char *method_name(unsigned method)
{
    return method == BJ_HTTP_POST   ? "POST"
           : method == BJ_HTTP_HEAD ? "HEAD"
           : method == BJ_HTTP_GET  ? "GET"
                                    : "?";
}

static void count(struct bj_call *c, unsigned at, uint64_t usec)
{
    struct bj_api_count *n = &c->api->count[at];
    unsigned class = c->reply->status / 100;
    n->n[class < BJ_API_CLASSES ? class : 0]++;
    n->usec += usec;
    bj_log(BJ_LOG_INFO, NULL,
           "request %s: %s %s, user %s%s%s, status %u, %zu bytes, %llu us",
           c->api->request_id, method_name(c->req->method),
           c->endpoint ? c->endpoint->path : "?",
           c->who.user[0] ? c->who.user : "-",
           c->who.admin ? " as admin, about " : "",
           !c->who.admin ? ""
           : c->about[0] ? c->about
                         : "everybody",
           c->reply->status, c->reply->body.len, (unsigned long long)usec);
}

static void on_request(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *reply)
{
    struct bj_api *a = ctx;
    uint64_t start = bj_clock_boot_usec();
    struct bj_call c = {.api = a,
                        .req = req,
                        .reply = reply,
                        .now_sec = (int64_t)(bj_clock_wall_usec() / 1000000)};
    snprintf(a->request_id, sizeof(a->request_id), "%llx-%llx",
             (unsigned long long)a->started_sec,
             (unsigned long long)++a->requests);
    reply->body = bj_httpd_buf(a->httpd, 0);
    unsigned at = find(&c, req->tail);
    answer(&c);
    count(&c, at, bj_clock_boot_usec() - start);
}

static void on_health(void *ctx, const struct bj_http_request *req,
                      struct bj_http_reply *reply)
{
    /* The same, but however busy the server is. */
    struct bj_http_request same = *req;
    same.tail = BJ_SLICE("health");
    on_request(ctx, &same, reply);
}

/* What the HTTP server refuses by itself: its sentence in our form. */
static void on_refusal(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *reply)
{
    struct bj_api *a = ctx;
    struct bj_call c = {.api = a, .req = req, .reply = reply};
    char text[200];
    size_t n =
        reply->body.len < sizeof(text) ? reply->body.len : sizeof(text) - 1;
    while (n > 0 && reply->body.p[n - 1] == '\n')
        n--;
    if (n > 0)
        memcpy(text, reply->body.p, n);
    text[n] = '\0';
    bj_call_refuse(&c, reply->status, "%s", text);
    bj_call_header(&c, "Cache-Control", "no-store");
    unsigned class = reply->status / 100;
    a->count[BJ_API_ENDPOINTS - 1].n[class < BJ_API_CLASSES ? class : 0]++;
}

static const struct bj_http_route routes[] = {
    {"/health", BJ_HTTP_GET | BJ_HTTP_HEAD, true, on_health},
    {"/", BJ_HTTP_GET | BJ_HTTP_HEAD | BJ_HTTP_POST, false, on_request},
    {"/*", BJ_HTTP_GET | BJ_HTTP_HEAD | BJ_HTTP_POST, false, on_request},
    {NULL, 0, false, on_refusal}};

/* --- its life --------------------------------------------------------------
 */

static int open_reader(const struct bj_api_conf *conf, struct bj_reader **ret,
                       struct bj_err *err)
{
    struct bj_reader_options opt = {.path = conf->store,
                                    .any_filesystem = conf->any_filesystem,
                                    .cache_bytes = conf->cache_bytes,
                                    .query_usec = conf->query_usec};
    return bj_reader_new(&opt, ret, err);
}

int bj_api_init(struct bj_api *a, const struct bj_api_conf *conf,
                struct bj_err *err)
{
    struct bj_http_limits limits = {
        .connections = (unsigned)conf->max_connections,
        .responses = (unsigned)conf->max_requests,
        .request_usec = conf->request_usec,
        .idle_usec = 100 * 1000000ull, /* Grafana keeps its own for 90 s */
        .body_bytes = 64 * 1024,
        .flight_bytes = conf->flight_bytes,
    };
    *a = (struct bj_api){.conf = conf,
                         .started_sec = bj_clock_wall_usec() / 1000000};
    unsigned n = 0;
    for (int i = 0; parts[i]; i++)
        for (const struct bj_endpoint *e = parts[i]; e->path; e++)
            if (n < BJ_API_ENDPOINTS - 1)
                a->endpoint[n++] = e;
    int r = open_reader(conf, &a->reader, err);
    if (r == 0)
        r = bj_gate_new(conf, &a->gate, err);
    if (r == 0)
        r = bj_words_new(&a->words, err);
    if (r == 0)
        r = bj_prompool_new(&conf->prom, &a->prom, err);
    if (r == 0)
        r = bj_httpd_new(routes, a, &limits, &a->httpd, err);
    return r < 0 ? r : bj_httpd_configure(a->httpd, bj_gate_web(a->gate), err);
}

void bj_api_free(struct bj_api *a)
{
    bj_httpd_free(a->httpd);
    bj_reader_free(a->reader);
    bj_gate_free(a->gate);
    bj_words_free(a->words);
    bj_prompool_unref(a->prom);
    *a = (struct bj_api){0};
}

int bj_api_reload(struct bj_api *a, const struct bj_api_conf *conf,
                  struct bj_err *err)
{
    struct bj_reader *reader = NULL;
    struct bj_gate *gate = NULL;
    struct bj_words *words = NULL;
    struct bj_prompool *prom = NULL;
    int r = open_reader(conf, &reader, err);
    if (r == 0)
        r = bj_gate_new(conf, &gate, err);
    if (r == 0)
        r = bj_words_new(&words, err);
    if (r == 0)
        r = bj_prompool_new(&conf->prom, &prom, err);
    if (r == 0)
        r = bj_httpd_configure(a->httpd, bj_gate_web(gate), err);
    if (r < 0) {
        bj_prompool_unref(prom);
        bj_gate_free(gate);
        bj_reader_free(reader);
        bj_words_free(words);
        return r;
    }
    bj_reader_free(a->reader);
    bj_gate_free(a->gate);
    /* Another store may have given its numbers to other words. */
    bj_words_free(a->words);
    bj_prompool_unref(a->prom);
    a->prom = prom;
    a->words = words;
    a->reader = reader;
    a->gate = gate;
    a->conf = conf;
    return 0;
}

void bj_api_follow(struct bj_api *a, uint64_t now_usec)
{
    struct bj_err err = {0};
    if (!bj_web_changed(bj_gate_web(a->gate), &a->watch, now_usec))
        return;
    int r = bj_api_reload(a, a->conf, &err);
    a->reload_failed = r < 0;
    if (r < 0)
        bj_log(BJ_LOG_ERROR, NULL, "%s; the old configuration stays", err.msg);
    else
        bj_log(BJ_LOG_INFO, NULL, "%s was read again", a->conf->web_file);
}
