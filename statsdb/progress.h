/* How far an import has got, for people: a bar that is drawn over on a
 * terminal, else a line in the log now and then. */
#ifndef BJ_STATSDB_PROGRESS_H
#define BJ_STATSDB_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise, with what says whose it is. */
struct bj_progress {
    const char *name;
    bool terminal; /* draw on standard error */
    bool drawn;    /* a bar is on the screen */
    uint64_t begin_usec, told_usec;
    uint64_t lines;
    unsigned first, done; /* thousandths: at the beginning, now */
};

/* The bar as text: "[=====>    ]  52 %   123456 lines/s   3m left   alpha".
 * Returns buf, terminated. */
const char *bj_progress_text(const struct bj_progress *p, uint64_t now_usec,
                             char *buf, size_t cap);

/* Add lines that were read; done is thousandths of everything, now_usec the
 * boot clock.  Logs the progress when due. */
void bj_progress_add(struct bj_progress *p, uint64_t lines, unsigned done,
                     uint64_t now_usec);

/* Take the bar off the screen, before something else is printed there. */
void bj_progress_clear(struct bj_progress *p);

#endif
