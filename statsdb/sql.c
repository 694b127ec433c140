#include "statsdb/sql.h"

#include <stddef.h>

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

void bj_sql_single_thread(void)
{
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void bj_sql_own_threads(void)
{
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int bj_sql_errno(int rc)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].rc == (rc & 0xff))
            return codes[i].code;
    return -EPROTO;
}

int bj_sql_fail(struct sqlite3 *db, int rc, struct bj_err *err,
                const char *what)
{
    int code = bj_sql_errno(rc);
    const char *msg = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    return bj_err_set(err, code ? code : -EPROTO, "%s%s%s", what,
                      *what ? ": " : "", msg);
}

int bj_sql_exec(struct sqlite3 *db, const char *sql, struct bj_err *err)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : bj_sql_fail(db, rc, err, "");
}

int bj_sql_prepare(struct sqlite3 *db, const char *sql,
                   struct sqlite3_stmt **ret, struct bj_err *err)
{
    int rc =
        sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
    return rc == SQLITE_OK ? 0 : bj_sql_fail(db, rc, err, "prepare");
}

int bj_sql_run(struct sqlite3_stmt *st, struct bj_err *err)
{
    int r = bj_sql_row(st, err);
    if (r > 0)
        sqlite3_reset(st);
    return r < 0 ? r : 0;
}

int bj_sql_row(struct sqlite3_stmt *st, struct bj_err *err)
{
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        return 1;
    int r =
        rc == SQLITE_DONE ? 0 : bj_sql_fail(sqlite3_db_handle(st), rc, err, "");
    sqlite3_reset(st);
    return r;
}

int bj_sql_int(struct sqlite3 *db, const char *sql, int64_t *ret,
               struct bj_err *err)
{
    struct sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc != SQLITE_OK)
        return bj_sql_fail(db, rc, err, "prepare");
    int r = bj_sql_row(st, err);
    if (r > 0)
        *ret = bj_sql_get(st, 0);
    else if (r == 0)
        r = bj_err_set(err, -ENOENT, "no row from: %s", sql);
    sqlite3_finalize(st);
    return r < 0 ? r : 0;
}
