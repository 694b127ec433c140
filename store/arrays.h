/* Rows of values as parameters of one statement of PostgreSQL: an array for
 * each column, as text.  The statement reads them from
 * "unnest(CAST(?1 AS bigint[]), CAST(?2 AS text[]))". */
#ifndef BJ_STORE_ARRAYS_H
#define BJ_STORE_ARRAYS_H

#include "base/buf.h"
#include "store/db.h"

enum { BJ_ARRAYS = 64 }; /* maximum number of columns */

/* Zero-initialise; free with bj_arrays_free. */
struct bj_arrays {
    struct bj_buf column[BJ_ARRAYS];
    unsigned rows; /* counted by the caller */
};

void bj_arrays_free(struct bj_arrays *a);
void bj_arrays_clear(struct bj_arrays *a);

/* Append a value to a column (counted from 0).  BJ_SQL_NULL, and a text with p
 * NULL, become NULL. */
void bj_arrays_i64(struct bj_arrays *a, unsigned column, int64_t v);
void bj_arrays_text(struct bj_arrays *a, unsigned column, struct bj_slice s);

/* Bind the first columns as the parameters of a statement; they are valid until
 * *a is changed. */
int bj_arrays_bind(struct bj_arrays *a, unsigned columns, struct bj_st *st,
                   struct bj_err *err);

/* Run a statement that returns no rows with these parameters, then clear them.
 */
int bj_arrays_run(struct bj_arrays *a, unsigned columns, struct bj_st *st,
                  struct bj_err *err);

/* Run a statement that returns one text, "1,-2,3", with one number for each row
 * of *a, then clear them. */
int bj_arrays_numbers(struct bj_arrays *a, unsigned columns, struct bj_st *st,
                      int64_t *ret, struct bj_err *err);

#endif
