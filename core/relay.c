#include "core/relay.h"

#include "base/clock.h"
#include "base/wait.h"

#include <errno.h>
#include <stdlib.h>

enum {
    SECOND = 1000000,
    STUCK_SEC = 10,
    STOP_SEC = 2,
    LEFT_MAX = 4 /* threads that are left behind at a time */
};

int bj_relay_init(struct bj_relay *r, const struct bj_relay_work *work,
                  const char *name, const struct bj_host *host,
                  uint64_t stuck_usec)
{
    if (bj_wait_init(&r->lock, &r->change) < 0)
        return -ENOMEM;
    r->work = work;
    r->name = name;
    r->host = *host;
    r->stuck_usec = stuck_usec ? stuck_usec : STUCK_SEC * SECOND;
    r->refs = 1;
    return 0;
}

/* With the lock, which is gone afterwards. */
static void unref(struct bj_relay *r)
{
    bool last = --r->refs == 0;
    pthread_mutex_unlock(&r->lock);
    if (!last)
        return;
    bj_wait_destroy(&r->lock, &r->change);
    r->work->gone(r);
}

static void dismiss(struct bj_worker *w)
{
    const struct bj_relay_work *work = w->relay->work;
    if (work->dismiss)
        work->dismiss(w);
    free(w);
}

static struct bj_worker *hire(struct bj_relay *r)
{
    struct bj_worker *w = calloc(1, r->work->worker_size);
    if (!w)
        return NULL;
    w->relay = r;
    w->turn = r->turn;
    if (!r->work->hire || r->work->hire(w))
        return w;
    dismiss(w);
    return NULL;
}

/* --- the thread -----------------------------------------------------------*/

void bj_worker_away(struct bj_worker *w)
{
    w->relay->busy_usec = bj_clock_boot_usec();
    pthread_mutex_unlock(&w->relay->lock);
}

bool bj_worker_back(struct bj_worker *w)
{
    pthread_mutex_lock(&w->relay->lock);
    if (w->relay->turn != w->turn)
        return false;
    w->relay->busy_usec = 0;
    return true;
}

static void *run(void *arg)
{
    struct bj_worker *w = arg;
    struct bj_relay *r = w->relay;
    bool ours = true;
    pthread_mutex_lock(&r->lock);
    while (ours && !r->stop)
        ours = r->work->serve(w);
    if (ours && r->work->finish)
        ours = r->work->finish(w);
    if (ours) {
        r->ended = true;
        pthread_cond_broadcast(&r->change);
    } else {
        r->left--;
    }
    dismiss(w);
    unref(r);
    return NULL;
}

/* --- for the owner --------------------------------------------------------*/

int bj_relay_start(struct bj_relay *r)
{
    if (r->threaded)
        return 0;
    struct bj_worker *w = hire(r);
    if (!w)
        return -ENOMEM;
    int e = r->host.thread(r->host.ctx, &r->thread, run, w, r->name);
    if (e < 0) {
        dismiss(w);
        return e;
    }
    r->refs++;
    r->threaded = true;
    return 0;
}

bool bj_relay_relieve(struct bj_relay *r)
{
    if (!r->threaded || r->busy_usec == 0 || r->left == LEFT_MAX ||
        bj_clock_boot_usec() < r->busy_usec + r->stuck_usec)
        return false;
    r->busy_usec = 0;
    r->left++;
    r->turn++;
    r->threaded = false;
    pthread_detach(r->thread);
    bj_relay_start(r);
    return true;
}

void bj_relay_free(struct bj_relay *r)
{
    uint64_t end = bj_clock_boot_usec() + STOP_SEC * SECOND;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_broadcast(&r->change);
    while (r->threaded && !r->ended && bj_wait_until(&r->change, &r->lock, end))
        ;
    bool threaded = r->threaded, ended = r->ended;
    pthread_t thread = r->thread;
    pthread_mutex_unlock(&r->lock);
    if (threaded && ended)
        pthread_join(thread, NULL);
    else if (threaded)
        pthread_detach(thread);
    pthread_mutex_lock(&r->lock);
    unref(r);
}
