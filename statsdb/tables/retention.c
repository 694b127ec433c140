#include "statsdb/tables/retention.h"

#include "statsdb/tables/job_month.h"
#include "statsdb/tables/job_number.h"
#include "statsdb/tables/record_month.h"
#include "store/db.h"

/* Also limits the column to the range of the list, so that PostgreSQL skips
 * other partitions. */
#define IN(column, list)                                                       \
    column " IN (SELECT id FROM " list ") AND " column                         \
           " BETWEEN (SELECT min(id) FROM " list                               \
           ") AND (SELECT max(id) FROM " list ")"
#define OLD(column) IN(column, "temp.old")
#define OLD_RECORD(column) IN(column, "temp.old_record")

/* Rows that refer to a job are removed first. The end of a job decides, because
 * a job that started before the time may have ended later. */
static const char *const texts[] = {
    "INSERT INTO removed(id, before_sec) VALUES(1, ?1) ON CONFLICT(id)"
    " DO UPDATE SET before_sec = ?1 WHERE removed.before_sec < ?1",
    "CREATE TEMP TABLE old(id INTEGER PRIMARY KEY)",
    "INSERT INTO temp.old SELECT id FROM job WHERE at < ?1 AND \"end\" < ?1"
    " ORDER BY at LIMIT ?2",
    "DELETE FROM step WHERE " OLD("job"),
    "DELETE FROM job_more WHERE " OLD("job"),
    "DELETE FROM job_size WHERE " OLD("job"),
    /* Derived rows; their daily sums stay, too. */
    "DELETE FROM job_finding WHERE " OLD("job"),
    "DELETE FROM job_grams WHERE " OLD("job"),
    "DELETE FROM job_bin WHERE " OLD("job"),
    "DELETE FROM job_prom_energy WHERE " OLD("job"),
    "DELETE FROM job_part WHERE " OLD("job"),
    "DELETE FROM job_prom WHERE " OLD("job"),
    "DELETE FROM job_use WHERE " OLD("job"),
    "DELETE FROM running_finding WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM running_action WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM derive_todo WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM prom_todo WHERE \"end\" < ?1",
    "CREATE TEMP TABLE old_record(id INTEGER PRIMARY KEY)",
    "INSERT INTO temp.old_record SELECT id FROM node_record WHERE \"end\" < ?1"
    " ORDER BY \"end\" LIMIT ?2",
    "DELETE FROM node_energy WHERE " OLD_RECORD("record"),
    "DELETE FROM node_device WHERE " OLD_RECORD("record"),
    "DELETE FROM node_gpu WHERE " OLD_RECORD("record"),
    "DELETE FROM derive_record WHERE record IN (SELECT id FROM"
    " temp.old_record)",
    "DELETE FROM record_refused WHERE record IN (SELECT id FROM"
    " temp.old_record)",
    "DELETE FROM node_record WHERE " OLD_RECORD("id"),
    "DELETE FROM job WHERE " OLD("id"),
};

static int retention_run(struct bj_db *db, const char *sql, int64_t before,
                         unsigned max, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    if (bj_st_parameters(st) > 0)
        bj_st_bind_i64(st, 1, before);
    if (bj_st_parameters(st) > 1)
        bj_st_bind_i64(st, 2, max);
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

/* Replaces SQLite's check of foreign keys, which would search each table for
 * each job: no table that refers to jobs or records may have a row of a removed
 * one. */
static const char left_sql[] =
    "SELECT 'SELECT 1 FROM temp.' || o.name || ' AS o WHERE EXISTS (SELECT 1"
    " FROM \"' || t.name || '\" AS t WHERE t.\"' || k.\"from\" ||"
    " '\" = o.id) LIMIT 1', t.name"
    " FROM (SELECT 'old' AS name, 'job' AS gone UNION ALL"
    " SELECT 'old_record', 'node_record') AS o, sqlite_schema AS t,"
    " pragma_foreign_key_list(t.name) AS k"
    " WHERE t.type = 'table' AND k.\"table\" = o.gone";

static int nothing_left(struct bj_db *db, struct bj_err *err)
{
    struct bj_st *st;
    int64_t one;
    if (bj_db_dialect(db) != BJ_DIALECT_SQLITE)
        return 0; /* no foreign keys to check instead */
    int r = bj_db_prepare(db, left_sql, &st, err);
    if (r < 0)
        return r;
    while ((r = bj_st_row(st, err)) > 0) {
        r = bj_db_int(db, bj_st_get_text(st, 0).p, &one, err);
        if (r == 0)
            r = bj_err_set(err, -EEXIST, "%s still refers to them",
                           bj_st_get_text(st, 1).p);
        if (r != -ENOENT)
            break;
    }
    bj_st_finalize(st);
    return r;
}

static int remove_old(struct bj_db *db, int64_t before, unsigned max,
                      bool *ret_more, struct bj_err *err)
{
    int r = 0;
    int64_t jobs = 0, records = 0;
    for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        r = retention_run(db, texts[i], before, max, err);
    if (r == 0)
        r = bj_db_int(db, "SELECT count(*) FROM temp.old", &jobs, err);
    if (r == 0)
        r = bj_db_int(db, "SELECT count(*) FROM temp.old_record", &records,
                      err);
    *ret_more = jobs == max || records == max;
    if (r == 0)
        r = nothing_left(db, err);
    if (r == 0)
        r = bj_db_exec(db, "DROP TABLE temp.old; DROP TABLE temp.old_record",
                       err);
    return r < 0 ? r : (int)jobs;
}

/* Remove a month of jobs, or else of records, in PostgreSQL. Returns the number
 * of its jobs, or -ENOENT. */
static int drop_month(struct bj_store *s, int64_t before_sec,
                      struct bj_err *err)
{
    int64_t jobs = 0;
    if (!bj_job_numbers_follow(bj_store_db(s)))
        return -ENOENT;
    int r = bj_store_begin(s, err);
    if (r == 0)
        r = retention_run(bj_store_db(s), texts[0], before_sec, 0, err);
    if (r == 0)
        r = bj_job_months_drop(bj_store_db(s), before_sec, &jobs, err);
    if (r == -ENOENT)
        r = bj_record_months_drop(bj_store_db(s), before_sec, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r < 0 ? r : (int)jobs;
}

int bj_retention_step(struct bj_store *s, int64_t before_sec, unsigned max,
                      bool *ret_more, struct bj_err *err)
{
    *ret_more = true;
    int dropped = drop_month(s, before_sec, err);
    if (dropped != -ENOENT)
        return dropped < 0 ? bj_err_wrap(err, dropped, "removing old jobs")
                           : dropped;
    *ret_more = false;
    int r = bj_db_references(bj_store_db(s), false, err);
    if (r == 0)
        r = bj_store_begin(s, err);
    int removed = 0;
    if (r == 0)
        removed = r =
            remove_old(bj_store_db(s), before_sec, max, ret_more, err);
    if (r >= 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    int on = bj_db_references(bj_store_db(s), true, r < 0 ? NULL : err);
    if (r == 0)
        r = on;
    return r < 0 ? bj_err_wrap(err, r, "removing old jobs") : removed;
}

int bj_retention_shrink(struct bj_store *s, unsigned pages, struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r == 0)
        r = bj_db_shrink(bj_store_db(s), pages, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}
