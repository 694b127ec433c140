/* Waiting for another thread, until a deadline on the boot clock. */
#ifndef BJ_BASE_WAIT_H
#define BJ_BASE_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Initialise a lock and a condition on CLOCK_MONOTONIC; -ENOMEM. */
int bj_wait_init(pthread_mutex_t *lock, pthread_cond_t *cond);
void bj_wait_destroy(pthread_mutex_t *lock, pthread_cond_t *cond);

/* Initialise only the condition, for an existing lock. */
int bj_wait_cond_init(pthread_cond_t *cond);

/* Wait until the condition is signalled or bj_clock_boot_usec() reaches
 * when_usec (UINT64_MAX: no deadline).  May return early, as
 * pthread_cond_wait() does.  False once the deadline has passed; a deadline in
 * the past returns at once. */
bool bj_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                   uint64_t when_usec);

#endif
