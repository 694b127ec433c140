/* Sources that add values to devices of other sources: processes and their
 * engine time (fdinfo), profiling (dcgm), values of a vendor's library (rocm,
 * level_zero). */
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

bool bj_gpus_trace_due(const struct bj_gpus *g)
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
static bool same(const char *a, const char *b)
{
    return *a && strcmp(a, b) == 0;
}

/* The place in this set of a device or an instance of another set; set->n:
 * none. */
static uint32_t place_of(const struct bj_gpu_set *set,
                         const struct bj_gpu_set *from, uint32_t from_at)
{
    const struct bj_gpu *want = &from->v[from_at], *g = set->v;
    const struct bj_gpu *parent =
        want->parent >= 0 ? &from->v[want->parent] : NULL;
    for (; g < set->v + set->n; g++) {
        if (parent ? g->parent >= 0 && g->gi == want->gi &&
                         same(parent->uuid, set->v[g->parent].uuid)
                   : g->parent < 0 &&
                         (same(want->uuid, g->uuid) || same(want->pci, g->pci)))
            break;
    }
    return (uint32_t)(g - set->v);
}

static void add_set(struct bj_gpu_set *set, const struct bj_gpu_set *from,
                    unsigned source)
{
    bool complete = true;
    for (uint32_t i = 0; i < from->n; i++) {
        uint32_t at = place_of(set, from, i);
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

bool bj_gpus_traced(const struct bj_gpu_set *set, const struct bj_gpu_job *j)
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
    if (!bj_gpus_traced(set, j) || h->sm_ppm == BJ_ABSENT)
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
