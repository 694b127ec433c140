/* The engine SQLite: its table of functions, errors, transactions. */
#include "store/sqlite_impl.h"

#include <errno.h>
#include <string.h>

static const struct {
    int rc, code;
} codes[] = {
    {SQLITE_OK, 0},
    {SQLITE_ROW, 0},
    {SQLITE_DONE, 0},
    {SQLITE_BUSY, -EBUSY},
    {SQLITE_LOCKED, -EBUSY},
    {SQLITE_PROTOCOL, -EBUSY},
    {SQLITE_FULL, -ENOSPC},
    {SQLITE_IOERR, -EIO},
    {SQLITE_CORRUPT, -EBADMSG},
    {SQLITE_NOTADB, -EBADMSG},
    {SQLITE_READONLY, -EROFS},
    {SQLITE_PERM, -EACCES},
    {SQLITE_AUTH, -EACCES},
    {SQLITE_CANTOPEN, -ENOENT},
    {SQLITE_NOMEM, -ENOMEM},
    {SQLITE_INTERRUPT, -EINTR},
    {SQLITE_CONSTRAINT, -EEXIST},
    {SQLITE_TOOBIG, -EFBIG},
};

int bj_sqlite_errno(int rc)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].rc == (rc & 0xff))
            return codes[i].code;
    return -EPROTO;
}

int bj_sqlite_fail(struct sqlite3 *db, int rc, struct bj_err *err,
                   const char *what)
{
    int code = bj_sqlite_errno(rc), sys = db ? sqlite3_system_errno(db) : 0;
    const char *msg = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    const char *path = db ? sqlite3_db_filename(db, "main") : NULL;
    char why[64];
    bool named = path && *path && !strstr(what, path);
    /* What the system said is known for these two only. */
    if (code != -EIO && code != -ENOENT)
        sys = 0;
    /* Files beside the database, such as -shm, report a full disk as EIO. */
    if (sys == ENOSPC || sys == EDQUOT)
        code = -ENOSPC;
    named = named && (code == -ENOSPC || sys != 0);
    return bj_err_say(err, code ? code : -EPROTO, "%s%s%s%s%s%s%s",
                      named ? path : "", named ? ": " : "", what,
                      *what ? ": " : "", msg, sys ? ": " : "",
                      sys ? strerror_r(sys, why, sizeof(why)) : "");
}

void bj_db_single_thread(void)
{
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void bj_db_own_threads(void)
{
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static bool is_for(const char *url)
{
    (void)url;
    return true;
}

int bj_sqlite_exec(struct bj_db *db, const char *sql, struct bj_err *err)
{
    struct bj_sqlite *s = bj_sqlite_of(db);
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : bj_sqlite_fail(s->db, rc, err, "");
}

static int64_t changes(struct bj_db *db)
{
    return sqlite3_changes64(bj_sqlite_of(db)->db);
}

static void interrupt(struct bj_db *db)
{
    sqlite3_interrupt(bj_sqlite_of(db)->db);
}

/* --- transactions --------------------------------------------------------- */

/* Run one of the engine's statements, and return the integer of its row in
 * *ret. */
static int run_own(struct bj_sqlite *s, enum bj_sqlite_own which, int64_t *ret,
                   struct bj_err *err)
{
    static const char *const texts[] = {
        [BJ_SQLITE_BEGIN_WRITE] = "BEGIN IMMEDIATE",
        [BJ_SQLITE_BEGIN_SNAPSHOT] = "BEGIN",
        [BJ_SQLITE_COMMIT] = "COMMIT",
        [BJ_SQLITE_ROLLBACK] = "ROLLBACK",
        [BJ_SQLITE_VERSION] = "PRAGMA data_version",
    };
    int rc = SQLITE_OK;
    if (!s->own[which])
        rc =
            sqlite3_prepare_v3(s->db, texts[which], -1,
                               SQLITE_PREPARE_PERSISTENT, &s->own[which], NULL);
    if (rc != SQLITE_OK)
        return bj_sqlite_fail(s->db, rc, err, "prepare");
    rc = sqlite3_step(s->own[which]);
    int r = bj_sqlite_errno(rc);
    if (r < 0)
        r = bj_sqlite_fail(s->db, rc, err, "");
    else if (rc == SQLITE_ROW && ret)
        *ret = sqlite3_column_int64(s->own[which], 0);
    sqlite3_reset(s->own[which]);
    return r;
}

static int begin(struct bj_db *db, enum bj_begin mode, struct bj_err *err)
{
    return run_own(bj_sqlite_of(db),
                   mode == BJ_BEGIN_WRITE ? BJ_SQLITE_BEGIN_WRITE
                                          : BJ_SQLITE_BEGIN_SNAPSHOT,
                   NULL, err);
}

static int commit(struct bj_db *db, struct bj_err *err)
{
    return run_own(bj_sqlite_of(db), BJ_SQLITE_COMMIT, NULL, err);
}

static bool in_transaction(struct bj_db *db)
{
    return !sqlite3_get_autocommit(bj_sqlite_of(db)->db);
}

static void rollback(struct bj_db *db)
{
    if (in_transaction(db))
        run_own(bj_sqlite_of(db), BJ_SQLITE_ROLLBACK, NULL, NULL);
}

static int version(struct bj_db *db, int64_t *ret, struct bj_err *err)
{
    struct bj_sqlite *s = bj_sqlite_of(db);
    int r = run_own(s, BJ_SQLITE_VERSION, ret, err);
    if (r == 0)
        bj_sqlite_note_shm(s);
    return r;
}

const struct bj_engine bj_engine_sqlite = {
    .name = "SQLite",
    .dialect = BJ_DIALECT_SQLITE,
    .is_for = is_for,
    .open = bj_sqlite_open,
    .close = bj_sqlite_close,
    .exec = bj_sqlite_exec,
    .prepare = bj_sqlite_prepare,
    .changes = changes,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .in_transaction = in_transaction,
    .interrupt = interrupt,
    .deadline = bj_sqlite_deadline,
    .is_lost = bj_sqlite_is_lost,
    .version = version,
    .fence = bj_sqlite_fence,
    .function = bj_sqlite_function,
    .finalize = bj_sqlite_finalize,
    .row = bj_sqlite_row,
    .insert = bj_sqlite_insert,
    .reset = bj_sqlite_reset,
    .clear = bj_sqlite_clear,
    .parameters = bj_sqlite_parameters,
    .bind_null = bj_sqlite_bind_null,
    .bind_i64 = bj_sqlite_bind_i64,
    .bind_f64 = bj_sqlite_bind_f64,
    .bind_text = bj_sqlite_bind_text,
    .columns = bj_sqlite_columns,
    .column_name = bj_sqlite_column_name,
    .get = bj_sqlite_get,
    .get_i64 = bj_sqlite_get_i64,
    .get_f64 = bj_sqlite_get_f64,
    .get_text = bj_sqlite_get_text,
    .check = bj_sqlite_check,
    .references = bj_sqlite_references,
    .shrink = bj_sqlite_shrink,
    .copy = bj_sqlite_copy,
    .load = bj_sqlite_load,
    .bytes = bj_sqlite_bytes,
    .log_bytes = bj_sqlite_log_bytes,
};
