/* The process collector: states of threads, and quiet threads, which are not
 * read. */
#include "tests/unit/core/test_process.h"

#include "tests/unit/lib/await.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Shared by a test and its processes. */
struct shared {
    atomic_int threads; /* wanted, without the leader */
    atomic_int seen;    /* the last value of it that the leader has read */
    atomic_int spin;  /* number of threads that are to spin; the others sleep */
    atomic_int spins; /* number of threads that have begun to spin */
};
static struct shared *shared;

static int setup(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : 0;
}

/* Thread n: exists while it is wanted, and spins or sleeps. */
static void *thread_main(void *arg)
{
    int n = (int)(intptr_t)arg;
    bool spins = false;
    while (atomic_load(&shared->threads) > n) {
        if (atomic_load(&shared->spin) <= n)
            await_random(20000);
        else if (!spins)
            atomic_fetch_add(&shared->spins, 1), spins = true;
    }
    return NULL;
}

/* A process that has as many threads as wanted. */
static pid_t spawn_threads(int threads)
{
    atomic_store(&shared->spin, 0);
    atomic_store(&shared->threads, threads);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int n = 0;
        for (;;) {
            int want = atomic_load(&shared->threads);
            for (; n < want; n++) {
                pthread_t t;
                void *arg = (void *)(intptr_t)n;
                if (pthread_create(&t, NULL, thread_main, arg) != 0)
                    _exit(1);
                pthread_detach(t);
            }
            n = want;
            atomic_store(&shared->seen, want);
            await_random(1000);
        }
    }
    rig_await(pid, THREADS, threads + 1);
    return pid;
}

static void set_threads(pid_t pid, int threads)
{
    atomic_store(&shared->threads, threads);
    /* All threads may end before the leader reads the wanted number. */
    AWAIT(atomic_load(&shared->seen) == threads);
    rig_await(pid, THREADS, threads + 1);
}

static void states(void **state)
{
    struct rig r;
    (void)state;
    need_root("states");
    rig_init(&r);
    pid_t pid[3] = {rig_spawn(NULL, NULL), rig_spawn(NULL, NULL),
                    spawn_threads(2)};
    rig_procs(&r, "", pid, 3);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(rig_state(&r, "stopped"), BJ_ABSENT);
    kill(pid[0], SIGSTOP);
    rig_await(pid[0], STATE, 'T');
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(rig_state(&r, "stopped"), 1);
    kill(pid[0], SIGCONT);
    rig_await(pid[0], STATE, 'S');
    /* A zombie, which the kernel therefore does not list any more. */
    kill(pid[1], SIGKILL);
    rig_await(pid[1], STATE, 'Z');
    rig_procs(&r, "", (pid_t[]){pid[0], pid[2]}, 2);
    atomic_store(&shared->spin, 2);
    AWAIT(atomic_load(&shared->spins) == 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(rig_state(&r, "stopped"), 0);
        assert_int_equal(rig_state(&r, "zombie"), 1);
        assert_in_range(rig_state(&r, "running"), 2, 3);
        assert_int_equal(r.job.proc.processes, 3);
        assert_int_equal(r.job.proc.threads, 5);
        assert_int_equal(r.p->alive, 2);
    }
    rig_kill(pid[1]);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(rig_state(&r, "zombie"), 0);
    assert_int_equal(r.job.proc.processes, 2);
    rig_kill(pid[0]);
    rig_kill(pid[2]);
    const struct bj_state_use *v = r.job.states.v;
    for (size_t i = 1; i < r.job.states.n; i++)
        assert_true(strcmp(v[i - 1].sub.key[0].p, v[i].sub.key[0].p) < 0);
    rig_stop(&r);
}

static void threads(void **state)
{
    static const int want[] = {3, 3, 40, 41, 5, 0, 0, 7, 7, 7, 1};
    struct rig r;
    (void)state;
    rig_init(&r);
    pid_t pid = spawn_threads(0);
    rig_procs(&r, "", &pid, 1);
    rig_start(&r, r.dir, false);
    for (size_t i = 0; i < COUNT(want); i++) {
        set_threads(pid, want[i]);
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.proc.threads, want[i] + 1);
        /* The same number of new threads. */
        set_threads(pid, 0);
        set_threads(pid, want[i]);
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.proc.threads, want[i] + 1);
    }
    assert_int_equal(bj_proctab_faults(r.t), 0);
    rig_kill(pid);
    rig_stop(&r);
}

/* Sleeping threads are not read until they have run. */
static void quiet(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    pid_t pid = rig_spawn(rig_three_sleepers, NULL);
    rig_procs(&r, "", &pid, 1);
    rig_start(&r, r.dir, false);
    rig_await_all(pid, 'S');
    for (int i = 0; i < 10; i++) {
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(rig_state(&r, "sleeping"), 4);
    }
    if (!r.t->schedstat) {
        print_message("[  SKIPPED ] quiet: no schedstat\n");
        rig_kill(pid);
        rig_stop(&r);
        skip();
    }
    assert_true(r.p->v[0].quiet.on);
    assert_int_equal(r.p->v[0].stat, -1);
    assert_true(r.p->v[0].full_usec < r.now_usec);
    for (int i = 0; i < 3; i++) {
        assert_true(r.p->v[0].threads[i].quiet.on);
        assert_int_equal(r.p->v[0].threads[i].fd, -1);
    }
    for (int i = 0; i < 4; i++) {
        kill(pid, SIGSTOP);
        rig_await_all(pid, 'T');
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(rig_state(&r, "stopped"), 4);
        kill(pid, SIGCONT);
        rig_await_all(pid, 'S');
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(rig_state(&r, "sleeping"), 4);
    }
    /* They run too often to count as quiet. */
    assert_false(r.p->v[0].quiet.on);
    for (int i = 0; i < 20; i++)
        rig_pass(&r, 2);
    assert_true(r.p->v[0].quiet.on);
    rig_kill(pid);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.threads, 0);
    rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states),
        cmocka_unit_test(threads),
        cmocka_unit_test(quiet),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
