/* sched/jobcomp.h: records that Slurm 22.05 sent, against what its sacct
 * printed for the same jobs; and records that are damaged. */
#include "sched/jobcomp.h"
#include "tests/unit/sched/test_sched.h"

#include <errno.h>

#define A BJ_ABSENT
#define AT(minute, second) (1796073180 + 60 * (minute) + (second)) /* 21:13 */

/* sacct -D -aP of these jobs; that of "never" is from the command that
 * cancelled it, as sacct does not list it. */
static const struct {
    const char *jobid, *shown, *name, *nodes;
    enum bj_job_state state;
    uint64_t code, signal, submit, start, end, cpus, limit, mib;
} accounted[] = {
    {"3606805", "3606802_3", "wrap", "n02", BJ_STATE_FAILED, 1, 0, AT(0, 51),
     AT(0, 52), AT(0, 52), 1, 1800, 20},
    {"3606800", "3606800", "plain", "n01", BJ_STATE_COMPLETED, 0, 0, AT(0, 51),
     AT(0, 52), AT(0, 52), 1, 1800, 20},
    {"3606802", "3606802_4", "wrap", "n02", BJ_STATE_FAILED, 1, 0, AT(0, 51),
     AT(0, 52), AT(0, 52), 1, 1800, 20},
    {"3606801", "3606801", "fail", "n01", BJ_STATE_FAILED, 3, 0, AT(0, 51),
     AT(0, 52), AT(0, 52), 1, 300, 20},
    {"3606803", "3606803", "kill", "n[01-02]", BJ_STATE_FAILED, 0, 9, AT(0, 51),
     AT(0, 52), AT(0, 52), 2, 1800, 40},
    {"3606804", "3606804", "canc", "n01", BJ_STATE_CANCELLED, 0, 0, AT(0, 51),
     AT(0, 52), AT(0, 55), 1, 1800, 20},
    {"3606806", "3606806", "never", "", BJ_STATE_CANCELLED, 0, 0, AT(0, 55), A,
     AT(0, 56), A, 1800, A},
    {"3606807", "3606807", "requ", "n02", BJ_STATE_REQUEUED, 0, 0, AT(0, 56),
     AT(0, 56), AT(1, 0), 1, 1800, 20},
    {"3606808", "3606808+0", "h\"e<t", "n01", BJ_STATE_COMPLETED, 0, 0,
     AT(1, 1), AT(1, 3), AT(1, 3), 1, 1800, 20},
    {"3606809", "3606808+1", "h\"e<t", "n02", BJ_STATE_COMPLETED, 0, 0,
     AT(1, 1), AT(1, 3), AT(1, 3), 1, 1800, 30},
};

static void same(struct bj_slice got, const char *want)
{
    if (!bj_slice_eq(got, bj_slice_str(want)))
        fail_msg("'%.*s', not '%s'", (int)got.n, got.p, want);
}

static void test_records_are_those_of_accounting(void **state)
{
    struct bj_slice text = load(FIXTURES "slurm-22.05-jobcomp.jsonl"), line;
    char *mem = (char *)(uintptr_t)text.p;
    struct bj_arena a = {0};
    struct bj_sched_job j;
    struct bj_slice script;
    size_t n = 0;
    (void)state;
    for (; bj_slice_line(&text, &line); n++) {
        assert_true(n < COUNT(accounted));
        assert_int_equal(bj_jobcomp_read(&a, line, BJ_SLICE("other"), NULL,
                                         NULL, &j, &script, NULL),
                         BJ_JOBCOMP_JOB);
        same(j.jobid, accounted[n].jobid);
        same(j.display_id, accounted[n].shown);
        same(j.name, accounted[n].name);
        same(j.nodelist, accounted[n].nodes);
        same(j.cluster, "sandbox");
        same(j.user, "anna");
        same(j.account, "physics");
        assert_int_equal(j.state, accounted[n].state);
        assert_int_equal(j.exit_code, accounted[n].code);
        assert_int_equal(j.exit_signal, accounted[n].signal);
        assert_int_equal(j.submit_sec, accounted[n].submit);
        assert_true(j.start_sec == accounted[n].start);
        assert_int_equal(j.end_sec, accounted[n].end);
        assert_true(j.cpus == accounted[n].cpus);
        assert_int_equal(j.time_limit_sec, accounted[n].limit);
        assert_true(j.mem_allocated_bytes ==
                    (accounted[n].mib == A ? A : accounted[n].mib << 20));
        assert_true(j.use.cpu_usec == A && j.cancelled_by == A);
        assert_true(j.snapshot);
        assert_int_equal(script.n > 0, 1);
    }
    assert_int_equal(n, COUNT(accounted));
    bj_arena_free(&a);
    free(mem);
}

struct seen_bad {
    unsigned n;
    char field[32], value[32];
};

static void see_bad(void *ctx, const struct bj_sacct_bad *bad)
{
    struct seen_bad *seen = ctx;
    seen->n++;
    snprintf(seen->field, sizeof(seen->field), "%.*s", (int)bad->field.n,
             bad->field.p);
    snprintf(seen->value, sizeof(seen->value), "%.*s", (int)bad->value.n,
             bad->value.p);
}

static void test_damaged_records(void **state)
{
    static const struct {
        const char *text;
        int want;
        unsigned bad;
    } cases[] = {
        {"", -EINVAL, 0},
        {"{\"jobid\":", -EINVAL, 0},
        {"[]", -EINVAL, 0},
        {"{}", -EINVAL, 0},
        {"{\"jobid\":1}", -EINVAL, 0},
        {"{\"jobid\":1,\"state\":\"LOST\"}", -EINVAL, 0},
        {"{\"state\":\"COMPLETED\"}", -EINVAL, 0},
        {"{\"jobid\":\"x\",\"state\":\"COMPLETED\"}", -EINVAL, 0},
        {"{\"jobid\":1,\"state\":\"COMPLETED\"}", BJ_JOBCOMP_JOB, 0},
        {"{\"jobid\":1,\"state\":\"COMPLETED\",\"@start\":\"noon\"}",
         BJ_JOBCOMP_JOB, 1},
        {"{\"jobid\":1,\"state\":\"COMPLETED\",\"user_id\":-1,\"nodes\":[]}",
         BJ_JOBCOMP_JOB, 1},
        {"{\"jobid\":1,\"state\":\"RESIZING\"}", BJ_JOBCOMP_SIZE, 0},
    };
    struct bj_arena a = {0};
    struct bj_sched_job j;
    struct bj_slice script;
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct seen_bad seen = {0};
        const int r =
            bj_jobcomp_read(&a, bj_slice_str(cases[i].text), BJ_SLICE("c"),
                            see_bad, &seen, &j, &script, NULL);
        if (r != cases[i].want || seen.n != cases[i].bad)
            fail_msg("'%s': %d, %u fields (%s '%s')", cases[i].text, r, seen.n,
                     seen.field, seen.value);
        if (r >= 0) {
            same(j.cluster, "c");
            assert_true(j.end_sec == A && j.uid == A && j.start_sec == A);
        }
    }
    bj_arena_free(&a);
}

/* Slurm 25.05 and later may send a record when a job starts. */
static void test_a_job_that_runs(void **state)
{
    struct bj_arena a = {0};
    struct bj_sched_job j;
    struct bj_slice script;
    (void)state;
    assert_int_equal(
        bj_jobcomp_read(
            &a,
            BJ_SLICE("{\"jobid\":5,\"state\":\"RUNNING\",\"nodes\":\"n1\","
                     "\"@start\":\"2026-11-30T21:13:00\",\"@end\":\"Unknown\","
                     "\"elapsed\":-1796073180,\"sluid\":\"s1G2\"}"),
            BJ_SLICE("c"), NULL, NULL, &j, &script, NULL),
        BJ_JOBCOMP_JOB);
    assert_int_equal(j.state, BJ_STATE_RUNNING);
    assert_int_equal(j.start_sec, AT(0, 0));
    assert_true(j.end_sec == A && j.elapsed_sec == A);
    same(j.sluid, "s1G2");
    bj_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_are_those_of_accounting),
        cmocka_unit_test(test_damaged_records),
        cmocka_unit_test(test_a_job_that_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
