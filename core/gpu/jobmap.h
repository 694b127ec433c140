/* Files with the jobs on each GPU for dcgm-exporter (--hpc-job-mapping-dir):
 * one for each GPU or MIG instance in use, named INDEX or INDEX.INSTANCE, with
 * a job id on each line.
 *
 * Source: NVIDIA/dcgm-exporter, internal/pkg/transformation/hpc.go (it reads
 * names that match "^\d+(\.\d+)?$"; each line becomes a label hpc_job). */
#ifndef BJ_CORE_GPU_JOBMAP_H
#define BJ_CORE_GPU_JOBMAP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* Add a job id to a map, which has "NAME\0CONTENT\0" for each file to write. */
void bj_gpu_jobmap_put(struct bj_buf *map, const char *name,
                       struct bj_slice jobid);

/* Can the job id be a line of a file? */
bool bj_gpu_jobmap_fits(struct bj_slice jobid);

/* Write the map into the directory: files that differ are replaced as a whole,
 * files with names of GPUs that the map lacks are removed, other files stay.
 * The directory is created if only its last part is missing.  Returns the first
 * fault, after trying all other files. */
int bj_gpu_jobmap_sync(const char *dir, struct bj_slice map,
                       struct bj_err *err);

#endif
