#include "statsdb/prom/prom.h"

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

static const char *given(const char *s)
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
        .bearer = given(q->token),
        .user = given(c->user),
        .password = given(c->user) ? q->password : NULL,
        .ca_file = given(c->ca_file),
        .cert_file = given(c->cert_file),
        .key_file = given(c->key_file)};
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
    return r < 0 ? explain(p, r, err) : bj_prom_reply_end(reply, err);
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
