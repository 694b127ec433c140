/* The page with a list of jobs. */
#include "apiserver/frame/query.h"
#include "apiserver/frame/state.h"
#include "apiserver/frame/widget.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/jobs.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/model/show.h"
#include "sched/state.h"

#include <stdio.h>
#include <string.h>

enum {
    NEED = BJ_NEED_STORE | BJ_NEED_USER,
    ROWS_MAX = 500, /* maximum number of rows of a page */
    DAY = 86400,
    JOBS = BJ_JOBS_MASK | BJ_BIT(BJ_PARAM_CURSOR)
};

/* Columns of jobs that have started, of running ones, of waiting ones, or of
 * all. */
enum of { ALL, STARTED, ENDED, RUNNING, WAITING };

static const struct {
    const char *name;
    enum of of;
} job_columns[] = {
    {"display_id", ALL},
    {"state", ALL},
    {"reason", WAITING},
    {"finding_names", STARTED},
    {"user", ALL},
    {"account", ALL},
    {"partition", ALL},
    {"submit", WAITING},
    {"time_limit_seconds", WAITING},
    {"cpus_requested", WAITING},
    {"gpus_requested", WAITING},
    {"start", STARTED},
    {"elapsed_seconds", STARTED},
    {"cpus", STARTED},
    {"gpus", STARTED},
    {"cpu_efficiency_percent", ENDED},
    {"memory_efficiency_percent", ENDED},
    {"gpu_efficiency_percent", ENDED},
    {"now_cpus_busy", RUNNING},
    {"now_memory_bytes", RUNNING},
    {"now_gpu_busy_percent", RUNNING},
    {"idle_since", RUNNING},
};
enum { COLUMNS = sizeof(job_columns) / sizeof(job_columns[0]) };

/* --- the form --------------------------------------------------------------
 */

static const struct bj_page_choice orders[] = {
    {"", "newest first"},
    {"elapsed_seconds", "longest first"},
    {"wait_seconds", "longest wait first"},
    {"cpus", "most CPUs first"},
    {"gpus", "most GPUs first"},
    {"cpu_efficiency_percent", "CPU efficiency"},
    {"memory_efficiency_percent", "memory efficiency"},
    {"gpu_efficiency_percent", "GPU efficiency"},
    {"energy_joules", "most energy first"},
    {"findings", "most findings first"},
    {NULL, NULL}};
static const struct bj_page_choice directions[] = {
    {"", "falling"}, {"asc", "rising"}, {NULL, NULL}};
static const struct bj_page_choice gpus[] = {
    {"", "any"}, {"true", "with GPUs"}, {"false", "without"}, {NULL, NULL}};

/* What the user may choose from: names that jobs visible to the user have. */
static const struct choice {
    enum bj_param which;
    const char *title, *sql;
    bool scoped; /* of combinations a that the user may see */
} choices[] = {
    {BJ_PARAM_USER, "User",
     "SELECT DISTINCT n.name FROM assoc AS a JOIN user AS n ON n.id = a.user "
     "WHERE n.name <> ''",
     true},
    {BJ_PARAM_ACCOUNT, "Account",
     "SELECT DISTINCT n.name FROM assoc AS a JOIN account AS n ON n.id = "
     "a.account WHERE n.name <> ''",
     true},
    {BJ_PARAM_PARTITION, "Partition",
     "SELECT DISTINCT n.name FROM assoc AS a JOIN partition AS n ON n.id = "
     "a.partition WHERE n.name <> ''",
     true},
    {BJ_PARAM_CLUSTER, "Cluster", "SELECT name FROM cluster WHERE name <> ''",
     false},
    {BJ_PARAM_FINDING, "Finding",
     "SELECT DISTINCT name FROM finding_rule WHERE name <> ''", false},
};
enum { CHOICES = sizeof(choices) / sizeof(choices[0]) };

/* The findings of jobs j that the user may see; of the last days of the list,
 * as a longer time may have very many jobs. */
enum { DAYS_MAX = 31 };
static const char seen_findings[] =
    "SELECT DISTINCT r.name FROM job AS j CROSS JOIN job_finding AS f CROSS "
    "JOIN finding_rule AS r WHERE f.job = j.id AND r.id = f.rule";

/* Append the query for the names of a list. */
static int choices_query(struct bj_call *c, const struct bj_params *p,
                         const struct choice *k, struct bj_query *q)
{
    const struct bj_params none = {.values = 0};
    const int64_t to = p->number[BJ_PARAM_TO], recent = to - DAYS_MAX * DAY;
    const struct bj_filter_time time = {
        p->number[BJ_PARAM_FROM] > recent ? p->number[BJ_PARAM_FROM] : recent,
        to, 0};
    const bool seen = k->which == BJ_PARAM_FINDING && !c->identity.admin;
    bj_query_sql(q, seen ? seen_findings : k->sql);
    int r =
        seen || k->scoped ? bj_query_scope(q, c, &none, seen ? "j" : "a") : 0;
    if (r == 0 && seen)
        r = bj_query_between(q, c, "j.at", &time);
    bj_query_sql(q, " ORDER BY 1 LIMIT 201");
    return r;
}

/* Append a name of a filter for people: a finding in words. */
static void put_filter_name(struct bj_buf *b, enum bj_param which,
                            struct bj_slice name)
{
    struct bj_buf words = {0};
    if (which == BJ_PARAM_FINDING)
        bj_show_finding(&words, name);
    bj_html_text(b, which == BJ_PARAM_FINDING
                        ? (struct bj_slice){words.p, words.len}
                        : name);
    b->failed |= words.failed;
    bj_buf_free(&words);
}

static void put_option(struct bj_buf *b, enum bj_param which,
                       struct bj_slice name, bool selected)
{
    bj_buf_str(b, "<option value=\"");
    bj_html_text(b, name);
    bj_buf_str(b, selected ? "\" selected>" : "\">");
    put_filter_name(b, which, name);
    bj_buf_str(b, "</option>");
}

/* Append a list of the names that exist; with more than CHOICES_MAX a field. */
static int put_choices(struct bj_call *c, const struct bj_params *p,
                       const struct choice *k)
{
    enum { CHOICES_MAX = 200 };
    struct bj_buf *b = &c->reply->body, list = {0};
    const struct bj_slice now = bj_params_text(p, k->which);
    struct bj_query q = {0};
    struct bj_st *st = NULL;
    unsigned n = 0;
    bool found = now.n == 0;
    int r = choices_query(c, p, k, &q);
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        const struct bj_slice name = bj_st_get_text(st, 0);
        const bool same = bj_slice_eq(name, now);
        r = 0;
        n++;
        found |= same;
        put_option(&list, k->which, name, same);
    }
    bj_query_free(&q);
    if (n > CHOICES_MAX || !found) {
        bj_page_input(b, p, k->which, k->title, "text");
    } else if (n > 1 || now.n > 0) {
        bj_local_html(b,
                      "<label>%s<select name=\"%s\"><option value=\"\">"
                      "{all}</option>",
                      bj_local_escaped(k->title),
                      bj_param_rules[k->which].name);
        bj_buf_slice(b, (struct bj_slice){list.p, list.len});
        bj_buf_str(b, "</select></label>\n");
    }
    b->failed |= list.failed;
    bj_buf_free(&list);
    return r;
}

int bj_page_filters(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    int r = 0;
    bj_buf_str(b, "<section class=\"card\"><form>");
    bj_page_date(b, p, BJ_PARAM_FROM, "From");
    bj_page_date(b, p, BJ_PARAM_TO, "To");
    for (size_t i = 0; i < CHOICES && r == 0; i++)
        if (choices[i].which != BJ_PARAM_USER || bj_page_sees_others(c))
            r = put_choices(c, p, &choices[i]);
    return r;
}

static int jobs_put_form(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    int r = bj_page_filters(c, p);
    bj_page_input(b, p, BJ_PARAM_NAME, "Name contains", "text");
    bj_page_input(b, p, BJ_PARAM_NODE, "Node", "text");
    bj_page_input(b, p, BJ_PARAM_JOB, "Job or array id", "search");
    bj_page_select(b, p, BJ_PARAM_GPU, "GPUs", gpus);
    bj_page_select(b, p, BJ_PARAM_SORT, "Order", orders);
    bj_page_select(b, p, BJ_PARAM_ORDER, "Direction", directions);
    if (p->given[BJ_PARAM_STATE]) {
        bj_buf_str(b, "<input type=\"hidden\" name=\"state\" value=\"");
        bj_html_text(b, bj_params_text(p, BJ_PARAM_STATE));
        bj_buf_str(b, "\">");
    }
    bj_local_html_str(
        b, "<button class=\"pri\">{Show}</button></form></section>\n");
    return r;
}

/* --- tabs and chips
 * ---------------------------------------------------------*/

static const struct {
    const char *state, *title;
    enum bj_job_state of;
} tabs[] = {
    {"", "All", BJ_STATE_UNKNOWN},
    {"running", "Running", BJ_STATE_RUNNING},
    {"pending", "Waiting", BJ_STATE_PENDING},
    {"completed", "Completed", BJ_STATE_COMPLETED},
    {"failed", "Failed", BJ_STATE_FAILED},
    {"oom", "Out of memory", BJ_STATE_OOM},
    {"timeout", "Time limit", BJ_STATE_TIMEOUT},
    {"cancelled", "Cancelled", BJ_STATE_CANCELLED},
    {"node_fail", "Node failed", BJ_STATE_NODE_FAIL},
};
enum { TABS = sizeof(tabs) / sizeof(tabs[0]) };

/* Does the request have a filter whose jobs are not counted by state? */
static bool has_costly_filter(const struct bj_params *p)
{
    return p->given[BJ_PARAM_NAME] || p->given[BJ_PARAM_NODE] ||
           p->given[BJ_PARAM_FINDING] || p->given[BJ_PARAM_GPU] ||
           p->given[BJ_PARAM_JOB];
}

enum { COUNTED_MAX = 20000, NOT_COUNTED = -1, MORE = -2 };

/* Count the jobs of the list by state, the first of all states.  NOT_COUNTED,
 * as it would take long, or MORE than COUNTED_MAX in all. */
static int count_states(struct bj_call *c, const struct bj_params *p,
                        int64_t ret[BJ_STATES])
{
    const int64_t from = p->number[BJ_PARAM_FROM];
    const struct bj_filter_time time = {
        from - (int64_t)(c->worker->conf->longest_usec / 1000000),
        p->number[BJ_PARAM_TO], from};
    struct bj_query q = {.time = &time};
    struct bj_st *st = NULL;
    int64_t n = 0;
    int r = 0;
    memset(ret, 0, BJ_STATES * sizeof(*ret));
    if (!has_costly_filter(p)) {
        bj_query_sql(&q, "SELECT j.state FROM job AS j WHERE (j.\"end\" IS "
                         "NULL OR j.\"end\" >= ");
        bj_query_int(&q, from);
        bj_query_sql(&q, ")");
        r = bj_query_scope(&q, c, p, "j");
        if (r == 0)
            r = bj_query_between(&q, c, "j.at", &time);
        bj_query_sql(&q, " LIMIT ");
        bj_query_int(&q, COUNTED_MAX + 1);
        if (r == 0)
            r = bj_query_open(&q, c->reader, &st, &c->err);
    }
    while (st && r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        const int64_t state = bj_st_get_i64(st, 0);
        r = 0;
        n++;
        if (state > 0 && state < BJ_STATES)
            ret[state]++;
    }
    bj_query_free(&q);
    ret[0] = n;
    for (unsigned i = 0; i < BJ_STATES && (!st || n > COUNTED_MAX); i++)
        ret[i] = st ? MORE : NOT_COUNTED;
    return r;
}

/* Append a link to this page without some parameters. */
static void jobs_link(struct bj_call *c, unsigned except, struct bj_buf *ret)
{
    ret->len = 0;
    bj_buf_str(ret, "jobs?");
    bj_page_args(ret, c, except | BJ_BIT(BJ_PARAM_CURSOR));
}

static void put_tabs(struct bj_call *c, const struct bj_params *p,
                     const int64_t n[BJ_STATES])
{
    struct bj_buf *b = &c->reply->body, link = {0};
    const struct bj_slice now = bj_params_text(p, BJ_PARAM_STATE);
    bj_buf_str(b, "<ul class=\"tabs\">");
    for (size_t i = 0; i < TABS; i++) {
        const bool is_current = bj_slice_eq(now, bj_slice_str(tabs[i].state)) ||
                                (i == 0 && bj_slice_eq(now, BJ_SLICE("all")));
        if (n[tabs[i].of] == 0 && i > 0 && !is_current)
            continue;
        jobs_link(c, BJ_BIT(BJ_PARAM_STATE), &link);
        bj_buf_printf(&link, *tabs[i].state ? "state=%s" : "%s", tabs[i].state);
        bj_buf_put(&link, "", 1);
        if (!link.failed)
            bj_widget_tab(b, link.p, tabs[i].title, n[tabs[i].of], is_current);
    }
    bj_buf_str(b, "</ul>\n");
    b->failed |= link.failed;
    bj_buf_free(&link);
}

/* The filters that are set, each with a link that removes it. */
static void put_chips(struct bj_call *c, const struct bj_params *p)
{
    static const struct {
        enum bj_param which;
        const char *title;
    } chips[] = {
        {BJ_PARAM_USER, "User"},           {BJ_PARAM_ACCOUNT, "Account"},
        {BJ_PARAM_PARTITION, "Partition"}, {BJ_PARAM_CLUSTER, "Cluster"},
        {BJ_PARAM_FINDING, "Finding"},     {BJ_PARAM_NODE, "Node"},
        {BJ_PARAM_NAME, "Name contains"},  {BJ_PARAM_JOB, "Job or array id"}};
    struct bj_buf *b = &c->reply->body, link = {0}, words = {0};
    bool any = false;
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++) {
        if (!p->given[chips[i].which])
            continue;
        jobs_link(c, BJ_BIT(chips[i].which), &link);
        bj_buf_put(&link, "", 1);
        bj_buf_str(b, any ? "" : "<ul class=\"chips screen\">");
        any = true;
        words.len = 0;
        if (chips[i].which == BJ_PARAM_FINDING)
            bj_show_finding(&words, bj_params_text(p, BJ_PARAM_FINDING));
        if (!link.failed)
            bj_widget_chip(b, link.p, chips[i].title,
                           words.len > 0 ? (struct bj_slice){words.p, words.len}
                                         : bj_params_text(p, chips[i].which));
    }
    if (any)
        bj_local_html_str(b, "<li><a href=\"jobs\">{Clear}</a></li></ul>\n");
    b->failed |= link.failed | words.failed;
    bj_buf_free(&link);
    bj_buf_free(&words);
}

/* --- the list --------------------------------------------------------------
 */

/* Does the list have jobs of this state only? */
static bool only(const struct bj_params *p, const char *state)
{
    return p->given[BJ_PARAM_STATE] &&
           bj_slice_eq(bj_params_text(p, BJ_PARAM_STATE), bj_slice_str(state));
}

/* The columns of a list: without the user for users who see only their own
 * jobs. */
static void choose_columns(struct bj_call *c, const struct bj_params *p,
                           const char *ret[COLUMNS + 1])
{
    const bool running = only(p, "running"), waiting = only(p, "pending");
    const bool shown[] = {[ALL] = true,
                          [STARTED] = !waiting,
                          [ENDED] = !waiting && !running,
                          [RUNNING] = running,
                          [WAITING] = waiting};
    for (size_t i = 0; i < COLUMNS; i++)
        if (shown[job_columns[i].of] &&
            (bj_page_sees_others(c) ||
             strcmp(job_columns[i].name, "user") != 0))
            *ret++ = job_columns[i].name;
    *ret = NULL;
}

static void jobs_day_of(int64_t sec, char ret[16])
{
    struct bj_civil day;
    bj_civil_from_days(bj_tz_day(bj_tz_used(), sec), &day);
    snprintf(ret, 16, "%04d-%02u-%02u", day.year, day.month, day.day);
}

static void jobs_put_next(struct bj_call *c, const struct bj_params *p,
                          const struct bj_jobs_end *end)
{
    struct bj_buf *b = &c->reply->body;
    const bool sorted = p->given[BJ_PARAM_SORT];
    if (end->partial) {
        char day[16];
        jobs_day_of(end->at, day);
        bj_local_html(b,
                      sorted ? "<p>{There are too many jobs to sort: only "
                               "those since %s are listed.}</p>\n"
                             : "<p>{The search took too long and stopped at "
                               "jobs that started on %s.}</p>\n",
                      day);
    }
    if (!*end->next)
        return;
    bj_buf_str(b, "<p><a rel=\"next\" href=\"jobs?");
    bj_page_args(b, c, BJ_BIT(BJ_PARAM_CURSOR));
    bj_buf_printf(b, "cursor=%s\">%s</a></p>\n", end->next,
                  bj_local_escaped(end->partial && !sorted ? "Continue"
                                   : sorted                ? "More jobs"
                                                           : "Older jobs"));
}

/* "1,234 jobs" or "more than 10,000 jobs" */
static void put_count(struct bj_buf *b, const struct bj_jobs_end *end)
{
    char n[BJ_AMOUNT_COUNT];
    if (end->total < 0)
        return;
    bj_local_html(b,
                  end->at_least ? "<p class=\"sub\">{More than %s jobs}</p>\n"
                  : end->total == 1 ? "<p class=\"sub\">{%s job}</p>\n"
                                    : "<p class=\"sub\">{%s jobs}</p>\n",
                  bj_amount_count(n, end->total));
}

static int jobs_put_list(struct bj_call *c, const struct bj_params *p,
                         const struct bj_params *list,
                         const char *const *columns, struct bj_jobs_end *end)
{
    struct bj_page_table table;
    struct bj_buf rows = {0}, link = {0};
    bj_buf_str(&link, "jobs?");
    bj_page_args(&link, c,
                 BJ_BIT(BJ_PARAM_CURSOR) | BJ_BIT(BJ_PARAM_SORT) |
                     BJ_BIT(BJ_PARAM_ORDER));
    bj_buf_put(&link, "", 1);
    bj_page_table_begin(&table, &rows, bj_job_columns, columns, "");
    table.link = link.failed ? NULL : link.p;
    table.sorted = p->given[BJ_PARAM_SORT] ? bj_params_text(p, BJ_PARAM_SORT)
                                           : BJ_SLICE("start");
    table.ascending =
        bj_slice_eq(bj_params_text(p, BJ_PARAM_ORDER), BJ_SLICE("asc"));
    int r =
        bj_jobs_list(c, list, &(struct bj_output){.cells = &table.cells}, end);
    table.is_part = *end->next || end->partial || p->given[BJ_PARAM_CURSOR];
    bj_page_table_end(&table, end->partial ? "No jobs found so far."
                              : p->given[BJ_PARAM_JOB]
                                  ? "You have no job with this id."
                                  : "No jobs found in this time.");
    if (list->number[BJ_PARAM_TOTAL])
        put_count(&c->reply->body, end);
    bj_buf_slice(&c->reply->body, (struct bj_slice){rows.p, rows.len});
    c->reply->body.failed |= rows.failed || link.failed;
    bj_buf_free(&rows);
    bj_buf_free(&link);
    return r;
}

/* Does the list leave waiting jobs out, which are above it?  Not if the request
 * names states or a job. */
static bool is_apart(const struct bj_params *p)
{
    return !p->given[BJ_PARAM_STATE] && !p->given[BJ_PARAM_JOB];
}

static int put_state(struct bj_call *c, struct bj_params *p, const char *state)
{
    return bj_params_put(c, p, BJ_BIT(BJ_PARAM_STATE), BJ_SLICE("state"),
                         bj_slice_str(state));
}

/* Append the first waiting jobs, if there are any, before those that ran. */
static int put_waiting(struct bj_call *c, const struct bj_params *p)
{
    enum { WAITING_MAX = 5 };
    struct bj_buf *b = &c->reply->body, link = {0}, rows = {0};
    const char *columns[COLUMNS + 1];
    struct bj_page_table table;
    struct bj_jobs_end end = {0};
    struct bj_params list = *p;
    char n[BJ_AMOUNT_COUNT];
    int r = put_state(c, &list, "pending");
    list.given[BJ_PARAM_LIMIT] = list.given[BJ_PARAM_TOTAL] = true;
    list.number[BJ_PARAM_LIMIT] = WAITING_MAX;
    list.number[BJ_PARAM_TOTAL] = 1;
    list.given[BJ_PARAM_SORT] = list.given[BJ_PARAM_ORDER] = false;
    choose_columns(c, &list, columns);
    if (r == 0)
        r = bj_page_fields(c, &list, columns);
    if (r == 0)
        r = bj_params_put(c, &list, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          BJ_SLICE("name"));
    bj_page_table_begin(&table, &rows, bj_job_columns, columns, "");
    if (r == 0)
        r = bj_jobs_list(c, &list, &(struct bj_output){.cells = &table.cells},
                         &end);
    const bool any = table.rows > 0;
    table.is_part = *end.next;
    bj_page_table_end(&table, "");
    if (any) {
        jobs_link(c, BJ_BIT(BJ_PARAM_STATE), &link);
        bj_buf_str(&link, "state=pending");
        bj_buf_put(&link, "", 1);
        bj_local_html_str(b, "<div class=\"bar-head\"><h2>{Waiting}</h2>");
        if (*end.next && !link.failed && end.total > 0)
            bj_local_html(b, "<a class=\"small\" href=\"%s\">{All %s}</a>",
                          link.p, bj_amount_count(n, end.total));
        bj_buf_str(b, "</div>\n");
        bj_buf_slice(b, (struct bj_slice){rows.p, rows.len});
        bj_local_html_str(b, "<h2>{Started}</h2>\n");
    }
    b->failed |= rows.failed | link.failed;
    bj_buf_free(&rows);
    bj_buf_free(&link);
    return r;
}

static int on_jobs(struct bj_call *c)
{
    struct bj_params p, list;
    struct bj_jobs_end end = {0};
    const char *columns[COLUMNS + 1];
    int64_t n[BJ_STATES];
    static const char *const started[] = {"running", "suspended", "ended"};
    int r = bj_params_read(c, JOBS, &p);
    if (r != 0)
        return r;
    bj_page_times(c, &p);
    /* The list in order of start times needs no sort. */
    if (bj_slice_eq(bj_params_text(&p, BJ_PARAM_SORT), BJ_SLICE("start")))
        p.given[BJ_PARAM_SORT] = false;
    list = p;
    if (list.given[BJ_PARAM_LIMIT] && list.number[BJ_PARAM_LIMIT] > ROWS_MAX)
        list.number[BJ_PARAM_LIMIT] = ROWS_MAX;
    choose_columns(c, &p, columns);
    r = bj_page_fields(c, &list, columns);
    if (r == 0)
        r = bj_params_put(c, &list, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          BJ_SLICE("name"));
    if (r == 0 && is_apart(&p))
        for (size_t i = 0; i < sizeof(started) / sizeof(started[0]) && r == 0;
             i++)
            r = put_state(c, &list, started[i]);
    if (r != 0)
        return r;
    bj_page_open(c, bj_local(bj_page_sees_others(c) ? "Jobs" : "My jobs"), "");
    r = jobs_put_form(c, &p);
    if (r == 0)
        r = count_states(c, &p, n);
    if (r != 0)
        return r;
    bj_buf_str(&c->reply->body, "<section class=\"card\">");
    put_tabs(c, &p, n);
    /* The tabs have counted a list without states. */
    list.given[BJ_PARAM_TOTAL] = true;
    list.number[BJ_PARAM_TOTAL] = !is_apart(&p) || n[0] == NOT_COUNTED;
    put_chips(c, &p);
    if (r == 0 && is_apart(&p) && !p.given[BJ_PARAM_CURSOR])
        r = put_waiting(c, &p);
    end.total = NOT_COUNTED;
    if (!list.number[BJ_PARAM_TOTAL])
        put_count(&c->reply->body,
                  &(struct bj_jobs_end){
                      .at_least = n[0] == MORE,
                      .total = n[0] == MORE ? COUNTED_MAX
                                            : n[0] - n[BJ_STATE_PENDING]});
    if (r == 0)
        r = jobs_put_list(c, &p, &list, columns, &end);
    jobs_put_next(c, &p, &end);
    bj_buf_str(&c->reply->body, "</section>\n");
    bj_page_close(c);
    return r;
}

const struct bj_endpoint bj_endpoints_page_jobs[] = {
    {.path = "/jobs",
     .methods = BJ_HTTP_GET,
     .needs = NEED,
     .run = on_jobs,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "Jobs",
     .help = "Web page: jobs.",
     .type = "text/html",
     .params = JOBS},
    {.path = NULL},
};
