/* The life of a job on this node: start with its first process, end, grace
 * period.  Internal to the core. */
#ifndef BJ_CORE_LIFE_H
#define BJ_CORE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct bj_core;
struct bj_track;

struct bj_life {
    unsigned trees;    /* number of trees that contain a directory of it */
    bool born;         /* it has had processes */
    bool fresh;        /* its directory was created after the first pass */
    bool lost;         /* its directory has gone from a tree: it has ended */
    bool reused;       /* it has ended, and its directories exist again: left
                          behind, or those of another job with the same id */
    bool replaced;     /* ... those of another job, since they have processes */
    bool emptied;      /* it has no processes any more, but its cgroup exists */
    bool nests;        /* jobs of another batch system may be below it */
    bool outer;        /* they are: it is not a job of its own */
    bool hidden;       /* its grace period is over */
    bool recorded;     /* its final record is written, or none is due */
    uint16_t in_hiers; /* bj_unit.in_hiers after the last pass */
    unsigned empty_checks; /* checks in a row that found no process */
    unsigned place_tries;
    uint64_t place_usec; /* when to search for missing directories */
    uint64_t check_usec; /* when to check whether it still has processes */
    /* Boot clock: when it was first seen, when it began, and when it ended (0:
     * it runs). */
    uint64_t first_usec, born_usec, end_usec;
    uint64_t
        start_usec; /* boot clock: start of its oldest process, BJ_ABSENT */
    uint64_t start_sec, end_sec; /* wall clock, BJ_ABSENT; start_sec follows the
                                    clock until the end (bj_track_clock) */
    uint64_t checked_cpu_usec;   /* CPU time at the last check for processes */
    uint64_t last_cpu_usec;      /* CPU time at its last sample without
                                    processes; BJ_ABSENT: it has some again */
    uint64_t read_pass;          /* number of the pass that read it last */
};

/* Before a job is read: search for its missing directories, check for its first
 * process, and whether the last one has ended. */
void bj_life_update(struct bj_track *t);

/* Does the job have processes? */
bool bj_life_has_processes(const struct bj_track *t);
/* Begin the job if it has processes for the first time. */
void bj_life_begin(struct bj_track *t);

/* After all jobs are read: end the jobs whose cgroups have gone. */
void bj_core_end_jobs(struct bj_core *core);

/* At the end of a pass: forget jobs whose grace period is over. */
void bj_core_forget_jobs(struct bj_core *core);

/* Free a track, and its data in energy and GPUs. */
void bj_core_drop_track(struct bj_core *core, struct bj_track *t);

#endif
