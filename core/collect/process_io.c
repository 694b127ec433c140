/* I/O of a job's processes: totals that never fall and count nothing twice.
 * process.h describes the method.
 *
 * Source: kernel kernel/exit.c, wait_task_zombie and __exit_signal, which add
 * the counters of a child to those of the parent that waits for it;
 * fs/proc/base.c, do_io_accounting. */
#include "base/array.h"
#include "core/collect/process_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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
    if (r == -ENOENT && bj_proc_exists(t, e))
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

static void process_io_add(uint64_t to[BJ_PROCIO_FIELDS],
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
    process_io_add(debt->io, d->io);
    if (!sure)
        process_io_add(debt->loose, d->io);
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
            !bj_proc_exists(t, e))
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
        process_io_add(e->io, t->debts[e->debt - 1].io);
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
