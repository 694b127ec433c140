/* The life of jobs in a core, on a cgroup tree of plain files. */
#include "core/events.h"
#include "core/find/ident.h"
#include "core/internal.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/testclock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SCOPE "system.slice/slurmstepd.scope/"

static char root_opt[128];

static int make_tree(void **state)
{
    (void)state;
    snprintf(root_opt, sizeof(root_opt), "path.cgroupfs=%s", tmp_make());
    testclock_stop(); /* only the test advances the clock */
    return 0;
}

static int drop_tree(void **state)
{
    (void)state;
    tmp_gone();
    testclock_run();
    return 0;
}

static void make_root(void)
{
    tmp_file("cgroup.controllers", "cpu memory\n");
    tmp_dir(SCOPE);
}

#define START(r, ...)                                                          \
    rig_start(&(r), root_opt, "collector.node=false",                          \
              "job.file-dir=", "identity.wait=0s", __VA_ARGS__, NULL)

/* Whether the scan of the last pass succeeded, by its metric. */
static uint64_t find_succeeds(const struct rig *r)
{
    const struct bj_collector_stat *c = r->snap->self.collectors.v;
    for (size_t i = 0; i < r->snap->self.collectors.n; i++)
        if (bj_slice_eq(c[i].sub.key[0], BJ_SLICE("find")))
            return c[i].success;
    return BJ_ABSENT;
}

/* A missing hierarchy is a fault in every pass; the log reports its begin and
 * its end. */
static void test_hierarchy_appears(void **state)
{
    (void)state;
    struct rig r;
    START(r, "sample.slow=100ms");
    tmp_remove(""); /* not even the mount point */
    rig_pass(&r);
    assert_int_equal(r.snap->jobs.n, 0);
    assert_non_null(strstr(r.log, "collector find: open cgroup root"));
    assert_int_equal(find_succeeds(&r), 0);
    for (int empty = 0; empty < 2; empty++) {
        *r.log = '\0';
        for (int i = 0; i < 3; i++) {
            rig_pass(&r);
            assert_int_equal(r.snap->jobs.n, 0);
            assert_int_equal(find_succeeds(&r), 0);
            testclock_advance(30000);
        }
        assert_string_equal(r.log, "");
        tmp_dir("");
    }
    make_root();
    tmp_v2_job(SCOPE "job_5", 1000, 4096, "1\n");
    testclock_advance(110000);
    rig_pass(&r);
    assert_int_equal(r.snap->jobs.n, 1);
    assert_non_null(strstr(r.log, "collector find: works again"));
    const struct bj_job *job = rig_job(&r, "5");
    assert_non_null(job);
    assert_int_equal(job->use.cpu_usec, 1000);
    assert_int_equal(job->use.mem_used_bytes, 4096);
    assert_true(job->use.mem_peak_bytes == BJ_ABSENT);
    rig_stop(&r);
}

static void test_end_and_grace(void **state)
{
    (void)state;
    struct rig r;
    make_root();
    tmp_v2_job(SCOPE "job_5", 1000, 4096, "1\n");
    START(r, "job.grace=300ms");
    rig_pass(&r);
    assert_true(rig_job(&r, "5")->end_sec == BJ_ABSENT);
    assert_int_equal(r.snap->self.jobs, 1);
    tmp_remove(SCOPE "job_5");
    rig_pass(&r);
    const struct bj_job *job = rig_job(&r, "5");
    assert_non_null(job);
    assert_true(job->end_sec != BJ_ABSENT);
    assert_int_equal(job->use.cpu_usec, 1000);
    assert_int_equal(r.snap->self.jobs, 0);
    testclock_advance(310000);
    rig_pass(&r);
    assert_null(rig_job(&r, "5"));
    assert_string_equal(r.log, "");
    rig_stop(&r);
}

static void test_same_id_again(void **state)
{
    (void)state;
    struct rig r;
    make_root();
    tmp_v2_job(SCOPE "job_5", 1000, 4096, "1\n");
    tmp_v2_job(SCOPE "job_6", 6, 6, "1\n");
    START(r, "job.grace=1h");
    rig_pass(&r);
    /* The directory is replaced between two passes: their number is the
     * same. */
    tmp_dir("keep"); /* so that the inode is not reused at once */
    tmp_remove(SCOPE "job_5");
    tmp_dir("keep2");
    tmp_v2_job(SCOPE "job_5", 7, 8192, "1\n");
    rig_pass(&r);
    assert_int_equal(r.snap->jobs.n, 2);
    const struct bj_job *job = rig_job(&r, "5");
    assert_int_equal(job->use.cpu_usec, 7);
    assert_true(job->end_sec == BJ_ABSENT);
    /* Again, with a pass between removal and the new directory. */
    tmp_remove(SCOPE "job_5");
    rig_pass(&r);
    assert_true(rig_job(&r, "5")->end_sec != BJ_ABSENT);
    tmp_v2_job(SCOPE "job_5", 3, 8192, "1\n");
    rig_pass(&r);
    assert_int_equal(r.snap->jobs.n, 2);
    assert_int_equal(rig_job(&r, "5")->use.cpu_usec, 3);
    rig_stop(&r);
}

static void test_empty_directories(void **state)
{
    (void)state;
    struct rig r;
    make_root();
    tmp_v2_job(SCOPE "job_5", 1000, 4096, "");
    tmp_v2_job(SCOPE "job_6", 1000, 4096, "1\n");
    START(r, "job.grace=200ms", "sample.slow=100ms");
    rig_pass(&r);
    assert_null(rig_job(&r, "5")); /* a crash may leave an empty directory */
    assert_non_null(rig_job(&r, "6"));
    tmp_file(SCOPE "job_6/cgroup.procs", "");
    for (int i = 0; i < 4; i++) {
        testclock_advance(110000);
        rig_pass(&r);
    }
    assert_int_equal(r.snap->self.jobs, 0);
    tmp_file(SCOPE "job_6/cgroup.procs", "1\n");
    for (int i = 0; i < 3; i++) {
        testclock_advance(110000);
        rig_pass(&r);
    }
    assert_true(rig_job(&r, "6")->end_sec == BJ_ABSENT);
    rig_stop(&r);
}

/* The jobs of a directory that temporarily cannot be read continue. */
static void test_fault_ends_nothing(void **state)
{
    (void)state;
    struct rig r;
    struct rlimit old, none;
    make_root();
    tmp_v2_job(SCOPE "job_5", 1000, 4096, "1\n");
    START(r, "limit.files=1", "job.grace=1h");
    rig_pass(&r);
    assert_non_null(rig_job(&r, "5"));
    tmp_v2_job(SCOPE "job_6", 1000, 4096, "1\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){3, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rig_pass(&r);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_non_null(strstr(r.log, "collector find: "));
    assert_true(rig_job(&r, "5")->end_sec == BJ_ABSENT);
    rig_pass(&r);
    assert_int_equal(r.snap->jobs.n, 2);
    assert_true(rig_job(&r, "5")->end_sec == BJ_ABSENT);
    assert_non_null(rig_job(&r, "6"));
    assert_non_null(strstr(r.log, "collector find: works again"));
    rig_stop(&r);
}

static void test_caps(void **state)
{
    (void)state;
    struct rig r;
    make_root();
    for (int i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof(name), SCOPE "job_%d", i);
        tmp_v2_job(name, 1, 1, "1\n");
    }
    START(r, "limit.jobs=3", "limit.files=2");
    rig_pass(&r);
    assert_int_equal(r.snap->jobs.n, 3);
    assert_int_equal(r.snap->self.jobs, 3);
    assert_int_equal(r.snap->self.jobs_refused, 2);
    assert_true(r.snap->self.fds_refused > 0);
    assert_true(r.snap->self.fds_kept <= 2);
    static const char full[] = "2 files are open, the limit (limit.files";
    const char *said = strstr(r.log, full);
    assert_non_null(said);
    rig_pass(&r); /* the same two are not refused again */
    assert_int_equal(r.snap->self.jobs_refused, 2);
    assert_null(strstr(said + 1, full));
    rig_stop(&r);
}

static void test_steps(void **state)
{
    (void)state;
    struct rig r;
    make_root();
    tmp_v2_job(SCOPE "job_5", 30, 3, "");
    tmp_v2_job(SCOPE "job_5/step_batch", 10, 1, "");
    tmp_v2_job(SCOPE "job_5/step_batch/slurm", 0, 0, "1\n");
    tmp_v2_job(SCOPE "job_5/step_0", 20, 2, "");
    tmp_v2_job(SCOPE "job_5/step_0/user", 20, 2, "");
    tmp_v2_job(SCOPE "job_5/step_0/user/task_0", 15, 1, "1\n");
    tmp_v2_job(SCOPE "job_5/step_0/user/task_1", 5, 1, "1\n");
    START(r, "collector.steps=tasks");
    rig_pass(&r);
    const struct bj_job *job = rig_job(&r, "5");
    assert_int_equal(job->steps.n, 2);
    assert_int_equal(job->tasks.n, 2);
    const struct bj_step_use *s = job->steps.v, *t = job->tasks.v;
    assert_true(bj_slice_eq(s[0].sub.key[0], BJ_SLICE("0")));
    assert_int_equal(s[0].use.cpu_usec, 20);
    assert_true(bj_slice_eq(s[1].sub.key[0], BJ_SLICE("batch")));
    assert_int_equal(s[1].use.cpu_usec, 10);
    assert_true(bj_slice_eq(t[1].sub.key[1], BJ_SLICE("1")));
    assert_int_equal(t[1].use.cpu_usec, 5);
    assert_int_equal(job->use.cpu_usec, 30);
    tmp_remove(SCOPE "job_5/step_0");
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "5")->steps.n, 1);
    assert_int_equal(rig_job(&r, "5")->tasks.n, 0);
    rig_stop(&r);
}

/* A cgroup of v1 with this number of OOM kills. v1 counts memory events for
 * each cgroup separately: those of a job are their sum, and remain when a step
 * ends. */
static void v1_dir(const char *rel, const char *kills)
{
    char name[256], text[128];
    tmp_dir(rel);
    snprintf(name, sizeof(name), "%s/cgroup.procs", rel);
    tmp_file(name, "1\n");
    snprintf(name, sizeof(name), "%s/memory.failcnt", rel);
    tmp_file(name, "2\n");
    snprintf(name, sizeof(name), "%s/memory.memsw.failcnt", rel);
    tmp_file(name, "5\n");
    snprintf(name, sizeof(name), "%s/memory.oom_control", rel);
    snprintf(text, sizeof(text),
             "oom_kill_disable 0\nunder_oom 0\noom_kill %s\n", kills);
    tmp_file(name, text);
}

static void test_v1_events(void **state)
{
    (void)state;
    struct rig r;
    v1_dir("memory/slurm/uid_7/job_5", "0");
    v1_dir("memory/slurm/uid_7/job_5/step_0", "0");
    v1_dir("memory/slurm/uid_7/job_5/step_0/task_0", "1");
    v1_dir("memory/slurm/uid_7/job_5/step_0/task_1", "3");
    tmp_file("memory/slurm/uid_7/job_5/memory.max_usage_in_bytes", "100\n");
    START(r, "collector.steps=steps", "job.grace=1m");
    rig_pass(&r);
    const struct bj_job *job = rig_job(&r, "5");
    assert_int_equal(job->use.mem_oom_kills, 4);
    assert_int_equal(job->use.mem_limit_hits, 8);
    assert_int_equal(job->use.memsw_limit_hits, 20);
    const struct bj_step_use *s = job->steps.v;
    assert_int_equal(job->steps.n, 1);
    assert_int_equal(s[0].use.mem_oom_kills, 4);
    assert_int_equal(s[0].use.memsw_limit_hits, 15);
    tmp_remove("memory/slurm/uid_7/job_5/step_0/task_1");
    tmp_file("memory/slurm/uid_7/job_5/memory.max_usage_in_bytes", "101\n");
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "5")->use.mem_oom_kills, 4);
    tmp_remove("memory/slurm/uid_7/job_5/step_0");
    tmp_file("memory/slurm/uid_7/job_5/memory.max_usage_in_bytes", "102\n");
    rig_pass(&r);
    assert_int_equal(rig_job(&r, "5")->use.mem_oom_kills, 4);
    assert_int_equal(rig_job(&r, "5")->use.mem_limit_hits, 8);
    assert_int_equal(rig_job(&r, "5")->use.memsw_limit_hits, 20);
    rig_stop(&r);
}

static void v1_job(const char *job)
{
    char rel[128], name[256];
    snprintf(rel, sizeof(rel), "memory/slurm/uid_7/%s", job);
    v1_dir(rel, "0");
    snprintf(rel, sizeof(rel), "cpuacct/slurm/uid_7/%s", job);
    tmp_dir(rel);
    snprintf(name, sizeof(name), "%s/cpuacct.usage", rel);
    tmp_file(name, "9000000\n");
    snprintf(name, sizeof(name), "%s/cgroup.procs", rel);
    tmp_file(name, "1\n");
}

/* The directories of a job disappear from one hierarchy after the other: the
 * rest is not a new job of the same id, and the last values remain. Only one of
 * the hierarchies is watched; the job is first seen in the other when it has
 * begun to end. */
static void test_v1_hierarchies_end_in_turn(void **state)
{
    static const char *const order[][2] = {{"memory", "cpuacct"},
                                           {"cpuacct", "memory"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig r;
        char rel[128];
        v1_job("job_4");
        START(r, "sample.slow=300ms", "job.grace=1h");
        rig_pass(&r);
        v1_job("job_5");
        rig_pass(&r);
        assert_int_equal(rig_job(&r, "5")->use.cpu_usec, 9000);
        tmp_file("cpuacct/slurm/uid_7/job_5/cgroup.procs", "");
        tmp_file("memory/slurm/uid_7/job_5/cgroup.procs", "");
        for (int gone = 0; gone < 2; gone++) {
            snprintf(rel, sizeof(rel), "%s/slurm/uid_7/job_5", order[i][gone]);
            tmp_remove(rel);
            for (int n = 0; n < 3; n++) {
                rig_pass(&r); /* scans the watched hierarchy, later all */
                assert_int_equal(r.snap->jobs.n, 2);
                assert_int_equal(rig_job(&r, "5")->use.cpu_usec, 9000);
                testclock_advance(150000);
            }
        }
        assert_true(rig_job(&r, "5")->end_sec != BJ_ABSENT);
        rig_stop(&r);
    }
}

#define V1_JOB "memory/slurm/uid_7/job_5"

/* Run a pass after the slow interval; returns the OOM kills that it reports. */
static uint64_t kills_reported(struct rig *r)
{
    testclock_advance(110000);
    rig_pass(r);
    return rig_job(r, "5")->use.mem_oom_kills;
}

static void set_machine_kills(unsigned n)
{
    char text[80];
    snprintf(text, sizeof(text), "nr_free_pages 1\noom_kill %u\nother 2\n", n);
    tmp_file("proc/vmstat", text);
}

static void start_with_kills(struct rig *r)
{
    char procfs[160];
    snprintf(procfs, sizeof(procfs), "path.procfs=%s/proc",
             strchr(root_opt, '/'));
    tmp_dir("proc");
    set_machine_kills(5);
    START(*r, procfs, "sample.slow=100ms", "job.grace=1h");
}

/* The events are read only when the peak rises near a limit or the machine has
 * counted an OOM kill: else there cannot be any. */
static void test_v1_events_are_read_when_due(void **state)
{
    (void)state;
    struct rig r;
    v1_dir(V1_JOB, "0");
    v1_dir(V1_JOB "/step_0", "1");
    tmp_file(V1_JOB "/memory.max_usage_in_bytes", "100\n");
    tmp_file(V1_JOB "/memory.stat", "hierarchical_memory_limit 16000000000\n");
    tmp_file(V1_JOB "/step_0/memory.limit_in_bytes", "9223372036854771712\n");
    start_with_kills(&r);
    assert_int_equal(kills_reported(&r), 1);
    v1_dir(V1_JOB "/step_0", "2"); /* impossible in practice: shows a read */
    assert_int_equal(kills_reported(&r), 1);
    set_machine_kills(6);
    assert_int_equal(kills_reported(&r), 2);
    v1_dir(V1_JOB "/step_0", "3");
    assert_int_equal(kills_reported(&r), 2);
    v1_dir(V1_JOB "/step_1", "1"); /* a new cgroup has not been read yet */
    assert_int_equal(kills_reported(&r), 4);
    v1_dir(V1_JOB "/step_0", "4");
    tmp_file(V1_JOB "/memory.max_usage_in_bytes", "15900000000\n");
    assert_int_equal(kills_reported(&r), 5);
    v1_dir(V1_JOB "/step_0", "5"); /* the peak is near the limit */
    assert_int_equal(kills_reported(&r), 6);
    rig_stop(&r);
}

/* A step of v1 is removed before its events were read.  If the machine has
 * counted a kill meanwhile that was read nowhere, the job's are unknown. */
static void test_v1_kill_may_be_missed(void **state)
{
    (void)state;
    struct rig r;
    v1_dir(V1_JOB, "0");
    v1_dir(V1_JOB "/step_0", "0");
    v1_dir(V1_JOB "/step_1", "0");
    v1_dir("memory/slurm/uid_7/job_6", "0");
    tmp_file(V1_JOB "/memory.max_usage_in_bytes", "100\n");
    tmp_file(V1_JOB "/memory.stat", "hierarchical_memory_limit 16000000000\n");
    start_with_kills(&r);
    assert_int_equal(kills_reported(&r), 0);
    tmp_remove(V1_JOB "/step_0");
    assert_int_equal(kills_reported(&r), 0); /* the machine counted none */
    tmp_remove(V1_JOB "/step_1");
    set_machine_kills(6);
    v1_dir("memory/slurm/uid_7/job_6", "1");
    kills_reported(&r);
    assert_int_equal(kills_reported(&r), 0); /* it was that of job 6 */
    assert_int_equal(rig_job(&r, "6")->use.mem_oom_kills, 1);
    v1_dir(V1_JOB "/step_2", "0");
    assert_int_equal(kills_reported(&r), 0);
    tmp_remove(V1_JOB "/step_2");
    set_machine_kills(7);
    assert_int_equal(kills_reported(&r), BJ_ABSENT);
    assert_int_equal(kills_reported(&r), BJ_ABSENT);
    tmp_remove(V1_JOB);
    v1_dir(V1_JOB, "0");
    rig_pass(&r); /* a new job of the same id */
    assert_int_equal(kills_reported(&r), 0);
    tmp_file(V1_JOB "/memory.max_usage_in_bytes", "15990000000\n");
    tmp_file(V1_JOB "/memory.stat", "hierarchical_memory_limit 16000000000\n");
    set_machine_kills(8); /* perhaps in a step that was never seen */
    kills_reported(&r);
    assert_int_equal(kills_reported(&r), BJ_ABSENT);
    v1_dir(V1_JOB "/step_3", "2");
    set_machine_kills(10);
    assert_int_equal(kills_reported(&r), 2); /* at least */
    rig_stop(&r);
}

/* A kill in a step, and the end of that step, after the machine's kills were
 * read in the same pass, for another job. */
static void test_v1_kill_within_a_pass(void **state)
{
    (void)state;
    struct rig r;
    v1_dir(V1_JOB, "0");
    v1_dir(V1_JOB "/step_0", "0");
    tmp_file(V1_JOB "/memory.max_usage_in_bytes", "100\n");
    tmp_file(V1_JOB "/memory.stat", "hierarchical_memory_limit 16000000000\n");
    start_with_kills(&r);
    assert_int_equal(kills_reported(&r), 0);
    struct bj_track *t = r.core->tracks.v[0];
    assert_true(r.core->oom_read);
    set_machine_kills(6);
    tmp_remove(V1_JOB "/step_0");
    bj_steps_scan(t);
    bj_events_settle(r.core);
    assert_int_equal(t->unit.use.mem_oom_kills, BJ_ABSENT);
    assert_int_equal(kills_reported(&r), BJ_ABSENT);
    rig_stop(&r);
}

/* The same when the cgroup of a job disappears, with v2. */
static void test_v2_kill_may_be_missed(void **state)
{
    (void)state;
    for (unsigned killed = 0; killed < 2; killed++) {
        struct rig r;
        make_root();
        tmp_v2_job(SCOPE "job_5", 1000, 4096, "1\n");
        tmp_file(SCOPE "job_5/memory.events", "max 0\noom 0\noom_kill 0\n");
        start_with_kills(&r);
        assert_int_equal(kills_reported(&r), 0);
        set_machine_kills(5 + killed);
        tmp_remove(SCOPE "job_5");
        assert_int_equal(kills_reported(&r), killed ? BJ_ABSENT : 0);
        assert_int_equal(kills_reported(&r), killed ? BJ_ABSENT : 0);
        rig_stop(&r);
    }
}

/* Two schedulers use different hierarchies: a new job of either is found in the
 * next pass, even if so far only the other had jobs. */
static void test_two_schedulers(void **state)
{
    (void)state;
    struct rig r;
    tmp_dir("pids/pbs_jobs.service/jobid");
    v1_job("job_4");
    START(r, "sample.slow=1h");
    rig_pass(&r);
    assert_int_equal(r.snap->jobs.n, 1);
    tmp_dir("pids/pbs_jobs.service/jobid/7.head");
    tmp_file("pids/pbs_jobs.service/jobid/7.head/cgroup.procs", "1\n");
    rig_pass(&r);
    assert_non_null(rig_job(&r, "7.head"));
    rig_stop(&r);
}

/* Jobs that begin and end leave no open files. */
static void test_churn(void **state)
{
    (void)state;
    struct rig r;
    make_root();
    START(r, "job.grace=0s");
    uint64_t fds = 0;
    for (int i = 0; i < 300; i++) {
        char name[64];
        snprintf(name, sizeof(name), SCOPE "job_%d", i);
        tmp_v2_job(name, 1, 1, "1\n");
        rig_pass(&r);
        assert_int_equal(r.snap->jobs.n, 1);
        tmp_remove(name);
        rig_pass(&r);
        assert_int_equal(r.snap->jobs.n, 0);
        if (i == 10)
            fds = r.snap->self.fds_kept;
    }
    assert_int_equal(r.snap->self.fds_kept, fds);
    rig_stop(&r);
}

/* A job whose path has no id is published although a process of it is stuck in
 * the kernel, so that its environment cannot be read. */
static void test_resolver_hangs(void **state)
{
    static const char sluid[] = "sEKNKTV3WPV500";
    (void)state;
    struct rig r;
    char proc_opt[160], fifo[160];
    snprintf(proc_opt, sizeof(proc_opt), "path.procfs=%s/proc",
             strchr(root_opt, '=') + 1);
    snprintf(fifo, sizeof(fifo), "%s/77/environ", strchr(proc_opt, '=') + 1);
    make_root();
    tmp_v2_job(SCOPE "sEKNKTV3WPV500", 1000, 4096, "77\n");
    tmp_dir("proc/77");
    tmp_file("proc/77/status", "Name:\tsh\nUid:\t7\t7\t7\t7\n");
    tmp_file("proc/77/stat", "77 (sh) D 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 "
                             "5 0 0\n");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    START(r, proc_opt);
    rig_pass(&r);
    rig_pass(&r);
    assert_null(rig_job(&r, sluid));
    assert_int_equal(r.core->tracks.n, 1);
    testclock_advance(60000000);
    rig_pass(&r);
    assert_non_null(rig_job(&r, sluid));
    int fd = open(fifo, O_RDWR);       /* release the reader */
    assert_int_equal(unlink(fifo), 0); /* it must not block again */
    close(fd);
    rig_stop(&r);
}

static void test_named_collectors_only(void **state)
{
    (void)state;
    struct rig r;
    make_root();
    tmp_v2_job(SCOPE "job_5", 1, 1, "1\n");
    START(r, "collector.disable-defaults=true", "collector.memory=true");
    rig_pass(&r);
    assert_true(rig_job(&r, "5")->use.cpu_usec == BJ_ABSENT);
    assert_int_equal(rig_job(&r, "5")->use.mem_used_bytes, 1);
    rig_stop(&r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, drop_tree)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hierarchy_appears),
        TEST(test_end_and_grace),
        TEST(test_same_id_again),
        TEST(test_empty_directories),
        TEST(test_fault_ends_nothing),
        TEST(test_caps),
        TEST(test_steps),
        TEST(test_v1_events),
        TEST(test_v1_hierarchies_end_in_turn),
        TEST(test_v1_events_are_read_when_due),
        TEST(test_v1_kill_may_be_missed),
        TEST(test_v1_kill_within_a_pass),
        TEST(test_v2_kill_may_be_missed),
        TEST(test_two_schedulers),
        TEST(test_churn),
        TEST(test_resolver_hangs),
        TEST(test_named_collectors_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
