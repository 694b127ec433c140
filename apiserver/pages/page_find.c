/* One field finds a job, user, account, partition or node, and sends the
 * browser to its page; so does the number of a job right below the root. */
#include "apiserver/frame/page.h"
#include "apiserver/frame/query.h"
#include "base/html.h"
#include "statsdb/job/job_name.h"

#include <string.h>

enum { NEED = BJ_NEED_STORE | BJ_NEED_USER, TEXT_BYTES = 200 };

/* Send the browser to a page, below the root: path and name. */
static int find_go(struct bj_call *c, const char *path, struct bj_slice name)
{
    struct bj_buf to = {0};
    bj_buf_str(&to, path);
    bj_url_text(&to, name);
    bj_buf_put(&to, "", 1);
    c->reply->body.failed |= to.failed;
    if (!to.failed && to.len <= sizeof(c->location)) {
        memcpy(c->location, to.p, to.len);
        c->reply->status = 303;
        c->reply->type = "text/html; charset=utf-8";
        bj_call_header(c, "Location", c->location);
        bj_call_header(c, "Cache-Control", "no-store");
    }
    c->reply->body.failed |= to.failed;
    bj_buf_free(&to);
    return 0;
}

/* 1: the query has a row, 0: it has none, or an error of the store. */
static int find_any(struct bj_call *c, struct bj_query *q)
{
    struct bj_st *st = NULL;
    bj_query_sql(q, " LIMIT 1");
    int r = bj_query_open(q, c->reader, &st, &c->err);
    if (r == 0)
        r = bj_st_row(st, &c->err);
    bj_query_free(q);
    return r;
}

/* The first kind of thing that the user may see and that has this name. */
static int find_name(struct bj_call *c, const struct bj_params *p,
                     struct bj_slice name)
{
    static const struct {
        const char *sql, *path;
        bool open; /* everybody may know that it exists */
    } kinds[] = {
        {"SELECT 1 FROM assoc AS a JOIN user AS n ON n.id = a.user WHERE "
         "n.name = ",
         "users/", false},
        {"SELECT 1 FROM assoc AS a JOIN account AS n ON n.id = a.account WHERE "
         "n.name = ",
         "accounts/", false},
        {"SELECT 1 FROM assoc AS a JOIN partition AS n ON n.id = a.partition "
         "WHERE n.name = ",
         "jobs?partition=", false},
        {"SELECT 1 FROM host WHERE name = ", "nodes/", true},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct bj_query q = {0};
        bj_query_sql(&q, kinds[i].sql);
        bj_query_text(&q, name);
        int r = kinds[i].open ? 0 : bj_query_scope(&q, c, p, "a");
        if (r == 0)
            r = find_any(c, &q);
        else
            bj_query_free(&q);
        if (r != 0)
            return r < 0 ? r : find_go(c, kinds[i].path, name);
    }
    return find_go(c, "jobs?name=", name);
}

struct find_text {
    char text[TEXT_BYTES];
    size_t n;
};

static int find_take(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct find_text *t = ctx;
    value = bj_slice_trim(value);
    if (!bj_slice_eq(key, BJ_SLICE("q")))
        return 1;
    if (value.n > sizeof(t->text))
        return 2;
    t->n = value.n;
    if (value.n > 0)
        memcpy(t->text, value.p, value.n);
    return 0;
}

/* Is it the id or key of a job?  Other names begin with digits, too. */
static bool find_is_job(struct bj_slice name)
{
    const enum bj_job_name_kind kind = bj_job_name_parse(name).kind;
    return kind != BJ_NAME_JOBID || (name.p[0] >= '0' && name.p[0] <= '9' &&
                                     memchr(name.p, '.', name.n));
}

static int on_find(struct bj_call *c)
{
    struct find_text t = {.n = 0};
    struct bj_params p = {.values = 0};
    int r = bj_http_each_arg(c->req, find_take, &t);
    const struct bj_slice name = {t.text, t.n};
    if (r != 0)
        return bj_call_refuse(c, 400,
                              r == 1
                                  ? "Unknown parameter; the parameters are q."
                                  : "q: expected at most %d bytes.",
                              TEXT_BYTES);
    if (name.n == 0)
        return find_go(c, "jobs", name);
    if (find_is_job(name))
        return find_go(c, "jobs/", name);
    return find_name(c, &p, name);
}

static int on_short(struct bj_call *c)
{
    return find_go(c, "jobs/", c->tail);
}

static const struct bj_own_param find_params[] = {
    {"q", "A job, user, account, partition or node.", "{\"type\":\"string\"}",
     1},
    {.name = NULL},
};

const struct bj_endpoint bj_endpoints_page_find[] = {
    {.path = "/find",
     .methods = BJ_HTTP_GET,
     .needs = NEED,
     .run = on_find,
     .refused = bj_page_refuse,
     .to_root = "",
     .help = "Go to the page of a job, user, account, partition or node.",
     .own = find_params,
     .own_params = 1,
     .type = "text/html"},
    {.path = "/*",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_USER,
     .digit = true,
     .run = on_short,
     .refused = bj_page_refuse,
     .to_root = "",
     .help = "Go to the page of a job.",
     .type = "text/html"},
    {.path = NULL},
};
