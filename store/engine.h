/* The functions of an engine of the store, one table for each engine; only
 * store/db.h calls them.  The structs of an engine for connections and
 * statements begin with the structs below. */
#ifndef BJ_STORE_ENGINE_H
#define BJ_STORE_ENGINE_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db_options;
struct bj_db_function;

/* The engine's variant of SQL. */
enum bj_dialect { BJ_DIALECT_SQLITE, BJ_DIALECT_POSTGRESQL };

enum bj_begin { BJ_BEGIN_WRITE, BJ_BEGIN_SNAPSHOT };

/* SQL's types of values. */
enum bj_type { BJ_TYPE_NULL, BJ_TYPE_INTEGER, BJ_TYPE_REAL, BJ_TYPE_TEXT };

struct bj_value {
    enum bj_type type;
    union {
        int64_t i64;
        double f64;
        struct bj_slice text; /* a NUL follows it */
    };
};

/* A connection.  It belongs to one thread at a time. */
struct bj_db {
    const struct bj_engine *engine;
    bool late; /* the deadline has ended a statement */
};

/* A statement of a connection. */
struct bj_st {
    const struct bj_engine *engine;
    struct bj_db *db;
    const char *sql; /* its text; valid as long as the statement */
    /* of store/db.c: names of parameters, each followed by a NUL, and the one
       to look at first; the column to look at first; a name that the statement
       does not have */
    char *names;
    const char *name;
    int number, column;
    const char *unknown;
};

enum { BJ_LOAD_COLUMNS = 128 };

/* Many rows for one table. */
struct bj_load {
    const char *table;
    const char *const *column;
    int columns;
    /* Returns the values of the next row: 1; 0: no more rows; or an error,
     * which becomes the result.  Texts must stay valid until the next call. */
    int (*next)(void *ctx, struct bj_value *ret, struct bj_err *err);
    void *ctx;
};

/* Parameters are counted from 1, columns from 0.  The functions with the same
 * names are documented in db.h; for a function that is NULL, db.h returns
 * -ENOTSUP or 0, or does nothing. */
struct bj_engine {
    const char *name;
    enum bj_dialect dialect;
    /* Does this engine handle the URL?  NULL: a database without a name. */
    bool (*is_for)(const char *url);

    int (*open)(const struct bj_db_options *opt, struct bj_db **ret,
                struct bj_err *err);
    void (*close)(struct bj_db *db);
    int (*exec)(struct bj_db *db, const char *sql, struct bj_err *err);
    int (*prepare)(struct bj_db *db, const char *sql, struct bj_st **ret,
                   struct bj_err *err);
    int64_t (*changes)(struct bj_db *db);
    int (*begin)(struct bj_db *db, enum bj_begin mode, struct bj_err *err);
    int (*commit)(struct bj_db *db, struct bj_err *err);
    void (*rollback)(struct bj_db *db);
    bool (*in_transaction)(struct bj_db *db);
    void (*interrupt)(struct bj_db *db);
    void (*deadline)(struct bj_db *db, uint64_t boot_usec);
    bool (*is_lost)(struct bj_db *db);
    int (*version)(struct bj_db *db, int64_t *ret, struct bj_err *err);
    int (*replica)(struct bj_db *db, int64_t *ret_msec,
                   struct bj_err *err); /* may be NULL */
    void (*fence)(struct bj_db *db);
    int (*function)(struct bj_db *db, const struct bj_db_function *f,
                    struct bj_err *err); /* may be NULL */

    /* statements */
    void (*finalize)(struct bj_st *st);
    int (*row)(struct bj_st *st, struct bj_err *err);
    int (*insert)(struct bj_st *st, int64_t *ret_id, struct bj_err *err);
    void (*reset)(struct bj_st *st);
    void (*clear)(struct bj_st *st);
    int (*parameters)(struct bj_st *st);
    void (*bind_null)(struct bj_st *st, int at);
    void (*bind_i64)(struct bj_st *st, int at, int64_t v);
    void (*bind_f64)(struct bj_st *st, int at, double v);
    void (*bind_text)(struct bj_st *st, int at, struct bj_slice s);
    int (*columns)(struct bj_st *st);
    const char *(*column_name)(struct bj_st *st, int col);
    void (*get)(struct bj_st *st, int col, unsigned n, struct bj_value *ret);
    int64_t (*get_i64)(struct bj_st *st, int col);
    double (*get_f64)(struct bj_st *st, int col);
    struct bj_slice (*get_text)(struct bj_st *st, int col);

    /* the whole database */
    int (*check)(struct bj_db *db, struct bj_err *err); /* may be NULL */
    int (*references)(struct bj_db *db, bool on,
                      struct bj_err *err); /* may be NULL */
    int (*shrink)(struct bj_db *db, unsigned pages,
                  struct bj_err *err); /* may be NULL */
    int (*copy)(struct bj_db *db, const char *to,
                int (*progress)(void *ctx, uint64_t done, uint64_t all),
                void *ctx, struct bj_err *err); /* may be NULL */
    int (*load)(struct bj_db *db, const struct bj_load *l, struct bj_err *err);
    uint64_t (*bytes)(struct bj_db *db);
    uint64_t (*log_bytes)(struct bj_db *db); /* may be NULL */
};

extern const struct bj_engine bj_engine_sqlite, bj_engine_postgres;

#endif
