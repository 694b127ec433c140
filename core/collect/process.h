/* The processes of jobs, read from /proc: states of threads, CPU time by
 * executable, I/O, descriptors, open files.
 *
 * Which processes. Those listed in cgroup.procs of the job's cgroup directory
 * and of all directories below it. A list is read again when it is a second
 * old, or when a listed process has ended. Processes named slurmstepd or slurmd
 * whose real user is root belong to the batch system, and so does the "sleep
 * 100000000" of root in Slurm's extern step: they keep a job alive and are not
 * counted. The kernel does not list zombies (ended, but not yet waited
 * for); a zombie counts if it was seen alive.
 *
 * What is read. /proc/PID/stat of each process, with one read(2) of a kept
 * descriptor, and task/TID/stat of its other threads. More expensive files are
 * read only after a change: exe after an exec, io when the stat line differs
 * from the last one, the list of threads when their number differs or one of
 * them has ended. For threads that were found asleep a few times only schedstat
 * is read, until it shows that they have run. All files are read in a thread
 * that is abandoned when a read blocks in the kernel (process_impl.h); the
 * totals of such a process do not change until the kernel returns. Descriptors
 * of /proc/PID stay bound to the process, so a reused pid does no harm.
 *
 * CPU time by executable. The CPU time of a process since the last read is
 * counted for the executable that it runs now. An executable gets a permanent
 * row once it has used 0.1 s, while there are fewer rows than exe-top. All
 * other time is "(other)"; if the CPU time of the whole job is known, this
 * includes processes that ended between two passes.
 *
 * I/O. When a parent waits for an ended child, the kernel adds the child's I/O
 * counters to those of the parent (kernel/exit.c, wait_task_zombie). The
 * parent's counters then grow by the child's whole I/O, part of which has been
 * counted already. Therefore, for each counter: the growth of a process since
 * its last read is counted, less the amount that was counted for its children
 * that have ended since, but never less than 0. If the child's parent has ended
 * too, the child's amount is subtracted from the nearest living ancestor, and
 * from ancestors above it that are known to adopt orphans; an amount that
 * exceeds the growth of the nearest one is subtracted further up. An ancestor
 * is read after the ends of its children are known. If its counters may already
 * include those of a child, by their size, the child is read again. All I/O of
 * a process that is seen for the first time is counted. So children that end
 * too early to be seen are counted through their parent, nothing is counted
 * twice, and no total falls. I/O of a process after its last read is lost if no
 * process of the job waits for it. A parent that ignores SIGCHLD does not wait
 * for its children: nothing is subtracted from it. I/O counters are read when
 * the stat line has changed or 30 s have passed (before a page at the slow
 * interval or more rarely: a tenth of the time since the page before), but not
 * while the process sleeps.
 *
 * Estimated CPU time by core (cgroup v2). The CPU time of a thread since the
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

/* The data shared by all jobs: /proc, tick length, limits, counters of
 * faults. */
struct bj_proctab;
/* The data kept for one job: the directories of its cgroup, its processes, the
 * totals of processes that have ended. */
struct bj_jobproc;

/* conf, host and pool must outlive it. host NULL (for tests): files are read in
 * the caller's thread, which the kernel may block.  -EINVAL names an entry of
 * conf->places that is not NAME=/PATH; other errors are those of opening
 * conf->procfs, and -ENOMEM. */
int bj_proctab_new(const struct bj_conf *conf, const struct bj_host *host,
                   struct bj_fdpool *pool, struct bj_proctab **ret,
                   struct bj_err *err);
/* After the last bj_jobproc_free.  NULL is fine. */
void bj_proctab_free(struct bj_proctab *t);

/* Begin a pass at now_usec (boot clock). Resets the budget of processes.
 * io_usec: I/O counters that are older are read again (at most 30 s), unless
 * the process has slept since. */
void bj_proctab_begin(struct bj_proctab *t, uint64_t now_usec,
                      uint64_t io_usec);

/* Counters since the start: processes beyond max-processes, and faults. The
 * former include threads beyond eight times max-processes, open files beyond
 * 100,000 a pass (places) and cgroup directories beyond 4096 a job. */
uint64_t bj_proctab_refused(const struct bj_proctab *t);
uint64_t bj_proctab_faults(const struct bj_proctab *t);

/* Follow the processes below the cgroup directory path (absolute), which is in
 * a hierarchy of version 2 if v2 is set.  The directory need not exist yet.
 * NULL: out of memory. */
struct bj_jobproc *bj_jobproc_new(struct bj_proctab *t, const char *path,
                                  bool v2);
/* NULL is fine. */
void bj_jobproc_free(struct bj_proctab *t, struct bj_jobproc *p);

/* A job to read. */
struct bj_procjob {
    struct bj_jobproc *p;
    uint64_t cpu_usec; /* CPU time of the whole job, or BJ_ABSENT; the part that
                          no named executable used becomes "(other)" */
};

/* Read the processes of n jobs once and update the totals kept for them.
 * Returns 0; a code of bj_err_gone(), without a message, if the cgroup of the
 * last job has been removed (totals stay, kept descriptors are closed); another
 * -errno for a fault, described in err, after which the rest was still read.  A
 * process whose files this program may not read (EACCES) counts as one fault in
 * its whole life. -ETIMEDOUT: the kernel blocks a read; some jobs may not have
 * been read. */
int bj_proctab_update(struct bj_proctab *t, const struct bj_procjob *v,
                      size_t n, struct bj_err *err);

/* The sums alone; unknown ones are BJ_ABSENT. */
void bj_jobproc_sums(const struct bj_proctab *t, const struct bj_jobproc *p,
                     struct bj_procsum *ret);

/* CPU time by executable (struct bj_exe_use), allocated in the arena, sorted by
 * label; *list is unchanged where executables are not told apart. */
void bj_jobproc_exes(const struct bj_proctab *t, const struct bj_jobproc *p,
                     struct bj_arena *arena, struct bj_list *list);

/* Sums of memory and I/O over the processes alive now, if BJ_EXTRA_ALIVE is
 * set: they fall when a process ends. Fields of unknown values are
 * unchanged. */
void bj_jobproc_living(const struct bj_jobproc *p, struct bj_extra_use *ret);

/* Write the values into the job record; lists are allocated in the arena.
 * Unknown fields become BJ_ABSENT; job->cores is unchanged without an estimate,
 * and job->start_sec if it is known already. Processes beyond the budget are
 * counted in processes, but not in threads and states. */
void bj_jobproc_publish(const struct bj_proctab *t, const struct bj_jobproc *p,
                        struct bj_arena *arena, struct bj_job *job);

#endif
