/* Reads the rows of a table in one of the two stores of a copy, with values
 * converted so that equal rows have equal values. */
#ifndef BJ_STATSDB_COPY_COPY_ROWS_H
#define BJ_STATSDB_COPY_COPY_ROWS_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

struct bj_copy_days;
struct bj_copy_numbers;
struct bj_copy_rows;
struct bj_db;
struct bj_value;

enum { BJ_COPY_NAMES = 128, BJ_COPY_NAME_BYTES = 64 };

/* Names of tables, or of the columns of a table. */
struct bj_copy_names {
    int n;
    const char *list[BJ_COPY_NAMES];
    char name[BJ_COPY_NAMES][BJ_COPY_NAME_BYTES];
};

/* List the tables of a store; those whose rows triggers write come last. */
int bj_copy_tables(struct bj_db *db, struct bj_copy_names *ret,
                   struct bj_err *err);

/* Equal sums mean equal rows. */
struct bj_copy_sum {
    uint64_t rows;
    uint64_t sum;  /* of all integers, modulo 2^64 */
    uint64_t hash; /* sum of the rows' hashes */
};

struct bj_copy_from {
    struct bj_db *db, *to; /* the store to read, and the copy */
    const char *table;
    const char *key; /* the table's column with the number of the job or record,
                        or NULL */
    /* NULL: the numbers are those of the copy already */
    struct bj_copy_numbers *numbers;
    const atomic_bool *stop;
};

int bj_copy_rows_new(const struct bj_copy_from *from, struct bj_copy_rows **ret,
                     struct bj_err *err);
void bj_copy_rows_free(struct bj_copy_rows *r); /* NULL is fine */
const struct bj_copy_names *bj_copy_rows_columns(const struct bj_copy_rows *r);

/* Begin to read the rows of a day; all rows if there is no key. */
void bj_copy_rows_begin(struct bj_copy_rows *r, struct bj_copy_days *days,
                        int64_t day);

/* Read the next row: 1 with its values, or 0 at the end. -EINTR: stopped. */
int bj_copy_rows_next(struct bj_copy_rows *r, struct bj_value *ret,
                      struct bj_err *err);

/* The sum of the rows read since begin. */
struct bj_copy_sum bj_copy_rows_sum(const struct bj_copy_rows *r);

/* Begin, and read all rows. */
int bj_copy_rows_read(struct bj_copy_rows *r, struct bj_copy_days *days,
                      int64_t day, struct bj_copy_sum *ret, struct bj_err *err);

#endif
