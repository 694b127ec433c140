/* Random GPUs, held, shared, partitioned or free: no microjoule of energy is
 * created or lost on the way to the jobs and in the ledger. */
#include "core/energy/energy.h"
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DEVS = 24, JOBS = 6, HOLDS = 64, ROUNDS = 400, TICKS = 40 };

static uint64_t state_of_random;

static uint64_t random_below(uint64_t n)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return state_of_random % n;
}

struct world {
    struct bj_conf conf;
    struct bj_gpus g;
    struct bj_gpu_dev dev[DEVS];
    struct bj_gpu_hold hold[HOLDS];
    struct bj_track track[JOBS];
    struct bj_job_energy energy[JOBS];
    struct bj_ledger *ledger;
    struct bj_tick tick;
    bool full[DEVS];       /* every part of it is held */
    uint64_t before[DEVS]; /* its energy at the last reading */
};

static struct world w;

static size_t add_dev(int parent, uint64_t slices)
{
    struct bj_gpu_dev *d = &w.dev[w.g.n];
    *d = (struct bj_gpu_dev){.present = true,
                             .parent = parent,
                             .idle_uw = BJ_ABSENT,
                             .before_usec = 1,
                             .stamp_usec = 5000001};
    memset(&d->now.use, 0xff, sizeof(d->now.use));
    d->now.parent = parent < 0 ? -1 : 0;
    d->now.use.slices = slices;
    d->now.gi = (uint32_t)w.g.n;
    d->energy.counter_stamp_usec = 1;
    return w.g.n++;
}

/* A few devices, some of them divided into up to seven parts. */
static void make_devices(void)
{
    size_t n = random_below(3) + 1;
    w.g.n = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = add_dev(-1, BJ_ABSENT);
        w.dev[at].now.split = random_below(2);
        bool known_use = random_below(2);
        for (uint64_t left = 7; w.dev[at].now.split && left > 0;) {
            uint64_t slices = random_below(left) + 1;
            left -= slices;
            if (random_below(4) == 0)
                continue; /* free */
            size_t part = add_dev((int)at, slices);
            if (known_use) {
                w.dev[part].now.use.sm_ppm = random_below(1000001);
                w.dev[part].now.use.multiprocessors = slices * 14;
            }
        }
    }
}

/* Holders of one device or part, whose shares add up. */
static size_t make_holders(size_t dev)
{
    uint64_t weight[3], part[3];
    bool taken[JOBS] = {false};
    size_t n = random_below(4), first = w.g.nholds;
    for (size_t i = 0; i < n; i++) {
        size_t job = random_below(JOBS);
        if (taken[job])
            continue;
        taken[job] = true;
        w.hold[w.g.nholds++] = (struct bj_gpu_hold){
            .track = &w.track[job], .dev = dev, .now = true};
    }
    n = w.g.nholds - first;
    for (size_t i = 0; i < n; i++)
        weight[i] = random_below(3) ? random_below(1000000) : 0;
    bj_gpu_divide(1000000, weight, n, part);
    for (size_t i = 0; i < n; i++)
        w.hold[first + i].share_ppm = part[i];
    return n;
}

static void make_holds(void)
{
    w.g.nholds = 0;
    for (size_t i = 0; i < w.g.n; i++) {
        uint64_t slices = 0;
        w.full[i] = false;
        if (!w.dev[i].now.split)
            w.full[i] = make_holders(i) > 0;
        /* its parts come after it */
        for (size_t k = i + 1; k < w.g.n && w.dev[k].parent == (int)i; k++)
            slices += w.dev[k].now.use.slices;
        w.full[i] |= w.dev[i].now.split && slices == 7;
    }
    for (size_t i = 0; i < w.g.n; i++)
        if (w.dev[i].parent >= 0 && !w.full[i])
            w.full[w.dev[i].parent] = false;
}

static void begin(uint64_t seed)
{
    const struct bj_ledger_conf conf = {.cpus = 64, .mem_bytes = 1 << 30};
    memset(&w, 0, sizeof(w));
    state_of_random = seed * 2654435761u + 88172645463325252u;
    w.g.conf = &w.conf;
    w.g.dev = w.dev;
    w.g.hold = w.hold;
    w.ledger = bj_ledger_new(&conf);
    assert_non_null(w.ledger);
    for (int i = 0; i < JOBS; i++) {
        char key[8];
        snprintf(key, sizeof(key), "%d", i);
        w.track[i].energy = &w.energy[i];
        w.energy[i].account = bj_ledger_open(w.ledger, bj_slice_str(key), true);
    }
    w.tick = (struct bj_tick){.total_uj = {BJ_ABSENT, BJ_ABSENT, 0, BJ_ABSENT},
                              .node_uj = BJ_ABSENT,
                              .cpu_usec = BJ_ABSENT,
                              .mem_bytes = BJ_ABSENT};
    bj_ledger_tick(w.ledger, &w.tick);
    make_devices();
    w.g.metered = true;
}

/* A device's energy goes to its holders: all of it if no part is free. */
static uint64_t check_devices(void)
{
    uint64_t given = 0;
    for (size_t i = 0; i < w.g.n; i++) {
        uint64_t sum = 0, uj = w.dev[i].energy.total_uj - w.before[i];
        if (w.dev[i].parent >= 0)
            continue;
        for (size_t h = 0; h < w.g.nholds; h++)
            if (w.hold[h].dev == i || w.dev[w.hold[h].dev].parent == (int)i)
                sum += w.hold[h].pending_uj;
        assert_true(sum <= uj);
        if (w.full[i])
            assert_int_equal(sum, uj);
        given += sum;
    }
    return given;
}

static void one_tick(uint64_t want[JOBS], uint64_t *all, uint64_t *given)
{
    make_holds();
    for (size_t i = 0; i < w.g.n; i++) {
        struct bj_gpu_dev *d = &w.dev[i];
        if (d->parent >= 0)
            continue;
        w.before[i] = d->energy.total_uj;
        d->energy.total_uj +=
            random_below(3) ? random_below(4000000000) : random_below(10);
        d->now.use.power_uw =
            random_below(2) ? 40000000 + random_below(300000000) : BJ_ABSENT;
        *all += d->energy.total_uj - w.before[i];
    }
    bj_gpus_meter(&w.g, 0);
    *given += check_devices();
    for (size_t h = 0; h < w.g.nholds; h++)
        want[w.hold[h].track - w.track] += w.hold[h].pending_uj;
    for (size_t j = 0; j < JOBS; j++)
        bj_account_gpu(w.energy[j].account, bj_gpus_take(&w.g, &w.track[j]));
    w.tick.total_uj[BJ_ENERGY_GPU] = bj_gpus_energy(&w.g);
    w.tick.now_usec += 5000000;
    bj_ledger_tick(w.ledger, &w.tick);
}

static void test_energy(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        uint64_t want[JOBS] = {0}, all = 0, given = 0;
        struct bj_ledger_sums s;
        begin(seed);
        for (int i = 0; i < TICKS; i++)
            one_tick(want, &all, &given);
        bj_ledger_sums(w.ledger, &s);
        assert_int_equal(w.g.total_uj, all);
        assert_int_equal(s.taken_uj[BJ_ENERGY_GPU], all);
        assert_int_equal(s.pending_uj[BJ_ENERGY_GPU], 0);
        for (int p = 0; p < BJ_POLICIES; p++) {
            for (int j = 0; j < JOBS; j++)
                assert_int_equal(bj_account_uj(w.energy[j].account,
                                               (enum bj_policy)p,
                                               BJ_ENERGY_GPU),
                                 want[j]);
            assert_int_equal(s.unallocated_uj[p][BJ_ENERGY_GPU], all - given);
            assert_int_equal(s.system_uj[p][BJ_ENERGY_GPU], 0);
        }
        bj_ledger_free(w.ledger);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_energy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
