/* HTTP requests with libcurl. */
#include "base/fetch.h"

#include "base/clock.h"
#include "base/fetch_priv.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

/* --- URLs -----------------------------------------------------------------*/

/* Cut the scheme off; *ret_https. */
static bool cut_scheme(struct bj_slice *s, bool *ret_https)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (unsigned i = 0; i < 2; i++) {
        size_t n = strlen(schemes[i]);
        if (s->n < n || strncasecmp(s->p, schemes[i], n) != 0)
            continue;
        s->p += n;
        s->n -= n;
        *ret_https = i == 1;
        return true;
    }
    return false;
}

/* Cut "user:password@host:port" off; what remains begins with the path. */
static struct bj_slice cut_authority(struct bj_slice *s)
{
    struct bj_slice a = {s->p, 0};
    while (a.n < s->n && !memchr("/?#", s->p[a.n], 3))
        a.n++;
    s->p += a.n;
    s->n -= a.n;
    return a;
}

static struct bj_slice without_user(struct bj_slice authority)
{
    const char *at =
        authority.n > 0 ? memrchr(authority.p, '@', authority.n) : NULL;
    if (at) {
        authority.n -= (size_t)(at + 1 - authority.p);
        authority.p = at + 1;
    }
    return authority;
}

/* "name", "name:port", "[v6]", "[v6]:port". */
static int take_host(struct bj_slice s, struct bj_fetch_origin *o)
{
    bool bracket = s.n > 0 && s.p[0] == '[';
    const char *end = s.n > 0 ? memchr(s.p, bracket ? ']' : ':', s.n) : NULL;
    if (bracket && !end)
        return -EINVAL;
    size_t n = end ? (size_t)(end - s.p) : s.n;
    o->host = (struct bj_slice){s.p + bracket, n - bracket};
    struct bj_slice port = {s.p + n + bracket, s.n - n - bracket};
    o->port = o->https ? 443 : 80;
    if (o->host.n == 0)
        return -EINVAL;
    if (port.n > 1) { /* a colon alone is allowed */
        uint64_t v;
        if (port.p[0] != ':' ||
            bj_slice_u64((struct bj_slice){port.p + 1, port.n - 1}, &v) < 0 ||
            v > 65535)
            return -EINVAL;
        o->port = (unsigned)v;
    }
    return 0;
}

int bj_fetch_origin(const char *url, struct bj_fetch_origin *ret)
{
    struct bj_slice s = bj_slice_str(url);
    struct bj_fetch_origin o = {0};
    if (!cut_scheme(&s, &o.https))
        return -EINVAL;
    int r = take_host(without_user(cut_authority(&s)), &o);
    if (r == 0)
        *ret = o;
    return r;
}

bool bj_fetch_is_clear(const char *url)
{
    struct bj_fetch_origin o;
    struct in_addr v4;
    char host[INET6_ADDRSTRLEN];
    if (bj_fetch_origin(url, &o) < 0 || o.https)
        return false;
    if (o.host.n >= sizeof(host))
        return true;
    snprintf(host, sizeof(host), "%.*s", (int)o.host.n, o.host.p);
    bool loopback = strcasecmp(host, "localhost") == 0 ||
                    strcmp(host, "::1") == 0 ||
                    (inet_pton(AF_INET, host, &v4) == 1 &&
                     ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET);
    return !loopback;
}

int bj_fetch_check(const char *text, struct bj_err *err)
{
    struct bj_fetch_origin o;
    return bj_fetch_origin(text, &o) == 0
               ? 0
               : bj_err_set(err, -EINVAL,
                            "expected http://HOST:PORT or https://HOST:PORT");
}

bool bj_fetch_same_origin(const char *a, const char *b)
{
    struct bj_fetch_origin x, y;
    return bj_fetch_origin(a, &x) == 0 && bj_fetch_origin(b, &y) == 0 &&
           x.https == y.https && x.port == y.port && x.host.n == y.host.n &&
           strncasecmp(x.host.p, y.host.p, x.host.n) == 0;
}

/* A text that is not a URL may be anything, even a password. */
const char *bj_fetch_show(const char *url, char buf[static BJ_FETCH_SHOWN])
{
    struct bj_slice s = bj_slice_str(url);
    bool https;
    size_t n;
    if (!cut_scheme(&s, &https)) {
        memcpy(buf, "(no URL)", 9);
        return buf;
    }
    n = bj_text_clean(bj_slice_str(https ? "https://" : "http://"), buf,
                      BJ_FETCH_SHOWN);
    struct bj_slice host = without_user(cut_authority(&s));
    n += bj_text_clean(host, buf + n, BJ_FETCH_SHOWN - n);
    size_t path = 0;
    while (path < s.n && !memchr("?#", s.p[path], 2))
        path++;
    bj_text_clean((struct bj_slice){s.p, path}, buf + n, BJ_FETCH_SHOWN - n);
    return buf;
}

bool bj_fetch_is_placeholder(const char *url)
{
    const char *host = strstr(url, "://");
    size_t n = 0;
    for (host = host ? host + 3 : url; isupper((unsigned char)host[n]); n++)
        ;
    return n >= 3 && strchr(":/", host[n]);
}

/* --- replies --------------------------------------------------------------*/

enum {
    ERROR_BODY_MAX = 65536,
    HEADERS_MAX = 65536,
    SECOND = 1000000,
    DAY_SEC = 86400
};

const char *bj_fetch_fault_name(enum bj_fetch_fault fault)
{
    static const char *const names[] = {
        [BJ_FETCH_OK] = "ok",           [BJ_FETCH_DNS] = "dns",
        [BJ_FETCH_CONNECT] = "connect", [BJ_FETCH_TLS] = "tls",
        [BJ_FETCH_TIMEOUT] = "timeout", [BJ_FETCH_HTTP] = "http",
        [BJ_FETCH_TOO_BIG] = "too_big", [BJ_FETCH_PROTOCOL] = "protocol",
        [BJ_FETCH_ABORTED] = "aborted", [BJ_FETCH_LOCAL] = "local",
    };
    return names[fault];
}

int bj_fetch_fail(struct bj_fetch_call *c, enum bj_fetch_fault fault, int code,
                  const char *message)
{
    char url[BJ_FETCH_SHOWN], clean[100];
    bj_text_clean(bj_slice_str(message), clean, sizeof(clean));
    c->reply->fault = fault;
    bj_err_set(c->err, code, "%.20s %s: %s%s%s", c->method,
               bj_fetch_show(c->url, url), bj_fetch_fault_name(fault),
               clean[0] ? ": " : "", clean);
    /* The code is only near to the reason, which the message has. */
    if (c->err)
        c->err->explained = clean[0] != '\0';
    return code;
}

void bj_fetch_reply_free(struct bj_fetch_reply *reply)
{
    bj_buf_free(&reply->body);
    bj_buf_free(&reply->headers);
    *reply = (struct bj_fetch_reply){0};
}

/* Empty the reply, keep its memory. */
static void fetch_reply_reset(struct bj_fetch_reply *reply)
{
    bj_buf_reset(&reply->body);
    bj_buf_reset(&reply->headers);
    *reply =
        (struct bj_fetch_reply){.body = reply->body, .headers = reply->headers};
}

int bj_fetch_take_header(struct bj_fetch_reply *reply, struct bj_slice line)
{
    if (bj_slice_starts(line, BJ_SLICE("HTTP/")))
        reply->headers.len = 0;
    if (reply->headers.len + line.n > HEADERS_MAX)
        return -EFBIG;
    bj_buf_slice(&reply->headers, line);
    return reply->headers.failed ? -ENOMEM : 0;
}

struct bj_slice bj_fetch_header(const struct bj_fetch_reply *reply,
                                const char *name)
{
    struct bj_slice rest = {reply->headers.p, reply->headers.len}, line;
    size_t n = strlen(name);
    while (bj_slice_line(&rest, &line)) {
        if (line.n > n && line.p[n] == ':' && strncasecmp(line.p, name, n) == 0)
            return bj_slice_trim(
                (struct bj_slice){line.p + n + 1, line.n - n - 1});
    }
    return (struct bj_slice){0};
}

/* Seconds, or a date.  Source: RFC 9110, 10.2.3. */
static uint64_t retry_after(struct bj_slice s, bj_fetch_date *date)
{
    uint64_t sec;
    char text[64];
    if (s.n == 0 || s.n >= sizeof(text))
        return 0;
    int r = bj_slice_u64(s, &sec);
    if (r == -EINVAL) {
        memcpy(text, s.p, s.n);
        text[s.n] = '\0';
        time_t then = date(text, NULL);
        uint64_t now = bj_clock_wall_usec() / SECOND;
        sec = then > 0 && (uint64_t)then > now ? (uint64_t)then - now : 0;
    }
    if (r == -ERANGE || sec > DAY_SEC)
        sec = DAY_SEC;
    return sec * SECOND;
}

void bj_fetch_read_headers(struct bj_fetch_reply *reply, bj_fetch_date *date)
{
    reply->retry_after_usec =
        retry_after(bj_fetch_header(reply, "Retry-After"), date);
}

/* --- options --------------------------------------------------------------*/

enum { HEADERS = 64, SHORT_BYTES = 1024 };

static bool fits_a_line(const char *s)
{
    return !s || !strpbrk(s, "\r\n");
}

static bool add_header(struct bj_fetch_call *c, const char *text)
{
    struct curl_slist *l = c->f->lib.slist_append(c->headers, text);
    if (l)
        c->headers = l;
    return l != NULL;
}

static bool add_bearer(struct bj_fetch_call *c)
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

/* Default headers first, since libcurl uses the last one.  The Content-Type of
 * a body is JSON unless the headers name another one; for a form libcurl adds
 * it.  A long body is sent without "Expect: 100-continue", which libcurl adds
 * only for long ones. libcurl compares each header of ours with all of its own,
 * so add few. */
int bj_fetch_make_headers(struct bj_fetch_call *c)
{
    const char *const *h = c->req->headers;
    bool typed = c->req->form;
    bool good = c->req->body.n < SHORT_BYTES || add_header(c, "Expect:");
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

static bool set_limits(CURL *h, const struct bj_fetch_call *c)
{
    uint64_t now = bj_clock_boot_usec();
    uint64_t left = c->deadline > now ? c->deadline - now : 1;
    uint64_t connect = c->req->connect_usec ? c->req->connect_usec : 5 * SECOND;
    bool bad = false;
    BJ_FETCH_SET(CURLOPT_TIMEOUT_MS, (long)((left + 999) / 1000));
    BJ_FETCH_SET(CURLOPT_CONNECTTIMEOUT_MS, (long)((connect + 999) / 1000));
    BJ_FETCH_SET(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
    BJ_FETCH_SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    BJ_FETCH_SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x074000
    BJ_FETCH_SET(CURLOPT_HTTP09_ALLOWED, 0L);
#endif
    BJ_FETCH_SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    BJ_FETCH_SET(CURLOPT_FOLLOWLOCATION, 0L);
    return !bad;
}

static bool set_request(CURL *h, const struct bj_fetch_call *c)
{
    const struct bj_fetch_request *q = c->req;
    bool bad = false;
    BJ_FETCH_SET(CURLOPT_URL, c->url);
    BJ_FETCH_SET(CURLOPT_USERAGENT, "batchjob");
    BJ_FETCH_SET(CURLOPT_HTTPHEADER, c->headers);
    BJ_FETCH_SET(CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    if (q->body.p || strcmp(c->method, "POST") == 0) {
        BJ_FETCH_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.n);
        BJ_FETCH_SET(CURLOPT_POSTFIELDS, q->body.p ? q->body.p : "");
    }
    if (strcmp(c->method, "HEAD") == 0)
        BJ_FETCH_SET(CURLOPT_NOBODY, 1L);
    else
        BJ_FETCH_SET(CURLOPT_CUSTOMREQUEST, c->method);
    if (q->unix_socket)
        BJ_FETCH_SET(CURLOPT_UNIX_SOCKET_PATH, q->unix_socket);
    if (q->no_proxy || q->unix_socket)
        BJ_FETCH_SET(CURLOPT_PROXY, "");
    return !bad;
}

/* A CA file also replaces the system's directory of certificates. */
static bool set_trust(CURL *h, const struct bj_fetch_call *c)
{
    const struct bj_fetch_request *q = c->req;
    bool bad = false;
    if (q->ca_file) {
        BJ_FETCH_SET(CURLOPT_CAINFO, q->ca_file);
        BJ_FETCH_SET(CURLOPT_CAPATH, NULL);
    }
    BJ_FETCH_SET(CURLOPT_SSL_VERIFYPEER, q->insecure ? 0L : 1L);
    BJ_FETCH_SET(CURLOPT_SSL_VERIFYHOST, q->insecure ? 0L : 2L);
    if (c->foreign)
        return !bad;
    if (q->user) {
        BJ_FETCH_SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        BJ_FETCH_SET(CURLOPT_USERNAME, q->user);
        BJ_FETCH_SET(CURLOPT_PASSWORD, q->password ? q->password : "");
    }
    if (q->cert_file) {
        BJ_FETCH_SET(CURLOPT_SSLCERT, q->cert_file);
        BJ_FETCH_SET(CURLOPT_SSLKEY, q->key_file ? q->key_file : q->cert_file);
    }
    return !bad;
}

/* access(2) would ignore the capabilities of the process. */
static int try_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

/* TLS libraries report an unreadable file with different codes and without its
 * name. */
int bj_fetch_check_files(struct bj_fetch_call *c)
{
    const struct bj_fetch_request *q = c->req;
    const char *const files[] = {q->ca_file, q->cert_file, q->key_file};
    char message[160], why[64];
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        int r = files[i] ? try_open(files[i]) : 0;
        if (r == 0)
            continue;
        snprintf(message, sizeof(message), "%s, cannot read %.90s",
                 strerror_r(-r, why, sizeof(why)), files[i]);
        return bj_fetch_fail(c, BJ_FETCH_LOCAL, -EACCES, message);
    }
    return 0;
}

bool bj_fetch_set_options(struct bj_fetch_call *c)
{
    CURL *h = c->f->curl;
    return set_limits(h, c) && set_request(h, c) && set_trust(h, c);
}

/* --- requests -------------------------------------------------------------*/

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

static int fetch_on_progress(void *call, curl_off_t dt, curl_off_t dn,
                             curl_off_t ut, curl_off_t un)
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
    BJ_FETCH_SET(CURLOPT_XFERINFOFUNCTION, fetch_on_progress);
    BJ_FETCH_SET(CURLOPT_XFERINFODATA, c);
    BJ_FETCH_SET(CURLOPT_NOPROGRESS, 0L);
    BJ_FETCH_SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    return !bad;
}

static int send_once(struct bj_fetch_call *c)
{
    CURL *h = c->f->curl;
    c->f->lib.easy_reset(h);
    fetch_reply_reset(c->reply);
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
    fetch_reply_reset(reply);
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
