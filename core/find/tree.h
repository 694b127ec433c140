/* A watched directory tree: finds the relevant directories, reports when they
 * appear and disappear, and costs one fstat(2) for each unchanged inner
 * directory.
 *
 * A directory is read again when its link count (the kernel keeps it at two
 * plus the subdirectories of a cgroup), its times or its inode have changed,
 * and in any case when the caller forces it. */
#ifndef BJ_CORE_FIND_TREE_H
#define BJ_CORE_FIND_TREE_H

#include "base/file.h"

#include <sys/types.h>

struct bj_tree;

/* Callbacks of the owner of a tree.  rel is the path below the tree's root. */
struct bj_tree_ops {
    void *ctx;
    /* The kind of rel: a mask of BJ_PATH_... (core/find/layout.h). */
    unsigned (*classify)(void *ctx, const char *rel);
    /* A hit has appeared; the result is a cookie, which is passed to lost.
     * NULL means refused: the call is repeated at every scan, with again
     * set. */
    void *(*appeared)(void *ctx, const char *rel, bool again);
    /* A hit has gone, or was replaced by another directory of the same name. */
    void (*lost)(void *ctx, void *cookie);
    /* A directory will be read now; or NULL. */
    void (*reads)(void *ctx, const char *path);
};

/* root is an absolute path and may be missing for now; ops is copied. */
int bj_tree_new(const char *root, const struct bj_tree_ops *ops,
                struct bj_fdpool *pool, struct bj_tree **ret);
/* Free the tree; lost is called for each hit if report is true. */
void bj_tree_free(struct bj_tree *t, bool report);

/* Read the directory rel at the next scan even if it seems unchanged:
 * directories of the kernel only show the number of their entries. */
void bj_tree_mark_stale(struct bj_tree *t, const char *rel);

/* Scan once; force: read every inner directory.  Returns 0, or -errno for an
 * error other than a missing root: directories that could not be read keep
 * their known state, and are read at the next scan. */
int bj_tree_scan(struct bj_tree *t, bool force);

#endif
