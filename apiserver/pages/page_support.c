/* The page for support staff: problems that need attention now, and the users
 * with the most unused resources. */
#include "apiserver/frame/state.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/findings.h"
#include "apiserver/v1/jobs.h"
#include "apiserver/v1/usage.h"
#include "base/local.h"

enum {
    DAY = 86400,
    DAYS = 7,
    YEAR = 365,
    USERS = 10,
    JOBS = 10,
    FINDINGS = 50,
    MASK = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_PARTITION)
};

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
    bj_local_html(b, "<h2>{Running jobs with findings}</h2>\n");
    bj_page_table_begin(&table, b, bj_finding_columns, running_columns, "");
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_SORT), BJ_SLICE("sort"),
                          BJ_SLICE("cost"));
    if (r == 0)
        r = bj_findings_list(c, &p, &(struct bj_output){.cells = &table.cells},
                             &end);
    bj_page_table_end(&table, "No rule finds anything in running jobs.");
    if (r == 0 && *end.next)
        bj_local_html(b, "<p>{There are more; choose a partition.}</p>\n");
    return r;
}

/* --- unused resources by user -----------------------------------------------
 */

static int put_users(struct bj_call *c, const struct bj_params *filters,
                     const char *order, const char *title)
{
    struct bj_params p = *filters;
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_GROUP_BY),
                          BJ_SLICE("group_by"), BJ_SLICE("user"));
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_SORT), BJ_SLICE("sort"),
                          bj_slice_str(order));
    bj_buf_printf(&c->reply->body, "<h2>%s</h2>\n", bj_local_escaped(title));
    return r == 0 ? bj_page_usage_brief(
                        c, &p, &(struct bj_page_place){.to_root = ""}, USERS)
                  : r;
}

static const char *const idle_columns[] = {
    "display_id",    "user", "account",          "name",
    "state",         "gpus", "gpu_idle_seconds", "gpu_efficiency_percent",
    "finding_names", NULL};

static int put_idle_jobs(struct bj_call *c, const struct bj_params *filters)
{
    struct bj_params p = *filters;
    struct bj_jobs_end end = {0};
    struct bj_page_table table;
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_SORT), BJ_SLICE("sort"),
                          BJ_SLICE("gpu_idle_seconds"));
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_GPU), BJ_SLICE("gpu"),
                          BJ_SLICE("true"));
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_STATE), BJ_SLICE("state"),
                          BJ_SLICE("ended"));
    if (r == 0)
        r = bj_page_fields(c, &p, idle_columns);
    p.given[BJ_PARAM_LIMIT] = true;
    p.number[BJ_PARAM_LIMIT] = JOBS;
    bj_local_html(&c->reply->body,
                  "<h2>{Jobs with the most idle GPU time}</h2>\n");
    bj_page_table_begin(&table, &c->reply->body, bj_job_columns, idle_columns,
                        "");
    if (r == 0)
        r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &table.cells},
                         &end);
    bj_page_table_end(&table, "No job with GPUs has ended.");
    return r;
}

/* --- the page --------------------------------------------------------------
 */

static int support_put_parts(struct bj_call *c, const struct bj_params *p)
{
    int r = put_running(c, p);
    bj_local_html(&c->reply->body,
                  "<p class=\"sub\">{Below: the last %d days.}</p>\n", DAYS);
    if (r == 0)
        r = put_users(c, p, "gpu_unused_hours",
                      "Users with the most unused GPU hours");
    if (r == 0)
        r = put_idle_jobs(c, p);
    if (r == 0)
        r = put_users(c, p, "cpu_unused_hours",
                      "Users with the most unused core hours");
    bj_local_html(&c->reply->body, "<h2>{Findings by rule}</h2>\n");
    return r == 0 ? bj_page_finding_counts(c, p, "") : r;
}

static int on_support(struct bj_call *c)
{
    struct bj_params p;
    int r = bj_params_read(c, MASK, &p);
    if (r != 0)
        return r;
    p.given[BJ_PARAM_FROM] = p.given[BJ_PARAM_TO] = true;
    p.number[BJ_PARAM_TO] = c->now_sec;
    p.number[BJ_PARAM_FROM] = c->now_sec - DAYS * DAY;
    bj_page_open(c, bj_local("Support"), "");
    bj_buf_str(&c->reply->body, "<form>");
    bj_page_input(&c->reply->body, &p, BJ_PARAM_PARTITION, "Partition", "text");
    bj_page_input(&c->reply->body, &p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_local_html(&c->reply->body, "<button>{Show}</button></form>\n");
    r = support_put_parts(c, &p);
    bj_page_close(c);
    return r;
}

const struct bj_endpoint bj_endpoints_page_support[] = {
    {.path = "/support",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_support,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "Support",
     .menu_for = BJ_MENU_COORDINATORS,
     .help = "Web page: running jobs with findings, and who leaves most "
             "unused.",
     .type = "text/html",
     .params = MASK},
    {.path = NULL},
};
