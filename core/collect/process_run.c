#include "core/collect/process_run.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/wait.h"
#include "core/collect/procstat.h"
#include "core/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    HELD_MAX = 32,         /* maximum number of blocked threads */
    PATIENCE = 100 * 1000, /* microseconds for a read; at most twice that */
};

/* Flags in the lowest bits of a state; the other bits count reads. */
enum { INSIDE = 1, GIVEN_UP = 2, ONE = 4 };

struct bj_procguard {
    atomic_uint refs, state;
    atomic_bool over;
    pid_t tid; /* of the thread that runs fn */
    void *whose;
    jmp_buf away;
};

struct bj_procthread {
    struct bj_poller poller;
    /* under lock */
    void (*fn)(void *ctx, struct bj_procguard *g);
    void *ctx;
    struct bj_procguard
        *guard; /* of the thread that runs fn; NULL: not started */
    bool running;
    bool stuck; /* the thread was abandoned and could not be replaced */
};

struct worker {
    struct bj_worker worker;
    struct bj_procguard *guard;
};

/* --- the guard ------------------------------------------------------------ */

struct bj_procguard *bj_procguard_enter(struct bj_procguard *g, void *whose)
{
    if (!g)
        return NULL;
    g->whose = whose;
    unsigned s = atomic_load_explicit(&g->state, memory_order_relaxed);
    atomic_store_explicit(&g->state, (s + ONE) | INSIDE, memory_order_release);
    return g;
}

void bj_procguard_leave(struct bj_procguard *g, int fd)
{
    if (!g)
        return;
    int e = errno;
    unsigned s = atomic_load_explicit(&g->state, memory_order_relaxed);
    if ((s & GIVEN_UP) == 0 &&
        atomic_compare_exchange_strong(&g->state, &s, s & ~(unsigned)INSIDE)) {
        errno = e;
        return;
    }
    if (fd >= 0)
        close(fd);
    longjmp(g->away, 1);
}

bool bj_procguard_over(const struct bj_procguard *g)
{
    return atomic_load(&g->over);
}

void bj_procguard_free(struct bj_procguard *g)
{
    if (g && atomic_fetch_sub(&g->refs, 1) == 1)
        free(g);
}

/* --- the thread ----------------------------------------------------------- */

static bool worker_init(struct bj_worker *worker)
{
    struct worker *w = (struct worker *)worker;
    w->guard = calloc(1, sizeof(*w->guard));
    if (w->guard)
        atomic_init(&w->guard->refs, 1);
    return w->guard != NULL;
}

static void worker_fini(struct bj_worker *worker)
{
    struct worker *w = (struct worker *)worker;
    if (w->guard)
        atomic_store(&w->guard->over, true);
    bj_procguard_free(w->guard);
}

static bool procthread_step(struct bj_worker *worker)
{
    struct worker *w = (struct worker *)worker;
    struct bj_procthread *r = (struct bj_procthread *)worker->poller;
    r->poller.due_usec = UINT64_MAX;
    if (!r->running || r->guard)
        return true;
    void (*fn)(void *ctx, struct bj_procguard *g) = r->fn;
    void *ctx = r->ctx;
    r->guard = w->guard;
    w->guard->tid = (pid_t)syscall(SYS_gettid);
    atomic_store(&w->guard->state, 0);
    bj_worker_unlock(worker);
    if (setjmp(w->guard->away) == 0)
        fn(ctx, w->guard);
    if (!bj_worker_lock(worker))
        return false;
    r->running = r->stuck = false;
    pthread_cond_broadcast(&r->poller.change);
    return true;
}

static void procthread_gone(struct bj_poller *poller)
{
    free(poller);
}

/* --- for the owner -------------------------------------------------------- */

struct bj_procthread *bj_procthread_new(const struct bj_host *host)
{
    static const struct bj_poller_work work = {
        .worker_size = sizeof(struct worker),
        .worker_init = worker_init,
        .worker_fini = worker_fini,
        .step = procthread_step,
        .gone = procthread_gone,
        .abandoned_max = HELD_MAX,
    };
    struct bj_procthread *r = calloc(1, sizeof(*r));
    if (!r || bj_poller_init(&r->poller, &work, "bj-proc", host, NULL) < 0) {
        free(r);
        return NULL;
    }
    r->poller.stuck_usec = 0;
    return r;
}

void bj_procthread_free(struct bj_procthread *r)
{
    if (r)
        bj_poller_free(&r->poller);
}

struct progress {
    char state; /* as in /proc/PID/stat; 0: unknown */
    uint64_t cpu_usec;
};

static struct progress progress_of(pid_t tid)
{
    char path[64], buf[2048];
    struct bj_slice line;
    struct bj_procstat stat;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    if (bj_file_read(AT_FDCWD, path, buf, sizeof(buf), &line, NULL) < 0 ||
        bj_procstat_parse(line, &stat) < 0)
        return (struct progress){0};
    return (struct progress){stat.state,
                             (stat.utime_ticks + stat.stime_ticks) *
                                 (1000000u / (uint64_t)sysconf(_SC_CLK_TCK))};
}

/* Does the read wait for a CPU?  Its thread is runnable, but was run little. */
static bool is_starved(struct progress first, struct progress now)
{
    return now.state == 'R' && now.cpu_usec - first.cpu_usec < PATIENCE;
}

/* Under lock: wait until fn has returned.  False if a read is blocked, or uses
 * a CPU, for too long. */
static bool wait(struct bj_procthread *r)
{
    uint64_t end = bj_clock_boot_usec() + PATIENCE;
    struct progress first = {0};
    unsigned last = 0;
    while (r->running) {
        if (bj_wait_until(&r->poller.change, r->poller.lock, end))
            continue;
        end = bj_clock_boot_usec() + PATIENCE;
        if (!r->guard)
            continue;
        unsigned s = atomic_load(&r->guard->state);
        struct progress now = progress_of(r->guard->tid);
        if ((s & INSIDE) && s == last && !is_starved(first, now) &&
            atomic_compare_exchange_strong(&r->guard->state, &s, s | GIVEN_UP))
            return false;
        if (s != last)
            first = now;
        last = s;
    }
    return true;
}

/* Under lock. */
static int give_up(struct bj_procthread *r, void **whose,
                   struct bj_procguard **held)
{
    struct bj_procguard *g = r->guard;
    *whose = g->whose;
    *held = NULL;
    atomic_fetch_add(&g->refs, 1);
    if (bj_poller_replace(&r->poller)) {
        r->running = false;
        *held = g;
    } else {
        r->stuck = true;
        bj_procguard_free(g);
    }
    return -ETIMEDOUT;
}

int bj_procthread_call(struct bj_procthread *r,
                       void (*fn)(void *ctx, struct bj_procguard *g), void *ctx,
                       void **whose, struct bj_procguard **held)
{
    pthread_mutex_lock(r->poller.lock);
    int e = r->stuck ? -EBUSY : bj_poller_start(&r->poller);
    if (e == 0) {
        r->fn = fn;
        r->ctx = ctx;
        r->guard = NULL;
        r->running = true;
        bj_poller_wake(&r->poller);
        if (!wait(r))
            e = give_up(r, whose, held);
    }
    pthread_mutex_unlock(r->poller.lock);
    return e;
}
