#include "base/fetch_priv.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
