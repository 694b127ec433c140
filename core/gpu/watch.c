#include "core/gpu/watch.h"

#include "base/clock.h"
#include "core/gpu/places.h"
#include "core/poller.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    BACK_OFF_USEC = 10000000, /* after a fault at opening */
};

struct bj_gpu_watch {
    struct bj_poller poller;
    const struct bj_gpu_kind *kind;
    struct bj_gpu_env env;
    uint64_t period_usec, hang_usec;
    /* of the thread */
    void *source;
    unsigned in_a_row; /* faults at opening */
    struct bj_gpu_set *work;
    struct bj_gpu_xids xids;
    /* under lock */
    bool hang_logged;
    struct bj_gpu_set *fresh; /* of the last reading */
    struct bj_gpu_watch_stat stat;
};

static void watch_log_change(struct bj_gpu_watch *w, const struct bj_err *err)
{
    bj_host_log(&w->poller.host, err ? BJ_LOG_WARN : BJ_LOG_INFO, err,
                err ? "GPU source %s" : "GPU source %s: works", w->kind->name);
}

/* Strings of an environment. */
#define AT(member) offsetof(struct bj_gpu_env, member)
static const size_t env_text[] = {AT(procfs), AT(sysfs),      AT(nvml),
                                  AT(rocm),   AT(level_zero), AT(dcgm)};
enum { TEXTS = sizeof(env_text) / sizeof(env_text[0]) };

static char **watch_text_of(struct bj_gpu_env *env, size_t i)
{
    return (char **)(void *)((char *)env + env_text[i]);
}

static void free_env(struct bj_gpu_env *env)
{
    for (size_t i = 0; i < TEXTS; i++)
        free(*watch_text_of(env, i));
    bj_gpu_places_unref(env->places);
}

static int copy_env(const struct bj_gpu_env *from, struct bj_gpu_env *to)
{
    bool complete = true;
    *to = *from;
    for (size_t i = 0; i < TEXTS; i++) {
        char **text = watch_text_of(to, i);
        *text = strdup(*text ? *text : "");
        complete &= *text != NULL;
    }
    to->places = bj_gpu_places_ref(from->places);
    return complete ? 0 : -ENOMEM;
}

/* --- the thread -----------------------------------------------------------*/

/* Read the source, and open it if needed: 0, a fault, or -ENODEV: it does not
 * exist (any more). */
static int attempt(struct bj_gpu_watch *w, struct bj_err *err)
{
    bool was_open = w->source != NULL;
    bj_gpu_set_clear(w->work);
    int r = was_open ? 0 : w->kind->open(&w->env, &w->source, err);
    if (r < 0)
        return r;
    w->work->begun_usec = bj_clock_boot_usec();
    r = w->kind->read(w->source, w->work, err);
    w->work->stamp_usec = bj_clock_boot_usec();
    if (r != -ENODEV)
        return r;
    /* Open it again, at once if it was open for a while.  The last reading may
     * be empty, and is then not shown. */
    if (w->work->n == 0)
        w->work->stamp_usec = 0;
    w->kind->close(w->source);
    w->source = NULL;
    return was_open ? -EAGAIN : -EIO;
}

static uint64_t wait_after(const struct bj_gpu_watch *w, int r)
{
    if (w->source)
        return w->period_usec;
    return r == -EAGAIN ? 0 : bj_poller_back_off(BACK_OFF_USEC, w->in_a_row);
}

/* Under lock.  True if a message must be logged: an error, or that the source
 * works again. */
static bool watch_note(struct bj_gpu_watch *w, int r, uint64_t begun,
                       struct bj_err *err)
{
    struct bj_gpu_watch_stat *s = &w->stat;
    uint64_t now = bj_clock_boot_usec();
    bool fails = r < 0 && r != -ENODEV && r != -EAGAIN;
    bool news = fails != s->failing || (r == 0 && !s->running);
    struct bj_gpu_set *swap = w->fresh;
    s->running = w->source != NULL;
    s->duration_usec = now - begun;
    w->poller.due_usec = r == -ENODEV ? UINT64_MAX : now + wait_after(w, r);
    if (w->source)
        w->poller.due_usec = bj_poller_aligned(
            &w->poller, now, w->poller.due_usec, w->period_usec, now - begun);
    w->in_a_row = fails && !w->source ? w->in_a_row + 1 : 0;
    if (r != -ENODEV)
        s->ran = true;
    /* One reading may have faults of several devices. */
    uint64_t faults = w->work->faults;
    s->faults += fails && faults == 0 ? 1 : faults;
    w->fresh = w->work;
    w->work = swap;
    if (r == 0)
        s->good_usec = now;
    if (r == -EAGAIN)
        return false;
    s->failing = fails;
    if (!fails)
        err->code = 0;
    return news && s->ran;
}

static bool watch_step(struct bj_worker *worker)
{
    struct bj_gpu_watch *w = (struct bj_gpu_watch *)worker->poller;
    struct bj_err err = {0};
    uint64_t begun = bj_clock_boot_usec();
    bj_worker_unlock(worker);
    int r = attempt(w, &err);
    bool ours = bj_worker_lock(worker);
    w->hang_logged = false;
    bool news = watch_note(w, r, begun, &err);
    /* The host of an abandoned thread may be gone. */
    if (news && !atomic_load(&w->poller.stop)) {
        pthread_mutex_unlock(w->poller.lock);
        watch_log_change(w, err.code ? &err : NULL);
        pthread_mutex_lock(w->poller.lock);
    }
    return ours;
}

static bool watch_finish(struct bj_worker *worker)
{
    struct bj_gpu_watch *w = (struct bj_gpu_watch *)worker->poller;
    bj_worker_unlock(worker);
    if (w->source)
        w->kind->close(w->source);
    return bj_worker_lock(worker);
}

/* --- for the owner --------------------------------------------------------*/

static void watch_gone(struct bj_poller *poller)
{
    struct bj_gpu_watch *w = (struct bj_gpu_watch *)poller;
    free(w->work);
    free(w->fresh);
    free_env(&w->env);
    free(w);
}

int bj_gpu_watch_new(const struct bj_gpu_kind *kind,
                     const struct bj_gpu_env *env, const struct bj_host *host,
                     uint64_t period_usec, uint64_t hang_usec,
                     struct bj_gpu_watch **ret)
{
    static const struct bj_poller_work work = {
        .step = watch_step, .finish = watch_finish, .gone = watch_gone};
    struct bj_gpu_watch *w = calloc(1, sizeof(*w));
    if (!w || bj_poller_init(&w->poller, &work, "bj-gpu", host, NULL) < 0) {
        free(w);
        return -ENOMEM;
    }
    w->kind = kind;
    w->period_usec = period_usec;
    w->hang_usec = hang_usec;
    if (copy_env(env, &w->env) < 0) {
        bj_gpu_watch_free(w);
        return -ENOMEM;
    }
    w->env.stop = &w->poller.stop;
    w->env.xids = &w->xids;
    *ret = w;
    return 0;
}

void bj_gpu_watch_free(struct bj_gpu_watch *w)
{
    if (w)
        bj_poller_free(&w->poller);
}

/* Start the thread; the sets are allocated only now. */
static int watch_start(struct bj_gpu_watch *w)
{
    if (!w->work)
        w->work = calloc(1, sizeof(*w->work));
    if (!w->fresh)
        w->fresh = calloc(1, sizeof(*w->fresh));
    if (!w->work || !w->fresh)
        return -ENOMEM;
    return bj_poller_start(&w->poller);
}

bool bj_gpu_watch_search(struct bj_gpu_watch *w, uint64_t now_usec)
{
    pthread_mutex_lock(w->poller.lock);
    if (bj_poller_searches(&w->poller, now_usec) && w->kind->present(&w->env) &&
        watch_start(w) == 0)
        bj_poller_wake(&w->poller);
    bool busy = w->poller.due_usec != UINT64_MAX;
    pthread_mutex_unlock(w->poller.lock);
    return busy;
}

bool bj_gpu_watch_take(struct bj_gpu_watch *w, struct bj_gpu_set *set)
{
    pthread_mutex_lock(w->poller.lock);
    bool newer = w->fresh && w->fresh->stamp_usec > set->stamp_usec;
    if (newer)
        bj_gpu_set_copy(set, w->fresh);
    pthread_mutex_unlock(w->poller.lock);
    return newer;
}

/* Whether it is read successfully. */
static bool reads(const struct bj_gpu_watch *w)
{
    return w->stat.running && !w->stat.failing;
}

bool bj_gpu_watch_hurry(struct bj_gpu_watch *w, uint64_t now_usec,
                        uint64_t gap_usec)
{
    pthread_mutex_lock(w->poller.lock);
    bool ret = reads(w) && bj_poller_hurry(&w->poller, now_usec, gap_usec,
                                           w->period_usec, false);
    pthread_mutex_unlock(w->poller.lock);
    return ret;
}

void bj_gpu_watch_await(struct bj_gpu_watch *w, uint64_t end_usec)
{
    pthread_mutex_lock(w->poller.lock);
    bj_poller_await(&w->poller, end_usec);
    pthread_mutex_unlock(w->poller.lock);
}

void bj_gpu_watch_page(struct bj_gpu_watch *w, uint64_t now_usec,
                       uint64_t gap_usec)
{
    pthread_mutex_lock(w->poller.lock);
    if (reads(w))
        bj_poller_page(&w->poller, now_usec, gap_usec, w->period_usec);
    pthread_mutex_unlock(w->poller.lock);
}

void bj_gpu_watch_stat(struct bj_gpu_watch *w, uint64_t now_usec,
                       struct bj_gpu_watch_stat *ret)
{
    struct bj_err err = {0};
    pthread_mutex_lock(w->poller.lock);
    uint64_t busy = w->poller.busy_usec;
    bool hung = busy != 0 && now_usec >= busy + w->hang_usec;
    bool news = hung && !w->hang_logged;
    if (news) {
        w->hang_logged = true;
        w->stat.ran = true;
        w->stat.failing = true;
        w->stat.faults++;
        bj_err_set(&err, -ETIMEDOUT, "the driver does not answer");
    }
    *ret = w->stat;
    ret->hung = hung;
    pthread_mutex_unlock(w->poller.lock);
    if (news)
        watch_log_change(w, &err);
}
