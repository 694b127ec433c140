#include "core/life.h"

#include "core/energy/energy.h"
#include "core/explain.h"
#include "core/find/pids.h"
#include "core/gpu/gpus.h"
#include "core/internal.h"

bool bj_life_has_processes(const struct bj_track *t)
{
    char path[4096];
    const struct bj_cgroup_reader *rd = &t->core->reader;
    for (unsigned h = 0; h < rd->hiers->n; h++)
        if ((t->unit.in_hiers & 1u << h) &&
            bj_unit_path(&t->unit, rd, h, "", path, sizeof(path)) == 0 &&
            bj_pids_any(path))
            return true;
    return false;
}

/* Whether a new directory had processes: they used CPU time, but have ended. */
static bool had_processes(const struct bj_track *t)
{
    uint64_t usec = t->unit.use.cpu_usec;
    return t->life.fresh && usec != BJ_ABSENT && usec > 0;
}

/* A job begins with its first process, so a directory that a crashed batch
 * system left behind is not a job. */
void bj_life_begin(struct bj_track *t)
{
    struct bj_core *core = t->core;
    if (t->life.born)
        return;
    bool any = bj_life_has_processes(t);
    if (!any && !had_processes(t))
        return;
    t->life.born = true;
    bj_explain_job(t, any ? "has processes" : "had processes");
    t->life.born_usec = core->now_usec;
    bj_tracks_replace(&core->tracks, t);
    t->life.start_usec =
        any ? bj_track_oldest(t, core->now_usec) : t->life.first_usec;
    bj_track_clock(t, core->now_usec, core->wall_usec);
}

/* At the slow interval: check whether the processes of a job without new CPU
 * time have ended, or an empty job has processes again. */
static void check_empty(struct bj_track *t)
{
    struct bj_core *core = t->core;
    bool idle = t->unit.use.cpu_usec == t->life.checked_cpu_usec ||
                t->unit.use.cpu_usec == BJ_ABSENT;
    t->life.checked_cpu_usec = t->unit.use.cpu_usec;
    t->life.empty_checks =
        idle && !bj_life_has_processes(t) ? t->life.empty_checks + 1 : 0;
    if (t->life.empty_checks == 2 && bj_track_live(t)) {
        bj_explain_job(t, "has ended: it has no processes any more");
        bj_track_end(t, core->now_usec, core->wall_usec);
        t->life.emptied = true;
    } else if (t->life.empty_checks == 0 && t->life.emptied &&
               bj_life_has_processes(t)) {
        t->life.emptied = false;
        t->life.end_usec = 0;
        t->life.end_sec = BJ_ABSENT;
    }
}

void bj_life_update(struct bj_track *t)
{
    struct bj_core *core = t->core;
    if (core->now_usec >= t->life.place_usec)
        bj_track_place(t, core->now_usec);
    if (bj_track_live(t))
        bj_track_clock(t, core->now_usec, core->wall_usec);
    bj_life_begin(t);
    if (core->now_usec >= t->life.check_usec) {
        if (t->life.born && t->life.check_usec != 0)
            check_empty(t);
        t->life.check_usec = core->now_usec + core->conf->slow_usec;
    }
    if (bj_track_live(t) && bj_steps_published(core->conf))
        bj_steps_scan(t);
}

void bj_core_end_jobs(struct bj_core *core)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (!bj_track_live(t) && !t->life.emptied)
            continue;
        if (t->life.lost || t->life.replaced || t->unit.in_hiers == 0) {
            if (bj_track_live(t)) {
                bj_explain_job(t, "has ended: its cgroup has gone");
                bj_events_end(t);
                bj_track_end(t, core->now_usec, core->wall_usec);
            }
            t->life.emptied = false;
            core->rescan |= t->life.trees > 0;
            bj_steps_free(t);
            continue;
        }
        core->rescan |= (t->life.in_hiers & ~t->unit.in_hiers) != 0;
        t->life.in_hiers = t->unit.in_hiers;
    }
}

/* Its energy is not settled, or its final record is not written. */
static bool is_unsettled(const struct bj_track *t)
{
    return t->core->sampler && t->life.born && !t->life.recorded;
}

void bj_core_drop_track(struct bj_core *core, struct bj_track *t)
{
    bj_energy_drop(core->energy, t);
    bj_gpus_drop(core->gpus, t);
    bj_track_free(t);
}

/* Forget jobs whose grace period is over.  A job without processes stays known,
 * but unpublished, as long as its directory exists. */
void bj_core_forget_jobs(struct bj_core *core)
{
    size_t n = 0;
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        bool over = !bj_track_live(t) &&
                    core->now_usec >= t->life.end_usec + core->conf->grace_usec;
        over |= !t->life.born && t->unit.in_hiers == 0;
        t->life.hidden = over;
        if ((over || t->life.replaced) && t->life.trees == 0 &&
            !is_unsettled(t))
            bj_core_drop_track(core, t);
        else
            core->tracks.v[n++] = t;
    }
    core->tracks.n = n;
}
