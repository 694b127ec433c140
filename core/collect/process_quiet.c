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
#include "core/collect/process_impl.h"

#include <fcntl.h>
#include <unistd.h>

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
