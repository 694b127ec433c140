/* A statement of PostgreSQL; shared by the files that run it and those that
 * read its rows. */
#ifndef BJ_STORE_POSTGRES_ST_H
#define BJ_STORE_POSTGRES_ST_H

#include "store/postgres_impl.h"

/* A parameter.  Its type is that of its first value, and changes only if it
 * cannot represent a later value, because the server then compiles the
 * statement again. */
struct bj_postgres_param {
    unsigned type; /* 0: only NULL so far */
    const char *p; /* NULL: NULL */
    int n;
    char text[32]; /* a number in decimal */
    char *clean;   /* a text converted to UTF-8 */
};

/* A value of the current row. */
struct bj_postgres_field {
    const char *p; /* NULL: NULL; a NUL follows */
    int n;
};

struct bj_postgres_st {
    struct bj_st base;
    char *sql;       /* as passed to prepare */
    char *rewritten; /* with $1 */
    int params;
    struct bj_postgres_param *param;
    unsigned *types;     /* types of the prepared statement's parameters ... */
    const char **values; /* ... and the values to send */
    int *lengths, *formats;
    unsigned name; /* of the prepared statement; 0: none */
    bool ran;      /* at least once */
    bool inserts;  /* its SQL has RETURNING id */
    bool running;  /* between its first row and its end */

    int columns;           /* number of columns of the result */
    unsigned *column_type; /* their types ... */
    char **column_name;    /* ... and names */
    struct bj_postgres_field *field;
    struct bj_pg_result *row; /* fields point into it ... */

    /* ... or into kept rows: for each field its length as int (-1: NULL), its
     * bytes and a NUL. */
    struct bj_buf kept;
    size_t kept_at;
    int kept_error; /* error after the kept rows, or 0 */
    struct bj_err kept_err;
};

static inline struct bj_postgres_st *bj_postgres_st_of(struct bj_st *st)
{
    return (struct bj_postgres_st *)st;
}

/* Copy the names and types of columns from a result. -ENOMEM. */
int bj_postgres_take_columns(struct bj_postgres_st *st,
                             const struct bj_pg_result *res,
                             struct bj_err *err);

/* Set the fields from a result with one row. */
void bj_postgres_fields(struct bj_postgres_st *st, struct bj_pg_result *res);

/* Append the row of a result to the kept rows. */
void bj_postgres_keep_row(struct bj_postgres_st *st,
                          const struct bj_pg_result *res);

/* Set the fields from the next kept row; false: there is none. */
bool bj_postgres_kept(struct bj_postgres_st *st);

/* Compile the statement, to know its columns before it runs. */
int bj_postgres_describe(struct bj_postgres_st *st, struct bj_err *err);

#endif
