#include "carbon/query.h"

#include "base/secret_file.h"
#include "carbon/reply.h"

#include <stdio.h>

#define SECOND 1000000u
enum { CONNECT_SEC = 10, TIMEOUT_SEC = 20, REDIRECTS = 3, SECRET_MAX = 4096 };

static const char *const names[BJ_CARBON_FAULTS] = {
    [BJ_CARBON_OK] = "ok",         [BJ_CARBON_CONNECT] = "connect",
    [BJ_CARBON_TLS] = "tls",       [BJ_CARBON_TIMEOUT] = "timeout",
    [BJ_CARBON_STATUS] = "status", [BJ_CARBON_LIMITED] = "limited",
    [BJ_CARBON_DENIED] = "denied", [BJ_CARBON_CONTENT] = "content",
    [BJ_CARBON_EMPTY] = "empty",   [BJ_CARBON_LOCAL] = "local",
};

const char *bj_carbon_fault_name(enum bj_carbon_fault fault)
{
    return names[fault];
}

/* All other statuses are BJ_CARBON_STATUS. */
static enum bj_carbon_fault fault_of_status(unsigned status)
{
    switch (status) {
    case 401:
    case 403:
        return BJ_CARBON_DENIED;
    case 429:
        return BJ_CARBON_LIMITED;
    default:
        return BJ_CARBON_STATUS;
    }
}

static enum bj_carbon_fault fault_of(const struct bj_fetch_reply *reply)
{
    static const enum bj_carbon_fault map[] = {
        [BJ_FETCH_OK] = BJ_CARBON_OK,
        [BJ_FETCH_DNS] = BJ_CARBON_CONNECT,
        [BJ_FETCH_CONNECT] = BJ_CARBON_CONNECT,
        [BJ_FETCH_TLS] = BJ_CARBON_TLS,
        [BJ_FETCH_TIMEOUT] = BJ_CARBON_TIMEOUT,
        [BJ_FETCH_HTTP] = BJ_CARBON_STATUS,
        [BJ_FETCH_TOO_BIG] = BJ_CARBON_CONTENT,
        [BJ_FETCH_PROTOCOL] = BJ_CARBON_CONTENT,
        [BJ_FETCH_ABORTED] = BJ_CARBON_LOCAL,
        [BJ_FETCH_LOCAL] = BJ_CARBON_LOCAL,
    };
    if (reply->fault == BJ_FETCH_HTTP)
        return fault_of_status(reply->status);
    return map[reply->fault];
}

/* --- secrets --------------------------------------------------------------*/

static int read_secret(const struct bj_carbon_slot *slot, char *buf, size_t cap,
                       struct bj_err *err)
{
    int r = bj_secret_read(slot->token_file, buf, cap, err);
    return r < 0 ? bj_err_wrap(err, r, "emissions.token-file") : 0;
}

/* --- requests -------------------------------------------------------------*/

/* Shared by the requests of one query. */
struct exchange {
    const struct bj_carbon_query *q;
    struct bj_fetch_reply reply;
    uint64_t *wait_usec;
    bool *aborted;
    struct bj_err *err;
};

static enum bj_carbon_fault query_request(struct exchange *x,
                                          struct bj_fetch_request *req)
{
    const struct bj_carbon_query *q = x->q;
    req->ca_file = q->conf->ca_file;
    req->redirects = REDIRECTS;
    req->total_usec = TIMEOUT_SEC * SECOND;
    req->connect_usec = CONNECT_SEC * SECOND;
    req->max_bytes = q->slot->provider->max_bytes;
    req->abort = q->abort;
    int r = q->net->fetch(q->net->ctx, req, &x->reply, x->err);
    *x->wait_usec = r < 0 ? x->reply.retry_after_usec : 0;
    if (r == 0)
        return BJ_CARBON_OK;
    *x->aborted = x->reply.fault == BJ_FETCH_ABORTED;
    return fault_of(&x->reply);
}

static struct bj_slice body(const struct exchange *x)
{
    return (struct bj_slice){x->reply.body.p, x->reply.body.len};
}

static enum bj_carbon_fault content_or_memory(int r)
{
    return r == -ENOMEM ? BJ_CARBON_LOCAL : BJ_CARBON_CONTENT;
}

static enum bj_carbon_fault log_in(struct exchange *x)
{
    const struct bj_carbon_query *q = x->q;
    const struct bj_carbon_provider *p = q->slot->provider;
    struct bj_carbon_session *s = q->session;
    if (s->token[0] && q->boot_usec < s->until_usec)
        return BJ_CARBON_OK;
    s->token[0] = '\0';
    char secret[SECRET_MAX];
    if (read_secret(q->slot, secret, sizeof(secret), x->err) < 0)
        return BJ_CARBON_LOCAL;
    char *password = strchr(secret, ':');
    if (!password) {
        explicit_bzero(secret, sizeof(secret));
        bj_err_set(x->err, -EINVAL,
                   "emissions.token-file: %s: expected user:password",
                   q->slot->token_file);
        return BJ_CARBON_LOCAL;
    }
    *password++ = '\0';
    struct bj_buf url = {0};
    bj_carbon_url(&url, q->slot->origin, p->login_path);
    bj_buf_put(&url, "", 1);
    enum bj_carbon_fault f = BJ_CARBON_LOCAL;
    if (url.failed)
        bj_err_set(x->err, -ENOMEM, "a URL");
    else
        f = query_request(x, &(struct bj_fetch_request){.url = url.p,
                                                        .user = secret,
                                                        .password = password});
    bj_buf_free(&url);
    explicit_bzero(secret, sizeof(secret));
    if (f != BJ_CARBON_OK)
        return f;
    int r = bj_carbon_login_parse(body(x), s->token, sizeof(s->token), x->err);
    if (r < 0)
        return content_or_memory(r);
    s->until_usec = q->boot_usec + (uint64_t)p->login_sec * SECOND;
    return BJ_CARBON_OK;
}

/* "name: token", terminated. */
static enum bj_carbon_fault make_header(const struct exchange *x, char *buf,
                                        size_t cap)
{
    const struct bj_carbon_slot *slot = x->q->slot;
    char secret[SECRET_MAX];
    if (read_secret(slot, secret, sizeof(secret), x->err) < 0)
        return BJ_CARBON_LOCAL;
    snprintf(buf, cap, "%s: %s", slot->provider->auth_header, secret);
    explicit_bzero(secret, sizeof(secret));
    return BJ_CARBON_OK;
}

static enum bj_carbon_fault query_get(struct exchange *x, const char *url)
{
    const struct bj_carbon_provider *p = x->q->slot->provider;
    char header[SECRET_MAX + 64];
    const char *headers[] = {"Accept: application/json", NULL, NULL};
    struct bj_fetch_request req = {.url = url, .headers = headers};
    enum bj_carbon_fault f = BJ_CARBON_OK;
    if (p->auth == BJ_CARBON_HEADER) {
        f = make_header(x, header, sizeof(header));
        headers[1] = header;
    } else if (p->auth == BJ_CARBON_LOGIN) {
        f = log_in(x);
        req.bearer = x->q->session->token;
    }
    if (f == BJ_CARBON_OK)
        f = query_request(x, &req);
    explicit_bzero(header, sizeof(header));
    return f;
}

/* A token may expire early: then repeat with a new one. */
static enum bj_carbon_fault get_again(struct exchange *x, const char *url)
{
    struct bj_carbon_session *s = x->q->session;
    bool old = s->token[0] != '\0';
    enum bj_carbon_fault f = query_get(x, url);
    if (f != BJ_CARBON_DENIED || !s->token[0])
        return f;
    s->token[0] = '\0';
    return old ? query_get(x, url) : f;
}

enum bj_carbon_fault bj_carbon_send_query(const struct bj_carbon_query *q,
                                          struct bj_carbon_reply *ret,
                                          uint64_t *ret_wait_usec,
                                          bool *ret_aborted, struct bj_err *err)
{
    const struct bj_carbon_slot *slot = q->slot;
    *ret_wait_usec = 0;
    *ret_aborted = false;
    struct exchange x = {
        .q = q, .wait_usec = ret_wait_usec, .aborted = ret_aborted, .err = err};
    struct bj_buf url = {0};
    slot->provider->url(
        &(struct bj_carbon_target){slot->origin, slot->zone, q->wall_sec},
        &url);
    bj_buf_put(&url, "", 1);
    enum bj_carbon_fault f = BJ_CARBON_LOCAL;
    if (url.failed)
        bj_err_set(err, -ENOMEM, "a URL");
    else
        f = get_again(&x, url.p);
    if (f == BJ_CARBON_OK) {
        int r = slot->provider->parse(body(&x), slot->zone, ret, err);
        f = r < 0 ? content_or_memory(r) : BJ_CARBON_OK;
    }
    bj_buf_free(&url);
    bj_fetch_reply_free(&x.reply);
    return f;
}
