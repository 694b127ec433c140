/* The numbers of jobs: column id of the table job.
 *
 * SQLite numbers jobs in the order of their import: such numbers need few bytes
 * in rows and indexes, and new rows are appended to the tables.
 *
 * In PostgreSQL the number is computed from the job, so that tables can be
 * partitioned by it without a shared counter.  It grows with the submit time:
 *
 *   bits 32 to 62   submit time, seconds since 2000; 0: unknown
 *   bits 26 to 31   cluster: its number in the store, modulo 64
 *   bits  0 to 25   jobid, if that is a number below 2^26, else its hash
 *
 * Jobs of one second may get the same number if a jobid is hashed, or with more
 * than 64 clusters.  The writer, of which there is only one, then uses the next
 * free number of that second.  Numbers of final records contain the time in the
 * same bits (statsdb/tables/record_number.h). */
#ifndef BJ_STATSDB_TABLES_JOB_NUMBER_H
#define BJ_STATSDB_TABLES_JOB_NUMBER_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db;

/* Are numbers computed from jobs? Otherwise the database assigns them. */
bool bj_job_numbers_follow(const struct bj_db *db);

/* The number of a job, positive.  submit_sec: since 1970; 0: unknown. */
int64_t bj_job_number_of(int64_t cluster, struct bj_slice jobid,
                         int64_t submit_sec);

/* The submit time in a number, seconds since 1970; 0: unknown. */
int64_t bj_job_number_time(int64_t number);

/* The first and last number of jobs submitted in a second. */
int64_t bj_job_number_first(int64_t sec);
int64_t bj_job_number_last(int64_t sec);

/* The number of the same job with another submit time. */
int64_t bj_job_number_at(int64_t number, int64_t submit_sec);

/* The number to try next if this one is in use. */
int64_t bj_job_number_next(int64_t number);

/* A reader that remembers the last job it has read may start with this number
 * to skip all existing jobs.  SQLite: the largest number; PostgreSQL:
 * INT64_MAX, because triggers list new jobs there. */
int bj_job_number_upto(struct bj_db *db, int64_t *ret, struct bj_err *err);

#endif
