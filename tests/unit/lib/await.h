/* Waiting for what has no event that a test could wait for: the state of
 * another process, a value that a thread of the product has read.  Checks every
 * millisecond, for a minute at most, by the real clock. */
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

/* When to give up: a minute from now, in microseconds of CLOCK_MONOTONIC. */
uint64_t await_until(void);

/* Pause for a millisecond; false, without a pause, when it is too late. */
bool await_pause(uint64_t until_usec);

/* A pause of that many microseconds, for tests of races and kills at random
 * moments. */
void await_random(unsigned usec);

#endif
