/* The processes of jobs, read from /proc: states of threads, CPU time by
 * executable, I/O, descriptors, open files.
 *
 * Which processes. Those in cgroup.procs of the job's cgroup directory and of
 * all directories below it. A list is read again when it is a second old, or
 * when a process on it has ended. Processes named slurmstepd or slurmd whose
 * real user is root belong to the batch system: they keep a job alive and are
 * not counted. A zombie (ended and not yet waited for) is no longer in the
 * kernel's lists; it counts if it was seen alive.
 *
 * What is read. Of each process /proc/PID/stat, with one read(2) of a kept
 * descriptor; if it shows more than one thread, task/TID/stat of the others.
 * More expensive files are read only after a change: exe after an exec, io
 * when the stat line differs from the last one, the list of threads when their
 * number differs or one of them has ended. Of threads that were found asleep a
 * few times only schedstat is read, until it shows that they have run. All
 * files are read in a thread that is abandoned when a read blocks in the
 * kernel (process_run.h); the totals of such a process do not change until the
 * kernel returns. Descriptors of /proc/PID stay bound to the process, so a
 * reused pid does no harm.
 *
 * CPU time by executable. What a process has used since the last read is
 * counted for the executable that it runs now. An executable gets a row, and
 * keeps it, once it has used 0.1 s while there are fewer rows than exe-top.
 * Everything else is "(other)", including processes that ended between two
 * passes, where the CPU time of the whole job is known.
 *
 * I/O. When a parent waits for an ended child, the kernel adds the child's I/O
 * counters to those of the parent (kernel/exit.c, wait_task_zombie). The
 * parent's counters then grow by all that the child did, part of which has
 * been counted already. Therefore, for each counter: a process counts the
 * growth since its last read, less what has been counted for its children that
 * have ended since, but never less than 0. If the child's parent has ended
 * too, the child's part is subtracted from the nearest living ancestor, and
 * from those above it that have been seen to adopt orphans; what exceeds the
 * growth of the nearest one is subtracted further up. An ancestor is read
 * after the ends of its children are known. Where the numbers allow that a
 * child's counters are in it already, the child is read again. A process that
 * is seen for the first time counts all that it has done. So children that end
 * too early to be seen are counted through their parent, nothing is counted
 * twice, and no total falls. What a process did after its last read is lost if
 * no process of the job waits for it. A parent that ignores SIGCHLD does not
 * wait for its children: nothing is subtracted from it. I/O counters are read
 * when the stat line has changed or 30 s have passed, but not while the
 * process sleeps.
 *
 * Estimated CPU time by core (cgroup v2). What a thread has used since the
 * last read is counted for the CPU on which it ran last; threads that ended in
 * between are left out.
 *
 * Sources: proc(5); kernel Documentation/filesystems/proc.rst. */
#ifndef BJ_CORE_COLLECT_PROCESS_H
#define BJ_CORE_COLLECT_PROCESS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "core/conf.h"
#include "core/host.h"
#include "core/model/record.h"

/* What all jobs share: /proc, tick length, limits, counters of faults. */
struct bj_proctab;
/* What is kept for one job: the directories of its cgroup, its processes, the
 * totals of those that have exited. */
struct bj_jobproc;

/* conf, host and pool must outlive it.  host: NULL: read in the caller's
 * thread, which the kernel may hold (tests).  -EINVAL names an entry of
 * conf->places that is not NAME=/PATH; other errors are those of opening
 * conf->procfs, and -ENOMEM. */
int bj_proctab_new(const struct bj_conf *conf, const struct bj_host *host,
                   struct bj_fdpool *pool, struct bj_proctab **ret,
                   struct bj_err *err);
/* After the last bj_jobproc_free.  NULL is fine. */
void bj_proctab_free(struct bj_proctab *t);

/* Begin a pass: now is the boot clock.  Resets the budget of processes. */
void bj_proctab_begin(struct bj_proctab *t, uint64_t now_usec);

/* Processes that max-processes refused, and faults, since the start.  Refused
 * are also threads beyond eight times as many, open files beyond 100,000 a
 * pass (places) and cgroup directories beyond 4096 a job. */
uint64_t bj_proctab_refused(const struct bj_proctab *t);
uint64_t bj_proctab_faults(const struct bj_proctab *t);

/* Follow the processes below the cgroup directory path (absolute), which is in
 * a hierarchy of version 2 if v2 is set.  The directory need not be there yet.
 * NULL when memory is out. */
struct bj_jobproc *bj_jobproc_new(struct bj_proctab *t, const char *path,
                                  bool v2);
/* NULL is fine. */
void bj_jobproc_free(struct bj_proctab *t, struct bj_jobproc *p);

/* A job to read. */
struct bj_procjob {
    struct bj_jobproc *p;
    uint64_t cpu_usec; /* CPU time of the whole job, or BJ_ABSENT: what no named
                          executable accounts for becomes "(other)" */
};

/* Read the processes of n jobs once and update the totals kept for them.  0; a
 * gone code, without a message, when the cgroup of the last one has ended
 * (totals stay, what was kept is closed); another -errno for a fault (named in
 * err), after which the rest was still done.  A process whose files this
 * program may not read (EACCES) is one fault in all its life.  -ETIMEDOUT: the
 * kernel holds a read; some jobs may not have been read. */
int bj_proctab_update(struct bj_proctab *t, const struct bj_procjob *v,
                      size_t n, struct bj_err *err);

/* The sums alone; of what nothing is known they are BJ_ABSENT. */
void bj_jobproc_sums(const struct bj_proctab *t, const struct bj_jobproc *p,
                     struct bj_procsum *ret);

/* What the processes alive now have in memory and have done, if BJ_EXTRA_ALIVE
 * is set: falls when one ends.  Unknown values are left alone. */
void bj_jobproc_living(const struct bj_jobproc *p, struct bj_extra_use *ret);

/* Write what is known into the job record; lists go to the arena.  Fields of
 * which nothing is known become BJ_ABSENT; job->cores is left alone unless
 * there is an estimate, and job->start_sec when it is known already.  Processes
 * that the budget left out are in processes but not in threads and states. */
void bj_jobproc_publish(const struct bj_proctab *t, const struct bj_jobproc *p,
                        struct bj_arena *arena, struct bj_job *job);

#endif
