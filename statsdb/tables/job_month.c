#include "statsdb/tables/job_month.h"

#include "statsdb/tables/job_number.h"
#include "store/db.h"

#include <stdio.h>

/* --- partitions ------------------------------------------------------------
 */

void bj_job_months_begin(struct bj_job_months *m, struct bj_db *db)
{
    m->db = bj_job_numbers_follow(db) ? db : NULL;
    if (m->db)
        *m = (struct bj_job_months){.db = db};
}

void bj_job_months_note(struct bj_job_months *m, int64_t number, int64_t at,
                        int64_t end_sec)
{
    struct bj_job_month *month = &m->month[bj_month_of(number)];
    int64_t end = end_sec == BJ_SQL_NULL ? INT64_MAX : end_sec;
    if (!m->db)
        return;
    if (!month->seen || at < month->at_from)
        month->at_from = at;
    if (!month->seen || at > month->at_upto)
        month->at_upto = at;
    if (!month->seen || end > month->end_upto)
        month->end_upto = end;
    month->seen = true;
}

int bj_job_months_add(struct bj_job_months *m, int64_t number, int64_t at,
                      int64_t end_sec, struct bj_err *err)
{
    int nr = bj_month_of(number);
    if (!m->db)
        return 0;
    bj_job_months_note(m, number, at, end_sec);
    if (m->month[nr].made)
        return 0;
    int r = bj_month_make(m->db, &bj_month_jobs, nr, err);
    m->month[nr].made = r == 0;
    return r;
}

/* --- times of jobs ---------------------------------------------------------
 */

static int write_times(struct bj_st *st, int month,
                       const struct bj_job_month *of, struct bj_err *err)
{
    bj_st_set_i64(st, "month", month);
    bj_st_set_i64(st, "at_from", of->at_from);
    bj_st_set_i64(st, "at_upto", of->at_upto);
    bj_st_set_i64(st, "end_upto", of->end_upto);
    return bj_st_run(st, err);
}

int bj_job_months_flush(struct bj_job_months *m, struct bj_err *err)
{
    static const char sql[] =
        "INSERT INTO job_month AS m(month, at_from, at_upto, end_upto)"
        " VALUES(:month, :at_from, :at_upto, :end_upto) ON CONFLICT(month)"
        " DO UPDATE SET"
        " at_from = least(m.at_from, excluded.at_from),"
        " at_upto = greatest(m.at_upto, excluded.at_upto),"
        " end_upto = greatest(m.end_upto, excluded.end_upto)"
        " WHERE excluded.at_from < m.at_from OR excluded.at_upto > m.at_upto"
        " OR excluded.end_upto > m.end_upto";
    struct bj_st *st = NULL;
    int r = 0;
    for (int i = 0; m->db && r == 0 && i < BJ_MONTHS; i++) {
        if (!m->month[i].seen)
            continue;
        if (!st)
            r = bj_db_prepare(m->db, sql, &st, err);
        if (r == 0)
            r = write_times(st, i, &m->month[i], err);
    }
    bj_st_finalize(st);
    return r;
}

/* Determine the times of a month whose largest end is not known, if no job is
 * open. */
static int close_month(struct bj_db *db, int month, struct bj_err *err)
{
    static const char sql[] =
        "UPDATE job_month SET end_upto = (SELECT max(\"end\") FROM job WHERE id"
        " >= :first AND id < :end) WHERE month = :month AND NOT EXISTS (SELECT"
        " 1 FROM job WHERE id >= :first AND id < :end AND \"end\" IS NULL) AND"
        " EXISTS (SELECT 1 FROM job WHERE id >= :first AND id < :end)";
    struct bj_st *st;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    bj_st_set_i64(st, "first", bj_month_first(month));
    bj_st_set_i64(st, "end", bj_month_first(month + 1));
    bj_st_set_i64(st, "month", month);
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

static int close_months(struct bj_db *db, int before, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(db,
                          "SELECT month FROM job_month WHERE end_upto ="
                          " 9223372036854775807 AND month < ?1",
                          &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, before);
    while (r == 0 && (r = bj_st_row(st, err)) > 0)
        r = close_month(db, (int)bj_st_get_i64(st, 0), err);
    bj_st_finalize(st);
    return r;
}

int bj_job_months_ahead(struct bj_db *db, int64_t now_sec, struct bj_err *err)
{
    if (!bj_job_numbers_follow(db))
        return 0;
    int r = bj_month_make_ahead(db, &bj_month_jobs, now_sec, err);
    return r < 0 ? r : close_months(db, bj_month_of_time(now_sec), err);
}

/* --- old months ------------------------------------------------------------
 */

/* Find the first month whose jobs all ended before a time: 1, or 0. */
static int find_old(struct bj_db *db, int64_t before_sec, int64_t *ret,
                    struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(db,
                          "SELECT month FROM job_month WHERE at_upto < :before"
                          " AND end_upto < :before AND month BETWEEN 1 AND"
                          " :last"
                          " ORDER BY month LIMIT 1",
                          &st, err);
    if (r < 0)
        return r;
    bj_st_set_i64(st, "before", before_sec);
    bj_st_set_i64(st, "last", bj_month_of_time(before_sec) - 1);
    r = bj_st_int(st, ret, err);
    bj_st_finalize(st);
    return r;
}

static int job_month_drop(struct bj_db *db, int month, struct bj_err *err)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "DELETE FROM job_month WHERE month = %d", month);
    int r = bj_db_exec(db, sql, err);
    return r < 0 ? r : bj_month_drop(db, &bj_month_jobs, month, err);
}

static int job_month_count(struct bj_db *db, int month, int64_t *ret,
                           struct bj_err *err)
{
    char sql[128];
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM job WHERE id >= %lld AND id < %lld",
             (long long)bj_month_first(month),
             (long long)bj_month_first(month + 1));
    return bj_db_int(db, sql, ret, err);
}

int bj_job_months_drop(struct bj_db *db, int64_t before_sec, int64_t *ret_jobs,
                       struct bj_err *err)
{
    int64_t month = 0;
    int r = find_old(db, before_sec, &month, err);
    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    r = job_month_count(db, (int)month, ret_jobs, err);
    return r < 0 ? r : job_month_drop(db, (int)month, err);
}

/* --- queries ---------------------------------------------------------------
 */

/* Adjacent months are one range.  If there are too many ranges, the last one is
 * extended. */
static void add_month(struct bj_job_ranges *r, int month)
{
    struct bj_job_range *last = r->n > 0 ? &r->of[r->n - 1] : NULL;
    if (!last || (bj_month_first(month) != last->end && r->n < BJ_JOB_RANGES)) {
        last = &r->of[r->n++];
        last->first = bj_month_first(month);
    }
    last->end = bj_month_first(month + 1);
}

int bj_job_months_find(struct bj_db *db, int64_t at_from, int64_t at_upto,
                       int64_t end_from, struct bj_job_ranges *ret,
                       struct bj_err *err)
{
    struct bj_st *st = NULL;
    ret->n = 0;
    ret->all = !bj_job_numbers_follow(db);
    if (ret->all)
        return 0;
    int r =
        bj_db_prepare(db,
                      "SELECT month FROM job_month WHERE at_upto >= :from AND"
                      " at_from <= :upto AND end_upto >= :end_from ORDER BY"
                      " month",
                      &st, err);
    if (r < 0)
        return r;
    bj_st_set_i64(st, "from", at_from);
    bj_st_set_i64(st, "upto", at_upto);
    bj_st_set_i64(st, "end_from", end_from);
    while ((r = bj_st_row(st, err)) > 0)
        add_month(ret, (int)bj_st_get_i64(st, 0));
    bj_st_finalize(st);
    return r;
}

void bj_job_ranges_put(const struct bj_job_ranges *r, const char *column,
                       struct bj_buf *sql)
{
    if (r->all)
        return;
    bj_buf_str(sql, r->n > 0 ? " AND (" : " AND 1 = 0");
    for (unsigned i = 0; i < r->n; i++)
        bj_buf_printf(sql, "%s%s >= %lld AND %s < %lld", i ? " OR " : "",
                      column, (long long)r->of[i].first, column,
                      (long long)r->of[i].end);
    bj_buf_str(sql, r->n > 0 ? ")" : "");
}
