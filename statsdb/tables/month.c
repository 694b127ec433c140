#include "statsdb/tables/month.h"

#include "base/buf.h"
#include "base/stamp.h"
#include "statsdb/tables/job_number.h"
#include "store/db.h"

#include <stdio.h>

enum { AHEAD = 3, NAME_BYTES = 16, LAST = BJ_MONTHS - 1 };

#define DAY 86400

/* For each table t of a group that exists. */
#define EACH_TABLE                                                             \
    "FOR t IN SELECT relname FROM pg_class WHERE relkind = 'p' AND"            \
    " relnamespace = current_schema()::regnamespace AND relname = ANY(ARRAY["

#define LOOP "]) LOOP"

/* --- groups ----------------------------------------------------------------
 */

/* BJ_BY_ID and BJ_BY_JOB in the schema. */
static const char *const of_jobs[] = {
    "job",         "step",    "job_more", "job_use",         "job_grams",
    "job_finding", "job_bin", "job_prom", "job_prom_energy", "job_part",
    "job_size",    NULL};

static const char *const lists_of_jobs[] = {"derive_todo",    "mail_todo",
                                            "prom_todo",      "running_finding",
                                            "running_action", NULL};

/* BJ_BY_ID and BJ_BY_RECORD in the schema. */
static const char *const of_records[] = {"node_record", "node_energy",
                                         "node_device", "node_gpu", NULL};

static const char *const lists_of_records[] = {"derive_record",
                                               "record_refused", NULL};

const struct bj_month_group bj_month_jobs = {of_jobs, lists_of_jobs, "job",
                                             "submit"},
                            bj_month_records = {of_records, lists_of_records,
                                                "record", "start"};

static void month_put_names(struct bj_buf *sql, const char *const *names)
{
    for (const char *const *n = names; *n; n++)
        bj_buf_printf(sql, "%s'%s'", n == names ? "" : ", ", *n);
}

/* --- months ----------------------------------------------------------------
 */

int bj_month_of_time(int64_t sec)
{
    struct bj_civil c = {0};
    bj_civil_from_days(sec / DAY, &c);
    return (c.year - 2000) * 12 + (int)c.month;
}

int bj_month_of(int64_t number)
{
    int64_t sec = bj_job_number_time(number);
    return sec == 0 ? 0 : bj_month_of_time(sec);
}

int64_t bj_month_first(int month)
{
    if (month == 0)
        return 0;
    if (month > LAST)
        return INT64_MAX;
    int64_t day = bj_days_from_civil(2000 + (month - 1) / 12,
                                     (unsigned)((month - 1) % 12 + 1), 1);
    return bj_job_number_first(day * DAY + (month == 1));
}

static void month_name_of(int month, char *ret)
{
    if (month == 0)
        snprintf(ret, NAME_BYTES, "unknown");
    else
        snprintf(ret, NAME_BYTES, "%d_%02d", 2000 + (month - 1) / 12,
                 (month - 1) % 12 + 1);
}

void bj_month_partition(const char *table, int month, char ret[BJ_MONTH_NAME])
{
    char name[NAME_BYTES];
    month_name_of(month, name);
    snprintf(ret, BJ_MONTH_NAME, "%s_%s", table, name);
}

/* Run statements, and free their text. */
static int month_run(struct bj_db *db, struct bj_buf *sql, struct bj_err *err)
{
    bj_buf_put(sql, "", 1);
    int r = sql->failed ? bj_err_set(err, -ENOMEM, "partitions")
                        : bj_db_exec(db, sql->p, err);
    bj_buf_free(sql);
    return r;
}

/* Attach a table, because that does not wait for readers, while making a
 * partition does. */
int bj_month_make(struct bj_db *db, const struct bj_month_group *g, int month,
                  struct bj_err *err)
{
    char text[100], name[NAME_BYTES], first[BJ_MONTH_NAME], from[24], to[24];
    struct bj_buf sql = {0};
    int64_t there = 0;
    month_name_of(month, name);
    bj_month_partition(g->tables[0], month, first);
    snprintf(text, sizeof(text), "SELECT (to_regclass('%s') IS NOT NULL)::int",
             first);
    int r = bj_db_int(db, text, &there, err);
    if (r < 0 || there)
        return r;
    snprintf(from, sizeof(from), "%lld", (long long)bj_month_first(month));
    snprintf(to, sizeof(to), "%lld", (long long)bj_month_first(month + 1));
    bj_buf_str(&sql, "DO $$ DECLARE t text; BEGIN " EACH_TABLE);
    month_put_names(&sql, g->tables);
    bj_buf_printf(&sql,
                  LOOP " EXECUTE format('CREATE TABLE %%I (LIKE %%I INCLUDING"
                       " ALL)', t || '_%s', t); EXECUTE format('ALTER TABLE"
                       " %%I ATTACH PARTITION %%I FOR VALUES FROM (%s) TO"
                       " (%s)', t, t || '_%s'); END LOOP; END $$",
                  name, month == 0 ? "MINVALUE" : from,
                  month == LAST ? "MAXVALUE" : to, name);
    return month_run(db, &sql, err);
}

int bj_month_make_ahead(struct bj_db *db, const struct bj_month_group *g,
                        int64_t now_sec, struct bj_err *err)
{
    int r = 0, month = bj_month_of_time(now_sec);
    for (int i = 0; r == 0 && i < AHEAD && month + i <= LAST; i++)
        r = bj_month_make(db, g, month + i, err);
    return r;
}

/* This waits for queries that read a partition, and other queries wait for
 * this. */
int bj_month_drop(struct bj_db *db, const struct bj_month_group *g, int month,
                  struct bj_err *err)
{
    char name[NAME_BYTES];
    struct bj_buf sql = {0};
    month_name_of(month, name);
    bj_buf_str(&sql, "SET LOCAL lock_timeout = '1s'; DO $$ DECLARE t text;"
                     " BEGIN FOREACH t IN ARRAY ARRAY[");
    month_put_names(&sql, g->lists);
    bj_buf_printf(&sql,
                  "] LOOP EXECUTE format('DELETE FROM %%I WHERE %s >= %lld AND"
                  " %s < %lld', t); END LOOP; " EACH_TABLE,
                  g->of, (long long)bj_month_first(month), g->of,
                  (long long)bj_month_first(month + 1));
    month_put_names(&sql, g->tables);
    bj_buf_printf(&sql,
                  LOOP
                  " EXECUTE format('DROP TABLE %%I', t || '_%s'); END LOOP;"
                  " END $$",
                  name);
    return month_run(db, &sql, err);
}
