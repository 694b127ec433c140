/* Builds a statement from fixed text and values; values are bound, never
 * written into the text. */
#ifndef BJ_STORE_SQL_BUILD_H
#define BJ_STORE_SQL_BUILD_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "store/engine.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_st;

enum { BJ_SQL_BUILD_VALUES = 3000 }; /* maximum */

/* Zero-initialise; for an engine other than SQLite set its dialect. */
struct bj_sql_build {
    enum bj_dialect dialect;
    struct bj_buf sql;
    struct bj_sql_value {
        struct bj_slice text; /* p NULL: the value is the number */
        int64_t number;
        bool jobid;
    } * value;
    unsigned values;
    size_t room;
    bool full; /* more values than the maximum */
};

void bj_sql_build_free(struct bj_sql_build *b);

/* Append SQL text. */
void bj_sql_build_add(struct bj_sql_build *b, const char *sql);

/* Append a parameter with its value. Texts must stay valid until the statement
 * has run. */
void bj_sql_build_int(struct bj_sql_build *b, int64_t v);
void bj_sql_build_text(struct bj_sql_build *b, struct bj_slice s);
void bj_sql_build_jobid(struct bj_sql_build *b, struct bj_slice s);

/* End the text with a NUL.  -E2BIG: too many values; -ENOMEM. */
int bj_sql_build_end(struct bj_sql_build *b, struct bj_err *err);

/* Bind the values to the statement compiled from the text. */
void bj_sql_build_bind(const struct bj_sql_build *b, struct bj_st *st);

#endif
