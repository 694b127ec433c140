#include "apiserver/frame/page.h"

#include "apiserver/frame/state.h"
#include "base/html.h"
#include "base/local.h"
#include "base/tz.h"
#include "report/model/show.h"

#include <strings.h>

/* Load only the style and pictures of this server; no scripts, no frames. */
static const char policy[] =
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'";

/* --- the frame -------------------------------------------------------------
 */

/* Append the links to the main pages; the link to this page is marked. */
static void put_places(struct bj_call *c, const char *to_root)
{
    static const struct {
        const char *path, *name;
        enum { ALL, COORDINATORS, ADMINS } audience;
    } places[] = {{"jobs", "Jobs", ALL},
                  {"queue", "Queue", ALL},
                  {"findings", "Findings", ALL},
                  {"usage", "Usage", ALL},
                  {"cluster", "Cluster", ALL},
                  {"support", "Support", COORDINATORS},
                  {"management", "Management", COORDINATORS},
                  {"gpus", "GPUs", ADMINS}};
    struct bj_buf *b = &c->reply->body;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *path = c->endpoint ? c->endpoint->path : "/";
        if ((places[i].audience != ALL && !c->identity.admin) &&
            (places[i].audience == ADMINS || c->identity.accounts == 0))
            continue;
        bj_buf_printf(b, "<a href=\"%s%s\"%s>%s</a> ", to_root, places[i].path,
                      strcmp(path + 1, places[i].path) == 0
                          ? " aria-current=\"page\""
                          : "",
                      bj_local_escaped(places[i].name));
    }
}

void bj_page_open(struct bj_call *c, const char *title, const char *to_root)
{
    struct bj_buf *b = &c->reply->body;
    c->reply->type = "text/html; charset=utf-8";
    bj_call_header(c, "Content-Security-Policy", policy);
    bj_call_header(c, "Referrer-Policy", "no-referrer");
    bj_local_html(b, "<!DOCTYPE html>\n<html lang=\"{en}\"><head><meta charset="
                     "\"utf-8\"><meta name=\"viewport\" content=\"width=device-"
                     "width,initial-scale=1\"><title>");
    bj_html_text(b, bj_slice_str(title));
    bj_local_html(b,
                  "</title><link rel=\"stylesheet\" "
                  "href=\"%sstyle.css\"></head>\n<body><a class=\"skip\" "
                  "href=\"#main\">{Skip to the content}</a><header><nav>",
                  to_root);
    put_places(c, to_root);
    bj_buf_str(b, "</nav><span>");
    if (c->identity.user[0]) {
        bj_buf_printf(b, "<a href=\"%susers/", to_root);
        bj_url_text(b, bj_slice_str(c->identity.user));
        bj_buf_str(b, "\">");
        bj_html_text(b, bj_slice_str(c->identity.user));
        bj_buf_str(b, "</a>");
    }
    if (c->identity.admin)
        bj_local_html(b, " ({admin})");
    bj_buf_str(b, "</span></header>\n<main id=\"main\"><h1>");
    bj_html_text(b, bj_slice_str(title));
    bj_buf_str(b, "</h1>\n");
}

struct bj_buf bj_page_zone(struct bj_buf *b)
{
    struct bj_buf name = {0};
    bj_html_text(&name, bj_slice_str(bj_tz_name(bj_tz_used())));
    bj_buf_put(&name, "", 1);
    b->failed |= name.failed;
    return name;
}

void bj_page_close(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_buf zone = {0};
    bj_show_zone(&zone);
    bj_buf_str(b, "</main>\n<footer>");
    bj_html_text(b, (struct bj_slice){zone.p, zone.len});
    b->failed |= zone.failed;
    bj_buf_free(&zone);
    if (c->lag[0] && strcmp(c->lag, "0") != 0)
        bj_local_html(
            b, " {This server reads a copy of the data that is %s s behind.}",
            strcmp(c->lag, "null") == 0 ? "?" : c->lag);
    bj_buf_str(b, "</footer></body></html>\n");
}

/* Should the browser prompt for a name and password? Also if they were wrong,
 * because it would keep sending them. */
static bool may_log_in(const struct bj_call *c)
{
    struct bj_slice auth = {0}, word;
    return bj_auth_web(c->worker->auth)->conf.users > 0 &&
           (bj_http_header_all(c->req, "Authorization", &auth, 1) == 0 ||
            !bj_slice_word(&auth, &word) ||
            (word.n == 5 && strncasecmp(word.p, "basic", 5) == 0));
}

void bj_page_refuse(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    b->len = 0;
    if (c->reply->status == 403 && may_log_in(c)) {
        c->reply->status = 401;
        bj_call_header(c, "WWW-Authenticate",
                       "Basic realm=\"batch jobs\", charset=\"UTF-8\"");
    }
    bj_page_open(c, bj_local("This cannot be shown"), c->endpoint->to_root);
    bj_buf_str(b, "<p>");
    bj_html_text(b, bj_slice_str(c->refusal));
    bj_buf_str(b, "</p>\n");
    bj_page_close(c);
}
