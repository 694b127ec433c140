/* Accelerators in final records (docs/records.md). */
#include "base/json.h"
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

static void put(struct bj_json_out *o, const char *name, uint64_t v)
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

static void put_text(struct bj_json_out *o, const char *name, const char *text)
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

static void put_gpu(const struct bj_gpus *g, size_t dev, unsigned evidence,
                    bool estimated, const struct bj_gpu_sums *s,
                    struct bj_json_out *o)
{
    const struct bj_gpu_dev *d = &g->dev[dev];
    bj_json_put_key(o, bj_slice_str(d->now.uuid));
    bj_json_put_object(o, NULL);
    put(o, "index", d->now.index);
    put_text(o, "model", d->now.model);
    bj_json_put_str(o, "source", bj_gpus_source(evidence));
    put(o, "held_usec", s->held_usec);
    put(o, "idle_usec", s->idle_usec);
    put_mean(o, "busy_ppm", &s->busy);
    put_mean(o, "sm_active_ppm", &s->sm);
    put(o, "memory_peak_bytes", s->memory_peak_bytes);
    if (g->metered)
        put(o, "energy_uj", s->energy_uj);
    put_engines(o, s);
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
        put_gpu(g, h->dev, h->evidence, h->ever_estimated, &h->sums, o);
    }
    if (any)
        bj_json_put_end(o);
}

void bj_gpus_final_orphan(const struct bj_gpus *g, struct bj_slice key,
                          struct bj_json_out *o)
{
    bool any = false;
    for (size_t i = 0; i < g->nkept; i++) {
        const struct bj_gpu_kept *k = &g->kept[i];
        if (!bj_slice_eq(bj_slice_str(k->key), key))
            continue;
        if (!any)
            bj_json_put_object(o, "gpus");
        any = true;
        put_gpu(g, k->dev, k->evidence, k->estimated, &k->sums, o);
    }
    if (any)
        bj_json_put_end(o);
}
