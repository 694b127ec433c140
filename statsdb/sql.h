/* SQLite with errors that are errnos with a message. */
#ifndef BJ_STATSDB_SQL_H
#define BJ_STATSDB_SQL_H

#include "base/absent.h"
#include "base/err.h"
#include "base/slice.h"

#include <sqlite3.h>
#include <stdint.h>

/* No value, in rows of integers: SQL's NULL. */
#define BJ_SQL_NULL INT64_MIN

/* A text, in rows of integers. */
#define BJ_SQL_TEXT (BJ_SQL_NULL + 1)

/* For programs that use SQLite in one thread only, before they open a database:
 * omits locks and memory statistics, which saves a fifth of an import's work.
 */
void bj_sql_single_thread(void);

/* The same for programs whose threads each have their own connections. */
void bj_sql_own_threads(void);

/* The errno for a result of SQLite, 0 for SQLITE_OK, ROW and DONE:
 * -EBUSY: another connection holds the lock (after the busy timeout)
 * -ENOSPC: the disk, a quota or the file's own limit is full
 * -EIO: reading or writing failed
 * -EBADMSG: not a database, or a damaged one
 * -EROFS, -EACCES, -ENOENT, -ENOMEM, -EINTR (interrupted)
 * -EEXIST: a constraint failed
 * -EPROTO: any other result, which is a programming error */
int bj_sql_errno(int rc);

/* Set *err (may be NULL) to the connection's message for rc after a text, and
 * return its errno. */
int bj_sql_fail(struct sqlite3 *db, int rc, struct bj_err *err,
                const char *what);

/* Run one or more statements without parameters or rows. */
int bj_sql_exec(struct sqlite3 *db, const char *sql, struct bj_err *err);

/* Compile one statement that will be kept. */
int bj_sql_prepare(struct sqlite3 *db, const char *sql,
                   struct sqlite3_stmt **ret, struct bj_err *err);

/* Run a statement without rows, then reset it (bindings stay). */
int bj_sql_run(struct sqlite3_stmt *st, struct bj_err *err);

/* Step to the next row: 1 a row, 0 none (the statement is then reset), or an
 * error (reset too). */
int bj_sql_row(struct sqlite3_stmt *st, struct bj_err *err);

/* The single integer of a query without parameters; BJ_SQL_NULL for NULL,
 * -ENOENT without a row. */
int bj_sql_int(struct sqlite3 *db, const char *sql, int64_t *ret,
               struct bj_err *err);

/* Bind v; BJ_SQL_NULL is NULL. */
static inline void bj_sql_bind(struct sqlite3_stmt *st, int at, int64_t v)
{
    if (v == BJ_SQL_NULL)
        sqlite3_bind_null(st, at);
    else
        sqlite3_bind_int64(st, at, v);
}

/* Bind text that stays valid until the statement has run. An empty slice is
 * NULL. */
static inline void bj_sql_bind_text(struct sqlite3_stmt *st, int at,
                                    struct bj_slice s)
{
    if (s.n == 0)
        sqlite3_bind_null(st, at);
    else
        sqlite3_bind_text64(st, at, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
}

/* The integer in a column of the current row; NULL is BJ_SQL_NULL. */
static inline int64_t bj_sql_get(struct sqlite3_stmt *st, int col)
{
    struct sqlite3_value *v = sqlite3_column_value(st, col);
    return sqlite3_value_type(v) == SQLITE_NULL ? BJ_SQL_NULL
                                                : sqlite3_value_int64(v);
}

/* The text in a column of the current row, valid until the next step. */
static inline struct bj_slice bj_sql_text(struct sqlite3_stmt *st, int col)
{
    const char *p = (const char *)sqlite3_column_text(st, col);
    return (struct bj_slice){p, (size_t)sqlite3_column_bytes(st, col)};
}

/* A count of a record as a value of a row: BJ_ABSENT is NULL; larger values
 * than a signed 64 bit number are limited to it. */
static inline int64_t bj_sql_u64(uint64_t v)
{
    if (v == BJ_ABSENT)
        return BJ_SQL_NULL;
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

#endif
