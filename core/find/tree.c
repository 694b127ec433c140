#include "core/find/tree.h"

#include "core/find/layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 24, PATH_CAP = 4096 };

/* What fstat(2) told when a directory was read last. */
struct stamp {
    nlink_t nlink;
    struct timespec mtime, ctime;
};

struct node {
    struct node *next, *child;
    char *rel;     /* below the root; "" for the root itself */
    unsigned hash; /* of rel */
    ino_t ino;
    unsigned kind;
    void *cookie; /* of a hit */
    int fd;       /* of an inner directory, while the pool has room */
    struct stamp stamp;
    bool seen, read_once, offered;
};

struct bj_tree {
    struct node root;
    struct bj_tree_ops ops;
    struct bj_fdpool *pool;
    char *path;
    unsigned inner;
    bool refused; /* some hit was: look again without waiting for a change */
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
    t->root.kind = BJ_PATH_INNER;
    t->root.fd = -1;
    *ret = t;
    return 0;
}

static void drop_children(struct bj_tree *t, struct node *n, bool tell);

static void node_free(struct bj_tree *t, struct node *n, bool tell)
{
    drop_children(t, n, tell);
    if (n->kind & BJ_PATH_INNER)
        t->inner--;
    if (n->cookie && tell)
        t->ops.lost(t->ops.ctx, n->cookie);
    bj_fdpool_close(t->pool, &n->fd);
    free(n->rel);
    free(n);
}

static void drop_children(struct bj_tree *t, struct node *n, bool tell)
{
    while (n->child) {
        struct node *c = n->child;
        n->child = c->next;
        node_free(t, c, tell);
    }
}

void bj_tree_free(struct bj_tree *t, bool tell)
{
    if (!t)
        return;
    drop_children(t, &t->root, tell);
    bj_fdpool_close(t->pool, &t->root.fd);
    free(t->root.rel);
    free(t->path);
    free(t);
}

static bool node_path(const struct bj_tree *t, const struct node *n,
                      char buf[PATH_CAP])
{
    int len =
        snprintf(buf, PATH_CAP, "%s%s%s", t->path, *n->rel ? "/" : "", n->rel);
    return len > 0 && len < PATH_CAP;
}

/* Has the directory changed since it was read?  -errno when it has gone. */
static int changed(struct bj_tree *t, struct node *n, struct stamp *ret)
{
    struct stat st;
    char path[PATH_CAP];
    if (n->fd >= 0) {
        if (fstat(n->fd, &st) < 0)
            return -errno;
    } else if (!node_path(t, n, path)) {
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

static struct node *child_new(struct bj_tree *t, struct node **at,
                              const char *rel, ino_t ino)
{
    unsigned kind = t->ops.classify(t->ops.ctx, rel);
    if (kind == BJ_PATH_OTHER)
        return NULL;
    struct node *c = calloc(1, sizeof(*c));
    if (!c || !(c->rel = strdup(rel))) {
        free(c);
        return NULL;
    }
    c->ino = ino;
    c->kind = kind;
    c->fd = -1;
    c->next = *at;
    *at = c;
    if (kind & BJ_PATH_INNER)
        t->inner++;
    return c;
}

static unsigned hash_of(const char *name)
{
    unsigned h = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

/* The link that leads to the child of that name.  Directories are read in the
 * same order each time, so the one after the last is tried first. */
static struct node **find_child(struct node *parent, struct node **hint,
                                const char *rel, unsigned hash)
{
    if (*hint && (*hint)->hash == hash && strcmp((*hint)->rel, rel) == 0)
        return hint;
    struct node **at = &parent->child;
    while (*at && ((*at)->hash != hash || strcmp((*at)->rel, rel) != 0))
        at = &(*at)->next;
    return at;
}

/* A directory of that name is there: keep, replace or make its node. */
static struct node **see(struct bj_tree *t, struct node *parent,
                         struct node **hint, const char *name, ino_t ino)
{
    char rel[PATH_CAP];
    size_t have = strlen(parent->rel), more = strlen(name);
    if (have + 1 + more + 1 > sizeof(rel))
        return hint;
    memcpy(rel, parent->rel, have);
    if (have > 0)
        rel[have++] = '/';
    memcpy(rel + have, name, more + 1);
    unsigned hash = hash_of(rel);
    struct node **at = find_child(parent, hint, rel, hash), *c = *at;
    if (c && c->ino != ino) {
        *at = c->next;
        node_free(t, c, true);
        c = NULL;
    }
    if (!c && !(c = child_new(t, at, rel, ino)))
        return hint;
    c->hash = hash;
    c->seen = true;
    if ((c->kind & BJ_PATH_HIT) && !c->cookie) {
        c->cookie = t->ops.appeared(t->ops.ctx, rel, c->offered);
        c->offered = true;
        t->refused |= !c->cookie;
    }
    return &c->next;
}

static void drop_unseen(struct bj_tree *t, struct node *n)
{
    for (struct node **at = &n->child; *at;) {
        struct node *c = *at;
        if (c->seen) {
            c->seen = false;
            at = &c->next;
        } else {
            *at = c->next;
            node_free(t, c, true);
        }
    }
}

/* An inner directory open for reading: the kept one, or a new one. */
static int node_open(struct bj_tree *t, struct node *n)
{
    char path[PATH_CAP];
    if (n->fd >= 0)
        return lseek(n->fd, 0, SEEK_SET) < 0 ? -errno : n->fd;
    if (!node_path(t, n, path))
        return -ENAMETOOLONG;
    n->fd = bj_fdpool_open(t->pool, AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    if (n->fd >= 0)
        return n->fd;
    return bj_dir_open(AT_FDCWD, path);
}

/* Read the directory again. */
static int scan(struct bj_tree *t, struct node *n)
{
    int fd = node_open(t, n);
    if (fd < 0)
        return fd;
    _Alignas(struct dirent64) char buf[32768];
    struct node **hint = &n->child;
    ssize_t len;
    while ((len = getdents64(fd, buf, sizeof(buf))) > 0)
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *e = (const void *)(buf + at);
            at += e->d_reclen;
            if (e->d_name[0] != '.' &&
                (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN))
                hint = see(t, n, hint, e->d_name, e->d_ino);
        }
    int r = len < 0 ? -errno : 0;
    if (fd != n->fd)
        close(fd);
    if (r == 0)
        drop_unseen(t, n);
    n->read_once = r == 0;
    return r;
}

static int look(struct bj_tree *t, struct node *n, bool force, int depth)
{
    struct stamp stamp = n->stamp;
    int r = changed(t, n, &stamp);
    if (r > 0 || (r == 0 && force)) {
        r = scan(t, n);
        n->stamp = stamp; /* taken before: a change meanwhile shows next time */
    }
    if (r < 0) {
        drop_children(t, n, true);
        n->read_once = false;
        bj_fdpool_close(t->pool, &n->fd);
        return bj_err_gone(r) ? 0 : r;
    }
    for (struct node *c = n->child; c; c = c->next)
        if ((c->kind & BJ_PATH_INNER) && depth < DEPTH_MAX) {
            int k = look(t, c, force, depth + 1);
            r = r < 0 ? r : k;
        }
    return r;
}

int bj_tree_look(struct bj_tree *t, bool force)
{
    bool again = t->refused;
    t->refused = false;
    return look(t, &t->root, force || again, 0);
}

unsigned bj_tree_inner(const struct bj_tree *t)
{
    return t->inner;
}
