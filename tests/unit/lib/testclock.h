/* A clock that a unit test can set.
 *
 * Every unit test is linked with this file: it defines bj_clock_*() and
 * bj_wait_until(), so the linker leaves out base/clock.o and
 * base/wait_until.o, and product code needs no hook.  Until a test calls one of
 * the functions below, the clocks run as they do in the product.
 *
 *     testclock_stop();                     the clocks stand still
 *     start the poller, which waits for its next read in bj_wait_until()
 *     testclock_await(1);                   it waits
 *     testclock_advance(30 * SECOND);       its deadline passes, it wakes up
 *     testclock_await(1);                   it has read and waits again
 *     check what it read
 *     stop the poller
 *     testclock_run();
 *
 * Only these clocks can be set.  Timeouts of poll(), curl and the HTTP server,
 * alarms, file times and time stamps of SQLite stay real.  A test that advances
 * the clock should only move it forward from the present, since some calls
 * compare a deadline with the kernel's own clock (pthread_timedjoin_np()).
 *
 * All functions may be called from any thread. */
#ifndef BJ_TESTS_UNIT_LIB_TESTCLOCK_H
#define BJ_TESTS_UNIT_LIB_TESTCLOCK_H

#include <stdint.h>

/* Stop all clocks at the present time. */
void testclock_stop(void);

/* Stop them and set the boot and the wall clock. */
void testclock_set(uint64_t boot_usec, uint64_t wall_usec);

/* Move all clocks forward and wake the waits whose deadline has passed.  Also
 * for clocks that run: they continue from the new time. */
void testclock_advance(uint64_t usec);

/* The same as in a suspend: the time does not count as awake. */
void testclock_suspend(uint64_t usec);

/* Set the wall clock only, as an administrator or NTP does. */
void testclock_set_wall(uint64_t wall_usec);

/* Wait, 20 s at most, until n threads wait in bj_wait_until(), each without a
 * deadline or for one in the future; fails the test otherwise.  Does not notice
 * that a waiting thread was signalled a moment ago: wait for the effect of a
 * signal instead. */
void testclock_await(unsigned n);

/* The earliest deadline waited for, of the boot clock; UINT64_MAX: none. */
uint64_t testclock_deadline(void);

/* Back to the real clocks. */
void testclock_run(void);

#endif
