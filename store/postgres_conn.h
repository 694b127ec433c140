/* A connection to PostgreSQL: errors, deadlines, waiting for the server. Of the
 * engine PostgreSQL only. */
#ifndef BJ_STORE_POSTGRES_CONN_H
#define BJ_STORE_POSTGRES_CONN_H

#include "base/buf.h"
#include "store/db.h"
#include "store/libpq.h"

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
    /* a statement whose rows have not all arrived, and a function that reads
     * the rest of them into memory */
    struct bj_postgres_st *reading;
    void (*keep)(struct bj_postgres_st *st);
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

/* Set *err to a text followed by the server's message for a result (NULL: the
 * connection's message), and return its errno. */
int bj_postgres_fail(struct bj_postgres *p, const struct bj_pg_result *res,
                     struct bj_err *err, const char *what);

/* The errno for an SQLSTATE. */
int bj_postgres_errno(const char *state);

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

/* Number of rows that the statement of a result changed. */
int64_t bj_postgres_changed(struct bj_postgres *p, struct bj_pg_result *res);

/* Run statements written for PostgreSQL, without rewriting them. */
int bj_postgres_exec_own(struct bj_postgres *p, const char *sql,
                         struct bj_err *err);

#endif
