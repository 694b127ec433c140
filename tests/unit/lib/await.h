/* Polling for conditions that give no event, such as the state of another
 * process or a value that a thread of the product has read.  Checks every
 * millisecond, for one minute at most, by the real clock. */
#ifndef BJ_TESTS_UNIT_LIB_AWAIT_H
#define BJ_TESTS_UNIT_LIB_AWAIT_H

#include <stdbool.h>
#include <stdint.h>

/* Wait until the condition is true; fails the test with the text of the
 * condition otherwise. */
#define AWAIT(condition) AWAIT_STEP((void)0, condition)

/* The same, with a step before each check, such as a pass of the core. */
#define AWAIT_STEP(step, condition)                                            \
    do {                                                                       \
        const uint64_t until_ = await_until();                                 \
        while ((step), !(condition))                                           \
            if (!await_pause(until_))                                          \
                fail_msg("not within a minute: %s", #condition);               \
    } while (0)

/* The deadline: one minute from now, in microseconds of CLOCK_MONOTONIC. */
uint64_t await_until(void);

/* Sleep for a millisecond; returns false at once when the deadline has
 * passed. */
bool await_pause(uint64_t until_usec);

/* Sleep for usec microseconds, for tests of races and of kills at random
 * moments. */
void await_random(unsigned usec);

#endif
