/* The page for management: usage by faculty, account, month and
 * application. */
#include "apiserver/pages/pages.h"
#include "apiserver/v1/applications.h"
#include "apiserver/v1/usage.h"
#include "base/local.h"

enum {
    DAY = 86400,
    DAYS = 30, /* default period */
    MASK =
        BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO) | BJ_BIT(BJ_PARAM_CLUSTER)
};

static int management_put_group(struct bj_call *c, const struct bj_params *p,
                                const char *group, const char *title)
{
    struct bj_params one = *p;
    int r = bj_params_put(c, &one, BJ_BIT(BJ_PARAM_GROUP_BY),
                          BJ_SLICE("group_by"), bj_slice_str(group));
    bj_buf_printf(&c->reply->body, "<h2>%s</h2>\n", bj_local_escaped(title));
    return r == 0 ? bj_page_usage_brief(
                        c, &one, &(struct bj_page_place){.to_root = ""}, 0)
                  : r;
}

static void management_put_form(struct bj_call *c, const struct bj_params *p)
{
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<form>");
    bj_page_date(b, p, BJ_PARAM_FROM, "From");
    bj_page_date(b, p, BJ_PARAM_TO, "To");
    bj_page_input(b, p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_local_html(b, "<button>{Show}</button></form>\n");
}

static int on_management(struct bj_call *c)
{
    struct bj_params p;
    int r = bj_params_read(c, MASK, &p);
    if (r != 0)
        return r;
    const bool given = p.given[BJ_PARAM_FROM];
    bj_page_times(c, &p);
    if (!given)
        p.number[BJ_PARAM_FROM] = p.number[BJ_PARAM_TO] - DAYS * DAY;
    bj_page_open(c, bj_local("Management"), "");
    management_put_form(c, &p);
    bj_page_periods(c, "management");
    if (bj_page_has_faculties(c))
        r = management_put_group(c, &p, "faculty", "By faculty");
    if (r == 0)
        r = management_put_group(c, &p, "account", "By account");
    if (r == 0)
        r = management_put_group(c, &p, "month", "By month");
    bj_page_usage_note(&c->reply->body);
    bj_local_html(&c->reply->body, "<h2>{By application}</h2>\n");
    if (r == 0)
        r = bj_applications_page(c, &p);
    bj_local_html(
        &c->reply->body,
        "<p class=\"mute\">{By application: of jobs that ended in this time, "
        "with all hours of their run.}</p>\n");
    bj_page_close(c);
    return r;
}

const struct bj_endpoint bj_endpoints_page_management[] = {
    {.path = "/management",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_management,
     .refused = bj_page_refuse,
     .to_root = "",
     .help = "Web page: usage by faculty, account, month and application.",
     .type = "text/html",
     .params = MASK},
    {.path = NULL},
};
