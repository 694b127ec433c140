/* base/wait.h with the simulated clock of tests. */
#include "base/clock.h"
#include "base/wait.h"
#include "tests/unit/lib/testclock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#define SECOND 1000000ull
#define BOOT (1000 * SECOND)
#define WALL (1700000000 * SECOND)

static void test_set(void **state)
{
    (void)state;
    testclock_set(BOOT, WALL);
    assert_int_equal(bj_clock_boot_usec(), BOOT);
    assert_int_equal(bj_clock_wall_usec(), WALL);
    uint64_t awake = bj_clock_awake_usec();
    testclock_advance(5 * SECOND);
    assert_int_equal(bj_clock_boot_usec(), BOOT + 5 * SECOND);
    assert_int_equal(bj_clock_wall_usec(), WALL + 5 * SECOND);
    testclock_suspend(60 * SECOND);
    assert_int_equal(bj_clock_boot_usec(), BOOT + 65 * SECOND);
    assert_int_equal(bj_clock_awake_usec(), awake + 5 * SECOND);
    testclock_set_wall(WALL);
    assert_int_equal(bj_clock_wall_usec(), WALL);
    assert_int_equal(bj_clock_boot_usec(), BOOT + 65 * SECOND);
    testclock_run();
    assert_true(bj_clock_wall_usec() > WALL + 65 * SECOND);
}

struct poller {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    unsigned passes, calls;
    bool called, stop;
};

/* A pass every 30 seconds and on request. */
static void *poll_run(void *arg)
{
    struct poller *p = arg;
    uint64_t due = bj_clock_boot_usec() + 30 * SECOND;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (!bj_wait_until(&p->wake, &p->lock, due)) {
            p->passes++;
            due += 30 * SECOND;
        } else if (p->called) {
            p->called = false;
            p->calls++;
            pthread_cond_broadcast(&p->wake);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void test_deadline(void **state)
{
    (void)state;
    struct poller p = {0};
    pthread_t thread;
    testclock_set(BOOT, WALL);
    assert_int_equal(bj_wait_init(&p.lock, &p.wake), 0);
    assert_int_equal(pthread_create(&thread, NULL, poll_run, &p), 0);
    for (unsigned i = 0; i < 5; i++) {
        testclock_await(1);
        assert_int_equal(testclock_deadline(), BOOT + (i + 1) * 30 * SECOND);
        assert_int_equal(p.passes, i);
        testclock_advance(29 * SECOND);
        testclock_await(1);
        assert_int_equal(p.passes, i);
        testclock_advance(1 * SECOND);
    }
    testclock_await(1);
    pthread_mutex_lock(&p.lock);
    p.called = true;
    pthread_cond_broadcast(&p.wake);
    while (p.called)
        bj_wait_until(&p.wake, &p.lock, UINT64_MAX);
    assert_int_equal(p.calls, 1);
    assert_int_equal(p.passes, 5);
    /* A deadline that has passed: no wait. */
    assert_false(bj_wait_until(&p.wake, &p.lock, bj_clock_boot_usec()));
    p.stop = true;
    pthread_cond_broadcast(&p.wake);
    pthread_mutex_unlock(&p.lock);
    pthread_join(thread, NULL);
    bj_wait_destroy(&p.lock, &p.wake);
    testclock_run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
