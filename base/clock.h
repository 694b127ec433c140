/* Clocks.  Intervals come from CLOCK_BOOTTIME (it goes on during suspend and
 * never jumps); the wall clock is for stamps only. */
#ifndef BJ_BASE_CLOCK_H
#define BJ_BASE_CLOCK_H

#include <stdint.h>

uint64_t bj_clock_boot_usec(void); /* since boot, suspend included */
uint64_t bj_clock_wall_usec(void); /* since 1970, UTC */

#endif
