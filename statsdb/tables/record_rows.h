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
                         energy_uj, estimated, fault, fault_xid, fault_sec,
                         fault_by_process */
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

/* --- record number ---*/

/* The numbers of final records: column id of the table node_record, to which
 * the column record of its tables refers.
 *
 * SQLite numbers records in the order of their arrival.  In PostgreSQL the
 * number is computed from the record, as for jobs
 * (statsdb/tables/job_number.h):
 *
 *   bits 32 to 62   start, seconds since 2000; 0: unknown
 *   bits  0 to 31   hash of cluster, jobid, host and slurm_node
 *
 * Two records of one second may have the same hash.  The writer, of which there
 * is only one, then uses the next free number of that second
 * (bj_job_number_next). */

/* The key of a record, as in the columns of node_record. */
struct bj_record_key {
    int64_t cluster, host, start_sec; /* start_sec: since 1970; 0: unknown */
    struct bj_slice jobid, slurm_node;
};

/* The number of a record; never negative. */
int64_t bj_record_number_of(const struct bj_record_key *k);

#endif
