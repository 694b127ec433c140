/* The accelerators that a job claims or that were allocated to it.
 *
 *   devices   cgroup v1, devices.list: devices that the kernel lets it open
 *   prolog    a file of root's, in the formats of jobstats ("JOBID UID" in
 *             <index>, <index>.<instance>, GPU-<uuid> or MIG-<uuid>) and of
 *             dcgm-exporter's HPC jobs (a job id on each line of <index> or
 *             <index>.<instance>)
 *   environ   SLURM_JOB_GPUS, SLURM_STEP_GPUS, CUDA_VISIBLE_DEVICES, or UUIDs
 *             in NVIDIA_VISIBLE_DEVICES; the user can set any value
 *
 * Sources: Slurm sbatch(1), gres.conf(5); kernel cgroup-v1/devices.rst; CUDA
 * C++ Programming Guide, "CUDA Environment Variables"; OpenPBS 23.06,
 * src/hooks/cgroups/pbs_cgroups.PY: UUIDs of devices and of MIG instances, and
 * an empty value for a job without GPUs. */
#ifndef BJ_CORE_GPU_CLAIM_H
#define BJ_CORE_GPU_CLAIM_H

#include "core/gpu/gpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BJ_GPU_CLAIM_TEXT = 2048,
    BJ_GPU_MINORS = 256,
    BJ_GPU_RENDER_FIRST = 128, /* of /dev/dri/renderDN */
    BJ_GPU_RENDERS = 64,
    BJ_GPU_CAPS = 64
};

/* A MIG instance by its numbers; ci UINT32_MAX: any. */
struct bj_gpu_cap {
    uint32_t minor, gi, ci;
};

struct bj_gpu_claim {
    bool environ; /* the environment names devices */
    bool step;    /* only the environment of a step names them */
    bool by_uuid; /* text has UUIDs */
    bool cudas;   /* text has numbers of CUDA */
    bool shared;  /* a part of a device was requested (shards, MPS) */
    bool devices; /* minors is known */
    bool failed;  /* the source could not be read */
    char text[BJ_GPU_CLAIM_TEXT];        /* comma-separated */
    uint64_t minors[BJ_GPU_MINORS / 64]; /* of /dev/nvidiaN */
    uint64_t renders;                    /* of render nodes, from 128 on */
    struct bj_gpu_cap cap[BJ_GPU_CAPS];
    unsigned ncaps;
};

/* Read the environment of a process of a job (NAME=VALUE, each with a NUL).
 * False, with *ret unchanged, if it is not of that job or names no
 * accelerator. */
bool bj_gpu_claim_environ(struct bj_slice env, struct bj_slice system,
                          struct bj_slice jobid, struct bj_gpu_claim *ret);

/* Read devices.list: /dev/nvidiaN (major 195), render nodes (226:128 and up),
 * and the capabilities of MIG instances, whose numbers are in files below
 * procfs. A list that allows everything is not evidence; permission to make a
 * node (m) is not permission to open it. Source: kernel cgroup-v1/devices.rst,
 * admin-guide/devices.txt; NVIDIA MIG User Guide, "Device Nodes and
 * Capabilities". */
void bj_gpu_claim_devices(struct bj_slice text, const char *procfs,
                          struct bj_gpu_claim *ret);

/* The meaning of a number. */
enum bj_gpu_order {
    BJ_GPU_BY_BUS,   /* place on the bus */
    BJ_GPU_BY_MINOR, /* N of /dev/nvidiaN */
    BJ_GPU_BY_PLACE, /* place among whole devices and instances */
};

/* The order named "bus", "minor" or "mig"; NULL: "bus". */
enum bj_gpu_order bj_gpu_order_of(const char *name);

/* Does the environment, or devices.list, name the device? If g is an instance,
 * whole is its device, else NULL. Words of the list:
 *
 *   3, 0-3               numbers; an instance is numbered by its place only
 *   0:1                  an instance by the number of its device and its place
 *                        among the instances of that, from 0
 *   GPU-..., MIG-...     UUIDs, or beginnings of them
 *   MIG-GPU-UUID/GI/CI   an instance, before driver 470
 *
 * Source of the last: CUDA C++ Programming Guide, NVIDIA MIG User Guide. */
bool bj_gpu_claim_names(const struct bj_gpu_claim *c, const struct bj_gpu *g,
                        const struct bj_gpu *whole, enum bj_gpu_order order);
bool bj_gpu_claim_opens(const struct bj_gpu_claim *c, const struct bj_gpu *g);

/* A line of a prolog's file. */
struct bj_gpu_note {
    char name[BJ_GPU_TEXT]; /* of the file */
    char jobid[64];
};

/* Read the files of a directory into at most max notes; returns their number.
 * -errno if the directory cannot be read (a code of bj_err_gone(): it does not
 * exist). Files that others than root or this program's user own or can write
 * are skipped. */
int bj_gpu_notes_read(const char *dir, struct bj_gpu_note *notes, size_t max);

/* Is the file of that name about the device? */
bool bj_gpu_note_is(const char *name, const struct bj_gpu *g,
                    enum bj_gpu_order order);

/* --- decide ---*/

/* Decides which job holds an accelerator, by all evidence, and divides shared
 * ones.  Arithmetic only. */

/* Evidence for a job. */
enum {
    BJ_GPU_ENVIRON = 1,  /* its environment */
    BJ_GPU_NOTED = 2,    /* a file of the prolog */
    BJ_GPU_OPENS = 4,    /* the device cgroup lists it, among single devices */
    BJ_GPU_RUNS = 8,     /* a process of it is on the device */
    BJ_GPU_ALLOTTED = 16 /* the scheduler reports that it allocated it */
};

enum bj_gpu_conflict {
    BJ_GPU_AGREED,
    BJ_GPU_DENIED, /* it claims a device that another job verifiably holds */
    BJ_GPU_STRAY,  /* it runs on a device that it was not given */
    BJ_GPU_DOUBLE, /* several jobs, none of which requested sharing */
    BJ_GPU_UNRESOLVED, /* it has a device that no driver lists; not decided
                          here */
    BJ_GPU_CONFLICTS
};
extern const char *const bj_gpu_conflict_names[BJ_GPU_CONFLICTS];

/* A job with evidence. */
struct bj_gpu_candidate {
    size_t job; /* the caller's index */
    unsigned evidence;
    bool shared;       /* it requested a part of a device */
    bool not_allotted; /* its allocation is known, without this device */
    bool barred;       /* the device cgroup excludes it, or the scheduler
                          allocated others */
    /* the result */
    bool holds;
    enum bj_gpu_conflict conflict;
};

/* Decide about one device.  A job whose only evidence is its environment does
 * not get the device if another job verifiably holds it, by the kernel, the
 * prolog or the scheduler.  A job that uses a device that was not allocated to
 * it gets it, and the conflict is counted. */
void bj_gpu_decide(struct bj_gpu_candidate *c, size_t n);

/* Divide total in proportion to n weights; if all are 0, into equal parts.  The
 * parts add up to total; each differs by less than 1 from the exact value.
 * Ties go to the first. */
void bj_gpu_divide(uint64_t total, const uint64_t *weight, size_t n,
                   uint64_t *ret);

#endif
