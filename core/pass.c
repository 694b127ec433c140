#include "core/find/layout.h"
#include "core/gpu/gpus.h"
#include "core/internal.h"
#include "core/peaks.h"

#include <stdlib.h>
#include <unistd.h>

/* The first part of a pass: find jobs, read and identify them. */

/* --- one job ------------------------------------------------------------- */

static unsigned which_files(const struct bj_core *core, const struct bj_unit *u)
{
    return (core->conf->basic ? BJ_UNIT_BASIC : 0u) |
           (bj_core_slow_due(core, u->slow_due_usec) ? BJ_UNIT_SLOW : 0u) |
           (bj_core_slow_due(core, u->rare_due_usec) ? BJ_UNIT_RARE : 0u);
}

static void read_unit(struct bj_core *core, struct bj_unit *u,
                      const struct bj_cgroup_collector *c, unsigned which)
{
    if (c == &bj_memory_collector)
        bj_peaks_resume(core->peaks, &core->reader, u);
    bj_unit_read(u, &core->reader, c, which);
}

static void pass_read_job(struct bj_track *t,
                          const struct bj_cgroup_collector *c)
{
    struct bj_core *core = t->core;
    read_unit(core, &t->unit, c, which_files(core, &t->unit) | BJ_UNIT_JOB);
    for (struct bj_step *s = t->steps.first; s; s = s->next)
        if (s->unit)
            read_unit(core, s->unit, c, which_files(core, s->unit));
}

/* After its memory was read. */
static void read_events(struct bj_track *t, bool slow)
{
    if (!bj_events_summed(t)) {
        bj_events_note(t, slow);
    } else if (bj_events_due(t, slow)) {
        bj_steps_scan(t);
        bj_events_read(t, slow);
    }
}

/* Whether a job is read in this round: running jobs in the first, only new jobs
 * in later ones. */
static bool due(const struct bj_track *t, unsigned round)
{
    return bj_track_live(t) && !t->life.outer && t->unit.in_hiers != 0 &&
           (round == 0 || t->life.read_pass != t->core->passes);
}

/* A job of v1 that never had a directory of cpuacct, although its directories
 * have had time to appear: Slurm makes none with jobacct_gather/linux.  When a
 * job ends, its directories disappear in turn. */
static void check_cpuacct(struct bj_core *core)
{
    const struct bj_track *without = NULL;
    for (size_t k = 0; k < core->tracks.n && !without; k++) {
        const struct bj_track *t = core->tracks.v[k];
        if (due(t, 0) && t->unit.ctl[BJ_CTL_CPUACCT] < 0 &&
            t->unit.use.cpu_usec == BJ_ABSENT &&
            t->life.place_usec == UINT64_MAX)
            without = t;
    }
    if (!without)
        return;
    core->reader.faults++;
    bj_err_set(&core->reader.fault, -ENOENT,
               "job %.100s has no cgroup of cpuacct, so its CPU time is "
               "unknown (Slurm needs JobAcctGatherType=jobacct_gather/cgroup)",
               without->id);
}

/* Files of v1 that a kernel may lack since Linux 6.12: the hierarchy of the
 * controller can be mounted nevertheless. */
static const struct v1_file {
    enum bj_collector_id id;
    enum bj_controller ctl;
    const char *file, *controller, *option;
} v1_files[] = {{BJ_COLLECT_MEMORY, BJ_CTL_MEMORY, "memory.usage_in_bytes",
                 "memory", "CONFIG_MEMCG_V1"},
                {BJ_COLLECT_CPU, BJ_CTL_CPUSET, "cpuset.cpus", "cpuset",
                 "CONFIG_CPUSETS_V1"}};

/* Does a file of the job exist? */
static bool has_file(const struct bj_track *t, unsigned h, const char *name)
{
    char path[4096];
    return bj_unit_path(&t->unit, &t->core->reader, h, name, path,
                        sizeof(path)) == 0 &&
           access(path, F_OK) == 0;
}

/* Look at the jobs of a hierarchy until one has the file. */
static void check_v1_file(struct bj_core *core, const struct v1_file *f)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        const struct bj_track *t = core->tracks.v[k];
        const int h = t->unit.ctl[f->ctl];
        if (!due(t, 0) || h < 0 || core->hiers.v[h].version != BJ_CGROUP_V1)
            continue;
        if (core->hiers.v[h].has_files & 1u << f->ctl)
            return;
        if (has_file(t, (unsigned)h, f->file)) {
            core->hiers.v[h].has_files |= 1u << f->ctl;
        } else if (has_file(t, (unsigned)h, "cgroup.procs")) {
            core->reader.faults++;
            bj_err_set(&core->reader.fault, -ENOENT,
                       "the hierarchy %.200s has no files of its controller "
                       "%s: a kernel without %s has them in cgroup v2 only",
                       core->hiers.v[h].path, f->controller, f->option);
            return;
        }
    }
}

static void run_cgroup_collector(struct bj_core *core,
                                 const struct bj_cgroup_collector *c,
                                 unsigned round)
{
    uint64_t begun = bj_clock_boot_usec();
    core->reader.faults = 0;
    for (size_t k = 0; k < core->tracks.n; k++)
        if (due(core->tracks.v[k], round))
            pass_read_job(core->tracks.v[k], c);
    if (c->id == BJ_COLLECT_CPU && round == 0)
        check_cpuacct(core);
    for (size_t i = 0; round == 0 && i < sizeof(v1_files) / sizeof(v1_files[0]);
         i++)
        if (v1_files[i].id == c->id)
            check_v1_file(core, &v1_files[i]);
    for (size_t k = 0; c->id == BJ_COLLECT_MEMORY && k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (due(t, round))
            read_events(t, bj_core_slow_due(core, t->unit.slow_due_usec));
    }
    bj_core_run_done(core, c->id, begun, core->reader.faults,
                     &core->reader.fault);
}

static void follow_processes(struct bj_track *t)
{
    char path[4096];
    bool v2;
    /* Cores of v1 jobs do not need their threads. */
    if (!t->proc && bj_track_procs_path(t, path, sizeof(path), &v2) &&
        (v2 || t->core->conf->collect[BJ_COLLECT_PROCESS]))
        t->proc = bj_jobproc_new(t->core->proctab, path, v2);
}

static void run_processes(struct bj_core *core, unsigned round)
{
    uint64_t begun = bj_clock_boot_usec();
    uint64_t before = bj_proctab_faults(core->proctab);
    struct bj_err err = {0};
    size_t n = 0;
    struct bj_procjob *jobs = calloc(core->tracks.n + 1, sizeof(*jobs));
    if (round == 0)
        bj_proctab_begin(core->proctab, core->now_usec,
                         core->fresh_usec < core->conf->slow_usec
                             ? core->fresh_usec
                             : UINT64_MAX);
    for (size_t k = 0; jobs && k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (!due(t, round))
            continue;
        follow_processes(t);
        if (t->proc)
            jobs[n++] = (struct bj_procjob){t->proc, t->unit.use.cpu_usec};
    }
    if (jobs)
        bj_proctab_update(core->proctab, jobs, n, &err);
    free(jobs);
    bj_core_run_done(core, BJ_COLLECT_PROCESS, begun,
                     bj_proctab_faults(core->proctab) - before, &err);
}

static void unit_note_read(const struct bj_core *core, struct bj_unit *u)
{
    const uint64_t slow = core->conf->slow_usec;
    if (bj_core_slow_due(core, u->slow_due_usec))
        u->slow_due_usec = core->now_usec + slow;
    if (bj_core_slow_due(core, u->rare_due_usec))
        u->rare_due_usec =
            core->now_usec + (slow > BJ_RARE_USEC ? slow : BJ_RARE_USEC);
}

static void note_read(struct bj_core *core, unsigned round)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (!due(t, round))
            continue;
        t->life.read_pass = core->passes;
        unit_note_read(core, &t->unit);
        for (struct bj_step *s = t->steps.first; s; s = s->next)
            if (s->unit)
                unit_note_read(core, s->unit);
    }
}

void bj_core_read_job(struct bj_track *t, bool last)
{
    struct bj_core *core = t->core;
    /* The collectors whose values are in final records (core/final.c). */
    const struct bj_cgroup_collector *const recorded[] = {
        &bj_cpu_collector, &bj_memory_collector, &bj_pids_collector,
        &bj_block_collector};
    bool first = t->unit.slow_due_usec == 0;
    unsigned which = BJ_UNIT_JOB | BJ_UNIT_ALONE |
                     (core->conf->basic ? BJ_UNIT_BASIC : 0u) |
                     (first || last ? BJ_UNIT_SLOW | BJ_UNIT_RARE : 0u);
    for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++)
        if (core->conf->collect[recorded[i]->id])
            read_unit(core, &t->unit, recorded[i], which);
    /* A step may be gone a moment after an OOM kill in it. */
    if (core->conf->collect[BJ_COLLECT_MEMORY] &&
        (last || !bj_events_summed(t) || bj_events_killed(t)))
        read_events(t, true);
}

/* --- the pass ------------------------------------------------------------ */

/* Update the rates at which jobs use CPU time. */
static void core_note_rates(struct bj_core *core)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (t->life.read_pass == core->passes)
            bj_rate_note(&t->rate, core->now_usec,
                         t->unit.use.unread_files != BJ_ABSENT
                             ? BJ_ABSENT
                             : t->unit.use.cpu_usec);
    }
}

static void read_round(struct bj_core *core, unsigned round)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if ((bj_track_live(t) || t->life.emptied) && !t->life.lost &&
            !t->life.outer && t->unit.in_hiers)
            bj_life_update(t);
    }
    for (unsigned i = 0; i < BJ_CGROUP_COLLECTORS; i++)
        if (core->conf->collect[bj_cgroup_collectors[i]->id])
            run_cgroup_collector(core, bj_cgroup_collectors[i], round);
    if (core->proctab)
        run_processes(core, round);
    note_read(core, round);
    bj_core_end_jobs(core);
    bj_events_settle(core);
}

/* At the slow interval: on a machine with many CPUs /proc/stat costs more than
 * a dozen jobs. */
static void read_node(struct bj_core *core)
{
    if (!bj_core_slow_due(core, core->node_usec))
        return;
    core->node_usec = core->now_usec + core->conf->slow_usec;
    uint64_t begun = bj_clock_boot_usec();
    struct bj_err err = {0};
    unsigned faults = bj_node_read(core->node, core->now_usec, &err);
    bj_core_run_done(core, BJ_COLLECT_NODE, begun, faults, &err);
}

/* Pages that are requested at the slow interval come a little early or late,
 * and the sampler may have read the values in between: a rate over them would
 * be too low, and the next one too high.  Where pages come faster, values of
 * the slow interval repeat. */
static void note_page(struct bj_core *core, bool page)
{
    const uint64_t slow = core->conf->slow_usec;
    const uint64_t gap = core->gap_usec;
    core->fresh_usec = slow;
    if (page && gap >= slow - slow / 10 && gap / 10 < slow)
        core->fresh_usec = gap / 10;
}

void bj_core_read(struct bj_core *core, bool page)
{
    core->passes++;
    core->oom_read = false;
    core->now_usec = bj_clock_boot_usec();
    note_page(core, page);
    core->wall_usec = bj_clock_wall_usec();
    bj_cgroup_reader_begin(&core->reader);
    bj_core_scan(core, false);
    read_round(core, 0);
    /* A directory was removed during the pass, and may exist again under
     * the same name. */
    if (core->rescan) {
        bj_core_scan(core, true);
        read_round(core, 1);
    }
    if (core->conf->extras & BJ_EXTRA_RATE)
        core_note_rates(core);
    bj_core_identify(core);
    if (core->gpus)
        bj_gpus_read(core->gpus, core);
    if (core->node)
        read_node(core);
    bj_peaks_note(core);
}

unsigned bj_core_controllers(const struct bj_core *core)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < BJ_CGROUP_COLLECTORS; i++) {
        const struct bj_cgroup_collector *c = bj_cgroup_collectors[i];
        for (unsigned k = 0; core->conf->collect[c->id] && k < c->nfiles; k++)
            if (c->files[k].basic || !core->conf->basic)
                mask |= 1u << c->files[k].ctl;
    }
    return mask;
}
