/* The watcher of a core: samples of jobs when their processes change. */
#include "tests/unit/core/test_sampler.h"

/* A job that begins and ends between two passes has a record, with its values
 * at the end of its last process. */
static void test_short_job(void **state)
{
    (void)state;
    struct rig r;
    struct bj_arena a = {0};
    START(r, spool_opt, "collector.energy=false", "sample.request-dir=");
    ticks(1);
    make_whole_job(1000);
    await_sample(&r, 1000, false);
    tmp_file(SCOPE "job_17/cpu.stat", "usage_usec 2500\n");
    tmp_file(SCOPE "job_17/pids.peak", "7\n");
    tmp_file(SCOPE "job_17/cgroup.procs", "");
    empty_job();
    await_sample(&r, 2500, true);
    tmp_remove(SCOPE "job_17");
    const struct bj_json *doc = await_record(&a);
    assert_int_equal(number(doc, "cpu_usec"), 2500);
    assert_int_equal(number(doc, "pids_peak"), 7);
    assert_true(complete(doc));
    rig_stop(&r);
    bj_arena_free(&a);
}

static bool resolved(struct rig *r, uint64_t n)
{
    struct bj_resolver_stat st;
    bj_resolver_stat(r->core->resolver, &st);
    return st.answered >= n;
}

/* The prolog's file of a short job is there only when its second process
 * begins, and the resolver has already searched for it. */
static void test_identity_of_a_short_job(void **state)
{
    (void)state;
    struct rig r;
    struct bj_arena a = {0};
    char dir_opt[160];
    snprintf(dir_opt, sizeof(dir_opt), "job.file-dir=%s/jobs", top);
    tmp_dir("jobs");
    rig_start(&r, cgroup_opt, sys_opt, dir_opt, "energy.interval=1s", spool_opt,
              "collector.energy=false", "sample.request-dir=", NULL);
    ticks(1);
    make_whole_job(1000);
    await_sample(&r, 1000, false);
    AWAIT(resolved(&r, 1));
    tmp_file("jobs/17", "array_job_id=16\narray_task=3\nqos=night\n");
    tmp_file(SCOPE "job_17/memory.stat", "anon 700\nshmem 5\n");
    tmp_file(SCOPE "job_17/cpu.stat", "usage_usec 2000\n");
    tmp_file(SCOPE "job_17/cgroup.events", "populated 1\n");
    await_sample(&r, 2000, false);
    AWAIT(resolved(&r, 2));
    tmp_file(SCOPE "job_17/cgroup.procs", "");
    tmp_remove(SCOPE "job_17");
    const struct bj_json *doc = await_record(&a);
    assert_true(bj_slice_eq(bj_json_text(bj_json_get(doc, "array_task")),
                            BJ_SLICE("3")));
    assert_int_equal(number(doc, "memory_held_peak_bytes"), 705);
    assert_non_null(bj_json_get(doc, "memory_held_peak_sampled"));
    rig_stop(&r);
    bj_arena_free(&a);
}

/* An epilog requests a sample with a file, and waits until that is removed.
 * Without the sample, usage after the last one is missing, and the record is
 * marked as incomplete. */
static void test_requested_sample(void **state)
{
    (void)state;
    for (int requested = 0; requested < 2; requested++) {
        struct rig r;
        struct bj_arena a = {0};
        char dir_opt[160], file[300];
        snprintf(dir_opt, sizeof(dir_opt), "sample.request-dir=%s/sample", top);
        snprintf(file, sizeof(file), "%s/sample/17", top);
        tmp_v2_job(SCOPE "job_17", 1000, 4096, "1\n");
        START(r, spool_opt, "collector.energy=false", dir_opt);
        ticks(1);
        await_sample(&r, 1000, false);
        if (requested) {
            tmp_file(SCOPE "job_17/cpu.stat", "usage_usec 2500\n");
            tmp_file("sample/17", "");
            AWAIT(access(file, F_OK) != 0);
        }
        /* Watched files are removed last: their removal causes a sample. */
        tmp_remove(SCOPE "job_17/cpu.stat");
        tmp_remove(SCOPE "job_17");
        const struct bj_json *doc = await_record(&a);
        assert_int_equal(number(doc, "cpu_usec"), requested ? 2500 : 1000);
        assert_int_equal(complete(doc), requested);
        rig_stop(&r);
        bj_arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_short_job),
        T(test_identity_of_a_short_job),
        T(test_requested_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
