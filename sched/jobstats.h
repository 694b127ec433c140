/* The summary that jobstats writes into a Slurm job's AdminComment at the end
 * of the job: "JS1:" and base64 of gzip of JSON, or "JS1:Short" (too short to
 * be sampled) or "JS1:None" (no data).
 *
 * Source: PrincetonUniversity/jobstats, docs/setup/summaries.md, jobstats.py:
 *     {"nodes":{NAME:{"total_memory":B,"used_memory":B,"total_time":CPU s,
 *       "cpus":n,"gpu_total_memory":{INDEX:B},"gpu_used_memory":{INDEX:B},
 *       "gpu_utilization":{INDEX:percent}}},"total_time":s,"gpus":n}
 * The values come from Prometheus: the peak of memory (rss and shared), the
 * total CPU time, the mean utilization of a GPU. */
#ifndef BJ_SCHED_JOBSTATS_H
#define BJ_SCHED_JOBSTATS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

/* Sums over nodes and GPUs; BJ_ABSENT where one of them has no value, so that
 * no sum is partial. */
struct bj_jobstats {
    uint64_t nodes, gpus; /* in the summary */
    uint64_t gpus_known;  /* GPUs with a utilization */
    uint64_t elapsed_sec; /* as reported by jobstats */
    uint64_t cpus;
    uint64_t cpu_usec;
    uint64_t mem_used_bytes; /* peaks of the nodes */
    uint64_t mem_total_bytes;
    uint64_t nodes_unused; /* with less than a second of CPU time */
    uint64_t gpu_busy_ppm; /* mean over the GPUs */
    uint64_t gpu_mem_used_bytes;
};

/* Read a comment.  a is for temporary data; reset it afterwards.
 *   0         *ret is filled
 *   -ENOENT   no summary: another text, "Short", "None", no node
 *   -EINVAL   "JS1:", followed by damaged data
 *   -EFBIG    more than 4 MiB of JSON, or far too many values
 *   -ENOMEM */
int bj_jobstats_read(struct bj_arena *a, struct bj_slice comment,
                     struct bj_jobstats *ret, struct bj_err *err);

#endif
