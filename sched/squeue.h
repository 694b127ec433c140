/* The queue of a Slurm cluster: squeue with selected fields.  The separator is
 * a control character that Slurm's names cannot contain, and the only free
 * text, the reason, is at the end, where it cannot break other fields. */
#ifndef BJ_SCHED_SQUEUE_H
#define BJ_SCHED_SQUEUE_H

#include "base/slice.h"
#include "sched/tres.h"

#include <stdbool.h>
#include <stdint.h>

/* The separator of fields of this and the other commands. */
#define BJ_SLURM_SEP "\x1f"

/* The arguments: all jobs that the controller keeps, of this cluster, with one
 * line for all pending tasks of an array.  NULL at the end.  Needs
 * SLURM_TIME_FORMAT=%s and SLURM_BITSTR_LEN=0 (complete lists of tasks) in its
 * environment.  Source: squeue(1). */
extern const char *const bj_squeue_argv[];

/* A line of its output.  Slices point into the line. */
struct bj_squeue_job {
    struct bj_slice id;        /* raw job id */
    uint64_t jobs;             /* number of tasks in this line */
    struct bj_slice state;     /* "RUNNING"; the one name that Slurm prints */
    struct bj_slice partition; /* "a,b" while it waits for one of several */
    struct bj_slice account, user, qos;
    struct bj_slice host; /* submit host */
    bool host_unknown;    /* JSON up to Slurm 22.05 */
    bool brief;   /* of a command of the site: without QOS, host, reservation,
                     features and GPUs */
    bool partial; /* PBS: without QOS and features; memory that it does not
                     request is unknown */
    struct bj_slice reservation; /* empty: none */
    struct bj_slice features;    /* requested, "a&b"; JSON only */
    struct bj_slice reason;      /* as Slurm words it */
    uint64_t submit_sec, eligible_sec, start_sec; /* BJ_ABSENT: unknown */
    /* of one job; allocated, or requested while it waits */
    uint64_t nodes; /* BJ_ABSENT: unknown */
    struct bj_tres_list tres;
};

/* -EINVAL when the line is not squeue's. */
int bj_squeue_parse(struct bj_slice line, struct bj_squeue_job *ret);

/* Count the tasks in "3", "1-500%2", "0-9:3,12"; 1 for "N/A" and the empty
 * text. -EINVAL when it is not such a list. */
int bj_squeue_tasks(struct bj_slice text, uint64_t *ret);

/* The class of a reason: "ReqNodeNotAvail" of "ReqNodeNotAvail,
 * UnavailableNodes:n[1-9]", "Nodes required for job are DOWN" of the sentence
 * that begins so; brackets around it are removed. */
struct bj_slice bj_squeue_reason(struct bj_slice reason);

#endif
