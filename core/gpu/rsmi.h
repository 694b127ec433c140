/* AMD's ROCm System Management Interface, loaded at run time: our own
 * prototypes and layouts, so that no file of AMD is needed to build.
 *
 * Source: rocm_smi.h of ROCm 5.2.3, with which the unit tests compare if it is
 * installed (librocm-smi-dev); the same in ROCm 6. */
#ifndef BJ_CORE_GPU_RSMI_H
#define BJ_CORE_GPU_RSMI_H

#include <stddef.h>
#include <stdint.h>

/* The values of rsmi_status_t that we use. */
enum {
    BJ_RSMI_OK = 0,
    BJ_RSMI_NOT_SUPPORTED = 2,
    BJ_RSMI_FILE_ERROR = 3, /* not with this kernel */
    BJ_RSMI_PERMISSION = 4,
    BJ_RSMI_INIT_ERROR = 8,
    BJ_RSMI_NOT_IMPLEMENTED = 9,
    BJ_RSMI_NOT_FOUND = 10,
    BJ_RSMI_TOO_SMALL = 11,
    BJ_RSMI_NO_DATA = 14,
    BJ_RSMI_BUSY = 16
};

/* rsmi_gpu_block_t: bits; the last block of ROCm 5.2. */
enum {
    BJ_RSMI_BLOCK_PCIE = 0x20,
    BJ_RSMI_BLOCK_XGMI = 0x80,
    BJ_RSMI_BLOCK_LAST = 0x2000
};

struct bj_rsmi_errors { /* rsmi_error_count_t */
    uint64_t corrected, uncorrected;
};

struct bj_rsmi_process { /* rsmi_process_info_t */
    uint32_t pid, pasid;
    uint64_t vram_bytes, sdma_usec;
    uint32_t occupancy, pad;
};

_Static_assert(sizeof(struct bj_rsmi_errors) == 16, "rsmi_error_count_t");
_Static_assert(sizeof(struct bj_rsmi_process) == 32, "rsmi_process_info_t");
_Static_assert(offsetof(struct bj_rsmi_process, vram_bytes) == 8, "vram");
_Static_assert(offsetof(struct bj_rsmi_process, occupancy) == 24, "occupancy");

/* All calls: our name, symbol, whether it is required, arguments. */
#define BJ_RSMI_CALLS(X)                                                       \
    X(init, rsmi_init, true, (uint64_t))                                       \
    X(shutdown, rsmi_shut_down, true, (void))                                  \
    X(count, rsmi_num_monitor_devices, true, (uint32_t *))                     \
    X(pci, rsmi_dev_pci_id_get, true, (uint32_t, uint64_t *))                  \
    X(energy, rsmi_dev_energy_count_get, false,                                \
      (uint32_t, uint64_t *, float *, uint64_t *))                             \
    X(ecc, rsmi_dev_ecc_count_get, false,                                      \
      (uint32_t, uint64_t, struct bj_rsmi_errors *))                           \
    X(replays, rsmi_dev_pci_replay_counter_get, false, (uint32_t, uint64_t *)) \
    X(processes, rsmi_compute_process_info_get, false,                         \
      (struct bj_rsmi_process *, uint32_t *))                                  \
    X(process_gpus, rsmi_compute_process_gpus_get, false,                      \
      (uint32_t, uint32_t *, uint32_t *))

/* The loaded library.  Missing calls are NULL. */
struct bj_rsmi {
    void *lib;
#define BJ_RSMI_MEMBER(name, symbol, must, args) unsigned(*name) args;
    BJ_RSMI_CALLS(BJ_RSMI_MEMBER)
#undef BJ_RSMI_MEMBER
};

#endif
