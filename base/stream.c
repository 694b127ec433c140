#include "base/stream.h"

#include <errno.h>
#include <stdlib.h>

struct bj_stream {
    size_t cap, begin, end; /* bytes begin to end of p are not read yet */
    char *p;                /* cap bytes; NULL before the first piece */
    bool full;              /* the writer waits for room */
    bool waiting;           /* the reader found nothing */
    bool ended, complete, closed;
    void (*wake)(void *ctx);
    void *ctx;
};

struct bj_stream *bj_stream_new(size_t cap, void (*wake)(void *ctx), void *ctx)
{
    struct bj_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->cap = cap;
    s->wake = wake;
    s->ctx = ctx;
    return s;
}

/* The last side frees the stream. */
static void leave(struct bj_stream *s)
{
    if (!s->ended || !s->closed)
        return;
    free(s->p);
    free(s);
}

int bj_stream_put(struct bj_stream *s, struct bj_slice piece)
{
    if (s->closed)
        return -EPIPE;
    if (!s->p && !(s->p = malloc(s->cap)))
        return -ENOMEM;
    if (s->end - s->begin + piece.n > s->cap) {
        s->full = true;
        return -EAGAIN;
    }
    if (s->end + piece.n > s->cap) {
        memmove(s->p, s->p + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
    }
    if (piece.n > 0)
        memcpy(s->p + s->end, piece.p, piece.n);
    s->end += piece.n;
    int ret = s->waiting ? BJ_STREAM_WAITED : 0;
    s->waiting = false;
    s->full = s->end - s->begin > s->cap / 2;
    return ret | (s->full ? BJ_STREAM_FULL : 0);
}

bool bj_stream_is_full(const struct bj_stream *s)
{
    return s->full;
}

bool bj_stream_is_closed(const struct bj_stream *s)
{
    return s->closed;
}

void bj_stream_end(struct bj_stream *s, bool complete)
{
    s->ended = true;
    s->complete = complete;
    leave(s);
}

long bj_stream_take(struct bj_stream *s, char *buf, size_t max)
{
    size_t n = s->end - s->begin;
    n = n < max ? n : max;
    if (n > 0)
        memcpy(buf, s->p + s->begin, n);
    s->begin += n;
    if (s->begin == s->end)
        s->begin = s->end = 0;
    s->waiting = n == 0 && !s->ended;
    /* not for each small read */
    if (s->full && s->end - s->begin <= s->cap / 4) {
        s->full = false;
        s->wake(s->ctx);
    }
    return n > 0         ? (long)n
           : !s->ended   ? 0
           : s->complete ? BJ_STREAM_END
                         : BJ_STREAM_BROKEN;
}

size_t bj_stream_block(const struct bj_stream *s)
{
    return s->cap / 2;
}

bool bj_stream_is_ready(const struct bj_stream *s)
{
    return s->ended || s->end > s->begin;
}

bool bj_stream_has_ended(const struct bj_stream *s)
{
    return s->ended;
}

void bj_stream_close(struct bj_stream *s)
{
    s->closed = true;
    if (!s->ended)
        s->wake(s->ctx);
    leave(s);
}
