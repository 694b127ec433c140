#include "core/poller.h"

#include "base/clock.h"
#include "base/wait.h"

#include <errno.h>
#include <stdlib.h>

enum {
    SECOND = 1000000,
    SEARCH_USEC = 60 * SECOND,
    STUCK_USEC = 10 * SECOND,
    STOP_USEC = 2 * SECOND,
    BACK_OFF_MAX = 600 * SECOND,
    LEAD = 20,
    APART_USEC = SECOND / 4, /* the least time between two readings */
    DOUBLINGS = 6,
    ABANDONED_MAX = 4
};

int bj_poller_init(struct bj_poller *p, const struct bj_poller_work *work,
                   const char *name, const struct bj_host *host,
                   pthread_mutex_t *lock)
{
    if (bj_wait_init(&p->own_lock, &p->change) < 0)
        return -ENOMEM;
    p->work = work;
    p->name = name;
    p->host = *host;
    p->lock = lock ? lock : &p->own_lock;
    p->stuck_usec = STUCK_USEC;
    p->due_usec = UINT64_MAX;
    p->refs = 1;
    return 0;
}

/* With the lock, which is released. */
static void unref(struct bj_poller *p)
{
    bool last = --p->refs == 0;
    pthread_mutex_unlock(p->lock);
    if (!last)
        return;
    bj_wait_destroy(&p->own_lock, &p->change);
    p->work->gone(p);
}

static void worker_free(struct bj_worker *w)
{
    if (w->poller->work->worker_fini)
        w->poller->work->worker_fini(w);
    free(w);
}

static struct bj_worker *worker_new(struct bj_poller *p)
{
    size_t size = p->work->worker_size;
    struct bj_worker *w = calloc(1, size ? size : sizeof(*w));
    if (!w)
        return NULL;
    w->poller = p;
    w->turn = p->turn;
    if (!p->work->worker_init || p->work->worker_init(w))
        return w;
    worker_free(w);
    return NULL;
}

/* --- the thread -----------------------------------------------------------*/

void bj_worker_unlock(struct bj_worker *w)
{
    w->poller->busy_usec = bj_clock_boot_usec();
    pthread_mutex_unlock(w->poller->lock);
}

bool bj_worker_lock(struct bj_worker *w)
{
    pthread_mutex_lock(w->poller->lock);
    if (w->poller->turn != w->turn)
        return false;
    w->poller->busy_usec = 0;
    return true;
}

static bool poller_step(struct bj_worker *w)
{
    struct bj_poller *p = w->poller;
    const uint64_t begun = bj_clock_boot_usec();
    if (!p->work->step(w))
        return false;
    p->begun_usec = begun;
    p->took_usec = bj_clock_boot_usec() - begun;
    p->steps++;
    if (p->awaited == p->steps)
        pthread_cond_broadcast(&p->change);
    return true;
}

static void *poller_run(void *arg)
{
    struct bj_worker *w = arg;
    struct bj_poller *p = w->poller;
    bool ours = true;
    pthread_mutex_lock(p->lock);
    while (ours && !atomic_load(&p->stop))
        if (!bj_wait_until(&p->change, p->lock, p->due_usec))
            ours = poller_step(w);
    if (ours && p->work->finish)
        ours = p->work->finish(w);
    if (ours) {
        p->ended = true;
        pthread_cond_broadcast(&p->change);
    } else {
        p->abandoned--;
    }
    worker_free(w);
    unref(p);
    return NULL;
}

/* --- for the owner --------------------------------------------------------*/

int bj_poller_start(struct bj_poller *p)
{
    if (p->threaded)
        return 0;
    struct bj_worker *w = worker_new(p);
    if (!w)
        return -ENOMEM;
    p->refs++;
    int r = p->host.thread(p->host.ctx, &p->thread, poller_run, w, p->name);
    if (r < 0) {
        p->refs--;
        worker_free(w);
        return r;
    }
    p->threaded = true;
    return 0;
}

void bj_poller_wake(struct bj_poller *p)
{
    p->due_usec = 0;
    pthread_cond_broadcast(&p->change);
}

bool bj_poller_searches(struct bj_poller *p, uint64_t now_usec)
{
    if (p->due_usec != UINT64_MAX || now_usec < p->search_usec)
        return false;
    p->search_usec = now_usec + SEARCH_USEC;
    return true;
}

bool bj_poller_replace(struct bj_poller *p)
{
    unsigned max = p->work->abandoned_max;
    if (!p->threaded || p->busy_usec == 0 ||
        p->abandoned >= (max ? max : ABANDONED_MAX) ||
        bj_clock_boot_usec() < p->busy_usec + p->stuck_usec)
        return false;
    p->busy_usec = 0;
    p->abandoned++;
    p->turn++;
    p->threaded = false;
    pthread_detach(p->thread);
    bj_poller_start(p);
    return true;
}

bool bj_poller_stop(struct bj_poller *p)
{
    uint64_t wait = p->work->stop_usec ? p->work->stop_usec : STOP_USEC;
    uint64_t end =
        wait == UINT64_MAX ? UINT64_MAX : bj_clock_boot_usec() + wait;
    pthread_mutex_lock(p->lock);
    atomic_store(&p->stop, true);
    pthread_cond_broadcast(&p->change);
    while (p->threaded && !p->ended && bj_wait_until(&p->change, p->lock, end))
        ;
    bool threaded = p->threaded, ended = p->ended || !threaded;
    p->threaded = false;
    pthread_mutex_unlock(p->lock);
    if (threaded && ended)
        pthread_join(p->thread, NULL);
    else if (threaded)
        pthread_detach(p->thread);
    return ended;
}

void bj_poller_free(struct bj_poller *p)
{
    bj_poller_stop(p);
    pthread_mutex_lock(p->lock);
    unref(p);
}

/* --- pages ----------------------------------------------------------------*/

/* Whether pages come at that interval or more rarely. */
static bool is_rare(uint64_t gap_usec, uint64_t period_usec)
{
    return gap_usec > 0 && gap_usec + gap_usec / 10 >= period_usec;
}

uint64_t bj_poller_aligned(const struct bj_poller *p, uint64_t now_usec,
                           uint64_t due_usec, uint64_t period_usec,
                           uint64_t took_usec)
{
    const uint64_t gap = p->gap_usec, page = p->page_usec + gap;
    const uint64_t lead = took_usec + gap / (p->lead ? p->lead : LEAD);
    /* A reading that ends now is recent enough for the page. */
    if (!is_rare(gap, period_usec) || page + took_usec <= now_usec + gap / 10 ||
        page <= now_usec + lead + APART_USEC)
        return due_usec;
    const uint64_t at = page - lead;
    const bool late = due_usec + took_usec > page;
    const bool twice = due_usec < at && at - due_usec < period_usec / 2;
    return late || twice ? at : due_usec;
}

void bj_poller_page(struct bj_poller *p, uint64_t now_usec, uint64_t gap_usec,
                    uint64_t period_usec)
{
    p->page_usec = now_usec;
    p->gap_usec = gap_usec;
    if (p->due_usec == UINT64_MAX || p->busy_usec != 0)
        return;
    const uint64_t due =
        bj_poller_aligned(p, now_usec, p->due_usec, period_usec, p->took_usec);
    if (due == p->due_usec)
        return;
    p->due_usec = due;
    pthread_cond_broadcast(&p->change);
}

bool bj_poller_hurry(struct bj_poller *p, uint64_t now_usec, uint64_t gap_usec,
                     uint64_t period_usec, bool force)
{
    p->awaited = 0;
    if (!p->threaded || p->begun_usec == 0 || p->due_usec == UINT64_MAX ||
        p->took_usec > BJ_POLLER_WAIT_USEC || !is_rare(gap_usec, period_usec) ||
        (!force && (now_usec - p->begun_usec <= gap_usec / 10 ||
                    now_usec - p->begun_usec < APART_USEC)))
        return false;
    if (p->busy_usec == 0)
        bj_poller_wake(p);
    else if (now_usec > p->busy_usec + BJ_POLLER_WAIT_USEC)
        return false;
    p->awaited = p->steps + 1;
    return true;
}

void bj_poller_await(struct bj_poller *p, uint64_t end_usec)
{
    while (p->steps < p->awaited && !p->ended &&
           bj_wait_until(&p->change, p->lock, end_usec))
        ;
}

uint64_t bj_poller_back_off(uint64_t first_usec, unsigned faults)
{
    uint64_t wait = first_usec << (faults < DOUBLINGS ? faults : DOUBLINGS);
    return wait < BACK_OFF_MAX ? wait : BACK_OFF_MAX;
}
