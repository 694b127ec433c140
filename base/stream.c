#include "base/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct bj_stream {
    pthread_mutex_t lock;
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
    pthread_mutex_init(&s->lock, NULL);
    s->cap = cap;
    s->wake = wake;
    s->ctx = ctx;
    return s;
}

/* Leave the lock; the last side frees the stream. */
static void leave(struct bj_stream *s)
{
    bool last = s->ended && s->closed;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s->p);
    free(s);
}

static int put(struct bj_stream *s, struct bj_slice piece)
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

int bj_stream_put(struct bj_stream *s, struct bj_slice piece)
{
    pthread_mutex_lock(&s->lock);
    int r = put(s, piece);
    pthread_mutex_unlock(&s->lock);
    return r;
}

bool bj_stream_is_full(struct bj_stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool full = s->full;
    pthread_mutex_unlock(&s->lock);
    return full;
}

bool bj_stream_is_closed(struct bj_stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool closed = s->closed;
    pthread_mutex_unlock(&s->lock);
    return closed;
}

void bj_stream_end(struct bj_stream *s, bool complete)
{
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    s->complete = complete;
    leave(s);
}

long bj_stream_take(struct bj_stream *s, char *buf, size_t max)
{
    pthread_mutex_lock(&s->lock);
    size_t n = s->end - s->begin;
    n = n < max ? n : max;
    if (n > 0)
        memcpy(buf, s->p + s->begin, n);
    s->begin += n;
    /* not for each small read */
    bool wake = s->full && s->end - s->begin <= s->cap / 4;
    s->full = s->full && !wake;
    s->waiting = n == 0 && !s->ended;
    long r = n > 0         ? (long)n
             : !s->ended   ? 0
             : s->complete ? BJ_STREAM_END
                           : BJ_STREAM_BROKEN;
    pthread_mutex_unlock(&s->lock);
    if (wake)
        s->wake(s->ctx);
    return r;
}

size_t bj_stream_block(const struct bj_stream *s)
{
    return s->cap / 2;
}

bool bj_stream_is_ready(struct bj_stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool ready = s->ended || s->end > s->begin;
    pthread_mutex_unlock(&s->lock);
    return ready;
}

bool bj_stream_has_ended(struct bj_stream *s)
{
    pthread_mutex_lock(&s->lock);
    bool ended = s->ended;
    pthread_mutex_unlock(&s->lock);
    return ended;
}

void bj_stream_close(struct bj_stream *s)
{
    pthread_mutex_lock(&s->lock);
    void (*wake)(void *ctx) = s->wake;
    void *ctx = s->ctx;
    bool ended = s->ended;
    s->closed = true;
    leave(s);
    if (!ended)
        wake(ctx);
}
