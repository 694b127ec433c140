/* The processes of jobs, read from /proc: states of threads, CPU time by
 * executable, I/O, descriptors, open files.
 *
 * Sources: proc(5); kernel Documentation/filesystems/proc.rst. */
#ifndef BJ_CORE_COLLECT_PROCESS_H
#define BJ_CORE_COLLECT_PROCESS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "core/conf.h"
#include "core/model/record.h"

/* What all jobs share: /proc, tick length, limits, counters of faults. */
struct bj_proctab;
/* What is kept for one job: the directories of its cgroup, its processes, the
 * totals of those that have exited. */
struct bj_jobproc;

/* conf and pool must outlive it. */
int bj_proctab_new(const struct bj_conf *conf, struct bj_fdpool *pool,
                   struct bj_proctab **ret, struct bj_err *err);
void bj_proctab_free(struct bj_proctab *t);

/* Begin a pass: now is the boot clock.  Resets the budget of processes. */
void bj_proctab_begin(struct bj_proctab *t, uint64_t now_usec);

/* Processes that max-processes refused, and faults, since the start. */
uint64_t bj_proctab_refused(const struct bj_proctab *t);
uint64_t bj_proctab_faults(const struct bj_proctab *t);

/* Follow the processes below the cgroup directory path (absolute). v2 tells
 * the version of the hierarchy. */
struct bj_jobproc *bj_jobproc_new(struct bj_proctab *t, const char *path,
                                  bool v2);
void bj_jobproc_free(struct bj_proctab *t, struct bj_jobproc *p);

/* Look at the job's processes once and update the totals kept in p.
 * cgroup_cpu_usec is the CPU time of the whole job (BJ_ABSENT when unknown);
 * what no named executable accounts for becomes "(other)".
 * 0; a gone code when the cgroup has ended (totals stay); another -errno for a
 * fault (named in err), after which the rest was still done. */
int bj_jobproc_update(struct bj_proctab *t, struct bj_jobproc *p,
                      uint64_t cgroup_cpu_usec, struct bj_err *err);

/* Processes alive at the last update, ours and the batch system's both: 0
 * means that the cgroup is an empty shell. */
size_t bj_jobproc_alive(const struct bj_jobproc *p);

/* Write what is known into the job record; lists go to the arena. */
void bj_jobproc_publish(const struct bj_proctab *t, const struct bj_jobproc *p,
                        struct bj_arena *arena, struct bj_job *job);

#endif
