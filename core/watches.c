#include "core/watches.h"

#include "core/track.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    BUCKETS = 1024,
    JOB_DIRS = 64, /* maximum number of watched directories of a job */
    JOB_DEPTH = 4, /* levels below its own directory */
    PARENT_MASK = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR,
    REQUEST_MASK = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR,
    V1_MASK = IN_CREATE | IN_DELETE | IN_MODIFY | IN_ONLYDIR,
    V2_MASK = IN_CREATE | IN_DELETE | IN_ONLYDIR,
};

/* One watch descriptor of inotify. */
struct bj_watch {
    struct bj_watch *next;        /* of its bucket */
    struct bj_watch *next_of_job; /* of the same job */
    struct bj_track *track;       /* NULL: not of a job */
    int wd;
    unsigned depth; /* below the job's directory */
    bool v2, requests;
    char path[]; /* "": a file */
};

struct bj_watches {
    struct bj_fdpool *pool;
    int inotify, exits, wake; /* exits: epoll of pidfds */
    struct bj_watch *bucket[BUCKETS];
};

int bj_watches_new(struct bj_fdpool *pool, struct bj_watches **ret)
{
    struct bj_watches *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->pool = pool;
    w->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int r = w->inotify < 0 ? -errno : 0;
    w->exits = epoll_create1(EPOLL_CLOEXEC);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r == 0 && (w->exits < 0 || w->wake < 0))
        r = -EMFILE;
    if (r < 0)
        bj_watches_free(w);
    else
        *ret = w;
    return r;
}

void bj_watches_free(struct bj_watches *w)
{
    if (!w)
        return;
    for (unsigned i = 0; i < BUCKETS; i++)
        while (w->bucket[i]) {
            struct bj_watch *next = w->bucket[i]->next;
            free(w->bucket[i]);
            w->bucket[i] = next;
        }
    bj_close_fd(&w->inotify);
    bj_close_fd(&w->exits);
    bj_close_fd(&w->wake);
    free(w);
}

/* --- the table ------------------------------------------------------------*/

static struct bj_watch *watches_find(const struct bj_watches *w, int wd)
{
    struct bj_watch *v = w->bucket[(unsigned)wd % BUCKETS];
    while (v && v->wd != wd)
        v = v->next;
    return v;
}

/* Add a watch of path. NULL: one exists, the path has gone, or there is no room
 * (errno is ENOSPC or ENOMEM). */
static struct bj_watch *watches_add(struct bj_watches *w, const char *path,
                                    const char *keep, uint32_t mask)
{
    int wd = inotify_add_watch(w->inotify, path, mask);
    errno = wd < 0 ? errno : EEXIST;
    if (wd < 0 || watches_find(w, wd))
        return NULL;
    size_t n = strlen(keep) + 1;
    struct bj_watch *v = calloc(1, sizeof(*v) + n);
    if (!v) {
        inotify_rm_watch(w->inotify, wd);
        errno = ENOMEM;
        return NULL;
    }
    v->wd = wd;
    memcpy(v->path, keep, n);
    v->next = w->bucket[(unsigned)wd % BUCKETS];
    w->bucket[(unsigned)wd % BUCKETS] = v;
    return v;
}

static bool room_left(const struct bj_watch *v)
{
    return v || (errno != ENOSPC && errno != ENOMEM);
}

/* Remove it from the table and from its job. */
static void watches_drop(struct bj_watches *w, struct bj_watch *v)
{
    struct bj_watch **at = &w->bucket[(unsigned)v->wd % BUCKETS];
    while (*at != v)
        at = &(*at)->next;
    *at = v->next;
    if (v->track) {
        at = &v->track->watched.first;
        while (*at != v)
            at = &(*at)->next_of_job;
        *at = v->next_of_job;
        v->track->watched.dirs -= *v->path != '\0';
    }
    free(v);
}

static struct bj_watch *add_to(struct bj_watches *w, struct bj_track *t,
                               const char *path, const char *keep,
                               uint32_t mask)
{
    struct bj_watch *v = watches_add(w, path, keep, mask);
    if (!v)
        return NULL;
    v->track = t;
    v->next_of_job = t->watched.first;
    t->watched.first = v;
    t->watched.dirs += *keep != '\0';
    return v;
}

/* --- adding ---------------------------------------------------------------*/

bool bj_watches_parent(struct bj_watches *w, const char *path)
{
    return !w || room_left(watches_add(w, path, path, PARENT_MASK));
}

bool bj_watches_requests(struct bj_watches *w, const char *path)
{
    struct bj_watch *v = watches_add(w, path, path, REQUEST_MASK);
    if (v)
        v->requests = true;
    return v != NULL;
}

static bool watch_dir(struct bj_watches *w, struct bj_track *t,
                      const char *path, bool v2, unsigned depth);

/* Watch directories that were created before their parent was watched. */
static bool watch_below(struct bj_watches *w, struct bj_track *t,
                        const char *path, bool v2, unsigned depth)
{
    char name[4096];
    bool room = true;
    DIR *d = depth < JOB_DEPTH ? opendir(path) : NULL;
    for (const struct dirent *e; d && room && (e = readdir(d));) {
        int n = snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        if (e->d_type == DT_DIR && e->d_name[0] != '.' && n < (int)sizeof(name))
            room = watch_dir(w, t, name, v2, depth + 1);
    }
    if (d)
        closedir(d);
    return room;
}

static bool watch_dir(struct bj_watches *w, struct bj_track *t,
                      const char *path, bool v2, unsigned depth)
{
    char name[4096];
    if (t->watched.dirs >= JOB_DIRS)
        return true;
    struct bj_watch *v = add_to(w, t, path, path, v2 ? V2_MASK : V1_MASK);
    if (!v)
        return room_left(v);
    v->depth = depth;
    v->v2 = v2;
    t->watched.changed = true;
    int n = snprintf(name, sizeof(name), "%s/cgroup.events", path);
    if (v2 && n < (int)sizeof(name) &&
        !room_left(add_to(w, t, name, "", IN_MODIFY)))
        return false;
    return watch_below(w, t, path, v2, depth);
}

bool bj_watches_job(struct bj_watches *w, struct bj_track *t, const char *path,
                    bool v2)
{
    return watch_dir(w, t, path, v2, 0);
}

/* --- ends of processes ----------------------------------------------------*/

unsigned bj_watches_exits(const struct bj_track *t)
{
    unsigned n = 0;
    for (unsigned i = 0; i < BJ_EXITS; i++)
        n += t->watched.exit[i].fd >= 0;
    return n;
}

bool bj_watches_exit(struct bj_watches *w, struct bj_track *t, pid_t pid)
{
    struct bj_exit *free_one = NULL;
    for (unsigned i = 0; i < BJ_EXITS; i++) {
        struct bj_exit *x = &t->watched.exit[i];
        if (x->fd >= 0 && x->pid == pid)
            return true;
        if (x->fd < 0)
            free_one = x;
    }
    if (!free_one)
        return false;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0 || (fd = bj_fdpool_take(w->pool, fd)) < 0)
        return false;
    *free_one = (struct bj_exit){t, pid, fd};
    t->watched.exits++;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = free_one};
    if (epoll_ctl(w->exits, EPOLL_CTL_ADD, fd, &e) == 0)
        return true;
    bj_fdpool_close(w->pool, &free_one->fd);
    return false;
}

void bj_watches_forget(struct bj_watches *w, struct bj_track *t)
{
    if (!w)
        return;
    for (unsigned i = 0; i < BJ_EXITS; i++)
        bj_fdpool_close(w->pool, &t->watched.exit[i].fd);
    while (t->watched.first) {
        inotify_rm_watch(w->inotify, t->watched.first->wd);
        watches_drop(w, t->watched.first);
    }
}

/* --- reading --------------------------------------------------------------*/

void bj_watches_wait(const struct bj_watches *w, int msec)
{
    struct pollfd p[] = {
        {w->inotify, POLLIN, 0}, {w->exits, POLLIN, 0}, {w->wake, POLLIN, 0}};
    poll(p, sizeof(p) / sizeof(p[0]), msec);
}

void bj_watches_wake(struct bj_watches *w)
{
    eventfd_write(w->wake, 1);
}

/* A directory was created below one of a job. */
static void take_subdir(struct bj_watches *w, struct bj_watch *v,
                        const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/%s", v->path, name);
    if (v->depth < JOB_DEPTH && n < (int)sizeof(path))
        watch_dir(w, v->track, path, v->v2, v->depth + 1);
}

struct stale {
    struct bj_core *core;
    void (*fn)(struct bj_core *core, const char *parent);
};

static void watches_take(struct bj_watches *w, const struct inotify_event *e,
                         struct bj_changes *c, const struct stale *stale)
{
    struct bj_watch *v = watches_find(w, e->wd);
    c->lost |= (e->mask & IN_Q_OVERFLOW) != 0;
    if (!v)
        return;
    if (e->mask & IN_IGNORED) {
        watches_drop(w, v);
    } else if (v->requests) {
        c->requests = true;
    } else if (!v->track) {
        c->scan = true;
        stale->fn(stale->core, v->path);
    } else {
        v->track->watched.changed |=
            !(e->mask & IN_DELETE) || (e->mask & IN_ISDIR);
        if (e->mask & IN_CREATE && e->mask & IN_ISDIR) {
            take_subdir(w, v, e->name);
            if (v->track->life.nests) {
                c->scan = true;
                stale->fn(stale->core, v->path);
            }
        }
    }
}

static void take_exits(struct bj_watches *w)
{
    enum { SOME = 64 };
    struct epoll_event e[SOME];
    int n;
    while ((n = epoll_wait(w->exits, e, SOME, 0)) > 0)
        for (int i = 0; i < n; i++) {
            struct bj_exit *x = e[i].data.ptr;
            x->track->watched.changed = true;
            bj_fdpool_close(w->pool, &x->fd);
        }
}

struct bj_changes bj_watches_read(struct bj_watches *w, struct bj_core *core,
                                  void (*stale)(struct bj_core *core,
                                                const char *parent))
{
    const struct stale to = {core, stale};
    enum { BATCH = 65536 };
    _Alignas(struct inotify_event) char buf[BATCH];
    struct bj_changes c = {0};
    eventfd_t count;
    eventfd_read(w->wake, &count);
    take_exits(w);
    ssize_t len = read(w->inotify, buf, sizeof(buf));
    for (ssize_t at = 0; at < len;) {
        const struct inotify_event *e = (const void *)(buf + at);
        at += (ssize_t)(sizeof(*e) + e->len);
        watches_take(w, e, &c, &to);
    }
    return c;
}
