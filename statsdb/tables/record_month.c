#include "statsdb/tables/record_month.h"

#include "statsdb/tables/job_number.h"
#include "store/db.h"

#include <errno.h>

void bj_record_months_begin(struct bj_record_months *m, struct bj_db *db)
{
    *m = (struct bj_record_months){.db = bj_job_numbers_follow(db) ? db : NULL};
}

int bj_record_months_add(struct bj_record_months *m, int month,
                         struct bj_err *err)
{
    if (!m->db || m->made[month])
        return 0;
    int r = bj_month_make(m->db, &bj_month_records, month, err);
    m->made[month] = r == 0;
    return r;
}

int bj_record_months_ahead(struct bj_db *db, int64_t now_sec,
                           struct bj_err *err)
{
    return bj_job_numbers_follow(db)
               ? bj_month_make_ahead(db, &bj_month_records, now_sec, err)
               : 0;
}

/* Did all records of a month end before a time?  1: yes. */
static int is_old(struct bj_db *db, int month, int64_t before_sec,
                  struct bj_err *err)
{
    static const char sql[] = "SELECT 1 FROM node_record WHERE id >= ?1 AND"
                              " id < ?2 AND \"end\" >= ?3 LIMIT 1";
    struct bj_st *st;
    int64_t one;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, bj_month_first(month));
    bj_st_bind_i64(st, 2, bj_month_first(month + 1));
    bj_st_bind_i64(st, 3, before_sec);
    r = bj_st_int(st, &one, err);
    bj_st_finalize(st);
    return r < 0 ? r : r == 0;
}

int bj_record_months_drop(struct bj_db *db, int64_t before_sec,
                          struct bj_err *err)
{
    /* The months that have partitions, by their names. */
    static const char sql[] =
        "SELECT month FROM (SELECT (substring(relname FROM"
        " '(\\d{4})_\\d\\d$')::int - 2000) * 12 + substring(relname FROM"
        " '\\d{4}_(\\d\\d)$')::int AS month FROM pg_inherits JOIN pg_class ON"
        " oid = inhrelid WHERE inhparent = to_regclass('node_record')) AS m"
        " WHERE month < ?1 ORDER BY month";
    struct bj_st *st;
    int month = 0, old = 0;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, bj_month_of_time(before_sec));
    while (old == 0 && (r = bj_st_row(st, err)) > 0) {
        month = (int)bj_st_get_i64(st, 0);
        old = is_old(db, month, before_sec, err);
    }
    bj_st_finalize(st);
    if (r < 0 || old < 0)
        return r < 0 ? r : old;
    return old ? bj_month_drop(db, &bj_month_records, month, err) : -ENOENT;
}
