/* The process collector on files: a recorded Slurm job, and a simulated /proc
 * for what real processes do not do on demand. */
#include "tests/unit/core/test_process.h"

#define RECORDED "tests/fixtures/proc-slurm-v1"

/* --- recorded --- */

static void check_recorded(const struct rig *r, uint64_t work_usec,
                           uint64_t other_usec)
{
    const struct bj_procsum *s = &r->job.proc;
    /* All processes but the four slurmstepd. */
    assert_int_equal(s->processes, 10);
    assert_int_equal(s->threads, 19);
    assert_int_equal(s->processes_seen, 10);
    assert_int_equal(r->p->alive, 14);
    assert_int_equal(r->job.states.n, 2);
    assert_int_equal(rig_state(r, "running"), 5);
    assert_int_equal(rig_state(r, "sleeping"), 14);
    /* Sums over the recorded files, computed with awk. */
    assert_int_equal(s->io_read_bytes, 100804767);
    assert_int_equal(s->io_write_bytes, 100679418);
    assert_int_equal(s->io_read_ops, 388);
    assert_int_equal(s->io_write_ops, 127);
    assert_int_equal(s->io_storage_read_bytes, 100667392);
    assert_int_equal(s->io_storage_write_bytes, 100700160);
    assert_int_equal(s->io_cancelled_write_bytes, 0);
    assert_int_equal(s->open_fds, BJ_ABSENT);
    /* The links to executables are not recorded. */
    assert_int_equal(r->job.exes.n, 2);
    assert_int_equal(rig_exe(r, "[work]"), work_usec);
    assert_int_equal(rig_exe(r, "(other)"), other_usec);
}

static void copy_file(const char *from, const char *to)
{
    char buf[4096];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_non_null(in);
    assert_non_null(out);
    size_t n = fread(buf, 1, sizeof(buf), in);
    assert_int_equal(fwrite(buf, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Copy a directory with everything below it. */
static void copy_tree(const char *from, const char *to)
{
    mkdir(to, 0755);
    DIR *d = opendir(from);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        char a[512], b[512];
        snprintf(a, sizeof(a), "%s/%s", from, e->d_name);
        snprintf(b, sizeof(b), "%s/%s", to, e->d_name);
        if (e->d_name[0] == '.')
            continue;
        if (e->d_type == DT_DIR)
            copy_tree(a, b);
        else
            copy_file(a, b);
    }
    closedir(d);
}

/* A job at two times, 17 s apart. */
static void recorded(void **state)
{
    struct rig r;
    (void)state;
    rig_init(&r);
    snprintf(r.procfs, sizeof(r.procfs), "%s/proc", r.dir);
    copy_tree(RECORDED "/t0", r.procfs);
    rig_start(&r, RECORDED "/memory/job_2", false);
    r.cgroup_cpu_usec = 3688301;
    assert_int_equal(rig_pass(&r, 2), 0);
    check_recorded(&r, 5770000, 0);
    assert_int_equal(rig_pass(&r, 2), 0);
    check_recorded(&r, 5770000, 0);
    copy_tree(RECORDED "/t1", r.procfs);
    r.cgroup_cpu_usec = 17000000;
    assert_int_equal(rig_pass(&r, 17), 0);
    check_recorded(&r, 16850000, 150000);
    assert_int_equal(bj_proctab_faults(r.t), 0);
    rig_stop(&r);
}

/* --- simulated --- */

struct fake {
    pid_t pid, ppid;
    const char *comm, *exe;
    char state;
    unsigned utime, stime, threads, start, stack;
};

static void put(const struct rig *r, pid_t pid, const char *name,
                const char *text)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%d/%s", r->procfs, (int)pid, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void fake(const struct rig *r, struct fake f)
{
    char text[400], path[160];
    snprintf(path, sizeof(path), "%s/%d", r->procfs, (int)f.pid);
    mkdir(path, 0755);
    snprintf(text, sizeof(text),
             "%d (%s) %c %d 1 1 0 -1 0 0 0 0 0 %u %u 0 0 20 0 %u 0 %u 0 0 0 1 "
             "1 %u 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n",
             (int)f.pid, f.comm, f.state, (int)f.ppid, f.utime, f.stime,
             f.threads, f.start, f.stack);
    put(r, f.pid, "stat", text);
    snprintf(path, sizeof(path), "%s/%d/exe", r->procfs, (int)f.pid);
    unlink(path);
    if (f.exe)
        assert_int_equal(symlink(f.exe, path), 0);
}

static void fake_io(const struct rig *r, pid_t pid, unsigned n)
{
    char text[200];
    snprintf(text, sizeof(text),
             "rchar: %u\nwchar: %u\nsyscr: %u\nsyscw: %u\nread_bytes: %u\n"
             "write_bytes: %u\ncancelled_write_bytes: %u\n",
             n, 2 * n, 3 * n, 4 * n, 5 * n, 6 * n, 7 * n);
    put(r, pid, "io", text);
}

static void fake_remove(const struct rig *r, pid_t pid)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/%d", r->procfs, (int)pid);
    nftw(path, rig_rm, 16, FTW_DEPTH | FTW_PHYS);
}

static void fake_init(struct rig *r)
{
    rig_init(r);
    snprintf(r->procfs, sizeof(r->procfs), "%s/proc", r->dir);
    assert_int_equal(mkdir(r->procfs, 0755), 0);
    rig_procs(r, "job", NULL, 0);
    /* Files that stay open could be read after their removal. */
    r->pool.max = 0;
}

static void fake_start(struct rig *r)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/job", r->dir);
    rig_start(r, path, false);
}

#define PROC(...) ((struct fake){.state = 'S', .threads = 1, __VA_ARGS__})

/* The pid of an ended process belongs to another one. */
static void pid_reused(void **state)
{
    struct rig r;
    const pid_t pid = 100;
    (void)state;
    fake_init(&r);
    fake(&r, PROC(.pid = 100, .comm = "a", .exe = "/a", .utime = 50, .start = 7,
                  .stack = 70));
    fake_io(&r, 100, 1000);
    rig_procs(&r, "job", &pid, 1);
    fake_start(&r);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(rig_exe(&r, "/a"), 500000);
    assert_int_equal(r.job.proc.io_read_bytes, 1000);
    fake(&r, PROC(.pid = 100, .comm = "a", .exe = "/a", .utime = 20, .start = 9,
                  .stack = 90));
    fake_io(&r, 100, 10);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes_seen, 2);
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(rig_exe(&r, "/a"), 700000);
    assert_int_equal(r.job.proc.io_read_bytes, 1010);
    assert_int_equal(r.job.proc.io_cancelled_write_bytes, 7070);
    rig_stop(&r);
}

/* Counters that fall, and invalid lines: no published value falls, and faults
 * are counted once per process. */
static void invalid_values(void **state)
{
    struct rig r;
    const pid_t pid = 100;
    (void)state;
    fake_init(&r);
    struct fake f = PROC(.pid = 100, .comm = "a", .exe = "/a", .utime = 50,
                         .start = 7, .stack = 70);
    fake(&r, f);
    fake_io(&r, 100, 1000);
    rig_procs(&r, "job", &pid, 1);
    fake_start(&r);
    assert_int_equal(rig_pass(&r, 2), 0);
    f.utime = 30;
    fake(&r, f);
    fake_io(&r, 100, 900);
    assert_int_equal(rig_pass(&r, 40), 0);
    assert_int_equal(rig_exe(&r, "/a"), 500000);
    assert_int_equal(r.job.proc.io_read_bytes, 1000);
    put(&r, 100, "stat", "100 (a");
    assert_int_equal(rig_pass(&r, 2), -EINVAL);
    assert_string_equal(r.err.msg, "process 100: stat");
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(rig_pass(&r, 2), 0);
    put(&r, 100, "io", "rchar: 1\n");
    f.utime = 60;
    fake(&r, f);
    assert_int_equal(rig_pass(&r, 40), 0);
    assert_int_equal(bj_proctab_faults(r.t), 1);
    assert_int_equal(rig_exe(&r, "/a"), 600000);
    assert_int_equal(r.job.proc.io_read_bytes, 1000);
    rig_stop(&r);
}

/* The first executables with enough CPU time get slots, the rest is "(other)".
 * A job that runs ever new programs needs no more memory. */
static void slots(void **state)
{
    struct rig r;
    const pid_t pid = 100;
    uint64_t spent = 0, other = 0;
    (void)state;
    fake_init(&r);
    r.conf.exe_top = 3;
    struct fake f = PROC(.pid = 100, .comm = "x", .start = 7);
    rig_procs(&r, "job", &pid, 1);
    fake_start(&r);
    for (unsigned i = 1; i <= 500; i++) {
        char exe[32];
        snprintf(exe, sizeof(exe), "/bin/x%u%s", i, i % 2 ? "" : " (deleted)");
        f.exe = exe;
        f.stack = i + 10;
        /* Every fifth one uses enough CPU time for a slot. */
        f.utime += i % 5 ? 9 : 10;
        spent = f.utime * (uint64_t)10000;
        fake(&r, f);
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_true(rig_exe(&r, "(other)") >= other);
        other = rig_exe(&r, "(other)");
    }
    assert_int_equal(r.job.exes.n, 4);
    assert_int_equal(rig_exe(&r, "/bin/x5"), 100000);
    assert_int_equal(rig_exe(&r, "/bin/x10"), 100000);
    assert_int_equal(rig_exe(&r, "/bin/x15"), 100000);
    assert_int_equal(other, spent - 300000);
    assert_in_range(r.p->nexes, 3, 3 + 64);
    /* An executable with a slot keeps it. */
    f.exe = "/bin/x5";
    f.stack = 15;
    f.stime = 7;
    fake(&r, f);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(rig_exe(&r, "/bin/x5"), 170000);
    rig_stop(&r);
}

/* CPU time that was published as "(other)" remains there when the executable
 * gets a slot. */
static void late_slot(void **state)
{
    struct rig r;
    const pid_t pid = 100;
    (void)state;
    fake_init(&r);
    struct fake f =
        PROC(.pid = 100, .comm = "x", .exe = "/x", .start = 7, .stack = 9);
    rig_procs(&r, "job", &pid, 1);
    fake_start(&r);
    static const struct {
        unsigned utime;
        uint64_t x, other;
    } steps[] = {
        {6, BJ_ABSENT, 60000}, {9, BJ_ABSENT, 90000}, {12, 30000, 90000},
        {12, 30000, 90000},    {50, 410000, 90000},
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        f.utime = steps[i].utime;
        fake(&r, f);
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(rig_exe(&r, "/x"), steps[i].x);
        assert_int_equal(rig_exe(&r, "(other)"), steps[i].other);
    }
    rig_stop(&r);
}

/* A listed pid that is not in /proc does not count. */
static void not_in_proc(void **state)
{
    struct rig r;
    const pid_t pid[] = {100, 101};
    (void)state;
    fake_init(&r);
    fake(&r, PROC(.pid = 100, .comm = "a", .start = 7));
    /* So that /proc does not seem to hide processes of other users. */
    fake(&r, PROC(.pid = 1, .comm = "init", .start = 1));
    rig_procs(&r, "job", pid, 2);
    fake_start(&r);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 1);
    assert_int_equal(r.job.proc.processes_seen, 1);
    assert_int_equal(bj_proctab_faults(r.t), 0);
    rig_stop(&r);
}

/* If /proc hides processes of other users (hidepid), all listed ones count. */
static void hidden(void **state)
{
    struct rig r;
    const pid_t pid[] = {100, 101, 102};
    (void)state;
    fake_init(&r);
    fake(&r, PROC(.pid = 100, .comm = "a", .start = 7));
    rig_procs(&r, "job", pid, 3);
    fake_start(&r);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.proc.processes, 3);
        assert_int_equal(r.job.proc.threads, 1);
        assert_int_equal(r.p->alive, 3);
    }
    rig_stop(&r);
}

/* Ten thousand processes are read, and their memory is freed at their end. */
static void many(void **state)
{
    enum { MANY = 10000 };
    struct rig r;
    static pid_t pid[MANY];
    (void)state;
    fake_init(&r);
    r.conf.max_processes = MANY;
    for (int i = 0; i < MANY; i++) {
        pid[i] = 1000 + 7 * i;
        fake(&r, PROC(.pid = pid[i], .ppid = i ? pid[i / 2] : 1, .comm = "a",
                      .utime = 1, .start = 7));
    }
    rig_procs(&r, "job", pid, MANY);
    fake_start(&r);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_pass(&r, 2), 0);
        assert_int_equal(r.job.proc.processes, MANY);
        assert_int_equal(r.job.proc.threads, MANY);
        assert_int_equal(rig_state(&r, "sleeping"), MANY);
        assert_int_equal(bj_proctab_refused(r.t), 0);
    }
    /* All but five end at once. */
    for (int i = 5; i < MANY; i++)
        fake_remove(&r, pid[i]);
    rig_procs(&r, "job", pid, 5);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.proc.processes, 5);
    assert_int_equal(r.job.proc.processes_seen, MANY);
    assert_in_range(r.p->cap, 5, 32);
    assert_int_equal(rig_exe(&r, "[a]"), MANY * 10000);
    rig_stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded),       cmocka_unit_test(pid_reused),
        cmocka_unit_test(invalid_values), cmocka_unit_test(slots),
        cmocka_unit_test(late_slot),      cmocka_unit_test(not_in_proc),
        cmocka_unit_test(hidden),         cmocka_unit_test(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
