/* The host that the core runs in: threads and log lines. */
#ifndef BJ_STANDALONE_HOST_H
#define BJ_STANDALONE_HOST_H

#include "core/host.h"

#include <stdint.h>

enum { BJ_LOG_REPEATS_BYTES = 512 };

/* Counts repeated log lines: a line equal to the one before, within a minute of
 * it, is counted instead of logged.  The count is logged before the next
 * different line. */
struct bj_log_repeats {
    pthread_mutex_t lock;
    char last[BJ_LOG_REPEATS_BYTES];
    enum bj_log_level level;
    uint64_t since_usec; /* boot clock, when last was logged */
    uint64_t repeats;
};
#define BJ_LOG_REPEATS_INIT                                                    \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER                                      \
    }

/* A host that logs through repeats, which must outlive it.  Its threads block
 * all signals and have small stacks. */
struct bj_host bj_host_make(struct bj_log_repeats *repeats);

#endif
