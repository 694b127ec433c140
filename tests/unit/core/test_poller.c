/* The thread of a slow source: when it runs, how it stops, and when it is
 * abandoned. */
#include "base/clock.h"
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

/* --- pages -----------------------------------------------------------------
 */

/* When a reading begins so that it ends before the page that is expected. */
static void test_aligned(void **state)
{
    (void)state;
    static const struct {
        uint64_t now, due, period, took, want; /* seconds after the last page */
        uint64_t gap;
        unsigned lead;
    } c[] = {
        {0, 25, 10, 0, 19, 20, 20}, /* 1 s before the next one ... */
        {0, 25, 10, 4, 15, 20, 20}, /* ... which includes the reading */
        {0, 25, 10, 0, 18, 20, 10},
        {0, 20, 10, 0, 20, 20, 20},  /* that suits */
        {0, 10, 10, 0, 10, 20, 20},  /* another one follows it */
        {19, 29, 10, 0, 29, 20, 20}, /* it is done */
        {18, 28, 10, 0, 28, 20, 20},
        {17, 27, 10, 0, 19, 20, 20},
        {0, 15, 10, 0, 19, 20, 20}, /* one reading, not two */
        {0, 14, 10, 0, 14, 20, 20},
        {17, 27, 10, 4, 27, 20, 20}, /* too late for it */
        {25, 35, 10, 0, 35, 20, 20}, /* the page is late */
        {0, 60, 60, 0, 60, 20, 20},  /* pages come faster */
        {0, 19, 20, 0, 19, 20, 20},
        {0, 21, 22, 0, 19, 20, 20},
        {0, 21, 23, 0, 21, 20, 20},
        {0, 25, 10, 0, 25, 0, 20}, /* no page yet */
    };
    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        const struct bj_poller p = {.page_usec = 1000 * SECOND,
                                    .gap_usec = c[i].gap * SECOND,
                                    .lead = c[i].lead};
        uint64_t due = bj_poller_aligned(
            &p, (1000 + c[i].now) * SECOND, (1000 + c[i].due) * SECOND,
            c[i].period * SECOND, c[i].took * SECOND);
        assert_int_equal(due, (1000 + c[i].want) * SECOND);
    }
}

/* A source that is read before pages. */
static bool step_paged(struct bj_worker *w)
{
    struct source *s = (struct source *)w->poller;
    const uint64_t now = bj_clock_boot_usec();
    s->steps++;
    s->poller.due_usec = bj_poller_aligned(
        &s->poller, now, now + s->period_usec, s->period_usec, 0);
    return true;
}

static const struct bj_poller_work paged = {
    .step = step_paged, .finish = finish, .gone = gone};

/* Advance the clock; the source runs whenever it is due. */
static void pass_time(uint64_t usec)
{
    enum { PIECE = SECOND / 20 };
    for (uint64_t n; usec > 0; usec -= n) {
        n = usec < PIECE ? usec : PIECE;
        testclock_advance(n);
        testclock_await(1);
    }
}

/* Request a page after that time; returns how old the last reading is. */
static uint64_t page_after(struct source *s, uint64_t gap)
{
    static uint64_t before;
    const uint64_t now = bj_clock_boot_usec();
    struct bj_poller *p = &s->poller;
    if (gap == 0)
        before = now;
    gap = now - before;
    before = now;
    pthread_mutex_lock(p->lock);
    if (bj_poller_hurry(p, now, gap, s->period_usec, false))
        bj_poller_await(p, now + BJ_POLLER_WAIT_USEC);
    const uint64_t age = now - p->begun_usec;
    bj_poller_page(p, now, gap, s->period_usec);
    pthread_mutex_unlock(p->lock);
    testclock_await(1);
    return age;
}

/* Pages at all distances, early and late: no reading is older than a tenth of
 * the time since the page before.  Readings are not much more frequent than
 * without pages, and at the same times where pages come faster. */
static void test_pages(void **state)
{
    (void)state;
    static const uint64_t gaps[] = {5,  10, 10, 12, 9,  10, 15, 15, 15, 60, 60,
                                    60, 61, 59, 30, 30, 10, 10, 10, 10, 6,  5};
    enum { GAPS = sizeof(gaps) / sizeof(gaps[0]) };
    const struct bj_host host = {.thread = start_thread};
    struct source *s = calloc(1, sizeof(*s));
    assert_int_equal(bj_poller_init(&s->poller, &paged, "test", &host, NULL),
                     0);
    s->period_usec = 5 * SECOND;
    s->poller.due_usec = 103 * SECOND;
    assert_int_equal(bj_poller_start(&s->poller), 0);
    testclock_await(1);
    pass_time(5 * SECOND);
    page_after(s, 0);
    uint64_t total = 0, jitter = 1;
    for (int i = 0; i < 5 * GAPS; i++) {
        jitter = jitter * 6364136223846793005u + 1442695040888963407u;
        uint64_t gap = gaps[i % GAPS] * SECOND + (jitter >> 33) % 400000;
        pass_time(gap);
        total += gap;
        assert_in_range(page_after(s, gap), 0, gap / 10);
    }
    assert_in_range(steps(s), 1, total * 3 / 2 / s->period_usec);
    const unsigned before = steps(s);
    pthread_mutex_lock(s->poller.lock);
    const uint64_t due = s->poller.due_usec;
    pthread_mutex_unlock(s->poller.lock);
    pass_time(due - bj_clock_boot_usec());
    for (int i = 0; i < 50; i++) {
        pass_time(SECOND);
        page_after(s, SECOND);
    }
    assert_int_equal(steps(s) - before, 11);
    bj_poller_free(&s->poller);
    await_freed(1);
}

/* A page does not wait for a source that takes long, or hangs. */
static void test_page_does_not_wait(void **state)
{
    (void)state;
    struct source *s = source(100 * SECOND, 10 * SECOND);
    testclock_await(1);
    struct bj_poller *p = &s->poller;
    testclock_advance(5 * SECOND);
    testclock_await(1);
    const uint64_t now = bj_clock_boot_usec(), gap = 10 * SECOND;
    pthread_mutex_lock(p->lock);
    p->took_usec = BJ_POLLER_WAIT_USEC + 1;
    assert_false(bj_poller_hurry(p, now, gap, 10 * SECOND, false));
    p->took_usec = 0;
    assert_false(bj_poller_hurry(p, now, gap, 12 * SECOND, false));
    assert_false(bj_poller_hurry(p, now, 5 * gap, 10 * SECOND, false));
    bj_poller_await(p, UINT64_MAX); /* nothing to wait for */
    pthread_mutex_unlock(p->lock);
    hold(true);
    testclock_advance(5 * SECOND);
    testclock_await(1);
    pthread_mutex_lock(p->lock);
    while (p->busy_usec == 0) {
        pthread_mutex_unlock(p->lock);
        sched_yield();
        pthread_mutex_lock(p->lock);
    }
    const uint64_t begun = bj_clock_boot_usec();
    assert_true(bj_poller_hurry(p, begun, gap, 10 * SECOND, false));
    assert_false(bj_poller_hurry(p, begun + SECOND, gap, 10 * SECOND, false));
    pthread_mutex_unlock(p->lock);
    hold(false);
    bj_poller_free(p);
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
        T(test_aligned),
        T(test_pages),
        T(test_page_does_not_wait),
        T(test_back_off),
        T(test_searches_once_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
