/* The thread that reads processes: a read that is blocked in the kernel or uses
 * a CPU for too long is abandoned, one that waits for a CPU is not. */
#include "core/collect/process_impl.h"

#include "base/clock.h"
#include "tests/unit/lib/await.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    LONG_USEC = 600 * 1000,  /* three times the longest patience */
    LITTLE_USEC = 50 * 1000, /* half of the shortest */
};

static int start_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                        void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    return -pthread_create(ret, NULL, fn, arg);
}

static const struct bj_host host = {.thread = start_thread};

static uint64_t thread_cpu_usec(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* A process that keeps a CPU busy, and the result of the read. */
struct starved {
    pid_t busy;
    int cpu;
    bool done;
};

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* A read that takes long because another process has the CPU.  It ends early
 * where that process does not get enough of it. */
static void starved_read(void *ctx, struct bj_procguard *g)
{
    struct starved *s = ctx;
    pin(s->cpu);
    assert_int_equal(setpriority(PRIO_PROCESS, 0, 19), 0); /* this thread */
    const uint64_t end = bj_clock_boot_usec() + LONG_USEC,
                   cpu_end = thread_cpu_usec() + LITTLE_USEC;
    bj_procguard_enter(g, ctx);
    while (bj_clock_boot_usec() < end && thread_cpu_usec() < cpu_end)
        ;
    bj_procguard_leave(g, -1);
    kill(s->busy, SIGKILL);
    s->done = true;
}

static void starved_read_is_kept(void **state)
{
    (void)state;
    struct starved s = {.cpu = sched_getcpu()};
    s.busy = fork();
    if (s.busy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(s.cpu);
        for (;;)
            ;
    }
    struct bj_procthread *r = bj_procthread_new(&host);
    struct bj_procguard *held = NULL;
    void *whose = NULL;
    assert_non_null(r);
    assert_int_equal(bj_procthread_call(r, starved_read, &s, &whose, &held), 0);
    assert_true(s.done);
    assert_null(held);
    bj_procthread_free(r);
    assert_int_equal(waitpid(s.busy, NULL, 0), s.busy);
}

static void busy_read(void *ctx, struct bj_procguard *g)
{
    atomic_bool *stop = ctx;
    bj_procguard_enter(g, ctx);
    while (!atomic_load(stop))
        ;
    bj_procguard_leave(g, -1);
}

static void busy_read_is_abandoned(void **state)
{
    (void)state;
    struct bj_procthread *r = bj_procthread_new(&host);
    struct bj_procguard *held = NULL;
    void *whose = NULL;
    static atomic_bool stop;
    assert_non_null(r);
    assert_int_equal(bj_procthread_call(r, busy_read, &stop, &whose, &held),
                     -ETIMEDOUT);
    assert_ptr_equal(whose, &stop);
    assert_non_null(held);
    atomic_store(&stop, true);
    AWAIT(bj_procguard_over(held));
    bj_procguard_free(held);
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
        cmocka_unit_test(starved_read_is_kept),
        cmocka_unit_test(busy_read_is_abandoned),
        cmocka_unit_test(blocked_read_is_abandoned),
    };
    alarm(60); /* a read that is not abandoned */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
