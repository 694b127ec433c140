/* Responses from SQL queries: one row for each row of the result, one key for
 * each column (column.h). */
#ifndef BJ_APISERVER_V1_TABLE_H
#define BJ_APISERVER_V1_TABLE_H

#include "apiserver/frame/column.h"
#include "apiserver/frame/query.h"

/* Append the SQL of all columns of a table, separated by commas. */
void bj_table_select(struct bj_query *q, const struct bj_api_column *columns);

/* Write a number, which may be BJ_SQL_NULL, in the form of this kind of column.
 */
void bj_table_number(enum bj_value_kind kind, struct bj_rows *rows, int64_t v);

/* Set ret to the keys of the columns; returns their number. */
unsigned bj_table_keys(const struct bj_api_column *columns,
                       const char *ret[static BJ_API_COLUMNS]);

/* Write the current row of a statement whose first n columns are these. */
void bj_table_row(const struct bj_api_column *columns, unsigned n,
                  struct bj_rows *rows, struct bj_st *st);

/* Run a query whose first columns are these, and write at most max rows to out;
 * *cut: there are more.  0, or an error of the store. */
int bj_table_rows(struct bj_call *c, struct bj_query *q,
                  const struct bj_api_column *columns,
                  const struct bj_output *out, uint64_t max, bool *cut);

/* Run a query whose first columns are these, and respond with at most max rows;
 * meta.cut in the response is true if there are more.  0, or an error of the
 * store. */
int bj_table_reply(struct bj_call *c, struct bj_query *q,
                   const struct bj_api_column *columns, uint64_t max);

#endif
