/* Sources that add values to devices of other sources: processes and their
 * engine time (fdinfo), profiling (dcgm), values of a vendor's library (rocm,
 * level_zero). */
#include "base/array.h"
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { NVML, AMD, INTEL, FDINFO = BJ_GPU_OVER };

/* The sources of devices to which each of these adds values. */
static const unsigned over[BJ_GPU_KINDS - BJ_GPU_OVER] = {
    1u << AMD | 1u << INTEL, /* fdinfo */
    1u << NVML,              /* dcgm */
    1u << AMD,               /* rocm */
    1u << INTEL,             /* level_zero */
};

/* --- jobs for these sources -----------------------------------------------*/

/* A hash that changes when a job begins or ends. */
static uint64_t sum_of_jobs(const struct bj_gpus *g)
{
    uint64_t sum = 1;
    for (size_t i = 0; i < g->njobs; i++)
        if (bj_track_live(g->job[i]->track))
            sum += g->job[i]->id * UINT64_C(0x9e3779b97f4a7c15);
    return sum;
}

static bool any_drm(const struct bj_gpus *g)
{
    return (g->set[AMD] && g->set[AMD]->n > 0) ||
           (g->set[INTEL] && g->set[INTEL]->n > 0);
}

void bj_gpus_over_set_jobs(struct bj_gpus *g)
{
    char paths[BJ_GPU_DIRS][BJ_GPU_PATH];
    struct bj_buf list = {0};
    uint64_t sum = any_drm(g) ? sum_of_jobs(g) : 0;
    if (sum == g->places_sum || sum == 0)
        return;
    for (size_t i = 0; i < g->njobs; i++) {
        if (!bj_track_live(g->job[i]->track))
            continue;
        size_t n = bj_gpus_dirs(g->job[i]->track, paths, BJ_GPU_DIRS);
        bj_buf_u64(&list, g->job[i]->id);
        bj_buf_put(&list, "", 1);
        for (size_t k = 0; k < n; k++)
            bj_buf_put(&list, paths[k], strlen(paths[k]) + 1);
        bj_buf_put(&list, "", 1);
    }
    if (list.failed) {
        bj_buf_free(&list);
        return;
    }
    uint64_t number = bj_gpu_places_set(g->places, &list);
    g->places_sum = sum;
    for (size_t i = 0; i < g->njobs; i++)
        if (g->job[i]->listed == 0 && bj_track_live(g->job[i]->track))
            g->job[i]->listed = number;
}

/* Whether the devices of a job are known only from its processes, which were
 * not read yet. */
static bool gpus_trace_due(const struct bj_gpus *g)
{
    const struct bj_gpu_set *set = g->set[FDINFO];
    const uint64_t read = set ? set->traced_list : 0;
    if (!any_drm(g) || !g->stat[FDINFO].ran)
        return false;
    for (size_t i = 0; i < g->njobs; i++) {
        const struct bj_gpu_job *j = g->job[i];
        if (bj_track_live(j->track) && !bj_gpus_known(j) &&
            (j->listed == 0 || read < j->listed))
            return true;
    }
    return false;
}

/* --- search and values ----------------------------------------------------*/

void bj_gpus_over_search(struct bj_gpus *g, unsigned present, uint64_t now_usec)
{
    for (unsigned k = BJ_GPU_OVER; k < BJ_GPU_KINDS; k++)
        if (over[k - BJ_GPU_OVER] & present)
            bj_gpu_watch_search(g->watch[k], now_usec);
}

void bj_gpus_over_take(struct bj_gpus *g, uint64_t now_usec)
{
    for (unsigned k = BJ_GPU_OVER; k < BJ_GPU_KINDS; k++) {
        bj_gpu_watch_stat(g->watch[k], now_usec, &g->stat[k]);
        if (!g->stat[k].ran)
            continue;
        if (!g->set[k])
            g->set[k] = calloc(1, sizeof(*g->set[k]));
        if (g->set[k])
            bj_gpu_watch_take(g->watch[k], g->set[k]);
    }
}

/* --- adding to a set ------------------------------------------------------*/

/* Add a process; two sources may report the same one.  fdinfo comes first: only
 * it reports whether the use of the device is known. */
static bool add_process(struct bj_gpu_set *set, uint32_t at,
                        const struct bj_gpu_proc *p)
{
    struct bj_gpu_proc *old = NULL;
    for (size_t i = 0; i < set->nprocs && !old; i++)
        if (set->proc[i].gpu == at && set->proc[i].pid == p->pid)
            old = &set->proc[i];
    struct bj_gpu_proc *to = old ? old : bj_gpu_add_proc(set, at, p->pid);
    if (!to)
        return false;
    if (to->memory_bytes == BJ_ABSENT)
        to->memory_bytes = p->memory_bytes;
    if (!old)
        to->sm_ppm = p->sm_ppm;
    return true;
}

static void add_times(struct bj_gpu_set *set, uint32_t at,
                      const struct bj_gpu_set *from, uint32_t from_at)
{
    for (size_t i = 0; i < from->ntimes; i++)
        if (from->time[i].gpu == from_at && set->ntimes < BJ_GPU_TIMES_MAX) {
            set->time[set->ntimes] = from->time[i];
            set->time[set->ntimes++].gpu = at;
        }
}

/* Add values that the device does not report itself. */
static void add_values(struct bj_gpu_use *to, const struct bj_gpu_use *from)
{
    enum { FIRST = sizeof(struct bj_sub) / sizeof(uint64_t) };
    uint64_t *v = (uint64_t *)(void *)to;
    const uint64_t *w = (const uint64_t *)(const void *)from;
    for (size_t i = FIRST; i < sizeof(*to) / sizeof(*v); i++)
        if (v[i] == BJ_ABSENT)
            v[i] = w[i];
}

/* Add the values of one source to the device at that place. */
static bool add_device(struct bj_gpu_set *set, uint32_t at,
                       const struct bj_gpu_set *from, uint32_t from_at,
                       unsigned source)
{
    struct bj_gpu *g = &set->v[at];
    bool complete = true;
    add_values(&g->use, &from->v[from_at].use);
    if (g->energy_raw_uj == BJ_ABSENT) {
        g->energy_raw_uj = from->v[from_at].energy_raw_uj;
        g->counter = source;
    }
    for (size_t i = 0; i < from->nprocs; i++)
        if (from->proc[i].gpu == from_at)
            complete &= add_process(set, at, &from->proc[i]);
    add_times(set, at, from, from_at);
    return complete;
}

/* Are two UUIDs, or two addresses, known and equal? */
static bool gpus_hold_same(const char *a, const char *b)
{
    return *a && strcmp(a, b) == 0;
}

/* The place in this set of a device or an instance of another set; set->n:
 * none. */
static uint32_t gpus_hold_place_of(const struct bj_gpu_set *set,
                                   const struct bj_gpu_set *from,
                                   uint32_t from_at)
{
    const struct bj_gpu *want = &from->v[from_at], *g = set->v;
    const struct bj_gpu *parent =
        want->parent >= 0 ? &from->v[want->parent] : NULL;
    for (; g < set->v + set->n; g++) {
        if (parent ? g->parent >= 0 && g->gi == want->gi &&
                         gpus_hold_same(parent->uuid, set->v[g->parent].uuid)
                   : g->parent < 0 && (gpus_hold_same(want->uuid, g->uuid) ||
                                       gpus_hold_same(want->pci, g->pci)))
            break;
    }
    return (uint32_t)(g - set->v);
}

static void add_set(struct bj_gpu_set *set, const struct bj_gpu_set *from,
                    unsigned source)
{
    bool complete = true;
    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t at = gpus_hold_place_of(set, from, i);
        if (at < set->n)
            complete &= add_device(set, at, from, i, source);
    }
    if (!complete || from->traced_usec == 0)
        return;
    set->traced_usec = from->traced_usec;
    set->ntraced = from->ntraced;
    memcpy(set->traced, from->traced, from->ntraced * sizeof(set->traced[0]));
}

/* Whether a source responds; else its values are not added. */
static bool responds(const struct bj_gpus *g, unsigned k)
{
    return g->set[k] && g->stat[k].running && !g->stat[k].hung &&
           bj_clock_boot_usec() <
               g->set[k]->stamp_usec + BJ_GPU_FRESH * g->conf->gpu_usec;
}

void bj_gpus_over_add(const struct bj_gpus *g, struct bj_gpu_set *set,
                      unsigned kind)
{
    for (unsigned k = BJ_GPU_OVER; k < BJ_GPU_KINDS; k++)
        if ((over[k - BJ_GPU_OVER] & 1u << kind) && responds(g, k))
            add_set(set, g->set[k], k);
}

/* --- jobs -----------------------------------------------------------------*/

/* Whether all processes of the job, and their engine time, are known. */
static bool gpus_traced(const struct bj_gpu_set *set,
                        const struct bj_gpu_job *j)
{
    for (size_t i = 0; i < set->ntraced; i++)
        if (set->traced[i] == j->id)
            return true;
    return false;
}

struct bj_gpu_engine *bj_gpus_engine(struct bj_gpu_sums *s, const char *name)
{
    for (unsigned i = 0; i < s->nengines; i++)
        if (strcmp(s->engine[i].name, name) == 0)
            return &s->engine[i];
    if (s->nengines == BJ_GPU_ENGINES)
        return NULL;
    struct bj_gpu_engine *e = &s->engine[s->nengines++];
    *e = (struct bj_gpu_engine){.busy_usec = 0};
    snprintf(e->name, sizeof(e->name), "%s", name);
    return e;
}

/* Add the growth of the reported time, which covers the known processes from
 * their start on.  It is incomplete if the job had other processes before the
 * first reading. */
static uint64_t add_time(struct bj_gpu_engine *e, uint64_t total_usec)
{
    uint64_t more = total_usec > e->seen_usec ? total_usec - e->seen_usec : 0;
    if (!e->seen)
        e->busy_usec = total_usec > e->busy_usec ? total_usec : e->busy_usec;
    else
        e->busy_usec += more;
    e->seen = true;
    if (more > 0)
        e->seen_usec = total_usec;
    return more;
}

/* Add the times; returns the use of the busiest class in millionths. */
static uint64_t take_times(struct bj_gpu_hold *h, const struct bj_gpu_set *set,
                           uint64_t job, size_t at, uint64_t dt_usec)
{
    uint64_t most = 0;
    for (size_t i = 0; i < set->ntimes; i++) {
        const struct bj_gpu_time *t = &set->time[i];
        if (t->gpu != at || t->job != job)
            continue;
        struct bj_gpu_engine *e = bj_gpus_engine(&h->sums, t->engine);
        uint64_t more = e ? add_time(e, t->busy_usec) : 0;
        double ppm =
            (double)more * 1e6 / ((double)dt_usec * (double)t->capacity);
        uint64_t bounded = ppm < 1e6 ? (uint64_t)(ppm + 0.5) : 1000000;
        most = bounded > most ? bounded : most;
    }
    return most;
}

void bj_gpus_engines(struct bj_gpu_hold *h, const struct bj_gpu_set *set,
                     const struct bj_gpu_job *j, size_t at)
{
    if (set->traced_usec == 0 || set->v[at].parent >= 0) {
        h->engines_known = false;
        return;
    }
    if (set->traced_usec != h->traced_usec) {
        uint64_t dt = h->traced_usec ? set->traced_usec - h->traced_usec : 0;
        h->engine_ppm = take_times(h, set, j->id, at, dt ? dt : 1);
        h->engines_known = dt > 0;
        h->traced_usec = set->traced_usec;
    }
    /* If the time of one process is unknown, that of the job is unknown. */
    if (!gpus_traced(set, j) || h->sm_ppm == BJ_ABSENT)
        h->engines_known = false;
    h->sm_ppm = h->engines_known ? h->engine_ppm : BJ_ABSENT;
}

void bj_gpus_publish_engines(const struct bj_gpus *g, const struct bj_track *t,
                             struct bj_arena *a, struct bj_job *job)
{
    size_t n = 0;
    unsigned shown = g->copies->shown;
    for (size_t i = 0; i < g->nholds; i++)
        n += g->hold[i].track == t ? g->hold[i].copy[shown].nengines : 0;
    struct bj_gpu_engine_use *v =
        n > 0 ? bj_arena_alloc(a, n * sizeof(*v)) : NULL;
    job->gpu_engines = (struct bj_list){v, v ? n : 0};
    for (size_t i = 0; v && i < g->nholds; i++) {
        const struct bj_gpu_hold *h = &g->hold[i];
        const struct bj_gpu_sums *s = &h->copy[shown];
        for (unsigned k = 0; h->track == t && k < s->nengines; k++) {
            *v =
                (struct bj_gpu_engine_use){.busy_usec = s->engine[k].busy_usec};
            v->sub.key[0] = bj_core_label(a, g->dev[h->dev].now.uuid);
            v->sub.key[1] = bj_core_label(a, s->engine[k].name);
            v++;
        }
    }
}

/* --- holds ----------------------------------------------------------------*/

/* Which job holds which device, how long, and its energy. */

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
    if (conflict == BJ_GPU_AGREED) {
        h->logged = false;
        return;
    }
    h->sums.conflicts |= 1u << conflict;
    if (h->logged)
        return;
    h->logged = true;
    g->conflicts[conflict]++;
    struct bj_slice id = h->track->ident->f[BJ_ID_JOBID];
    bj_host_log(&g->host, BJ_LOG_WARN, NULL, "GPU %s: job %.*s %s",
                g->dev[h->dev].now.uuid, (int)id.n, id.p, text[conflict]);
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
        sum_processes(h, set, owner, at, gpus_traced(set, g->job[c[i].job]));
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

static size_t holders_of(const struct bj_gpus *g, size_t dev)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nholds; i++)
        n += bj_gpus_holds(&g->hold[i], dev);
    return n;
}

struct bj_gpu_levels bj_gpus_levels(const struct bj_gpus *g,
                                    const struct bj_gpu_hold *h)
{
    const struct bj_gpu_use *u = &g->dev[h->dev].now.use;
    struct bj_gpu_levels l = {u->busy_ppm, u->sm_ppm, u->memory_used_bytes};
    if (holders_of(g, h->dev) != 1)
        l = (struct bj_gpu_levels){h->sm_ppm, h->sm_ppm, h->memory_bytes};
    /* The kernel's account of the job is exact, also of what is imported. */
    const uint64_t held =
        bj_dmem_of_device(&h->track->unit, g->dev[h->dev].now.pci);
    if (held != BJ_ABSENT)
        l.memory_bytes = held;
    /* Without a value of the device, use its only job's processes. */
    if (l.memory_bytes == BJ_ABSENT)
        l.memory_bytes = h->memory_bytes;
    if (l.busy_ppm == BJ_ABSENT && h->engines_known)
        l.busy_ppm = h->engine_ppm;
    return l;
}

/* --- energy ---------------------------------------------------------------*/

/* Attributes the energy of devices to the jobs that hold them.  The idle power
 * of a partitioned device is divided by slices, the rest by the activity of its
 * instances. */

/* Slices of a device, in units that any possible number of compute instances
 * divides evenly. */
enum { EVENLY = 840, SLICES = 7 * EVENLY, SECOND = 1000000 };

__extension__ typedef unsigned __int128 bj_u128;

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The time between two readings of a device. */
struct span {
    uint64_t from_usec, to_usec; /* times of the two readings */
    uint64_t end_usec;           /* end of the last previous holder; 0: none */
};

static uint64_t held_in(const struct bj_gpu_hold *h, const struct span *s)
{
    uint64_t begin = s->from_usec, end = h->track->life.end_usec;
    if (h->now && h->since_usec > begin)
        begin = later(h->since_usec, s->end_usec);
    if (h->now || end == 0 || end > s->to_usec)
        end = s->to_usec;
    return end > begin ? end - begin : 0;
}

/* Attribute energy to the jobs that hold the device, and to jobs that have
 * ended since the last reading: by their shares, and by the time of each if the
 * holder changed.  Exact; the rest is unallocated. */
static void give(struct bj_gpus *g, size_t dev, uint64_t uj)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    struct span s = {d->parent < 0 ? d->given_usec
                                   : g->dev[d->parent].given_usec,
                     d->stamp_usec, 0};
    uint64_t weight[BJ_GPU_HOLDERS_MAX] = {0}, part[BJ_GPU_HOLDERS_MAX];
    struct bj_gpu_hold *v[BJ_GPU_HOLDERS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < g->nholds && n < BJ_GPU_HOLDERS_MAX; i++) {
        struct bj_gpu_hold *h = &g->hold[i];
        if (h->dev != dev || !(h->now || h->pending) || h->track->life.recorded)
            continue;
        if (!h->now)
            s.end_usec = later(s.end_usec, h->track->life.end_usec);
        v[n++] = h;
    }
    for (size_t i = 0; i < n; i++) {
        weight[i] = v[i]->share_ppm;
        if (s.end_usec != 0 && s.from_usec != 0)
            weight[i] *= held_in(v[i], &s);
    }
    bj_gpu_divide(uj, weight, n, part);
    for (size_t i = 0; i < n; i++) {
        v[i]->sums.energy_uj += part[i];
        v[i]->pending_uj += part[i];
    }
}

/* The instances of a device, and one more receiver for the slices without an
 * instance. */
struct parts {
    size_t n, dev[BJ_GPUS_MAX];
    uint64_t slices[BJ_GPUS_MAX + 1], active[BJ_GPUS_MAX + 1];
    bool known; /* the activity of each instance is known */
};

/* The slices of an instance.  Several compute instances in one GPU instance all
 * report the slices of the GPU instance, so each gets a part of them. */
static uint64_t slices_of(const struct bj_gpus *g, const struct bj_gpu_dev *d)
{
    uint64_t slices = d->now.use.slices, n = 0;
    for (size_t i = 0; i < g->n && d->now.gi != UINT32_MAX; i++)
        n += g->dev[i].present && g->dev[i].parent == d->parent &&
             g->dev[i].now.gi == d->now.gi;
    return EVENLY * (slices == BJ_ABSENT || slices > 7 ? 1 : slices) /
           (n ? n : 1);
}

static void instances_of(const struct bj_gpus *g, size_t dev, struct parts *p)
{
    uint64_t used = 0;
    p->n = 0;
    p->known = true;
    for (size_t i = 0; i < g->n && p->n < BJ_GPUS_MAX; i++) {
        const struct bj_gpu_dev *d = &g->dev[i];
        const struct bj_gpu_use *u = &d->now.use;
        if (!d->present || d->parent != (int)dev)
            continue;
        p->slices[p->n] = slices_of(g, d);
        used += p->slices[p->n];
        bool known = u->sm_ppm != BJ_ABSENT && u->multiprocessors != BJ_ABSENT;
        p->known &= known;
        p->active[p->n] = known ? u->sm_ppm * u->multiprocessors : 0;
        p->dev[p->n++] = i;
    }
    p->slices[p->n] = used < SLICES ? SLICES - used : 0;
    p->active[p->n] = 0;
}

static void give_instances(struct bj_gpus *g, size_t dev, uint64_t uj,
                           uint64_t dt_usec)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    struct parts p;
    uint64_t still[BJ_GPUS_MAX + 1], moving[BJ_GPUS_MAX + 1], any = 0;
    instances_of(g, dev, &p);
    for (size_t i = 0; i < p.n; i++)
        any += p.active[i];
    bj_u128 idle =
        d->idle_uw == BJ_ABSENT ? 0 : (bj_u128)d->idle_uw * dt_usec / SECOND;
    uint64_t rest = idle < uj ? (uint64_t)idle : uj;
    bool by_use = p.known && any > 0;
    bj_gpu_divide(rest, p.slices, p.n + 1, still);
    bj_gpu_divide(uj - rest, by_use ? p.active : p.slices, p.n + 1, moving);
    for (size_t i = 0; i < p.n; i++)
        give(g, p.dev[i], still[i] + moving[i]);
}

/* The lowest power of a device so far approximates its idle power: of two
 * readings in a row the higher one, since a single one may be false. */
static void learn_idle(struct bj_gpu_dev *d)
{
    uint64_t before = d->level_uw, uw = d->now.use.power_uw;
    d->level_uw = uw;
    if (before == BJ_ABSENT || uw == BJ_ABSENT)
        return;
    uw = later(before, uw);
    if (uw > 0 && (d->idle_uw == BJ_ABSENT || uw < d->idle_uw))
        d->idle_uw = uw;
}

/* Whether the activity of an instance follows with the next reading, as after
 * the driver was opened. */
static bool activity_due(const struct bj_gpus *g, size_t dev)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->dev[i].present && g->dev[i].parent == (int)dev &&
            g->dev[i].now.profile_due)
            return true;
    return false;
}

/* Whether energy of a device is held back.  Its holders get it by the time
 * since the last reading that counts. */
static bool waits(const struct bj_gpus *g, size_t dev)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    return d->present && (bj_accum_waits(&d->energy, d->stamp_usec,
                                         bj_gpus_period(g->conf)) ||
                          activity_due(g, dev));
}

bool bj_gpus_held(const struct bj_gpus *g)
{
    bool any = false;
    for (size_t i = 0; i < g->n; i++)
        any |= waits(g, i);
    return any;
}

static uint64_t last_reading(const struct bj_gpus *g)
{
    uint64_t last = 0;
    for (size_t i = 0; i < g->n; i++)
        last = later(last, g->dev[i].stamp_usec);
    return last;
}

/* Whether to wait for claims: energy of a new job, which may be much after a
 * restart, must not count as unallocated only because its claim was not read
 * yet.  Three periods are enough; readings can be much more frequent. */
static bool defer(struct bj_gpus *g)
{
    enum { PATIENCE_PERIODS = 3 };
    const uint64_t last = last_reading(g);
    if (!bj_gpus_waits(g) && !gpus_trace_due(g))
        g->waits_usec = 0;
    else if (g->waits_usec == 0)
        g->waits_usec = last;
    g->waits =
        g->waits_usec != 0 &&
        last < g->waits_usec + PATIENCE_PERIODS * bj_gpus_period(g->conf);
    return g->waits;
}

void bj_gpus_meter(struct bj_gpus *g, unsigned kind)
{
    if (defer(g))
        return;
    for (size_t i = 0; i < g->n; i++) {
        struct bj_gpu_dev *d = &g->dev[i];
        if (d->kind != kind || !d->present || d->parent >= 0)
            continue;
        learn_idle(d);
        if (waits(g, i))
            continue;
        uint64_t uj = 0;
        if (d->energy.total_uj > d->given_uj)
            uj = d->energy.total_uj - d->given_uj;
        uint64_t dt = d->given_usec ? d->stamp_usec - d->given_usec : 0;
        d->given_uj = d->energy.total_uj;
        g->metered |= d->energy.counter_stamp_usec != 0 ||
                      d->energy.power_stamp_usec != 0;
        g->total_uj += uj;
        if (d->now.split)
            give_instances(g, i, uj, dt);
        else
            give(g, i, uj);
        d->given_usec = d->stamp_usec;
    }
}

/* The time to wait for a driver that does not respond. */
enum { LINGER_USEC = 30 * SECOND };

bool bj_gpus_energy_due(const struct bj_gpus *g, const struct bj_track *t,
                        uint64_t now_usec)
{
    if (now_usec >= t->life.end_usec + LINGER_USEC)
        return false;
    for (size_t i = 0; i < g->nholds; i++) {
        const struct bj_gpu_hold *h = &g->hold[i];
        const struct bj_gpu_dev *d = &g->dev[h->dev];
        const struct bj_gpu_dev *whole = d->parent < 0 ? d : &g->dev[d->parent];
        if (h->track == t && (h->now || h->pending) &&
            whole->energy.stamp_usec != 0 &&
            whole->given_usec < t->life.end_usec)
            return true;
    }
    return false;
}

uint64_t bj_gpus_energy(const struct bj_gpus *g)
{
    return g->metered ? g->total_uj : BJ_ABSENT;
}

uint64_t bj_gpus_take(struct bj_gpus *g, const struct bj_track *t)
{
    uint64_t uj = 0;
    for (size_t i = 0; i < g->nholds; i++) {
        struct bj_gpu_hold *h = &g->hold[i];
        if (h->track != t)
            continue;
        uj += h->pending_uj;
        h->pending_uj = 0;
    }
    return uj;
}

void bj_gpus_discard(struct bj_gpus *g)
{
    for (size_t i = 0; i < g->nholds; i++) {
        g->hold[i].sums.energy_uj -= g->hold[i].pending_uj;
        g->hold[i].pending_uj = 0;
    }
}
