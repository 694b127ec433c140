/* GPU time of jobs, from the kernel's data about each open file of a DRM device
 * (fdinfo.h): counters per job, device and
 * engine class that do not fall when a process exits.
 *
 * What a process used between the last reading that saw it and its end is not
 * known and not counted.  Source of the rules: kernel gpu/drm-usage-stats.rst.
 */
#ifndef BJ_CORE_GPU_CLIENTS_H
#define BJ_CORE_GPU_CLIENTS_H

#include "core/gpu/fdinfo.h"
#include "core/gpu/gpu.h"

struct bj_gpu_clients;

int bj_gpu_clients_new(struct bj_gpu_clients **ret);
void bj_gpu_clients_free(struct bj_gpu_clients *c); /* NULL is fine */

/* A reading: begin, name every job, take every open file of each, end.  The
 * counters of a job that was not named are forgotten. */
void bj_gpu_clients_begin(struct bj_gpu_clients *c, uint64_t now_usec);
bool bj_gpu_clients_job(struct bj_gpu_clients *c, uint64_t job);
void bj_gpu_clients_end(struct bj_gpu_clients *c);

/* An open file of a process of a job that was named.  0 when it was there
 * before in this reading: processes share files that they have inherited.  1
 * when it is new, 2 when it is but its time is not known yet.  Its engines do
 * not count when counted is false.  -EINVAL when it cannot be identified,
 * -ENOMEM, -E2BIG when there are too many. */
int bj_gpu_clients_take(struct bj_gpu_clients *c, uint64_t job,
                        const struct bj_fdinfo *f, bool counted);

/* The counters, into times of a set. */
void bj_gpu_clients_publish(const struct bj_gpu_clients *c,
                            struct bj_gpu_set *out);

#endif
