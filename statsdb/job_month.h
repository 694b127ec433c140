/* Months of jobs.  In PostgreSQL the tables of jobs are split into partitions
 * by the month in which a job was submitted, which its number contains
 * (statsdb/job_number.h).  The table job_month has the times that the jobs of
 * each partition began and ended, so that queries of a time need not read the
 * others.
 *
 * With SQLite, which has no partitions, these functions do nothing; only
 * bj_job_months_drop is for PostgreSQL alone. */
#ifndef BJ_STATSDB_JOB_MONTH_H
#define BJ_STATSDB_JOB_MONTH_H

#include "base/buf.h"
#include "base/err.h"
#include "statsdb/month.h"

#include <stdbool.h>
#include <stdint.h>

/* What a transaction that writes jobs knows of the months. */
struct bj_job_months {
    struct bj_db *db;
    struct bj_job_month {
        bool made, seen;
        int64_t at_from, at_upto, end_upto; /* of the jobs that were seen */
    } month[BJ_MONTHS];
};

/* At the beginning of a transaction. */
void bj_job_months_begin(struct bj_job_months *m, struct bj_db *db);

/* Note the times of a job in a month that has its partitions. */
void bj_job_months_note(struct bj_job_months *m, int64_t number, int64_t at,
                        int64_t end_sec);

/* The same, before a job is inserted, or changed: make its partitions if they
 * are missing. at, end_sec: its columns; BJ_SQL_NULL: it has not ended. */
int bj_job_months_add(struct bj_job_months *m, int64_t number, int64_t at,
                      int64_t end_sec, struct bj_err *err);

/* Before the commit: write the times of the jobs that were added. */
int bj_job_months_flush(struct bj_job_months *m, struct bj_err *err);

/* In a transaction: make the partitions of a time's month and the next two, and
 * write the times of earlier months in which no job is open any more. */
int bj_job_months_ahead(struct bj_db *db, int64_t now_sec, struct bj_err *err);

/* In a transaction: remove the first month whose jobs all ended before a time,
 * with its partitions.  Their number, or -ENOENT: there is none. -EBUSY: a
 * query reads them. */
int bj_job_months_drop(struct bj_db *db, int64_t before_sec, int64_t *ret_jobs,
                       struct bj_err *err);

/* Numbers of jobs: from the first to the last (exclusive) of each range. */
enum { BJ_JOB_RANGES = 16 };
struct bj_job_ranges {
    unsigned n;
    bool all; /* no limit */
    struct bj_job_range {
        int64_t first, end;
    } of[BJ_JOB_RANGES];
};

/* The numbers of the months that have jobs with these times in column at, that
 * are open or ended at end_from or later; 0: at any time. */
int bj_job_months_find(struct bj_db *db, int64_t at_from, int64_t at_upto,
                       int64_t end_from, struct bj_job_ranges *ret,
                       struct bj_err *err);

/* Append " AND ..." for a column with numbers of jobs. */
void bj_job_ranges_put(const struct bj_job_ranges *r, const char *column,
                       struct bj_buf *sql);

#endif
