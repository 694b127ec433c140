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

/* The links to the main pages; the one of this page is marked. */
static void put_places(struct bj_call *c, const char *up)
{
    static const struct {
        const char *path, *name;
    } places[] = {{"jobs", "Jobs"}, {"usage", "Usage"}};
    struct bj_buf *b = &c->reply->body;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *path = c->endpoint ? c->endpoint->path : "/";
        bj_buf_printf(b, "<a href=\"%s%s\"%s>%s</a> ", up, places[i].path,
                      strcmp(path + 1, places[i].path) == 0
                          ? " aria-current=\"page\""
                          : "",
                      places[i].name);
    }
}

void bj_page_open(struct bj_call *c, const char *title, const char *up)
{
    struct bj_buf *b = &c->reply->body;
    c->reply->type = "text/html; charset=utf-8";
    bj_call_header(c, "Content-Security-Policy", policy);
    bj_call_header(c, "Referrer-Policy", "no-referrer");
    bj_buf_str(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset="
                  "\"utf-8\"><meta name=\"viewport\" content=\"width=device-"
                  "width,initial-scale=1\"><title>");
    bj_html_text(b, bj_slice_str(title));
    bj_buf_printf(b,
                  "</title><link rel=\"stylesheet\" href=\"%sstyle.css\">"
                  "</head>\n<body><a class=\"skip\" href=\"#main\">Skip to "
                  "the content</a><header><nav>",
                  up);
    put_places(c, up);
    bj_buf_str(b, "</nav><span>");
    bj_html_text(b, bj_slice_str(c->who.user));
    bj_buf_str(b, c->who.admin
                      ? " (admin)</span></header>\n<main id=\"main\"><h1>"
                      : "</span></header>\n<main id=\"main\"><h1>");
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

/* Efficiency below poor % is poor, below fair % fair, above full % almost
 * exhausted; above OVER % it is more than was allocated.  These are the
 * thresholds of the rules about the same values (docs/derived.md). */
struct levels {
    unsigned poor, fair, full;
};
enum { OVER = 105 };

static struct levels levels_of(enum bj_page_form form)
{
    static const struct levels levels[] = {[BJ_SHOW_PERCENT] = {65, 80, OVER},
                                           [BJ_SHOW_MEMORY] = {35, 70, 95},
                                           [BJ_SHOW_GPU] = {25, 60, OVER},
                                           [BJ_SHOW_TIME_USED] = {10, 60, 95}};
    return levels[form];
}

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

/* Efficiency in words; the style sheet has a colour for each of them. */
static const char *level_of(struct levels l, uint64_t micro)
{
    if (micro < l.poor * MICRO)
        return "poor";
    if (micro < l.fair * MICRO)
        return "fair";
    if (micro > OVER * MICRO)
        return "over";
    return micro > l.full * MICRO ? "full" : "good";
}

static void put_percent(struct bj_buf *b, enum bj_page_form form,
                        uint64_t micro)
{
    const struct levels l = levels_of(form);
    const char *level = level_of(l, micro);
    bj_buf_printf(b,
                  "<meter class=\"%s\" max=\"100\" low=\"%u\" high=\"%u\" "
                  "optimum=\"99\" value=\"",
                  level, l.poor, l.fair);
    bj_buf_fixed(b, micro > 100 * MICRO ? 100 * MICRO : micro, DIGITS);
    bj_buf_str(b, "\"></meter> ");
    put_tenths(b, rounded(micro, MICRO / 10), " %");
    bj_buf_printf(b, " <small class=\"%s\">%s</small>", level, level);
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
        put_seconds(b, rounded(micro, MICRO));
        break;
    case BJ_SHOW_BYTES:
        put_bytes(b, micro);
        break;
    case BJ_SHOW_PERCENT:
    case BJ_SHOW_MEMORY:
    case BJ_SHOW_GPU:
    case BJ_SHOW_TIME_USED:
        put_percent(b, form, micro);
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

void bj_page_amount(struct bj_buf *b, enum bj_page_form form, double v)
{
    if (form == BJ_SHOW_BYTES)
        put_bytes(b, (uint64_t)(v + 0.5));
    else if (form == BJ_SHOW_NUMBER && v >= 0 && v < 9e12)
        bj_buf_fixed(b, (uint64_t)(v * 1e6 + 0.5), DIGITS);
    else if (v < 9e12)
        put_number(b, form, (int64_t)(v * 1e6 + 0.5));
    else
        bj_buf_printf(b, "%.3g", v);
}

static void put_time(struct bj_buf *b, int64_t sec)
{
    char stamp[BJ_STAMP_MAX]; /* 2026-11-20T15:04:05Z */
    bj_stamp_text(sec * 1000000, 0, 0, stamp);
    bj_buf_printf(b, "<time datetime=\"%s\">%.10s %.5s</time>", stamp, stamp,
                  stamp + 11);
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

/* "a,b" as links to jobs with the same findings. */
static void put_findings(struct bj_buf *b, struct bj_slice names,
                         const char *up)
{
    struct bj_slice name;
    bj_buf_str(b, "<span>");
    for (unsigned n = 0; bj_slice_field(&names, ',', &name); n++) {
        bj_buf_printf(b, "%s<a href=\"%sjobs?finding=", n ? ", " : "", up);
        bj_url_text(b, name);
        bj_buf_str(b, "\">");
        for (size_t i = 0; i < name.n; i++)
            bj_html_text(b, name.p[i] == '_'
                                ? BJ_SLICE(" ")
                                : (struct bj_slice){name.p + i, 1});
        bj_buf_str(b, "</a>");
    }
    bj_buf_str(b, "</span>");
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

static void put_word(struct bj_buf *b, const struct bj_cell *v)
{
    if (v->kind == BJ_CELL_TEXT)
        bj_html_text(b, v->text);
    else
        bj_cell_text(b, v);
}

/* A link to the list of jobs with this value. */
static void put_filter(struct bj_buf *b, enum bj_page_form form,
                       const struct bj_cell *v, const char *up)
{
    static const char *const target[] = {[BJ_SHOW_USER] = "jobs?user=",
                                         [BJ_SHOW_ACCOUNT] = "jobs?account=",
                                         [BJ_SHOW_PARTITION] =
                                             "jobs?partition=",
                                         [BJ_SHOW_CLUSTER] = "jobs?cluster=",
                                         [BJ_SHOW_NODE] = "jobs?node="};
    bj_buf_printf(b, "<a href=\"%s%s", up, target[form]);
    bj_url_text(b, v->text);
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, v->text);
    bj_buf_str(b, "</bdi></a>");
}

/* Text in the page may run in either direction. */
static void put_text(struct bj_buf *b, enum bj_page_form form,
                     const struct bj_cell *v)
{
    if (form == BJ_SHOW_STATE) {
        bj_buf_str(b, "<b class=\"");
        put_word(b, v);
        bj_buf_str(b, "\">");
        put_word(b, v);
        bj_buf_str(b, "</b>");
        return;
    }
    bj_buf_str(b, "<bdi>");
    put_word(b, v);
    bj_buf_str(b, "</bdi>");
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
    else if (form == BJ_SHOW_FINDINGS && v->kind == BJ_CELL_TEXT)
        put_findings(b, v->text, up);
    else if (form >= BJ_SHOW_USER && form <= BJ_SHOW_NODE &&
             v->kind == BJ_CELL_TEXT)
        put_filter(b, form, v, up);
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
    case BJ_SHOW_FINDINGS:
        return " class=\"s\"";
    case BJ_SHOW_TEXT:
    case BJ_SHOW_TIME:
    case BJ_SHOW_STATE:
    case BJ_SHOW_JOB:
    case BJ_SHOW_USER:
    case BJ_SHOW_ACCOUNT:
    case BJ_SHOW_PARTITION:
    case BJ_SHOW_CLUSTER:
    case BJ_SHOW_NODE:
        return "";
    default:
        return " class=\"n\"";
    }
}

static void put_none(struct bj_buf *b, const char *text)
{
    bj_buf_printf(b, "<p class=\"none\">%s</p>\n", text);
}

/* The title of a column, as a link that sorts by it; once more: in the other
 * direction. */
static void put_sort(const struct bj_page_table *t,
                     const struct bj_page_column *k)
{
    const bool now = bj_slice_eq(t->sorted, bj_slice_str(k->key));
    bj_buf_printf(
        t->b, "<th scope=\"col\"%s%s><a href=\"%ssort=%s%s\">%s</a>%s",
        class_of(k->form),
        !now           ? ""
        : t->ascending ? " aria-sort=\"ascending\""
                       : " aria-sort=\"descending\"",
        t->link, k->key, now && !t->ascending ? "&amp;order=asc" : "", k->title,
        !now           ? ""
        : t->ascending ? " &#9650;"
                       : " &#9660;");
    bj_buf_str(t->b, "</th>");
}

static void put_head(const struct bj_page_table *t)
{
    bj_buf_str(t->b, "<div class=\"wide\"><table class=\"cards\"><thead><tr>");
    for (const struct bj_page_column *k = t->columns; k->key; k++)
        if (k->sorts && t->link)
            put_sort(t, k);
        else
            bj_buf_printf(t->b, "<th scope=\"col\"%s>%s</th>",
                          class_of(k->form), k->title);
    bj_buf_str(t->b, "</tr></thead><tbody>\n");
}

static void put_row(void *ctx, const struct bj_cells *row)
{
    struct bj_page_table *t = ctx;
    if (t->rows++ == 0)
        put_head(t);
    bj_buf_str(t->b, "<tr>");
    for (const struct bj_page_column *k = t->columns; k->key; k++) {
        const struct bj_cell *v = bj_cells_get(row, k->key);
        bj_buf_printf(t->b, "<td%s data-l=\"%s\">",
                      bj_cell_is_empty(v) ? " class=\"e\"" : class_of(k->form),
                      k->title);
        put_value(t->b, k->form, v, row, t->up);
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
    t->link = NULL;
    t->sorted = (struct bj_slice){0};
    t->ascending = false;
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
