#include "apiserver/page.h"

#include "apiserver/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { DIGITS = 6 };

/* Nothing is loaded but our own style and pictures, nothing runs, and nobody
 * frames it. */
static const char policy[] =
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'";

void bj_page_text(struct bj_buf *b, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '&')
            bj_buf_str(b, "&amp;");
        else if (c == '<')
            bj_buf_str(b, "&lt;");
        else if (c == '>')
            bj_buf_str(b, "&gt;");
        else if (c == '"')
            bj_buf_str(b, "&quot;");
        else if (c == '\'')
            bj_buf_str(b, "&#39;");
        else
            bj_buf_put(b, c < 0x20 || c == 0x7f ? " " : &s.p[i], 1);
    }
}

void bj_page_url(struct bj_buf *b, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
            (c >= 'a' && c <= 'z') || c == '_' || c == '-' || c == '.')
            bj_buf_put(b, &s.p[i], 1);
        else
            bj_buf_printf(b, "%%%02X", c);
    }
}

/* --- the frame -------------------------------------------------------------
 */

void bj_page_open(struct bj_call *c, const char *title, const char *up)
{
    static const struct {
        const char *path, *name;
    } places[] = {{"jobs", "Jobs"}, {"usage", "Usage"}};
    struct bj_buf *b = &c->reply->body;
    c->reply->type = "text/html; charset=utf-8";
    bj_call_header(c, "Content-Security-Policy", policy);
    bj_call_header(c, "Referrer-Policy", "no-referrer");
    bj_buf_str(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset="
                  "\"utf-8\"><meta name=\"viewport\" content=\"width=device-"
                  "width\"><title>");
    bj_page_text(b, bj_slice_str(title));
    bj_buf_printf(b,
                  "</title><link rel=\"stylesheet\" href=\"%sstyle.css\">"
                  "</head>\n<body><header><nav>",
                  up);
    for (unsigned i = 0; i < 2; i++)
        bj_buf_printf(b, "<a href=\"%s%s\">%s</a> ", up, places[i].path,
                      places[i].name);
    bj_buf_str(b, "</nav><span>");
    bj_page_text(b, bj_slice_str(c->who.user));
    bj_buf_str(b, c->who.admin ? " (admin)</span></header>\n<main><h1>"
                               : "</span></header>\n<main><h1>");
    bj_page_text(b, bj_slice_str(title));
    bj_buf_str(b, "</h1>\n");
}

void bj_page_close(struct bj_call *c)
{
    bj_buf_str(&c->reply->body,
               "</main>\n<footer>Times are UTC.</footer></body></html>\n");
}

/* The sentence of an error document. */
static void put_reason(struct bj_buf *b, const struct bj_buf *document)
{
    struct bj_arena arena = {0};
    const struct bj_json *doc = NULL;
    struct bj_slice all = {document->p, document->len};
    if (bj_json_parse(&arena, all, "error", NULL, &doc, NULL) < 0)
        b->failed = true;
    bj_page_text(b, bj_json_text(bj_json_get(doc, "error")));
    bj_arena_free(&arena);
}

/* Can a browser do better by asking for a name and password?  Also when they
 * were wrong: it would go on with them, and never ask again. */
static bool may_log_in(const struct bj_call *c)
{
    struct bj_slice auth = {0}, word;
    return bj_gate_web(c->api->gate)->conf.users > 0 &&
           (bj_http_header_all(c->req, "Authorization", &auth, 1) == 0 ||
            !bj_slice_word(&auth, &word) ||
            (word.n == 5 && strncasecmp(word.p, "basic", 5) == 0));
}

void bj_page_refuse(struct bj_call *c)
{
    struct bj_buf document = c->reply->body;
    c->reply->body = (struct bj_buf){0};
    if (c->reply->status == 403 && may_log_in(c)) {
        c->reply->status = 401;
        bj_call_header(c, "WWW-Authenticate",
                       "Basic realm=\"batch jobs\", charset=\"UTF-8\"");
    }
    bj_page_open(c, "This cannot be shown", c->endpoint->up);
    bj_buf_str(&c->reply->body, "<p>");
    put_reason(&c->reply->body, &document);
    bj_buf_str(&c->reply->body, "</p>\n");
    bj_page_close(c);
    bj_buf_free(&document);
}

/* --- values ----------------------------------------------------------------
 */

static const char none[] = "<span class=\"none\">-</span>";

static void put_seconds(struct bj_buf *b, uint64_t sec)
{
    if (sec >= 86400)
        bj_buf_printf(b, "%llu-", (unsigned long long)(sec / 86400));
    bj_buf_printf(b, "%02u:%02u:%02u", (unsigned)(sec / 3600 % 24),
                  (unsigned)(sec / 60 % 60), (unsigned)(sec % 60));
}

/* micro / 10^6 with one digit behind the point, cut. */
static void put_tenths(struct bj_buf *b, uint64_t micro, const char *unit)
{
    bj_buf_printf(b, "%llu.%u%s", (unsigned long long)(micro / 1000000),
                  (unsigned)(micro / 100000 % 10), unit);
}

static void put_bytes(struct bj_buf *b, uint64_t bytes)
{
    static const char *const units[] = {" B",   " KiB", " MiB",
                                        " GiB", " TiB", " PiB"};
    unsigned u = 0;
    uint64_t scale = 1;
    while (u < 5 && bytes / scale >= 1024) {
        scale *= 1024;
        u++;
    }
    bj_buf_printf(b, "%llu", (unsigned long long)(bytes / scale));
    if (u > 0)
        bj_buf_printf(b, ".%u", (unsigned)(bytes % scale * 10 / scale));
    bj_buf_str(b, units[u]);
}

static void put_percent(struct bj_buf *b, uint64_t micro)
{
    bj_buf_str(b, "<meter min=\"0\" max=\"100\" value=\"");
    bj_buf_fixed(b, micro > 100000000 ? 100000000 : micro, DIGITS);
    bj_buf_str(b, "\"></meter> ");
    put_tenths(b, micro, " %");
}

static void put_scaled(struct bj_buf *b, uint64_t micro, uint64_t by,
                       const char *small, const char *large)
{
    if (micro / by >= 1000000000)
        put_tenths(b, micro / by / 1000, large);
    else
        put_tenths(b, micro / by, small);
}

static void put_number(struct bj_buf *b, enum bj_page_form form, int64_t v)
{
    uint64_t micro = v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v;
    bj_buf_str(b, v < 0 ? "-" : "");
    switch (form) {
    case BJ_SHOW_SECONDS:
        put_seconds(b, micro / 1000000);
        break;
    case BJ_SHOW_BYTES:
        put_bytes(b, micro);
        break;
    case BJ_SHOW_PERCENT:
        put_percent(b, micro);
        break;
    case BJ_SHOW_JOULES:
        put_scaled(b, micro, 3600, " Wh", " kWh");
        break;
    case BJ_SHOW_GRAMS:
        put_scaled(b, micro, 1, " g", " kg");
        break;
    default:
        put_tenths(b, micro, "");
    }
}

static void put_time(struct bj_buf *b, struct bj_slice s)
{
    /* 2026-11-20T15:04:05Z */
    bj_buf_str(b, "<time>");
    bj_page_text(b, (struct bj_slice){s.p, s.n < 10 ? s.n : 10});
    if (s.n >= 19) {
        bj_buf_str(b, " ");
        bj_page_text(b, (struct bj_slice){s.p + 11, 8});
    }
    bj_buf_str(b, "</time>");
}

static void put_link(struct bj_buf *b, struct bj_slice text,
                     const struct bj_json *row, const char *up)
{
    bj_buf_printf(b, "<a href=\"%sjobs/", up);
    bj_page_url(b, bj_json_text(bj_json_get(row, "key")));
    bj_buf_str(b, "\">");
    bj_page_text(b, text);
    bj_buf_str(b, "</a>");
}

void bj_page_value(struct bj_buf *b, const struct bj_page_column *k,
                   const struct bj_json *row, const char *up)
{
    const struct bj_json *v = bj_json_get(row, k->key);
    struct bj_slice text = bj_json_text(v);
    int64_t n;
    unsigned digits = k->form == BJ_SHOW_BYTES ? 0 : DIGITS;
    if (!text.p || text.n == 0) {
        bj_buf_str(b, none);
    } else if (k->form == BJ_SHOW_TIME) {
        put_time(b, text);
    } else if (k->form == BJ_SHOW_JOB) {
        put_link(b, text, row, up);
    } else if (k->form == BJ_SHOW_TEXT || k->form == BJ_SHOW_SENTENCE ||
               k->form == BJ_SHOW_NUMBER || k->form == BJ_SHOW_STATE ||
               bj_json_fixed(v, digits, &n) < 0) {
        /* Text of others may run in either direction. */
        bj_buf_str(b, k->form == BJ_SHOW_STATE ? "<b>" : "<bdi>");
        bj_page_text(b, text);
        bj_buf_str(b, k->form == BJ_SHOW_STATE ? "</b>" : "</bdi>");
    } else {
        put_number(b, k->form, n);
    }
}

/* --- tables ----------------------------------------------------------------
 */

/* What the style says of a cell. */
static const char *class_of(enum bj_page_form form)
{
    switch (form) {
    case BJ_SHOW_SENTENCE:
        return " class=\"s\"";
    case BJ_SHOW_TEXT:
    case BJ_SHOW_TIME:
    case BJ_SHOW_STATE:
    case BJ_SHOW_JOB:
        return "";
    default:
        return " class=\"n\"";
    }
}

static void put_none(struct bj_buf *b, const char *text)
{
    bj_buf_printf(b, "<p class=\"none\">%s</p>\n", text);
}

void bj_page_table(struct bj_buf *b, const struct bj_page_column *columns,
                   const struct bj_json *rows, const char *up,
                   const char *none_text)
{
    if (bj_json_len(rows) == 0) {
        put_none(b, none_text);
        return;
    }
    bj_buf_str(b, "<div class=\"wide\"><table><thead><tr>");
    for (const struct bj_page_column *k = columns; k->key; k++)
        bj_buf_printf(b, "<th%s>%s</th>", class_of(k->form), k->title);
    bj_buf_str(b, "</tr></thead><tbody>\n");
    BJ_JSON_EACH(row, rows)
    {
        bj_buf_str(b, "<tr>");
        for (const struct bj_page_column *k = columns; k->key; k++) {
            bj_buf_printf(b, "<td%s>", class_of(k->form));
            bj_page_value(b, k, row, up);
            bj_buf_str(b, "</td>");
        }
        bj_buf_str(b, "</tr>\n");
    }
    bj_buf_str(b, "</tbody></table></div>\n");
}

void bj_page_list(struct bj_buf *b, const struct bj_page_column *columns,
                  const struct bj_json *row, const char *none_text)
{
    bool any = false;
    for (const struct bj_page_column *k = columns; k->key; k++) {
        if (bj_json_text(bj_json_get(row, k->key)).n == 0)
            continue;
        bj_buf_printf(b, "%s<div><dt>%s</dt><dd>", any ? "" : "<dl>", k->title);
        bj_page_value(b, k, row, "../");
        bj_buf_str(b, "</dd></div>\n");
        any = true;
    }
    if (any)
        bj_buf_str(b, "</dl>\n");
    else
        put_none(b, none_text);
}

const char bj_page_style[] =
    ":root{color-scheme:light dark;font:15px/1.4 system-ui,sans-serif}\n"
    "body{margin:0}\n"
    "header{display:flex;gap:2rem;padding:.6rem 1.2rem;border-bottom:1px solid "
    "#8886}\n"
    "header span{margin-left:auto}\n"
    "nav a{margin-right:1rem}\n"
    "main{padding:0 1.2rem}\n"
    "footer{padding:1.2rem;opacity:.7}\n"
    "h1{font-size:1.4rem}\n"
    "h2{font-size:1.1rem;margin-top:1.6rem}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem .7rem .25rem 0;text-align:left;border-bottom:1px "
    "solid #8883;white-space:nowrap;max-width:16rem;overflow:hidden;"
    "text-overflow:ellipsis}\n"
    "th.n,td.n{text-align:right}\n"
    "td.s{white-space:normal;max-width:45rem;min-width:14rem}\n"
    ".none{opacity:.6}\n"
    "dl{display:flex;flex-wrap:wrap;gap:.6rem 2rem}\n"
    "dt{opacity:.7;font-size:.85rem}\n"
    "dd{margin:0;overflow-wrap:anywhere}\n"
    "form{display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:end;margin:"
    "1rem 0}\n"
    "label{display:flex;flex-direction:column;font-size:.85rem}\n"
    "meter{width:5rem}\n"
    "img{max-width:100%;height:auto;border:1px solid #8883;background:#fff}\n"
    "ul{padding-left:1.2rem}\n"
    "@media(max-width:40rem){th,td{max-width:9rem}main{padding:0 .6rem}}\n";
