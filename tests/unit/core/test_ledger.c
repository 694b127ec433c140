/* The ledger: the test vector of docs/energy.md, with expected values that were
 * computed by hand. */
#include "core/energy/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define J UINT64_C(1000000)
#define SEC UINT64_C(1000000)
#define GIB (UINT64_C(1) << 30)
#define NONE BJ_ABSENT

static struct bj_tick at(uint64_t sec)
{
    return (struct bj_tick){
        .now_usec = sec * SEC,
        .total_uj = {NONE, NONE, NONE, NONE},
        .node_uj = NONE,
        .node_stamp_usec = sec * SEC,
        .cpu_usec = NONE,
        .mem_bytes = NONE,
    };
}

static uint64_t total(const struct bj_account *a, enum bj_policy p)
{
    uint64_t sum = 0;
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c++)
        sum += bj_account_uj(a, p, c);
    return sum;
}

/* --- the test vector ------------------------------------------------------ */

struct vector {
    struct bj_ledger *l;
    struct bj_account *a, *b;
    struct bj_ledger_sums sums;
};

/* Node: 64 CPUs, 256 GiB, 120 W idle; ten seconds; 4000 J, of which cpu 2000
 * and dram 300. Job A reserves 16 CPUs and 64 GiB, uses 150 CPU seconds and 40
 * GiB; job B reserves 32 CPUs and 64 GiB, uses 20 CPU seconds and 10 GiB; the
 * system uses 2 CPU seconds and 5 GiB. base: initial value of all counters. */
static void run_vector(struct vector *v, uint64_t base)
{
    struct bj_ledger_conf conf = {
        .idle_uw = 120 * J, .cpus = 64, .mem_bytes = 256 * GIB};
    struct bj_job_use a = {base, 40 * GIB, 16, 64 * GIB};
    struct bj_job_use b = {base, 10 * GIB, 32, 64 * GIB};
    v->l = bj_ledger_new(&conf);
    v->a = bj_ledger_open(v->l, BJ_SLICE("a"), false);
    v->b = bj_ledger_open(v->l, BJ_SLICE("b"), false);
    struct bj_tick t = at(100);
    t.total_uj[BJ_ENERGY_CPU] = t.total_uj[BJ_ENERGY_DRAM] = base;
    t.node_uj = t.cpu_usec = base;
    t.mem_bytes = 55 * GIB;
    bj_account_use(v->a, &a);
    bj_account_use(v->b, &b);
    bj_ledger_tick(v->l, &t);
    a.cpu_usec += 150 * SEC;
    b.cpu_usec += 20 * SEC;
    bj_account_use(v->a, &a);
    bj_account_use(v->b, &b);
    t.now_usec = t.node_stamp_usec = 110 * SEC;
    t.total_uj[BJ_ENERGY_CPU] += 2000 * J;
    t.total_uj[BJ_ENERGY_DRAM] += 300 * J;
    t.node_uj += 4000 * J;
    t.cpu_usec += 172 * SEC;
    bj_ledger_tick(v->l, &t);
    bj_ledger_sums(v->l, &v->sums);
}

/* Exact to the microjoule: each component divided by largest remainders,
 * computed with Python's fractions. */
static const struct {
    enum bj_policy policy;
    enum bj_component c;
    uint64_t a, b, system, unallocated;
} vector_rows[] = {
    {BJ_HYBRID, BJ_ENERGY_CPU, 1370930232, 462790698, 16279070, 150000000},
    {BJ_HYBRID, BJ_ENERGY_DRAM, 175227273, 83181818, 19090909, 22500000},
    {BJ_HYBRID, BJ_ENERGY_OTHER, 1165290698, 393372093, 13837209, 127500000},
    {BJ_USAGE, BJ_ENERGY_CPU, 1744186046, 232558140, 23255814, 0},
    {BJ_USAGE, BJ_ENERGY_DRAM, 218181818, 54545455, 27272727, 0},
    {BJ_USAGE, BJ_ENERGY_OTHER, 1482558139, 197674419, 19767442, 0},
    {BJ_RESERVATION, BJ_ENERGY_CPU, 500000000, 1000000000, 0, 500000000},
    {BJ_RESERVATION, BJ_ENERGY_DRAM, 75000000, 150000000, 0, 75000000},
    {BJ_RESERVATION, BJ_ENERGY_OTHER, 425000000, 850000000, 0, 425000000},
};

static void check_vector(const struct vector *v)
{
    for (size_t i = 0; i < COUNT(vector_rows); i++) {
        enum bj_policy p = vector_rows[i].policy;
        enum bj_component c = vector_rows[i].c;
        assert_int_equal(bj_account_uj(v->a, p, c), vector_rows[i].a);
        assert_int_equal(bj_account_uj(v->b, p, c), vector_rows[i].b);
        assert_int_equal(v->sums.system_uj[p][c], vector_rows[i].system);
        assert_int_equal(v->sums.unallocated_uj[p][c],
                         vector_rows[i].unallocated);
    }
    assert_int_equal(v->sums.node_uj, 4000 * J);
    assert_int_equal(v->sums.deficit_uj, 0);
    assert_int_equal(v->sums.windows, 1);
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c++)
        assert_int_equal(v->sums.pending_uj[c], 0);
    assert_int_equal(v->sums.taken_uj[BJ_ENERGY_OTHER], 1700 * J);
}

static void vector_to_the_microjoule(void **state)
{
    (void)state;
    const uint64_t bases[] = {0, 1, UINT64_C(1) << 63, UINT64_MAX - 4001 * J};
    for (size_t i = 0; i < COUNT(bases); i++) {
        struct vector v;
        run_vector(&v, bases[i]);
        check_vector(&v);
        bj_ledger_free(v.l);
    }
}

static uint64_t mj(uint64_t uj)
{
    return (uj + 500) / 1000;
}

/* The table as docs/energy.md prints it: static, dynamic and total in
 * millijoules. */
static void vector_as_documented(void **state)
{
    (void)state;
    struct vector v;
    run_vector(&v, 0);
    const uint64_t still[] = {90 * J, 600 * J, 510 * J};
    const enum bj_component c[] = {BJ_ENERGY_DRAM, BJ_ENERGY_CPU,
                                   BJ_ENERGY_OTHER};
    uint64_t a[3], b[3];
    for (int i = 0; i < 3; i++) {
        a[i] = bj_account_uj(v.a, BJ_HYBRID, c[i]) - still[i] / 4;
        b[i] = bj_account_uj(v.b, BJ_HYBRID, c[i]) - still[i] / 2;
    }
    const uint64_t *sys = v.sums.system_uj[BJ_HYBRID];
    assert_int_equal(mj(a[1] + a[2]), 2258721);
    assert_int_equal(mj(a[0]), 152727);
    assert_int_equal(mj(b[1] + b[2]), 301163);
    assert_int_equal(mj(b[0]), 38182);
    assert_int_equal(mj(sys[BJ_ENERGY_CPU] + sys[BJ_ENERGY_OTHER]), 30116);
    assert_int_equal(mj(sys[BJ_ENERGY_DRAM]), 19091);
    assert_int_equal(mj(total(v.a, BJ_HYBRID)), 2711448);
    assert_int_equal(mj(total(v.b, BJ_HYBRID)), 939345);
    assert_int_equal(total(v.a, BJ_HYBRID), 2711448203);
    assert_int_equal(total(v.b, BJ_HYBRID), 939344609);
    assert_int_equal(total(v.a, BJ_USAGE), 3444926003);
    assert_int_equal(total(v.b, BJ_USAGE), 484778014);
    assert_int_equal(total(v.a, BJ_RESERVATION), 1000 * J);
    assert_int_equal(total(v.b, BJ_RESERVATION), 2000 * J);
    bj_ledger_free(v.l);
}

/* What the formulas of other projects give for the same window, in tenths of a
 * joule, as in docs/energy.md. The formulas are from the documentation of each
 * project. */
static void vector_by_other_formulas(void **state)
{
    (void)state;
    const double node = 4000, cpu = 2000, dram = 300, idle_free = 172.0 / 640;
    const double u[] = {150.0 / 172, 20.0 / 172}, mem[] = {40. / 55, 10. / 55};
    const double cpus[] = {16, 32};
    static const int kepler[] = {9375, 1250}, usage[] = {34884, 4651};
    static const int ceems[] = {32715, 6494}, ear[] = {13333, 26667};
    for (int j = 0; j < 2; j++) {
        double rapl = cpu / (cpu + dram) * u[j] + dram / (cpu + dram) * mem[j];
        assert_int_equal(node * idle_free * u[j] * 10 + .5, kepler[j]);
        assert_int_equal(node * u[j] * 10 + .5, usage[j]);
        assert_int_equal((.9 * node * rapl + .1 * node / 2) * 10 + .5,
                         ceems[j]);
        assert_int_equal(node * cpus[j] / 48 * 10 + .5, ear[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_to_the_microjoule),
        cmocka_unit_test(vector_as_documented),
        cmocka_unit_test(vector_by_other_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
