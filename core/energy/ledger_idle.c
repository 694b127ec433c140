/* What the node takes without jobs, learnt from windows in which there is none.
 *
 * The tenth percentile of the last windows: the least of them would be the
 * error of one bad reading for ever, the median would hold what runs on a node
 * now and then between jobs (updates, health checks), which is no part of what
 * it takes at rest.  Old windows are forgotten, so that the value can fall, and
 * rise, with the machine. */
#include "core/energy/ledger_impl.h"

#include <stdlib.h>

enum {
    ENOUGH = 10, /* windows, so that one of them may be too low */
    SHORTEST_USEC = 1000000,
    PART = 10, /* one tenth */
};

void bj_idle_learn(struct bj_idle *idle, uint64_t uj, uint64_t usec)
{
    if (uj == 0 || usec < SHORTEST_USEC)
        return;
    bj_u128 uw = (bj_u128)uj * 1000000 / usec;
    idle->uw[idle->next] =
        (uint64_t)(uw < BJ_LEDGER_ENERGY_MAX ? uw : BJ_LEDGER_ENERGY_MAX);
    idle->next = (idle->next + 1) % BJ_IDLE_SAMPLES;
    if (idle->n < BJ_IDLE_SAMPLES)
        idle->n++;
    bj_idle_refresh(idle);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void bj_idle_refresh(struct bj_idle *idle)
{
    uint64_t sorted[BJ_IDLE_SAMPLES];
    idle->value_uw = 0;
    if (idle->n < ENOUGH)
        return;
    memcpy(sorted, idle->uw, idle->n * sizeof(sorted[0]));
    qsort(sorted, idle->n, sizeof(sorted[0]), ascending);
    idle->value_uw = sorted[idle->n / PART];
}
