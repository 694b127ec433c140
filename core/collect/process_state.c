/* The threads of a process: their states, and which of them are read. */
#include "core/collect/process_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- threads that sleep ---------------------------------------------------*/

/* Avoids reading threads that sleep.
 *
 * A thread that has not run since the last read is in the same state, has
 * opened no file and started no process.  schedstat shows how often it has run,
 * and costs a fifth of stat.  So for threads that were found asleep and
 * unchanged a few times, only schedstat is read, until it changes.  A thread
 * that was woken but is still waiting for a CPU is noticed later.
 *
 * schedstat is always read before the stat line: a thread that runs in between
 * is noticed at the next read.
 *
 * Source: kernel fs/proc/base.c, proc_pid_schedstat;
 * Documentation/scheduler/sched-stats.rst ("/proc/<pid>/schedstat"). */

enum { NEED_FIRST = 2, NEED_MOST = 64, BUSY_MOST = 2, SCHEDSTAT_BYTES = 80 };

void bj_quiet_init(struct bj_quiet *q)
{
    *q = (struct bj_quiet){.fd = -1, .need = NEED_FIRST};
}

void bj_quiet_drop(struct bj_proctab *t, struct bj_quiet *q)
{
    bj_fdpool_close(t->pool, &q->fd);
    q->fd = -1;
    q->on = false;
    q->calm = q->busy = 0;
}

/* The hash of the text of schedstat. */
static int read_base(struct bj_proctab *t, int fd, uint32_t *ret)
{
    char buf[SCHEDSTAT_BYTES];
    ssize_t n = pread(fd, buf, sizeof(buf), 0);
    if (n <= 0)
        return n < 0 ? -errno : -ESRCH;
    struct bj_slice text = {buf, (size_t)n};
    /* The output of a kernel without these statistics. */
    if (bj_slice_starts(text, BJ_SLICE("0 0 0")))
        t->schedstat = false;
    *ret = (uint32_t)bj_proc_hash(text);
    return 0;
}

int bj_quiet_probe(struct bj_proctab *t, struct bj_quiet *q)
{
    uint32_t base;
    int r = read_base(t, q->fd, &base);
    q->ran = r < 0 || base != q->base;
    if (r == 0)
        q->base = base;
    if (!q->ran)
        q->busy = 0;
    return bj_err_gone(r) ? r : 0;
}

bool bj_quiet_wants(const struct bj_proctab *t, const struct bj_quiet *q)
{
    return t->schedstat && !q->on && q->calm >= q->need;
}

void bj_quiet_arm(struct bj_proctab *t, struct bj_quiet *q, int dir,
                  const char *name)
{
    q->fd = bj_proc_keep(t, dir, name, O_RDONLY, 7, true);
    if (q->fd == -ENOENT)
        t->schedstat = false;
    if (q->fd >= 0 && (read_base(t, q->fd, &q->base) < 0 || !t->schedstat))
        bj_fdpool_close(t->pool, &q->fd);
}

void bj_quiet_after(struct bj_proctab *t, struct bj_quiet *q, bool still,
                    bool running)
{
    if (q->on) {
        /* For busy threads, reading schedstat first costs more: switch it
         * off. */
        q->busy += q->ran;
        if (!running && q->busy < BUSY_MOST)
            return;
        bj_quiet_drop(t, q);
        q->need = q->need < NEED_MOST ? (uint8_t)(2 * q->need) : NEED_MOST;
        return;
    }
    if (!still) {
        bj_quiet_drop(t, q);
        return;
    }
    q->on = q->fd >= 0;
    if (q->calm < q->need)
        q->calm++;
}

/* Threads: their states and CPUs. */

enum { STAT_BYTES = 1024, NAME_BYTES = 40, MAX_CPUS = 8192 };

/* Source: proc(5), /proc/pid/stat, field 3; kernel fs/proc/array.c,
 * task_state_array. */
const struct bj_slice bj_proc_state_name[BJ_PROC_STATES] = {
    {"dead", 4},    {"disk_sleep", 10}, {"idle", 4},    {"parked", 6},
    {"running", 7}, {"sleeping", 8},    {"stopped", 7}, {"tracing_stop", 12},
    {"unknown", 7}, {"wake_kill", 9},   {"waking", 6},  {"zombie", 6},
};

enum { STATE_UNKNOWN = 8 };

static const struct {
    char letter;
    uint8_t state;
} letters[] = {
    {'S', 5},  {'R', 4}, {'D', 1}, {'I', 2}, {'T', 6},  {'t', 7},
    {'Z', 11}, {'X', 0}, {'x', 0}, {'P', 3}, {'W', 10}, {'K', 9},
};

unsigned bj_proc_state(char letter)
{
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
        if (letters[i].letter == letter)
            return letters[i].state;
    return STATE_UNKNOWN;
}

/* --- the list of threads --- */

static void thread_close(struct bj_proctab *t, struct bj_thread *th)
{
    bj_fdpool_close(t->pool, &th->fd);
    bj_quiet_drop(t, &th->quiet);
}

void bj_proc_threads_drop(struct bj_proctab *t, struct bj_proc *e)
{
    for (uint32_t i = 0; i < e->nthreads; i++)
        thread_close(t, &e->threads[i]);
    free(e->threads);
    e->threads = NULL;
    e->nthreads = 0;
}

/* A list of threads while it is read. */
struct tids {
    struct bj_thread *v;
    uint32_t n, cap;
    uint32_t old; /* index in the old list; earlier entries are done */
};

/* Move tid from the old list, or make a new entry.  The kernel lists threads in
 * the order of their creation, so known threads come first and in the old
 * order. */
static bool tids_add(struct bj_proctab *t, struct bj_proc *e, struct tids *l,
                     int32_t tid)
{
    if (l->n == l->cap) {
        uint32_t cap = l->cap ? 2 * l->cap : e->nr_threads + 1;
        struct bj_thread *v = realloc(l->v, cap * sizeof(*v));
        if (!v)
            return false;
        l->v = v;
        l->cap = cap;
    }
    uint32_t i = l->old;
    while (i < e->nthreads && e->threads[i].tid != tid)
        i++;
    if (i == e->nthreads) {
        struct bj_thread *th = &l->v[l->n++];
        *th = (struct bj_thread){.tid = tid, .fd = -1, .baseless = true};
        bj_quiet_init(&th->quiet);
        return true;
    }
    while (l->old < i)
        thread_close(t, &e->threads[l->old++]);
    l->v[l->n++] = e->threads[i];
    e->threads[i].fd = e->threads[i].quiet.fd = -1;
    l->old = i + 1;
    return true;
}

/* Read /proc/PID/task into the process.  The leader, whose state is in
 * PID/stat, is left out unless its own CPU time is needed. */
static int list_threads(struct bj_proctab *t, struct bj_jobproc *p,
                        struct bj_proc *e)
{
    int dir = bj_proc_dir(t, e);
    if (dir < 0)
        return dir;
    bj_autoclose int fd =
        openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct tids l = {0};
    struct bj_dents d;
    const struct bj_dent *de;
    bool room = true;
    bj_dents_init(&d, fd);
    while (room && (de = bj_dents_next(&d)) != NULL) {
        uint64_t tid;
        if (bj_slice_u64(bj_slice_str(de->name), &tid) == 0 &&
            tid <= INT32_MAX && (p->percore || (int32_t)tid != e->pid))
            room = tids_add(t, e, &l, (int32_t)tid);
    }
    bj_proc_threads_drop(t, e);
    e->threads = l.v;
    e->nthreads = l.n;
    if (!room)
        return -ENOMEM;
    return d.error;
}

/* --- one thread --- */

static int thread_read(struct bj_proctab *t, struct bj_proc *e,
                       struct bj_thread *th, char *buf, size_t cap,
                       struct bj_slice *ret)
{
    char name[NAME_BYTES];
    int r, dir = -1;
    if (th->fd < 0) {
        dir = bj_proc_dir(t, e);
        if (dir < 0)
            return dir;
        snprintf(name, sizeof(name), "task/%d/stat", th->tid);
        th->fd = bj_proc_keep(t, dir, name, O_RDONLY, 6, th->state != 0);
    }
    const int fd = th->fd;
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    r = fd >= 0 ? bj_file_pread(fd, buf, cap, ret)
                : bj_file_read(dir, name, buf, cap, ret, NULL);
    bj_procguard_leave(g, -1);
    return r == 0 && ret->n == 0 ? -ESRCH : r;
}

void bj_proc_core(struct bj_jobproc *p, uint64_t cpu, uint64_t ticks)
{
    if (cpu >= MAX_CPUS || ticks == 0)
        return;
    if (cpu >= p->ncores) {
        uint64_t *v = realloc(p->cores, (cpu + 1) * sizeof(*v));
        if (!v)
            return;
        memset(v + p->ncores, 0, (cpu + 1 - p->ncores) * sizeof(*v));
        p->cores = v;
        p->ncores = (uint32_t)cpu + 1;
    }
    p->cores[cpu] += ticks;
}

/* Count the CPU time of the thread since the last read.  The time that the
 * leader used while it was the only thread has been counted for the process. */
static void thread_cpu(struct bj_jobproc *p, const struct bj_proc *e,
                       struct bj_thread *th, struct bj_slice line,
                       uint64_t alone_ticks)
{
    struct bj_procstat st;
    if (bj_procstat_parse(line, &st) < 0)
        return;
    uint64_t ticks = st.utime_ticks + st.stime_ticks;
    if (th->baseless && th->tid == e->pid)
        th->ticks = ticks < alone_ticks ? ticks : alone_ticks;
    th->baseless = false;
    if (ticks <= th->ticks)
        return;
    bj_proc_core(p, st.cpu, ticks - th->ticks);
    th->ticks = ticks;
}

static void thread_arm(struct bj_proctab *t, struct bj_proc *e,
                       struct bj_thread *th)
{
    char name[NAME_BYTES];
    if (!bj_quiet_wants(t, &th->quiet))
        return;
    int dir = bj_proc_dir(t, e);
    snprintf(name, sizeof(name), "task/%d/schedstat", th->tid);
    if (dir >= 0)
        bj_quiet_arm(t, &th->quiet, dir, name);
}

/* 0, or -ESRCH when the thread has ended. */
static int thread_update(struct bj_proctab *t, struct bj_jobproc *p,
                         struct bj_proc *e, struct bj_thread *th)
{
    char buf[STAT_BYTES];
    struct bj_slice line;
    if (th->quiet.on && !th->quiet.ran)
        return 0;
    thread_arm(t, e, th);
    int r = thread_read(t, e, th, buf, sizeof(buf), &line);
    if (bj_err_gone(r))
        return -ESRCH;
    if (r < 0) {
        bj_proc_fault_once(t, e, r, "task/stat");
        return 0;
    }
    th->state = bj_procstat_state(line);
    if (p->percore)
        thread_cpu(p, e, th, line, e->alone_ticks);
    bj_quiet_after(t, &th->quiet, th->state != 'R', th->state == 'R');
    th->quiet.ran = false;
    if (th->quiet.on)
        bj_fdpool_close(t->pool, &th->fd);
    return 0;
}

bool bj_proc_threads_probe(struct bj_proctab *t, struct bj_proc *e)
{
    bool ran = e->nr_threads > 1 && e->nthreads == 0;
    for (uint32_t i = 0; i < e->nthreads; i++) {
        struct bj_quiet *q = &e->threads[i].quiet;
        if (q->on)
            bj_quiet_probe(t, q);
        ran = ran || !q->on || q->ran;
    }
    return ran;
}

bool bj_proc_threads_quiet(const struct bj_proc *e)
{
    if (e->nr_threads > 1 && e->nthreads == 0)
        return false;
    for (uint32_t i = 0; i < e->nthreads; i++)
        if (!e->threads[i].quiet.on)
            return false;
    return true;
}

/* The number of threads that the list should have. */
static uint32_t expected(const struct bj_jobproc *p, const struct bj_proc *e)
{
    return e->nr_threads - (p->percore ? 0 : 1);
}

/* Read all threads; true if one has ended. */
static bool update_all(struct bj_proctab *t, struct bj_jobproc *p,
                       struct bj_proc *e)
{
    bool ended = false;
    for (uint32_t i = 0; i < e->nthreads; i++)
        if (thread_update(t, p, e, &e->threads[i]) < 0)
            ended = true;
    return ended;
}

void bj_proc_threads(struct bj_proctab *t, struct bj_jobproc *p,
                     struct bj_proc *e)
{
    if (e->nr_threads <= 1) {
        if (e->threads)
            bj_proc_threads_drop(t, e);
        return;
    }
    if (e->nr_threads > t->threads_left) {
        t->refused++;
        return;
    }
    t->threads_left -= e->nr_threads;
    bool list = e->nthreads != expected(p, e);
    /* The same number of threads, and none has ended: the list is current. */
    for (int i = 0; i < 2; i++) {
        int r = list ? list_threads(t, p, e) : 0;
        if (r < 0 && !bj_err_gone(r))
            bj_proc_fault_once(t, e, r, "task");
        list = update_all(t, p, e);
        if (!list)
            break;
    }
}

/* --- sums --- */

uint32_t bj_proc_add_states(const struct bj_proc *e,
                            uint32_t states[BJ_PROC_STATES])
{
    uint32_t n = 1;
    states[bj_proc_state(e->state)]++;
    for (uint32_t i = 0; i < e->nthreads; i++) {
        const struct bj_thread *th = &e->threads[i];
        if (th->tid == e->pid || th->state == 0)
            continue;
        states[bj_proc_state(th->state)]++;
        n++;
    }
    /* Threads beyond the budget count as being in an unknown state. */
    if (e->nthreads == 0 && e->nr_threads > 1) {
        states[STATE_UNKNOWN] += e->nr_threads - 1;
        n = e->nr_threads;
    }
    return n;
}

static void tally_one(struct bj_jobproc *p, const struct bj_proc *e)
{
    p->threads += bj_proc_add_states(e, p->states);
    p->processes++;
    if (e->open_fds >= 0) {
        p->open_fds += (uint32_t)e->open_fds;
        p->fds_known = true;
    }
}

void bj_proc_tally(struct bj_jobproc *p)
{
    memset(p->states, 0, sizeof(p->states));
    p->processes = p->unread;
    p->threads = p->open_fds = 0;
    p->fds_known = false;
    for (size_t i = 0; i < p->n; i++) {
        const struct bj_proc *e = &p->v[i];
        if (bj_proc_in_job(e))
            tally_one(p, e);
        else if (e->pid && e->start_ticks == 0)
            p->processes++;
    }
    for (unsigned s = 0; s < BJ_PROC_STATES; s++)
        if (p->states[s])
            p->states_seen |= 1u << s;
}
