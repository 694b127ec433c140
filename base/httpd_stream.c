/* Responses that arrive in pieces from another thread.  While there is no
 * piece, the connection is suspended. */
#include "base/httpd_conn.h"
#include "base/stream.h"

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct bj_httpd_conn *c = cls;
    (void)pos;
    if (c->phase == BJ_HTTPD_CLOSED)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    long n = bj_stream_take(c->stream, buf, max);
    if (n == BJ_STREAM_END)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n == 0) {
        c->suspended = true;
        MHD_suspend_connection(c->mhd);
    }
    return n;
}

/* The library is done with the response. */
static void release_stream(void *cls)
{
    struct bj_httpd_conn *c = cls;
    struct bj_stream *s = c->stream;
    c->stream = NULL;
    bj_stream_close(s);
}

struct MHD_Response *bj_httpd_stream_build(struct bj_httpd_conn *c,
                                           const struct bj_http_reply *r)
{
    c->stream = r->stream;
    struct MHD_Response *m = MHD_create_response_from_callback(
        r->stream_bytes ? r->stream_bytes : MHD_SIZE_UNKNOWN,
        bj_stream_block(r->stream), read_stream, c, release_stream);
    if (!m)
        release_stream(c);
    return m;
}

void bj_httpd_resume(struct bj_httpd *h)
{
    struct bj_httpd_link *end = &h->list[BJ_HTTPD_STREAM], *l = end->next,
                         *next;
    for (; l != end; l = next) {
        struct bj_httpd_conn *c = (struct bj_httpd_conn *)l;
        next = l->next;
        if (!c->stream)
            continue;
        bool ended = bj_stream_has_ended(c->stream);
        if (c->suspended && bj_stream_is_ready(c->stream))
            bj_httpd_conn_resume(c);
        /* The client gets as long for the rest as for any response. */
        if (ended)
            bj_httpd_conn_move(c, BJ_HTTPD_SEND);
    }
}
