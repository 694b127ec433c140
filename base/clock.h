/* Clocks.  Intervals come from the boot clock, which continues during suspend
 * and never jumps; the wall clock is for time stamps only.  No other file reads
 * a clock: unit tests replace these functions (tests/unit/lib/testclock.h). */
#ifndef BJ_BASE_CLOCK_H
#define BJ_BASE_CLOCK_H

#include <stdint.h>

uint64_t bj_clock_boot_usec(void);  /* since boot, suspend included */
uint64_t bj_clock_awake_usec(void); /* since boot, suspend excluded */
uint64_t bj_clock_wall_usec(void);  /* since 1970, UTC */

#endif
