/* The engine PostgreSQL: its table of functions, errors, transactions. */
#include "store/postgres_impl.h"

#include <stdio.h>
#include <stdlib.h>

/* Prefixes of SQLSTATE; longer ones precede shorter ones.  Source: PostgreSQL's
 * manual, appendix A. */
static const struct {
    const char *state;
    int code;
} codes[] = {
    {"25006", -EROFS},   {"28", -EACCES},     {"42501", -EACCES},
    {"3D000", -ENOENT},  {"3F000", -ENOENT},  {"42P01", -ENOTSUP},
    {"42703", -ENOTSUP}, {"55P03", -EBUSY},   {"53300", -EBUSY},
    {"53400", -EBUSY},   {"40001", -EBUSY},   {"40P01", -EBUSY},
    {"57014", -EINTR},   {"57P", -ENOLINK},   {"08", -ENOLINK},
    {"25P03", -ENOLINK}, {"53100", -ENOSPC},  {"53200", -EBUSY},
    {"58", -EIO},        {"XX001", -EBADMSG}, {"XX002", -EBADMSG},
    {"23", -EEXIST},     {"54000", -EFBIG},   {"54", -EFBIG},
    {"22", -EINVAL},
};

int bj_postgres_errno(const char *state)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strncmp(codes[i].state, state, strlen(codes[i].state)) == 0)
            return codes[i].code;
    return -EPROTO;
}

/* Copy a message as one line, without the line end. */
static void copy_words(const char *from, char *to, size_t size)
{
    size_t n = 0;
    while (*from == ' ' || *from == '\n')
        from++;
    for (; *from && n + 1 < size; from++)
        to[n++] = *from == '\n' || *from == '\t' ? ' ' : *from;
    while (n > 0 && to[n - 1] == ' ')
        n--;
    to[n] = '\0';
}

int bj_postgres_fail(struct bj_postgres *p, const struct bj_pg_result *res,
                     struct bj_err *err, const char *what)
{
    const struct bj_libpq *lib = p->lib;
    const char *state =
        res ? lib->result_field(res, BJ_PG_DIAG_SQLSTATE) : NULL;
    const char *said = res ? lib->result_field(res, BJ_PG_DIAG_MESSAGE) : NULL;
    char words[200];
    if (!said)
        said = res ? lib->result_error(res) : lib->error(p->conn);
    copy_words(said ? said : "", words, sizeof(words));
    int code = state ? bj_postgres_errno(state) : -EPROTO;
    if (code == -ENOLINK || p->lost ||
        lib->status(p->conn) != BJ_PG_CONNECTION_OK) {
        code = -ENOLINK;
        p->lost = true;
    }
    if (code == -EROFS && p->fenced)
        code = -EACCES;
    return bj_err_say(err, code, "%s%s%s%s%s%s%s",
                      code == -ENOSPC ? "disk of PostgreSQL: " : "", what,
                      *what ? ": " : "",
                      *words ? words : "the connection to PostgreSQL is lost",
                      state ? " (" : "", state ? state : "", state ? ")" : "");
}

int64_t bj_postgres_changed(struct bj_postgres *p, struct bj_pg_result *res)
{
    uint64_t n = 0;
    bj_slice_u64(bj_slice_str(p->lib->changed(res)), &n);
    return (int64_t)n;
}

int bj_postgres_exec_own(struct bj_postgres *p, const char *sql,
                         struct bj_err *err)
{
    struct bj_pg_result *res = NULL;
    int r = bj_postgres_ready(p, err);
    if (r < 0)
        return r;
    if (!p->lib->send_query(p->conn, sql))
        return bj_postgres_fail(p, NULL, err, "");
    r = bj_postgres_finish(p, &res, err, "");
    if (r == 0)
        p->changes = bj_postgres_changed(p, res);
    p->lib->clear(res);
    return r;
}

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
static int begin(struct bj_db *db, enum bj_begin mode, struct bj_err *err)
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

static int commit(struct bj_db *db, struct bj_err *err)
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
    .is_for = bj_postgres_is_for,
    .open = bj_postgres_open,
    .close = bj_postgres_close,
    .exec = exec_sql,
    .prepare = bj_postgres_prepare,
    .changes = changes,
    .begin = begin,
    .commit = commit,
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
