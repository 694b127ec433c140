#include "core/gpu/decide.h"

__extension__ typedef unsigned __int128 bj_u128;

const char *const bj_gpu_conflict_names[BJ_GPU_CONFLICTS] = {
    "none", "denied", "stray", "double", "unresolved"};

/* Whether the evidence cannot be forged by a user. */
static bool is_verified(const struct bj_gpu_candidate *c)
{
    if (c->evidence & (BJ_GPU_NOTED | BJ_GPU_OPENS | BJ_GPU_ALLOTTED))
        return true;
    return (c->evidence & BJ_GPU_RUNS) &&
           ((c->evidence & BJ_GPU_ENVIRON) || !c->not_allotted) && !c->barred;
}

static bool is_stray(const struct bj_gpu_candidate *c)
{
    return (c->evidence & ~(unsigned)BJ_GPU_ENVIRON) == BJ_GPU_RUNS &&
           (c->barred || (c->evidence == BJ_GPU_RUNS && c->not_allotted));
}

void bj_gpu_decide(struct bj_gpu_candidate *c, size_t n)
{
    bool proved = false, proved_shared = false, all_shared = true;
    size_t holders = 0;
    for (size_t i = 0; i < n; i++) {
        proved |= is_verified(&c[i]);
        proved_shared |= is_verified(&c[i]) && c[i].shared;
    }
    for (size_t i = 0; i < n; i++) {
        bool word = c[i].evidence == BJ_GPU_ENVIRON;
        bool lie = word && proved && !(c[i].shared && proved_shared);
        lie |= word && c[i].barred;
        c[i].holds = c[i].evidence != 0 && !lie;
        c[i].conflict = lie               ? BJ_GPU_DENIED
                        : is_stray(&c[i]) ? BJ_GPU_STRAY
                                          : BJ_GPU_AGREED;
        if (!c[i].holds || c[i].conflict)
            continue;
        holders++;
        all_shared = all_shared && c[i].shared;
    }
    for (size_t i = 0; i < n && holders > 1 && !all_shared; i++)
        if (c[i].holds && !c[i].conflict)
            c[i].conflict = BJ_GPU_DOUBLE;
}

void bj_gpu_divide(uint64_t total, const uint64_t *weight, size_t n,
                   uint64_t *ret)
{
    bj_u128 sum = 0;
    uint64_t given = 0;
    for (size_t i = 0; i < n; i++)
        sum += weight[i];
    bool equal = sum == 0;
    if (equal)
        sum = n;
    for (size_t i = 0; i < n; i++) {
        ret[i] = (uint64_t)((bj_u128)total * (equal ? 1 : weight[i]) / sum);
        given += ret[i];
    }
    /* Fewer than n units are left: add one each to the parts with the largest
     * remainders.  A part that got one exceeds its quotient. */
    for (; n > 0 && given < total; given++) {
        size_t best = n;
        bj_u128 most = 0;
        for (size_t i = 0; i < n; i++) {
            bj_u128 all = (bj_u128)total * (equal ? 1 : weight[i]);
            bool served = ret[i] > (uint64_t)(all / sum);
            if (!served && (best == n || all % sum > most)) {
                best = i;
                most = all % sum;
            }
        }
        ret[best]++;
    }
}
