/* CPU time by executable, and estimated CPU time by core. */
#include "tests/unit/core/test_process.h"

#include "base/text.h"
#include "tests/unit/lib/await.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

static char self[PATH_MAX];
static uint64_t tick_usec;

static int setup(void **state)
{
    (void)state;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    tick_usec = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    return n > 0 && n < BJ_LABEL_MAX ? 0 : -1;
}

static void burn_ms(long ms)
{
    struct timespec t;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

static void burn(void *arg)
{
    const long *ms = arg;
    burn_ms(*ms);
}

/* CPU time of the process according to its stat line. */
static uint64_t used(pid_t pid)
{
    return (uint64_t)(rig_field(pid, UTIME) + rig_field(pid, STIME)) *
           tick_usec;
}

static void cpu_time(void **state)
{
    struct rig r;
    long ms = 250;
    (void)state;
    rig_init(&r);
    pid_t pid[2] = {rig_spawn(burn, &ms), rig_spawn(NULL, NULL)};
    rig_procs(&r, "", pid, 2);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.exes.n, 2);
    assert_int_equal(rig_exe(&r, self), used(pid[0]) + used(pid[1]));
    assert_in_range(rig_exe(&r, self), 200000, 400000);
    assert_int_equal(rig_exe(&r, "(other)"), 0);
    /* CPU time that no process accounts for. It never falls. */
    uint64_t exe = rig_exe(&r, self);
    r.cgroup_cpu_usec = exe + 1234567;
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(rig_exe(&r, "(other)"), 1234567);
    r.cgroup_cpu_usec = 0;
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(rig_exe(&r, "(other)"), 1234567);
    r.cgroup_cpu_usec = BJ_ABSENT;
    rig_kill(pid[0]);
    rig_kill(pid[1]);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(rig_exe(&r, self), exe);
    assert_int_equal(rig_exe(&r, "(other)"), 1234567);
    rig_stop(&r);
}

static char program[128];

static pid_t spawn_program(const char *path, const char *ms)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(path, "burner", "burn", ms, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void copy_self(const char *to)
{
    char buf[65536];
    ssize_t n;
    int in = open(self, O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0755);
    assert_true(in >= 0 && out >= 0);
    while ((n = read(in, buf, sizeof(buf))) > 0)
        assert_int_equal(write(out, buf, (size_t)n), n);
    close(in);
    close(out);
}

static void await_used(pid_t pid, uint64_t usec)
{
    AWAIT(used(pid) >= usec);
    rig_await(pid, STATE, 'S');
}

/* A program whose file was deleted keeps its name; a program of the same comm
 * at another path is another one. */
static void programs(void **state)
{
    struct rig r;
    char other[64];
    (void)state;
    rig_init(&r);
    snprintf(program, sizeof(program), "%s/burner", r.dir);
    copy_self(program);
    rig_procs(&r, "x", NULL, 0);
    snprintf(other, sizeof(other), "%s/x/burner", r.dir);
    copy_self(other);
    pid_t pid[2] = {spawn_program(program, "200"), spawn_program(other, "300")};
    await_used(pid[0], 150000);
    await_used(pid[1], 250000);
    assert_int_equal(unlink(program), 0);
    rig_procs(&r, "", pid, 2);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.exes.n, 3);
    assert_int_equal(rig_exe(&r, program), used(pid[0]));
    assert_int_equal(rig_exe(&r, other), used(pid[1]));
    const struct bj_exe_use *v = r.job.exes.v;
    for (size_t i = 1; i < r.job.exes.n; i++)
        assert_true(strcmp(v[i - 1].sub.key[0].p, v[i].sub.key[0].p) < 0);
    rig_kill(pid[0]);
    rig_kill(pid[1]);
    rig_stop(&r);
}

static uint64_t count_of(const struct rig *r, const char *exe)
{
    const struct bj_exe_count *v = r->job.exe_counts.v;
    for (size_t i = 0; i < r->job.exe_counts.n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(exe)))
            return v[i].processes;
    return 0;
}

/* Processes are counted by executable if that is configured. */
static void counts(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    snprintf(program, sizeof(program), "%s/burner", r.dir);
    copy_self(program);
    pid_t pid[3] = {rig_spawn(NULL, NULL), rig_spawn(NULL, NULL),
                    spawn_program(program, "20")};
    await_used(pid[2], 10000);
    rig_procs(&r, "", pid, 3);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.exe_counts.n, 0);
    r.conf.extras = BJ_EXTRA_EXES;
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.exe_counts.n, 2);
    assert_int_equal(count_of(&r, self), 2);
    assert_int_equal(count_of(&r, program), 1);
    rig_kill(pid[0]);
    rig_kill(pid[2]);
    rig_procs(&r, "", &pid[1], 1);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(count_of(&r, self), 1);
    assert_int_equal(count_of(&r, program), 0);
    rig_kill(pid[1]);
    rig_stop(&r);
}

static void exec_on_signal(int sig)
{
    (void)sig;
    /* The CPU time continues over the exec. */
    execl(program, "burner", "burn", "450", (char *)NULL);
    _exit(127);
}

/* Use CPU time, and execute another program of the same name on SIGUSR1. */
static void burn_then_wait(void *arg)
{
    (void)arg;
    burn_ms(200);
    signal(SIGUSR1, exec_on_signal);
    prctl(PR_SET_NAME, "burner");
}

/* After an exec the CPU time counts for the new executable, although the name
 * of the process is the same. */
static void exec(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    snprintf(program, sizeof(program), "%s/burner", r.dir);
    copy_self(program);
    pid_t pid = rig_spawn(burn_then_wait, NULL);
    rig_procs(&r, "", &pid, 1);
    rig_start(&r, r.dir, false);
    /* Enough passes that the process counts as quiet. */
    for (int i = 0; i < 8; i++)
        assert_int_equal(rig_pass(&r, 2), 0);
    uint64_t before = rig_exe(&r, self);
    assert_int_equal(before, used(pid));
    kill(pid, SIGUSR1);
    await_used(pid, before + 200000);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(rig_exe(&r, self), before);
    assert_int_equal(rig_exe(&r, program), used(pid) - before);
    rig_kill(pid);
    rig_stop(&r);
}

/* --- by core --- */

static uint64_t core_use(const struct rig *r, const char *cpu)
{
    const struct bj_core_use *v = r->job.cores.v;
    for (size_t i = 0; i < r->job.cores.n; i++) {
        assert_int_equal(v[i].cpu_usec, BJ_ABSENT);
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(cpu)))
            return v[i].cpu_estimated_usec;
    }
    return 0;
}

static void *pinned(void *arg)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)(intptr_t)arg, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        _exit(1);
    burn_ms(300);
    for (;;)
        pause();
    return NULL;
}

static void pinned_threads(void *arg)
{
    const long *threads = arg;
    for (long i = 1; i < *threads; i++) {
        pthread_t t;
        void *cpu = (void *)(intptr_t)i;
        if (pthread_create(&t, NULL, pinned, cpu) != 0)
            _exit(1);
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        _exit(1);
    burn_ms(300);
}

static void cores(void **state)
{
    struct rig r;
    long threads = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1;
    cpu_set_t set;
    (void)state;
    sched_getaffinity(0, sizeof(set), &set);
    if (!CPU_ISSET(0, &set) || (threads > 1 && !CPU_ISSET(1, &set))) {
        print_message("[  SKIPPED ] cores: not on CPUs 0 and 1\n");
        skip();
    }
    for (int detail = 0; detail < 2; detail++) {
        rig_init(&r);
        r.conf.collect[BJ_COLLECT_PERCORE] = true;
        r.conf.collect[BJ_COLLECT_PROCESS] = detail;
        pid_t pid = rig_spawn(pinned_threads, &threads);
        rig_procs(&r, "", &pid, 1);
        rig_start(&r, r.dir, true);
        for (int i = 0; i < 6; i++)
            assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.cores.n, threads);
        assert_in_range(core_use(&r, "0"), 200000, 400000);
        if (threads > 1)
            assert_in_range(core_use(&r, "1"), 200000, 400000);
        assert_true(core_use(&r, "0") + core_use(&r, "1") <= used(pid));
        assert_int_equal(r.job.proc.processes, detail ? 1 : BJ_ABSENT);
        assert_int_equal(r.job.states.n > 0, detail);
        assert_int_equal(r.job.exes.n > 0, detail);
        rig_kill(pid);
        rig_stop(&r);
    }
}

/* On v1 the kernel counts exactly: nothing is estimated. */
static void no_estimate_on_v1(void **state)
{
    struct rig r;
    long ms = 50;
    (void)state;
    rig_init(&r);
    r.conf.collect[BJ_COLLECT_PERCORE] = true;
    pid_t pid = rig_spawn(burn, &ms);
    rig_procs(&r, "", &pid, 1);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.cores.n, 0);
    rig_kill(pid);
    rig_stop(&r);
}

int main(int argc, char **argv)
{
    /* A program that the tests start. */
    if (argc == 3 && strcmp(argv[1], "burn") == 0) {
        burn_ms(strtol(argv[2], NULL, 10));
        for (;;)
            pause();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_time), cmocka_unit_test(programs),
        cmocka_unit_test(counts),   cmocka_unit_test(exec),
        cmocka_unit_test(cores),    cmocka_unit_test(no_estimate_on_v1),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
