#include "apiserver/frame/encode.h"

#include "apiserver/access/peer.h"
#include "apiserver/frame/state.h"
#include "base/accept.h"
#include "base/gzip.h"

#include <inttypes.h>
#include <stdio.h>

#if __has_include(<xxhash.h>)
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Make a weak tag, because the compressed response has the same one. */
static bool make_tag(const struct bj_buf *body, char tag[BJ_TAG_BYTES])
{
    snprintf(tag, BJ_TAG_BYTES, "W/\"%016" PRIx64 "\"",
             (uint64_t)XXH3_64bits(body->p, body->len));
    return true;
}
#else
static bool make_tag(const struct bj_buf *body, char tag[BJ_TAG_BYTES])
{
    (void)body, (void)tag;
    return false;
}
#endif

enum { GZIP_BYTES = 1400 }; /* smaller responses fit into one packet */

/* Does If-None-Match contain the tag?  Weak comparison: "W/" is ignored. */
static bool client_has(const struct bj_call *c)
{
    struct bj_slice known = bj_http_header(c->req, "If-None-Match");
    struct bj_slice tag = bj_slice_str(c->tag + 2);
    return known.p && memmem(known.p, known.n, tag.p, tag.n);
}

static bool is_text(const char *type)
{
    return strncmp(type, "text/", 5) == 0 || strstr(type, "json") ||
           strstr(type, "svg");
}

static void compress(struct bj_call *c)
{
    struct bj_httpd *httpd = c->worker->httpd;
    struct bj_buf *body = &c->reply->body;
    struct bj_buf packed = bj_httpd_buf(httpd, body->len / 4);
    struct bj_gzip *gzip = NULL;
    int r = bj_gzip_pack(&gzip, (struct bj_slice){body->p, body->len}, &packed);
    bj_gzip_free(gzip);
    if (r < 0) { /* out of memory: send it uncompressed */
        bj_httpd_buf_return(httpd, &packed);
        return;
    }
    bj_httpd_buf_return(httpd, body);
    *body = packed;
    bj_call_header(c, "Content-Encoding", "gzip");
}

void bj_encode(struct bj_call *c)
{
    struct bj_http_reply *r = c->reply;
    if (r->status != 200 || r->body.failed || r->body.len == 0)
        return;
    if (c->req->method != BJ_HTTP_POST && make_tag(&r->body, c->tag)) {
        bj_call_header(c, "Cache-Control", "private, no-cache");
        bj_call_header(c, "ETag", c->tag);
        if (client_has(c)) {
            r->status = 304;
            r->body.len = 0;
            return;
        }
    }
    if (!is_text(r->type))
        return;
    bj_call_header(c, "Vary", "Accept-Encoding");
    if (r->body.len > GZIP_BYTES &&
        bj_accept_gzip(bj_http_header(c->req, "Accept-Encoding")) &&
        !bj_peer_is_local(c->req))
        compress(c);
}
