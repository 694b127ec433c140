/* Threads in which all signals are blocked: the main thread handles them. */
#ifndef BJ_BASE_THREAD_H
#define BJ_BASE_THREAD_H

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Start a thread.  stack_bytes 0: the size that the system gives.  0 or
 * -errno. */
int bj_thread_create(pthread_t *ret, size_t stack_bytes, void *(*fn)(void *),
                     void *arg);

/* A thread that polls a descriptor to be woken.  Zero-initialise. */
struct bj_thread {
    pthread_t id;
    int wake_fd; /* an eventfd, readable once the thread is woken */
    bool opened, runs;
};

/* Start fn(arg).  what, for messages: "HTTP". */
int bj_thread_start(struct bj_thread *t, const char *what, void *(*fn)(void *),
                    void *arg, struct bj_err *err);

/* Make wake_fd readable; from any thread, until bj_thread_free().
 * Nothing before bj_thread_start(). */
void bj_thread_wake(const struct bj_thread *t);

/* Wake the thread, which must then return, and wait for its end.  Nothing if it
 * does not run. */
void bj_thread_end(struct bj_thread *t);

/* End the thread and close wake_fd. */
void bj_thread_free(struct bj_thread *t);

#endif
