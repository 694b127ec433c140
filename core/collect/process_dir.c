/* Faults, kept descriptors, and the directories of processes. */
#include "core/collect/process_impl.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

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
