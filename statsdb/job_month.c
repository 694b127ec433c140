#include "statsdb/job_month.h"

#include "base/stamp.h"
#include "statsdb/job_number.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>

enum { AHEAD = 3, NAME_BYTES = 16, LAST = BJ_JOB_MONTHS - 1 };

#define DAY 86400

/* The tables with partitions (BJ_BY_ID, BJ_BY_JOB in the schema). */
#define TABLES                                                                 \
    "('job', 'step', 'job_more', 'job_use', 'job_grams', 'job_finding',"       \
    " 'job_bin', 'job_prom', 'job_prom_energy')"

/* --- months ----------------------------------------------------------------
 */

static int month_of(int64_t sec)
{
    struct bj_civil c = {0};
    bj_civil_from_days(sec / DAY, &c);
    return (c.year - 2000) * 12 + (int)c.month;
}

int bj_job_month_of(int64_t number)
{
    int64_t sec = bj_job_number_submit(number);
    return sec == 0 ? 0 : month_of(sec);
}

/* The first number of a month. */
static int64_t first_of(int month)
{
    if (month == 0)
        return 0;
    if (month > LAST)
        return INT64_MAX;
    int64_t day = bj_days_from_civil(2000 + (month - 1) / 12,
                                     (unsigned)((month - 1) % 12 + 1), 1);
    return bj_job_number_first(day * DAY + (month == 1));
}

static void name_of(int month, char *ret)
{
    if (month == 0)
        snprintf(ret, NAME_BYTES, "unknown");
    else
        snprintf(ret, NAME_BYTES, "%d_%02d", 2000 + (month - 1) / 12,
                 (month - 1) % 12 + 1);
}

/* --- partitions ------------------------------------------------------------
 */

/* Attaching a table does not wait for readers, as making a partition would. */
static int make(struct bj_db *db, int month, struct bj_err *err)
{
    static const char sql[] =
        "DO $$ DECLARE t text; BEGIN FOR t IN SELECT relname FROM pg_class"
        " WHERE relkind = 'p' AND relnamespace ="
        " current_schema()::regnamespace AND relname IN " TABLES " LOOP EXECUTE"
        " format('CREATE TABLE %%I (LIKE %%I INCLUDING ALL)', t || '_%s', t);"
        " EXECUTE format('ALTER TABLE %%I ATTACH PARTITION %%I FOR VALUES FROM"
        " (%s) TO (%s)', t, t || '_%s'); END LOOP; END $$";
    char text[sizeof(sql) + 100], name[NAME_BYTES], from[24], to[24];
    int64_t there = 0;
    name_of(month, name);
    snprintf(text, sizeof(text),
             "SELECT (to_regclass('job_%s') IS NOT NULL)::int", name);
    int r = bj_db_int(db, text, &there, err);
    if (r < 0 || there)
        return r;
    snprintf(from, sizeof(from), "%lld", (long long)first_of(month));
    snprintf(to, sizeof(to), "%lld", (long long)first_of(month + 1));
    snprintf(text, sizeof(text), sql, name, month == 0 ? "MINVALUE" : from,
             month == LAST ? "MAXVALUE" : to, name);
    return bj_db_exec(db, text, err);
}

void bj_job_months_begin(struct bj_job_months *m, struct bj_db *db)
{
    m->db = bj_job_numbers_follow(db) ? db : NULL;
    if (m->db)
        *m = (struct bj_job_months){.db = db};
}

int bj_job_months_make(struct bj_job_months *m, int64_t number,
                       struct bj_err *err)
{
    int nr = bj_job_month_of(number);
    if (!m->db || m->month[nr].made)
        return 0;
    int r = make(m->db, nr, err);
    m->month[nr].made = r == 0;
    return r;
}

int bj_job_months_add(struct bj_job_months *m, int64_t number, int64_t at,
                      int64_t end_sec, struct bj_err *err)
{
    if (!m->db)
        return 0;
    struct bj_job_month *month = &m->month[bj_job_month_of(number)];
    int64_t end = end_sec == BJ_SQL_NULL ? INT64_MAX : end_sec;
    int r = bj_job_months_make(m, number, err);
    if (!month->seen || at < month->at_from)
        month->at_from = at;
    if (!month->seen || at > month->at_upto)
        month->at_upto = at;
    if (!month->seen || end > month->end_upto)
        month->end_upto = end;
    month->seen = true;
    return r;
}

/* --- their times -----------------------------------------------------------
 */

static int write_times(struct bj_st *st, int month,
                       const struct bj_job_month *of, struct bj_err *err)
{
    bj_st_bind_i64(st, 1, month);
    bj_st_bind_i64(st, 2, of->at_from);
    bj_st_bind_i64(st, 3, of->at_upto);
    bj_st_bind_i64(st, 4, of->end_upto);
    return bj_st_run(st, err);
}

int bj_job_months_flush(struct bj_job_months *m, struct bj_err *err)
{
    static const char sql[] =
        "INSERT INTO job_month AS m(month, at_from, at_upto, end_upto)"
        " VALUES(?1, ?2, ?3, ?4) ON CONFLICT(month) DO UPDATE SET"
        " at_from = least(m.at_from, excluded.at_from),"
        " at_upto = greatest(m.at_upto, excluded.at_upto),"
        " end_upto = greatest(m.end_upto, excluded.end_upto)"
        " WHERE excluded.at_from < m.at_from OR excluded.at_upto > m.at_upto"
        " OR excluded.end_upto > m.end_upto";
    struct bj_st *st = NULL;
    int r = 0;
    for (int i = 0; m->db && r == 0 && i < BJ_JOB_MONTHS; i++) {
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

/* Read the jobs of a month whose largest end is not known, if none is open. */
static int close_month(struct bj_db *db, int month, struct bj_err *err)
{
    static const char sql[] =
        "UPDATE job_month SET end_upto = (SELECT max(\"end\") FROM job WHERE id"
        " >= ?1 AND id < ?2) WHERE month = ?3 AND NOT EXISTS (SELECT 1 FROM job"
        " WHERE id >= ?1 AND id < ?2 AND \"end\" IS NULL) AND EXISTS (SELECT 1"
        " FROM job WHERE id >= ?1 AND id < ?2)";
    struct bj_st *st;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, first_of(month));
    bj_st_bind_i64(st, 2, first_of(month + 1));
    bj_st_bind_i64(st, 3, month);
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
    int r = 0, month = month_of(now_sec);
    if (!bj_job_numbers_follow(db))
        return 0;
    for (int i = 0; r == 0 && i < AHEAD && month + i <= LAST; i++)
        r = make(db, month + i, err);
    return r < 0 ? r : close_months(db, month, err);
}

/* --- old ones --------------------------------------------------------------
 */

/* 1 with the first month whose jobs all ended before a time. */
static int find_old(struct bj_db *db, int64_t before_sec, int64_t *ret,
                    struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(db,
                          "SELECT month FROM job_month WHERE at_upto < ?1 AND"
                          " end_upto < ?1 AND month BETWEEN 1 AND ?2"
                          " ORDER BY month LIMIT 1",
                          &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, before_sec);
    bj_st_bind_i64(st, 2, month_of(before_sec) - 1);
    r = bj_st_int(st, ret, err);
    bj_st_finalize(st);
    return r;
}

/* Rows in tables without partitions, and the partitions.  A query that reads
 * one makes this wait, and others wait for that. */
static int drop(struct bj_db *db, int month, struct bj_err *err)
{
    static const char sql[] =
        "SET LOCAL lock_timeout = '1s';"
        "DO $$ DECLARE t text; BEGIN FOREACH t IN ARRAY ARRAY['derive_todo',"
        " 'mail_todo', 'prom_todo', 'running_finding', 'running_action'] LOOP"
        " EXECUTE format('DELETE FROM %%I WHERE job >= %lld AND job < %lld',"
        " t); END LOOP; FOR t IN SELECT relname FROM pg_class WHERE relkind ="
        " 'p' AND relnamespace = current_schema()::regnamespace AND relname IN"
        " " TABLES " LOOP EXECUTE format('DROP TABLE %%I', t || '_%s');"
        " END LOOP; DELETE FROM job_month WHERE month = %d; END $$";
    char text[sizeof(sql) + 100], name[NAME_BYTES];
    name_of(month, name);
    snprintf(text, sizeof(text), sql, (long long)first_of(month),
             (long long)first_of(month + 1), name, month);
    return bj_db_exec(db, text, err);
}

static int count(struct bj_db *db, int month, int64_t *ret, struct bj_err *err)
{
    char sql[128];
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM job WHERE id >= %lld AND id < %lld",
             (long long)first_of(month), (long long)first_of(month + 1));
    return bj_db_int(db, sql, ret, err);
}

int bj_job_months_drop(struct bj_db *db, int64_t before_sec, int64_t *ret_jobs,
                       struct bj_err *err)
{
    int64_t month = 0;
    int r = find_old(db, before_sec, &month, err);
    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    r = count(db, (int)month, ret_jobs, err);
    return r < 0 ? r : drop(db, (int)month, err);
}

/* --- queries ---------------------------------------------------------------
 */

/* Adjacent months are one range; what would be one too many joins the last. */
static void add_month(struct bj_job_ranges *r, int month)
{
    struct bj_job_range *last = r->n > 0 ? &r->of[r->n - 1] : NULL;
    if (!last || (first_of(month) != last->end && r->n < BJ_JOB_RANGES)) {
        last = &r->of[r->n++];
        last->first = first_of(month);
    }
    last->end = first_of(month + 1);
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
    int r = bj_db_prepare(db,
                          "SELECT month FROM job_month WHERE at_upto >= ?1 AND"
                          " at_from <= ?2 AND end_upto >= ?3 ORDER BY month",
                          &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, at_from);
    bj_st_bind_i64(st, 2, at_upto);
    bj_st_bind_i64(st, 3, end_from);
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
