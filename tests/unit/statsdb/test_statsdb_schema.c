/* The schema is the same in SQLite and PostgreSQL, whatever version it was
 * migrated from: names, types, keys, indexes, views, triggers. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/tables/schema.h"
#include "tests/unit/statsdb/test_server.h"

#include <errno.h>

static struct bj_db *open_db(const char *url)
{
    struct bj_err err = {0};
    struct bj_db *db;
    const struct bj_db_options opt = {.url = url, .create = true};
    if (bj_db_open(&opt, &db, &err) < 0)
        fail_msg("open: %s", err.msg);
    return db;
}

/* An empty database of PostgreSQL. */
static struct bj_db *open_empty(void)
{
    return open_db(empty_server());
}

static void add_rows(struct bj_db *db, const char *sql, struct bj_buf *to)
{
    struct bj_err err = {0};
    struct bj_st *st;
    int r = bj_db_prepare(db, sql, &st, &err);
    while (r == 0 && (r = bj_st_row(st, &err)) > 0) {
        bj_buf_slice(to, bj_st_get_text(st, 0));
        bj_buf_str(to, "\n");
        r = 0;
    }
    if (r < 0)
        fail_msg("%s: %s", sql, err.msg);
    bj_st_finalize(st);
}

/* Columns, primary keys, other indexes, views, triggers: one a line, sorted. */
static const char *const sqlite[] = {
    ("SELECT m.name || '.' || c.name || ' ' || CASE c.type WHEN 'INTEGER' THEN"
     " 'INT' WHEN 'ANY' THEN 'TEXT' ELSE c.type END || CASE WHEN c.\"notnull\" "
     "OR"
     " c.pk > 0 THEN ' NOT NULL' ELSE '' END || CASE WHEN c.pk > 0 THEN ' key "
     "' "
     "||"
     " c.pk ELSE '' END || CASE WHEN c.hidden IN (2, 3) THEN ' generated' ELSE "
     "''"
     " END FROM sqlite_schema AS m JOIN pragma_table_xinfo(m.name) AS c WHERE"
     " m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY 1"),
    ("SELECT i.name || CASE WHEN i.\"unique\" THEN ' unique' ELSE '' END || "
     "CASE"
     " WHEN i.partial THEN ' partial' ELSE '' END || ' ' || m.name || '(' ||"
     " (SELECT group_concat(coalesce(name, '?')) FROM"
     " pragma_index_xinfo(i.name) WHERE key) || ')' FROM sqlite_schema AS m "
     "JOIN"
     " pragma_index_list(m.name) AS i WHERE m.type = 'table' AND i.origin = 'c'"
     " ORDER BY 1"),
    ("SELECT m.name || '(' || group_concat(c.name) || ')' FROM sqlite_schema "
     "AS "
     "m"
     " JOIN pragma_table_xinfo(m.name) AS c WHERE m.type = 'view' GROUP BY "
     "m.name"
     " ORDER BY 1"),
    ("SELECT name || ' ' || tbl_name FROM sqlite_schema WHERE type = 'trigger'"
     " ORDER BY 1"),
};

static const char *const postgresql[] = {
    ("SELECT c.relname || '.' || a.attname || ' ' || CASE "
     "a.atttypid::regtype::text"
     " WHEN 'bigint' THEN 'INT' WHEN 'text' THEN 'TEXT' WHEN 'double precision'"
     " THEN 'REAL' ELSE a.atttypid::regtype::text END || CASE WHEN a.attnotnull"
     " THEN ' NOT NULL' ELSE '' END || coalesce(' key ' || array_position("
     "i.indkey::int[], a.attnum::int) + 1, '') || CASE a.attgenerated WHEN '' "
     "THEN"
     " '' ELSE ' generated' END FROM pg_class AS c JOIN pg_attribute AS a ON"
     " a.attrelid = c.oid LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND"
     " i.indisprimary WHERE c.relkind IN ('r', 'p') AND c.relnamespace ="
     " 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped AND"
     " NOT c.relispartition AND c.relname NOT IN ('store_meta', 'job_month') "
     "ORDER BY 1"),
    ("SELECT c.relname || CASE WHEN i.indisunique THEN ' unique' ELSE '' END ||"
     " CASE WHEN i.indpred IS NULL THEN '' ELSE ' partial' END || ' ' || "
     "t.relname"
     " || '(' || (SELECT string_agg(coalesce((SELECT attname FROM pg_attribute"
     " WHERE attrelid = t.oid AND attnum = k.num), '?'), ',' ORDER BY k.at) "
     "FROM"
     " unnest(i.indkey::int[]) WITH ORDINALITY AS k(num, at) WHERE c.relname "
     "NOT"
     " IN ('job_key', 'job_sluid', 'node_record_key') OR k.num <> (SELECT "
     "attnum FROM pg_attribute"
     " WHERE attrelid = t.oid AND attname = 'id')) || ')' FROM "
     "pg_index"
     " AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_class AS t ON "
     "t.oid"
     " = i.indrelid WHERE c.relnamespace = 'public'::regnamespace AND NOT"
     " c.relispartition AND NOT EXISTS"
     " (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid) ORDER BY 1"),
    ("SELECT c.relname || '(' || string_agg(a.attname, ',' ORDER BY a.attnum) "
     "||"
     " ')' FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid "
     "WHERE"
     " c.relkind = 'v' AND c.relnamespace = 'public'::regnamespace GROUP BY"
     " c.relname ORDER BY 1"),
    ("SELECT tgname || ' ' || tgrelid::regclass FROM pg_trigger WHERE NOT"
     " tgisinternal AND tgparentid = 0 AND tgname <> 'job_new' ORDER BY 1"),
};

enum { LISTS = sizeof(sqlite) / sizeof(sqlite[0]) };

static void compare(struct bj_db *file, struct bj_db *pg, int from)
{
    for (int i = 0; i < LISTS; i++) {
        struct bj_buf a = {0}, b = {0};
        add_rows(file, sqlite[i], &a);
        add_rows(pg, postgresql[i], &b);
        bj_buf_put(&a, "", 1);
        bj_buf_put(&b, "", 1);
        assert_false(a.failed || b.failed);
        assert_true(a.len > 40);
        if (strcmp(a.p, b.p) != 0)
            fail_msg("from version %d, list %d:\n%s---\n%s", from, i, a.p, b.p);
        bj_buf_free(&a);
        bj_buf_free(&b);
    }
}

static void test_all_versions(void **state)
{
    (void)state;
    NEED_SERVER;
    for (int from = 0; from <= bj_schema_version(); from++) {
        struct bj_err err = {0};
        struct bj_db *file = open_db(NULL), *pg = open_empty();
        int version = -1;
        assert_int_equal(bj_schema_make(file, from, &err), 0);
        if (bj_schema_make(pg, from, &err) < 0)
            fail_msg("version %d: %s", from, err.msg);
        /* views of the last version are only created by a migration */
        if (from == bj_schema_version()) {
            bj_db_close(file);
            bj_db_close(pg);
            continue;
        }
        assert_int_equal(bj_schema_migrate(file, &err), 0);
        if (bj_schema_migrate(pg, &err) < 0)
            fail_msg("from version %d: %s", from, err.msg);
        assert_int_equal(bj_schema_read(pg, &version, &err), 0);
        assert_int_equal(version, bj_schema_version());
        compare(file, pg, from);
        bj_db_close(file);
        bj_db_close(pg);
    }
}

static void test_not_a_store(void **state)
{
    struct bj_err err = {0};
    int version;
    (void)state;
    NEED_SERVER;
    struct bj_db *db = open_empty();
    assert_int_equal(bj_schema_read(db, &version, &err), 0);
    assert_int_equal(version, 0);
    assert_int_equal(bj_db_exec(db, "CREATE TABLE other(a INT)", &err), 0);
    assert_int_equal(bj_schema_migrate(db, &err), -EBADMSG);
    assert_int_equal(bj_db_exec(db, "DROP TABLE other", &err), 0);
    assert_int_equal(bj_schema_migrate(db, &err), 0);
    assert_int_equal(bj_schema_migrate(db, &err), 0); /* nothing to do */
    assert_int_equal(
        bj_db_exec(db, "UPDATE store_meta SET version = 1000", &err), 0);
    assert_int_equal(bj_schema_migrate(db, &err), -ENOTSUP);
    bj_db_close(db);
}

/* Columns and indexes are compared in both engines, for every version. */
static void test_fits(void **state)
{
    (void)state;
    NEED_SERVER;
    for (int version = 1; version <= bj_schema_version(); version++) {
        struct bj_err err = {0};
        struct bj_db *db = open_empty();
        if (bj_schema_make(db, version, &err) < 0 ||
            bj_schema_fits(db, version, &err) < 0)
            fail_msg("version %d: %s", version, err.msg);
        assert_int_equal(
            bj_db_exec(db,
                       "CREATE TABLE theirs(a text PRIMARY KEY, b int);"
                       "CREATE INDEX theirs_2 ON job(nodes)",
                       &err),
            0);
        assert_int_equal(bj_schema_fits(db, version, &err), 0);
        assert_int_equal(
            bj_db_exec(db, "ALTER TABLE covered RENAME COLUMN to_sec TO upto",
                       &err),
            0);
        assert_int_equal(bj_schema_fits(db, version, &err), -EBADMSG);
        assert_non_null(strstr(err.msg, "covered.to_sec INT NOT NULL is "
                                        "missing"));
        bj_db_close(db);
    }
}

/* Version 7 knew who cancelled a job only as text, and an allocated memory of
 * 0. */
static void check_canceller(struct bj_db *db, const char *partitions)
{
    struct bj_err err = {0};
    struct bj_buf rows = {0};
    assert_int_equal(bj_schema_make(db, 7, &err), 0);
    db_exec(db, partitions);
    db_exec(db, "INSERT INTO cluster VALUES(1, 'c', '');"
                "INSERT INTO word VALUES(1, 'CANCELLED by 1000'),"
                " (2, 'CANCELLED by 4294967294'), (3, 'CANCELLED by anna'),"
                " (4, 'CANCELLED by 0'), (5, 'CANCELLED by '),"
                " (6, 'CANCELLED');"
                "INSERT INTO job(id, cluster, jobid, submit, state, state_raw,"
                " memory_allocated_bytes) VALUES(1, 1, 1, 1, 6, 1, 0),"
                " (2, 1, 2, 1, 6, 2, 5), (3, 1, 3, 1, 6, 3, NULL),"
                " (4, 1, 4, 1, 6, 4, 1), (5, 1, 5, 1, 6, 5, 1),"
                " (6, 1, 6, 1, 6, 6, 1);"
                "INSERT INTO job_more(job, comment) VALUES(4, 'x')");
    if (bj_schema_migrate(db, &err) < 0)
        fail_msg("%s", err.msg);
    add_rows(
        db,
        "SELECT id || ' ' || coalesce(CAST(cancelled_by AS TEXT), '-') ||"
        " ' ' || coalesce(CAST(memory_allocated_bytes AS TEXT), '-') || ' '"
        " || coalesce(comment, '-') FROM job_v ORDER BY id",
        &rows);
    bj_buf_put(&rows, "", 1);
    assert_string_equal(rows.p, "1 1000 - -\n2 - 5 -\n3 - - -\n4 0 1 x\n"
                                "5 - 1 -\n6 - 1 -\n");
    bj_buf_free(&rows);
    bj_db_close(db);
}

static void test_canceller(void **state)
{
    (void)state;
    check_canceller(open_db(NULL), "SELECT 1");
    NEED_SERVER;
    check_canceller(open_empty(),
                    "CREATE TABLE job_rest PARTITION OF job DEFAULT;"
                    "CREATE TABLE more_rest PARTITION OF job_more DEFAULT");
}

/* Version 8 had no evidence of findings, and no sizes of jobs; its findings
 * stay, and its months get the new tables. */
static void check_evidence(struct bj_db *db, const char *partitions)
{
    struct bj_err err = {0};
    struct bj_buf rows = {0};
    assert_int_equal(bj_schema_make(db, 8, &err), 0);
    db_exec(db, partitions);
    db_exec(db, "INSERT INTO cluster VALUES(1, 'c', '');"
                "INSERT INTO finding_rule(id, name, severity, condition, text)"
                " VALUES(1, 'r', 'info', '', '{value}');"
                "INSERT INTO job(id, cluster, jobid, submit, state)"
                " VALUES(1, 1, 1, 1, 3);"
                "INSERT INTO job(id, cluster, jobid, submit, state, \"end\")"
                " VALUES(8, 1, 8, 1, 9, 5), (9, 1, 9, 1, 4, 5);"
                "DELETE FROM derive_todo;"
                "INSERT INTO job_finding(job, rule, value) VALUES(1, 1, 2);"
                "INSERT INTO job_use(job, sources, counted_cpu_sec,"
                " counted_start, counted_end) VALUES(1, 0, 0, 0, 0)");
    if (bj_schema_migrate(db, &err) < 0)
        fail_msg("%s", err.msg);
    /* what the job held whose node failed is counted, too */
    add_rows(db, "SELECT 'todo ' || job FROM derive_todo", &rows);
    db_exec(db, "INSERT INTO job_part(job, node, gpu, since, upto)"
                " VALUES(1, 'n1', '', 1, 2)");
    db_exec(db, "INSERT INTO job_size(job, number, cpus) VALUES(1, 0, 7);"
                "UPDATE job SET cpu_sec = 7");
    add_rows(db,
             "SELECT f.text || ' ' || coalesce(f.names, '-') || ' ' || p.node"
             " || ' ' || z.cpus FROM job_finding_v AS f JOIN job_part AS p ON"
             " p.job = f.job JOIN job_size_v AS z ON z.job = f.job",
             &rows);
    db_exec(db, "INSERT INTO word VALUES(70, 'vasp');"
                "INSERT INTO job(id, cluster, jobid, submit, state)"
                " VALUES(2, 1, 2, 2, 3);"
                "INSERT INTO job_use(job, sources, counted_cpu_sec,"
                " counted_start, counted_end, application, application_by)"
                " VALUES(2, 0, 0, 0, 0, 70, 4)");
    add_rows(db,
             "SELECT job || coalesce(application, '-') ||"
             " coalesce(application_by, '-') FROM job_use_v ORDER BY job",
             &rows);
    bj_buf_put(&rows, "", 1);
    assert_string_equal(rows.p, "todo 8\n2 - n1 7\n1--\n2vaspsubmit_line\n");
    bj_buf_free(&rows);
    bj_db_close(db);
}

static void test_evidence(void **state)
{
    (void)state;
    check_evidence(open_db(NULL), "SELECT 1");
    NEED_SERVER;
    check_evidence(open_empty(),
                   "CREATE TABLE job_unknown PARTITION OF job DEFAULT;"
                   "CREATE TABLE job_finding_unknown PARTITION OF job_finding"
                   " DEFAULT;"
                   "CREATE TABLE job_use_unknown PARTITION OF job_use DEFAULT;"
                   "CREATE TABLE job_bin_unknown PARTITION OF job_bin FOR"
                   " VALUES FROM (MINVALUE) TO (1000)");
}

/* Version 9 had no values that it could make from others: they are the same
 * afterwards, and no job is derived again for it. */
static void check_as_reported(struct bj_db *db, const char *partitions)
{
    struct bj_err err = {0};
    struct bj_buf rows = {0};
    assert_int_equal(bj_schema_make(db, 9, &err), 0);
    db_exec(db, partitions);
    db_exec(db,
            "INSERT INTO cluster VALUES(1, 'c', '');"
            "INSERT INTO dir(id, path) VALUES(1, ''), (2, '/home/ada');"
            "INSERT INTO word(text) VALUES('odd'), ('v100');"
            "INSERT INTO tres(id, text) VALUES(1, 'gpu'), (2, 'cpu');"
            "INSERT INTO tres_item(tres, item, type, name, model) VALUES"
            " (1, 0, 6, 'gpu', 'h100'), (1, 1, 6, 'gpu', 'a100'),"
            " (1, 2, 6, 'mps', '100'), (2, 0, 1, NULL, NULL);"
            "INSERT INTO job(id, cluster, jobid, submit, state, \"end\", cpus,"
            " gpus, tres_allocated, dir, leaf, array_job_id, array_task,"
            " cpu_usec, cpu_system_usec, cpu_user_usec) VALUES"
            " (1, 1, 1, 1, 4, 9, 2, 1, 1, 2, 'x', NULL, NULL, 9, 2, NULL),"
            " (2, 1, 2, 1, 4, 9, 2, 0, 1, 1, NULL, 1, 2, 9, NULL, NULL),"
            " (3, 1, 3, 1, 4, 9, 2, 1, 2, NULL, 'y', NULL, NULL, 9, 2, 6),"
            " (4, 1, '4[2]', 1, 4, 9, NULL, 1, NULL, NULL, NULL, NULL, NULL,"
            " NULL, 2, NULL), (5, 1, 5, 1, 4, 9, 2, NULL, 1, 2, NULL, 5, NULL,"
            " NULL, NULL, 3);"
            "INSERT INTO job_more(job, display_id, het_job_id, het_offset,"
            " exit_raw, cpus_requested, gpu_model) VALUES(3, NULL, 3, 0, 1,"
            " 1, 2), (5, '5_[1-9]', NULL, NULL, NULL, NULL, NULL);"
            "INSERT INTO step(job, slot, state, cpu_usec, cpu_system_usec,"
            " cpu_user_usec) VALUES(1, 1, 4, 7, 3, NULL), (1, 2, 4, 7, 3, 3),"
            " (1, 3, 4, 7, NULL, NULL);"
            "DELETE FROM derive_todo");
    if (bj_schema_migrate(db, &err) < 0)
        fail_msg("%s", err.msg);
    add_rows(db, "SELECT 'todo ' || job FROM derive_todo", &rows);
    add_rows(db,
             "SELECT display_id || ' ' || coalesce(exit_raw, '-') || ' ' ||"
             " coalesce(CAST(cpus_requested AS TEXT), '-') || ' ' ||"
             " coalesce(gpu_model, '-') || ' ' || coalesce(work_dir, '-') ||"
             " ' ' || coalesce(CAST(cpu_user_usec AS TEXT), '-') FROM job_v"
             " ORDER BY id",
             &rows);
    add_rows(db,
             "SELECT step_id || ' ' || coalesce(CAST(cpu_user_usec AS TEXT),"
             " '-') FROM step_v ORDER BY step_id",
             &rows);
    db_exec(db, "UPDATE job SET cpus = 3 WHERE id = 2");
    add_rows(db, "SELECT 'todo ' || job FROM derive_todo", &rows);
    bj_buf_put(&rows, "", 1);
    assert_string_equal(rows.p, "1 - 2 a100 /home/ada/x 7\n"
                                "1_2 - 2 - / -\n"
                                "3+0 odd 1 v100 y 6\n"
                                "4[2] - - - - -\n"
                                "5_[1-9] - 2 - /home/ada/ 3\n"
                                "batch 4\nextern 3\ninteractive -\n"
                                "todo 2\n");
    bj_buf_free(&rows);
    bj_db_close(db);
}

static void test_as_reported(void **state)
{
    (void)state;
    check_as_reported(open_db(NULL), "SELECT 1");
    NEED_SERVER;
    check_as_reported(open_empty(),
                      "CREATE TABLE job_rest PARTITION OF job DEFAULT;"
                      "CREATE TABLE more_rest PARTITION OF job_more DEFAULT;"
                      "CREATE TABLE step_rest PARTITION OF step DEFAULT");
}

/* A view that a user made stays, and stops a migration that would break it. */
static void test_other_views(void **state)
{
    struct bj_err err = {0};
    int version;
    (void)state;
    NEED_SERVER;
    struct bj_db *db = open_empty();
    assert_int_equal(bj_schema_migrate(db, &err), 0);
    assert_int_equal(bj_db_exec(db,
                                "CREATE VIEW theirs AS SELECT * FROM job_v;"
                                "CREATE VIEW other AS SELECT 1 AS one;"
                                "UPDATE store_meta SET version = version - 1",
                                &err),
                     0);
    assert_int_equal(bj_schema_migrate(db, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "views of the former version"));
    assert_int_equal(bj_schema_read(db, &version, &err), 0);
    assert_int_equal(version, bj_schema_version() - 1);
    bj_db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_versions), cmocka_unit_test(test_fits),
        cmocka_unit_test(test_canceller),    cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_not_a_store),  cmocka_unit_test(test_other_views),
        cmocka_unit_test(test_as_reported),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, start, stop);
}
