/* A job in a list equals the same job requested alone.  In the store, each
 * column is absent, zero, negative, large or unusual text in some rows, and
 * equal in some consecutive rows. */
#include "tests/unit/apiserver/test_api_rig.h"

#include "statsdb/job/job_column.h"

enum { JOBS = 200, WHEN = 1700000000, STEP = 40000, KEYS_BYTES = 4096 };

static struct rig rig;

/* --- a store ---------------------------------------------------------------
 */

static void put(struct bj_upsert *u, unsigned n)
{
    struct bj_sched_job j;
    char id[16];
    snprintf(id, sizeof(id), "%u", n);
    bj_sched_job_init(&j);
    j.batch_system = BJ_SLICE("slurm");
    j.jobid = bj_slice_str(id);
    j.user = j.group = j.account = BJ_SLICE("ada");
    j.uid = n % 4 < 2 ? BJ_ABSENT : 1000 + n % 4;
    j.name = j.partition = j.qos = j.work_dir = j.comment = BJ_SLICE("some");
    j.state = BJ_STATE_COMPLETED;
    j.state_raw = BJ_SLICE("COMPLETED");
    j.nodelist = n & 1 ? BJ_SLICE("n1") : BJ_SLICE("n[1-2]");
    j.tres_requested_raw = BJ_SLICE("cpu=1");
    j.submit_sec = WHEN;
    j.start_sec = WHEN + n / 3 * STEP;
    assert_int_equal(bj_upsert_job(u, BJ_SLICE("hal"), &j, NULL), 0);
}

/* Give each column one of five values, repeated in consecutive rows; the number
 * of repetitions differs between columns. */
static void vary(struct bj_db *db, const char *table)
{
    static const char numbers[] =
        "UPDATE \"%s\" SET \"%s\" = CASE rowid / %u %% 5 WHEN 0 THEN NULL WHEN "
        "1 THEN 0 WHEN 2 THEN -3 WHEN 3 THEN 2 ELSE 9223372036854775807 END";
    static const char texts[] =
        "UPDATE \"%s\" SET \"%s\" = CASE rowid / %u %% 5 WHEN 0 THEN NULL WHEN "
        "1 THEN '' WHEN 2 THEN 'a\"' || char(10) WHEN 3 THEN '4711' ELSE "
        "'plain text, more than eight bytes' END";
    struct bj_st *st;
    unsigned n = 0;
    assert_int_equal(
        bj_db_prepare(db,
                      "SELECT name, type = 'TEXT' FROM pragma_table_info("
                      "?1) WHERE name NOT IN ('id', 'job', 'cluster', "
                      "'jobid', 'submit', 'start', 'user', 'state', 'owner', "
                      "'sluid', 'end')",
                      &st, NULL),
        0);
    bj_st_bind_text(st, 1, bj_slice_str(table));
    for (; bj_st_row(st, NULL) > 0; n++) {
        char sql[400];
        const char *name = bj_st_get_text(st, 0).p;
        snprintf(sql, sizeof(sql), bj_st_get_i64(st, 1) ? texts : numbers,
                 table, name, n % 7 + 1);
        db_exec(db, sql);
    }
    assert_true(n > 10);
    bj_st_finalize(st);
}

static void fill(void)
{
    struct bj_store *s = store_open(&rig.f);
    struct bj_upsert *u = upsert_open(s);
    struct bj_db *db;
    assert_int_equal(bj_upsert_begin(u, NULL), 0);
    for (unsigned n = 1; n <= JOBS; n++)
        put(u, n);
    assert_int_equal(bj_upsert_commit(u, NULL), 0);
    bj_upsert_free(u);
    bj_store_close(s);
    db = db_open(rig.f.path);
    db_exec(db, "INSERT OR IGNORE INTO job_more(job) SELECT id FROM job WHERE"
                " id / 5 % 3 > 0");
    assert_int_equal(bj_db_references(db, false, NULL), 0);
    vary(db, "job");
    vary(db, "job_more");
    db_exec(db, "UPDATE job SET \"end\" = start + id % 7 * 9999 WHERE"
                " id / 4 % 3");
    db_exec(db, "UPDATE job SET sluid = 's' || id WHERE id % 3");
    bj_db_close(db);
}

/* --- requests --------------------------------------------------------------
 */

static const char *get_data(const char *path)
{
    unsigned status = rig_request(&rig, "boss", path, NULL);
    if (status != 200)
        fail_msg("%s: %s", path, rig.response);
    const char *data = strstr(rig.response, "\"data\":");
    assert_non_null(data);
    return data + strlen("\"data\":");
}

/* The default keys of lists, separated by commas. */
static void list_keys(char keys[static KEYS_BYTES])
{
    size_t n = 0;
    for (const struct bj_column *k = bj_job_columns; k->name; k++)
        if (k->in == BJ_IN_LISTS)
            n += (size_t)snprintf(keys + n, KEYS_BYTES - n, "%s%s",
                                  n ? "," : "", k->name);
    assert_true(n < KEYS_BYTES);
}

/* Compare each row of a list with the job requested alone; returns the number
 * of rows. */
static unsigned compare(const char *list, const char *keys)
{
    unsigned n = 0;
    static const char begin[] = "{\"key\":\"";
    for (; *list == '[' || *list == ','; n++) {
        char path[KEYS_BYTES + 128];
        list++;
        assert_memory_equal(list, begin, strlen(begin));
        const char *key = list + strlen(begin);
        snprintf(path, sizeof(path), "/api/v1/jobs/%.*s?fields=%s",
                 (int)strcspn(key, "\""), key, keys);
        const char *one = get_data(path) + 1;
        const char *end = strstr(one, "}]}");
        assert_non_null(end);
        size_t len = (size_t)(end - one) + 1;
        if (strncmp(list, one, len) != 0)
            fail_msg("alone: %.*s\nlisted: %.*s", (int)len, one, (int)len,
                     list);
        list += len;
    }
    assert_true(*list == ']');
    return n;
}

static void test_rows(void **state)
{
    static const char *const orders[] = {"asc", "desc"};
    char keys[KEYS_BYTES];
    (void)state;
    list_keys(keys);
    for (size_t i = 0; i < COUNT(orders); i++) {
        char path[200];
        snprintf(path, sizeof(path),
                 "/api/v1/jobs?from=%d&to=%d&limit=%d&order=%s", WHEN - 1,
                 WHEN + JOBS * STEP, JOBS, orders[i]);
        char *list = strdup(get_data(path));
        assert_non_null(list);
        assert_int_equal(compare(list, keys), JOBS);
        free(list);
    }
}

static int open_all(void **state)
{
    (void)state;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    fixture_open(&rig.f);
    fill();
    rig_open(&rig, "--query.max-rows=2000");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
