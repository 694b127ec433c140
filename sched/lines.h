/* Lines out of a text that comes in pieces: inside of sched/. */
#ifndef BJ_SCHED_LINES_H
#define BJ_SCHED_LINES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise, set max and what; free with bj_lines_free. */
struct bj_lines {
    size_t max;       /* bytes of a line, at most */
    const char *what; /* for messages: "lsb.acct" */
    uint64_t line;    /* number of the line handed out last, from 1 */

    /* inside */
    struct bj_buf buf;
    size_t at;            /* behind what was handed out */
    size_t searched;      /* from at on: no newline before this */
    bool skipping;        /* the rest of a line that is too long */
    struct bj_err failed; /* what made the reading end */
};

/* All of a piece, line by line, without their newlines; of one that is too long
 * the first max bytes (cut).  -ENOMEM, or what take returns, which ends the
 * reading: it is the answer from then on. */
int bj_lines_feed(struct bj_lines *l, struct bj_slice piece,
                  int (*take)(void *ctx, struct bj_slice line, bool cut,
                              struct bj_err *err),
                  void *ctx, struct bj_err *err);

/* The text is over: what made the reading end, if anything.  *ret_rest (may be
 * NULL): bytes behind the last newline, which were not taken. */
int bj_lines_end(const struct bj_lines *l, size_t *ret_rest,
                 struct bj_err *err);

void bj_lines_free(struct bj_lines *l);

#endif
