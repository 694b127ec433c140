/* /api/v1/jobs: lists of jobs, and one. */
#include "apiserver/frame/state.h"
#include "apiserver/job/job_name.h"
#include "apiserver/job/visible_job.h"
#include "apiserver/v1/jobs_query.h"
#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>

/* Lists of jobs, sorted by a column. */

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
    if (r == 0 && (ret->n != 1 || bj_job_is_text(ret->column[0]->kind)))
        r = bj_call_refuse(c, 400,
                           "The parameter sort must be one field with numbers "
                           "or times.");
    return r;
}

static bool add(struct items *all, struct item v)
{
    if (!BJ_GROW(all->item, all->n + 1, all->room))
        return false;
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
    bj_filter_order(&l->q.b, false, l->q.named, SORTED_MAX + 1);
    bj_reader_walk(c->reader, false, BJ_JOBS_UNTIL_COUNTED);
    if (r == 0)
        r = bj_query_open(&l->q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        int64_t number[BJ_ROW_KEYS];
        bj_picked_numbers(k, st, BJ_JOBS_FIRST, number);
        struct item v = {number[0], bj_st_get_i64(st, 0), bj_st_get_i64(st, 1)};
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

/* Write the page at the cursor, which is a number of rows here.  If there are
 * too many jobs, only the newest are sorted, and l->end.partial is set.  0, a
 * refusal, or an error of the store. */
static int jobs_sort(struct bj_call *c, struct bj_jobs_query *l,
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

enum {
    TOTAL_MAX = 100000, /* maximum of a total */
    /* maximum of a total on pages, which must be fast */
    PAGE_TOTAL_MAX = 10000,
    NAMED_MAX = 100 /* maximum number of jobs with one name */
};

enum {
    JOBS_MASK = BJ_JOBS_MASK | BJ_BIT(BJ_PARAM_CURSOR) |
                BJ_BIT(BJ_PARAM_TOTAL) | BJ_BIT(BJ_PARAM_BEGAN),
    JOB_MASK = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_FIELDS) |
               BJ_BIT(BJ_PARAM_MINE)
};

/* --- responses --------------------------------------------------------------
 */

/* Is the row past the end of the walk? */
static bool is_past(struct bj_call *c, struct bj_jobs_query *l, int64_t at,
                    int64_t id)
{
    struct bj_reader_row end;
    if (!bj_reader_late(c->reader, &end))
        return false;
    if (at != end.at ? (at < end.at) == l->ascending
                     : id != end.id && (id < end.id) == l->ascending)
        return false;
    l->end.partial = true;
    l->end.at = end.at;
    /* The next page reads that row again. */
    snprintf(l->end.next, sizeof(l->end.next), "%lld.%lld", (long long)end.at,
             (long long)(l->ascending ? end.id - 1 : end.id + 1));
    return true;
}

/* Count the jobs, in any order, until the time is over. */
static int count_all(struct bj_call *c, struct bj_jobs_query *l, int64_t most)
{
    struct bj_st *st;
    struct bj_reader_row row;
    l->end.total = 0;
    bj_query_sql(&l->q, "SELECT 1 FROM job AS j WHERE 1 = 1");
    int r = bj_jobs_query_where(c, l, 0, 1);
    bj_query_sql(&l->q, " LIMIT ");
    bj_query_int(&l->q, most + 1);
    bj_reader_walk(c->reader, l->ascending, BJ_JOBS_UNTIL_COUNTED);
    if (r == 0)
        r = bj_query_open(&l->q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        l->end.at_least =
            l->end.total == most || bj_reader_late(c->reader, &row);
        if (l->end.at_least)
            break;
        l->end.total++;
    }
    bj_query_free(&l->q);
    l->q = (struct bj_query){0};
    return r;
}

/* Write rows, and the cursor if there are more. */
static int write_rows(struct bj_call *c, struct bj_jobs_query *l,
                      struct bj_rows *rows)
{
    struct bj_st *st = NULL;
    int64_t at = 0, id = 0;
    if (l->p.given[BJ_PARAM_SORT])
        return jobs_sort(c, l, rows);
    int r = bj_jobs_query_open(c, l, &st);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        if (is_past(c, l, bj_st_get_i64(st, 0), bj_st_get_i64(st, 1)))
            break;
        if ((int64_t)rows->n == l->limit) {
            if (l->limit > 0)
                snprintf(l->end.next, sizeof(l->end.next), "%lld.%lld",
                         (long long)at, (long long)id);
            break;
        }
        at = bj_st_get_i64(st, 0);
        id = bj_st_get_i64(st, 1);
        r = bj_jobs_row(c, &l->k, st, rows);
    }
    bj_query_free(&l->q);
    l->q = (struct bj_query){0};
    return r;
}

static void end_list(struct bj_call *c, const struct bj_jobs_query *l,
                     struct bj_rows *rows)
{
    char more[400];
    char count[64] = "null";
    if (l->end.total >= 0)
        snprintf(count, sizeof(count), "%lld", (long long)l->end.total);
    snprintf(more, sizeof(more),
             ",\"meta\":{\"rows\":%llu,\"limit\":%lld,\"next\":%s%s%s,"
             "\"partial\":%s,\"total\":%s,\"total_is_minimum\":%s,"
             "\"from_ms\":%lld,\"to_ms\":%lld}",
             (unsigned long long)rows->n, (long long)l->limit,
             *l->end.next ? "\"" : "", *l->end.next ? l->end.next : "null",
             *l->end.next ? "\"" : "", l->end.partial ? "true" : "false", count,
             l->end.at_least ? "true" : "false", (long long)l->from * 1000,
             (long long)l->to * 1000);
    bj_call_rows_end(c, rows, more);
}

static bool wants_total(const struct bj_jobs_query *l)
{
    return l->p.given[BJ_PARAM_TOTAL] && l->p.number[BJ_PARAM_TOTAL];
}

static int reply_list(struct bj_call *c, struct bj_jobs_query *l)
{
    struct bj_rows rows;
    int r = bj_params_read(c, JOBS_MASK, &l->p);
    if (r == 0)
        r = bj_jobs_query_read(c, l);
    if (r == 0)
        r = bj_jobs_query_search(c, l);
    if (r == 0 && wants_total(l) && !l->p.given[BJ_PARAM_SORT])
        r = count_all(c, l, TOTAL_MAX);
    if (r != 0)
        return r;
    bj_call_rows(c, &rows, l->k.key, l->k.n);
    r = write_rows(c, l, &rows);
    if (r != 0)
        return r;
    memcpy(c->next, l->end.next, BJ_CURSOR_BYTES);
    if (rows.shape == BJ_SHAPE_CSV && *l->end.next)
        bj_call_header(c, "X-Next-Cursor", c->next);
    end_list(c, l, &rows);
    return 0;
}

static int on_jobs(struct bj_call *c)
{
    struct bj_jobs_query *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(&c->err, -ENOMEM, "list");
    int r = reply_list(c, l);
    bj_jobs_query_free(l);
    return r;
}

int bj_jobs_list(struct bj_call *c, const struct bj_params *p,
                 const struct bj_output *out, struct bj_jobs_end *ret)
{
    struct bj_rows rows;
    struct bj_jobs_query *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(&c->err, -ENOMEM, "list");
    l->p = *p;
    int r = bj_jobs_query_read(c, l);
    if (r == 0)
        r = bj_jobs_query_search(c, l);
    if (r == 0) {
        bj_rows_begin(&rows, out, l->k.key, l->k.n);
        r = write_rows(c, l, &rows);
    }
    if (r == 0)
        bj_rows_end(&rows);
    if (r == 0 && wants_total(l) && l->end.total < 0) {
        bool all = !*l->end.next && !l->p.given[BJ_PARAM_CURSOR];
        if (all)
            l->end.total = (int64_t)rows.n;
        else
            r = count_all(c, l, PAGE_TOTAL_MAX);
    }
    *ret = l->end;
    bj_jobs_query_free(l);
    return r;
}

/* --- one job ----------------------------------------------------------------
 */

static int find_named(struct bj_call *c, struct bj_jobs_query *l,
                      struct bj_rows *rows)
{
    struct bj_st *st = NULL;
    bj_jobs_select(&l->q, &l->k);
    int r = bj_job_named(&l->q, c, &l->p, c->tail);
    l->limit = NAMED_MAX - 1;
    bj_jobs_query_page(l);
    if (r == 0)
        r = bj_query_open(&l->q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0)
        r = bj_jobs_row(c, &l->k, st, rows);
    return r;
}

static int reply_job(struct bj_call *c, struct bj_jobs_query *l)
{
    struct bj_rows rows;
    struct bj_buf found = {0};
    int r = bj_params_read(c, JOB_MASK, &l->p);
    if (r == 0)
        r = bj_jobs_pick(c, &l->p, true, &l->k);
    if (r != 0)
        return r;
    bool csv = bj_call_shape(c) == BJ_SHAPE_CSV;
    const struct bj_output out = {
        .to = &found, .shape = csv ? BJ_SHAPE_CSV : BJ_SHAPE_OBJECTS};
    bj_rows_begin(&rows, &out, l->k.key, l->k.n);
    r = find_named(c, l, &rows);
    bj_call_about(c, c->tail);
    bj_rows_end(&rows);
    if (r == 0 && rows.n == 0)
        r = bj_call_refuse(c, 404, BJ_JOB_UNKNOWN);
    if (r == 0 && csv && rows.n > 1)
        r = bj_call_refuse(c, 409, BJ_JOB_AMBIGUOUS);
    if (r == 0 && csv) {
        c->reply->type = "text/csv; charset=utf-8";
        bj_buf_put(&c->reply->body, found.p, found.len);
        c->reply->body.failed = c->reply->body.failed || found.failed;
    } else if (r == 0) {
        bool one = rows.n == 1;
        c->reply->status = one ? 200 : 409;
        c->reply->type = "application/json";
        bj_buf_str(&c->reply->body,
                   one ? "{\"status\":\"success\",\"data\":"
                       : "{\"status\":\"error\",\"errorType\":\"ambiguous\","
                         "\"error\":\"" BJ_JOB_AMBIGUOUS "\",\"data\":");
        bj_buf_put(&c->reply->body, found.p, found.len);
        c->reply->body.failed = c->reply->body.failed || found.failed;
        bj_call_close(c, "");
    }
    bj_buf_free(&found);
    return r;
}

static int on_job(struct bj_call *c)
{
    struct bj_jobs_query *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(&c->err, -ENOMEM, "job");
    int r = reply_job(c, l);
    bj_jobs_query_free(l);
    return r;
}

const struct bj_endpoint bj_endpoints_jobs[] = {
    {.path = "/api/v1/jobs",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_jobs,
     .help = "Jobs that overlap with a time, newest first.",
     .params = JOBS_MASK,
     .columns = bj_job_columns},
    {.path = "/api/v1/jobs/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_job,
     .help = "One job, by its key, SLUID, jobid or display_id.",
     .params = JOB_MASK,
     .columns = bj_job_columns},
    {.path = NULL},
};
