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

/* Values of a device whose driver does not answer are none; what has been
 * counted stays. */
static void put_values(const struct bj_gpu_dev *d, struct bj_gpu_use *u)
{
    struct bj_sub sub = u->sub;
    if (d->fresh)
        *u = d->now.use;
    else
        memset(u, 0xff, sizeof(*u));
    u->sub = sub;
    u->success = d->fresh && !d->now.failed;
    u->errors = d->errors;
    u->energy_uj = u->energy_resets = BJ_ABSENT;
    if (d->energy.stamp_usec != 0 && d->now.parent < 0) {
        u->energy_uj = d->energy.total_uj;
        u->energy_resets = d->energy.resets;
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
    put_label(&snap->gpu_models, u, bj_core_clean(a, d->now.model), 1);
    put_label(&snap->gpu_addresses, u, bj_core_clean(a, d->now.pci), 1);
    if (d->parent >= 0)
        put_label(&snap->gpu_parents, u,
                  bj_core_clean(a, g->dev[d->parent].now.uuid), 1);
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
        v[n].devices = 0;
        for (size_t i = 0; i < g->n; i++)
            v[n].devices += g->dev[i].kind == k && g->dev[i].there &&
                            g->dev[i].now.parent < 0;
        n++;
    }
    snap->gpu_sources = (struct bj_list){v, n};
}

void bj_gpus_publish(const struct bj_gpus *g, struct bj_snap *snap)
{
    struct bj_arena *a = &snap->arena;
    size_t n = 0;
    publish_sources(g, snap);
    for (size_t i = 0; i < g->n; i++)
        n += g->dev[i].there;
    if (n == 0 || !make_list(&snap->gpus, a, n, sizeof(struct bj_gpu_use)) ||
        !make_list(&snap->gpu_models, a, n, sizeof(struct bj_gpu_label)) ||
        !make_list(&snap->gpu_addresses, a, n, sizeof(struct bj_gpu_label)) ||
        !make_list(&snap->gpu_parents, a, n, sizeof(struct bj_gpu_label)) ||
        !make_list(&snap->gpu_reasons, a, n * BJ_GPU_REASONS,
                   sizeof(struct bj_gpu_label)))
        return;
    for (size_t i = 0; i < g->n; i++) {
        const struct bj_gpu_dev *d = &g->dev[i];
        struct bj_gpu_use *u = (struct bj_gpu_use *)snap->gpus.v + snap->gpus.n;
        if (!d->there)
            continue;
        snap->gpus.n++;
        u->sub.key[0] = bj_core_clean(a, d->now.uuid);
        u->sub.key[1] = number(a, d->now.index);
        put_values(d, u);
        put_labels(g, d, u, snap);
    }
}
