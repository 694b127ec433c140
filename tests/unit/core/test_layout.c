/* The layouts of cgroup trees (tests/fixtures/trees), with expected jobs that
 * were written by hand from the schedulers' documentation. */
#include "base/file.h"
#include "core/find/layout.h"
#include "tests/unit/lib/core.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SYSTEM, JOBID, SLUID, NODE, UID, USER, PATH, COLUMNS };

/* A line of expected.txt: columns separated by tabs, '-' is absent. */
static bool next_row(struct bj_slice *text, struct bj_slice col[COLUMNS])
{
    struct bj_slice line;
    while (bj_slice_line(text, &line)) {
        if (line.n == 0 || line.p[0] == '#')
            continue;
        for (int i = 0; i < COLUMNS; i++) {
            assert_true(bj_slice_field(&line, '\t', &col[i]));
            if (bj_slice_eq(col[i], BJ_SLICE("-")))
                col[i] = (struct bj_slice){0};
        }
        return true;
    }
    return false;
}

static struct bj_slice slurp(const char *dir, char *buf, size_t cap)
{
    char path[512];
    struct bj_slice s;
    snprintf(path, sizeof(path), "%s/expected.txt", dir);
    assert_int_equal(bj_file_read(-100, path, buf, cap, &s, NULL), 0);
    return s;
}

static void check_path(const struct bj_layouts *l, unsigned version,
                       const struct bj_slice *col)
{
    static const enum bj_ident_field fields[] = {BJ_ID_SYSTEM, BJ_ID_JOBID,
                                                 BJ_ID_SLUID,  BJ_ID_NODE,
                                                 BJ_ID_UID,    BJ_ID_USER};
    char path[512];
    struct bj_path_match m;
    snprintf(path, sizeof(path), "%.*s", (int)col[PATH].n, col[PATH].p);
    /* A pod may contain jobs of a batch system. */
    bool pod = bj_slice_eq(col[SYSTEM], BJ_SLICE("kubernetes"));
    assert_int_equal(bj_layouts_job(l, version, path, &m),
                     BJ_PATH_HIT | (pod ? BJ_PATH_INNER : 0));
    for (int i = SYSTEM; i <= USER; i++)
        if (!bj_slice_eq(m.f[fields[i]], col[i]))
            fail_msg("%s: column %d is '%.*s', expected '%.*s'", path, i,
                     (int)m.f[fields[i]].n, m.f[fields[i]].p, (int)col[i].n,
                     col[i].n ? col[i].p : "");
    for (char *cut; (cut = strrchr(path, '/'));) {
        *cut = '\0';
        assert_int_equal(bj_layouts_job(l, version, path, &m), BJ_PATH_INNER);
    }
}

static void test_trees(void **state)
{
    (void)state;
    struct bj_conf conf = {0};
    struct bj_layouts *l;
    glob_t g;
    char buf[8192];
    assert_int_equal(bj_layouts_new(&conf, &l, NULL), 0);
    assert_int_equal(glob("tests/fixtures/trees/*/", 0, NULL, &g), 0);
    size_t paths = 0;
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct bj_slice col[COLUMNS], text = slurp(g.gl_pathv[i], buf, 8192);
        bool v2 = strstr(g.gl_pathv[i], "/v2-");
        for (; next_row(&text, col); paths++)
            check_path(l, v2 ? BJ_CGROUP_V2 : BJ_CGROUP_V1, col);
    }
    assert_true(paths > 30);
    globfree(&g);
    bj_layouts_free(l);
}

/* A core finds exactly the jobs of each tree and logs nothing. */
static void test_whole_trees(void **state)
{
    (void)state;
    glob_t g;
    char buf[8192], root[512];
    assert_int_equal(glob("tests/fixtures/trees/*/", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct rig r;
        struct bj_slice col[COLUMNS], text = slurp(g.gl_pathv[i], buf, 8192);
        size_t jobs = 0;
        while (next_row(&text, col))
            jobs += col[JOBID].n > 0 || col[SLUID].n > 0;
        snprintf(root, sizeof(root), "path.cgroupfs=%s", g.gl_pathv[i]);
        rig_start(&r, root, "collector.node=false", NULL);
        rig_pass(&r);
        rig_pass(&r);
        /* Jobs with a SLUID appear only after their id could not be
         * resolved. */
        if (!strstr(g.gl_pathv[i], "sluid") && r.snap->jobs.n != jobs)
            fail_msg("%s: %zu jobs, expected %zu", g.gl_pathv[i],
                     r.snap->jobs.n, jobs);
        assert_string_equal(r.log, "");
        rig_stop(&r);
    }
    globfree(&g);
}

#define POD "kubepods.slice/kubepods-pod11111111_2222.slice/"
#define QOS_POD                                                                \
    "kubepods.slice/kubepods-burstable.slice/"                                 \
    "kubepods-burstable-podaaaa_bbbb.slice/"
#define KUBELET_POD                                                            \
    "kubelet.slice/kubelet-kubepods.slice/"                                    \
    "kubelet-kubepods-podaaaa_bbbb.slice/"

/* Jobs of batch systems in containers; every directory above may lead to
 * them.  The paths are those of kubelet's drivers, Docker, Podman, LXC. */
static const struct {
    unsigned version;
    const char *path, *system, *id;
} contained[] = {
    {2, POD "cri-containerd-01.scope/system.slice/slurmstepd.scope/job_21",
     "slurm", "21"},
    {2, QOS_POD "crio-01.scope/container/slurmstepd.scope/job_22", "slurm",
     "22"},
    {2, "system.slice/docker-fe.scope/system.slice/slurmstepd.scope/job_23",
     "slurm", "23"},
    {2,
     KUBELET_POD "cri-containerd-aa.scope/system.slice/slurmstepd.scope/job_24",
     "slurm", "24"},
    {2, "docker/0123/system.slice/n1_slurmstepd.scope/job_25", "slurm", "25"},
    {2, "docker/0123/" KUBELET_POD "cri-01.scope/slurmstepd.scope/job_26",
     "slurm", "26"},
    {2, "machine.slice/libpod-9a.scope/container/slurmstepd.scope/job_27",
     "slurm", "27"},
    {2, "lxc.payload.c1/system.slice/slurmstepd.scope/job_28", "slurm", "28"},
    {1, "docker/0123/slurm/uid_7/job_29", "slurm", "29"},
    {1, "kubepods/burstable/podaaaa-bbbb/0123/slurm_n1/uid_7/job_30", "slurm",
     "30"},
    {1, "lxc/101/ns/slurm/uid_7/job_31", "slurm", "31"},
    {2, POD "cri-containerd-01.scope/pbs_jobs.service/jobs/32.srv", "pbs",
     "32.srv"},
    {1, "docker/0123/pbs_jobs.service/jobid/33.srv", "pbs", "33.srv"},
    {2, "docker/0123/lsf/c/job.34.5.6", "lsf", "34"},
    {1, "docker/0123/oar/ann_35", "oar", "35"},
    {2, QOS_POD "cri-01.scope/htcondor/condor_x_slot1_1@h", "htcondor", ""},
    {2,
     "system.slice/cri-containerd-aa.scope/system.slice/"
     "slurmstepd.scope/job_36",
     "slurm", "36"},
    {2,
     "kubelet.slice/kubelet-kubepods.slice/"
     "kubelet-kubepods-burstable.slice/"
     "kubelet-kubepods-burstable-podaaaa_bbbb.slice",
     "kubernetes", "aaaa-bbbb"},
    {2, "docker/0123/kubelet.slice/kubelet-kubepods.slice", NULL, NULL},
    {2, "docker", NULL, NULL},
    {1, "docker/0123/slurm", NULL, NULL},
};

static void test_containers(void **state)
{
    (void)state;
    struct bj_conf conf = {0};
    struct bj_layouts *l;
    assert_int_equal(bj_layouts_new(&conf, &l, NULL), 0);
    for (size_t i = 0; i < sizeof(contained) / sizeof(contained[0]); i++) {
        struct bj_path_match m;
        char path[300];
        unsigned kind =
            bj_layouts_job(l, contained[i].version, contained[i].path, &m);
        if (contained[i].id ? !(kind & BJ_PATH_HIT) : kind != BJ_PATH_INNER)
            fail_msg("%s: %u", contained[i].path, kind);
        if (!contained[i].id)
            continue;
        assert_true(
            bj_slice_eq(m.f[BJ_ID_SYSTEM], bj_slice_str(contained[i].system)));
        assert_true(
            bj_slice_eq(m.f[BJ_ID_JOBID], bj_slice_str(contained[i].id)));
        snprintf(path, sizeof(path), "%s", contained[i].path);
        for (char *cut; (cut = strrchr(path, '/'));) {
            *cut = '\0';
            if (!(bj_layouts_job(l, contained[i].version, path, &m) &
                  BJ_PATH_INNER))
                fail_msg("%s is not searched", path);
        }
    }
    bj_layouts_free(l);
}

/* A pod with a slurmd is not a job, its Slurm job is; a pod without is one. */
static void test_job_in_pod(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "cpu\n");
    tmp_v2_job(POD, 9000, 4096, "1\n");
    tmp_v2_job(QOS_POD, 500, 4096, "2\n");
    rig_start(&r, root, "collector.node=false", NULL);
    rig_pass(&r);
    assert_int_equal(r.snap->jobs.n, 2);
    tmp_v2_job(POD "cri-containerd-01.scope/system.slice/slurmstepd.scope/"
                   "job_21",
               1000, 4096, "3\n");
    for (int gone = 0; gone < 2; gone++) {
        rig_pass(&r);
        rig_pass(&r);
        assert_int_equal(r.snap->jobs.n, 2);
        assert_int_equal(rig_job(&r, "21")->use.cpu_usec, 1000);
        assert_int_equal(rig_job(&r, "aaaa-bbbb")->use.cpu_usec, 500);
        assert_int_equal(r.snap->self.jobs, gone ? 1 : 2);
        tmp_remove(POD "cri-containerd-01.scope/system.slice/slurmstepd.scope/"
                       "job_21");
        rig_pass(&r);
    }
    rig_stop(&r);
    tmp_gone();
}

/* Two slurmd on one host without names run parts of one job: each part has a
 * series, and the end of one does not end the other. */
static void test_two_scopes(void **state)
{
    (void)state;
    struct rig r;
    char root[128];
    uint64_t sum = 0, running = 0;
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "cpu\n");
    tmp_v2_job("a.slice/slurmstepd.scope/job_5", 1000, 4096, "1\n");
    tmp_v2_job("b.slice/slurmstepd.scope/job_5", 300, 4096, "2\n");
    rig_start(&r, root, "collector.node=false", NULL);
    rig_pass(&r);
    const struct bj_job *jobs = r.snap->jobs.v;
    assert_int_equal(r.snap->jobs.n, 2);
    for (size_t i = 0; i < 2; i++)
        sum += jobs[i].use.cpu_usec;
    assert_int_equal(sum, 1300);
    assert_true(!bj_slice_eq(jobs[0].ident->labels, jobs[1].ident->labels));
    assert_non_null(strstr(r.log, "job 5 has two cgroups, "));
    tmp_remove("a.slice/slurmstepd.scope/job_5");
    rig_pass(&r);
    rig_pass(&r);
    jobs = r.snap->jobs.v;
    for (size_t i = 0; i < r.snap->jobs.n; i++)
        running += jobs[i].end_sec == BJ_ABSENT;
    assert_int_equal(running, 1);
    rig_stop(&r);
    tmp_gone();
}

/* The hook of PBS renames the directory of a job before it removes it: that is
 * no other job. */
static void test_orphan(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "pbs_jobs.service/jobid/8[2].pbshost.orphan",
        "pbs_jobs.service/jobid/8[2].pbshost",
        "pbspro.service/jobid/8\\x5b2\\x5d.pbshost.orphan"};
    struct bj_conf conf = {0};
    struct bj_layouts *l;
    assert_int_equal(bj_layouts_new(&conf, &l, NULL), 0);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct bj_path_match m;
        assert_true(bj_layouts_job(l, BJ_CGROUP_V1, paths[i], &m) &
                    BJ_PATH_HIT);
        if (!bj_slice_eq(m.f[BJ_ID_JOBID], BJ_SLICE("8[2].pbshost")))
            fail_msg("%s: %.*s", paths[i], (int)m.f[BJ_ID_JOBID].n,
                     m.f[BJ_ID_JOBID].p);
    }
    bj_layouts_free(l);
}

static void test_other_paths(void **state)
{
    (void)state;
    static const struct {
        unsigned version;
        const char *path;
        unsigned kind;
    } cases[] = {
        {2, "system.slice/ssh.service", BJ_PATH_OTHER},
        {2, "system.slice", BJ_PATH_INNER},
        {2, "system.slice/slurmstepd.scope/system", BJ_PATH_OTHER},
        {2, "system.slice/node01_slurmstepd.scope/slurmd", BJ_PATH_OTHER},
        {2, "system.slice/slurmstepd.scope/job_", BJ_PATH_OTHER},
        {2, "system.slice/slurmstepd.scope/job_1x", BJ_PATH_OTHER},
        {2, "system.slice/slurmstepd.scope/sEKNKTV3WPV50U", BJ_PATH_OTHER},
        {2, "slurm/uid_1/job_2", BJ_PATH_OTHER},
        {1, "slurm/uid_1/job_2/step_0", BJ_PATH_OTHER},
        {1, "slurm/uid_x/job_2", BJ_PATH_OTHER},
        {1, "slurmjobs", BJ_PATH_OTHER},
    };
    struct bj_conf conf = {0};
    struct bj_layouts *l;
    assert_int_equal(bj_layouts_new(&conf, &l, NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_path_match m;
        unsigned kind = bj_layouts_job(l, cases[i].version, cases[i].path, &m);
        if (kind != cases[i].kind)
            fail_msg("%s: %u, expected %u", cases[i].path, kind, cases[i].kind);
    }
    bj_layouts_free(l);
}

static void test_steps(void **state)
{
    (void)state;
    struct bj_conf conf = {0};
    struct bj_layouts *l;
    struct bj_path_match m;
    assert_int_equal(bj_layouts_new(&conf, &l, NULL), 0);
    bj_layouts_job(l, BJ_CGROUP_V2, "system.slice/slurmstepd.scope/job_7", &m);
    const struct bj_layout *lay = m.layout;
    assert_int_equal(bj_layout_step(lay, "step_batch", &m),
                     BJ_PATH_HIT | BJ_PATH_INNER);
    assert_true(bj_slice_eq(m.step, BJ_SLICE("batch")) && m.task.n == 0);
    assert_int_equal(bj_layout_step(lay, "step_0/user", &m), BJ_PATH_INNER);
    assert_int_equal(bj_layout_step(lay, "step_0/user/task_12", &m),
                     BJ_PATH_HIT);
    assert_true(bj_slice_eq(m.task, BJ_SLICE("12")));
    assert_int_equal(bj_layout_step(lay, "step_0/slurm", &m), BJ_PATH_OTHER);
    bj_layouts_free(l);
}

/* Patterns that an operator configures, and the messages for wrong ones. */
static void test_operator_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } bad[] = {
        {"nothing", "job.pattern 'nothing': expected NAME=EXPRESSION"},
        {"x=", "job.pattern 'x=': expected NAME=EXPRESSION"},
        {"x=a(?<uid>1)", "job.pattern x: expected a group (?<jobid>...)"},
        {"x=ab(?<jobid>1",
         "job.pattern x: at character 12 of 'ab(?<jobid>1': missing closing "
         "parenthesis"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char *v[] = {(char *)(uintptr_t)bad[i].text};
        struct bj_conf conf = {.patterns = {v, 1}};
        struct bj_layouts *l;
        struct bj_err err = {0};
        assert_int_equal(bj_layouts_new(&conf, &l, &err), -EINVAL);
        assert_string_equal(err.msg, bad[i].want);
    }
    char text[] = "unit=batch\\.slice/batch-(?<jobid>[^/]+)\\.service";
    char *v[] = {text};
    struct bj_conf conf = {.patterns = {v, 1}};
    struct bj_layouts *l;
    struct bj_path_match m;
    assert_int_equal(bj_layouts_new(&conf, &l, NULL), 0);
    assert_int_equal(bj_layouts_job(l, BJ_CGROUP_V2,
                                    "batch.slice/batch-odd@a:b\\x2dc.service",
                                    &m),
                     BJ_PATH_HIT);
    assert_true(bj_slice_eq(m.f[BJ_ID_JOBID], BJ_SLICE("odd@a:b-c")));
    bj_layouts_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_whole_trees),
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_job_in_pod),
        cmocka_unit_test(test_two_scopes),
        cmocka_unit_test(test_orphan),
        cmocka_unit_test(test_other_paths),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_operator_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
