#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/wait.h"
#include "core/collect/process_impl.h"
#include "core/collect/procstat.h"
#include "core/poller.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

static bool process_dir_step(struct bj_worker *worker)
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

static void process_dir_gone(struct bj_poller *poller)
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
        .step = process_dir_step,
        .gone = process_dir_gone,
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

/* --- parsing --------------------------------------------------------------*/

#define FIELD(n, member)                                                       \
    {                                                                          \
        n, offsetof(struct bj_procstat, member)                                \
    }

/* In rising order.  All fields up to the start time exist since Linux 2.6. */
static const struct {
    unsigned number;
    size_t off;
} fields[] = {
    FIELD(4, ppid),       FIELD(14, utime_ticks), FIELD(15, stime_ticks),
    FIELD(20, threads),   FIELD(22, start_ticks), FIELD(28, stack),
    FIELD(33, sigignore), FIELD(39, cpu),
};
enum { FIRST_NUMBER = 4, NEEDED = 5, WANTED = 8 };

/* The name and the state; *rest begins after them. */
static int parse_head(struct bj_slice line, struct bj_procstat *ret,
                      struct bj_slice *rest)
{
    const char *open = line.n > 0 ? memchr(line.p, '(', line.n) : NULL;
    const char *close = line.n > 0 ? memrchr(line.p, ')', line.n) : NULL;
    const char *end = line.p + line.n;
    if (!open || !close || close < open || end - close < 4 || close[1] != ' ' ||
        close[3] != ' ')
        return -EINVAL;
    ret->comm = (struct bj_slice){open + 1, (size_t)(close - open - 1)};
    ret->state = close[2];
    *rest = (struct bj_slice){close + 4, (size_t)(end - close - 4)};
    return 0;
}

/* Skip n fields; false if there are fewer. */
static bool skip_fields(struct bj_slice *rest, unsigned n)
{
    const char *p = rest->p, *end = p + rest->n;
    for (; n > 0; n--) {
        while (p < end && *p != ' ')
            p++;
        if (p == end)
            return false;
        p++;
    }
    *rest = (struct bj_slice){p, (size_t)(end - p)};
    return true;
}

int bj_procstat_parse(struct bj_slice line, struct bj_procstat *ret)
{
    struct bj_procstat st = {.cpu = BJ_ABSENT};
    struct bj_slice rest;
    if (parse_head(line, &st, &rest) < 0)
        return -EINVAL;
    unsigned at = FIRST_NUMBER;
    for (unsigned i = 0; i < WANTED; i++) {
        uint64_t *v = (uint64_t *)(void *)((char *)&st + fields[i].off);
        if (!skip_fields(&rest, fields[i].number - at) ||
            !bj_slice_number(&rest, v)) {
            if (i < NEEDED)
                return -EINVAL;
            break;
        }
        at = fields[i].number;
    }
    *ret = st;
    return 0;
}

int bj_procstat_children(struct bj_slice line, uint64_t *ticks)
{
    enum { CUTIME = 16 };
    struct bj_procstat st;
    struct bj_slice rest;
    uint64_t user, system;
    if (parse_head(line, &st, &rest) < 0 ||
        !skip_fields(&rest, CUTIME - FIRST_NUMBER) ||
        !bj_slice_number(&rest, &user) || !skip_fields(&rest, 1) ||
        !bj_slice_number(&rest, &system))
        return -EINVAL;
    *ticks = user + system;
    return 0;
}

char bj_procstat_state(struct bj_slice line)
{
    const char *close = line.n > 0 ? memrchr(line.p, ')', line.n) : NULL;
    return close && line.p + line.n - close > 2 ? close[2] : '?';
}

static const struct bj_slice io_keys[BJ_PROCIO_FIELDS] = {
    {"rchar", 5},
    {"wchar", 5},
    {"syscr", 5},
    {"syscw", 5},
    {"read_bytes", 10},
    {"write_bytes", 11},
    {"cancelled_write_bytes", 21},
};

/* The index of the line's key, and its number; -1 for other lines.  The file
 * has the order of the table, so the expected key is tried first. */
static int io_line(struct bj_slice line, unsigned expect, uint64_t *ret)
{
    struct bj_slice key;
    if (!bj_slice_field(&line, ':', &key))
        return -1;
    for (unsigned i = 0; i < BJ_PROCIO_FIELDS; i++) {
        unsigned k = (expect + i) % BJ_PROCIO_FIELDS;
        if (!bj_slice_eq(key, io_keys[k]))
            continue;
        return bj_slice_u64(bj_slice_trim(line), ret) == 0 ? (int)k : -1;
    }
    return -1;
}

int bj_procio_parse(struct bj_slice text, uint64_t ret[BJ_PROCIO_FIELDS])
{
    uint64_t v[BJ_PROCIO_FIELDS] = {0}, number = 0;
    unsigned got = 0, expect = 0;
    struct bj_slice line;
    while (bj_slice_line(&text, &line)) {
        int k = io_line(line, expect, &number);
        if (k < 0)
            continue;
        v[k] = number;
        got |= 1u << k;
        expect = (unsigned)k + 1;
    }
    if (got != (1u << BJ_PROCIO_FIELDS) - 1)
        return -EINVAL;
    memcpy(ret, v, sizeof(v));
    return 0;
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

uint64_t bj_proc_hash(struct bj_slice s)
{
    /* Two lanes: the multiplications need not wait for each other. */
    uint64_t a = s.n, b = ~(uint64_t)s.n, v[2];
    while (s.n >= sizeof(v)) {
        memcpy(v, s.p, sizeof(v));
        a = mix(a, v[0]);
        b = mix(b, v[1]);
        s.p += sizeof(v);
        s.n -= sizeof(v);
    }
    memset(v, 0, sizeof(v));
    if (s.n > 0)
        memcpy(v, s.p, s.n);
    return mix(mix(a, v[0]), mix(b, v[1]));
}

/* --- faults and kept descriptors ------------------------------------------*/

/* Faults, kept descriptors, and the directories of processes. */

int bj_proc_fault(struct bj_proctab *t, int code, const char *fmt, ...)
{
    char msg[200];
    va_list ap;
    t->faults++;
    if (t->fault == 0) {
        va_start(ap, fmt);
        vsnprintf(msg, sizeof(msg), fmt, ap);
        va_end(ap);
        t->fault = bj_err_set(t->err, code, "%s", msg);
    }
    return code;
}

int bj_proc_fault_once(struct bj_proctab *t, struct bj_proc *e, int code,
                       const char *what)
{
    if (!e->denied)
        bj_proc_fault(t, code, "process %d: %s", e->pid, what);
    e->denied = true;
    return code;
}

bool bj_proc_room(const struct bj_proctab *t, unsigned eighths)
{
    return (uint64_t)t->pool->used * 8 < (uint64_t)t->pool->max * eighths;
}

int bj_proc_keep(struct bj_proctab *t, int dirfd, const char *name, int flags,
                 unsigned eighths, bool retry)
{
    if (bj_proc_room(t, eighths))
        return bj_fdpool_open(t->pool, dirfd, name, flags);
    if (!retry)
        t->pool->refused++;
    return -EMFILE;
}

/* Reading directories without opendir(3), which allocates. */

void bj_dents_init(struct bj_dents *d, int fd)
{
    d->fd = fd;
    d->error = 0;
    d->n = d->at = 0;
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

const struct bj_dent *bj_dents_next(struct bj_dents *d)
{
    for (;;) {
        if (d->at >= d->n) {
            d->at = 0;
            d->n = syscall(SYS_getdents64, d->fd, d->buf, sizeof(d->buf));
            if (d->n <= 0) {
                d->error = d->n < 0 ? -errno : 0;
                d->n = 0;
                return NULL;
            }
        }
        const struct bj_dent *e =
            (const struct bj_dent *)(const void *)(d->buf + d->at);
        d->at += e->reclen;
        if (!is_dots(e->name))
            return e;
    }
}

/* The /proc directory of a process.
 *
 * A descriptor of /proc/PID, or of a file in it, belongs to the process and not
 * to the pid: once the process is reaped, reads fail with ESRCH, even if
 * another process has the pid.  (kernel fs/proc/base.c, get_proc_task) */

enum { PID_TEXT = 24 };

static const char *pid_text(int32_t pid, char buf[PID_TEXT])
{
    buf[PID_TEXT - 1] = 0;
    return bj_u64_backwards(buf + PID_TEXT - 1, (uint64_t)pid);
}

void bj_proc_dir_done(struct bj_proctab *t)
{
    bj_close_fd(&t->tmp_dir);
    t->tmp_dir = -1;
    t->tmp_pid = 0;
}

/* Whether the directory is that of e, by its start time from an earlier
 * read. */
static int same_process(struct bj_proctab *t, struct bj_proc *e, int dir)
{
    char buf[BJ_STAT_BYTES];
    struct bj_slice line;
    struct bj_procstat st;
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    int r = bj_file_read(dir, "stat", buf, sizeof(buf), &line, NULL);
    bj_procguard_leave(g, dir);
    if (r < 0)
        return r;
    r = bj_procstat_parse(line, &st);
    if (r < 0)
        return r;
    return st.start_ticks == e->start_ticks ? 0 : -ESRCH;
}

/* Open the directory of a process that has none kept.  sure: verify that it
 * belongs to e. */
static int dir_open(struct bj_proctab *t, struct bj_proc *e, bool sure)
{
    char text[PID_TEXT];
    const char *name = pid_text(e->pid, text);
    if (e->start_ticks == 0) {
        e->dir = bj_proc_keep(t, t->proc, name, O_PATH | O_DIRECTORY, 7, false);
        if (e->dir >= 0)
            return e->dir;
        if (e->dir != -EMFILE)
            return e->dir;
    }
    bj_proc_dir_done(t);
    int fd = openat(t->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = sure && e->start_ticks ? same_process(t, e, fd) : 0;
    if (r < 0) {
        close(fd);
        return r;
    }
    t->tmp_dir = fd;
    t->tmp_pid = e->pid;
    return fd;
}

int bj_proc_dir_any(struct bj_proctab *t, struct bj_proc *e, bool sure)
{
    if (e->dir >= 0)
        return e->dir;
    if (t->tmp_dir >= 0 && t->tmp_pid == e->pid)
        return t->tmp_dir;
    int fd = dir_open(t, e, sure);
    if (fd < 0)
        e->dir = -1;
    else if (e->dir < 0 && sure)
        /* "." of the open directory: the same process for sure. */
        e->dir = bj_proc_keep(t, fd, ".", O_PATH | O_DIRECTORY, 7, true);
    return fd;
}

int bj_proc_dir(struct bj_proctab *t, struct bj_proc *e)
{
    return bj_proc_dir_any(t, e, true);
}
