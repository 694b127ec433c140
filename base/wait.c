#include "base/wait.h"

#include <errno.h>
#include <time.h>

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
