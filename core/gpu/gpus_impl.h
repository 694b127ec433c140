/* Shared by the files of the accelerators: gpus.c (devices over time,
 * snapshots, final records), gpus_jobs.c (claims of jobs, numbers of devices,
 * files for dcgm-exporter), gpus_hold.c (which job holds which device, its
 * energy, and sources that add values to devices of others), gpus_state.c
 * (state over a restart). */
#ifndef BJ_CORE_GPU_GPUS_IMPL_H
#define BJ_CORE_GPU_GPUS_IMPL_H

#include "core/energy/accum.h"
#include "core/gpu/claim.h"
#include "core/gpu/gpus.h"
#include "core/gpu/health.h"
#include "core/gpu/lookup.h"
#include "core/gpu/places.h"
#include "core/gpu/watch.h"

/* Kinds of sources.  Those from BJ_GPU_OVER on add values to the others. */
enum {
    BJ_GPU_NVIDIA = 0, /* bj_gpu_nvml */
    BJ_GPU_OVER = 3,
    BJ_GPU_KINDS = 7,
    BJ_GPU_DEVS_MAX = 512,
    BJ_GPU_JOBS_MAX = 1024,  /* maximum number of jobs with claims */
    BJ_GPU_HOLDERS_MAX = 64, /* of one device */
    BJ_GPU_FRESH = 3 /* periods after which values of a source are too old */
};

/* What Xid errors say of a device (gpus_health.c). */
struct bj_gpu_health {
    enum bj_gpu_state state;      /* of the last incident, while it counts */
    uint64_t xid, usec, wall_sec; /* of that incident */
    char jobs[160];               /* ids, with commas; empty: none known */
    bool by_process;              /* the kernel named a process of the job */
    uint64_t incidents;           /* above BJ_GPU_APPLICATION */
    uint64_t events;              /* of the driver, taken so far */
    uint64_t since_usec;          /* as of the device */
    uint64_t resets;              /* of its energy counter, as of the device */
    bool watched; /* all errors since the boot, or since a reset, are known */
};

/* The worst error of a device that concerned a job; state BJ_GPU_OK: none. */
struct bj_gpu_fault {
    enum bj_gpu_state state;
    uint64_t xid, wall_sec;
    bool by_process; /* the kernel named a process of the job; else the job held
                        the device */
};

/* A device or an instance, kept while the program runs. */
struct bj_gpu_dev {
    struct bj_gpu now;      /* from the last reading that contained it */
    unsigned kind;          /* number of its source */
    bool present;           /* it is in the last reading of its source */
    bool fresh;             /* its source responds: its levels are valid */
    struct bj_accum energy; /* of devices ... */
    unsigned counter;       /* ... and the source of its counter */
    uint64_t errors;
    struct bj_gpu_health health;
    uint64_t number;      /* of a device: its index as jobs know it; BJ_ABSENT:
                             none.  Kept while it is missing */
    int parent;           /* number of the device of an instance, or -1 */
    uint64_t stamp_usec;  /* begin of the last reading that contained it ... */
    uint64_t before_usec; /* ... and the one before; 0: none */
    uint64_t since_usec;  /* the first reading since it is present */
    uint64_t used_usec;   /* the last reading that had a process on it, or did
                             not report processes; 0: none */
    uint64_t given_uj;    /* its energy given to holders ... */
    uint64_t given_usec;  /* ... up to this reading */
    uint64_t idle_uw;     /* the lowest power of two readings in a row so far;
                             BJ_ABSENT */
    uint64_t level_uw;    /* power of the reading before; BJ_ABSENT */
    struct {
        uint64_t energy_uj, energy_resets; /* BJ_ABSENT */
    } copy[BJ_COPIES];
};

/* A mean over time: sum of values times microseconds, and sum of
 * microseconds. */
struct bj_gpu_mean {
    uint64_t sum_usec, of_usec;
};

/* Time of a job's processes on an engine class of a device. */
enum { BJ_GPU_ENGINES = 12 };
struct bj_gpu_engine {
    char name[BJ_GPU_ENGINE];
    uint64_t busy_usec;
    uint64_t seen_usec; /* total at the last reading ... */
    bool seen;          /* ... if there was one */
};

/* Values that accumulate while a job holds a device. */
struct bj_gpu_sums {
    uint64_t held_usec, idle_usec;
    uint64_t energy_uj;          /* attributed to the job */
    struct bj_gpu_mean busy, sm; /* if reported */
    uint64_t memory_peak_bytes;  /* maximum of all readings; BJ_ABSENT */
    struct bj_gpu_fault fault;
    unsigned conflicts; /* bits of enum bj_gpu_conflict, since it began */
    unsigned nengines;
    struct bj_gpu_engine engine[BJ_GPU_ENGINES];
};

/* The entry of an engine class, added if missing; NULL: too many. */
struct bj_gpu_engine *bj_gpus_engine(struct bj_gpu_sums *s, const char *name);

/* Saved counts of a job, loaded from the state, until the job is found. */
struct bj_gpu_kept {
    char *key; /* of its account */
    size_t dev;
    unsigned evidence;
    bool estimated;
    struct bj_gpu_sums sums;
};

/* The devices that a claim or a file of the prolog names by numbers: resolved
 * once for each source, since numbers change. */
struct bj_gpu_named {
    unsigned kinds; /* bits of the sources whose devices were resolved */
    bool usable;    /* with numbers that mean these devices */
    uint64_t dev[BJ_GPU_DEVS_MAX / 64]; /* bits */
};

/* A file of the prolog, and its devices. */
struct bj_gpu_noted {
    struct bj_gpu_note note;
    struct bj_gpu_named named;
};

/* A job, and its claims. */
struct bj_gpu_job {
    uint64_t id; /* never used again */
    struct bj_track *track;
    struct bj_gpu_request *request;
    uint64_t request_usec; /* when to read its processes again */
    unsigned requests;
    bool noted;      /* a file of the prolog names it */
    uint64_t listed; /* the first list of places with it; 0: none yet */
    struct bj_gpu_claim claim;
    struct bj_gpu_named claim_named, allot_named;
    struct bj_gpu_claim file; /* from the prolog's file of the job */
    struct bj_gpu_named file_named;
    bool unresolved; /* a GPU that it names was not found: logged */
    struct bj_gpu_request *allot_request; /* to the scheduler */
    uint64_t allot_usec;
    unsigned allot_requests;
    struct bj_gpu_claim allot;
};

/* The hold of a job on a device. */
struct bj_gpu_hold {
    struct bj_track *track;
    size_t dev;
    bool now, had; /* held at the last reading; at the one before */
    bool pending;  /* not held now, but has a share of energy not given yet */
    uint64_t since_usec; /* if now: since when */
    bool logged;         /* the conflict was logged */
    unsigned evidence;
    unsigned saved;      /* evidence of an earlier process */
    bool estimated;      /* its share is
                            estimated */
    bool ever_estimated; /* or was estimated
                            before */
    uint64_t share_ppm, memory_bytes, processes, sm_ppm; /* of its processes */
    struct bj_gpu_sums sums, copy[BJ_COPIES];
    uint64_t pending_uj;  /* energy not yet added to its account */
    uint64_t traced_usec; /* time of the last engine data; 0: never */
    uint64_t engine_ppm;  /* use of the busiest class before that time ... */
    bool engines_known;
};

struct bj_gpus {
    uint64_t search_usec; /* when to search for drivers again */
    uint64_t claims_usec; /* when to read claims again */
    struct bj_buf map;    /* last written for dcgm-exporter, and a NUL */
    bool any;             /* a driver exists, or may exist */
    const struct bj_conf *conf;
    struct bj_host host;
    enum bj_gpu_order order;
    struct bj_gpu_watch *watch[BJ_GPU_KINDS];
    struct bj_gpu_set *set[BJ_GPU_KINDS]; /* NULL: never read */
    struct bj_gpu_watch_stat stat[BJ_GPU_KINDS];
    struct bj_gpu_dev *dev;
    size_t n, cap;
    uint64_t faults;                          /* of all sources, as reported */
    struct bj_gpu_lookup *lookup, *scheduler; /* scheduler: NULL, not queried */
    struct bj_gpu_job **job;
    size_t njobs, job_cap;
    uint64_t job_ids;             /* number of ids used so far */
    struct bj_gpu_places *places; /* directories of these jobs ... */
    uint64_t places_sum;          /* ... hash of the jobs when they were last
                                     set */
    /* BJ_GPU_NOTES_MAX of each; NULL until needed */
    struct bj_gpu_noted *notes, *notes_before;
    struct bj_gpu_note *read; /* as read */
    size_t nnotes;
    struct bj_gpu_hold *hold;
    size_t nholds, hold_cap;
    uint64_t conflicts[BJ_GPU_CONFLICTS];
    struct bj_gpu_kept *kept; /* of jobs that were not found yet */
    size_t nkept, kept_cap;
    bool waits;          /* energy waits for claims of jobs: */
    uint64_t waits_usec; /* since this reading; 0: no claim is missing */
    bool metered;
    const struct bj_copies *copies;
    uint64_t total_uj; /* of all devices since the start */
    struct {
        struct bj_gpu_xid_rules rules;
        int log;               /* the kernel's; -1: none */
        bool numbered;         /* a record was read: ... */
        uint64_t sequence;     /* its number */
        uint64_t lost;         /* records that were overwritten before */
        char boot[64];         /* id of this boot; empty: unknown */
        struct bj_buf written; /* gpu.health-file */
        int fault;             /* of its last write */
    } health;
};

/* gpus_health.c: read the rules and open the kernel's log; in a pass, take new
 * errors; the state of a device, BJ_ABSENT: unknown. */
int bj_gpus_health_open(struct bj_gpus *g, struct bj_err *err);
void bj_gpus_health_close(struct bj_gpus *g);
void bj_gpus_health_update(struct bj_gpus *g, const struct bj_core *core);
uint64_t bj_gpus_health(const struct bj_gpu_dev *d);

/* Lines of the state, "gpu-health UUID ..." and "gpu-log ..."; a line of
 * another boot is ignored.  line: behind the UUID, behind the first word. */
void bj_gpus_health_save(const struct bj_gpus *g, struct bj_buf *out);
void bj_gpus_health_load(const struct bj_gpus *g, struct bj_gpu_dev *d,
                         struct bj_slice line);
void bj_gpus_log_load(struct bj_gpus *g, struct bj_slice line);

/* Take the fault if it is worse, or as bad and known from a process. */
void bj_gpus_fault(struct bj_gpu_fault *to, const struct bj_gpu_fault *from);

extern const struct bj_gpu_kind *const bj_gpu_kinds[BJ_GPU_KINDS];

/* The device with that UUID, added if missing; NULL: no room.  Pointers to
 * devices are valid until the next addition. */
struct bj_gpu_dev *bj_gpus_dev(struct bj_gpus *g, const char *uuid);

/* The hold of a job on a device, added if missing; NULL: no memory.  Pointers
 * are valid until the next call. */
struct bj_gpu_hold *bj_gpus_hold_of(struct bj_gpus *g, struct bj_track *t,
                                    size_t dev);

/* Values of a job on a device: those of the device if no other job is on it,
 * else those of the job's processes.  BJ_ABSENT: unknown. */
struct bj_gpu_levels {
    uint64_t busy_ppm, sm_ppm, memory_bytes;
};
struct bj_gpu_levels bj_gpus_levels(const struct bj_gpus *g,
                                    const struct bj_gpu_hold *h);

/* The longest regular time between two readings that passes take: a pass uses
 * the last one of a source, and the sampler may run fewer passes. */
static inline uint64_t bj_gpus_period(const struct bj_conf *conf)
{
    return conf->gpu_usec > conf->energy.period_usec ? conf->gpu_usec
                                                     : conf->energy.period_usec;
}

/* Add the last reading of a device to an accumulator. */
void bj_gpus_count(const struct bj_gpus *g, const struct bj_gpu_dev *d,
                   struct bj_accum *a);

/* Read the claims of new jobs and the notes of the prolog. */
void bj_gpus_find_claims(struct bj_gpus *g, struct bj_core *core);
void bj_gpus_jobs_free(struct bj_gpus *g);

/* Whether the first result about a job is missing. */
bool bj_gpus_waits(const struct bj_gpus *g);

/* The job whose cgroup contains a process, or NULL. */
struct bj_track *bj_gpus_job_of(const struct bj_gpus *g,
                                const struct bj_core *core, uint32_t pid);

/* Evidence that a job has a device, except its processes. */
unsigned bj_gpus_evidence(const struct bj_gpus *g, const struct bj_gpu_job *j,
                          size_t dev);

/* gpus_jobs.c: before a set is taken, number its devices as before, if one
 * has left the driver's list and no new one is there; the same after a state
 * was loaded.  Resolve the numbers of all claims to devices of a source.
 * Whether a set has a device; whether a claim names it. */
void bj_gpus_keep_numbers(struct bj_gpus *g, struct bj_gpu_set *set,
                          unsigned kind);
void bj_gpus_renumber(struct bj_gpus *g);
void bj_gpus_resolve(struct bj_gpus *g, unsigned kind);
bool bj_gpus_lists(const struct bj_gpu_set *set, const char *uuid);
bool bj_gpus_names(const struct bj_gpu_named *named, size_t dev);

/* Whether the GPUs of the job are known from a claim or an allocation. */
bool bj_gpus_known(const struct bj_gpu_job *j);

/* Whether the scheduler's result about a job is known and usable. */
bool bj_gpus_allotted(const struct bj_gpu_job *j);

/* A source has new values: update which job holds which device, and for how
 * long. */
void bj_gpus_update_holds(struct bj_gpus *g, const struct bj_core *core,
                          unsigned kind);

/* Write dcgm-exporter's job mapping files, if the jobs on devices have changed.
 */
void bj_gpus_write_map(struct bj_gpus *g);

/* Attribute the energy of the source's devices since the last reading. */
void bj_gpus_meter(struct bj_gpus *g, unsigned kind);

/* gpus_hold.c: sources that add values to devices of other sources.  Search for
 * sources that can add to the existing kinds (bits); pass the jobs to them;
 * take their values; add the values to a set of another source. */
void bj_gpus_over_search(struct bj_gpus *g, unsigned present,
                         uint64_t now_usec);
void bj_gpus_over_set_jobs(struct bj_gpus *g);

void bj_gpus_over_take(struct bj_gpus *g, uint64_t now_usec);
void bj_gpus_over_add(const struct bj_gpus *g, struct bj_gpu_set *set,
                      unsigned kind);

/* Add the times of a job on the engines of the device at that place of a set.
 * If the times of all its processes are known, they also determine its use of
 * the device. */
void bj_gpus_engines(struct bj_gpu_hold *h, const struct bj_gpu_set *set,
                     const struct bj_gpu_job *j, size_t at);

/* Copy the directories of a job, at most max, of BJ_GPU_PATH bytes each.
 * Returns their number. */
enum { BJ_GPU_PATH = 4096, BJ_GPU_DIRS = 4 };
size_t bj_gpus_dirs(const struct bj_track *t, char (*paths)[BJ_GPU_PATH],
                    size_t max);

/* Whether this is a current hold on that device. */
static inline bool bj_gpus_holds(const struct bj_gpu_hold *h, size_t dev)
{
    return h->now && h->dev == dev;
}

#endif
