/* The life of a job on this node: start with its first process, end, grace
 * period.  Internal to the core. */
#ifndef BJ_CORE_LIFE_H
#define BJ_CORE_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct bj_core;
struct bj_track;

struct bj_life {
    unsigned trees; /* hierarchies whose tree has a directory of it */
    bool born;      /* it has had processes */
    bool fresh;     /* its directory was made after the first pass */
    bool lost;      /* a tree has lost its directory: it is over */
    bool reused;    /* over, and directories of its name are there again: left
                       over from it, or of another job of that id */
    bool replaced;  /* ... of another job, since processes are in them */
    bool emptied;   /* it has no processes any more, but its cgroup is there */
    bool hidden;    /* its grace period is over */
    bool recorded;  /* its final record is written, or none is due */
    uint16_t there; /* bj_unit.there after the last pass */
    unsigned empty_checks; /* in a row that found no process */
    unsigned place_tries;
    uint64_t place_usec; /* when to search for missing directories */
    /* Boot clock: when it was first seen, and when it began; end is 0 while
     * it runs. */
    uint64_t first_usec, born_usec, end_usec;
    uint64_t start_sec, end_sec; /* wall clock, BJ_ABSENT */
    uint64_t checked_cpu_usec;   /* CPU time at the last check for processes */
    uint64_t last_cpu_usec;      /* CPU time when it was sampled without
                                    processes; BJ_ABSENT: has some since */
    uint64_t read_pass;          /* number of the pass that read it last */
};

/* Before a job is read: search for its directories, its first process, the
 * last one. */
void bj_life_update(struct bj_track *t);

/* Has it processes? */
bool bj_life_any(const struct bj_track *t);
/* If they are its first: it begins. */
void bj_life_begin(struct bj_track *t);

/* After all jobs are read: those that have gone have ended. */
void bj_core_settle(struct bj_core *core);

/* At the end of a pass: forget jobs whose grace period is over. */
void bj_core_forget(struct bj_core *core);

/* Free a track and what energy and GPUs hold of it. */
void bj_core_drop(struct bj_core *core, struct bj_track *t);

#endif
