/* The page for management: what a month, or a longer time, cost, by faculty,
 * account, month and application. */
#include "apiserver/frame/widget.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/applications.h"
#include "apiserver/v1/usage.h"
#include "base/amount.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/html.h"
#include "base/local.h"
#include "base/tz.h"

#include <stdlib.h>
#include <string.h>

enum {
    MONTHS = 13, /* shown, the newest last */
    SHOWN = 100, /* accounts of a page */
    FAR = 1000,  /* percent; a larger change is not shown */
    MASK = BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO) |
           BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MONTH)
};

/* What an account, a faculty or a month used. */
struct part {
    struct bj_slice name, faculty; /* {NULL, 0}: none */
    int64_t month;
    int64_t jobs, jobs_before;
    struct bj_bill now, before;
};

struct overview {
    struct bj_prices prices;
    bool is_month;    /* else from and to */
    int64_t month;    /* the newest */
    struct part *row; /* as read; then one for each account */
    size_t rows, room;
    struct part *faculty;
    size_t faculties;
    struct part months[MONTHS];
    struct part all;
    struct bj_arena names;
};

/* --- reading ---------------------------------------------------------------
 */

static int management_take(void *ctx, const struct bj_usage_sum *s)
{
    struct overview *v = ctx;
    if (!BJ_GROW(v->row, v->rows + 1, v->room))
        return -ENOMEM;
    struct part *row = &v->row[v->rows++];
    *row = (struct part){.name = bj_arena_copy(&v->names, s->account),
                         .month = s->month};
    if (s->faculty.n > 0)
        row->faculty = bj_arena_copy(&v->names, s->faculty);
    const bool is_now = !v->is_month || s->month == v->month;
    const int64_t ago = v->month - s->month;
    if (ago >= 0 && ago < MONTHS) {
        struct part *month = &v->months[MONTHS - 1 - ago];
        month->jobs += s->ended;
        bj_bill_add(&month->now, &s->bill);
    }
    if (is_now) {
        row->jobs = s->ended;
        row->now = s->bill;
    } else if (ago == 1) {
        row->jobs_before = s->ended;
        row->before = s->bill;
    } else {
        v->rows--;
    }
    return v->names.failed ? -ENOMEM : 0;
}

static void management_add(struct part *sum, const struct part *p)
{
    sum->jobs += p->jobs;
    sum->jobs_before += p->jobs_before;
    bj_bill_add(&sum->now, &p->now);
    bj_bill_add(&sum->before, &p->before);
}

static int management_compare(struct bj_slice a, struct bj_slice b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int r = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return r ? r : (a.n > b.n) - (a.n < b.n);
}

static int management_by_name(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return management_compare(x->name, y->name);
}

static int management_by_faculty(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return management_compare(x->faculty, y->faculty);
}

/* Add neighbours that are equal; returns how many are left. */
static size_t management_fold(struct part *v, size_t n,
                              int (*compare)(const void *, const void *))
{
    size_t left = 0;
    if (n > 0)
        qsort(v, n, sizeof(*v), compare);
    for (size_t i = 0; i < n; i++)
        if (left > 0 && compare(&v[left - 1], &v[i]) == 0)
            management_add(&v[left - 1], &v[i]);
        else
            v[left++] = v[i];
    return left;
}

static int management_by_size(const void *a, const void *b, void *ctx)
{
    const struct overview *v = ctx;
    const struct part *x = a, *y = b;
    int64_t p = bj_bill_cost(&x->now, &v->prices);
    int64_t q = bj_bill_cost(&y->now, &v->prices);
    if (p == q) {
        p = x->now.cpu_sec;
        q = y->now.cpu_sec;
    }
    return (p < q) - (p > q);
}

static int management_settle(struct bj_call *c, struct overview *v)
{
    v->rows = management_fold(v->row, v->rows, management_by_name);
    for (size_t i = 0; i < v->rows; i++)
        management_add(&v->all, &v->row[i]);
    v->faculty = calloc(v->rows + 1, sizeof(*v->faculty));
    if (!v->faculty)
        return bj_err_set(&c->err, -ENOMEM, "management");
    if (v->rows > 0)
        memcpy(v->faculty, v->row, v->rows * sizeof(*v->row));
    v->faculties = management_fold(v->faculty, v->rows, management_by_faculty);
    if (v->rows > 0) {
        qsort_r(v->row, v->rows, sizeof(*v->row), management_by_size, v);
        qsort_r(v->faculty, v->faculties, sizeof(*v->faculty),
                management_by_size, v);
    }
    return 0;
}

static int management_read(struct bj_call *c, const struct bj_params *p,
                           struct overview *v)
{
    static const char *const groups[] = {"month", "account", "faculty"};
    struct bj_params q = *p;
    int r = bj_prices_read(bj_reader_db(c->reader), &v->prices, &c->err);
    if (v->is_month)
        q.number[BJ_PARAM_FROM] = bj_page_month_start(v->month - MONTHS + 1);
    for (int i = 0; i < 2 + bj_page_has_faculties(c) && r == 0; i++)
        r = bj_params_put(c, &q, BJ_BIT(BJ_PARAM_GROUP_BY),
                          BJ_SLICE("group_by"), bj_slice_str(groups[i]));
    if (r == 0)
        r = bj_usage_sums(c, &q, management_take, v);
    if (r == 0)
        r = management_settle(c, v);
    return r == -ENOMEM ? bj_err_set(&c->err, r, "management") : r;
}

/* --- figures ---------------------------------------------------------------
 */

static void management_put_known(struct bj_buf *b, int64_t ppm)
{
    if (ppm == BJ_SQL_NULL)
        return;
    bj_buf_str(b, " <small>");
    bj_amount(b, BJ_AMOUNT_PERCENT, (double)ppm / 10000);
    bj_local_html(b, " {known}</small>");
}

static void management_put_cost(struct bj_buf *b, const struct overview *v,
                                const struct bj_bill *s)
{
    const int64_t free = bj_bill_not_charged(s, &v->prices);
    bj_amount_money(b, bj_bill_cost(s, &v->prices));
    bj_buf_str(b, " ");
    bj_html_text(b, bj_slice_str(v->prices.currency));
    management_put_known(b, bj_bill_cost_known(s, &v->prices));
    if (free > 0) {
        bj_buf_str(b, " <small>");
        bj_amount_money(b, free);
        bj_buf_str(b, " ");
        bj_html_text(b, bj_slice_str(v->prices.currency));
        bj_local_html(b, " {not charged}</small>");
    }
}

static void management_put_hours(struct bj_buf *b, int64_t sec)
{
    bj_amount(b, BJ_AMOUNT_PLAIN, (double)sec / 3600);
}

static void management_put_energy(struct bj_buf *b, const struct bj_bill *s)
{
    if (s->energy_cpu_sec <= 0) {
        bj_buf_str(b, "&ndash;");
        return;
    }
    bj_amount(b, BJ_AMOUNT_JOULES, (double)s->energy_mj / 1000);
    management_put_known(b, bj_bill_energy_known(s));
}

static void management_put_grams(struct bj_buf *b, const struct bj_bill *s)
{
    if (s->emissions_mj <= 0) {
        bj_buf_str(b, "&ndash;");
        return;
    }
    bj_amount(b, BJ_AMOUNT_GRAMS, (double)s->emissions_ug / 1e6);
    management_put_known(b, bj_bill_emissions_known(s));
}

/* "+9.5 %" against the month before. */
static void management_put_change(struct bj_buf *b, const struct overview *v,
                                  const struct part *p)
{
    const bool has_prices = bj_prices_are(&v->prices);
    const int64_t now =
        has_prices ? bj_bill_cost(&p->now, &v->prices) : p->now.cpu_sec;
    const int64_t before =
        has_prices ? bj_bill_cost(&p->before, &v->prices) : p->before.cpu_sec;
    if (before <= 0)
        return;
    const double change = 100 * (double)(now - before) / (double)before;
    if (change >= FAR)
        return;
    bj_buf_str(b, change < 0 ? "&minus;" : "+");
    bj_amount(b, BJ_AMOUNT_PERCENT, change < 0 ? -change : change);
}

static void management_put_totals(struct bj_buf *b, const struct overview *v)
{
    const struct bj_bill *s = &v->all.now;
    char n[BJ_AMOUNT_COUNT];
    bj_buf_str(b, "<dl class=\"card stats\">");
    if (bj_prices_are(&v->prices)) {
        bj_local_html(b, "<div><dt>{Cost}</dt><dd>");
        bj_amount_money(b, bj_bill_cost(s, &v->prices));
        bj_buf_str(b, " <small>");
        bj_html_text(b, bj_slice_str(v->prices.currency));
        bj_buf_str(b, "</small><div class=\"sub\">");
        if (v->is_month && v->all.before.cpu_sec > 0) {
            bj_page_month_name(b, v->month - 1);
            bj_buf_str(b, ": ");
            management_put_change(b, v, &v->all);
        }
        bj_buf_str(b, "</div></dd></div>");
    }
    bj_local_html(b, "<div><dt>{CPU hours held}</dt><dd>");
    management_put_hours(b, s->cpu_sec);
    bj_local_html(b,
                  "<div class=\"sub\">{%s jobs ended}</div></dd></div>"
                  "<div><dt>{of them used}</dt><dd>",
                  bj_amount_count(n, v->all.jobs));
    bj_page_use(b, s->cpu_sec, s->cpu_known_sec, s->cpu_used_msec);
    if (s->gpu_sec > 0) {
        bj_local_html(b, "</dd></div><div><dt>{GPU hours held}</dt><dd>");
        management_put_hours(b, s->gpu_sec);
        bj_local_html(b, "</dd></div><div><dt>{of them used}</dt><dd>");
        bj_page_use(b, s->gpu_sec, s->gpu_known_sec, s->gpu_used_msec);
    }
    bj_local_html(b, "</dd></div><div><dt>{Energy}</dt><dd>");
    management_put_energy(b, s);
    bj_local_html(b, "<div class=\"sub\">{CO2e (estimate)} ");
    management_put_grams(b, s);
    bj_buf_str(b, "</div></dd></div></dl>\n");
}

/* --- tables ----------------------------------------------------------------
 */

/* The head of a table.  change: with the column against the month before. */
static void management_put_titles(struct bj_buf *b, const struct overview *v,
                                  const char *what, bool change)
{
    bj_buf_printf(b, "<thead><tr><th scope=\"col\">%s</th>",
                  bj_local_escaped(what));
    if (bj_prices_are(&v->prices))
        bj_local_html(b, "<th scope=\"col\" class=\"n\">{Cost}</th>");
    bj_local_html(b, "<th scope=\"col\" class=\"p\">{Part}</th>");
    if (change) {
        bj_local_html(b, "<th scope=\"col\" class=\"n\">{Against} ");
        bj_page_month_name(b, v->month - 1);
        bj_buf_str(b, "</th>");
    }
    bj_local_html(
        b, "<th scope=\"col\" class=\"n p\">{Jobs ended}</th><th scope=\"col\" "
           "class=\"n\">{CPU hours}</th><th scope=\"col\">{CPU use}</th><th "
           "scope=\"col\" class=\"n\">{GPU hours}</th><th scope=\"col\">{GPU "
           "use}</th><th scope=\"col\" class=\"n p\">{Energy}</th><th "
           "scope=\"col\" class=\"n p\">{CO2e (estimate)}</th></tr></thead>"
           "<tbody>\n");
}

static void management_begin_cell(struct bj_buf *b, const char *classes,
                                  const char *label)
{
    bj_buf_printf(b, "<td class=\"%s\" data-l=\"%s\">", classes,
                  bj_local_escaped(label));
}

/* The values of a row after its name. */
static void management_put_values(struct bj_buf *b, const struct overview *v,
                                  const struct part *p, bool change)
{
    const struct bj_bill *s = &p->now;
    char n[BJ_AMOUNT_COUNT];
    const int64_t cost = bj_bill_cost(s, &v->prices);
    const int64_t all = bj_bill_cost(&v->all.now, &v->prices);
    if (bj_prices_are(&v->prices)) {
        bj_buf_str(b, "<td class=\"n r\">");
        management_put_cost(b, v, s);
        bj_buf_str(b, "</td>");
    }
    bj_buf_str(b, "<td class=\"p\">");
    if (p != &v->all && (all > 0 || v->all.now.cpu_sec > 0))
        bj_widget_bar(b, BJ_LOOK_NONE, false,
                      all > 0 ? 100 * (double)cost / (double)all
                              : 100 * (double)s->cpu_sec /
                                    (double)v->all.now.cpu_sec);
    bj_buf_str(b, "</td>");
    if (change) {
        management_begin_cell(b, "n", "Change");
        management_put_change(b, v, p);
        bj_buf_str(b, "</td>");
    }
    bj_buf_printf(b, "<td class=\"n p\">%s</td>", bj_amount_count(n, p->jobs));
    management_begin_cell(b, "n", "CPU hours");
    management_put_hours(b, s->cpu_sec);
    bj_buf_str(b, "</td>");
    management_begin_cell(b, "", "CPU use");
    bj_page_use(b, s->cpu_sec, s->cpu_known_sec, s->cpu_used_msec);
    bj_buf_str(b, "</td>");
    management_begin_cell(b, "n", "GPU hours");
    management_put_hours(b, s->gpu_sec);
    bj_buf_str(b, "</td>");
    management_begin_cell(b, "", "GPU use");
    bj_page_use(b, s->gpu_sec, s->gpu_known_sec, s->gpu_used_msec);
    bj_buf_str(b, "</td><td class=\"n p\">");
    management_put_energy(b, s);
    bj_buf_str(b, "</td><td class=\"n p\">");
    management_put_grams(b, s);
    bj_buf_str(b, "</td></tr>\n");
}

/* The name of an account, which leads to its bill, or of a faculty. */
static void management_put_name(struct bj_buf *b, const struct overview *v,
                                const struct part *p, bool is_account)
{
    bj_buf_str(b, "<tr><th scope=\"row\">");
    if (is_account && p->name.n > 0) {
        bj_buf_str(b, "<a href=\"accounts/");
        bj_url_text(b, p->name);
        bj_buf_str(b, "?month=");
        bj_page_month_number(b, v->month);
        bj_buf_str(b, "\"><bdi>");
        bj_html_text(b, p->name);
        bj_buf_str(b, "</bdi></a>");
    } else if (is_account || p->faculty.n == 0) {
        bj_local_html(b, is_account ? "{(none)}" : "{other accounts}");
    } else {
        bj_buf_str(b, "<bdi>");
        bj_html_text(b, p->faculty);
        bj_buf_str(b, "</bdi>");
    }
    bj_buf_str(b, "</th>");
}

static void management_put_parts(struct bj_buf *b, const struct overview *v,
                                 const struct part *part, size_t n,
                                 bool is_account)
{
    const char *title = is_account ? "By account" : "By faculty";
    char all[BJ_AMOUNT_COUNT];
    bj_widget_card(b, title, NULL, NULL);
    if (n == 0) {
        bj_local_html(b, "<p class=\"none\">{No usage in this time.}</p>");
        bj_widget_card_end(b);
        return;
    }
    bj_widget_table(b, bj_local_escaped(title), "stack", true);
    const bool change = v->is_month && v->all.before.cpu_sec > 0;
    management_put_titles(b, v, is_account ? "Account" : "Faculty", change);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        management_put_name(b, v, &part[i], is_account);
        management_put_values(b, v, &part[i], change);
    }
    bj_local_html(b, "</tbody><tfoot><tr><th scope=\"row\">{Total}</th>");
    management_put_values(b, v, &v->all, change);
    bj_buf_str(b, "</tfoot></table></div>");
    if (n > SHOWN)
        bj_local_html(b,
                      "<p class=\"small\">{The %d largest of %s; the total "
                      "includes all.}</p>",
                      SHOWN, bj_amount_count(all, (int64_t)n));
    bj_widget_card_end(b);
}

static void management_put_months(struct bj_buf *b, const struct overview *v)
{
    bool any = false;
    for (int i = 0; i < MONTHS; i++)
        any |= v->months[i].now.cpu_sec > 0 || v->months[i].jobs > 0;
    if (!any)
        return;
    bj_widget_card(b, "By month", NULL, NULL);
    bj_widget_table(b, bj_local_escaped("By month"), "stack", true);
    management_put_titles(b, v, "Month", false);
    for (int i = MONTHS - 1; i >= 0; i--) {
        const struct part *p = &v->months[i];
        if (p->now.cpu_sec == 0 && p->jobs == 0)
            continue;
        const int64_t month = v->month - (MONTHS - 1 - i);
        bj_buf_str(b, "<tr><th scope=\"row\"><a href=\"?month=");
        bj_page_month_number(b, month);
        bj_buf_str(b, "\">");
        bj_page_month_name(b, month);
        bj_buf_str(b, "</a></th>");
        management_put_values(b, v, p, false);
    }
    bj_widget_table_end(b);
    bj_widget_card_end(b);
}

/* --- the page --------------------------------------------------------------
 */

static void management_put_head(struct bj_call *c, const struct bj_params *p,
                                const struct overview *v)
{
    struct bj_buf *b = &c->reply->body;
    bj_local_html(b, "<div class=\"head\"><div><h1>{Management}</h1><p "
                     "class=\"meta\"><span>");
    if (v->is_month)
        bj_page_month_name(b, v->month);
    if (v->is_month && v->month == bj_page_month_now(c))
        bj_local_html(b, ", {so far}");
    if (!v->is_month) {
        bj_page_time(b, p->number[BJ_PARAM_FROM]);
        bj_local_html(b, " {to} ");
        bj_page_time(b, p->number[BJ_PARAM_TO]);
    }
    bj_buf_str(b, "</span></p></div><form class=\"filters\">");
    bj_page_month_choice(c, v->is_month ? v->month : -1);
    bj_page_input(b, p, BJ_PARAM_CLUSTER, "Cluster", "text");
    bj_local_html(b, "<button>{Show}</button></form></div>\n");
    bj_page_periods(c, "management");
}

static int management_put_applications(struct bj_call *c,
                                       const struct bj_params *p,
                                       const struct part *all)
{
    struct bj_buf *b = &c->reply->body;
    const struct bj_usage_sum sum = {.ended = all->jobs, .bill = all->now};
    bj_widget_card(b, "By application", NULL, NULL);
    int r = bj_applications_page(c, p, &sum);
    bj_local_html(b,
                  "<p class=\"small mute\">{The application of a job is known "
                  "when the job has ended.}</p>\n");
    bj_widget_card_end(b);
    return r;
}

/* Find the time: a month, or from and to. */
static int management_time(struct bj_call *c, struct bj_params *p,
                           struct overview *v)
{
    v->is_month = !p->given[BJ_PARAM_FROM] && !p->given[BJ_PARAM_TO];
    if (v->is_month) {
        int r = bj_page_month(c, p, &v->month);
        const int64_t end = bj_page_month_start(v->month + 1) - 1;
        p->given[BJ_PARAM_FROM] = p->given[BJ_PARAM_TO] = true;
        p->number[BJ_PARAM_FROM] = bj_page_month_start(v->month);
        p->number[BJ_PARAM_TO] = end < c->now_sec ? end : c->now_sec;
        return r;
    }
    bj_page_times(c, p);
    v->month = bj_page_month_of(p->number[BJ_PARAM_TO] < c->now_sec
                                    ? p->number[BJ_PARAM_TO]
                                    : c->now_sec);
    return 0;
}

static int on_management(struct bj_call *c)
{
    struct bj_buf *b = &c->reply->body;
    struct bj_params p;
    struct overview *v = calloc(1, sizeof(*v));
    if (!v)
        return bj_err_set(&c->err, -ENOMEM, "management");
    int r = bj_params_read(c, MASK, &p);
    if (r == 0)
        r = management_time(c, &p, v);
    if (r == 0)
        r = management_read(c, &p, v);
    if (r == 0) {
        bj_page_frame(c, bj_local("Management"), "", 0);
        management_put_head(c, &p, v);
        management_put_totals(b, v);
        if (bj_page_has_faculties(c))
            management_put_parts(b, v, v->faculty, v->faculties, false);
        management_put_parts(b, v, v->row, v->rows, true);
        management_put_months(b, v);
        r = management_put_applications(c, &p, &v->all);
        bj_page_usage_note(b);
        bj_page_close(c);
    }
    bj_arena_free(&v->names);
    free(v->row);
    free(v->faculty);
    free(v);
    return r;
}

const struct bj_endpoint bj_endpoints_page_management[] = {
    {.path = "/management",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_management,
     .refused = bj_page_refuse,
     .to_root = "",
     .menu = "Management",
     .menu_for = BJ_MENU_COORDINATORS,
     .help = "Web page: a month, by default the last whole one, or a time, by "
             "faculty, account, month and application.",
     .type = "text/html",
     .params = MASK},
    {.path = NULL},
};
