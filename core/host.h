/* The functions that the core needs from its program, its host.
 * docs/architecture.md, "Add a host". */
#ifndef BJ_CORE_HOST_H
#define BJ_CORE_HOST_H

#include "base/err.h"
#include "base/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A host.  ctx is passed to the functions, which must work from any thread. */
struct bj_host {
    void *ctx;
    /* Start a thread.  collectd needs plugin_thread_create; programs of their
     * own use bj_host_make.  0 or -errno. */
    int (*thread)(void *ctx, pthread_t *ret, void *(*fn)(void *), void *arg,
                  const char *name);
    /* Write a line to the log; msg contains no newline.  The core calls this
     * for a fault once, not at every pass. */
    void (*log)(void *ctx, enum bj_log_level level, const char *msg);
    bool debug; /* lines of level debug are wanted */
};

/* Log a line: the message, and after it ": " and the text of err, if that is
 * not NULL.  At most 1400 bytes. */
void bj_host_log(const struct bj_host *host, enum bj_log_level level,
                 const struct bj_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* --- the host of a program of its own ------------------------------------- */

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

/* A host that logs to standard error (base/log.h) through repeats, which must
 * outlive it.  Its threads block all signals and have small stacks. */
struct bj_host bj_host_make(struct bj_log_repeats *repeats);

#endif
