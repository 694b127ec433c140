/* The host that the core runs in: threads and log lines. */
#ifndef BJ_STANDALONE_HOST_H
#define BJ_STANDALONE_HOST_H

#include "core/host.h"

#include <stdint.h>

enum { BJ_FOLD_BYTES = 512 };

/* Lines that repeat are folded: a line that is the same as the one before, and
 * comes within a minute of it, is only counted, and the count is logged when
 * another line comes. */
struct bj_fold {
    pthread_mutex_t lock;
    char last[BJ_FOLD_BYTES];
    enum bj_log_level level;
    uint64_t since_usec; /* boot clock, when last was logged */
    uint64_t repeats;
};
#define BJ_FOLD_INIT                                                           \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER                                      \
    }

/* A host that logs through fold, which must outlive it.  Its threads have all
 * signals blocked and small stacks. */
struct bj_host bj_host_make(struct bj_fold *fold);

#endif
