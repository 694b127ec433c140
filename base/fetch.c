#include "base/fetch.h"
#include "base/clock.h"
#include "base/fetch_priv.h"
#include "base/text.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000, WORDS_MAX = 65536, HEADERS = 64 };

struct bj_fetch {
    CURL *curl;
    char words[CURL_ERROR_SIZE]; /* of libcurl about the last failure */
};

/* One call; one request after the other when there are redirects. */
struct call {
    struct bj_fetch *f;
    const struct bj_fetch_request *req;
    struct bj_fetch_reply *reply;
    struct bj_err *err;
    const char *method, *url; /* url: of the request under way */
    char *location;           /* owned; what url points to after a redirect */
    bool foreign;             /* it left the origin that was asked for */
    struct curl_slist *headers;
    uint64_t deadline;
    size_t got;
    int verdict; /* why we ended it; 0: we did not */
    enum bj_fetch_fault fault;
};

/* --- failures -------------------------------------------------------------*/

static int fail(struct call *c, enum bj_fetch_fault fault, int code,
                const char *words)
{
    char url[BJ_FETCH_SHOWN], clean[100];
    bj_text_clean(bj_slice_str(words), clean, sizeof(clean));
    c->reply->fault = fault;
    return bj_err_set(c->err, code, "%.20s %s: %s%s%s", c->method,
                      bj_fetch_show(c->url, url), bj_fetch_fault_name(fault),
                      clean[0] ? ": " : "", clean);
}

/* What libcurl's codes mean; what is not here is BJ_FETCH_PROTOCOL. */
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

static int explain(struct call *c, CURLcode code)
{
    const char *words = c->f->words;
    if (!words[0])
        words = curl_easy_strerror(code);
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (meanings[i].code == code)
            return fail(c, meanings[i].fault, meanings[i].err, words);
    return fail(c, BJ_FETCH_PROTOCOL, -EPROTO, words);
}

/* --- what comes in --------------------------------------------------------*/

static bool success(unsigned status)
{
    return (status >= 200 && status <= 299) || status == 304;
}

static unsigned status_of(const struct call *c)
{
    long status = 0;
    curl_easy_getinfo(c->f->curl, CURLINFO_RESPONSE_CODE, &status);
    return status > 0 ? (unsigned)status : 0;
}

static int end_call(struct call *c, enum bj_fetch_fault fault, int code,
                    const char *words)
{
    c->fault = fault;
    c->verdict = fail(c, fault, code, words);
    return code;
}

static int take_success(struct call *c, struct bj_slice piece)
{
    size_t max = c->req->max_bytes ? c->req->max_bytes : (size_t)16 << 20;
    if (piece.n > max - c->got)
        return end_call(c, BJ_FETCH_TOO_BIG, -EFBIG,
                        "more than the limit of bytes");
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

/* What a server has to say about a failure is of interest up to a limit; the
 * connection is given up beyond it. */
static int take_words(struct call *c, struct bj_slice piece)
{
    size_t room = WORDS_MAX - c->got;
    c->got += piece.n < room ? piece.n : room;
    bj_buf_put(&c->reply->body, piece.p, piece.n < room ? piece.n : room);
    return piece.n <= room ? 0 : -EFBIG;
}

static size_t on_body(char *p, size_t size, size_t n, void *call)
{
    struct call *c = call;
    struct bj_slice piece = {p, size * n};
    int r =
        success(status_of(c)) ? take_success(c, piece) : take_words(c, piece);
    return r < 0 ? 0 : piece.n;
}

static size_t on_header(char *p, size_t size, size_t n, void *call)
{
    struct call *c = call;
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
    const struct call *c = call;
    (void)dt, (void)dn, (void)ut, (void)un;
    return c->req->abort && atomic_load(c->req->abort) ? 1 : 0;
}

/* --- setting it up --------------------------------------------------------*/

static bool fits_a_line(const char *s)
{
    return !s || !strpbrk(s, "\r\n");
}

static bool add_header(struct call *c, const char *text)
{
    struct curl_slist *l = curl_slist_append(c->headers, text);
    if (l)
        c->headers = l;
    return l != NULL;
}

static bool add_bearer(struct call *c)
{
    struct bj_buf b = {0};
    bj_buf_str(&b, "Authorization: Bearer ");
    bj_buf_str(&b, c->req->bearer);
    bj_buf_put(&b, "", 1);
    bool good = !b.failed && add_header(c, b.p);
    if (b.p)
        explicit_bzero(b.p, b.len);
    bj_buf_free(&b);
    return good;
}

/* Ours first, since the last one counts with libcurl; a body is JSON unless
 * something else is said, and is sent without asking first. */
static int make_headers(struct call *c)
{
    const char *const *h = c->req->headers;
    bool good = add_header(c, "Expect:"), typed = false;
    for (unsigned i = 0; h && h[i] && !c->foreign; i++) {
        if (i == HEADERS || !fits_a_line(h[i]) || !strchr(h[i], ':'))
            return -EINVAL;
        typed = typed || strncasecmp(h[i], "Content-Type:", 13) == 0;
        good = good && add_header(c, h[i]);
    }
    if (c->req->body.p && !typed)
        good = good && add_header(c, "Content-Type: application/json");
    if (!fits_a_line(c->req->bearer))
        return -EINVAL;
    if (c->req->bearer && !c->foreign)
        good = good && add_bearer(c);
    return good ? 0 : -ENOMEM;
}

/* Options are remembered as failed, and checked once. */
#define SET(option, value) (bad = bad || curl_easy_setopt(h, option, value))

static bool set_limits(CURL *h, const struct call *c)
{
    uint64_t now = bj_clock_boot_usec();
    uint64_t left = c->deadline > now ? c->deadline - now : 1;
    uint64_t connect = c->req->connect_usec ? c->req->connect_usec : 5 * SECOND;
    bool bad = false;
    SET(CURLOPT_TIMEOUT_MS, (long)((left + 999) / 1000));
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)((connect + 999) / 1000));
    SET(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x074000
    SET(CURLOPT_HTTP09_ALLOWED, 0L);
#endif
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    return !bad;
}

static bool set_callbacks(CURL *h, struct call *c)
{
    bool bad = false;
    SET(CURLOPT_ERRORBUFFER, c->f->words);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, c);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, c);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, c);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    return !bad;
}

static bool set_request(CURL *h, const struct call *c)
{
    const struct bj_fetch_request *q = c->req;
    bool bad = false;
    SET(CURLOPT_URL, c->url);
    SET(CURLOPT_USERAGENT, "batchjob");
    SET(CURLOPT_HTTPHEADER, c->headers);
    SET(CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    if (q->body.p || strcmp(c->method, "POST") == 0) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.n);
        SET(CURLOPT_POSTFIELDS, q->body.p ? q->body.p : "");
    }
    if (strcmp(c->method, "HEAD") == 0)
        SET(CURLOPT_NOBODY, 1L);
    else
        SET(CURLOPT_CUSTOMREQUEST, c->method);
    if (q->unix_socket)
        SET(CURLOPT_UNIX_SOCKET_PATH, q->unix_socket);
    if (q->no_proxy || q->unix_socket)
        SET(CURLOPT_PROXY, "");
    return !bad;
}

/* A file of certificates stands for the system's directory of them, too. */
static bool set_trust(CURL *h, const struct call *c)
{
    const struct bj_fetch_request *q = c->req;
    bool bad = false;
    if (q->ca_file) {
        SET(CURLOPT_CAINFO, q->ca_file);
        SET(CURLOPT_CAPATH, NULL);
    }
    SET(CURLOPT_SSL_VERIFYPEER, q->insecure ? 0L : 1L);
    SET(CURLOPT_SSL_VERIFYHOST, q->insecure ? 0L : 2L);
    if (c->foreign)
        return !bad;
    if (q->user) {
        SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        SET(CURLOPT_USERNAME, q->user);
        SET(CURLOPT_PASSWORD, q->password ? q->password : "");
    }
    if (q->cert_file) {
        SET(CURLOPT_SSLCERT, q->cert_file);
        SET(CURLOPT_SSLKEY, q->key_file ? q->key_file : q->cert_file);
    }
    return !bad;
}

/* The TLS libraries have different names for a file that can't be read, and
 * don't say which. */
static int check_files(struct call *c)
{
    const struct bj_fetch_request *q = c->req;
    const char *const files[] = {q->ca_file, q->cert_file, q->key_file};
    char words[100];
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (!files[i] || access(files[i], R_OK) == 0)
            continue;
        snprintf(words, sizeof(words), "cannot read %s", files[i]);
        return fail(c, BJ_FETCH_LOCAL, -EACCES, words);
    }
    return 0;
}

/* --- asking ---------------------------------------------------------------*/

/* A TLS library may write to a connection that is gone.  The signal for that is
 * held back, and taken off when it is new. */
static CURLcode perform(CURL *h)
{
    const struct timespec now = {0};
    sigset_t pipe_only, old, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    bool had = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
    CURLcode code = curl_easy_perform(h);
    while (!had && sigtimedwait(&pipe_only, NULL, &now) == SIGPIPE)
        ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code;
}

static int ask_once(struct call *c)
{
    CURL *h = c->f->curl;
    curl_easy_reset(h);
    bj_fetch_reply_reset(c->reply);
    c->f->words[0] = '\0';
    c->got = 0;
    int r = make_headers(c);
    if (r == 0 && !(set_limits(h, c) && set_callbacks(h, c) &&
                    set_request(h, c) && set_trust(h, c)))
        r = -EINVAL;
    if (r < 0)
        return fail(c, BJ_FETCH_LOCAL, r,
                    r == -ENOMEM ? "no memory" : "a bad request");
    CURLcode code = perform(h);
    c->reply->status = status_of(c);
    bj_fetch_read_headers(c->reply);
    if (c->verdict < 0) {
        c->reply->fault = c->fault;
        return c->verdict;
    }
    /* We end failures that have too much to say, see take_words. */
    if (code == CURLE_WRITE_ERROR && !success(c->reply->status))
        code = CURLE_OK;
    return code == CURLE_OK ? 0 : explain(c, code);
}

/* Where the answer sends us, when we go there. */
static const char *redirect(const struct call *c)
{
    const char *to = NULL;
    struct bj_fetch_origin from, there;
    unsigned s = c->reply->status;
    bool moved = s == 301 || s == 302 || s == 303 || s == 307 || s == 308;
    bool safe = strcmp(c->method, "GET") == 0 || strcmp(c->method, "HEAD") == 0;
    if (!moved || !safe)
        return NULL;
    curl_easy_getinfo(c->f->curl, CURLINFO_REDIRECT_URL, &to);
    if (!to || bj_fetch_origin(c->url, &from) < 0 ||
        bj_fetch_origin(to, &there) < 0 || (from.https && !there.https))
        return NULL;
    return c->req->cross_origin || bj_fetch_same_origin(c->url, to) ? to : NULL;
}

static int judge(struct call *c)
{
    char words[64];
    unsigned s = c->reply->status;
    int code = -EREMOTEIO;
    if (success(s))
        return 0;
    if (s == 401 || s == 403)
        code = -EACCES;
    else if (s == 408 || s == 429 || s == 503)
        code = -EAGAIN;
    snprintf(words, sizeof(words), "status %u%s", s,
             s / 100 == 3 ? ", not followed" : "");
    return fail(c, BJ_FETCH_HTTP, code, words);
}

/* Go there next; the old URL is needed until now. */
static int go_to(struct call *c, const char *to)
{
    char *copy = strdup(to);
    if (!copy)
        return fail(c, BJ_FETCH_LOCAL, -ENOMEM, "no memory");
    c->foreign = c->foreign || !bj_fetch_same_origin(c->req->url, to);
    free(c->location);
    c->url = c->location = copy;
    return 0;
}

static int ask(struct call *c)
{
    for (unsigned hop = 0;; hop++) {
        int r = ask_once(c);
        curl_slist_free_all(c->headers);
        c->headers = NULL;
        if (r < 0)
            return r;
        const char *to = hop < c->req->redirects ? redirect(c) : NULL;
        if (!to)
            return judge(c);
        r = go_to(c, to);
        if (r < 0)
            return r;
    }
}

int bj_fetch(struct bj_fetch *f, const struct bj_fetch_request *req,
             struct bj_fetch_reply *reply, struct bj_err *err)
{
    struct bj_err own = {0};
    struct bj_fetch_origin origin;
    struct call c = {
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
        return fail(&c, BJ_FETCH_LOCAL, -EINVAL,
                    "neither http:// nor https:// with a host");
    int r = check_files(&c);
    if (r == 0)
        r = ask(&c);
    /* Nothing of the call may be remembered: headers and words point to it. */
    curl_easy_reset(f->curl);
    free(c.location);
    return r;
}

/* --- the handle -----------------------------------------------------------*/

static void start_libcurl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

int bj_fetch_new(struct bj_fetch **ret, struct bj_err *err)
{
    /* libcurl's own state is started once in a process and never stopped:
     * others may use it, too. */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, start_libcurl) != 0)
        return bj_err_set(err, -ENOSYS, "libcurl does not start");
    struct bj_fetch *f = calloc(1, sizeof(*f));
    if (!f)
        return bj_err_set(err, -ENOMEM, "no memory");
    f->curl = curl_easy_init();
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
    curl_easy_cleanup(f->curl);
    free(f);
}
