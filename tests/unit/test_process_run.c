/* The thread that reads processes: a read that is blocked in the kernel is
 * abandoned, one that only waits for a CPU is not. */
#include "core/collect/process_run.h"

#include "base/clock.h"
#include "tests/unit/lib/await.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG_USEC = 600 * 1000 }; /* three times the longest patience */

static int start_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                        void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    return -pthread_create(ret, NULL, fn, arg);
}

static const struct bj_host host = {.thread = start_thread};

/* A read that never sleeps. */
static void busy_read(void *ctx, struct bj_procguard *g)
{
    const uint64_t end = bj_clock_boot_usec() + LONG_USEC;
    bj_procguard_enter(g, ctx);
    while (bj_clock_boot_usec() < end)
        ;
    bj_procguard_leave(g, -1);
    *(bool *)ctx = true;
}

static void runnable_read_is_kept(void **state)
{
    (void)state;
    struct bj_procthread *r = bj_procthread_new(&host);
    struct bj_procguard *held = NULL;
    void *whose = NULL;
    bool done = false;
    assert_non_null(r);
    assert_int_equal(bj_procthread_call(r, busy_read, &done, &whose, &held), 0);
    assert_true(done);
    assert_null(held);
    bj_procthread_free(r);
}

static void pipe_read(void *ctx, struct bj_procguard *g)
{
    const int fd = *(int *)ctx;
    char c;
    bj_procguard_enter(g, ctx);
    if (read(fd, &c, 1) < 0)
        c = 0;
    bj_procguard_leave(g, -1);
}

static void blocked_read_is_abandoned(void **state)
{
    (void)state;
    struct bj_procthread *r = bj_procthread_new(&host);
    struct bj_procguard *held = NULL;
    void *whose = NULL;
    int fd[2];
    assert_non_null(r);
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(bj_procthread_call(r, pipe_read, fd, &whose, &held),
                     -ETIMEDOUT);
    assert_ptr_equal(whose, fd);
    assert_non_null(held);
    assert_false(bj_procguard_over(held));
    assert_int_equal(write(fd[1], "x", 1), 1);
    AWAIT(bj_procguard_over(held));
    bj_procguard_free(held);
    bj_procthread_free(r);
    close(fd[0]);
    close(fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runnable_read_is_kept),
        cmocka_unit_test(blocked_read_is_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
