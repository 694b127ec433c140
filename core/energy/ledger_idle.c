/* Power of the node without jobs, learned from windows without jobs.
 *
 * The tenth percentile of the last windows: the minimum would keep the error of
 * one bad reading forever, and the median would include the power of occasional
 * work between jobs (updates, health checks).  Old windows are dropped, so that
 * the value can fall and rise with the machine. */
#include "core/energy/ledger_impl.h"

enum {
    ENOUGH = 10, /* minimum number of windows, so that one may be too low */
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

static void swap(uint64_t *a, uint64_t *b)
{
    uint64_t t = *a;
    *a = *b;
    *b = t;
}

/* Moves as many of the lowest values to the front as needed; qsort(3) would
 * allocate. */
void bj_idle_refresh(struct bj_idle *idle)
{
    uint64_t v[BJ_IDLE_SAMPLES];
    size_t n = idle->n, rank = n / PART;
    idle->value_uw = 0;
    if (n < ENOUGH)
        return;
    memcpy(v, idle->uw, n * sizeof(v[0]));
    for (size_t i = 0; i <= rank; i++)
        for (size_t k = i + 1; k < n; k++)
            if (v[k] < v[i])
                swap(&v[k], &v[i]);
    idle->value_uw = v[rank];
}
