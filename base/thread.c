#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

int bj_thread_create(pthread_t *ret, size_t stack_bytes, void *(*fn)(void *),
                     void *arg)
{
    pthread_attr_t attr;
    sigset_t all, old;
    int r = pthread_attr_init(&attr);
    if (r != 0)
        return -r;
    if (stack_bytes > 0)
        r = pthread_attr_setstacksize(&attr, stack_bytes);
    sigfillset(&all);
    if (r == 0)
        r = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (r == 0) {
        r = pthread_create(ret, &attr, fn, arg);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    pthread_attr_destroy(&attr);
    return -r;
}

int bj_thread_start(struct bj_thread *t, const char *what, void *(*fn)(void *),
                    void *arg, struct bj_err *err)
{
    t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->wake_fd < 0)
        return bj_err_set(err, -errno, "eventfd");
    t->opened = t->runs = true;
    int r = bj_thread_create(&t->id, 0, fn, arg);
    if (r == 0)
        return 0;
    t->runs = false;
    return bj_err_set(err, r, "cannot start the thread for %s", what);
}

void bj_thread_wake(const struct bj_thread *t)
{
    if (t->opened)
        eventfd_write(t->wake_fd, 1);
}

void bj_thread_end(struct bj_thread *t)
{
    if (!t->runs)
        return;
    bj_thread_wake(t);
    pthread_join(t->id, NULL);
    t->runs = false;
}

void bj_thread_free(struct bj_thread *t)
{
    bj_thread_end(t);
    if (t->opened)
        close(t->wake_fd);
    t->opened = false;
}
