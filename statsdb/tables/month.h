/* Months of numbers that contain a time (statsdb/tables/job_number.h), and
 * their partitions in PostgreSQL.  Tables that are partitioned in the same way
 * form a group. */
#ifndef BJ_STATSDB_TABLES_MONTH_H
#define BJ_STATSDB_TABLES_MONTH_H

#include "base/err.h"

#include <stdint.h>

struct bj_db;

/* Month 0 is for numbers without a time, month 1 is January 2000, and the last
 * month, January 2068, has the largest numbers. */
enum { BJ_MONTHS = 818 };

/* The first table of a group has the numbers as ids.  The other tables, and the
 * lists, which are not partitioned, refer to them by their column "of". */
struct bj_month_group {
    const char *const *tables, *const *lists; /* NULL at their ends */
    const char *of;                           /* "job" */
    const char *time; /* the column of the first table: "submit" */
};

extern const struct bj_month_group bj_month_jobs, bj_month_records;

enum { BJ_MONTH_TABLES = 16 }; /* of a group at most */

int bj_month_of(int64_t number);
int bj_month_of_time(int64_t sec);

/* The first number of a month (0 to BJ_MONTHS). */
int64_t bj_month_first(int month);

/* The name of a table's partition. */
enum { BJ_MONTH_NAME = 32 };
void bj_month_partition(const char *table, int month, char ret[BJ_MONTH_NAME]);

/* In a transaction: make the partitions of a month if they are missing. */
int bj_month_make(struct bj_db *db, const struct bj_month_group *g, int month,
                  struct bj_err *err);

/* In a transaction: make the partitions of the month of now_sec and of the next
 * two if they are missing. */
int bj_month_make_ahead(struct bj_db *db, const struct bj_month_group *g,
                        int64_t now_sec, struct bj_err *err);

/* In a transaction: remove the partitions of a month, and its rows in
 * the lists.
 * -EBUSY: a query reads them. */
int bj_month_drop(struct bj_db *db, const struct bj_month_group *g, int month,
                  struct bj_err *err);

#endif
