/* The inside of a core.  Internal. */
#ifndef BJ_CORE_INTERNAL_H
#define BJ_CORE_INTERNAL_H

#include "base/clock.h"
#include "core/core.h"
#include "core/track.h"

/* What runs in a pass and reports how it fared: the collectors of the options,
 * then two that always run. */
enum { BJ_RUN_FIND = BJ_COLLECTORS, BJ_RUN_IDENT, BJ_RUNS };
extern const char *const bj_run_names[BJ_RUNS];

struct bj_run {
    bool ran, failing;
    uint64_t pass; /* number of the pass it ran in last */
    uint64_t errors, duration_usec, good_usec; /* good: end of the last run
                                                  without fault, boot clock */
};

/* A tree of one hierarchy and the way back from it. */
struct bj_find {
    struct bj_core *core;
    unsigned hier;
    struct bj_tree *tree;
    bool watched; /* looked at in every pass */
};

struct bj_node_state; /* core/collect/node.c */
struct bj_energy;     /* core/energy/energy.h */
struct bj_spool;      /* core/spool.h */
struct bj_sampler;    /* core/sampler.c */
struct bj_emissions;  /* core/emissions.h */
struct bj_cluster;    /* core/cluster/cluster.h */
struct bj_gpus;       /* core/gpu/gpus.h */

struct bj_core {
    const struct bj_conf *conf; /* own_conf */
    struct bj_conf own_conf;    /* the host's, with the defaults applied */
    struct bj_host host;
    pthread_mutex_t lock;
    struct bj_fdpool pool;
    struct bj_layouts *layouts;
    struct bj_hiers hiers;
    struct bj_find find[BJ_HIERS];
    struct bj_cgroup_reader reader;
    struct bj_resolver *resolver;
    struct bj_proctab *proctab;
    struct bj_node_state *node;
    struct bj_energy *energy;       /* NULL: not wanted */
    struct bj_spool *spool;         /* NULL: no final records */
    struct bj_emissions *emissions; /* NULL: not wanted */
    struct bj_cluster *scheduler;   /* NULL: not wanted */
    struct bj_gpus *gpus;           /* NULL: not wanted */
    struct bj_sampler *sampler;     /* NULL: nobody needs one yet */
    uint64_t records, records_lost;
    struct bj_tracks tracks;
    struct bj_ident *unknown; /* of a job that was not identified yet */
    struct bj_run run[BJ_RUNS];
    char cluster[132];
    uint64_t now_usec, wall_usec;   /* of the pass */
    uint64_t find_usec, force_usec; /* when all is looked at, read again */
    uint64_t node_usec;             /* when the node is read again */
    uint64_t own_fds_usec, own_fds; /* when they are counted again; how many */
    uint64_t oom_kills, oom_pass;   /* of the machine, BJ_ABSENT; read when */
    bool refind;                    /* something has gone: look again */
    uint64_t passes, jobs_refused, steps_refused, ident_faults;
    uint64_t self_start_sec; /* of the monitoring process, since 1970 */
    struct bj_snap *last;
};

/* One look for jobs; full reads every directory of every hierarchy.
 * core/look.c */
void bj_core_look(struct bj_core *core, bool full);
void bj_core_look_free(struct bj_core *core);

/* Note how a run went: faults since start of the run, the newest of them.
 * core/run.c */
void bj_core_ran(struct bj_core *core, unsigned run, uint64_t begun_usec,
                 uint64_t faults, const struct bj_err *fault);

/* Look, read and identify; the first part of every pass.  core/pass.c */
void bj_core_read(struct bj_core *core);

/* The controllers that the files of the collectors that run need, as bits of
 * enum bj_controller.  core/pass.c */
unsigned bj_core_controllers(const struct bj_core *core);

/* The sampler: a thread that looks at its own pace, for what must not depend
 * on who scrapes: energy and final records.  It is started when there is
 * something to do for it, and asked again now and then; core/sampler.c.  Want
 * is called with the lock held, free without; false: it hangs at a disk, and
 * what it uses must stay. */
void bj_core_sampler_want(struct bj_core *core);
bool bj_core_sampler_free(struct bj_core *core);

/* core/aside.c, where conf->asides says so.  After a reading: take note of how
 * fast jobs use CPU time.  To the snapshot: what else was asked for; behind the
 * job's processes. */
void bj_core_rates(struct bj_core *core);
void bj_aside_publish(const struct bj_core *core, const struct bj_track *t,
                      struct bj_arena *a, struct bj_job *job);

/* A label value of any text, in the arena.  core/label.c */
struct bj_slice bj_core_clean(struct bj_arena *a, const char *s);

/* The cluster's name: as configured, else as the scheduler says, where it is
 * asked; empty: not known.  In the arena, or the core's.  core/label.c */
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
 * descriptors have to be counted one by one, which may cost a tenth of a pass:
 * that is done when count says so, and remembered in *counted. */
void bj_self_read(struct bj_self *ret, bool count, uint64_t *counted);
uint64_t bj_self_start_sec(void);

#endif
