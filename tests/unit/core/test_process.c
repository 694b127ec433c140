/* The process collector on real processes in simulated cgroup directories:
 * which processes it counts, and within which limits. */
#include "tests/unit/core/test_process.h"

#include "tests/unit/lib/await.h"

#include <grp.h>
#include <time.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t count_fds(pid_t pid)
{
    char path[64];
    uint64_t n = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void open_three(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        if (open("/dev/null", O_RDONLY) < 0)
            _exit(1);
}

/* --- which processes are counted --- */

static void counts(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    pid_t pid[3] = {rig_spawn(NULL, NULL), rig_spawn(open_three, NULL),
                    rig_spawn(rig_three_sleepers, NULL)};
    rig_procs(&r, "", NULL, 0);
    rig_procs(&r, "step_extern", pid, 1);
    rig_procs(&r, "step_0", NULL, 0);
    rig_procs(&r, "step_0/task_0", pid + 1, 1);
    rig_procs(&r, "step_0/task_1", pid + 2, 1);
    rig_start(&r, r.dir, false);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.proc.processes, 3);
        assert_int_equal(r.job.proc.threads, 6);
        assert_int_equal(r.job.proc.processes_seen, 3);
        assert_int_equal(r.job.proc.open_fds, count_fds(pid[0]) +
                                                  count_fds(pid[1]) +
                                                  count_fds(pid[2]));
        assert_int_equal(r.p->alive, 3);
        assert_int_equal(rig_state(&r, "sleeping"), 6);
    }
    time_t now = time(NULL);
    assert_in_range(r.job.start_sec, now - 60, now + 1);
    for (int i = 0; i < 3; i++)
        rig_kill(pid[i]);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 0);
    assert_int_equal(r.job.proc.threads, 0);
    assert_int_equal(r.job.proc.processes_seen, 3);
    assert_int_equal(rig_state(&r, "sleeping"), 0);
    assert_int_equal(bj_proctab_faults(r.t), 0);
    rig_stop(&r);
}

static void name_badly(void *arg)
{
    (void)arg;
    prctl(PR_SET_NAME, ") S 1 (\n) Z");
}

/* A name that looks like the fields of a stat line after it. */
static void names(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    pid_t pid = rig_spawn(name_badly, NULL);
    rig_procs(&r, "", &pid, 1);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(rig_state(&r, "sleeping"), 1);
    assert_int_equal(r.p->v[0].ppid, getpid());
    rig_kill(pid);
    rig_stop(&r);
}

/* A user in many groups has a long /proc/PID/status. */
static void join_groups(void)
{
    gid_t g[1000];
    for (unsigned i = 0; i < COUNT(g); i++)
        g[i] = 1234500000 + i;
    if (setgroups(COUNT(g), g) < 0)
        _exit(1);
}

static void become_stepd(void *arg)
{
    const uid_t *uid = arg;
    join_groups();
    if (setresuid(*uid, *uid, *uid) < 0)
        _exit(1);
    prctl(PR_SET_NAME, "slurmstepd");
    /* /proc/PID then belongs to root. */
    prctl(PR_SET_DUMPABLE, 0);
}

/* Only a slurmstepd of root belongs to the batch system. */
static void batch_system(void **state)
{
    struct rig r;
    uid_t uid[2] = {0, 12345};
    (void)state;
    need_root("batch_system");
    rig_init(&r);
    pid_t pid[2] = {rig_spawn(become_stepd, &uid[0]),
                    rig_spawn(become_stepd, &uid[1])};
    rig_procs(&r, "", pid, 2);
    rig_start(&r, r.dir, false);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_pass(&r, 20), 0);
        assert_int_equal(r.job.proc.processes, 1);
        assert_int_equal(r.job.proc.threads, 1);
        assert_int_equal(r.job.proc.processes_seen, 1);
        assert_int_equal(r.p->alive, 2);
    }
    rig_kill(pid[1]);
    rig_procs(&r, "", pid, 1);
    assert_int_equal(rig_pass(&r, 20), 0);
    assert_int_equal(r.job.proc.processes, 0);
    assert_int_equal(r.p->alive, 1);
    rig_kill(pid[0]);
    rig_procs(&r, "", NULL, 0);
    assert_int_equal(rig_pass(&r, 20), 0);
    assert_int_equal(r.p->alive, 0);
    rig_stop(&r);
}

static void rename_self(int sig)
{
    (void)sig;
    prctl(PR_SET_NAME, "work");
}

/* Wait until the process has that name. */
static void await_name(pid_t pid, const char *name)
{
    char path[64], got[32];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    AWAIT_STEP(first_line(path, got, sizeof(got)), strcmp(got, name) == 0);
}

static void become_stepd_until_signal(void *arg)
{
    signal(SIGUSR1, rename_self);
    become_stepd(arg);
}

static pid_t start_sleep(const char *seconds)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sleep", "sleep", seconds, NULL);
        _exit(1);
    }
    await_name(pid, "sleep");
    rig_await(pid, STATE, 'S');
    return pid;
}

/* Slurm's own sleep in the extern step is not a process of the job, but another
 * sleep is. */
static void extern_sleep(void **state)
{
    struct rig r;
    (void)state;
    need_root("extern_sleep");
    rig_init(&r);
    pid_t pid[2] = {start_sleep("100000000"), start_sleep("10000000")};
    rig_procs(&r, "", pid, 2);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 20), 0);
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(r.job.proc.threads, 1);
    assert_int_equal(r.p->alive, 2);
    rig_kill(pid[0]);
    rig_kill(pid[1]);
    rig_stop(&r);
}

/* A fork of slurmstepd has the same name until it executes its program. */
static void batch_child(void **state)
{
    struct rig r;
    uid_t root = 0;
    (void)state;
    if (geteuid() != 0)
        skip();
    rig_init(&r);
    pid_t pid = rig_spawn(become_stepd_until_signal, &root);
    rig_procs(&r, "", &pid, 1);
    /* By its clock the process is young. */
    r.now_usec = (uint64_t)rig_field(pid, START) * 10000;
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 1), 0);
    assert_int_equal(r.job.proc.processes, 0);
    kill(pid, SIGUSR1);
    await_name(pid, "work");
    rig_await(pid, STATE, 'S');
    assert_int_equal(rig_pass(&r, 1), 0);
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(r.job.proc.processes_seen, 1);
    rig_kill(pid);
    rig_stop(&r);
}

/* --- limits --- */

/* Processes beyond the budget are neither lost nor counted as ended. */
static void budget(void **state)
{
    struct rig r;
    pid_t pid[5];
    (void)state;
    rig_init(&r);
    for (int i = 0; i < 5; i++)
        pid[i] = rig_spawn(NULL, NULL);
    rig_procs(&r, "", pid, 5);
    r.conf.max_processes = 2;
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 5);
    assert_int_equal(r.job.proc.threads, 2);
    assert_int_equal(bj_proctab_refused(r.t), 3);
    assert_int_equal(r.p->alive, 5);
    r.conf.max_processes = 5;
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.threads, 5);
    assert_int_equal(bj_proctab_refused(r.t), 3);
    struct bj_procsum before = r.job.proc;
    for (uint64_t max = 0; max < 5; max++) {
        r.conf.max_processes = max;
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.proc.processes, 5);
        assert_int_equal(r.job.proc.threads, 5);
        assert_int_equal(r.job.proc.processes_seen, 5);
        assert_true(r.job.proc.io_read_ops >= before.io_read_ops);
    }
    for (int i = 0; i < 5; i++)
        rig_kill(pid[i]);
    r.conf.max_processes = 0;
    rig_procs(&r, "", NULL, 0);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 0);
    rig_stop(&r);
}

/* The number of descriptors does not change the results. */
static void descriptors(void **state)
{
    static const unsigned max[] = {0, 1, 2, 3, 5, 8, 12, 16, 24, 64};
    (void)state;
    for (size_t i = 0; i < COUNT(max); i++) {
        struct rig r;
        rig_init(&r);
        pid_t pid[2] = {rig_spawn(open_three, NULL),
                        rig_spawn(rig_three_sleepers, NULL)};
        rig_procs(&r, "", NULL, 0);
        rig_procs(&r, "a", pid, 1);
        rig_procs(&r, "b", NULL, 0);
        rig_procs(&r, "b/c", pid + 1, 1);
        r.pool.max = max[i];
        rig_start(&r, r.dir, true);
        int fds = rig_open_fds();
        for (int k = 0; k < 6; k++) {
            assert_int_equal(rig_pass(&r, 2), 0);
            assert_int_equal(r.job.proc.processes, 2);
            assert_int_equal(r.job.proc.threads, 5);
            assert_int_equal(rig_state(&r, "sleeping"), 5);
            assert_int_equal(r.job.proc.open_fds,
                             count_fds(pid[0]) + count_fds(pid[1]));
            assert_true(r.job.proc.io_write_ops >= 2);
            assert_true(r.pool.used <= max[i]);
            assert_int_equal(rig_open_fds(), fds + (int)r.pool.used);
        }
        rig_kill(pid[0]);
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.proc.processes, 1);
        rig_kill(pid[1]);
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.proc.processes, 0);
        assert_int_equal(bj_proctab_faults(r.t), 0);
        rig_stop(&r);
    }
}

/* --- directories --- */

static void directories(void **state)
{
    struct rig r;
    char path[128];
    (void)state;
    rig_init(&r);
    pid_t pid[2] = {rig_spawn(NULL, NULL), rig_spawn(NULL, NULL)};
    snprintf(path, sizeof(path), "%s/job", r.dir);
    rig_start(&r, path, true);
    /* The directory does not exist yet. */
    assert_int_equal(rig_pass(&r, 2), -ENOENT);
    assert_int_equal(r.job.proc.processes, BJ_ABSENT);
    rig_procs(&r, "job", pid, 1);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 1);
    /* A step with the other process appears; then the process moves deeper. */
    rig_procs(&r, "job/s", pid + 1, 1);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 2);
    rig_procs(&r, "job/s/user", NULL, 0);
    rig_procs(&r, "job/s/user/task", pid + 1, 1);
    rig_procs(&r, "job/s", NULL, 0);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 2);
    assert_int_equal(r.job.proc.processes_seen, 2);
    /* Links are not followed. */
    snprintf(path, sizeof(path), "%s/job/link", r.dir);
    assert_int_equal(symlink("s", path), 0);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.p->alive, 2);
    /* The steps end. */
    snprintf(path, sizeof(path), "%s/job/s", r.dir);
    nftw(path, rig_rm, 16, FTW_DEPTH | FTW_PHYS);
    rig_kill(pid[1]);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(r.p->alive, 1);
    /* The job ends: its totals remain. */
    snprintf(path, sizeof(path), "%s/job", r.dir);
    nftw(path, rig_rm, 16, FTW_DEPTH | FTW_PHYS);
    uint64_t reads = r.job.proc.io_read_ops;
    assert_int_equal(rig_pass(&r, 2), -ENOENT);
    assert_int_equal(r.p->alive, 0);
    assert_int_equal(r.pool.used, 0);
    assert_int_equal(r.job.proc.processes_seen, 2);
    assert_int_equal(r.job.proc.io_read_ops, reads);
    /* A new directory of the same name is another job. */
    rig_procs(&r, "job", pid, 1);
    assert_int_equal(bj_proctab_faults(r.t), 0);
    rig_kill(pid[0]);
    rig_stop(&r);
}

/* The list may be up to a second old, unless a process of it has ended. */
static void fresh_lists(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    pid_t pid[3] = {rig_spawn(NULL, NULL), rig_spawn(NULL, NULL),
                    rig_spawn(NULL, NULL)};
    rig_procs(&r, "", pid, 1);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    rig_procs(&r, "", pid, 2);
    assert_int_equal(rig_pass(&r, 0), 0);
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(rig_pass(&r, 1), 0);
    assert_int_equal(r.job.proc.processes, 2);
    rig_kill(pid[0]);
    rig_procs(&r, "", pid + 1, 2);
    assert_int_equal(rig_pass(&r, 0), 0);
    assert_int_equal(r.job.proc.processes, 2);
    assert_int_equal(r.job.proc.processes_seen, 3);
    rig_kill(pid[1]);
    rig_kill(pid[2]);
    rig_stop(&r);
}

/* A process leaves the job and comes back. */
static void moved(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    pid_t pid[2] = {rig_spawn(NULL, NULL), rig_spawn(NULL, NULL)};
    rig_procs(&r, "", pid, 2);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 2);
    rig_procs(&r, "", pid, 1);
    /* Still counted once: it could be between two directories. */
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 2);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 1);
    rig_procs(&r, "", pid, 2);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 2);
    assert_int_equal(r.job.proc.processes_seen, 2);
    rig_kill(pid[0]);
    rig_kill(pid[1]);
    rig_stop(&r);
}

/* A list that does not fit into one read, with invalid lines, and processes of
 * other namespaces. */
static void long_list(void **state)
{
    struct rig r;
    char path[128];
    (void)state;
    rig_init(&r);
    pid_t pid = rig_spawn(NULL, NULL);
    rig_procs(&r, "", NULL, 0);
    snprintf(path, sizeof(path), "%s/cgroup.procs", r.dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 30000; i++)
        fprintf(f, "0\n");
    /* No process can have these numbers. */
    fprintf(f, "4194305\n99999999999\n18446744073709551617\nx-7\n%d\n%d",
            (int)pid, (int)pid);
    fclose(f);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(r.p->alive, 30003);
    rig_kill(pid);
    rig_stop(&r);
}

/* --- rights --- */

/* Run passes over a process of root as another user. To be called in a child
 * process; returns the number of failed checks. */
static int passes_as_nobody(struct rig *r)
{
    int bad = 0;
    if (setresuid(65534, 65534, 65534) < 0)
        return 100;
    if (bj_proctab_new(&r->conf, NULL, &r->pool, &r->t, &r->err) < 0)
        return 101;
    r->p = bj_jobproc_new(r->t, r->dir, false);
    bad += rig_pass(r, 2) != -EACCES;
    bad += r->job.proc.processes != 1;
    bad += r->job.proc.io_read_bytes != BJ_ABSENT;
    bad += r->job.proc.io_cancelled_write_bytes != BJ_ABSENT;
    bad += r->t->fd_size == (r->job.proc.open_fds == BJ_ABSENT);
    bad += r->job.states.n == 0;
    /* One fault for the process, in all passes. */
    for (int i = 0; i < 5; i++)
        bad += rig_pass(r, 60) != 0;
    bad += bj_proctab_faults(r->t) != 1;
    bj_jobproc_free(r->t, r->p);
    bj_proctab_free(r->t);
    bj_arena_free(&r->arena);
    return bad;
}

/* The same with a process of this user as well: as the I/O of the other one is
 * unknown, there is no sum. */
static int pass_with_own_process(struct rig *r, pid_t other)
{
    int bad = 0;
    rig_procs(r, "", (pid_t[]){other, getpid()}, 2);
    if (setresuid(65534, 65534, 65534) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
        return 100;
    rig_start(r, r->dir, false);
    bad += rig_pass(r, 2) != -EACCES;
    bad += r->job.proc.processes != 2;
    bad += !r->p->io_known;
    bad += r->job.proc.io_read_bytes != BJ_ABSENT;
    bad += r->job.proc.io_write_ops != BJ_ABSENT;
    return bad;
}

static void await_child(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void rights(void **state)
{
    struct rig r;
    (void)state;
    need_root("rights");
    rig_init(&r);
    pid_t pid = rig_spawn(NULL, NULL);
    rig_procs(&r, "", &pid, 1);
    assert_int_equal(chmod(r.dir, 0755), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(passes_as_nobody(&r));
    await_child(child);
    child = fork();
    if (child == 0)
        _exit(pass_with_own_process(&r, pid));
    await_child(child);
    rig_kill(pid);
    nftw(r.dir, rig_rm, 16, FTW_DEPTH | FTW_PHYS);
}

static void wrong_options(void **state)
{
    struct rig r;
    char none[] = "/nonexistent";
    (void)state;
    rig_init(&r);
    r.conf.procfs = none;
    assert_int_equal(bj_proctab_new(&r.conf, NULL, &r.pool, &r.t, &r.err),
                     -ENOENT);
    assert_string_equal(r.err.msg, "open /nonexistent");
    nftw(r.dir, rig_rm, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),        cmocka_unit_test(names),
        cmocka_unit_test(batch_system),  cmocka_unit_test(batch_child),
        cmocka_unit_test(extern_sleep),  cmocka_unit_test(budget),
        cmocka_unit_test(descriptors),   cmocka_unit_test(directories),
        cmocka_unit_test(fresh_lists),   cmocka_unit_test(moved),
        cmocka_unit_test(long_list),     cmocka_unit_test(rights),
        cmocka_unit_test(wrong_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
