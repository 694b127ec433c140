/* Three stores that get the same records, and whose rows are compared: SQLite,
 * PostgreSQL that stores jobs one by one, and PostgreSQL that gathers jobs. */
#ifndef BJ_TESTS_UNIT_STATSDB_TEST_STATSDB_STORES_H
#define BJ_TESTS_UNIT_STATSDB_TEST_STATSDB_STORES_H

#include "tests/unit/statsdb/test_server.h"
#include "tests/unit/statsdb/test_statsdb.h"

static uint64_t seed;
static inline uint64_t rnd(uint64_t n)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % n;
}

enum { SQLITE, ONE_BY_ONE, GATHERED, STORES };

struct stores {
    struct fixture f;
    struct bj_store *store[STORES];
    struct bj_upsert *upsert[STORES];
};

static inline struct bj_store *open_postgres(const char *database)
{
    char url[300];
    char sql[120];
    const char *tail = strstr(server.url, "/store?");
    struct bj_err err = {0};
    struct bj_store *s = NULL;
    assert_non_null(tail);
    snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS %s WITH (FORCE)",
             database);
    pgserver_sql(&server, sql);
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s", database);
    pgserver_sql(&server, sql);
    snprintf(url, sizeof(url), "%.*s/%s%s", (int)(tail - server.url),
             server.url, database, tail + strlen("/store"));
    if (bj_store_open(&(struct bj_store_options){.path = url}, &s, &err) < 0)
        fail_msg("%s: %s", url, err.msg);
    return s;
}

static inline void open_all(struct stores *w)
{
    fixture_open(&w->f);
    w->store[SQLITE] = store_open(&w->f);
    w->store[ONE_BY_ONE] = open_postgres("one_by_one");
    w->store[GATHERED] = open_postgres("gathered");
    for (int i = 0; i < STORES; i++)
        w->upsert[i] = upsert_open(w->store[i]);
    bj_upsert_gather(w->upsert[ONE_BY_ONE], false);
}

static inline void close_all(struct stores *w)
{
    for (int i = 0; i < STORES; i++) {
        bj_upsert_free(w->upsert[i]);
        bj_store_close(w->store[i]);
    }
    fixture_close(&w->f);
}

/* Append the rows of a query, without the first column, a number that differs
 * between the stores. */
static inline void dump_rows(struct bj_store *s, const char *sql,
                             struct bj_buf *to)
{
    struct bj_st *st;
    struct bj_err err = {0};
    int r;
    if (bj_db_prepare(bj_store_db(s), sql, &st, &err) < 0)
        fail_msg("%s: %s", sql, err.msg);
    while ((r = bj_st_row(st, &err)) > 0) {
        for (int i = 1; i < bj_st_columns(st); i++) {
            struct bj_slice v = bj_st_get_text(st, i);
            bj_buf_printf(to, "%s=%.*s|", bj_st_column_name(st, i), (int)v.n,
                          v.p ? v.p : "");
        }
        bj_buf_str(to, "\n");
    }
    if (r < 0)
        fail_msg("%s: %s", sql, err.msg);
    bj_st_finalize(st);
}

/* Only PostgreSQL lists new jobs in derive_todo. A job that ends and runs again
 * in one batch is listed only if it is stored in between. */
static inline char *dump(struct bj_store *s, bool todo)
{
    static const char *const sql[] = {
        "SELECT v.* FROM job_v AS v JOIN job AS j ON j.id = v.id ORDER BY"
        " v.cluster, CAST(v.jobid AS TEXT), j.submit",
        "SELECT s.*, v.cluster, v.jobid, v.submit_sec FROM step_v AS s JOIN"
        " job_v AS v ON v.id = s.job JOIN job AS j ON j.id = v.id ORDER BY"
        " v.cluster, CAST(v.jobid AS TEXT), j.submit, s.step_id",
        "SELECT z.*, v.cluster, v.jobid, v.submit_sec FROM job_size_v AS z JOIN"
        " job_v AS v ON v.id = z.job JOIN job AS j ON j.id = v.id ORDER BY"
        " v.cluster, CAST(v.jobid AS TEXT), j.submit, z.number",
        "SELECT d.id, c.name AS cluster, a.name AS account, u.name AS person,"
        " p.name AS part, d.month, d.day, d.jobs_started, d.jobs_ended,"
        " d.jobs_completed, d.jobs_failed, d.jobs_cancelled, d.jobs_timeout,"
        " d.jobs_oom, d.wait_sec, d.elapsed_sec, d.node_sec, d.cpu_sec,"
        " d.gpu_sec, d.mem_mib_sec, d.cpu_used_msec, d.cpu_unknown_sec,"
        " d.energy_scheduler_joules, d.energy_cpu_sec FROM rollup_usage AS d "
        "JOIN"
        " assoc AS s ON s.id = d.assoc JOIN cluster AS c ON c.id = s.cluster"
        " JOIN account AS a ON a.id = s.account JOIN user AS u ON u.id = s.user"
        " JOIN partition AS p ON p.id = s.partition ORDER BY 2, 3, 4, 5, 6, 7",
        "SELECT 0, h.name, t.text FROM hosts_host AS x JOIN host AS h ON h.id ="
        " x.host JOIN hosts AS t ON t.id = x.hosts ORDER BY 2, 3",
        "SELECT 0, t.text, i.item, i.type, i.name, i.model, i.count FROM"
        " tres_item AS i JOIN tres AS t ON t.id = i.tres ORDER BY 2, 3",
        "SELECT 0, text FROM word ORDER BY 2",
        "SELECT 0, text FROM jobname ORDER BY 2",
        "SELECT 0, uid, gid, grp FROM owner ORDER BY coalesce(uid, -1),"
        " coalesce(gid, -1), grp",
        "SELECT 0, j.jobid, j.submit FROM derive_todo AS t JOIN job AS j ON"
        " j.id = t.job WHERE j.\"end\" IS NOT NULL ORDER BY CAST(j.jobid AS"
        " TEXT), j.submit, j.cluster"};
    struct bj_buf out = {0};
    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]) - !todo; i++)
        dump_rows(s, sql[i], &out);
    bj_buf_put(&out, "", 1);
    assert_false(out.failed);
    return out.p;
}

/* If two texts differ, fail and show the first difference. */
static inline void assert_same_text(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    size_t from = i < 200 ? 0 : i - 200;
    if (a[i] != b[i])
        fail_msg("%.300s\n\n%.300s", a + from, b + from);
}

static inline void same_stores(struct stores *w, int first)
{
    char *text[STORES];
    for (int i = first; i < STORES; i++)
        text[i] = dump(w->store[i], first != SQLITE);
    assert_true(strlen(text[first]) > 1000);
    for (int i = first + 1; i < STORES; i++) {
        assert_same_text(text[first], text[i]);
        free(text[i]);
    }
    free(text[first]);
}

static inline void same_counts(struct stores *w, int first)
{
    const struct bj_upsert_counts *a = bj_upsert_counts(w->upsert[first]);
    for (int i = first + 1; i < STORES; i++) {
        const struct bj_upsert_counts *b = bj_upsert_counts(w->upsert[i]);
        assert_int_equal(a->jobs_new, b->jobs_new);
        assert_int_equal(a->jobs_changed, b->jobs_changed);
        assert_int_equal(a->jobs_same, b->jobs_same);
        assert_int_equal(a->steps_new, b->steps_new);
        assert_int_equal(a->steps_changed, b->steps_changed);
        assert_int_equal(a->steps_same, b->steps_same);
    }
}

#endif
