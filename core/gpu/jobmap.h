/* Files with the jobs on each GPU for dcgm-exporter (--hpc-job-mapping-dir):
 * one for each GPU or MIG instance in use,
 * named INDEX or INDEX.INSTANCE, a job id on each line.
 *
 * Source: NVIDIA/dcgm-exporter, internal/pkg/transformation/hpc.go (a name is
 * taken when it matches "^\d+(\.\d+)?$"; each line becomes a label hpc_job). */
#ifndef BJ_CORE_GPU_JOBMAP_H
#define BJ_CORE_GPU_JOBMAP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* The files to write: for each "NAME\0CONTENT\0". */
void bj_gpu_jobmap_put(struct bj_buf *map, const char *name,
                       struct bj_slice jobid);

/* Is a job id fit for a line of its own? */
bool bj_gpu_jobmap_fits(struct bj_slice jobid);

/* Write the map into the directory: files that differ are replaced as a whole,
 * files with names of GPUs that the map lacks are removed, other files stay.
 * The directory is made when only itself is missing.  The first fault is
 * returned, after everything else was tried. */
int bj_gpu_jobmap_sync(const char *dir, struct bj_slice map,
                       struct bj_err *err);

#endif
