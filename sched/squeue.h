/* The queue of a Slurm cluster: squeue with fields of our choice, the separator
 * a control character that Slurm's names cannot hold, and the only free text,
 * the reason, at the end, where it can break nothing. */
#ifndef BJ_SCHED_SQUEUE_H
#define BJ_SCHED_SQUEUE_H

#include "base/slice.h"
#include "sched/tres.h"

#include <stdbool.h>
#include <stdint.h>

/* What stands between the fields of this and the other commands. */
#define BJ_SLURM_SEP "\x1f"

/* The arguments: all jobs that the controller remembers, of this cluster, one
 * line for the waiting tasks of an array together.  NULL at the end.  Wants
 * SLURM_TIME_FORMAT=%s and SLURM_BITSTR_LEN=0 (lists of tasks whole) in its
 * environment.  Source: squeue(1). */
extern const char *const bj_squeue_argv[];

/* A line of its output.  Slices point into the line. */
struct bj_squeue_job {
    struct bj_slice id;        /* raw job id */
    uint64_t jobs;             /* that the line stands for: tasks */
    struct bj_slice state;     /* "RUNNING"; the one name that Slurm prints */
    struct bj_slice partition; /* "a,b" while it waits for one of several */
    struct bj_slice account, user, qos;
    struct bj_slice host;                         /* it was submitted from */
    bool host_unknown;                            /* JSON up to Slurm 22.05 */
    struct bj_slice reservation;                  /* empty: none */
    struct bj_slice reason;                       /* as Slurm words it */
    uint64_t submit_sec, eligible_sec, start_sec; /* BJ_ABSENT: not known */
    /* of one job; what it has, or asks for while it waits */
    uint64_t nodes;
    struct bj_tres_list tres;
};

/* -EINVAL when the line is none of squeue's. */
int bj_squeue_parse(struct bj_slice line, struct bj_squeue_job *ret);

/* How many tasks "3", "1-500%2", "0-9:3,12" name; 1 for "N/A" and the empty
 * text.  -EINVAL when it is no such list. */
int bj_squeue_tasks(struct bj_slice text, uint64_t *ret);

/* What of a reason makes a class: "ReqNodeNotAvail" of "ReqNodeNotAvail,
 * UnavailableNodes:n[1-9]", "Nodes required for job are DOWN" of the sentence
 * that begins so; brackets around it are cut. */
struct bj_slice bj_squeue_reason(struct bj_slice reason);

#endif
