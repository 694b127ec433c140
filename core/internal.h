/* The inside of a core.  Internal. */
#ifndef BJ_CORE_INTERNAL_H
#define BJ_CORE_INTERNAL_H

#include "base/clock.h"
#include "core/copies.h"
#include "core/core.h"
#include "core/track.h"

/* The parts of a pass that report errors: the collectors of the options, then
 * two that always run.  core/internal.c */
enum { BJ_RUN_FIND = BJ_COLLECTORS, BJ_RUN_IDENT, BJ_RUNS };
extern const char *const bj_run_names[BJ_RUNS];

struct bj_run {
    bool ran, failing;
    uint64_t pass; /* number of the pass it ran in last */
    uint64_t errors, duration_usec, good_usec; /* good: end of the last run
                                                  without a fault, boot clock */
};

/* The tree of one hierarchy, and the core that it belongs to. */
struct bj_hier_scan {
    struct bj_core *core;
    unsigned hier;
    struct bj_tree *tree;
};

struct bj_node_state; /* core/collect/node.c */
struct bj_energy;     /* core/energy/energy.h */
struct bj_spool;      /* core/spool.h */
struct bj_sender;     /* core/sender.h */
struct bj_sampler;    /* core/sampler.c */
struct bj_watcher;    /* core/watches.c */
struct bj_emissions;  /* core/emissions.h */
struct bj_cluster;    /* core/cluster/cluster.h */
struct bj_gpus;       /* core/gpu/gpus.h */
struct bj_peaks;      /* core/peaks.h */

struct bj_core {
    const struct bj_conf *conf; /* own_conf */
    struct bj_conf own_conf;    /* the host's, with the defaults applied */
    struct bj_host host;
    pthread_mutex_t lock;
    struct bj_fdpool pool;
    struct bj_layouts *layouts;
    struct bj_hiers hiers;
    struct bj_err hiers_err; /* of the last search for them; code 0: none */
    struct bj_hier_scan scan[BJ_HIERS];
    struct bj_cgroup_reader reader;
    struct bj_resolver *resolver;
    struct bj_proctab *proctab;
    struct bj_node_state *node;
    struct bj_energy *energy;       /* NULL: disabled */
    struct bj_spool *spool;         /* NULL: no final records */
    struct bj_sender *sender;       /* NULL: they are not sent */
    struct bj_emissions *emissions; /* NULL: disabled */
    struct bj_cluster *scheduler;   /* NULL: disabled */
    struct bj_gpus *gpus;           /* NULL: disabled */
    struct bj_peaks *peaks;         /* NULL: not kept over a restart */
    struct bj_sampler *sampler;     /* NULL: not needed yet */
    struct bj_watcher *watcher;     /* NULL: not needed yet, or not possible */
    struct bj_watches *watches;     /* of the watcher; NULL: none */
    struct bj_copies copies;
    uint64_t records, records_lost;
    uint64_t records_write_success; /* absent: not tried yet */
    struct bj_tracks tracks;
    struct bj_ident *unknown; /* of a job that was not identified yet */
    struct bj_run run[BJ_RUNS];
    char cluster[132];
    uint64_t now_usec, wall_usec;    /* of the pass */
    uint64_t scan_usec, reread_usec; /* when hierarchies are searched again,
                                        when all directories are read again */
    uint64_t node_usec;              /* when the node is read again */
    uint64_t page_usec;  /* when a page was requested last; 0: never */
    uint64_t gap_usec;   /* since the page before that; 0: there was none */
    uint64_t fresh_usec; /* in this pass: values of the slow interval that are
                            older are read again */
    uint64_t own_fds_usec, own_fds; /* when our descriptors are counted again;
                                       their number */
    uint64_t oom_kills;  /* of the machine since its start, or BJ_ABSENT */
    bool oom_read;       /* in this pass */
    uint64_t kills_read; /* those that were read in jobs */
    bool rescan;         /* a directory has gone: scan again */
    bool files_warned;   /* that limit.files is reached */
    uint64_t passes, jobs_refused, steps_refused, ident_faults;
    uint64_t self_start_sec; /* of the monitoring process, since 1970 */
    uint64_t *explained;     /* hashes of paths; NULL: none.  core/explain.c */
    struct bj_snap *last;
    bool introduced; /* the line of the start was logged */
    bool failing;    /* the last pass failed */
};

/* Scan for jobs; full: read every directory, even if it seems unchanged.
 * core/scan.c */
void bj_core_scan(struct bj_core *core, bool full);
void bj_core_scan_free(struct bj_core *core);
/* The directory at this path has changed: the next scan reads it. */
void bj_core_mark_stale(struct bj_core *core, const char *path);

/* Record the result of a run: the number of its faults, and the newest one.
 * core/internal.c */
void bj_core_run_done(struct bj_core *core, unsigned run, uint64_t begun_usec,
                      uint64_t faults, const struct bj_err *fault);

/* Read the inexpensive values of one job between two passes; if last is set,
 * also those of the slow interval.  core/pass.c */
void bj_core_read_job(struct bj_track *t, bool last);

/* Scan, read and identify; the first part of every pass.  page: the values were
 * requested, as for a scrape; if that happens at the slow interval or more
 * rarely, no value of a file is older than a tenth of the time since the last
 * request.  core/pass.c */
void bj_core_read(struct bj_core *core, bool page);

/* Are values of the slow interval due that are read next at due_usec? */
static inline bool bj_core_slow_due(const struct bj_core *core,
                                    uint64_t due_usec)
{
    return core->now_usec + core->conf->slow_usec >=
           due_usec + core->fresh_usec;
}

/* The controllers with files of enabled collectors, as bits of enum
 * bj_controller.  core/pass.c */
unsigned bj_core_controllers(const struct bj_core *core);

/* The sampler: a thread with its own interval, for energy and final records,
 * which must not depend on scrapes.  core/sampler.c */

/* Start the sampler if it is needed; called in every pass, with the lock
 * held. */
void bj_core_sampler_ensure(struct bj_core *core);
/* For pages, as in core/poller.h: run the sampler if its last run is too old,
 * or with force, and wait for it; it runs just before the next page. */
void bj_core_sampler_refresh(struct bj_core *core, bool force);
void bj_core_sampler_expect(struct bj_core *core);
/* With the lock: the number of final records that wait in memory, and the age
 * of the oldest one; absent: none does. */
uint64_t bj_core_sampler_waiting(const struct bj_core *core,
                                 uint64_t *ret_age_usec);
/* Stop the sampler, without the lock.  False: it hangs in a write to a disk, so
 * the data that it uses must stay. */
bool bj_core_sampler_free(struct bj_core *core);

/* Make a label value from any text, in the arena. */
struct bj_slice bj_core_label(struct bj_arena *a, const char *s);

/* The name of the cluster: the configured one, else the scheduler's where the
 * collector "cluster" runs; empty: unknown.  In the arena, or the core's.
 */
struct bj_slice bj_core_cluster(const struct bj_core *core,
                                struct bj_arena *arena);

/* Make the snapshot of this pass.  core/publish.c */
int bj_core_publish(struct bj_core *core, struct bj_snap **ret,
                    struct bj_err *err);

/* core/collect/node.c */
int bj_node_new(const struct bj_conf *conf, struct bj_fdpool *pool,
                struct bj_node_state **ret);
void bj_node_free(struct bj_node_state *n);
/* Read the node; returns faults, the newest in err. */
unsigned bj_node_read(struct bj_node_state *n, uint64_t now_usec,
                      struct bj_err *err);
void bj_node_publish(const struct bj_node_state *n, struct bj_arena *arena,
                     struct bj_node *ret);

/* core/collect/self.c: the monitoring process.  Before Linux 6.2 its
 * descriptors must be counted one by one, which may cost a tenth of a pass:
 * done only if count is set, else the last number in *counted is used. */
void bj_self_read(struct bj_self *ret, bool count, uint64_t *counted);
uint64_t bj_self_start_sec(void);

#endif
