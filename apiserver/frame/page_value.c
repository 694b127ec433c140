#include "apiserver/frame/page.h"
#include "apiserver/frame/texts.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/model/reason.h"
#include "report/model/show.h"

#define MICRO UINT64_C(1000000)
enum { DIGITS = 6 };

static const struct bj_levels *levels_of(enum bj_page_form form)
{
    return bj_texts_levels(form == BJ_SHOW_MEMORY      ? BJ_LEVELS_MEMORY
                           : form == BJ_SHOW_GPU       ? BJ_LEVELS_GPU
                           : form == BJ_SHOW_TIME_USED ? BJ_LEVELS_TIME
                                                       : BJ_LEVELS_CPU);
}

static const char none[] = "<span class=\"none\">-</span>";

/* Efficiency in words; the style sheet has a colour for each word. */
static const char *level_of(const struct bj_levels *l, uint64_t micro)
{
    if (micro < l->poor)
        return "poor";
    if (micro < l->fair)
        return "fair";
    if (micro > BJ_LEVEL_OVER)
        return "over";
    return micro > l->full ? "full" : "good";
}

/* judged: colour the percentage, and say in a word how good it is */
static void put_percent(struct bj_buf *b, enum bj_page_form form,
                        uint64_t micro, bool judged)
{
    const struct bj_levels *l =
        judged && form != BJ_SHOW_PART ? levels_of(form) : NULL;
    const char *level = l ? level_of(l, micro) : "part";
    bj_buf_printf(b, "<meter class=\"%s\" max=\"100\" low=\"", level);
    bj_buf_fixed(b, l ? l->poor : 0, DIGITS);
    bj_buf_str(b, "\" high=\"");
    bj_buf_fixed(b, l ? l->fair : 0, DIGITS);
    bj_buf_str(b, "\" optimum=\"99\" value=\"");
    bj_buf_fixed(b, micro > 100 * MICRO ? 100 * MICRO : micro, DIGITS);
    bj_buf_str(b, "\"></meter> ");
    bj_amount(b, BJ_AMOUNT_PERCENT, (double)micro / 1e6);
    if (l)
        bj_buf_printf(b, " <small class=\"%s\">%s</small>", level,
                      bj_local_escaped(level));
}

/* Append a value of a form that is rounded; bytes are whole, other values
 * millionths. */
static void put_number(struct bj_buf *b, enum bj_page_form form, int64_t v,
                       bool judged)
{
    const uint64_t micro = v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v;
    const double real = (double)v / 1e6;
    switch (form) {
    case BJ_SHOW_SECONDS:
        bj_buf_str(b, v < 0 ? "-" : "");
        bj_amount_seconds(b, micro / MICRO + (micro % MICRO >= MICRO / 2));
        break;
    case BJ_SHOW_BYTES:
        bj_amount(b, BJ_AMOUNT_BYTES, (double)v);
        break;
    case BJ_SHOW_PERCENT:
    case BJ_SHOW_MEMORY:
    case BJ_SHOW_GPU:
    case BJ_SHOW_TIME_USED:
    case BJ_SHOW_PART:
        bj_buf_str(b, v < 0 ? "-" : "");
        put_percent(b, form, micro, judged);
        break;
    case BJ_SHOW_JOULES:
        bj_amount(b, BJ_AMOUNT_JOULES, real);
        break;
    case BJ_SHOW_KWH:
        bj_amount(b, BJ_AMOUNT_JOULES, real * 3.6e6);
        break;
    case BJ_SHOW_GRAMS:
        bj_amount(b, BJ_AMOUNT_GRAMS, real);
        break;
    default:
        bj_amount(b, BJ_AMOUNT_PLAIN, real);
    }
}

void bj_page_amount(struct bj_buf *b, enum bj_page_form form, double v)
{
    if (form == BJ_SHOW_BYTES)
        bj_amount(b, BJ_AMOUNT_BYTES, v);
    else if (v < 9e12)
        put_number(b, form, (int64_t)(v * 1e6 + 0.5), true);
    else
        bj_amount(b, BJ_AMOUNT_PLAIN, v);
}

void bj_page_time(struct bj_buf *b, int64_t sec)
{
    char stamp[BJ_STAMP_MAX]; /* 2026-11-20T15:04:05+01:00 */
    bj_stamp_text(sec * 1000000, 0, bj_tz_offset(bj_tz_used(), sec) / 60,
                  stamp);
    bj_buf_printf(b, "<time datetime=\"%s\">%.10s %.5s</time>", stamp, stamp,
                  stamp + 11);
}

static void put_link(struct bj_buf *b, const struct bj_cell *v,
                     const struct bj_cells *row, const char *to_root)
{
    const struct bj_cell *key = bj_cells_get(row, "key");
    bj_buf_printf(b, "<a href=\"%sjobs/", to_root);
    if (key)
        bj_url_text(b, key->text);
    bj_buf_str(b, "\">");
    bj_html_text(b, v->text);
    bj_buf_str(b, "</a>");
}

/* Append "a,b" as links to jobs with the same findings. */
static void put_findings(struct bj_buf *b, struct bj_slice names,
                         const struct bj_page_place *at)
{
    struct bj_slice name;
    bj_buf_str(b, "<span>");
    for (unsigned n = 0; bj_slice_field(&names, ',', &name); n++) {
        bj_buf_printf(b, "%s<a href=\"%sjobs?finding=", n ? ", " : "",
                      at->to_root);
        bj_url_text(b, name);
        if (at->filters)
            bj_buf_printf(b, "&amp;%s", at->filters);
        bj_buf_str(b, "\">");
        struct bj_slice word;
        for (bool first = true; bj_slice_field(&name, '_', &word);
             first = false) {
            bj_buf_str(b, first ? "" : " ");
            bj_html_text(b, word);
        }
        bj_buf_str(b, "</a>");
    }
    bj_buf_str(b, "</span>");
}

/* Return the number of a cell times 10^digits; false: not a number, or too
 * large. */
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

/* Append a link to the list of jobs with this value. */
static void put_filter(struct bj_buf *b, enum bj_page_form form,
                       const struct bj_cell *v, const char *to_root)
{
    static const char *const target[] = {[BJ_SHOW_USER] = "jobs?user=",
                                         [BJ_SHOW_ACCOUNT] = "jobs?account=",
                                         [BJ_SHOW_PARTITION] =
                                             "jobs?partition=",
                                         [BJ_SHOW_CLUSTER] = "jobs?cluster=",
                                         [BJ_SHOW_NODE] = "jobs?node="};
    bj_buf_printf(b, "<a href=\"%s%s", to_root, target[form]);
    bj_url_text(b, v->text);
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, v->text);
    bj_buf_str(b, "</bdi></a>");
}

/* Append text, which may run in either direction. */
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
    int64_t n;
    if (form == BJ_SHOW_NUMBER && v->digits == 0 && scale(v, 0, &n)) {
        bj_amount_whole(b, n);
        return;
    }
    bj_buf_str(b, "<bdi>");
    put_word(b, v);
    bj_buf_str(b, "</bdi>");
}

static void put_reason(struct bj_buf *b, struct bj_slice reason)
{
    const char *text = bj_reason_text(reason);
    bj_buf_str(b, "<bdi>");
    bj_html_text(b, text ? bj_slice_str(text) : reason);
    bj_buf_str(b, "</bdi>");
}

/* Append the last day of a month, after its first day. */
static void put_month_end(struct bj_buf *b, struct bj_slice month)
{
    struct bj_slice rest = month, year;
    uint64_t y = 0, m = 0;
    if (!bj_slice_field(&rest, '-', &year) || bj_slice_u64(year, &y) < 0 ||
        bj_slice_u64(rest, &m) < 0 || m < 1 || m > 12)
        return;
    bj_buf_printf(b, "-01&amp;to=%.*s-%02u", (int)month.n, month.p,
                  bj_days_of_month((int)y, (unsigned)m));
}

/* Append a group of the usage, as a link to its parts. */
static void put_group(struct bj_buf *b, const char *key, struct bj_slice name,
                      const struct bj_page_place *at)
{
    static const struct {
        const char *key, *path;
        bool parameter, timed; /* the name is a parameter of the link; the link
                                  keeps the times */
    } targets[] = {
        {"account", "accounts/", false, false},
        {"user", "users/", false, false},
        {"partition", "usage?group_by=account&amp;partition=", true, true},
        {"cluster", "usage?group_by=account&amp;cluster=", true, true},
        {"month", "usage?group_by=account&amp;from=", true, false},
        {"day", "jobs?from=", true, false},
    };
    size_t i = 0;
    while (i + 1 < sizeof(targets) / sizeof(targets[0]) &&
           strcmp(targets[i].key, key) != 0)
        i++;
    bj_buf_printf(b, "<a href=\"%s%s", at->to_root, targets[i].path);
    bj_url_text(b, name);
    if (strcmp(key, "month") == 0)
        put_month_end(b, name);
    else if (strcmp(key, "day") == 0)
        bj_buf_printf(b, "&amp;to=%.*s", (int)name.n, name.p);
    if (targets[i].parameter && at->filters)
        bj_buf_printf(b, "&amp;%s", at->filters);
    if (targets[i].timed && at->times)
        bj_buf_printf(b, "&amp;%s", at->times);
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, name);
    bj_buf_str(b, "</bdi></a>");
}

/* Append the part of the use for which a value is known, unless it is all. */
static void put_coverage(struct bj_buf *b, const struct bj_cells *row,
                         const char *key)
{
    const struct bj_cell *v = bj_cells_get(row, key);
    struct bj_buf text = {0};
    int64_t n;
    if (bj_cell_is_empty(v) || !scale(v, DIGITS, &n) ||
        n >= 100 * (int64_t)MICRO)
        return;
    bj_amount(&text, BJ_AMOUNT_PLAIN, (double)n / 1e6);
    bj_buf_put(&text, "", 1);
    if (!text.failed)
        bj_local_html(b, " <small class=\"note\">{%s %% known}</small>",
                      text.p);
    b->failed |= text.failed;
    bj_buf_free(&text);
}

static void put_money(struct bj_buf *b, const struct bj_cell *v,
                      const struct bj_cells *row)
{
    const struct bj_cell *currency = bj_cells_get(row, "currency");
    int64_t n;
    if (scale(v, DIGITS, &n))
        bj_show_unit_html(
            b, bj_cell_is_empty(currency) ? BJ_SLICE("") : currency->text, n);
}

/* Append what is not charged, if there is any. */
static void put_not_charged(struct bj_buf *b, const struct bj_cells *row)
{
    const struct bj_cell *v = bj_cells_get(row, "cost_not_charged");
    int64_t n;
    if (bj_cell_is_empty(v) || !scale(v, DIGITS, &n) || n <= 0)
        return;
    bj_buf_str(b, " <small class=\"note\">");
    put_money(b, v, row);
    bj_local_html_str(b, " {not charged}</small>");
}

/* The key of the part of the use for which a value is known; NULL: it has none.
 */
static const char *coverage_of(enum bj_page_form form)
{
    return form == BJ_SHOW_GPU       ? "gpu_coverage"
           : form == BJ_SHOW_PERCENT ? "cpu_coverage"
           : form == BJ_SHOW_KWH     ? "energy_coverage"
           : form == BJ_SHOW_GRAMS   ? "emissions_coverage"
           : form == BJ_SHOW_MONEY   ? "cost_coverage"
                                     : NULL;
}

/* A percentage that is known for less than half of the use is not judged. */
static bool is_judged(const struct bj_cells *row, const char *coverage)
{
    enum { LEAST = 500 }; /* tenths of a percent */
    const struct bj_cell *v = coverage ? bj_cells_get(row, coverage) : NULL;
    int64_t n;
    return !v || bj_cell_is_empty(v) || !scale(v, 1, &n) || n >= LEAST;
}

/* Write a cell in the form of its column; an empty one is a dash. */
void bj_page_value(struct bj_buf *b, const struct bj_page_column *k,
                   const struct bj_cells *row, const struct bj_page_place *at)
{
    const struct bj_cell *v = bj_cells_get(row, k->key);
    const enum bj_page_form form = k->form;
    const char *to_root = at->to_root;
    int64_t n;
    if (bj_cell_is_empty(v))
        bj_buf_str(b, form == BJ_SHOW_FACULTY
                          ? bj_local_escaped("other accounts")
                      : form == BJ_SHOW_APPLICATION
                          ? bj_local_escaped("not recognised")
                          : none);
    else if (v->kind == BJ_CELL_TIME)
        bj_page_time(b, v->number);
    else if (form == BJ_SHOW_JOB)
        put_link(b, v, row, to_root);
    else if (form == BJ_SHOW_FINDINGS && v->kind == BJ_CELL_TEXT)
        put_findings(b, v->text, at);
    else if (form == BJ_SHOW_GROUP && v->kind == BJ_CELL_TEXT)
        put_group(b, k->key, v->text, at);
    else if (form == BJ_SHOW_REASON && v->kind == BJ_CELL_TEXT)
        put_reason(b, v->text);
    else if (form == BJ_SHOW_MONEY)
        put_money(b, v, row);
    else if (form >= BJ_SHOW_USER && form <= BJ_SHOW_NODE &&
             v->kind == BJ_CELL_TEXT)
        put_filter(b, form, v, to_root);
    else if (form > BJ_SHOW_NUMBER &&
             scale(v, form == BJ_SHOW_BYTES ? 0 : DIGITS, &n))
        put_number(b, form, n, is_judged(row, coverage_of(form)));
    else
        put_text(b, form, v);
    if (!bj_cell_is_empty(v) && coverage_of(form))
        put_coverage(b, row, coverage_of(form));
    if (form == BJ_SHOW_MONEY)
        put_not_charged(b, row);
}
