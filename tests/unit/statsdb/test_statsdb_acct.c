/* batchjob_acct: the output as a table, list, CSV and JSON. */
#include "tests/unit/statsdb/test_statsdb_acct.h"

#include "acct/running.h"

/* --- output --------------------------------------------------------------- */

static int write_row(void *ctx, const struct bj_acct_row *row,
                     struct bj_err *err)
{
    return bj_acct_out_row(ctx, row, err);
}

static char *shown(struct acct_rig *w, const char *format,
                   enum bj_acct_form form, unsigned width, bool colour)
{
    const struct bj_column *column[BJ_ACCT_COLUMNS_MAX];
    struct bj_acct_look look = {.form = form,
                                .column = column,
                                .header = true,
                                .colour = colour,
                                .width = width};
    struct bj_err err = {0};
    struct bj_strv names = value_list(&format);
    struct bj_acct_out *out;
    char *text = NULL;
    size_t len;
    if (bj_acct_format(&names, column, &look.columns, &err) < 0)
        fail_msg("%s", err.msg);
    look.to = open_memstream(&text, &len);
    assert_non_null(look.to);
    assert_int_equal(bj_acct_out_new(&look, &out, &err), 0);
    struct filter_case all = {.user = NULL};
    struct bj_acct_query q = {make_filter(&all), column, look.columns};
    struct bj_acct_source from;
    if (bj_acct_store_open(w->f.path, false, &from, &err) < 0 ||
        from.jobs(from.source, &q, write_row, out, &err) < 0)
        fail_msg("%s", err.msg);
    from.close(from.source);
    assert_int_equal(bj_acct_out_end(out, &err), 0);
    bj_acct_out_free(out);
    fclose(look.to);
    return text;
}

static void expect_shown(struct acct_rig *w, const char *format,
                         enum bj_acct_form form, const char *want)
{
    char *got = shown(w, format, form, 0, false);
    assert_string_equal(got, want);
    free(got);
}

/* A job that used 160 s of 4 x 50 s of CPU time, 3 GiB of 2 GiB of memory and
 * 50 s of a limit of 100 s. */
static void put_used(struct acct_rig *w)
{
    struct bj_sched_job j = make_job("1", "ada", T0);
    j.elapsed_sec = 50;
    j.end_sec = T0 + 60;
    j.suspended_sec = 10;
    j.time_limit_sec = 100;
    j.cpus = 4;
    j.nodes = 2;
    j.use.cpu_usec = 160000000;
    j.use.mem_task_peak_bytes = 1 << 30;
    j.use.mem_peak_bytes = 3ull << 30;
    j.mem_requested_bytes = 2ull << 30;
    j.use.energy_joules = 7200;
    put(w, "one", &j);
    /* A job without any values, and one that still runs. */
    bj_sched_job_init(&j);
    j.jobid = BJ_SLICE("2");
    j.submit_sec = T0 - 1;
    put(w, "one", &j);
    j = make_job("3", "bob", T0 - 2);
    j.state = BJ_STATE_RUNNING;
    j.end_sec = BJ_ABSENT;
    j.time_limit_sec = BJ_UNLIMITED;
    j.cpus = 4;
    j.use.cpu_usec = 0;
    put(w, "one", &j);
}

static void test_values(void **state)
{
    struct acct_rig *w = *state;
    put_used(w);
    expect_shown(w, "jobid,CPUEff,MEMEFF,TimeEff,Energy,energy_source",
                 BJ_ACCT_CSV,
                 "jobid,cpu_efficiency_percent,memory_efficiency_percent,"
                 "time_efficiency_percent,energy_joules,energy_source\r\n"
                 "1,80,150,50,7200,scheduler\r\n2,,,,,\r\n3,,,,,\r\n");
    expect_shown(w, "JobID,Timelimit,Start,TotalCPU,PeakMem", BJ_ACCT_CSV,
                 "display_id,time_limit_seconds,start,cpu_used_seconds,"
                 "memory_peak_bytes\r\n"
                 "1,100,2023-11-14T22:13:20Z,160,3221225472\r\n2,,,,\r\n"
                 "3,,2023-11-14T22:13:18Z,,\r\n");
    expect_shown(
        w, "JobID, CPUEff, MemEff, PeakMem, Energy, Timelimit, Start",
        BJ_ACCT_TABLE,
        "JobID  CPUEff  MemEff  PeakMem  Energy  Timelimit  Start (UTC)\n"
        "1        80 %   150 %    3 GiB    2 Wh   00:01:40  "
        "2023-11-14T22:13:20\n"
        "2                                                  \n"
        "3                                       unlimited  "
        "2023-11-14T22:13:18\n");
    expect_shown(w, "JobID,User,CPUEff,MemEff,Timelimit,State", BJ_ACCT_LIST,
                 "JobID      1\nUser       ada\nCPUEff     80 %\n"
                 "MemEff     150 %\nTimelimit  00:01:40\n"
                 "State      completed\n\n"
                 "JobID      2\nState      unknown\n\n"
                 "JobID      3\nUser       bob\nTimelimit  unlimited\n"
                 "State      running\n");
    expect_shown(w, "JobID,NCPUS,MemEff,Timelimit,End", BJ_ACCT_JSON,
                 "[\n{\"display_id\":\"1\",\"cpus\":4,"
                 "\"memory_efficiency_percent\":150,"
                 "\"time_limit_seconds\":100,"
                 "\"end\":\"2023-11-14T22:14:20Z\"},\n"
                 "{\"display_id\":\"2\",\"cpus\":null,"
                 "\"memory_efficiency_percent\":null,"
                 "\"time_limit_seconds\":null,"
                 "\"end\":null},\n{\"display_id\":\"3\",\"cpus\":4,"
                 "\"memory_efficiency_percent\":null,"
                 "\"time_limit_seconds\":null,\"end\":null}\n]\n");
}

/* --- running jobs --------------------------------------------------------- */

enum { IMPORTED = T0 + 100 };

struct running_case {
    const char *jobid, *cluster;
    enum bj_job_state state;
    uint64_t suspended, elapsed;
    int64_t want, want_cpu; /* at T0 + 200; -1: unknown */
};

static const struct running_case running_cases[] = {
    {"1", "one", BJ_STATE_RUNNING, 10, 50, 190, 760},
    /* where the suspended time is unknown, the time since the import */
    {"2", "one", BJ_STATE_RUNNING, BJ_ABSENT, 50, 150, 600},
    {"3", "one", BJ_STATE_RUNNING, BJ_ABSENT, BJ_ABSENT, -1, -1},
    {"4", "one", BJ_STATE_RUNNING, 0, BJ_ABSENT, 200, -1},
    {"5", "one", BJ_STATE_SUSPENDED, 10, 50, 50, 200},
    {"6", "one", BJ_STATE_COMPLETED, 0, 50, 50, 200},
    /* never less than what was imported */
    {"7", "one", BJ_STATE_RUNNING, 10, 300, 300, 1200},
    /* this cluster was imported long ago, or never */
    {"8", "two", BJ_STATE_RUNNING, 10, 50, 50, 200},
    {"9", "new", BJ_STATE_RUNNING, 10, 50, 50, 200},
};

enum { RUNNING_CASES = sizeof(running_cases) / sizeof(running_cases[0]) };

struct running_check {
    struct bj_acct_running *running;
    int64_t now;
    unsigned rows;
};

static int on_running(void *ctx, const struct bj_acct_row *row,
                      struct bj_err *err)
{
    struct running_check *k = ctx;
    const bool late = k->now > IMPORTED + 600;
    struct bj_acct_row now;
    struct bj_job_value id, v[2];
    assert_int_equal(bj_acct_running_row(k->running, row, k->now, &now, err),
                     0);
    assert_int_equal(now.value(now.ctx, 0, &id, err), 0);
    for (size_t i = 0; i < RUNNING_CASES; i++) {
        const struct running_case *c = &running_cases[i];
        if (!bj_slice_eq(id.text, bj_slice_str(c->jobid)))
            continue;
        const int64_t stored =
            c->elapsed == BJ_ABSENT ? -1 : (int64_t)c->elapsed;
        for (unsigned n = 0; n < 2; n++)
            assert_int_equal(now.value(now.ctx, n + 1, &v[n], err), 0);
        assert_int_equal(v[0].known ? v[0].number : -1,
                         late ? stored : c->want);
        assert_int_equal(v[1].known ? v[1].number : -1, !late ? c->want_cpu
                                                        : stored < 0
                                                            ? -1
                                                            : 4 * stored);
        k->rows++;
        return 0;
    }
    return 0;
}

static void check_running(struct acct_rig *w, int64_t now)
{
    const char *text = "jobid,Elapsed,CPUTime";
    const struct bj_column *column[BJ_ACCT_COLUMNS_MAX];
    struct bj_strv names = value_list(&text);
    struct filter_case all = {.user = NULL};
    struct bj_acct_query q = {.filter = make_filter(&all)};
    struct bj_err err = {0};
    struct running_check k = {.now = now};
    struct bj_acct_source from;
    unsigned n = 0;
    assert_int_equal(bj_acct_format(&names, column, &n, &err), 0);
    assert_int_equal(bj_acct_store_open(w->f.path, false, &from, &err), 0);
    assert_int_equal(bj_acct_running_new(&from, column, n, &k.running, &err),
                     0);
    q.columns = bj_acct_running_columns(k.running, &q.column);
    if (from.jobs(from.source, &q, on_running, &k, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(k.rows, RUNNING_CASES);
    bj_acct_running_free(k.running);
    from.close(from.source);
}

/* The time of a running job counts until now, unless its cluster was not
 * imported for ten minutes. */
static void test_running(void **state)
{
    struct acct_rig *w = *state;
    for (size_t i = 0; i < RUNNING_CASES; i++) {
        const struct running_case *c = &running_cases[i];
        struct bj_sched_job j = make_job(c->jobid, "ada", T0);
        j.state = c->state;
        if (c->state != BJ_STATE_COMPLETED)
            j.end_sec = BJ_ABSENT;
        j.suspended_sec = c->suspended;
        j.elapsed_sec = c->elapsed;
        j.cpus = 4;
        put(w, c->cluster, &j);
    }
    struct bj_db *db = db_open(w->f.path);
    db_exec(db, "INSERT INTO covered(cluster, source, from_sec, to_sec)"
                " VALUES('one', 'sacct', 0, 1700000100),"
                " ('two', 'sacct', 0, 1699999000)");
    bj_db_close(db);
    check_running(w, T0 + 200);
    check_running(w, IMPORTED + 601);
}

/* Counts have separators of thousands; ids do not. */
static void test_counts(void **state)
{
    struct acct_rig *w = *state;
    struct bj_sched_job j = make_job("1234567", "ada", T0);
    j.cpus = 12345;
    j.uid = 100200;
    j.priority = 4294901;
    put(w, "one", &j);
    expect_shown(w, "JobID,UID,NCPUS,Priority", BJ_ACCT_TABLE,
                 "JobID       UID   NCPUS   Priority\n"
                 "1234567  100200  12,345  4,294,901\n");
    expect_shown(w, "JobID,NCPUS", BJ_ACCT_CSV,
                 "display_id,cpus\r\n1234567,12345\r\n");
}

/* An end time after the year 9999 is shown as the last second of 9999. */
static void test_far(void **state)
{
    struct acct_rig *w = *state;
    struct bj_sched_job j = make_job("1", "ada", T0);
    j.end_sec = 10000000000000;
    put(w, "one", &j);
    expect_shown(w, "End", BJ_ACCT_CSV, "end\r\n9999-12-31T23:59:59Z\r\n");
    expect_shown(w, "End", BJ_ACCT_TABLE, "End (UTC)\n9999-12-31T23:59:59\n");
}

static void record(struct acct_rig *w, const char *host, uint64_t start,
                   const char *energy)
{
    struct bj_err err = {0};
    struct bj_records *r;
    char text[512];
    snprintf(text, sizeof(text),
             "{\"format\":1,\"cluster\":\"one\",\"host\":\"%s\","
             "\"batch_system\":\"slurm\",\"jobid\":\"1\",\"start\":%llu,"
             "\"end\":%llu,\"energy_uj\":{\"hybrid\":{%s},"
             "\"usage\":{\"cpu\":999000000}},\"energy_policy\":\"hybrid\"}",
             host, (unsigned long long)start, (unsigned long long)start + 60,
             energy);
    if (bj_records_new(w->s, &r, &err) < 0 || bj_records_begin(r, &err) < 0 ||
        bj_record_put(r, BJ_SLICE("one"), "x", bj_slice_str(text), &err) < 0 ||
        bj_records_commit(r, &err) < 0)
        fail_msg("%s", err.msg);
    bj_records_free(r);
}

/* The energy that nodes measured is shown even if not all of them measured it;
 * an earlier run with the same job id has its own. */
static void test_energy(void **state)
{
    static const char format[] =
        "jobid,Start,EnergyNodes,EnergyMeasured,EnergyScheduler";
    static const char head[] =
        "jobid,start,energy_measured_nodes,energy_measured_joules,"
        "energy_scheduler_joules\r\n";
    struct acct_rig *w = *state;
    char want[512];
    struct bj_sched_job j = make_job("1", "ada", T0);
    j.nodes = 2;
    j.use.energy_joules = 7200;
    put(w, "one", &j);
    j = make_job("1", "ada", T0 - 1000);
    j.nodes = 1;
    put(w, "one", &j);
    record(w, "n1", T0, "\"cpu\":5000000,\"dram\":1500000");
    snprintf(want, sizeof(want),
             "%s1,2023-11-14T22:13:20Z,1,6.5,7200\r\n"
             "1,2023-11-14T21:56:40Z,,,\r\n",
             head);
    expect_shown(w, format, BJ_ACCT_CSV, want);
    record(w, "n2", T0, "\"cpu\":5000000");
    record(w, "n2", T0 - 1000, "\"cpu\":3000000");
    snprintf(want, sizeof(want),
             "%s1,2023-11-14T22:13:20Z,2,11.5,7200\r\n"
             "1,2023-11-14T21:56:40Z,1,3,\r\n",
             head);
    expect_shown(w, format, BJ_ACCT_CSV, want);
}

/* Derived values are preferred to those of accounting. */
static void test_derived(void **state)
{
    struct acct_rig *w = *state;
    struct bj_err err = {0};
    struct bj_sched_job j = make_job("1", "ada", T0);
    j.nodes = 1;
    j.use.energy_joules = 7200;
    put(w, "one", &j);
    if (bj_db_exec(
            bj_store_db(w->s),
            "INSERT INTO job_use(job, sources, coverage_ppm, gpu_idle_usec,"
            " cpu_efficiency_ppm, cpu_efficiency_source, gpu_efficiency_ppm,"
            " energy_source, energy_uj,"
            " energy_used_uj, counted_cpu_sec, counted_start, counted_end)"
            " VALUES(1, 0, 987654, 90500000, 1234567, 1, 250000, 2, 3600000000,"
            " 3000000000, 0, 0, 0);"
            "INSERT INTO job_grams VALUES(1, 1, 1234567, 1800000000, 0),"
            " (1, 2, 42, 3600000000, 1); INSERT INTO finding_rule(id, name, "
            "severity, condition, text) VALUES"
            " (1, 'cpu_low', 'warning', 'c', 't'), (2, 'oom', 'critical', 'c',"
            " 't'); INSERT INTO job_finding(job, rule) VALUES(1, 1), (1, 2)",
            &err) < 0)
        fail_msg("%s", err.msg);
    expect_shown(w,
                 "CPUEff,GPUEff,GPUIdle,Coverage,Energy,EnergySource,"
                 "EnergyUsed,CO2,CO2Marginal,CO2Covered,Findings,FindingNames",
                 BJ_ACCT_CSV,
                 "cpu_efficiency_percent,gpu_efficiency_percent,"
                 "gpu_idle_seconds,coverage_percent,energy_joules,"
                 "energy_source,energy_used_joules,emissions_grams,"
                 "emissions_marginal_grams,emissions_covered_percent,"
                 "findings,finding_names\r\n123.4567,25,90.5,98.7654,3600,"
                 "prometheus,3000,1.234567,0.000042,50,2,"
                 "\"oom,cpu_low\"\r\n");
    expect_shown(w, "Energy,CO2,CO2Marginal", BJ_ACCT_TABLE,
                 "Energy     CO2  CO2Marginal\n"
                 "  1 Wh  1.23 g   0.000042 g\n");
}

static void test_hostile(void **state)
{
    struct acct_rig *w = *state;
    struct bj_sched_job j = make_job("1", "ada", T0);
    j.name = BJ_SLICE("=1+\"x\",\n\033[2J\xff\\");
    put(w, "one", &j);
    j = make_job("2", "bob", T0 - 1);
    j.name = BJ_SLICE("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4"
                      "\xc3\xb6\xc3\xbc");
    put(w, "one", &j);
    expect_shown(w, "JobName", BJ_ACCT_CSV,
                 "name\r\n\"'=1+\"\"x\"\",??[2J\xef\xbf\xbd\\\"\r\n"
                 "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4"
                 "\xc3\xb6\xc3\xbc\r\n");
    expect_shown(
        w, "JobName", BJ_ACCT_JSON,
        "[\n{\"name\":\"=1+\\\"x\\\",\\n\\u001b[2J\xef\xbf\xbd\\\\\"},\n"
        "{\"name\":\"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc"
        "\xc3\xa4\xc3\xb6\xc3\xbc\"}\n]\n");
    char *got = shown(w, "JobName,State,User", BJ_ACCT_TABLE, 24, false);
    assert_string_equal(got, "JobName  State      User\n"
                             "=1+\"x\"+  completed  ada\n"
                             "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc+"
                             "  completed  bob\n");
    free(got);
    got = shown(w, "State,User", BJ_ACCT_TABLE, 80, true);
    assert_string_equal(got, "State      User\n"
                             "\033[32mcompleted\033[0m  ada\n"
                             "\033[32mcompleted\033[0m  bob\n");
    free(got);
}

/* Column widths come from the first rows of a table; later rows keep them. */
static void test_many(void **state)
{
    struct acct_rig *w = *state;
    char id[16];
    for (unsigned i = 0; i < 1500; i++) {
        snprintf(id, sizeof(id), "%u", 1000 + i);
        struct bj_sched_job j = make_job(id, "ada", T0 + i);
        if (i == 3)
            j.user = BJ_SLICE("somebody_with_a_long_name");
        put(w, "one", &j);
    }
    char *got = shown(w, "JobID,User,State", BJ_ACCT_TABLE, 20, false);
    unsigned lines = 0;
    for (char *p = got; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, 1501);
    assert_non_null(strstr(got, "\n1003   som+  completed\n"));
    free(got);
}

/* The columns of --format=all: those with a title. */
static unsigned titled(void)
{
    unsigned n = 0;
    for (const struct bj_column *c = bj_job_columns; c->name; c++)
        n += c->title != NULL;
    return n;
}

static void test_format(void **state)
{
    const struct {
        const char *text;
        int code;
        unsigned n;
        const char *msg;
    } cases[] = {
        {"JobID", 0, 1, NULL},
        {"jobid , USER", 0, 2, NULL},
        {"all", 0, titled(), NULL},
        {"", -EINVAL, 0, "format: no column"},
        {"JobID,,User", -EINVAL, 0, "format: unknown column ''; see --help"},
        {"Job", -EINVAL, 0, "format: unknown column 'Job'; see --help"},
        {"AllocCPUS, jobname%30, JobID%-8", 0, 3, NULL},
        {"JobNam%30", -EINVAL, 0,
         "format: unknown column 'JobNam%30'; see --help"},
        {"all,all,all", -EINVAL, 0, "format: more than 128 columns"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct bj_column *column[BJ_ACCT_COLUMNS_MAX];
        struct bj_err err = {0};
        unsigned n = 0;
        struct bj_strv names = value_list(&cases[i].text);
        assert_int_equal(bj_acct_format(&names, column, &n, &err),
                         cases[i].code);
        if (cases[i].code < 0)
            assert_string_equal(err.msg, cases[i].msg);
        else
            assert_int_equal(n, cases[i].n);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values),  TEST(test_energy),  TEST(test_derived),
        TEST(test_hostile), TEST(test_many),    TEST(test_counts),
        TEST(test_far),     TEST(test_running), cmocka_unit_test(test_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
