/* When to try again after failures. */
#ifndef BJ_STATSDB_DAEMON_RETRY_H
#define BJ_STATSDB_DAEMON_RETRY_H

#include <limits.h>
#include <stdint.h>

/* Seconds to wait after one more failure in a row: 60, then twice as long each
 * time, up to an hour. */
static inline uint64_t bj_retry_sec(unsigned *failures)
{
    uint64_t wait = *failures < 6 ? UINT64_C(60) << *failures : 3600;
    *failures += *failures < UINT_MAX;
    return wait;
}

#endif
