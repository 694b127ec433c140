/* Determines which job holds which device, how long, and which share of it. */
#include "base/grow.h"
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

#include <stdio.h>
#include <stdlib.h>

struct bj_gpu_hold *bj_gpus_hold_of(struct bj_gpus *g, struct bj_track *t,
                                    size_t dev)
{
    for (size_t i = 0; i < g->nholds; i++)
        if (g->hold[i].track == t && g->hold[i].dev == dev)
            return &g->hold[i];
    if (!BJ_GROW(g->hold, g->nholds + 1, g->hold_cap))
        return NULL;
    const struct bj_gpu_sums none = {
        .held_usec = BJ_ABSENT, .idle_usec = BJ_ABSENT, .energy_uj = BJ_ABSENT};
    struct bj_gpu_hold *h = &g->hold[g->nholds++];
    *h = (struct bj_gpu_hold){.track = t,
                              .dev = dev,
                              .sums.memory_peak_bytes = BJ_ABSENT,
                              .copy = {none, none}};
    return h;
}

enum { SILENT_PERIODS = 3 };

/* --- processes ------------------------------------------------------------*/

/* The job of each process of a set, in its order. */
static struct bj_track **owners_of(const struct bj_gpus *g,
                                   const struct bj_core *core,
                                   const struct bj_gpu_set *set)
{
    struct bj_track **v = calloc(set->nprocs + 1, sizeof(void *));
    for (size_t i = 0; v && i < set->nprocs; i++) {
        /* One process may be on many devices. */
        size_t k = 0;
        while (set->proc[k].pid != set->proc[i].pid)
            k++;
        v[i] = k < i ? v[k] : bj_gpus_job_of(g, core, set->proc[i].pid);
    }
    return v;
}

/* Sum up the use of a device by the processes of a job. */
static void sum_processes(struct bj_gpu_hold *h, const struct bj_gpu_set *set,
                          struct bj_track *const *owner, size_t at, bool traced)
{
    bool known = traced || set->v[at].use.processes != BJ_ABSENT;
    h->processes = known ? 0 : BJ_ABSENT;
    h->memory_bytes = h->sm_ppm = known ? 0 : BJ_ABSENT;
    for (size_t i = 0; i < set->nprocs; i++) {
        const struct bj_gpu_proc *p = &set->proc[i];
        if (p->gpu != at || owner[i] != h->track)
            continue;
        h->processes++;
        if (p->memory_bytes == BJ_ABSENT)
            h->memory_bytes = BJ_ABSENT;
        else if (h->memory_bytes != BJ_ABSENT)
            h->memory_bytes += p->memory_bytes;
        if (p->sm_ppm == BJ_ABSENT)
            h->sm_ppm = BJ_ABSENT;
        else if (h->sm_ppm != BJ_ABSENT)
            h->sm_ppm += p->sm_ppm;
    }
    /* If the use of processes is not reported for a device, it is unknown. */
    if (set->v[at].parent >= 0 && h->processes == 0)
        h->sm_ppm = 0;
}

/* --- decisions ------------------------------------------------------------*/

static void count_conflict(struct bj_gpus *g, struct bj_gpu_hold *h,
                           enum bj_gpu_conflict conflict)
{
    static const char *const text[BJ_GPU_CONFLICTS] = {
        [BJ_GPU_DENIED] = "claims it, but another job uses it",
        [BJ_GPU_STRAY] = "uses it without an allocation",
        [BJ_GPU_DOUBLE] = "has it at the same time as another job, and neither "
                          "requested sharing"};
    char line[480];
    if (conflict == BJ_GPU_AGREED) {
        h->logged = false;
        return;
    }
    if (h->logged)
        return;
    h->logged = true;
    g->conflicts[conflict]++;
    struct bj_slice id = h->track->ident->f[BJ_ID_JOBID];
    snprintf(line, sizeof(line), "GPU %s: job %.*s %s", g->dev[h->dev].now.uuid,
             (int)id.n, id.p, text[conflict]);
    g->host.log(g->host.ctx, BJ_LOG_WARN, line);
}

static bool runs_on(const struct bj_gpu_set *set, struct bj_track *const *owner,
                    size_t at, const struct bj_track *t)
{
    for (size_t i = 0; i < set->nprocs; i++)
        if (set->proc[i].gpu == at && owner[i] == t)
            return true;
    return false;
}

/* Whether its allocation is known and does not contain this device. */
static bool barred(const struct bj_gpu_job *j, const struct bj_gpu *dev,
                   unsigned evidence)
{
    if (evidence & (BJ_GPU_OPENS | BJ_GPU_ALLOTTED | BJ_GPU_NOTED))
        return false;
    bool named = dev->parent >= 0
                     ? j->claim.ncaps > 0
                     : dev->use.minor != BJ_ABSENT || dev->render != BJ_ABSENT;
    return bj_gpus_allotted(j) || j->file_named.usable ||
           (j->claim.devices && !dev->split && named);
}

/* Slurm gave the device to several jobs: they share it (shards, MPS). */
static void mark_shared(const struct bj_gpus *g, size_t dev,
                        struct bj_gpu_candidate *c, size_t n)
{
    size_t given = 0;
    for (size_t i = 0; i < n; i++)
        given += bj_gpus_names(&g->job[c[i].job]->file_named, dev);
    for (size_t i = 0; i < n && given > 1; i++)
        c[i].shared |= bj_gpus_names(&g->job[c[i].job]->file_named, dev);
}

/* Collect the evidence for each job.  No job holds a partitioned device: a job
 * with one of its instances can open it, too. */
static size_t candidates(const struct bj_gpus *g, const struct bj_gpu_set *set,
                         struct bj_track *const *owner, size_t at, size_t dev,
                         struct bj_gpu_candidate *c)
{
    size_t n = 0;
    if (set->v[at].split)
        return 0;
    for (size_t i = 0; i < g->njobs && n < BJ_GPU_HOLDERS_MAX; i++) {
        const struct bj_gpu_job *j = g->job[i];
        if (!bj_track_live(j->track))
            continue;
        unsigned e = bj_gpus_evidence(g, j, dev);
        bool given = bj_gpus_known(j) && e == 0;
        if (runs_on(set, owner, at, j->track))
            e |= BJ_GPU_RUNS;
        if (e != 0)
            c[n++] = (struct bj_gpu_candidate){
                .job = i,
                .evidence = e,
                .shared = j->claim.shared || j->allot.shared,
                .not_allotted = given,
                .barred = barred(j, &set->v[at], e)};
    }
    mark_shared(g, dev, c, n);
    bj_gpu_decide(c, n);
    return n;
}

/* Whether the device was idle for the job: none of its processes ran since the
 * last reading.  Unknown is not idle. */
static bool is_idle(const struct bj_gpu_dev *d, const struct bj_gpu_hold *h,
                    size_t holders)
{
    const struct bj_gpu_use *u = &d->now.use;
    if (holders > 1)
        return h->processes == 0 || h->sm_ppm == 0;
    if (u->busy_ppm != BJ_ABSENT)
        return u->busy_ppm == 0;
    if (u->sm_ppm != BJ_ABSENT)
        return u->sm_ppm == 0;
    if (h->engines_known)
        return h->engine_ppm == 0;
    return u->processes == 0;
}

/* Set the shares of the holders by the use of their processes, else to equal
 * parts. */
static void share(struct bj_gpus *g, size_t dev)
{
    uint64_t weight[BJ_GPU_HOLDERS_MAX], part[BJ_GPU_HOLDERS_MAX];
    struct bj_gpu_hold *v[BJ_GPU_HOLDERS_MAX];
    size_t n = 0;
    bool known = true;
    for (size_t i = 0; i < g->nholds && n < BJ_GPU_HOLDERS_MAX; i++)
        if (bj_gpus_holds(&g->hold[i], dev)) {
            v[n] = &g->hold[i];
            known &= v[n]->sm_ppm != BJ_ABSENT;
            weight[n] = v[n]->sm_ppm;
            n++;
        }
    for (size_t i = 0; i < n && !known; i++)
        weight[i] = 0;
    bj_gpu_divide(1000000, weight, n, part);
    for (size_t i = 0; i < n; i++) {
        v[i]->share_ppm = part[i];
        v[i]->estimated = n > 1;
        v[i]->ever_estimated |= n > 1 || g->dev[dev].parent >= 0;
    }
}

/* The time for which the job held the device between the last two readings:
 * since the first of them, or since the job was first seen. */
static uint64_t held_for(const struct bj_gpu_dev *d,
                         const struct bj_gpu_hold *h)
{
    uint64_t from = h->track->life.first_usec;
    if (d->before_usec == 0 || from >= d->stamp_usec)
        return 0;
    return d->stamp_usec - (from > d->before_usec ? from : d->before_usec);
}

/* A claim may be read seconds after the job began, and names what the job has
 * held since then, as long as the device has been read.  That time was idle if
 * no reading since then saw a process. */
static void take_earlier(const struct bj_gpu_dev *d, struct bj_gpu_hold *h,
                         unsigned evidence)
{
    uint64_t from = h->track->life.first_usec;
    if (from < d->since_usec)
        from = d->since_usec;
    if (h->sums.held_usec != 0 || !(evidence & ~(unsigned)BJ_GPU_RUNS) ||
        from >= d->before_usec)
        return;
    h->sums.held_usec = d->before_usec - from;
    if (d->used_usec < from)
        h->sums.idle_usec = h->sums.held_usec;
}

static void add_mean(struct bj_gpu_mean *m, uint64_t ppm, uint64_t usec)
{
    if (ppm == BJ_ABSENT)
        return;
    m->sum_usec += (uint64_t)((double)usec * (double)ppm / 1000000 + 0.5);
    m->of_usec += usec;
}

static void add_levels(struct bj_gpus *g, struct bj_gpu_hold *h, uint64_t usec)
{
    struct bj_gpu_levels l = bj_gpus_levels(g, h);
    struct bj_gpu_sums *s = &h->sums;
    add_mean(&s->busy, l.busy_ppm, usec);
    add_mean(&s->sm, l.sm_ppm, usec);
    if (l.memory_bytes != BJ_ABSENT && (s->memory_peak_bytes == BJ_ABSENT ||
                                        l.memory_bytes > s->memory_peak_bytes))
        s->memory_peak_bytes = l.memory_bytes;
}

/* Whether the job still gets energy: it holds the device, or held it after
 * energy of the device was last given. */
static bool owed(const struct bj_gpus *g, const struct bj_gpu_dev *d,
                 const struct bj_gpu_hold *h)
{
    const struct bj_gpu_dev *whole = d->parent < 0 ? d : &g->dev[d->parent];
    return h->now || (h->pending && (g->waits || h->track->life.end_usec >
                                                     whole->given_usec));
}

/* A job that has ended since the last reading held the device until then.  It
 * was idle if neither reading saw a process. */
static void take_rest(const struct bj_gpu_dev *d, const struct bj_gpu_use *now,
                      struct bj_gpu_hold *h)
{
    const struct bj_life *l = &h->track->life;
    uint64_t end = l->end_usec < d->stamp_usec ? l->end_usec : d->stamp_usec;
    if (!h->now || bj_track_live(h->track) || end <= d->before_usec)
        return;
    h->sums.held_usec += end - d->before_usec;
    if (now->processes == 0 && d->used_usec < d->before_usec)
        h->sums.idle_usec += end - d->before_usec;
}

/* End all holds on the device, before they are determined again. */
static void end_holds(struct bj_gpus *g, size_t dev,
                      const struct bj_gpu_use *now)
{
    for (size_t i = 0; i < g->nholds; i++) {
        struct bj_gpu_hold *h = &g->hold[i];
        if (h->dev != dev)
            continue;
        take_rest(&g->dev[dev], now, h);
        h->pending = owed(g, &g->dev[dev], h);
        h->had = h->now;
        h->now = false;
    }
}

static void take_hold(struct bj_gpu_hold *h, const struct bj_gpu_dev *d,
                      unsigned evidence)
{
    uint64_t first = h->track->life.first_usec;
    h->now = true;
    h->pending = false;
    h->evidence |= evidence;
    if (!h->had)
        h->since_usec = first > d->before_usec ? first : d->before_usec;
}

static void take_device(struct bj_gpus *g, const struct bj_gpu_set *set,
                        struct bj_track *const *owner, size_t at, size_t dev,
                        bool certain)
{
    struct bj_gpu_candidate c[BJ_GPU_HOLDERS_MAX];
    size_t n = candidates(g, set, owner, at, dev, c), holders = 0;
    struct bj_gpu_dev *d = &g->dev[dev];
    bool known = d->stamp_usec - d->before_usec <=
                 SILENT_PERIODS * bj_gpus_period(g->conf);
    end_holds(g, dev, &set->v[at].use);
    for (size_t i = 0; i < n; i++)
        holders += c[i].holds;
    for (size_t i = 0; i < n; i++) {
        struct bj_gpu_hold *h =
            bj_gpus_hold_of(g, g->job[c[i].job]->track, dev);
        if (!h)
            continue;
        if (certain)
            count_conflict(g, h, c[i].conflict);
        if (!c[i].holds)
            continue;
        take_earlier(d, h, c[i].evidence);
        take_hold(h, d, c[i].evidence);
        sum_processes(h, set, owner, at, bj_gpus_traced(set, g->job[c[i].job]));
        bj_gpus_engines(h, set, g->job[c[i].job], at);
        h->sums.held_usec += held_for(d, h);
        /* Use during a gap between readings is unknown. */
        if (known && is_idle(d, h, holders))
            h->sums.idle_usec += held_for(d, h);
    }
    if (set->v[at].use.processes != 0)
        d->used_usec = d->stamp_usec;
    share(g, dev);
    for (size_t i = 0; i < g->nholds && known; i++)
        if (bj_gpus_holds(&g->hold[i], dev))
            add_levels(g, &g->hold[i], held_for(d, &g->hold[i]));
}

void bj_gpus_update_holds(struct bj_gpus *g, const struct bj_core *core,
                          unsigned kind)
{
    const struct bj_gpu_set *set = g->set[kind];
    struct bj_track **owner = owners_of(g, core, set);
    /* A claim that was not read yet may resolve a conflict. */
    bool certain = !bj_gpus_waits(g);
    bj_gpus_resolve(g, kind);
    for (size_t i = 0; i < g->nholds; i++)
        if (g->dev[g->hold[i].dev].kind == kind &&
            !g->dev[g->hold[i].dev].present)
            g->hold[i].now = g->hold[i].pending = false;
    for (size_t at = 0; owner && at < set->n; at++)
        for (size_t dev = 0; dev < g->n; dev++)
            if (g->dev[dev].present &&
                strcmp(g->dev[dev].now.uuid, set->v[at].uuid) == 0)
                take_device(g, set, owner, at, dev, certain);
    free(owner);
}
