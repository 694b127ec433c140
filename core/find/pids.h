/* The processes below a cgroup directory.
 *
 * Sources: kernel admin-guide/cgroup-v2.rst ("cgroup.procs", "cgroup.events")
 * and admin-guide/cgroup-v1/cgroups.rst, section 2.1. */
#ifndef BJ_CORE_FIND_PIDS_H
#define BJ_CORE_FIND_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    BJ_PIDS_DEPTH = 8,  /* levels of directories below the given one */
    BJ_PIDS_DIRS = 4096 /* directories read in one call */
};

/* List the processes in the cgroup directory path (relative to dirfd, or to
 * AT_FDCWD, when it is not absolute) and in all below it: at most max ids are
 * stored in pids, unordered.  Links below path are not followed.  Ids of other
 * pid namespaces, which the kernel shows as 0, are left out; an id may appear
 * twice if its process moves meanwhile.  Returns the number of ids; if there
 * are none, -errno of a failed read (-ENOENT: path has gone).  Directories that
 * vanish during the walk are not an error. */
int bj_pids_below(int dirfd, const char *path, pid_t *pids, size_t max);

/* Is any process in path or below it?  Stops at the first one; with
 * cgroup.events (v2) one small read suffices.  False if path has gone.  True if
 * a directory cannot be read (EACCES, EMFILE and similar): an error must not
 * end a job. */
bool bj_pids_any(const char *path);

/* Is pid in path or below it? */
bool bj_pids_has(const char *path, pid_t pid);

#endif
