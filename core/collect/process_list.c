/* The processes of a job: a table by pid, and the list that fills it. */
#include "core/collect/process_impl.h"

#include "base/array.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* --- by pid: an array and a hash table of indices -------------------------*/

enum { FIRST_PROCS = 4 };

static uint32_t hash_pid(int32_t pid)
{
    return (uint32_t)pid * 0x9e3779b1u;
}

static void slot_put(struct bj_jobproc *p, int32_t pid, uint32_t index)
{
    size_t mask = p->nslots - 1;
    size_t i = hash_pid(pid) & mask;
    while (p->slots[i])
        i = (i + 1) & mask;
    p->slots[i] = index + 1;
}

/* Fill the hash table again; it has room for p->cap processes. */
static void slots_fill(struct bj_jobproc *p)
{
    memset(p->slots, 0, p->nslots * sizeof(*p->slots));
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].pid)
            slot_put(p, p->v[i].pid, (uint32_t)i);
}

/* Room for cap processes, a power of two not below p->n. */
static int resize(struct bj_jobproc *p, size_t cap)
{
    if (cap > UINT32_MAX / 2)
        return -ENOMEM;
    uint32_t *slots = malloc(2 * cap * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    struct bj_proc *v = realloc(p->v, cap * sizeof(*v));
    if (!v) {
        free(slots);
        return -ENOMEM;
    }
    free(p->slots);
    p->v = v;
    p->cap = cap;
    p->slots = slots;
    p->nslots = 2 * cap;
    slots_fill(p);
    return 0;
}

struct bj_proc *bj_proc_find(const struct bj_jobproc *p, int32_t pid)
{
    if (p->nslots == 0 || pid <= 0)
        return NULL;
    size_t mask = p->nslots - 1;
    for (size_t i = hash_pid(pid) & mask; p->slots[i]; i = (i + 1) & mask)
        if (p->v[p->slots[i] - 1].pid == pid)
            return &p->v[p->slots[i] - 1];
    return NULL;
}

static void init(struct bj_proc *e, int32_t pid)
{
    *e = (struct bj_proc){.pid = pid,
                          .dir = -1,
                          .stat = -1,
                          .io_fd = -1,
                          .fd_dir = -1,
                          .exe = BJ_PROC_NO_EXE,
                          .cpu = BJ_PROC_NO_CPU,
                          .open_fds = BJ_PROC_FDS_UNKNOWN};
    bj_quiet_init(&e->quiet);
}

/* Add a process; NULL: out of memory.  Pointers to other processes become
 * invalid. */
static struct bj_proc *proc_add(struct bj_jobproc *p, int32_t pid)
{
    if (p->n == p->cap && resize(p, p->cap ? 2 * p->cap : FIRST_PROCS) < 0)
        return NULL;
    struct bj_proc *e = &p->v[p->n];
    init(e, pid);
    slot_put(p, pid, (uint32_t)p->n);
    p->n++;
    return e;
}

void bj_proc_released(struct bj_jobproc *p, struct bj_proc *e)
{
    if (!e->held)
        return;
    bj_procguard_free(e->held);
    e->held = NULL;
    p->held--;
}

/* Close the descriptors of a process and free its memory. */
static void process_list_drop(struct bj_proctab *t, struct bj_jobproc *p,
                              struct bj_proc *e)
{
    if (t->tmp_pid == e->pid)
        bj_proc_dir_done(t);
    bj_proc_exe_drop(p, e);
    bj_proc_threads_drop(t, e);
    free(e->extra);
    e->extra = NULL;
    bj_quiet_drop(t, &e->quiet);
    bj_proc_released(p, e);
    bj_fdpool_close(t->pool, &e->dir);
    bj_fdpool_close(t->pool, &e->stat);
    bj_fdpool_close(t->pool, &e->io_fd);
    bj_fdpool_close(t->pool, &e->fd_dir);
    e->pid = 0;
    p->removed++;
}

void bj_proc_remove(struct bj_proctab *t, struct bj_jobproc *p,
                    struct bj_proc *e)
{
    if (e->start_ticks && !e->batch &&
        BJ_GROW(p->ended, p->nended + 1, p->ended_cap)) {
        struct bj_ended *d = &p->ended[p->nended++];
        d->pid = e->pid;
        d->ppid = e->ppid;
        d->start_ticks = e->start_ticks;
        memcpy(d->io, e->io, sizeof(d->io));
        p->orphans = true;
    }
    process_list_drop(t, p, e);
}

void bj_proc_sweep(struct bj_jobproc *p)
{
    if (p->removed == 0)
        return;
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].pid) {
            if (n != i)
                p->v[n] = p->v[i];
            n++;
        }
    p->n = n;
    p->removed = 0;
    /* Return memory, but late enough that it is not needed again at once. */
    size_t cap = p->cap;
    while (cap > FIRST_PROCS && n <= cap / 4)
        cap /= 2;
    if (cap == p->cap || resize(p, cap) < 0)
        slots_fill(p);
}

void bj_proc_clear(struct bj_proctab *t, struct bj_jobproc *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].pid)
            process_list_drop(t, p, &p->v[i]);
    p->n = 0;
    p->removed = 0;
    free(p->v);
    free(p->slots);
    p->v = NULL;
    p->slots = NULL;
    p->cap = p->nslots = 0;
}

/* The processes of a job, from cgroup.procs of every directory of its cgroup.
 *
 * Sources: kernel admin-guide/cgroup-v2.rst ("Processes", "Threads"),
 * admin-guide/cgroup-v1/cgroups.rst; fs/kernfs/inode.c, kernfs_refresh_inode,
 * which sets nlink to the number of directories + 2. */

enum {
    LIST_FRESH_USEC = 900 * 1000,
    WALK_USEC = 10 * 1000 * 1000, /* where nlink does not count directories */
    WALK_EXACT_USEC = 300 * 1000 * 1000, /* where nlink counts directories */
    KEPT_V1_USEC = 4 * 1000 * 1000,
    INNER_USEC = 30 * 1000 * 1000,
    MAX_DIRS = 4096,
    MAX_REL = 1024,
    MAX_LIST = 64 * 1024 * 1024,
    FIRST_LIST = 8192,
    TRIES = 4,
};

static const char procs_file[] = "cgroup.procs";

/* --- the tree of directories --- */

/* The name of a file of d (or "." for d itself) for openat(2): relative to a
 * kept descriptor, else a path.  Returns the descriptor for openat(2). */
static int dir_at(const struct bj_jobproc *p, const struct bj_procdir *d,
                  const char *file, char *name, size_t cap)
{
    const struct bj_procdir *root = &p->dirs[0];
    if (d->fd >= 0) {
        snprintf(name, cap, "%s", file);
        return d->fd;
    }
    if (root->fd >= 0) {
        snprintf(name, cap, "%s/%s", d->rel, file);
        return root->fd;
    }
    snprintf(name, cap, "%s/%s%s%s", p->path, d->rel, *d->rel ? "/" : "", file);
    return AT_FDCWD;
}

enum { NAME_BYTES = 4096 + MAX_REL + 32 };

static int dir_stat(const struct bj_jobproc *p, const struct bj_procdir *d,
                    struct stat *st)
{
    if (d->fd >= 0)
        return fstat(d->fd, st) < 0 ? -errno : 0;
    char name[NAME_BYTES];
    int at = dir_at(p, d, ".", name, sizeof(name));
    return fstatat(at, name, st, 0) < 0 ? -errno : 0;
}

static uint64_t nsec(struct timespec t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool dir_changed(const struct bj_jobproc *p, const struct bj_procdir *d)
{
    struct stat st;
    return dir_stat(p, d, &st) < 0 || st.st_nlink != d->nlink ||
           nsec(st.st_mtim) != d->mtime_nsec ||
           nsec(st.st_ctim) != d->ctime_nsec;
}

static void dir_close(struct bj_proctab *t, struct bj_procdir *d)
{
    bj_fdpool_close(t->pool, &d->procs);
    bj_fdpool_close(t->pool, &d->fd);
}

static void dirs_free(struct bj_proctab *t, struct bj_procdir *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dir_close(t, &v[i]);
        free(v[i].rel);
    }
    free(v);
}

/* Open the directory of the job itself and record its inode. */
static int root_open(struct bj_proctab *t, struct bj_jobproc *p)
{
    struct bj_procdir *d = &p->dirs[0];
    struct statfs fs;
    struct stat st;
    if (d->fd < 0)
        d->fd = bj_proc_keep(t, AT_FDCWD, p->path, O_RDONLY | O_DIRECTORY, 8,
                             p->ino != 0);
    if (d->fd < 0 && d->fd != -EMFILE)
        return d->fd;
    int r = dir_stat(p, d, &st);
    if (r < 0)
        return r;
    /* A new directory of the same name belongs to another job. */
    if (p->ino != 0 && st.st_ino != p->ino)
        return -ENOENT;
    p->ino = st.st_ino;
    r = d->fd >= 0 ? fstatfs(d->fd, &fs) : statfs(p->path, &fs);
    p->exact = r == 0 && (fs.f_type == CGROUP_SUPER_MAGIC ||
                          fs.f_type == CGROUP2_SUPER_MAGIC);
    return 0;
}

/* A tree while it is walked. */
struct walk {
    struct bj_procdir *v;
    size_t n, cap;
    struct bj_procdir *old; /* the previous tree: its descriptors are reused */
    size_t nold, hint;
};

/* Move the directory rel from the old tree, or make a new one.  Both trees have
 * the same order, so the search begins after the last match and mostly succeeds
 * at once. */
static bool walk_take(struct walk *w, const char *rel, struct bj_procdir *ret)
{
    for (size_t i = 0; i < w->nold; i++) {
        size_t k = (w->hint + i) % w->nold;
        if (w->old[k].rel && strcmp(w->old[k].rel, rel) == 0) {
            *ret = w->old[k];
            w->old[k] = (struct bj_procdir){.fd = -1, .procs = -1};
            w->hint = k + 1;
            return true;
        }
    }
    *ret = (struct bj_procdir){.rel = strdup(rel), .fd = -1, .procs = -1};
    return ret->rel != NULL;
}

static int walk_add(struct walk *w, const char *rel)
{
    if (!BJ_GROW(w->v, w->n + 1, w->cap) || !walk_take(w, rel, &w->v[w->n]))
        return -ENOMEM;
    w->n++;
    return 0;
}

static bool is_dir(int fd, const struct bj_dent *e)
{
    struct stat st;
    if (e->type != DT_UNKNOWN)
        return e->type == DT_DIR;
    return fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

/* Add the children of directory i, whose open descriptor is fd. */
static int walk_children(struct bj_proctab *t, struct walk *w, size_t i, int fd)
{
    struct bj_dents d;
    const struct bj_dent *e;
    char rel[MAX_REL];
    bj_dents_init(&d, fd);
    while ((e = bj_dents_next(&d)) != NULL) {
        if (!is_dir(fd, e))
            continue;
        w->v[i].inner = true;
        int n = snprintf(rel, sizeof(rel), "%s%s%s", w->v[i].rel,
                         *w->v[i].rel ? "/" : "", e->name);
        if (n >= (int)sizeof(rel) || w->n >= MAX_DIRS) {
            t->refused++;
            continue;
        }
        int r = walk_add(w, rel);
        if (r < 0)
            return r;
    }
    return d.error;
}

/* Keep directory i open, note its times, add its children. */
static int walk_dir(struct bj_proctab *t, struct bj_jobproc *p, struct walk *w,
                    size_t i)
{
    char name[NAME_BYTES];
    struct stat st;
    struct bj_procdir *d = &w->v[i];
    bj_autoclose int tmp = -1;
    p->dirs = w->v; /* dir_at needs the first one */
    int at = dir_at(p, d, ".", name, sizeof(name));
    if (d->fd < 0 && at != AT_FDCWD)
        d->fd = bj_proc_keep(t, at, name, O_RDONLY | O_DIRECTORY, 7, false);
    if (d->fd < 0)
        tmp = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = d->fd >= 0 ? d->fd : tmp;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    d->inner = d->threaded = false;
    d->nlink = st.st_nlink;
    d->mtime_nsec = nsec(st.st_mtim);
    d->ctime_nsec = nsec(st.st_ctim);
    if (p->exact && st.st_nlink == 2)
        return 0;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    return walk_children(t, w, i, fd);
}

/* Walk the tree again. fresh: only the root of the old tree is valid, since
 * a directory in it has gone. */
static int walk(struct bj_proctab *t, struct bj_jobproc *p, bool fresh)
{
    struct walk w = {.old = p->dirs, .nold = p->ndirs};
    for (size_t i = 1; fresh && i < w.nold; i++)
        dir_close(t, &w.old[i]);
    int r = walk_add(&w, "");
    for (size_t i = 0; r == 0 && i < w.n; i++) {
        r = walk_dir(t, p, &w, i);
        /* A child may be removed at any time: the next list shows it. */
        if (i > 0 && bj_err_gone(r))
            r = 0;
    }
    dirs_free(t, w.old, w.nold);
    p->dirs = w.v;
    p->ndirs = w.n;
    p->walk_usec = r == 0 ? t->now_usec : 0;
    p->inner_usec = 0;
    return r;
}

static int first_walk(struct bj_jobproc *p)
{
    p->dirs = calloc(1, sizeof(*p->dirs));
    if (!p->dirs)
        return -ENOMEM;
    p->ndirs = 1;
    p->dirs[0].fd = p->dirs[0].procs = -1;
    p->dirs[0].rel = strdup("");
    return p->dirs[0].rel ? 0 : -ENOMEM;
}

/* Bring the tree up to date. */
static int tree_refresh(struct bj_proctab *t, struct bj_jobproc *p)
{
    int r = 0;
    if (p->ndirs == 0)
        r = first_walk(p);
    if (r == 0 && p->dirs[0].fd < 0)
        r = root_open(t, p);
    if (r < 0)
        return r;
    uint64_t age = t->now_usec - p->walk_usec;
    bool stale =
        p->walk_usec == 0 || age >= (p->exact ? WALK_EXACT_USEC : WALK_USEC);
    for (size_t i = 0; !stale && i < p->ndirs; i++)
        stale = dir_changed(p, &p->dirs[i]);
    return stale ? walk(t, p, false) : 0;
}

/* --- the lists --- */

/* The list contains this pid. */
static void member(struct bj_proctab *t, struct bj_jobproc *p, int32_t pid)
{
    struct bj_proc *e = bj_proc_find(p, pid);
    if (!e && p->n - p->removed >= p->room) {
        t->refused++;
        p->unread++;
        return;
    }
    if (!e)
        e = proc_add(p, pid);
    if (!e) {
        bj_proc_fault(t, -ENOMEM, "%s: more processes", p->path);
        p->complete = false;
        return;
    }
    e->list_no = p->list_no;
}

/* Read the pids, one a line; 0 is a pid of another pid namespace.  Returns
 * their number. */
static uint32_t members(struct bj_proctab *t, struct bj_jobproc *p,
                        struct bj_slice text)
{
    uint32_t n = 0;
    struct bj_slice line;
    while (bj_slice_line(&text, &line)) {
        uint64_t pid;
        if (bj_slice_u64(line, &pid) < 0 || pid > INT32_MAX)
            continue;
        n++;
        if (pid > 0)
            member(t, p, (int32_t)pid);
    }
    return n;
}

static bool buf_double(struct bj_proctab *t)
{
    size_t cap = t->cap ? 2 * t->cap : FIRST_LIST;
    char *buf = cap > MAX_LIST ? NULL : realloc(t->buf, cap);
    if (!buf)
        return false;
    t->buf = buf;
    t->cap = cap;
    return true;
}

/* On v1 the kernel makes the list of a descriptor at its first read, and again
 * only when no program has read any list of the directory for a second. (kernel
 * kernel/cgroup/cgroup-v1.c, cgroup_pidlist_start)  At our own interval that
 * time has passed; with several programs like this one a margin is needed. */
static bool may_use_kept(const struct bj_proctab *t, const struct bj_jobproc *p)
{
    return p->exact && (p->v2 || t->now_usec - p->list_usec >= KEPT_V1_USEC);
}

static int procs_read_once(struct bj_proctab *t, struct bj_jobproc *p,
                           struct bj_procdir *d, struct bj_slice *ret)
{
    char name[NAME_BYTES];
    bool kept = may_use_kept(t, p);
    if (kept && d->procs >= 0)
        return bj_file_pread(d->procs, t->buf, t->cap, ret);
    int at = dir_at(p, d, procs_file, name, sizeof(name));
    /* A kept list costs 4 KiB of kernel memory: too much for one that is
     * mostly empty. */
    if (d->inner && d->pids == 0)
        kept = false;
    if (kept && at != AT_FDCWD)
        d->procs = bj_proc_keep(t, at, name, O_RDONLY, 7, d->pids > 0);
    if (kept && d->procs >= 0)
        return bj_file_pread(d->procs, t->buf, t->cap, ret);
    return bj_file_read(at, name, t->buf, t->cap, ret, NULL);
}

static int procs_read(struct bj_proctab *t, struct bj_jobproc *p,
                      struct bj_procdir *d)
{
    struct bj_slice text;
    int r = -EFBIG;
    while (r == -EFBIG) {
        if (t->cap > 0)
            r = procs_read_once(t, p, d, &text);
        if (r == -EFBIG && !buf_double(t))
            return -ENOMEM;
    }
    if (r == -EOPNOTSUPP) {
        d->threaded = true;
        d->pids = 0;
        return 0;
    }
    if (r == 0)
        d->pids = members(t, p, text);
    return r;
}

/* Whether to read a list.  Inner directories are mostly empty: on v2 by the
 * kernel's rules, unless no controller is enabled below them or they are the
 * root of threaded ones; on v1 by convention.  Lists that were empty are read
 * only if all is set, at a longer interval. */
static bool process_list_wanted(const struct bj_procdir *d, bool all)
{
    return !d->threaded && (all || !d->inner || d->pids > 0);
}

/* Read every list once.  A code of bj_err_gone() if a directory was removed. */
static int lists_read(struct bj_proctab *t, struct bj_jobproc *p)
{
    bool all = p->inner_usec == 0 || t->now_usec - p->inner_usec >= INNER_USEC;
    p->list_no++;
    p->complete = true;
    p->alive = p->unread = 0;
    for (size_t i = 0; i < p->ndirs; i++) {
        struct bj_procdir *d = &p->dirs[i];
        int r = process_list_wanted(d, all) ? procs_read(t, p, d) : 0;
        if (bj_err_gone(r)) {
            bj_fdpool_close(t->pool, &d->procs);
            return r;
        }
        if (r < 0) {
            bj_proc_fault(t, r, "read %s/%s%s%s", p->path, d->rel,
                          *d->rel ? "/" : "", procs_file);
            p->complete = false;
        }
        p->alive += d->pids;
    }
    if (all)
        p->inner_usec = t->now_usec;
    return 0;
}

/* Whether the job's own directory has been removed. */
static bool root_gone(const struct bj_jobproc *p)
{
    char name[NAME_BYTES];
    int at = dir_at(p, &p->dirs[0], procs_file, name, sizeof(name));
    return faccessat(at, name, F_OK, 0) < 0 && bj_err_gone(-errno);
}

int bj_proc_list(struct bj_proctab *t, struct bj_jobproc *p, bool force)
{
    if (!force && p->list_usec && t->now_usec - p->list_usec < LIST_FRESH_USEC)
        return 0;
    int r = tree_refresh(t, p);
    if (bj_err_gone(r))
        return r;
    for (int i = 0; r == 0 && i < TRIES; i++) {
        r = lists_read(t, p);
        if (!bj_err_gone(r))
            break;
        if (root_gone(p))
            return r;
        r = walk(t, p, true);
        if (bj_err_gone(r))
            return r;
        p->complete = false;
    }
    if (r < 0 && bj_err_gone(r))
        return p->ndirs == 0 ? r
                             : 1; /* it changes faster than it can be read */
    if (r < 0) {
        bj_proc_fault(t, r, "list the processes of %s", p->path);
        p->complete = false;
    }
    p->list_usec = t->now_usec;
    return 1;
}

void bj_proc_list_free(struct bj_proctab *t, struct bj_jobproc *p)
{
    dirs_free(t, p->dirs, p->ndirs);
    p->dirs = NULL;
    p->ndirs = 0;
}
