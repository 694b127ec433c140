/* The readers of schedulers' output when each memory allocation fails in turn:
 * they return -ENOMEM, nothing leaks, and the next reader works. */
#include "sched/lsf.h"
#include "sched/pbs.h"
#include "sched/sacct.h"
#include "sched/slurmrest.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/sched/test_sched.h"

#include <errno.h>

static int count_job(void *ctx, const struct bj_sched_job *job,
                     struct bj_err *err)
{
    unsigned *jobs = ctx;
    (void)job;
    (void)err;
    ++*jobs;
    return 0;
}

/* Each function reads a text of two jobs. */
static int sacct(unsigned *jobs)
{
    static const char text[] = "JobIDRaw|AllocTRES\n1|cpu=1\n1.0|cpu=1\n"
                               "1.1|cpu=1\n2|cpu=2\n";
    const struct bj_sacct_conf conf = {.ctx = jobs, .job = count_job};
    struct bj_sacct *r;
    int e = bj_sacct_new(&conf, &r, NULL);
    if (e < 0)
        return e;
    e = bj_sacct_feed(r, bj_slice_str(text), NULL);
    if (e == 0)
        e = bj_sacct_end(r, true, NULL);
    bj_sacct_free(r);
    return e;
}

static int rest(unsigned *jobs)
{
    static const char text[] =
        "{\"jobs\":[{\"job_id\":1,\"array\":{\"job_id\":1,\"task_id\":2},"
        "\"state\":{\"current\":[\"A\",\"B\"]},\"steps\":[{},{}]},"
        "{\"job_id\":2}]}";
    const struct bj_slurmrest_conf conf = {.ctx = jobs, .job = count_job};
    struct bj_slurmrest *r;
    int e = bj_slurmrest_new(&conf, &r, NULL);
    if (e < 0)
        return e;
    e = bj_slurmrest_feed(r, bj_slice_str(text), NULL);
    if (e == 0)
        e = bj_slurmrest_end(r, NULL);
    bj_slurmrest_free(r);
    return e;
}

static int pbs_json(unsigned *jobs)
{
    static const char text[] =
        "{\"Jobs\":{\"1.a\":{\"Resource_List\":{\"mem\":\"1kb\"}},"
        "\"2.a\":{\"job_state\":\"F\"}}}";
    const struct bj_pbs_conf conf = {.ctx = jobs, .job = count_job};
    struct bj_pbs_json *r;
    int e = bj_pbs_json_new(&conf, &r, NULL);
    if (e < 0)
        return e;
    e = bj_pbs_json_feed(r, bj_slice_str(text), NULL);
    if (e == 0)
        e = bj_pbs_json_end(r, NULL);
    bj_pbs_json_free(r);
    return e;
}

static int pbs_acct(unsigned *jobs)
{
    static const char text[] = "11/20/2026 11:00:00;Q;1.a;queue=q\n"
                               "11/20/2026 11:00:00;E;1.a;Exit_status=0\n";
    const struct bj_pbs_conf conf = {.ctx = jobs, .job = count_job};
    struct bj_pbs_acct *r;
    int e = bj_pbs_acct_new(&conf, &r, NULL);
    if (e < 0)
        return e;
    size_t rest;
    e = bj_pbs_acct_feed(r, bj_slice_str(text), NULL);
    if (e == 0)
        e = bj_pbs_acct_end(r, &rest, NULL);
    bj_pbs_acct_free(r);
    return e;
}

static int lsf_json(unsigned *jobs)
{
    static const char text[] =
        "{\"RECORDS\":[{\"JOBID\":\"1\"},{\"JOBID\":\"2\"}]}";
    const struct bj_lsf_conf conf = {.ctx = jobs, .job = count_job};
    struct bj_lsf_json *r;
    int e = bj_lsf_json_new(&conf, &r, NULL);
    if (e < 0)
        return e;
    e = bj_lsf_json_feed(r, bj_slice_str(text), NULL);
    if (e == 0)
        e = bj_lsf_json_end(r, NULL);
    bj_lsf_json_free(r);
    return e;
}

#define LINE                                                                   \
    "\"JOB_FINISH\" \"10.1\" 1 2 3 0 1 5 0 0 6 \"u\" \"q\" \"\" \"\" \"\" "    \
    "\"h\" \"d\" \"\" \"\" \"\" \"\" 0 1 \"a\" 64 0 \"n\" \"c\" 1 2 3 4 5 6 "  \
    "7 8 9 10 11 12 13 14 15 16 17 18 19 \"\" \"p\"\n"

static int lsf_acct(unsigned *jobs)
{
    const struct bj_lsf_conf conf = {.ctx = jobs, .job = count_job};
    struct bj_lsf_acct *r;
    int e = bj_lsf_acct_new(&conf, &r, NULL);
    if (e < 0)
        return e;
    e = bj_lsf_acct_feed(r, BJ_SLICE(LINE LINE), NULL);
    bj_lsf_acct_free(r);
    return e;
}

static int command(unsigned *jobs)
{
    const struct bj_sacct_query query = {
        .start_sec = 1, .end_sec = 2, .delimiter = "|"};
    struct bj_arena a = {0};
    const char *const *argv, *const *env;
    const int e = bj_sacct_command(&query, &a, &argv, &env, NULL);
    bj_arena_free(&a);
    *jobs = e == 0 ? 2 : 0;
    return e;
}

static int (*const readers[])(unsigned *jobs) = {
    sacct, rest, pbs_json, pbs_acct, lsf_json, lsf_acct, command};

static int run(void *arg)
{
    unsigned jobs = 0;
    const int e = readers[*(size_t *)arg](&jobs);
    if (e == 0)
        assert_int_equal(jobs, 2);
    return e;
}

static void test_oom(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    for (size_t i = 0; i < COUNT(readers); i++)
        assert_in_range(bj_fail_each(run, &i), 2, 999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_oom)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
