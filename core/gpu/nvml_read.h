/* Reading NVIDIA's GPUs.  Internal: nvml_read.c (devices and instances),
 * nvml_values.c (their values), nvml_procs.c (processes), nvml_gpm.c
 * (profiling), nvml_events.c (Xid errors), nvml_took.c (errors of calls). */
#ifndef BJ_CORE_GPU_NVML_READ_H
#define BJ_CORE_GPU_NVML_READ_H

#include "core/gpu/gpu.h"
#include "core/gpu/nvml.h"

enum { BJ_NVML_DEVICES = 32, BJ_NVML_INSTANCES = 8 };

/* A device; valid while the library is open. */
struct bj_nvml_dev {
    struct bj_nvml_device *handle; /* NULL: the driver returned none */
    char uuid[BJ_GPU_TEXT], model[BJ_GPU_TEXT], pci[32];
    uint64_t minor, multiprocessors;
    struct bj_gpu_xid *xid; /* NULL: not supported */
    /* Newest sample of a process at a reading, when that was, and the newest
     * sample at the reading before it. */
    unsigned long long seen_usec, seen_before_usec;
    uint64_t seen_at_usec;
    bool gpm_checked, gpm; /* profiling is supported */
};

struct bj_nvml_gpm;

struct bj_nvml_reader {
    struct bj_nvml nv;
    char driver[BJ_GPU_TEXT];
    uint64_t opened_usec;
    unsigned n;
    struct bj_nvml_dev dev[BJ_NVML_DEVICES];
    struct bj_nvml_process *procs; /* reused by all readings */
    unsigned nprocs;
    struct bj_nvml_process_use *uses;
    unsigned nuses;
    struct bj_nvml_events *events;
    struct bj_nvml_gpm *gpm; /* samples */
    struct bj_nvml_gpm_get *get;
    uint64_t reading; /* number of this reading */
};

/* A reading of one device. */
struct bj_nvml_visit {
    struct bj_nvml_reader *r;
    struct bj_nvml_dev *dev;
    struct bj_gpu_set *set;
    struct bj_gpu *gpu;
    struct bj_err *err;
    int worst; /* the latest error; -ENODEV takes precedence */
    bool lost; /* the device returns no values any more */
};

/* Whether a call returned a value.  Records an error of the call. */
bool bj_nvml_succeeded(struct bj_nvml_visit *v, int code, const char *what);

/* Values of the device, or of an instance with its handle. */
void bj_nvml_device_values(struct bj_nvml_visit *v);
void bj_nvml_memory_values(struct bj_nvml_visit *v,
                           struct bj_nvml_device *handle);

/* Processes of the device and its instances, for the GPUs in the set. */
void bj_nvml_processes(struct bj_nvml_visit *v);

/* Xid errors: subscribe, read pending events, unsubscribe.  xids must outlive
 * the reader; NULL: not wanted. */
void bj_nvml_events_open(struct bj_nvml_reader *r, struct bj_gpu_xids *xids);
void bj_nvml_events_take(struct bj_nvml_reader *r);
void bj_nvml_events_close(struct bj_nvml_reader *r);

/* Profiling of the device or instance in v->gpu.  prune frees the samples of
 * devices that were not in this reading; free those of all. */
void bj_nvml_profile(struct bj_nvml_visit *v);
void bj_nvml_gpm_prune(struct bj_nvml_reader *r, bool all);

#endif
