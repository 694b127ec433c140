#include "statsdb/retention.h"

#include "statsdb/sql.h"

#include <stdio.h>

/* What refers to a job goes before it.  A job that was there before the time
 * may still run: its end says whether it is old. */
static const char *const texts[] = {
    "INSERT INTO removed(id, before_sec) VALUES(1, ?1) ON CONFLICT(id)"
    " DO UPDATE SET before_sec = max(before_sec, ?1) WHERE before_sec < ?1",
    "CREATE TEMP TABLE old(id INTEGER PRIMARY KEY)",
    "INSERT INTO temp.old SELECT id FROM job WHERE at < ?1 AND \"end\" < ?1"
    " ORDER BY at LIMIT ?2",
    "DELETE FROM step WHERE id IN (SELECT s.id FROM temp.old AS o JOIN step AS"
    " s ON s.id BETWEEN o.id << 20 AND (o.id << 20) + 0xfffff)",
    "DELETE FROM job_more WHERE job IN (SELECT id FROM temp.old)",
    /* What was worked out of them; the daily sums of that stay, too. */
    "DELETE FROM job_finding WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM job_grams WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM job_bin WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM job_prom_energy WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM job_prom WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM job_use WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM derive_todo WHERE job IN (SELECT id FROM temp.old)",
    "DELETE FROM prom_todo WHERE \"end\" < ?1",
    "CREATE TEMP TABLE old_record(id INTEGER PRIMARY KEY)",
    "INSERT INTO temp.old_record SELECT id FROM node_record WHERE \"end\" < ?1"
    " ORDER BY \"end\" LIMIT ?2",
    "DELETE FROM node_energy WHERE record IN (SELECT id FROM temp.old_record)",
    "DELETE FROM node_device WHERE record IN (SELECT id FROM temp.old_record)",
    "DELETE FROM node_gpu WHERE record IN (SELECT id FROM temp.old_record)",
    "DELETE FROM derive_record WHERE record IN (SELECT id FROM"
    " temp.old_record)",
    "DELETE FROM node_record WHERE id IN (SELECT id FROM temp.old_record)",
    "DROP TABLE temp.old_record",
    "DELETE FROM job WHERE id IN (SELECT id FROM temp.old)",
};

static int run(struct sqlite3 *db, const char *sql, int64_t before,
               unsigned max_jobs, struct bj_err *err)
{
    struct sqlite3_stmt *st;
    int r = bj_sql_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    if (sqlite3_bind_parameter_count(st) > 0)
        sqlite3_bind_int64(st, 1, before);
    if (sqlite3_bind_parameter_count(st) > 1)
        sqlite3_bind_int64(st, 2, max_jobs);
    r = bj_sql_run(st, err);
    sqlite3_finalize(st);
    return r;
}

int bj_retention_step(struct bj_store *s, int64_t before_sec, unsigned max_jobs,
                      struct bj_err *err)
{
    struct sqlite3 *db = bj_store_db(s);
    /* The order above keeps the references; SQLite would search all steps for
     * each job. */
    int r = bj_sql_exec(db, "PRAGMA foreign_keys = OFF", err);
    if (r == 0)
        r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        r = run(db, texts[i], before_sec, max_jobs, err);
    int removed = sqlite3_changes(db); /* of the last statement */
    if (r == 0)
        r = bj_sql_exec(db, "DROP TABLE temp.old", err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0) {
        bj_store_rollback(s);
        return bj_err_wrap(err, r, "removing old jobs");
    }
    return removed;
}

int bj_retention_shrink(struct bj_store *s, unsigned pages, struct bj_err *err)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%u)", pages);
    return bj_sql_exec(bj_store_db(s), sql, err);
}
