#include "statsdb/copy.h"

#include "base/buf.h"
#include "base/text.h"
#include "statsdb/cache.h"
#include "statsdb/copy_numbers.h"
#include "statsdb/job_month.h"
#include "statsdb/store.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>

enum { TABLES_MAX = 128, NAME_MAX_ = 64, STOP_ROWS = 1024 };

/* Lists of what a person works with: rows of triggers come later than the
 * tables that have the triggers. */
static const char sqlite_tables[] =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE"
    " 'sqlite%' ORDER BY name IN ('derive_todo', 'derive_record', 'mail_todo'),"
    " name";
static const char sqlite_columns[] =
    "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0 ORDER BY cid";
static const char postgres_columns[] =
    "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass("
    "quote_ident(?1)) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
    " ORDER BY attnum";
static const char postgres_tables[] =
    "SELECT relname::text FROM pg_class WHERE relnamespace ="
    " current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT"
    " relispartition AND relname NOT IN ('store_meta', 'job_month') ORDER BY "
    "relname IN ('derive_todo', 'derive_record',"
    " 'mail_todo'), relname";
/* New rows get numbers behind those that were copied. */
static const char postgres_numbers[] =
    "DO $$ DECLARE r record; m bigint; BEGIN FOR r IN SELECT table_name AS t,"
    " column_name AS c FROM information_schema.columns WHERE table_schema ="
    " current_schema() AND is_identity = 'YES' LOOP EXECUTE format('SELECT"
    " max(%I) FROM %I', r.c, r.t) INTO m; IF m > 0 THEN PERFORM setval("
    "pg_get_serial_sequence(quote_ident(r.t), r.c), m); END IF; END LOOP;"
    " END $$";

struct names {
    char name[TABLES_MAX][NAME_MAX_];
    const char *list[TABLES_MAX];
    int n;
};

/* Rows of a table as they are read. */
struct rows {
    const struct bj_copy *copy;
    const char *table;
    const struct names *columns;
    struct bj_copy_numbers *numbers; /* NULL: jobs keep theirs */
    struct bj_st *st;
    uint64_t n, sum; /* rows, and the sum of their hashes */
    struct bj_buf key;
};

static bool is_postgresql(struct bj_db *db)
{
    return bj_db_dialect(db) == BJ_DIALECT_POSTGRESQL;
}

static int read_names(struct bj_db *db, const char *sql, const char *of,
                      struct names *ret, struct bj_err *err)
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
        if (ret->n == TABLES_MAX || s.n >= NAME_MAX_) {
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

/* --- rows ----------------------------------------------------------------- */

/* A value in the same bytes, whichever engine it comes from: an id may be a
 * number in one and its digits in the other. */
static void add_value(struct bj_buf *key, const struct bj_value *v)
{
    char kind = v->type == BJ_TYPE_NULL   ? 'n'
                : v->type == BJ_TYPE_REAL ? 'r'
                                          : 't';
    bj_buf_put(key, &kind, 1);
    if (v->type == BJ_TYPE_REAL)
        bj_buf_put(key, &v->f64, sizeof(v->f64));
    else if (v->type == BJ_TYPE_INTEGER)
        bj_buf_printf(key, "%lld", (long long)v->i64);
    else if (v->type == BJ_TYPE_TEXT && bj_buf_room(key, 3 * v->text.n))
        key->len += bj_text_utf8(v->text, key->p + key->len);
    bj_buf_put(key, "", 1);
}

/* SQLite keeps an id of digits as a number, and finds it by that only. */
static void set_jobid(struct bj_value *v)
{
    int64_t number;
    if (v->type == BJ_TYPE_TEXT && bj_jobid_number(v->text, &number))
        *v = (struct bj_value){.type = BJ_TYPE_INTEGER, .i64 = number};
}

static int read_value(struct rows *rows, int col, struct bj_value *ret,
                      struct bj_err *err)
{
    const char *column = rows->columns->list[col];
    bj_st_get(rows->st, col, 1, ret);
    int r = 0;
    if (!is_postgresql(bj_store_db(rows->copy->to)) &&
        strcmp(column, "jobid") == 0)
        set_jobid(ret);
    if (rows->numbers && ret->type == BJ_TYPE_INTEGER &&
        bj_copy_numbers_in(rows->table, column))
        r = bj_copy_numbers_of(rows->numbers, column, &ret->i64, err);
    add_value(&rows->key, ret);
    return r;
}

static int next(void *ctx, struct bj_value *ret, struct bj_err *err)
{
    struct rows *rows = ctx;
    if (rows->n % STOP_ROWS == 0 && atomic_load(rows->copy->stop))
        return bj_err_set(err, -EINTR, "copy: stopped; nothing was copied");
    int r = bj_st_row(rows->st, err);
    if (r <= 0)
        return r;
    rows->key.len = 0;
    r = 0;
    for (int i = 0; r == 0 && i < rows->columns->n; i++)
        r = read_value(rows, i, &ret[i], err);
    if (r == 0 && rows->key.failed)
        r = bj_err_set(err, -ENOMEM, "copy");
    if (r < 0)
        return r;
    rows->n++;
    rows->sum +=
        bj_cache_hash(0, (struct bj_slice){rows->key.p, rows->key.len});
    return 1;
}

static int open_rows(struct rows *rows, struct bj_store *s, struct bj_err *err)
{
    struct bj_buf sql = {0};
    const struct names *columns = rows->columns;
    const char *more =
        rows->numbers ? bj_copy_numbers_rows(rows->numbers, rows->table) : NULL;
    for (int i = 0; i < columns->n; i++)
        bj_buf_printf(&sql, "%s\"%s\"", i ? ", " : "SELECT ", columns->list[i]);
    if (more)
        bj_buf_printf(&sql, " FROM %s", more);
    else
        bj_buf_printf(&sql, " FROM \"%s\"", rows->table);
    bj_buf_put(&sql, "", 1);
    int r = sql.failed ? bj_err_set(err, -ENOMEM, "copy")
                       : bj_db_prepare(bj_store_db(s), sql.p, &rows->st, err);
    bj_buf_free(&sql);
    return r;
}

static void close_rows(struct rows *rows)
{
    bj_st_finalize(rows->st);
    bj_buf_free(&rows->key);
}

/* --- tables --------------------------------------------------------------- */

/* Read the copy and compare. */
static int prove(const struct rows *was, struct bj_err *err)
{
    struct bj_value value[BJ_LOAD_COLUMNS];
    struct rows rows = {
        .copy = was->copy, .table = was->table, .columns = was->columns};
    int r = open_rows(&rows, was->copy->to, err);
    while (r == 0 && (r = next(&rows, value, err)) > 0)
        r = 0;
    if (r == 0 && (rows.n != was->n || rows.sum != was->sum))
        r = bj_err_set(
            err, -EBADMSG, "copy: table %s is not equal: %llu rows of %llu",
            was->table, (unsigned long long)rows.n, (unsigned long long)was->n);
    close_rows(&rows);
    return r;
}

static int copy_table(const struct bj_copy *c, const char *table,
                      struct bj_copy_numbers *numbers, struct names *columns,
                      struct bj_err *err)
{
    struct bj_db *from = bj_store_db(c->from), *to = bj_store_db(c->to);
    struct rows rows = {
        .copy = c, .table = table, .columns = columns, .numbers = numbers};
    char sql[NAME_MAX_ + 32];
    snprintf(sql, sizeof(sql), "DELETE FROM \"%s\"", table);
    int r = read_names(from,
                       is_postgresql(from) ? postgres_columns : sqlite_columns,
                       table, columns, err);
    if (r == 0 && columns->n > BJ_LOAD_COLUMNS)
        r = bj_err_set(err, -E2BIG, "copy: columns of %s", table);
    /* rows that each new store has, and those of triggers */
    if (r == 0)
        r = bj_db_exec(to, sql, err);
    if (r == 0)
        r = open_rows(&rows, c->from, err);
    const struct bj_load load = {.table = table,
                                 .column = columns->list,
                                 .columns = columns->n,
                                 .next = next,
                                 .ctx = &rows};
    if (r == 0)
        r = bj_db_load(to, &load, err);
    if (r == 0)
        r = prove(&rows, err);
    if (r == 0)
        c->done(c->ctx, table, rows.n);
    close_rows(&rows);
    return r;
}

/* The partitions of all jobs, and their times. */
static int make_months(const struct bj_copy *c, struct bj_copy_numbers *numbers,
                       struct bj_err *err)
{
    struct bj_job_months *m = calloc(1, sizeof(*m));
    struct bj_st *st = NULL;
    int r = m ? bj_db_prepare(bj_store_db(c->from),
                              "SELECT id, at, \"end\" FROM job", &st, err)
              : bj_err_set(err, -ENOMEM, "copy");
    if (r == 0)
        bj_job_months_begin(m, bj_store_db(c->to));
    while (r == 0 && m->db && (r = bj_st_row(st, err)) > 0) {
        int64_t number = bj_st_get_i64(st, 0);
        r = numbers ? bj_copy_numbers_of(numbers, "id", &number, err) : 0;
        if (r == 0)
            r = bj_job_months_add(m, number, bj_st_get_i64(st, 1),
                                  bj_st_get_i64(st, 2), err);
    }
    if (r == 0)
        r = bj_job_months_flush(m, err);
    bj_st_finalize(st);
    free(m);
    return r;
}

static int copy_all(const struct bj_copy *c, struct names *tables,
                    struct names *columns, struct bj_err *err)
{
    struct bj_db *from = bj_store_db(c->from), *to = bj_store_db(c->to);
    struct bj_copy_numbers *numbers = NULL;
    int64_t jobs = 0;
    int r = bj_db_int(to,
                      "SELECT count(*) FROM (SELECT 1 FROM job LIMIT 1) AS"
                      " j",
                      &jobs, err);
    if (r == 0 && jobs > 0)
        r = bj_err_set(err, -EEXIST,
                       "copy: the store of --to has jobs already");
    if (r == 0)
        r = read_names(from,
                       is_postgresql(from) ? postgres_tables : sqlite_tables,
                       NULL, tables, err);
    if (r == 0)
        r = bj_copy_numbers_new(from, to, &numbers, err);
    if (r == 0)
        r = make_months(c, numbers, err);
    for (int i = 0; r == 0 && i < tables->n; i++)
        r = copy_table(c, tables->list[i], numbers, columns, err);
    bj_copy_numbers_free(numbers);
    return r == 0 && is_postgresql(to) ? bj_db_exec(to, postgres_numbers, err)
                                       : r;
}

int bj_copy_store(const struct bj_copy *c, struct bj_err *err)
{
    struct bj_db *from = bj_store_db(c->from), *to = bj_store_db(c->to);
    struct names *names = calloc(2, sizeof(*names));
    int r = names ? bj_db_references(to, false, err)
                  : bj_err_set(err, -ENOMEM, "copy");
    if (r == 0)
        r = bj_db_begin(from, BJ_BEGIN_SNAPSHOT, err);
    if (r == 0)
        r = bj_store_begin(c->to, err);
    if (r == 0)
        r = copy_all(c, &names[0], &names[1], err);
    if (r == 0)
        r = bj_store_commit(c->to, err);
    if (r < 0)
        bj_store_rollback(c->to);
    bj_db_rollback(from);
    free(names);
    return r;
}
