/* NVIDIA's management library, loaded at run time: our own prototypes and
 * layouts, so that no file of NVIDIA is needed to build.
 *
 * Source: nvml.h of CUDA 11 to 13.  Names follow it; nvmlReturn_t and the enums
 * are int, nvmlDevice_t is an opaque pointer. */
#ifndef BJ_CORE_GPU_NVML_H
#define BJ_CORE_GPU_NVML_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* The values of nvmlReturn_t that we use. */
enum {
    BJ_NVML_OK = 0,
    BJ_NVML_UNINITIALIZED = 1,
    BJ_NVML_BAD_ARGUMENT = 2,
    BJ_NVML_NOT_SUPPORTED = 3,
    BJ_NVML_NO_PERMISSION = 4,
    BJ_NVML_NOT_FOUND = 6,
    BJ_NVML_TOO_SMALL = 7,
    BJ_NVML_NO_DRIVER = 9,
    BJ_NVML_TIMEOUT = 10,
    BJ_NVML_NO_FUNCTION = 13,
    BJ_NVML_LOST = 15,
    BJ_NVML_RESET_REQUIRED = 16,
    BJ_NVML_BLOCKED = 17,
    BJ_NVML_MISMATCH = 18,
    BJ_NVML_NO_DATA = 21,
    BJ_NVML_VERSION = 25,    /* unknown version of an argument */
    BJ_NVML_DEPRECATED = 26, /* the call has been withdrawn */
    BJ_NVML_NOT_READY = 27,
    BJ_NVML_NO_GPU = 28,
    BJ_NVML_UNKNOWN = 999
};

struct bj_nvml_device;     /* nvmlDevice_t is a pointer to it */
struct bj_nvml_gpm_sample; /* nvmlGpmSample_t likewise */
struct bj_nvml_events;     /* nvmlEventSet_t likewise */

struct bj_nvml_pci { /* nvmlPciInfo_t */
    char bus_id_legacy[16];
    uint32_t domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct bj_nvml_memory { /* nvmlMemory_t */
    uint64_t total, free, used;
};

struct bj_nvml_memory2 { /* nvmlMemory_v2_t */
    uint32_t version, pad;
    uint64_t total, reserved, free, used;
};
#define BJ_NVML_MEMORY2 0x02000028u

struct bj_nvml_temperature { /* nvmlTemperature_t */
    uint32_t version, sensor;
    int32_t celsius;
};
#define BJ_NVML_TEMPERATURE 0x0100000cu

struct bj_nvml_utilization { /* nvmlUtilization_t, percent */
    uint32_t gpu, memory;
};

struct bj_nvml_process { /* nvmlProcessInfo_t, v2 and v3 */
    uint32_t pid, pad;
    uint64_t used_memory;
    uint32_t gpu_instance, compute_instance;
};

struct bj_nvml_process_use { /* nvmlProcessUtilizationSample_t */
    uint32_t pid, pad;
    uint64_t stamp_usec;
    uint32_t sm, memory, encoder, decoder; /* percent */
};

union bj_nvml_value {
    double d;
    uint32_t u32;
    unsigned long ul;
    uint64_t u64;
    int64_t s64;
    int32_t s32;
    uint16_t u16;
};

struct bj_nvml_field { /* nvmlFieldValue_t */
    uint32_t id, scope;
    int64_t stamp_usec, latency_usec;
    uint32_t type; /* enum below */
    int32_t code;
    union bj_nvml_value value;
};
enum {
    BJ_NVML_DOUBLE,
    BJ_NVML_U32,
    BJ_NVML_ULONG,
    BJ_NVML_U64,
    BJ_NVML_S64,
    BJ_NVML_S32,
    BJ_NVML_U16
};

struct bj_nvml_event { /* nvmlEventData_t */
    struct bj_nvml_device *device;
    uint64_t type, data; /* of an Xid error: its number */
    uint32_t gpu_instance, compute_instance;
};
#define BJ_NVML_XID UINT64_C(8) /* nvmlEventTypeXidCriticalError */

struct bj_nvml_attributes { /* nvmlDeviceAttributes_t */
    uint32_t sms, copy_engines, decoders, encoders, jpegs, ofas;
    uint32_t gpu_slices, compute_slices;
    uint64_t memory_mib;
};

struct bj_nvml_gpm_support { /* nvmlGpmSupport_t */
    uint32_t version, supported;
};

struct bj_nvml_gpm_metric { /* nvmlGpmMetric_t */
    uint32_t id;
    int32_t code;
    double value;
    char *name[3];
};

/* nvmlGpmMetricsGet_t.  The library may write as many metrics as its own
 * header has room for, which has grown from 98 to 333. */
enum { BJ_NVML_GPM_MAX = 333 };
struct bj_nvml_gpm_get {
    uint32_t version, n;
    struct bj_nvml_gpm_sample *older, *newer;
    struct bj_nvml_gpm_metric metric[BJ_NVML_GPM_MAX];
};

#define BJ_NVML_AT(type, member, at)                                           \
    _Static_assert(offsetof(struct type, member) == (at), #type "." #member)
#define BJ_NVML_SIZE(type, n)                                                  \
    _Static_assert(sizeof(struct type) == (n), #type " has another size")
BJ_NVML_SIZE(bj_nvml_pci, 68);
BJ_NVML_AT(bj_nvml_pci, domain, 16);
BJ_NVML_AT(bj_nvml_pci, bus, 20);
BJ_NVML_AT(bj_nvml_pci, device, 24);
BJ_NVML_AT(bj_nvml_pci, device_id, 28);
BJ_NVML_AT(bj_nvml_pci, subsystem_id, 32);
BJ_NVML_AT(bj_nvml_pci, bus_id, 36);
BJ_NVML_SIZE(bj_nvml_memory, 24);
BJ_NVML_AT(bj_nvml_memory, free, 8);
BJ_NVML_AT(bj_nvml_memory, used, 16);
BJ_NVML_SIZE(bj_nvml_memory2, 40);
BJ_NVML_AT(bj_nvml_memory2, total, 8);
BJ_NVML_AT(bj_nvml_memory2, reserved, 16);
BJ_NVML_AT(bj_nvml_memory2, free, 24);
BJ_NVML_AT(bj_nvml_memory2, used, 32);
BJ_NVML_SIZE(bj_nvml_temperature, 12);
BJ_NVML_AT(bj_nvml_temperature, celsius, 8);
BJ_NVML_SIZE(bj_nvml_utilization, 8);
BJ_NVML_SIZE(bj_nvml_process, 24);
BJ_NVML_AT(bj_nvml_process, used_memory, 8);
BJ_NVML_AT(bj_nvml_process, gpu_instance, 16);
BJ_NVML_AT(bj_nvml_process, compute_instance, 20);
BJ_NVML_SIZE(bj_nvml_process_use, 32);
BJ_NVML_AT(bj_nvml_process_use, stamp_usec, 8);
BJ_NVML_AT(bj_nvml_process_use, sm, 16);
BJ_NVML_AT(bj_nvml_process_use, decoder, 28);
BJ_NVML_SIZE(bj_nvml_field, 40);
BJ_NVML_AT(bj_nvml_field, scope, 4);
BJ_NVML_AT(bj_nvml_field, stamp_usec, 8);
BJ_NVML_AT(bj_nvml_field, latency_usec, 16);
BJ_NVML_AT(bj_nvml_field, type, 24);
BJ_NVML_AT(bj_nvml_field, code, 28);
BJ_NVML_AT(bj_nvml_field, value, 32);
BJ_NVML_SIZE(bj_nvml_event, 32);
BJ_NVML_AT(bj_nvml_event, type, 8);
BJ_NVML_AT(bj_nvml_event, data, 16);
BJ_NVML_AT(bj_nvml_event, gpu_instance, 24);
BJ_NVML_SIZE(bj_nvml_attributes, 40);
BJ_NVML_AT(bj_nvml_attributes, gpu_slices, 24);
BJ_NVML_AT(bj_nvml_attributes, compute_slices, 28);
BJ_NVML_AT(bj_nvml_attributes, memory_mib, 32);
BJ_NVML_SIZE(bj_nvml_gpm_support, 8);
BJ_NVML_SIZE(bj_nvml_gpm_metric, 40);
BJ_NVML_AT(bj_nvml_gpm_metric, code, 4);
BJ_NVML_AT(bj_nvml_gpm_metric, value, 8);
BJ_NVML_AT(bj_nvml_gpm_metric, name, 16);
BJ_NVML_AT(bj_nvml_gpm_get, n, 4);
BJ_NVML_AT(bj_nvml_gpm_get, older, 8);
BJ_NVML_AT(bj_nvml_gpm_get, newer, 16);
BJ_NVML_AT(bj_nvml_gpm_get, metric, 24);
BJ_NVML_SIZE(bj_nvml_gpm_get, 13344);

/* All calls: our name, arguments.  Their symbols are in nvml.c. */
#define BJ_NVML_DEV struct bj_nvml_device *
#define BJ_NVML_CALLS(X)                                                       \
    X(init, (void))                                                            \
    X(shutdown, (void))                                                        \
    X(count, (unsigned *))                                                     \
    X(by_index, (unsigned, BJ_NVML_DEV *))                                     \
    X(driver, (char *, unsigned))                                              \
    X(uuid, (BJ_NVML_DEV, char *, unsigned))                                   \
    X(name, (BJ_NVML_DEV, char *, unsigned))                                   \
    X(minor, (BJ_NVML_DEV, unsigned *))                                        \
    X(pci, (BJ_NVML_DEV, struct bj_nvml_pci *))                                \
    X(memory, (BJ_NVML_DEV, struct bj_nvml_memory *))                          \
    X(memory2, (BJ_NVML_DEV, struct bj_nvml_memory2 *))                        \
    X(utilization, (BJ_NVML_DEV, struct bj_nvml_utilization *))                \
    X(power, (BJ_NVML_DEV, unsigned *))                                        \
    X(power_limit, (BJ_NVML_DEV, unsigned *))                                  \
    X(energy, (BJ_NVML_DEV, unsigned long long *))                             \
    X(temperature, (BJ_NVML_DEV, int, unsigned *))                             \
    X(temperature_v, (BJ_NVML_DEV, struct bj_nvml_temperature *))              \
    X(clock, (BJ_NVML_DEV, int, unsigned *))                                   \
    X(fan, (BJ_NVML_DEV, unsigned *))                                          \
    X(cores, (BJ_NVML_DEV, unsigned *))                                        \
    X(capability, (BJ_NVML_DEV, int *, int *))                                 \
    X(event_types, (BJ_NVML_DEV, unsigned long long *))                        \
    X(event_set, (struct bj_nvml_events **))                                   \
    X(event_register,                                                          \
      (BJ_NVML_DEV, unsigned long long, struct bj_nvml_events *))              \
    X(event_wait, (struct bj_nvml_events *, struct bj_nvml_event *, unsigned)) \
    X(event_free, (struct bj_nvml_events *))                                   \
    X(ecc, (BJ_NVML_DEV, int, int, unsigned long long *))                      \
    X(remapped, (BJ_NVML_DEV, unsigned *, unsigned *, unsigned *, unsigned *)) \
    X(throttle, (BJ_NVML_DEV, unsigned long long *))                           \
    X(compute, (BJ_NVML_DEV, unsigned *, struct bj_nvml_process *))            \
    X(graphics, (BJ_NVML_DEV, unsigned *, struct bj_nvml_process *))           \
    X(mps, (BJ_NVML_DEV, unsigned *, struct bj_nvml_process *))                \
    X(process_use, (BJ_NVML_DEV, struct bj_nvml_process_use *, unsigned *,     \
                    unsigned long long))                                       \
    X(fields, (BJ_NVML_DEV, int, struct bj_nvml_field *))                      \
    X(mig_mode, (BJ_NVML_DEV, unsigned *, unsigned *))                         \
    X(mig_max, (BJ_NVML_DEV, unsigned *))                                      \
    X(mig_by_index, (BJ_NVML_DEV, unsigned, BJ_NVML_DEV *))                    \
    X(gpu_instance, (BJ_NVML_DEV, unsigned *))                                 \
    X(compute_instance, (BJ_NVML_DEV, unsigned *))                             \
    X(attributes, (BJ_NVML_DEV, struct bj_nvml_attributes *))                  \
    X(gpm_support, (BJ_NVML_DEV, struct bj_nvml_gpm_support *))                \
    X(gpm_alloc, (struct bj_nvml_gpm_sample **))                               \
    X(gpm_free, (struct bj_nvml_gpm_sample *))                                 \
    X(gpm_sample, (BJ_NVML_DEV, struct bj_nvml_gpm_sample *))                  \
    X(gpm_mig_sample, (BJ_NVML_DEV, unsigned, struct bj_nvml_gpm_sample *))    \
    X(gpm_metrics, (struct bj_nvml_gpm_get *))

/* The loaded library.  Missing calls are NULL. */
struct bj_nvml {
    void *lib;
#define BJ_NVML_MEMBER(name, args) int(*name) args;
    BJ_NVML_CALLS(BJ_NVML_MEMBER)
#undef BJ_NVML_MEMBER
};

/* Load the library, path NULL or "": the system's, and initialise it.  -ENODEV:
 * no library, no driver or no GPU; else a fault with a message.  May block in
 * the driver. */
int bj_nvml_open(struct bj_nvml *nv, const char *path, struct bj_err *err);
void bj_nvml_close(struct bj_nvml *nv);

/* Convert a return code to 0; -ENODATA: this device or driver lacks the value,
 * which is not a fault; -ENODEV: the library must be opened again; -ENXIO: this
 * GPU is lost; else a fault. */
int bj_nvml_errno(int code);

/* A return code as text. */
const char *bj_nvml_text(int code);

#endif
