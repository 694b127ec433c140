/* The number of descriptors that a process has open.
 *
 * Since Linux 6.2 the st_size of /proc/PID/fd is their number; before, it is 0
 * and the entries must be counted.  (kernel f1f1f2569901, "proc: report open
 * files as size in stat() for /proc/pid/fd") */
#include "core/collect/process_impl.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

bool bj_proc_fd_probe(int proc)
{
    struct statfs fs;
    struct stat st;
    if (fstatfs(proc, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
        return false;
    /* "self" is missing where the mount shows another pid namespace. */
    return (fstatat(proc, "self/fd", &st, 0) == 0 ||
            fstatat(proc, "1/fd", &st, 0) == 0) &&
           st.st_size > 0;
}

/* Open files by st_size; -errno. */
static int64_t count_size(struct bj_proctab *t, struct bj_proc *e)
{
    struct stat st;
    int r, dir = -1;
    if (e->fd_dir < 0) {
        dir = bj_proc_dir(t, e);
        if (dir < 0)
            return dir;
        e->fd_dir = bj_proc_keep(t, dir, "fd", O_PATH | O_DIRECTORY, 7,
                                 e->open_fds >= 0);
    }
    const int fd = e->fd_dir;
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    r = fd >= 0 ? fstat(fd, &st) : fstatat(dir, "fd", &st, 0);
    bj_procguard_leave(g, -1);
    return r < 0 ? -errno : st.st_size;
}

static int64_t count_entries(struct bj_proctab *t, struct bj_proc *e)
{
    int dir = bj_proc_dir(t, e);
    if (dir < 0)
        return dir;
    bj_autoclose int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct bj_dents d;
    int64_t n = 0;
    bj_dents_init(&d, fd);
    struct bj_procguard *g = bj_procguard_enter(t->guard, e);
    while (bj_dents_next(&d))
        n++;
    bj_procguard_leave(g, fd);
    return d.error ? d.error : n;
}

void bj_proc_fds(struct bj_proctab *t, struct bj_proc *e)
{
    if (e->fds_denied)
        return;
    int64_t n = t->fd_size ? count_size(t, e) : count_entries(t, e);
    if (n >= 0) {
        e->open_fds = n < INT32_MAX ? (int32_t)n : INT32_MAX;
        return;
    }
    if (bj_err_gone((int)n))
        return;
    e->fds_denied = n == -EACCES || n == -EPERM;
    bj_proc_fault_once(t, e, (int)n, "fd");
}
