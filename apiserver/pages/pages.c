/* The page at the root, and the style sheet. */
#include "apiserver/frame/page.h"
#include "base/local.h"

int bj_page_root(struct bj_call *c)
{
    bj_page_open(c, bj_local("Batch jobs"), "");
    bj_local_html(
        &c->reply->body,
        "<ul><li><a href=\"jobs\">{Jobs}</a></li><li><a "
        "href=\"queue\">{Queue}</a></li><li><a "
        "href=\"findings\">{Findings}</a></li><li><a "
        "href=\"usage\">{Usage}</a></li><li><a href=\"cluster\">{Cluster}</a>: "
        "{nodes by state}</li><li><a href=\"support\">{Support}</a>: {running "
        "jobs with findings, who leaves most unused}</li><li><a "
        "href=\"management\">{Management}</a>: {usage by faculty, account and "
        "month}</li><li><a href=\"gpus\">{GPUs}</a>: {use of all GPUs "
        "(admins)}</li><li><a href=\"compare\">{Compare jobs}</a></li><li><a "
        "href=\"api/v1/openapi.json\">{API description "
        "(OpenAPI)}</a></li></ul>\n");
    bj_page_close(c);
    return 0;
}

static int on_style(struct bj_call *c)
{
    c->reply->type = "text/css; charset=utf-8";
    bj_page_style(&c->reply->body);
    return 0;
}

const struct bj_endpoint bj_endpoints_pages[] = {
    {.path = "/style.css",
     .methods = BJ_HTTP_GET,
     .run = on_style,
     .help = "Style sheet of the web pages.",
     .type = "text/css"},
    {.path = NULL},
};
