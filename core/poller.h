/* A thread for a source that is slow or may block forever: a driver, a
 * management controller, the scheduler, a user database, a disk.  It sleeps
 * until it is due, works without the lock, and stops within a deadline.  A
 * thread that is blocked in the kernel is abandoned: it keeps the data that it
 * needs until it returns, and another thread may replace it. */
#ifndef BJ_CORE_POLLER_H
#define BJ_CORE_POLLER_H

#include "core/host.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bj_poller;

/* A thread of a poller, and the data that only this thread uses. */
struct bj_worker {
    struct bj_poller *poller;
    unsigned turn;
};

/* The functions of a poller.  All but gone are called with the lock held. */
struct bj_poller_work {
    size_t worker_size; /* of a struct that begins with a struct bj_worker; 0:
                           that struct */
    bool (*worker_init)(struct bj_worker *w); /* false: no memory; or NULL */
    void (*worker_fini)(struct bj_worker *w); /* or NULL */
    /* Called when the poller is due.  Does one step of work and sets due_usec.
     * False if bj_worker_lock returned false. */
    bool (*step)(struct bj_worker *w);
    bool (*finish)(struct bj_worker *w); /* called after the last step; as step;
                                            or NULL */
    /* Without the lock: the owner and all threads have released the poller.
     * Frees the struct that contains it. */
    void (*gone)(struct bj_poller *p);
    uint64_t stop_usec; /* time for which bj_poller_stop waits; 0: two seconds,
                           UINT64_MAX: until the thread ends */
    unsigned abandoned_max; /* maximum number of abandoned threads; 0: 4 */
};

/* The first member of its owner's struct. */
struct bj_poller {
    const struct bj_poller_work *work;
    const char *name; /* of the thread; static */
    struct bj_host host;
    pthread_mutex_t *lock;
    pthread_cond_t
        change;          /* broadcast after a change that a thread waits for */
    uint64_t stuck_usec; /* maximum time for which a worker may work without the
                            lock */
    atomic_bool stop;    /* sources may read it without the lock */
    /* under lock */
    uint64_t due_usec;    /* of the next step; UINT64_MAX: none */
    uint64_t search_usec; /* see bj_poller_searches */
    uint64_t busy_usec;   /* since when the worker works without the lock; 0: it
                             has the lock */
    uint64_t begun_usec;  /* when the last step began that has ended; 0: none */
    uint64_t took_usec;   /* its duration */
    unsigned lead;        /* for pages: see bj_poller_aligned; 0: 20 */
    /* Internal to core/poller.c. */
    pthread_mutex_t own_lock;
    pthread_t thread;
    uint64_t page_usec, gap_usec; /* of the last page; 0: none */
    uint64_t steps, awaited;      /* steps that have ended; number to await */
    unsigned refs;                /* the owner's, and one for each thread */
    bool threaded, ended;
    unsigned turn, abandoned; /* turn: of the current thread; abandoned: number
                                 of such threads */
};

/* lock NULL: the poller has its own.  host is copied; its ctx must live until
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
 * many are abandoned.  True if it was replaced; the owner then ends the work of
 * that thread. */
bool bj_poller_replace(struct bj_poller *p);

/* Without the lock: stop the thread.  False if it was abandoned. */
bool bj_poller_stop(struct bj_poller *p);

/* Without the lock: stop, and release the owner's reference. */
void bj_poller_free(struct bj_poller *p);

/* For step and finish: release the lock around work that may block, ... */
void bj_worker_unlock(struct bj_worker *w);
/* ... and take it again.  False if this thread was replaced: it may then access
 * only its own worker. */
bool bj_worker_lock(struct bj_worker *w);

/* --- pages ------------------------------------------------------------------
 *
 * A counter that is read at another time than the page is made gives wrong
 * rates.  So a source that is read at its own interval is also read just before
 * pages, if these come at that interval or more rarely (by a tenth less at
 * most).  All with the lock. */

/* A page was requested at now_usec, gap_usec after the one before: the next one
 * is expected after the same time, and due_usec is moved before it. */
void bj_poller_page(struct bj_poller *p, uint64_t now_usec, uint64_t gap_usec,
                    uint64_t period_usec);

/* When a source with that interval is read next, if that were due_usec without
 * pages: a reading that takes took_usec ends 1/lead of their gap before the
 * next one, unless due_usec suits, or a reading that ends now.  It may be
 * later by up to half the interval, so that there is one reading, not two.
 * Some drivers give no values for a time shorter than 100 ms: readings for
 * pages are at least 250 ms apart. */
uint64_t bj_poller_aligned(const struct bj_poller *p, uint64_t now_usec,
                           uint64_t due_usec, uint64_t period_usec,
                           uint64_t took_usec);

/* A page is requested: if the last reading began more than a tenth of the gap
 * ago, or with force, the next step is due now.  True if it is worth waiting
 * for: steps take less than BJ_POLLER_WAIT_USEC, and none hangs. */
enum { BJ_POLLER_WAIT_USEC = 250 * 1000 };
bool bj_poller_hurry(struct bj_poller *p, uint64_t now_usec, uint64_t gap_usec,
                     uint64_t period_usec, bool force);

/* Wait for that step, until end_usec at most.  Releases the lock. */
void bj_poller_await(struct bj_poller *p, uint64_t end_usec);

/* first_usec, doubled for each fault, ten minutes at most. */
uint64_t bj_poller_back_off(uint64_t first_usec, unsigned faults);

#endif
