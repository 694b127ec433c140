/* Accelerators over time: devices, snapshots and final records. */
#include "core/gpu/gpus.h"

#include "base/array.h"
#include "base/json.h"
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

#include <stdio.h>
#include <stdlib.h>

const struct bj_gpu_kind *const bj_gpu_kinds[BJ_GPU_KINDS] = {
    [BJ_GPU_NVIDIA] = &bj_gpu_nvml,
    &bj_gpu_amd,
    &bj_gpu_intel, /* BJ_GPU_OVER: */
    &bj_gpu_fdinfo,
    &bj_gpu_dcgm,
    &bj_gpu_rocm,
    &bj_gpu_level_zero};

/* --- accelerators in a snapshot -------------------------------------------*/

static struct bj_slice gpus_number(struct bj_arena *a, uint64_t v)
{
    char text[24];
    if (v == BJ_ABSENT)
        return BJ_SLICE("");
    int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
    return bj_arena_copy(a, (struct bj_slice){text, (size_t)n});
}

/* Publish the values of a device. If its driver does not respond, it has no
 * levels; its counters stay. */
static void put_values(const struct bj_gpus *g, const struct bj_gpu_dev *d,
                       struct bj_gpu_use *u)
{
    struct bj_sub sub = u->sub;
    if (d->fresh)
        *u = d->now.use;
    else
        memset(u, 0xff, sizeof(*u));
    u->sub = sub;
    u->success = d->fresh && !d->now.failed;
    u->errors = d->errors;
    u->xids = d->now.use.xids;
    u->last_xid = d->now.use.last_xid;
    u->last_error = d->now.use.last_error;
    u->health = bj_gpus_health(d);
    u->incidents = d->now.use.xids != BJ_ABSENT || g->health.log >= 0
                       ? d->health.incidents
                       : BJ_ABSENT;
    if (d->now.parent >= 0)
        u->incidents = BJ_ABSENT;
    u->instance =
        d->now.parent >= 0 && d->now.gi != UINT32_MAX ? d->now.gi : BJ_ABSENT;
    u->energy_uj = u->energy_resets = BJ_ABSENT;
    if (d->energy.stamp_usec != 0 && d->now.parent < 0) {
        u->energy_uj = d->copy[g->copies->shown].energy_uj;
        u->energy_resets = d->copy[g->copies->shown].energy_resets;
    }
}

static void gpus_put_label(struct bj_list *list, const struct bj_gpu_use *u,
                           struct bj_slice text, uint64_t value)
{
    struct bj_gpu_label *l = (struct bj_gpu_label *)list->v + list->n;
    if (text.n == 0)
        return;
    *l = (struct bj_gpu_label){.value = value};
    l->sub.key[0] = u->sub.key[0];
    l->sub.key[1] = u->sub.key[1];
    l->sub.key[2] = text;
    list->n++;
}

static void put_labels(const struct bj_gpus *g, const struct bj_gpu_dev *d,
                       const struct bj_gpu_use *u, struct bj_snap *snap)
{
    struct bj_arena *a = &snap->arena;
    gpus_put_label(&snap->gpu_models, u, bj_core_label(a, d->now.model), 1);
    gpus_put_label(&snap->gpu_addresses, u, bj_core_label(a, d->now.pci), 1);
    if (d->parent >= 0)
        gpus_put_label(&snap->gpu_parents, u,
                       bj_core_label(a, g->dev[d->parent].now.uuid), 1);
    for (int i = 0; i < BJ_GPU_REASONS; i++)
        if (d->fresh && d->now.throttle != BJ_ABSENT)
            gpus_put_label(&snap->gpu_reasons, u,
                           bj_slice_str(bj_gpu_reasons[i]),
                           d->now.throttle >> i & 1);
}

static bool make_list(struct bj_list *list, struct bj_arena *a, size_t n,
                      size_t size)
{
    list->n = 0;
    list->v = bj_arena_alloc(a, n * size);
    return list->v != NULL;
}

static void publish_sources(const struct bj_gpus *g, struct bj_snap *snap)
{
    struct bj_gpu_source *v =
        bj_arena_alloc(&snap->arena, (BJ_GPU_KINDS + 1) * sizeof(*v));
    uint64_t now = bj_clock_boot_usec();
    size_t n = 0;
    for (unsigned k = 0; v && k < BJ_GPU_KINDS; k++) {
        const struct bj_gpu_watch_stat *s = &g->stat[k];
        if (!s->ran)
            continue;
        v[n].sub.key[0] = bj_slice_str(bj_gpu_kinds[k]->name);
        v[n].success = s->running && !s->failing && !s->hung;
        v[n].errors = s->faults;
        v[n].age_usec = s->good_usec && s->good_usec <= now ? now - s->good_usec
                                                            : BJ_ABSENT;
        v[n].duration_usec = s->duration_usec;
        v[n].devices = k >= BJ_GPU_OVER && g->set[k] ? g->set[k]->n : 0;
        for (size_t i = 0; i < g->n; i++)
            v[n].devices += g->dev[i].kind == k && g->dev[i].present &&
                            g->dev[i].now.parent < 0;
        n++;
    }
    if (v && g->health.log >= 0)
        v[n++] = (struct bj_gpu_source){.sub.key[0] = BJ_SLICE("kernel_log"),
                                        .success = 1,
                                        .errors = g->health.lost,
                                        .age_usec = BJ_ABSENT,
                                        .duration_usec = BJ_ABSENT,
                                        .devices = BJ_ABSENT};
    snap->gpu_sources = (struct bj_list){v, n};
}

static void publish_conflicts(const struct bj_gpus *g, struct bj_snap *snap)
{
    enum { KINDS = BJ_GPU_CONFLICTS - BJ_GPU_AGREED - 1 };
    struct bj_gpu_label *v = bj_arena_alloc(&snap->arena, KINDS * sizeof(*v));
    for (int i = 0; v && i < KINDS; i++) {
        v[i].sub.key[0] = bj_slice_str(bj_gpu_conflict_names[i + 1]);
        v[i].value = g->conflicts[i + 1];
    }
    snap->gpu_conflicts = (struct bj_list){v, v ? KINDS : 0};
}

void bj_gpus_publish(const struct bj_gpus *g, struct bj_snap *snap)
{
    struct bj_arena *a = &snap->arena;
    size_t n = 0;
    publish_sources(g, snap);
    for (size_t i = 0; i < g->n; i++)
        n += g->dev[i].present;
    if (n == 0 || !make_list(&snap->gpus, a, n, sizeof(struct bj_gpu_use)) ||
        !make_list(&snap->gpu_models, a, n, sizeof(struct bj_gpu_label)) ||
        !make_list(&snap->gpu_addresses, a, n, sizeof(struct bj_gpu_label)) ||
        !make_list(&snap->gpu_parents, a, n, sizeof(struct bj_gpu_label)) ||
        !make_list(&snap->gpu_reasons, a, n * BJ_GPU_REASONS,
                   sizeof(struct bj_gpu_label)))
        return;
    publish_conflicts(g, snap);
    for (size_t i = 0; i < g->n; i++) {
        const struct bj_gpu_dev *d = &g->dev[i];
        struct bj_gpu_use *u = (struct bj_gpu_use *)snap->gpus.v + snap->gpus.n;
        if (!d->present)
            continue;
        snap->gpus.n++;
        u->sub.key[0] = bj_core_label(a, d->now.uuid);
        u->sub.key[1] = gpus_number(a, d->now.index);
        put_values(g, d, u);
        put_labels(g, d, u, snap);
    }
}

/* --- jobs -----------------------------------------------------------------*/

/* Publish the levels of a job; the power of an instance is unknown. */
static void put_levels(const struct bj_gpus *g, const struct bj_gpu_hold *h,
                       struct bj_gpu_part *p)
{
    const struct bj_gpu_dev *d = &g->dev[h->dev];
    const struct bj_gpu_use *u = &d->now.use;
    struct bj_gpu_levels l = bj_gpus_levels(g, h);
    p->share_ppm = p->estimated = p->busy_ppm = BJ_ABSENT;
    p->memory_used_bytes = p->power_uw = p->processes = BJ_ABSENT;
    if (!h->now || !d->fresh)
        return;
    p->share_ppm = h->share_ppm;
    p->estimated = h->estimated || d->parent >= 0;
    p->processes = h->processes;
    p->memory_used_bytes = l.memory_bytes;
    p->busy_ppm = l.busy_ppm;
    if (u->power_uw != BJ_ABSENT)
        p->power_uw =
            (uint64_t)((double)u->power_uw * (double)h->share_ppm / 1000000 +
                       0.5);
}

/* The best evidence for a hold: devices, prolog, scheduler, process,
 * environ. */
static struct bj_slice gpus_source(unsigned evidence)
{
    return evidence & BJ_GPU_OPENS      ? BJ_SLICE("devices")
           : evidence & BJ_GPU_NOTED    ? BJ_SLICE("prolog")
           : evidence & BJ_GPU_ALLOTTED ? BJ_SLICE("scheduler")
           : evidence & BJ_GPU_RUNS     ? BJ_SLICE("process")
                                        : BJ_SLICE("environ");
}

/* Publish the accumulated values. */
static void put_sums(const struct bj_gpus *g, const struct bj_gpu_hold *h,
                     struct bj_gpu_part *p)
{
    const struct bj_gpu_sums *s = &h->copy[g->copies->shown];
    p->held_usec = s->held_usec;
    p->idle_usec = s->idle_usec;
    p->energy_uj = g->metered ? s->energy_uj : BJ_ABSENT;
}

/* Whether the job has held the device at some time. */
static bool counts(const struct bj_gpu_hold *h, const struct bj_track *t)
{
    return h->track == t && h->evidence != 0;
}

/* Conflicts about GPUs of the job, bits of enum bj_gpu_conflict. */
static unsigned conflicts_of(const struct bj_gpus *g, const struct bj_track *t)
{
    unsigned bits = 0;
    for (size_t i = 0; i < g->nholds; i++)
        if (g->hold[i].track == t)
            bits |= g->hold[i].sums.conflicts;
    for (size_t i = 0; i < g->njobs; i++)
        if (g->job[i]->track == t && g->job[i]->unresolved)
            bits |= 1u << BJ_GPU_UNRESOLVED;
    return bits;
}

static void publish_doubts(unsigned bits, struct bj_arena *a,
                           struct bj_job *job)
{
    if (bits == 0 || !make_list(&job->gpu_conflicts, a, BJ_GPU_CONFLICTS,
                                sizeof(struct bj_gpu_label)))
        return;
    struct bj_gpu_label *v = job->gpu_conflicts.v;
    for (unsigned i = 0; i < BJ_GPU_CONFLICTS; i++)
        if (bits & 1u << i) {
            struct bj_gpu_label *l = &v[job->gpu_conflicts.n++];
            *l = (struct bj_gpu_label){.value = 1};
            l->sub.key[0] = bj_slice_str(bj_gpu_conflict_names[i]);
        }
}

/* "gpu_conflicts":["double"] */
static void put_conflicts(struct bj_json_out *o, unsigned bits)
{
    if (bits == 0)
        return;
    bj_json_put_array(o, "gpu_conflicts");
    for (unsigned i = 0; i < BJ_GPU_CONFLICTS; i++)
        if (bits & 1u << i)
            bj_json_put_str(o, NULL, bj_slice_str(bj_gpu_conflict_names[i]));
    bj_json_put_end(o);
}

void bj_gpus_publish_job(const struct bj_gpus *g, const struct bj_track *t,
                         struct bj_arena *a, struct bj_job *job)
{
    size_t n = 0;
    publish_doubts(conflicts_of(g, t), a, job);
    for (size_t i = 0; i < g->nholds; i++)
        n += counts(&g->hold[i], t);
    if (n == 0 || !make_list(&job->gpus, a, n, sizeof(struct bj_gpu_part)) ||
        !make_list(&job->gpu_claims, a, n, sizeof(struct bj_gpu_label)))
        return;
    for (size_t i = 0; i < g->nholds; i++) {
        const struct bj_gpu_hold *h = &g->hold[i];
        const struct bj_gpu *dev = &g->dev[h->dev].now;
        if (!counts(h, t))
            continue;
        struct bj_gpu_part *p =
            (struct bj_gpu_part *)job->gpus.v + job->gpus.n++;
        p->sub.key[0] = bj_core_label(a, dev->uuid);
        p->sub.key[1] = gpus_number(a, dev->index);
        put_sums(g, h, p);
        put_levels(g, h, p);
        struct bj_gpu_label *l =
            (struct bj_gpu_label *)job->gpu_claims.v + job->gpu_claims.n;
        *l = (struct bj_gpu_label){.value = 1};
        l->sub.key[0] = p->sub.key[0];
        l->sub.key[1] = gpus_source(h->evidence);
        job->gpu_claims.n += h->now;
    }
}

/* --- accelerators in final records (docs/records.md) ----------------------*/

static void gpus_put(struct bj_json_out *o, const char *name, uint64_t v)
{
    if (v != BJ_ABSENT)
        bj_json_put_u64(o, name, v);
}

static void put_mean(struct bj_json_out *o, const char *name,
                     const struct bj_gpu_mean *m)
{
    if (m->of_usec > 0)
        bj_json_put_u64(
            o, name,
            (uint64_t)((double)m->sum_usec * 1e6 / (double)m->of_usec + 0.5));
}

static void gpus_put_text(struct bj_json_out *o, const char *name,
                          const char *text)
{
    if (*text)
        bj_json_put_str(o, name, bj_slice_str(text));
}

static void put_engines(struct bj_json_out *o, const struct bj_gpu_sums *s)
{
    if (s->nengines == 0)
        return;
    bj_json_put_object(o, "engines_usec");
    for (unsigned i = 0; i < s->nengines; i++) {
        bj_json_put_key(o, bj_slice_str(s->engine[i].name));
        bj_json_put_u64(o, NULL, s->engine[i].busy_usec);
    }
    bj_json_put_end(o);
}

static void gpus_put_gpu(const struct bj_gpus *g, size_t dev, unsigned evidence,
                         bool estimated, const struct bj_gpu_sums *s,
                         struct bj_json_out *o)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    bj_json_put_key(o, bj_slice_str(d->now.uuid));
    bj_json_put_object(o, NULL);
    gpus_put(o, "index", d->now.index);
    gpus_put_text(o, "model", d->now.model);
    bj_json_put_str(o, "source", gpus_source(evidence));
    gpus_put(o, "held_usec", s->held_usec);
    gpus_put(o, "idle_usec", s->idle_usec);
    put_mean(o, "busy_ppm", &s->busy);
    put_mean(o, "sm_active_ppm", &s->sm);
    gpus_put(o, "memory_peak_bytes", s->memory_peak_bytes);
    if (g->metered)
        gpus_put(o, "energy_uj", s->energy_uj);
    put_engines(o, s);
    if (s->fault.state != BJ_GPU_OK) {
        bj_json_put_str(o, "fault",
                        bj_slice_str(bj_gpu_states[s->fault.state]));
        bj_json_put_u64(o, "fault_xid", s->fault.xid);
        bj_json_put_u64(o, "fault_time", s->fault.wall_sec);
        bj_json_put_str(o, "fault_evidence",
                        s->fault.by_process ? BJ_SLICE("process")
                                            : BJ_SLICE("holder"));
    }
    bj_json_put_bool(o, "estimated", estimated);
    bj_json_put_end(o);
}

void bj_gpus_final(const struct bj_gpus *g, const struct bj_track *t,
                   struct bj_json_out *o)
{
    bool any = false;
    for (size_t i = 0; i < g->nholds; i++) {
        const struct bj_gpu_hold *h = &g->hold[i];
        if (h->track != t || h->evidence == 0)
            continue;
        if (!any)
            bj_json_put_object(o, "gpus");
        any = true;
        gpus_put_gpu(g, h->dev, h->evidence, h->ever_estimated, &h->sums, o);
    }
    if (any)
        bj_json_put_end(o);
    put_conflicts(o, conflicts_of(g, t));
}

void bj_gpus_final_orphan(const struct bj_gpus *g, struct bj_slice key,
                          struct bj_json_out *o)
{
    bool any = false;
    unsigned conflicts = 0;
    for (size_t i = 0; i < g->nkept; i++) {
        const struct bj_gpu_kept *k = &g->kept[i];
        if (!bj_slice_eq(bj_slice_str(k->key), key))
            continue;
        if (!any)
            bj_json_put_object(o, "gpus");
        any = true;
        conflicts |= k->sums.conflicts;
        gpus_put_gpu(g, k->dev, k->evidence, k->estimated, &k->sums, o);
    }
    if (any)
        bj_json_put_end(o);
    put_conflicts(o, conflicts);
}

enum { SECOND = 1000000, HANG_USEC = 10 * SECOND };

/* Refuse directories in which our own files would count as evidence. */
static int check_dirs(const struct bj_conf *conf, struct bj_err *err)
{
    const char *ours = conf->gpu_job_map_dir ? conf->gpu_job_map_dir : "";
    for (size_t i = 0; *ours && i < conf->gpu_map_dirs.n; i++)
        if (strcmp(conf->gpu_map_dirs.v[i], ours) == 0)
            return bj_err_set(err, -EINVAL,
                              "gpu.job-map-dir: %s: the prolog writes there "
                              "(gpu.map-dir)",
                              ours);
    return 0;
}

static int make_scheduler(struct bj_gpus *g,
                          const struct bj_gpu_lookup_conf *as)
{
    const struct bj_strv none = {0};
    const struct bj_gpu_allot_conf allot = {g->conf->scheduler.path,
                                            g->conf->scheduler.slurm_conf};
    const struct bj_gpu_lookup_conf lookup = {
        .procfs = as->procfs, .note_dirs = &none, .allot = &allot};
    return g->conf->gpu_ask_scheduler
               ? bj_gpu_lookup_new(&lookup, &g->host, &g->scheduler)
               : 0;
}

int bj_gpus_new(const struct bj_conf *conf, const struct bj_host *host,
                const struct bj_copies *copies, struct bj_gpus **ret,
                struct bj_err *err)
{
    int r = check_dirs(conf, err);
    struct bj_gpus *g = r == 0 ? calloc(1, sizeof(*g)) : NULL;
    struct bj_gpu_env env = {.procfs = conf->procfs ? conf->procfs : "/proc",
                             .sysfs = conf->sysfs ? conf->sysfs : "/sys",
                             .nvml = conf->gpu_nvml,
                             .rocm = conf->gpu_rocm,
                             .level_zero = conf->gpu_level_zero,
                             .dcgm = conf->gpu_dcgm};
    uint64_t period = conf->gpu_usec ? conf->gpu_usec : 5 * SECOND;
    if (!g)
        return r < 0 ? r : bj_err_set(err, -ENOMEM, "GPUs");
    g->conf = conf;
    g->host = *host;
    g->copies = copies;
    g->order = bj_gpu_order_of(conf->gpu_order);
    r = bj_gpus_health_open(g, err);
    if (r < 0) {
        bj_gpus_free(g);
        return r;
    }
    env.places = g->places = bj_gpu_places_new();
    const struct bj_gpu_lookup_conf lookup = {.procfs = env.procfs,
                                              .note_dirs = &conf->gpu_map_dirs,
                                              .map_dir = conf->gpu_job_map_dir};
    if (!g->places || bj_gpu_lookup_new(&lookup, host, &g->lookup) < 0 ||
        make_scheduler(g, &lookup) < 0) {
        bj_gpus_free(g);
        return bj_err_set(err, -ENOMEM, "GPUs");
    }
    for (int i = 0; i < BJ_GPU_KINDS; i++)
        if (bj_gpu_watch_new(bj_gpu_kinds[i], &env, host, period, HANG_USEC,
                             &g->watch[i]) < 0) {
            bj_gpus_free(g);
            return bj_err_set(err, -ENOMEM, "GPUs");
        }
    *ret = g;
    return 0;
}

void bj_gpus_free(struct bj_gpus *g)
{
    if (!g)
        return;
    for (int i = 0; i < BJ_GPU_KINDS; i++) {
        bj_gpu_watch_free(g->watch[i]);
        free(g->set[i]);
    }
    bj_gpus_jobs_free(g);
    bj_gpus_health_close(g);
    bj_gpu_places_unref(g->places);
    bj_buf_free(&g->map);
    while (g->nkept > 0)
        free(g->kept[--g->nkept].key);
    free(g->kept);
    free(g->dev);
    free(g);
}

bool bj_gpus_search(struct bj_gpus *g, uint64_t now_usec)
{
    if (now_usec < g->search_usec)
        return g->any;
    g->search_usec = now_usec + SECOND;
    unsigned present = 0;
    for (unsigned i = 0; i < BJ_GPU_OVER; i++)
        present |= (unsigned)bj_gpu_watch_search(g->watch[i], now_usec) << i;
    g->any = present != 0;
    bj_gpus_over_search(g, present, now_usec);
    return g->any;
}

bool bj_gpus_hurry(struct bj_gpus *g, uint64_t now_usec, uint64_t gap_usec)
{
    bool any = false;
    for (int i = 0; i < BJ_GPU_KINDS; i++)
        any |= bj_gpu_watch_hurry(g->watch[i], now_usec, gap_usec);
    return any;
}

void bj_gpus_await(struct bj_gpus *g, uint64_t end_usec)
{
    for (int i = 0; i < BJ_GPU_KINDS; i++)
        bj_gpu_watch_await(g->watch[i], end_usec);
}

void bj_gpus_page(struct bj_gpus *g, uint64_t now_usec, uint64_t gap_usec)
{
    for (int i = 0; i < BJ_GPU_KINDS; i++)
        bj_gpu_watch_page(g->watch[i], now_usec, gap_usec);
}

/* --- devices --------------------------------------------------------------*/

/* Whether a device is missing and not referenced any more. */
static bool forgotten(const struct bj_gpus *g, size_t at)
{
    if (g->dev[at].present || g->dev[at].number != BJ_ABSENT)
        return false;
    for (size_t i = 0; i < g->njobs; i++)
        if (bj_gpus_names(&g->job[i]->claim_named, at) ||
            bj_gpus_names(&g->job[i]->allot_named, at) ||
            bj_gpus_names(&g->job[i]->file_named, at))
            return false;
    for (size_t i = 0; i < g->nnotes; i++)
        if (bj_gpus_names(&g->notes[i].named, at))
            return false;
    for (size_t i = 0; i < g->nholds; i++)
        if (g->hold[i].dev == at)
            return false;
    for (size_t i = 0; i < g->nkept; i++)
        if (g->kept[i].dev == at)
            return false;
    for (size_t i = 0; i < g->n; i++)
        if (g->dev[i].present && g->dev[i].parent == (int)at)
            return false;
    return true;
}

/* A place for another device.  As instances come and go, places of forgotten
 * devices are reused when the maximum is reached. */
static struct bj_gpu_dev *free_dev(struct bj_gpus *g)
{
    for (size_t i = 0; i < g->n && g->n == BJ_GPU_DEVS_MAX; i++)
        if (forgotten(g, i))
            return &g->dev[i];
    if (g->n == BJ_GPU_DEVS_MAX)
        return NULL;
    return BJ_GROW(g->dev, g->n + 1, g->cap) ? &g->dev[g->n++] : NULL;
}

struct bj_gpu_dev *bj_gpus_dev(struct bj_gpus *g, const char *uuid)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->dev[i].now.uuid, uuid) == 0)
            return &g->dev[i];
    struct bj_gpu_dev *d = free_dev(g);
    if (!d)
        return NULL;
    *d = (struct bj_gpu_dev){
        .parent = -1,
        .number = BJ_ABSENT,
        .idle_uw = BJ_ABSENT,
        .level_uw = BJ_ABSENT,
        .copy = {{BJ_ABSENT, BJ_ABSENT}, {BJ_ABSENT, BJ_ABSENT}},
        .energy = {.power_uw = BJ_ABSENT, .limit_uw = BJ_ABSENT}};
    return d;
}

void bj_gpus_count(const struct bj_gpus *g, const struct bj_gpu_dev *d,
                   struct bj_accum *a)
{
    /* Counters of two sources differ by any amount: another one counts only
     * after the first has been silent, and from there on. */
    bool other = a->counter_stamp_usec != 0 && d->counter != d->now.counter;
    bool silent = d->stamp_usec - a->counter_stamp_usec >
                  BJ_GPU_FRESH * bj_gpus_period(g->conf);
    bool take = !other || silent;
    const struct bj_zone_sample s = {.role = BJ_ZONE_GPU,
                                     .energy_uj = take ? d->now.energy_raw_uj
                                                       : BJ_ABSENT,
                                     .restarted = other,
                                     .range_uj = BJ_ABSENT,
                                     .power_uw = d->now.use.power_uw,
                                     .limit_uw = d->now.use.power_limit_uw,
                                     .max_uw = d->now.use.power_limit_uw,
                                     .stamp_usec = d->stamp_usec};
    bj_accum_take(a, &s, d->stamp_usec, bj_gpus_period(g->conf));
}

/* Count a new reading of a device, and use the power that it results in.  No
 * GPU that works draws 0 W.  Log the first implausible reading. */
static void gpus_count(struct bj_gpus *g, struct bj_gpu_dev *d)
{
    uint64_t before = d->energy.implausible;
    if (d->now.use.power_uw == 0)
        d->now.use.power_uw = BJ_ABSENT;
    bj_gpus_count(g, d, &d->energy);
    if (d->now.energy_raw_uj != BJ_ABSENT &&
        d->energy.counter_stamp_usec == d->stamp_usec)
        d->counter = d->now.counter;
    d->now.use.power_uw =
        d->energy.power_uw > 0 ? d->energy.power_uw : BJ_ABSENT;
    if (d->energy.implausible == before)
        return;
    d->errors += d->energy.implausible - before;
    if (before > 0)
        return;
    char text[BJ_ACCUM_TEXT];
    bj_accum_held_text(&d->energy, text, sizeof(text));
    bj_host_log(&g->host, BJ_LOG_WARN, NULL, "GPU %s: %s", d->now.uuid, text);
}

/* Take a new set.  First mark which devices exist, so that a new device does
 * not get the place of one that follows in the set. */
static void take_set(struct bj_gpus *g, unsigned kind)
{
    const struct bj_gpu_set *set = g->set[kind];
    for (size_t i = 0; i < g->n; i++)
        if (g->dev[i].kind == kind)
            g->dev[i].present = bj_gpus_lists(set, g->dev[i].now.uuid);
    for (size_t i = 0; i < set->n; i++) {
        const struct bj_gpu *now = &set->v[i];
        struct bj_gpu_dev *d = bj_gpus_dev(g, now->uuid);
        if (!d || d->stamp_usec == set->begun_usec)
            continue;
        if (!d->present)
            d->since_usec = set->begun_usec;
        d->now = *now;
        d->kind = kind;
        d->present = true;
        d->before_usec = d->stamp_usec;
        d->stamp_usec = set->begun_usec;
        d->errors += now->failed;
        d->parent = -1;
        for (size_t k = 0; now->parent >= 0 && k < g->n; k++)
            if (strcmp(g->dev[k].now.uuid, set->v[now->parent].uuid) == 0)
                d->parent = (int)k;
        d->number = now->parent < 0 ? now->index : BJ_ABSENT;
        if (now->parent < 0)
            gpus_count(g, d);
    }
}

/* The driver was unloaded, or its last device has gone: not an error, not
 * logged. */
static void lose(struct bj_gpus *g, unsigned kind)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->dev[i].kind == kind)
            g->dev[i].present = g->dev[i].fresh = false;
    for (size_t i = 0; i < g->nholds; i++)
        if (g->dev[g->hold[i].dev].kind == kind)
            g->hold[i].now = g->hold[i].pending = false;
}

/* Read one source; true if it has new values. */
static bool read_kind(struct bj_gpus *g, unsigned kind, uint64_t now_usec)
{
    if (!bj_gpu_watch_search(g->watch[kind], now_usec)) {
        bj_gpu_watch_stat(g->watch[kind], now_usec, &g->stat[kind]);
        lose(g, kind);
        return false;
    }
    if (!g->set[kind])
        g->set[kind] = calloc(1, sizeof(*g->set[kind]));
    if (!g->set[kind])
        return false;
    bool news = bj_gpu_watch_take(g->watch[kind], g->set[kind]);
    if (news) {
        bj_gpus_over_add(g, g->set[kind], kind);
        bj_gpu_set_number(g->set[kind]);
        bj_gpus_keep_numbers(g, g->set[kind], kind);
        take_set(g, kind);
    }
    bj_gpu_watch_stat(g->watch[kind], now_usec, &g->stat[kind]);
    bool fresh =
        !g->stat[kind].hung &&
        now_usec < g->set[kind]->stamp_usec + BJ_GPU_FRESH * g->conf->gpu_usec;
    for (size_t i = 0; i < g->n; i++)
        if (g->dev[i].kind == kind)
            g->dev[i].fresh = fresh && g->dev[i].present;
    return news;
}

void bj_gpus_copy(struct bj_gpus *g)
{
    unsigned last = g->copies->last;
    for (size_t i = 0; i < g->n; i++) {
        g->dev[i].copy[last].energy_uj = g->dev[i].energy.total_uj;
        g->dev[i].copy[last].energy_resets = g->dev[i].energy.resets;
    }
    for (size_t i = 0; i < g->nholds; i++)
        g->hold[i].copy[last] = g->hold[i].sums;
}

/* The order matters: energy must go to the job that held the device while it
 * was used.  Frequent scrapes must not read claims each time. */
static void read_news(struct bj_gpus *g, struct bj_core *core, bool any,
                      const bool news[BJ_GPU_KINDS])
{
    if (any || core->now_usec >= g->claims_usec) {
        g->claims_usec = core->now_usec + SECOND;
        bj_gpus_find_claims(g, core);
        bj_gpus_over_set_jobs(g);
    }
    for (unsigned k = 0; k < BJ_GPU_OVER; k++)
        if (news[k]) {
            bj_gpus_update_holds(g, core, k);
            bj_gpus_meter(g, k);
        }
    if (any && g->conf->gpu_job_map_dir && *g->conf->gpu_job_map_dir)
        bj_gpus_write_map(g);
    if (!core->energy) /* nothing is saved: show the values at once */
        bj_gpus_copy(g);
}

void bj_gpus_read(struct bj_gpus *g, struct bj_core *core)
{
    if (!bj_gpus_search(g, core->now_usec) && g->n == 0)
        return;
    uint64_t begun = bj_clock_boot_usec(), faults = 0;
    bool news = false, fresh[BJ_GPU_KINDS] = {false};
    bj_gpus_over_take(g, core->now_usec);
    for (unsigned k = 0; k < BJ_GPU_OVER; k++)
        news |= fresh[k] = read_kind(g, k, core->now_usec);
    for (unsigned k = 0; k < BJ_GPU_KINDS; k++)
        faults += g->stat[k].faults;
    read_news(g, core, news, fresh);
    bj_gpus_health_update(g, core);
    if (!news && faults == g->faults)
        return;
    struct bj_err err = {0};
    bj_err_set(&err, 0, "a GPU or its driver has failed");
    bj_core_run_done(core, BJ_COLLECT_GPU, begun, faults - g->faults, &err);
    g->faults = faults;
}
