/* Parser of dcgm-exporter's page: profiling of GPUs before Hopper, if the site
 * runs DCGM anyway.
 *
 * Sources: dcgm-exporter etc/default-counters.csv (names), its metrics page;
 * DCGM dcgm_fields.h (ids, units, values for "none"). */
#ifndef BJ_CORE_GPU_DCGM_H
#define BJ_CORE_GPU_DCGM_H

#include "core/gpu/gpu.h"

/* Parse a page into *out: devices by UUID, MIG instances of a device by the
 * number of the GPU instance.  Unknown lines and lines without a value are
 * skipped. */
void bj_gpu_dcgm_page(struct bj_slice page, struct bj_gpu_set *out);

#endif
