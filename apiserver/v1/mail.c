/* The user's choice of mails: /api/v1/mail and the page /mail (docs/mail.md).
 * These are the only requests that write into the store, each in a short
 * transaction while batchjob_stats_db may run. */
#include "statsdb/tables/mail_choice.h"

#include "apiserver/frame/page.h"
#include "apiserver/frame/params.h"
#include "apiserver/frame/state.h"
#include "base/html.h"
#include "base/json.h"
#include "base/local.h"
#include "statsdb/tables/store.h"

#include <string.h>

enum { BUSY_USEC = 5000000 };

static const struct {
    const char *choice, *title;
} choices[] = {
    {"", "Default of the site"},
    {"off", "No mails"},
    {"advice", "At the end of a job with advice or a finding"},
    {"all", "At the end of each job"},
    {"daily", "A digest each day"},
    {"weekly", "A digest each week"},
};

enum { CHOICES = sizeof(choices) / sizeof(choices[0]) };

/* --- changing the choice ----------------------------------------------------
 */

/* Was a form sent from a page of this server?  Browsers send the origin of the
 * page; forms of other sites must not use the credentials that the browser
 * adds. Other programs send no origin. */
static bool is_own_page(const struct bj_call *c)
{
    struct bj_slice from = bj_http_header(c->req, "Sec-Fetch-Site");
    struct bj_slice origin = bj_http_header(c->req, "Origin");
    struct bj_slice host = bj_http_header(c->req, "Host");
    if (from.n > 0)
        return bj_slice_eq(from, BJ_SLICE("same-origin")) ||
               bj_slice_eq(from, BJ_SLICE("none"));
    if (origin.n == 0)
        return true;
    for (size_t i = 0; i + 3 <= origin.n; i++)
        if (memcmp(origin.p + i, "://", 3) == 0)
            return bj_slice_eq(
                host, (struct bj_slice){origin.p + i + 3, origin.n - i - 3});
    return false;
}

/* Read the value of choice in a form; false: missing or invalid. */
static bool read_choice(const struct bj_call *c, struct bj_slice *ret)
{
    struct bj_slice rest = c->req->body, field, name;
    while (bj_slice_field(&rest, '&', &field)) {
        if (!bj_slice_field(&field, '=', &name) ||
            !bj_slice_eq(name, BJ_SLICE("choice")))
            continue;
        *ret = field;
        bool is_default = bj_slice_eq(field, BJ_SLICE("default"));
        ret->n = is_default ? 0 : field.n;
        return is_default || (field.n > 0 && bj_mail_choice_is(field));
    }
    return false;
}

static int write_choice(struct bj_call *c, struct bj_slice choice)
{
    const struct bj_api_conf *conf = c->worker->conf;
    const struct bj_store_options opt = {.path = conf->store,
                                         .any_filesystem = conf->any_filesystem,
                                         .busy_usec = BUSY_USEC,
                                         .short_writes = true};
    struct bj_store *s = NULL;
    int r = bj_store_open(&opt, &s, &c->err);
    if (r == 0)
        r = bj_mail_choice_write(s, bj_slice_str(c->identity.user), choice,
                                 c->now_sec, &c->err);
    bj_store_close(s);
    if (r == 0)
        return 0;
    bj_call_log(c, "choice of mails");
    return bj_call_refuse(c, 503, "The choice cannot be stored at the moment.");
}

/* Change the choice of the user: 0, or a refusal. */
static int mail_change(struct bj_call *c)
{
    struct bj_slice choice;
    if (!is_own_page(c))
        return bj_call_refuse(c, 403, "A page of another site sent this form.");
    if (!read_choice(c, &choice))
        return bj_call_refuse(
            c, 400,
            "Send a form with choice=off, advice, all, daily, weekly or "
            "default.");
    return write_choice(c, choice);
}

static bool is_post(const struct bj_call *c)
{
    return c->req->method == BJ_HTTP_POST;
}

static int read_own(struct bj_call *c, struct bj_mail_choice *ret)
{
    struct bj_params p;
    int r = is_post(c) ? mail_change(c) : bj_params_read(c, 0, &p);
    if (r == 0)
        r = bj_reader_begin(c->worker->reader, &c->err);
    if (r != 0)
        return r;
    r = bj_mail_choice_read(bj_reader_db(c->worker->reader),
                            bj_slice_str(c->identity.user), ret, &c->err);
    bj_reader_end(c->worker->reader);
    return r;
}

/* --- showing the choice -----------------------------------------------------
 */

static void put_member(struct bj_buf *b, const char *before, const char *text)
{
    bj_buf_str(b, before);
    if (text[0])
        bj_json_string(b, bj_slice_str(text));
    else
        bj_buf_str(b, "null");
}

static int on_api(struct bj_call *c)
{
    struct bj_mail_choice own;
    int r = read_own(c, &own);
    if (r != 0)
        return r;
    bj_call_open(c);
    put_member(&c->reply->body, "{\"user\":", c->identity.user);
    put_member(&c->reply->body, ",\"choice\":", own.choice);
    put_member(&c->reply->body, ",\"default\":", own.by_default);
    bj_buf_str(&c->reply->body, "}");
    bj_call_close(c, "");
    return 0;
}

static const char *title_of(const char *choice)
{
    for (unsigned i = 1; i < CHOICES; i++)
        if (strcmp(choices[i].choice, choice) == 0)
            return choices[i].title;
    return "";
}

static int on_page(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_mail_choice own;
    int r = read_own(c, &own);
    if (r != 0)
        return r;
    bj_page_open(c, bj_local("Mails about your jobs"), "");
    if (is_post(c))
        bj_local_html(b, "<p><b>{Your choice is stored.}</b></p>\n");
    if (!own.by_default[0])
        bj_local_html(b, "<p>{This site sends no mails now. Your choice counts "
                         "when it does.}</p>\n");
    else
        bj_local_html(b, "<p>{The default of the site is: %s.}</p>\n",
                      bj_local_escaped(title_of(own.by_default)));
    bj_local_html(b, "<form method=\"post\" action=\"mail\"><label>{You "
                     "get}<select name=\"choice\">");
    for (unsigned i = 0; i < CHOICES; i++)
        bj_buf_printf(b, "<option value=\"%s\"%s>%s</option>",
                      i == 0 ? "default" : choices[i].choice,
                      strcmp(choices[i].choice, own.choice) == 0 ? " selected"
                                                                 : "",
                      bj_local_escaped(choices[i].title));
    bj_local_html(b, "</select></label><button>{Store}</button></form>\n");
    bj_page_close(c);
    return 0;
}

const struct bj_endpoint bj_endpoints_mail[] = {
    {.path = "/api/v1/mail",
     .methods = BJ_HTTP_GET | BJ_HTTP_POST,
     .needs = BJ_NEED_USER,
     .run = on_api,
     .help = "What the user gets by mail; POST a form with choice to change "
             "it."},
    {.path = "/mail",
     .methods = BJ_HTTP_GET | BJ_HTTP_POST,
     .needs = BJ_NEED_USER,
     .run = on_page,
     .refused = bj_page_refuse,
     .to_root = "",
     .help = "Web page: what the user gets by mail.",
     .type = "text/html"},
    {.path = NULL},
};
