#include "base/clock.h"

#include <time.h>

static uint64_t clock_usec(clockid_t id)
{
    struct timespec t = {0};
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t bj_clock_boot_usec(void)
{
    return clock_usec(CLOCK_BOOTTIME);
}

uint64_t bj_clock_awake_usec(void)
{
    return clock_usec(CLOCK_MONOTONIC);
}

uint64_t bj_clock_wall_usec(void)
{
    return clock_usec(CLOCK_REALTIME);
}
