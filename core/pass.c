/* A pass: look for jobs, read them, publish a snapshot. */
#include "core/internal.h"

#include "base/text.h"
#include "core/cluster/cluster.h"
#include "core/emissions.h"
#include "core/energy/energy.h"
#include "core/gpu/gpus.h"
#include "core/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

const char *const bj_run_names[BJ_RUNS] = {
    [BJ_COLLECT_CPU] = "cpu",
    [BJ_COLLECT_MEMORY] = "memory",
    [BJ_COLLECT_PIDS] = "pids",
    [BJ_COLLECT_BLOCK] = "block",
    [BJ_COLLECT_PRESSURE] = "pressure",
    [BJ_COLLECT_PERCORE] = "percore",
    [BJ_COLLECT_PROCESS] = "process",
    [BJ_COLLECT_NODE] = "node",
    [BJ_COLLECT_ENERGY] = "energy",
    [BJ_COLLECT_EMISSIONS] = "emissions",
    [BJ_COLLECT_CLUSTER] = "cluster",
    [BJ_COLLECT_GPU] = "gpu",
    [BJ_RUN_FIND] = "find",
    [BJ_RUN_IDENT] = "identity",
};

/* The collectors that read files of the job's cgroups.  first numbers the
 * files over all tables (struct bj_unit.missing). */
static const struct {
    enum bj_collector_id id;
    const struct bj_cgfile *files;
    unsigned first;
} cgroup_collectors[] = {
    {BJ_COLLECT_CPU, bj_cpu_files, 0},
    {BJ_COLLECT_MEMORY, bj_memory_files, 6},
    {BJ_COLLECT_PIDS, bj_pids_files, 18},
    {BJ_COLLECT_BLOCK, bj_block_files, 20},
    {BJ_COLLECT_PRESSURE, bj_pressure_files, 23},
    {BJ_COLLECT_PERCORE, bj_percore_files, 26},
};

static void say(struct bj_core *core, enum bj_log_level level, const char *run,
                const struct bj_err *err)
{
    char text[400], line[480];
    snprintf(line, sizeof(line), "collector %s: %s", run,
             err ? bj_err_text(err, text, sizeof(text)) : "works again");
    core->host.log(core->host.ctx, level, line);
}

void bj_core_ran(struct bj_core *core, unsigned run, uint64_t begun_usec,
                 uint64_t faults, const struct bj_err *fault)
{
    struct bj_run *r = &core->run[run];
    uint64_t now = bj_clock_boot_usec();
    bool more = r->pass == core->passes; /* a second round of one pass */
    bool failing = faults > 0 || (more && r->failing);
    r->ran = true;
    r->pass = core->passes;
    r->duration_usec = now - begun_usec + (more ? r->duration_usec : 0);
    r->errors += faults;
    if (!failing)
        r->good_usec = now;
    /* Told when it begins and when it is over, not at every pass. */
    if (failing != r->failing)
        say(core, failing ? BJ_LOG_WARN : BJ_LOG_INFO, bj_run_names[run],
            failing ? fault : NULL);
    r->failing = failing;
}

/* --- one job ------------------------------------------------------------- */

static unsigned which_files(const struct bj_core *core, const struct bj_unit *u)
{
    return (core->conf->basic ? BJ_UNIT_BASIC : 0u) |
           (core->now_usec >= u->slow_due_usec ? BJ_UNIT_SLOW : 0u);
}

static void read_job(struct bj_track *t, const struct bj_cgfile *files,
                     unsigned first)
{
    struct bj_core *core = t->core;
    bj_unit_read(&t->unit, &core->reader, files, first,
                 which_files(core, &t->unit) | BJ_UNIT_JOB);
    for (struct bj_step *s = t->steps; s; s = s->next)
        if (s->unit)
            bj_unit_read(s->unit, &core->reader, files, first,
                         which_files(core, s->unit));
}

/* Jobs to be read in this round: those that run, and only the new ones when
 * the round is not the first. */
static bool due(const struct bj_track *t, unsigned round)
{
    return bj_track_live(t) && t->unit.there != 0 &&
           (round == 0 || t->read_pass != t->core->passes);
}

static void run_cgroup_collector(struct bj_core *core, size_t i, unsigned round)
{
    uint64_t begun = bj_clock_boot_usec();
    core->reader.faults = 0;
    for (size_t k = 0; k < core->tracks.n; k++)
        if (due(core->tracks.v[k], round))
            read_job(core->tracks.v[k], cgroup_collectors[i].files,
                     cgroup_collectors[i].first);
    if (cgroup_collectors[i].id == BJ_COLLECT_MEMORY)
        for (size_t k = 0; k < core->tracks.n; k++) {
            struct bj_track *t = core->tracks.v[k];
            if (due(t, round))
                bj_track_events(t, core->now_usec >= t->unit.slow_due_usec);
        }
    bj_core_ran(core, cgroup_collectors[i].id, begun, core->reader.faults,
                &core->reader.fault);
}

static void follow_processes(struct bj_track *t)
{
    char path[4096];
    bool v2;
    /* Cores of v1 jobs need no look at their threads. */
    if (!t->proc && bj_track_procs_path(t, path, sizeof(path), &v2) &&
        (v2 || t->core->conf->collect[BJ_COLLECT_PROCESS]))
        t->proc = bj_jobproc_new(t->core->proctab, path, v2);
}

static void run_processes(struct bj_core *core, unsigned round)
{
    uint64_t begun = bj_clock_boot_usec();
    uint64_t before = bj_proctab_faults(core->proctab);
    struct bj_err err = {0};
    if (round == 0)
        bj_proctab_begin(core->proctab, core->now_usec);
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (!due(t, round))
            continue;
        follow_processes(t);
        if (t->proc)
            bj_jobproc_update(core->proctab, t->proc, t->unit.use.cpu_usec,
                              &err);
    }
    bj_core_ran(core, BJ_COLLECT_PROCESS, begun,
                bj_proctab_faults(core->proctab) - before, &err);
}

static void note_read(struct bj_core *core, unsigned round)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (!due(t, round))
            continue;
        t->read_pass = core->passes;
        if (core->now_usec >= t->unit.slow_due_usec)
            t->unit.slow_due_usec = core->now_usec + core->conf->slow_usec;
        for (struct bj_step *s = t->steps; s; s = s->next)
            if (s->unit && core->now_usec >= s->unit->slow_due_usec)
                s->unit->slow_due_usec = core->now_usec + core->conf->slow_usec;
    }
}

/* --- the pass ------------------------------------------------------------ */

static void read_round(struct bj_core *core, unsigned round)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if ((bj_track_live(t) || t->shell) && !t->dying && t->unit.there)
            bj_track_live_on(t);
    }
    for (size_t i = 0;
         i < sizeof(cgroup_collectors) / sizeof(cgroup_collectors[0]); i++)
        if (core->conf->collect[cgroup_collectors[i].id])
            run_cgroup_collector(core, i, round);
    if (core->proctab)
        run_processes(core, round);
    note_read(core, round);
    bj_core_settle(core);
}

/* At the slow pace: on a machine with many CPUs /proc/stat costs more than a
 * dozen jobs. */
static void read_node(struct bj_core *core)
{
    if (core->now_usec < core->node_usec)
        return;
    core->node_usec = core->now_usec + core->conf->slow_usec;
    uint64_t begun = bj_clock_boot_usec();
    struct bj_err err = {0};
    unsigned faults = bj_node_read(core->node, core->now_usec, &err);
    bj_core_ran(core, BJ_COLLECT_NODE, begun, faults, &err);
}

void bj_core_read(struct bj_core *core)
{
    core->passes++;
    core->now_usec = bj_clock_boot_usec();
    core->wall_usec = bj_clock_wall_usec();
    bj_reader_begin(&core->reader);
    bj_core_look(core, false);
    read_round(core, 0);
    /* Something went away meanwhile, and may be back under the same name. */
    if (core->refind) {
        bj_core_look(core, true);
        read_round(core, 1);
    }
    if (core->conf->asides & BJ_ASIDE_RATE)
        bj_core_rates(core);
    bj_core_identify(core);
    if (core->gpus)
        bj_gpus_read(core->gpus, core);
    if (core->node)
        read_node(core);
}

int bj_core_pass(struct bj_core *core, struct bj_snap **ret, struct bj_err *err)
{
    pthread_mutex_lock(&core->lock);
    bj_core_read(core);
    bj_core_sampler_want(core);
    bj_core_forget(core);
    int r = bj_core_publish(core, ret, err);
    pthread_mutex_unlock(&core->lock);
    return r;
}

/* --- birth and death ----------------------------------------------------- */

/* The controllers that any file of a collector that runs needs. */
static unsigned needed(const struct bj_core *core)
{
    unsigned mask = 0;
    for (size_t i = 0;
         i < sizeof(cgroup_collectors) / sizeof(cgroup_collectors[0]); i++)
        for (const struct bj_cgfile *f = cgroup_collectors[i].files;
             core->conf->collect[cgroup_collectors[i].id] && f->name; f++)
            if (f->basic || !core->conf->basic)
                mask |= 1u << f->ctl;
    return mask;
}

static int start_parts(struct bj_core *core, struct bj_err *err)
{
    const struct bj_conf *conf = core->conf;
    int r = bj_layouts_new(conf, &core->layouts, err);
    if (r < 0)
        return r;
    if (bj_reader_init(&core->reader, conf, &core->hiers, &core->pool) < 0)
        return bj_err_set(err, -ENOMEM, "core");
    const struct bj_slice unknown[BJ_ID_FIELDS] = {{0}};
    core->nobody = bj_ident_new(unknown, conf);
    if (!core->nobody)
        return bj_err_set(err, -ENOMEM, "core");
    core->reader.needed = needed(core);
    if (conf->collect[BJ_COLLECT_PROCESS] ||
        conf->collect[BJ_COLLECT_PERCORE]) {
        r = bj_proctab_new(conf, &core->pool, &core->proctab, err);
        if (r < 0)
            return r;
    }
    if (conf->collect[BJ_COLLECT_NODE] &&
        bj_node_new(conf, &core->pool, &core->node) < 0)
        return bj_err_set(err, -ENOMEM, "core");
    if (conf->collect[BJ_COLLECT_ENERGY]) {
        r = bj_energy_new(conf, &core->host, &core->energy, err);
        if (r < 0)
            return r;
    }
    if (conf->collect[BJ_COLLECT_EMISSIONS]) {
        r = bj_emissions_new(conf, &core->host, &core->emissions, err);
        if (r < 0)
            return r;
    }
    if (conf->collect[BJ_COLLECT_GPU]) {
        r = bj_gpus_new(conf, &core->host, &core->gpus, err);
        if (r < 0)
            return r;
    }
    if (conf->collect[BJ_COLLECT_CLUSTER]) {
        r = bj_cluster_new(&conf->scheduler, &core->host, &core->scheduler,
                           err);
        if (r < 0)
            return r;
    }
    if (conf->energy.spool_dir && *conf->energy.spool_dir) {
        r = bj_spool_new(conf->energy.spool_dir, conf->energy.spool_files,
                         conf->energy.spool_bytes, &core->spool, err);
        if (r < 0)
            return r;
    }
    return bj_resolver_new(conf, &core->host, &core->resolver, err);
}

/* Descriptors that may be kept: the process needs some for itself, and what
 * the kernel refuses looks like a fault. */
static uint64_t keepable(uint64_t wanted)
{
    enum { RESERVE = 256 };
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == RLIM_INFINITY)
        return wanted;
    uint64_t most =
        l.rlim_cur > 2 * RESERVE ? l.rlim_cur - RESERVE : l.rlim_cur / 2;
    return wanted < most ? wanted : most;
}

static void take_conf(struct bj_core *core, const struct bj_conf *conf)
{
    core->own_conf = *conf;
    core->conf = &core->own_conf;
    for (int i = 0; conf->disable_defaults && i < BJ_COLLECTORS; i++)
        core->own_conf.collect[i] = conf->collect[i] && conf->collect_set[i];
    core->pool.max = (unsigned)keepable(conf->max_files);
    core->pool.base = (unsigned)conf->fd_base;
    if (conf->cluster)
        bj_text_clean(bj_slice_str(conf->cluster), core->cluster,
                      BJ_LABEL_MAX + 1);
}

int bj_core_new(const struct bj_conf *conf, const struct bj_host *host,
                struct bj_core **ret, struct bj_err *err)
{
    struct bj_core *core = calloc(1, sizeof(*core));
    if (!core)
        return bj_err_set(err, -ENOMEM, "core");
    core->host = *host;
    take_conf(core, conf);
    pthread_mutex_init(&core->lock, NULL);
    core->self_start_sec = bj_self_start_sec();
    int r = start_parts(core, err);
    if (r < 0) {
        bj_core_free(core);
        return r;
    }
    pthread_mutex_lock(&core->lock);
    bj_core_sampler_want(core);
    pthread_mutex_unlock(&core->lock);
    *ret = core;
    return 0;
}

void bj_core_free(struct bj_core *core)
{
    if (!core)
        return;
    if (!bj_core_sampler_free(core))
        return;
    bj_core_look_free(core);
    for (size_t k = 0; k < core->tracks.n; k++)
        bj_track_free(core->tracks.v[k]);
    free(core->tracks.v);
    bj_energy_free(core->energy);
    bj_spool_free(core->spool);
    bj_emissions_free(core->emissions);
    bj_cluster_free(core->scheduler);
    bj_gpus_free(core->gpus);
    bj_resolver_free(core->resolver);
    bj_proctab_free(core->proctab);
    bj_node_free(core->node);
    bj_layouts_free(core->layouts);
    bj_ident_unref(core->nobody);
    bj_reader_fini(&core->reader);
    bj_hiers_free(&core->hiers);
    bj_snap_unref(core->last);
    pthread_mutex_destroy(&core->lock);
    free(core);
}
