/* Which stretch of time a source is to be asked about next.
 *
 * What has been read is one stretch, [from, to).  It grows at its new end with
 * time, and at its old end until it reaches back as far as is wanted; the new
 * end goes first.  Each question about the new end begins a while before it, as
 * databases of schedulers get their last word late. */
#ifndef BJ_STATSDB_WINDOW_H
#define BJ_STATSDB_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* What has been read; from == to: nothing yet. */
struct bj_covered {
    int64_t from_sec, to_sec;
};

struct bj_window_rules {
    int64_t since_sec;    /* how far back */
    int64_t overlap_sec;  /* before the new end */
    int64_t slice_sec;    /* most that is asked for at a time */
    int64_t interval_sec; /* between questions about the new end */
};

struct bj_window {
    int64_t start_sec, end_sec; /* to ask for */
    struct bj_covered after;    /* what is covered when that went well */
    bool backfill;              /* at the old end */
};

/* The next question at this time; false when there is nothing to be asked yet.
 * When the clock has been set back, what lies in the future is kept, and the
 * time since then is asked for again. */
bool bj_window_next(const struct bj_window_rules *rules,
                    const struct bj_covered *covered, int64_t now_sec,
                    struct bj_window *ret);

/* Is so much asked for that it is to be put in bulk (statsdb/upsert.h)?  What
 * comes at the new end while all runs well is not. */
bool bj_window_bulk(const struct bj_window_rules *rules,
                    const struct bj_window *w);

/* How much of the way back has been gone, in thousandths. */
unsigned bj_window_done(const struct bj_window_rules *rules,
                        const struct bj_covered *covered);

#endif
