#include "statsdb/copy/copy_rows.h"

#include "base/buf.h"
#include "base/text.h"
#include "statsdb/copy/copy_days.h"
#include "statsdb/copy/copy_numbers.h"
#include "statsdb/tables/cache.h"
#include "store/db.h"

#include <stdlib.h>

enum { STOP_ROWS = 1024 };

struct bj_copy_rows {
    struct bj_copy_from from;
    struct bj_copy_names columns;
    struct bj_st *st;
    struct bj_copy_days *days;
    bool in_range; /* the current range may have more rows */
    struct bj_copy_sum sum;
    struct bj_buf bytes; /* bytes of the last row */
};

static bool is_postgresql(struct bj_db *db)
{
    return bj_db_dialect(db) == BJ_DIALECT_POSTGRESQL;
}

/* --- names ---------------------------------------------------------------- */

static int read_names(struct bj_db *db, const char *sql, const char *of,
                      struct bj_copy_names *ret, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    if (of)
        bj_st_bind_text(st, 1, bj_slice_str(of));
    ret->n = 0;
    while ((r = bj_st_row(st, err)) > 0) {
        struct bj_slice s = bj_st_get_text(st, 0);
        if (ret->n == BJ_COPY_NAMES || s.n >= BJ_COPY_NAME_BYTES) {
            r = bj_err_set(err, -E2BIG, "copy: too many names");
            break;
        }
        memcpy(ret->name[ret->n], s.p, s.n);
        ret->name[ret->n][s.n] = '\0';
        ret->list[ret->n] = ret->name[ret->n];
        ret->n++;
    }
    bj_st_finalize(st);
    return r;
}

int bj_copy_tables(struct bj_db *db, struct bj_copy_names *ret,
                   struct bj_err *err)
{
    static const char sqlite[] =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE"
        " 'sqlite%' ORDER BY name IN ('derive_todo', 'derive_record',"
        " 'mail_todo'), name";
    static const char postgresql[] =
        "SELECT relname::text FROM pg_class WHERE relnamespace ="
        " current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT"
        " relispartition AND relname NOT IN ('store_meta', 'job_month') ORDER"
        " BY relname IN ('derive_todo', 'derive_record', 'mail_todo'), relname";
    return read_names(db, is_postgresql(db) ? postgresql : sqlite, NULL, ret,
                      err);
}

static int read_columns(struct bj_db *db, const char *table,
                        struct bj_copy_names *ret, struct bj_err *err)
{
    static const char sqlite[] =
        "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0 ORDER BY cid";
    static const char postgresql[] =
        "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass("
        "quote_ident(?1)) AND attnum > 0 AND NOT attisdropped AND attgenerated"
        " = '' ORDER BY attnum";
    int r = read_names(db, is_postgresql(db) ? postgresql : sqlite, table, ret,
                       err);
    return r == 0 && ret->n > BJ_LOAD_COLUMNS
               ? bj_err_set(err, -E2BIG, "copy: too many columns in %s", table)
               : r;
}

/* --- rows ----------------------------------------------------------------- */

static int rows_prepare(struct bj_copy_rows *r, struct bj_err *err)
{
    struct bj_buf sql = {0};
    const struct bj_copy_from *f = &r->from;
    const char *more =
        f->numbers ? bj_copy_numbers_rows(f->numbers, f->table) : NULL;
    for (int i = 0; i < r->columns.n; i++)
        bj_buf_printf(&sql, "%s\"%s\"", i ? ", " : "SELECT ",
                      r->columns.list[i]);
    bj_buf_printf(&sql, more ? " FROM %s" : " FROM \"%s\"",
                  more ? more : f->table);
    if (f->key)
        bj_buf_printf(&sql, " WHERE %s >= ?1 AND %s <= ?2", f->key, f->key);
    return bj_db_prepare_buf(f->db, &sql, &r->st, err);
}

int bj_copy_rows_new(const struct bj_copy_from *from, struct bj_copy_rows **ret,
                     struct bj_err *err)
{
    struct bj_copy_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return bj_err_set(err, -ENOMEM, "copy");
    rows->from = *from;
    int r = read_columns(from->db, from->table, &rows->columns, err);
    if (r == 0)
        r = rows_prepare(rows, err);
    if (r < 0) {
        bj_copy_rows_free(rows);
        return r;
    }
    *ret = rows;
    return 0;
}

void bj_copy_rows_free(struct bj_copy_rows *r)
{
    if (!r)
        return;
    bj_st_finalize(r->st);
    bj_buf_free(&r->bytes);
    free(r);
}

const struct bj_copy_names *bj_copy_rows_columns(const struct bj_copy_rows *r)
{
    return &r->columns;
}

void bj_copy_rows_begin(struct bj_copy_rows *r, struct bj_copy_days *days,
                        int64_t day)
{
    r->sum = (struct bj_copy_sum){0};
    r->days = r->from.key ? days : NULL;
    r->in_range = !r->days;
    bj_st_reset(r->st);
    if (r->days)
        bj_copy_days_begin(days, day);
}

/* Go to the next row, in the next range if necessary: 1, or 0. */
static int rows_step(struct bj_copy_rows *r, struct bj_err *err)
{
    for (;;) {
        int64_t first, last;
        int rc = r->in_range ? bj_st_row(r->st, err) : 0;
        if (rc != 0 || !r->days)
            return rc;
        rc = bj_copy_days_range(r->days, &first, &last, err);
        r->in_range = rc > 0;
        if (rc <= 0)
            return rc;
        bj_st_bind_i64(r->st, 1, first);
        bj_st_bind_i64(r->st, 2, last);
    }
}

/* Add a value as bytes that are the same for both engines: a jobid may be a
 * number in one and text in the other. */
static void add_value(struct bj_copy_rows *r, const struct bj_value *v)
{
    struct bj_buf *to = &r->bytes;
    char kind = v->type == BJ_TYPE_NULL   ? 'n'
                : v->type == BJ_TYPE_REAL ? 'r'
                                          : 't';
    bj_buf_put(to, &kind, 1);
    if (v->type == BJ_TYPE_INTEGER)
        bj_buf_printf(to, "%lld", (long long)v->i64);
    else if (v->type == BJ_TYPE_REAL)
        bj_buf_put(to, &v->f64, sizeof(v->f64));
    else if (v->type == BJ_TYPE_TEXT && bj_buf_room(to, 3 * v->text.n))
        to->len += bj_text_utf8(v->text, to->p + to->len);
    bj_buf_put(to, "", 1);
}

/* SQLite stores a jobid of digits as a number, and finds it only by the number.
 */
static void set_jobid(struct bj_value *v)
{
    int64_t number;
    if (v->type == BJ_TYPE_TEXT && bj_jobid_number(v->text, &number))
        *v = (struct bj_value){.type = BJ_TYPE_INTEGER, .i64 = number};
}

static int read_value(struct bj_copy_rows *rows, int col, struct bj_value *ret,
                      struct bj_err *err)
{
    const struct bj_copy_from *f = &rows->from;
    const char *column = rows->columns.list[col];
    const bool jobid = strcmp(column, "jobid") == 0;
    bj_st_get(rows->st, col, 1, ret);
    int r = 0;
    if (jobid && !is_postgresql(f->to))
        set_jobid(ret);
    if (f->numbers && ret->type == BJ_TYPE_INTEGER &&
        bj_copy_numbers_in(f->table, column))
        r = bj_copy_numbers_of(f->numbers, f->table, column, &ret->i64, err);
    if (ret->type == BJ_TYPE_INTEGER && !jobid)
        rows->sum.sum += (uint64_t)ret->i64;
    add_value(rows, ret);
    return r;
}

int bj_copy_rows_next(struct bj_copy_rows *rows, struct bj_value *ret,
                      struct bj_err *err)
{
    if (rows->sum.rows % STOP_ROWS == 0 && atomic_load(rows->from.stop))
        return bj_err_set(err, -EINTR, "copy: stopped; run it again to go on");
    int r = rows_step(rows, err);
    if (r <= 0)
        return r;
    rows->bytes.len = 0;
    r = 0;
    for (int i = 0; r == 0 && i < rows->columns.n; i++)
        r = read_value(rows, i, &ret[i], err);
    if (r == 0 && rows->bytes.failed)
        r = bj_err_set(err, -ENOMEM, "copy");
    if (r < 0)
        return r;
    rows->sum.rows++;
    rows->sum.hash +=
        bj_cache_hash(0, (struct bj_slice){rows->bytes.p, rows->bytes.len});
    return 1;
}

struct bj_copy_sum bj_copy_rows_sum(const struct bj_copy_rows *r)
{
    return r->sum;
}

int bj_copy_rows_read(struct bj_copy_rows *r, struct bj_copy_days *days,
                      int64_t day, struct bj_copy_sum *ret, struct bj_err *err)
{
    struct bj_value value[BJ_LOAD_COLUMNS];
    int rc;
    bj_copy_rows_begin(r, days, day);
    while ((rc = bj_copy_rows_next(r, value, err)) > 0)
        ;
    *ret = r->sum;
    return rc;
}
