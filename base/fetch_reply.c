#include "base/clock.h"
#include "base/fetch_priv.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>
#include <time.h>

enum { HEADERS_MAX = 65536, SECOND = 1000000, DAY_SEC = 86400 };

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

void bj_fetch_reply_reset(struct bj_fetch_reply *reply)
{
    reply->body.len = reply->headers.len = 0;
    reply->body.failed = reply->headers.failed = false;
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
