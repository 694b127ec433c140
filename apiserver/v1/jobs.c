#include "apiserver/v1/jobs.h"

#include "apiserver/frame/state.h"
#include "apiserver/job/job_name.h"
#include "apiserver/job/visible_job.h"
#include "apiserver/v1/table.h"
#include "base/array.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_MOST = 8, /* maximum number of matching job names that are searched
                          by number */
    /* When to end the count and the list, in thousandths of query.timeout. */
    UNTIL_COUNTED = 450,
    UNTIL_LISTED = 800
};

struct jobs_query {
    struct bj_params p;
    struct bj_picked k;
    struct bj_query q;
    int64_t from, to, limit;
    struct bj_filter_time time;
    struct bj_job_ranges months;
    bool exact; /* omit jobs that began before from */
    bool ascending;
    int64_t cursor_at, cursor_id;
    struct bj_filter_nodes nodes; /* of the parameter node */
    struct bj_buf pattern;        /* pattern of names; empty: all */
    bool named;                   /* name contains all matching names */
    int64_t name[NAMES_MOST];
    unsigned names;
    /* jobs of the parameter job, if that is a UUID */
    struct bj_job_found found;
    struct bj_jobs_end end;
};

/* --- columns and rows -------------------------------------------------------
 */

/* The columns of requests without "fields": of lists, and of one job. */
static struct bj_picked of_lists, of_job;

static void pick_defaults(void)
{
    bj_picked_table(&of_job, bj_job_columns);
    for (const struct bj_column *k = bj_job_columns; k->name; k++)
        if (k->in == BJ_IN_LISTS)
            bj_picked_add(&of_lists, k);
}

int bj_jobs_pick(struct bj_call *c, const struct bj_params *p, bool all,
                 struct bj_picked *ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool want[BJ_JOB_COLUMNS] = {false};
    if (!p->given[BJ_PARAM_FIELDS]) {
        pthread_once(&once, pick_defaults);
        *ret = all ? of_job : of_lists;
        return 0;
    }
    for (unsigned i = 0; i < p->values; i++) {
        struct bj_slice s = p->value[i].text;
        if (p->value[i].which != BJ_PARAM_FIELDS)
            continue;
        const struct bj_column *column = bj_job_column(s);
        if (!column)
            return bj_call_refuse(
                c, 400,
                "Unknown field '%.*s'; /api/v1/openapi.json lists them.",
                s.n < 60 ? (int)s.n : 60, s.p);
        want[column - bj_job_columns] = true;
    }
    ret->n = ret->values = 0;
    ret->derived = false;
    for (unsigned i = 0; bj_job_columns[i].name; i++)
        if (want[i])
            bj_picked_add(ret, &bj_job_columns[i]);
    return 0;
}

void bj_jobs_select_values(struct bj_query *q, const struct bj_picked *k)
{
    bj_query_sql(q,
                 k->values > 0 ? "SELECT j.at, j.id, " : "SELECT j.at, j.id");
    bj_table_select(q, k);
}

static void jobs_select(struct bj_query *q, const struct bj_picked *k)
{
    bj_jobs_select_values(q, k);
    bj_query_sql(q, " FROM " BJ_JOB_FROM);
    if (q->months)
        bj_job_ranges_put(q->months, "m.job", &q->b.sql);
    if (k->derived)
        bj_query_sql(q, BJ_JOB_FROM_USE);
    if (k->derived && q->months)
        bj_job_ranges_put(q->months, "u.job", &q->b.sql);
    bj_query_sql(q, " WHERE 1 = 1");
}

void bj_jobs_with_gpu(struct bj_query *q, const struct bj_params *p)
{
    if (p->given[BJ_PARAM_GPU])
        bj_query_sql(q, p->number[BJ_PARAM_GPU]
                            ? " AND +j.gpus > 0"
                            : " AND coalesce(j.gpus, 0) = 0");
}

int bj_jobs_refuse_partial(struct bj_call *c, const struct bj_jobs_end *end)
{
    return !end->partial
               ? 0
               : bj_call_refuse(c, 503,
                                "The search for jobs took too long; narrow "
                                "from and to, or name a user or an account.");
}

enum {
    LIMIT_DEFAULT = 100,
    FILTERS = 12, /* bound values of a branch, without those of the request */
    BRANCH_VALUES = 1500,
    UNTIL_NAMED = 200, /* in thousandths of query.timeout */
    FULL_TIME = 1000
};

static void query_free(struct jobs_query *l)
{
    bj_query_free(&l->q);
    bj_buf_free(&l->pattern);
    free(l->nodes.v);
    free(l);
}

/* --- the request -----------------------------------------------------------
 */

/* Parse "AT.ID", the form of meta.next. */
static bool read_cursor(struct bj_slice s, int64_t *at, int64_t *id)
{
    struct bj_slice first;
    uint64_t a, b;
    if (!bj_slice_field(&s, '.', &first) || bj_slice_u64(first, &a) < 0 ||
        bj_slice_u64(s, &b) < 0 || a > INT64_MAX || b > INT64_MAX)
        return false;
    *at = (int64_t)a;
    *id = (int64_t)b;
    return true;
}

static int read_pattern(struct bj_call *c, struct jobs_query *l);
static int read_nodes(struct bj_call *c, struct jobs_query *l);

static int query_read(struct bj_call *c, struct jobs_query *l)
{
    struct bj_params *p = &l->p;
    int64_t max = (int64_t)c->worker->conf->max_rows;
    int r = bj_jobs_pick(c, p, false, &l->k);
    l->end.total = -1;
    if (r == 0)
        r = bj_params_period(c, p, &l->from, &l->to);
    if (r != 0)
        return r;
    l->limit =
        p->given[BJ_PARAM_LIMIT] ? p->number[BJ_PARAM_LIMIT] : LIMIT_DEFAULT;
    if (l->limit > max)
        l->limit = max;
    struct bj_slice order = bj_params_text(p, BJ_PARAM_ORDER);
    l->ascending = bj_slice_eq(order, BJ_SLICE("asc"));
    if (order.n > 0 && !l->ascending && !bj_slice_eq(order, BJ_SLICE("desc")))
        return bj_call_refuse(c, 400,
                              "The parameter order must be asc or desc.");
    struct bj_slice cursor = bj_params_text(p, BJ_PARAM_CURSOR);
    if (cursor.n > 0 && !read_cursor(cursor, &l->cursor_at, &l->cursor_id))
        return bj_call_refuse(
            c, 400, "The parameter cursor must be a value of meta.next.");
    l->exact = p->given[BJ_PARAM_BEGAN] && p->number[BJ_PARAM_BEGAN];
    l->time = (struct bj_filter_time){
        l->exact ? l->from
                 : l->from - (int64_t)(c->worker->conf->longest_usec / 1000000),
        l->to, l->exact ? 0 : l->from};
    r = read_nodes(c, l);
    return r != 0 ? r : read_pattern(c, l);
}

/* Does the request select only states of jobs that have not ended? */
static bool only_open(const struct bj_params *p)
{
    struct bj_slice v[BJ_PARAM_VALUES];
    return bj_filter_only_open(bj_query_texts(p, BJ_PARAM_STATE, v));
}

static int add_states(struct bj_query *q, struct bj_call *c,
                      const struct bj_params *p)
{
    struct bj_slice v[BJ_PARAM_VALUES];
    int r =
        bj_filter_states(&q->b, bj_query_texts(p, BJ_PARAM_STATE, v), &c->err);
    return r == -EINVAL ? bj_call_refuse(c, 400, "U%s.", c->err.msg + 1) : r;
}

/* Find the nodes of the parameter node, which may be lists of Slurm. */
static int read_nodes(struct bj_call *c, struct jobs_query *l)
{
    struct bj_slice v[BJ_PARAM_VALUES];
    struct bj_st *st = NULL;
    if (!l->p.given[BJ_PARAM_NODE])
        return 0;
    int r = bj_reader_prepare(c->reader, BJ_FILTER_NODE_SQL, &st, &c->err);
    if (r == 0)
        r = bj_filter_nodes_find(st, bj_query_texts(&l->p, BJ_PARAM_NODE, v),
                                 &l->nodes, &c->err);
    if (r == -E2BIG)
        return bj_call_refuse(c, 400,
                              "The parameter node names more than %d nodes.",
                              BJ_FILTER_NODES);
    return r == -EINVAL
               ? bj_call_refuse(c, 400,
                                "The parameter node must be names of nodes "
                                "or lists of them, such as "
                                "n[101-104,107].")
               : r;
}

/* Make the pattern from the text, with the special characters of LIKE escaped.
 */
static int read_pattern(struct bj_call *c, struct jobs_query *l)
{
    struct bj_slice s = bj_params_text(&l->p, BJ_PARAM_NAME);
    if (s.n == 0)
        return 0;
    if (s.n > 200)
        return bj_call_refuse(c, 400, "The parameter name is too long.");
    bj_buf_str(&l->pattern, "%");
    for (size_t i = 0; i < s.n; i++) {
        if (strchr("%_\\", s.p[i]))
            bj_buf_str(&l->pattern, "\\");
        bj_buf_put(&l->pattern, &s.p[i], 1);
    }
    bj_buf_str(&l->pattern, "%");
    return l->pattern.failed ? bj_err_set(&c->err, -ENOMEM, "name") : 0;
}

static void add_like(struct bj_query *q, const struct jobs_query *l)
{
    bj_query_sql(q, " LIKE ");
    bj_query_text(q, (struct bj_slice){l->pattern.p, l->pattern.len});
    bj_query_sql(q, " ESCAPE '\\'");
}

static int search_names(struct bj_call *c, struct jobs_query *l)
{
    struct bj_query *q = &l->q;
    struct bj_st *st = NULL;
    struct bj_reader_row row;
    if (l->pattern.len == 0 || bj_query_branches(c, &l->p) == 1)
        return 0;
    bj_query_sql(q, "SELECT id FROM jobname WHERE text");
    add_like(q, l);
    bj_query_sql(q, " OR bj_late(id, id, ");
    bj_query_int(q, FULL_TIME);
    bj_query_sql(q, ") LIMIT ");
    bj_query_int(q, NAMES_MOST + 1);
    bj_reader_walk(c->reader, true, UNTIL_NAMED);
    int r = bj_query_open(q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        if (l->names < NAMES_MOST)
            l->name[l->names] = bj_st_get_i64(st, 0);
        l->names++;
    }
    l->named = l->names <= NAMES_MOST && !bj_reader_late(c->reader, &row);
    bj_query_free(q);
    *q = (struct bj_query){0};
    return r;
}

static int query_search(struct bj_call *c, struct jobs_query *l)
{
    int r = search_names(c, l);
    return r != 0 || !l->p.given[BJ_PARAM_JOB]
               ? r
               : bj_jobs_search(c, &l->p, &l->found);
}

static void add_name(struct bj_query *q, const struct jobs_query *l)
{
    if (l->pattern.len == 0)
        return;
    if (!l->named) {
        bj_query_sql(q, " AND (SELECT text FROM jobname WHERE id = j.name)");
        add_like(q, l);
        return;
    }
    for (unsigned i = 0; i < l->names; i++) {
        bj_query_sql(q, i ? "," : " AND +j.name IN (");
        bj_query_int(q, l->name[i]);
    }
    bj_query_sql(q, l->names ? ")" : " AND 1 = 0");
}

/* The filters that an index does not cover. */
static int add_filters(struct bj_call *c, struct jobs_query *l)
{
    struct bj_query *q = &l->q;
    const struct bj_params *p = &l->p;
    int r = bj_query_rest(q, c, p, "j");
    if (r == 0)
        r = add_states(q, c, p);
    if (r != 0)
        return r;
    add_name(q, l);
    if (p->given[BJ_PARAM_NODE])
        bj_filter_nodes(&q->b, &l->nodes);
    bj_jobs_with_gpu(q, p);
    if (p->given[BJ_PARAM_FINDING]) {
        bj_query_sql(q, " AND EXISTS (SELECT 1 FROM job_finding AS f WHERE "
                        "f.job = j.id AND f.rule");
        r = bj_query_rules(q, c, p);
        bj_query_sql(q, ")");
    }
    if (r != 0)
        return r;
    if (p->given[BJ_PARAM_RUNNING])
        bj_query_sql(q, p->number[BJ_PARAM_RUNNING]
                            ? " AND j.\"end\" IS NULL AND j.start IS NOT NULL"
                            : " AND (j.\"end\" IS NOT NULL OR j.start IS "
                              "NULL)");
    if (p->given[BJ_PARAM_JOB])
        bj_jobs_named(q, c, p, &l->found);
    else
        bj_filter_ended(&q->b, &l->time);
    return 0;
}

/* Is the list limited to a period? */
static bool is_limited(const struct jobs_query *l)
{
    return !l->p.given[BJ_PARAM_JOB] || l->exact;
}

static int query_months(struct bj_call *c, struct jobs_query *l)
{
    if (!is_limited(l))
        return 0;
    l->q.months = &l->months;
    return bj_filter_months(bj_reader_db(c->reader), &l->time, &l->months,
                            &c->err);
}

static int query_where(struct bj_call *c, struct jobs_query *l, unsigned part,
                       unsigned parts)
{
    struct bj_query *q = &l->q;
    const struct bj_params *p = &l->p;
    /* Read only open jobs, which are few, because most jobs have ended. */
    bool open = bj_query_wide(c, p) && !p->given[BJ_PARAM_JOB] &&
                ((p->given[BJ_PARAM_RUNNING] && p->number[BJ_PARAM_RUNNING]) ||
                 only_open(p));
    q->named = p->given[BJ_PARAM_JOB];
    q->time = p->given[BJ_PARAM_JOB] ? NULL : &l->time;
    int r = bj_query_lead(q, c, p, "j");
    if (open)
        bj_query_sql(q, " AND j.cluster IN (SELECT id FROM cluster)");
    if (r == 0 && is_limited(l))
        r = bj_query_between(q, c, open || q->named ? "+j.at" : "j.at",
                             &l->time);
    if (r != 0 || open || q->named || parts == 0)
        return r != 0 ? r : add_filters(c, l);
    if (l->named && l->names == 0)
        bj_query_sql(q, " AND 1 = 0");
    bj_query_sql(q, " AND ((1 = 1");
    r = add_filters(c, l);
    bj_query_sql(q, ") OR bj_late(j.at, j.id, ");
    bj_query_int(q, FULL_TIME * (part + 1) / parts);
    bj_query_sql(q, "))");
    return r;
}

static void query_page(struct jobs_query *l)
{
    struct bj_query *q = &l->q;
    if (bj_params_text(&l->p, BJ_PARAM_CURSOR).n > 0) {
        bj_query_sql(q, l->ascending ? " AND (j.at, j.id) > ("
                                     : " AND (j.at, j.id) < (");
        bj_query_int(q, l->cursor_at);
        bj_query_sql(q, ", ");
        bj_query_int(q, l->cursor_id);
        bj_query_sql(q, ")");
    }
    /* Few jobs have the same name, so do not walk through all jobs. */
    bj_filter_order(&q->b, l->ascending, q->named, l->limit + 1);
}

/* For several users or accounts, query the first jobs of each and merge them,
 * because an index has the jobs of each user in order, but not those of all. */
static int add_branches(struct bj_call *c, struct jobs_query *l,
                        unsigned branches)
{
    struct bj_query *q = &l->q;
    int r = 0;
    if (q->months)
        bj_job_ranges_put(q->months, "j.id", &q->b.sql);
    bj_query_sql(q, " AND j.id IN (");
    for (unsigned i = 0; i < branches && r == 0; i++) {
        bj_query_sql(q, i ? " UNION " : "");
        bj_query_sql(q, "SELECT id FROM (SELECT j.id AS id FROM job AS j "
                        "WHERE 1 = 1");
        q->branch = &i;
        r = query_where(c, l, i, branches);
        q->branch = NULL;
        query_page(l);
        bj_query_sql(q, ") AS below");
    }
    bj_query_sql(q, ")");
    return r;
}

/* Every branch repeats all filters, so many branches cost more than they save.
 */
static bool wants_branches(const struct jobs_query *l, unsigned branches)
{
    unsigned names = l->named ? l->names : 0;
    return branches > 1 &&
           branches * (l->p.values + names + FILTERS) <= BRANCH_VALUES;
}

static int query_open(struct bj_call *c, struct jobs_query *l,
                      struct bj_st **ret)
{
    unsigned branches = bj_query_branches(c, &l->p);
    int r = query_months(c, l);
    if (r != 0)
        return r;
    jobs_select(&l->q, &l->k);
    r = wants_branches(l, branches) ? add_branches(c, l, branches)
                                    : query_where(c, l, 0, branches <= 1);
    query_page(l);
    bj_reader_walk(c->reader, l->ascending, UNTIL_LISTED);
    return r != 0 ? r : bj_query_open(&l->q, c->reader, ret, &c->err);
}

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

static int jobs_pick(struct bj_call *c, const struct bj_params *p,
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

static bool jobs_add(struct items *all, struct item v)
{
    if (!BJ_GROW(all->item, all->n + 1, all->room))
        return false;
    all->item[all->n++] = v;
    return true;
}

/* Read the newest jobs. */
static int read_items(struct bj_call *c, struct jobs_query *l,
                      const struct bj_picked *k, struct items *all)
{
    struct bj_st *st = NULL;
    struct bj_reader_row row;
    int r = query_months(c, l);
    if (r != 0)
        return r;
    jobs_select(&l->q, k);
    r = query_where(c, l, 0, 1);
    bj_filter_order(&l->q.b, false, l->q.named, SORTED_MAX + 1);
    bj_reader_walk(c->reader, false, UNTIL_COUNTED);
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
        if (!jobs_add(all, v))
            r = bj_err_set(&c->err, -ENOMEM, "sort");
    }
    bj_query_free(&l->q);
    l->q = (struct bj_query){0};
    l->end.at = all->n > 0 ? all->item[all->n - 1].at : 0;
    return r;
}

/* Order: unknown values last; equal values by start time, the newest first. */
static int jobs_compare(const struct item *a, const struct item *b,
                        bool ascending)
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
    return jobs_compare(a, b, false);
}

static int rising(const void *a, const void *b)
{
    return jobs_compare(a, b, true);
}

/* --- the page --------------------------------------------------------------
 */

static int write_page(struct bj_call *c, struct jobs_query *l,
                      const struct item *item, size_t n, struct bj_rows *rows)
{
    struct bj_st *st = NULL;
    jobs_select(&l->q, &l->k);
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
        r = bj_table_row(c, &l->k, st, BJ_JOBS_FIRST, rows);
    bj_query_free(&l->q);
    return r;
}

/* Write the page at the cursor, which is a number of rows here.  If there are
 * too many jobs, only the newest are sorted, and l->end.partial is set.  0, a
 * refusal, or an error of the store. */
static int jobs_sort(struct bj_call *c, struct jobs_query *l,
                     struct bj_rows *rows)
{
    struct bj_picked one;
    struct items all = {.n = 0};
    size_t first = l->cursor_at > 0 ? (size_t)l->cursor_at : 0;
    size_t limit = l->limit < PAGE_MAX ? (size_t)l->limit : PAGE_MAX;
    int r = jobs_pick(c, &l->p, &one);
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
static bool is_past(struct bj_call *c, struct jobs_query *l, int64_t at,
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
static int count_all(struct bj_call *c, struct jobs_query *l, int64_t most)
{
    struct bj_st *st;
    struct bj_reader_row row;
    l->end.total = 0;
    bj_query_sql(&l->q, "SELECT 1 FROM job AS j WHERE 1 = 1");
    int r = query_where(c, l, 0, 1);
    bj_query_sql(&l->q, " LIMIT ");
    bj_query_int(&l->q, most + 1);
    bj_reader_walk(c->reader, l->ascending, UNTIL_COUNTED);
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
static int jobs_write_rows(struct bj_call *c, struct jobs_query *l,
                           struct bj_rows *rows)
{
    struct bj_st *st = NULL;
    int64_t at = 0, id = 0;
    if (l->p.given[BJ_PARAM_SORT])
        return jobs_sort(c, l, rows);
    int r = query_open(c, l, &st);
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
        r = bj_table_row(c, &l->k, st, BJ_JOBS_FIRST, rows);
    }
    bj_query_free(&l->q);
    l->q = (struct bj_query){0};
    return r;
}

static void end_list(struct bj_call *c, const struct jobs_query *l,
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

static bool wants_total(const struct jobs_query *l)
{
    return l->p.given[BJ_PARAM_TOTAL] && l->p.number[BJ_PARAM_TOTAL];
}

static int reply_list(struct bj_call *c, struct jobs_query *l)
{
    struct bj_rows rows;
    int r = bj_params_read(c, JOBS_MASK, &l->p);
    if (r == 0)
        r = query_read(c, l);
    if (r == 0)
        r = query_search(c, l);
    if (r == 0 && wants_total(l) && !l->p.given[BJ_PARAM_SORT])
        r = count_all(c, l, TOTAL_MAX);
    if (r != 0)
        return r;
    bj_call_rows(c, &rows, l->k.key, l->k.n);
    r = jobs_write_rows(c, l, &rows);
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
    struct jobs_query *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(&c->err, -ENOMEM, "list");
    int r = reply_list(c, l);
    query_free(l);
    return r;
}

int bj_jobs_list(struct bj_call *c, const struct bj_params *p,
                 const struct bj_output *out, struct bj_jobs_end *ret)
{
    struct bj_rows rows;
    struct jobs_query *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(&c->err, -ENOMEM, "list");
    l->p = *p;
    int r = query_read(c, l);
    if (r == 0)
        r = query_search(c, l);
    if (r == 0) {
        bj_rows_begin(&rows, out, l->k.key, l->k.n);
        r = jobs_write_rows(c, l, &rows);
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
    query_free(l);
    return r;
}

/* --- one job ----------------------------------------------------------------
 */

static int find_named(struct bj_call *c, struct jobs_query *l,
                      struct bj_rows *rows)
{
    struct bj_st *st = NULL;
    jobs_select(&l->q, &l->k);
    int r = bj_job_named(&l->q, c, &l->p, c->tail);
    l->limit = NAMED_MAX - 1;
    query_page(l);
    if (r == 0)
        r = bj_query_open(&l->q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0)
        r = bj_table_row(c, &l->k, st, BJ_JOBS_FIRST, rows);
    return r;
}

static int reply_job(struct bj_call *c, struct jobs_query *l)
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
    struct jobs_query *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(&c->err, -ENOMEM, "job");
    int r = reply_job(c, l);
    query_free(l);
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
