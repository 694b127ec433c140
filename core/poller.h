/* A thread for a source that is slow or may block forever: a driver, a
 * management controller, the scheduler, a user database, a disk.  It sleeps
 * until it is due, works without the lock, and stops within a deadline.  A
 * thread that the kernel holds is abandoned: it keeps what it needs until it
 * returns, and another thread may take its place. */
#ifndef BJ_CORE_POLLER_H
#define BJ_CORE_POLLER_H

#include "core/host.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bj_poller;

/* A thread of a poller, and what only this thread uses. */
struct bj_worker {
    struct bj_poller *poller;
    unsigned turn;
};

/* What a poller does.  All but gone is called with the lock held. */
struct bj_poller_work {
    size_t worker_size; /* of a struct that begins with a struct bj_worker; 0:
                           that struct */
    bool (*worker_init)(struct bj_worker *w); /* false: no memory; or NULL */
    void (*worker_fini)(struct bj_worker *w); /* or NULL */
    /* The poller is due.  Does one thing and sets due_usec.  False when
     * bj_worker_lock returned false. */
    bool (*step)(struct bj_worker *w);
    bool (*finish)(struct bj_worker *w); /* after the last step; likewise; or
                                            NULL */
    /* Without the lock: the owner and all threads are done.  Frees the struct
     * that contains the poller. */
    void (*gone)(struct bj_poller *p);
    uint64_t stop_usec;     /* how long bj_poller_stop waits; 0: two seconds,
                               UINT64_MAX: until the thread ends */
    unsigned abandoned_max; /* threads that the kernel holds; 0: 4 */
};

/* The first member of its owner's struct. */
struct bj_poller {
    const struct bj_poller_work *work;
    const char *name; /* of the thread; static */
    struct bj_host host;
    pthread_mutex_t *lock;
    pthread_cond_t
        change;          /* broadcast after a change that a thread waits for */
    uint64_t stuck_usec; /* how long a worker may be without the lock */
    atomic_bool stop;    /* sources may read it without the lock */
    /* under lock */
    uint64_t due_usec;    /* of the next step; UINT64_MAX: none */
    uint64_t search_usec; /* see bj_poller_searches */
    uint64_t busy_usec; /* since when the worker is without the lock; 0: it has
                           it */
    /* Internal to core/poller.c. */
    pthread_mutex_t own_lock;
    pthread_t thread;
    unsigned refs; /* the owner's, and one for each thread */
    bool threaded, ended;
    unsigned turn, abandoned; /* of the present thread; number of others */
};

/* lock: NULL for one of its own.  host is copied; its ctx must live until
 * bj_poller_free.  Not due until due_usec is set.  -ENOMEM. */
int bj_poller_init(struct bj_poller *p, const struct bj_poller_work *work,
                   const char *name, const struct bj_host *host,
                   pthread_mutex_t *lock);

/* With the lock, or before the first thread runs: start a thread unless there
 * is one; 0 or -errno. */
int bj_poller_start(struct bj_poller *p);

/* With the lock: the next step is due now. */
void bj_poller_wake(struct bj_poller *p);

/* With the lock, for a poller whose source is missing (due_usec is UINT64_MAX):
 * true once a minute, when the owner should search for the source. */
bool bj_poller_searches(struct bj_poller *p, uint64_t now_usec);

/* With the lock: replace a thread that has been busy for stuck_usec, unless too
 * many are abandoned.  True if it was replaced; the owner settles what that
 * thread was doing. */
bool bj_poller_replace(struct bj_poller *p);

/* Without the lock: stop the thread.  False if it was abandoned. */
bool bj_poller_stop(struct bj_poller *p);

/* Without the lock: stop, and release the owner's reference. */
void bj_poller_free(struct bj_poller *p);

/* For step and finish: release the lock around work that may block, ... */
void bj_worker_unlock(struct bj_worker *w);
/* ... and take it again.  False when this thread was replaced: it must touch
 * nothing but its own worker. */
bool bj_worker_lock(struct bj_worker *w);

/* first_usec, doubled for each fault, ten minutes at most. */
uint64_t bj_poller_back_off(uint64_t first_usec, unsigned faults);

#endif
