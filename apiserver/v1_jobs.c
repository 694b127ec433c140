/* /api/v1/jobs: lists of jobs, and one. */
#include "apiserver/jobs.h"
#include "apiserver/server.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    WEEK = 7 * 86400,
    LIMIT_DEFAULT = 100,
    TOTAL_MAX = 100000, /* a total is counted no further */
    NAMED_MAX = 100,    /* jobs that one name may mean */
    FILTERS = 8, /* values of a branch besides those that are asked for */
    BRANCH_VALUES = 1000
};

enum {
    JOBS_MASK = BJ_JOBS_MASK | BJ_BIT(BJ_PARAM_CURSOR) | BJ_BIT(BJ_PARAM_TOTAL),
    JOB_MASK = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_FIELDS) |
               BJ_BIT(BJ_PARAM_MINE)
};

struct list {
    struct bj_params p;
    struct bj_picked k;
    struct bj_query q;
    int64_t from, to, limit;
    bool ascending;
    int64_t cursor_at, cursor_id;
};

/* --- what is asked ---------------------------------------------------------
 */

/* "AT.ID", as meta.next gives it. */
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

static int read_list(struct bj_call *c, struct list *l)
{
    struct bj_params *p = &l->p;
    int64_t max = (int64_t)c->api->conf->max_rows;
    int r = bj_jobs_pick(c, p, false, &l->k);
    if (r != 0)
        return r;
    l->to = p->given[BJ_PARAM_TO] ? p->number[BJ_PARAM_TO] : c->now_sec;
    l->from = p->given[BJ_PARAM_FROM] ? p->number[BJ_PARAM_FROM] : l->to - WEEK;
    if (l->from > l->to)
        return bj_call_refuse(c, 400, "The time ends before it begins.");
    l->limit =
        p->given[BJ_PARAM_LIMIT] ? p->number[BJ_PARAM_LIMIT] : LIMIT_DEFAULT;
    if (l->limit > max)
        l->limit = max;
    struct bj_slice order = bj_params_text(p, BJ_PARAM_ORDER);
    l->ascending = bj_slice_eq(order, BJ_SLICE("asc"));
    if (order.n > 0 && !l->ascending && !bj_slice_eq(order, BJ_SLICE("desc")))
        return bj_call_refuse(c, 400, "The order is asc or desc.");
    struct bj_slice cursor = bj_params_text(p, BJ_PARAM_CURSOR);
    if (cursor.n > 0 && !read_cursor(cursor, &l->cursor_at, &l->cursor_id))
        return bj_call_refuse(c, 400, "That is no cursor of this list.");
    return 0;
}

static int add_states(struct bj_query *q, struct bj_call *c,
                      const struct bj_params *p)
{
    if (!p->given[BJ_PARAM_STATE])
        return 0;
    bj_query_sql(q, " AND (0");
    for (unsigned i = 0; i < p->values; i++) {
        struct bj_slice s = p->value[i].text;
        int64_t id;
        if (p->value[i].which != BJ_PARAM_STATE)
            continue;
        if (bj_slice_eq(s, BJ_SLICE("all"))) {
            bj_query_sql(q, " OR 1");
            continue;
        }
        if (bj_slice_eq(s, BJ_SLICE("ended"))) {
            bj_query_sql(q, " OR j.\"end\" IS NOT NULL");
            continue;
        }
        int r = bj_words_find(c->reader, BJ_WORD_STATE, s, &id, &c->err);
        if (r < 0)
            return r;
        if (id < 0)
            return bj_call_refuse(c, 400, "There is no state '%.*s'.",
                                  s.n < 60 ? (int)s.n : 60, s.p);
        bj_query_sql(q, " OR +j.state = ");
        bj_query_int(q, id);
    }
    bj_query_sql(q, ")");
    return 0;
}

static void add_nodes(struct bj_query *q, const struct bj_params *p)
{
    if (!p->given[BJ_PARAM_NODE])
        return;
    bj_query_sql(q, " AND +j.hosts IN (SELECT hh.hosts FROM host AS h JOIN "
                    "hosts_host AS hh ON hh.host = h.id WHERE h.name IN (");
    bool first = true;
    for (unsigned i = 0; i < p->values; i++) {
        if (p->value[i].which != BJ_PARAM_NODE)
            continue;
        bj_query_sql(q, first ? "" : ",");
        bj_query_text(q, p->value[i].text);
        first = false;
    }
    bj_query_sql(q, "))");
}

/* The text with LIKE's own characters made plain; to be freed. */
static int add_name(struct bj_query *q, struct bj_call *c, struct bj_slice s,
                    struct bj_buf *pattern)
{
    if (s.n == 0)
        return 0;
    if (s.n > 200)
        return bj_call_refuse(c, 400, "The name is too long.");
    bool made = pattern->len > 0;
    if (!made)
        bj_buf_str(pattern, "%");
    for (size_t i = 0; i < s.n && !made; i++) {
        if (strchr("%_\\", s.p[i]))
            bj_buf_str(pattern, "\\");
        bj_buf_put(pattern, &s.p[i], 1);
    }
    if (!made)
        bj_buf_str(pattern, "%");
    if (pattern->failed)
        return bj_err_set(&c->err, -ENOMEM, "name");
    bj_query_sql(q, " AND (SELECT text FROM jobname WHERE id = j.name) LIKE ");
    bj_query_text(q, (struct bj_slice){pattern->p, pattern->len});
    bj_query_sql(q, " ESCAPE '\\'");
    return 0;
}

/* All conditions but the cursor's. */
static int add_filters(struct bj_call *c, struct list *l,
                       struct bj_buf *pattern)
{
    struct bj_query *q = &l->q;
    const struct bj_params *p = &l->p;
    struct bj_slice name = bj_params_text(p, BJ_PARAM_JOB);
    /* There are few that run, among all that ever did. */
    bool open = bj_query_wide(c, p) && p->given[BJ_PARAM_RUNNING] &&
                p->number[BJ_PARAM_RUNNING];
    q->named = p->given[BJ_PARAM_JOB] && bj_jobs_indexed(name);
    int r = bj_query_scope(q, c, p, "j");
    if (r == 0)
        r = add_states(q, c, p);
    if (r == 0)
        r = add_name(q, c, bj_params_text(p, BJ_PARAM_NAME), pattern);
    if (r != 0)
        return r;
    add_nodes(q, p);
    bj_jobs_with_gpu(q, p);
    if (p->given[BJ_PARAM_RUNNING])
        bj_query_sql(q, p->number[BJ_PARAM_RUNNING]
                            ? " AND j.\"end\" IS NULL AND j.start IS NOT NULL"
                            : " AND (j.\"end\" IS NOT NULL OR j.start IS "
                              "NULL)");
    if (p->given[BJ_PARAM_JOB])
        return bj_jobs_named(q, c, p, name);
    bj_query_sql(q, open ? " AND j.cluster IN (SELECT id FROM cluster)"
                           " AND +j.at BETWEEN "
                         : " AND j.at BETWEEN ");
    bj_query_int(q, l->from - (int64_t)(c->api->conf->longest_usec / 1000000));
    bj_query_sql(q, " AND ");
    bj_query_int(q, l->to);
    bj_query_sql(q, " AND (j.\"end\" IS NULL OR j.\"end\" >= ");
    bj_query_int(q, l->from);
    bj_query_sql(q, ")");
    return 0;
}

/* --- answers ---------------------------------------------------------------
 */

static int count_all(struct bj_call *c, struct list *l, int64_t *ret)
{
    struct bj_buf pattern = {0};
    struct sqlite3_stmt *st;
    bj_query_sql(&l->q, "SELECT count(*) FROM (SELECT 1 FROM job AS j WHERE 1");
    int r = add_filters(c, l, &pattern);
    bj_query_sql(&l->q, " LIMIT ");
    bj_query_int(&l->q, TOTAL_MAX + 1);
    bj_query_sql(&l->q, ")");
    if (r == 0)
        r = bj_query_open(&l->q, c->reader, &st, &c->err);
    if (r == 0 && (r = bj_sql_row(st, &c->err)) > 0) {
        *ret = bj_sql_get(st, 0);
        r = 0;
    }
    bj_query_free(&l->q);
    l->q = (struct bj_query){0};
    bj_buf_free(&pattern);
    return r;
}

/* Where to go on, the order, and how many. */
static void add_page(struct list *l)
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
    /* Few have one name: the order of all is no way to them. */
    bj_query_sql(q, q->named ? " ORDER BY +j.at" : " ORDER BY j.at");
    bj_query_sql(q, l->ascending ? ", j.id LIMIT " : " DESC, j.id DESC LIMIT ");
    bj_query_int(q, l->limit + 1);
}

/* A coordinator's page is among the first of his own jobs and the first of each
 * account: an index gives each of these in order, but not all of them. */
static int add_branches(struct bj_call *c, struct list *l,
                        struct bj_buf *pattern)
{
    struct bj_query *q = &l->q;
    int r = 0;
    bj_query_sql(q, " AND j.id IN (");
    for (unsigned i = 0; i <= c->who.accounts && r == 0; i++) {
        bj_query_sql(q, i ? " UNION " : "");
        bj_query_sql(q, "SELECT id FROM (SELECT j.id AS id FROM job AS j "
                        "WHERE 1");
        q->branch = &i;
        r = add_filters(c, l, pattern);
        q->branch = NULL;
        add_page(l);
        bj_query_sql(q, ")");
    }
    bj_query_sql(q, ")");
    return r;
}

/* Each of them repeats all filters: with many the query costs more than it
 * saves. */
static bool wants_branches(const struct bj_call *c, const struct list *l)
{
    const struct bj_params *p = &l->p;
    bool mine = p->given[BJ_PARAM_MINE] && p->number[BJ_PARAM_MINE];
    return c->who.accounts > 0 && !c->who.admin && !mine &&
           (c->who.accounts + 1) * (p->values + FILTERS) <= BRANCH_VALUES;
}

/* Rows, and whether there are more; *next gets where they begin. */
static int write_rows(struct bj_call *c, struct list *l, struct bj_rows *rows,
                      char *next, size_t cap)
{
    struct bj_buf pattern = {0};
    struct sqlite3_stmt *st = NULL;
    int64_t at = 0, id = 0;
    struct bj_query *q = &l->q;
    bj_jobs_select(q, &l->k);
    int r = wants_branches(c, l) ? add_branches(c, l, &pattern)
                                 : add_filters(c, l, &pattern);
    add_page(l);
    if (r == 0)
        r = bj_query_open(q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_sql_row(st, &c->err)) > 0) {
        r = 0;
        if ((int64_t)rows->n == l->limit) {
            if (l->limit > 0)
                snprintf(next, cap, "%lld.%lld", (long long)at, (long long)id);
            break;
        }
        at = bj_sql_get(st, 0);
        id = bj_sql_get(st, 1);
        r = bj_jobs_row(c, &l->k, st, rows);
    }
    bj_query_free(q);
    bj_buf_free(&pattern);
    return r;
}

static void close_list(struct bj_call *c, const struct list *l,
                       const struct bj_rows *rows, const char *next,
                       int64_t total)
{
    char more[400];
    char count[64] = "null";
    if (total >= 0)
        snprintf(count, sizeof(count), "%lld",
                 (long long)(total > TOTAL_MAX ? TOTAL_MAX : total));
    snprintf(more, sizeof(more),
             ",\"meta\":{\"rows\":%llu,\"limit\":%lld,\"next\":%s%s%s,"
             "\"total\":%s,\"total_is_minimum\":%s,\"from_ms\":%lld,"
             "\"to_ms\":%lld}",
             (unsigned long long)rows->n, (long long)l->limit,
             *next ? "\"" : "", *next ? next : "null", *next ? "\"" : "", count,
             total > TOTAL_MAX ? "true" : "false", (long long)l->from * 1000,
             (long long)l->to * 1000);
    bj_call_close(c, more);
}

static int answer_list(struct bj_call *c, struct list *l)
{
    struct bj_rows rows;
    bool csv = bj_call_shape(c) == BJ_SHAPE_CSV;
    char *next = c->api->next;
    int64_t total = -1;
    next[0] = '\0';
    int r = bj_params_read(c, JOBS_MASK, &l->p);
    if (r == 0)
        r = read_list(c, l);
    if (r == 0 && l->p.given[BJ_PARAM_TOTAL] && l->p.number[BJ_PARAM_TOTAL])
        r = count_all(c, l, &total);
    if (r != 0)
        return r;
    if (csv)
        c->reply->type = "text/csv; charset=utf-8";
    else
        bj_call_open(c);
    bj_rows_begin(&rows, &c->reply->body, csv ? BJ_SHAPE_CSV : BJ_SHAPE_OBJECTS,
                  l->k.key, l->k.n);
    r = write_rows(c, l, &rows, next, sizeof(c->api->next));
    if (r != 0)
        return r;
    bj_rows_end(&rows);
    if (csv && *next)
        bj_call_header(c, "X-Next-Cursor", next);
    if (!csv)
        close_list(c, l, &rows, next, total);
    return 0;
}

static int on_jobs(struct bj_call *c)
{
    struct list *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(&c->err, -ENOMEM, "list");
    int r = answer_list(c, l);
    bj_query_free(&l->q);
    free(l);
    return r;
}

int bj_jobs_list(struct bj_call *c, const struct bj_params *p,
                 enum bj_shape shape, struct bj_buf *to,
                 char next[static BJ_CURSOR_BYTES])
{
    struct bj_rows rows;
    next[0] = '\0';
    struct list *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(&c->err, -ENOMEM, "list");
    l->p = *p;
    int r = read_list(c, l);
    if (r == 0) {
        bj_rows_begin(&rows, to, shape, l->k.key, l->k.n);
        r = write_rows(c, l, &rows, next, BJ_CURSOR_BYTES);
    }
    if (r == 0)
        bj_rows_end(&rows);
    bj_query_free(&l->q);
    free(l);
    return r;
}

/* --- one -------------------------------------------------------------------
 */

static int find_named(struct bj_call *c, struct list *l, struct bj_rows *rows)
{
    struct sqlite3_stmt *st = NULL;
    bj_jobs_select(&l->q, &l->k);
    l->q.named = bj_jobs_indexed(c->tail);
    int r = bj_query_scope(&l->q, c, &l->p, "j");
    if (r == 0)
        r = bj_jobs_named(&l->q, c, &l->p, c->tail);
    l->limit = NAMED_MAX - 1;
    add_page(l);
    if (r == 0)
        r = bj_query_open(&l->q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_sql_row(st, &c->err)) > 0)
        r = bj_jobs_row(c, &l->k, st, rows);
    return r;
}

#define SEVERAL "Several jobs have had this id; ask for one by its key."

static int answer_one(struct bj_call *c, struct list *l)
{
    struct bj_rows rows;
    struct bj_buf found = {0};
    int r = bj_params_read(c, JOB_MASK, &l->p);
    if (r == 0)
        r = bj_jobs_pick(c, &l->p, true, &l->k);
    if (r != 0)
        return r;
    bool csv = bj_call_shape(c) == BJ_SHAPE_CSV;
    bj_rows_begin(&rows, &found, csv ? BJ_SHAPE_CSV : BJ_SHAPE_OBJECTS,
                  l->k.key, l->k.n);
    r = find_named(c, l, &rows);
    bj_call_about(c, c->tail);
    bj_rows_end(&rows);
    if (r == 0 && rows.n == 0)
        r = bj_call_refuse(c, 404,
                           "There is no such job, or it is not yours to see.");
    if (r == 0 && csv && rows.n > 1)
        r = bj_call_refuse(c, 409, SEVERAL);
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
                         "\"error\":\"" SEVERAL "\",\"data\":");
        bj_buf_put(&c->reply->body, found.p, found.len);
        c->reply->body.failed = c->reply->body.failed || found.failed;
        bj_call_close(c, "");
    }
    bj_buf_free(&found);
    return r;
}

static int on_job(struct bj_call *c)
{
    struct list *l = calloc(1, sizeof(*l));
    if (!l)
        return bj_err_set(&c->err, -ENOMEM, "job");
    int r = answer_one(c, l);
    bj_query_free(&l->q);
    free(l);
    return r;
}

const struct bj_endpoint bj_endpoints_jobs[] = {
    {.path = "/api/v1/jobs",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_jobs,
     .help = "Jobs that overlap with a time, newest first.",
     .params = JOBS_MASK,
     .jobs = true},
    {.path = "/api/v1/jobs/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_job,
     .help = "One job, by its key, SLUID, id or array id.",
     .params = JOB_MASK,
     .jobs = true},
    {.path = NULL},
};
