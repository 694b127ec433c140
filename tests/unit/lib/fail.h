/* Fault injection for memory: malloc, calloc and realloc of the whole program
 * and its libraries fail when a test requests it.  Works with the address and
 * thread sanitizers; under valgrind, which replaces malloc, nothing fails. */
#ifndef BJ_TESTS_UNIT_LIB_FAIL_H
#define BJ_TESTS_UNIT_LIB_FAIL_H

#include <stdbool.h>

/* Let n allocations of this thread succeed and the next one fail. */
void bj_fail_after(unsigned long n);

/* The same, but all following allocations fail, too. */
void bj_fail_from(unsigned long n);

/* true: count and fail only allocations of the program's own code, because some
 * shared libraries crash when memory runs out; false: also those of shared
 * libraries. */
void bj_fail_own_code(bool only);

/* Stop failing; returns whether an allocation has failed since the failures
 * were requested. */
bool bj_fail_stop(void);

/* Let n allocations of all threads together succeed and the next one fail, and
 * all following ones if forever.  The request lasts until the process ends, and
 * bj_fail_own_code applies to all threads. */
void bj_fail_everywhere(unsigned long n, bool forever);

/* The number of allocations since bj_fail_everywhere. */
unsigned long bj_fail_count(void);

/* Does fault injection work in this process? */
bool bj_fail_works(void);

/* Neither count nor fail allocations of this thread until on is false, for a
 * simulated host. */
void bj_fail_pause(bool on);

/* Call run(arg) repeatedly and let its first allocation fail, then its second,
 * and so on until no allocation is left to fail; first with a single failure
 * each, then with all following allocations failing, too.  run returns 0 on
 * success and -ENOMEM when memory was short; another result, or success despite
 * a failure, fails the test.  Returns the number of allocations in one run. */
unsigned long bj_fail_each(int (*run)(void *arg), void *arg);

#endif
