#include "apiserver/v1/jobs_sort.h"

#include "apiserver/v1/jobs_query.h"
#include "statsdb/job/job_value.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SORTED_MAX = 50000, /* maximum number of jobs that are sorted, the newest */
    PAGE_MAX = 500      /* rows of a page */
};

struct item {
    int64_t value, at, id;
};

struct items {
    struct item *item;
    size_t n, room;
};

/* --- the jobs and their values ---------------------------------------------
 */

static int pick(struct bj_call *c, const struct bj_params *p,
                struct bj_picked *ret)
{
    struct bj_params only = {.values = 0};
    struct bj_slice name = bj_params_text(p, BJ_PARAM_SORT);
    int r = bj_params_put(c, &only, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          name);
    if (r == 0)
        r = bj_jobs_pick(c, &only, false, ret);
    if (r == 0 &&
        (ret->n != 1 || bj_job_is_text(bj_job_columns[ret->at[0]].kind)))
        r = bj_call_refuse(c, 400,
                           "The parameter sort must be one field with numbers "
                           "or times.");
    return r;
}

static bool add(struct items *all, struct item v)
{
    if (all->n == all->room) {
        size_t room = all->room ? 2 * all->room : 1024;
        struct item *more = reallocarray(all->item, room, sizeof(*more));
        if (!more)
            return false;
        all->item = more;
        all->room = room;
    }
    all->item[all->n++] = v;
    return true;
}

/* Read the newest jobs. */
static int read_items(struct bj_call *c, struct bj_jobs_query *l,
                      const struct bj_picked *k, struct items *all)
{
    struct bj_st *st = NULL;
    struct bj_reader_row row;
    int r = bj_jobs_query_months(c, l);
    if (r != 0)
        return r;
    bj_jobs_select(&l->q, k);
    r = bj_jobs_query_where(c, l, 0, 1);
    bj_query_sql(&l->q, l->q.named ? " ORDER BY +j.at" : " ORDER BY j.at");
    bj_query_sql(&l->q, " DESC, j.id DESC LIMIT ");
    bj_query_int(&l->q, SORTED_MAX + 1);
    bj_reader_walk(c->reader, false, BJ_JOBS_UNTIL_COUNTED);
    if (r == 0)
        r = bj_query_open(&l->q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        struct item v = {bj_jobs_number(k, st), bj_st_get_i64(st, 0),
                         bj_st_get_i64(st, 1)};
        r = 0;
        l->end.partial =
            all->n == SORTED_MAX || bj_reader_late(c->reader, &row);
        if (l->end.partial)
            break;
        if (!add(all, v))
            r = bj_err_set(&c->err, -ENOMEM, "sort");
    }
    bj_query_free(&l->q);
    l->q = (struct bj_query){0};
    l->end.at = all->n > 0 ? all->item[all->n - 1].at : 0;
    return r;
}

/* Order: unknown values last; equal values by start time, the newest first. */
static int compare(const struct item *a, const struct item *b, bool ascending)
{
    if (a->value != b->value) {
        if (a->value == BJ_SQL_NULL || b->value == BJ_SQL_NULL)
            return a->value == BJ_SQL_NULL ? 1 : -1;
        return (a->value < b->value) == ascending ? -1 : 1;
    }
    if (a->at != b->at)
        return a->at > b->at ? -1 : 1;
    return a->id > b->id ? -1 : a->id < b->id;
}

static int falling(const void *a, const void *b)
{
    return compare(a, b, false);
}

static int rising(const void *a, const void *b)
{
    return compare(a, b, true);
}

/* --- the page --------------------------------------------------------------
 */

static int write_page(struct bj_call *c, struct bj_jobs_query *l,
                      const struct item *item, size_t n, struct bj_rows *rows)
{
    struct bj_st *st = NULL;
    bj_jobs_select(&l->q, &l->k);
    bj_query_sql(&l->q, " AND j.id IN (");
    for (size_t i = 0; i < n; i++) {
        bj_query_sql(&l->q, i ? "," : "");
        bj_query_int(&l->q, item[i].id);
    }
    bj_query_sql(&l->q, ") ORDER BY CASE j.id");
    for (size_t i = 0; i < n; i++) {
        bj_query_sql(&l->q, " WHEN ");
        bj_query_int(&l->q, item[i].id);
        bj_query_sql(&l->q, " THEN ");
        bj_query_int(&l->q, (int64_t)i);
    }
    bj_query_sql(&l->q, " END");
    int r = bj_query_open(&l->q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0)
        r = bj_jobs_row(c, &l->k, st, rows);
    bj_query_free(&l->q);
    return r;
}

int bj_jobs_sort(struct bj_call *c, struct bj_jobs_query *l,
                 struct bj_rows *rows)
{
    struct bj_picked one;
    struct items all = {.n = 0};
    size_t first = l->cursor_at > 0 ? (size_t)l->cursor_at : 0;
    size_t limit = l->limit < PAGE_MAX ? (size_t)l->limit : PAGE_MAX;
    int r = pick(c, &l->p, &one);
    if (r == 0)
        r = read_items(c, l, &one, &all);
    if (r == 0) {
        if (all.n > 0)
            qsort(all.item, all.n, sizeof(*all.item),
                  l->ascending ? rising : falling);
        first = first < all.n ? first : all.n;
        size_t n = all.n - first < limit ? all.n - first : limit;
        if (n > 0)
            r = write_page(c, l, all.item + first, n, rows);
        if (limit > 0 && first + n < all.n)
            snprintf(l->end.next, sizeof(l->end.next), "%zu.0", first + n);
        l->end.total = (int64_t)all.n;
        l->end.at_least = l->end.partial;
    }
    free(all.item);
    return r;
}
