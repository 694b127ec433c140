/* Want of memory on demand: malloc, calloc and realloc of the whole program,
 * its libraries included, fail when a test asks for it.  Works together with
 * the address and thread sanitizers; under valgrind, which has its own malloc,
 * nothing fails. */
#ifndef BJ_TESTS_UNIT_LIB_FAIL_H
#define BJ_TESTS_UNIT_LIB_FAIL_H

#include <stdbool.h>

/* Let n allocations of this thread succeed and the next one fail. */
void bj_fail_after(unsigned long n);

/* The same, but all that follow fail, too. */
void bj_fail_from(unsigned long n);

/* Count and fail only what the program's own code asks for, from now on, or
 * what shared libraries do as well: some of them do not survive it. */
void bj_fail_ours(bool only);

/* No more failures; true when there was one since it was asked for. */
bool bj_fail_stop(void);

/* Whether asking for failures has an effect in this process. */
bool bj_fail_works(void);

/* Call run(arg) without memory at its first allocation, at its second and so on
 * until it needs no more, once with a single failure and once with lasting
 * ones.  run returns 0 on success and -ENOMEM when memory was short; anything
 * else, or success in spite of a failure, ends the test.  Returns the number
 * of allocations that a run needs. */
unsigned long bj_fail_each(int (*run)(void *arg), void *arg);

#endif
