/* Units: a job, step or task as a set of cgroup directories, one in each
 * hierarchy, with its kept descriptors and its values. */
#ifndef BJ_CORE_COLLECT_UNIT_H
#define BJ_CORE_COLLECT_UNIT_H

#include "base/file.h"
#include "core/collect/kv.h"
#include "core/collect/numa.h"
#include "core/conf.h"
#include "core/find/hier.h"
#include "core/model/record.h"

/* Slots of kept descriptors, one for each file that every pass reads, for both
 * cgroup versions, since a job on a hybrid host may have both.  Two files with
 * the same slot are never kept at the same time (keep_basic below).  A slot
 * costs each job up to 4.6 KiB of kernel memory. */
enum bj_kept {
    BJ_KEPT_NONE,          /* opened each time; slot 0 stays unused */
    BJ_KEPT_CPUACCT_USAGE, /* v1 */
    BJ_KEPT_CPUACCT_STAT,
    BJ_KEPT_MEMORY_USAGE,
    BJ_KEPT_MEMORY_MAX_USAGE,
    BJ_KEPT_MEMORY_STAT_V1,
    BJ_KEPT_MEMORY_KMEM,
    BJ_KEPT_CPU_STAT, /* v2 */
    BJ_KEPT_MEMORY_CURRENT,
    BJ_KEPT_MEMORY_PEAK,
    BJ_KEPT_MEMORY_STAT,
    BJ_KEPT_MEMORY_EVENTS,
    BJ_KEPT_MEMORY_SWAP,
    BJ_KEPT_FILES
};

enum { BJ_CPUS_MAX = 8192 };

/* Maximum number of files of a collector. */
enum { BJ_CGFILES_MAX = 64 };

/* Block I/O by device.  The name is text, "sda" or "8:0". */
struct bj_unit_device {
    char name[40];
    uint64_t major, minor;
    uint64_t read_bytes, write_bytes, read_ops, write_ops;
};

/* Huge pages of one size.  v1 has the peak, v2 the hits. */
enum { BJ_PAGE_SIZES = 7 };
struct bj_unit_hugetlb {
    uint64_t used_bytes, peak_bytes, limit_bytes, limit_hits;
};
/* Memory on a device; the name is the kernel's, "drm/0000:03:00.0/vram0". */
struct bj_unit_region {
    char name[96];
    uint64_t used_bytes, limit_bytes;
};
extern const char *const bj_page_sizes[BJ_PAGE_SIZES]; /* "2MB" */

struct bj_unit {
    struct bj_usage use;
    /* For the peak of the memory held (collect/memory.c), kept over a restart
     * (core/peaks.h). */
    struct bj_held_state {
        uint64_t most_bytes;  /* the highest so far */
        uint64_t rest_bytes;  /* charged and not held at the last sample */
        uint64_t seen_bytes;  /* the kernel's peak then */
        bool charged;         /* most_bytes is the kernel's peak at the first
                                 sample */
        uint64_t inode;       /* of the directory; 0: unknown */
        uint64_t saved_bytes; /* most_bytes when it was saved */
    } held;
    /* The peak of memory charged since the kept descriptor of memory.peak last
     * began a new one; which begins_peak says it did. */
    uint64_t peak_since_bytes;
    bool begins_peak;
    uint64_t numa_local; /* NUMA nodes of its CPUs (bj_numa_of_cpus) */
    uint64_t numa_kib, numa_remote_kib; /* sums over the samples */
    uint64_t frozen_cpu_usec; /* its CPU time when steps were last asked */
    uint64_t slow_due_usec;   /* when the slow files are read next */
    uint64_t rare_due_usec;   /* the rare ones */
    /* By collector; bit i: its file i is missing, its file i could not be
     * read. */
    uint64_t missing[BJ_CGROUP_COLLECTORS], failing[BJ_CGROUP_COLLECTORS];
    bool watched;               /* the kernel signals changes of its notified
                                   file */
    uint16_t in_hiers;          /* bit h: it has a directory in hierarchy h */
    int8_t ctl[BJ_CONTROLLERS]; /* hierarchy of each controller; -1: none */
    int dir[BJ_HIERS];
    int kept[BJ_KEPT_FILES];
    char *rel[2]; /* path below a v1 root, below a v2 root */
    struct bj_unit_device *devices;
    uint32_t ndevices;
    struct bj_unit_hugetlb *hugetlb; /* BJ_PAGE_SIZES, or NULL: none read */
    struct bj_unit_region *regions;
    uint32_t nregions;
    uint32_t ncores;       /* of core_usec */
    uint64_t *core_usec;   /* by CPU number; cgroup v1 */
    unsigned char *cpuset; /* bit c: CPU c is in its cpuset; ncores bits */
    char *cpu_list[BJ_CPU_LISTS]; /* "0,1,8"; NULL: not needed, or unknown */
    uint32_t cpus_listed[BJ_CPU_LISTS];
};

struct bj_cgroup_reader;

/* A file of a cgroup and how it is read. */
struct bj_cgfile {
    const char *name;
    uint8_t version; /* BJ_CGROUP_V1 or _V2 */
    uint8_t ctl;     /* enum bj_controller: determines the hierarchy */
    uint8_t keep;    /* enum bj_kept */
    bool rare; /* once a minute, or at the slow interval if that is longer */
    bool by_kernel; /* all cgroups of the hierarchy have it, or none */
    bool slow;  /* changes rarely or is expensive: read at the slow interval */
    bool basic; /* read even when only the basic files are wanted */
    bool job_only; /* not for steps and tasks */
    bool notified; /* its descriptor is kept and the kernel signals its changes:
                      read only after a change; at most one file of a unit */
    bool zero_slow;  /* at the slow interval while its field (off) is 0 */
    bool keep_basic; /* keep is the slot of a file that is not read in basic
                        mode, so this file is kept in basic mode only */
    bool own_peak; /* a write to its kept descriptor begins a new peak for this
                      descriptor alone (Linux 6.12): once a minute */
    bool dmem;     /* only where the root has dmem.capacity */
    bool numa;     /* only with several NUMA nodes */
    bool swap;     /* stays 0 on a machine without swap space */
    size_t off;    /* for the parsers that fill one field */
    uint64_t mul;  /* for the same parsers: the number is multiplied by mul (0:
                      1), or divided by div if that is not 0 */
    uint64_t div;
    /* Parse text into the unit; 0, or -errno if it is malformed. */
    int (*parse)(struct bj_cgroup_reader *rd, struct bj_unit *u,
                 const struct bj_cgfile *f, struct bj_slice text);
};

/* A collector that reads files of cgroups. */
struct bj_cgroup_collector {
    enum bj_collector_id id;
    const struct bj_cgfile *files;
    unsigned nfiles;
};

/* Define a collector with the array of its files. */
#define BJ_CGROUP_COLLECTOR(name, collector_id, array)                         \
    _Static_assert((collector_id) < BJ_CGROUP_COLLECTORS,                      \
                   "a collector of cgroup files stands before the others");    \
    _Static_assert(sizeof(array) / sizeof((array)[0]) <= BJ_CGFILES_MAX,       \
                   "one bit of bj_unit.missing for each file");                \
    const struct bj_cgroup_collector name = {                                  \
        collector_id, array, sizeof(array) / sizeof((array)[0])}

/* Files with a key and a value in each line; the order of their lines is
 * remembered. */
enum bj_kv_file {
    BJ_KV_CPU_STAT,
    BJ_KV_CPUACCT_STAT,
    BJ_KV_MEMORY_STAT,
    BJ_KV_MEMORY_EVENTS,
    BJ_KV_CPU_LOCAL,
    BJ_KV_FILES
};

/* Data for reading, shared by all units of a core. */
struct bj_cgroup_reader {
    const struct bj_conf *conf;
    const struct bj_hiers *hiers;
    struct bj_fdpool *pool;
    unsigned needed;     /* mask of the controllers whose files are read */
    struct bj_numa numa; /* of the machine */
    uint64_t lacks[BJ_CGROUP_COLLECTORS]; /* bit i: the kernel has no file i */
    bool no_own_peak;       /* the kernel is older than Linux 6.12 */
    bool swapless;          /* the machine has no swap space now */
    int watch;              /* epoll of the notified files; -1: none */
    unsigned char *changed; /* bit n: the file of descriptor n has changed since
                               it was read */
    size_t changed_bytes;
    uint64_t tick_usec; /* 1/USER_HZ */
    struct bj_kv_order order[BJ_KV_FILES];
    uint64_t faults;     /* incremented by bj_unit_read */
    struct bj_err fault; /* the newest one */
    char *buf;
    size_t cap;
};

int bj_cgroup_reader_init(struct bj_cgroup_reader *rd,
                          const struct bj_conf *conf,
                          const struct bj_hiers *hiers, struct bj_fdpool *pool);
void bj_cgroup_reader_fini(struct bj_cgroup_reader *rd);
/* Begin a pass: record which notified files have changed since the last one. */
void bj_cgroup_reader_begin(struct bj_cgroup_reader *rd);

void bj_unit_init(struct bj_unit *u);
void bj_unit_fini(struct bj_unit *u, struct bj_fdpool *pool);

/* Add the directory rel of hierarchy h to the unit; opens it if files of that
 * hierarchy are read.  -errno if it does not exist. */
int bj_unit_place(struct bj_unit *u, const struct bj_cgroup_reader *rd,
                  unsigned h, const char *rel);

/* Read the files of a collector that are due.  which is a mask of the values
 * below: the unit is a job, read basic files only, read slow files too, read
 * rare files too, read notified files too (between passes nobody has recorded
 * which of them have changed).  Faults are counted in rd. */
enum {
    BJ_UNIT_JOB = 1,
    BJ_UNIT_BASIC = 2,
    BJ_UNIT_SLOW = 4,
    BJ_UNIT_ALONE = 8,
    BJ_UNIT_RARE = 16
};
/* The time between two readings of rare files, at least. */
enum { BJ_RARE_USEC = 60000000 };
void bj_unit_read(struct bj_unit *u, struct bj_cgroup_reader *rd,
                  const struct bj_cgroup_collector *c, unsigned which);

/* Absolute path of the unit in hierarchy h, or of a file in it. */
int bj_unit_path(const struct bj_unit *u, const struct bj_cgroup_reader *rd,
                 unsigned h, const char *file, char *buf, size_t cap);

/* Remove the directory in hierarchy h, which has gone, from the unit. */
void bj_unit_lose(struct bj_unit *u, const struct bj_cgroup_reader *rd,
                  unsigned h);

/* A parser for several tables: reads a number into the field of the file. */
int bj_parse_number(struct bj_cgroup_reader *rd, struct bj_unit *u,
                    const struct bj_cgfile *f, struct bj_slice text);

/* The same for a peak, which stays when the kernel's falls: any process with
 * permission can reset that. */
int bj_parse_peak(struct bj_cgroup_reader *rd, struct bj_unit *u,
                  const struct bj_cgfile *f, struct bj_slice text);

/* Time for which the cgroup was suspended (collect/freezer.c). */
int bj_parse_frozen(struct bj_cgroup_reader *rd, struct bj_unit *u,
                    const struct bj_cgfile *f, struct bj_slice text);

/* Memory that the cgroup holds on the device with that PCI address, as
 * "0000:03:00.0"; BJ_ABSENT: not known (collect/dmem.c). */
uint64_t bj_dmem_of_device(const struct bj_unit *u, const char *pci);

/* The collectors, each in its own file. */
#define BJ_COLLECTOR_DECLARED(id, name, ...)                                   \
    extern const struct bj_cgroup_collector bj_##name##_collector;
BJ_CGROUP_COLLECTOR_LIST(BJ_COLLECTOR_DECLARED)
#undef BJ_COLLECTOR_DECLARED
/* All of them, in the order in which they run: BJ_CGROUP_COLLECTORS. */
extern const struct bj_cgroup_collector *const bj_cgroup_collectors[];

#endif
