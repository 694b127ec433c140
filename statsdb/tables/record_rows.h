/* Writes rows of the tables of a final record: its energy, devices and GPUs.
 * With SQLite each row is written at once, with PostgreSQL many by one
 * statement. */
#ifndef BJ_STATSDB_TABLES_RECORD_ROWS_H
#define BJ_STATSDB_TABLES_RECORD_ROWS_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_db;
struct bj_record_rows;

/* The tables; their columns in order, after the first, "record". */
enum bj_record_table {
    BJ_RECORD_ENERGY, /* policy, component, microjoules */
    BJ_RECORD_DEVICE, /* device, read_bytes, write_bytes, read_operations,
                         write_operations */
    BJ_RECORD_GPU,    /* gpu, index, model, source, held_usec, idle_usec,
                         busy_ppm, sm_active_ppm, memory_peak_bytes,
                         energy_uj, estimated */
    BJ_RECORD_TABLES
};

int bj_record_rows_new(struct bj_db *db, struct bj_record_rows **ret,
                       struct bj_err *err);
void bj_record_rows_free(struct bj_record_rows *w);

/* Append a value to the next row, in the order of the columns.  An empty text
 * becomes NULL. */
void bj_record_rows_i64(struct bj_record_rows *w, enum bj_record_table table,
                        int64_t v);
void bj_record_rows_text(struct bj_record_rows *w, enum bj_record_table table,
                         struct bj_slice s);

/* End the row after its last value: insert it, or replace the row with its key.
 */
int bj_record_rows_put(struct bj_record_rows *w, enum bj_record_table table,
                       struct bj_err *err);

/* Write the remaining rows; call it before the commit. */
int bj_record_rows_flush(struct bj_record_rows *w, struct bj_err *err);

/* Drop all rows, after a rollback. */
void bj_record_rows_forget(struct bj_record_rows *w);

#endif
