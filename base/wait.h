/* Waiting for another thread, with a deadline that nobody moves by setting the
 * wall clock. */
#ifndef BJ_BASE_WAIT_H
#define BJ_BASE_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A lock and a condition on the monotonic clock; -ENOMEM. */
int bj_wait_init(pthread_mutex_t *lock, pthread_cond_t *cond);
void bj_wait_destroy(pthread_mutex_t *lock, pthread_cond_t *cond);

/* A condition alone, for a lock that is there. */
int bj_wait_cond_init(pthread_cond_t *cond);

/* Wait until the condition is signalled or bj_clock_boot_usec() shows when_usec
 * (UINT64_MAX: for ever); may return early, as pthread_cond_wait does.  False
 * once the time has come, without waiting when it is past. */
bool bj_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                   uint64_t when_usec);

#endif
