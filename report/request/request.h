/* The next request: from what a job requested and what the next one needs to
 * the options that change (docs/reports.md, "The next request").
 *
 * One model of each scheduler knows which amounts depend on which: memory per
 * CPU on CPUs, CPUs per GPU on GPUs.  All changes are computed together, in the
 * words of the user, so that no option contradicts another one and no amount
 * falls because another one did.  What a model does not know is refused. */
#ifndef BJ_REPORT_REQUEST_REQUEST_H
#define BJ_REPORT_REQUEST_REQUEST_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* What the scheduler recorded about the job; BJ_SQL_NULL or no text:
 * unknown. */
struct bj_request_job {
    struct bj_slice system; /* "slurm", "pbs", "lsf" */
    struct bj_slice submit_line;
    struct bj_slice script; /* options of the batch script
                               (sched/sbatch_script.h); n is 0: unknown */
    int64_t nodes, cpus, cpus_requested, gpus;
    int64_t memory; /* bytes allocated to the whole job, else requested */
    /* bytes: a scheduler that allows less memory for each CPU than the job
     * requests gives it more CPUs (Slurm: MaxMemPerCPU); 0: none */
    int64_t memory_of_cpu;
    /* PBS: the chunks and the placement that it made of the request,
     * "2:ncpus=4:mem=8gb" and "scatter" */
    struct bj_slice select, place;
};

/* What the next job needs, with margins; BJ_SQL_NULL: no change is wanted. */
struct bj_request_need {
    int64_t time;       /* seconds */
    int64_t memory;     /* bytes on the fullest node */
    int64_t memory_sum; /* bytes on all nodes together; needed for one_node */
    int64_t more;       /* bytes on each node, more than the job had */
    int64_t cpus;       /* of a job on one node */
    int64_t gpus;       /* on the node that used most of them, at least 1 */
    int64_t nodes;      /* nodes that were used; 1 with one_node */
    int64_t busy;       /* CPUs that were busy, rounded up: no wish, but a limit
                           for CPUs that depend on GPUs */
    bool serial;        /* the program runs on one CPU; cpus is 1 */
    bool one_node;      /* everything fits on one node */
};

enum bj_request_part {
    BJ_REQUEST_NODES,
    BJ_REQUEST_CPUS, /* CPUs or tasks */
    BJ_REQUEST_GPUS,
    BJ_REQUEST_MEMORY,
    BJ_REQUEST_TIME,
    BJ_REQUEST_PARTS
};

/* The changed options of one part; option.n is 0 if none changes. */
struct bj_request_change {
    struct bj_slice option;   /* "--mem=6G", "-n 1 -c 1" */
    struct bj_slice line;     /* for the script: "#SBATCH --mem=6G" */
    struct bj_slice replaces; /* "--mem=64G"; n is 0 if the submit line has no
                                 such option */
    struct bj_slice places;   /* lines of the script in which the replaced
                                 options are: "3, 4"; n is 0: not there */
    bool refused; /* a change is wanted, but the model does not know enough */
    enum bj_request_part in; /* a wanted change without an option of its own is
                                in the option of this part */
};

struct bj_request {
    struct bj_request_change of[BJ_REQUEST_PARTS];
    struct bj_slice all; /* all options */
    bool line;           /* the submit line is known */
    bool script;         /* a script may have more options, which are unknown */
    bool script_known;   /* the options of the script are known, too */
    bool select;         /* PBS: the option replaces all resources of chunks,
                            which the submit line does not have */
};

/* Compute the next request.  Texts are in the arena. */
void bj_request_next(const struct bj_request_job *job,
                     const struct bj_request_need *need, struct bj_arena *arena,
                     struct bj_request *ret);

/* Memory to request for a peak, with a margin in percent, rounded up. */
int64_t bj_request_memory(int64_t peak_bytes, int64_t margin);

/* Round memory up to a number that people would write. */
int64_t bj_request_round_memory(int64_t bytes);

/* Round a time up to a number that people would write, at least ten minutes. */
int64_t bj_request_round_time(int64_t sec);

#endif
