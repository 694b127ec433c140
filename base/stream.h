/* A response in pieces: a bounded pipe from the code that receives it to the
 * HTTP server.  Each side owns one reference; all is for one thread. */
#ifndef BJ_BASE_STREAM_H
#define BJ_BASE_STREAM_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct bj_stream;

/* A stream of at most cap bytes that are not read yet; NULL without memory.
 * wake is called when a full stream has room again, and when the reader closes
 * the stream; it must not call back. */
struct bj_stream *bj_stream_new(size_t cap, void (*wake)(void *ctx), void *ctx);

/* --- the writer ----------------------------------------------------------- */

enum {
    BJ_STREAM_WAITED = 1, /* the reader waits and must be woken */
    BJ_STREAM_FULL = 2    /* a piece of half of cap may find no room: wait */
};

/* Add a piece of at most cap bytes.  -EAGAIN: no room yet, nothing was added;
 * -EPIPE: the reader has closed; -ENOMEM.  Else a mask of the above. */
int bj_stream_put(struct bj_stream *s, struct bj_slice piece);

/* Is it still full (BJ_STREAM_FULL, -EAGAIN)? */
bool bj_stream_is_full(const struct bj_stream *s);

/* Has the reader closed? */
bool bj_stream_is_closed(const struct bj_stream *s);

/* End the stream; complete is false if the rest of the response is missing. s
 * is invalid afterwards. */
void bj_stream_end(struct bj_stream *s, bool complete);

/* --- the reader ----------------------------------------------------------- */

enum { BJ_STREAM_END = -1, BJ_STREAM_BROKEN = -2 };

/* Move at most max bytes to buf.  Returns their number, 0 if there are none
 * yet, or one of the above. */
long bj_stream_take(struct bj_stream *s, char *buf, size_t max);

/* The maximum useful size of one read. */
size_t bj_stream_block(const struct bj_stream *s);

/* Would bj_stream_take() return a value other than 0? */
bool bj_stream_is_ready(const struct bj_stream *s);

/* Has the writer ended? */
bool bj_stream_has_ended(const struct bj_stream *s);

/* Read no more.  s is invalid afterwards. */
void bj_stream_close(struct bj_stream *s);

#endif
