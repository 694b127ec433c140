/* Responses from a SQL table: a row for each result, a key for each column
 * (column.h). */
#ifndef BJ_APISERVER_TABLE_H
#define BJ_APISERVER_TABLE_H

#include "apiserver/column.h"
#include "apiserver/query.h"

/* Append the SQL of the columns, up to the end of their table, separated by
 * commas. */
void bj_table_select(struct bj_query *q, const struct bj_api_column *columns);

/* Write a number, which may be BJ_SQL_NULL, in the form of that kind of column.
 */
void bj_table_number(enum bj_value_kind kind, struct bj_rows *rows, int64_t v);

/* The keys of the columns; returns their number. */
unsigned bj_table_keys(const struct bj_api_column *columns,
                       const char *ret[static BJ_API_COLUMNS]);

/* Write the row of a statement that begins with n of these columns. */
void bj_table_row(const struct bj_api_column *columns, unsigned n,
                  struct bj_rows *rows, struct bj_st *st);

/* Run a query that begins with these columns: its rows go to out, at most max
 * of them; *cut: there are more.  0, or an error
 * of the store. */
int bj_table_rows(struct bj_call *c, struct bj_query *q,
                  const struct bj_api_column *columns,
                  const struct bj_output *out, uint64_t max, bool *cut);

/* Run a query that begins with these columns, and answer with its rows, of
 * which there are at most max; meta.cut says whether there are more.  0,
 * or an error of the store. */
int bj_table_answer(struct bj_call *c, struct bj_query *q,
                    const struct bj_api_column *columns, uint64_t max);

/* The same for one job: the query is FROM and WHERE up to the number of the
 * job, which is bound, and what follows it.  Finds the job of the call's tail.
 * 0, a refusal, or an error of the store. */
int bj_table_of_job(struct bj_call *c, const struct bj_api_column *columns,
                    const char *from, const char *behind);

#endif
