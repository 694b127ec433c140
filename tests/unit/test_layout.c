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
    assert_int_equal(bj_layouts_job(l, version, path, &m), BJ_PATH_HIT);
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
        cmocka_unit_test(test_other_paths),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_operator_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
