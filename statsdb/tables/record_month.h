/* Months of final records.  In PostgreSQL node_record and its tables are split
 * into partitions by the month of a record's start, which its number contains
 * (statsdb/tables/record_number.h).  With SQLite, which has no partitions,
 * these functions do nothing; bj_record_months_drop must not be called. */
#ifndef BJ_STATSDB_TABLES_RECORD_MONTH_H
#define BJ_STATSDB_TABLES_RECORD_MONTH_H

#include "base/err.h"
#include "statsdb/tables/month.h"

#include <stdbool.h>
#include <stdint.h>

/* The months whose partitions a transaction has made. */
struct bj_record_months {
    struct bj_db *db;
    bool made[BJ_MONTHS];
};

/* Call it at the beginning of a transaction. */
void bj_record_months_begin(struct bj_record_months *m, struct bj_db *db);

/* Make the partitions of a month if they are missing; call it before a record
 * of the month is inserted. */
int bj_record_months_add(struct bj_record_months *m, int month,
                         struct bj_err *err);

/* In a transaction: make the partitions of the month of now_sec and of the next
 * two. */
int bj_record_months_ahead(struct bj_db *db, int64_t now_sec,
                           struct bj_err *err);

/* In a transaction: remove the partitions of the first past month whose records
 * all ended before a time.  -ENOENT: there is none. -EBUSY: a query reads them.
 */
int bj_record_months_drop(struct bj_db *db, int64_t before_sec,
                          struct bj_err *err);

#endif
