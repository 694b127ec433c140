/* The page of findings: counts by rule, then a list. */
#include "apiserver/frame/state.h"
#include "apiserver/frame/widget.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/findings.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"

#include <stdio.h>

static const char *const shown[] = {"severity",  "display_id", "finding",
                                    "text",      "user",       "account",
                                    "partition", "end",        NULL};

static const struct bj_page_choice orders[] = {
    {"", "most severe first"}, {"start", "newest first"}, {NULL, NULL}};

static int findings_put_form(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    const int r = bj_page_filters(c, p);
    bj_page_select(b, p, BJ_PARAM_SORT, "Order", orders);
    bj_local_html_str(
        b, "<button class=\"pri\">{Show}</button></form></section>\n");
    return r;
}

static int findings_put_list(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_page_table table;
    struct bj_findings_end end;
    const bool newest =
        bj_slice_eq(bj_params_text(p, BJ_PARAM_SORT), BJ_SLICE("start"));
    bj_page_table_begin(&table, b, bj_finding_columns, shown, "");
    int r = bj_findings_list(c, p, &(struct bj_output){.cells = &table.cells},
                             &end);
    table.is_part = *end.next || p->given[BJ_PARAM_CURSOR];
    bj_page_table_end(&table, "No findings in this time.");
    if (end.partial) {
        struct bj_civil day;
        char text[16];
        bj_civil_from_days(bj_tz_day(bj_tz_used(), end.at), &day);
        snprintf(text, sizeof(text), "%04d-%02u-%02u", day.year, day.month,
                 day.day);
        bj_local_html(b,
                      "<p>{There are too many findings to sort: only those of "
                      "jobs since %s are listed.}</p>\n",
                      text);
    }
    if (!*end.next)
        return r;
    bj_buf_str(b, "<p><a rel=\"next\" href=\"findings?");
    bj_page_args(b, c, BJ_BIT(BJ_PARAM_CURSOR));
    bj_buf_printf(
        b, "cursor=%s\">%s</a></p>\n", end.next,
        bj_local_escaped(newest ? "Older findings" : "More findings"));
    return r;
}

static int on_findings(struct bj_call *c)
{
    struct bj_params p;
    int r = bj_params_read(c, BJ_FINDINGS_MASK, &p);
    if (r != 0)
        return r;
    bj_page_times(c, &p);
    bj_page_open(c, bj_local("Findings"), "");
    r = findings_put_form(c, &p);
    if (r == 0 && !p.given[BJ_PARAM_SORT])
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_SORT), BJ_SLICE("sort"),
                          BJ_SLICE("cost"));
    if (r != 0)
        return r;
    if (!p.given[BJ_PARAM_CURSOR] && !p.given[BJ_PARAM_FINDING]) {
        bj_widget_card(&c->reply->body, "By rule", NULL, NULL);
        r = bj_page_finding_counts(c, &p, "");
        bj_widget_card_end(&c->reply->body);
    }
    bj_widget_card(&c->reply->body, "By job", NULL, NULL);
    if (r == 0)
        r = findings_put_list(c, &p);
    bj_widget_card_end(&c->reply->body);
    bj_page_close(c);
    return r;
}

const struct bj_endpoint bj_endpoints_page_findings[] = {
    {.path = "/findings",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_findings,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "Findings",
     .help = "Web page: findings.",
     .type = "text/html",
     .params = BJ_FINDINGS_MASK},
    {.path = NULL},
};
