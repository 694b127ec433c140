/* Reading one process: its stat line. */
#include "core/collect/process_impl.h"

#include "base/clock.h"

#include <fcntl.h>
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

static int process_read_take_line(struct bj_proctab *t, struct bj_jobproc *p,
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
static int process_read_read_line(struct bj_proctab *t, struct bj_jobproc *p,
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
    r = process_read_take_line(t, p, e, line);
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
    r = process_read_read_line(t, p, e);
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

bool bj_proc_exists(struct bj_proctab *t, struct bj_proc *e)
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
