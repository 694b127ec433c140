/* Faults of the PostgreSQL engine, with a real server: errors, deadlines,
 * interrupts, several connections, a killed server. */
#include "tests/unit/store/test_postgres.h"

#include "base/clock.h"
#include "tests/unit/lib/await.h"

#include <pthread.h>

/* A query of 900 million rows, of which the first ones arrive at once. */
static const char endless[] =
    "SELECT a.n, repeat('x', 1000) FROM generate_series(1, 30000) AS a(n),"
    " generate_series(1, 30000) AS b(n)";

/* --- errors --------------------------------------------------------------- */

static void test_errors(void **state)
{
    static const struct {
        const char *sql;
        int code;
    } cases[] = {
        {"INSERT INTO e VALUES(1)", -EEXIST},
        {"INSERT INTO e VALUES(NULL)", -EEXIST},
        {"INSERT INTO e VALUES(-1)", -EEXIST},
        {"SELECT * FROM missing", -ENOTSUP},
        {"SELECT missing FROM e", -ENOTSUP},
        {"SELECT 1 / 0", -EINVAL},
        {"SELECT 9223372036854775807 + 1", -EINVAL},
        {"SELECT", 0},
        {"SELEKT", -EPROTO},
        {"SET LOCAL statement_timeout = 1; SELECT pg_sleep(60)", -EINTR},
        {"SELECT 'x'::bytea::text", 0},
    };
    (void)state;
    NEED_SERVER;
    struct bj_db *db = open_db();
    exec(db, "CREATE TEMP TABLE e(a bigint PRIMARY KEY CHECK(a > 0));"
             "INSERT INTO e VALUES(1)");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_err err = {0};
        assert_int_equal(bj_db_exec(db, cases[i].sql, &err), cases[i].code);
        assert_true(cases[i].code == 0 || err.msg[0] != '\0');
        assert_null(strchr(err.msg, '\n'));
        struct bj_st *st;
        if (strchr(cases[i].sql, ';'))
            continue;
        assert_int_equal(bj_db_prepare(db, cases[i].sql, &st, &err), 0);
        int r = bj_st_run(st, &err);
        assert_int_equal(r, cases[i].code);
        bj_st_finalize(st);
    }
    assert_false(bj_db_is_lost(db));
    bj_db_close(db);
}

/* A transaction that has failed is not committed, and can be rolled back. */
static void test_failed_transaction(void **state)
{
    struct bj_err err = {0};
    (void)state;
    NEED_SERVER;
    struct bj_db *db = open_db();
    exec(db, "CREATE TEMP TABLE f(a bigint UNIQUE)");
    assert_int_equal(bj_db_begin(db, BJ_BEGIN_WRITE, &err), 0);
    exec(db, "INSERT INTO f VALUES(1)");
    assert_int_equal(bj_db_exec(db, "INSERT INTO f VALUES(1)", &err), -EEXIST);
    assert_true(bj_db_in_transaction(db));
    assert_int_equal(bj_db_commit(db, &err), -EPROTO);
    assert_int_equal(number(db, "SELECT count(*) FROM f"), 0);
    assert_int_equal(bj_db_begin(db, BJ_BEGIN_WRITE, &err), 0);
    exec(db, "INSERT INTO f VALUES(1)");
    assert_int_equal(bj_db_exec(db, "INSERT INTO f VALUES(1)", &err), -EEXIST);
    bj_db_rollback(db);
    assert_false(bj_db_in_transaction(db));
    bj_db_rollback(db); /* nothing happens */
    assert_int_equal(number(db, "SELECT count(*) FROM f"), 0);
    bj_db_close(db);
}

static void test_read_only(void **state)
{
    struct bj_err err = {0};
    (void)state;
    NEED_SERVER;
    struct bj_db *db = open_db();
    exec(db, "CREATE TABLE IF NOT EXISTS ro(a bigint)");
    struct bj_db *reader = open_as((struct bj_db_options){.read_only = true});
    assert_int_equal(bj_db_exec(reader, "INSERT INTO ro VALUES(1)", &err),
                     -EROFS);
    assert_int_equal(number(reader, "SELECT count(*) FROM ro"), 0);
    bj_db_fence(db);
    assert_int_equal(bj_db_exec(db, "INSERT INTO ro VALUES(1)", &err), -EACCES);
    assert_int_equal(number(db, "SELECT count(*) FROM ro"), 0);
    bj_db_close(reader);
    bj_db_close(db);
}

/* --- several connections -------------------------------------------------- */

static void test_writers(void **state)
{
    struct bj_err err = {0};
    (void)state;
    NEED_SERVER;
    struct bj_db *a = open_as(
        (struct bj_db_options){.only_writer = true, .busy_usec = 50000});
    struct bj_db *b = open_as((struct bj_db_options){.busy_usec = 50000}), *c;
    struct bj_db_options opt = {.url = server.url, .only_writer = true};
    assert_int_equal(bj_db_open(&opt, &c, &err), -EBUSY);
    assert_non_null(strstr(err.msg, "another process is writing it"));
    /* Transactions that write wait for each other. */
    assert_int_equal(bj_db_begin(a, BJ_BEGIN_WRITE, &err), 0);
    assert_int_equal(bj_db_begin(b, BJ_BEGIN_WRITE, &err), -EBUSY);
    assert_false(bj_db_in_transaction(b));
    bj_db_rollback(a);
    assert_int_equal(bj_db_begin(b, BJ_BEGIN_WRITE, &err), 0);
    assert_int_equal(bj_db_commit(b, &err), 0);
    bj_db_close(a);
    /* The server notices the end of a connection a moment later. */
    AWAIT(bj_db_open(&opt, &c, NULL) == 0);
    bj_db_close(c);
    bj_db_close(b);
}

static void test_snapshot(void **state)
{
    struct bj_err err = {0};
    int64_t before, same, after;
    (void)state;
    NEED_SERVER;
    struct bj_db *a = open_db(), *b = open_db();
    exec(a, "CREATE TABLE IF NOT EXISTS snap(a bigint); DELETE FROM snap");
    assert_int_equal(bj_db_begin(b, BJ_BEGIN_SNAPSHOT, &err), 0);
    assert_int_equal(number(b, "SELECT count(*) FROM snap"), 0);
    assert_int_equal(bj_db_version(b, &before, &err), 0);
    exec(a, "INSERT INTO snap VALUES(1)");
    assert_int_equal(number(b, "SELECT count(*) FROM snap"), 0);
    assert_int_equal(bj_db_version(b, &same, &err), 0);
    assert_true(before == same);
    bj_db_rollback(b);
    assert_int_equal(bj_db_begin(b, BJ_BEGIN_SNAPSHOT, &err), 0);
    assert_int_equal(bj_db_version(b, &after, &err), 0);
    assert_true(before != after);
    assert_int_equal(number(b, "SELECT count(*) FROM snap"), 1);
    bj_db_rollback(b);
    bj_db_close(a);
    bj_db_close(b);
}

/* --- interrupted queries -------------------------------------------------- */

static void test_deadline(void **state)
{
    struct bj_err err = {0};
    (void)state;
    NEED_SERVER;
    struct bj_db *db = open_db();
    bj_db_deadline(db, bj_clock_boot_usec() + 50000);
    assert_int_equal(bj_db_exec(db, "SELECT pg_sleep(600)", &err), -EINTR);
    assert_true(bj_db_is_late(db));
    assert_int_equal(bj_db_exec(db, "SELECT 1", &err), -EINTR);
    bj_db_deadline(db, 0);
    assert_false(bj_db_is_late(db));
    /* between two rows */
    struct bj_st *st = prepare(db, endless);
    assert_int_equal(row(st), 1);
    bj_db_deadline(db, bj_clock_boot_usec() + 50000);
    int r;
    while ((r = bj_st_row(st, &err)) > 0)
        ;
    assert_int_equal(r, -EINTR);
    assert_true(bj_db_is_late(db));
    bj_st_finalize(st);
    bj_db_deadline(db, 0);
    assert_int_equal(number(db, "SELECT 1"), 1);
    bj_db_close(db);
}

static void *interrupt_when_it_sleeps(void *arg)
{
    struct bj_db *other = open_db();
    AWAIT(number(other, "SELECT count(*) FROM pg_stat_activity WHERE query ="
                        " 'SELECT pg_sleep(601)' AND state = 'active'") == 1);
    bj_db_interrupt(arg);
    bj_db_close(other);
    return NULL;
}

static void test_interrupt(void **state)
{
    struct bj_err err = {0};
    pthread_t thread;
    (void)state;
    NEED_SERVER;
    struct bj_db *db = open_db();
    assert_int_equal(
        pthread_create(&thread, NULL, interrupt_when_it_sleeps, db), 0);
    assert_int_equal(bj_db_exec(db, "SELECT pg_sleep(601)", &err), -EINTR);
    assert_false(bj_db_is_late(db));
    pthread_join(thread, NULL);
    assert_int_equal(number(db, "SELECT 1"), 1);
    bj_db_close(db);
}

static void test_killed(void **state)
{
    struct bj_err err = {0};
    (void)state;
    NEED_SERVER;
    struct bj_db *db = open_as((struct bj_db_options){.durable = true}), *again;
    exec(db, "CREATE TABLE IF NOT EXISTS k(a bigint); DELETE FROM k;"
             "INSERT INTO k VALUES(1)");
    struct bj_st *st = prepare(db, "INSERT INTO k VALUES(?)");
    assert_int_equal(bj_db_begin(db, BJ_BEGIN_WRITE, &err), 0);
    bj_st_bind_i64(st, 1, 2);
    assert_int_equal(bj_st_run(st, &err), 0);
    assert_false(bj_db_is_lost(db));
    pgserver_kill(&server);
    assert_int_equal(bj_st_run(st, &err), -ENOLINK);
    assert_true(bj_db_is_lost(db));
    assert_int_equal(bj_db_commit(db, &err), -ENOLINK);
    bj_db_rollback(db);
    assert_false(bj_db_in_transaction(db));
    bj_st_finalize(st);
    bj_db_close(db);
    struct bj_db_options opt = {.url = server.url};
    assert_int_equal(bj_db_open(&opt, &again, &err), -ECONNREFUSED);
    pgserver_restart(&server);
    again = open_db();
    assert_int_equal(number(again, "SELECT max(a) FROM k"), 1);
    bj_db_close(again);
}

/* The server ends one connection, while its rows arrive. */
static void test_terminated(void **state)
{
    struct bj_err err = {0};
    (void)state;
    NEED_SERVER;
    struct bj_db *db = open_db(), *other = open_db();
    int64_t pid = number(db, "SELECT pg_backend_pid()");
    struct bj_st *st = prepare(db, endless);
    assert_int_equal(row(st), 1);
    char sql[80];
    snprintf(sql, sizeof(sql), "SELECT pg_terminate_backend(%lld)",
             (long long)pid);
    exec(other, sql);
    int r;
    while ((r = bj_st_row(st, &err)) > 0)
        ;
    assert_int_equal(r, -ENOLINK);
    assert_true(bj_db_is_lost(db));
    bj_st_finalize(st);
    bj_db_close(db);
    bj_db_close(other);
}

/* --- connections that are refused ----------------------------------------- */

static int refused(const char *url, struct bj_err *err)
{
    struct bj_db_options opt = {.url = url};
    struct bj_db *db;
    *err = (struct bj_err){0};
    int r = bj_db_open(&opt, &db, err);
    if (r == 0)
        bj_db_close(db);
    return r;
}

static void test_urls(void **state)
{
    struct bj_err err;
    char url[400];
    (void)state;
    NEED_SERVER;
    assert_false(bj_engine_postgres.is_for("/var/lib/store"));
    assert_false(bj_engine_postgres.is_for("postgresql"));
    assert_false(bj_engine_postgres.is_for(NULL));
    assert_true(bj_engine_postgres.is_for("postgres://h/d"));
    assert_true(bj_engine_postgres.is_for("service=jobs"));
    assert_int_equal(refused("postgresql://u:secret@/d?nonsense=1", &err),
                     -EINVAL);
    assert_null(strstr(err.msg, "secret"));
    assert_int_equal(refused("postgresql://u:secret@h:port/d", &err),
                     -ECONNREFUSED);
    assert_null(strstr(err.msg, "secret"));
    snprintf(url, sizeof(url), "%s&dbname=missing", server.url);
    assert_int_equal(refused(url, &err), -ECONNREFUSED);
    assert_non_null(strstr(err.msg, "missing"));
    pgserver_sql(&server, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C'"
                          " TEMPLATE template0");
    snprintf(url, sizeof(url), "%s&dbname=latin", server.url);
    assert_int_equal(refused(url, &err), -ENOTSUP);
    assert_non_null(strstr(err.msg, "LATIN1"));
    pgserver_sql(&server,
                 "CREATE DATABASE words ENCODING 'UTF8' LOCALE_PROVIDER"
                 " icu ICU_LOCALE 'en' LOCALE 'C' TEMPLATE template0");
    snprintf(url, sizeof(url), "%s&dbname=words", server.url);
    assert_int_equal(refused(url, &err), -ENOTSUP);
    assert_non_null(strstr(err.msg, "LOCALE 'C'"));
    struct bj_db_options opt = {.url = server.url, .max_bytes = 1};
    struct bj_db *db;
    assert_int_equal(bj_db_open(&opt, &db, &err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_failed_transaction),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_writers),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_terminated),
        cmocka_unit_test(test_urls),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, start, stop);
}
