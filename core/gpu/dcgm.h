/* The page of dcgm-exporter: profiling of GPUs before Hopper, where the site
 * runs DCGM anyway.  Reading the text only.
 *
 * Sources: dcgm-exporter etc/default-counters.csv (names), its metrics page;
 * DCGM dcgm_fields.h (ids, units, values that stand for none). */
#ifndef BJ_CORE_GPU_DCGM_H
#define BJ_CORE_GPU_DCGM_H

#include "core/gpu/gpu.h"

/* Parse a page into *out: devices by UUID, MIG instances below theirs
 * by the number of the GPU instance.  Lines that are not understood, or whose
 * value is none, are passed over. */
void bj_gpu_dcgm_page(struct bj_slice page, struct bj_gpu_set *out);

#endif
