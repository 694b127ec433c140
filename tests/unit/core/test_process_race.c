/* The I/O of a job is complete while its processes run freely: passes and ends
 * of processes overlap in every way. */
#include "tests/unit/core/test_process_io.h"

#include "tests/unit/lib/await.h"
#include "tests/unit/lib/rounds.h"

enum { RUNNERS = 4096, LISTED = 500 };

struct stage {
    struct recorded_io recorded_io;
    atomic_int pids[RUNNERS];
    atomic_int npids, stop;
};
static struct stage *stage;

static uint64_t rng;

static unsigned rnd(unsigned n)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(rng >> 33) % n;
}

static void runner_register(void)
{
    int n = atomic_fetch_add(&stage->npids, 1);
    atomic_store(&stage->pids[n % RUNNERS], getpid());
    rng ^= (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
}

/* Does I/O, starts children, and waits for all of them. A child runs the same
 * loop, one level deeper. */
static void runner(void)
{
    int depth = 0, children = 0;
    runner_register();
    while (!atomic_load(&stage->stop) && (depth == 0 || rnd(12) > 0)) {
        unsigned what = rnd(10);
        if (what < 4) {
            do_io(&stage->recorded_io, rnd(IO_MAX));
        } else if (what < 7 && depth < 4 && children < 3) {
            children++;
            if (fork() == 0) {
                depth++;
                children = 0;
                runner_register();
            }
        } else if (what < 9 && children > 0) {
            waitpid(-1, NULL, 0);
            children--;
        } else {
            await_random(rnd(3000));
        }
    }
    while (children-- > 0)
        waitpid(-1, NULL, 0);
    if (depth > 0)
        _exit(0);
    atomic_store(&stage->stop, 2);
    for (;;)
        pause();
}

static void list_runners(struct rig *r)
{
    pid_t pids[LISTED + 1];
    int n = 0, all = atomic_load(&stage->npids);
    /* Children register in the order of their start; the old ones have
     * ended. */
    pids[n++] = atomic_load(&stage->pids[0]);
    for (int i = all > LISTED ? all - LISTED : 1; i < all; i++)
        if (atomic_load(&stage->pids[i % RUNNERS]))
            pids[n++] = atomic_load(&stage->pids[i % RUNNERS]);
    rig_procs(r, "", pids, n);
}

static void race(uint64_t seed)
{
    struct rig r;
    uint64_t last[4] = {0};
    rig_init(&r);
    memset(stage, 0, sizeof(*stage));
    rng = seed;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        runner();
    }
    AWAIT(atomic_load(&stage->npids) != 0);
    list_runners(&r);
    rig_start(&r, r.dir, false);
    for (int i = 0; i < 150; i++) {
        list_runners(&r);
        check_pass(&r, &stage->recorded_io, 2, last);
        await_random(rnd(8000));
    }
    atomic_store(&stage->stop, 1);
    AWAIT(atomic_load(&stage->stop) == 2);
    rig_procs(&r, "", &pid, 1);
    check_all_counted(&r, &stage->recorded_io, last);
    print_message("%d processes, %u seen, %u reads\n",
                  atomic_load(&stage->npids),
                  (unsigned)r.job.proc.processes_seen, (unsigned)last[2]);
    rig_kill(pid);
    assert_int_equal(bj_proctab_faults(r.t), 0);
    rig_stop(&r);
}

static void races(void **state)
{
    (void)state;
    need_root("races");
    stage = shared_memory(sizeof(*stage));
    for (uint64_t seed = 1; seed <= bj_rounds(3, 1); seed++)
        race(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(races),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
