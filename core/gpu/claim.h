/* Which accelerators a job says it has, or was given.
 *
 *   devices   cgroup v1, devices.list: what the kernel lets it open
 *   prolog    a file of root's, in the formats of jobstats ("JOBID UID" in
 *             <index>, <index>.<instance>, GPU-<uuid> or MIG-<uuid>) and of
 *             dcgm-exporter's HPC jobs (a job id on each line of <index> or
 *             <index>.<instance>)
 *   environ   SLURM_JOB_GPUS, SLURM_STEP_GPUS, or UUIDs in
 *             CUDA_VISIBLE_DEVICES; the user can put anything there
 *
 * Sources: Slurm sbatch(1), gres.conf(5); kernel cgroup-v1/devices.rst; CUDA
 * C++ Programming Guide, "CUDA Environment Variables". */
#ifndef BJ_CORE_GPU_CLAIM_H
#define BJ_CORE_GPU_CLAIM_H

#include "core/gpu/gpu.h"

enum { BJ_GPU_CLAIM_TEXT = 2048, BJ_GPU_MINORS = 256 };

struct bj_gpu_claim {
    bool environ;                 /* the environment told something */
    bool step;                    /* only that of a step */
    bool by_uuid;                 /* text has UUIDs, else numbers */
    bool shared;                  /* sharing was asked for (shards, MPS) */
    bool devices;                 /* minors is known */
    char text[BJ_GPU_CLAIM_TEXT]; /* comma-separated */
    uint64_t minors[BJ_GPU_MINORS / 64];
};

/* From the environment of a process of a job (NAME=VALUE, each with a NUL).
 * False, and nothing changes, when it is not of that job, or says nothing. */
bool bj_gpu_claim_environ(struct bj_slice env, struct bj_slice system,
                          struct bj_slice jobid, struct bj_gpu_claim *ret);

/* From devices.list.  A list that allows everything tells nothing. */
void bj_gpu_claim_devices(struct bj_slice text, struct bj_gpu_claim *ret);

/* Does the environment, or devices.list, name the device?  Numbers are those of
 * /dev/nvidiaN with by_minor, else the order on the bus.  They do not say which
 * instance of a device that is partitioned is meant. */
bool bj_gpu_claim_names(const struct bj_gpu_claim *c, const struct bj_gpu *g,
                        bool by_minor);
bool bj_gpu_claim_opens(const struct bj_gpu_claim *c, const struct bj_gpu *g);

/* A line of a prolog's file. */
struct bj_gpu_note {
    char name[BJ_GPU_TEXT]; /* of the file */
    char jobid[64];
};

/* Read the files of a directory; at most max notes, how many is returned.
 * -errno when the directory cannot be read (gone codes: there is none).
 * Files that root or we do not own, or that others may write, pass. */
int bj_gpu_notes_read(const char *dir, struct bj_gpu_note *notes, size_t max);

/* Is the file of that name about the device? */
bool bj_gpu_note_is(const char *name, const struct bj_gpu *g, bool by_minor);

#endif
