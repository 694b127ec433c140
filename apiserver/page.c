#include "apiserver/page.h"

#include "apiserver/state.h"
#include "base/html.h"
#include "base/stamp.h"

#include <strings.h>

/* Load only the style and pictures of this server; no scripts, no frames. */
static const char policy[] =
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'";

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
    bj_html_text(b, bj_slice_str(title));
    bj_buf_printf(b,
                  "</title><link rel=\"stylesheet\" href=\"%sstyle.css\">"
                  "</head>\n<body><header><nav>",
                  up);
    for (unsigned i = 0; i < 2; i++)
        bj_buf_printf(b, "<a href=\"%s%s\">%s</a> ", up, places[i].path,
                      places[i].name);
    bj_buf_str(b, "</nav><span>");
    bj_html_text(b, bj_slice_str(c->who.user));
    bj_buf_str(b, c->who.admin ? " (admin)</span></header>\n<main><h1>"
                               : "</span></header>\n<main><h1>");
    bj_html_text(b, bj_slice_str(title));
    bj_buf_str(b, "</h1>\n");
}

void bj_page_close(struct bj_call *c)
{
    bj_buf_str(&c->reply->body,
               "</main>\n<footer>Times are UTC.</footer></body></html>\n");
}

/* Should the browser prompt for a name and password? Also when they were wrong:
 * otherwise it keeps sending them. */
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
    bj_page_open(c, "This cannot be shown", c->endpoint->up);
    bj_buf_str(b, "<p>");
    bj_html_text(b, bj_slice_str(c->refusal));
    bj_buf_str(b, "</p>\n");
    bj_page_close(c);
}

/* --- values ----------------------------------------------------------------
 */

#define MICRO UINT64_C(1000000)
enum { DIGITS = 6 };

static const char none[] = "<span class=\"none\">-</span>";

static void put_seconds(struct bj_buf *b, uint64_t sec)
{
    if (sec >= 86400)
        bj_buf_printf(b, "%llu-", (unsigned long long)(sec / 86400));
    bj_buf_printf(b, "%02u:%02u:%02u", (unsigned)(sec / 3600 % 24),
                  (unsigned)(sec / 60 % 60), (unsigned)(sec % 60));
}

static void put_tenths(struct bj_buf *b, uint64_t tenths, const char *unit)
{
    bj_buf_printf(b, "%llu.%u%s", (unsigned long long)(tenths / 10),
                  (unsigned)(tenths % 10), unit);
}

/* v / by, halves up. */
static uint64_t rounded(uint64_t v, uint64_t by)
{
    return v / by + (v % by >= by - by / 2);
}

static void put_bytes(struct bj_buf *b, uint64_t bytes)
{
    static const char *const units[] = {" KiB", " MiB", " GiB", " TiB", " PiB"};
    enum { UNITS = sizeof(units) / sizeof(units[0]) };
    unsigned u = 0;
    uint64_t scale = 1024;
    if (bytes < scale) {
        bj_buf_printf(b, "%u B", (unsigned)bytes);
        return;
    }
    while (u + 1 < UNITS && bytes / scale >= 1024) {
        scale *= 1024;
        u++;
    }
    put_tenths(b, bytes / scale * 10 + rounded(bytes % scale * 10, scale),
               units[u]);
}

static void put_percent(struct bj_buf *b, uint64_t micro)
{
    bj_buf_str(b, "<meter min=\"0\" max=\"100\" value=\"");
    bj_buf_fixed(b, micro > 100 * MICRO ? 100 * MICRO : micro, DIGITS);
    bj_buf_str(b, "\"></meter> ");
    put_tenths(b, rounded(micro, MICRO / 10), " %");
}

/* In units of by millionths, or in thousands of such units. */
static void put_scaled(struct bj_buf *b, uint64_t micro, uint64_t by,
                       const char *small, const char *large)
{
    if (micro / by >= 1000)
        put_tenths(b, rounded(micro, by * 100), large);
    else
        put_tenths(b, rounded(micro, by / 10), small);
}

static void put_number(struct bj_buf *b, enum bj_page_form form, int64_t v)
{
    uint64_t micro = v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v;
    bj_buf_str(b, v < 0 ? "-" : "");
    switch (form) {
    case BJ_SHOW_SECONDS:
        put_seconds(b, micro / MICRO);
        break;
    case BJ_SHOW_BYTES:
        put_bytes(b, micro);
        break;
    case BJ_SHOW_PERCENT:
        put_percent(b, micro);
        break;
    case BJ_SHOW_JOULES:
        put_scaled(b, micro, 3600 * MICRO, " Wh", " kWh");
        break;
    case BJ_SHOW_GRAMS:
        put_scaled(b, micro, MICRO, " g", " kg");
        break;
    default:
        put_tenths(b, rounded(micro, MICRO / 10), "");
    }
}

static void put_time(struct bj_buf *b, int64_t sec)
{
    char stamp[BJ_STAMP_MAX]; /* 2026-11-20T15:04:05Z */
    bj_stamp_text(sec * 1000000, 0, 0, stamp);
    bj_buf_printf(b, "<time>%.10s %.8s</time>", stamp, stamp + 11);
}

static void put_link(struct bj_buf *b, const struct bj_cell *v,
                     const struct bj_cells *row, const char *up)
{
    const struct bj_cell *key = bj_cells_get(row, "key");
    bj_buf_printf(b, "<a href=\"%sjobs/", up);
    if (key)
        bj_url_text(b, key->text);
    bj_buf_str(b, "\">");
    bj_html_text(b, v->text);
    bj_buf_str(b, "</a>");
}

/* The number of a cell with so many digits after the point; false: not a
 * number, or too large. */
static bool scale(const struct bj_cell *v, unsigned digits, int64_t *ret)
{
    *ret = v->number;
    for (unsigned i = v->digits; i < digits; i++)
        if (__builtin_mul_overflow(*ret, 10, ret))
            return false;
    for (unsigned i = digits; i < v->digits; i++)
        *ret /= 10;
    return v->kind == BJ_CELL_NUMBER;
}

/* Text in the page may run in either direction. */
static void put_text(struct bj_buf *b, enum bj_page_form form,
                     const struct bj_cell *v)
{
    bj_buf_str(b, form == BJ_SHOW_STATE ? "<b>" : "<bdi>");
    if (v->kind == BJ_CELL_TEXT)
        bj_html_text(b, v->text);
    else
        bj_cell_text(b, v);
    bj_buf_str(b, form == BJ_SHOW_STATE ? "</b>" : "</bdi>");
}

/* Write a cell in the form of its column; an empty one is a dash. */
static void put_value(struct bj_buf *b, enum bj_page_form form,
                      const struct bj_cell *v, const struct bj_cells *row,
                      const char *up)
{
    int64_t n;
    if (bj_cell_is_empty(v))
        bj_buf_str(b, none);
    else if (v->kind == BJ_CELL_TIME)
        put_time(b, v->number);
    else if (form == BJ_SHOW_JOB)
        put_link(b, v, row, up);
    else if (form > BJ_SHOW_NUMBER &&
             scale(v, form == BJ_SHOW_BYTES ? 0 : DIGITS, &n))
        put_number(b, form, n);
    else
        put_text(b, form, v);
}

/* --- tables ----------------------------------------------------------------
 */

/* The CSS class of a cell. */
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

static void put_head(const struct bj_page_table *t)
{
    bj_buf_str(t->b, "<div class=\"wide\"><table><thead><tr>");
    for (const struct bj_page_column *k = t->columns; k->key; k++)
        bj_buf_printf(t->b, "<th%s>%s</th>", class_of(k->form), k->title);
    bj_buf_str(t->b, "</tr></thead><tbody>\n");
}

static void put_row(void *ctx, const struct bj_cells *row)
{
    struct bj_page_table *t = ctx;
    if (t->rows++ == 0)
        put_head(t);
    bj_buf_str(t->b, "<tr>");
    for (const struct bj_page_column *k = t->columns; k->key; k++) {
        bj_buf_printf(t->b, "<td%s>", class_of(k->form));
        put_value(t->b, k->form, bj_cells_get(row, k->key), row, t->up);
        bj_buf_str(t->b, "</td>");
    }
    bj_buf_str(t->b, "</tr>\n");
}

void bj_page_table_begin(struct bj_page_table *t, struct bj_buf *b,
                         const struct bj_page_column *columns, const char *up)
{
    t->b = b;
    t->columns = columns;
    t->up = up;
    t->rows = 0;
    t->cells.row = put_row;
    t->cells.ctx = t;
    t->cells.text = (struct bj_buf){0};
}

void bj_page_table_end(struct bj_page_table *t, const char *none_text)
{
    if (t->rows > 0)
        bj_buf_str(t->b, "</tbody></table></div>\n");
    else
        put_none(t->b, none_text);
    t->b->failed |= t->cells.text.failed;
    bj_cells_free(&t->cells);
}

void bj_page_list(struct bj_buf *b, const struct bj_page_column *columns,
                  const struct bj_cells *row, const char *none_text)
{
    bool any = false;
    for (const struct bj_page_column *k = columns; k->key; k++) {
        const struct bj_cell *v = bj_cells_get(row, k->key);
        if (bj_cell_is_empty(v))
            continue;
        bj_buf_printf(b, "%s<div><dt>%s</dt><dd>", any ? "" : "<dl>", k->title);
        put_value(b, k->form, v, row, "../");
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
