/* How the ledger learns the idle power of a node, with expected values computed
 * by hand. */
#include "tests/unit/lib/ledger_room.h"

static void learns(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    tick(&r, 0, 0, 0);
    /* Nine windows are not enough. */
    for (int i = 0; i < 9; i++)
        tick(&r, 10, 1100 * J, 0);
    assert_int_equal(r.s.idle_uw, 0);
    tick(&r, 10, 600 * J, 0); /* one wrong reading is ignored */
    assert_int_equal(r.s.idle_uw, 110 * J);
    assert_true(r.s.idle_learnt);
    /* The next window uses it. */
    uint64_t was = r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU];
    tick(&r, 10, 1500 * J, 50);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU] - was,
                     1100 * J);
    /* It falls with the power of the lowest tenth of the remembered windows. */
    for (int i = 0; i < 10; i++)
        tick(&r, 10, 900 * J, 0);
    assert_int_equal(r.s.idle_uw, 90 * J);
    /* It rises when all lower windows are forgotten. */
    for (int i = 0; i < 128; i++)
        tick(&r, 10, 1200 * J, 0);
    assert_int_equal(r.s.idle_uw, 120 * J);
    ledger_rig_free(&r);
}

/* Windows from which nothing is learnt: with jobs, a busy system, a suspended
 * machine, unknown CPU time, a deficit, less than a second, no energy. */
static void does_not_learn(void **state)
{
    (void)state;
    for (int why = 0; why < 7; why++) {
        struct ledger_rig r = ledger_rig_new(0);
        if (why == 0)
            use_cpu(open_job(&r, "a", false), 0, 1);
        if (why == 4)
            add_node_reading(&r, 0);
        tick(&r, 0, 0, 0);
        for (int i = 0; i < 40; i++) {
            r.t.suspended = why == 2;
            if (why == 4)
                add_node_reading(&r, 50 * J);
            if (why == 5)
                r.t.now_usec -= 9500000;
            if (why == 3)
                r.t.cpu_usec = NONE;
            tick(&r, 10, why == 6 ? 0 : 100 * J, why == 1 ? 2 : 0);
        }
        assert_int_equal(r.s.idle_uw, 0);
        ledger_rig_free(&r);
    }
}

/* A system that uses less than two percent does not prevent it. */
static void learns_with_idle_daemons(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 10; i++)
        tick(&r, 10, 1000 * J, 1);
    assert_int_equal(r.s.idle_uw, 100 * J);
    ledger_rig_free(&r);
}

/* The idle power of the node's meter replaces that of the components. */
static void idle_power_by_meter(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 10; i++)
        tick(&r, 10, 400 * J, 0);
    assert_int_equal(r.s.idle_uw, 40 * J);
    add_node_reading(&r, 0);
    tick(&r, 10, 400 * J, 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(r.s.idle_uw, i > 0 ? 0 : 40 * J);
        add_node_reading(&r, 1300 * J);
        tick(&r, 10, 400 * J, 0);
    }
    assert_int_equal(r.s.idle_uw, 130 * J);
    ledger_rig_free(&r);
}

/* A configured value takes precedence. */
static void configured(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(100);
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 20; i++)
        tick(&r, 10, 400 * J, 0);
    assert_int_equal(r.s.idle_uw, 100 * J);
    assert_false(r.s.idle_learnt);
    ledger_rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns),
        cmocka_unit_test(does_not_learn),
        cmocka_unit_test(learns_with_idle_daemons),
        cmocka_unit_test(idle_power_by_meter),
        cmocka_unit_test(configured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
