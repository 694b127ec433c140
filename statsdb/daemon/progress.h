/* Progress of an import: a bar on a terminal, else a line in the log from time
 * to time. */
#ifndef BJ_STATSDB_DAEMON_PROGRESS_H
#define BJ_STATSDB_DAEMON_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise, with a name. */
struct bj_progress {
    const char *name;
    bool terminal; /* draw on standard error */
    bool drawn;    /* a bar is on the screen */
    uint64_t begin_usec, logged_usec;
    uint64_t lines;
    unsigned first, done; /* thousandths: at the start, now */
};

/* Format the progress: "[=====>    ]  52 %  123456 lines/s  3m left  alpha" for
 * a terminal, "alpha: 52 % imported, 123456 lines/s, 3m left" for the log.
 * Returns buf, terminated. */
const char *bj_progress_text(const struct bj_progress *p, uint64_t now_usec,
                             char *buf, size_t cap);

/* Add lines; done: thousandths of everything, now_usec: boot clock. Logs the
 * progress when due, and the end once. */
void bj_progress_add(struct bj_progress *p, uint64_t lines, unsigned done,
                     uint64_t now_usec);

/* Remove the bar from the screen, before other output is printed. */
void bj_progress_clear(struct bj_progress *p);

#endif
