/* Checks a ledger that was loaded.  The arithmetic relies on these bounds, and
 * a state with inconsistent sums must not be continued. */
#include "core/energy/ledger_state.h"

static bool weights_fit(const bj_u128 *raw, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (raw[i] > BJ_LEDGER_WEIGHT_MAX)
            return false;
    return true;
}

static bool account_fits(const struct bj_account *a)
{
    return a->mem_seen_bytes <= BJ_LEDGER_MEM_MAX &&
           a->gpu_new_uj <= BJ_LEDGER_ENERGY_MAX &&
           weights_fit(a->raw, BJ_WEIGHTS);
}

static bool idle_fits(const struct bj_idle *idle)
{
    for (size_t i = 0; i < BJ_IDLE_SAMPLES; i++)
        if (idle->uw[i] > BJ_LEDGER_ENERGY_MAX)
            return false;
    return idle->n <= BJ_IDLE_SAMPLES && idle->next < BJ_IDLE_SAMPLES;
}

static bool times_fit(const struct bj_ledger *l)
{
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c++)
        if (l->intake[c].silent_usec > BJ_LEDGER_TIME_MAX)
            return false;
    return l->span_usec <= BJ_LEDGER_TIME_MAX &&
           l->waited_usec <= BJ_LEDGER_TIME_MAX &&
           l->interval_usec <= BJ_LEDGER_TIME_MAX &&
           l->gpu_given_uj <= BJ_LEDGER_ENERGY_MAX &&
           weights_fit(&l->node_cpu, 1) && weights_fit(&l->node_mem, 1);
}

static bool adds_up(const struct bj_ledger *l, enum bj_policy p,
                    enum bj_component c)
{
    const struct bj_ledger_sums *s = &l->sums;
    bj_u128 sum = (bj_u128)s->system_uj[p][c] + s->unallocated_uj[p][c] +
                  s->dropped_uj[p][c] + s->pending_uj[c];
    for (size_t i = 0; i < l->n; i++)
        sum += l->accounts[i]->total_uj[p][c];
    return sum == s->taken_uj[c];
}

/* other = node - components settled with the node + deficit */
static bool other_adds_up(const struct bj_ledger_sums *s)
{
    bj_u128 parts = 0;
    if (s->pending_uj[BJ_ENERGY_OTHER] || s->alone_uj[BJ_ENERGY_OTHER] ||
        s->missed_uj[BJ_ENERGY_OTHER] || s->node_uj > BJ_LEDGER_TOTAL_MAX)
        return false;
    for (enum bj_component c = 0; c < BJ_ENERGY_OTHER; c++) {
        if ((bj_u128)s->alone_uj[c] + s->pending_uj[c] > s->taken_uj[c])
            return false;
        parts += s->taken_uj[c] - s->alone_uj[c] - s->pending_uj[c];
    }
    return parts + s->taken_uj[BJ_ENERGY_OTHER] ==
           (bj_u128)s->node_uj + s->deficit_uj;
}

bool bj_state_sound(const struct bj_ledger *l)
{
    if (!times_fit(l) || !idle_fits(&l->idle[0]) || !idle_fits(&l->idle[1]))
        return false;
    for (size_t i = 0; i < l->n; i++)
        if (!account_fits(l->accounts[i]))
            return false;
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c++) {
        if (l->sums.taken_uj[c] > BJ_LEDGER_TOTAL_MAX)
            return false;
        for (enum bj_policy p = 0; p < BJ_POLICIES; p++)
            if (!adds_up(l, p, c))
                return false;
    }
    return other_adds_up(&l->sums);
}
