#include "statsdb/copy/copy.h"

#include "statsdb/copy/copy_rows.h"
#include "statsdb/tables/job_month.h"
#include "statsdb/tables/job_number.h"
#include "statsdb/tables/month.h"
#include "statsdb/tables/schema.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>

/* New rows get numbers after those of the copied rows. */
static const char postgres_numbers[] =
    "DO $$ DECLARE r record; m bigint; BEGIN FOR r IN SELECT table_name AS t,"
    " column_name AS c FROM information_schema.columns WHERE table_schema ="
    " current_schema() AND is_identity = 'YES' LOOP EXECUTE format('SELECT"
    " max(%I) FROM %I', r.c, r.t) INTO m; IF m > 0 THEN PERFORM setval("
    "pg_get_serial_sequence(quote_ident(r.t), r.c), m); END IF; END LOOP;"
    " END $$";

/* A table in both stores. */
struct pair {
    const char *table;
    struct bj_copy_rows *from, *to;
    struct bj_st *drop; /* rows of the copy */
    struct bj_copy_sum sum;
};

struct copy {
    const struct bj_copy *c;
    struct bj_store *from, *to;
    struct bj_copy_numbers *numbers; /* NULL: numbers stay the same */
    struct bj_job_months months;
    /* the group of tables that is copied by day */
    const struct bj_month_group *group;
    struct bj_copy_days *from_days, *to_days;
    struct pair pair[BJ_MONTH_TABLES];
    int pairs;
};

/* --- a table ---------------------------------------------------------------
 */

static void close_pair(struct pair *p)
{
    bj_copy_rows_free(p->from);
    bj_copy_rows_free(p->to);
    bj_st_finalize(p->drop);
}

/* key: the table's column with the number of the job or record, or NULL. */
static int open_pair(struct copy *c, const char *table, const char *key,
                     struct pair *ret, struct bj_err *err)
{
    struct bj_db *to = bj_store_db(c->to);
    const struct bj_copy_from from = {.db = bj_store_db(c->from),
                                      .to = to,
                                      .table = table,
                                      .key = key,
                                      .numbers = c->numbers,
                                      .stop = c->c->stop};
    const struct bj_copy_from back = {
        .db = to, .to = to, .table = table, .key = key, .stop = c->c->stop};
    char sql[2 * BJ_COPY_NAME_BYTES + 64];
    *ret = (struct pair){.table = table};
    int n = snprintf(sql, sizeof(sql), "DELETE FROM \"%s\"", table);
    if (key)
        snprintf(sql + n, sizeof(sql) - (size_t)n,
                 " WHERE %s >= ?1 AND %s <= ?2", key, key);
    int r = bj_copy_rows_new(&from, &ret->from, err);
    if (r == 0)
        r = bj_copy_rows_new(&back, &ret->to, err);
    if (r == 0)
        r = bj_db_prepare(to, sql, &ret->drop, err);
    return r;
}

/* State while rows are written; of rows of the group's first table, number and
 * times are noted. */
struct loading {
    struct copy *c;
    struct bj_copy_rows *rows;
    int64_t day;
    int id, submit, start, end; /* columns; id -1: another table */
};

static int find_column(const struct bj_copy_names *n, const char *name)
{
    for (int i = 0; i < n->n; i++)
        if (strcmp(n->list[i], name) == 0)
            return i;
    return -1;
}

static void begin_loading(struct copy *c, const struct pair *p, int64_t day,
                          struct loading *ret)
{
    const struct bj_copy_names *columns = bj_copy_rows_columns(p->from);
    *ret = (struct loading){.c = c, .rows = p->from, .day = day, .id = -1};
    if (p != c->pair)
        return;
    ret->id = find_column(columns, "id");
    ret->submit = find_column(columns, "submit");
    ret->start = find_column(columns, "start");
    ret->end = find_column(columns, "end");
}

static int copy_keep(const struct loading *l, const struct bj_value *v,
                     struct bj_err *err)
{
    int r = bj_copy_days_add(l->c->to_days, l->day, v[l->id].i64, err);
    if (r < 0 || l->c->group != &bj_month_jobs)
        return r;
    const struct bj_value *start = &v[l->start], *last = &v[l->end];
    bj_job_months_note(&l->c->months, v[l->id].i64,
                       start->type == BJ_TYPE_NULL ? v[l->submit].i64
                                                   : start->i64,
                       last->type == BJ_TYPE_NULL ? BJ_SQL_NULL : last->i64);
    return 0;
}

static int load_row(void *ctx, struct bj_value *ret, struct bj_err *err)
{
    struct loading *l = ctx;
    int r = bj_copy_rows_next(l->rows, ret, err);
    int kept = r > 0 && l->id >= 0 ? copy_keep(l, ret, err) : 0;
    return kept < 0 ? kept : r;
}

/* Write the rows of a day, or all rows, and compare them. */
static int copy_load(struct copy *c, struct pair *p, int64_t day,
                     struct bj_err *err)
{
    const struct bj_copy_names *columns = bj_copy_rows_columns(p->from);
    struct loading l;
    const struct bj_load what = {.table = p->table,
                                 .column = columns->list,
                                 .columns = columns->n,
                                 .next = load_row,
                                 .ctx = &l};
    struct bj_copy_sum is;
    begin_loading(c, p, day, &l);
    bj_copy_rows_begin(p->from, c->from_days, day);
    int r = bj_db_load(bj_store_db(c->to), &what, err);
    p->sum = bj_copy_rows_sum(p->from);
    if (r == 0)
        r = bj_copy_rows_read(p->to, c->to_days, day, &is, err);
    if (r == 0 && memcmp(&is, &p->sum, sizeof(is)) != 0)
        r = bj_err_set(err, -EBADMSG,
                       "copy: table %s is not equal: %llu rows of %llu",
                       p->table, (unsigned long long)is.rows,
                       (unsigned long long)p->sum.rows);
    return r;
}

/* Compare the rows of a day, or all rows: 1 if they are equal. */
static int copy_compare(struct copy *c, struct pair *p, int64_t day,
                        struct bj_err *err)
{
    struct bj_copy_sum is;
    int r = bj_copy_rows_read(p->from, c->from_days, day, &p->sum, err);
    if (r == 0)
        r = bj_copy_rows_read(p->to, c->to_days, day, &is, err);
    return r < 0 ? r : memcmp(&is, &p->sum, sizeof(is)) == 0;
}

static int copy_report(struct copy *c, const struct pair *p, int64_t day,
                       bool written, struct bj_err *err)
{
    return c->c->equal(
        c->c->ctx,
        &(struct bj_copy_equal){
            .table = p->table, .day = day, .sum = p->sum, .written = written},
        err);
}

/* --- days ----------------------------------------------------------------- */

/* Compare the day's rows in all tables: 1 if they are equal. */
static int compare_day(struct copy *c, int64_t day, struct bj_err *err)
{
    int r = 1;
    for (int i = 0; r > 0 && i < c->pairs; i++)
        r = copy_compare(c, &c->pair[i], day, err);
    return r;
}

static int drop_rows(struct copy *c, struct bj_st *st, int64_t day,
                     struct bj_err *err)
{
    int64_t first, last;
    int r;
    bj_copy_days_begin(c->to_days, day);
    while ((r = bj_copy_days_range(c->to_days, &first, &last, err)) > 0) {
        bj_st_bind_i64(st, 1, first);
        bj_st_bind_i64(st, 2, last);
        if ((r = bj_st_run(st, err)) < 0)
            break;
    }
    return r;
}

static int drop_day(struct copy *c, int64_t day, struct bj_err *err)
{
    int r = 0;
    for (int i = 0; r == 0 && i < c->pairs; i++)
        r = drop_rows(c, c->pair[i].drop, day, err);
    return r == 0 ? bj_copy_days_drop(c->to_days, day, err) : r;
}

/* Make partitions first, because that is not possible while rows are loaded. */
static int write_day(struct copy *c, int64_t day, struct bj_err *err)
{
    struct bj_db *to = bj_store_db(c->to);
    int r = bj_job_numbers_follow(to)
                ? bj_month_make(to, c->group,
                                bj_month_of(bj_copy_day_number(day)), err)
                : 0;
    bj_job_months_begin(&c->months, to);
    for (int i = 0; r == 0 && i < c->pairs; i++)
        r = copy_load(c, &c->pair[i], day, err);
    return r == 0 ? bj_job_months_flush(&c->months, err) : r;
}

/* In a transaction. there: the copy has rows of the day. */
static int replace_day(struct copy *c, int64_t day, bool there,
                       struct bj_err *err)
{
    int r = bj_store_begin(c->to, err);
    if (r == 0 && there)
        r = drop_day(c, day, err);
    if (r == 0)
        r = write_day(c, day, err);
    return r == 0 ? bj_store_commit(c->to, err) : r;
}

static int copy_day(struct copy *c, int64_t day, struct bj_err *err)
{
    int64_t first = 0;
    int r = bj_copy_days_from(c->to_days, day, &first, err);
    const bool there = r > 0 && first == day;
    if (there)
        r = compare_day(c, day, err);
    const bool equal = there && r > 0;
    if (r >= 0 && !equal)
        r = replace_day(c, day, there, err);
    for (int i = 0; r >= 0 && i < c->pairs; i++)
        r = copy_report(c, &c->pair[i], day, !equal, err);
    return r < 0 ? r : 0;
}

/* Find the first day with rows in either store, beginning with this day: 1, or
 * 0. */
static int next_day(struct copy *c, int64_t from, int64_t *ret,
                    struct bj_err *err)
{
    int64_t there = 0, copied = 0;
    int a = bj_copy_days_from(c->from_days, from, &there, err);
    int b = a < 0 ? a : bj_copy_days_from(c->to_days, from, &copied, err);
    if (b <= 0 || (a > 0 && there < copied))
        *ret = there;
    else
        *ret = copied;
    return b < 0 ? b : a > 0 || b > 0;
}

static int open_group(struct copy *c, const struct bj_month_group *g,
                      struct bj_err *err)
{
    c->group = g;
    c->pairs = 0;
    int r = bj_copy_days_new(bj_store_db(c->from), g, &c->from_days, err);
    if (r == 0)
        r = bj_copy_days_new(bj_store_db(c->to), g, &c->to_days, err);
    for (int i = 0; r == 0 && g->tables[i]; i++)
        r = open_pair(c, g->tables[i], i == 0 ? "id" : g->of,
                      &c->pair[c->pairs++], err);
    return r;
}

static void close_group(struct copy *c)
{
    for (int i = 0; i < c->pairs; i++)
        close_pair(&c->pair[i]);
    bj_copy_days_free(c->from_days);
    bj_copy_days_free(c->to_days);
    c->from_days = c->to_days = NULL;
}

static int copy_group(struct copy *c, const struct bj_month_group *g,
                      struct bj_err *err)
{
    int64_t day = 0;
    int r = open_group(c, g, err);
    while (r == 0 && (r = next_day(c, day, &day, err)) > 0)
        r = copy_day(c, day++, err);
    close_group(c);
    return r;
}

/* --- other tables --------------------------------------------------------- */

static bool is_in(const struct bj_month_group *g, const char *table)
{
    const char *const *t = g->tables;
    while (*t && strcmp(*t, table) != 0)
        t++;
    return *t;
}

static int copy_write_all(struct copy *c, struct pair *p, struct bj_err *err)
{
    int r = bj_store_begin(c->to, err);
    if (r == 0)
        r = bj_st_run(p->drop, err);
    if (r == 0)
        r = copy_load(c, p, BJ_SQL_NULL, err);
    return r == 0 ? bj_store_commit(c->to, err) : r;
}

static int copy_table(struct copy *c, const char *table, struct bj_err *err)
{
    struct pair p = {0};
    int r = open_pair(c, table, NULL, &p, err);
    int equal = r < 0 ? r : copy_compare(c, &p, BJ_SQL_NULL, err);
    r = equal == 0 ? copy_write_all(c, &p, err) : equal;
    if (r >= 0)
        r = copy_report(c, &p, BJ_SQL_NULL, equal == 0, err);
    close_pair(&p);
    return r;
}

static int copy_tables(struct copy *c, struct bj_err *err)
{
    struct bj_copy_names *tables = calloc(1, sizeof(*tables));
    int r = tables ? bj_copy_tables(bj_store_db(c->from), tables, err)
                   : bj_err_set(err, -ENOMEM, "copy");
    for (int i = 0; r == 0 && i < tables->n; i++)
        if (!is_in(&bj_month_jobs, tables->list[i]) &&
            !is_in(&bj_month_records, tables->list[i]))
            r = copy_table(c, tables->list[i], err);
    free(tables);
    return r;
}

/* --- stores --------------------------------------------------------------- */

/* The target may be an empty store, an unfinished copy, or an earlier copy. */
static int copy_begin(struct copy *c, struct bj_err *err)
{
    struct bj_db *to = bj_store_db(c->to);
    enum bj_schema_copy copy = BJ_SCHEMA_OWN;
    int64_t jobs = 0;
    int r = bj_schema_copy(to, &copy, err);
    if (r < 0 || copy == BJ_SCHEMA_COPYING)
        return r;
    if (copy == BJ_SCHEMA_OWN || !c->c->update)
        r = bj_db_int(to,
                      "SELECT count(*) FROM (SELECT 1 FROM job LIMIT 1) AS j",
                      &jobs, err);
    if (r == 0 && jobs > 0)
        r = bj_err_set(err, -EEXIST,
                       copy == BJ_SCHEMA_OWN
                           ? "copy: the store of --to has jobs already, and is"
                             " no copy that only this command has written"
                           : "copy: the store of --to has jobs already;"
                             " --update makes an earlier copy equal again");
    return r < 0 ? r : bj_schema_set_copy(to, BJ_SCHEMA_COPYING, err);
}

static int copy_end(struct copy *c, struct bj_err *err)
{
    struct bj_db *to = bj_store_db(c->to);
    int r = bj_db_dialect(to) == BJ_DIALECT_POSTGRESQL
                ? bj_db_exec(to, postgres_numbers, err)
                : 0;
    return r < 0 ? r : bj_schema_set_copy(to, BJ_SCHEMA_IS_COPY, err);
}

static int copy_copy(struct copy *c, struct bj_err *err)
{
    struct bj_db *from = bj_store_db(c->from), *to = bj_store_db(c->to);
    int r = bj_db_references(to, false, err);
    if (r == 0)
        r = bj_db_begin(from, BJ_BEGIN_SNAPSHOT, err);
    if (r == 0)
        r = copy_begin(c, err);
    if (r == 0)
        r = bj_copy_numbers_new(from, to, &c->numbers, err);
    if (r == 0)
        r = copy_group(c, &bj_month_jobs, err);
    if (r == 0)
        r = copy_group(c, &bj_month_records, err);
    if (r == 0)
        r = copy_tables(c, err);
    if (r == 0)
        r = copy_end(c, err);
    bj_copy_numbers_free(c->numbers);
    return r;
}

int bj_copy_store(const struct bj_copy *what, struct bj_err *err)
{
    struct copy *c = calloc(1, sizeof(*c));
    if (!c)
        return bj_err_set(err, -ENOMEM, "copy");
    c->c = what;
    int r = bj_store_open(
        &(struct bj_store_options){.path = what->from, .read_only = true},
        &c->from, err);
    if (r == 0)
        r = bj_store_open(
            &(struct bj_store_options){.path = what->to, .copy = true}, &c->to,
            err);
    if (r == 0)
        r = copy_copy(c, err);
    bj_store_close(c->to);
    bj_store_close(c->from);
    free(c);
    return r;
}
