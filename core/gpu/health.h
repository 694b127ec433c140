/* Health of GPUs: what Xid errors mean, and the lines of the kernel's log that
 * report them. */
#ifndef BJ_CORE_GPU_HEALTH_H
#define BJ_CORE_GPU_HEALTH_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* What a GPU is fit for, the best first. */
enum bj_gpu_state {
    BJ_GPU_OK,
    BJ_GPU_APPLICATION, /* a program made an error; the GPU is fine */
    BJ_GPU_DEGRADED,    /* works, but needs attention */
    BJ_GPU_DRAIN_LATER, /* no further job after the present one */
    BJ_GPU_DRAIN_NOW,   /* results of the present job may be wrong */
    BJ_GPU_RESET,       /* of no use until it is reset */
    BJ_GPU_LOST,        /* does not answer: the node must be rebooted */
    BJ_GPU_STATES
};
extern const char *const bj_gpu_states[BJ_GPU_STATES];

/* The rules for Xid errors: NVIDIA's numbers, changed by a file of the site.
 * Zero-initialise; bj_gpu_xids_load fills it. */
enum { BJ_GPU_XID_MAX = 512 };
struct bj_gpu_xid_rules {
    unsigned char state[BJ_GPU_XID_MAX]; /* enum bj_gpu_state */
    bool known[BJ_GPU_XID_MAX];
};

/* Take the built-in rules, then those of text, a file with lines "XID STATE";
 * "#" begins a comment.  -EINVAL with a message that names the line. */
int bj_gpu_xid_rules_parse(struct bj_slice text, struct bj_gpu_xid_rules *ret,
                           struct bj_err *err);

/* The state that an Xid error means.  Of one that no rule knows: degraded. */
enum bj_gpu_state bj_gpu_xid_state(const struct bj_gpu_xid_rules *rules,
                                   uint64_t xid);

/* The state that a recovery action of NVML means (nvml.h,
 * nvmlDeviceGpuRecoveryAction_t).  Of one that is not known: degraded. */
enum bj_gpu_state bj_gpu_recovery_state(uint64_t action);

/* Add the errors of a block of an AMD GPU, the text of a file BLOCK_err_count
 * (kernel gpu/amdgpu/ras.rst): lines "ue: N" and "ce: N", others are ignored.
 * The sums may be BJ_ABSENT before; both stay as they are if a line is
 * missing. */
void bj_gpu_ras_add(struct bj_slice text, uint64_t *corrected,
                    uint64_t *uncorrected);

/* An Xid error in the kernel's log. */
struct bj_gpu_log_xid {
    char pci[16]; /* "0000:65:00": domain, bus, device; lower case */
    uint32_t xid;
    uint32_t pid; /* of the process, in the kernel's numbers; 0: unknown */
    uint64_t boot_usec; /* when, since the boot */
};

/* Parse a record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg).  False:
 * another line, or one that was not written by the kernel. */
bool bj_gpu_log_parse(struct bj_slice record, struct bj_gpu_log_xid *ret);

/* The number of any record: each has that of the one before plus 1, unless
 * records between were overwritten.  False: it has none. */
bool bj_gpu_log_sequence(struct bj_slice record, uint64_t *ret);

#endif
