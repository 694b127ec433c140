/* The pages of a user and of an account: sums, months, findings. */
#include "apiserver/frame/query.h"
#include "apiserver/frame/widget.h"
#include "apiserver/job/drawing.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/table.h"
#include "apiserver/v1/usage.h"
#include "base/html.h"
#include "base/local.h"

enum {
    NEED = BJ_NEED_STORE | BJ_NEED_USER,
    DAY = 86400,
    RECENT = 30, /* days */
    YEAR = 365,
    RULES = 50
};

static const struct bj_column finding_columns[] = {
    BJ_COLUMN("finding", TEXT, "r.name", "Name of the rule.",
              .label = "Finding", .form = BJ_SHOW_FINDINGS),
    BJ_COLUMN("severity", TEXT, "r.severity", "Severity.", .label = "Severity",
              .form = BJ_SHOW_STATE),
    BJ_COLUMN("jobs", INT, "count(*)", "Jobs with it.", .label = "Jobs"),
    {.name = NULL},
};
static const char *const shown[] = {"severity", "finding", "jobs", NULL};

/* Append the filters of p, for links. */
static void put_filters(struct bj_buf *b, const struct bj_params *p)
{
    static const enum bj_param filters[] = {
        BJ_PARAM_USER, BJ_PARAM_ACCOUNT, BJ_PARAM_PARTITION, BJ_PARAM_CLUSTER};
    bool any = false;
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
        for (unsigned v = 0; v < p->values; v++)
            if (p->value[v].which == filters[i]) {
                bj_buf_printf(b, "%s%s=", any ? "&amp;" : "",
                              bj_param_rules[filters[i]].name);
                bj_url_text(b, p->value[v].text);
                any = true;
            }
    bj_buf_put(b, "", 1);
}

int bj_page_finding_counts(struct bj_call *c, const struct bj_params *p,
                           const char *to_root)
{
    const struct bj_filter_time time = {p->number[BJ_PARAM_FROM],
                                        p->number[BJ_PARAM_TO], 0};
    struct bj_query q = {.time = &time};
    struct bj_picked k;
    struct bj_buf filters = {0};
    struct bj_page_table table;
    bool cut;
    bj_picked_table(&k, finding_columns);
    bj_query_sql(&q, "SELECT ");
    bj_table_select(&q, &k);
    bj_query_sql(&q, " FROM job AS j CROSS JOIN job_finding AS f CROSS JOIN"
                     " finding_rule AS r WHERE f.job = j.id AND r.id = f.rule");
    int r = bj_query_scope(&q, c, p, "j");
    if (r == 0)
        r = bj_query_between(&q, c, "j.at", &time);
    bj_query_sql(&q, " GROUP BY r.name, r.severity ORDER BY r.severity ="
                     " 'critical' DESC, r.severity = 'warning' DESC,"
                     " count(*) DESC, r.name");
    put_filters(&filters, p);
    bj_page_table_begin(&table, &c->reply->body, finding_columns, shown,
                        to_root);
    table.at.filters = filters.failed || !filters.p[0] ? NULL : filters.p;
    if (r == 0)
        r = bj_table_rows(c, &q, &k, &(struct bj_output){.cells = &table.cells},
                          RULES, &cut);
    bj_page_table_end(&table, "No findings.");
    bj_query_free(&q);
    bj_buf_free(&filters);
    return r;
}

static int put_usage(struct bj_call *c, const struct bj_params *p,
                     const char *group, int64_t days, const char *title)
{
    struct bj_params one = *p;
    int r = bj_params_put(c, &one, BJ_BIT(BJ_PARAM_GROUP_BY),
                          BJ_SLICE("group_by"), bj_slice_str(group));
    one.given[BJ_PARAM_FROM] = one.given[BJ_PARAM_TO] = true;
    one.number[BJ_PARAM_TO] = c->now_sec;
    one.number[BJ_PARAM_FROM] = c->now_sec - days * DAY;
    bj_widget_card(&c->reply->body, title, NULL, NULL);
    if (r == 0)
        r = bj_page_usage_table(c, &one,
                                &(struct bj_page_place){.to_root = "../"});
    bj_widget_card_end(&c->reply->body);
    return r;
}

static void put_links(struct bj_call *c, const char *parameter, bool is_own)
{
    static const struct {
        const char *args, *title;
    } links[] = {
        {"", "Jobs of the last week"},
        {"&amp;state=running", "running"},
        {"&amp;state=pending", "waiting"},
        {"&amp;state=failed", "failed"},
        {"&amp;sort=findings", "with findings first"},
    };
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<p>");
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        bj_buf_printf(b, "%s<a href=\"../jobs?%s=", i ? " &middot; " : "",
                      parameter);
        bj_url_text(b, c->tail);
        bj_buf_printf(b, "%s\">%s</a>", links[i].args,
                      bj_local_escaped(links[i].title));
    }
    if (is_own)
        bj_local_html(b,
                      " &middot; <a href=\"../mail\">{Mails about jobs}</a>");
    bj_buf_str(b, "</p>\n");
}

/* Links to the bills of the last whole month and of this one. */
static void person_put_bills(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    const int64_t now = bj_page_month_now(c);
    bj_buf_str(b, "<p>");
    for (int64_t month = now - 1; month <= now; month++) {
        bj_buf_str(b, month == now ? " <a class=\"btn\" href=\"../accounts/"
                                   : "<a class=\"btn\" href=\"../accounts/");
        bj_url_text(b, c->tail);
        bj_buf_str(b, "?month=");
        bj_page_month_number(b, month);
        bj_local_html(b, "\">{Bill:} ");
        bj_page_month_name(b, month);
        bj_buf_str(b, "</a>");
    }
    bj_buf_str(b, "</p>\n");
}

static void open_page(struct bj_call *c, const char *what)
{
    struct bj_buf title = {0};
    bj_buf_str(&title, bj_local(what));
    bj_buf_str(&title, " ");
    bj_buf_slice(&title, c->tail);
    bj_buf_put(&title, "", 1);
    c->reply->body.failed |= title.failed;
    bj_page_open(c, title.failed ? "" : title.p, "../");
    bj_buf_free(&title);
}

static int on_person(struct bj_call *c, enum bj_param which, const char *what,
                     const char *other, const char *other_title)
{
    struct bj_params p;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(which),
                          bj_slice_str(bj_param_rules[which].name), c->tail);
    if (r != 0)
        return r;
    if (p.given[BJ_PARAM_MONTH] || p.given[BJ_PARAM_FORMAT])
        return bj_page_bill(c, &p);
    p.number[BJ_PARAM_FROM] = c->now_sec - RECENT * DAY;
    p.number[BJ_PARAM_TO] = c->now_sec;
    open_page(c, what);
    if (which == BJ_PARAM_ACCOUNT)
        person_put_bills(c);
    put_links(c, bj_param_rules[which].name,
              which == BJ_PARAM_USER &&
                  bj_slice_eq(c->tail, bj_slice_str(c->identity.user)));
    bj_widget_card(&c->reply->body, "Findings of the last 30 days", NULL, NULL);
    r = bj_page_finding_counts(c, &p, "../");
    bj_widget_card_end(&c->reply->body);
    if (r == 0)
        r = put_usage(c, &p, other, RECENT, other_title);
    if (r == 0)
        r = put_usage(c, &p, "month", YEAR, "The last year by month");
    bj_page_close(c);
    return r;
}

static int on_user(struct bj_call *c)
{
    return on_person(c, BJ_PARAM_USER, "User", "account",
                     "The last 30 days by account");
}

static int on_account(struct bj_call *c)
{
    return on_person(c, BJ_PARAM_ACCOUNT, "Account", "user",
                     "The last 30 days by user");
}

#define PERSON(name, handler, mask, text)                                      \
    {                                                                          \
        .path = name, .methods = BJ_HTTP_GET, .needs = NEED, .run = handler,   \
        .after = bj_drawing_document, .refused = bj_page_refuse,               \
        .to_root = "../", .help = text, .type = "text/html", .params = mask    \
    }

const struct bj_endpoint bj_endpoints_page_person[] = {
    PERSON("/users/*", on_user, 0, "Web page: one user."),
    PERSON("/accounts/*", on_account,
           BJ_BIT(BJ_PARAM_MONTH) | BJ_BIT(BJ_PARAM_FORMAT) |
               BJ_BIT(BJ_PARAM_PAPER),
           "Web page: one account; of a month: its bill, also as CSV and "
           "PDF."),
    {.path = NULL},
};
