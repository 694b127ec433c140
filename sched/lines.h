/* Lines out of a text that comes in pieces: inside of sched/. */
#ifndef BJ_SCHED_LINES_H
#define BJ_SCHED_LINES_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise, set max; free with bj_lines_free. */
struct bj_lines {
    size_t max;     /* bytes of a line, at most */
    uint64_t line;  /* number of the line handed out last, from 1 */
    uint64_t bytes; /* put in so far */

    /* inside */
    struct bj_buf buf;
    size_t at;       /* behind what was handed out */
    size_t searched; /* from at on: no newline before this */
    bool skipping;   /* the rest of a line that is too long */
};

enum bj_lines_found {
    BJ_LINES_MORE, /* no whole line: put in more */
    BJ_LINES_LINE, /* a line, without its newline */
    BJ_LINES_LONG, /* the first max bytes of one that is longer */
};

/* Take up to 64 KiB off *piece; all that was handed out is gone then.  False
 * when memory is out. */
bool bj_lines_put(struct bj_lines *l, struct bj_slice *piece);

/* The next line; good until the next bj_lines_put. */
enum bj_lines_found bj_lines_next(struct bj_lines *l, struct bj_slice *ret);

/* Bytes behind the last newline. */
size_t bj_lines_rest(const struct bj_lines *l);

void bj_lines_free(struct bj_lines *l);

#endif
