#include "core/find/tree.h"

#include "core/find/layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 24, PATH_CAP = 4096 };

/* The result of fstat(2) when a directory was last read. */
struct stamp {
    nlink_t nlink;
    struct timespec mtime, ctime;
};

/* The part of a node for directories whose entries are read. */
struct inner {
    struct node *child;
    char *rel; /* below the root; "" for the root itself */
    int fd;    /* if the pool has room; else -1 */
    struct stamp stamp;
    bool read_once;
    size_t unseen; /* children that were not found yet in the current read */
};

/* There may be one for each job in each hierarchy, so nodes are small. */
struct node {
    struct node *next;
    struct inner *inner; /* NULL: the directories below are irrelevant */
    void *cookie;        /* of a hit */
    ino_t ino;
    unsigned hash; /* of name */
    bool hit, seen, offered;
    char name[];
};

struct bj_tree {
    struct inner root;
    struct bj_tree_ops ops;
    struct bj_fdpool *pool;
    char *path;
    bool refused; /* a hit was refused: scan again even without a change */
    bool short_of_memory; /* a child of the current read was left out */
};

int bj_tree_new(const char *root, const struct bj_tree_ops *ops,
                struct bj_fdpool *pool, struct bj_tree **ret)
{
    struct bj_tree *t = calloc(1, sizeof(*t));
    if (!t || !(t->path = strdup(root)) || !(t->root.rel = strdup(""))) {
        if (t)
            free(t->path);
        free(t);
        return -ENOMEM;
    }
    t->ops = *ops;
    t->pool = pool;
    t->root.fd = -1;
    *ret = t;
    return 0;
}

static void drop_children(struct bj_tree *t, struct inner *in, bool report);

static void node_free(struct bj_tree *t, struct node *n, bool report)
{
    if (n->inner) {
        drop_children(t, n->inner, report);
        bj_fdpool_close(t->pool, &n->inner->fd);
        free(n->inner->rel);
        free(n->inner);
    }
    if (n->cookie && report)
        t->ops.lost(t->ops.ctx, n->cookie);
    free(n);
}

static void drop_children(struct bj_tree *t, struct inner *in, bool report)
{
    while (in->child) {
        struct node *c = in->child;
        in->child = c->next;
        node_free(t, c, report);
    }
}

void bj_tree_free(struct bj_tree *t, bool report)
{
    if (!t)
        return;
    drop_children(t, &t->root, report);
    bj_fdpool_close(t->pool, &t->root.fd);
    free(t->root.rel);
    free(t->path);
    free(t);
}

static bool inner_path(const struct bj_tree *t, const struct inner *n,
                       char buf[PATH_CAP])
{
    int len =
        snprintf(buf, PATH_CAP, "%s%s%s", t->path, *n->rel ? "/" : "", n->rel);
    return len > 0 && len < PATH_CAP;
}

/* Has the directory changed since it was read?  -errno when it has gone. */
static int changed(struct bj_tree *t, struct inner *n, struct stamp *ret)
{
    struct stat st;
    char path[PATH_CAP];
    if (n->fd >= 0) {
        if (fstat(n->fd, &st) < 0)
            return -errno;
    } else if (!inner_path(t, n, path)) {
        return -ENAMETOOLONG;
    } else if (stat(path, &st) < 0) {
        return -errno;
    }
    *ret = (struct stamp){st.st_nlink, st.st_mtim, st.st_ctim};
    return !n->read_once || n->stamp.nlink != ret->nlink ||
           n->stamp.mtime.tv_sec != ret->mtime.tv_sec ||
           n->stamp.mtime.tv_nsec != ret->mtime.tv_nsec ||
           n->stamp.ctime.tv_sec != ret->ctime.tv_sec ||
           n->stamp.ctime.tv_nsec != ret->ctime.tv_nsec;
}

static bool make_inner(struct node *n, const char *rel)
{
    n->inner = calloc(1, sizeof(*n->inner));
    if (!n->inner || !(n->inner->rel = strdup(rel))) {
        free(n->inner);
        return false;
    }
    n->inner->fd = -1;
    return true;
}

static struct node *child_new(struct bj_tree *t, const char *rel,
                              const char *name, ino_t ino)
{
    unsigned kind = t->ops.classify(t->ops.ctx, rel);
    if (kind == BJ_PATH_OTHER)
        return NULL;
    size_t n = strlen(name) + 1;
    struct node *c = calloc(1, sizeof(*c) + n);
    if (!c) {
        t->short_of_memory = true;
        return NULL;
    }
    memcpy(c->name, name, n);
    c->ino = ino;
    c->hit = kind & BJ_PATH_HIT;
    if ((kind & BJ_PATH_INNER) && !make_inner(c, rel)) {
        t->short_of_memory = true;
        free(c);
        return NULL;
    }
    return c;
}

static unsigned hash_of(const char *name)
{
    unsigned h = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

static bool is_named(const struct node *n, const char *name, unsigned hash)
{
    return n->hash == hash && strcmp(n->name, name) == 0;
}

/* The pointer to the child of that name, or NULL.  last is the pointer to the
 * previous entry (NULL: none yet).  Directories are always read in the same
 * order, so the child after last is tried first; last itself appears twice if
 * it was created again meanwhile.  When all known children have been found, the
 * others are new. */
static struct node **find_child(struct inner *parent, struct node **last,
                                const char *name, unsigned hash)
{
    bool any = last && *last;
    struct node **next = any ? &(*last)->next : &parent->child;
    if (any && is_named(*last, name, hash))
        return last;
    if (*next && is_named(*next, name, hash))
        return next;
    if (parent->unseen == 0)
        return NULL;
    for (struct node **at = &parent->child; *at; at = &(*at)->next)
        if (is_named(*at, name, hash))
            return at;
    return NULL;
}

/* The path of a child, in buf; false when it is too long. */
static bool child_rel(const struct inner *parent, const char *name,
                      char buf[PATH_CAP])
{
    size_t have = strlen(parent->rel), more = strlen(name);
    if (have + 1 + more + 1 > PATH_CAP)
        return false;
    memcpy(buf, parent->rel, have);
    if (have > 0)
        buf[have++] = '/';
    memcpy(buf + have, name, more + 1);
    return true;
}

/* A directory of that name exists: keep, replace or create its node, and return
 * the pointer to it. */
static struct node **take_dir(struct bj_tree *t, struct inner *parent,
                              struct node **last, const char *name, ino_t ino)
{
    char rel[PATH_CAP];
    unsigned hash = hash_of(name);
    struct node **at = find_child(parent, last, name, hash);
    struct node *c = at ? *at : NULL;
    parent->unseen -= c && !c->seen;
    if (c && c->ino != ino) {
        *at = c->next;
        node_free(t, c, true);
        c = NULL;
    }
    if (!at)
        at = last && *last ? &(*last)->next : &parent->child;
    bool fresh = !c || (c->hit && !c->cookie);
    if (fresh && !child_rel(parent, name, rel))
        return last;
    if (!c) {
        if (!(c = child_new(t, rel, name, ino)))
            return last;
        c->hash = hash;
        c->next = *at;
        *at = c;
    }
    c->seen = true;
    if (c->hit && !c->cookie) {
        c->cookie = t->ops.appeared(t->ops.ctx, rel, c->offered);
        c->offered = true;
        t->refused |= !c->cookie;
    }
    return at;
}

/* After a read: drop the children that were not found, if the read was
 * complete. */
static void drop_unseen(struct bj_tree *t, struct inner *n, bool complete)
{
    for (struct node **at = &n->child; *at;) {
        struct node *c = *at;
        if (c->seen || !complete) {
            c->seen = false;
            at = &c->next;
        } else {
            *at = c->next;
            node_free(t, c, true);
        }
    }
}

/* An inner directory open for reading: the kept one, or a new one. */
static int inner_open(struct bj_tree *t, struct inner *n)
{
    char path[PATH_CAP];
    if (n->fd >= 0)
        return lseek(n->fd, 0, SEEK_SET) < 0 ? -errno : n->fd;
    if (!inner_path(t, n, path))
        return -ENAMETOOLONG;
    n->fd = bj_fdpool_open(t->pool, AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    if (n->fd >= 0)
        return n->fd;
    return bj_dir_open(AT_FDCWD, path);
}

/* Read the directory again. */
static int scan(struct bj_tree *t, struct inner *n)
{
    char path[PATH_CAP];
    int fd = inner_open(t, n);
    if (fd < 0)
        return fd;
    if (t->ops.reads && inner_path(t, n, path))
        t->ops.reads(t->ops.ctx, path);
    _Alignas(struct dirent64) char buf[32768];
    struct node **last = NULL;
    n->unseen = 0;
    t->short_of_memory = false;
    for (const struct node *c = n->child; c; c = c->next)
        n->unseen++;
    ssize_t len;
    while ((len = getdents64(fd, buf, sizeof(buf))) > 0)
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *e = (const void *)(buf + at);
            at += e->d_reclen;
            if (e->d_name[0] != '.' &&
                (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN))
                last = take_dir(t, n, last, e->d_name, e->d_ino);
        }
    int r = len < 0 ? -errno : 0;
    if (fd != n->fd)
        close(fd);
    drop_unseen(t, n, r == 0);
    return r == 0 && t->short_of_memory ? -ENOMEM : r;
}

static int scan_dir(struct bj_tree *t, struct inner *n, bool force, int depth)
{
    struct stamp stamp = n->stamp;
    int r = changed(t, n, &stamp);
    if (r > 0 || (r == 0 && force)) {
        r = scan(t, n);
        n->stamp = stamp; /* from before the read: a change meanwhile is noticed
                             next time */
        n->read_once = r == 0;
    }
    if (bj_err_gone(r)) {
        drop_children(t, n, true);
        n->read_once = false;
        bj_fdpool_close(t->pool, &n->fd);
        return 0;
    }
    for (struct node *c = n->child; c; c = c->next)
        if (c->inner && depth < DEPTH_MAX) {
            int k = scan_dir(t, c->inner, force, depth + 1);
            r = r < 0 ? r : k;
        }
    return r;
}

void bj_tree_mark_stale(struct bj_tree *t, const char *rel)
{
    struct inner *in = &t->root;
    while (in && strcmp(in->rel, rel) != 0) {
        struct node *c = in->child;
        for (; c; c = c->next) {
            size_t n = c->inner ? strlen(c->inner->rel) : 0;
            if (n > 0 && strncmp(c->inner->rel, rel, n) == 0 &&
                (rel[n] == '/' || rel[n] == '\0'))
                break;
        }
        in = c ? c->inner : NULL;
    }
    if (in)
        in->read_once = false;
}

int bj_tree_scan(struct bj_tree *t, bool force)
{
    bool again = t->refused;
    t->refused = false;
    return scan_dir(t, &t->root, force || again, 0);
}
