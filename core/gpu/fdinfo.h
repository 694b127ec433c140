/* The kernel's data about one open file of a DRM device: engine time,
 * memory.  Reading the text only; over time and processes: clients.h.
 *
 * Source: kernel gpu/drm-usage-stats.rst. */
#ifndef BJ_CORE_GPU_FDINFO_H
#define BJ_CORE_GPU_FDINFO_H

#include "base/absent.h"
#include "base/slice.h"

enum { BJ_FDINFO_ENGINES = 12, BJ_FDINFO_TEXT = 32 };

/* An engine class, under the driver's name for it. */
struct bj_fdinfo_engine {
    char name[BJ_FDINFO_TEXT];
    uint64_t busy_ns;              /* BJ_ABSENT: not reported */
    uint64_t cycles, total_cycles; /* the same as cycles of how many */
    uint64_t capacity;             /* engines of the class; at least 1 */
};

struct bj_fdinfo {
    char pdev[BJ_FDINFO_TEXT];   /* PCI address as in sysfs; "": unknown */
    char client[BJ_FDINFO_TEXT]; /* identifies the open file on the device;
                                    "": unknown */
    uint64_t memory_bytes; /* memory of the device that it has; BJ_ABSENT */
    unsigned n;
    struct bj_fdinfo_engine engine[BJ_FDINFO_ENGINES];
};

/* Read the text of a file in /proc/PID/fdinfo.  False when it is not that of a
 * DRM device with an address.  Lines and engines that are not understood
 * are passed over. */
bool bj_fdinfo_parse(struct bj_slice text, struct bj_fdinfo *ret);

#endif
