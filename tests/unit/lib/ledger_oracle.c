/* The method of docs/energy.md implemented a second time, with long double and
 * without code of the ledger. */
#include "tests/unit/lib/ledger_oracle.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static long double least(long double a, long double b)
{
    return a < b ? a : b;
}

static long double most(long double a, long double b)
{
    return a > b ? a : b;
}

static long double distance(long double a, long double b)
{
    return a > b ? a - b : b - a;
}

void oracle_weigh(struct node *n, struct job *j, long double dt)
{
    long double r = 0, share;
    if (j->cpus != NONE)
        r = least(1, (long double)j->cpus / (int)NODE_CPUS);
    if (j->limit != NONE) {
        share = (long double)j->limit / (long double)n->conf.mem_bytes;
        r = most(r, least(1, share));
    }
    j->w[U] += (long double)(j->cpu_usec - j->seen_cpu);
    if (!j->is_new || j->whole) {
        long double there = j->is_new || j->closed ? .5L : 1;
        long double from = (long double)j->seen_mem, to = (long double)j->mem;
        if (j->is_new)
            from = j->closed ? to : 0;
        if (j->closed)
            to = 0;
        j->w[R] += r * there * dt;
        j->w[M] += (from + to) / 2 * dt;
    }
    j->seen_cpu = j->cpu_usec;
    j->seen_mem = j->mem;
    j->is_new = false;
    j->ended = j->closed;
    j->involved = true;
}

/* --- the oracle ----------------------------------------------------------- */

static const int by_use[BJ_COMPONENTS] = {U, M, G, U};

/* Static parts are whole microjoules, rounded by the largest remainder
 * method. */
static void static_parts(const uint64_t *e, uint64_t part, uint64_t *still)
{
    static const int c[] = {BJ_ENERGY_CPU, BJ_ENERGY_DRAM, BJ_ENERGY_OTHER};
    __extension__ typedef unsigned __int128 wide;
    uint64_t host = e[c[0]] + e[c[1]] + e[c[2]], rest = part, left[3];
    for (int i = 0; i < 3; i++) {
        still[c[i]] = host ? (uint64_t)((wide)part * e[c[i]] / host) : 0;
        left[i] = host ? (uint64_t)((wide)part * e[c[i]] % host) : 0;
        rest -= host ? still[c[i]] : 0;
    }
    for (; host && rest > 0; rest--) {
        int best = left[1] > left[0] ? 1 : 0;
        best = left[2] > left[best] ? 2 : best;
        still[c[best]]++;
        left[best] = 0;
    }
}

struct window {
    const struct bj_ledger_sums *was, *is;
    long double sum[KINDS], rest[KINDS];
    uint64_t e[BJ_COMPONENTS], still[BJ_COMPONENTS];
};

static long double share(const struct window *w, int kind, long double weight,
                         bool rest)
{
    long double total = w->sum[kind] + w->rest[kind];
    if (total == 0)
        return rest;
    return (rest ? w->rest[kind] : weight) / total;
}

static void check_receiver(const struct window *w, enum bj_policy p, int c,
                           long double reserved, long double used, uint64_t got)
{
    long double e = (long double)w->e[c], s = (long double)w->still[c];
    if (p == BJ_USAGE || c == BJ_ENERGY_GPU)
        s = 0;
    if (p == BJ_RESERVATION && c != BJ_ENERGY_GPU)
        s = e;
    long double want = s * reserved + (e - s) * used;
    if (distance((long double)got, want) >= 1 + 1e-6L)
        print_error("policy %d component %d: %llu for %.6Lf\n", p, c,
                    (unsigned long long)got, want);
    assert_true(distance((long double)got, want) < 1 + 1e-6L);
}

static void check_split(struct node *n, const struct window *w,
                        enum bj_policy p, int c)
{
    int k = by_use[c];
    bool gpu = c == BJ_ENERGY_GPU;
    for (unsigned i = 0; i < n->max_jobs; i++) {
        struct job *j = &n->job[i];
        if (!j->account)
            continue;
        uint64_t is = bj_account_uj(j->account, p, (enum bj_component)c);
        assert_true(is >= j->before[p][c]);
        check_receiver(w, p, c, share(w, R, j->w[R], false),
                       share(w, k, j->w[k], false), is - j->before[p][c]);
        n->checked++;
    }
    check_receiver(w, p, c, 0, gpu ? 0 : share(w, k, 0, true),
                   w->is->system_uj[p][c] - w->was->system_uj[p][c]);
    check_receiver(w, p, c, share(w, R, 0, true),
                   gpu ? share(w, k, 0, true) : 0,
                   w->is->unallocated_uj[p][c] - w->was->unallocated_uj[p][c]);
}

void oracle_window(struct node *n, const struct bj_ledger_sums *is)
{
    struct window w = {.was = &n->sums, .is = is};
    uint64_t node = is->node_uj - n->sums.node_uj, parts = 0;
    for (int c = 0; c < BJ_ENERGY_OTHER; c++)
        parts += w.e[c] = is->taken_uj[c] - is->pending_uj[c] -
                          (n->sums.taken_uj[c] - n->sums.pending_uj[c]);
    bool with_node = node > 0;
    w.e[BJ_ENERGY_OTHER] = with_node && node > parts ? node - parts : 0;
    uint64_t deficit = with_node && node < parts ? parts - node : 0;
    assert_int_equal(is->deficit_uj - n->sums.deficit_uj, deficit);
    n->deficits += deficit > 0;
    assert_int_equal(is->taken_uj[BJ_ENERGY_OTHER] -
                         n->sums.taken_uj[BJ_ENERGY_OTHER],
                     w.e[BJ_ENERGY_OTHER]);
    for (unsigned i = 0; i < n->max_jobs; i++)
        for (int k = 0; k < KINDS && n->job[i].account; k++)
            w.sum[k] += n->job[i].w[k];
    w.rest[R] = most(0, n->window_usec - w.sum[R]);
    w.rest[U] = most(0, n->node_cpu_weight - w.sum[U]);
    w.rest[M] = most(0, n->node_mem_weight - w.sum[M]);
    w.rest[G] = most(0, (long double)w.e[BJ_ENERGY_GPU] - w.sum[G]);
    uint64_t host = w.e[0] + w.e[1] + w.e[BJ_ENERGY_OTHER];
    uint64_t idle = (uint64_t)(n->window_usec) * n->conf.idle_uw / SEC;
    static_parts(w.e, idle < host ? idle : host, w.still);
    for (int p = 0; p < BJ_POLICIES; p++)
        for (int c = 0; c < BJ_COMPONENTS; c++)
            check_split(n, &w, (enum bj_policy)p, c);
    n->windows++;
}

/* The parts of a component add up to its total, and no sum decreases. */
static void check_component(struct node *n, const struct bj_ledger_sums *s,
                            enum bj_policy p, enum bj_component c)
{
    uint64_t sum = s->system_uj[p][c] + s->unallocated_uj[p][c] +
                   s->dropped_uj[p][c] + s->pending_uj[c];
    for (unsigned i = 0; i < n->max_jobs; i++)
        if (n->job[i].account)
            sum += bj_account_uj(n->job[i].account, p, c);
    assert_int_equal(sum, s->taken_uj[c]);
    assert_true(s->system_uj[p][c] >= n->sums.system_uj[p][c]);
    assert_true(s->unallocated_uj[p][c] >= n->sums.unallocated_uj[p][c]);
    assert_true(s->dropped_uj[p][c] >= n->sums.dropped_uj[p][c]);
    assert_true(s->taken_uj[c] >= n->sums.taken_uj[c]);
}

void oracle_sums(struct node *n, const struct bj_ledger_sums *s)
{
    uint64_t settled = 0;
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c++)
        for (enum bj_policy p = 0; p < BJ_POLICIES; p++)
            check_component(n, s, p, c);
    for (enum bj_component c = 0; c < BJ_ENERGY_OTHER; c++)
        settled += s->taken_uj[c] - s->pending_uj[c] - s->alone_uj[c];
    assert_int_equal(settled + s->taken_uj[BJ_ENERGY_OTHER],
                     s->node_uj + s->deficit_uj);
    /* The sums equal the energy that the meters reported. */
    for (int c = 0; c < BJ_ENERGY_GPU; c++)
        if (n->meter_uj[c] != NONE) {
            assert_int_equal(s->taken_uj[c], n->meter_uj[c] - n->first_uj[c]);
            assert_int_equal(s->missed_uj[c], 0);
        }
    if (n->gpu == GPU_TOTAL && n->meter_uj[BJ_ENERGY_GPU] != NONE)
        assert_int_equal(s->taken_uj[BJ_ENERGY_GPU],
                         n->meter_uj[BJ_ENERGY_GPU] -
                             n->first_uj[BJ_ENERGY_GPU]);
    if (n->gpu == GPU_PER_JOB)
        assert_int_equal(s->taken_uj[BJ_ENERGY_GPU], n->reported_uj);
    if (n->meter_uj[BJ_ENERGY_OTHER] != NONE)
        assert_true(s->node_uj + s->node_missed_uj <=
                    n->meter_uj[BJ_ENERGY_OTHER] -
                        n->first_uj[BJ_ENERGY_OTHER]);
}
