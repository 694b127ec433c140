/* Learning what a node takes at rest, with figures by hand. */
#include "tests/unit/lib/ledger_room.h"

static void learns(void **state)
{
    (void)state;
    struct room r = room_of(0);
    tick(&r, 0, 0, 0);
    /* Nine windows are not enough. */
    for (int i = 0; i < 9; i++)
        tick(&r, 10, 1100 * J, 0);
    assert_int_equal(r.s.idle_uw, 0);
    tick(&r, 10, 600 * J, 0); /* one bad reading is passed over */
    assert_int_equal(r.s.idle_uw, 110 * J);
    assert_true(r.s.idle_learnt);
    /* In use from the next window on. */
    uint64_t was = r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU];
    tick(&r, 10, 1500 * J, 50);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU] - was,
                     1100 * J);
    /* It comes down with the machine: a tenth of what is remembered. */
    for (int i = 0; i < 10; i++)
        tick(&r, 10, 900 * J, 0);
    assert_int_equal(r.s.idle_uw, 90 * J);
    /* And up, when all that was lower is forgotten. */
    for (int i = 0; i < 128; i++)
        tick(&r, 10, 1200 * J, 0);
    assert_int_equal(r.s.idle_uw, 120 * J);
    leave(&r);
}

/* Windows to learn nothing from: jobs, a busy system, a sleep, unknown CPU
 * time, a deficit, less than a second, no energy. */
static void does_not_learn(void **state)
{
    (void)state;
    for (int why = 0; why < 7; why++) {
        struct room r = room_of(0);
        if (why == 0)
            use(job(&r, "a", false), 0, 1);
        if (why == 4)
            node(&r, 0);
        tick(&r, 0, 0, 0);
        for (int i = 0; i < 40; i++) {
            r.t.suspended = why == 2;
            if (why == 4)
                node(&r, 50 * J);
            if (why == 5)
                r.t.now_usec -= 9500000;
            if (why == 3)
                r.t.cpu_usec = NONE;
            tick(&r, 10, why == 6 ? 0 : 100 * J, why == 1 ? 2 : 0);
        }
        assert_int_equal(r.s.idle_uw, 0);
        leave(&r);
    }
}

/* A system below two per cent is no reason against. */
static void learns_beside_daemons(void **state)
{
    (void)state;
    struct room r = room_of(0);
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 10; i++)
        tick(&r, 10, 1000 * J, 1);
    assert_int_equal(r.s.idle_uw, 100 * J);
    leave(&r);
}

/* With and without the node there are two powers at rest. */
static void two_idles(void **state)
{
    (void)state;
    struct room r = room_of(0);
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 10; i++)
        tick(&r, 10, 400 * J, 0);
    assert_int_equal(r.s.idle_uw, 40 * J);
    node(&r, 0);
    tick(&r, 10, 400 * J, 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(r.s.idle_uw, i > 0 ? 0 : 40 * J);
        node(&r, 1300 * J);
        tick(&r, 10, 400 * J, 0);
    }
    assert_int_equal(r.s.idle_uw, 130 * J);
    leave(&r);
}

/* What is configured wins. */
static void configured(void **state)
{
    (void)state;
    struct room r = room_of(100);
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 20; i++)
        tick(&r, 10, 400 * J, 0);
    assert_int_equal(r.s.idle_uw, 100 * J);
    assert_false(r.s.idle_learnt);
    leave(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns),
        cmocka_unit_test(does_not_learn),
        cmocka_unit_test(learns_beside_daemons),
        cmocka_unit_test(two_idles),
        cmocka_unit_test(configured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
