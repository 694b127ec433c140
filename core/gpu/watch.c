#include "core/gpu/watch.h"

#include "base/clock.h"
#include "base/wait.h"
#include "core/gpu/places.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECOND = 1000000,
    STOP_SEC = 2,
    LOOK_USEC = 60 * SECOND,
    BACK_OFF_MIN = 10 * SECOND,
    BACK_OFF_MAX = 600 * SECOND,
    DOUBLINGS = 6
};

/* Owner and thread hold a reference each: a thread that comes back after it was
 * given up finds everything in its place. */
struct bj_gpu_watch {
    atomic_uint refs;
    atomic_bool stop;
    const struct bj_gpu_kind *kind;
    struct bj_gpu_env env;
    struct bj_host host;
    uint64_t period_usec, hang_usec;
    /* of the thread */
    void *source;
    unsigned in_a_row; /* faults at opening */
    struct bj_gpu_set *work;
    struct bj_gpu_xids xids;
    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t change;
    pthread_t thread;
    bool threaded, ended;
    uint64_t due_usec; /* UINT64_MAX: there is nothing to read */
    uint64_t look_usec;
    uint64_t busy_usec; /* when the reading under way began; 0: none */
    bool told_hung;
    struct bj_gpu_set *fresh; /* of the last reading */
    struct bj_gpu_watch_stat stat;
};

static void say(struct bj_gpu_watch *w, const struct bj_err *err)
{
    char text[400], line[480];
    snprintf(line, sizeof(line), "GPU source %s: %s", w->kind->name,
             err ? bj_err_text(err, text, sizeof(text)) : "works");
    w->host.log(w->host.ctx, err ? BJ_LOG_WARN : BJ_LOG_INFO, line);
}

/* Strings of an environment. */
#define AT(member) offsetof(struct bj_gpu_env, member)
static const size_t env_text[] = {AT(procfs), AT(sysfs),      AT(nvml),
                                  AT(rocm),   AT(level_zero), AT(dcgm)};
enum { TEXTS = sizeof(env_text) / sizeof(env_text[0]) };

static char **text_of(struct bj_gpu_env *env, size_t i)
{
    return (char **)(void *)((char *)env + env_text[i]);
}

static void free_env(struct bj_gpu_env *env)
{
    for (size_t i = 0; i < TEXTS; i++)
        free(*text_of(env, i));
    bj_gpu_places_unref(env->places);
}

static int copy_env(const struct bj_gpu_env *from, struct bj_gpu_env *to)
{
    bool whole = true;
    *to = *from;
    for (size_t i = 0; i < TEXTS; i++) {
        char **text = text_of(to, i);
        *text = strdup(*text ? *text : "");
        whole &= *text != NULL;
    }
    to->places = bj_gpu_places_ref(from->places);
    return whole ? 0 : -ENOMEM;
}

static void unref(struct bj_gpu_watch *w)
{
    if (!w || atomic_fetch_sub(&w->refs, 1) != 1)
        return;
    bj_wait_destroy(&w->lock, &w->change);
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
    struct bj_gpu_watch *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    if (bj_wait_init(&w->lock, &w->change) < 0) {
        free(w);
        return -ENOMEM;
    }
    atomic_init(&w->refs, 1);
    w->kind = kind;
    w->host = *host;
    w->period_usec = period_usec;
    w->hang_usec = hang_usec;
    w->due_usec = UINT64_MAX;
    if (copy_env(env, &w->env) < 0) {
        unref(w);
        return -ENOMEM;
    }
    w->env.stop = &w->stop;
    w->env.xids = &w->xids;
    *ret = w;
    return 0;
}

/* --- the thread -----------------------------------------------------------*/

/* 0, a fault, or -ENODEV: there is none (any more). */
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
    /* Open it anew, at once when it had been open for a while.  What was read
     * before it noticed may be empty and is not shown. */
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
    if (r == -EAGAIN)
        return 0;
    uint64_t wait = (uint64_t)BACK_OFF_MIN
                    << (w->in_a_row < DOUBLINGS ? w->in_a_row : DOUBLINGS);
    return wait < BACK_OFF_MAX ? wait : BACK_OFF_MAX;
}

/* Under lock.  True when there is something to say: in *err, or that it works.
 */
static bool note(struct bj_gpu_watch *w, int r, uint64_t begun,
                 struct bj_err *err)
{
    struct bj_gpu_watch_stat *s = &w->stat;
    uint64_t now = bj_clock_boot_usec();
    bool fails = r < 0 && r != -ENODEV && r != -EAGAIN;
    bool news = fails != s->failing || (r == 0 && !s->running);
    struct bj_gpu_set *swap = w->fresh;
    s->running = w->source != NULL;
    s->duration_usec = now - begun;
    w->due_usec = r == -ENODEV ? UINT64_MAX : now + wait_after(w, r);
    w->in_a_row = fails && !w->source ? w->in_a_row + 1 : 0;
    if (r != -ENODEV)
        s->ran = true;
    /* Faults of single devices are many in one reading. */
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

static void *run(void *arg)
{
    struct bj_gpu_watch *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!atomic_load(&w->stop)) {
        if (bj_wait_until(&w->change, &w->lock, w->due_usec))
            continue;
        struct bj_err err = {0};
        uint64_t begun = w->busy_usec = bj_clock_boot_usec();
        pthread_mutex_unlock(&w->lock);
        int r = attempt(w, &err);
        pthread_mutex_lock(&w->lock);
        w->busy_usec = 0;
        w->told_hung = false;
        bool news = note(w, r, begun, &err);
        pthread_mutex_unlock(&w->lock);
        /* Who was left behind has nobody to say it to. */
        if (news && !atomic_load(&w->stop))
            say(w, err.code ? &err : NULL);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    if (w->source)
        w->kind->close(w->source);
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
    unref(w);
    return NULL;
}

/* --- for the owner --------------------------------------------------------*/

void bj_gpu_watch_free(struct bj_gpu_watch *w)
{
    if (!w)
        return;
    uint64_t end = bj_clock_boot_usec() + STOP_SEC * SECOND;
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->stop, true);
    pthread_cond_broadcast(&w->change);
    while (w->threaded && !w->ended && bj_wait_until(&w->change, &w->lock, end))
        ;
    bool ended = w->ended;
    pthread_mutex_unlock(&w->lock);
    if (w->threaded && ended)
        pthread_join(w->thread, NULL);
    else if (w->threaded)
        pthread_detach(w->thread);
    unref(w);
}

/* The sets are made when there is something to put into them. */
static int start(struct bj_gpu_watch *w)
{
    if (w->threaded)
        return 0;
    if (!w->work)
        w->work = calloc(1, sizeof(*w->work));
    if (!w->fresh)
        w->fresh = calloc(1, sizeof(*w->fresh));
    if (!w->work || !w->fresh)
        return -ENOMEM;
    atomic_fetch_add(&w->refs, 1);
    int r = w->host.thread(w->host.ctx, &w->thread, run, w, "bj-gpu");
    if (r < 0)
        atomic_fetch_sub(&w->refs, 1);
    w->threaded = r == 0;
    return r;
}

bool bj_gpu_watch_look(struct bj_gpu_watch *w, uint64_t now_usec)
{
    pthread_mutex_lock(&w->lock);
    if (w->due_usec == UINT64_MAX && w->busy_usec == 0 &&
        now_usec >= w->look_usec) {
        w->look_usec = now_usec + LOOK_USEC;
        if (w->kind->present(&w->env) && start(w) == 0) {
            w->due_usec = 0;
            pthread_cond_broadcast(&w->change);
        }
    }
    bool busy = w->due_usec != UINT64_MAX;
    pthread_mutex_unlock(&w->lock);
    return busy;
}

bool bj_gpu_watch_take(struct bj_gpu_watch *w, struct bj_gpu_set *set)
{
    pthread_mutex_lock(&w->lock);
    bool newer = w->fresh && w->fresh->stamp_usec > set->stamp_usec;
    if (newer)
        bj_gpu_set_copy(set, w->fresh);
    pthread_mutex_unlock(&w->lock);
    return newer;
}

void bj_gpu_watch_stat(struct bj_gpu_watch *w, uint64_t now_usec,
                       struct bj_gpu_watch_stat *ret)
{
    struct bj_err err = {0};
    pthread_mutex_lock(&w->lock);
    bool hung = w->busy_usec != 0 && now_usec >= w->busy_usec + w->hang_usec;
    bool news = hung && !w->told_hung;
    if (news) {
        w->told_hung = true;
        w->stat.ran = true;
        w->stat.failing = true;
        w->stat.faults++;
        bj_err_set(&err, -ETIMEDOUT, "the driver does not answer");
    }
    *ret = w->stat;
    ret->hung = hung;
    pthread_mutex_unlock(&w->lock);
    if (news)
        say(w, &err);
}
