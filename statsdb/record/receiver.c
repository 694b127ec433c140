#include "statsdb/record/receiver.h"

#include "base/cache.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/tls.h"
#include "statsdb/record/record_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

enum { FILE_BYTES = 8 << 20, SLOTS_MIN = 16 };

struct line {
    uint64_t hash;
    struct bj_slice host, token; /* host.p NULL: an empty slot */
};

struct bj_record_tokens {
    uint64_t seed;
    char *text; /* text of the file; slots point into it */
    struct line *slot;
    size_t n, cap; /* cap: a power of two, at least twice n */
};

void bj_record_tokens_free(struct bj_record_tokens *t)
{
    if (!t)
        return;
    free(t->text);
    free(t->slot);
    free(t);
}

/* Always compares all bytes, so that the duration reveals nothing. */
static bool tokens_same(struct bj_slice a, struct bj_slice b)
{
    unsigned differ = a.n != b.n;
    for (size_t i = 0; i < a.n && i < b.n; i++)
        differ |= (unsigned char)(a.p[i] ^ b.p[i]);
    return differ == 0;
}

/* Find the slot of a token, or the empty slot for it. */
static struct line *tokens_find(const struct bj_record_tokens *t, uint64_t hash,
                                struct bj_slice token)
{
    size_t i = hash & (t->cap - 1);
    while (t->slot[i].host.p &&
           (t->slot[i].hash != hash || !tokens_same(t->slot[i].token, token)))
        i = (i + 1) & (t->cap - 1);
    return &t->slot[i];
}

static int tokens_grow(struct bj_record_tokens *t)
{
    struct bj_record_tokens more = *t;
    more.cap = t->cap ? 2 * t->cap : SLOTS_MIN;
    more.slot = calloc(more.cap, sizeof(*more.slot));
    if (!more.slot)
        return -ENOMEM;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slot[i].host.p)
            *tokens_find(&more, t->slot[i].hash, t->slot[i].token) = t->slot[i];
    free(t->slot);
    *t = more;
    return 0;
}

static int tokens_read_line(struct bj_record_tokens *t, struct bj_slice line,
                            struct bj_err *err)
{
    struct bj_slice host, token, more;
    if (line.n > 0 && memchr(line.p, '\0', line.n))
        return bj_err_set(err, -EINVAL, "the line contains a NUL");
    if (!bj_slice_word(&line, &host) || host.p[0] == '#')
        return 0;
    if (!bj_slice_word(&line, &token) || bj_slice_word(&line, &more))
        return bj_err_set(err, -EINVAL, "expected: HOST TOKEN");
    if (token.n < BJ_RECORD_TOKEN_MIN || token.n > BJ_RECORD_TOKEN_MAX)
        return bj_err_set(err, -EINVAL, "a token must have %d to %d characters",
                          BJ_RECORD_TOKEN_MIN, BJ_RECORD_TOKEN_MAX);
    if (2 * (t->n + 1) > t->cap && tokens_grow(t) < 0)
        return bj_err_set(err, -ENOMEM, "tokens");
    uint64_t hash = bj_cache_hash(t->seed, token);
    struct line *l = tokens_find(t, hash, token);
    if (l->host.p)
        return bj_err_set(err, -EINVAL, "an earlier line has the same token");
    *l = (struct line){hash, host, token};
    t->n++;
    return 0;
}

int bj_record_tokens_read(const char *path, struct bj_record_tokens **ret,
                          struct bj_err *err)
{
    struct bj_slice text, line;
    struct bj_record_tokens *t = calloc(1, sizeof(*t));
    if (!t || !(t->text = malloc(FILE_BYTES))) {
        bj_record_tokens_free(t);
        return bj_err_set(err, -ENOMEM, "tokens");
    }
    t->seed = bj_cache_seed();
    int r =
        bj_file_read_private(AT_FDCWD, path, t->text, FILE_BYTES, &text, err);
    for (unsigned n = 1; r == 0 && bj_slice_line(&text, &line); n++) {
        r = tokens_read_line(t, line, err);
        if (r < 0)
            bj_err_wrap(err, r, "%s:%u", path, n);
    }
    if (r == 0 && t->n == 0)
        r = bj_err_set(err, -EINVAL, "%s: expected a line HOST TOKEN", path);
    if (r < 0)
        bj_record_tokens_free(t);
    else
        *ret = t;
    return r;
}

struct bj_slice bj_record_tokens_host(const struct bj_record_tokens *t,
                                      struct bj_slice token)
{
    return tokens_find(t, bj_cache_hash(t->seed, token), token)->host;
}

/* --- the server -----------------------------------------------------------*/

enum {
    SECOND = 1000000,
    BACKLOG = 1024,
    BODY_BYTES = 320 * 1024,
    BODIES_BYTES = 16 << 20,
    TOKENS_SEC = 5, /* between two checks of the file */
};

static const char file_option[] = "record.config.file";

struct bj_receiver {
    const struct bj_receiver_conf *conf;
    struct bj_httpd *httpd;
    struct bj_guard guard;
    struct bj_record_tokens *tokens; /* NULL: no tokens are configured */
    struct stat tokens_stat;
    uint64_t tokens_usec; /* time of the next check */
    struct bj_record_writer *writer;
    struct bj_thread thread;
    bool stop; /* atomic */
    /* atomic: end of the certificate's validity; 0: no TLS */
    int64_t expires_sec;
};

/* --- the configuration ----------------------------------------------------*/

static bool verifies_clients(const struct bj_web *web)
{
    return web->tls && (web->conf.tls.client_auth == BJ_CLIENT_REQUIRED ||
                        web->conf.tls.client_auth == BJ_CLIENT_IF_GIVEN);
}

static int check_web(const struct bj_receiver_conf *c, const struct bj_web *web,
                     struct bj_err *err)
{
    if (web->conf.users > 0)
        return bj_err_set(err, -EINVAL,
                          "record.config.file: basic_auth_users does not apply "
                          "to records; use record.token-file");
    if (!bj_is_set(c->token_file) && !verifies_clients(web))
        return bj_err_set(
            err, -EINVAL,
            "record.listen-address: clients cannot authenticate; set "
            "record.token-file, or client_ca_file and client_auth_type in "
            "record.config.file");
    return 0;
}

static int read_tokens(const struct bj_receiver_conf *c,
                       struct bj_record_tokens **ret, struct bj_err *err)
{
    int r = bj_is_set(c->token_file)
                ? bj_record_tokens_read(c->token_file, ret, err)
                : 0;
    return r < 0 ? bj_err_wrap(err, r, "record.token-file") : 0;
}

int bj_receiver_check(const struct bj_receiver_conf *c, struct bj_err *err)
{
    struct bj_web *web = NULL;
    struct bj_record_tokens *tokens = NULL;
    if (c->listen.n == 0)
        return 0;
    int r = bj_web_new(file_option, c->web_file, &web, err);
    if (r < 0)
        return r;
    r = check_web(c, web, err);
    if (r == 0)
        r = read_tokens(c, &tokens, err);
    bj_record_tokens_free(tokens);
    bj_web_unref(web);
    return r;
}

/* Read the file of tokens again when it has changed; keep the old ones when it
 * cannot be read. */
static void follow_tokens(struct bj_receiver *v, uint64_t now)
{
    struct stat st;
    struct bj_record_tokens *tokens = NULL;
    struct bj_err err = {0};
    if (!v->tokens || now < v->tokens_usec)
        return;
    v->tokens_usec = now + TOKENS_SEC * SECOND;
    if (stat(v->conf->token_file, &st) < 0 ||
        (st.st_mtim.tv_sec == v->tokens_stat.st_mtim.tv_sec &&
         st.st_mtim.tv_nsec == v->tokens_stat.st_mtim.tv_nsec &&
         st.st_ino == v->tokens_stat.st_ino &&
         st.st_size == v->tokens_stat.st_size))
        return;
    v->tokens_stat = st;
    if (read_tokens(v->conf, &tokens, &err) < 0) {
        bj_log(BJ_LOG_ERROR, &err, "the old tokens stay");
        return;
    }
    bj_record_tokens_free(v->tokens);
    v->tokens = tokens;
    bj_log(BJ_LOG_INFO, NULL, "%s reloaded", v->conf->token_file);
}

static void follow(struct bj_receiver *v, uint64_t now)
{
    follow_tokens(v, now);
    bj_guard_follow(&v->guard, v->httpd, false, now);
    const struct bj_tls *tls = v->guard.web->tls;
    __atomic_store_n(&v->expires_sec, tls ? bj_tls_expires(tls) : 0,
                     __ATOMIC_RELAXED);
}

/* --- requests -------------------------------------------------------------*/

/* The host of the request's token; {NULL, 0}: no token, or an unknown one. */
static struct bj_slice token_host(const struct bj_receiver *v,
                                  const struct bj_http_request *req)
{
    struct bj_slice auth, word;
    if (!v->tokens || bj_http_header_all(req, "Authorization", &auth, 1) != 1 ||
        !bj_slice_word(&auth, &word) || word.n != 6 ||
        strncasecmp(word.p, "bearer", 6) != 0)
        return (struct bj_slice){0};
    return bj_record_tokens_host(v->tokens, bj_slice_trim(auth));
}

/* Called before the body is read. */
static unsigned admit(void *ctx, const struct bj_http_request *req)
{
    const struct bj_receiver *v = ctx;
    return req->peer.n > 0 || token_host(v, req).n > 0 ? 0 : 401;
}

static bool guard(void *ctx, const struct bj_http_request *req,
                  struct bj_http_reply *ret)
{
    struct bj_receiver *v = ctx;
    return bj_guard_check(&v->guard, req, ret);
}

/* The last entry of the routes: a refusal as JSON. */
static void on_refusal(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *ret)
{
    char text[160];
    (void)ctx;
    (void)req;
    snprintf(text, sizeof(text), "%.*s",
             (int)(ret->body.len > 0 ? ret->body.len - 1 : 0),
             ret->body.p ? ret->body.p : "");
    bj_record_fail(ret, ret->status, text);
}

struct host_arg {
    const struct bj_record_client *client;
    bool denied;
    char text[160]; /* why */
};

static int check_host(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct host_arg *arg = ctx;
    if (!bj_slice_eq(key, BJ_SLICE("host")) ||
        bj_record_client_may(arg->client, value))
        return 0;
    char host[65];
    bj_text_clean(value, host, sizeof(host));
    snprintf(arg->text, sizeof(arg->text),
             "host: the client's certificate or token is not that of '%s'",
             host);
    arg->denied = true;
    return 1;
}

/* An exporter names its host in the request that it sends at its start. */
static bool may_write(const struct bj_http_request *req,
                      const struct bj_record_client *client,
                      struct bj_http_reply *ret)
{
    struct host_arg arg = {.client = client};
    bj_http_each_arg(req, check_host, &arg);
    if (arg.denied)
        bj_record_fail(ret, 403, arg.text);
    return !arg.denied;
}

static void receive(void *ctx, const struct bj_http_request *req,
                    struct bj_http_reply *ret)
{
    struct bj_receiver *v = ctx;
    struct bj_slice coding = bj_http_header(req, "Content-Encoding");
    struct bj_slice host = token_host(v, req);
    struct bj_record_post *p = calloc(1, sizeof(*p));
    bool packed = coding.n == 4 && strncasecmp(coding.p, "gzip", 4) == 0;
    if (!p || (coding.n > 0 && !packed) || host.n > sizeof(p->host)) {
        free(p);
        bj_record_fail(ret, p ? 415 : 503,
                       p ? "Content-Encoding: expected gzip or none."
                         : "Not enough memory.");
        return;
    }
    p->req = req;
    p->body = req->body;
    p->packed = packed;
    p->client.names = req->peer;
    if (host.n > 0)
        memcpy(p->host, host.p, host.n);
    p->client.host = (struct bj_slice){p->host, host.n};
    if (!may_write(req, &p->client, ret)) {
        free(p);
        return;
    }
    p->reply = *ret;
    ret->later = true;
    bj_record_writer_add(v->writer, p);
}

static void finish_answered(struct bj_receiver *v)
{
    struct bj_record_post *next, *p = bj_record_writer_answered(v->writer);
    for (; p; p = next) {
        next = p->next;
        bj_httpd_finish(v->httpd, p->req, &p->reply);
        free(p);
    }
}

static const struct bj_http_route routes[] = {
    {"/records", BJ_HTTP_POST, false, receive},
    {.path = NULL, .handle = on_refusal},
};

/* --- the thread -----------------------------------------------------------*/

static void wake(void *ctx)
{
    const struct bj_receiver *v = ctx;
    bj_thread_wake(&v->thread);
}

static void *receiver_serve(void *ctx)
{
    struct bj_receiver *v = ctx;
    eventfd_t n_wake;
    nfds_t n;
    while (!__atomic_load_n(&v->stop, __ATOMIC_ACQUIRE)) {
        struct pollfd fds[1 + BJ_HTTPD_FDS] = {
            {.fd = v->thread.wake_fd, .events = POLLIN}};
        bj_httpd_wait(v->httpd, fds, 1, -1, &n);
        uint64_t now = bj_clock_boot_usec();
        follow(v, now);
        if (fds[0].revents && eventfd_read(fds[0].fd, &n_wake) == 0)
            finish_answered(v);
        bj_httpd_run(v->httpd, fds + 1, n, now);
    }
    return NULL;
}

static int open_httpd(struct bj_receiver *v, struct bj_err *err)
{
    const struct bj_http_limits limits = {
        .connections = (unsigned)v->conf->connections,
        .responses = (unsigned)v->conf->connections - 1,
        .backlog = BACKLOG,
        .request_usec = 20 * SECOND,
        .idle_usec = 15 * SECOND,
        .work_usec = 90 * SECOND,
        .hold_usec = 2 * SECOND,
        .waiting = (unsigned)(v->conf->connections + 3) / 4,
        .body_bytes = BODY_BYTES,
        .bodies_bytes = BODIES_BYTES,
        .later = true};
    int r = bj_httpd_new(routes, v, &limits, &v->httpd, err);
    if (r < 0)
        return r;
    bj_httpd_guard(v->httpd, guard);
    bj_httpd_admit(v->httpd, admit);
    r = bj_guard_init(&v->guard, file_option, v->conf->web_file, v->httpd, err);
    if (r < 0)
        return r;
    v->guard.posts_have_token = true;
    return check_web(v->conf, v->guard.web, err);
}

int bj_receiver_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                    struct bj_receiver **ret, struct bj_err *err)
{
    struct bj_receiver *v = calloc(1, sizeof(*v));
    if (!v)
        return bj_err_set(err, -ENOMEM, "receiver of records");
    v->conf = &conf->receiver;
    int r = 0;
    if (bj_is_set(v->conf->token_file) &&
        stat(v->conf->token_file, &v->tokens_stat) < 0)
        r = bj_file_fail(err, -errno, "record.token-file:", AT_FDCWD,
                         v->conf->token_file, R_OK);
    if (r == 0)
        r = read_tokens(v->conf, &v->tokens, err);
    if (r == 0)
        r = open_httpd(v, err);
    if (r == 0)
        r = bj_httpd_listen_all(v->httpd, "record.listen-address",
                                &v->conf->listen, "receiving records on",
                                v->guard.web->tls ? "" : ", without TLS", err);
    if (r == 0)
        r = bj_record_writer_new(conf, store, wake, v, &v->writer, err);
    if (r == 0)
        r = bj_thread_start(&v->thread, "records", receiver_serve, v, err);
    if (r < 0) {
        bj_receiver_free(v);
        return r;
    }
    *ret = v;
    return 0;
}

void bj_receiver_free(struct bj_receiver *v)
{
    if (!v)
        return;
    __atomic_store_n(&v->stop, true, __ATOMIC_RELEASE);
    bj_thread_end(&v->thread);
    if (v->writer) {
        bj_record_writer_stop(v->writer);
        finish_answered(v);
        bj_httpd_run(v->httpd, NULL, 0, bj_clock_boot_usec());
    }
    bj_httpd_free(v->httpd);
    bj_record_writer_free(v->writer);
    bj_guard_free(&v->guard);
    bj_record_tokens_free(v->tokens);
    bj_thread_free(&v->thread);
    free(v);
}

void bj_receiver_report(const struct bj_receiver *v,
                        struct bj_metrics_values *r)
{
    struct bj_record_counts n;
    struct bj_httpd_stat stat;
    bj_record_writer_counts(v->writer, &n);
    bj_httpd_stat(v->httpd, &stat);
    r->received_stored = n.stored;
    r->received_malformed = n.malformed;
    r->received_denied = n.denied;
    r->received_commits = n.commits;
    r->received_failures = n.failures;
    r->received_requests = stat.requests;
    r->received_busy = stat.refused;
    r->received_tls_expires_sec =
        (uint64_t)__atomic_load_n(&v->expires_sec, __ATOMIC_RELAXED);
}
