/* Apart from base/wait.c so that unit tests can replace it. */
#include "base/clock.h"
#include "base/wait.h"

#include <errno.h>
#include <time.h>

enum { SECOND = 1000000 };

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
    /* No condition can wait on the boot clock: after a suspend the deadline is
     * late by the time of the suspend. */
    uint64_t end = bj_clock_awake_usec() + (when_usec - now);
    struct timespec ts = {(time_t)(end / SECOND), (long)(end % SECOND) * 1000};
    return pthread_cond_timedwait(cond, lock, &ts) != ETIMEDOUT;
}
