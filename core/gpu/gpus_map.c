/* Who holds what, for dcgm-exporter. */
#include "core/gpu/gpus_impl.h"
#include "core/gpu/jobmap.h"
#include "core/internal.h"

#include <stdio.h>

enum { NVML };

/* Several compute instances are one file, that of their GPU instance. */
static void name_of(const struct bj_gpu_dev *d, char name[32])
{
    if (d->now.parent < 0)
        snprintf(name, 32, "%llu", (unsigned long long)d->now.index);
    else
        snprintf(name, 32, "%llu.%u", (unsigned long long)d->now.index,
                 d->now.gi);
}

static void put_holders(const struct bj_gpus *g, size_t dev, const char *name,
                        struct bj_buf *map)
{
    for (size_t i = 0; i < g->nholds; i++) {
        if (!bj_gpus_holds(&g->hold[i], dev))
            continue;
        struct bj_slice id = g->hold[i].track->ident->f[BJ_ID_JOBID];
        if (bj_gpu_jobmap_fits(id))
            bj_gpu_jobmap_put(map, name, id);
    }
}

/* A name is put once: with its first device, for all of that name. */
static bool is_first(const struct bj_gpus *g, size_t dev, const char *name)
{
    char other[32];
    for (size_t i = 0; i < dev; i++) {
        name_of(&g->dev[i], other);
        if (g->dev[i].there && g->dev[i].kind == NVML &&
            strcmp(other, name) == 0)
            return false;
    }
    return true;
}

static void put_device(const struct bj_gpus *g, size_t dev, struct bj_buf *map)
{
    char name[32], other[32];
    const struct bj_gpu_dev *d = &g->dev[dev];
    if (!d->there || d->kind != NVML || d->now.index == BJ_ABSENT)
        return;
    name_of(d, name);
    if (!is_first(g, dev, name))
        return;
    for (size_t i = dev; i < g->n; i++) {
        name_of(&g->dev[i], other);
        if (g->dev[i].there && g->dev[i].kind == NVML &&
            strcmp(other, name) == 0)
            put_holders(g, i, name, map);
    }
}

void bj_gpus_tell_dcgm(struct bj_gpus *g)
{
    struct bj_buf map = {0}, copy = {0};
    /* Before all jobs were asked we know less than the files may say. */
    if (bj_gpus_waits(g))
        return;
    for (size_t i = 0; i < g->n; i++)
        put_device(g, i, &map);
    bj_buf_put(&map, "", 1);
    bool same = map.len == g->map.len && memcmp(map.p, g->map.p, map.len) == 0;
    if (!same && !map.failed) {
        bj_buf_put(&copy, map.p, map.len - 1);
        if (!copy.failed) {
            bj_gpu_asker_map(g->asker, &copy);
            bj_buf_free(&g->map);
            g->map = map;
            map = (struct bj_buf){0};
        }
    }
    bj_buf_free(&copy);
    bj_buf_free(&map);
}
