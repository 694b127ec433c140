/* Findings of jobs whose steps ran out of memory. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/derive/derive.h"

static struct bj_err err;

#define OK(call)                                                               \
    do {                                                                       \
        if ((call) < 0)                                                        \
            fail_msg("%s", err.msg);                                           \
    } while (0)

static void put(struct bj_upsert *u, const char *id, enum bj_job_state state,
                enum bj_job_state of_step)
{
    struct bj_sched_job j;
    struct bj_job_step step;
    bj_sched_job_init(&j);
    bj_job_step_init(&step);
    j.jobid = bj_slice_str(id);
    j.batch_system = BJ_SLICE("slurm");
    j.submit_sec = j.start_sec = 1763596800;
    j.end_sec = j.start_sec + 60;
    j.elapsed_sec = 60;
    j.cpus = 1;
    j.state = state;
    step.step_id = BJ_SLICE("0");
    step.state = of_step;
    j.step = &step;
    j.steps = 1;
    OK(bj_upsert_begin(u, &err));
    OK(bj_upsert_job(u, BJ_SLICE("alpha"), &j, &err));
    OK(bj_upsert_commit(u, &err));
}

/* Slurm often calls a job FAILED whose step was OUT_OF_MEMORY. */
static void test_oom_step(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_rules *rules;
    struct bj_derive *d;
    int r;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    OK(bj_rules_text("", BJ_SLICE(""), &rules, &err));
    OK(bj_derive_new(s, &(struct bj_derive_options){.rules = rules}, &d, &err));
    put(u, "1", BJ_STATE_FAILED, BJ_STATE_OOM);
    put(u, "2", BJ_STATE_COMPLETED, BJ_STATE_OOM);
    put(u, "3", BJ_STATE_OOM, BJ_STATE_FAILED);
    put(u, "4", BJ_STATE_FAILED, BJ_STATE_FAILED);
    while ((r = bj_derive_step(d, 1763700000, 7, &err)) > 0) {
    }
    OK(r);
    expect(s,
           "SELECT j.jobid || ' ' || f.name FROM job_finding_v AS f JOIN job"
           " AS j ON j.id = f.job WHERE f.name LIKE 'oom%' ORDER BY 1",
           "1 oom\n2 oom_steps\n3 oom\n");
    bj_derive_free(d);
    bj_rules_free(rules);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_oom_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
