/* Rows of the tables of a final record: its energy, devices and GPUs.  With
 * SQLite each is written at once, with PostgreSQL many by one statement. */
#ifndef BJ_STATSDB_RECORD_ROWS_H
#define BJ_STATSDB_RECORD_ROWS_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_db;
struct bj_record_rows;

/* The columns of a row, in their order; "record" is the first. */
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

/* Values of the next row, column by column.  The text of an empty one is NULL.
 */
void bj_record_rows_i64(struct bj_record_rows *w, enum bj_record_table table,
                        int64_t v);
void bj_record_rows_text(struct bj_record_rows *w, enum bj_record_table table,
                         struct bj_slice s);

/* Its last value was added: insert it, or replace that with its key. */
int bj_record_rows_put(struct bj_record_rows *w, enum bj_record_table table,
                       struct bj_err *err);

/* Before the commit: write what is left. */
int bj_record_rows_flush(struct bj_record_rows *w, struct bj_err *err);

/* The transaction was rolled back. */
void bj_record_rows_forget(struct bj_record_rows *w);

#endif
