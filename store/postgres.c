/* The engine PostgreSQL: connections, settings of a session, the writer's lock,
 * functions that SQLite has, transactions, and its table of functions. */
#include "store/postgres_conn.h"
#include "store/postgres_sql.h"
#include "store/postgres_st.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- functions ------------------------------------------------------------ */

/* SQLite's functions that PostgreSQL lacks; postgres_sql.c uses their names.
 * The first program that makes tables also makes these functions, in the same
 * schema. */

/* Change this name when the text below changes. */
#define MARK "bj_functions_6"

static const char functions_sql[] =
    /* SQLite's sum: the sum of integers is an integer, and NULLs are ignored.
     */
    "CREATE OR REPLACE AGGREGATE bj_sum(bigint)(SFUNC = int8pl, STYPE = bigint,"
    " COMBINEFUNC = int8pl, PARALLEL = SAFE);"
    "CREATE OR REPLACE AGGREGATE bj_sum(integer)(SFUNC = int4_sum, STYPE ="
    " bigint, COMBINEFUNC = int8pl, PARALLEL = SAFE);"
    "CREATE OR REPLACE AGGREGATE bj_sum(numeric)(SFUNC = numeric_add, STYPE ="
    " numeric, COMBINEFUNC = numeric_add, PARALLEL = SAFE);"
    "CREATE OR REPLACE AGGREGATE bj_sum(double precision)(SFUNC = float8pl,"
    " STYPE = double precision, COMBINEFUNC = float8pl, PARALLEL = SAFE);"

    /* sum of conditions, which count as 0 and 1 */
    "CREATE OR REPLACE FUNCTION bj_count_true(bigint, boolean) RETURNS bigint"
    " LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN $2 IS NULL"
    " THEN $1 ELSE coalesce($1, 0) + $2::int END $$;"
    "CREATE OR REPLACE AGGREGATE bj_sum(boolean)(SFUNC = bj_count_true, STYPE ="
    " bigint, COMBINEFUNC = int8pl, PARALLEL = SAFE);"

    /* Only SQLite reads the clock within a statement; in PostgreSQL the
       deadline ends the statement. */
    "CREATE OR REPLACE FUNCTION bj_late(bigint, bigint, bigint) RETURNS boolean"
    " LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT false $$;"

    /* strftime of seconds since 1970, or of now: in UTC or in local time */
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, t timestamptz, zone"
    " text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT CASE"
    " format WHEN '%Y-%m-%dT%H:%M:%S' THEN to_char(t AT TIME ZONE zone,"
    " 'YYYY-MM-DD\"T\"HH24:MI:SS') WHEN '%Y-%m-%dT%H:%M:%SZ' THEN to_char(t AT"
    " TIME ZONE zone, 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') END $$;"
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, sec bigint, unix text)"
    " RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT"
    " bj_strftime(format, to_timestamp(sec), 'UTC') $$;"
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, sec bigint, unix text,"
    " local text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT"
    " bj_strftime(format, to_timestamp(sec), current_setting('TimeZone')) $$;"
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, now text, local text)"
    " RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT"
    " bj_strftime(format, statement_timestamp(), current_setting('TimeZone'))"
    " $$;"
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, now text, shift text,"
    " local text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT"
    " bj_strftime(format, statement_timestamp() + shift::interval,"
    " current_setting('TimeZone')) $$;"

    /* group_concat */
    "CREATE OR REPLACE FUNCTION bj_list_add(text, text) RETURNS text LANGUAGE"
    " sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT $1 || ',' || $2 $$;"
    "CREATE OR REPLACE AGGREGATE bj_list(text)(SFUNC = bj_list_add, STYPE ="
    " text, PARALLEL = SAFE);"

    /* printf of '%.3g', '%.0f' and, for integers, '%,d': to_char() and round()
     * round as printf does. */
    "CREATE OR REPLACE FUNCTION bj_printf(format text, v double precision)"
    " RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$\n"
    "DECLARE s text; m text; e int;\n"
    "BEGIN\n"
    "  IF format = '%.0f' THEN RETURN round(v)::numeric::text; END IF;\n"
    "  IF format = '%,d' THEN RETURN to_char(v::numeric,"
    " 'FM999,999,999,999,999,990'); END IF;\n"
    "  IF format <> '%.3g' THEN\n"
    "    RAISE EXCEPTION 'bj_printf: format %', format;\n"
    "  END IF;\n"
    "  IF v = 0 THEN RETURN '0'; END IF;\n"
    "  IF v = 'NaN' OR abs(v) >= 1e99 OR abs(v) < 1e-98 THEN\n"
    "    RETURN CASE v WHEN 'Infinity' THEN 'Inf' WHEN '-Infinity' THEN '-Inf'"
    " ELSE v::text END;\n"
    "  END IF;\n"
    "  s := ltrim(to_char(v, '9.99EEEE'));\n"
    "  m := split_part(s, 'e', 1);\n"
    "  e := split_part(s, 'e', 2)::int;\n"
    "  IF e >= -4 AND e < 3 THEN\n"
    "    RETURN trim_scale(m::numeric * 10::numeric ^ e)::text;\n"
    "  END IF;\n"
    "  RETURN trim_scale(m::numeric)::text || 'e' ||"
    " CASE WHEN e < 0 THEN '-' ELSE '+' END || lpad(abs(e)::text, 2, '0');\n"
    "END $$;"

    /* apiserver/frame/faculty.h */
    "CREATE OR REPLACE FUNCTION bj_faculty(lines text, account text) RETURNS"
    " text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT btrim("
    "substr(line, length($2) + 1), E' \\t\\r') FROM (SELECT btrim(l, E'"
    " \\t\\r') AS line, n FROM unnest(string_to_array($1, E'\\n')) WITH"
    " ORDINALITY AS x(l, n)) AS lines WHERE $2 <> '' AND line !~ '^#' AND"
    " starts_with(line, $2) AND substr(line, length($2) + 1, 1) IN (' ',"
    " E'\\t') ORDER BY n LIMIT 1 $$;"
    "CREATE OR REPLACE FUNCTION " MARK "() RETURNS void LANGUAGE sql IMMUTABLE"
    " AS $$ $$";

static int make_functions(struct bj_db *db, struct bj_err *err)
{
    static const char there[] =
        "SELECT count(*) FROM pg_proc WHERE proname = '" MARK "'"
        " AND pronamespace = current_schema()::regnamespace";
    int64_t n = 0;
    int r = bj_db_int(db, there, &n, err);
    if (r < 0 || n > 0)
        return r;
    r = bj_db_begin(db, BJ_BEGIN_WRITE, err);
    if (r == 0)
        r = bj_postgres_exec_own(bj_postgres_of(db), functions_sql, err);
    if (r == 0)
        r = bj_db_commit(db, err);
    if (r < 0)
        bj_db_rollback(db);
    return r < 0 ? bj_err_wrap(err, r, "functions") : 0;
}

/* --- connections ---------------------------------------------------------- */

enum { OLDEST = 130000, KEYS = 16, LEADER_USEC = 1000000 };

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static bool is_for(const char *url)
{
    return url && (starts(url, "postgresql://") || starts(url, "postgres://") ||
                   starts(url, "service="));
}

/* --- TLS ------------------------------------------------------------------ */

static bool is_loopback(struct bj_slice host)
{
    return host.n == 0 || host.p[0] == '/' || host.p[0] == '@' ||
           bj_slice_eq(host, BJ_SLICE("localhost")) ||
           bj_slice_eq(host, BJ_SLICE("::1")) ||
           bj_slice_starts(host, BJ_SLICE("127."));
}

/* Are all hosts of a comma-separated list on this machine? */
static bool are_loopback(const char *hosts)
{
    for (;;) {
        size_t n = strcspn(hosts, ",");
        if (!is_loopback((struct bj_slice){hosts, n}))
            return false;
        if (!hosts[n])
            return true;
        hosts += n + 1;
    }
}

/* The value of a keyword in the URL, else in the environment, else "". */
static const char *setting(const struct bj_pg_option *o, const char *keyword,
                           const char *variable)
{
    for (; o->keyword; o++)
        if (strcmp(o->keyword, keyword) == 0 && o->val && *o->val)
            return o->val;
    const char *v = variable ? getenv(variable) : NULL;
    return v ? v : "";
}

/* Must the server's certificate be verified?  Hosts in a service file are not
 * known here. */
static int needs_proof(const struct bj_libpq *lib, const char *url, bool *ret,
                       struct bj_err *err)
{
    char *message = NULL;
    struct bj_pg_option *o = lib->conninfo_parse(url, &message);
    if (!o) {
        /* Do not use the message: it repeats the URL, which may have a
         * password. */
        lib->freemem(message);
        return bj_err_set(err, -EINVAL,
                          "the URL of the store cannot be read; expected "
                          "postgresql://USER@HOST:PORT/DATABASE?NAME=VALUE");
    }
    *ret = !are_loopback(setting(o, "host", "PGHOST")) ||
           !are_loopback(setting(o, "hostaddr", "PGHOSTADDR")) ||
           *setting(o, "service", "PGSERVICE");
    lib->conninfo_free(o);
    return 0;
}

/* --- a session ------------------------------------------------------------ */

static void drop_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

static int connect_to(struct bj_postgres *p, const char *url,
                      struct bj_err *err)
{
    const char *keys[KEYS], *values[KEYS];
    bool proof = true;
    int n = 0, r = needs_proof(p->lib, url, &proof, err);
    if (r < 0)
        return r;
#define ADD(key, value) (keys[n] = (key), values[n++] = (value))
    /* Parameters in the URL come later and override this. */
    if (proof)
        ADD("sslmode", "verify-full");
    ADD("connect_timeout", "10");
    ADD("keepalives_idle", "30");
    ADD("keepalives_interval", "10");
    ADD("keepalives_count", "3");
    ADD("tcp_user_timeout", "60000");
    ADD("fallback_application_name", program_invocation_short_name);
    ADD("dbname", url);
    ADD("client_encoding", "UTF8");
    ADD(NULL, NULL);
#undef ADD
    p->conn = p->lib->connect(keys, values, 1);
    if (!p->conn)
        return bj_err_set(err, -ENOMEM, "store");
    if (p->lib->status(p->conn) != BJ_PG_CONNECTION_OK) {
        bj_postgres_fail(p, NULL, err, "connect");
        if (err)
            err->code = -ECONNREFUSED;
        return -ECONNREFUSED;
    }
    p->lib->notice(p->conn, drop_notice, NULL);
    p->cancel = p->lib->get_cancel(p->conn);
    return p->cancel ? 0 : bj_err_set(err, -ENOMEM, "store");
}

/* The name of this program's time zone: TZ, or the target of the link
 * /etc/localtime; "": unknown. */
static void zone_of(char *ret, size_t size)
{
    static const char folder[] = "zoneinfo/";
    char link[256] = "";
    const char *tz = getenv("TZ");
    if (!tz && readlink("/etc/localtime", link, sizeof(link) - 1) > 0) {
        const char *name = strstr(link, folder);
        tz = name ? name + sizeof(folder) - 1 : NULL;
    }
    tz = tz ? tz + (*tz == ':') : "";
    size_t n = strspn(tz, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                          "0123456789_/+-");
    snprintf(ret, size, "%.*s", tz[n] ? 0 : (int)n, tz);
}

static int check_server(struct bj_postgres *p, struct bj_err *err)
{
    const char *encoding = p->lib->parameter(p->conn, "server_encoding");
    int version = p->lib->server_version(p->conn);
    if (version < OLDEST)
        return bj_err_set(err, -ENOTSUP,
                          "the server is PostgreSQL %d; %d or later is needed",
                          version / 10000, OLDEST / 10000);
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return bj_err_set(err, -ENOTSUP,
                          "the database has encoding %s; make one with "
                          "ENCODING 'UTF8' TEMPLATE template0",
                          encoding ? encoding : "unknown");
    return 0;
}

/* Check that texts are compared by bytes, as in SQLite. */
static int check_order(struct bj_postgres *p, struct bj_err *err)
{
    int64_t other = 0;
    int r = bj_db_int(&p->base, "SELECT ('a' < 'B')::int", &other, err);
    if (r == 0 && other)
        r = bj_err_set(err, -ENOTSUP,
                       "the database sorts texts by a language; make one with "
                       "LOCALE 'C' TEMPLATE template0");
    return r;
}

/* The server ends the queries of a client that has gone (from version 14
 * on). */
static int postgres_set_up(struct bj_postgres *p,
                           const struct bj_db_options *opt, struct bj_err *err)
{
    char sql[640];
    snprintf(sql, sizeof(sql),
             "SET standard_conforming_strings = on; SET jit = off;"
             "SET client_min_messages = warning; SET lock_timeout = %llu;"
             "SET synchronous_commit = %s;"
             "SET default_transaction_read_only = %s;"
             "SELECT set_config(name, '10s', false) FROM pg_settings"
             " WHERE name = 'client_connection_check_interval'",
             (unsigned long long)(p->busy_usec / 1000 + 1),
             opt->durable ? "on" : "off", opt->read_only ? "on" : "off");
    return bj_postgres_exec_own(p, sql, err);
}

static int set_lock_timeout(struct bj_postgres *p, uint64_t usec,
                            struct bj_err *err)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "SET lock_timeout = %llu",
             (unsigned long long)(usec / 1000 + 1));
    return bj_postgres_exec_own(p, sql, err);
}

/* The lock is held until the connection ends, so a writer that has lost its
 * connection cannot write.  The server may need some time to notice that a
 * connection has ended. */
static int take_lock(struct bj_postgres *p, struct bj_err *err)
{
    int64_t got = 0;
    int r = set_lock_timeout(p, LEADER_USEC, err);
    if (r == 0)
        r = bj_db_int(&p->base,
                      "SELECT (pg_advisory_lock(hashtextextended("
                      "'batchjob leads ' || current_schema(), 0))::text IS NOT"
                      " NULL)::int",
                      &got, err);
    if (r == -EBUSY)
        return bj_err_set(err, r, "another process is writing it");
    if (r == 0 && got == 0)
        r = bj_err_set(err, -ENOENT, "search_path names no schema");
    return r < 0 ? r : set_lock_timeout(p, p->busy_usec, err);
}

/* Set the time zone, for local times in texts; a zone that the server does not
 * know is ignored. */
static void set_zone(struct bj_postgres *p)
{
    char zone[80], sql[120];
    zone_of(zone, sizeof(zone));
    snprintf(sql, sizeof(sql), "SET TimeZone = '%s'", zone);
    if (zone[0])
        bj_postgres_exec_own(p, sql, NULL);
}

/* The server rolls back an open transaction. */
static void close_server(struct bj_db *db)
{
    struct bj_postgres *p = bj_postgres_of(db);
    if (p->cancel)
        p->lib->free_cancel(p->cancel);
    if (p->conn)
        p->lib->finish(p->conn);
    bj_buf_free(&p->unused);
    free(p);
}

static int check_options(const struct bj_db_options *opt, struct bj_err *err)
{
    if (opt->foreign)
        return bj_err_set(err, -ENOTSUP,
                          "a database of another program must be a file of "
                          "SQLite");
    if (opt->max_bytes)
        return bj_err_set(err, -EINVAL,
                          "PostgreSQL has no limit of size; leave it out");
    return 0;
}

static int open_server(const struct bj_db_options *opt, struct bj_db **ret,
                       struct bj_err *err)
{
    struct bj_postgres *p = calloc(1, sizeof(*p));
    if (!p)
        return bj_err_set(err, -ENOMEM, "store");
    p->base.engine = &bj_engine_postgres;
    p->busy_usec = opt->busy_usec ? opt->busy_usec : 10000000;
    int r = check_options(opt, err);
    if (r == 0)
        r = bj_libpq_load(&p->lib, err);
    if (r == 0)
        r = connect_to(p, opt->url, err);
    if (r == 0)
        r = check_server(p, err);
    if (r == 0)
        r = postgres_set_up(p, opt, err);
    if (r == 0)
        set_zone(p);
    if (r == 0)
        r = check_order(p, err);
    if (r == 0 && opt->only_writer)
        r = take_lock(p, err);
    if (r == 0 && opt->create)
        r = make_functions(&p->base, err);
    if (r < 0) {
        close_server(&p->base);
        return bj_err_wrap(err, r, "PostgreSQL");
    }
    *ret = &p->base;
    return 0;
}

/* --- requests --------------------------------------------------------------
 */

static int exec_sql(struct bj_db *db, const char *sql, struct bj_err *err)
{
    struct bj_buf text = {0};
    int r = bj_postgres_rewrite(sql, &text);
    if (r != 0)
        r = bj_err_set(err, r < 0 ? r : -EPROTO, "parameters of %.100s", sql);
    if (r == 0)
        r = bj_postgres_exec_own(bj_postgres_of(db), text.p, err);
    bj_buf_free(&text);
    return r;
}

static int64_t changes(struct bj_db *db)
{
    return bj_postgres_of(db)->changes;
}

static void interrupt(struct bj_db *db)
{
    struct bj_postgres *p = bj_postgres_of(db);
    char why[256];
    if (p->cancel)
        p->lib->cancel(p->cancel, why, sizeof(why));
}

static void set_deadline(struct bj_db *db, uint64_t boot_usec)
{
    bj_postgres_of(db)->deadline = boot_usec;
}

/* --- transactions --------------------------------------------------------- */

/* Writers wait for each other, as with a file, because callers first search and
 * then insert.  The lock ends with the transaction. */
static int postgres_begin(struct bj_db *db, enum bj_begin mode,
                          struct bj_err *err)
{
    struct bj_postgres *p = bj_postgres_of(db);
    char sql[256];
    if (mode == BJ_BEGIN_SNAPSHOT)
        return bj_postgres_exec_own(
            p, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err);
    snprintf(sql, sizeof(sql),
             "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
             "SET LOCAL lock_timeout = %llu;"
             "SELECT pg_advisory_xact_lock(hashtextextended("
             "'batchjob writes ' || current_schema(), 0))",
             (unsigned long long)(p->busy_usec / 1000 + 1));
    int r = bj_postgres_exec_own(p, sql, err);
    if (r < 0)
        db->engine->rollback(db);
    return r;
}

static bool in_transaction(struct bj_db *db)
{
    struct bj_postgres *p = bj_postgres_of(db);
    int state = p->lib->transaction(p->conn);
    return !p->lost && state != BJ_PG_IDLE && state != BJ_PG_UNKNOWN;
}

static int postgres_commit(struct bj_db *db, struct bj_err *err)
{
    struct bj_postgres *p = bj_postgres_of(db);
    struct bj_pg_result *res = NULL;
    int r = bj_postgres_ready(p, err);
    if (r < 0)
        return r;
    if (!p->lib->send_query(p->conn, "COMMIT"))
        return bj_postgres_fail(p, NULL, err, "");
    r = bj_postgres_finish(p, &res, err, "");
    /* If a statement had failed, the server ends the transaction without
     * reporting an error. */
    if (r == 0 && strcmp(p->lib->command(res), "COMMIT") != 0)
        r = bj_err_set(err, -EPROTO,
                       "a statement of the transaction had failed");
    p->lib->clear(res);
    return r;
}

static void rollback(struct bj_db *db)
{
    struct bj_postgres *p = bj_postgres_of(db);
    uint64_t deadline = p->deadline;
    bool late = p->base.late;
    if (!p->conn)
        return;
    if (p->reading)
        bj_postgres_reset((struct bj_st *)p->reading);
    if (!in_transaction(db))
        return;
    p->deadline = 0;
    if (bj_postgres_exec_own(p, "ROLLBACK", NULL) < 0)
        p->lost = true;
    p->deadline = deadline;
    p->base.late = late;
}

static bool is_lost(struct bj_db *db)
{
    struct bj_postgres *p = bj_postgres_of(db);
    return p->lost || p->lib->status(p->conn) != BJ_PG_CONNECTION_OK;
}

/* The text of the snapshot changes with each commit of any connection. */
static int version(struct bj_db *db, int64_t *ret, struct bj_err *err)
{
    return bj_db_int(db,
                     "SELECT hashtextextended(pg_current_snapshot()::text, 0)",
                     ret, err);
}

/* A replica that has replayed all received changes has no lag, regardless of
 * the age of the last change, but only while it is connected: the view has a
 * row then.  The received log may end at the end of a page, within a record
 * whose rest the primary sends with its next change.  A heartbeat row is not
 * used, because it would need a running writer and synchronised clocks. */
static int replica(struct bj_db *db, int64_t *ret_msec, struct bj_err *err)
{
    enum { NONE = -1 };
    static const char sql[] =
        "SELECT CASE WHEN NOT pg_is_in_recovery() THEN -1 WHEN (received ="
        " replayed OR (received - replayed < page AND (received - '0/0') % page"
        " = 0)) AND EXISTS (SELECT 1 FROM pg_stat_wal_receiver) THEN 0 ELSE"
        " greatest(0, extract(epoch FROM clock_timestamp() -"
        " pg_last_xact_replay_timestamp()) * 1000)::bigint END FROM (SELECT"
        " pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn(),"
        " CAST(current_setting('wal_block_size') AS bigint)) AS log(received,"
        " replayed, page)";
    int r = bj_db_int(db, sql, ret_msec, err);
    return r < 0 ? r : *ret_msec != NONE;
}

static void fence(struct bj_db *db)
{
    struct bj_postgres *p = bj_postgres_of(db);
    p->fenced = true;
    p->unusable = bj_postgres_exec_own(
        p, "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", NULL);
}

/* --- the whole database --------------------------------------------------- */

static uint64_t bytes(struct bj_db *db)
{
    int64_t n = 0;
    return bj_db_int(db, "SELECT pg_database_size(current_database())", &n,
                     NULL) < 0
               ? 0
               : (uint64_t)n;
}

const struct bj_engine bj_engine_postgres = {
    .name = "PostgreSQL",
    .dialect = BJ_DIALECT_POSTGRESQL,
    .is_for = is_for,
    .open = open_server,
    .close = close_server,
    .exec = exec_sql,
    .prepare = bj_postgres_prepare,
    .changes = changes,
    .begin = postgres_begin,
    .commit = postgres_commit,
    .rollback = rollback,
    .in_transaction = in_transaction,
    .interrupt = interrupt,
    .deadline = set_deadline,
    .is_lost = is_lost,
    .version = version,
    .replica = replica,
    .fence = fence,
    .finalize = bj_postgres_finalize,
    .row = bj_postgres_row,
    .insert = bj_postgres_insert,
    .reset = bj_postgres_reset,
    .clear = bj_postgres_clear,
    .parameters = bj_postgres_parameters,
    .bind_null = bj_postgres_bind_null,
    .bind_i64 = bj_postgres_bind_i64,
    .bind_f64 = bj_postgres_bind_f64,
    .bind_text = bj_postgres_bind_text,
    .columns = bj_postgres_columns,
    .column_name = bj_postgres_column_name,
    .get = bj_postgres_get,
    .get_i64 = bj_postgres_get_i64,
    .get_f64 = bj_postgres_get_f64,
    .get_text = bj_postgres_get_text,
    .load = bj_postgres_load,
    .bytes = bytes,
};
