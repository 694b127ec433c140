#include "apiserver/v1/jobs_query.h"

#include "apiserver/frame/state.h"

#include <stdlib.h>
#include <string.h>

enum {
    WEEK = 7 * 86400,
    LIMIT_DEFAULT = 100,
    FILTERS = 12, /* bound values of a branch, without those of the request */
    BRANCH_VALUES = 1500,
    UNTIL_NAMED = 200, /* in thousandths of query.timeout */
    FULL_TIME = 1000
};

void bj_jobs_query_free(struct bj_jobs_query *l)
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

static int read_pattern(struct bj_call *c, struct bj_jobs_query *l);
static int read_nodes(struct bj_call *c, struct bj_jobs_query *l);

int bj_jobs_query_read(struct bj_call *c, struct bj_jobs_query *l)
{
    struct bj_params *p = &l->p;
    int64_t max = (int64_t)c->worker->conf->max_rows;
    int r = bj_jobs_pick(c, p, false, &l->k);
    l->end.total = -1;
    if (r != 0)
        return r;
    l->to = p->given[BJ_PARAM_TO] ? p->number[BJ_PARAM_TO] : c->now_sec;
    l->from = p->given[BJ_PARAM_FROM] ? p->number[BJ_PARAM_FROM] : l->to - WEEK;
    if (l->from > l->to)
        return bj_call_refuse(c, 400,
                              "The parameter from must not be later than to.");
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
static int read_nodes(struct bj_call *c, struct bj_jobs_query *l)
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
static int read_pattern(struct bj_call *c, struct bj_jobs_query *l)
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

static void add_like(struct bj_query *q, const struct bj_jobs_query *l)
{
    bj_query_sql(q, " LIKE ");
    bj_query_text(q, (struct bj_slice){l->pattern.p, l->pattern.len});
    bj_query_sql(q, " ESCAPE '\\'");
}

static int search_names(struct bj_call *c, struct bj_jobs_query *l)
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
    bj_query_int(q, BJ_JOBS_NAMES + 1);
    bj_reader_walk(c->reader, true, UNTIL_NAMED);
    int r = bj_query_open(q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        if (l->names < BJ_JOBS_NAMES)
            l->name[l->names] = bj_st_get_i64(st, 0);
        l->names++;
    }
    l->named = l->names <= BJ_JOBS_NAMES && !bj_reader_late(c->reader, &row);
    bj_query_free(q);
    *q = (struct bj_query){0};
    return r;
}

int bj_jobs_query_search(struct bj_call *c, struct bj_jobs_query *l)
{
    int r = search_names(c, l);
    return r != 0 || !l->p.given[BJ_PARAM_JOB]
               ? r
               : bj_jobs_search(c, &l->p, &l->found);
}

static void add_name(struct bj_query *q, const struct bj_jobs_query *l)
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
static int add_filters(struct bj_call *c, struct bj_jobs_query *l)
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
static bool is_limited(const struct bj_jobs_query *l)
{
    return !l->p.given[BJ_PARAM_JOB] || l->exact;
}

int bj_jobs_query_months(struct bj_call *c, struct bj_jobs_query *l)
{
    if (!is_limited(l))
        return 0;
    l->q.months = &l->months;
    return bj_filter_months(bj_reader_db(c->reader), &l->time, &l->months,
                            &c->err);
}

int bj_jobs_query_where(struct bj_call *c, struct bj_jobs_query *l,
                        unsigned part, unsigned parts)
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

void bj_jobs_query_page(struct bj_jobs_query *l)
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
static int add_branches(struct bj_call *c, struct bj_jobs_query *l,
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
        r = bj_jobs_query_where(c, l, i, branches);
        q->branch = NULL;
        bj_jobs_query_page(l);
        bj_query_sql(q, ") AS below");
    }
    bj_query_sql(q, ")");
    return r;
}

/* Every branch repeats all filters, so many branches cost more than they save.
 */
static bool wants_branches(const struct bj_jobs_query *l, unsigned branches)
{
    unsigned names = l->named ? l->names : 0;
    return branches > 1 &&
           branches * (l->p.values + names + FILTERS) <= BRANCH_VALUES;
}

int bj_jobs_query_open(struct bj_call *c, struct bj_jobs_query *l,
                       struct bj_st **ret)
{
    unsigned branches = bj_query_branches(c, &l->p);
    int r = bj_jobs_query_months(c, l);
    if (r != 0)
        return r;
    bj_jobs_select(&l->q, &l->k);
    r = wants_branches(l, branches)
            ? add_branches(c, l, branches)
            : bj_jobs_query_where(c, l, 0, branches <= 1);
    bj_jobs_query_page(l);
    bj_reader_walk(c->reader, l->ascending, BJ_JOBS_UNTIL_LISTED);
    return r != 0 ? r : bj_query_open(&l->q, c->reader, ret, &c->err);
}
