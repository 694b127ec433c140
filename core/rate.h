/* How fast a counter of a job grows, for dialects that report a rate instead of
 * the counter.  Internal to the core. */
#ifndef BJ_CORE_RATE_H
#define BJ_CORE_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* A window is closed by the first reading that is at least so much later than
 * the one that began it.  Readings in between change nothing: those of several
 * scrapers, or two in a row, make neither noise nor one another's windows
 * short.  Below the shortest interval at which such exporters are used, 15 s.
 */
enum { BJ_RATE_USEC = 10 * 1000 * 1000 };

/* Zero-initialise. */
struct bj_rate {
    uint64_t now_usec, counter; /* where the window began; 0: nowhere yet */
    uint64_t ppm;               /* of the last window that was closed */
    bool known;                 /* there has been one */
};

/* A reading of the counter, whose unit is microseconds; BJ_ABSENT where it
 * could not be read.  After such a reading, or one that is lower than the last,
 * it starts again. */
void bj_rate_note(struct bj_rate *r, uint64_t now_usec, uint64_t counter);

/* Millionths of a second a second: 1000000 is one CPU in use all the time.
 * BJ_ABSENT until a window has been closed. */
uint64_t bj_rate_ppm(const struct bj_rate *r);

#endif
