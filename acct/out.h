/* The columns that batchjob_acct shows, and its rows: as a table or a list for
 * people, as CSV and as JSON. */
#ifndef BJ_ACCT_OUT_H
#define BJ_ACCT_OUT_H

#include "acct/source.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "statsdb/job/rows.h"

#include <stdio.h>

enum { BJ_ACCT_COLUMNS_MAX = 128 }; /* in one table */

/* Find the columns for a list of names; an entry may hold several names with
 * commas between.  "all" selects all columns that have a title.  Stores *ret_n
 * columns in ret.  -EINVAL: a name is unknown; the message contains it. */
int bj_acct_format(const struct bj_strv *names,
                   const struct bj_column *ret[BJ_ACCT_COLUMNS_MAX],
                   unsigned *ret_n, struct bj_err *err);

/* Append the heading of a column in tables; times name the reader's zone:
 * "Start (Europe/Paris)". */
void bj_acct_title(struct bj_buf *out, const struct bj_column *c);

/* Append one line for each column, for --help. */
void bj_acct_columns_help(struct bj_buf *out);

enum bj_acct_form {
    BJ_ACCT_TABLE,
    BJ_ACCT_LIST, /* a line for each value that is known */
    BJ_ACCT_CSV,
    BJ_ACCT_JSON
};

struct bj_acct_look {
    enum bj_acct_form form;
    const struct bj_column *const *column;
    unsigned columns;
    bool header;    /* of tables and CSV */
    bool colour;    /* states for people */
    unsigned width; /* maximum width of table lines; 0: no limit */
    FILE *to;
};

struct bj_acct_out;

/* look and everything that it points to must outlive the output. */
int bj_acct_out_new(const struct bj_acct_look *look, struct bj_acct_out **ret,
                    struct bj_err *err);

/* Write a job.  A table is kept in memory until the widths of its columns are
 * known.
 *   -ENOMEM, an error of writing, or an error of the row's source */
int bj_acct_out_row(struct bj_acct_out *o, const struct bj_acct_row *row,
                    struct bj_err *err);

/* Write the rows kept in memory, and the end of the output. */
int bj_acct_out_end(struct bj_acct_out *o, struct bj_err *err);
void bj_acct_out_free(struct bj_acct_out *o); /* NULL is fine */

#endif
