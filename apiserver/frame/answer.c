#include "apiserver/frame/answer.h"

#include "apiserver/access/peer.h"
#include "apiserver/frame/replica.h"
#include "apiserver/frame/settings.h"
#include "apiserver/frame/state.h"
#include "base/accept.h"
#include "base/clock.h"
#include "base/gzip.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>

static const char *method_name(unsigned method)
{
    return method == BJ_HTTP_POST   ? "POST"
           : method == BJ_HTTP_HEAD ? "HEAD"
           : method == BJ_HTTP_GET  ? "GET"
                                    : "?";
}

static void answer_copy(char *to, size_t n, const char *text,
                        const char *without)
{
    snprintf(to, n, "%s", text[0] ? text : without);
}

void bj_request_log_begin(struct bj_request_log *l, const struct bj_call *c,
                          struct bj_api_count *count, uint64_t start_usec)
{
    char peer[BJ_PEER_BYTES];
    answer_copy(l->id, sizeof(l->id), c->request_id, "-");
    answer_copy(l->client, sizeof(l->client), bj_peer_name(c->req, peer), "?");
    answer_copy(l->user, sizeof(l->user), c->identity.user, "-");
    answer_copy(l->about, sizeof(l->about), c->about, "everybody");
    l->method = method_name(c->req->method);
    l->endpoint = c->endpoint ? c->endpoint->path : "?";
    l->admin = c->identity.admin;
    /* the HTTP server sends an error instead of a body without memory */
    l->status = c->reply->body.failed ? 500 : c->reply->status;
    l->start_usec = start_usec;
    l->count = count;
}

void bj_request_log_end(const struct bj_request_log *l, uint64_t bytes)
{
    unsigned class = l->status / 100;
    uint64_t usec =
        l->start_usec > 0 ? bj_clock_boot_usec() - l->start_usec : 0;
    __atomic_fetch_add(&l->count->n[class < BJ_API_CLASSES ? class : 0], 1,
                       __ATOMIC_RELAXED);
    __atomic_fetch_add(&l->count->usec, usec, __ATOMIC_RELAXED);
    const struct bj_log_field fields[] = {
        {"id", l->id, 0},
        {"client", l->client, 0},
        {"method", l->method, 0},
        {"endpoint", l->endpoint, 0},
        {"user", l->user, 0},
        {"status", NULL, l->status},
        {"bytes", NULL, bytes},
        {"usec", NULL, usec},
        {l->admin ? "admin_about" : NULL, l->about, 0},
        {NULL, NULL, 0}};
    bj_log_event(BJ_LOG_INFO, "request", fields);
}

#if __has_include(<xxhash.h>)
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Make a weak tag, because the compressed response has the same one. */
static bool make_tag(const struct bj_buf *body, char tag[BJ_TAG_BYTES])
{
    snprintf(tag, BJ_TAG_BYTES, "W/\"%016" PRIx64 "\"",
             (uint64_t)XXH3_64bits(body->p, body->len));
    return true;
}
#else
static bool make_tag(const struct bj_buf *body, char tag[BJ_TAG_BYTES])
{
    (void)body, (void)tag;
    return false;
}
#endif

enum { GZIP_BYTES = 1400 }; /* smaller responses fit into one packet */

/* Does If-None-Match contain the tag?  Weak comparison: "W/" is ignored. */
static bool client_has(const struct bj_call *c)
{
    struct bj_slice known = bj_http_header(c->req, "If-None-Match");
    struct bj_slice tag = bj_slice_str(c->tag + 2);
    return known.p && memmem(known.p, known.n, tag.p, tag.n);
}

static bool is_text(const char *type)
{
    return strncmp(type, "text/", 5) == 0 || strstr(type, "json") ||
           strstr(type, "svg");
}

static void compress(struct bj_call *c)
{
    struct bj_httpd *httpd = c->worker->httpd;
    struct bj_buf *body = &c->reply->body;
    struct bj_buf packed = bj_httpd_buf(httpd, body->len / 4);
    struct bj_gzip *gzip = NULL;
    int r = bj_gzip_pack(&gzip, (struct bj_slice){body->p, body->len}, &packed);
    bj_gzip_free(gzip);
    if (r < 0) { /* out of memory: send it uncompressed */
        bj_httpd_buf_return(httpd, &packed);
        return;
    }
    bj_httpd_buf_return(httpd, body);
    *body = packed;
    bj_call_header(c, "Content-Encoding", "gzip");
}

static void answer_encode(struct bj_call *c)
{
    struct bj_http_reply *r = c->reply;
    if (r->status != 200 || r->body.failed || r->body.len == 0)
        return;
    if (c->req->method != BJ_HTTP_POST && make_tag(&r->body, c->tag)) {
        bj_call_header(c, "Cache-Control", "private, no-cache");
        bj_call_header(c, "ETag", c->tag);
        if (client_has(c)) {
            r->status = 304;
            r->body.len = 0;
            return;
        }
    }
    if (!is_text(r->type))
        return;
    bj_call_header(c, "Vary", "Accept-Encoding");
    if (r->body.len > GZIP_BYTES &&
        bj_accept_gzip(bj_http_header(c->req, "Accept-Encoding")) &&
        !bj_peer_is_local(c->req))
        compress(c);
}

/* The requests of this many seconds may arrive at once. */
enum { BURST_SEC = 10 };

static int refuse_for(struct bj_call *c, uint64_t wait_usec, const char *text)
{
    snprintf(c->retry, sizeof(c->retry), "%llu",
             (unsigned long long)((wait_usec + 999999) / 1000000));
    bj_call_header(c, "Retry-After", c->retry);
    return bj_call_refuse(c, 429, "%s", text);
}

static int admit_request(struct bj_call *c)
{
    const struct bj_web_conf *web = &bj_auth_web(c->worker->auth)->conf;
    struct bj_server *s = c->worker->server;
    if (web->rate_usec == 0)
        return 0;
    pthread_mutex_lock(&s->lock);
    uint64_t wait = bj_bucket_take(&s->bucket, web->rate_usec, web->burst,
                                   bj_clock_boot_usec());
    pthread_mutex_unlock(&s->lock);
    return wait == 0
               ? 0
               : refuse_for(c, wait, "There are too many requests; try again.");
}

static int admit_user(struct bj_call *c)
{
    const struct bj_api_conf *conf = c->worker->conf;
    if (conf->user_rate == 0)
        return 0;
    uint64_t wait =
        bj_limit_take(c->worker->server->limit, bj_slice_str(c->identity.user),
                      1000000 / conf->user_rate, BURST_SEC * conf->user_rate,
                      bj_clock_boot_usec());
    return wait == 0
               ? 0
               : refuse_for(c, wait, "You send too many requests; try again.");
}

static bool admit_query(struct bj_call *c)
{
    struct bj_server *s = c->worker->server;
    struct bj_request *t = bj_request_of(c);
    if (!c->identity.admin || !(c->endpoint->needs & BJ_NEED_STORE))
        return true;
    pthread_mutex_lock(&s->lock);
    if (s->admin_queries < s->admin_queries_max) {
        s->admin_queries++;
        t->counted = true;
    }
    pthread_mutex_unlock(&s->lock);
    return t->counted;
}

/* --- finding the endpoint --------------------------------------------------
 */

/* A pattern may have one '*', which matches a name: at least one byte, without
 * a slash; or end with '**', which matches anything. */
static bool answer_fits(const char *pattern, struct bj_slice path,
                        struct bj_slice *ret_tail)
{
    struct bj_slice want = bj_slice_str(pattern);
    const char *star = memchr(pattern, '*', want.n);
    *ret_tail = (struct bj_slice){"", 0};
    if (!star)
        return bj_slice_eq(want, path);
    size_t before = (size_t)(star - pattern), behind = want.n - before - 1;
    if (star[1] == '*')
        return bj_slice_starts(path, (struct bj_slice){pattern, before});
    if (path.n < want.n || memcmp(pattern, path.p, before) != 0 ||
        memcmp(star + 1, path.p + path.n - behind, behind) != 0)
        return false;
    *ret_tail = (struct bj_slice){path.p + before, path.n - before - behind};
    return !memchr(ret_tail->p, '/', ret_tail->n);
}

unsigned bj_answer_find(struct bj_call *c, struct bj_slice path)
{
    unsigned i = 0;
    for (; c->worker->endpoint[i]; i++) {
        const struct bj_endpoint *e = c->worker->endpoint[i];
        if (answer_fits(e->path + 1, path, &c->tail) &&
            (!e->digit || (c->tail.p[0] >= '0' && c->tail.p[0] <= '9'))) {
            c->endpoint = e;
            return i;
        }
    }
    return BJ_API_ENDPOINTS - 1;
}

/* each account makes a query of the gate longer */
enum { QUICK_ACCOUNTS = 16 };

/* --- running the endpoint ---------------------------------------------------
 */

static const char *allowed(unsigned methods)
{
    return methods & BJ_HTTP_POST
               ? methods & BJ_HTTP_GET ? "GET, HEAD, POST" : "POST"
               : "GET, HEAD";
}

static int answer_failed(struct bj_call *c, int code)
{
    char text[320];
    if (code == -EINTR)
        return bj_call_refuse(c, 503,
                              "The query of the store took too long; request a "
                              "shorter time or fewer jobs.");
    if (code == -E2BIG)
        return bj_call_refuse(
            c, 400,
            "The request has too many values for one query; use fewer.");
    if (code == -ENOMEM)
        return bj_call_refuse(c, 500, "The server is out of memory.");
    bj_log(BJ_LOG_ERROR, NULL, "request %s: %s", c->request_id,
           bj_err_reason(&c->err, text, sizeof(text)));
    return bj_call_refuse(c, 503, "The store cannot be read at the moment.");
}

static void use_texts(struct bj_call *c)
{
    bj_texts_unref(c->texts);
    c->texts = bj_texts_ref(c->worker->texts);
    bj_texts_use(c->texts);
}

static int with_store(struct bj_call *c)
{
    static const char csv[] = "text/csv"; /* has no meta */
    int r = bj_reader_begin(c->worker->reader, &c->err);
    if (r < 0)
        return r;
    c->reader = c->worker->reader;
    r = bj_replica_read_lag(c);
    if (r == 0)
        r = bj_texts_read(c->worker, c->reader, &c->err);
    use_texts(c);
    if (r == 0)
        r = c->endpoint->run(c);
    if (c->lag[0] && strncmp(c->reply->type, csv, sizeof(csv) - 1) == 0)
        bj_call_header(c, "X-Replica-Lag-Seconds", c->lag);
    bj_reader_end(c->reader);
    return r;
}

/* A page that does not need the store also uses the site's texts, if these can
 * be read. */
static int without_store(struct bj_call *c)
{
    struct bj_err ignored = {0};
    if (c->worker->reader && !bj_request_of(c)->quick && !c->worker->texts &&
        bj_reader_begin(c->worker->reader, &ignored) == 0) {
        bj_texts_read(c->worker, c->worker->reader, &ignored);
        bj_reader_end(c->worker->reader);
    }
    use_texts(c);
    return c->endpoint->run(c);
}

/* Repeat the request once, in a new connection, if the store was replaced
 * meanwhile, or if a replica had to end the query to continue replaying. */
static int first_part(struct bj_call *c)
{
    if (!(c->endpoint->needs & BJ_NEED_STORE))
        return without_store(c);
    int r = with_store(c);
    bool again = r == -EBUSY || (r < 0 && bj_reader_broken(r));
    if (again && c->reader) {
        bj_reader_close(c->worker->reader);
        bj_buf_reset(&c->reply->body);
        c->reply->status = 200;
        c->err = (struct bj_err){0};
        r = with_store(c);
    }
    return r;
}

/* Convert the result of run or after to a response. */
static void answer_settle(struct bj_call *c, int r)
{
    if (r < 0)
        r = answer_failed(c, r);
    if (r > 0 && c->endpoint->refused)
        c->endpoint->refused(c);
    if (r == 0 && !c->work && !c->forward)
        answer_encode(c);
}

/* Authenticate the request: 0, a refusal, or BJ_AUTH_LATER. */
static int authenticate(struct bj_call *c)
{
    const struct bj_auth_time at = {.boot_usec = bj_clock_boot_usec(),
                                    .wall_sec = c->now_sec,
                                    .may_wait = !bj_request_of(c)->quick};
    struct bj_err why = {0};
    unsigned status =
        bj_auth_identify(c->worker->auth, c->req, &at, &c->identity, &why);
    if (status == BJ_AUTH_LATER ||
        (!at.may_wait && status == 0 && c->identity.accounts > QUICK_ACCOUNTS))
        return BJ_AUTH_LATER;
    if (status == 429)
        bj_call_header(c, "Retry-After", "1");
    return status ? bj_call_refuse(c, status, "%s", why.msg) : 0;
}

/* Check the path and the method: 0, or a refusal. */
static int answer_check(struct bj_call *c)
{
    int r = admit_request(c);
    if (r != 0)
        return r;
    if (!c->endpoint)
        return bj_call_refuse(c, 404, "This path does not exist.");
    unsigned method =
        c->req->method == BJ_HTTP_HEAD ? BJ_HTTP_GET : c->req->method;
    if (c->endpoint->methods & method)
        return 0;
    bj_call_header(c, "Allow", allowed(c->endpoint->methods));
    return bj_call_refuse(c, 405, "This path does not allow that method.");
}

static void answer_begin(struct bj_call *c)
{
    struct bj_request *t = bj_request_of(c);
    int r = 0;
    bj_call_header(c, "Cache-Control", "no-store");
    bj_call_header(c, "X-Content-Type-Options", "nosniff");
    bj_call_header(c, "X-Request-Id", c->request_id);
    if (!t->checked && answer_check(c) != 0)
        return;
    if (c->endpoint->needs & BJ_NEED_USER)
        r = authenticate(c);
    t->checked = r == BJ_AUTH_LATER;
    if (t->checked)
        return;
    if (r == 0 && (c->endpoint->needs & BJ_NEED_USER))
        r = admit_user(c);
    t->parked = r == 0 && !admit_query(c);
    if (t->parked)
        t->settings = bj_settings_ref(c->worker->settings);
    else
        answer_settle(c, r == 0 ? first_part(c) : r);
}

/* The options, including the access rules of the user, may have changed while
 * the request was parked. */
static void resume(struct bj_call *c)
{
    struct bj_request *t = bj_request_of(c);
    int r = t->settings == c->worker->settings ? 0 : authenticate(c);
    bj_settings_unref(t->settings);
    t->settings = NULL;
    answer_settle(c, r == 0 ? first_part(c) : r);
}

void bj_answer(struct bj_call *c)
{
    use_texts(c);
    if (bj_request_of(c)->settings)
        resume(c);
    else
        answer_begin(c);
}

void bj_answer_rest(struct bj_call *c)
{
    bj_texts_use(c->texts);
    answer_settle(c, c->endpoint->after(c));
}

void bj_answer_end(struct bj_call *c)
{
    struct bj_request *t = bj_request_of(c);
    struct bj_request_log l;
    bj_request_log_begin(&l, c, &c->worker->server->count[t->at],
                         t->start_usec);
    bj_request_log_end(&l, c->reply->body.failed ? 0 : c->reply->body.len);
    bj_texts_use(NULL);
    bj_texts_unref(c->texts);
    c->texts = NULL;
}

void bj_answer_refused(struct bj_server *s, const struct bj_call *c)
{
    struct bj_request_log l;
    bj_request_log_begin(&l, c, &s->count[BJ_API_ENDPOINTS - 1], 0);
    bj_request_log_end(&l, c->reply->body.len);
}
