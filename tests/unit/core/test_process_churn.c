/* Thousands of passes while processes, threads and directories appear and
 * disappear: neither memory nor the number of descriptors grows. */
#include "tests/unit/core/test_process.h"
#include "tests/unit/lib/rounds.h"

#include <malloc.h>
#include <pthread.h>

enum { SLOTS = 6, DIRS = 3 };

static uint64_t rng = 4711;

static unsigned rnd(unsigned n)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(rng >> 33) % n;
}

static void *nap(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* Start a process without waiting until its threads run. */
static pid_t spawn(unsigned threads)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (unsigned i = 0; i < threads; i++) {
            pthread_t t;
            if (pthread_create(&t, NULL, nap, NULL) != 0)
                _exit(1);
        }
        nap(NULL);
    }
    assert_true(pid > 0);
    return pid;
}

struct churn {
    struct rig r;
    pid_t pid[SLOTS];
    bool dir[DIRS];
    struct bj_procsum last;
};

static const char *dir_name(unsigned i, char name[32])
{
    snprintf(name, 32, "job/s%u", i);
    return name;
}

static void put_lists(struct churn *c)
{
    char name[32];
    rig_procs(&c->r, "job", c->pid, 0);
    for (unsigned d = 0; d < DIRS; d++) {
        pid_t pids[SLOTS];
        int n = 0;
        for (unsigned i = d; i < SLOTS; i += DIRS)
            if (c->pid[i])
                pids[n++] = c->pid[i];
        if (c->dir[d])
            rig_procs(&c->r, dir_name(d, name), pids, n);
    }
}

static void change(struct churn *c)
{
    char name[32], path[96];
    unsigned i = rnd(SLOTS), d = rnd(DIRS);
    if (rnd(3) > 0)
        return;
    if (c->pid[i]) {
        rig_kill(c->pid[i]);
        c->pid[i] = 0;
    } else {
        c->pid[i] = spawn(rnd(3));
    }
    if (rnd(4) == 0) {
        c->dir[d] = !c->dir[d];
        snprintf(path, sizeof(path), "%s/%s", c->r.dir, dir_name(d, name));
        if (!c->dir[d])
            nftw(path, rig_rm, 16, FTW_DEPTH | FTW_PHYS);
    }
    put_lists(c);
}

static void never_falls(struct churn *c)
{
    const struct bj_procsum *a = &c->last, *b = &c->r.job.proc;
    assert_true(b->processes_seen >= a->processes_seen);
    if (a->io_read_ops != BJ_ABSENT) {
        assert_true(b->io_read_ops >= a->io_read_ops);
        assert_true(b->io_write_ops >= a->io_write_ops);
        assert_true(b->io_write_bytes >= a->io_write_bytes);
    }
    c->last = *b;
}

/* Bytes that malloc has allocated. */
static size_t in_use(void)
{
    return mallinfo2().uordblks;
}

static void churn(void **state)
{
    struct churn c = {0};
    char path[96];
    size_t early = 0, most = 0;
    const int passes = (int)bj_rounds(10000, 3000);
    (void)state;
    rig_init(&c.r);
    put_lists(&c);
    snprintf(path, sizeof(path), "%s/job", c.r.dir);
    rig_start(&c.r, path, true);
    int fds = rig_open_fds();
    for (int i = 0; i < passes; i++) {
        change(&c);
        assert_int_equal(rig_pass(&c.r, 1 + rnd(3)), 0);
        never_falls(&c);
        size_t now = in_use();
        if (i < passes / 10)
            early = now > early ? now : early;
        most = now > most ? now : most;
        if (i % 100 == 0)
            assert_int_equal(rig_open_fds(), fds + (int)c.r.pool.used);
    }
    print_message("%u processes seen, %zu then %zu bytes at most\n",
                  (unsigned)c.last.processes_seen, early, most);
    /* Tables double in size: only more than twice the memory is growth. */
    assert_true(most <= 2 * early);
    for (int i = 0; i < SLOTS; i++)
        if (c.pid[i])
            rig_kill(c.pid[i]);
    memset(c.pid, 0, sizeof(c.pid));
    put_lists(&c);
    assert_int_equal(rig_pass(&c.r, 2), 0);
    assert_int_equal(rig_pass(&c.r, 2), 0);
    assert_int_equal(c.r.job.proc.processes, 0);
    /* Only descriptors of directories are left. */
    assert_in_range(c.r.pool.used, 1, 1 + DIRS);
    assert_int_equal(bj_proctab_faults(c.r.t), 0);
    rig_stop(&c.r);
    assert_int_equal(rig_open_fds(), fds - 1); /* /proc itself */
}

/* Memory does not grow over many jobs in sequence. */
static void jobs_in_sequence(void **state)
{
    struct rig r;
    size_t early = 0;
    (void)state;
    rig_init(&r);
    pid_t pid = rig_spawn(NULL, NULL);
    rig_procs(&r, "", &pid, 1);
    rig_start(&r, r.dir, false);
    for (int i = 0; i < 3000; i++) {
        bj_jobproc_free(r.t, r.p);
        assert_int_equal(r.pool.used, 0);
        if (i == 100)
            early = in_use();
        if (i > 100)
            assert_true(in_use() <= early);
        r.p = bj_jobproc_new(r.t, r.dir, i % 2);
        assert_non_null(r.p);
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.proc.processes, 1);
    }
    rig_kill(pid);
    rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(churn),
        cmocka_unit_test(jobs_in_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
