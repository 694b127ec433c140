/* GPU time of jobs, from the kernel's data about each open file of a DRM device
 * (fdinfo.h): counters per job, device and
 * engine class that do not fall when a process exits.
 *
 * Use of a process between the last reading that included it and its end is
 * unknown and not counted.  Source of the rules: kernel
 * gpu/drm-usage-stats.rst. */
#ifndef BJ_CORE_GPU_CLIENTS_H
#define BJ_CORE_GPU_CLIENTS_H

#include "core/gpu/fdinfo.h"
#include "core/gpu/gpu.h"

struct bj_gpu_clients;

int bj_gpu_clients_new(struct bj_gpu_clients **ret);
void bj_gpu_clients_free(struct bj_gpu_clients *c); /* NULL is fine */

/* For a reading, call begin, then job for every job and take for each of its
 * open files, then end.  Counters of a job without a call are dropped. */
void bj_gpu_clients_begin(struct bj_gpu_clients *c, uint64_t now_usec);
bool bj_gpu_clients_job(struct bj_gpu_clients *c, uint64_t job);
void bj_gpu_clients_end(struct bj_gpu_clients *c);

/* Add an open file of a process of a job.  Returns 0 if it was added before in
 * this reading (processes share inherited files), 1 if it is new, 2 if it is
 * new but its time is not known yet.  If counted is false, its engines are not
 * counted.  -EINVAL: it cannot be identified; -ENOMEM; -E2BIG: too many
 * files. */
int bj_gpu_clients_take(struct bj_gpu_clients *c, uint64_t job,
                        const struct bj_fdinfo *f, bool counted);

/* Copy the counters into the times of a set. */
void bj_gpu_clients_publish(const struct bj_gpu_clients *c,
                            struct bj_gpu_set *out);

#endif
