#include "tests/unit/lib/await.h"

#include <time.h>

static uint64_t now_usec(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t await_until(void)
{
    return now_usec() + 60000000;
}

bool await_pause(uint64_t until_usec)
{
    if (now_usec() >= until_usec)
        return false;
    await_random(1000);
    return true;
}

void await_random(unsigned usec)
{
    nanosleep(&(struct timespec){usec / 1000000, usec % 1000000 * 1000L}, NULL);
}
