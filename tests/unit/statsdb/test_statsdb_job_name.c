/* Which jobs the ids and filters of batchjob_acct select, and that the queries
 * use an index. */
#include "tests/unit/statsdb/test_statsdb_acct.h"

/* --- selecting jobs ------------------------------------------------------- */

/* Waiting tasks, of which one has a record; a truncated list; one that is none.
 */
static void populate_waiting(struct acct_rig *w)
{
    struct bj_sched_job j = make_job("7000", "eve", T0 - 200 * DAY);
    j.array_job = 7000;
    j.display_id = BJ_SLICE("7000_[1-10,20-30:5,40%2]");
    j.array_tasks = BJ_SLICE("1-10,20-30:5,40%2");
    put(w, "one", &j);
    j = make_job("7001", "eve", T0 - 200 * DAY);
    j.array_job = 7000;
    j.array_task = 2;
    j.display_id = BJ_SLICE("7000_2");
    put(w, "one", &j);
    j = make_job("7100", "eve", T0 - 200 * DAY);
    j.array_job = 7100;
    j.display_id = BJ_SLICE("7100_[1,...]");
    j.array_tasks = BJ_SLICE("1,...");
    put(w, "one", &j);
    j = make_job("7200", "eve", T0 - 200 * DAY);
    j.array_job = 7200;
    j.display_id = BJ_SLICE("7200_[x]");
    j.array_tasks = BJ_SLICE("x-3,--1,3:,1:0,:,7-");
    put(w, "one", &j);
}

/* A hundred jobs of four users, and some with ids of other shapes. */
static void populate(struct acct_rig *w)
{
    static const char *const users[] = {"ada", "bob", "cid", "dan"};
    char id[16], id_shown[16];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(id, sizeof(id), "%u", 1000 + i);
        snprintf(id_shown, sizeof(id_shown), i >= 90 ? "1090_%u" : "1050+%u",
                 i >= 90 ? i - 90 : i - 50);
        struct bj_sched_job j = make_job(id, users[i % 4], T0 + i * 3600);
        j.account = i % 2 ? BJ_SLICE("math") : BJ_SLICE("physics");
        if (i >= 90 || i == 50 || i == 51)
            j.display_id = bj_slice_str(id_shown);
        if (i >= 90) {
            j.array_job = 1090;
            j.array_task = i - 90;
        }
        if (i == 50 || i == 51) {
            j.het_job = 1050;
            j.het_offset = i - 50;
        }
        if (i == 53) { /* Slurm has skipped an id */
            j.display_id = BJ_SLICE("1050+2");
            j.het_job = 1050;
            j.het_offset = 2;
        }
        if (i == 7)
            j.state = BJ_STATE_OOM;
        put(w, i % 10 == 9 ? "two" : "one", &j);
    }
    struct bj_sched_job j = make_job("5000.pbs.example", "eve", T0);
    put(w, "pbs", &j);
    j = make_job("5001[3].pbs.example", "eve", T0 + 1);
    put(w, "pbs", &j);
    j = make_job("50001.pbs.example", "eve", T0 + 2);
    put(w, "pbs", &j);
    j = make_job("6000", "eve", T0 - 100 * DAY); /* has run for a long time */
    j.state = BJ_STATE_RUNNING;
    j.end_sec = BJ_ABSENT;
    put(w, "one", &j);
    populate_waiting(w);
    j = make_job("6001", "eve", BJ_ABSENT);
    j.state = BJ_STATE_PENDING;
    j.submit_sec = T0 + 5;
    j.start_sec = j.end_sec = j.elapsed_sec = BJ_ABSENT;
    put(w, "one", &j);
}

static const struct filter_case found[] = {
    {.user = "ada", .n = 25},
    {.user = "ada", .limit = 2, .want = "1090_6 1090_2", .n = 2},
    {.user = "ada", .since = T0 + 90 * 3600, .n = 2},
    {.user = "ada", .until = T0 + 3600, .want = "1000", .n = 1},
    {.user = "ada,bob", .n = 50, .sorted = true},
    {.user = " ada , ,bob", .n = 50, .sorted = true},
    {.user = "nobody", .n = 0},
    {.user = "ada", .account = "math", .n = 0},
    {.user = "ada", .account = "physics", .n = 25},
    {.account = "physics", .n = 50},
    {.account = "physics", .cluster = "two", .n = 0},
    {.cluster = "two", .n = 10},
    {.partition = "cpu", .limit = 3, .n = 3},
    {.partition = "gpu", .n = 0},
    {.state = "oom", .want = "1007", .n = 1},
    {.state = "OUT_OF_MEMORY", .want = "1007", .n = 1},
    {.state = "OOM,running", .n = 2},
    {.state = "running", .want = "6000", .n = 1, .sorted = true},
    {.state = "running,PENDING", .want = "6001 6000", .n = 2, .sorted = true},
    {.state = "running", .user = "ada", .n = 0, .sorted = true},
    {.since = T0 + 98 * 3600, .want = "1090_9 1090_8", .n = 2},
    {.job = "1003", .want = "1003", .n = 1, .sorted = true},
    {.job = "1003,1005", .want = "1005 1003", .n = 2, .sorted = true},
    {.job = "1003", .user = "ada", .n = 0, .sorted = true},
    {.job = "1090", .n = 10, .sorted = true},
    {.job = "1090_4", .want = "1090_4", .n = 1, .sorted = true},
    {.job = "1090_[1-3,7]",
     .want = "1090_7 1090_3 1090_2 1090_1",
     .n = 4,
     .sorted = true},
    {.job = "1090_[0-9:4%2]",
     .want = "1090_8 1090_4 1090_0",
     .n = 3,
     .sorted = true},
    {.job = "1090_[20-30]", .n = 0, .sorted = true},
#define WAITING "7000_[1-10,20-30:5,40%2]"
    {.job = "7000_1", .want = WAITING, .n = 1, .sorted = true},
    {.job = "7000_2", .want = "7000_2", .n = 1, .sorted = true},
    {.job = "7000_10", .want = WAITING, .n = 1, .sorted = true},
    {.job = "7000_11", .n = 0, .sorted = true},
    {.job = "7000_0", .n = 0, .sorted = true},
    {.job = "7000_25", .want = WAITING, .n = 1, .sorted = true},
    {.job = "7000_26", .n = 0, .sorted = true},
    {.job = "7000_40", .want = WAITING, .n = 1, .sorted = true},
    {.job = WAITING, .n = 2, .sorted = true}, /* and task 2 */
    {.job = "7100_9", .want = "7100_[1,...]", .n = 1, .sorted = true},
    {.job = "7200_1", .n = 0, .sorted = true},
    {.job = "7200_3", .n = 0, .sorted = true},
    {.job = "7200_7", .n = 0, .sorted = true},
    {.job = "1050", .want = "1050+2 1050+1 1050+0", .n = 3, .sorted = true},
    {.job = "1050+1", .want = "1050+1", .n = 1, .sorted = true},
    {.job = "1050+2", .want = "1050+2", .n = 1, .sorted = true},
    {.job = "one:1003:1700010790", .want = "1003", .n = 1, .sorted = true},
    {.job = "two:1003:1700010790", .n = 0, .sorted = true},
    {.job = "pbs:5001[3].pbs.example:1699999991",
     .want = "5001[3].pbs.example",
     .n = 1,
     .sorted = true},
    {.job = "1003.batch", .want = "1003", .n = 1, .sorted = true},
    {.job = "1090_4.0", .want = "1090_4", .n = 1, .sorted = true},
    {.job = "1050+1.extern", .want = "1050+1", .n = 1, .sorted = true},
    {.job = "1003.nonsense", .n = 0, .sorted = true},
    {.job = "1049+1", .n = 0, .sorted = true},
    {.job = "5000", .want = "5000.pbs.example", .n = 1, .sorted = true},
    {.job = "5000.pbs", .want = "5000.pbs.example", .n = 1, .sorted = true},
    {.job = "5001", .want = "5001[3].pbs.example", .n = 1, .sorted = true},
    {.job = "5001[3].pbs.example",
     .want = "5001[3].pbs.example",
     .n = 1,
     .sorted = true},
    {.job = "500", .n = 0, .sorted = true},
    {.job = "';DROP TABLE job;--", .n = 0, .sorted = true},
    {.user = "a' OR 1=1 --", .n = 0},
    {.job = "9223372036854775807", .n = 0, .sorted = true},
    {.job = "99999999999999999999", .n = 0, .sorted = true},
};

static void test_find(void **state)
{
    struct acct_rig *w = *state;
    struct bj_err err = {0};
    populate(w);
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        const struct filter_case *a = &found[i];
        struct bj_acct_filter f = make_filter(a);
        struct bj_acct_ids ids;
        if (bj_acct_find(w->s, &f, &ids, &err) < 0)
            fail_msg("case %zu: %s", i, err.msg);
        if (ids.n != a->n || (w->sorts > 0 && !a->sorted))
            fail_msg("case %zu: %zu jobs, %d sorts", i, ids.n, w->sorts);
        struct bj_buf got = {0};
        for (size_t k = 0; a->want && k < ids.n; k++) {
            char sql[96];
            snprintf(sql, sizeof(sql),
                     "SELECT display_id FROM job_v WHERE id = %lld",
                     (long long)ids.v[k]);
            char *text = query(w->s, sql);
            bj_buf_printf(&got, "%s%.*s", k ? " " : "", (int)strlen(text) - 1,
                          text);
            free(text);
        }
        bj_buf_put(&got, "", 1);
        if (a->want)
            assert_string_equal(got.p, a->want);
        bj_buf_free(&got);
        free(ids.v);
    }
    struct filter_case bad = {.state = "tired"};
    struct bj_acct_filter f = make_filter(&bad);
    struct bj_acct_ids ids;
    assert_int_equal(bj_acct_find(w->s, &f, &ids, &err), -EINVAL);
    assert_string_equal(
        err.msg, "state: unknown state 'tired'; expected unknown, pending, "
                 "running, suspended, completed, failed, cancelled, timeout, "
                 "oom, node_fail, preempted, requeued, deadline, boot_fail, "
                 "resized, ended, all, or a state of Slurm");
}

/* Filters by user, account, time and ids use an index and read only matching
 * jobs. */
static void test_no_scan(void **state)
{
    static const struct filter_case filters[] = {
        {.user = "ada", .since = T0 + 50 * 3600},
        {.user = "ada,bob", .since = T0 + 50 * 3600},
        {.account = "math", .until = T0},
        {.since = T0 + 90 * 3600},
        {.job = "1090"},
        {.job = "1090_4,1050+1,5000,5000.pbs.example"},
        {.state = "running,pending"},
        {.state = "running", .cluster = "one"},
        {.user = "ada", .partition = "cpu", .state = "oom", .account = "x"},
    };
    struct acct_rig *w = *state;
    populate(w);
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        struct bj_acct_filter f = make_filter(&filters[i]);
        struct bj_acct_ids ids;
        assert_int_equal(bj_acct_find(w->s, &f, &ids, NULL), 0);
        /* these scan the table of clusters, which is small */
        if (w->scans > 40)
            fail_msg("case %zu: %d steps of scans", i, w->scans);
        free(ids.v);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_find),
        TEST(test_no_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
