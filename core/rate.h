/* The rate at which a counter of a job grows, for dialects that report a rate
 * instead of the counter.  Internal to the core. */
#ifndef BJ_CORE_RATE_H
#define BJ_CORE_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* A reading at least this much later than the start of a window closes it.
 * Readings in between have no effect, so that several scrapers, or two readings
 * in a row, neither cause noise nor shorten each other's windows.  It is less
 * than the shortest interval at which such exporters are used, 15 s. */
enum { BJ_RATE_USEC = 10 * 1000 * 1000 };

/* Zero-initialise. */
struct bj_rate {
    uint64_t now_usec, counter; /* start of the window; 0: no window yet */
    uint64_t ppm;               /* rate in the last closed window */
    bool known;                 /* a window was closed */
};

/* Add a reading of the counter, in microseconds; BJ_ABSENT: it could not be
 * read.  After BJ_ABSENT, or a value below the last one, measuring starts
 * again. */
void bj_rate_note(struct bj_rate *r, uint64_t now_usec, uint64_t counter);

/* The rate in microseconds per second: 1000000 is one CPU in continuous use.
 * BJ_ABSENT before the first window is closed. */
uint64_t bj_rate_ppm(const struct bj_rate *r);

#endif
