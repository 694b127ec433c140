/* Accelerators in a snapshot. */
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

#include <stdio.h>

static struct bj_slice number(struct bj_arena *a, uint64_t v)
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
    u->instance =
        d->now.parent >= 0 && d->now.gi != UINT32_MAX ? d->now.gi : BJ_ABSENT;
    u->energy_uj = u->energy_resets = BJ_ABSENT;
    if (d->energy.stamp_usec != 0 && d->now.parent < 0) {
        u->energy_uj = d->copy[g->copies->shown].energy_uj;
        u->energy_resets = d->copy[g->copies->shown].energy_resets;
    }
}

static void put_label(struct bj_list *list, const struct bj_gpu_use *u,
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
    put_label(&snap->gpu_models, u, bj_core_label(a, d->now.model), 1);
    put_label(&snap->gpu_addresses, u, bj_core_label(a, d->now.pci), 1);
    if (d->parent >= 0)
        put_label(&snap->gpu_parents, u,
                  bj_core_label(a, g->dev[d->parent].now.uuid), 1);
    for (int i = 0; i < BJ_GPU_REASONS; i++)
        if (d->fresh && d->now.throttle != BJ_ABSENT)
            put_label(&snap->gpu_reasons, u, bj_slice_str(bj_gpu_reasons[i]),
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
        bj_arena_alloc(&snap->arena, BJ_GPU_KINDS * sizeof(*v));
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
        u->sub.key[1] = number(a, d->now.index);
        put_values(g, d, u);
        put_labels(g, d, u, snap);
    }
}

/* --- jobs -----------------------------------------------------------------*/

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
    /* Without a value of the device, use its only job's processes. */
    if (l.memory_bytes == BJ_ABSENT)
        l.memory_bytes = h->memory_bytes;
    if (l.busy_ppm == BJ_ABSENT && h->engines_known)
        l.busy_ppm = h->engine_ppm;
    return l;
}

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

struct bj_slice bj_gpus_source(unsigned evidence)
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

void bj_gpus_publish_job(const struct bj_gpus *g, const struct bj_track *t,
                         struct bj_arena *a, struct bj_job *job)
{
    size_t n = 0;
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
        p->sub.key[1] = number(a, dev->index);
        put_sums(g, h, p);
        put_levels(g, h, p);
        struct bj_gpu_label *l =
            (struct bj_gpu_label *)job->gpu_claims.v + job->gpu_claims.n;
        *l = (struct bj_gpu_label){.value = 1};
        l->sub.key[0] = p->sub.key[0];
        l->sub.key[1] = bj_gpus_source(h->evidence);
        job->gpu_claims.n += h->now;
    }
}
