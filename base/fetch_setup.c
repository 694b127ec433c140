#include "base/clock.h"
#include "base/fetch_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { SECOND = 1000000, HEADERS = 64, SHORT_BYTES = 1024 };

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
