#include "statsdb/copy/copy_rows.h"

#include "base/buf.h"
#include "base/cache.h"
#include "base/text.h"
#include "statsdb/tables/job_number.h"
#include "statsdb/tables/month.h"
#include "statsdb/tables/record_rows.h"
#include "store/db.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of jobs, or of records. */
struct map {
    struct bj_db *db; /* a database without a name */
    struct bj_st *add, *find;
    bool follow;  /* are the copy's numbers computed from the rows? */
    int64_t upto; /* the largest number */
};

enum { JOBS, RECORDS, MAPS };

struct bj_copy_numbers {
    struct map map[MAPS];
};

static int64_t number_of_job(struct bj_st *st)
{
    return bj_job_number_of(bj_st_i64(st, "cluster"), bj_st_text(st, "jobid"),
                            bj_st_i64(st, "submit"));
}

static int64_t number_of_record(struct bj_st *st)
{
    return bj_record_number_of(
        &(struct bj_record_key){.cluster = bj_st_i64(st, "cluster"),
                                .jobid = bj_st_text(st, "jobid"),
                                .start_sec = bj_st_i64(st, "start"),
                                .host = bj_st_i64(st, "host"),
                                .slurm_node = bj_st_text(st, "slurm_node")});
}

static const struct kind {
    const struct bj_month_group *group;
    const char *sql; /* selects all rows */
    int64_t (*number_of)(struct bj_st *st);
} kinds[MAPS] = {
    {&bj_month_jobs, "SELECT id, cluster, jobid, submit FROM job ORDER BY id",
     number_of_job},
    {&bj_month_records,
     "SELECT id, cluster, jobid, start, host, slurm_node FROM node_record ORDER"
     " BY id",
     number_of_record},
};

static const char job_upto[] = "job_upto";

/* With SQLite, jobs newer than the last processed one are in no list. */
static const struct {
    const char *table, *rows;
} unlisted[] = {
    {"derive_todo",
     "(SELECT job FROM derive_todo UNION SELECT id FROM job WHERE id >"
     " (SELECT job_upto FROM derive_state) AND \"end\" IS NOT NULL) AS t"},
    {"mail_todo",
     "(SELECT job FROM mail_todo UNION SELECT id FROM job WHERE id >"
     " (SELECT job_upto FROM mail_state) AND \"end\" >="
     " (SELECT since FROM mail_state)) AS t"},
};

/* --- the map ---------------------------------------------------------------
 */

/* 1: added; 0: the row has a number, or another one has this. */
static int numbers_add(struct map *m, int64_t was, int64_t v,
                       struct bj_err *err)
{
    bj_st_bind_i64(m->add, 1, was);
    bj_st_bind_i64(m->add, 2, v);
    int r = bj_st_run(m->add, err);
    return r < 0 ? r : bj_db_changes(m->db) > 0;
}

/* Add the first free number from v on. */
static int add_following(struct map *m, int64_t was, int64_t v,
                         struct bj_err *err)
{
    const int64_t first = v;
    int r;
    while ((r = numbers_add(m, was, v, err)) == 0) {
        v = bj_job_number_next(v);
        if (v == first)
            return bj_err_set(err, -E2BIG,
                              "copy: too many numbers in one second");
    }
    return r;
}

/* Add the number in an earlier copy, or the next number. */
static int add_next(struct map *m, int64_t was, struct bj_err *err)
{
    int r = numbers_add(m, was, m->upto + 1, err);
    m->upto += r > 0;
    return r;
}

/* Fill in the numbers of a copy that has begun. */
static int fill_earlier(struct map *m, const struct kind *k, struct bj_db *to,
                        struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(to, k->sql, &st, err);
    while (r >= 0 && (r = bj_st_row(st, err)) > 0) {
        m->upto = bj_st_i64(st, "id");
        r = numbers_add(m, k->number_of(st), m->upto, err);
    }
    bj_st_finalize(st);
    return r;
}

static int numbers_fill(struct map *m, const struct kind *k, struct bj_db *from,
                        struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(from, k->sql, &st, err);
    while (r >= 0 && (r = bj_st_row(st, err)) > 0) {
        int64_t was = bj_st_i64(st, "id");
        r = m->follow ? add_following(m, was, k->number_of(st), err)
                      : add_next(m, was, err);
    }
    bj_st_finalize(st);
    return r;
}

static int numbers_make(struct map *m, const struct kind *k, struct bj_db *from,
                        struct bj_db *to, struct bj_err *err)
{
    const struct bj_db_options none = {.create = true};
    int r = bj_db_open(&none, &m->db, err);
    m->follow = bj_job_numbers_follow(to);
    if (r == 0)
        r = bj_db_exec(m->db,
                       "CREATE TABLE map(was INTEGER PRIMARY KEY, number INT"
                       " NOT NULL UNIQUE); BEGIN",
                       err);
    if (r == 0)
        r = bj_db_prepare(m->db,
                          "INSERT INTO map(was, number) VALUES(?1, ?2)"
                          " ON CONFLICT DO NOTHING",
                          &m->add, err);
    if (r == 0)
        r = bj_db_prepare(m->db, "SELECT number FROM map WHERE was = ?1",
                          &m->find, err);
    if (r == 0 && !m->follow)
        r = fill_earlier(m, k, to, err);
    if (r == 0)
        r = numbers_fill(m, k, from, err);
    if (m->follow)
        m->upto = INT64_MAX;
    return r;
}

int bj_copy_numbers_new(struct bj_db *from, struct bj_db *to,
                        struct bj_copy_numbers **ret, struct bj_err *err)
{
    *ret = NULL;
    if (bj_job_numbers_follow(from) == bj_job_numbers_follow(to))
        return 0;
    struct bj_copy_numbers *n = calloc(1, sizeof(*n));
    int r = n ? 0 : bj_err_set(err, -ENOMEM, "copy");
    for (int i = 0; r == 0 && i < MAPS; i++)
        r = numbers_make(&n->map[i], &kinds[i], from, to, err);
    if (r < 0) {
        bj_copy_numbers_free(n);
        return r;
    }
    *ret = n;
    return 0;
}

void bj_copy_numbers_free(struct bj_copy_numbers *n)
{
    for (int i = 0; n && i < MAPS; i++) {
        bj_st_finalize(n->map[i].add);
        bj_st_finalize(n->map[i].find);
        bj_db_close(n->map[i].db);
    }
    free(n);
}

/* --- tables ----------------------------------------------------------------
 */

/* The kind of numbers in a column; MAPS: none. */
static int map_of(const char *table, const char *column)
{
    int i = 0;
    if (strcmp(column, job_upto) == 0)
        return JOBS;
    while (i < MAPS && strcmp(column, kinds[i].group->of) != 0 &&
           (strcmp(column, "id") != 0 ||
            strcmp(table, kinds[i].group->tables[0]) != 0))
        i++;
    return i;
}

/* Does a column contain numbers of jobs or final records? */
static bool copy_numbers_in(const char *table, const char *column)
{
    return map_of(table, column) < MAPS;
}

/* Replace a value of such a column by the number in the copy.  A number that
 * refers to no job or record stays. */
static int copy_numbers_of(struct bj_copy_numbers *n, const char *table,
                           const char *column, int64_t *v, struct bj_err *err)
{
    struct map *m = &n->map[map_of(table, column)];
    if (strcmp(column, job_upto) == 0) {
        *v = m->upto;
        return 0;
    }
    bj_st_bind_i64(m->find, 1, *v);
    int r = bj_st_int(m->find, v, err);
    return r < 0 ? r : 0;
}

/* The rows of a table that must have more rows in the copy than in the store,
 * as a subquery; NULL for other tables. */
static const char *copy_numbers_rows(const struct bj_copy_numbers *n,
                                     const char *table)
{
    for (size_t i = 0;
         n->map[JOBS].follow && i < sizeof(unlisted) / sizeof(unlisted[0]); i++)
        if (strcmp(unlisted[i].table, table) == 0)
            return unlisted[i].rows;
    return NULL;
}

/* --- days -----------------------------------------------------------------*/

#define DAY INT64_C(86400)

struct bj_copy_days {
    struct bj_db *list; /* a database without a name; NULL: days follow from the
                           numbers */
    struct bj_st *from, *find, *add, *extend, *drop;
    int64_t day;
    bool is_new; /* the day has just begun */
};

static int64_t days_day_of(int64_t sec)
{
    return bj_job_number_time(bj_job_number_first(sec)) / DAY;
}

int64_t bj_copy_day_number(int64_t day)
{
    return day > 0 ? bj_job_number_last(day * DAY - 1) + 1 : 0;
}

static int64_t last_of(int64_t day)
{
    return bj_job_number_last(day * DAY + DAY - 1);
}

/* --- the list --------------------------------------------------------------
 * SQLite's numbers contain no time, so this lists the ranges of numbers in
 * which all rows are of one day. */

static int add_range(struct bj_copy_days *d, int64_t day, int64_t first,
                     int64_t last, struct bj_err *err)
{
    bj_st_set_i64(d->add, "day", day);
    bj_st_set_i64(d->add, "first", first);
    bj_st_set_i64(d->add, "last", last);
    return bj_st_run(d->add, err);
}

static int days_fill(struct bj_copy_days *d, struct bj_db *db,
                     const struct bj_month_group *g, struct bj_err *err)
{
    struct bj_buf sql = {0};
    struct bj_st *st = NULL;
    int64_t day = -1, first = 0, last = 0;
    bj_buf_printf(&sql, "SELECT id, %s FROM %s ORDER BY id", g->time,
                  g->tables[0]);
    int r = bj_db_prepare_buf(db, &sql, &st, err);
    while (r == 0 && (r = bj_st_row(st, err)) > 0) {
        int64_t of = days_day_of(bj_st_get_i64(st, 1));
        r = of != day && day >= 0 ? add_range(d, day, first, last, err) : 0;
        last = bj_st_get_i64(st, 0);
        first = of == day ? first : last;
        day = of;
    }
    if (r == 0 && day >= 0)
        r = add_range(d, day, first, last, err);
    bj_st_finalize(st);
    return r;
}

static int make_list(struct bj_copy_days *d, struct bj_db *db,
                     const struct bj_month_group *g, struct bj_err *err)
{
    const struct {
        struct bj_st **st;
        const char *sql;
    } texts[] = {
        {&d->from, "SELECT min(day) FROM run WHERE day >= ?1"},
        {&d->find, "SELECT first, last FROM run WHERE day = ?1"},
        {&d->add,
         "INSERT INTO run(day, first, last) VALUES(:day, :first, :last)"},
        {&d->extend,
         "UPDATE run SET last = :number WHERE day = :day AND first = (SELECT"
         " max(first) FROM run WHERE day = :day AND first < :number) AND last ="
         " :number - 1"},
        {&d->drop, "DELETE FROM run WHERE day = ?1"},
    };
    const struct bj_db_options none = {.create = true};
    int r = bj_db_open(&none, &d->list, err);
    if (r == 0)
        r = bj_db_exec(d->list,
                       "CREATE TABLE run(day INT, first INT, last INT, PRIMARY"
                       " KEY(day, first)) WITHOUT ROWID; BEGIN",
                       err);
    for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        r = bj_db_prepare(d->list, texts[i].sql, texts[i].st, err);
    return r < 0 ? r : days_fill(d, db, g, err);
}

int bj_copy_days_new(struct bj_db *db, const struct bj_month_group *g,
                     struct bj_copy_days **ret, struct bj_err *err)
{
    struct bj_copy_days *d = calloc(1, sizeof(*d));
    struct bj_buf sql = {0};
    if (!d)
        return bj_err_set(err, -ENOMEM, "copy");
    bj_buf_printf(&sql, "SELECT min(id) FROM %s WHERE id >= ?1", g->tables[0]);
    int r = bj_job_numbers_follow(db)
                ? bj_db_prepare_buf(db, &sql, &d->from, err)
                : make_list(d, db, g, err);
    bj_buf_free(&sql);
    if (r < 0) {
        bj_copy_days_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

void bj_copy_days_free(struct bj_copy_days *d)
{
    if (!d)
        return;
    bj_st_finalize(d->from);
    bj_st_finalize(d->find);
    bj_st_finalize(d->add);
    bj_st_finalize(d->extend);
    bj_st_finalize(d->drop);
    bj_db_close(d->list);
    free(d);
}

/* --- days ----------------------------------------------------------------- */

int bj_copy_days_from(struct bj_copy_days *d, int64_t day, int64_t *ret,
                      struct bj_err *err)
{
    bj_st_bind_i64(d->from, 1, d->list ? day : bj_copy_day_number(day));
    int r = bj_st_int(d->from, ret, err);
    if (r <= 0 || *ret == BJ_SQL_NULL)
        return r < 0 ? r : 0;
    if (!d->list)
        *ret = bj_job_number_time(*ret) / DAY;
    return 1;
}

void bj_copy_days_begin(struct bj_copy_days *d, int64_t day)
{
    d->day = day;
    d->is_new = true;
    bj_st_reset(d->find);
    if (d->find)
        bj_st_bind_i64(d->find, 1, day);
}

int bj_copy_days_range(struct bj_copy_days *d, int64_t *ret_first,
                       int64_t *ret_last, struct bj_err *err)
{
    if (d->list) {
        int r = bj_st_row(d->find, err);
        if (r > 0) {
            *ret_first = bj_st_i64(d->find, "first");
            *ret_last = bj_st_i64(d->find, "last");
        }
        return r;
    }
    if (!d->is_new)
        return 0;
    d->is_new = false;
    *ret_first = bj_copy_day_number(d->day);
    *ret_last = last_of(d->day);
    return 1;
}

int bj_copy_days_add(struct bj_copy_days *d, int64_t day, int64_t number,
                     struct bj_err *err)
{
    if (!d->list)
        return 0;
    bj_st_set_i64(d->extend, "day", day);
    bj_st_set_i64(d->extend, "number", number);
    int r = bj_st_run(d->extend, err);
    return r < 0 || bj_db_changes(d->list) > 0
               ? r
               : add_range(d, day, number, number, err);
}

int bj_copy_days_drop(struct bj_copy_days *d, int64_t day, struct bj_err *err)
{
    if (!d->list)
        return 0;
    bj_st_bind_i64(d->drop, 1, day);
    return bj_st_run(d->drop, err);
}

/* --- rows -----------------------------------------------------------------*/

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
        f->numbers ? copy_numbers_rows(f->numbers, f->table) : NULL;
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
        copy_numbers_in(f->table, column))
        r = copy_numbers_of(f->numbers, f->table, column, &ret->i64, err);
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
