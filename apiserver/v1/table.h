/* Responses from SQL queries: one row for each row of the result, one key for
 * each column. */
#ifndef BJ_APISERVER_V1_TABLE_H
#define BJ_APISERVER_V1_TABLE_H

#include "apiserver/frame/query.h"
#include "statsdb/job/job_read.h"

/* Append the SQL values of selected columns, separated by commas. */
void bj_table_select(struct bj_query *q, const struct bj_picked *k);

/* Write the current row of a statement that has these values from number first
 * on.  0 or an error of the store. */
int bj_table_row(struct bj_call *c, const struct bj_picked *k, struct bj_st *st,
                 int first, struct bj_rows *rows);

/* Run a query that begins with these values, and write at most max rows to out;
 * *cut: there are more.  0, or an error of the store. */
int bj_table_rows(struct bj_call *c, struct bj_query *q,
                  const struct bj_picked *k, const struct bj_output *out,
                  uint64_t max, bool *cut);

/* Run a query that begins with these values, and respond with at most max rows;
 * meta.cut in the response is true if there are more.  BJ_TABLE_ALL: with all
 * rows, without meta.  0, or an error of the store. */
#define BJ_TABLE_ALL UINT64_MAX
int bj_table_reply(struct bj_call *c, struct bj_query *q,
                   const struct bj_picked *k, uint64_t max);

#endif
