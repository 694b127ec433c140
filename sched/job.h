/* The one record of a job over all schedulers: what Slurm, PBS or LSF tells of
 * one run of a job, in one shape.
 *
 * Numbers are integers in the smallest natural unit of their source and
 * BJ_ABSENT where the source says nothing; times are seconds since 1970, UTC.
 * Text is as the scheduler gave it, bytes and all: neither clean nor escaped
 * nor terminated.  An empty slice is no text: no source tells "" from none.
 *
 * Who owns it: a reader (sched/sacct.h, pbs.h, lsf.h, slurmrest.h) fills a
 * record and lends it to a callback.  Slices and arrays point into the reader's
 * input or into its own memory, and are good until the callback returns. */
#ifndef BJ_SCHED_JOB_H
#define BJ_SCHED_JOB_H

#include "base/absent.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* A limit that says "no limit".  It fits a signed 64 bit integer. */
#define BJ_UNLIMITED ((uint64_t)INT64_MAX)

/* What has become of a job, over all schedulers.  The values are kept in
 * databases: append, never renumber. */
enum bj_job_state {
    BJ_STATE_UNKNOWN = 0, /* none told, or one that we do not know */
    BJ_STATE_PENDING = 1,
    BJ_STATE_RUNNING = 2,
    BJ_STATE_SUSPENDED = 3,
    /* from here on it has ended */
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
    BJ_STATE_RESIZED = 14, /* this piece ended, the job goes on in another */
    BJ_STATES
};

/* What a trackable resource is (Slurm's TRES; the others are mapped to it). */
enum bj_tres_type {
    BJ_TRES_OTHER,   /* name holds the whole key */
    BJ_TRES_CPU,     /* CPUs; in usage lists microseconds of CPU time */
    BJ_TRES_MEM,     /* bytes */
    BJ_TRES_NODE,    /* nodes */
    BJ_TRES_BILLING, /* billing units */
    BJ_TRES_ENERGY,  /* joules */
    BJ_TRES_GRES,    /* pieces; name "gpu", model "a100" or empty */
    BJ_TRES_LICENSE, /* licences; name says which */
    BJ_TRES_FS,      /* file system: bytes; name "disk", "lustre" */
    BJ_TRES_BB,      /* burst buffer: bytes; name says which */
    BJ_TRES_VMEM,    /* bytes */
    BJ_TRES_PAGES,   /* page faults */
    BJ_TRES_IC,      /* interconnect; name says which */
    BJ_TRES_TYPES
};

struct bj_tres {
    enum bj_tres_type type;
    struct bj_slice name, model; /* "gpu", "a100"; empty where none is told */
    uint64_t count;              /* in the unit of its type */
};

enum { BJ_TRES_MAX = 24 }; /* kinds of resources of one job, at most */

/* In the order of the text; what is beyond BJ_TRES_MAX is left out. */
struct bj_tres_list {
    struct bj_tres v[BJ_TRES_MAX];
    unsigned n;
};

/* CPU time, memory and I/O that were used. */
struct bj_sched_usage {
    uint64_t cpu_usec; /* user and system */
    uint64_t cpu_user_usec;
    uint64_t cpu_system_usec;
    uint64_t cpu_task_usec;       /* mean over the tasks (Slurm: AveCPU) */
    uint64_t mem_task_peak_bytes; /* largest task (Slurm: MaxRSS) */
    /* All tasks together: PBS mem, LSF maxRMem.  Slurm: of the largest step,
     * its tasks' peaks added up, which may be more than was used at any time.
     */
    uint64_t mem_peak_bytes;
    uint64_t vmem_peak_bytes;
    uint64_t energy_joules; /* absent where Slurm says 0: it measured nothing */
    uint64_t read_bytes, write_bytes; /* file systems (Slurm: fs/disk) */
};

/* A part of a Slurm job: its batch script, or one srun. */
struct bj_job_step {
    struct bj_slice step_id;   /* "batch", "extern", "interactive", "0", ... */
    struct bj_slice name;      /* free text */
    struct bj_slice state_raw; /* as told: "CANCELLED by 1000" */
    enum bj_job_state state;
    uint64_t start_sec, end_sec;
    uint64_t elapsed_sec;
    uint64_t suspended_sec;
    uint64_t exit_code, exit_signal;
    uint64_t cpus, nodes, tasks;
    struct bj_slice nodelist;      /* "n[1-3]": sched/hostlist.h */
    struct bj_slice mem_peak_node; /* where the largest task was */
    struct bj_slice submit_line;   /* free text (Slurm 22.05 and later) */
    struct bj_slice tres_alloc_raw;
    struct bj_sched_usage use;
};

/* One run of a job.  A requeued job is several records with the same raw_id,
 * told apart by submit_sec (Slurm sets it anew), or by sluid. */
struct bj_sched_job {
    /* --- which one --- */
    struct bj_slice cluster;      /* empty where the source does not tell */
    struct bj_slice batch_system; /* "slurm", "pbs", "lsf" */
    struct bj_slice raw_id;   /* the id that cgroups and the job's environment
                                 have: "4711"; PBS "4711.server",
                                 "4711[3].server"; LSF "4711", "4711[3]" */
    struct bj_slice shown_id; /* as people write it: "4700_3", "4711+1" */
    struct bj_slice sluid;    /* Slurm 26.05 and later: one per run */
    uint64_t id_number;       /* the digits that raw_id begins with */
    uint64_t array_job;       /* id of the array; absent: no array task */
    uint64_t array_task;      /* absent also while the tasks are not split */
    struct bj_slice array_tasks; /* pending array: "1-10%2" */
    uint64_t het_job;            /* id of the leader; absent: no het job */
    uint64_t het_offset;

    /* --- whose --- */
    struct bj_slice user, group;
    uint64_t uid, gid;
    struct bj_slice account; /* PBS Account_Name, LSF none */
    struct bj_slice project; /* PBS project, LSF projectName */
    struct bj_slice wckey;
    struct bj_slice partition; /* or queue */
    struct bj_slice qos;
    struct bj_slice name; /* free text */

    /* --- what became of it --- */
    struct bj_slice state_raw; /* as told: "CANCELLED by 1000", "F", "64" */
    enum bj_job_state state;
    uint64_t cancelled_by; /* uid ("CANCELLED by 1000") */
    struct bj_slice reason;
    struct bj_slice exit_raw; /* as told: "0:15", "271", "-11" */
    uint64_t exit_code, exit_signal;
    uint64_t derived_exit_code, derived_exit_signal; /* highest of its steps */
    uint64_t restarts;

    /* --- when --- */
    uint64_t submit_sec, eligible_sec, start_sec, end_sec;
    uint64_t elapsed_sec; /* running; of Slurm without the time suspended */
    uint64_t suspended_sec;
    uint64_t time_limit_sec; /* BJ_UNLIMITED; absent: the partition's */

    /* --- with what --- */
    uint64_t cpus; /* allocated; asked for while pending */
    uint64_t cpus_requested;
    uint64_t nodes; /* allocated; asked for while pending */
    uint64_t tasks;
    struct bj_slice nodelist; /* empty when none was assigned; grammar of its
                                 batch_system: sched/hostlist.h */
    uint64_t mem_requested_bytes; /* of the whole job */
    uint64_t mem_allocated_bytes; /* of the whole job */
    uint64_t gpus;                /* allocated; 0 when the source tells what was
                                     allocated and no GPU is among it */
    struct bj_slice gpu_model;    /* of the first typed GPUs */
    struct bj_slice tres_requested_raw, tres_allocated_raw; /* as told */
    struct bj_tres_list tres_requested, tres_allocated;

    /* --- what it used --- */
    struct bj_sched_usage use; /* over its steps: time, energy and I/O added up,
                              the largest task's memory */

    /* --- what else is told, mostly free text --- */
    uint64_t priority;
    struct bj_slice reservation, constraints, licenses, flags;
    struct bj_slice batch_host; /* first node: runs the batch script */
    struct bj_slice submit_host;
    struct bj_slice work_dir, submit_line, container;
    struct bj_slice comment, admin_comment, system_comment;

    /* --- its parts --- */
    const struct bj_job_step *step; /* steps of them; NULL when 0 */
    unsigned steps;
    unsigned steps_left_out; /* counted in use, but not in step */
};

/* Everything absent, no text. */
void bj_sched_job_init(struct bj_sched_job *job);
void bj_job_step_init(struct bj_job_step *step);
void bj_sched_usage_init(struct bj_sched_usage *use);

/* Room for one more step in an array that has n of them and room for *cap; it
 * may move, and is the caller's to free.  False: there is no memory. */
bool bj_job_step_room(struct bj_job_step **steps, unsigned *cap, unsigned n);

#endif
