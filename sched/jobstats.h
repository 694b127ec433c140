/* The summary that jobstats leaves in a Slurm job's AdminComment when the job
 * has ended: "JS1:" and base64 of gzip of JSON, or "JS1:Short" (too short to
 * have been seen) or "JS1:None" (nothing was found).
 *
 * Source: PrincetonUniversity/jobstats, docs/setup/summaries.md, jobstats.py:
 *     {"nodes":{NAME:{"total_memory":B,"used_memory":B,"total_time":CPU s,
 *       "cpus":n,"gpu_total_memory":{INDEX:B},"gpu_used_memory":{INDEX:B},
 *       "gpu_utilization":{INDEX:percent}}},"total_time":s,"gpus":n}
 * where a value has what Prometheus told: the peak of memory (rss and shared),
 * all CPU time, the mean of a GPU's use. */
#ifndef BJ_SCHED_JOBSTATS_H
#define BJ_SCHED_JOBSTATS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

/* Added up over nodes and GPUs; BJ_ABSENT where one of them does not tell, so
 * that no sum is of a part. */
struct bj_jobstats {
    uint64_t nodes, gpus; /* that are told of */
    uint64_t elapsed_sec; /* as jobstats has it */
    uint64_t cpus;
    uint64_t cpu_usec;
    uint64_t mem_used_bytes; /* peaks of the nodes */
    uint64_t mem_total_bytes;
    uint64_t nodes_unused; /* less than a second of CPU time */
    uint64_t gpu_busy_ppm; /* mean over the GPUs */
    uint64_t gpu_mem_used_bytes;
};

/* Read a comment.  a is for what is needed meanwhile; reset it afterwards.
 *   0         *ret is filled
 *   -ENOENT   nothing of the kind: another text, "Short", "None", no node
 *   -EINVAL   "JS1:", but what follows is damaged
 *   -EFBIG    more than 4 MiB of JSON, or far too many values
 *   -ENOMEM */
int bj_jobstats_read(struct bj_arena *a, struct bj_slice comment,
                     struct bj_jobstats *ret, struct bj_err *err);

#endif
