/* The edges of the ledger, one by one, with figures by hand: jobs that come and
 * go within a window, meters that fall silent, time that does odd things. */
#include "tests/unit/lib/ledger_room.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- who is there --------------------------------------------------------- */

/* Without jobs the static part is unallocated, the rest the system's. */
static void no_jobs(void **state)
{
    (void)state;
    struct room r = room_of(100);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 1500 * J, 3);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU], 1000 * J);
    assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 500 * J);
    assert_int_equal(r.s.system_uj[BJ_USAGE][BJ_ENERGY_CPU], 1500 * J);
    assert_int_equal(r.s.unallocated_uj[BJ_RESERVATION][BJ_ENERGY_CPU],
                     1500 * J);
    leave(&r);
}

/* Nobody uses anything: still nobody but the system gets the dynamic part. */
static void all_idle(void **state)
{
    (void)state;
    struct room r = room_of(100);
    struct bj_account *a = job(&r, "a", false);
    use(a, 7, 5);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 1500 * J, 0);
    assert_int_equal(cpu(a, BJ_HYBRID), 500 * J);
    assert_int_equal(cpu(a, BJ_USAGE), 0);
    assert_int_equal(cpu(a, BJ_RESERVATION), 750 * J);
    assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 500 * J);
    leave(&r);
}

/* 8 and 12 of 10 CPUs: the second counts as 10, and 18 are scaled to 10. */
static void more_than_there_is(void **state)
{
    (void)state;
    struct room r = room_of(100);
    struct bj_account *a = job(&r, "a", false), *b = job(&r, "b", false);
    use(a, 0, 8);
    use(b, 0, 12);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 900 * J, 0);
    assert_int_equal(cpu(a, BJ_RESERVATION), 400 * J);
    assert_int_equal(cpu(b, BJ_RESERVATION), 500 * J);
    assert_int_equal(r.s.unallocated_uj[BJ_RESERVATION][BJ_ENERGY_CPU], 0);
    leave(&r);
}

/* The larger of both shares; a node of unknown size has none. */
static void reserved_memory(void **state)
{
    (void)state;
    struct room r = room_of(100);
    struct bj_account *a = job(&r, "a", false);
    struct bj_job_use u = {0, NONE, 2, 50 * GIB};
    bj_account_use(a, &u);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 900 * J, 0);
    assert_int_equal(cpu(a, BJ_RESERVATION), 450 * J);
    leave(&r);
    struct bj_ledger_conf conf = {.cpus = NONE, .mem_bytes = NONE};
    r = room_of(0);
    bj_ledger_free(r.l);
    r.l = bj_ledger_new(&conf);
    a = job(&r, "a", false);
    bj_account_use(a, &u);
    tick(&r, 0, 0, 0);
    tick(&r, 10, 900 * J, 0);
    assert_int_equal(cpu(a, BJ_RESERVATION), 0);
    assert_int_equal(r.s.unallocated_uj[BJ_RESERVATION][BJ_ENERGY_CPU],
                     900 * J);
    leave(&r);
}

/* Three equal shares of 100 microjoules: the odd one goes to the first. */
static void ties_go_to_the_first(void **state)
{
    (void)state;
    struct room r = room_of(100);
    struct bj_account *a[3];
    for (int i = 0; i < 3; i++) {
        a[i] = job(&r, i == 0 ? "z" : i == 1 ? "y" : "x", false);
        use(a[i], 0, NONE);
    }
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        use(a[i], 1, NONE);
    tick(&r, 10, 100, 3);
    assert_int_equal(cpu(a[0], BJ_USAGE), 34);
    assert_int_equal(cpu(a[1], BJ_USAGE), 33);
    assert_int_equal(cpu(a[2], BJ_USAGE), 33);
    leave(&r);
}

/* The kernel's ticks gave the root less than the job: the job gets all. */
static void root_below_jobs(void **state)
{
    (void)state;
    struct room r = room_of(0);
    struct bj_account *a = job(&r, "a", false);
    use(a, 5, 1);
    tick(&r, 0, 0, 0);
    use(a, 15, 1);
    tick(&r, 10, 900 * J, 9);
    assert_int_equal(cpu(a, BJ_HYBRID), 900 * J);
    assert_int_equal(r.s.system_uj[BJ_HYBRID][BJ_ENERGY_CPU], 0);
    leave(&r);
}

/* A job that lived between two ticks has its CPU time and half a tick of what
 * it reserved; its account is final, drops, and nothing is lost. */
static void within_a_window(void **state)
{
    (void)state;
    struct room r = room_of(100);
    tick(&r, 0, 0, 0);
    struct bj_account *a = job(&r, "a", true);
    use(a, 6, 10);
    bj_account_close(a);
    assert_false(bj_account_final(a));
    tick(&r, 10, 2000 * J, 8);
    assert_true(bj_account_final(a));
    assert_int_equal(cpu(a, BJ_USAGE), 1500 * J);
    assert_int_equal(cpu(a, BJ_RESERVATION), 1000 * J);
    assert_int_equal(cpu(a, BJ_HYBRID), 500 * J + 750 * J);
    use(a, 600, 10);
    tick(&r, 10, 1000 * J, 8);
    assert_int_equal(cpu(a, BJ_USAGE), 1500 * J);
    bj_ledger_drop(r.l, a);
    bj_ledger_sums(r.l, &r.s);
    assert_int_equal(r.s.dropped_uj[BJ_USAGE][BJ_ENERGY_CPU], 1500 * J);
    bj_ledger_drop(r.l, NULL);
    leave(&r);
}

/* One job follows another on all CPUs: together they are one. */
static void successors(void **state)
{
    (void)state;
    struct room r = room_of(100);
    struct bj_account *a = job(&r, "a", false);
    use(a, 0, 10);
    tick(&r, 0, 0, 0);
    struct bj_account *b = job(&r, "b", true);
    use(b, 0, 10);
    bj_account_close(a);
    tick(&r, 10, 800 * J, 0);
    assert_int_equal(cpu(a, BJ_RESERVATION), 400 * J);
    assert_int_equal(cpu(b, BJ_RESERVATION), 400 * J);
    tick(&r, 10, 800 * J, 0);
    assert_int_equal(cpu(b, BJ_RESERVATION), 1200 * J);
    leave(&r);
}

/* What a job had used before we looked is not of this window. */
static void found_running(void **state)
{
    (void)state;
    struct room r = room_of(0);
    tick(&r, 0, 0, 0);
    struct bj_account *a = job(&r, "a", false);
    use(a, 5000, 10);
    use(a, 5002, 10);
    tick(&r, 10, 1000 * J, 4);
    assert_int_equal(cpu(a, BJ_USAGE), 500 * J);
    assert_int_equal(cpu(a, BJ_RESERVATION), 0);
    use(a, 5000, 10); /* it never falls; if it did, nothing comes of it */
    tick(&r, 10, 1000 * J, 4);
    assert_int_equal(cpu(a, BJ_USAGE), 500 * J);
    leave(&r);
}

/* --- meters --------------------------------------------------------------- */

/* A slow node: deltas wait for it. */
static void slow_node(void **state)
{
    (void)state;
    struct room r = room_of(0);
    struct bj_account *a = job(&r, "a", true);
    node(&r, 0);
    use(a, 0, 10);
    tick(&r, 0, 0, 0);
    use(a, 5, 10);
    tick(&r, 5, 100 * J, 5);
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 100 * J);
    assert_int_equal(cpu(a, BJ_USAGE), 0);
    node(&r, 1000 * J);
    tick(&r, 5, 300 * J, 15);
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 0);
    assert_int_equal(cpu(a, BJ_USAGE), 100 * J);
    assert_int_equal(bj_account_uj(a, BJ_USAGE, BJ_ENERGY_OTHER), 150 * J);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER], 600 * J);
    leave(&r);
}

/* The node reports less than its components: nothing is scaled. */
static void deficit(void **state)
{
    (void)state;
    struct room r = room_of(100);
    node(&r, 0);
    tick(&r, 0, 0, 0);
    node(&r, 900 * J);
    tick(&r, 10, 1000 * J, 1);
    assert_int_equal(r.s.deficit_uj, 100 * J);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER], 0);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU], 1000 * J);
    leave(&r);
}

/* A dead node: the window is settled without it after the patience; the energy
 * that it counted meanwhile is shown, not attributed. */
static void dead_node(void **state)
{
    (void)state;
    struct room r = room_of(0);
    node(&r, 0);
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 2; i++)
        tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 200 * J);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 0);
    assert_int_equal(r.s.alone_uj[BJ_ENERGY_CPU], 300 * J);
    tick(&r, 10, 100 * J, 1); /* ended jobs are not waited for */
    assert_int_equal(r.s.pending_uj[BJ_ENERGY_CPU], 0);
    node(&r, 5000 * J);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.node_uj, 0);
    assert_int_equal(r.s.node_missed_uj, 5000 * J);
    node(&r, 400 * J);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.node_uj, 400 * J);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER], 300 * J);
    leave(&r);
}

/* A reading that has not moved had a gap; one that fell began again. */
static void node_gap(void **state)
{
    (void)state;
    struct room r = room_of(0);
    node(&r, 500 * J);
    tick(&r, 0, 0, 0);
    node(&r, 0);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.alone_uj[BJ_ENERGY_CPU], 100 * J);
    assert_int_equal(r.s.deficit_uj, 0);
    r.t.node_uj = 0;
    node(&r, 1);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.alone_uj[BJ_ENERGY_CPU], 200 * J);
    node(&r, 300 * J);
    tick(&r, 10, 100 * J, 1);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER], 200 * J);
    leave(&r);
}

/* Lost samples of a component: the window waits; after the patience it does
 * not, and what comes later was missed. */
static void lost_samples(void **state)
{
    (void)state;
    struct room r = room_of(0);
    struct bj_account *a = job(&r, "a", false);
    use(a, 0, 10);
    tick(&r, 0, 0, 0);
    uint64_t total = 300 * J;
    r.t.total_uj[BJ_ENERGY_CPU] = NONE;
    use(a, 1, 10);
    bj_account_close(a);
    tick(&r, 10, 0, 2);
    assert_false(bj_account_final(a));
    r.t.total_uj[BJ_ENERGY_CPU] = total;
    tick(&r, 10, 0, 2);
    assert_int_equal(cpu(a, BJ_USAGE), 75 * J);
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
    r.t.total_uj[BJ_ENERGY_CPU] = 5; /* another meter, which counts again */
    tick(&r, 10, 0, 2);
    tick(&r, 10, 20, 2);
    assert_int_equal(r.s.taken_uj[BJ_ENERGY_CPU], 350 * J + 20);
    leave(&r);
}

/* What the accelerators of a job took before its end is reported late: it gets
 * that and nothing else, and is final afterwards. */
static void accelerators_late(void **state)
{
    (void)state;
    struct room r = room_of(0);
    struct bj_account *a = job(&r, "a", false);
    r.t.total_uj[BJ_ENERGY_GPU] = 0;
    use(a, 0, 4);
    tick(&r, 0, 0, 0);
    use(a, 10, 4);
    bj_account_close(a);
    bj_account_linger(a, true);
    tick(&r, 10, 100 * J, 10);
    uint64_t cpu = bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_CPU);
    assert_true(cpu > 0);
    tick(&r, 10, 100 * J, 10);
    assert_false(bj_account_final(a));
    bj_account_gpu(a, 70 * J);
    r.t.total_uj[BJ_ENERGY_GPU] += 90 * J;
    bj_account_linger(a, false);
    tick(&r, 10, 100 * J, 10);
    assert_true(bj_account_final(a));
    assert_int_equal(bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_GPU), 70 * J);
    assert_int_equal(bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_CPU), cpu);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_GPU], 20 * J);
    bj_account_gpu(a, 70 * J); /* too late */
    r.t.total_uj[BJ_ENERGY_GPU] += 10 * J;
    tick(&r, 10, 100 * J, 10);
    assert_int_equal(bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_GPU), 70 * J);
    leave(&r);
}

/* Accelerators: what owners were given, the rest unallocated; without a total
 * the sum of them is it. */
static void accelerators(void **state)
{
    (void)state;
    for (int metered = 0; metered < 2; metered++) {
        struct room r = room_of(100);
        struct bj_account *a = job(&r, "a", false);
        if (metered)
            r.t.total_uj[BJ_ENERGY_GPU] = 77;
        node(&r, 0);
        bj_account_gpu(a, 5);
        tick(&r, 0, 0, 0);
        bj_account_gpu(a, 500 * J);
        bj_account_gpu(a, NONE);
        if (metered)
            r.t.total_uj[BJ_ENERGY_GPU] += 800 * J;
        node(&r, 3000 * J);
        tick(&r, 10, 1000 * J, 0);
        for (int p = 0; p < BJ_POLICIES; p++) {
            assert_int_equal(bj_account_uj(a, (enum bj_policy)p, BJ_ENERGY_GPU),
                             500 * J);
            assert_int_equal(r.s.unallocated_uj[p][BJ_ENERGY_GPU],
                             metered ? 300 * J : 0);
        }
        assert_int_equal(r.s.taken_uj[BJ_ENERGY_OTHER],
                         metered ? 1200 * J : 1500 * J);
        leave(&r);
    }
}

/* Owners were given more than the total has moved: scaled to it. */
static void accelerators_disagree(void **state)
{
    (void)state;
    struct room r = room_of(0);
    struct bj_account *a = job(&r, "a", false), *b = job(&r, "b", false);
    r.t.total_uj[BJ_ENERGY_GPU] = 0;
    tick(&r, 0, 0, 0);
    bj_account_gpu(a, 300);
    bj_account_gpu(b, 100);
    r.t.total_uj[BJ_ENERGY_GPU] = 200;
    tick(&r, 10, 0, 0);
    assert_int_equal(bj_account_uj(a, BJ_HYBRID, BJ_ENERGY_GPU), 150);
    assert_int_equal(bj_account_uj(b, BJ_HYBRID, BJ_ENERGY_GPU), 50);
    leave(&r);
}

/* Sizes that no node has: nothing overflows, and nothing is lost. */
static void beyond_reason(void **state)
{
    (void)state;
    const uint64_t big = UINT64_C(1) << 63;
    struct bj_ledger_conf conf = {big, big, big, SEC};
    struct room r = room_of(0);
    bj_ledger_free(r.l);
    r.l = bj_ledger_new(&conf);
    struct bj_account *a[3];
    for (int i = 0; i < 3; i++)
        a[i] = job(&r, "x", true);
    node(&r, 0);
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
    leave(&r);
}

/* --- time ----------------------------------------------------------------- */

/* Nothing in the ledger asks for the time: steps of the wall clock cannot
 * matter.  Asking ends the test. */
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

static void asks_for_no_time(void **state)
{
    (void)state;
    struct room r = room_of(100);
    no_clock = true;
    struct bj_account *a = job(&r, "a", true);
    for (int i = 0; i < 20; i++) {
        use(a, (uint64_t)i, 2);
        node(&r, 300 * J);
        tick(&r, 10, 200 * J, 3);
    }
    bj_account_close(a);
    tick(&r, 10, 200 * J, 3);
    no_clock = false;
    leave(&r);
}

/* A sleep counts as long as the interval before it: 100 W for 10 s, not for an
 * hour. */
static void suspended(void **state)
{
    (void)state;
    struct room r = room_of(100);
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
    leave(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_jobs),
        cmocka_unit_test(all_idle),
        cmocka_unit_test(more_than_there_is),
        cmocka_unit_test(reserved_memory),
        cmocka_unit_test(ties_go_to_the_first),
        cmocka_unit_test(root_below_jobs),
        cmocka_unit_test(within_a_window),
        cmocka_unit_test(successors),
        cmocka_unit_test(found_running),
        cmocka_unit_test(slow_node),
        cmocka_unit_test(deficit),
        cmocka_unit_test(dead_node),
        cmocka_unit_test(node_gap),
        cmocka_unit_test(lost_samples),
        cmocka_unit_test(accelerators),
        cmocka_unit_test(accelerators_late),
        cmocka_unit_test(accelerators_disagree),
        cmocka_unit_test(beyond_reason),
        cmocka_unit_test(suspended),
        cmocka_unit_test(asks_for_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
