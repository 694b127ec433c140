/* The positions of the energy counters over a restart:
 *
 * gpu UUID and the numbers of positions[] */
#include "core/gpu/gpus_impl.h"

#include <stdio.h>

#define AT(member) offsetof(struct bj_accum, member)
static const size_t positions[] = {AT(total_uj),         AT(raw_uj),
                                   AT(raw_power_uw),     AT(counter_stamp_usec),
                                   AT(power_stamp_usec), AT(stamp_usec),
                                   AT(resets),           AT(gaps)};
enum { POSITIONS = sizeof(positions) / sizeof(positions[0]) };

static uint64_t *at(struct bj_accum *a, size_t i)
{
    return (uint64_t *)(void *)((char *)a + positions[i]);
}

void bj_gpus_save(struct bj_gpus *g, struct bj_buf *out)
{
    for (size_t i = 0; i < g->n; i++) {
        struct bj_gpu_dev *d = &g->dev[i];
        struct bj_slice rest = bj_slice_str(d->now.uuid), word;
        if (d->energy.stamp_usec == 0 || !bj_slice_word(&rest, &word) ||
            rest.n > 0)
            continue;
        bj_buf_printf(out, "gpu %s", d->now.uuid);
        for (size_t k = 0; k < POSITIONS; k++) {
            bj_buf_put(out, " ", 1);
            bj_buf_u64(out, *at(&d->energy, k));
        }
        bj_buf_put(out, "\n", 1);
    }
}

static void load_line(struct bj_gpus *g, struct bj_slice line)
{
    struct bj_slice word;
    struct bj_accum a = {.power_uw = BJ_ABSENT, .limit_uw = BJ_ABSENT};
    char uuid[BJ_GPU_TEXT];
    if (!bj_slice_word(&line, &word) || word.n >= sizeof(uuid))
        return;
    snprintf(uuid, sizeof(uuid), "%.*s", (int)word.n, word.p);
    for (size_t k = 0; k < POSITIONS; k++)
        if (!bj_slice_word(&line, &word) || bj_slice_u64(word, at(&a, k)) < 0)
            return;
    struct bj_gpu_dev *d = bj_gpus_dev(g, uuid);
    if (!d)
        return;
    d->given_uj += a.total_uj;
    if (d->energy.stamp_usec != 0) {
        /* It was read already: as if that had been with the old position. */
        bj_gpus_count(g, d, &a);
    } else {
        snprintf(d->now.uuid, sizeof(d->now.uuid), "%s", uuid);
        d->now.parent = -1;
    }
    d->energy = a;
}

void bj_gpus_load(struct bj_gpus *g, struct bj_slice text)
{
    struct bj_slice line, word;
    while (bj_slice_line(&text, &line))
        if (bj_slice_word(&line, &word) && bj_slice_eq(word, BJ_SLICE("gpu")))
            load_line(g, line);
}
