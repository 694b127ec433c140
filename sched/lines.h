/* Lines of a text that arrives in pieces.  Private to sched/. */
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
    size_t max;       /* most bytes of a line */
    const char *what; /* for messages: "lsb.acct" */
    uint64_t line;    /* number of the last line, from 1 */

    /* private */
    struct bj_buf buf;
    size_t at;            /* after the last line */
    size_t searched;      /* no newline between at and this */
    bool skipping;        /* the rest of a line that is too long */
    struct bj_err failed; /* why the reading ended */
};

/* Read all lines of a piece, without their newlines; of a line that is too long
 * only the first max bytes (cut).  -ENOMEM, or a negative result of take, which
 * ends the reading; later calls return it again. */
int bj_lines_feed(struct bj_lines *l, struct bj_slice piece,
                  int (*take)(void *ctx, struct bj_slice line, bool cut,
                              struct bj_err *err),
                  void *ctx, struct bj_err *err);

/* The text has ended: return why the reading ended earlier, if it did.
 * *ret_rest (may be NULL): bytes after the last newline, which were not read.
 */
int bj_lines_end(const struct bj_lines *l, size_t *ret_rest,
                 struct bj_err *err);

void bj_lines_free(struct bj_lines *l);

#endif
