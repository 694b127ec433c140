#include "statsdb/copy/copy_days.h"

#include "statsdb/tables/job_number.h"
#include "statsdb/tables/month.h"
#include "store/db.h"

#include <stdbool.h>
#include <stdlib.h>

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
    bj_st_bind_i64(d->add, 1, day);
    bj_st_bind_i64(d->add, 2, first);
    bj_st_bind_i64(d->add, 3, last);
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
        {&d->add, "INSERT INTO run(day, first, last) VALUES(?1, ?2, ?3)"},
        {&d->extend, "UPDATE run SET last = ?2 WHERE day = ?1 AND first ="
                     " (SELECT max(first) FROM run WHERE day = ?1 AND first <"
                     " ?2) AND last = ?2 - 1"},
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
            *ret_first = bj_st_get_i64(d->find, 0);
            *ret_last = bj_st_get_i64(d->find, 1);
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
    bj_st_bind_i64(d->extend, 1, day);
    bj_st_bind_i64(d->extend, 2, number);
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
