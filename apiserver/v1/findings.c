/* /api/v1/findings: findings of many jobs. */
#include "apiserver/v1/findings.h"

#include "apiserver/frame/state.h"
#include "apiserver/v1/jobs.h"
#include "apiserver/v1/table.h"
#include "base/array.h"
#include "statsdb/job/wasted.h"
#include "statsdb/tables/fragment.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LIMIT_DEFAULT = 100,
    /* Maximum number of findings that are read and sorted; if there are more,
       jobs are walked newest first, because many of them have findings. */
    FEW = 50000,
    PAGE_MAX = 500,     /* rows of a page that is sorted by cost */
    UNTIL_COUNTED = 300 /* in thousandths of the request's time */
};

struct span {
    int64_t from, to;
    uint64_t limit;
    int64_t at, id; /* job at which the page begins ... */
    uint64_t shown; /* ... and number of its findings on the previous page */
    bool continued;
    bool by_cost;   /* sort=cost: */
    uint64_t first; /* number of rows on the pages before */
};

/* Parse "AT.ID.SHOWN", the form of meta.next. */
static bool read_cursor(struct bj_slice s, struct span *ret)
{
    struct bj_slice at, id;
    uint64_t a, b;
    if (!bj_slice_field(&s, '.', &at) || !bj_slice_field(&s, '.', &id) ||
        bj_slice_u64(at, &a) < 0 || bj_slice_u64(id, &b) < 0 ||
        bj_slice_u64(s, &ret->shown) < 0 || a > INT64_MAX || b > INT64_MAX)
        return false;
    ret->at = (int64_t)a;
    ret->id = (int64_t)b;
    ret->continued = true;
    return true;
}

static int read_order(struct bj_call *c, const struct bj_params *p,
                      struct span *ret)
{
    const struct bj_slice sort = bj_params_text(p, BJ_PARAM_SORT);
    ret->by_cost = bj_slice_eq(sort, BJ_SLICE("cost"));
    return ret->by_cost || !p->given[BJ_PARAM_SORT] ||
                   bj_slice_eq(sort, BJ_SLICE("start"))
               ? 0
               : bj_call_refuse(c, 400,
                                "The parameter sort must be cost or start.");
}

static int read_span(struct bj_call *c, const struct bj_params *p,
                     struct span *ret)
{
    struct bj_slice cursor = bj_params_text(p, BJ_PARAM_CURSOR);
    ret->limit = p->given[BJ_PARAM_LIMIT] ? (uint64_t)p->number[BJ_PARAM_LIMIT]
                                          : LIMIT_DEFAULT;
    if (ret->limit > c->worker->conf->max_rows)
        ret->limit = c->worker->conf->max_rows;
    if (ret->by_cost && ret->limit > PAGE_MAX)
        ret->limit = PAGE_MAX;
    if (cursor.n > 0 && !(ret->by_cost ? bj_slice_u64(cursor, &ret->first) == 0
                                       : read_cursor(cursor, ret)))
        return bj_call_refuse(
            c, 400, "The parameter cursor must be a value of meta.next.");
    return bj_params_period(c, p, &ret->from, &ret->to);
}

#define WORD(table, column)                                                    \
    "(SELECT name FROM " table " WHERE id = j." column ")"

#define RUNNING(column)                                                        \
    "(SELECT " column " FROM running_finding WHERE job = f.job AND rule ="     \
    " r.name)"

const struct bj_column bj_finding_columns[] = {
    BJ_COLUMN(
        "key", TEXT,
        WORD("cluster", "cluster") " || ':' || j.jobid || ':' || j.submit",
        "Key of the job."),
    BJ_COLUMN("jobid", TEXT, "CAST(j.jobid AS TEXT)", "Its jobid."),
    BJ_COLUMN("display_id", TEXT, "j.display_id",
              "Its jobid as users know it, such as 2000_7 of an array.",
              .label = "Job", .form = BJ_SHOW_JOB),
    BJ_COLUMN("cluster", TEXT, WORD("cluster", "cluster"), "Its cluster."),
    BJ_COLUMN("user", TEXT, WORD("user", "user"), "Its owner.", .label = "User",
              .form = BJ_SHOW_USER),
    BJ_COLUMN("account", TEXT, WORD("account", "account"), "Its account.",
              .label = "Account", .form = BJ_SHOW_ACCOUNT),
    BJ_COLUMN("partition", TEXT, WORD("partition", "partition"),
              "Its partition or queue.", .label = "Partition",
              .form = BJ_SHOW_PARTITION),
    BJ_COLUMN("name", TEXT, "(SELECT text FROM jobname WHERE id = j.name)",
              "Its name."),
    BJ_COLUMN("start", TIME, "j.start", "Started."),
    BJ_COLUMN("start_ms", TIME_MS, "j.start", "The same time in milliseconds."),
    BJ_COLUMN("end", TIME, "j.\"end\"", "Ended.", .label = "Ended"),
    BJ_COLUMN("end_ms", TIME_MS, "j.\"end\"", "The same time in milliseconds."),
    BJ_COLUMN("from", TIME_MS, "coalesce(j.start, nullif(j.submit, 0))",
              "Start of a link: start_ms, else the time of submission."),
    BJ_COLUMN("to", LINK_END, "j.\"end\"", "End of a link: end_ms, or now."),
    BJ_COLUMN("cpus", INT, "j.cpus", "CPUs allocated.", .label = "CPUs"),
    BJ_COLUMN("gpus", INT, "j.gpus", "GPUs allocated.", .label = "GPUs"),
    BJ_COLUMN("finding", TEXT, "r.name", "Name of the rule.",
              .label = "Finding", .form = BJ_SHOW_FINDINGS),
    BJ_COLUMN("severity", TEXT, "r.severity", "Severity.", .label = "Severity",
              .form = BJ_SHOW_STATE),
    BJ_COLUMN("text", TEXT, BJ_SQL_FINDING, "Description in one sentence.",
              .label = "Description", .form = BJ_SHOW_SENTENCE),
    BJ_COLUMN("advice", TEXT, BJ_SQL_ADVICE, "Advice of the site."),
    BJ_COLUMN("url", TEXT, "nullif(r.url, '')", "Page with more, of the site."),
    BJ_COLUMN("value", REAL, "f.value", "Measured value."),
    BJ_COLUMN("threshold", REAL, "f.threshold", "Threshold of the rule."),
    BJ_COLUMN("since", TIME, RUNNING("since"),
              "Of a running job: found without a break since then.",
              .label = "Since"),
    BJ_COLUMN("since_ms", TIME_MS, RUNNING("since"),
              "The same in milliseconds."),
    BJ_COLUMN(
        "action", TEXT,
        "(SELECT action || ', ' || state FROM running_action WHERE id = (SELECT"
        " max(id) FROM running_action WHERE job = f.job AND rule = r.name))",
        "What was done last because of it, and how far that is: warn or "
        "cancel; "
        "dry run, waiting, doing, done or failed.",
        .label = "Done"),
    {.name = NULL},
};

/* Select only findings with the requested names. */
static int add_rules(struct bj_query *q, struct bj_call *c,
                     const struct bj_params *p, const char *without)
{
    if (!p->given[BJ_PARAM_FINDING]) {
        bj_query_sql(q, without);
        return 0;
    }
    bj_query_sql(q, "f.rule");
    return bj_query_rules(q, c, p);
}

/* Are there few enough such findings to read them all? */
static int are_few(struct bj_call *c, const struct bj_params *p,
                   const struct bj_job_ranges *months, bool *ret)
{
    struct bj_query q = {0};
    struct bj_st *st = NULL;
    struct bj_reader_row row;
    unsigned n = 0;
    bj_query_sql(&q, "SELECT 1 FROM job_finding AS f WHERE (");
    int r = add_rules(&q, c, p, "1 = 1");
    bj_query_sql(&q, " OR bj_late(f.job, f.rule, 1000))");
    bj_job_ranges_put(months, "f.job", &q.b.sql);
    bj_query_sql(&q, " LIMIT ");
    bj_query_int(&q, FEW + 1);
    bj_reader_walk(c->reader, true, UNTIL_COUNTED);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        r = 0;
        n++;
    }
    *ret = n <= FEW && !bj_reader_late(c->reader, &row);
    bj_query_free(&q);
    return r;
}

/* There are few findings on running jobs. */
#define OPEN                                                                   \
    " FROM (SELECT DISTINCT job FROM running_finding) AS o CROSS JOIN"         \
    " job_finding AS f CROSS JOIN job AS j CROSS JOIN finding_rule AS r"

/* Other tables of the columns of jobs: BJ_JOB_FROM, BJ_JOB_FROM_USE. */
#define OF_JOBS " LEFT JOIN job_more AS m ON m.job = j.id" BJ_JOB_FROM_USE

/* Walk jobs in order, except for rare findings in an admin's query: then walk
 * job_finding. */
static int make_findings(struct bj_call *c, struct bj_query *q,
                         const struct bj_params *p, struct span *s)
{
    bool few = false;
    struct bj_job_ranges months;
    int r = read_span(c, p, s);
    const struct bj_filter_time time = {
        s->from - (int64_t)(c->worker->conf->longest_usec / 1000000), s->to,
        s->from};
    const bool running =
        p->given[BJ_PARAM_RUNNING] && p->number[BJ_PARAM_RUNNING];
    if (r == 0)
        r = bj_filter_months(bj_reader_db(c->reader), &time, &months, &c->err);
    if (r == 0 && !running && bj_query_wide(c, p))
        r = are_few(c, p, &months, &few);
    bj_query_sql(q, running ? OPEN
                    : few   ? " FROM job_finding AS f CROSS JOIN job AS j CROSS"
                              " JOIN finding_rule AS r"
                            : " FROM job AS j CROSS JOIN job_finding AS f CROSS"
                              " JOIN finding_rule AS r");
    bj_query_sql(q, s->by_cost ? OF_JOBS : "");
    bj_query_sql(q, running ? " WHERE f.job = o.job AND j.id = f.job"
                    : few   ? " WHERE j.id = f.job"
                            : " WHERE f.job = j.id");
    bj_query_sql(q, " AND r.id = f.rule AND ");
    if (r == 0)
        r = add_rules(q, c, p, "1 = 1");
    if (r == 0)
        r = bj_query_scope(q, c, p, "j");
    if (r != 0)
        return r;
    bj_jobs_with_gpu(q, p);
    q->months = &months;
    bj_query_between(q, c, "j.at", &time);
    q->months = NULL;
    bj_job_ranges_put(&months, "f.job", &q->b.sql);
    bj_query_sql(q, " AND (j.\"end\" IS NULL OR j.\"end\" >= ");
    bj_query_int(q, s->from);
    bj_query_sql(q, ")");
    if (p->given[BJ_PARAM_RUNNING])
        bj_query_sql(q, p->number[BJ_PARAM_RUNNING]
                            ? " AND j.\"end\" IS NULL"
                            : " AND j.\"end\" IS NOT NULL");
    if (s->continued) {
        bj_query_sql(q, " AND (j.at, j.id) <= (");
        bj_query_int(q, s->at);
        bj_query_sql(q, ", ");
        bj_query_int(q, s->id);
        bj_query_sql(q, ")");
    }
    bj_query_sql(q, " ORDER BY j.at DESC, j.id DESC, r.severity = 'critical'"
                    " DESC, r.severity = 'warning' DESC, r.name LIMIT ");
    bj_query_int(q, s->by_cost ? FEW + 1 : (int64_t)(s->limit + s->shown) + 1);
    return 0;
}

/* --- the order by cost ------------------------------------------------------
 */

struct item {
    int64_t severity, cost, at, job, rule;
};

struct items {
    struct item *item;
    size_t n, room;
    struct bj_prices prices;
    struct bj_picked k;
    unsigned place[BJ_WASTED_COLUMNS]; /* in k */
};

static int findings_pick(struct bj_call *c, struct items *all)
{
    struct bj_params only = {.values = 0};
    int r = bj_prices_read(bj_reader_db(c->reader), &all->prices, &c->err);
    for (unsigned i = 0; r == 0 && i < BJ_WASTED_COLUMNS; i++)
        r = bj_params_put(c, &only, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          bj_slice_str(bj_wasted_columns[i]));
    if (r == 0)
        r = bj_jobs_pick(c, &only, false, &all->k);
    for (unsigned i = 0; r == 0 && i < BJ_WASTED_COLUMNS; i++)
        while (strcmp(all->k.key[all->place[i]], bj_wasted_columns[i]) != 0)
            all->place[i]++;
    return r;
}

static void select_items(const struct items *all, struct bj_query *q)
{
    bj_jobs_select_values(q, &all->k);
    bj_query_sql(q,
                 ", f.rule AS rule_id, CASE r.severity WHEN 'critical' THEN 2"
                 " WHEN 'warning' THEN 1 ELSE 0 END AS rank, CASE WHEN"
                 " f.value BETWEEN 0 AND 1e15 THEN CAST(f.value AS INTEGER)"
                 " END AS known_value, r.condition AS rule_condition");
}

static int findings_add(struct bj_call *c, struct items *all, struct bj_st *st)
{
    int64_t number[BJ_ROW_KEYS], of[BJ_WASTED_COLUMNS];
    if (!BJ_GROW(all->item, all->n + 1, all->room))
        return bj_err_set(&c->err, -ENOMEM, "sort");
    bj_picked_numbers(&all->k, st, BJ_JOBS_FIRST, number);
    for (unsigned i = 0; i < BJ_WASTED_COLUMNS; i++)
        of[i] = number[all->place[i]];
    all->item[all->n++] = (struct item){
        bj_st_i64(st, "rank"),
        bj_wasted_cost(&all->prices, of, bj_st_text(st, "rule_condition"),
                       bj_st_i64(st, "known_value")),
        bj_st_get_i64(st, 0), bj_st_get_i64(st, 1), bj_st_i64(st, "rule_id")};
    return 0;
}

/* Unknown costs are the smallest.  Findings without cost, and those that cost
 * the same: the newest jobs first, and of each in the order of the rules. */
static int findings_compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    const int64_t order[][2] = {{y->severity, x->severity},
                                {y->cost, x->cost},
                                {y->at, x->at},
                                {y->job, x->job},
                                {x->rule, y->rule}};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (order[i][0] != order[i][1])
            return order[i][0] < order[i][1] ? -1 : 1;
    return 0;
}

/* Read and sort the findings of a query that begins with select_items. */
static int read_items(struct bj_call *c, struct bj_query *q, struct items *all)
{
    struct bj_st *st = NULL;
    int r = bj_query_open(q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0)
        r = findings_add(c, all, st);
    if (r == 0 && all->n > 0 && all->n <= FEW)
        qsort(all->item, all->n, sizeof(*all->item), findings_compare);
    return r;
}

int bj_findings_order(struct bj_call *c, int64_t job, struct bj_query *q)
{
    struct items all = {.n = 0};
    struct bj_query of = {0};
    int r = findings_pick(c, &all);
    select_items(&all, &of);
    bj_query_sql(&of, " FROM job AS j CROSS JOIN job_finding AS f CROSS JOIN"
                      " finding_rule AS r" OF_JOBS " WHERE f.job = j.id AND"
                      " r.id = f.rule AND j.id = ");
    bj_query_int(&of, job);
    bj_query_sql(&of, " LIMIT ");
    bj_query_int(&of, PAGE_MAX);
    if (r == 0)
        r = read_items(c, &of, &all);
    bj_query_sql(q, " ORDER BY CASE f.rule WHEN -1 THEN -1");
    for (size_t i = 0; i < all.n; i++) {
        bj_query_sql(q, " WHEN ");
        bj_query_int(q, all.item[i].rule);
        bj_query_sql(q, " THEN ");
        bj_query_int(q, (int64_t)i);
    }
    bj_query_sql(q, " END");
    bj_query_free(&of);
    free(all.item);
    return r;
}

/* --- the list --------------------------------------------------------------
 */

/* Write rows, and the cursor if there are more. */
static int findings_write_rows(struct bj_call *c, struct bj_query *q,
                               const struct bj_picked *k, const struct span *s,
                               const struct bj_output *out,
                               struct bj_findings_end *end)
{
    struct bj_st *st = NULL;
    struct bj_rows rows;
    int64_t at = s->at, id = s->id;
    uint64_t shown = 0, skip = s->shown;
    int r = bj_query_open(q, c->reader, &st, &c->err);
    if (r < 0)
        return r;
    bj_rows_begin(&rows, out, k->key, k->n);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        const int64_t now_at = bj_st_get_i64(st, (int)k->values);
        const int64_t now_id = bj_st_get_i64(st, (int)k->values + 1);
        r = 0;
        shown = now_at == at && now_id == id ? shown : 0;
        at = now_at;
        id = now_id;
        if (shown < skip && s->continued && at == s->at && id == s->id) {
            shown++;
            continue;
        }
        if (rows.n == s->limit) {
            if (s->limit > 0)
                snprintf(end->next, sizeof(end->next), "%lld.%lld.%llu",
                         (long long)at, (long long)id,
                         (unsigned long long)shown);
            break;
        }
        r = bj_table_row(c, k, st, 0, &rows);
        shown++;
    }
    bj_rows_end(&rows);
    return r < 0 ? r : 0;
}

/* Write the rows of these findings, in this order. */
static int write_items(struct bj_call *c, const struct item *item, size_t n,
                       const struct bj_output *out)
{
    char name[PAGE_MAX][48];
    struct bj_query q = {0};
    struct bj_picked k;
    bool cut;
    bj_picked_table(&k, bj_finding_columns);
    bj_query_sql(&q, "SELECT ");
    bj_table_select(&q, &k);
    bj_query_sql(&q, " FROM job AS j CROSS JOIN job_finding AS f CROSS JOIN"
                     " finding_rule AS r WHERE f.job = j.id AND r.id = f.rule"
                     " AND j.id IN (NULL");
    for (size_t i = 0; i < n; i++) {
        bj_query_sql(&q, ",");
        bj_query_int(&q, item[i].job);
        snprintf(name[i], sizeof(name[i]), "%lld.%lld", (long long)item[i].job,
                 (long long)item[i].rule);
    }
    bj_query_sql(&q, ") AND f.job || '.' || f.rule IN (NULL");
    for (size_t i = 0; i < n; i++) {
        bj_query_sql(&q, ",");
        bj_query_text(&q, bj_slice_str(name[i]));
    }
    bj_query_sql(&q, ") ORDER BY CASE f.job || '.' || f.rule WHEN '' THEN -1");
    for (size_t i = 0; i < n; i++) {
        bj_query_sql(&q, " WHEN ");
        bj_query_text(&q, bj_slice_str(name[i]));
        bj_query_sql(&q, " THEN ");
        bj_query_int(&q, (int64_t)i);
    }
    bj_query_sql(&q, " END");
    int r = bj_table_rows(c, &q, &k, out, n, &cut);
    bj_query_free(&q);
    return r;
}

/* If there are too many findings, only the newest are sorted. */
static int list_by_cost(struct bj_call *c, struct bj_query *q,
                        const struct bj_params *p, struct span *s,
                        const struct bj_output *out,
                        struct bj_findings_end *end)
{
    struct items all = {.n = 0};
    int r = findings_pick(c, &all);
    select_items(&all, q);
    if (r == 0)
        r = make_findings(c, q, p, s);
    if (r == 0)
        r = read_items(c, q, &all);
    if (r == 0 && all.n > FEW) {
        end->partial = true;
        end->at = all.item[--all.n - 1].at;
        qsort(all.item, all.n, sizeof(*all.item), findings_compare);
    }
    if (r == 0) {
        const size_t first = s->first < all.n ? (size_t)s->first : all.n;
        const size_t n =
            all.n - first < s->limit ? all.n - first : (size_t)s->limit;
        r = write_items(c, n > 0 ? all.item + first : NULL, n, out);
        if (s->limit > 0 && first + n < all.n)
            snprintf(end->next, sizeof(end->next), "%zu", first + n);
    }
    free(all.item);
    return r;
}

int bj_findings_list(struct bj_call *c, const struct bj_params *p,
                     const struct bj_output *out, struct bj_findings_end *ret)
{
    struct span s = {.at = -1, .id = -1};
    struct bj_query q = {0};
    *ret = (struct bj_findings_end){.partial = false};
    int r = read_order(c, p, &s);
    if (r == 0 && s.by_cost) {
        r = list_by_cost(c, &q, p, &s, out, ret);
    } else if (r == 0) {
        struct bj_picked k;
        bj_picked_table(&k, bj_finding_columns);
        bj_query_sql(&q, "SELECT ");
        bj_table_select(&q, &k);
        bj_query_sql(&q, ", j.at, j.id");
        r = make_findings(c, &q, p, &s);
        if (r == 0)
            r = findings_write_rows(c, &q, &k, &s, out, ret);
    }
    bj_query_free(&q);
    return r == -EINTR
               ? bj_call_refuse(
                     c, 503,
                     "The search took longer than query.timeout; narrow from "
                     "and to, or name a user, an account or a finding.")
               : r;
}

static int on_findings(struct bj_call *c)
{
    struct bj_params p;
    struct bj_findings_end end = {.partial = false};
    struct bj_buf found = {0};
    const bool csv = bj_call_shape(c) == BJ_SHAPE_CSV;
    const struct bj_output out = {
        .to = &found, .shape = csv ? BJ_SHAPE_CSV : BJ_SHAPE_OBJECTS};
    char more[sizeof(end.next) + 80];
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r == 0)
        r = bj_findings_list(c, &p, &out, &end);
    if (r == 0 && csv)
        c->reply->type = "text/csv; charset=utf-8";
    else if (r == 0)
        bj_call_open(c);
    if (r == 0)
        bj_buf_put(&c->reply->body, found.p, found.len);
    snprintf(c->next, sizeof(c->next), "%s", end.next);
    snprintf(more, sizeof(more),
             ",\"meta\":{\"cut\":%s,\"next\":%s%s%s,\"partial\":%s}",
             *end.next ? "true" : "false", *end.next ? "\"" : "",
             *end.next ? end.next : "null", *end.next ? "\"" : "",
             end.partial ? "true" : "false");
    if (r == 0 && !csv)
        bj_call_close(c, more);
    if (r == 0 && csv && *end.next) {
        bj_call_header(c, "X-Cut", "true");
        bj_call_header(c, "X-Next-Cursor", c->next);
    }
    c->reply->body.failed |= found.failed;
    bj_buf_free(&found);
    return r;
}

const struct bj_endpoint bj_endpoints_findings[] = {
    {.path = "/api/v1/findings",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_findings,
     .help = "Findings of jobs: the newest jobs first, or sort=cost.",
     .params = BJ_FINDINGS_MASK,
     .columns = bj_finding_columns},
    {.path = NULL},
};
