/* Huge pages of jobs, from simulated trees of both versions of cgroups and from
 * invented files. */
#include "tests/unit/lib/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Of a machine with pages of 2 MiB and 1 GiB. */
static const struct {
    const char *tree, *jobid;
    struct {
        const char *size;
        uint64_t used, peak, limit, hits;
    } pages[2];
} hugetlb[] = {
    {"v1-pbs",
     "123.server",
     {{"2MB", 4194304, 6291456, 8388608, BJ_ABSENT},
      {"1GB", 0, 0, BJ_ABSENT, BJ_ABSENT}}},
    {"v2-kubepods",
     "1a2b3c4d-5e6f-4081-92a3-b4c5d6e7f809",
     {{"2MB", 8388608, BJ_ABSENT, 16777216, 2},
      {"1GB", 0, BJ_ABSENT, BJ_ABSENT, 0}}},
};

static void test_hugetlb(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hugetlb) / sizeof(hugetlb[0]); i++) {
        struct rig r;
        char root[256];
        snprintf(root, sizeof(root), "path.cgroupfs=tests/fixtures/trees/%s",
                 hugetlb[i].tree);
        rig_start(&r, root, "collector.hugetlb=true", NULL);
        rig_pass(&r);
        const struct bj_job *job = rig_job(&r, hugetlb[i].jobid);
        assert_non_null(job);
        const struct bj_hugetlb_use *h = job->hugetlb.v;
        assert_int_equal(job->hugetlb.n, 2);
        for (int k = 0; k < 2; k++, h++) {
            assert_true(bj_slice_eq(h->sub.key[0],
                                    bj_slice_str(hugetlb[i].pages[k].size)));
            assert_true(h->used_bytes == hugetlb[i].pages[k].used);
            assert_true(h->peak_bytes == hugetlb[i].pages[k].peak);
            assert_true(h->limit_bytes == hugetlb[i].pages[k].limit);
            assert_true(h->limit_hits == hugetlb[i].pages[k].hits);
        }
        assert_string_equal(r.log, "");
        rig_stop(&r);
    }
}

/* Pages of every size that a kernel names; bad text is a fault of its file. */
static void test_hugetlb_sizes(void **state)
{
    (void)state;
    static const char *const sizes[] = {"64KB",  "2MB", "16MB", "32MB",
                                        "512MB", "1GB", "16GB"};
    enum { N = sizeof(sizes) / sizeof(sizes[0]) };
    struct rig r;
    char root[128], name[128];
    snprintf(root, sizeof(root), "path.cgroupfs=%s", tmp_make());
    tmp_file("cgroup.controllers", "hugetlb\n");
    tmp_v2_job("a.slice/slurmstepd.scope/job_1", 1, 1, "1\n");
    tmp_v2_job("a.slice/slurmstepd.scope/job_2", 1, 1, "1\n");
    for (int i = 0; i < N; i++) {
        char text[32];
        snprintf(name, sizeof(name),
                 "a.slice/slurmstepd.scope/job_1/hugetlb.%s.current", sizes[i]);
        snprintf(text, sizeof(text), "%d\n", i + 1);
        tmp_file(name, text);
    }
    tmp_file("a.slice/slurmstepd.scope/job_1/hugetlb.2MB.max", "maximum\n");
    rig_start(&r, root, "collector.hugetlb=true", NULL);
    rig_pass(&r);
    const struct bj_job *job = rig_job(&r, "1");
    const struct bj_hugetlb_use *h = job->hugetlb.v;
    assert_int_equal(job->hugetlb.n, N);
    for (int i = 0; i < N; i++) {
        assert_true(bj_slice_eq(h[i].sub.key[0], bj_slice_str(sizes[i])));
        assert_int_equal(h[i].used_bytes, i + 1);
        assert_true(h[i].limit_bytes == BJ_ABSENT);
    }
    assert_int_equal(job->use.unread_files, 1);
    assert_int_equal(rig_job(&r, "2")->hugetlb.n, 0);
    assert_string_equal(r.log, "1 collector hugetlb: cgroup "
                               "a.slice/slurmstepd.scope/job_1: "
                               "hugetlb.2MB.max: Invalid argument\n");
    rig_stop(&r);
    tmp_gone();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hugetlb),
        cmocka_unit_test(test_hugetlb_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
