#include "statsdb/tables/store_check.h"

#include "base/buf.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

/* Checks that the references in SQLite's schema hold in PostgreSQL's tables. */
static const char references[] =
    "SELECT t.name, k.\"from\", k.\"table\" FROM sqlite_schema AS t,"
    " pragma_foreign_key_list(t.name) AS k WHERE t.type = 'table'"
    " ORDER BY t.name, k.\"from\"";

static int check_reference(struct bj_db *db, const char *table,
                           const char *column, const char *to,
                           struct bj_err *err)
{
    struct bj_buf sql = {0};
    struct bj_st *st = NULL;
    int64_t value = 0;
    bj_buf_printf(&sql,
                  "SELECT t.\"%s\" FROM \"%s\" AS t WHERE t.\"%s\" IS NOT NULL"
                  " AND NOT EXISTS (SELECT 1 FROM \"%s\" AS r WHERE r.id ="
                  " t.\"%s\") LIMIT 1",
                  column, table, column, to, column);
    int r = bj_db_prepare_buf(db, &sql, &st, err);
    if (r == 0)
        r = bj_st_int(st, &value, err);
    bj_st_finalize(st);
    return r > 0 ? bj_err_set(err, -EBADMSG,
                              "table %s has the %s %lld, which table %s lacks",
                              table, column, (long long)value, to)
                 : r;
}

static int check_references(struct bj_db *db, struct bj_db *schema,
                            struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(schema, references, &st, err);
    while (r == 0 && (r = bj_st_row(st, err)) > 0)
        r = check_reference(db, bj_st_get_text(st, 0).p,
                            bj_st_get_text(st, 1).p, bj_st_get_text(st, 2).p,
                            err);
    bj_st_finalize(st);
    return r;
}

int bj_store_check(struct bj_store *s, struct bj_err *err)
{
    struct bj_db *db = bj_store_db(s);
    struct bj_store *empty = NULL;
    if (bj_db_dialect(db) == BJ_DIALECT_SQLITE)
        return bj_db_check(db, err);
    int r = bj_store_open(&(struct bj_store_options){0}, &empty, err);
    if (r == 0)
        r = bj_db_begin(db, BJ_BEGIN_SNAPSHOT, err);
    if (r == 0)
        r = check_references(db, bj_store_db(empty), err);
    bj_db_rollback(db);
    bj_store_close(empty);
    return r;
}
