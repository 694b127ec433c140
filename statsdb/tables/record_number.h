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
#ifndef BJ_STATSDB_TABLES_RECORD_NUMBER_H
#define BJ_STATSDB_TABLES_RECORD_NUMBER_H

#include "base/slice.h"

#include <stdint.h>

/* The key of a record, as in the columns of node_record. */
struct bj_record_key {
    int64_t cluster, host, start_sec; /* start_sec: since 1970; 0: unknown */
    struct bj_slice jobid, slurm_node;
};

/* The number of a record; never negative. */
int64_t bj_record_number_of(const struct bj_record_key *k);

#endif
