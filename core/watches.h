/* Watches on the directories of jobs and on those above them: the kernel
 * reports new and removed cgroups, and the first and last processes of a
 * cgroup.
 *
 *   new job, its end   inotify(7) of the directories above jobs
 *   cgroup v2          inotify of cgroup.events ("populated") in the job's
 *                      directories (kernel admin-guide/cgroup-v2.rst)
 *   cgroup v1          inotify of cgroup.procs and tasks: a process was moved
 *                      there
 *   both               pidfd_open(2) of some processes: one has exited
 *
 * All under the core's lock.  Internal to the core. */
#ifndef BJ_CORE_WATCHES_H
#define BJ_CORE_WATCHES_H

#include "base/file.h"

#include <stdbool.h>
#include <sys/types.h>

struct bj_core;
struct bj_track;
struct bj_watch;
struct bj_watches;

/* A process whose end is watched. */
struct bj_exit {
    struct bj_track *track;
    pid_t pid;
    int fd; /* -1: none */
};

/* The watches of a job. */
enum { BJ_EXITS = 4 };
struct bj_watched {
    struct bj_watch *first;
    unsigned dirs; /* number of watched directories */
    struct bj_exit exit[BJ_EXITS];
    unsigned exits; /* processes whose ends were watched since the interval
                       began */
    bool changed;   /* its processes may have changed since it was sampled */
};

/* -errno if the kernel allows no more instances of inotify.  pool must outlive
 * it. */
int bj_watches_new(struct bj_fdpool *pool, struct bj_watches **ret);
void bj_watches_free(struct bj_watches *w); /* NULL is fine */

/* Watch a directory above jobs; the directory of requests; a job's directory
 * and those below it.  Changes in directories without a watch are found by
 * scans.  False if the kernel has no watch left (fs.inotify.max_user_watches).
 * w: NULL is fine. */
bool bj_watches_parent(struct bj_watches *w, const char *path);
bool bj_watches_requests(struct bj_watches *w, const char *path);
bool bj_watches_job(struct bj_watches *w, struct bj_track *t, const char *path,
                    bool v2);

/* The number of processes of t whose ends are watched. */
unsigned bj_watches_exits(const struct bj_track *t);

/* Watch for the end of that process; false: it has ended, or BJ_EXITS are
 * watched. */
bool bj_watches_exit(struct bj_watches *w, struct bj_track *t, pid_t pid);

/* Remove the watches of t, which has ended or will be freed. */
void bj_watches_forget(struct bj_watches *w, struct bj_track *t);

/* Wait for changes, without the lock: until bj_watches_wake is called or msec
 * milliseconds have passed (-1: no limit). */
void bj_watches_wait(const struct bj_watches *w, int msec);
void bj_watches_wake(struct bj_watches *w);

/* Read the changes: calls stale for directories above jobs, and sets
 * watched.changed of jobs.  The result shows whether a scan is needed and
 * whether the directory of requests has changed. */
struct bj_changes {
    bool scan, requests, lost; /* lost: events were lost, so anything may have
                                  changed */
};
struct bj_changes bj_watches_read(struct bj_watches *w, struct bj_core *core,
                                  void (*stale)(struct bj_core *core,
                                                const char *parent));

#endif
