/* Between the files of the accelerators: gpus.c (devices over time),
 * gpus_jobs.c (claims of jobs), gpus_over.c (sources that
 * add to devices of others), gpus_hold.c (which job holds which device),
 * gpus_energy.c (whose energy it is), gpus_state.c (over a restart),
 * gpus_publish.c (snapshots), gpus_final.c (final records), gpus_map.c
 * (for dcgm-exporter). */
#ifndef BJ_CORE_GPU_GPUS_IMPL_H
#define BJ_CORE_GPU_GPUS_IMPL_H

#include "core/energy/accum.h"
#include "core/gpu/decide.h"
#include "core/gpu/gpus.h"
#include "core/gpu/lookup.h"
#include "core/gpu/places.h"
#include "core/gpu/watch.h"

/* Kinds of sources.  Those from BJ_GPU_OVER on add values to the others. */
enum {
    BJ_GPU_OVER = 3,
    BJ_GPU_KINDS = 7,
    BJ_GPU_DEVS_MAX = 512,
    BJ_GPU_JOBS_MAX = 1024,  /* jobs whose claims are read */
    BJ_GPU_HOLDERS_MAX = 64, /* of one device */
    BJ_GPU_FRESH = 3 /* periods after which values of a source are old */
};

/* A device or an instance, as long as we run. */
struct bj_gpu_dev {
    struct bj_gpu now;      /* of the last reading that had it */
    unsigned kind;          /* number of its source */
    bool there;             /* in the last reading of its source */
    bool fresh;             /* its source answers: its levels count */
    struct bj_accum energy; /* of devices */
    uint64_t errors;
    int parent;           /* number of the device of an instance, or -1 */
    uint64_t stamp_usec;  /* when the last reading that had it began ... */
    uint64_t before_usec; /* ... and the one before; 0: none */
    uint64_t given_uj;    /* of its energy, to its holders ... */
    uint64_t given_usec;  /* ... up to this reading */
    uint64_t idle_uw;     /* the least power seen; BJ_ABSENT */
    struct {
        uint64_t energy_uj, energy_resets; /* BJ_ABSENT */
    } copy[BJ_COPIES];
};

/* A mean over time: the sum of parts of a million by microseconds, and these.
 */
struct bj_gpu_mean {
    uint64_t sum_usec, of_usec;
};

/* What a job's processes have used of an engine class of a device. */
enum { BJ_GPU_ENGINES = 12 };
struct bj_gpu_engine {
    char name[BJ_GPU_ENGINE];
    uint64_t busy_usec;
    uint64_t seen_usec; /* of the processes that were there, last ... */
    bool seen;          /* ... if ever */
};

/* What counts up while a job holds a device. */
struct bj_gpu_sums {
    uint64_t held_usec, idle_usec;
    uint64_t energy_uj;          /* given to it */
    struct bj_gpu_mean busy, sm; /* if reported */
    uint64_t memory_peak_bytes;  /* the most of all readings; BJ_ABSENT */
    unsigned nengines;
    struct bj_gpu_engine engine[BJ_GPU_ENGINES];
};

/* The time on an engine class; NULL: there are too many. */
struct bj_gpu_engine *bj_gpus_engine(struct bj_gpu_sums *s, const char *name);

/* What a job of a process before us had, until the job is seen. */
struct bj_gpu_kept {
    char *key; /* of its account */
    size_t dev;
    unsigned evidence;
    bool estimated;
    struct bj_gpu_sums sums;
};

/* A job, and its claims. */
struct bj_gpu_job {
    uint64_t id; /* never used again */
    struct bj_track *track;
    struct bj_gpu_request *request;
    uint64_t request_usec; /* when its processes are read again */
    unsigned requests;
    bool noted; /* some file of the prolog is about it */
    struct bj_gpu_claim claim;
    struct bj_gpu_request *allot_request; /* to the scheduler */
    uint64_t allot_usec;
    unsigned allot_requests;
    struct bj_gpu_claim allot;
};

/* A job on a device. */
struct bj_gpu_hold {
    struct bj_track *track;
    size_t dev;
    bool now, had; /* in the last reading; in the one before */
    bool was;      /* not in it, but it has a part of what was not given yet */
    uint64_t since_usec; /* now: from when on */
    bool logged;         /* the conflict was */
    unsigned evidence;
    bool estimated;                                      /* its share is */
    bool ever_estimated;                                 /* or was */
    uint64_t share_ppm, memory_bytes, processes, sm_ppm; /* of its processes */
    struct bj_gpu_sums sums, copy[BJ_COPIES];
    uint64_t pending_uj;  /* of its energy, not yet in its account */
    uint64_t traced_usec; /* when that was reported; 0: never */
    uint64_t engine_ppm;  /* of the busiest class in the time before ... */
    bool engines_known;
};

struct bj_gpus {
    uint64_t search_usec; /* when drivers are searched for again */
    uint64_t claims_usec; /* when claims are read again */
    struct bj_buf map;    /* written for dcgm-exporter last, and a NUL */
    bool any;             /* one is there, or may be */
    const struct bj_conf *conf;
    struct bj_host host;
    enum bj_gpu_order order;
    struct bj_gpu_watch *watch[BJ_GPU_KINDS];
    struct bj_gpu_set *set[BJ_GPU_KINDS]; /* NULL: it has never been there */
    struct bj_gpu_watch_stat stat[BJ_GPU_KINDS];
    struct bj_gpu_dev *dev;
    size_t n, cap;
    uint64_t faults;                          /* of all sources, as reported */
    struct bj_gpu_lookup *lookup, *scheduler; /* scheduler: NULL, not queried */
    struct bj_gpu_job **job;
    size_t njobs, job_cap;
    uint64_t job_ids;             /* given so far */
    struct bj_gpu_places *places; /* of these jobs ... */
    uint64_t places_sum;          /* ... when they were set last */
    struct bj_gpu_note *notes;    /* BJ_GPU_NOTES_MAX; NULL until they matter */
    size_t nnotes;
    struct bj_gpu_hold *hold;
    size_t nholds, hold_cap;
    uint64_t conflicts[BJ_GPU_CONFLICTS];
    struct bj_gpu_kept *kept; /* of jobs that have not been seen yet */
    size_t nkept;
    bool allots;    /* numbers of the scheduler are usable */
    unsigned waits; /* readings whose energy waits for answers about jobs */
    bool metered;
    const struct bj_copies *copies;
    uint64_t total_uj; /* of all devices since the start */
};

extern const struct bj_gpu_kind *const bj_gpu_kinds[BJ_GPU_KINDS];

/* The device of that UUID, a new one if need be; NULL: no room.  Pointers to
 * devices hold until then. */
struct bj_gpu_dev *bj_gpus_dev(struct bj_gpus *g, const char *uuid);

/* What a job has of a device, made if need be; NULL: no memory.  Pointers hold
 * until the next call. */
struct bj_gpu_hold *bj_gpus_hold_of(struct bj_gpus *g, struct bj_track *t,
                                    size_t dev);

/* Values of a job on a device: those of the device if no other job is on it,
 * else what its processes use.  BJ_ABSENT: unknown. */
struct bj_gpu_levels {
    uint64_t busy_ppm, sm_ppm, memory_bytes;
};
struct bj_gpu_levels bj_gpus_levels(const struct bj_gpus *g,
                                    const struct bj_gpu_hold *h);

/* The best evidence for a hold: devices, prolog, scheduler, process,
 * environ. */
struct bj_slice bj_gpus_source(unsigned evidence);

/* Take the last reading of a device into an accumulator. */
void bj_gpus_count(const struct bj_gpus *g, const struct bj_gpu_dev *d,
                   struct bj_accum *a);

/* Read the claims of new jobs and the notes of the prolog. */
void bj_gpus_find_claims(struct bj_gpus *g, struct bj_core *core);
void bj_gpus_jobs_free(struct bj_gpus *g);

/* Whether the first result about a job is missing. */
bool bj_gpus_waits(const struct bj_gpus *g);

/* The job on whose cgroup a process is, or NULL. */
struct bj_track *bj_gpus_job_of(const struct bj_gpus *g,
                                const struct bj_core *core, uint32_t pid);

/* Evidence that a job has a device of a set, except its processes. */
unsigned bj_gpus_evidence(const struct bj_gpus *g, const struct bj_gpu_job *j,
                          const struct bj_gpu_set *set, size_t at);

/* Whether that job was given something. */
bool bj_gpus_given(const struct bj_gpus *g, const struct bj_gpu_job *j);

/* Whether the scheduler's answer about it counts, for devices of a set: where
 * some are partitioned its numbers are places among instances. */
bool bj_gpus_allots(const struct bj_gpus *g, const struct bj_gpu_set *set);
bool bj_gpus_allotted(const struct bj_gpus *g, const struct bj_gpu_job *j);

/* A source has new values: which job holds which device, and how long. */
void bj_gpus_hold(struct bj_gpus *g, const struct bj_core *core, unsigned kind);

/* Write dcgm-exporter's job mapping files, if the jobs on devices have changed.
 * gpus_map.c */
void bj_gpus_write_map(struct bj_gpus *g);

/* Give the energy of its devices since the last reading away. */
void bj_gpus_meter(struct bj_gpus *g, unsigned kind);

/* gpus_over.c: sources that add values to devices of other sources.  Search for
 * those that can add to the kinds found (bits); set the jobs; take their
 * values; add them to a set of the others. */
void bj_gpus_over_search(struct bj_gpus *g, unsigned there, uint64_t now_usec);
void bj_gpus_over_set_jobs(struct bj_gpus *g);
void bj_gpus_over_take(struct bj_gpus *g, uint64_t now_usec);
void bj_gpus_over_add(const struct bj_gpus *g, struct bj_gpu_set *set,
                      unsigned kind);

/* Whether all processes of the job, and their engine time, are known. */
bool bj_gpus_traced(const struct bj_gpu_set *set, const struct bj_gpu_job *j);

/* Take the times of a job on the device at that place of a set: what it uses of
 * it is known from them, where its processes let it. */
void bj_gpus_engines(struct bj_gpu_hold *h, const struct bj_gpu_set *set,
                     const struct bj_gpu_job *j, size_t at);

/* Directories of a job: at most max, of BJ_GPU_PATH bytes each.  How many. */
enum { BJ_GPU_PATH = 4096, BJ_GPU_DIRS = 4 };
size_t bj_gpus_dirs(const struct bj_track *t, char (*paths)[BJ_GPU_PATH],
                    size_t max);

/* Whether a hold is of that device, and counts now. */
static inline bool bj_gpus_holds(const struct bj_gpu_hold *h, size_t dev)
{
    return h->now && h->dev == dev;
}

#endif
