/* Reading one process: its stat line, and its I/O with the totals of its job.
 */
#include "core/collect/process_impl.h"

#include "base/array.h"
#include "base/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    STATUS_BYTES = 4096,
    BATCH_YOUNG_USEC = 5 * 1000 * 1000,
    BATCH_READ_USEC = 30 * 1000 * 1000,
    FULL_USEC = 300 * 1000 *
                1000, /* maximum time between two reads of a sleeping process */
};

/* --- its stat line --- */

static int stat_read(struct bj_proctab *t, struct bj_proc *e, char *buf,
                     size_t cap, struct bj_slice *ret)
{
    int r, dir = -1;
    if (e->stat < 0) {
        /* The stat line identifies the process, unless its descriptor is
         * kept. */
        dir = bj_proc_dir_any(t, e, bj_proc_room(t, 7));
        if (dir < 0)
            return dir;
        e->stat = bj_proc_keep(t, dir, "stat", O_RDONLY, 7, e->start_ticks);
    }
    const int fd = e->stat;
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    r = fd >= 0 ? bj_file_pread(fd, buf, cap, ret)
                : bj_file_read(dir, "stat", buf, cap, ret, NULL);
    bj_procguard_leave(g, -1);
    return r == 0 && ret->n == 0 ? -ESRCH : r;
}

/* Real user id 0.  Not the owner of /proc/PID: that is root for every process
 * that may not be dumped.  (proc(5), "/proc/pid") */
static bool is_root(struct bj_proctab *t, struct bj_proc *e)
{
    char buf[STATUS_BYTES];
    struct bj_slice text, line, word;
    uint64_t uid;
    int dir = bj_proc_dir(t, e);
    if (dir < 0 ||
        bj_file_read_head(dir, "status", buf, sizeof(buf), &text) < 0)
        return false;
    while (bj_slice_line(&text, &line))
        if (bj_slice_starts(line, BJ_SLICE("Uid:")) &&
            bj_slice_word(&line, &word) && bj_slice_word(&line, &word))
            return bj_slice_u64(word, &uid) == 0 && uid == 0;
    return false;
}

/* "sleep 100000000", which keeps the extern step of each job alive (Slurm
 * src/slurmd/slurmstepd/mgr.c). */
static bool is_extern_sleep(struct bj_proctab *t, struct bj_proc *e)
{
    static const char args[] = "sleep\0"
                               "100000000"; /* with its last NUL */
    char buf[STATUS_BYTES];
    struct bj_slice text;
    int dir = bj_proc_dir(t, e);
    if (dir < 0 ||
        bj_file_read_head(dir, "cmdline", buf, sizeof(buf), &text) < 0)
        return false;
    return text.n >= sizeof(args) &&
           memcmp(text.p + text.n - sizeof(args), args, sizeof(args)) == 0;
}

static bool is_batch_system(struct bj_proctab *t, struct bj_proc *e,
                            struct bj_slice comm)
{
    if (bj_slice_eq(comm, BJ_SLICE("slurmstepd")) ||
        bj_slice_eq(comm, BJ_SLICE("slurmd")))
        return is_root(t, e);
    return !(t->conf->extras & BJ_EXTRA_SLEEP) &&
           bj_slice_eq(comm, BJ_SLICE("sleep")) && is_extern_sleep(t, e) &&
           is_root(t, e);
}

/* Determine its executable: when it is first seen, and after every exec. */
static void identify(struct bj_proctab *t, struct bj_jobproc *p,
                     struct bj_proc *e, struct bj_slice comm)
{
    e->batch = is_batch_system(t, e, comm);
    if (e->batch) {
        bj_proc_exe_drop(p, e);
        bj_proc_threads_drop(t, e);
        return;
    }
    if (!e->counted)
        p->seen++;
    e->counted = true;
    if (t->detail && t->conf->exe_top > 0)
        bj_proc_exe(t, p, e, comm);
    if (t->conf->extras & BJ_EXTRA_NAMES)
        bj_proc_extra_name(t, e, comm);
    if (t->conf->extras & BJ_EXTRA_USERS)
        bj_proc_extra_user(t, e, is_root(t, e));
}

/* The start of the job is that of its oldest process. */
static void note_start(const struct bj_proctab *t, struct bj_jobproc *p,
                       uint64_t start_ticks)
{
    if (p->oldest_ticks && p->oldest_ticks <= start_ticks)
        return;
    p->oldest_ticks = start_ticks;
    uint64_t boot = bj_clock_wall_usec() - bj_clock_boot_usec();
    p->start_sec = (boot + start_ticks * (1000000 / t->hz)) / 1000000;
}

static void count_cpu(struct bj_jobproc *p, struct bj_proc *e,
                      const struct bj_procstat *st)
{
    uint64_t ticks = st->utime_ticks + st->stime_ticks;
    if (e->batch || ticks <= e->ticks)
        return;
    uint64_t more = ticks - e->ticks;
    e->ticks = ticks;
    if (!bj_proc_in_job(e))
        return;
    bj_proc_exe_used(p, e, more);
    if (p->percore && st->threads <= 1) {
        bj_proc_core(p, st->cpu, more);
        e->alone_ticks = ticks;
    }
}

/* The start of the stack differs for each program that is started. It is 0
 * or 1 for readers without permission, and after the end. */
static bool other_program(const struct bj_proc *e, const struct bj_procstat *st,
                          uint32_t comm)
{
    return comm != e->comm || (st->stack > 1 && st->stack != e->stack);
}

/* If its parent has changed, the new one has adopted it. */
static void note_parent(const struct bj_jobproc *p, struct bj_proc *e,
                        int32_t ppid)
{
    struct bj_proc *parent = NULL;
    if (e->start_ticks && ppid != e->ppid)
        parent = bj_proc_find(p, ppid);
    if (parent)
        parent->adopts = true;
    e->ppid = ppid;
}

enum { SIGCHLD_BIT = 1 << 16 }; /* signal 17: bit 16 */

/* Its parent has waited for it, and the kernel is removing it: the parent's
 * counters include its own, and the rest of the line is not valid. (kernel
 * kernel/exit.c, wait_task_zombie; fs/proc/array.c, do_task_stat) */
static bool is_reaped(const struct bj_procstat *st)
{
    return st->threads == 0 || st->state == 'X' || st->state == 'x';
}

static int take_line(struct bj_proctab *t, struct bj_jobproc *p,
                     struct bj_proc *e, struct bj_slice line)
{
    struct bj_procstat st;
    int r = bj_procstat_parse(line, &st);
    if (r < 0)
        return bj_proc_fault_once(t, e, r, "stat");
    bool first = e->start_ticks == 0;
    if (is_reaped(&st) || (!first && st.start_ticks != e->start_ticks))
        return -ESRCH;
    uint32_t comm = (uint32_t)bj_proc_hash(st.comm);
    bool other = first || other_program(e, &st, comm);
    note_parent(p, e, st.ppid <= INT32_MAX ? (int32_t)st.ppid : 0);
    e->start_ticks = st.start_ticks ? st.start_ticks : 1;
    e->state = st.state;
    e->nr_threads = (uint32_t)st.threads;
    e->cpu = st.cpu < INT16_MAX ? (int16_t)st.cpu : BJ_PROC_NO_CPU;
    e->reaps_self = (st.sigignore & SIGCHLD_BIT) != 0;
    if (first)
        note_start(t, p, e->start_ticks);
    if (e->state == 'Z')
        p->orphans = true;
    if (other) {
        e->comm = comm;
        e->stack = st.stack;
        identify(t, p, e, st.comm);
    }
    count_cpu(p, e, &st);
    if (t->conf->extras & BJ_EXTRA_ALIVE)
        bj_proc_extra_line(t, e, line);
    return 0;
}

/* Whether to read a process of the batch system again. Its numbers are not
 * needed, but it may not be one any more: forked processes of the job have its
 * name until they start their program. */
static bool batch_due(const struct bj_proctab *t, struct bj_proc *e)
{
    if (t->now_usec < e->due_usec)
        return false;
    uint64_t start = e->start_ticks * (1000000 / t->hz);
    if (t->now_usec > start + BATCH_YOUNG_USEC)
        e->due_usec = t->now_usec + BATCH_READ_USEC;
    return true;
}

/* Whether its stat line must be read: not while it and all its threads sleep. A
 * code of bj_err_gone() if it has ended. */
static int must_read(struct bj_proctab *t, struct bj_proc *e)
{
    bool threads = bj_proc_threads_probe(t, e);
    if (!e->quiet.on)
        return 1;
    int r = bj_quiet_probe(t, &e->quiet);
    if (r < 0)
        return r;
    if (e->quiet.ran || threads)
        e->io_stale = true;
    return e->quiet.ran || threads || e->recheck ||
           t->now_usec - e->full_usec >= FULL_USEC;
}

static void arm(struct bj_proctab *t, struct bj_proc *e)
{
    if (!bj_quiet_wants(t, &e->quiet) || !bj_proc_threads_quiet(e))
        return;
    int dir = bj_proc_dir(t, e);
    if (dir >= 0)
        bj_quiet_arm(t, &e->quiet, dir, "schedstat");
    e->io_stale = true;
}

/* Read its stat line and update its state. */
static int read_line(struct bj_proctab *t, struct bj_jobproc *p,
                     struct bj_proc *e)
{
    char buf[BJ_STAT_BYTES];
    struct bj_slice line;
    int r = stat_read(t, e, buf, sizeof(buf), &line);
    if (r < 0)
        return bj_err_gone(r) ? r : bj_proc_fault_once(t, e, r, "stat");
    uint64_t hash = bj_proc_hash(line);
    e->full_usec = t->now_usec;
    e->recheck = false;
    e->changed = hash != e->line;
    if (!e->changed)
        return 0;
    e->io_due = true;
    r = take_line(t, p, e, line);
    if (r == 0)
        e->line = hash;
    return r;
}

int bj_proc_read(struct bj_proctab *t, struct bj_jobproc *p, struct bj_proc *e)
{
    e->changed = false;
    if (e->held && !bj_procguard_over(e->held))
        return 0;
    bj_proc_released(p, e);
    if (e->batch && e->missed == 0 && e->list_no == p->list_no && !e->recheck &&
        !batch_due(t, e))
        return 0;
    int r = must_read(t, e);
    if (r <= 0)
        return r;
    arm(t, e);
    r = read_line(t, p, e);
    if (r < 0)
        return r;
    if (bj_proc_in_job(e)) {
        bj_proc_threads(t, p, e);
        if (t->detail && t->conf->open_fds)
            bj_proc_fds(t, e);
    }
    bool still = !e->changed && e->state != 'R' && bj_proc_threads_quiet(e);
    bj_quiet_after(t, &e->quiet, still, e->state == 'R');
    if (e->quiet.on)
        bj_fdpool_close(t->pool, &e->stat);
    return 0;
}

/* Does the process still exist, alive or as a zombie? */
static bool proc_exists(struct bj_proctab *t, struct bj_proc *e)
{
    char buf[BJ_STAT_BYTES];
    struct bj_slice line;
    struct bj_procstat st;
    if (e->held)
        return true;
    int r = stat_read(t, e, buf, sizeof(buf), &line);
    if (r < 0)
        return !bj_err_gone(r);
    return bj_procstat_parse(line, &st) < 0 ||
           (!is_reaped(&st) && st.start_ticks == e->start_ticks);
}

/* --- I/O -------------------------------------------------------------------
 *
 * Totals that never fall and count nothing twice: process.h describes the
 * method.  Source: kernel kernel/exit.c, wait_task_zombie and __exit_signal,
 * which add the counters of a child to those of the parent that waits for it;
 * fs/proc/base.c, do_io_accounting. */

enum {
    IO_BYTES = 512,
    KEEP_READS = 2, /* a descriptor is kept after this many reads */
    MAX_ROUNDS = 16,
    MAX_ANCESTORS = 64,
};

static bool io_zero(const uint64_t v[BJ_PROCIO_FIELDS])
{
    for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++)
        if (v[f])
            return false;
    return true;
}

/* --- reading --- */

static int io_text(struct bj_proctab *t, struct bj_proc *e, char *buf,
                   size_t cap, struct bj_slice *ret)
{
    int dir = -1, r;
    if (e->io_fd < 0) {
        dir = bj_proc_dir(t, e);
        if (dir < 0)
            return dir;
        if (e->io_reads < KEEP_READS)
            e->io_reads++;
        else
            e->io_fd = bj_proc_keep(t, dir, "io", O_RDONLY, 6, true);
    }
    const int fd = e->io_fd;
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    r = fd >= 0 ? bj_file_pread(fd, buf, cap, ret)
                : bj_file_read(dir, "io", buf, cap, ret, NULL);
    bj_procguard_leave(g, -1);
    return r;
}

/* Read the I/O counters of e. A code of bj_err_gone() if it has ended. */
static int io_read(struct bj_proctab *t, struct bj_jobproc *p,
                   struct bj_proc *e)
{
    char buf[IO_BYTES];
    uint64_t now[BJ_PROCIO_FIELDS];
    struct bj_slice text;
    int r = io_text(t, e, buf, sizeof(buf), &text);
    if (r == -ENOENT && proc_exists(t, e))
        r = -EOPNOTSUPP; /* this kernel has no I/O counters */
    if (bj_err_gone(r))
        return r;
    if (r == 0)
        r = bj_procio_parse(text, now);
    if (r < 0) {
        e->io_denied = true;
        if (r == -EACCES || r == -EPERM)
            p->io_denied = true;
        if (r != -EOPNOTSUPP)
            bj_proc_fault_once(t, e, r, "io");
        return 0;
    }
    for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++)
        e->io_now[f] = now[f] > e->io[f] ? now[f] : e->io[f];
    e->io_fresh = true;
    e->io_known = true;
    e->io_due = e->io_stale = false;
    e->io_usec = t->now_usec;
    p->io_known = true;
    return 0;
}

static bool io_possible(const struct bj_proc *e)
{
    return bj_proc_in_job(e) && !e->io_denied && !e->held;
}

/* The counters of a process that has slept since are unchanged. */
static bool io_due(const struct bj_proctab *t, const struct bj_proc *e)
{
    return e->io_due || e->io_usec == 0 ||
           ((!e->quiet.on || e->io_stale) &&
            t->now_usec - e->io_usec >= t->io_usec);
}

static void read_due(struct bj_proctab *t, struct bj_jobproc *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct bj_proc *e = &p->v[i];
        if (!io_possible(e) || !io_due(t, e))
            continue;
        if (io_read(t, p, e) < 0)
            bj_proc_remove(t, p, e);
    }
}

/* --- counters of ended children --- */

static int by_pid(const void *a, const void *b)
{
    const struct bj_ended *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static void sort_ended(struct bj_jobproc *p)
{
    if (p->nended > p->ended_sorted)
        qsort(p->ended, p->nended, sizeof(*p->ended), by_pid);
    p->ended_sorted = p->nended;
}

/* The ended process that was the parent of a child started at that time. */
static const struct bj_ended *ended_parent(const struct bj_jobproc *p,
                                           int32_t ppid, uint64_t start_ticks)
{
    struct bj_ended key = {.pid = ppid};
    if (p->ended_sorted == 0)
        return NULL;
    const struct bj_ended *d =
        bsearch(&key, p->ended, p->ended_sorted, sizeof(key), by_pid);
    return d && d->start_ticks <= start_ticks ? d : NULL;
}

static struct bj_proc *live_parent(const struct bj_jobproc *p, int32_t ppid,
                                   uint64_t start_ticks)
{
    struct bj_proc *e = bj_proc_find(p, ppid);
    return e && !e->batch && e->start_ticks != 0 &&
                   e->start_ticks <= start_ticks
               ? e
               : NULL;
}

static struct bj_debt *debt_of(struct bj_proctab *t, struct bj_proc *e)
{
    if (e->debt)
        return &t->debts[e->debt - 1];
    if (!BJ_GROW(t->debts, t->ndebts + 1, t->debts_cap))
        return NULL;
    t->debts[t->ndebts++] = (struct bj_debt){.io = {0}};
    e->debt = (uint32_t)t->ndebts;
    return &t->debts[t->ndebts - 1];
}

static void io_add(uint64_t to[BJ_PROCIO_FIELDS],
                   const uint64_t v[BJ_PROCIO_FIELDS])
{
    for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++)
        to[f] += v[f];
}

/* A zombie may have waited for its children before it ended. */
static bool is_zombie(const struct bj_proc *e)
{
    return e->state == 'Z' && e->nr_threads <= 1;
}

/* Subtract the I/O counted for d from the next growth of e, whose counters
 * include it if e waited for d. sure: e is the parent of d; otherwise the
 * parent has ended too, and another process may have adopted d. */
static void owe(struct bj_proctab *t, struct bj_proc *e,
                const struct bj_ended *d, bool sure)
{
    struct bj_debt *debt = e->reaps_self ? NULL : debt_of(t, e);
    if (!debt)
        return;
    io_add(debt->io, d->io);
    if (!sure)
        io_add(debt->loose, d->io);
}

/* Find the process to which the counters of d were added: its parent if
 * that is alive, else the nearest living ancestor or one that is known to
 * adopt orphans. The counters of the other ancestors are needed too, see
 * spread_loose. */
static void owe_ancestors(struct bj_proctab *t, struct bj_jobproc *p,
                          const struct bj_ended *d)
{
    int32_t ppid = d->ppid;
    uint64_t start = d->start_ticks;
    bool direct = true, found = false;
    for (int i = 0; i < MAX_ANCESTORS; i++) {
        struct bj_proc *e = live_parent(p, ppid, start);
        const struct bj_ended *x = e ? NULL : ended_parent(p, ppid, start);
        if (!e && !x)
            return;
        direct = direct && e && !is_zombie(e);
        if (e && (!found || e->adopts))
            owe(t, e, d, direct);
        else if (e)
            debt_of(t, e);
        if (direct)
            return;
        found = found || e;
        start = e ? e->start_ticks : x->start_ticks;
        ppid = e ? e->ppid : x->ppid;
    }
}

static void reckon_debts(struct bj_proctab *t, struct bj_jobproc *p)
{
    for (size_t i = 0; i < p->n; i++)
        p->v[i].debt = 0;
    t->ndebts = 0;
    sort_ended(p);
    for (size_t i = 0; i < p->nended; i++)
        if (!io_zero(p->ended[i].io))
            owe_ancestors(t, p, &p->ended[i]);
}

/* --- races --- */

/* Read the processes again from which something is subtracted: the ends of
 * their children are known now, so their counters include these children. */
static void read_debtors(struct bj_proctab *t, struct bj_jobproc *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct bj_proc *e = &p->v[i];
        if (e->pid && e->debt && io_possible(e) && io_read(t, p, e) < 0)
            bj_proc_remove(t, p, e);
    }
}

/* Have the counters of parent grown by at least those of child? */
static bool may_hold(const struct bj_proc *parent, const struct bj_proc *child)
{
    const uint64_t *v = child->io_fresh ? child->io_now : child->io;
    if (!parent->io_fresh || io_zero(v))
        return false;
    for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++)
        if (parent->io_now[f] - parent->io[f] < v[f])
            return false;
    return true;
}

/* Whether the counters of an ancestor may include those of e now: of its parent
 * or, if that has ended too, of an ancestor further up. */
static bool may_be_reaped(const struct bj_jobproc *p, const struct bj_proc *e)
{
    const struct bj_proc *child = e;
    for (int i = 0; i < MAX_ANCESTORS; i++) {
        const struct bj_proc *up = live_parent(p, e->ppid, e->start_ticks);
        if (!up)
            return ended_parent(p, e->ppid, e->start_ticks) != NULL;
        if (may_hold(up, child))
            return true;
        e = up;
    }
    return false;
}

/* A process that was alive when it was read may have ended before its ancestor
 * was read, whose counters then include those of the process. If the numbers
 * allow that, check whether the process still exists. */
static void find_reaped(struct bj_proctab *t, struct bj_jobproc *p)
{
    sort_ended(p);
    for (size_t i = 0; i < p->n; i++) {
        struct bj_proc *e = &p->v[i];
        if (e->pid && e->io_known && !e->batch && may_be_reaped(p, e) &&
            !proc_exists(t, e))
            bj_proc_remove(t, p, e);
    }
}

/* --- sums --- */

/* The growth of a counter of e, less the debt; at least 0. */
static uint64_t surplus(const struct bj_proc *e, const struct bj_debt *debt,
                        unsigned f)
{
    uint64_t more = e->io_fresh ? e->io_now[f] - e->io[f] : 0;
    return more > debt->io[f] ? more - debt->io[f] : 0;
}

/* Counters of orphans that exceed the growth of the nearest living ancestor
 * may be in those of an ancestor further up, which adopted them. */
static void spread_loose(struct bj_proctab *t, struct bj_jobproc *p,
                         const struct bj_proc *e)
{
    uint64_t rest[BJ_PROCIO_FIELDS];
    const struct bj_debt *debt = &t->debts[e->debt - 1];
    for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++) {
        uint64_t more = e->io_fresh ? e->io_now[f] - e->io[f] : 0;
        uint64_t lacks = debt->io[f] > more ? debt->io[f] - more : 0;
        rest[f] = lacks < debt->loose[f] ? lacks : debt->loose[f];
    }
    for (int i = 0; i < MAX_ANCESTORS && !io_zero(rest); i++) {
        e = live_parent(p, e->ppid, e->start_ticks);
        if (!e)
            return;
        if (!e->debt || e->adopts)
            continue;
        struct bj_debt *up = &t->debts[e->debt - 1];
        for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++) {
            uint64_t has = surplus(e, up, f);
            uint64_t take = has < rest[f] ? has : rest[f];
            up->io[f] += take;
            rest[f] -= take;
        }
    }
}

static void settle_one(struct bj_proctab *t, struct bj_jobproc *p,
                       struct bj_proc *e)
{
    const struct bj_debt *debt = e->debt ? &t->debts[e->debt - 1] : NULL;
    for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++) {
        uint64_t more = e->io_now[f] - e->io[f];
        uint64_t owed = debt ? debt->io[f] : 0;
        p->io[f] += more > owed ? more - owed : 0;
        e->io[f] = e->io_now[f];
    }
    e->io_fresh = false;
}

/* Processes whose parent has ended have a new one, which must be known before
 * they end themselves. */
static void adopt(struct bj_proctab *t, struct bj_jobproc *p)
{
    p->orphans = false;
    for (size_t i = 0; i < p->n; i++) {
        struct bj_proc *e = &p->v[i];
        if (!e->pid || !e->start_ticks)
            continue;
        const struct bj_proc *parent = bj_proc_find(p, e->ppid);
        if (parent ? !is_zombie(parent)
                   : !ended_parent(p, e->ppid, e->start_ticks))
            continue;
        e->recheck = true;
        bj_proc_read(t, p, e);
    }
}

/* A process that has left the job, or whose read is blocked, is not read. The
 * I/O that it inherits from its children has been counted, and must not be
 * counted again if it returns or ends. */
static void settle_absent(const struct bj_proctab *t, struct bj_proc *e)
{
    if (e->debt && !io_possible(e))
        io_add(e->io, t->debts[e->debt - 1].io);
}

void bj_proc_io(struct bj_proctab *t, struct bj_jobproc *p)
{
    read_due(t, p);
    size_t known = 0;
    for (int i = 0; i < MAX_ROUNDS; i++) {
        find_reaped(t, p);
        if (p->nended == known)
            break;
        known = p->nended;
        reckon_debts(t, p);
        read_debtors(t, p);
    }
    if (p->nended != known)
        reckon_debts(t, p);
    for (size_t i = 0; p->nended > 0 && i < p->n; i++)
        if (p->v[i].pid && p->v[i].debt && io_possible(&p->v[i]))
            spread_loose(t, p, &p->v[i]);
    for (size_t i = 0; i < p->n; i++) {
        struct bj_proc *e = &p->v[i];
        if (e->pid && e->io_fresh)
            settle_one(t, p, e);
        settle_absent(t, e);
        e->debt = 0;
    }
    if (p->orphans)
        adopt(t, p);
}
