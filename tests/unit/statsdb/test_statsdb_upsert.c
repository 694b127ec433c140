/* Storing accounting records of jobs: round trip, merging, rollback, many jobs,
 * a full store, arrays. */
#include "tests/unit/statsdb/test_statsdb.h"

#include <errno.h>

static void put(struct bj_upsert *u, const struct bj_sched_job *job)
{
    struct bj_err err = {0};
    if (bj_upsert_begin(u, &err) < 0 ||
        bj_upsert_job(u, BJ_SLICE("here"), job, &err) < 0 ||
        bj_upsert_commit(u, &err) < 0)
        fail_msg("%s", err.msg);
}

static void full_ids(struct bj_sched_job *j)
{
    j->cluster = BJ_SLICE("hal");
    j->batch_system = BJ_SLICE("slurm");
    j->jobid = BJ_SLICE("4711");
    j->display_id = BJ_SLICE("4700_3");
    j->sluid = BJ_SLICE("sEKNKTV3WPV500");
    j->id_number = 4711;
    j->array_job = 4700;
    j->array_task = 3;
    j->user = BJ_SLICE("ada");
    j->group = BJ_SLICE("lovelace");
    j->uid = 1000;
    j->gid = 100;
    j->account = BJ_SLICE("math");
    j->project = BJ_SLICE("engine");
    j->wckey = BJ_SLICE("w");
    j->partition = BJ_SLICE("cpu");
    j->qos = BJ_SLICE("normal");
    j->name = BJ_SLICE("a|b\nc");
}

static void full_times(struct bj_sched_job *j)
{
    j->state_raw = BJ_SLICE("FAILED");
    j->state = BJ_STATE_FAILED;
    j->reason = BJ_SLICE("NonZeroExitCode");
    j->exit_raw = BJ_SLICE("271");
    j->exit_code = 3;
    j->exit_signal = 9;
    j->derived_exit_code = 1;
    j->derived_exit_signal = 0;
    j->restarts = 2;
    j->submit_sec = 1700000000;
    j->eligible_sec = 1700000001;
    j->start_sec = 1700000100;
    j->end_sec = 1700003700;
    j->elapsed_sec = 3500;
    j->suspended_sec = 100;
    j->time_limit_sec = BJ_UNLIMITED;
}

static void full_use(struct bj_sched_job *j)
{
    j->cpus = 8;
    j->cpus_requested = 6;
    j->nodes = 2;
    j->tasks = 4;
    j->nodelist = BJ_SLICE("n[1-2]");
    j->mem_requested_bytes = 4096001;
    j->mem_allocated_bytes = 8192000;
    j->gpus = 2;
    j->tres_requested_raw = BJ_SLICE("cpu=6,mem=4000K");
    j->tres_allocated_raw = BJ_SLICE("cpu=8,gres/gpu:a100=2,gres/gpu=2");
    j->use.cpu_usec = 20000003;
    j->use.cpu_user_usec = 15000001;
    j->use.cpu_system_usec = 5000001;
    j->use.cpu_task_usec = 7000000;
    j->use.mem_task_peak_bytes = 1024;
    j->use.mem_peak_bytes = 2047;
    j->use.vmem_peak_bytes = 0;
    j->use.energy_joules = 9000;
    j->use.read_bytes = 1;
    j->use.write_bytes = UINT64_MAX - 1;
    j->priority = 77;
    j->reservation = BJ_SLICE("res");
    j->flags = BJ_SLICE("SchedMain");
    j->work_dir = BJ_SLICE("/home/ada/x");
    j->submit_line = BJ_SLICE("sbatch x");
    j->comment = BJ_SLICE("it's \"ok\"");
    j->steps_left_out = 5;
}

/* A job that ended, with every field of a record. */
static void full_job(struct bj_sched_job *j, struct bj_job_step *step)
{
    bj_sched_job_init(j);
    bj_job_step_init(step);
    full_ids(j);
    full_times(j);
    full_use(j);
    step->step_id = BJ_SLICE("batch");
    step->name = BJ_SLICE("batch");
    step->state = BJ_STATE_COMPLETED;
    step->state_raw = BJ_SLICE("COMPLETED");
    step->start_sec = 1700000101;
    step->end_sec = 1700000102;
    step->elapsed_sec = 1;
    step->exit_code = step->exit_signal = 0;
    step->cpus = 8;
    step->nodelist = BJ_SLICE("n1");
    step->mem_peak_node = BJ_SLICE("n1");
    step->tres_alloc_raw = BJ_SLICE("cpu=8");
    step->submit_line = BJ_SLICE("srun y");
    step->use.cpu_usec = 999;
    j->step = step;
    j->steps = 1;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_sched_job job;
    struct bj_job_step step;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    full_job(&job, &step);
    put(u, &job);
    expect(
        s,
        "SELECT cluster, batch_system, jobid, display_id, sluid, array_job_id,"
        " array_task, user, uid, gid, \"group\", account, project, wckey,"
        " partition, qos, name FROM job_v",
        "hal|slurm|4711|4700_3|sEKNKTV3WPV500|4700|3|ada|1000|100|lovelace|"
        "math|engine|w|cpu|normal|a|b\nc\n");
    expect(
        s,
        "SELECT state, state_raw, reason, exit_raw, exit_code, exit_signal,"
        " derived_exit_code, derived_exit_signal, restarts, submit_sec,"
        " eligible_sec, start_sec, end_sec, elapsed_seconds, suspended_seconds,"
        " time_limit_seconds, cpus, cpus_requested, nodes, tasks, nodelist,"
        " priority FROM job_v",
        "failed|FAILED|NonZeroExitCode|271|3|9|1|0|2|1700000000|1700000001|"
        "1700000100|1700003700|3500|100|9223372036854775807|8|6|2|4|n[1-2]|"
        "77\n");
    expect(s,
           "SELECT memory_requested_bytes, memory_allocated_bytes, gpus,"
           " tres_requested, tres_allocated, cpu_usec, cpu_user_usec,"
           " cpu_system_usec, cpu_task_usec, memory_task_peak_bytes,"
           " memory_scheduler_peak_bytes, vmemory_peak_bytes, "
           "energy_scheduler_joules, read_bytes,"
           " write_bytes FROM job_v",
           "4096001|8192000|2|cpu=6,mem=4000K|"
           "cpu=8,gres/gpu:a100=2,gres/gpu=2|20000003|15000001|5000001|"
           "7000000|1024|2047|0|9000|1|9223372036854775807\n");
    expect(s,
           "SELECT reservation, flags, work_dir, submit_line, comment,"
           " admin_comment, steps_left_out, het_job_id FROM job_v",
           "res|SchedMain|/home/ada/x|sbatch x|it's \"ok\"||5|\n");
    expect(s,
           "SELECT step_id, name, state, state_raw, start_sec, end_sec,"
           " elapsed_seconds, suspended_seconds, cpus, nodes, nodelist, "
           "memory_task_peak_node,"
           " tres_allocated, cpu_usec, cpu_user_usec, submit_line FROM step_v",
           "batch|batch|completed|COMPLETED|1700000101|1700000102|1||8||n1|n1|"
           "cpu=8|999||srun y\n");
    expect(s,
           "SELECT h.name FROM host h JOIN hosts_host x ON x.host = h.id"
           " JOIN hosts l ON l.id = x.hosts WHERE l.text = 'n[1-2]'"
           " ORDER BY 1",
           "n1\nn2\n");
    expect(s,
           "SELECT type, name, model, count FROM tres_item JOIN tres"
           " ON tres.id = tres WHERE text LIKE '%a100%' ORDER BY item",
           "1|||8\n6|gpu|a100|2\n6|gpu||2\n");
    assert_int_equal(bj_db_check(bj_store_db(s), NULL), 0);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

/* Ids and directories of all forms come back unchanged. */
static void test_shapes(void **state)
{
    static const struct {
        const char *raw, *shown, *dir, *step;
    } cases[] = {
        {"1", "1", "/", "0"},
        {"007", "007", "", "07"},
        {"12.server", "12.server", "x", "interactive"},
        {"12[3].server", "12[3].server", "a/", "extern"},
        {"99999999999999999999", "?", "//a//b", "524271"},
        {"18446744073709551615", "x y", "/a", "524272"},
        {"922337203685477580", "+", "/a/", "0+1"},
    };
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            struct bj_sched_job j;
            struct bj_job_step step;
            char want[256], sql[256];
            bj_sched_job_init(&j);
            bj_job_step_init(&step);
            j.jobid = bj_slice_str(cases[i].raw);
            j.display_id = bj_slice_str(cases[i].shown);
            j.work_dir = bj_slice_str(cases[i].dir);
            step.step_id = bj_slice_str(cases[i].step);
            j.step = &step;
            j.steps = 1;
            put(u, &j);
            snprintf(want, sizeof(want), "here|%s|%s|%s|%s\n", cases[i].raw,
                     cases[i].shown, cases[i].dir, cases[i].step);
            snprintf(sql, sizeof(sql),
                     "SELECT cluster, jobid, display_id, work_dir, step_id"
                     " FROM job_v j JOIN step_v s ON s.job = j.id"
                     " WHERE j.id = %zu",
                     i + 1);
            expect(s, sql, want);
        }
    assert_int_equal(bj_upsert_counts(u)->jobs_new, 7);
    assert_int_equal(bj_upsert_counts(u)->jobs_same, 7);
    assert_int_equal(bj_upsert_counts(u)->steps_same, 7);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

/* Who cancelled a job of which nothing else is unusual, also root; memory that
 * the scheduler does not allocate, and what it did not gather, is not known. */
static void test_odd_values(void **state)
{
    static const uint64_t by[] = {2003, 0, BJ_ABSENT};
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < 3; i++) {
            char id[2] = {(char)('1' + i), '\0'};
            struct bj_sched_job j;
            bj_sched_job_init(&j);
            j.jobid = j.display_id = bj_slice_str(id);
            j.state = BJ_STATE_CANCELLED;
            j.elapsed_sec = 10;
            j.cancelled_by = by[i];
            j.mem_allocated_bytes = i;
            j.use.cpu_usec = j.use.mem_task_peak_bytes = 0;
            j.use.read_bytes = 0;
            put(u, &j);
        }
    expect(s,
           "SELECT jobid, cancelled_by, memory_allocated_bytes, cpu_usec,"
           " memory_task_peak_bytes, read_bytes FROM job_v ORDER BY jobid",
           "1|2003||||\n2|0|1|||\n3||2|||\n");
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

/* Records of one run in sequence, and the stored values after each. */
static const struct {
    const char *what;
    enum bj_job_state state;
    uint64_t start, end, elapsed, cpu;
    const char *account;
    const char *want; /* state|start|end|elapsed|cpu|account */
} merges[] = {
    {"pending", BJ_STATE_PENDING, BJ_ABSENT, BJ_ABSENT, 0, BJ_ABSENT, "a",
     "pending|||0||a\n"},
    {"starts", BJ_STATE_RUNNING, 100, BJ_ABSENT, 10, BJ_ABSENT, "a",
     "running|100||10||a\n"},
    {"runs", BJ_STATE_RUNNING, 100, BJ_ABSENT, 20, BJ_ABSENT, "a",
     "running|100||20||a\n"},
    {"an older record", BJ_STATE_PENDING, BJ_ABSENT, BJ_ABSENT, 0, BJ_ABSENT,
     "b", "running|100||20||a\n"},
    {"ends", BJ_STATE_COMPLETED, 100, 150, 50, 7, "a",
     "completed|100|150|50|7|a\n"},
    {"record without its steps", BJ_STATE_COMPLETED, 100, 150, 50, BJ_ABSENT,
     "", "completed|100|150|50|7|a\n"},
    {"a late record of the running job", BJ_STATE_RUNNING, 100, BJ_ABSENT, 30,
     3, "c", "completed|100|150|50|7|a\n"},
    {"without a state", BJ_STATE_UNKNOWN, BJ_ABSENT, BJ_ABSENT, BJ_ABSENT,
     BJ_ABSENT, "", "completed|100|150|50|7|a\n"},
    {"corrected", BJ_STATE_TIMEOUT, 100, 160, 60, 8, "d",
     "timeout|100|160|60|8|d\n"},
};

static void test_merge(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    for (size_t i = 0; i < sizeof(merges) / sizeof(merges[0]); i++) {
        struct bj_sched_job j;
        bj_sched_job_init(&j);
        j.jobid = BJ_SLICE("1");
        j.submit_sec = 50;
        j.state = merges[i].state;
        j.start_sec = merges[i].start;
        j.end_sec = merges[i].end;
        j.elapsed_sec = merges[i].elapsed;
        j.use.cpu_usec = merges[i].cpu;
        j.account = bj_slice_str(merges[i].account);
        print_message("# %s\n", merges[i].what);
        put(u, &j);
        expect(s,
               "SELECT state, start_sec, end_sec, elapsed_seconds, cpu_usec,"
               " account FROM job_v",
               merges[i].want);
    }
    /* Another run, and the same run with another submit time, found by its
     * SLUID. */
    struct bj_sched_job j;
    bj_sched_job_init(&j);
    j.jobid = BJ_SLICE("1");
    j.submit_sec = 60;
    j.sluid = BJ_SLICE("s1");
    put(u, &j);
    j.submit_sec = 61;
    put(u, &j);
    expect(s, "SELECT jobid, submit_sec, sluid FROM job_v ORDER BY id",
           "1|50|\n1|61|s1\n");
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

/* A rollback undoes everything, also in memory. */
static void test_rollback(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_sched_job job;
    struct bj_job_step step;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    full_job(&job, &step);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bj_upsert_begin(u, &err), 0);
        assert_int_equal(bj_upsert_job(u, BJ_SLICE("x"), &job, &err), 0);
        bj_upsert_rollback(u);
        expect(s,
               "SELECT (SELECT count(*) FROM job),"
               " (SELECT count(*) FROM user), (SELECT count(*) FROM cluster),"
               " (SELECT count(*) FROM rollup_day)",
               "0|0|0|0\n");
    }
    put(u, &job);
    assert_int_equal(number(s, "SELECT count(*) FROM rollup_day"), 1);
    assert_int_equal(bj_db_check(bj_store_db(s), NULL), 0);
    job.jobid = BJ_SLICE("");
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    assert_int_equal(bj_upsert_job(u, BJ_SLICE("x"), &job, &err), -EINVAL);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

/* Store jobs from id to end, each with a step, with new owners and directories.
 * Their number makes a thread write them in batches. */
static int many(struct bj_upsert *u, unsigned id, unsigned end)
{
    struct bj_err err = {0};
    for (; id < end; id++) {
        char raw[24], dir[64], name[24];
        struct bj_sched_job j;
        struct bj_job_step step;
        bj_sched_job_init(&j);
        bj_job_step_init(&step);
        snprintf(raw, sizeof(raw), "%u", id);
        snprintf(dir, sizeof(dir), "/scratch/%u/work", id / 3);
        snprintf(name, sizeof(name), "u%u", id % 700);
        j.jobid = bj_slice_str(raw);
        j.work_dir = bj_slice_str(dir);
        j.user = j.name = bj_slice_str(name);
        j.uid = id % 900;
        j.submit_sec = 1700000000 + id;
        j.start_sec = j.submit_sec + 10;
        j.end_sec = j.start_sec + 100;
        j.elapsed_sec = 100;
        j.cpus = 1;
        j.state = BJ_STATE_COMPLETED;
        j.comment = id % 50 ? BJ_SLICE("") : BJ_SLICE("now and then");
        step.step_id = id % 1000 ? BJ_SLICE("batch") : BJ_SLICE("named");
        step.state = BJ_STATE_COMPLETED;
        j.step = &step;
        j.steps = 1;
        if (bj_upsert_job(u, BJ_SLICE("c"), &j, &err) < 0)
            return err.code;
    }
    return 0;
}

static void expect_many(struct bj_store *s, unsigned n)
{
    char want[200];
    snprintf(want, sizeof(want), "%u|%u|%u|%u|%u|%u\n", n, n, n / 50, n,
             100 * n, n / 1000);
    expect(
        s,
        "SELECT (SELECT count(DISTINCT jobid) FROM job_v WHERE user ="
        " 'u' || (jobid % 700) AND uid = jobid % 900 AND work_dir ="
        " '/scratch/' || (jobid / 3) || '/work'),"
        " (SELECT count(*) FROM step_v AS s JOIN job_v AS j ON j.id = s.job),"
        " (SELECT count(*) FROM job_v WHERE comment = 'now and then'),"
        " (SELECT sum(jobs_ended) FROM rollup_day),"
        " (SELECT sum(cpu_sec) FROM rollup_day),"
        " (SELECT count(*) FROM step_v WHERE step_id = 'named')",
        want);
    assert_int_equal(bj_db_check(bj_store_db(s), NULL), 0);
}

static void many_times(bool bulk)
{
    struct fixture f;
    struct bj_err err = {0};
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    assert_int_equal(bj_upsert_bulk(u, bulk, &err), 0);
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    assert_int_equal(many(u, 0, 5000), 0);
    bj_upsert_rollback(u);
    assert_int_equal(number(s, "SELECT count(*) FROM job"), 0);
    for (unsigned n = 4000; n <= 8000; n += 4000) { /* half of them again */
        assert_int_equal(bj_upsert_begin(u, &err), 0);
        assert_int_equal(many(u, 0, n), 0);
        assert_int_equal(number(s, "SELECT count(*) FROM job"), n);
        assert_int_equal(bj_upsert_commit(u, &err), 0);
        expect_many(s, n);
    }
    /* New and known jobs alternate in one transaction. */
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    for (unsigned i = 8000; i < 14000; i += 1500)
        assert_true(many(u, i, i + 1500) == 0 &&
                    many(u, i - 8000, i - 7900) == 0);
    assert_int_equal(bj_upsert_commit(u, &err), 0);
    expect_many(s, 14000);
    /* A transaction that is not committed is rolled back. */
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    assert_int_equal(many(u, 20000, 23000), 0);
    bj_upsert_free(u);
    expect_many(s, 14000);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_many(void **state)
{
    (void)state;
    many_times(false);
    many_times(true);
}

/* The store becomes full during a transaction. */
static void many_full(bool bulk)
{
    struct fixture f;
    struct bj_err err = {0};
    struct bj_store *s = NULL;
    fixture_open(&f);
    struct bj_store_options opt = {.path = f.path, .max_bytes = 2 << 20};
    assert_int_equal(bj_store_open(&opt, &s, &err), 0);
    struct bj_upsert *u = upsert_open(s);
    assert_int_equal(bj_upsert_bulk(u, bulk, &err), 0);
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    assert_int_equal(many(u, 0, 2000), 0);
    assert_int_equal(bj_upsert_commit(u, &err), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bj_upsert_begin(u, &err), 0);
        assert_int_equal(many(u, 1500, 40000), -ENOSPC);
        bj_upsert_rollback(u);
        expect_many(s, 2000);
    }
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_many_full(void **state)
{
    (void)state;
    many_full(false);
    many_full(true);
}

/* While its tasks wait, an array is one record with the id of its last task;
 * when that task starts, the record is the task. */
static void test_array(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    struct bj_sched_job j;
    bj_sched_job_init(&j);
    j.batch_system = BJ_SLICE("slurm");
    j.jobid = BJ_SLICE("4700");
    j.display_id = BJ_SLICE("4700_[1-10%2]");
    j.array_job = 4700;
    j.array_tasks = BJ_SLICE("1-10%2");
    j.submit_sec = 1000;
    j.state = BJ_STATE_PENDING;
    put(u, &j);
    expect(s, "SELECT display_id, array_tasks FROM job_v",
           "4700_[1-10%2]|1-10%2\n");
    j.display_id = BJ_SLICE("4700_10");
    j.array_task = 10;
    j.array_tasks = (struct bj_slice){NULL, 0};
    j.state = BJ_STATE_RUNNING;
    j.start_sec = 2000;
    put(u, &j);
    expect(s, "SELECT display_id, array_task, array_tasks FROM job_v",
           "4700_10|10|\n");
    put(u, &j);
    assert_int_equal(bj_upsert_counts(u)->jobs_same, 1);
    bj_upsert_free(u);
    bj_store_close(s);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array),  cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_odd_values),
        cmocka_unit_test(test_merge),  cmocka_unit_test(test_rollback),
        cmocka_unit_test(test_many),   cmocka_unit_test(test_many_full),
    };
    return cmocka_run_group_tests_name("statsdb_upsert", tests, NULL, NULL);
}
