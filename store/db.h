/* A database of any engine: connections, statements, transactions.
 *
 * A URL chooses the engine: "postgresql://USER@HOST/DATABASE?..." and
 * "service=NAME" are PostgreSQL, a path or "sqlite:PATH" is a file of SQLite.
 * SQL is written in the forms that all engines know (docs/contributing.md).
 *
 * Functions that return int return 0 or a negative errno, and store the
 * server's message in *err (which may be NULL):
 * -EBUSY: another connection holds the lock (after busy_usec)
 * -ENOSPC: the disk, a quota or the limit of the database is full
 * -EIO: reading or writing failed
 * -EBADMSG: not a database, or a damaged one
 * -EEXIST: a constraint failed
 * -EINTR: interrupted, or at its deadline
 * -ECONNREFUSED, -ENOLINK: no connection to the server; it is lost
 * -EINVAL: the engine refuses a value, such as text that is not UTF-8
 * -EROFS, -EACCES, -ENOENT, -ENOMEM, -EFBIG
 * -EPROTO: any other error, which is a programming error
 * After an error in a transaction, roll it back. */
#ifndef BJ_STORE_DB_H
#define BJ_STORE_DB_H

#include "base/absent.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "store/engine.h"

#include <stdbool.h>
#include <stdint.h>

/* No value, in rows of integers: SQL's NULL. */
#define BJ_SQL_NULL INT64_MIN

/* Convert a count of a record to a value of a row: BJ_ABSENT becomes
 * BJ_SQL_NULL; values beyond INT64_MAX become INT64_MAX. */
static inline int64_t bj_sql_u64(uint64_t v)
{
    if (v == BJ_ABSENT)
        return BJ_SQL_NULL;
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* --- connections ---------------------------------------------------------- */

/* A number of 0 means the default in brackets. */
struct bj_db_options {
    /* NULL: an empty database that is removed when it is closed */
    const char *url;
    bool read_only; /* make no file; statements that write fail */
    bool create;    /* make the database if it is missing */
    /* the file is of another program: run nothing in its schema */
    bool foreign;
    bool any_filesystem; /* a file may be on a network file system */
    /* -EBUSY if another connection with this option is open */
    bool only_writer;
    bool durable;         /* commits survive a power failure */
    bool shrink;          /* a new file can shrink: bj_db_shrink */
    uint64_t cache_bytes; /* memory for pages [12 M] */
    uint64_t busy_usec;   /* wait for a lock [10 s] */
    uint64_t max_bytes;   /* maximum size of the file [no limit] */
    uint64_t value_bytes; /* maximum size of a value [the engine's] */
};

/* For programs that use databases in one thread only; call it before the first
 * open.  Omits locks and memory statistics, which saves a fifth of the work of
 * an import. */
void bj_db_single_thread(void);

/* For programs in which each thread has its own connections; call it before the
 * first open. */
void bj_db_own_threads(void);

/* Open a connection.  The errors above, and:
 * -EBUSY: another process is the only writer
 * -EREMOTE: on a network file system, whose locks are unreliable */
int bj_db_open(const struct bj_db_options *opt, struct bj_db **ret,
               struct bj_err *err);

/* Does the URL name a file, rather than a server? */
bool bj_db_is_file(const char *url);

/* The text for a URL in messages, without its password: the path of a file, or
 * "PostgreSQL". */
const char *bj_db_shown(const char *url);

/* Close the connection and roll back an open transaction. All its statements
 * must have been finalized.  NULL is fine. */
void bj_db_close(struct bj_db *db);

/* "SQLite", "PostgreSQL" */
static inline const char *bj_db_engine(const struct bj_db *db)
{
    return db->engine->name;
}

static inline enum bj_dialect bj_db_dialect(const struct bj_db *db)
{
    return db->engine->dialect;
}

/* Run one or more statements without parameters or rows. */
static inline int bj_db_exec(struct bj_db *db, const char *sql,
                             struct bj_err *err)
{
    return db->engine->exec(db, sql, err);
}

/* Compile one statement.  An engine may report errors in the text only when the
 * statement runs. */
int bj_db_prepare(struct bj_db *db, const char *sql, struct bj_st **ret,
                  struct bj_err *err);

/* Compile the statement in a buffer, then free the buffer. */
int bj_db_prepare_buf(struct bj_db *db, struct bj_buf *sql, struct bj_st **ret,
                      struct bj_err *err);

/* Run a query without parameters that returns one integer; BJ_SQL_NULL for
 * NULL.  -ENOENT: no row. */
int bj_db_int(struct bj_db *db, const char *sql, int64_t *ret,
              struct bj_err *err);

/* The number of rows that the last INSERT, UPDATE or DELETE changed. */
static inline int64_t bj_db_changes(struct bj_db *db)
{
    return db->engine->changes(db);
}

/* Begin a transaction.  WRITE gets the writer's lock at once, so that later
 * statements cannot fail to get it.  In a SNAPSHOT all reads see one state. */
static inline int bj_db_begin(struct bj_db *db, enum bj_begin mode,
                              struct bj_err *err)
{
    return db->engine->begin(db, mode, err);
}

static inline int bj_db_commit(struct bj_db *db, struct bj_err *err)
{
    return db->engine->commit(db, err);
}

/* Without a transaction, or after the connection was lost, this does nothing.
 */
static inline void bj_db_rollback(struct bj_db *db)
{
    db->engine->rollback(db);
}

/* Is a transaction open?  Some errors, such as a full disk, end it. */
static inline bool bj_db_in_transaction(struct bj_db *db)
{
    return db->engine->in_transaction(db);
}

/* End the running statement with -EINTR; from any thread. */
static inline void bj_db_interrupt(struct bj_db *db)
{
    db->engine->interrupt(db);
}

/* Statements end with -EINTR at this time of bj_clock_boot_usec; 0: never. */
static inline void bj_db_deadline(struct bj_db *db, uint64_t boot_usec)
{
    db->late = false;
    db->engine->deadline(db, boot_usec);
}

/* Has the deadline ended a statement? */
static inline bool bj_db_is_late(const struct bj_db *db)
{
    return db->late;
}

/* Must the caller open a new connection, because the server has gone, or
 * another file has replaced the open one? */
static inline bool bj_db_is_lost(struct bj_db *db)
{
    return db->engine->is_lost(db);
}

/* Return a number that changes whenever another connection commits. In a
 * transaction. */
static inline int bj_db_version(struct bj_db *db, int64_t *ret,
                                struct bj_err *err)
{
    return db->engine->version(db, ret, err);
}

/* Is the database a replica of another server's?  0: no.  1: yes, and *ret_msec
 * is the time since the last change that the replica has received, in
 * milliseconds; 0 if it has applied all changes it received; BJ_SQL_NULL if the
 * time is unknown. */
static inline int bj_db_replica(struct bj_db *db, int64_t *ret_msec,
                                struct bj_err *err)
{
    return db->engine->replica ? db->engine->replica(db, ret_msec, err) : 0;
}

/* From now on the connection can only read: statements that write fail with
 * -EACCES. Long statements and long patterns of LIKE are refused. */
static inline void bj_db_fence(struct bj_db *db)
{
    db->engine->fence(db);
}

/* An SQL function that this program computes. */
struct bj_db_function {
    const char *name;
    int arguments; /* at most BJ_FUNCTION_ARGUMENTS */
    bool pure;     /* the result depends only on the arguments */
    /* Set *ret; a text must stay valid until the next call.  -ENOMEM. */
    int (*call)(void *ctx, const struct bj_value *argument,
                struct bj_value *ret);
    void *ctx;
};

enum { BJ_FUNCTION_ARGUMENTS = 4 };

/* Add a function to the connection; f must outlive it.  -ENOTSUP: the engine
 * runs in another process. */
static inline int bj_db_function(struct bj_db *db,
                                 const struct bj_db_function *f,
                                 struct bj_err *err)
{
    if (!db->engine->function)
        return bj_err_set(err, -ENOTSUP, "functions in %s", db->engine->name);
    return db->engine->function(db, f, err);
}

/* --- statements ----------------------------------------------------------- */

/* NULL is fine. */
void bj_st_finalize(struct bj_st *st);

/* The text of a statement. */
static inline const char *bj_st_sql(const struct bj_st *st)
{
    return st->sql;
}

/* The error of a name that a statement does not have. */
int bj_st_no_name(const struct bj_st *st, struct bj_err *err);

/* Read the next row: 1; 0: no more rows; or an error.  After 0 and errors the
 * statement is reset. */
static inline int bj_st_row(struct bj_st *st, struct bj_err *err)
{
    return st->unknown ? bj_st_no_name(st, err) : st->engine->row(st, err);
}

/* Make the statement ready to run again; bound values stay.  NULL is fine. */
static inline void bj_st_reset(struct bj_st *st)
{
    if (st)
        st->engine->reset(st);
}

/* Run a statement that returns no rows, then reset it. */
static inline int bj_st_run(struct bj_st *st, struct bj_err *err)
{
    int r = bj_st_row(st, err);
    if (r > 0)
        bj_st_reset(st);
    return r < 0 ? r : 0;
}

/* Run a statement that returns at most one row with one integer, then reset it.
 * 1: *ret is the integer; 0: no row. */
int bj_st_int(struct bj_st *st, int64_t *ret, struct bj_err *err);

/* Run an INSERT of one row into a table whose rows are numbered by the column
 * id, then reset it. 1: *ret_id is the number of the new row; 0: ON CONFLICT DO
 * NOTHING left the row out.  The text must not have RETURNING, for which SQLite
 * makes a table at each run. Run such a statement only by this function. */
static inline int bj_st_insert(struct bj_st *st, int64_t *ret_id,
                               struct bj_err *err)
{
    return st->engine->insert(st, ret_id, err);
}

/* Parameters are written ":name", or "?", or "?1", and only in one of these
 * ways; each is NULL until it is bound.  A bound value stays until it is
 * replaced. */

/* The number of parameters. */
static inline int bj_st_parameters(struct bj_st *st)
{
    return st->engine->parameters(st);
}

/* Set all parameters to NULL. */
static inline void bj_st_clear(struct bj_st *st)
{
    st->engine->clear(st);
}

static inline void bj_st_bind_null(struct bj_st *st, int at)
{
    st->engine->bind_null(st, at);
}

/* Bind an integer; BJ_SQL_NULL becomes NULL. */
static inline void bj_st_bind_i64(struct bj_st *st, int at, int64_t v)
{
    if (v == BJ_SQL_NULL)
        st->engine->bind_null(st, at);
    else
        st->engine->bind_i64(st, at, v);
}

static inline void bj_st_bind_f64(struct bj_st *st, int at, double v)
{
    st->engine->bind_f64(st, at, v);
}

/* Bind text, which must stay valid until the statement has run; p NULL becomes
 * NULL. */
static inline void bj_st_bind_text(struct bj_st *st, int at, struct bj_slice s)
{
    if (s.p)
        st->engine->bind_text(st, at, s);
    else
        st->engine->bind_null(st, at);
}

/* Is the jobid a number without leading zeros? */
bool bj_jobid_number(struct bj_slice s, int64_t *ret);

/* Bind a jobid, a text that usually is a number.  SQLite stores numbers as
 * integers, which need less space and sort numerically; PostgreSQL always
 * stores text. */
void bj_st_bind_jobid(struct bj_st *st, int at, struct bj_slice s);

/* Bind a jobid that is a number. */
void bj_st_bind_jobid_number(struct bj_st *st, int at, int64_t v);

/* Bind text; an empty text also becomes NULL. */
static inline void bj_st_bind_filled(struct bj_st *st, int at,
                                     struct bj_slice s)
{
    if (s.n == 0)
        st->engine->bind_null(st, at);
    else
        st->engine->bind_text(st, at, s);
}

/* The number of the parameter ":name".  0: there is none, and bj_st_row will
 * fail. */
int bj_st_param(struct bj_st *st, const char *name);

/* Bind parameters by their names. */
static inline void bj_st_set_i64(struct bj_st *st, const char *name, int64_t v)
{
    bj_st_bind_i64(st, bj_st_param(st, name), v);
}

static inline void bj_st_set_f64(struct bj_st *st, const char *name, double v)
{
    bj_st_bind_f64(st, bj_st_param(st, name), v);
}

static inline void bj_st_set_text(struct bj_st *st, const char *name,
                                  struct bj_slice s)
{
    bj_st_bind_text(st, bj_st_param(st, name), s);
}

static inline void bj_st_set_filled(struct bj_st *st, const char *name,
                                    struct bj_slice s)
{
    bj_st_bind_filled(st, bj_st_param(st, name), s);
}

/* The number of columns of the result. */
static inline int bj_st_columns(struct bj_st *st)
{
    return st->engine->columns(st);
}

static inline const char *bj_st_column_name(struct bj_st *st, int col)
{
    return st->engine->column_name(st, col);
}

/* The number of the column with this name in the result.  -1: there is none;
 * its values are NULL, and bj_st_row will fail. */
int bj_st_column(struct bj_st *st, const char *name);

/* Return values of the current row: n columns from col on.  Texts are valid
 * until the next row, and a NUL follows them. */
static inline void bj_st_get(struct bj_st *st, int col, unsigned n,
                             struct bj_value *ret)
{
    st->engine->get(st, col, n, ret);
}

static inline enum bj_type bj_st_type(struct bj_st *st, int col)
{
    struct bj_value v;
    st->engine->get(st, col, 1, &v);
    return v.type;
}

/* Return one value as an integer: reals lose their fraction; NULL is
 * BJ_SQL_NULL. */
static inline int64_t bj_st_get_i64(struct bj_st *st, int col)
{
    return st->engine->get_i64(st, col);
}

/* Return one value as a real number; NULL is 0. */
static inline double bj_st_get_f64(struct bj_st *st, int col)
{
    return st->engine->get_f64(st, col);
}

/* Return one value as text: numbers in decimal; p is NULL for NULL. */
static inline struct bj_slice bj_st_get_text(struct bj_st *st, int col)
{
    return st->engine->get_text(st, col);
}

/* The same by the name of the column: "AS name", or that of a column of a
 * table. */
static inline int64_t bj_st_i64(struct bj_st *st, const char *name)
{
    const int col = bj_st_column(st, name);
    return col < 0 ? BJ_SQL_NULL : bj_st_get_i64(st, col);
}

static inline double bj_st_f64(struct bj_st *st, const char *name)
{
    const int col = bj_st_column(st, name);
    return col < 0 ? 0 : bj_st_get_f64(st, col);
}

static inline struct bj_slice bj_st_text(struct bj_st *st, const char *name)
{
    const int col = bj_st_column(st, name);
    return col < 0 ? (struct bj_slice){NULL, 0} : bj_st_get_text(st, col);
}

/* --- the whole database --------------------------------------------------- */

/* Check the whole database: pages, indexes, foreign keys.  Takes long. -EBADMSG
 * with the first error; -ENOTSUP: a server checks its own files. */
static inline int bj_db_check(struct bj_db *db, struct bj_err *err)
{
    if (!db->engine->check)
        return bj_err_set(err, -ENOTSUP, "check of %s", db->engine->name);
    return db->engine->check(db, err);
}

/* Switch the check of foreign keys on (the default) or off, between two
 * transactions. */
static inline int bj_db_references(struct bj_db *db, bool on,
                                   struct bj_err *err)
{
    return db->engine->references ? db->engine->references(db, on, err) : 0;
}

/* Return at most this many unused pages of a file to the file system, in a
 * transaction. */
static inline int bj_db_shrink(struct bj_db *db, unsigned pages,
                               struct bj_err *err)
{
    return db->engine->shrink ? db->engine->shrink(db, pages, err) : 0;
}

/* Copy the current state of the database into a new file while it is in use.
 * The file gets its name only after the copy is complete and on disk.  -EEXIST:
 * the file exists. progress (may be NULL) is called with the number of copied
 * pages and the total; if it returns a negative value, the copy stops with that
 * result. */
static inline int bj_db_copy(struct bj_db *db, const char *to,
                             int (*progress)(void *ctx, uint64_t done,
                                             uint64_t all),
                             void *ctx, struct bj_err *err)
{
    if (!db->engine->copy)
        return bj_err_set(err, -ENOTSUP, "copies of %s", db->engine->name);
    return db->engine->copy(db, to, progress, ctx, err);
}

/* Add many rows, in a transaction. */
static inline int bj_db_load(struct bj_db *db, const struct bj_load *l,
                             struct bj_err *err)
{
    return db->engine->load(db, l, err);
}

/* Size of the database on disk in bytes. */
static inline uint64_t bj_db_bytes(struct bj_db *db)
{
    return db->engine->bytes(db);
}

/* Bytes in the write-ahead log that are not yet in the database file. */
static inline uint64_t bj_db_log_bytes(struct bj_db *db)
{
    return db->engine->log_bytes ? db->engine->log_bytes(db) : 0;
}

#endif
