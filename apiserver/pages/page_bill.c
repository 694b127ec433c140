/* The page of the bill of an account for a month, and its CSV. */
#include "apiserver/frame/state.h"
#include "apiserver/frame/widget.h"
#include "apiserver/pages/bill.h"
#include "base/amount.h"
#include "base/csv.h"
#include "base/html.h"
#include "base/local.h"
#include "base/tz.h"

#include <stdlib.h>

enum {
    SHOWN = 25, /* members of a page; a sheet of paper has room for them */
    MILLION = 1000000
};

/* --- CSV -------------------------------------------------------------------
 */

static void bill_csv_number(struct bj_buf *b, int64_t micro)
{
    bj_buf_str(b, ",");
    if (micro != BJ_SQL_NULL)
        bj_buf_fixed(b, (uint64_t)micro, 6);
}

static void bill_csv_row(struct bj_buf *b, const struct bj_month_bill *v,
                         const char *part, struct bj_slice name,
                         const struct bj_bill *s, int64_t jobs)
{
    bj_buf_printf(b, "%s,", part);
    bj_csv_text(b, name);
    bj_buf_str(b, ",");
    if (jobs >= 0)
        bj_buf_printf(b, "%lld", (long long)jobs);
    bill_csv_number(b, bj_bill_ratio(s->cpu_sec, MILLION, 3600));
    bill_csv_number(b, bj_bill_ratio(s->gpu_sec, MILLION, 3600));
    bill_csv_number(b, bj_bill_ratio(s->mem_mib_sec, MILLION, 3600 * 1024));
    bill_csv_number(b, s->energy_cpu_sec > 0
                           ? bj_bill_ratio(s->energy_mj, 1, 3600)
                           : BJ_SQL_NULL);
    const int64_t known = bj_bill_energy_known(s);
    bill_csv_number(b, known == BJ_SQL_NULL ? known : known * 100);
    bill_csv_number(b, bj_bill_cost(s, &v->prices));
    bill_csv_number(b, bj_bill_not_charged(s, &v->prices));
    bj_buf_str(b, ",");
    bj_csv_text(b, bj_slice_str(v->prices.currency));
    bj_buf_str(b, "\r\n");
}

static void bill_csv(struct bj_call *c, const struct bj_month_bill *v)
{
    struct bj_buf *b = &c->reply->body, name = {0};
    c->reply->type = "text/csv; charset=utf-8";
    bj_buf_str(b, "part,name,jobs_ended,core_hours,gpu_hours,"
                  "memory_gib_hours,energy_kwh,energy_coverage,cost,"
                  "cost_not_charged,currency\r\n");
    for (int i = 0; i < 2; i++) {
        name.len = 0;
        bj_page_month_number(&name, v->month - i);
        bill_csv_row(b, v, i ? "month before" : "month",
                     (struct bj_slice){name.p, name.len},
                     i ? &v->before : &v->now, i ? -1 : v->jobs);
    }
    for (unsigned i = 0; i < v->days; i++) {
        name.len = 0;
        bj_page_month_number(&name, v->month);
        bj_buf_printf(&name, "-%02u", i + 1);
        bill_csv_row(b, v, "day", (struct bj_slice){name.p, name.len},
                     &v->day[i], -1);
    }
    for (size_t i = 0; i < v->members; i++)
        bill_csv_row(b, v, "user", v->member[i].name, &v->member[i].now,
                     v->member[i].jobs);
    b->failed |= name.failed;
    bj_buf_free(&name);
}

/* --- the page --------------------------------------------------------------
 */

static void bill_currency(struct bj_buf *b, const struct bj_month_bill *v)
{
    bj_html_text(b, bj_slice_str(v->prices.currency));
}

static void bill_put_text(struct bj_buf *b, struct bj_buf *text)
{
    bj_html_text(b, (struct bj_slice){text->p, text->len});
    b->failed |= text->failed;
    bj_buf_free(text);
}

static void bill_put_tile(struct bj_buf *b, const char *title)
{
    bj_buf_printf(b, "<div><dt>%s</dt><dd>", bj_local_escaped(title));
}

/* The part of held hours that was not used, where the use is known. */
static void bill_put_unused(struct bj_buf *b, const char *what, int64_t held,
                            int64_t known, int64_t used_msec,
                            const char *before)
{
    if (held <= 0 || known <= 0)
        return;
    const double unused = (double)(known * 1000 - used_msec);
    bj_buf_str(b, before);
    bj_amount(b, BJ_AMOUNT_PERCENT,
              unused > 0 ? unused / 10 / (double)known : 0);
    bj_local_html(b, " {of} ");
    bj_buf_str(b, bj_local_escaped(what));
    if (known < held) {
        bj_local_html(b, " ({known for} ");
        bj_amount(b, BJ_AMOUNT_PERCENT, 100 * (double)known / (double)held);
        bj_buf_str(b, ")");
    }
}

/* Append money as the value of a tile. */
static void bill_put_sum_of(struct bj_buf *b, const struct bj_month_bill *v,
                            int64_t micro)
{
    bj_month_bill_money(b, micro);
    if (micro == BJ_SQL_NULL)
        return;
    bj_buf_str(b, " <small>");
    bill_currency(b, v);
    bj_buf_str(b, "</small>");
}

/* The first two tiles: this month and the one before. */
static void bill_put_months(struct bj_buf *b, const struct bj_month_bill *v)
{
    const int64_t now = bj_bill_cost(&v->now, &v->prices);
    const int64_t before = bj_bill_cost(&v->before, &v->prices);
    const bool has_prices = bj_prices_are(&v->prices);
    struct bj_buf change = {0};
    char n[BJ_AMOUNT_COUNT];
    bill_put_tile(b, has_prices ? "Total" : "CPU hours");
    if (has_prices)
        bill_put_sum_of(b, v, now);
    else
        bj_amount(b, BJ_AMOUNT_PLAIN, (double)v->now.cpu_sec / 3600);
    bj_local_html(b, "<div class=\"sub\">{%s jobs ended}</div></dd></div>",
                  bj_amount_count(n, v->jobs));
    bj_buf_str(b, "<div><dt>");
    bj_page_month_name(b, v->month - 1);
    bj_buf_str(b, "</dt><dd>");
    if (has_prices)
        bill_put_sum_of(b, v, before);
    else
        bj_amount(b, BJ_AMOUNT_PLAIN, (double)v->before.cpu_sec / 3600);
    bj_buf_str(b, "<div class=\"sub\">");
    if (before > 0 && now != BJ_SQL_NULL && v->is_over)
        bj_month_bill_change(&change, v, now, before);
    bill_put_text(b, &change);
    bj_buf_str(b, "</div></dd></div>");
}

static void bill_put_totals(struct bj_buf *b, const struct bj_month_bill *v)
{
    const struct bj_bill *s = &v->now;
    bj_buf_str(b, "<dl class=\"card stats\">");
    bill_put_months(b, v);
    bill_put_tile(b, "Held and not used");
    const int64_t unused = s->cpu_known_sec - s->cpu_used_msec / 1000;
    if (!bj_prices_are(&v->prices) && s->cpu_known_sec > 0) {
        bj_amount(b, BJ_AMOUNT_PLAIN, (double)(unused > 0 ? unused : 0) / 3600);
        bj_local_html(b, " <small>{CPU hours}</small>");
    } else {
        bill_put_sum_of(b, v, bj_month_bill_unused(v));
    }
    bj_buf_str(b, "<div class=\"sub\">");
    bill_put_unused(b, "CPU hours", s->cpu_sec, s->cpu_known_sec,
                    s->cpu_used_msec, "");
    bill_put_unused(b, "GPU hours", s->gpu_sec, s->gpu_known_sec,
                    s->gpu_used_msec,
                    s->cpu_sec > 0 && s->cpu_known_sec > 0 ? ", " : "");
    bj_buf_str(b, "</div></dd></div>");
    bill_put_tile(b, "CO2e (estimate)");
    if (s->emissions_mj > 0)
        bj_amount(b, BJ_AMOUNT_GRAMS, (double)s->emissions_ug / 1e6);
    else
        bj_buf_str(b, "&ndash;");
    bj_buf_str(b, "<div class=\"sub\">");
    if (s->energy_cpu_sec > 0)
        bj_amount(b, BJ_AMOUNT_JOULES, (double)s->energy_mj / 1000);
    else
        bj_local_html(b, "{energy not known}");
    bj_buf_str(b, "</div></dd></div></dl>\n");
}

static void bill_put_items(struct bj_buf *b, const struct bj_month_bill *v)
{
    struct bj_month_item item[BJ_MONTH_ITEMS];
    bj_month_bill_items(v, item);
    bj_widget_card(b, "What it costs", NULL, NULL);
    bj_widget_table(b, bj_local_escaped("What it costs"), "stack", false);
    bj_local_html(b, "<thead><tr><th scope=\"col\">{Item}</th><th "
                     "scope=\"col\" class=\"n\">{Amount}</th><th scope=\"col\" "
                     "class=\"n\">");
    bill_currency(b, v);
    bj_local_html(b, " {each}</th><th scope=\"col\" class=\"n p\">");
    bj_page_month_name(b, v->month - 1);
    bj_buf_str(b, "</th><th scope=\"col\" class=\"n\">");
    bj_page_month_name(b, v->month);
    bj_buf_str(b, "</th></tr></thead><tbody>\n");
    for (unsigned i = 0; i < BJ_MONTH_ITEMS; i++) {
        const struct bj_month_item *t = &item[i];
        if (t->price == BJ_SQL_NULL)
            continue;
        bj_buf_printf(b, "<tr><th scope=\"row\">%s <small>%s",
                      bj_local_escaped(t->title), bj_local_escaped(t->what));
        if (t->known != BJ_SQL_NULL && t->known < MILLION) {
            bj_local_html(b, ", {known for} ");
            bj_amount(b, BJ_AMOUNT_PERCENT, (double)t->known / 10000);
        }
        bj_buf_str(b, "</small></th><td class=\"n\">");
        if (t->known == 0)
            bj_buf_str(b, "&ndash;");
        else
            bj_amount(b, BJ_AMOUNT_PLAIN, t->amount);
        bj_buf_str(b, "</td><td class=\"n\" data-l=\"&times;\">");
        bj_buf_fixed(b, (uint64_t)t->price, 6);
        bj_buf_str(b, "</td><td class=\"n p\">");
        bj_month_bill_money(b, t->cost_before);
        bj_buf_str(b, "</td><td class=\"n r\">");
        bj_month_bill_money(b, t->known == 0 ? BJ_SQL_NULL : t->cost);
        bj_buf_str(b, "</td></tr>\n");
    }
    bj_local_html(b, "</tbody><tfoot><tr><th scope=\"row\">{Total}</th><td>"
                     "</td><td></td><td class=\"n p\">");
    bj_month_bill_money(b, bj_bill_cost(&v->before, &v->prices));
    bj_buf_str(b, "</td><td class=\"n r\">");
    bj_month_bill_money(b, bj_bill_cost(&v->now, &v->prices));
    bj_buf_str(b, "</td></tr></tfoot></table></div>");
    const int64_t free = bj_bill_not_charged(&v->now, &v->prices);
    if (free > 0) {
        bj_buf_str(b, "<p class=\"small mute\">");
        bj_month_bill_money(b, free);
        bj_buf_str(b, " ");
        bill_currency(b, v);
        bj_local_html(b, " {of jobs whose node failed are not charged.}</p>");
    }
    bj_widget_card_end(b);
}

static void bill_put_days(struct bj_buf *b, const struct bj_month_bill *v)
{
    double value[BJ_MONTH_DAYS], sum = 0;
    const bool has_prices = bj_prices_are(&v->prices);
    for (unsigned i = 0; i < v->days; i++) {
        const int64_t cost = bj_bill_cost(&v->day[i], &v->prices);
        value[i] = has_prices ? (double)cost / MILLION
                              : (double)v->day[i].cpu_sec / 3600;
        sum += value[i];
    }
    bj_widget_card(b, has_prices ? "Cost of each day" : "CPU hours of each day",
                   NULL, NULL);
    bj_widget_days(
        b, &(struct bj_widget_days){
               .label = bj_local_escaped(has_prices ? "Cost of each day"
                                                    : "CPU hours of each day"),
               .value = value,
               .days = v->days,
               .first = bj_page_month_first_day(v->month)});
    if (v->is_over) {
        bj_buf_str(b, "<p class=\"small mute\">");
        bj_amount(b, BJ_AMOUNT_PLAIN, sum / (double)v->days);
        bj_buf_str(b, " ");
        if (has_prices)
            bill_currency(b, v);
        bj_local_html(b, " {a day on average}</p>\n");
    }
    bj_widget_card_end(b);
}

static void bill_put_hours(struct bj_buf *b, const char *label, int64_t sec)
{
    bj_buf_printf(b, "<td class=\"n\" data-l=\"%s\">", bj_local_escaped(label));
    bj_amount(b, BJ_AMOUNT_PLAIN, (double)sec / 3600);
    bj_buf_str(b, "</td>");
}

/* The values of a row of members; part: of the whole bill, percent. */
static void bill_put_values(struct bj_buf *b, const struct bj_month_bill *v,
                            const struct bj_month_member *m, double part)
{
    char n[BJ_AMOUNT_COUNT];
    bj_buf_printf(b, "<td class=\"n p\">%s</td>", bj_amount_count(n, m->jobs));
    bill_put_hours(b, "CPU hours", m->now.cpu_sec);
    bill_put_hours(b, "GPU hours", m->now.gpu_sec);
    if (bj_prices_are(&v->prices)) {
        bj_buf_str(b, "<td class=\"n r\">");
        bj_month_bill_money(b, m->cost);
        bj_buf_str(b, "</td><td class=\"n p\">");
        bj_month_bill_money(b, m->cost_before);
        bj_buf_str(b, "</td>");
    }
    bj_buf_str(b, "<td class=\"p\">");
    if (part - part == 0)
        bj_widget_bar(b, BJ_LOOK_NONE, false, part);
    bj_buf_str(b, "</td></tr>\n");
}

static double bill_part(const struct bj_month_bill *v,
                        const struct bj_month_member *m)
{
    const int64_t all = bj_bill_cost(&v->now, &v->prices);
    return all > 0 ? 100 * (double)m->cost / (double)all
           : v->now.cpu_sec > 0
               ? 100 * (double)m->now.cpu_sec / (double)v->now.cpu_sec
               : __builtin_nan("");
}

/* A row of several members: their sum, or the total. */
static void bill_put_sum(struct bj_buf *b, const struct bj_month_bill *v,
                         struct bj_month_member *m, double part)
{
    m->cost = bj_bill_cost(&m->now, &v->prices);
    m->cost_before = bj_bill_cost(&m->before, &v->prices);
    bill_put_values(b, v, m, part);
}

static void bill_put_members(struct bj_buf *b, const struct bj_month_bill *v)
{
    const size_t shown = v->members > SHOWN ? SHOWN - 1 : v->members;
    struct bj_month_member rest = {.jobs = 0}, all = {.jobs = 0};
    char n[BJ_AMOUNT_COUNT];
    bj_widget_card(b, "Who used it", NULL, NULL);
    bj_widget_table(b, bj_local_escaped("Who used it"), "stack", true);
    bj_local_html(b, "<thead><tr><th scope=\"col\">{User}</th><th "
                     "scope=\"col\" class=\"n p\">{Jobs ended}</th><th "
                     "scope=\"col\" class=\"n\">{CPU hours}</th><th "
                     "scope=\"col\" class=\"n\">{GPU hours}</th>");
    if (bj_prices_are(&v->prices)) {
        bj_buf_str(b, "<th scope=\"col\" class=\"n\">");
        bill_currency(b, v);
        bj_buf_str(b, "</th><th scope=\"col\" class=\"n p\">");
        bj_page_month_name(b, v->month - 1);
        bj_buf_str(b, "</th>");
    }
    bj_local_html(b, "<th scope=\"col\" class=\"p\">{Part of the total}</th>"
                     "</tr></thead><tbody>\n");
    for (size_t i = 0; i < v->members; i++) {
        const struct bj_month_member *m = &v->member[i];
        bj_month_bill_add(&all, m);
        if (i >= shown) {
            bj_month_bill_add(&rest, m);
            continue;
        }
        bj_buf_str(b, "<tr><th scope=\"row\"><a href=\"../users/");
        bj_url_text(b, m->name);
        bj_buf_str(b, "\"><bdi>");
        bj_html_text(b, m->name);
        bj_buf_str(b, "</bdi></a></th>");
        bill_put_values(b, v, m, bill_part(v, m));
    }
    bj_buf_str(b, "</tbody><tfoot>");
    if (shown < v->members) {
        bj_local_html(b, "<tr><th scope=\"row\">{%s others}</th>",
                      bj_amount_count(n, (int64_t)(v->members - shown)));
        rest.cost = bj_bill_cost(&rest.now, &v->prices);
        bill_put_sum(b, v, &rest, bill_part(v, &rest));
    }
    bj_local_html(b, "<tr><th scope=\"row\">{Total}</th>");
    bill_put_sum(b, v, &all, __builtin_nan(""));
    bj_buf_str(b, "</tfoot></table></div>");
    bj_widget_card_end(b);
}

/* The form that chooses a month, and the links to other forms. */
static void bill_put_choice(struct bj_call *c, const struct bj_month_bill *v)
{
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<div class=\"acts\"><form class=\"filters\">");
    bj_page_month_choice(c, v->month);
    bj_local_html(b, "<button>{Show}</button></form><a class=\"btn\" "
                     "href=\"?month=");
    bj_page_month_number(b, v->month);
    bj_local_html(b, "&amp;format=csv\">{CSV}</a><a class=\"btn\" "
                     "href=\"?month=");
    bj_page_month_number(b, v->month);
    bj_local_html(b, "&amp;format=pdf\">{PDF}</a></div>");
}

static void bill_put_head(struct bj_call *c, const struct bj_month_bill *v)
{
    struct bj_buf *b = &c->reply->body, status = {0};
    bj_buf_str(b, "<div class=\"head\"><div><p class=\"small screen\"><a "
                  "href=\"");
    bj_url_text(b, v->account);
    bj_local_html(b, "\">{Account} ");
    bj_html_text(b, v->account);
    bj_buf_str(b, "</a></p><h1><bdi>");
    bj_html_text(b, v->account);
    bj_buf_str(b, "</bdi>, ");
    bj_page_month_name(b, v->month);
    bj_buf_str(b, "</h1><p class=\"meta\"><span>");
    bj_page_time(b, bj_page_month_start(v->month));
    bj_local_html(b, " {to} ");
    bj_page_time(b,
                 v->is_over ? bj_page_month_start(v->month + 1) : c->now_sec);
    bj_buf_str(b, ", ");
    bj_html_text(b, bj_slice_str(bj_tz_name(bj_tz_used())));
    bj_buf_str(b, "</span><span>");
    bj_month_bill_status(&status, v);
    bill_put_text(b, &status);
    bj_buf_str(b, "</span>");
    if (!bj_month_bill_sees_all(c, v->account))
        bj_local_html(b, "<span>{only your own jobs}</span>");
    bj_buf_str(b, "</p></div>");
    bill_put_choice(c, v);
    bj_buf_str(b, "</div>\n");
}

static void bill_put_page(struct bj_call *c, const struct bj_month_bill *v)
{
    struct bj_buf *b = &c->reply->body, title = {0};
    bj_buf_slice(&title, v->account);
    bj_buf_str(&title, " ");
    bj_page_month_number(&title, v->month);
    bj_buf_put(&title, "", 1);
    b->failed |= title.failed;
    bj_page_frame(c, title.failed ? "" : title.p, "../", 0);
    bj_buf_free(&title);
    bill_put_head(c, v);
    bill_put_totals(b, v);
    if (bj_prices_are(&v->prices))
        bill_put_items(b, v);
    else
        bj_local_html(b, "<p class=\"small mute\">{The site has no prices "
                         "(price.*), so there is no cost.}</p>\n");
    bill_put_days(b, v);
    if (v->members > 0)
        bill_put_members(b, v);
    bj_buf_printf(b, "<p class=\"small mute\">%s</p>\n",
                  bj_local_escaped(BJ_MONTH_MEANING));
    bj_page_close(c);
}

int bj_page_bill(struct bj_call *c, const struct bj_params *p)
{
    struct bj_month_bill *v = calloc(1, sizeof(*v));
    if (!v)
        return bj_err_set(&c->err, -ENOMEM, "bill");
    v->account = c->tail;
    int r = bj_page_month(c, p, &v->month);
    if (r == 0)
        r = bj_month_bill_read(c, p, v);
    if (r == 0 && bj_call_shape(c) == BJ_SHAPE_CSV)
        bill_csv(c, v);
    else if (r == 0 &&
             bj_slice_eq(bj_params_text(p, BJ_PARAM_FORMAT), BJ_SLICE("pdf")))
        r = bj_month_bill_pdf(c, p, v);
    else if (r == 0)
        bill_put_page(c, v);
    bj_arena_free(&v->names);
    free(v->member);
    free(v);
    return r;
}
