/* A watched directory tree: finds the directories that matter, reports when
 * they come and go, and costs one fstat(2) for each inner directory that has
 * not changed.
 *
 * A directory is read again when its link count (the kernel keeps it at two
 * plus the subdirectories of a cgroup), its times or its inode have changed,
 * and in any case when the caller forces it. */
#ifndef BJ_CORE_FIND_TREE_H
#define BJ_CORE_FIND_TREE_H

#include "base/file.h"

#include <sys/types.h>

struct bj_tree;

/* How the owner of a tree sees it.  rel is the path below the tree's root. */
struct bj_tree_ops {
    void *ctx;
    /* What is rel?  A mask of BJ_PATH_... (core/find/layout.h). */
    unsigned (*classify)(void *ctx, const char *rel);
    /* A hit has appeared; the cookie is kept for lost.  NULL means refused:
     * the same directory is offered again, with again set, at every scan. */
    void *(*appeared)(void *ctx, const char *rel, bool again);
    /* It has gone, or is another directory of the same name by now. */
    void (*lost)(void *ctx, void *cookie);
    /* This directory is about to be read; or NULL. */
    void (*reads)(void *ctx, const char *path);
};

/* root is an absolute path and may be missing for now; ops is copied. */
int bj_tree_new(const char *root, const struct bj_tree_ops *ops,
                struct bj_fdpool *pool, struct bj_tree **ret);
/* Forget everything; lost is called for each hit when report is true. */
void bj_tree_free(struct bj_tree *t, bool report);

/* The directory rel has changed although it may not seem so: the kernel's show
 * only how many entries they hold. */
void bj_tree_stale(struct bj_tree *t, const char *rel);

/* Scan once; force reads every inner directory again.  0 or -errno for faults
 * other than a root that is missing: what could not be read stays as it was
 * known, and is read at the next scan. */
int bj_tree_scan(struct bj_tree *t, bool force);

#endif
