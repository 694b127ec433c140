/* Values of processes that only the formats of other exporters have: threads by
 * name, processes of users, and sums over living processes. */
#include "tests/unit/core/test_process.h"

#include "base/text.h"
#include "tests/unit/lib/await.h"

#include <limits.h>
#include <time.h>

enum { MOST_NAMES = 64 }; /* names of a job that are published */

static char self[PATH_MAX];

static int setup(void **state)
{
    (void)state;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    return n > 0 ? 0 : -1;
}

static void start(struct rig *r, unsigned extras)
{
    rig_start(r, r->dir, false);
    r->conf.extras = extras;
}

static uint64_t threads_of(const struct rig *r, const char *name)
{
    const struct bj_name_use *v = r->job.names.v;
    uint64_t ret = 0;
    for (size_t i = 0; i < r->job.names.n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(name)))
            ret += v[i].threads;
    return ret;
}

static void take_name(void *arg)
{
    prctl(PR_SET_NAME, (const char *)arg);
    rig_three_sleepers(NULL);
}

/* Threads of processes with the same name are added up. */
static void names(void **state)
{
    struct rig r;
    char same[] = "a (b) \"c\"", other[] = "solver";
    (void)state;
    rig_init(&r);
    pid_t pid[3] = {rig_spawn(take_name, same), rig_spawn(take_name, same),
                    rig_spawn(take_name, other)};
    rig_procs(&r, "", pid, 3);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.names.n, 0);
    rig_stop(&r);
    rig_init(&r);
    rig_procs(&r, "", pid, 3);
    start(&r, BJ_EXTRA_NAMES);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.names.n, 2);
    assert_int_equal(threads_of(&r, same), 8);
    assert_int_equal(threads_of(&r, other), 4);
    assert_int_equal(r.job.exe_counts.n, 0);
    rig_kill(pid[0]);
    rig_procs(&r, "", &pid[1], 2);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(threads_of(&r, same), 4);
    rig_kill(pid[1]);
    rig_kill(pid[2]);
    rig_stop(&r);
}

/* Start this program under a path, and wait until it runs. */
static pid_t run_as(const char *path, const char *arg0)
{
    assert_true(symlink(self, path) == 0 || errno == EEXIST);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(path, arg0, "wait", (char *)NULL);
        _exit(127);
    }
    /* It sleeps when the new program runs. */
    char link[64], exe[PATH_MAX] = "";
    snprintf(link, sizeof(link), "/proc/%d/cmdline", (int)pid);
    AWAIT_STEP(first_line(link, exe, sizeof(exe)), strcmp(exe, arg0) == 0);
    rig_await(pid, STATE, 'S');
    return pid;
}

/* The kernel keeps 15 bytes of a name; the rest is taken from the command line
 * if that begins with the same bytes. */
static void long_names(void **state)
{
    struct rig r;
    char path[300], fits[300];
    (void)state;
    rig_init(&r);
    snprintf(path, sizeof(path), "%s/molecular_dynamics.mpi", r.dir);
    snprintf(fits, sizeof(fits), "%s/exactly_fifteen", r.dir);
    pid_t pid[3] = {run_as(path, path), run_as(path, "something else"),
                    run_as(fits, "./exactly_fifteen")};
    rig_procs(&r, "x", NULL, 0);
    rig_procs(&r, "", pid, 3);
    start(&r, BJ_EXTRA_NAMES);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.names.n, 3);
    assert_int_equal(threads_of(&r, "molecular_dynamics.mpi"), 1);
    assert_int_equal(threads_of(&r, "molecular_dynam"), 1);
    assert_int_equal(threads_of(&r, "exactly_fifteen"), 1);
    for (int i = 0; i < 3; i++)
        rig_kill(pid[i]);
    rig_stop(&r);
}

static void take_numbered_name(void *arg)
{
    char name[16];
    int n = *(const int *)arg;
    snprintf(name, sizeof(name), "p%03d", n);
    prctl(PR_SET_NAME, name);
    if (n == 0)
        rig_three_sleepers(NULL);
}

/* The names with the most threads are published, the others as one sum. */
static void many_names(void **state)
{
    enum { MANY = MOST_NAMES + 9 };
    struct rig r;
    pid_t pid[MANY];
    (void)state;
    rig_init(&r);
    for (int i = 0; i < MANY; i++)
        pid[i] = rig_spawn(take_numbered_name, &i);
    rig_procs(&r, "", pid, MANY);
    start(&r, BJ_EXTRA_NAMES);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.names.n, MOST_NAMES + 1);
    assert_int_equal(threads_of(&r, "(other)"), MANY - MOST_NAMES);
    assert_int_equal(threads_of(&r, "p000"), 4);
    for (int i = 0; i < MANY; i++)
        rig_kill(pid[i]);
    rig_stop(&r);
}

/* --- living processes ----------------------------------------------------- */

/* The number after the key in a file of /proc/PID; for an empty key, the second
 * number of the file. */
static uint64_t proc_number(pid_t pid, const char *file, const char *key)
{
    char path[64], line[256];
    uint64_t ret = UINT64_MAX;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (ret == UINT64_MAX && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0)
            ret = strtoull(strchr(line, ' '), NULL, 10);
    fclose(f);
    return ret;
}

static void burn_ms(long ms)
{
    struct timespec t;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

/* Use 100 ms of CPU time, and 200 ms in a child that is waited for; make 50
 * read calls. */
static void work(void *arg)
{
    char buf[8];
    (void)arg;
    pid_t child = fork();
    if (child == 0) {
        burn_ms(200);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    burn_ms(100);
    int fd = open("/proc/self/comm", O_RDONLY);
    for (int i = 0; i < 50; i++)
        if (pread(fd, buf, sizeof(buf), 0) < 0)
            _exit(1);
    close(fd);
}

static const struct bj_exe_count *of_exe(const struct rig *r, const char *exe)
{
    const struct bj_exe_count *v = r->job.exe_counts.v;
    for (size_t i = 0; i < r->job.exe_counts.n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(exe)))
            return &v[i];
    return NULL;
}

static uint64_t cpu_of(pid_t pid)
{
    uint64_t ticks = 0;
    for (int field = UTIME; field < UTIME + 4; field++)
        ticks += (uint64_t)rig_field(pid, field);
    return ticks * (SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void check_alive(const struct rig *r, const pid_t *pid, int n)
{
    struct bj_extra_use a;
    uint64_t calls = 0, pages = 0, cpu = 0;
    memset(&a, 0xff, sizeof(a));
    bj_jobproc_living(r->p, &a);
    for (int i = 0; i < n; i++) {
        calls += proc_number(pid[i], "io", "syscr:");
        pages += proc_number(pid[i], "statm", "");
        cpu += cpu_of(pid[i]);
    }
    assert_int_equal(a.alive_read_ops, calls);
    assert_int_equal(a.alive_rss_bytes,
                     pages * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(of_exe(r, self)->processes, n);
    assert_int_equal(of_exe(r, self)->cpu_usec, cpu);
}

/* The sums fall when a process ends, also by its children that were waited
 * for. */
static void alive(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    pid_t pid[2] = {rig_spawn(work, NULL), rig_spawn(work, NULL)};
    rig_procs(&r, "", pid, 2);
    start(&r, BJ_EXTRA_ALIVE | BJ_EXTRA_STATM);
    assert_int_equal(rig_pass(&r, 2), 0);
    check_alive(&r, pid, 2);
    assert_in_range(of_exe(&r, self)->cpu_usec, 500000, 900000);
    uint64_t io = r.job.proc.io_read_ops;
    rig_kill(pid[0]);
    rig_procs(&r, "", &pid[1], 1);
    assert_int_equal(rig_pass(&r, 2), 0);
    check_alive(&r, &pid[1], 1);
    assert_in_range(of_exe(&r, self)->cpu_usec, 250000, 450000);
    assert_true(r.job.proc.io_read_ops >= io);
    rig_kill(pid[1]);
    rig_stop(&r);
}

/* --- processes of users --------------------------------------------------- */

enum { NOBODY = 65534 };

static void be_nobody(void *arg)
{
    if (setuid(NOBODY) < 0)
        _exit(1);
    if (arg)
        rig_three_sleepers(NULL);
}

/* A stopped shell of another user that runs a script. */
static pid_t run_script(const char *script)
{
    FILE *f = fopen(script, "w");
    assert_non_null(f);
    fputs("kill -STOP $$\n", f);
    assert_int_equal(fclose(f), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_nobody(NULL);
        execl("/bin/bash", "/bin/bash", script, (char *)NULL);
        _exit(127);
    }
    rig_await(pid, STATE, 'T');
    return pid;
}

static uint64_t in_state(const struct rig *r, const char *name)
{
    const struct bj_state_use *v = r->job.user_states.v;
    for (size_t i = 0; i < r->job.user_states.n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(name)))
            return v[i].threads;
    return 0;
}

static void users(void **state)
{
    struct rig r;
    struct bj_extra_use a;
    char dir[64], script[128], other[128], threads[] = "";
    (void)state;
    need_root("users");
    rig_init(&r);
    chmod(r.dir, 0755);
    snprintf(dir, sizeof(dir), "%s/var", r.dir);
    mkdir(dir, 0755);
    snprintf(dir, sizeof(dir), "%s/var/spool", r.dir);
    mkdir(dir, 0755);
    snprintf(script, sizeof(script), "%s/slurm_script", dir);
    snprintf(other, sizeof(other), "%s/other", dir);
    pid_t pid[4] = {rig_spawn(work, NULL), rig_spawn(be_nobody, threads),
                    run_script(script), run_script(other)};
    rig_procs(&r, "", pid, 4);
    start(&r, BJ_EXTRA_ALIVE | BJ_EXTRA_USERS);
    assert_int_equal(rig_pass(&r, 2), 0);
    memset(&a, 0xff, sizeof(a));
    bj_jobproc_living(r.p, &a);
    assert_int_equal(r.job.proc.processes, 4);
    assert_int_equal(a.user_processes, 2);
    assert_int_equal(in_state(&r, "sleeping"), 4);
    assert_int_equal(in_state(&r, "stopped"), 1);
    /* The CPU time of root's processes is left out. */
    assert_int_equal(of_exe(&r, self)->processes, 2);
    assert_in_range(of_exe(&r, self)->cpu_usec, 0, 50000);
    for (int i = 0; i < 4; i++)
        rig_kill(pid[i]);
    rig_stop(&r);
}

int main(int argc, char **argv)
{
    /* A program that the tests start. */
    if (argc == 2 && strcmp(argv[1], "wait") == 0)
        for (;;)
            pause();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),      cmocka_unit_test(long_names),
        cmocka_unit_test(many_names), cmocka_unit_test(alive),
        cmocka_unit_test(users),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
