#include "apiserver/gate/gate_request.h"

#include "base/secret_file.h"

#include <string.h>

enum { HEADERS_MAX = 16 }; /* maximum number of headers in the options */

static int read_secrets(struct bj_gate_request *q, const struct bj_prom_conf *c,
                        struct bj_err *err)
{
    int r = bj_secret_read(c->token_file, q->token, sizeof(q->token), err);
    if (r < 0)
        return bj_err_wrap(err, r, "token-file");
    r = bj_secret_read(c->password_file, q->password, sizeof(q->password), err);
    return r < 0 ? bj_err_wrap(err, r, "password-file") : 0;
}

static const char *given(const char *s)
{
    return s && s[0] ? s : NULL;
}

static void make_headers(struct bj_gate_request *q,
                         const struct bj_prom_conf *c,
                         const struct bj_gate_target *t)
{
    unsigned n = 0;
    if (t->gzip)
        q->header[n++] = "Accept-Encoding: gzip";
    for (size_t i = 0; i < c->headers.n && i < HEADERS_MAX; i++)
        q->header[n++] = c->headers.v[i];
}

static int make_url(struct bj_gate_request *q, const char *url,
                    const struct bj_gate_target *t)
{
    size_t n = strlen(url);
    while (n > 0 && url[n - 1] == '/')
        n--;
    bj_buf_put(&q->url, url, n);
    bj_buf_str(&q->url, t->path);
    if (!t->post && t->form.n > 0) {
        bj_buf_str(&q->url, "?");
        bj_buf_slice(&q->url, t->form);
    }
    bj_buf_put(&q->url, "", 1);
    return q->url.failed ? -ENOMEM : 0;
}

int bj_gate_request_make(struct bj_gate_request *q,
                         const struct bj_gate_server *server,
                         const struct bj_gate_target *t, struct bj_err *err)
{
    const struct bj_prom_conf *c = &server->client;
    make_headers(q, c, t);
    int r = make_url(q, c->url, t);
    if (r < 0)
        bj_err_set(err, r, "no memory");
    else
        r = read_secrets(q, c, err);
    if (r < 0)
        return r;
    q->fetch = (struct bj_fetch_request){
        .method = t->post ? "POST" : "GET",
        .url = q->url.p,
        .headers = q->header,
        .form = true,
        .body = {t->post ? t->form.p : NULL, t->post ? t->form.n : 0},
        .bearer = given(q->token),
        .user = given(c->user),
        .password = given(c->user) ? q->password : NULL,
        .ca_file = given(c->ca_file),
        .cert_file = given(c->cert_file),
        .key_file = given(c->key_file),
        .total_usec = t->usec,
        .max_bytes = t->max_bytes,
        .piece_bytes = t->piece_bytes};
    return 0;
}

void bj_gate_request_clear(struct bj_gate_request *q)
{
    bj_buf_free(&q->url);
    explicit_bzero(q, sizeof(*q));
}
