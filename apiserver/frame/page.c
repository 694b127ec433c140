/* The parts of web pages: frame, tables, values. */
#include "apiserver/frame/page.h"

#include "apiserver/frame/state.h"
#include "apiserver/frame/texts.h"
#include "apiserver/frame/widget.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/model/limits.h"
#include "report/model/reason.h"
#include "report/model/show.h"
#include "sched/hostlist.h"

#include <stdio.h>
#include <strings.h>

/* --- values ---------------------------------------------------------------*/

#define MICRO UINT64_C(1000000)
enum { DIGITS = 6 };

static const struct bj_levels *levels_of(enum bj_form form)
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
static void put_percent(struct bj_buf *b, enum bj_form form, uint64_t micro,
                        bool judged)
{
    const struct bj_levels *l =
        judged && form != BJ_SHOW_PART ? levels_of(form) : NULL;
    const char *level = l ? level_of(l, micro) : "good";
    bj_widget_bar(b,
                  strcmp(level, "poor") == 0   ? BJ_LOOK_BAD
                  : strcmp(level, "good") != 0 ? BJ_LOOK_WARN
                                               : BJ_LOOK_NONE,
                  !judged, (double)micro / 1e6);
    if (l)
        bj_buf_printf(b, " <small>%s</small>", bj_local_escaped(level));
}

/* Append a percentage of a job in a list with its findings: it has a colour
 * where a finding names it. */
static void put_found(struct bj_buf *b, enum bj_form form, int64_t micro,
                      struct bj_slice findings)
{
    const char *of = form == BJ_SHOW_MEMORY ? "memory"
                     : form == BJ_SHOW_GPU  ? "gpu"
                                            : "cpu";
    const uint64_t v = micro < 0 ? 0 : (uint64_t)micro;
    enum bj_look look = BJ_LOOK_NONE;
    struct bj_slice name;
    while (bj_slice_field(&findings, ',', &name))
        if (memmem(name.p, name.n, of, strlen(of)))
            look = v < levels_of(form)->poor ? BJ_LOOK_BAD : BJ_LOOK_WARN;
    bj_widget_bar(b, look, false, (double)micro / 1e6);
}

/* Append a value of a form that is rounded; bytes are whole, other values
 * millionths. */
static void page_put_number(struct bj_buf *b, enum bj_form form, int64_t v,
                            bool judged)
{
    static const enum bj_value_unit units[] = {
        [BJ_SHOW_SECONDS] = BJ_UNIT_SECONDS,
        [BJ_SHOW_JOULES] = BJ_UNIT_JOULES,
        [BJ_SHOW_GRAMS] = BJ_UNIT_GRAMS};
    const unsigned n = sizeof(units) / sizeof(units[0]);
    switch (form) {
    case BJ_SHOW_BYTES:
        bj_show_bytes(b, v);
        break;
    case BJ_SHOW_PERCENT:
    case BJ_SHOW_MEMORY:
    case BJ_SHOW_GPU:
    case BJ_SHOW_TIME_USED:
    case BJ_SHOW_PART:
        bj_buf_str(b, v < 0 ? "-" : "");
        put_percent(b, form, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v, judged);
        break;
    case BJ_SHOW_KWH:
        bj_amount(b, BJ_AMOUNT_JOULES, (double)v * 3.6);
        break;
    default:
        bj_show_value(b, form < n && units[form] ? units[form] : BJ_UNIT_COUNT,
                      v, DIGITS);
    }
}

void bj_page_amount(struct bj_buf *b, enum bj_form form, double v)
{
    if (form == BJ_SHOW_BYTES)
        bj_amount(b, BJ_AMOUNT_BYTES, v);
    else if (v < 9e12)
        page_put_number(b, form, (int64_t)(v * 1e6 + 0.5), true);
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

/* The name of the job and its id as a link, as a name may be invisible; the id
 * alone of a job without name, and where the name is shown beside it. */
static void put_job(struct bj_buf *b, const struct bj_cell *id,
                    const struct bj_cells *row, const struct bj_page_place *at)
{
    const struct bj_cell *name = bj_cells_get(row, "name"),
                         *key = bj_cells_get(row, "key");
    const bool named = !at->name_apart && !bj_cell_is_empty(name) &&
                       bj_slice_trim(name->text).n > 0;
    bj_buf_printf(b, "<a href=\"%sjobs/", at->to_root);
    if (key)
        bj_url_text(b, key->text);
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, named ? name->text : id->text);
    bj_buf_str(b, "</bdi>");
    if (named) {
        bj_buf_str(b, " <small>");
        bj_html_text(b, id->text);
        bj_buf_str(b, "</small>");
    }
    bj_buf_str(b, "</a>");
}

void bj_page_named(struct bj_buf *b, const struct bj_cells *row,
                   const char *to_root)
{
    const struct bj_cell *id = bj_cells_get(row, "display_id");
    if (id)
        put_job(b, id, row, &(struct bj_page_place){.to_root = to_root});
}

void bj_page_text(struct bj_buf *b, const struct bj_cells *row, const char *key)
{
    struct bj_buf text = {0};
    const struct bj_cell *v = bj_cells_get(row, key);
    if (bj_cell_is_empty(v))
        bj_buf_str(&text, "\xe2\x80\x93");
    else
        bj_cell_text(&text, v);
    bj_html_text(b, (struct bj_slice){text.p, text.len});
    b->failed |= text.failed;
    bj_buf_free(&text);
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
        struct bj_buf words = {0};
        bj_show_finding(&words, name);
        bj_html_text(b, (struct bj_slice){words.p, words.len});
        b->failed |= words.failed;
        bj_buf_free(&words);
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
static void put_filter(struct bj_buf *b, enum bj_form form,
                       const struct bj_cell *v, const char *to_root)
{
    static const char *const target[] = {[BJ_SHOW_USER] = "jobs?user=",
                                         [BJ_SHOW_ACCOUNT] = "jobs?account=",
                                         [BJ_SHOW_PARTITION] =
                                             "jobs?partition=",
                                         [BJ_SHOW_CLUSTER] = "jobs?cluster="};
    bj_buf_printf(b, "<a href=\"%s%s", to_root, target[form]);
    bj_url_text(b, v->text);
    bj_buf_str(b, "\"><bdi>");
    bj_html_text(b, v->text);
    bj_buf_str(b, "</bdi></a>");
}

/* Append a list of nodes: a few are links to their pages. */
static void put_nodes(struct bj_buf *b, struct bj_slice list,
                      const char *to_root)
{
    enum { FEW = 16 };
    struct bj_hostlist l;
    struct bj_slice name;
    uint64_t nodes;
    if (bj_hostlist_count(list, BJ_HOSTS_SLURM, &nodes) < 0 || nodes > FEW ||
        bj_hostlist_begin(&l, list, BJ_HOSTS_SLURM) < 0) {
        bj_buf_str(b, "<bdi>");
        bj_html_text(b, list);
        bj_buf_str(b, "</bdi>");
        return;
    }
    for (bool any = false; bj_hostlist_next(&l, &name); any = true) {
        bj_buf_printf(b, "%s<a href=\"%snodes/", any ? ", " : "", to_root);
        bj_url_text(b, name);
        bj_buf_str(b, "\"><bdi>");
        bj_html_text(b, name);
        bj_buf_str(b, "</bdi></a>");
    }
}

/* Append text, which may run in either direction. */
static void page_put_text(struct bj_buf *b, enum bj_form form,
                          const struct bj_cell *v)
{
    if (form == BJ_SHOW_STATE) {
        const enum bj_look severity = bj_look_of_severity(v->text);
        if (severity != BJ_LOOK_NONE)
            bj_widget_severity(b, severity);
        else
            bj_widget_state(b, v->text);
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
static void page_put_group(struct bj_buf *b, const char *key,
                           struct bj_slice name, const struct bj_page_place *at)
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
        bj_local_html(b, " <small>{%s %% known}</small>", text.p);
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
    bj_buf_str(b, " <small>");
    put_money(b, v, row);
    bj_local_html_str(b, " {not charged}</small>");
}

/* The key of the part of the use for which a value is known; NULL: it has none.
 */
static const char *coverage_of(enum bj_form form)
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

/* The form of a percentage of what ran for too short a time to be judged: a
 * part without a word. */
static enum bj_form form_of_row(enum bj_form form, const struct bj_cells *row)
{
    const struct bj_cell *v = bj_cells_get(row, "elapsed_seconds");
    int64_t sec;
    return form >= BJ_SHOW_PERCENT && form <= BJ_SHOW_GPU && v &&
                   !bj_cell_is_empty(v) && scale(v, 0, &sec) &&
                   sec < BJ_REPORT_LEAST_SEC
               ? BJ_SHOW_PART
               : form;
}

/* The findings of a row, for a percentage that a finding may name; NULL: the
 * row has none, or the form is another one. */
static const struct bj_cell *findings_of(enum bj_form form,
                                         const struct bj_cells *row)
{
    return form >= BJ_SHOW_PERCENT && form <= BJ_SHOW_GPU
               ? bj_cells_get(row, "finding_names")
               : NULL;
}

/* Write a cell in the form of its column; an empty one is a dash. */
void bj_page_value(struct bj_buf *b, const struct bj_column *k,
                   const struct bj_cells *row, const struct bj_page_place *at)
{
    const struct bj_cell *v = bj_cells_get(row, k->name);
    const enum bj_form form = bj_column_form(k);
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
        put_job(b, v, row, at);
    else if (form == BJ_SHOW_FINDINGS && v->kind == BJ_CELL_TEXT)
        put_findings(b, v->text, at);
    else if (form == BJ_SHOW_GROUP && v->kind == BJ_CELL_TEXT)
        page_put_group(b, k->name, v->text, at);
    else if (form == BJ_SHOW_REASON && v->kind == BJ_CELL_TEXT)
        put_reason(b, v->text);
    else if (form == BJ_SHOW_MONEY)
        put_money(b, v, row);
    else if (form == BJ_SHOW_NODES && v->kind == BJ_CELL_TEXT)
        put_nodes(b, v->text, to_root);
    else if (form >= BJ_SHOW_USER && form <= BJ_SHOW_CLUSTER &&
             v->kind == BJ_CELL_TEXT)
        put_filter(b, form, v, to_root);
    else if (findings_of(form, row) && scale(v, DIGITS, &n))
        put_found(b, form, n, findings_of(form, row)->text);
    else if (form > BJ_SHOW_NUMBER &&
             scale(v, form == BJ_SHOW_BYTES ? 0 : DIGITS, &n))
        page_put_number(b, form_of_row(form, row), n,
                        is_judged(row, coverage_of(form)));
    else
        page_put_text(b, form, v);
    if (!bj_cell_is_empty(v) && coverage_of(form))
        put_coverage(b, row, coverage_of(form));
    if (form == BJ_SHOW_MONEY)
        put_not_charged(b, row);
}

/* --- tables ---------------------------------------------------------------*/

/* The CSS class of a cell. */
static const char *class_of(const struct bj_page_table *t,
                            const struct bj_column *k)
{
    switch (bj_column_form(k)) {
    case BJ_SHOW_SENTENCE:
    case BJ_SHOW_FACULTY:
    case BJ_SHOW_APPLICATION:
    case BJ_SHOW_FINDINGS:
    case BJ_SHOW_REASON:
        return " class=\"wrap w\"";
    case BJ_SHOW_NODES:
        return " class=\"wrap\"";
    case BJ_SHOW_TEXT:
        return " class=\"cut\"";
    case BJ_SHOW_PERCENT:
    case BJ_SHOW_MEMORY:
    case BJ_SHOW_GPU:
    case BJ_SHOW_TIME_USED:
    case BJ_SHOW_PART:
    case BJ_SHOW_GROUP:
    case BJ_SHOW_TIME:
    case BJ_SHOW_USER:
    case BJ_SHOW_ACCOUNT:
    case BJ_SHOW_CLUSTER:
        return "";
    case BJ_SHOW_JOB:
        return t->at.name_apart ? "" : " class=\"wrap w\"";
    case BJ_SHOW_PARTITION:
        return " class=\"p\"";
    case BJ_SHOW_STATE:
        return " class=\"r\"";
    default:
        return " class=\"n\"";
    }
}

static void put_none(struct bj_buf *b, const char *text)
{
    bj_buf_printf(b, "<p class=\"none\">%s</p>\n", bj_local_escaped(text));
}

/* Append the title of a column as a link that sorts by it, or in the other
 * direction if the table is sorted by it already. */
static void put_sort(const struct bj_page_table *t, const struct bj_column *k)
{
    const bool now = bj_slice_eq(t->sorted, bj_slice_str(k->name));
    bj_buf_printf(
        t->b, "<th scope=\"col\"%s%s><a href=\"%ssort=%s%s\">%s</a></th>",
        class_of(t, k),
        !now           ? ""
        : t->ascending ? " aria-sort=\"ascending\""
                       : " aria-sort=\"descending\"",
        t->link, k->name, now && !t->ascending ? "&amp;order=asc" : "",
        bj_local_escaped(k->label));
}

static void page_put_head(struct bj_page_table *t)
{
    bj_widget_table(t->b, bj_local_escaped("Table"), "stack dense", true);
    t->head_at = t->b->len;
    bj_buf_str(t->b, "<thead><tr>");
    for (unsigned i = 0; t->column[i]; i++)
        if (t->link && !bj_job_is_text(t->column[i]->kind))
            put_sort(t, t->column[i]);
        else
            bj_buf_printf(t->b, "<th scope=\"col\"%s>%s</th>",
                          class_of(t, t->column[i]),
                          bj_local_escaped(t->column[i]->label));
    bj_buf_str(t->b, "</tr></thead><tbody>\n");
}

static void page_put_row(void *ctx, const struct bj_cells *row)
{
    struct bj_page_table *t = ctx;
    if (t->needs && bj_cell_is_empty(bj_cells_get(row, t->needs)))
        return;
    if (t->rows++ == 0)
        page_put_head(t);
    if (t->most > 0 && t->rows > t->most)
        return;
    bj_buf_str(t->b, "<tr>");
    for (unsigned i = 0; t->column[i]; i++) {
        const struct bj_column *k = t->column[i];
        const struct bj_cell *v = bj_cells_get(row, k->name);
        bool number = strstr(class_of(t, k), "n\"") != NULL;
        bj_buf_printf(t->b, "<td%s data-l=\"%s\">",
                      !bj_cell_is_empty(v) || k->form == BJ_SHOW_FACULTY ||
                              k->form == BJ_SHOW_APPLICATION
                          ? class_of(t, k)
                      : number ? " class=\"n e\""
                               : " class=\"e\"",
                      bj_local_escaped(k->label));
        bj_page_value(t->b, k, row, &t->at);
        bj_buf_str(t->b, "</td>");
    }
    bj_buf_str(t->b, "</tr>\n");
}

/* A name without a column, and a column without a label, are faults of the
 * program, and fail the page. */
static void table_choose(struct bj_page_table *t,
                         const struct bj_column *columns,
                         const char *const *names)
{
    unsigned n = 0;
    for (; *names && n < BJ_PAGE_COLUMNS; names++) {
        const struct bj_column *k =
            bj_column_find(columns, bj_slice_str(*names));
        if (k && k->label)
            t->column[n++] = k;
        else
            t->b->failed = true;
        t->at.name_apart |= strcmp(*names, "name") == 0;
    }
    t->b->failed |= *names != NULL;
    t->column[n] = NULL;
}

void bj_page_table_begin(struct bj_page_table *t, struct bj_buf *b,
                         const struct bj_column *columns,
                         const char *const *names, const char *to_root)
{
    t->b = b;
    t->at = (struct bj_page_place){.to_root = to_root};
    table_choose(t, columns, names);
    t->rows = t->most = 0;
    t->needs = t->link = NULL;
    t->sorted = (struct bj_slice){0};
    t->ascending = t->has_total = t->is_part = false;
    t->cells.row = page_put_row;
    t->cells.ctx = t;
    t->cells.text = (struct bj_buf){0};
}

/* The row of totals. */
static void put_total(void *ctx, const struct bj_cells *row)
{
    struct bj_page_table *t = ctx;
    bj_buf_str(t->b, "</tbody><tfoot><tr>");
    for (unsigned i = 0; t->column[i]; i++) {
        const struct bj_column *k = t->column[i];
        bj_buf_printf(t->b, "<td%s data-l=\"%s\">", class_of(t, k),
                      bj_local_escaped(k->label));
        if (i == 0)
            bj_local_html(t->b, "{Total}");
        else if (k->form != BJ_SHOW_GROUP)
            bj_page_value(t->b, k, row, &t->at);
        bj_buf_str(t->b, "</td>");
    }
    bj_buf_str(t->b, "</tr></tfoot>\n");
    t->has_total = true;
}

void bj_page_table_total(struct bj_page_table *t)
{
    t->cells.row = put_total;
}

void bj_page_table_end(struct bj_page_table *t, const char *none_text)
{
    if (t->is_part && t->rows > 0)
        bj_widget_table_part(t->b, t->head_at);
    if (t->has_total)
        bj_buf_str(t->b, "</table></div>\n");
    else if (t->rows > 0)
        bj_widget_table_end(t->b);
    else
        put_none(t->b, none_text);
    t->b->failed |= t->cells.text.failed;
    bj_cells_free(&t->cells);
}

void bj_page_list(struct bj_buf *b, const char *const *names,
                  const struct bj_cells *row, const char *none_text)
{
    const struct bj_page_place at = {.to_root = "../"};
    bool any = false;
    for (; *names; names++) {
        const struct bj_column *k = bj_job_column(bj_slice_str(*names));
        if (!k || bj_cell_is_empty(bj_cells_get(row, k->name)))
            continue;
        bj_buf_printf(b, "%s<div><dt>%s</dt><dd>",
                      any ? "" : "<dl class=\"facts\">",
                      bj_local_escaped(k->label));
        bj_page_value(b, k, row, &at);
        bj_buf_str(b, "</dd></div>\n");
        any = true;
    }
    if (any)
        bj_buf_str(b, "</dl>\n");
    else
        put_none(b, none_text);
}

/* --- the page -------------------------------------------------------------*/

/* Load only files of this server; no inline code, and frames only in the pages
 * of web.frame-ancestors. */
static void put_policy(struct bj_call *c)
{
    static const char policy[] =
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src "
        "'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors";
    const struct bj_strv *origins = &c->worker->conf->frame_ancestors;
    size_t n = (size_t)snprintf(c->policy, sizeof(c->policy), "%s%s", policy,
                                origins->n > 0 ? "" : " 'none'");
    for (size_t i = 0; i < origins->n && n < sizeof(c->policy); i++)
        n += (size_t)snprintf(c->policy + n, sizeof(c->policy) - n, " %s",
                              origins->v[i]);
    bj_call_header(c, "Content-Security-Policy", c->policy);
}

/* --- the frame -------------------------------------------------------------
 */

static bool in_menu(const struct bj_call *c, const struct bj_endpoint *e)
{
    return e->menu &&
           (e->menu_for == BJ_MENU_ALL || c->identity.admin ||
            (e->menu_for == BJ_MENU_COORDINATORS && c->identity.accounts > 0));
}

/* Append the links to the main pages; the link to this page is marked. */
static void put_menu(struct bj_call *c, const char *to_root)
{
    const struct bj_endpoint *const *e = c->worker->endpoint;
    for (; *e; e++)
        if (in_menu(c, *e))
            bj_buf_printf(&c->reply->body, "<a href=\"%s%s\"%s>%s</a> ",
                          to_root, (*e)->path + 1,
                          *e == c->endpoint ? " aria-current=\"page\"" : "",
                          bj_local_escaped((*e)->menu));
}

/* The user's name, as a link to the user's page. */
static void put_user(struct bj_call *c, const char *to_root)
{
    struct bj_buf *b = &c->reply->body;
    if (c->identity.user[0]) {
        bj_buf_printf(b, "<a href=\"%susers/", to_root);
        bj_url_text(b, bj_slice_str(c->identity.user));
        bj_buf_str(b, "\">");
        bj_html_text(b, bj_slice_str(c->identity.user));
        bj_buf_str(b, "</a>");
    }
    if (c->identity.admin)
        bj_local_html_str(b, " <small>{admin}</small>");
}

static void put_header(struct bj_call *c, const char *to_root)
{
    struct bj_buf *b = &c->reply->body;
    bj_local_html(
        b,
        "<body><a class=\"skip\" href=\"#main\">{Skip to the content}</a>"
        "<header class=\"top\"><a class=\"brand\" href=\"%s\"><svg "
        "viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"M1 2h14v3H1zM1 "
        "6.5h9v3H1zM1 11h5v3H1z\"/></svg>{Batch jobs}</a>\n<nav "
        "aria-label=\"{Pages}\">",
        *to_root ? to_root : "./");
    put_menu(c, to_root);
    bj_local_html(b,
                  "</nav>\n<form class=\"find\" role=\"search\" "
                  "action=\"%sfind\"><input name=\"q\" type=\"search\" "
                  "aria-label=\"{Go to a job, user, account or node}\" "
                  "placeholder=\"{Job, user, account, node}\"></form>\n<span>",
                  to_root);
    put_user(c, to_root);
    bj_buf_str(b, "</span></header>\n");
}

void bj_page_frame(struct bj_call *c, const char *title, const char *to_root,
                   unsigned live_sec)
{
    struct bj_buf *b = &c->reply->body;
    c->reply->type = "text/html; charset=utf-8";
    put_policy(c);
    bj_call_header(c, "Referrer-Policy", "no-referrer");
    bj_local_html_str(
        b, "<!DOCTYPE html>\n<html lang=\"{en}\"><head><meta charset="
           "\"utf-8\"><meta name=\"viewport\" content=\"width=device-"
           "width,initial-scale=1\"><title>");
    bj_html_text(b, bj_slice_str(title));
    bj_buf_printf(b,
                  "</title><link rel=\"icon\" href=\"%sstatic/icon.svg\">"
                  "<link rel=\"stylesheet\" href=\"%sstatic/style.css\">"
                  "<script src=\"%sstatic/pages.js\" defer></script>",
                  to_root, to_root, to_root);
    if (live_sec)
        bj_buf_str(b, "<noscript><meta http-equiv=\"refresh\" "
                      "content=\"60\"></noscript>");
    bj_buf_str(b, "</head>\n");
    put_header(c, to_root);
    struct bj_buf zone = bj_page_zone(b);
    if (!zone.failed)
        bj_buf_printf(b, "<main id=\"main\" data-zone=\"%s\"", zone.p);
    bj_buf_free(&zone);
    if (live_sec)
        bj_buf_printf(b, " data-live=\"%u\"", live_sec);
    bj_buf_str(b, ">\n");
}

void bj_page_open(struct bj_call *c, const char *title, const char *to_root)
{
    struct bj_buf *b = &c->reply->body;
    bj_page_frame(c, title, to_root, 0);
    bj_buf_str(b, "<div class=\"head\"><div><h1>");
    bj_html_text(b, bj_slice_str(title));
    bj_buf_str(b, "</h1></div></div>\n");
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
    bj_buf_reset(b);
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
