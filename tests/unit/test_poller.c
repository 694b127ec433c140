/* The thread of a slow source: when it runs, how it stops, and when it is
 * abandoned. */
#include "base/wait.h"
#include "core/poller.h"
#include "tests/unit/lib/testclock.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000 };

/* A source. Its steps block while `held` is set. */
struct source {
    struct bj_poller poller;
    unsigned steps, finished; /* under the poller's lock */
    uint64_t period_usec;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change;
static bool held;      /* under lock */
static unsigned freed; /* under lock: number of freed sources */

static void hold(bool on)
{
    pthread_mutex_lock(&lock);
    held = on;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

static bool step(struct bj_worker *w)
{
    struct source *s = (struct source *)w->poller;
    bj_worker_unlock(w);
    pthread_mutex_lock(&lock);
    while (held)
        bj_wait_until(&change, &lock, UINT64_MAX);
    pthread_mutex_unlock(&lock);
    bool ours = bj_worker_lock(w);
    if (!ours)
        return false;
    s->steps++;
    s->poller.due_usec = s->period_usec == UINT64_MAX
                             ? UINT64_MAX
                             : s->poller.due_usec + s->period_usec;
    return true;
}

static bool finish(struct bj_worker *w)
{
    ((struct source *)w->poller)->finished++;
    return true;
}

static void gone(struct bj_poller *p)
{
    pthread_mutex_lock(&lock);
    freed++;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
    free(p);
}

static int start_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                        void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    return -pthread_create(ret, NULL, fn, arg);
}

static const struct bj_poller_work work = {
    .step = step, .finish = finish, .gone = gone};

static struct source *source(uint64_t due_usec, uint64_t period_usec)
{
    const struct bj_host host = {.thread = start_thread};
    struct source *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    assert_int_equal(bj_poller_init(&s->poller, &work, "test", &host, NULL), 0);
    s->poller.due_usec = due_usec;
    s->period_usec = period_usec;
    assert_int_equal(bj_poller_start(&s->poller), 0);
    return s;
}

static unsigned steps(struct source *s)
{
    pthread_mutex_lock(s->poller.lock);
    unsigned n = s->steps;
    pthread_mutex_unlock(s->poller.lock);
    return n;
}

static void await_freed(unsigned n)
{
    pthread_mutex_lock(&lock);
    while (freed < n)
        bj_wait_until(&change, &lock, UINT64_MAX);
    pthread_mutex_unlock(&lock);
}

static int setup(void **state)
{
    (void)state;
    bj_wait_cond_init(&change);
    freed = 0;
    testclock_set(100 * SECOND, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    testclock_run();
    pthread_cond_destroy(&change);
    return 0;
}

static void test_runs_when_due(void **state)
{
    (void)state;
    struct source *s = source(100 * SECOND, 10 * SECOND);
    for (unsigned n = 1; n < 4; n++) {
        testclock_await(1);
        assert_int_equal(steps(s), n);
        testclock_advance(9 * SECOND);
        testclock_await(1);
        assert_int_equal(steps(s), n);
        testclock_advance(SECOND);
    }
    bj_poller_free(&s->poller);
    await_freed(1);
}

static void test_wakes(void **state)
{
    (void)state;
    struct source *s = source(UINT64_MAX, UINT64_MAX);
    testclock_await(1);
    assert_int_equal(steps(s), 0);
    pthread_mutex_lock(s->poller.lock);
    bj_poller_wake(&s->poller);
    while (s->poller.due_usec != UINT64_MAX) {
        pthread_mutex_unlock(s->poller.lock);
        sched_yield();
        pthread_mutex_lock(s->poller.lock);
    }
    assert_int_equal(s->steps, 1);
    pthread_mutex_unlock(s->poller.lock);
    assert_true(bj_poller_stop(&s->poller));
    assert_int_equal(s->finished, 1);
    bj_poller_free(&s->poller);
    await_freed(1);
}

static void *stop(void *arg)
{
    return bj_poller_stop(arg) ? arg : NULL;
}

/* The struct remains until the abandoned thread has ended. */
static void test_abandons_at_the_end(void **state)
{
    (void)state;
    pthread_t t;
    void *ended;
    hold(true);
    struct source *s = source(0, SECOND);
    testclock_await(1);
    assert_int_equal(pthread_create(&t, NULL, stop, &s->poller), 0);
    testclock_await(2);
    testclock_advance(2 * SECOND);
    pthread_join(t, &ended);
    assert_null(ended);
    bj_poller_free(&s->poller);
    assert_int_equal(freed, 0);
    hold(false);
    await_freed(1);
}

static bool replace(struct source *s)
{
    pthread_mutex_lock(s->poller.lock);
    bool replaced = bj_poller_replace(&s->poller);
    pthread_mutex_unlock(s->poller.lock);
    return replaced;
}

/* A new thread continues; the first one does not touch the source again. */
static void test_replaces_a_stuck_thread(void **state)
{
    (void)state;
    hold(true);
    struct source *s = source(0, UINT64_MAX);
    testclock_await(1);
    testclock_advance(9 * SECOND);
    assert_false(replace(s));
    testclock_advance(SECOND);
    assert_true(replace(s));
    testclock_await(2);
    assert_false(replace(s));
    hold(false);
    bj_poller_free(&s->poller);
    await_freed(1);
}

static void test_back_off(void **state)
{
    (void)state;
    assert_int_equal(bj_poller_back_off(10 * SECOND, 0), 10 * SECOND);
    assert_int_equal(bj_poller_back_off(10 * SECOND, 3), 80 * SECOND);
    assert_int_equal(bj_poller_back_off(10 * SECOND, 6), 600 * SECOND);
    assert_int_equal(bj_poller_back_off(SECOND, 99), 64 * SECOND);
}

static void test_searches_once_a_minute(void **state)
{
    (void)state;
    struct bj_poller p = {.due_usec = UINT64_MAX};
    assert_true(bj_poller_searches(&p, 100));
    assert_false(bj_poller_searches(&p, 60 * SECOND));
    assert_true(bj_poller_searches(&p, 60 * SECOND + 100));
    p.due_usec = 0;
    assert_false(bj_poller_searches(&p, UINT64_MAX));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_runs_when_due),
        T(test_wakes),
        T(test_abandons_at_the_end),
        T(test_replaces_a_stuck_thread),
        T(test_back_off),
        T(test_searches_once_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
