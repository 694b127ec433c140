#include "core/find/pids.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* The state of a walk. */
struct walk {
    pid_t *pids;
    size_t n, max;
    unsigned dirs;
    pid_t one; /* stop at this process ... */
    bool any;  /* ... or at the first one, of any pid namespace */
    bool found;
    int fault; /* the first error other than the end of a process */
};

static bool walk_done(const struct walk *w)
{
    return w->any || w->one ? w->found : w->n >= w->max;
}

static void pids_take(struct walk *w, uint64_t pid)
{
    w->found = w->any || pid == (uint64_t)w->one;
    if (pid > 0 && pid <= INT_MAX && w->n < w->max)
        w->pids[w->n++] = (pid_t)pid;
}

/* A number may continue in the next buffer, so *num keeps its state. */
static void take_chunk(struct walk *w, const char *p, size_t n, uint64_t *num,
                       bool *digits)
{
    for (size_t i = 0; i < n && !walk_done(w); i++) {
        unsigned d = (unsigned char)p[i] - '0';
        if (d <= 9) {
            *num = *num > INT_MAX ? *num : *num * 10 + d;
            *digits = true;
            continue;
        }
        if (*digits)
            pids_take(w, *num);
        *num = 0;
        *digits = false;
    }
}

/* cgroup.procs of a big job may be large, so it is read in pieces. */
static int read_procs(struct walk *w, int dir)
{
    bj_autoclose int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    char buf[4096];
    uint64_t num = 0;
    bool digits = false;
    while (!walk_done(w)) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        take_chunk(w, buf, (size_t)n, &num, &digits);
    }
    if (digits && !walk_done(w))
        pids_take(w, num);
    return 0;
}

static bool may_be_dir(const struct dirent *e)
{
    return e->d_name[0] != '.' &&
           (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN);
}

/* Directories that were removed meanwhile, and threaded ones (EOPNOTSUPP, their
 * processes are listed further up), are usual. */
static int pids_note(struct walk *w, int r)
{
    if (r < 0 && !bj_err_gone(r) && r != -EOPNOTSUPP && w->fault == 0)
        w->fault = r;
    return r;
}

/* Owns dir. */
static int walk_dir(struct walk *w, int dir, int depth)
{
    int r = pids_note(w, read_procs(w, dir));
    bool inner = !walk_done(w) && depth < BJ_PIDS_DEPTH;
    DIR *d = inner ? fdopendir(dir) : NULL;
    if (inner && !d)
        pids_note(w, -errno);
    if (!d) {
        close(dir);
        return r;
    }
    struct dirent *e;
    while (!walk_done(w) && w->dirs < BJ_PIDS_DIRS && (e = readdir(d))) {
        if (!may_be_dir(e))
            continue;
        int sub = openat(dir, e->d_name,
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0) {
            if (errno != ENOTDIR && errno != ELOOP)
                pids_note(w, -errno);
            continue;
        }
        w->dirs++;
        (void)walk_dir(w, sub, depth + 1);
    }
    closedir(d);
    return r;
}

int bj_pids_below(int dirfd, const char *path, pid_t *pids, size_t max)
{
    struct walk w = {.pids = pids, .max = max > INT_MAX ? INT_MAX : max};
    int dir = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    int r = walk_dir(&w, dir, 0);
    if (w.n == 0 && w.fault < 0)
        return w.fault;
    return w.n == 0 && bj_err_gone(r) ? r : (int)w.n;
}

/* 1: populated; 0: not; -1: the kernel does not report it (v1). */
static int populated(int dir)
{
    char buf[256];
    struct bj_slice text, line;
    if (bj_file_read(dir, "cgroup.events", buf, sizeof(buf), &text, NULL) < 0)
        return -1;
    while (bj_slice_line(&text, &line))
        if (bj_slice_starts(line, BJ_SLICE("populated ")))
            return line.n > 10 && line.p[10] != '0';
    return -1;
}

bool bj_pids_any(const char *path)
{
    struct walk w = {.any = true};
    int dir = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return !bj_err_gone(-errno);
    int p = populated(dir);
    if (p >= 0) {
        close(dir);
        return p;
    }
    (void)walk_dir(&w, dir, 0);
    return w.found || w.fault < 0;
}

bool bj_pids_has(const char *path, pid_t pid)
{
    struct walk w = {.one = pid};
    int dir = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        (void)walk_dir(&w, dir, 0);
    return w.found;
}
