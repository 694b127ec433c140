#include "base/fetch.h"
#include "base/clock.h"
#include "base/fetch_priv.h"
#include "base/text.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECOND = 1000000, ERROR_BODY_MAX = 65536 };

/* --- failures -------------------------------------------------------------*/

/* The meaning of libcurl's codes; all others are BJ_FETCH_PROTOCOL. */
static const struct {
    CURLcode code;
    enum bj_fetch_fault fault;
    int err;
} meanings[] = {
    {CURLE_COULDNT_RESOLVE_HOST, BJ_FETCH_DNS, -EHOSTUNREACH},
    {CURLE_COULDNT_RESOLVE_PROXY, BJ_FETCH_DNS, -EHOSTUNREACH},
    {CURLE_COULDNT_CONNECT, BJ_FETCH_CONNECT, -ECONNREFUSED},
    {CURLE_INTERFACE_FAILED, BJ_FETCH_CONNECT, -ECONNREFUSED},
    {CURLE_OPERATION_TIMEDOUT, BJ_FETCH_TIMEOUT, -ETIMEDOUT},
    {CURLE_SSL_CONNECT_ERROR, BJ_FETCH_TLS, -EKEYREJECTED},
    {CURLE_PEER_FAILED_VERIFICATION, BJ_FETCH_TLS, -EKEYREJECTED},
    {CURLE_SSL_CIPHER, BJ_FETCH_TLS, -EKEYREJECTED},
    {CURLE_SSL_ISSUER_ERROR, BJ_FETCH_TLS, -EKEYREJECTED},
    {CURLE_SSL_INVALIDCERTSTATUS, BJ_FETCH_TLS, -EKEYREJECTED},
    {CURLE_SSL_CERTPROBLEM, BJ_FETCH_LOCAL, -EACCES},
    {CURLE_SSL_CACERT_BADFILE, BJ_FETCH_LOCAL, -EACCES},
    {CURLE_SSL_CRL_BADFILE, BJ_FETCH_LOCAL, -EACCES},
    {CURLE_SSL_ENGINE_INITFAILED, BJ_FETCH_LOCAL, -EACCES},
    {CURLE_OUT_OF_MEMORY, BJ_FETCH_LOCAL, -ENOMEM},
    {CURLE_URL_MALFORMAT, BJ_FETCH_LOCAL, -EINVAL},
    {CURLE_BAD_FUNCTION_ARGUMENT, BJ_FETCH_LOCAL, -EINVAL},
    {CURLE_FILESIZE_EXCEEDED, BJ_FETCH_TOO_BIG, -EFBIG},
    {CURLE_ABORTED_BY_CALLBACK, BJ_FETCH_ABORTED, -ECANCELED},
};

/* What a server that speaks TLS makes of a request without TLS, and the other
 * way around.  NULL: the error has other causes, too. */
static const char *scheme_hint(const char *url, CURLcode code)
{
    struct bj_fetch_origin o;
    if (bj_fetch_origin(url, &o) < 0)
        return NULL;
    if (o.https)
        return code == CURLE_SSL_CONNECT_ERROR
                   ? "no TLS handshake; does this port speak http://?"
                   : NULL;
    return code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ||
                   code == CURLE_UNSUPPORTED_PROTOCOL
               ? "no answer in HTTP; does this port speak https://?"
               : NULL;
}

int bj_fetch_explain(struct bj_fetch_call *c, CURLcode code)
{
    const char *message = c->f->message;
    if (!message[0])
        message = c->f->lib.easy_strerror(code);
    char hinted[160];
    const char *hint = scheme_hint(c->url, code);
    if (hint) {
        snprintf(hinted, sizeof(hinted), "%s: %.*s", hint,
                 (int)(sizeof(hinted) - 60), message);
        message = hinted;
    }
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (meanings[i].code == code)
            return bj_fetch_fail(c, meanings[i].fault, meanings[i].err,
                                 message);
    return bj_fetch_fail(c, BJ_FETCH_PROTOCOL, -EPROTO, message);
}

/* --- receiving -------------------------------------------------------------*/

static bool success(unsigned status)
{
    return status >= 200 && status <= 299;
}

static unsigned status_of(const struct bj_fetch_call *c)
{
    long status = 0;
    c->f->lib.easy_getinfo(c->f->curl, CURLINFO_RESPONSE_CODE, &status);
    return status > 0 ? (unsigned)status : 0;
}

static int end_call(struct bj_fetch_call *c, enum bj_fetch_fault fault,
                    int code, const char *message)
{
    c->fault = fault;
    c->verdict = bj_fetch_fail(c, fault, code, message);
    return code;
}

static int take_success(struct bj_fetch_call *c, struct bj_slice piece)
{
    size_t max = c->req->max_bytes ? c->req->max_bytes : (size_t)16 << 20;
    if (piece.n > max - c->got)
        return end_call(c, BJ_FETCH_TOO_BIG, -EFBIG,
                        "body larger than the limit");
    c->got += piece.n;
    if (c->req->sink) {
        int r = c->req->sink(c->req->ctx, piece, c->err);
        if (r >= 0)
            return 0;
        c->reply->fault = c->fault = BJ_FETCH_LOCAL;
        c->verdict = r;
        return r;
    }
    bj_buf_slice(&c->reply->body, piece);
    if (c->reply->body.failed)
        return end_call(c, BJ_FETCH_LOCAL, -ENOMEM, "no memory");
    return 0;
}

/* The body of a failure is kept up to a limit; then the connection is closed.
 */
static int take_error_body(struct bj_fetch_call *c, struct bj_slice piece)
{
    size_t room = ERROR_BODY_MAX - c->got;
    c->got += piece.n < room ? piece.n : room;
    bj_buf_put(&c->reply->body, piece.p, piece.n < room ? piece.n : room);
    return piece.n <= room ? 0 : -EFBIG;
}

static size_t on_body(char *p, size_t size, size_t n, void *call)
{
    struct bj_fetch_call *c = call;
    struct bj_slice piece = {p, size * n};
    int r = success(status_of(c)) ? take_success(c, piece)
                                  : take_error_body(c, piece);
    return r < 0 ? 0 : piece.n;
}

static size_t on_header(char *p, size_t size, size_t n, void *call)
{
    struct bj_fetch_call *c = call;
    int r = bj_fetch_take_header(c->reply, (struct bj_slice){p, size * n});
    if (r == 0)
        return size * n;
    if (r == -EFBIG)
        end_call(c, BJ_FETCH_TOO_BIG, r, "more than 64 KiB of headers");
    else
        end_call(c, BJ_FETCH_LOCAL, r, "no memory");
    return 0;
}

static int on_progress(void *call, curl_off_t dt, curl_off_t dn, curl_off_t ut,
                       curl_off_t un)
{
    const struct bj_fetch_call *c = call;
    (void)dt, (void)dn, (void)ut, (void)un;
    return c->req->abort && atomic_load(c->req->abort) ? 1 : 0;
}

/* --- requests --------------------------------------------------------------*/

/* A TLS library may write to a closed connection.  Block the signal for that,
 * and remove it when it is new. */
static CURLcode perform(const struct bj_fetch *f)
{
    const struct timespec now = {0};
    sigset_t pipe_only, old, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    bool had = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
    CURLcode code = f->lib.easy_perform(f->curl);
    while (!had && sigtimedwait(&pipe_only, NULL, &now) == SIGPIPE)
        ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code;
}

static bool set_callbacks(CURL *h, struct bj_fetch_call *c)
{
    bool bad = false;
    BJ_FETCH_SET(CURLOPT_ERRORBUFFER, c->f->message);
    BJ_FETCH_SET(CURLOPT_WRITEFUNCTION, on_body);
    BJ_FETCH_SET(CURLOPT_WRITEDATA, c);
    BJ_FETCH_SET(CURLOPT_HEADERFUNCTION, on_header);
    BJ_FETCH_SET(CURLOPT_HEADERDATA, c);
    BJ_FETCH_SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    BJ_FETCH_SET(CURLOPT_XFERINFODATA, c);
    BJ_FETCH_SET(CURLOPT_NOPROGRESS, 0L);
    BJ_FETCH_SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    return !bad;
}

static int send_once(struct bj_fetch_call *c)
{
    CURL *h = c->f->curl;
    c->f->lib.easy_reset(h);
    bj_fetch_reply_reset(c->reply);
    c->f->message[0] = '\0';
    c->got = 0;
    int r = bj_fetch_make_headers(c);
    if (r == 0 && !(bj_fetch_set_options(c) && set_callbacks(h, c)))
        r = -EINVAL;
    if (r < 0)
        return bj_fetch_fail(c, BJ_FETCH_LOCAL, r,
                             r == -ENOMEM ? "no memory" : "malformed request");
    CURLcode code = perform(c->f);
    c->reply->status = status_of(c);
    bj_fetch_read_headers(c->reply, c->f->lib.getdate);
    if (c->verdict < 0) {
        c->reply->fault = c->fault;
        return c->verdict;
    }
    /* take_error_body() ends transfers of long failures. */
    if (code == CURLE_WRITE_ERROR && !success(c->reply->status))
        code = CURLE_OK;
    return code == CURLE_OK ? 0 : bj_fetch_explain(c, code);
}

/* The target of a redirect that is followed, or NULL. */
static const char *redirect(const struct bj_fetch_call *c)
{
    const char *to = NULL;
    struct bj_fetch_origin from, target;
    unsigned s = c->reply->status;
    bool moved = s == 301 || s == 302 || s == 303 || s == 307 || s == 308;
    bool safe = strcmp(c->method, "GET") == 0 || strcmp(c->method, "HEAD") == 0;
    if (!moved || !safe)
        return NULL;
    c->f->lib.easy_getinfo(c->f->curl, CURLINFO_REDIRECT_URL, &to);
    if (!to || bj_fetch_origin(c->url, &from) < 0 ||
        bj_fetch_origin(to, &target) < 0 || (from.https && !target.https))
        return NULL;
    return c->req->cross_origin || bj_fetch_same_origin(c->url, to) ? to : NULL;
}

static int check_status(struct bj_fetch_call *c)
{
    char message[64];
    unsigned s = c->reply->status;
    int code = -EREMOTEIO;
    if (success(s))
        return 0;
    if (s == 401 || s == 403)
        code = -EACCES;
    else if (s == 408 || s == 429 || s == 503)
        code = -EAGAIN;
    snprintf(message, sizeof(message), "status %u%s", s,
             s / 100 == 3 ? ", not followed" : "");
    return bj_fetch_fail(c, BJ_FETCH_HTTP, code, message);
}

/* The next request goes to another URL; the old one is needed until now. */
static int redirect_to(struct bj_fetch_call *c, const char *to)
{
    char *copy = strdup(to);
    if (!copy)
        return bj_fetch_fail(c, BJ_FETCH_LOCAL, -ENOMEM, "no memory");
    c->foreign = c->foreign || !bj_fetch_same_origin(c->req->url, to);
    free(c->location);
    c->url = c->location = copy;
    return 0;
}

static int send_all(struct bj_fetch_call *c)
{
    for (unsigned hop = 0;; hop++) {
        int r = send_once(c);
        c->f->lib.slist_free_all(c->headers);
        c->headers = NULL;
        if (r < 0)
            return r;
        const char *to = hop < c->req->redirects ? redirect(c) : NULL;
        if (!to)
            return check_status(c);
        r = redirect_to(c, to);
        if (r < 0)
            return r;
    }
}

int bj_fetch(struct bj_fetch *f, const struct bj_fetch_request *req,
             struct bj_fetch_reply *reply, struct bj_err *err)
{
    struct bj_err own = {0};
    struct bj_fetch_origin origin;
    struct bj_fetch_call c = {
        .f = f,
        .req = req,
        .reply = reply,
        .err = err ? err : &own,
        .method = req->method   ? req->method
                  : req->body.p ? "POST"
                                : "GET",
        .url = req->url ? req->url : "",
        .deadline = bj_clock_boot_usec() +
                    (req->total_usec ? req->total_usec : 30 * SECOND),
    };
    bj_fetch_reply_reset(reply);
    if (bj_fetch_origin(c.url, &origin) < 0)
        return bj_fetch_fail(&c, BJ_FETCH_LOCAL, -EINVAL,
                             "not an http:// or https:// URL with a host");
    int r = bj_fetch_check_files(&c);
    if (r == 0)
        r = send_all(&c);
    /* Options point to headers and texts of this call. */
    f->lib.easy_reset(f->curl);
    free(c.location);
    return r;
}

/* --- the handle -----------------------------------------------------------*/

int bj_fetch_new(struct bj_fetch **ret, struct bj_err *err)
{
    struct bj_fetch *f = calloc(1, sizeof(*f));
    if (!f)
        return bj_err_set(err, -ENOMEM, "no memory");
    int r = bj_libcurl_load(&f->lib, err);
    if (r < 0) {
        free(f);
        return r;
    }
    f->curl = f->lib.easy_init();
    if (!f->curl) {
        free(f);
        return bj_err_set(err, -ENOMEM, "libcurl: no memory");
    }
    *ret = f;
    return 0;
}

void bj_fetch_free(struct bj_fetch *f)
{
    if (!f)
        return;
    f->lib.easy_cleanup(f->curl);
    free(f);
}
