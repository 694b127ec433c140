/* Months of jobs.  In PostgreSQL the tables of jobs are split into partitions
 * by the month in which a job was submitted, which its number contains
 * (statsdb/tables/job_number.h).  The table job_month has the range of times at
 * which the jobs of each partition began and ended, so that a query for a
 * period reads only some partitions.
 *
 * With SQLite, which has no partitions, these functions do nothing;
 * bj_job_months_drop must not be called. */
#ifndef BJ_STATSDB_TABLES_JOB_MONTH_H
#define BJ_STATSDB_TABLES_JOB_MONTH_H

#include "base/buf.h"
#include "base/err.h"
#include "statsdb/tables/month.h"

#include <stdbool.h>
#include <stdint.h>

/* The months of the jobs that a transaction writes. */
struct bj_job_months {
    struct bj_db *db;
    struct bj_job_month {
        bool made, seen;
        /* ranges of the jobs noted so far */
        int64_t at_from, at_upto, end_upto;
    } month[BJ_MONTHS];
};

/* Call it at the beginning of a transaction. */
void bj_job_months_begin(struct bj_job_months *m, struct bj_db *db);

/* Note the times of a job whose month has its partitions already. */
void bj_job_months_note(struct bj_job_months *m, int64_t number, int64_t at,
                        int64_t end_sec);

/* Note the times of a job before it is inserted or changed, and make the
 * partitions of its month if they are missing. at, end_sec: columns of the job;
 * end_sec BJ_SQL_NULL: it has not ended. */
int bj_job_months_add(struct bj_job_months *m, int64_t number, int64_t at,
                      int64_t end_sec, struct bj_err *err);

/* Write the noted times; call it before the commit. */
int bj_job_months_flush(struct bj_job_months *m, struct bj_err *err);

/* In a transaction: make the partitions of the month of now_sec and of the next
 * two, and write the times of earlier months in which all jobs have ended. */
int bj_job_months_ahead(struct bj_db *db, int64_t now_sec, struct bj_err *err);

/* In a transaction: remove the first month whose jobs all ended before a time,
 * with its partitions.  *ret_jobs: number of jobs removed.  -ENOENT: no such
 * month.  -EBUSY: a query reads the partitions. */
int bj_job_months_drop(struct bj_db *db, int64_t before_sec, int64_t *ret_jobs,
                       struct bj_err *err);

/* Ranges of numbers of jobs, without the last number of each. */
enum { BJ_JOB_RANGES = 16 };
struct bj_job_ranges {
    unsigned n;
    bool all; /* no limit */
    struct bj_job_range {
        int64_t first, end;
    } of[BJ_JOB_RANGES];
};

/* Find the months with jobs whose column at is in this period and that are open
 * or ended at end_from or later (0: any end), as ranges of numbers. */
int bj_job_months_find(struct bj_db *db, int64_t at_from, int64_t at_upto,
                       int64_t end_from, struct bj_job_ranges *ret,
                       struct bj_err *err);

/* Append " AND ...", a condition that limits a column with numbers of jobs to
 * the ranges. */
void bj_job_ranges_put(const struct bj_job_ranges *r, const char *column,
                       struct bj_buf *sql);

#endif
