#include "base/stream.h"

#include <errno.h>
#include <stdlib.h>

struct bj_stream {
    size_t cap, begin,
        n;        /* n bytes from begin on, wrapping at the end, are unread */
    char *p;      /* cap bytes; NULL before the first piece */
    bool full;    /* the writer waits for room */
    bool waiting; /* the reader found nothing */
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

static void put_bytes(struct bj_stream *s, struct bj_slice piece)
{
    size_t end = (s->begin + s->n) % s->cap;
    size_t first = piece.n < s->cap - end ? piece.n : s->cap - end;
    if (first > 0)
        memcpy(s->p + end, piece.p, first);
    if (piece.n > first)
        memcpy(s->p, piece.p + first, piece.n - first);
    s->n += piece.n;
}

static void take_bytes(struct bj_stream *s, char *buf, size_t n)
{
    size_t first = n < s->cap - s->begin ? n : s->cap - s->begin;
    if (first > 0)
        memcpy(buf, s->p + s->begin, first);
    if (n > first)
        memcpy(buf + first, s->p, n - first);
    s->n -= n;
    s->begin = s->n > 0 ? (s->begin + n) % s->cap : 0;
}

int bj_stream_put(struct bj_stream *s, struct bj_slice piece)
{
    if (s->closed)
        return -EPIPE;
    if (!s->p && !(s->p = malloc(s->cap)))
        return -ENOMEM;
    if (s->n + piece.n > s->cap) {
        s->full = true;
        return -EAGAIN;
    }
    put_bytes(s, piece);
    int ret = s->waiting ? BJ_STREAM_WAITED : 0;
    s->waiting = false;
    s->full = s->n > s->cap / 2;
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
    size_t n = s->n < max ? s->n : max;
    if (n > 0)
        take_bytes(s, buf, n);
    s->waiting = n == 0 && !s->ended;
    /* not after each small read */
    if (s->full && s->n <= s->cap / 4) {
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
    return s->ended || s->n > 0;
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
