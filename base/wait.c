#include "base/wait.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

enum { SECOND = 1000000 };

int bj_wait_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr) != 0)
        return -ENOMEM;
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    int e = pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
    return e == 0 ? 0 : -ENOMEM;
}

int bj_wait_init(pthread_mutex_t *lock, pthread_cond_t *cond)
{
    if (bj_wait_cond_init(cond) < 0)
        return -ENOMEM;
    if (pthread_mutex_init(lock, NULL) == 0)
        return 0;
    pthread_cond_destroy(cond);
    return -ENOMEM;
}

void bj_wait_destroy(pthread_mutex_t *lock, pthread_cond_t *cond)
{
    pthread_cond_destroy(cond);
    pthread_mutex_destroy(lock);
}

bool bj_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
                   uint64_t when_usec)
{
    if (when_usec == UINT64_MAX) {
        pthread_cond_wait(cond, lock);
        return true;
    }
    uint64_t now = bj_clock_boot_usec();
    if (when_usec <= now)
        return false;
    /* Conditions know no clock that goes on in suspend: what comes due then is
     * late by the time slept. */
    struct timespec ts;
    uint64_t wait = when_usec - now;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    ts.tv_sec += (time_t)(wait / SECOND);
    ts.tv_nsec += (long)(wait % SECOND) * 1000;
    if (ts.tv_nsec >= 1000 * SECOND) {
        ts.tv_nsec -= 1000 * SECOND;
        ts.tv_sec++;
    }
    return pthread_cond_timedwait(cond, lock, &ts) != ETIMEDOUT;
}
