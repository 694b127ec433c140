/* The query plans of the API, with a real server and SQLite.  EXPLAIN QUERY
 * PLAN is run for each statement that the server runs for a request: on a store
 * without statistics, as the daemon leaves it, and on one with the statistics
 * of ten million jobs.  A plan may not scan a table or sort, unless a reason is
 * given, and it must use the index that was made for it. */
#include "tests/unit/apiserver/test_api_plans.h"
#include "store/sqlite_probe.h"
#include "tests/unit/apiserver/test_api_rig.h"

enum { JOBS = 12, TEXTS = 64 };

/* --- the server ------------------------------------------------------------
 */

struct texts {
    char *sql[TEXTS];
    unsigned n;
};

static struct {
    struct rig r;
    pthread_mutex_t lock;
    struct texts *now; /* collects statements; under the lock */
    struct texts of[COUNT(plan_requests)];
} rig = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_query(const char *sql)
{
    return strncmp(sql, "SELECT", 6) == 0 || strncmp(sql, "WITH", 4) == 0;
}

static void on_statement(const char *sql)
{
    unsigned i = 0;
    pthread_mutex_lock(&rig.lock);
    struct texts *t = rig.now;
    while (t && i < t->n && strcmp(t->sql[i], sql) != 0)
        i++;
    if (t && i == t->n && i < TEXTS && is_query(sql))
        t->sql[t->n++] = strdup(sql);
    pthread_mutex_unlock(&rig.lock);
}

static unsigned send_request(const struct plan_request *q)
{
    return rig_request(&rig.r, q->user, q->path, q->body);
}

/* --- plans -----------------------------------------------------------------
 */

/* list is "a|b": does the line begin with one of its words, or contain one? */
static bool is_among(const char *line, const char *list, bool anywhere)
{
    while (list && *list) {
        size_t n = strcspn(list, "|");
        if (anywhere ? memmem(line, strlen(line), list, n) != NULL
                     : strncmp(line, list, n) == 0)
            return true;
        list += n + (list[n] == '|');
    }
    return false;
}

static bool is_fine(const struct plan_request *q, const char *line)
{
    bool walk = strncmp(line, "SCAN ", 5) == 0;
    /* Only rows that are equal in the first columns are sorted in memory. */
    bool sort = strstr(line, "TEMP B-TREE") && !strstr(line, "RIGHT PART OF") &&
                !strstr(line, "TERMS OF") && !strstr(line, "TERM OF");
    for (size_t i = 0; i < COUNT(allowed_lines); i++)
        if (is_among(line, allowed_lines[i].line, false))
            return true;
    /* Each execution builds these from a whole table. */
    if (strstr(line, "AUTOMATIC") || strstr(line, "BLOOM FILTER"))
        return false;
    return (!walk && !sort) || is_among(line, q->allowed, false);
}

/* Are the plans of a request right?  If not, why gets the plans. */
static bool has_right_plans(struct bj_db *db, size_t at, struct bj_buf *why)
{
    const struct plan_request *q = &plan_requests[at];
    bool found = q->want_line == NULL, fine = true;
    why->len = 0;
    bj_buf_printf(why, "%s requests %s %s: no plan uses %s\n", q->user, q->path,
                  q->body ? q->body : "", q->want_line ? q->want_line : "-");
    for (unsigned i = 0; i < rig.of[at].n; i++) {
        struct bj_buf sql = {0};
        struct bj_st *st = NULL;
        struct bj_err err = {0};
        bj_buf_printf(&sql, "EXPLAIN QUERY PLAN %s", rig.of[at].sql[i]);
        bj_buf_printf(why, "%.100s ...\n", rig.of[at].sql[i]);
        bj_buf_put(&sql, "", 1);
        if (bj_db_prepare(db, sql.p, &st, &err) < 0)
            fail_msg("%s: %s", rig.of[at].sql[i], err.msg);
        while (bj_st_row(st, NULL) > 0) {
            const char *line = bj_st_get_text(st, 3).p;
            bool good = is_fine(q, line);
            found = found || is_among(line, q->want_line, true);
            fine = fine && good;
            bj_buf_printf(why, "  %s%s\n", line, good ? "" : "  <- !");
        }
        bj_st_finalize(st);
        bj_buf_free(&sql);
    }
    bj_buf_put(why, "", 1);
    return found && fine;
}

static void check_all_plans(struct bj_db *db)
{
    struct bj_buf why = {0};
    unsigned bad = 0;
    for (size_t i = 0; i < COUNT(plan_requests); i++)
        if (!has_right_plans(db, i, &why)) {
            fputs(why.p, stderr);
            bad++;
        }
    bj_buf_free(&why);
    assert_int_equal(bad, 0);
}

static int no_function(void *ctx, const struct bj_value *v,
                       struct bj_value *ret)
{
    (void)ctx;
    (void)v;
    ret->type = BJ_TYPE_INTEGER;
    ret->i64 = 1;
    return 0;
}

/* The store, with the SQL functions of the API. */
static struct bj_db *open_db(void)
{
    static const struct bj_db_function functions[] = {
        {"bj_late", 3, false, no_function, NULL},
        {"bj_faculty", 2, false, no_function, NULL}};
    struct bj_db *db = db_open(rig.r.f.path);
    for (size_t i = 0; i < COUNT(functions); i++)
        assert_int_equal(bj_db_function(db, &functions[i], NULL), 0);
    return db;
}

/* --- tests -----------------------------------------------------------------
 */

static bool was_requested(unsigned endpoint)
{
    bool any = false;
    for (unsigned k = 0; k < BJ_API_CLASSES; k++)
        any = any || rig.r.server.count[endpoint].n[k] > 0;
    return any;
}

/* Every endpoint that reads the store has requests here. */
static void test_all_endpoints_are_requested(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(plan_requests); i++) {
        const struct plan_request *q = &plan_requests[i];
        rig.now = &rig.of[i];
        unsigned status = send_request(q), want = q->status ? q->status : 200;
        if (status != want)
            fail_msg("%s: %u, not %u: %s", q->path, status, want,
                     rig.r.response);
        assert_in_range(rig.of[i].n, 1, TEXTS - 1);
        rig.now = NULL;
    }
    for (unsigned i = 0; rig.r.server.endpoint[i]; i++)
        if ((rig.r.server.endpoint[i]->needs & BJ_NEED_STORE) &&
            !was_requested(i))
            fail_msg("no request for %s", rig.r.server.endpoint[i]->path);
}

/* There are JOBS * 4200 findings, more than are sorted by cost. */
static void test_too_many_to_sort(void **state)
{
    static const struct {
        const char *cursor, *next;
        int rows;
    } pages[] = {{"0", "\"next\":\"100\"", 100},
                 {"49900", "\"next\":null", 100},
                 {"50000", "\"next\":null", 0}};
    (void)state;
    for (size_t i = 0; i < COUNT(pages); i++) {
        char path[200];
        int rows = 0;
        snprintf(path, sizeof(path),
                 "/api/v1/findings?sort=cost&limit=100&cursor=%s&" YEAR,
                 pages[i].cursor);
        assert_int_equal(rig_request(&rig.r, "boss", path, NULL), 200);
        for (const char *p = rig.r.response;
             (p = strstr(p, "\"finding\":")) != NULL; p++)
            rows++;
        assert_int_equal(rows, pages[i].rows);
        assert_non_null(strstr(rig.r.response, pages[i].next));
        assert_non_null(strstr(rig.r.response, "\"partial\":true"));
    }
}

static void test_without_statistics(void **state)
{
    (void)state;
    struct bj_db *db = open_db();
    int64_t n = -1;
    assert_int_equal(
        bj_db_int(db,
                  "SELECT count(*) FROM sqlite_schema WHERE name LIKE "
                  "'sqlite_stat%'",
                  &n, NULL),
        0);
    assert_int_equal(n, 0);
    check_all_plans(db);
    bj_db_close(db);
}

static bool is_used_elsewhere(const char *index)
{
    for (size_t i = 0; i < COUNT(indexes_used_elsewhere); i++)
        if (strcmp(indexes_used_elsewhere[i].name, index) == 0)
            return true;
    return false;
}

/* Without an index, some request must get a wrong plan; if not, the index is
 * useless or a request is missing here. */
static void check_without(struct bj_db *db, const char *index)
{
    struct bj_buf why = {0};
    char sql[128];
    bool same = true;
    snprintf(sql, sizeof(sql), "BEGIN; DROP INDEX \"%s\"", index);
    db_exec(db, sql);
    for (size_t i = 0; i < COUNT(plan_requests) && same; i++)
        same = has_right_plans(db, i, &why);
    bj_db_rollback(db);
    bj_buf_free(&why);
    if (same != is_used_elsewhere(index))
        fail_msg("%s: %s", index, same ? "it is not needed" : "it is needed");
}

static void test_each_index_is_needed(void **state)
{
    static const char sql[] =
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL";
    struct bj_st *st = NULL;
    char names[32][64];
    unsigned n = 0;
    (void)state;
    struct bj_db *db = open_db();
    assert_int_equal(bj_db_prepare(db, sql, &st, NULL), 0);
    while (bj_st_row(st, NULL) > 0 && n < COUNT(names))
        snprintf(names[n++], sizeof(names[0]), "%s", bj_st_get_text(st, 0).p);
    bj_st_finalize(st);
    assert_in_range(n, 10, COUNT(names) - 1);
    while (n > 0)
        check_without(db, names[--n]);
    bj_db_close(db);
}

static void test_with_statistics(void **state)
{
    (void)state;
    struct bj_db *db = open_db();
    db_exec(db, statistics);
    check_all_plans(db);
    bj_db_close(db);
}

/* --- a store ---------------------------------------------------------------
 */

static void put(struct bj_upsert *u, unsigned n)
{
    struct bj_sched_job j;
    char id[16];
    const uint64_t now = bj_clock_wall_usec() / 1000000;
    snprintf(id, sizeof(id), "%u", n);
    bj_sched_job_init(&j);
    j.batch_system = BJ_SLICE("slurm");
    j.jobid = bj_slice_str(id);
    j.user = n % 2 ? BJ_SLICE("lead") : BJ_SLICE("ada");
    j.account = BJ_SLICE("phys");
    j.partition = j.qos = j.name = BJ_SLICE("long");
    j.nodelist = BJ_SLICE("n1");
    j.uid = j.gid = 1000;
    j.state = BJ_STATE_COMPLETED;
    j.submit_sec = j.start_sec = now - 80000 - n;
    j.end_sec = now - 40000;
    j.elapsed_sec = j.end_sec - j.start_sec;
    j.cpus = j.nodes = 1;
    assert_int_equal(bj_upsert_job(u, BJ_SLICE("hal"), &j, NULL), 0);
}

static void fill(void)
{
    struct bj_store *s = store_open(&rig.r.f);
    struct bj_upsert *u = upsert_open(s);
    assert_int_equal(bj_upsert_begin(u, NULL), 0);
    for (unsigned n = 1; n <= JOBS; n++)
        put(u, n);
    assert_int_equal(bj_upsert_commit(u, NULL), 0);
    bj_upsert_free(u);
    bj_store_close(s);
}

/* More findings than the API reads one by one. */
static void put_findings(void)
{
    static const char sql[] =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
        " i < 4200) INSERT INTO finding_rule(name, severity, condition, text)"
        " SELECT 'many', 'info', 'x', i FROM n;"
        "INSERT INTO job_finding(job, rule, value, threshold) SELECT j.id, "
        "r.id, 1, 1 FROM job AS j CROSS"
        " JOIN finding_rule AS r;"
        "INSERT INTO finding_rule(name, severity, condition, text)"
        " VALUES('x', 'info', 'x', 'x')";
    struct bj_err err = {0};
    struct bj_store *s = store_open(&rig.r.f);
    if (bj_db_exec(bj_store_db(s), sql, &err) < 0)
        fail_msg("%s", err.msg);
    bj_store_close(s);
}

static int enter(void **state)
{
    (void)state;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    bj_db_own_threads();
    fixture_open(&rig.r.f);
    fill();
    put_findings();
    bj_probe_all(on_statement);
    rig_open(&rig.r, "--prometheus.url=http://127.0.0.1:9");
    return 0;
}

static int leave(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(plan_requests); i++)
        while (rig.of[i].n > 0)
            free(rig.of[i].sql[--rig.of[i].n]);
    rig_close(&rig.r);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_endpoints_are_requested),
        cmocka_unit_test(test_too_many_to_sort),
        cmocka_unit_test(test_without_statistics),
        cmocka_unit_test(test_each_index_is_needed),
        cmocka_unit_test(test_with_statistics),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
