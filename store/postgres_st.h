/* Statements of PostgreSQL and their rows: functions of the engine's table
 * (store/engine.h). */
#ifndef BJ_STORE_POSTGRES_ST_H
#define BJ_STORE_POSTGRES_ST_H

#include "store/db.h"

int bj_postgres_prepare(struct bj_db *db, const char *sql, struct bj_st **ret,
                        struct bj_err *err);
void bj_postgres_finalize(struct bj_st *st);
int bj_postgres_row(struct bj_st *st, struct bj_err *err);
int bj_postgres_insert(struct bj_st *st, int64_t *ret_id, struct bj_err *err);
void bj_postgres_reset(struct bj_st *st);
void bj_postgres_clear(struct bj_st *st);
int bj_postgres_parameters(struct bj_st *st);
void bj_postgres_bind_null(struct bj_st *st, int at);
void bj_postgres_bind_i64(struct bj_st *st, int at, int64_t v);
void bj_postgres_bind_f64(struct bj_st *st, int at, double v);
void bj_postgres_bind_text(struct bj_st *st, int at, struct bj_slice s);

int bj_postgres_columns(struct bj_st *st);
const char *bj_postgres_column_name(struct bj_st *st, int col);
void bj_postgres_get(struct bj_st *st, int col, unsigned n,
                     struct bj_value *ret);
int64_t bj_postgres_get_i64(struct bj_st *st, int col);
double bj_postgres_get_f64(struct bj_st *st, int col);
struct bj_slice bj_postgres_get_text(struct bj_st *st, int col);

int bj_postgres_load(struct bj_db *db, const struct bj_load *l,
                     struct bj_err *err);

#endif
