/* Parser of the kernel's data about one open file of a DRM device: engine time,
 * memory.  clients.h adds them up over time and processes.
 *
 * Source: kernel gpu/drm-usage-stats.rst. */
#ifndef BJ_CORE_GPU_FDINFO_H
#define BJ_CORE_GPU_FDINFO_H

#include "base/absent.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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

/* --- seen ---*/

/* Remembers which files of processes are DRM devices: checking every file of
 * every process at each reading would cost more than all the rest. */

enum {
    BJ_GPU_SEEN_FILES = 128,
    BJ_GPU_SEEN_YOUNG_USEC = 60000000, /* time for which all its files are read
                                          each time ... */
    BJ_GPU_SEEN_INTERVAL_USEC = 30000000 /* ... then at this interval */
};

/* A process. */
struct bj_gpu_seen {
    struct bj_gpu_seen *next;
    pid_t pid;
    ino_t inode; /* of /proc/PID: changes when the pid is reused */
    uint64_t first_usec, due_usec, reading;
    bool kfd; /* it has /dev/kfd open */
    unsigned n;
    unsigned fd[BJ_GPU_SEEN_FILES];
};

struct bj_gpu_seens;

int bj_gpu_seens_new(struct bj_gpu_seens **ret);
void bj_gpu_seens_free(struct bj_gpu_seens *s); /* NULL is fine */

/* For a reading, call begin, bj_gpu_seens_of for each process, and end, which
 * drops the others. */
void bj_gpu_seens_begin(struct bj_gpu_seens *s, uint64_t now_usec);
void bj_gpu_seens_end(struct bj_gpu_seens *s);

/* The entry of a process; NULL: no memory.  The caller may change it until the
 * end of the reading. */
struct bj_gpu_seen *bj_gpu_seens_of(struct bj_gpu_seens *s, pid_t pid,
                                    ino_t inode);

/* Whether all files of the process are due; sets the next time. */
bool bj_gpu_seens_due(const struct bj_gpu_seens *s, struct bj_gpu_seen *p);

#endif
