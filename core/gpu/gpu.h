/* Accelerators as their drivers report them: the interface of each kind of
 * source.
 *
 * A driver may hang, so each source is read by its own thread
 * (core/gpu/watch.h), and a pass takes the last values.  Each kind has a
 * file. */
#ifndef BJ_CORE_GPU_GPU_H
#define BJ_CORE_GPU_GPU_H

#include "base/err.h"
#include "core/model/record.h"

#include <stdatomic.h>
#include <stdbool.h>

enum {
    BJ_GPUS_MAX = 160, /* devices and their instances of one source */
    BJ_GPU_PROCS_MAX = 2048,
    BJ_GPU_TIMES_MAX = 2048,
    BJ_GPU_TRACED_MAX = 1024,
    BJ_GPU_XIDS_MAX = 64,
    BJ_GPU_RECENT = 16, /* Xid errors of a device that are kept */
    BJ_GPU_TEXT = 96,
    BJ_GPU_ENGINE = 32
};

/* A device or an instance of one. */
struct bj_gpu {
    char uuid[BJ_GPU_TEXT]; /* never empty, unique on the machine; the PCI
                               address if the device has no UUID */
    char model[BJ_GPU_TEXT];
    char pci[32];    /* "0000:65:00.0", lower case; empty: not known */
    uint64_t index;  /* among the devices; of an instance: of its parent */
    int parent;      /* of an instance: place in the set; -1: a device */
    bool split;      /* a partitioned device: its instances are used instead */
    uint32_t gi, ci; /* of an instance */
    uint64_t render; /* N of /dev/dri/renderDN; BJ_ABSENT */
    uint64_t nth;    /* of an instance: its place among the instances of its
                        device */
    uint64_t place;  /* among usable devices and instances; BJ_ABSENT: a
                        partitioned device */
    uint64_t throttle;      /* mask of bj_gpu_reasons; BJ_ABSENT */
    uint64_t energy_raw_uj; /* counter; BJ_ABSENT: none */
    unsigned counter;       /* the source that added it; 0: the GPU's own */
    uint16_t xid[BJ_GPU_RECENT]; /* as bj_gpu_xid.recent */
    bool failed;                 /* a fault in this reading */
    bool profile_due;            /* its profile needs one more reading */
    struct bj_gpu_use use;       /* without sub, success, errors, energy_uj and
                                    energy_resets */
};

/* A process on a device. */
struct bj_gpu_proc {
    uint32_t gpu; /* place in the set */
    uint32_t pid;
    uint64_t memory_bytes; /* BJ_ABSENT: not reported */
    uint64_t sm_ppm;       /* of the device, since the last reading; absent */
    bool mps;              /* client of an MPS server (NVIDIA) */
};

/* Time that processes of a job have used on an engine class of a device, since
 * the job is read; never falls. */
struct bj_gpu_time {
    uint32_t gpu; /* place in the set */
    uint64_t job; /* its number in the places of env */
    uint64_t busy_usec, capacity;
    char engine[BJ_GPU_ENGINE];
};

/* The result of a reading. */
struct bj_gpu_set {
    /* When the reading began and ended, boot clock.  Counters have at least
     * their values of the beginning. */
    uint64_t begun_usec, stamp_usec;
    size_t n, nprocs, ntimes, ntraced;
    uint64_t faults; /* of this reading */
    char driver[BJ_GPU_TEXT];
    struct bj_gpu v[BJ_GPUS_MAX];
    struct bj_gpu_proc proc[BJ_GPU_PROCS_MAX];
    struct bj_gpu_time time[BJ_GPU_TIMES_MAX];
    uint64_t traced[BJ_GPU_TRACED_MAX]; /* jobs with all their processes in
                                           proc, and their times in time */
    uint64_t traced_usec;               /* time of these data, boot clock */
    uint64_t traced_list; /* number of the list of jobs that was read
                             (places.h); 0: none yet */
};

/* Names of the bits of bj_gpu.throttle. */
enum { BJ_GPU_REASONS = 9 };
extern const char *const bj_gpu_reasons[BJ_GPU_REASONS];

/* Xid errors of devices since the start of the program; kept outside the
 * source, which may be closed because of one. */
struct bj_gpu_xid {
    char uuid[BJ_GPU_TEXT];
    uint64_t count, last;
    uint16_t recent[BJ_GPU_RECENT]; /* error N at N % BJ_GPU_RECENT */
};
struct bj_gpu_xids {
    size_t n;
    struct bj_gpu_xid v[BJ_GPU_XIDS_MAX];
};

struct bj_gpu_places;

/* The environment of a source.  All of it must outlive the source. */
struct bj_gpu_env {
    const char *procfs, *sysfs;
    const char *nvml; /* path of NVIDIA's library; "": the system's, if the
                         driver exists */
    const char *rocm, *level_zero; /* path of AMD's and Intel's library; "": the
                                      system's; "none": not wanted */
    const char *dcgm;              /* URL of dcgm-exporter's page; "": none */
    struct bj_gpu_places *places;  /* of jobs; NULL: none */
    struct bj_gpu_xids *xids;      /* of this source only; NULL: not wanted */
    const atomic_bool *stop;       /* set when the source must end */
};

/* A kind of source.  All functions of a source are called from one thread. */
struct bj_gpu_kind {
    const char *name;
    /* Whether such a source may exist.  Cheap, never blocks. */
    bool (*present)(const struct bj_gpu_env *env);
    /* Open the source: 0 and *ret; -ENODEV: it does not exist; else a fault. */
    int (*open)(const struct bj_gpu_env *env, void **ret, struct bj_err *err);
    /* Fill *out, which bj_gpu_set_clear has emptied.  Returns 0; a fault (other
     * values are in *out nevertheless; *err has the last fault); or -ENODEV:
     * the source must be closed and opened again. */
    int (*read)(void *m, struct bj_gpu_set *out, struct bj_err *err);
    void (*close)(void *m);
};
extern const struct bj_gpu_kind bj_gpu_nvml;              /* nvml_read.c */
extern const struct bj_gpu_kind bj_gpu_amd, bj_gpu_intel; /* drm.c */

/* Kinds that add values to devices of other kinds, matched by UUID or PCI
 * address (core/gpu/gpus_hold.c). */
extern const struct bj_gpu_kind bj_gpu_fdinfo;     /* fdinfo.c */
extern const struct bj_gpu_kind bj_gpu_dcgm;       /* dcgm.c */
extern const struct bj_gpu_kind bj_gpu_rocm;       /* rsmi_read.c */
extern const struct bj_gpu_kind bj_gpu_level_zero; /* ze_read.c */

void bj_gpu_set_clear(struct bj_gpu_set *s);

/* Add a device with absent values; NULL: too many devices. */
struct bj_gpu *bj_gpu_add(struct bj_gpu_set *s);
struct bj_gpu_proc *bj_gpu_add_proc(struct bj_gpu_set *s, uint32_t gpu,
                                    uint32_t pid);

/* The device with that PCI address, added if missing; NULL: too many. */
struct bj_gpu *bj_gpu_get(struct bj_gpu_set *s, const char *pci);

/* Set nth and place of all devices in a set; an instance must follow its
 * device. */
void bj_gpu_set_number(struct bj_gpu_set *s);

/* Copy the used parts of a set. */
void bj_gpu_set_copy(struct bj_gpu_set *to, const struct bj_gpu_set *from);

/* Convert a PCI address, "00000000:65:00.0" or "65:00.0" in upper or lower
 * case, to the form of sysfs, "0000:65:00.0". */
void bj_gpu_pci_text(const char *from, char ret[32]);

#endif
