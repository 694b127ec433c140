/* The functions that the core needs from its program. */
#ifndef BJ_CORE_HOST_H
#define BJ_CORE_HOST_H

#include "base/err.h"
#include "base/log.h"

#include <pthread.h>
#include <stdbool.h>

/* A host.  ctx is passed to the functions, which must work from any thread. */
struct bj_host {
    void *ctx;
    /* Start a thread.  collectd needs plugin_thread_create, others
     * pthread_create.  0 or -errno. */
    int (*thread)(void *ctx, pthread_t *ret, void *(*fn)(void *), void *arg,
                  const char *name);
    /* Write a line to the log; msg contains no newline.  The core calls this
     * for a fault once, not at every pass. */
    void (*log)(void *ctx, enum bj_log_level level, const char *msg);
    bool debug; /* lines of level debug are wanted */
};

#endif
