/* Files with the jobs on each device, for dcgm-exporter. */
#include "core/gpu/gpus_impl.h"
#include "core/gpu/jobmap.h"
#include "core/internal.h"

#include <stdio.h>

enum { NVML };

/* Whether the device has a file. Several compute instances share that of their
 * GPU instance; instances without a known number have none. */
static bool is_named(const struct bj_gpu_dev *d)
{
    return d->present && d->kind == NVML && d->now.index != BJ_ABSENT &&
           (d->now.parent < 0 || d->now.gi != UINT32_MAX);
}

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

static bool has_name(const struct bj_gpu_dev *d, const char *name)
{
    char own[32];
    name_of(d, own);
    return is_named(d) && strcmp(own, name) == 0;
}

/* Whether this is the first device with that name: a name is written once, for
 * all devices with it. */
static bool is_first(const struct bj_gpus *g, size_t dev, const char *name)
{
    for (size_t i = 0; i < dev; i++)
        if (has_name(&g->dev[i], name))
            return false;
    return true;
}

static void put_device(const struct bj_gpus *g, size_t dev, struct bj_buf *map)
{
    char name[32];
    name_of(&g->dev[dev], name);
    if (!is_named(&g->dev[dev]) || !is_first(g, dev, name))
        return;
    for (size_t i = dev; i < g->n; i++)
        if (has_name(&g->dev[i], name))
            put_holders(g, i, name, map);
}

void bj_gpus_write_map(struct bj_gpus *g)
{
    struct bj_buf map = {0}, copy = {0};
    /* While claims are missing, the files of an earlier process may be more
     * complete. */
    if (bj_gpus_waits(g))
        return;
    for (size_t i = 0; i < g->n; i++)
        put_device(g, i, &map);
    bj_buf_put(&map, "", 1);
    bool same = map.len == g->map.len && memcmp(map.p, g->map.p, map.len) == 0;
    if (!same && !map.failed) {
        bj_buf_put(&copy, map.p, map.len - 1);
        if (!copy.failed) {
            bj_gpu_lookup_map(g->lookup, &copy);
            bj_buf_free(&g->map);
            g->map = map;
            map = (struct bj_buf){0};
        }
    }
    bj_buf_free(&copy);
    bj_buf_free(&map);
}
