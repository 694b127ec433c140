/* Jobs of API v1, as rows. */
#ifndef BJ_APISERVER_JOBS_H
#define BJ_APISERVER_JOBS_H

#include "apiserver/column.h"
#include "apiserver/params.h"
#include "apiserver/query.h"

/* Which columns of bj_api_columns a request wants, in their order. */
struct bj_picked {
    unsigned char at[BJ_API_COLUMNS];
    const char *key[BJ_API_COLUMNS];
    unsigned n;
};

/* Those that "fields" names, or all.  0 or a refusal. */
int bj_jobs_pick(struct bj_call *c, const struct bj_params *p,
                 struct bj_picked *ret);

/* Begin "SELECT j.at, j.id, COLUMNS FROM ... WHERE 1". */
void bj_jobs_select(struct bj_query *q, const struct bj_picked *k);

/* Write the row that a statement of bj_jobs_select stands on. */
int bj_jobs_row(struct bj_call *c, const struct bj_picked *k,
                struct sqlite3_stmt *st, struct bj_rows *rows);

/* Append " AND ..." for a job named by key, SLUID, id or array id. */
int bj_jobs_named(struct bj_query *q, struct bj_call *c, struct bj_slice name);

#endif
