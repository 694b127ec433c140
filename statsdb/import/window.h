/* Chooses the next time window to request from a source.
 *
 * The imported data are one continuous period [from, to). It grows at its new
 * end with time, and at its old end until it reaches the configured history;
 * the new end has priority. Each window at the new end overlaps the imported
 * period, because the databases of schedulers are completed late. */
#ifndef BJ_STATSDB_IMPORT_WINDOW_H
#define BJ_STATSDB_IMPORT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* The imported period; from == to: nothing imported yet. */
struct bj_covered {
    int64_t from_sec, to_sec;
};

struct bj_window_rules {
    int64_t since_sec;    /* how far back */
    int64_t overlap_sec;  /* how far a window at the new end overlaps */
    int64_t slice_sec;    /* longest window */
    int64_t interval_sec; /* between windows at the new end */
};

struct bj_window {
    int64_t start_sec, end_sec; /* to request */
    struct bj_covered after;    /* the covered period after success */
    bool backfill;              /* the window is at the old end */
};

/* Return the next window at this time; false if none is due. After the clock
 * was set back, data in the future are kept, and the time since the new time is
 * requested again. */
bool bj_window_next(const struct bj_window_rules *rules,
                    const struct bj_covered *covered, int64_t now_sec,
                    struct bj_window *ret);

/* Is the window so long that it is imported in bulk mode
 * (statsdb/import/upsert.h)? Regular windows at the new end are not. */
bool bj_window_bulk(const struct bj_window_rules *rules,
                    const struct bj_window *w);

/* The imported part of the history, in thousandths. */
unsigned bj_window_done(const struct bj_window_rules *rules,
                        const struct bj_covered *covered);

#endif
