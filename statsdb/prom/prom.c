#include "statsdb/prom/prom.h"

#include "base/fetch.h"
#include "base/secret_file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECRET_MAX = 8192, HEADERS_MAX = 16, REPLY_BYTES = 32 << 20 };

struct bj_prom {
    const struct bj_prom_conf *conf;
    const atomic_bool *stop;
    uint64_t limit_usec; /* 0: the limit in conf */
    struct bj_fetch *fetch;
    struct bj_buf url, body;
    struct bj_fetch_reply reply;
    char token[SECRET_MAX], password[SECRET_MAX];
};

static bool is_set(const char *s)
{
    return s && s[0];
}

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
    bj_buf_free(&p->url);
    bj_buf_free(&p->body);
    explicit_bzero(p->token, sizeof(p->token));
    explicit_bzero(p->password, sizeof(p->password));
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

/* --- the request -----------------------------------------------------------
 */

/* Read secrets for each query: their files may have been renewed. */
static int read_secrets(struct bj_prom *p, struct bj_err *err)
{
    const struct bj_prom_conf *c = p->conf;
    int r = bj_secret_read(c->token_file, p->token, sizeof(p->token), err);
    if (r < 0)
        return bj_err_wrap(err, r, "prometheus.token-file");
    r = bj_secret_read(c->password_file, p->password, sizeof(p->password), err);
    return r < 0 ? bj_err_wrap(err, r, "prometheus.password-file") : 0;
}

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

static void put_time(struct bj_buf *out, const char *name, int64_t v)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)v);
    put_param(out, name, text);
}

/* Request complete replies for exactly these times. Prometheus ignores the
 * parameters for VictoriaMetrics and Thanos. */
static void put_common(struct bj_prom *p)
{
    put_time(&p->body, "timeout", (int64_t)(timeout_usec(p) / 1000000));
    put_param(&p->body, "nocache", "1");
    put_param(&p->body, "deny_partial_response", "1");
    put_param(&p->body, "partial_response", "false");
}

static int sink(void *ctx, struct bj_slice piece, struct bj_err *err)
{
    return bj_prom_reply_feed(ctx, piece, err);
}

/* Append the server's reason to the message. */
static int explain(struct bj_prom *p, int r, struct bj_err *err)
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
    const struct bj_prom_conf *c = p->conf;
    const char *headers[HEADERS_MAX + 2] = {
        "Content-Type: application/x-www-form-urlencoded"};
    for (size_t i = 0; i < c->headers.n && i < HEADERS_MAX; i++)
        headers[i + 1] = c->headers.v[i];
    int r = read_secrets(p, err);
    if (r < 0)
        return r;
    const struct bj_fetch_request req = {
        .method = "POST",
        .url = p->url.p,
        .headers = headers,
        .body = {p->body.p, p->body.len},
        .bearer = p->token[0] ? p->token : NULL,
        .user = is_set(c->user) ? c->user : NULL,
        .password = is_set(c->user) ? p->password : NULL,
        .ca_file = is_set(c->ca_file) ? c->ca_file : NULL,
        .cert_file = is_set(c->cert_file) ? c->cert_file : NULL,
        .key_file = is_set(c->key_file) ? c->key_file : NULL,
        .total_usec = timeout_usec(p),
        .max_bytes = c->max_bytes ? (size_t)c->max_bytes : REPLY_BYTES,
        .sink = sink,
        .ctx = reply,
        .abort = p->stop};
    r = bj_fetch(p->fetch, &req, &p->reply, err);
    return r < 0 ? explain(p, r, err) : bj_prom_reply_end(reply, err);
}

static int send_query(struct bj_prom *p, const char *path, bool range,
                      const struct bj_prom_sink *to, struct bj_err *err)
{
    struct bj_prom_reply *reply;
    size_t n = strlen(p->conf->url);
    while (n > 0 && p->conf->url[n - 1] == '/')
        n--;
    p->url.len = 0;
    bj_buf_put(&p->url, p->conf->url, n);
    bj_buf_str(&p->url, path);
    bj_buf_put(&p->url, "", 1);
    if (p->url.failed || p->body.failed)
        return bj_err_set(err, -ENOMEM, "prometheus");
    int r = bj_prom_reply_new(range, to, &reply, err);
    if (r < 0)
        return r;
    r = send_request(p, reply, err);
    bj_prom_reply_free(reply);
    return r;
}

int bj_prom_query(struct bj_prom *p, const char *query, int64_t at_sec,
                  const struct bj_prom_sink *to, struct bj_err *err)
{
    p->body.len = 0;
    put_param(&p->body, "query", query);
    put_time(&p->body, "time", at_sec);
    put_common(p);
    return send_query(p, "/api/v1/query", false, to, err);
}

int bj_prom_range(struct bj_prom *p, const char *query, int64_t start_sec,
                  int64_t end_sec, int64_t step_sec,
                  const struct bj_prom_sink *to, struct bj_err *err)
{
    p->body.len = 0;
    put_param(&p->body, "query", query);
    put_time(&p->body, "start", start_sec);
    put_time(&p->body, "end", end_sec);
    put_time(&p->body, "step", step_sec);
    put_common(p);
    return send_query(p, "/api/v1/query_range", true, to, err);
}
