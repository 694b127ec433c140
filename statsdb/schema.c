#include "statsdb/schema.h"

#include "base/buf.h"
#include "statsdb/schema_sql.h"
#include "store/db.h"

#include <stdio.h>

enum { PARTS = 2 };

/* The tables: step i leads from version i to i + 1.  A released step is never
 * changed.  Views are created again after the last step. */
static const char *const *const steps[][PARTS] = {
    {bj_schema_accounting, bj_schema_measured},
    {bj_schema_held},
    {bj_schema_mail},
    {bj_schema_running},
    {bj_schema_site},
};

enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

int bj_schema_version(void)
{
    return STEPS;
}

int bj_schema_read(struct bj_db *db, int *ret_version, struct bj_err *err)
{
    int64_t id, version, tables;
    int r = bj_db_int(db, "PRAGMA application_id", &id, err);
    if (r == 0)
        r = bj_db_int(db, "PRAGMA user_version", &version, err);
    if (r == 0)
        r = bj_db_int(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (r < 0)
        return r;
    if (id != BJ_SCHEMA_APPLICATION && (id || version || tables))
        return bj_err_set(err, -EBADMSG, "not a store of batch job statistics");
    *ret_version = (int)version;
    return 0;
}

static int set_version(struct bj_db *db, struct bj_err *err)
{
    char sql[96];
    snprintf(sql, sizeof(sql),
             "PRAGMA application_id = %d; PRAGMA user_version = %d",
             BJ_SCHEMA_APPLICATION, STEPS);
    return bj_db_exec(db, sql, err);
}

static int run_all(struct bj_db *db, const char *const *sql, struct bj_err *err)
{
    int r = 0;
    for (; r == 0 && sql && *sql; sql++)
        r = bj_db_exec(db, *sql, err);
    return r;
}

static int run_step(struct bj_db *db, int step, struct bj_err *err)
{
    int r = 0;
    for (int part = 0; r == 0 && part < PARTS; part++)
        r = run_all(db, steps[step][part], err);
    return r < 0 ? bj_err_wrap(err, r, "migration to version %d", step + 1) : 0;
}

static int drop_views(struct bj_db *db, struct bj_err *err)
{
    struct bj_st *st;
    struct bj_buf sql = {0};
    int r = bj_db_prepare(
        db, "SELECT name FROM sqlite_schema WHERE type = 'view'", &st, err);
    if (r < 0)
        return r;
    while ((r = bj_st_row(st, err)) > 0)
        bj_buf_printf(&sql, "DROP VIEW \"%s\";", bj_st_get_text(st, 0).p);
    bj_st_finalize(st);
    bj_buf_put(&sql, "", 1);
    if (r == 0)
        r = sql.failed ? bj_err_set(err, -ENOMEM, "views")
                       : bj_db_exec(db, sql.p, err);
    bj_buf_free(&sql);
    return r;
}

int bj_schema_migrate(struct bj_db *db, struct bj_err *err)
{
    int version;
    int r = bj_schema_read(db, &version, err);
    if (r < 0)
        return r;
    if (version > STEPS)
        return bj_err_set(
            err, -ENOTSUP,
            "the store has version %d, this program supports up to %d", version,
            STEPS);
    if (version == STEPS)
        return 0;
    r = bj_db_begin(db, BJ_BEGIN_WRITE, err);
    if (r == 0)
        r = drop_views(db, err);
    for (int i = version; r == 0 && i < STEPS; i++)
        r = run_step(db, i, err);
    if (r == 0)
        r = run_all(db, bj_schema_views, err);
    if (r == 0)
        r = set_version(db, err);
    if (r == 0)
        r = bj_db_commit(db, err);
    if (r < 0)
        bj_db_rollback(db);
    return r;
}
