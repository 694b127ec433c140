/* Jobs that are gathered and loaded in bulk give the same rows, sums and counts
 * as jobs that are stored one by one, in PostgreSQL and in SQLite: random
 * records, repeated, in any order, with steps and ids of all kinds, in batches
 * of which some are rolled back. */
#include "statsdb/job/job_name.h"
#include "statsdb/tables/job_number.h"
#include "tests/unit/lib/rounds.h"
#include "tests/unit/statsdb/test_statsdb_stores.h"

/* --- records -------------------------------------------------------------- */

enum { STEPS = 5, TEXTS = 2048 };

struct record {
    struct bj_sched_job job;
    struct bj_job_step step[STEPS];
    char text[TEXTS];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static struct bj_slice
put(struct record *r, const char *format, ...)
{
    char *p = r->text + r->used;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(p, TEXTS - r->used, format, args);
    va_end(args);
    assert_true(len >= 0 && r->used + (size_t)len < TEXTS);
    r->used += (size_t)len + 1;
    return (struct bj_slice){p, (size_t)len};
}

/* A random text. Most repeat, some need escapes; hostile ones can be invalid
 * UTF-8, of which some become equal when they are made valid. */
static struct bj_slice text(struct record *r, bool hostile)
{
    static const char *const odd[] = {"a\"b\\c",
                                      "{x,y}",
                                      "NULL",
                                      "tab\tand\nline",
                                      "",
                                      " ",
                                      "\xc3\xa4\xe2\x82\xac",
                                      "\\N",
                                      "'; --"};
    static const char *const bad[] = {"\xff", "\xfe", "x\xc3", "x\xc4"};
    if (hostile && rnd(4) == 0)
        return bj_slice_str(bad[rnd(4)]);
    if (rnd(5) == 0)
        return bj_slice_str(odd[rnd(sizeof(odd) / sizeof(odd[0]))]);
    return put(r, "word%u", (unsigned)rnd(40));
}

static uint64_t amount(uint64_t most)
{
    return rnd(4) == 0 ? BJ_ABSENT : rnd(most);
}

static void fill_use(struct bj_sched_usage *use)
{
    use->cpu_usec = amount(1000000000);
    use->cpu_system_usec = amount(1000);
    use->cpu_user_usec = amount(1000);
    use->mem_peak_bytes = amount(UINT64_MAX);
    use->energy_joules = amount(100000);
}

static void fill_step(struct record *r, struct bj_job_step *s, bool hostile)
{
    static const char *const ids[] = {"batch", "extern", "0",     "1", "2",
                                      "0+1",   "odd",    "batch", "01"};
    bj_job_step_init(s);
    s->step_id = bj_slice_str(ids[rnd(9)]);
    s->name = text(r, hostile);
    s->state = (enum bj_job_state)rnd(BJ_STATES);
    s->nodelist = put(r, "c[1-%u]", 1 + (unsigned)rnd(5));
    s->submit_line = rnd(3) ? (struct bj_slice){NULL, 0} : text(r, hostile);
    s->exit_code = amount(3);
    s->exit_signal = amount(3);
    fill_use(&s->use);
}

/* Few ids and submit times, so that runs repeat. Runs of some ids have a SLUID,
 * which two submit times share if only PostgreSQL's stores are compared: there
 * a run keeps its submit time. */
static void fill_key(struct record *r, bool hostile)
{
    struct bj_sched_job *j = &r->job;
    unsigned id = 1 + (unsigned)rnd(150), run = (unsigned)rnd(4);
    j->cluster = rnd(9) ? (struct bj_slice){NULL, 0} : BJ_SLICE("other");
    j->batch_system = BJ_SLICE("slurm");
    j->submit_sec = run == 3 ? BJ_ABSENT : 1700000000 + run;
    j->jobid = id % 10 == 1   ? put(r, "%u[7].srv", id)
               : id % 10 == 2 ? put(r, "0%u", id)
                              : put(r, "%u", id);
    if (id % 10 == 3 && run < 2)
        j->sluid = put(r, "s%u.%u", id, hostile ? 0 : run);
    else if (hostile && rnd(10) == 0)
        j->jobid = bj_slice_str(rnd(2) ? "9\xff" : "9\xfe");
}

static void fill_rare(struct record *r, bool hostile)
{
    struct bj_sched_job *j = &r->job;
    j->comment = text(r, hostile);
    j->constraints = text(r, hostile);
    j->cancelled_by = amount(5);
    j->het_job = amount(50);
    j->exit_raw = text(r, hostile);
    j->display_id = text(r, hostile);
    j->array_tasks = rnd(2) ? (struct bj_slice){NULL, 0} : BJ_SLICE("1-10%2");
}

static void fill_job(struct record *r, bool hostile)
{
    struct bj_sched_job *j = &r->job;
    j->name = text(r, hostile);
    j->user = rnd(9) ? put(r, "u%u", (unsigned)rnd(5)) : j->user;
    j->account = rnd(9) ? put(r, "a%u", (unsigned)rnd(3)) : j->account;
    j->group = text(r, hostile);
    j->uid = amount(4);
    j->gid = amount(2);
    j->partition = rnd(4) ? put(r, "p%u", (unsigned)rnd(3)) : j->partition;
    j->state_raw = text(r, hostile);
    j->state = (enum bj_job_state)rnd(BJ_STATES);
    j->start_sec =
        amount(3) == BJ_ABSENT ? BJ_ABSENT : 1700000000 + rnd(500000);
    j->end_sec = rnd(2) ? BJ_ABSENT : 1700000000 + rnd(900000);
    j->elapsed_sec = amount(400000);
    j->cpus = amount(100);
    j->nodes = amount(10);
    j->gpus = amount(4);
    j->array_task = amount(5);
    j->nodelist = put(r, "n[%u-9],x", (unsigned)rnd(9));
    j->tres_allocated_raw =
        put(r, "cpu=%u,gres/gpu:a100=2,x=y", (unsigned)rnd(9));
    j->work_dir = put(r, "/home/\xc3\xa9/%u", (unsigned)rnd(9));
    fill_use(&j->use);
}

static void fill(struct record *r, bool hostile)
{
    r->used = 0;
    bj_sched_job_init(&r->job);
    fill_key(r, hostile);
    fill_job(r, hostile);
    if (rnd(3) == 0)
        fill_rare(r, hostile);
    r->job.steps = (unsigned)rnd(STEPS + 1);
    r->job.step = r->step;
    for (unsigned i = 0; i < r->job.steps; i++)
        fill_step(r, &r->step[i], hostile);
}

/* --- tests ---------------------------------------------------------------- */

static void batch(struct bj_upsert *u, unsigned n, bool hostile, bool abort)
{
    struct bj_err err = {0};
    struct record r;
    bj_upsert_begin_later(u);
    for (unsigned i = 0; i < n; i++) {
        fill(&r, hostile);
        if (bj_upsert_job(u, BJ_SLICE("c"), &r.job, &err) < 0)
            fail_msg("%s", err.msg);
    }
    if (bj_upsert_flush(u, &err) < 0 ||
        (!abort && bj_upsert_commit(u, &err) < 0))
        fail_msg("%s", err.msg);
    if (abort)
        bj_upsert_rollback(u);
}

/* Put the same batches into all stores (hostile ones not into SQLite), and
 * compare their rows and counts. */
static void compare(unsigned n, unsigned batches, unsigned size, bool hostile)
{
    const int first = hostile ? ONE_BY_ONE : SQLITE;
    struct stores w;
    open_all(&w);
    for (unsigned b = 0; b < batches; b++) {
        bool abort = b % 4 == 1;
        for (int i = first; i < STORES; i++) {
            seed = n * 1000 + b;
            batch(w.upsert[i], 1 + (unsigned)rnd(size), hostile, abort);
        }
        same_counts(&w, first);
    }
    same_stores(&w, first);
    close_all(&w);
}

static void test_random(void **state)
{
    (void)state;
    NEED_SERVER;
    for (unsigned n = 1; n <= bj_rounds(20, 1); n++) {
        compare(n, 8, 120, false);
        compare(n, 8, 120, true);
    }
}

/* More jobs than are gathered at a time. */
static void test_many(void **state)
{
    (void)state;
    if (!server_available)
        skip();
    compare(1000, 1, 2500, false);
}

static void put_run(struct bj_upsert *u, const char *id, uint64_t submit,
                    const char *sluid, uint64_t cpus)
{
    struct bj_err err = {0};
    struct bj_sched_job job;
    bj_sched_job_init(&job);
    job.jobid = bj_slice_str(id);
    job.submit_sec = submit;
    job.sluid = bj_slice_str(sluid);
    job.cpus = cpus;
    if (bj_upsert_job(u, BJ_SLICE("c"), &job, &err) < 0)
        fail_msg("%s", err.msg);
}

/* One run, the second time found by its SLUID, the third time by its key: the
 * last record counts. */
static void test_two_keys(void **state)
{
    struct stores w;
    (void)state;
    if (!server_available)
        skip();
    open_all(&w);
    for (int i = ONE_BY_ONE; i < STORES; i++) {
        assert_int_equal(bj_upsert_begin(w.upsert[i], NULL), 0);
        put_run(w.upsert[i], "77", 1700000000, "s", 1);
        assert_int_equal(bj_upsert_commit(w.upsert[i], NULL), 0);
        assert_int_equal(bj_upsert_begin(w.upsert[i], NULL), 0);
        put_run(w.upsert[i], "77", 1700000001, "s", 2);
        put_run(w.upsert[i], "77", 1700000000, NULL, 3);
        assert_int_equal(bj_upsert_commit(w.upsert[i], NULL), 0);
        expect(w.store[i], "SELECT submit, sluid, cpus FROM job",
               "1700000000|s|3\n");
    }
    same_counts(&w, ONE_BY_ONE);
    close_all(&w);
}

/* Two jobs whose computed numbers are equal are stored as two jobs. */
static void test_same_number(void **state)
{
    struct stores w;
    char id[16];
    (void)state;
    if (!server_available)
        skip();
    snprintf(id, sizeof(id), "%d",
             (int)(bj_job_number_of(1, BJ_SLICE("1.srv"), 0) & 0x3ffffff));
    open_all(&w);
    for (int i = 0; i < STORES; i++) {
        assert_int_equal(bj_upsert_begin(w.upsert[i], NULL), 0);
        put_run(w.upsert[i], "1.srv", 1700000000, NULL, 1);
        assert_int_equal(bj_upsert_commit(w.upsert[i], NULL), 0);
        assert_int_equal(bj_upsert_begin(w.upsert[i], NULL), 0);
        put_run(w.upsert[i], id, 1700000000, NULL, 1);
        assert_int_equal(bj_upsert_commit(w.upsert[i], NULL), 0);
        assert_int_equal(number(w.store[i], "SELECT count(*) FROM job"), 2);
    }
    same_counts(&w, SQLITE);
    close_all(&w);
}

static int put_cpus(struct bj_upsert *u, const char *id, uint64_t cpus,
                    struct bj_err *err)
{
    struct bj_sched_job job;
    bj_sched_job_init(&job);
    job.jobid = bj_slice_str(id);
    job.name = bj_slice_str(id);
    job.cpus = cpus;
    return bj_upsert_job(u, BJ_SLICE("c"), &job, err);
}

static void try_cpus(struct bj_upsert *u, uint64_t first, uint64_t second,
                     const char *message)
{
    struct bj_err err = {0};
    assert_int_equal(bj_upsert_begin(u, &err), 0);
    assert_int_equal(put_cpus(u, "4", first, &err), 0);
    assert_int_equal(put_cpus(u, "5[1].srv", second, &err), 0);
    assert_int_equal(bj_upsert_commit(u, &err), message ? -EEXIST : 0);
    if (!message)
        return;
    bj_upsert_rollback(u);
    err.msg[strlen(message)] = '\0';
    assert_string_equal(err.msg, message);
}

/* Errors name the job, or the first and the last one of those that were stored
 * together. Nothing of a failed batch stays. */
static void test_errors(void **state)
{
    struct stores w;
    (void)state;
    if (!server_available)
        skip();
    open_all(&w);
    struct bj_store *s = w.store[GATHERED];
    struct bj_upsert *u = w.upsert[GATHERED];
    db_exec(bj_store_db(s), "ALTER TABLE job ADD CHECK (cpus < 50)");
    try_cpus(u, 1, 50, "jobs 4 to 5[1].srv: ");
    expect(s, "SELECT count(*) FROM jobname", "0\n");
    try_cpus(u, 1, 2, NULL);
    try_cpus(u, 50, 3, "jobs 4 to 5[1].srv: ");
    expect(s,
           "SELECT j.jobid, j.cpus, n.text FROM job AS j JOIN jobname AS n"
           " ON n.id = j.name ORDER BY 1",
           "4|1|4\n5[1].srv|2|5[1].srv\n");
    close_all(&w);
}

/* The task of an array that waits in one record with others is found by its id.
 */
static void test_waiting_task(void **state)
{
    static const struct {
        const char *name;
        int found;
    } cases[] = {{"200_1", 1},  {"200_9", 0},  {"200_10", 1}, {"200_12", 0},
                 {"200_40", 1}, {"200_41", 0}, {"201_3", 1},  {"202_1", 0}};
    static const char *const tasks[] = {"1,10-16:5,40%2", "1,...",
                                        "x-3,--1,3:,1:0,:,7-,99999999999"};
    struct stores w;
    (void)state;
    if (!server_available)
        skip();
    open_all(&w);
    for (int i = 0; i < STORES; i++) {
        struct bj_err err = {0};
        int64_t id;
        assert_int_equal(bj_upsert_begin(w.upsert[i], NULL), 0);
        for (unsigned k = 0; k < 3; k++) {
            char text[8];
            struct bj_sched_job job;
            bj_sched_job_init(&job);
            snprintf(text, sizeof(text), "%u", 200 + k);
            job.jobid = bj_slice_str(text);
            job.array_job = 200 + k;
            job.array_tasks = bj_slice_str(tasks[k]);
            if (bj_upsert_job(w.upsert[i], BJ_SLICE("c"), &job, &err) < 0)
                fail_msg("%s", err.msg);
        }
        assert_int_equal(bj_upsert_commit(w.upsert[i], NULL), 0);
        for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
            const int r = bj_job_name_newest(bj_store_db(w.store[i]),
                                             bj_slice_str(cases[k].name),
                                             BJ_NAME_EXACT, &id, &err);
            if (r != cases[k].found)
                fail_msg("%s: %d %s", cases[k].name, r, err.msg);
        }
    }
    close_all(&w);
}

/* A step whose name is not UTF-8 is stored once, whatever bytes the database
 * keeps. */
static void test_hostile_step(void **state)
{
    struct stores w;
    (void)state;
    if (!server_available)
        skip();
    open_all(&w);
    for (int i = 0; i < STORES; i++) {
        for (int k = 0; k < 3; k++) {
            struct bj_job_step step;
            struct bj_sched_job job;
            bj_job_step_init(&step);
            step.step_id = BJ_SLICE("a\xff");
            bj_sched_job_init(&job);
            job.jobid = BJ_SLICE("5\xfe");
            job.step = &step;
            job.steps = 1;
            assert_int_equal(bj_upsert_begin(w.upsert[i], NULL), 0);
            assert_int_equal(
                bj_upsert_job(w.upsert[i], BJ_SLICE("c"), &job, NULL), 0);
            assert_int_equal(bj_upsert_commit(w.upsert[i], NULL), 0);
        }
        expect(w.store[i], "SELECT count(*) FROM step", "1\n");
        assert_int_equal(bj_upsert_counts(w.upsert[i])->steps_same, 2);
        assert_int_equal(bj_upsert_counts(w.upsert[i])->jobs_same, 2);
    }
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),       cmocka_unit_test(test_many),
        cmocka_unit_test(test_two_keys),     cmocka_unit_test(test_same_number),
        cmocka_unit_test(test_waiting_task), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_hostile_step)};
    return cmocka_run_group_tests_name("statsdb_gather", tests, start, stop);
}
