/* libpq, loaded at run time when a store is in PostgreSQL, so that sites with
 * SQLite need neither the library nor its dependencies (OpenSSL, LDAP,
 * Kerberos).
 *
 * Source: PostgreSQL 13, libpq-fe.h; the ABI is that of the library's file
 * name, libpq.so.5. */
#ifndef BJ_STORE_LIBPQ_H
#define BJ_STORE_LIBPQ_H

#include "base/err.h"

struct bj_pg_conn;
struct bj_pg_result;
struct bj_pg_cancel;

/* PQconninfoOption. */
struct bj_pg_option {
    char *keyword, *envvar, *compiled, *val, *label, *dispchar;
    int dispsize;
};

/* ConnStatusType. */
enum { BJ_PG_CONNECTION_OK = 0, BJ_PG_CONNECTION_BAD = 1 };

/* PGTransactionStatusType. */
enum {
    BJ_PG_IDLE = 0,
    BJ_PG_ACTIVE = 1,
    BJ_PG_INTRANS = 2,
    BJ_PG_INERROR = 3,
    BJ_PG_UNKNOWN = 4
};

/* ExecStatusType. */
enum {
    BJ_PG_EMPTY_QUERY = 0,
    BJ_PG_COMMAND_OK = 1,
    BJ_PG_TUPLES_OK = 2,
    BJ_PG_COPY_OUT = 3,
    BJ_PG_COPY_IN = 4,
    BJ_PG_SINGLE_TUPLE = 9
};

/* PG_DIAG_ fields of a result's error. */
enum { BJ_PG_DIAG_SQLSTATE = 'C', BJ_PG_DIAG_MESSAGE = 'M' };

/* Oids of types: pg_type.dat. */
enum {
    BJ_PG_BOOL = 16,
    BJ_PG_INT8 = 20,
    BJ_PG_INT2 = 21,
    BJ_PG_INT4 = 23,
    BJ_PG_TEXT = 25,
    BJ_PG_OID = 26,
    BJ_PG_FLOAT4 = 700,
    BJ_PG_FLOAT8 = 701,
    BJ_PG_NUMERIC = 1700
};

typedef void bj_pg_notice(void *arg, const char *message);

/* The functions that are used, without the prefix "PQ". */
struct bj_libpq {
    struct bj_pg_option *(*conninfo_parse)(const char *info, char **message);
    void (*conninfo_free)(struct bj_pg_option *o);
    void (*freemem)(void *p);
    struct bj_pg_conn *(*connect)(const char *const *keys,
                                  const char *const *values, int expand);
    void (*finish)(struct bj_pg_conn *c);
    int (*status)(const struct bj_pg_conn *c);
    int (*transaction)(const struct bj_pg_conn *c);
    const char *(*parameter)(const struct bj_pg_conn *c, const char *name);
    int (*server_version)(const struct bj_pg_conn *c);
    char *(*error)(const struct bj_pg_conn *c);
    int (*socket)(const struct bj_pg_conn *c);
    bj_pg_notice *(*notice)(struct bj_pg_conn *c, bj_pg_notice *proc,
                            void *arg);
    struct bj_pg_cancel *(*get_cancel)(struct bj_pg_conn *c);
    void (*free_cancel)(struct bj_pg_cancel *c);
    int (*cancel)(struct bj_pg_cancel *c, char *message, int size);

    int (*send_query)(struct bj_pg_conn *c, const char *sql);
    int (*send_params)(struct bj_pg_conn *c, const char *sql, int n,
                       const unsigned *types, const char *const *values,
                       const int *lengths, const int *formats, int binary);
    int (*send_prepare)(struct bj_pg_conn *c, const char *name, const char *sql,
                        int n, const unsigned *types);
    int (*send_describe)(struct bj_pg_conn *c, const char *name);
    int (*send_prepared)(struct bj_pg_conn *c, const char *name, int n,
                         const char *const *values, const int *lengths,
                         const int *formats, int binary);
    int (*single_row)(struct bj_pg_conn *c);
    int (*consume)(struct bj_pg_conn *c);
    int (*is_busy)(struct bj_pg_conn *c);
    struct bj_pg_result *(*get_result)(struct bj_pg_conn *c);
    int (*put_copy)(struct bj_pg_conn *c, const char *p, int n);
    int (*end_copy)(struct bj_pg_conn *c, const char *error);
    int (*get_copy)(struct bj_pg_conn *c, char **ret, int async);

    int (*result_status)(const struct bj_pg_result *r);
    char *(*result_error)(const struct bj_pg_result *r);
    char *(*result_field)(const struct bj_pg_result *r, int code);
    int (*rows)(const struct bj_pg_result *r);
    int (*columns)(const struct bj_pg_result *r);
    char *(*column_name)(const struct bj_pg_result *r, int col);
    unsigned (*column_type)(const struct bj_pg_result *r, int col);
    char *(*value)(const struct bj_pg_result *r, int row, int col);
    int (*length)(const struct bj_pg_result *r, int row, int col);
    int (*is_null)(const struct bj_pg_result *r, int row, int col);
    char *(*command)(struct bj_pg_result *r);
    char *(*changed)(struct bj_pg_result *r);
    void (*clear)(struct bj_pg_result *r);
};

/* Load the library once; it stays loaded.  From any thread.  -ENOSYS: it is
 * missing. */
int bj_libpq_load(const struct bj_libpq **ret, struct bj_err *err);

#endif
