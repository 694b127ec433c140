/* What findings say was wasted, and the changes of a user's jobs by it. */
#include "tests/unit/statsdb/test_statsdb_derive.h"

#include "statsdb/derive/price.h"
#include "statsdb/job/change.h"

enum { HOUR = 3600, MIB_HOUR = 8192 * HOUR, NONE = -1 };

/* --- one finding -----------------------------------------------------------
 */

/* A job of an hour with 4 CPUs of which one was busy, 2 GPUs at 25 % and 8 GiB
 * of which it used 2; it cost 1.00. */
static const int64_t usual[BJ_WASTED_COLUMNS] = {
    [BJ_WASTED_ELAPSED] = HOUR,
    [BJ_WASTED_CPU_ALLOCATED] = INT64_C(4) * HOUR,
    [BJ_WASTED_CPU_USED] = INT64_C(3600000000),
    [BJ_WASTED_GPU_ALLOCATED] = INT64_C(2) * HOUR,
    [BJ_WASTED_GPU_EFFICIENCY] = 250000,
    [BJ_WASTED_MEMORY_ALLOCATED] = INT64_C(8) << 30,
    [BJ_WASTED_MEMORY_EFFICIENCY] = 250000,
    [BJ_WASTED_COST] = 1000000};

static const struct wasted_case {
    const char *condition;
    int64_t value;
    int change; /* a column with another number; NONE: none */
    int64_t to;
    int64_t cpu, gpu, memory, cost; /* NONE: absent */
} wasted_cases[] = {
    {"runtime > 60 and cpu_efficiency < 50", 25, NONE, 0, 3 * HOUR, NONE, NONE,
     300000},
    {"nodes_unused > 0", 1, NONE, 0, 3 * HOUR, NONE, NONE, 300000},
    {"gpus > 0 and gpu_efficiency < 50", 25, NONE, 0, NONE, 3 * HOUR / 2, NONE,
     3000000},
    {"mem_efficiency < 50", 25, NONE, 0, NONE, NONE, MIB_HOUR * 3 / 4, NONE},
    {"idle_end > 600", 900, NONE, 0, HOUR, HOUR / 2, MIB_HOUR / 4, 250000},
    {"state = failed", 0, NONE, 0, 4 * HOUR, 2 * HOUR, MIB_HOUR, 1000000},
    {"out_of_memory = 1 and mem_efficiency > 90", 0, NONE, 0, 4 * HOUR,
     2 * HOUR, MIB_HOUR, 1000000},
    /* about nothing that is held */
    {"runtime > 60", 0, NONE, 0, NONE, NONE, NONE, NONE},
    {"", 0, NONE, 0, NONE, NONE, NONE, NONE},
    /* more than it held */
    {"cpu_efficiency < 50", 0, BJ_WASTED_CPU_USED, INT64_C(14400000001), 0,
     NONE, NONE, 0},
    {"mem_efficiency < 50", 0, BJ_WASTED_MEMORY_EFFICIENCY, 1000001, NONE, NONE,
     0, NONE},
    /* not known */
    {"cpu_efficiency < 50", 0, BJ_WASTED_CPU_USED, BJ_SQL_NULL, NONE, NONE,
     NONE, NONE},
    {"cpu_efficiency < 50", 0, BJ_WASTED_CPU_ALLOCATED, BJ_SQL_NULL, NONE, NONE,
     NONE, NONE},
    {"gpu_efficiency < 50", 0, BJ_WASTED_GPU_EFFICIENCY, BJ_SQL_NULL, NONE,
     NONE, NONE, NONE},
    {"mem_efficiency < 50", 0, BJ_WASTED_MEMORY_EFFICIENCY, BJ_SQL_NULL, NONE,
     NONE, NONE, NONE},
    {"idle_end > 600", BJ_SQL_NULL, NONE, 0, NONE, NONE, NONE, NONE},
    {"idle_end > 600", 900, BJ_WASTED_COST, BJ_SQL_NULL, HOUR, HOUR / 2,
     MIB_HOUR / 4, NONE},
    {"idle_end > 600", 900, BJ_WASTED_GPU_ALLOCATED, BJ_SQL_NULL, HOUR, NONE,
     MIB_HOUR / 4, 250000},
    {"state = failed", 0, BJ_WASTED_COST, BJ_SQL_NULL, 4 * HOUR, 2 * HOUR,
     MIB_HOUR, NONE},
    {"state = failed", 0, BJ_WASTED_MEMORY_ALLOCATED, BJ_SQL_NULL, 4 * HOUR,
     2 * HOUR, NONE, 1000000}};

static void expect_amounts(const char *what, const int64_t got[4],
                           const int64_t want[4])
{
    static const char *const names[] = {"CPU", "GPU", "memory", "cost"};
    for (size_t i = 0; i < 4; i++)
        if (got[i] != (want[i] == NONE ? BJ_SQL_NULL : want[i]))
            fail_msg("%s: %s: %lld instead of %lld", what, names[i],
                     (long long)got[i], (long long)want[i]);
}

static void test_wasted(void **state)
{
    (void)state;
    const struct bj_prices prices = {.cpu_hour = 100000,
                                     .gpu_hour = 2000000,
                                     .gib_hour = BJ_SQL_NULL,
                                     .kwh = BJ_SQL_NULL};
    for (size_t i = 0; i < sizeof(wasted_cases) / sizeof(wasted_cases[0]);
         i++) {
        const struct wasted_case *t = &wasted_cases[i];
        const struct bj_slice condition = bj_slice_str(t->condition);
        int64_t of[BJ_WASTED_COLUMNS];
        struct bj_paid paid;
        char what[100];
        memcpy(of, usual, sizeof(of));
        if (t->change != NONE)
            of[t->change] = t->to;
        bj_wasted(of, condition, t->value, &paid);
        assert_true(paid.energy_mj == BJ_SQL_NULL);
        snprintf(what, sizeof(what), "case %zu, %s", i, t->condition);
        expect_amounts(
            what,
            (const int64_t[]){paid.cpu_sec, paid.gpu_sec, paid.memory_mib_sec,
                              bj_wasted_cost(&prices, of, condition, t->value)},
            (const int64_t[]){t->cpu, t->gpu, t->memory, t->cost});
    }
}

/* --- changes ---------------------------------------------------------------
 */

/* A job of an hour with 4 CPUs and 8 GiB; used: busy seconds of the CPUs, NONE:
 * not known. */
static void put_run(struct derive_rig *w, const char *id, const char *user,
                    const char *name, int64_t used)
{
    struct bj_sched_job j;
    make_job(&j, id, strtol(id, NULL, 10) * 60, HOUR);
    j.user = bj_slice_str(user);
    if (name)
        j.name = bj_slice_str(name);
    j.use.cpu_usec = used == NONE ? BJ_ABSENT : (uint64_t)used * 1000000;
    put_job(w, &j);
}

/* text makes rules of the same name differ. */
static void put_finding(struct derive_rig *w, const char *job, const char *rule,
                        const char *severity, const char *condition,
                        const char *text)
{
    char sql[900];
    snprintf(sql, sizeof(sql),
             "INSERT INTO finding_rule(name, severity, condition, text) "
             "VALUES('%s', '%s', '%s', '%s') ON CONFLICT DO NOTHING; INSERT "
             "INTO job_finding(job, rule, value) SELECT j.id, r.id, 900 FROM "
             "job AS j, finding_rule AS r WHERE j.jobid = %s AND r.name = '%s' "
             "AND r.text = '%s'",
             rule, severity, condition, text, job, rule, text);
    db_exec(bj_store_db(w->s), sql);
}

static void put_prices(struct derive_rig *w, const char *cpu_hour)
{
    char text[16];
    snprintf(text, sizeof(text), "%s", cpu_hour);
    OK(bj_prices_write(
        w->s,
        &(struct bj_report_conf){.currency = (char[]){"EUR"}, .cpu_hour = text},
        &err));
}

static void read_changes(struct derive_rig *w, const char *where,
                         struct bj_changes *ret)
{
    struct bj_buf sql = {0};
    struct bj_st *st = NULL;
    *ret = (struct bj_changes){.n = 0};
    OK(bj_changes_select(ret, bj_store_db(w->s), &sql, &err));
    bj_buf_str(&sql, where);
    bj_buf_str(&sql, BJ_CHANGES_NEWEST);
    OK(bj_db_prepare_buf(bj_store_db(w->s), &sql, &st, &err));
    OK(bj_changes_read(ret, st, &err));
    bj_st_finalize(st);
    bj_buf_free(&sql);
}

struct want_change {
    const char *name, *finding;
    int64_t runs, cpu, gpu, memory, cost; /* NONE: absent */
    const char *newest;                   /* its id at the scheduler */
};

static void expect_changes(struct derive_rig *w, const char *where,
                           const struct want_change *want, size_t n)
{
    struct bj_changes got;
    read_changes(w, where, &got);
    assert_false(got.cut);
    assert_int_equal(got.n, n);
    for (size_t i = 0; i < n; i++) {
        const struct bj_change *v = &got.v[i];
        char sql[80];
        snprintf(sql, sizeof(sql), "SELECT id FROM job WHERE jobid = %s",
                 want[i].newest);
        if (!bj_slice_eq(v->job_name, bj_slice_str(want[i].name)) ||
            !bj_slice_eq(v->finding, bj_slice_str(want[i].finding)))
            fail_msg("%zu: %.*s, %.*s instead of %s, %s", i, (int)v->job_name.n,
                     v->job_name.p, (int)v->finding.n, v->finding.p,
                     want[i].name, want[i].finding);
        assert_int_equal(v->runs, want[i].runs);
        assert_int_equal(v->newest, number(w->s, sql));
        expect_amounts(want[i].name,
                       (const int64_t[]){v->wasted.cpu_sec, v->wasted.gpu_sec,
                                         v->wasted.memory_mib_sec, v->cost},
                       (const int64_t[]){want[i].cpu, want[i].gpu,
                                         want[i].memory, want[i].cost});
    }
    bj_changes_free(&got);
}

#define ANNA " AND j.user = (SELECT id FROM user WHERE name = 'anna')"

static const char low[] = "cpu_efficiency < 50";

static void put_runs(struct derive_rig *w)
{
    /* Three runs of one name; the use of the last is not known. */
    put_run(w, "1", "anna", "train", HOUR);
    put_run(w, "2", "anna", "train", 2 * HOUR);
    put_run(w, "3", "anna", "train", NONE);
    put_finding(w, "1", "low_cpu", "info", low, "a");
    put_finding(w, "1", "low_mem", "critical", "mem_efficiency < 50", "");
    /* The rule was changed in between, and another was made. */
    put_finding(w, "1", "lost", "critical", "runtime > 60", "");
    put_finding(w, "2", "low_cpu", "info", low, "b");
    put_finding(w, "3", "low_cpu", "info", low, "b");
    put_run(w, "4", "anna", "fail", HOUR);
    put_finding(w, "4", "failed", "warning", "state = completed", "");
    /* Without an amount or a cost: by severity, then by runs. */
    put_run(w, "5", "anna", "hint", HOUR);
    put_finding(w, "5", "lost", "critical", "runtime > 60", "");
    put_run(w, "6", "anna", "unknown", NONE);
    put_finding(w, "6", "low_cpu", "info", low, "b");
    put_run(w, "7", "anna", NULL, NONE);
    put_run(w, "8", "anna", NULL, NONE);
    put_finding(w, "7", "low_cpu", "info", low, "b");
    put_finding(w, "8", "low_cpu", "info", low, "b");
    /* Another user, also with a job of the same name; jobs without findings. */
    put_run(w, "9", "bob", "train", HOUR);
    put_finding(w, "9", "low_cpu", "info", low, "b");
    put_run(w, "10", "anna", "fine", 4 * HOUR);
}

static void test_changes(void **state)
{
    struct derive_rig *w = *state;
    const struct want_change anna[] = {
        {"train", "low_cpu", 3, 5 * HOUR, NONE, NONE, 500000, "3"},
        {"fail", "failed", 1, 4 * HOUR, NONE, MIB_HOUR, 400000, "4"},
        {"hint", "lost", 1, NONE, NONE, NONE, NONE, "5"},
        {"", "low_cpu", 2, NONE, NONE, NONE, NONE, "8"},
        {"unknown", "low_cpu", 1, NONE, NONE, NONE, NONE, "6"}};
    const struct want_change all[] = {
        anna[0], {"train", "low_cpu", 1, 3 * HOUR, NONE, NONE, 300000, "9"}};
    put_runs(w);
    put_prices(w, "0.1");
    expect_changes(w, ANNA, anna, sizeof(anna) / sizeof(anna[0]));
    expect_changes(w,
                   " AND (SELECT text FROM jobname WHERE id = j.name) ="
                   " 'train'",
                   all, sizeof(all) / sizeof(all[0]));
    expect_changes(w, " AND j.user = -1", NULL, 0);
}

/* Without prices no cost is known; the order is that of hours. */
static void test_changes_without_prices(void **state)
{
    struct derive_rig *w = *state;
    const struct want_change anna[] = {
        {"train", "low_cpu", 3, 5 * HOUR, NONE, NONE, NONE, "3"},
        {"fail", "failed", 1, 4 * HOUR, NONE, MIB_HOUR, NONE, "4"},
        {"hint", "lost", 1, NONE, NONE, NONE, NONE, "5"},
        {"", "low_cpu", 2, NONE, NONE, NONE, NONE, "8"},
        {"unknown", "low_cpu", 1, NONE, NONE, NONE, NONE, "6"}};
    put_runs(w);
    expect_changes(w, ANNA, anna, sizeof(anna) / sizeof(anna[0]));
    /* Unused GPUs are before unused CPUs. */
    db_exec(bj_store_db(w->s),
            "UPDATE job SET gpus = 1 WHERE jobid = 4; DELETE FROM job_finding "
            "WHERE job = (SELECT id FROM job WHERE jobid = 2)");
    const struct want_change next[] = {
        {"fail", "failed", 1, 4 * HOUR, HOUR, MIB_HOUR, NONE, "4"},
        {"train", "low_cpu", 2, 3 * HOUR, NONE, NONE, NONE, "3"}};
    expect_changes(w, ANNA " AND j.jobid < 5", next, 2);
}

static int open_store(void **state)
{
    struct derive_rig *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    derive_rig_open(w);
    *state = w;
    return 0;
}

static int close_store(void **state)
{
    derive_rig_close(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wasted),
        cmocka_unit_test_setup_teardown(test_changes, open_store, close_store),
        cmocka_unit_test_setup_teardown(test_changes_without_prices, open_store,
                                        close_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
