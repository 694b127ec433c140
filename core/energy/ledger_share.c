/* Exact shares: largest remainders over products of 128 bits. */
#include "core/energy/ledger_impl.h"

/* Sums of scaled weights stay below 2^62: the sum of two fractions over the
 * product of two sums then fits in 128 bits. */
enum { SUM_BITS = 62 };

static unsigned bits(bj_u128 v)
{
    uint64_t high = (uint64_t)(v >> 64), low = (uint64_t)v;
    if (high)
        return 128 - (unsigned)__builtin_clzll(high);
    return low ? 64 - (unsigned)__builtin_clzll(low) : 0;
}

static void scale(struct bj_split *s, enum bj_weight kind)
{
    bj_u128 total = 0;
    for (size_t i = 0; i < s->n; i++)
        total += s->v[i].raw[kind];
    unsigned width = bits(total);
    unsigned shift = width > SUM_BITS ? width - SUM_BITS : 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->v[i].weight[kind] = (uint64_t)(s->v[i].raw[kind] >> shift);
    s->sum[kind] = sum;
}

void bj_split_scale(struct bj_split *s)
{
    for (enum bj_weight kind = 0; kind < BJ_WEIGHTS; kind++) {
        scale(s, kind);
        if (s->sum[kind] > 0)
            continue;
        /* Energy without a reservation is unallocated; energy without use by a
         * job belongs to the system. */
        bool system = kind == BJ_W_CPU || kind == BJ_W_MEM;
        s->v[s->n - (system ? 2 : 1)].weight[kind] = 1;
        s->sum[kind] = 1;
    }
}

/* a * w / sum and its remainder; values of 0 are common. */
static uint64_t quotient(uint64_t a, uint64_t w, uint64_t sum, uint64_t *left)
{
    *left = 0;
    if (a == 0 || w == 0)
        return 0;
    bj_u128 product = (bj_u128)a * w;
    uint64_t q = (uint64_t)(product / sum);
    *left = (uint64_t)(product - (bj_u128)q * sum);
    return q;
}

static bool before(const struct bj_split *s, uint32_t a, uint32_t b)
{
    bj_u128 fa = s->v[a].fraction, fb = s->v[b].fraction;
    return fa != fb ? fa > fb : a < b;
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t t = *a;
    *a = *b;
    *b = t;
}

/* Partition lo to hi around the median of three; returns the new index of that
 * median. */
static size_t partition(const struct bj_split *s, size_t lo, size_t hi)
{
    uint32_t *o = s->order;
    size_t mid = lo + (hi - lo) / 2;
    if (before(s, o[mid], o[lo]))
        swap(&o[mid], &o[lo]);
    if (before(s, o[hi], o[lo]))
        swap(&o[hi], &o[lo]);
    if (before(s, o[mid], o[hi]))
        swap(&o[mid], &o[hi]);
    size_t at = lo;
    for (size_t i = lo; i < hi; i++)
        if (before(s, o[i], o[hi]))
            swap(&o[i], &o[at++]);
    swap(&o[at], &o[hi]);
    return at;
}

/* Add one to each of the k receivers with the largest fractions, which are
 * selected without sorting, in linear time. */
static void give_rest(struct bj_split *s, size_t k)
{
    if (k == 0)
        return;
    for (size_t i = 0; i < s->n; i++)
        s->order[i] = (uint32_t)i;
    size_t lo = 0, hi = s->n - 1;
    while (lo < hi) {
        size_t at = partition(s, lo, hi);
        if (at == k || at + 1 == k)
            break;
        if (at < k)
            lo = at + 1;
        else
            hi = at - 1;
    }
    for (size_t i = 0; i < k; i++)
        s->v[s->order[i]].uj++;
}

void bj_split_share(struct bj_split *s, uint64_t still, uint64_t moving,
                    enum bj_weight kind)
{
    uint64_t given = 0, rs = s->sum[BJ_W_RESERVED], us = s->sum[kind];
    bj_u128 one = (bj_u128)rs * us;
    for (size_t i = 0; i < s->n; i++) {
        struct bj_receiver *r = &s->v[i];
        uint64_t a, b;
        r->uj = quotient(still, r->weight[BJ_W_RESERVED], rs, &a);
        r->uj += quotient(moving, r->weight[kind], us, &b);
        r->fraction = (bj_u128)a * us + (bj_u128)b * rs;
        if (r->fraction >= one) {
            r->fraction -= one;
            r->uj++;
        }
        given += r->uj;
    }
    give_rest(s, (size_t)(still + moving - given));
}

void bj_share_few(uint64_t part, uint64_t whole, const uint64_t *v, size_t n,
                  uint64_t *ret)
{
    uint64_t left[BJ_COMPONENTS], rest = part;
    for (size_t i = 0; i < n; i++) {
        ret[i] = quotient(part, v[i], whole, &left[i]);
        rest -= ret[i];
    }
    for (; rest > 0; rest--) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (left[i] > left[best])
                best = i;
        ret[best]++;
        left[best] = 0;
    }
}
