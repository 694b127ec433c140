/* The page for support staff: what runs badly now, which users to talk to about
 * what, findings, jobs that never start, and the worst nodes. */
#include "apiserver/frame/query.h"
#include "apiserver/frame/state.h"
#include "apiserver/job/visible_job.h"
#include "apiserver/pages/nodes.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/findings.h"
#include "apiserver/v1/usage.h"
#include "base/amount.h"
#include "base/array.h"
#include "base/html.h"
#include "base/local.h"
#include "report/model/show.h"
#include "sched/state.h"
#include "statsdb/job/change.h"

#include <stdlib.h>

enum {
    DAY = 86400,
    DAYS = 7,
    YEAR = 365,
    USERS = 10,
    NODES = 10,
    FINDINGS = 50,
    POINTS = 3,
    STEP = 120,
    MASK = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_PARTITION)
};

/* --- reading ---------------------------------------------------------------
 */

/* A user, and what the user's jobs held and did not use. */
struct person {
    struct bj_slice name;
    struct bj_bill bill;
    int64_t cpu, gpu; /* seconds not used; BJ_SQL_NULL: not known */
    int64_t cost;     /* of these */
};

struct support {
    struct bj_changes changes; /* of all users, with the prices */
    struct person *person;     /* who left the most unused first */
    size_t persons, room;
    struct person all;
    int64_t running, found; /* running jobs; those with findings */
    int64_t memory, limit;  /* ended out of memory; at the time limit */
    struct bj_arena names;
};

static void support_free(struct support *s)
{
    bj_changes_free(&s->changes);
    bj_arena_free(&s->names);
    free(s->person);
}

static int64_t support_unused(int64_t known_sec, int64_t used_msec)
{
    const int64_t unused = known_sec - used_msec / 1000;
    return known_sec <= 0 ? BJ_SQL_NULL : unused > 0 ? unused : 0;
}

static void support_judge(const struct support *s, struct person *p)
{
    p->cpu = support_unused(p->bill.cpu_known_sec, p->bill.cpu_used_msec);
    p->gpu = support_unused(p->bill.gpu_known_sec, p->bill.gpu_used_msec);
    p->cost =
        bj_cost(&s->changes.prices,
                &(struct bj_paid){p->cpu, p->gpu, BJ_SQL_NULL, BJ_SQL_NULL});
}

static int support_take(void *ctx, const struct bj_usage_sum *sum)
{
    struct support *s = ctx;
    if (!BJ_GROW(s->person, s->persons + 1, s->room))
        return -ENOMEM;
    struct person *p = &s->person[s->persons++];
    *p = (struct person){.name = bj_arena_copy(&s->names, sum->user),
                         .bill = sum->bill};
    support_judge(s, p);
    bj_bill_add(&s->all.bill, &sum->bill);
    s->memory += sum->oom;
    s->limit += sum->timeout;
    return s->names.failed ? -ENOMEM : 0;
}

/* By cost, without prices by GPU time, then CPU time; unknown is least. */
static int support_compare(const void *a, const void *b)
{
    const struct person *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost ? 1 : -1)
           : x->gpu != y->gpu ? (x->gpu < y->gpu ? 1 : -1)
                              : (x->cpu < y->cpu) - (x->cpu > y->cpu);
}

/* Read what jobs of all users wasted, and the prices. */
static int support_read_changes(struct bj_call *c, const struct bj_params *p,
                                struct support *s)
{
    const struct bj_filter_time time = {p->number[BJ_PARAM_FROM],
                                        p->number[BJ_PARAM_TO], 0};
    struct bj_query q = {.time = &time};
    struct bj_st *st = NULL;
    int r = bj_changes_select(&s->changes, bj_reader_db(c->reader), &q.b.sql,
                              &c->err);
    if (r == 0)
        r = bj_query_scope(&q, c, p, "j");
    if (r == 0)
        r = bj_query_between(&q, c, "j.at", &time);
    bj_query_sql(&q, BJ_CHANGES_NEWEST);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    if (r == 0)
        r = bj_changes_read(&s->changes, st, &c->err);
    bj_query_free(&q);
    return r;
}

static int support_read_users(struct bj_call *c, const struct bj_params *p,
                              struct support *s)
{
    struct bj_params by = *p;
    int r = bj_params_put(c, &by, BJ_BIT(BJ_PARAM_GROUP_BY),
                          BJ_SLICE("group_by"), BJ_SLICE("user"));
    if (r == 0)
        r = bj_usage_sums(c, &by, support_take, s);
    support_judge(s, &s->all);
    if (s->persons > 1)
        qsort(s->person, s->persons, sizeof(*s->person), support_compare);
    return r == -ENOMEM ? bj_err_set(&c->err, r, "support") : r;
}

/* Read two counts. */
static int support_count(struct bj_call *c, struct bj_query *q, int64_t *first,
                         int64_t *second)
{
    struct bj_st *st = NULL;
    int r = bj_query_open(q, c->reader, &st, &c->err);
    if (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        *first = bj_st_get_i64(st, 0);
        *second = bj_st_get_i64(st, 1);
        *first = *first == BJ_SQL_NULL ? 0 : *first;
        *second = *second == BJ_SQL_NULL ? 0 : *second;
        r = 0;
    }
    bj_query_free(q);
    return r;
}

static int support_read_running(struct bj_call *c, const struct bj_params *p,
                                struct support *s)
{
    struct bj_query q = {.named = true};
    bj_query_sql(&q, "SELECT count(*), sum(CASE WHEN EXISTS (SELECT 1 FROM"
                     " running_finding AS f WHERE f.job = j.id) THEN 1 ELSE 0"
                     " END) FROM job AS j WHERE j.\"end\" IS NULL AND j.state"
                     " = ");
    bj_query_int(&q, BJ_STATE_RUNNING);
    int r = bj_query_scope(&q, c, p, "j");
    if (r == 0)
        return support_count(c, &q, &s->running, &s->found);
    bj_query_free(&q);
    return r;
}

/* --- figures ---------------------------------------------------------------
 */

static void support_put_unused(struct bj_buf *b, const char *title, int64_t sec,
                               int64_t held, int64_t known, int64_t used_msec)
{
    const double percent = 100 - (double)used_msec / 10 / (double)known;

    bj_buf_printf(b, "<div><dt>%s</dt><dd>", bj_local_escaped(title));
    if (sec == BJ_SQL_NULL)
        bj_buf_str(b, "&ndash;");
    else
        bj_amount(b, BJ_AMOUNT_PLAIN, (double)sec / 3600);
    bj_buf_str(b, "<div class=\"sub\">");
    if (sec != BJ_SQL_NULL && known > 0) {
        bj_amount(b, BJ_AMOUNT_PERCENT, percent > 0 ? percent : 0);
        bj_local_html(b, " {of what was held}");
    }
    if (sec != BJ_SQL_NULL && known < held) {
        bj_local_html(b, ", {known for} ");
        bj_amount(b, BJ_AMOUNT_PERCENT, 100 * (double)known / (double)held);
    }
    bj_buf_str(b, "</div></dd></div>\n");
}

static void support_put_figures(struct bj_buf *b, const struct support *s)
{
    const struct bj_bill *n = &s->all.bill;
    char x[BJ_AMOUNT_COUNT], y[BJ_AMOUNT_COUNT], z[BJ_AMOUNT_COUNT];
    bj_local_html(b,
                  "<dl class=\"card stats\"><div><dt>{Running with a finding}"
                  "</dt><dd>%s<div class=\"sub\">{of %s running jobs}</div>"
                  "</dd></div>\n",
                  bj_amount_count(x, s->found), bj_amount_count(y, s->running));
    if (n->gpu_sec > 0)
        support_put_unused(b, "GPU hours not used, 7 days", s->all.gpu,
                           n->gpu_sec, n->gpu_known_sec, n->gpu_used_msec);
    support_put_unused(b, "CPU hours not used, 7 days", s->all.cpu, n->cpu_sec,
                       n->cpu_known_sec, n->cpu_used_msec);
    bj_local_html(b,
                  "<div><dt>{Jobs that lost their result}</dt><dd>%s<div "
                  "class=\"sub\">{%s out of memory, %s at the time limit}</div>"
                  "</dd></div></dl>\n",
                  bj_amount_count(x, s->memory + s->limit),
                  bj_amount_count(y, s->memory), bj_amount_count(z, s->limit));
}

/* --- now -------------------------------------------------------------------
 */

static const char *const running_columns[] = {
    "severity", "display_id", "text", "since", "action", "user",
    "account",  "partition",  "cpus", "gpus",  NULL};

static int put_running(struct bj_call *c, const struct bj_params *filters)
{
    struct bj_params p = *filters;
    struct bj_page_table table;
    struct bj_findings_end end = {.partial = false};
    struct bj_buf *b = &c->reply->body;
    p.given[BJ_PARAM_RUNNING] = p.given[BJ_PARAM_FROM] = true;
    p.given[BJ_PARAM_LIMIT] = true;
    p.number[BJ_PARAM_RUNNING] = true;
    p.number[BJ_PARAM_FROM] = c->now_sec - YEAR * DAY;
    p.number[BJ_PARAM_LIMIT] = FINDINGS;
    bj_widget_card(b, "Running now, most serious first", NULL, NULL);
    bj_page_table_begin(&table, b, bj_finding_columns, running_columns, "");
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_SORT), BJ_SLICE("sort"),
                          BJ_SLICE("cost"));
    if (r == 0)
        r = bj_findings_list(c, &p, &(struct bj_output){.cells = &table.cells},
                             &end);
    bj_page_table_end(&table, "No rule finds anything in running jobs.");
    if (r == 0 && *end.next)
        bj_local_html(b, "<p>{There are more; choose a partition.}</p>\n");
    bj_widget_card_end(b);
    return r;
}

/* --- who to talk to --------------------------------------------------------
 */

/* The most expensive change of a user; NULL: none of the jobs has a finding. */
static const struct bj_change *support_change(const struct support *s,
                                              const struct person *p)
{
    for (size_t i = 0; i < s->changes.n; i++)
        if (bj_slice_eq(s->changes.v[i].user_name, p->name))
            return &s->changes.v[i];
    return NULL;
}

/* "train_resnet: Request 6 GPUs. 12 jobs, 61 GPU hours held and not used" */
static int support_put_change(struct bj_call *c, const struct support *s,
                              const struct bj_change *v)
{
    struct bj_buf *b = &c->reply->body, text = {0};
    struct bj_report report = {.interactive = false};
    char n[BJ_AMOUNT_COUNT];
    int r = bj_job_report(c, v->newest, &report);
    const struct bj_report_advice *a =
        r == 0 ? bj_report_advice_of(&report, v->finding) : NULL;
    if (r == 0) {
        bj_buf_str(b, "<a href=\"jobs/");
        bj_url_text(b, bj_report_text(&report, BJ_REPORT_KEY));
        bj_buf_str(b, "\"><bdi>");
        bj_html_text(b, v->job_name.n > 0
                            ? v->job_name
                            : bj_slice_str(bj_local("Jobs without a name")));
        bj_buf_str(b, "</bdi></a>: ");
        if (a)
            bj_show_advice_html(b, a->text);
        else
            bj_show_finding(&text, v->finding);
        bj_html_text(b, (struct bj_slice){text.p, text.len});
        text.len = 0;
        bj_local_html(b,
                      v->runs == 1 ? " <small>{%s job}" : " <small>{%s jobs}",
                      bj_amount_count(n, v->runs));
        bj_show_wasted(&text, &v->wasted, v->cost,
                       bj_slice_str(s->changes.prices.currency));
        bj_buf_str(b, text.len > 0 ? ", " : "");
        bj_html_text(b, (struct bj_slice){text.p, text.len});
        if (text.len > 0)
            bj_local_html(b, " {held and not used}");
        bj_buf_str(b, "</small>");
        b->failed |= text.failed;
        bj_buf_free(&text);
    }
    bj_report_free(&report);
    return r;
}

static void support_put_hours(struct bj_buf *b, const char *label, int64_t sec)
{
    bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">", bj_local_escaped(label));
    if (sec == BJ_SQL_NULL)
        bj_buf_str(b, "&ndash;");
    else
        bj_amount(b, BJ_AMOUNT_PLAIN, (double)sec / 3600);
    bj_buf_str(b, "</td>");
}

static int support_put_person(struct bj_call *c, const struct support *s,
                              const struct person *p)
{
    struct bj_buf *b = &c->reply->body;
    const struct bj_change *v = support_change(s, p);
    bj_buf_str(b, "<tr><th scope=\"row\"><a href=\"users/");
    bj_url_text(b, p->name);
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, p->name);
    bj_buf_str(b, "</bdi></a></th><td class=\"wrap w\">");
    int r = v ? support_put_change(c, s, v) : 0;
    if (!v)
        bj_local_html(b, "{no finding}");
    bj_buf_str(b, "</td>");
    if (s->all.bill.gpu_sec > 0) {
        support_put_hours(b, "GPU hours not used", p->gpu);
        bj_buf_printf(b, "<td data-l=\"%s\">", bj_local_escaped("GPU use"));
        bj_page_use(b, p->bill.gpu_sec, p->bill.gpu_known_sec,
                    p->bill.gpu_used_msec);
        bj_buf_str(b, "</td>");
    }
    support_put_hours(b, "CPU hours not used", p->cpu);
    bj_buf_printf(b, "<td data-l=\"%s\">", bj_local_escaped("CPU use"));
    bj_page_use(b, p->bill.cpu_sec, p->bill.cpu_known_sec,
                p->bill.cpu_used_msec);
    bj_buf_str(b, "</td></tr>\n");
    return r;
}

static int put_people(struct bj_call *c, const struct support *s)
{
    struct bj_buf *b = &c->reply->body;
    int r = 0;
    bj_widget_card(b, "Who to talk to",
                   "usage?group_by=user&amp;sort=gpu_unused_hours", "All");
    if (s->persons == 0) {
        bj_local_html(b, "<p class=\"none\">{No usage in this time.}</p>");
    } else {
        bj_widget_table(b, bj_local_escaped("Who to talk to"), "stack", true);
        bj_local_html(b, "<thead><tr><th scope=\"col\">{User}</th><th "
                         "scope=\"col\">{About what}</th>");
        if (s->all.bill.gpu_sec > 0)
            bj_local_html(b, "<th scope=\"col\" class=\"n\">{GPU hours not "
                             "used}</th><th scope=\"col\">{GPU use}</th>");
        bj_local_html(
            b, "<th scope=\"col\" "
               "class=\"n\">{CPU hours not used}</th><th scope=\"col\">{CPU "
               "use}</th></tr></thead><tbody>\n");
        for (size_t i = 0; i < s->persons && i < USERS && r == 0; i++)
            r = support_put_person(c, s, &s->person[i]);
        bj_widget_table_end(b);
        bj_local_html(b,
                      "<p class=\"small mute\">{The most unused in the last "
                      "7 days first, as far as the use is known; a grey bar: "
                      "it is known for less than half.}</p>");
        if (s->changes.cut)
            bj_local_html(b, "<p class=\"small\">{There are too many findings "
                             "to read; choose a partition.}</p>");
    }
    bj_widget_card_end(b);
    return r;
}

/* --- the page --------------------------------------------------------------
 */

static int support_put_parts(struct bj_call *c, const struct bj_params *p,
                             struct support *s)
{
    struct bj_buf *b = &c->reply->body;
    int r = support_read_changes(c, p, s);
    if (r == 0)
        r = support_read_users(c, p, s);
    if (r == 0)
        r = support_read_running(c, p, s);
    if (r != 0)
        return r;
    support_put_figures(b, s);
    r = put_running(c, p);
    if (r == 0)
        r = put_people(c, s);
    if (r == 0)
        r = bj_page_never_start(c, p);
    bj_widget_card(b, "Findings of the last 7 days", "findings", "All");
    if (r == 0)
        r = bj_page_finding_counts(c, p, "");
    bj_widget_card_end(b);
    return r;
}

static void support_put_page(struct bj_call *c, const struct bj_grid *g)
{
    struct bj_nodes *n = g->work;
    c->reply->body.failed |= bj_nodes_take(n, g) < 0;
    bj_nodes_put_worst(&c->reply->body, n, NODES);
    bj_page_close(c);
}

static void support_open(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    bj_page_frame(c, bj_local("Support"), "", 0);
    bj_local_html(b, "<div class=\"head\"><div><h1>{Support}</h1></div><form "
                     "class=\"filters\">");
    bj_page_input(b, p, BJ_PARAM_PARTITION, "Partition", "text");
    bj_page_input(b, p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_local_html(b, "<button>{Show}</button></form></div>\n");
}

static int on_support(struct bj_call *c)
{
    struct bj_params p;
    struct support s = {.persons = 0};
    struct bj_grid *g = NULL;
    struct bj_nodes *n = calloc(1, sizeof(*n));
    if (!n)
        return bj_err_set(&c->err, -ENOMEM, "support");
    int r = bj_params_read(c, MASK, &p);
    if (r == 0)
        r = bj_grid_new(c, bj_params_text(&p, BJ_PARAM_CLUSTER), POINTS, STEP,
                        &g);
    if (r != 0) {
        bj_nodes_free(n);
        return r;
    }
    g->work = n;
    g->free_work = bj_nodes_free;
    bj_nodes_query(g, c->identity.admin);
    p.given[BJ_PARAM_FROM] = p.given[BJ_PARAM_TO] = true;
    p.number[BJ_PARAM_TO] = c->now_sec;
    p.number[BJ_PARAM_FROM] = c->now_sec - DAYS * DAY;
    support_open(c, &p);
    r = support_put_parts(c, &p, &s);
    if (r == 0)
        r = bj_nodes_week(c, &p, (struct bj_slice){NULL, 0}, n);
    support_free(&s);
    if (r == 0)
        return bj_grid_run(c, g, support_put_page);
    bj_grid_drop(g);
    return r;
}

static int after_support(struct bj_call *c)
{
    return bj_grid_after(c, support_put_page);
}

const struct bj_endpoint bj_endpoints_page_support[] = {
    {.path = "/support",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_support,
     .after = after_support,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "Support",
     .menu_for = BJ_MENU_COORDINATORS,
     .help = "Web page: running jobs with findings, whom to talk to about "
             "what, jobs that never start, and the worst nodes.",
     .type = "text/html",
     .params = MASK},
    {.path = NULL},
};
