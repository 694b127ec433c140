/* Edge cases of the ledger's windows, with expected values computed by hand:
 * jobs that begin and end within a window, meters that fail, irregular time. */
#include "tests/unit/lib/ledger_room.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- jobs in a window ----------------------------------------------------- */

/* Without jobs the static part is unallocated; the rest is system energy. */
static void no_jobs(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 1500 * J, 3);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU], 1000 * J);
    assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 500 * J);
    assert_int_equal(r.s.system_uj[BJ_USAGE][BJ_ENERGY_CPU], 1500 * J);
    assert_int_equal(r.s.unallocated_uj[BJ_RESERVATION][BJ_ENERGY_CPU],
                     1500 * J);
    ledger_rig_free(&r);
}

/* Nothing uses CPU time: the dynamic part is system energy. */
static void all_idle(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    struct bj_account *a = open_job(&r, "a", false);
    use_cpu(a, 7, 5);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 1500 * J, 0);
    assert_int_equal(cpu_uj(a, BJ_HYBRID), 500 * J);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 0);
    assert_int_equal(cpu_uj(a, BJ_RESERVATION), 750 * J);
    assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 500 * J);
    ledger_rig_free(&r);
}

/* Jobs reserve 8 and 12 of 10 CPUs: 12 count as 10, and the sum of 18 is scaled
 * to 10. */
static void more_cpus_than_the_node_has(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    struct bj_account *a = open_job(&r, "a", false),
                      *b = open_job(&r, "b", false);
    use_cpu(a, 0, 8);
    use_cpu(b, 0, 12);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 900 * J, 0);
    assert_int_equal(cpu_uj(a, BJ_RESERVATION), 400 * J);
    assert_int_equal(cpu_uj(b, BJ_RESERVATION), 500 * J);
    assert_int_equal(r.s.unallocated_uj[BJ_RESERVATION][BJ_ENERGY_CPU], 0);
    ledger_rig_free(&r);
}

/* The larger of the shares of CPUs and memory counts; on a node of unknown size
 * there is none. */
static void reserved_memory(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    struct bj_account *a = open_job(&r, "a", false);
    struct bj_job_use u = {0, NONE, 2, 50 * GIB};
    bj_account_use(a, &u);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 900 * J, 0);
    assert_int_equal(cpu_uj(a, BJ_RESERVATION), 450 * J);
    ledger_rig_free(&r);
    struct bj_ledger_conf conf = {.cpus = NONE, .mem_bytes = NONE};
    r = ledger_rig_new(0);
    bj_ledger_free(r.l);
    r.l = bj_ledger_new(&conf);
    a = open_job(&r, "a", false);
    bj_account_use(a, &u);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 900 * J, 0);
    assert_int_equal(cpu_uj(a, BJ_RESERVATION), 0);
    assert_int_equal(r.s.unallocated_uj[BJ_RESERVATION][BJ_ENERGY_CPU],
                     900 * J);
    ledger_rig_free(&r);
}

/* Three equal shares of 100 microjoules: the odd one goes to the first job. */
static void ties_go_to_the_first(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    struct bj_account *a[3];
    for (int i = 0; i < 3; i++) {
        a[i] = open_job(&r, i == 0 ? "z" : i == 1 ? "y" : "x", false);
        use_cpu(a[i], 0, NONE);
    }
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        use_cpu(a[i], 1, NONE);
    tick(&r, 10, 100, 3);
    assert_int_equal(cpu_uj(a[0], BJ_USAGE), 34);
    assert_int_equal(cpu_uj(a[1], BJ_USAGE), 33);
    assert_int_equal(cpu_uj(a[2], BJ_USAGE), 33);
    ledger_rig_free(&r);
}

/* The root cgroup shows less CPU time than the job, because of the kernel's
 * ticks: the job gets all energy. */
static void root_below_jobs(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    struct bj_account *a = open_job(&r, "a", false);
    use_cpu(a, 5, 1);
    tick(&r, 0, 0, 0);
    use_cpu(a, 15, 1);
    tick(&r, 10, 900 * J, 9);
    assert_int_equal(cpu_uj(a, BJ_HYBRID), 900 * J);
    assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 0);
    ledger_rig_free(&r);
}

/* A job between two ticks has its CPU time and half a tick of its reservation.
 * Its account becomes final, can be dropped, and no energy is lost. */
static void within_a_window(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    tick(&r, 0, 0, 0);
    struct bj_account *a = open_job(&r, "a", true);
    use_cpu(a, 6, 10);
    bj_account_close(a);
    assert_false(bj_account_final(a));
    tick(&r, 10, 2000 * J, 8);
    assert_true(bj_account_final(a));
    assert_int_equal(cpu_uj(a, BJ_USAGE), 1500 * J);
    assert_int_equal(cpu_uj(a, BJ_RESERVATION), 1000 * J);
    assert_int_equal(cpu_uj(a, BJ_HYBRID), 500 * J + 750 * J);
    use_cpu(a, 600, 10);
    tick(&r, 10, 1000 * J, 8);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 1500 * J);
    bj_ledger_drop(r.l, a);
    bj_ledger_sums(r.l, &r.s);
    assert_int_equal(r.s.dropped_uj[BJ_USAGE][BJ_ENERGY_CPU], 1500 * J);
    bj_ledger_drop(r.l, NULL);
    ledger_rig_free(&r);
}

/* One job follows another on all CPUs: both together count as one. */
static void successors(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    struct bj_account *a = open_job(&r, "a", false);
    use_cpu(a, 0, 10);
    tick(&r, 0, 0, 0);
    struct bj_account *b = open_job(&r, "b", true);
    use_cpu(b, 0, 10);
    bj_account_close(a);
    tick(&r, 10, 800 * J, 0);
    assert_int_equal(cpu_uj(a, BJ_RESERVATION), 400 * J);
    assert_int_equal(cpu_uj(b, BJ_RESERVATION), 400 * J);
    tick(&r, 10, 800 * J, 0);
    assert_int_equal(cpu_uj(b, BJ_RESERVATION), 1200 * J);
    ledger_rig_free(&r);
}

/* Usage from before the first reading of a job does not count. */
static void found_running(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    tick(&r, 0, 0, 0);
    struct bj_account *a = open_job(&r, "a", false);
    use_cpu(a, 5000, 10);
    use_cpu(a, 5002, 10);
    tick(&r, 10, 1000 * J, 4);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 500 * J);
    assert_int_equal(cpu_uj(a, BJ_RESERVATION), 0);
    use_cpu(a, 5000, 10); /* a counter that falls, which the kernel's do not,
                         counts nothing */
    tick(&r, 10, 1000 * J, 4);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 500 * J);
    ledger_rig_free(&r);
}

/* --- meters --------------------------------------------------------------- */

/* The node's meter is slow: deltas of the components wait for it. */
static void slow_node_meter(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    struct bj_account *a = open_job(&r, "a", true);
    add_node_reading(&r, 0);
    use_cpu(a, 0, 10);
    tick(&r, 0, 0, 0);
    use_cpu(a, 5, 10);
    tick(&r, 5, 100 * J, 5);
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 100 * J);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 0);
    add_node_reading(&r, 1000 * J);
    tick(&r, 5, 300 * J, 15);
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 0);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 100 * J);
    assert_int_equal(bj_account_uj(a, BJ_USAGE, BJ_ENERGY_OTHER), 150 * J);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER], 600 * J);
    ledger_rig_free(&r);
}

/* The node reports less than its components: nothing is scaled. */
static void deficit(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    add_node_reading(&r, 0);
    tick(&r, 0, 0, 0);
    add_node_reading(&r, 900 * J);
    tick(&r, 10, 1000 * J, 1);
    assert_int_equal(r.s.deficit_uj, 100 * J);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER], 0);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU], 1000 * J);
    ledger_rig_free(&r);
}

/* The node's meter fails: after the patience the window is settled without it.
 * The energy that it counted meanwhile is missed energy. */
static void node_meter_fails(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    add_node_reading(&r, 0);
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 2; i++)
        tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 200 * J);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 0);
    assert_int_equal(r.s.alone_uj[BJ_ENERGY_CPU], 300 * J);
    tick(&r, 10, 100 * J, 1); /* the window does not wait for the meter again */
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 0);
    add_node_reading(&r, 5000 * J);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.node_uj, 0);
    assert_int_equal(r.s.node_missed_uj, 5000 * J);
    add_node_reading(&r, 400 * J);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.node_uj, 400 * J);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER], 300 * J);
    ledger_rig_free(&r);
}

/* A reading of the node, then one of the processors, is held back until the
 * next one: the window waits for it, so that nothing counts twice or is missed.
 */
static void held_back(void **state)
{
    (void)state;
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c += BJ_ENERGY_OTHER) {
        struct ledger_rig r = ledger_rig_new(0);
        tick(&r, 0, 0, 0);
        add_node_reading(&r, 0);
        tick(&r, 10, 0, 0);
        add_node_reading(&r, 1000 * J);
        tick(&r, 10, 400 * J, 1);
        assert_int_equal(r.s.windows, 2);
        r.t.held[c] = true;
        add_node_reading(&r, c == BJ_ENERGY_OTHER ? 0 : 1000 * J);
        tick(&r, 10, c == BJ_ENERGY_OTHER ? 400 * J : 0, 1);
        assert_int_equal(r.s.windows, 2);
        r.t.held[c] = false;
        add_node_reading(&r, c == BJ_ENERGY_OTHER ? 2000 * J : 1000 * J);
        tick(&r, 10, c == BJ_ENERGY_OTHER ? 400 * J : 800 * J, 1);
        assert_int_equal(r.s.windows, 3);
        assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 1200 * J);
        assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_OTHER], 1800 * J);
        assert_int_equal(r.s.deficit_uj + r.s.node_missed_uj +
                             r.s.missed_uj[BJ_ENERGY_CPU],
                         0);
        /* Not for ever: what is taken later is not missed. */
        r.t.held[c] = true;
        for (int i = 0; i < 4; i++)
            tick(&r, 10, 100 * J, 1);
        assert_int_equal(r.s.windows, 4);
        r.t.held[c] = false;
        add_node_reading(&r, 2000 * J);
        tick(&r, 10, 100 * J, 1);
        assert_int_equal(r.s.missed_uj[BJ_ENERGY_CPU], 0);
        assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 1700 * J);
        ledger_rig_free(&r);
    }
}

/* A new reading with an unchanged value counts as a gap; one that fell starts
 * again. */
static void node_gap(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    add_node_reading(&r, 500 * J);
    tick(&r, 0, 0, 0);
    add_node_reading(&r, 0);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.alone_uj[BJ_ENERGY_CPU], 100 * J);
    assert_int_equal(r.s.deficit_uj, 0);
    r.t.node_uj = 0;
    add_node_reading(&r, 1);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.alone_uj[BJ_ENERGY_CPU], 200 * J);
    add_node_reading(&r, 300 * J);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER], 200 * J);
    ledger_rig_free(&r);
}

/* Samples of a component are missing: the window waits, but not beyond the
 * patience; energy that is counted later is missed energy. */
static void lost_samples(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    struct bj_account *a = open_job(&r, "a", false);
    use_cpu(a, 0, 10);
    tick(&r, 0, 0, 0);
    uint64_t total = 300 * J;
    r.t.total_uj[BJ_ENERGY_CPU] = NONE;
    use_cpu(a, 1, 10);
    bj_account_close(a);
    tick(&r, 10, 0, 2);
    assert_false(bj_account_final(a));
    r.t.total_uj[BJ_ENERGY_CPU] = total;
    tick(&r, 10, 0, 2);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 75 * J);
    assert_true(bj_account_final(a));
    r.t.total_uj[BJ_ENERGY_CPU] = NONE;
    for (int i = 0; i < 3; i++)
        tick(&r, 10, 0, 2);
    r.t.total_uj[BJ_ENERGY_CPU] = total + 700 * J;
    tick(&r, 10, 0, 2);
    assert_int_equal(r.s.missed_uj[BJ_ENERGY_CPU], 700 * J);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_CPU], 300 * J);
    tick(&r, 10, 50 * J, 2);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_CPU], 350 * J);
    r.t.total_uj[BJ_ENERGY_CPU] =
        5; /* another meter with a counter of its own */
    tick(&r, 10, 0, 2);
    tick(&r, 10, 20, 2);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_CPU], 350 * J + 20);
    ledger_rig_free(&r);
}

/* The GPU energy of a job is reported after its end: it gets that and nothing
 * else, and its account is then final. */
static void gpu_energy_after_the_end(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    struct bj_account *a = open_job(&r, "a", false);
    r.t.total_uj[BJ_ENERGY_GPU] = 0;
    use_cpu(a, 0, 4);
    tick(&r, 0, 0, 0);
    use_cpu(a, 10, 4);
    bj_account_close(a);
    bj_account_linger(a, true);
    tick(&r, 10, 100 * J, 10);
    uint64_t cpu_uj = bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_CPU);
    assert_true(cpu_uj > 0);
    tick(&r, 10, 100 * J, 10);
    assert_false(bj_account_final(a));
    bj_account_gpu(a, 70 * J);
    r.t.total_uj[BJ_ENERGY_GPU] += 90 * J;
    bj_account_linger(a, false);
    tick(&r, 10, 100 * J, 10);
    assert_true(bj_account_final(a));
    assert_int_equal(bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_GPU), 70 * J);
    assert_int_equal(bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_CPU), cpu_uj);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_GPU], 20 * J);
    bj_account_gpu(a, 70 * J); /* ignored: the account is final */
    r.t.total_uj[BJ_ENERGY_GPU] += 10 * J;
    tick(&r, 10, 100 * J, 10);
    assert_int_equal(bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_GPU), 70 * J);
    ledger_rig_free(&r);
}

/* Jobs get the GPU energy that was reported for them; the rest is unallocated.
 * Without a total, the sum over the jobs is the total. */
static void gpu_energy(void **state)
{
    (void)state;
    for (int metered = 0; metered < 2; metered++) {
        struct ledger_rig r = ledger_rig_new(100);
        struct bj_account *a = open_job(&r, "a", false);
        if (metered)
            r.t.total_uj[BJ_ENERGY_GPU] = 77;
        add_node_reading(&r, 0);
        bj_account_gpu(a, 5);
        tick(&r, 0, 0, 0);
        bj_account_gpu(a, 500 * J);
        bj_account_gpu(a, NONE);
        if (metered)
            r.t.total_uj[BJ_ENERGY_GPU] += 800 * J;
        add_node_reading(&r, 3000 * J);
        tick(&r, 10, 1000 * J, 0);
        for (int p = 0; p < BJ_POLICIES; p++) {
            assert_int_equal(bj_account_uj(a, (enum bj_policy)p, BJ_ENERGY_GPU),
                             500 * J);
            assert_int_equal(r.s.unallocated_uj[p][BJ_ENERGY_GPU],
                             metered ? 300 * J : 0);
        }
        assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER],
                         metered ? 1200 * J : 1500 * J);
        ledger_rig_free(&r);
    }
}

/* Jobs reported more GPU energy than the total: theirs is scaled down. */
static void gpu_energy_above_the_total(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    struct bj_account *a = open_job(&r, "a", false),
                      *b = open_job(&r, "b", false);
    r.t.total_uj[BJ_ENERGY_GPU] = 0;
    tick(&r, 0, 0, 0);
    bj_account_gpu(a, 300);
    bj_account_gpu(b, 100);
    r.t.total_uj[BJ_ENERGY_GPU] = 200;
    tick(&r, 10, 0, 0);
    assert_int_equal(bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_GPU), 150);
    assert_int_equal(bj_account_uj(b, BJ_HYBRID, BJ_ENERGY_GPU), 50);
    ledger_rig_free(&r);
}

/* Extreme sizes: nothing overflows, and no energy is lost. */
static void extreme_sizes(void **state)
{
    (void)state;
    const uint64_t big = UINT64_C(1) << 63;
    struct bj_ledger_conf conf = {big, big, big, SEC};
    struct ledger_rig r = ledger_rig_new(0);
    bj_ledger_free(r.l);
    r.l = bj_ledger_new(&conf);
    struct bj_account *a[3];
    for (int i = 0; i < 3; i++)
        a[i] = open_job(&r, "x", true);
    add_node_reading(&r, 0);
    r.t.total_uj[BJ_ENERGY_DRAM] = r.t.total_uj[BJ_ENERGY_GPU] = 0;
    tick(&r, 0, 0, 0);
    for (int round = 0; round < 4; round++) {
        for (uint64_t i = 0; i < 3; i++) {
            struct bj_job_use u = {big + i, big + i, big, big};
            bj_account_use(a[i], &u);
            bj_account_gpu(a[i], big);
        }
        r.t.now_usec += UINT64_C(1) << 61;
        r.t.cpu_usec += UINT64_C(1) << 61;
        r.t.mem_bytes = big;
        for (int c = 0; c < BJ_ENERGY_OTHER; c++)
            r.t.total_uj[c] = round % 2 ? UINT64_MAX - 1 : big;
        r.t.node_uj = round % 2 ? UINT64_MAX - 1 : big;
        r.t.node_stamp_usec++;
        tick(&r, 0, 0, 0);
        for (int p = 0; p < BJ_POLICIES; p++)
            for (int c = 0; c < BJ_COMPONENTS; c++) {
                uint64_t sum = r.s.system_uj[p][c] + r.s.unallocated_uj[p][c] +
                               r.s.pending_uj[c];
                for (int i = 0; i < 3; i++)
                    sum += bj_account_uj(a[i], (enum bj_policy)p,
                                         (enum bj_component)c);
                assert_int_equal(sum, r.s.taken_uj[c]);
            }
    }
    assert_true(r.s.taken_uj[BJ_ENERGY_CPU] > big / 4);
    ledger_rig_free(&r);
}

/* --- time ----------------------------------------------------------------- */

/* The ledger does not read a clock, so changes of the wall clock cannot matter.
 * A read of the clock aborts the test. */
static bool no_clock;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                         struct timespec *ts)
{
    if (no_clock)
        abort();
    return (int)syscall(SYS_clock_gettime, clock, ts);
}

__attribute__((visibility("default"))) time_t time(time_t *t)
{
    struct timespec ts = {0};
    clock_gettime(CLOCK_REALTIME, &ts);
    if (t)
        *t = ts.tv_sec;
    return ts.tv_sec;
}

static void reads_no_clock(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    no_clock = true;
    struct bj_account *a = open_job(&r, "a", true);
    for (int i = 0; i < 20; i++) {
        use_cpu(a, (uint64_t)i, 2);
        add_node_reading(&r, 300 * J);
        tick(&r, 10, 200 * J, 3);
    }
    bj_account_close(a);
    tick(&r, 10, 200 * J, 3);
    no_clock = false;
    ledger_rig_free(&r);
}

/* A suspended time counts as long as the interval before it: 100 W for 10 s,
 * not for an hour. */
static void suspended(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 1500 * J, 1);
    r.t.suspended = true;
    tick(&r, 3600, 1500 * J, 1);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU], 2000 * J);
    assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 1000 * J);
    r.t.suspended = false;
    r.t.now_usec -= 100 * SEC; /* no boot clock does that */
    tick(&r, 0, 1500 * J, 1);
    assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 2500 * J);
    ledger_rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_jobs),
        cmocka_unit_test(all_idle),
        cmocka_unit_test(more_cpus_than_the_node_has),
        cmocka_unit_test(reserved_memory),
        cmocka_unit_test(ties_go_to_the_first),
        cmocka_unit_test(root_below_jobs),
        cmocka_unit_test(within_a_window),
        cmocka_unit_test(successors),
        cmocka_unit_test(found_running),
        cmocka_unit_test(slow_node_meter),
        cmocka_unit_test(deficit),
        cmocka_unit_test(node_meter_fails),
        cmocka_unit_test(held_back),
        cmocka_unit_test(node_gap),
        cmocka_unit_test(lost_samples),
        cmocka_unit_test(gpu_energy),
        cmocka_unit_test(gpu_energy_after_the_end),
        cmocka_unit_test(gpu_energy_above_the_total),
        cmocka_unit_test(extreme_sizes),
        cmocka_unit_test(suspended),
        cmocka_unit_test(reads_no_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
