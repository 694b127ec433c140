/* Parser of the kernel's data about one open file of a DRM device: engine time,
 * memory.  clients.h adds them up over time and processes.
 *
 * Source: kernel gpu/drm-usage-stats.rst. */
#ifndef BJ_CORE_GPU_FDINFO_H
#define BJ_CORE_GPU_FDINFO_H

#include "base/absent.h"
#include "base/slice.h"

enum { BJ_FDINFO_ENGINES = 12, BJ_FDINFO_TEXT = 32 };

/* An engine class, as the driver names it. */
struct bj_fdinfo_engine {
    char name[BJ_FDINFO_TEXT];
    uint64_t busy_ns;              /* BJ_ABSENT: not reported */
    uint64_t cycles, total_cycles; /* the same in cycles, and the possible
                                      cycles */
    uint64_t capacity;             /* engines of the class; at least 1 */
};

struct bj_fdinfo {
    char pdev[BJ_FDINFO_TEXT];   /* PCI address as in sysfs; "": unknown */
    char client[BJ_FDINFO_TEXT]; /* identifies the open file on the device;
                                    "": unknown */
    uint64_t memory_bytes;       /* memory of the device in use; BJ_ABSENT */
    unsigned n;
    struct bj_fdinfo_engine engine[BJ_FDINFO_ENGINES];
};

/* Parse a file of /proc/PID/fdinfo.  False if it is not about a DRM device with
 * an address.  Unknown lines and engines are skipped. */
bool bj_fdinfo_parse(struct bj_slice text, struct bj_fdinfo *ret);

#endif
