/* Shared by the files of the engine PostgreSQL only. */
#ifndef BJ_STORE_POSTGRES_IMPL_H
#define BJ_STORE_POSTGRES_IMPL_H

#include "base/buf.h"
#include "store/db.h"
#include "store/libpq.h"

#include <stdatomic.h>

struct bj_postgres_st;

struct bj_postgres {
    struct bj_db base;
    const struct bj_libpq *lib;
    struct bj_pg_conn *conn;
    struct bj_pg_cancel *cancel;
    uint64_t deadline; /* boot clock, or 0 */
    uint64_t grace; /* deadline for the server's response to a cancel request;
                       boot clock */
    uint64_t busy_usec;
    int64_t changes;
    /* a statement whose rows have not all arrived */
    struct bj_postgres_st *reading;
    unsigned names; /* of prepared statements so far */
    /* SQL that drops prepared statements no longer used */
    struct bj_buf unused;
    int unusable; /* error of a failed fence; 0: usable */
    bool fenced, lost;
};

static inline struct bj_postgres *bj_postgres_of(struct bj_db *db)
{
    return (struct bj_postgres *)db;
}

/* --- postgres.c ----------------------------------------------------------- */

/* Set *err to a text followed by the server's message for a result (NULL: the
 * connection's message), and return its errno. */
int bj_postgres_fail(struct bj_postgres *p, const struct bj_pg_result *res,
                     struct bj_err *err, const char *what);

/* The errno for an SQLSTATE. */
int bj_postgres_errno(const char *state);

/* Number of rows that the statement of a result changed. */
int64_t bj_postgres_changed(struct bj_postgres *p, struct bj_pg_result *res);

/* Run statements written for PostgreSQL, without rewriting them. */
int bj_postgres_exec_own(struct bj_postgres *p, const char *sql,
                         struct bj_err *err);

/* --- postgres_wait.c ------------------------------------------------------ */

/* Call it before something is sent: reads the remaining rows of a running
 * statement into memory, and drops finalized statements at the server. */
int bj_postgres_ready(struct bj_postgres *p, struct bj_err *err);

/* Wait for the next result of the last request.  NULL: no more results, or the
 * connection is lost.  At the deadline a cancel request is sent to the server.
 */
struct bj_pg_result *bj_postgres_next(struct bj_postgres *p);

/* Read all results of the last request and return the last one; an error has
 * precedence.  0 with *ret (may be NULL), or an error. */
int bj_postgres_finish(struct bj_postgres *p, struct bj_pg_result **ret,
                       struct bj_err *err, const char *what);

/* --- postgres_open.c ------------------------------------------------------ */

bool bj_postgres_is_for(const char *url);
int bj_postgres_open(const struct bj_db_options *opt, struct bj_db **ret,
                     struct bj_err *err);
void bj_postgres_close(struct bj_db *db);

/* --- postgres_sql.c ------------------------------------------------------- */

/* Rewrite words of SQLite, and parameters, "?" and "?1", to "$1", outside of
 * quotes and comments; the result is followed by a NUL.  Returns the number of
 * parameters, or -ENOMEM, or -EINVAL: too many, or both spellings. */
int bj_postgres_rewrite(const char *sql, struct bj_buf *ret);

/* --- postgres_functions.c ------------------------------------------------- */

/* Make the SQL functions that statements use, unless they exist. */
int bj_postgres_make_functions(struct bj_db *db, struct bj_err *err);

/* --- postgres_load.c ------------------------------------------------------ */

int bj_postgres_load(struct bj_db *db, const struct bj_load *l,
                     struct bj_err *err);

/* --- postgres_st.c -------------------------------------------------------- */

int bj_postgres_prepare(struct bj_db *db, const char *sql, struct bj_st **ret,
                        struct bj_err *err);
void bj_postgres_finalize(struct bj_st *st);
int bj_postgres_row(struct bj_st *st, struct bj_err *err);
int bj_postgres_insert(struct bj_st *st, int64_t *ret_id, struct bj_err *err);
void bj_postgres_reset(struct bj_st *st);
void bj_postgres_clear(struct bj_st *st);
int bj_postgres_parameters(struct bj_st *st);
void bj_postgres_bind_null(struct bj_st *st, int at);
void bj_postgres_bind_i64(struct bj_st *st, int at, int64_t v);
void bj_postgres_bind_f64(struct bj_st *st, int at, double v);
void bj_postgres_bind_text(struct bj_st *st, int at, struct bj_slice s);

/* Read the remaining rows into memory. */
void bj_postgres_keep(struct bj_postgres_st *st);

/* --- postgres_row.c ------------------------------------------------------- */

int bj_postgres_columns(struct bj_st *st);
const char *bj_postgres_column_name(struct bj_st *st, int col);
void bj_postgres_get(struct bj_st *st, int col, unsigned n,
                     struct bj_value *ret);
int64_t bj_postgres_get_i64(struct bj_st *st, int col);
double bj_postgres_get_f64(struct bj_st *st, int col);
struct bj_slice bj_postgres_get_text(struct bj_st *st, int col);

#endif
