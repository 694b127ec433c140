#include "core/gpu/gpus_impl.h"

const struct bj_gpu_kind *const bj_gpu_kinds[BJ_GPU_KINDS] = {
    &bj_gpu_nvml,   &bj_gpu_amd,  &bj_gpu_intel, /* BJ_GPU_OVER: */
    &bj_gpu_fdinfo, &bj_gpu_dcgm, &bj_gpu_rocm,  &bj_gpu_level_zero};
