/* The interface of the collection core for its host. */
#ifndef BJ_CORE_CORE_H
#define BJ_CORE_CORE_H

#include "base/arena.h"
#include "core/conf.h"
#include "core/host.h"
#include "core/model/cluster.h"
#include "core/model/record.h"

#include <stdatomic.h>

/* The result of a pass.  Immutable and shared: each holder of a reference may
 * read it from any thread. */
struct bj_snap {
    atomic_uint refs;
    uint64_t boot_usec, wall_usec; /* the end of the pass */
    struct bj_slice cluster;       /* label value, clean; empty: none */
    struct bj_node node;
    struct bj_self self;
    /* Lists only, up to cluster_lists: each pass begins with empty ones. */
    struct bj_list jobs; /* struct bj_job, in the order of their ids */
    struct bj_list meters, zones, meter_errors;
    struct bj_list factors, providers, provider_errors;
    struct bj_list gpus, gpu_sources, gpu_conflicts;
    struct bj_list gpu_models, gpu_addresses, gpu_parents, gpu_reasons;
    struct bj_cluster_lists cluster_lists; /* memory: owned by its parts */
    struct bj_arena arena;
};

struct bj_core;

/* Check options that depend on each other: 0, or -EINVAL with a message that
 * names them. bj_core_new() does it, too. */
int bj_core_check(const struct bj_conf *conf, struct bj_err *err);

/* Create a core.  conf is not copied and must outlive the core.  A missing
 * cgroup root is not an error: jobs are found when it appears.  Errors: wrong
 * options (-EINVAL), no memory, no threads. */
int bj_core_new(const struct bj_conf *conf, const struct bj_host *host,
                struct bj_core **ret, struct bj_err *err);
void bj_core_free(struct bj_core *core);

/* Run all collectors once and return a snapshot with a reference for the
 * caller.  Fails only without memory (-ENOMEM): errors of sources are in the
 * records of their collectors.  One pass runs at a time: calls from several
 * threads wait for each other.  The first pass logs a line about this node:
 * version, cgroup versions, batch systems of the jobs found, collectors,
 * meters, directory of final records; and what the process may not read.  A
 * failure is logged once, until the next success. */
int bj_core_pass(struct bj_core *core, struct bj_snap **ret,
                 struct bj_err *err);

struct bj_snap *bj_snap_ref(struct bj_snap *s);
void bj_snap_unref(struct bj_snap *s); /* NULL is fine */

#endif
