/* The record of a job for all schedulers: one run of a job of Slurm, PBS or
 * LSF.
 *
 * Numbers are integers in the smallest natural unit of their source and
 * BJ_ABSENT where the source has no value; times are seconds since 1970, UTC.
 * Text is as the scheduler printed it, as bytes: neither clean nor escaped nor
 * terminated. An empty slice is an absent text: no source distinguishes the
 * two.
 *
 * Ownership: a reader (sched/sacct.h, pbs.h, lsf.h, slurmrest.h) fills a record
 * and passes it to a callback.  Slices and arrays point into the reader's input
 * or memory, and are valid until the callback returns. */
#ifndef BJ_SCHED_JOB_H
#define BJ_SCHED_JOB_H

#include "base/absent.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* The value of a limit of "unlimited".  It fits a signed 64 bit integer. */
#define BJ_UNLIMITED ((uint64_t)INT64_MAX)

/* The state of a job, for all schedulers.  Databases store the values: append,
 * never renumber. */
enum bj_job_state {
    BJ_STATE_UNKNOWN = 0, /* absent, or an unknown state */
    BJ_STATE_PENDING = 1,
    BJ_STATE_RUNNING = 2,
    BJ_STATE_SUSPENDED = 3,
    /* the states below have ended */
    BJ_STATE_COMPLETED = 4,
    BJ_STATE_FAILED = 5,
    BJ_STATE_CANCELLED = 6,
    BJ_STATE_TIMEOUT = 7,
    BJ_STATE_OOM = 8,
    BJ_STATE_NODE_FAIL = 9,
    BJ_STATE_PREEMPTED = 10,
    BJ_STATE_REQUEUED = 11, /* this run ended, another one follows */
    BJ_STATE_DEADLINE = 12,
    BJ_STATE_BOOT_FAIL = 13,
    BJ_STATE_RESIZED = 14, /* this part ended, the job continues in another */
    BJ_STATES
};

/* The type of a trackable resource (Slurm's TRES; others are mapped to it). */
enum bj_tres_type {
    BJ_TRES_OTHER,   /* name is the whole key */
    BJ_TRES_CPU,     /* CPUs; in usage lists microseconds of CPU time */
    BJ_TRES_MEM,     /* bytes */
    BJ_TRES_NODE,    /* nodes */
    BJ_TRES_BILLING, /* billing units */
    BJ_TRES_ENERGY,  /* joules */
    BJ_TRES_GRES,    /* number; name "gpu", model "a100" or empty */
    BJ_TRES_LICENSE, /* licences; by name */
    BJ_TRES_FS,      /* file system: bytes; name "disk", "lustre" */
    BJ_TRES_BB,      /* burst buffer: bytes; by name */
    BJ_TRES_VMEM,    /* bytes */
    BJ_TRES_PAGES,   /* page faults */
    BJ_TRES_IC,      /* interconnect; by name */
    BJ_TRES_TYPES
};

struct bj_tres {
    enum bj_tres_type type;
    struct bj_slice name, model; /* "gpu", "a100"; may be empty */
    uint64_t count;              /* in the unit of its type */
};

enum { BJ_TRES_MAX = 24 }; /* most kinds of resources of one job */

/* In the order of the text; beyond BJ_TRES_MAX they are left out. */
struct bj_tres_list {
    struct bj_tres v[BJ_TRES_MAX];
    unsigned n;
};

/* CPU time, memory and I/O used. */
struct bj_sched_usage {
    uint64_t cpu_usec; /* user and system */
    uint64_t cpu_user_usec;
    uint64_t cpu_system_usec;
    uint64_t cpu_task_usec;       /* mean over the tasks (Slurm: AveCPU) */
    uint64_t mem_task_peak_bytes; /* largest task (Slurm: MaxRSS) */
    /* All tasks together: PBS mem, LSF maxRMem.  Slurm: of the largest step,
     * the sum of its tasks' peaks, which may be more than the use at any time.
     */
    uint64_t mem_peak_bytes;
    uint64_t vmem_peak_bytes;
    uint64_t energy_joules; /* absent where Slurm reports 0: not measured */
    uint64_t read_bytes, write_bytes; /* file systems (Slurm: fs/disk) */
};

/* A step of a Slurm job: its batch script, or one srun. */
struct bj_job_step {
    struct bj_slice step_id;   /* "batch", "extern", "interactive", "0", ... */
    struct bj_slice name;      /* free text */
    struct bj_slice state_raw; /* as reported: "CANCELLED by 1000" */
    enum bj_job_state state;
    uint64_t start_sec, end_sec;
    uint64_t elapsed_sec;
    uint64_t suspended_sec;
    uint64_t exit_code, exit_signal;
    uint64_t cpus, nodes, tasks;
    struct bj_slice nodelist;      /* "n[1-3]": sched/hostlist.h */
    struct bj_slice mem_peak_node; /* node of the largest task */
    struct bj_slice submit_line;   /* free text (Slurm 22.05 and later) */
    struct bj_slice tres_alloc_raw;
    struct bj_sched_usage use;
};

/* What a run had from one change of its size to the next (sched/chain.h; PBS:
 * sched/pbs.h). */
struct bj_job_size {
    struct bj_slice sluid; /* of that record of Slurm */
    uint64_t start_sec, end_sec;
    uint64_t elapsed_sec;
    uint64_t cpus, nodes, gpus;
    uint64_t mem_allocated_bytes;
    struct bj_slice nodelist, tres_allocated_raw;
};

/* What bj_sched_job.size has. */
enum bj_sizes_kind {
    BJ_SIZES_ALL, /* all sizes of the run, or none */
    /* One size, of an accounting record of PBS (statsdb/import/pbs_size.h). */
    BJ_SIZE_BEGINS, /* from start_sec on */
    BJ_SIZE_ENDS,   /* until end_sec */
    BJ_SIZE_LAST,   /* the same, and the run has ended */
};

/* One run of a job.  The runs of a requeued job have the same jobid and differ
 * in submit_sec (Slurm sets a new one) or sluid. */
struct bj_sched_job {
    /* --- id --- */
    struct bj_slice cluster;      /* may be empty */
    struct bj_slice batch_system; /* "slurm", "pbs", "lsf" */
    struct bj_slice
        jobid; /* the id in cgroups and in the job's environment: "4711"; PBS
                   "4711.server", "4711[3].server"; LSF "4711", "4711[3]" */
    struct bj_slice display_id;     /* as people write it: "4700_3", "4711+1" */
    struct bj_slice sluid;          /* Slurm 26.05 and later: one per run */
    struct bj_slice original_sluid; /* of the run's first record: sched/chain.h
                                     */
    uint64_t id_number;             /* the digits at the start of jobid */
    uint64_t array_job;  /* id of the array; absent: not an array task */
    uint64_t array_task; /* absent also while the tasks are not split */
    struct bj_slice array_tasks; /* pending array: "1-10%2" */
    uint64_t het_job;            /* id of the leader; absent: not a het job */
    uint64_t het_offset;

    /* --- owner --- */
    struct bj_slice user, group;
    uint64_t uid, gid;
    struct bj_slice account; /* PBS Account_Name, LSF none */
    struct bj_slice project; /* PBS project, LSF projectName */
    struct bj_slice wckey;
    struct bj_slice partition; /* or queue */
    struct bj_slice qos;
    struct bj_slice name; /* free text */

    /* --- outcome --- */
    struct bj_slice state_raw; /* as reported: "CANCELLED by 1000", "F", "64" */
    enum bj_job_state state;
    uint64_t cancelled_by; /* uid ("CANCELLED by 1000") */
    struct bj_slice reason;
    struct bj_slice exit_raw; /* as reported: "0:15", "271", "-11" */
    uint64_t exit_code, exit_signal;
    uint64_t derived_exit_code, derived_exit_signal; /* highest of its steps */
    uint64_t restarts;

    /* --- times --- */
    uint64_t submit_sec, eligible_sec, start_sec, end_sec;
    uint64_t elapsed_sec; /* run time; Slurm: without the suspended time */
    uint64_t suspended_sec;
    uint64_t time_limit_sec; /* BJ_UNLIMITED; absent: the partition's */

    /* --- resources --- */
    uint64_t cpus; /* allocated; while pending requested */
    uint64_t cpus_requested;
    uint64_t nodes; /* allocated; while pending requested */
    uint64_t tasks;
    struct bj_slice nodelist;     /* "n[1-2]", of all schedulers in Slurm's
                                     notation; empty: none assigned */
    uint64_t mem_requested_bytes; /* of the whole job */
    uint64_t mem_allocated_bytes; /* of the whole job */
    uint64_t gpus; /* allocated; 0 when the source lists allocated resources
                      without a GPU */
    struct bj_slice gpu_model; /* of the first GPUs with a type */
    struct bj_slice tres_requested_raw, tres_allocated_raw; /* as reported */
    struct bj_tres_list tres_requested, tres_allocated;

    /* Of a run that was resized, else absent: what it had, over its run time.
     */
    uint64_t cpu_sec, node_sec, gpu_sec, memory_mib_sec;
    const struct bj_job_size *size; /* in the order of time; NULL: none */
    unsigned sizes;
    enum bj_sizes_kind sizes_kind;

    /* --- usage --- */
    struct bj_sched_usage use; /* over its steps: time, energy and I/O added up,
                                  the largest task's memory */
    bool energy_of_steps; /* the energy is absent or that of its steps, which
                             may be some of them: sched/step_sum.h */

    /* --- other values, mostly free text --- */
    uint64_t priority;
    struct bj_slice reservation, constraints, licenses, flags;
    struct bj_slice batch_host; /* first node; runs the batch script */
    struct bj_slice submit_host;
    struct bj_slice work_dir, submit_line, container;
    struct bj_slice comment, admin_comment, system_comment;
    struct bj_slice failed_node; /* whose failure ended the run */
    /* Paths of its output, where %j and others may stand for its ids. */
    struct bj_slice stdout_path, stderr_path;

    /* The source lists the jobs of this moment (qstat, bjobs) and knows less of
     * jobs that have ended than their accounting: it only adds what is not
     * known of them. */
    bool snapshot;

    /* --- steps --- */
    const struct bj_job_step *step; /* NULL when steps is 0 */
    unsigned steps;
    unsigned steps_left_out; /* counted in use, but not in step */
};

/* Set everything to absent, no text. */
void bj_sched_job_init(struct bj_sched_job *job);
void bj_job_step_init(struct bj_job_step *step);
void bj_sched_usage_init(struct bj_sched_usage *use);

/* --- step sum ---*/

/* Adds up the usage of the steps of a Slurm job: of those in an answer, and of
 * those that a store has. */

struct bj_step_sum {
    struct bj_sched_usage sum; /* sums of times and I/O, the largest memory */
    unsigned steps;
    uint64_t energy[3]; /* of the extern, the batch, and the numbered steps */
};

void bj_step_sum_begin(struct bj_step_sum *f);

/* Add the use of a step.  CPU time, energy and I/O of a step that has not ended
 * become absent. */
void bj_step_sum_add(struct bj_step_sum *f, struct bj_job_step *step);

/* Set the job's use to that of its steps, all of one answer; the job's own CPU
 * time counts where its steps have none, its own energy always, and a CPU time
 * of 0 without any step is absent.  CPU time, energy and I/O of a job that has
 * not ended are absent. */
void bj_step_sum_end(const struct bj_step_sum *f, struct bj_sched_job *job);

/* Complete the job's use, which may be that of some of its steps, as an answer
 * for a period lacks the steps outside of it: f has all known steps.  The
 * larger value counts. */
void bj_step_sum_complete(const struct bj_step_sum *f,
                          struct bj_sched_job *job);

#endif
