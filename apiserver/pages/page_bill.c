/* The bill of an account for a month: total, items with their prices, days,
 * members, each beside the month before. */
#include "apiserver/frame/query.h"
#include "apiserver/frame/state.h"
#include "apiserver/frame/widget.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/usage.h"
#include "base/amount.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/csv.h"
#include "base/html.h"
#include "base/local.h"
#include "base/slice.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "report/model/show.h"

#include <stdlib.h>
#include <string.h>

enum {
    MONTHS = 12,  /* of a year */
    CHOICES = 14, /* months to choose from */
    DAYS = 31,
    SHOWN = 25, /* members of a page; a sheet of paper has room for them */
    FAR = 10,   /* a larger change has no percentage */
    MILLION = 1000000,
    HUNDREDTH = MILLION / 100
};

struct member {
    struct bj_slice name;
    int64_t jobs;
    struct bj_bill now, before;
    int64_t cost, cost_before; /* millionths; BJ_SQL_NULL: no prices */
};

struct bill {
    struct bj_prices prices;
    struct bj_slice account;
    int64_t month;
    bool is_over; /* the month has ended */
    int64_t open; /* its jobs that have not ended */
    int64_t jobs; /* that ended in the month */
    struct bj_bill now, before;
    unsigned days;
    struct bj_bill day[DAYS];
    struct member *member; /* most expensive first */
    size_t members, room;
    struct bj_arena names;
};

/* --- months ----------------------------------------------------------------
 */

int64_t bj_page_month_of(int64_t sec)
{
    struct bj_civil t = {0};
    bj_civil_from_days(bj_tz_day(bj_tz_used(), sec), &t);
    return (int64_t)t.year * MONTHS + t.month - 1;
}

int64_t bj_page_month_now(const struct bj_call *c)
{
    return bj_page_month_of(c->now_sec);
}

static int64_t month_first_day(int64_t month)
{
    return bj_days_from_civil((int)(month / MONTHS),
                              (unsigned)(month % MONTHS) + 1, 1);
}

int64_t bj_page_month_start(int64_t month)
{
    return bj_tz_midnight(bj_tz_used(), month_first_day(month));
}

int bj_page_month(struct bj_call *c, const struct bj_params *p, int64_t *ret)
{
    const struct bj_slice s = bj_params_text(p, BJ_PARAM_MONTH);
    const int64_t now = bj_page_month_now(c);
    uint64_t year, month;
    *ret = now - 1;
    if (s.n == 0)
        return 0;
    if (s.n != 7 || s.p[4] != '-' ||
        bj_slice_u64((struct bj_slice){s.p, 4}, &year) < 0 ||
        bj_slice_u64((struct bj_slice){s.p + 5, 2}, &month) < 0 || month < 1 ||
        month > MONTHS || year < 1970)
        return bj_call_refuse(
            c, 400, "The parameter month must be a month, such as 2026-11.");
    *ret = (int64_t)(year * MONTHS + month - 1);
    return *ret <= now ? 0
                       : bj_call_refuse(c, 400,
                                        "The month has not begun; it must not "
                                        "be after this one.");
}

void bj_page_month_name(struct bj_buf *b, int64_t month)
{
    static const char *const names[MONTHS] = {
        "January", "February", "March",     "April",   "May",      "June",
        "July",    "August",   "September", "October", "November", "December"};
    bj_buf_printf(b, "%s %d", bj_local_escaped(names[month % MONTHS]),
                  (int)(month / MONTHS));
}

void bj_page_month_number(struct bj_buf *b, int64_t month)
{
    bj_buf_printf(b, "%04d-%02d", (int)(month / MONTHS),
                  (int)(month % MONTHS) + 1);
}

void bj_page_month_choice(struct bj_call *c, int64_t month)
{
    struct bj_buf *b = &c->reply->body;
    const int64_t now = bj_page_month_now(c);
    bj_local_html(b, "<label>{Month}<select name=\"month\">");
    if (month < 0)
        bj_buf_str(b, "<option value=\"\" selected>-</option>");
    for (int64_t m = now; m > now - CHOICES; m--) {
        bj_buf_str(b, "<option value=\"");
        bj_page_month_number(b, m);
        bj_buf_str(b, m == month ? "\" selected>" : "\">");
        bj_page_month_name(b, m);
        bj_buf_str(b, "</option>");
    }
    if (month >= 0 && month <= now - CHOICES) {
        bj_buf_str(b, "<option value=\"");
        bj_page_month_number(b, month);
        bj_buf_str(b, "\" selected>");
        bj_page_month_name(b, month);
        bj_buf_str(b, "</option>");
    }
    bj_buf_str(b, "</select></label>");
}

/* --- reading ---------------------------------------------------------------
 */

static int bill_take_day(void *ctx, const struct bj_usage_sum *s)
{
    struct bill *v = ctx;
    if (s->month != v->month) {
        bj_bill_add(&v->before, &s->bill);
        return 0;
    }
    v->jobs += s->ended;
    bj_bill_add(&v->now, &s->bill);
    if (s->day >= 1 && s->day <= v->days)
        bj_bill_add(&v->day[s->day - 1], &s->bill);
    return 0;
}

static struct member *bill_member(struct bill *v, struct bj_slice name)
{
    for (size_t i = 0; i < v->members; i++)
        if (bj_slice_eq(v->member[i].name, name))
            return &v->member[i];
    if (!BJ_GROW(v->member, v->members + 1, v->room))
        return NULL;
    struct member *m = &v->member[v->members];
    *m = (struct member){.name = bj_arena_copy(&v->names, name)};
    if (v->names.failed)
        return NULL;
    v->members++;
    return m;
}

static int bill_take_member(void *ctx, const struct bj_usage_sum *s)
{
    struct bill *v = ctx;
    struct member *m = bill_member(v, s->user);
    if (!m)
        return -ENOMEM;
    if (s->month == v->month)
        m->jobs += s->ended;
    bj_bill_add(s->month == v->month ? &m->now : &m->before, &s->bill);
    return 0;
}

/* The most expensive first; without prices, the most CPU time. */
static int bill_by_cost(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int64_t p = x->cost, q = y->cost;
    if (p == q) {
        p = x->now.cpu_sec;
        q = y->now.cpu_sec;
    }
    return (p < q) - (p > q);
}

static int bill_put_group(struct bj_call *c, struct bj_params *p,
                          const char *group)
{
    return bj_params_put(c, p, BJ_BIT(BJ_PARAM_GROUP_BY), BJ_SLICE("group_by"),
                         bj_slice_str(group));
}

/* Count the jobs that ran in the month and have not ended. */
static int bill_read_open(struct bj_call *c, const struct bj_params *p,
                          struct bill *v)
{
    struct bj_query q = {.named = true};
    struct bj_st *st = NULL;
    bj_query_sql(&q, "SELECT count(*) FROM job AS j WHERE j.\"end\" IS NULL AND"
                     " j.start IS NOT NULL AND j.start < ");
    bj_query_int(&q, bj_page_month_start(v->month + 1));
    int r = bj_query_scope(&q, c, p, "j");
    if (r == 0)
        r = bj_query_open(&q, c->reader, &st, &c->err);
    if (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        v->open = bj_st_get_i64(st, 0);
        r = 0;
    }
    bj_query_free(&q);
    return r;
}

static int bill_read(struct bj_call *c, const struct bj_params *filters,
                     struct bill *v)
{
    struct bj_params days = *filters, members;
    v->days =
        (unsigned)(month_first_day(v->month + 1) - month_first_day(v->month));
    v->is_over = v->month < bj_page_month_now(c);
    days.given[BJ_PARAM_FROM] = days.given[BJ_PARAM_TO] = true;
    days.number[BJ_PARAM_FROM] = bj_page_month_start(v->month - 1);
    days.number[BJ_PARAM_TO] = bj_page_month_start(v->month + 1) - 1;
    members = days;
    int r = bill_put_group(c, &days, "day");
    if (r == 0)
        r = bill_put_group(c, &members, "month");
    if (r == 0)
        r = bill_put_group(c, &members, "user");
    if (r == 0)
        r = bj_prices_read(bj_reader_db(c->reader), &v->prices, &c->err);
    if (r == 0)
        r = bj_usage_sums(c, &days, bill_take_day, v);
    if (r == 0)
        r = bj_usage_sums(c, &members, bill_take_member, v);
    if (r == 0)
        r = bill_read_open(c, filters, v);
    for (size_t i = 0; i < v->members; i++) {
        v->member[i].cost = bj_bill_cost(&v->member[i].now, &v->prices);
        v->member[i].cost_before =
            bj_bill_cost(&v->member[i].before, &v->prices);
    }
    if (v->members > 1)
        qsort(v->member, v->members, sizeof(*v->member), bill_by_cost);
    return r == -ENOMEM ? bj_err_set(&c->err, r, "bill") : r;
}

/* --- items -----------------------------------------------------------------
 */

enum { ITEMS = 4 };

/* An amount that has a price. */
struct item {
    const char *title, *what;
    int64_t price;             /* millionths; BJ_SQL_NULL: free */
    double amount;             /* hours or kWh */
    int64_t cost, cost_before; /* millionths */
    int64_t known;             /* part in millionths; BJ_SQL_NULL: nothing */
};

/* The cost of one item of a bill, without what is not charged. */
static int64_t bill_item_cost(const struct bill *v, const struct bj_bill *b,
                              unsigned item)
{
    struct bj_prices one = v->prices;
    int64_t *const price[ITEMS] = {&one.cpu_hour, &one.gpu_hour, &one.gib_hour,
                                   &one.kwh};
    for (unsigned i = 0; i < ITEMS; i++)
        if (i != item)
            *price[i] = BJ_SQL_NULL;
    return bj_bill_cost(b, &one);
}

static void bill_items(const struct bill *v, struct item ret[ITEMS])
{
    const bool is_free = v->prices.failed_nodes_free;
    const struct bj_bill *b = &v->now;
    const double charged[ITEMS] = {
        (double)(b->cpu_sec - is_free * b->failed_cpu_sec) / 3600,
        (double)(b->gpu_sec - is_free * b->failed_gpu_sec) / 3600,
        (double)(b->mem_mib_sec - is_free * b->failed_mem_mib_sec) / 3600 /
            1024,
        (double)(b->energy_mj - is_free * b->failed_energy_mj) / 3.6e9};
    const int64_t price[ITEMS] = {v->prices.cpu_hour, v->prices.gpu_hour,
                                  v->prices.gib_hour, v->prices.kwh};
    static const char *const titles[ITEMS] = {
        "CPU hours", "GPU hours", "Memory, GiB hours", "Energy, kWh"};
    for (unsigned i = 0; i < ITEMS; i++)
        ret[i] = (struct item){
            .title = titles[i],
            .what = i + 1 < ITEMS ? "held by jobs" : "used by jobs",
            .price = price[i],
            .amount = charged[i],
            .cost = bill_item_cost(v, b, i),
            .cost_before = bill_item_cost(v, &v->before, i),
            .known = i + 1 < ITEMS ? MILLION : bj_bill_energy_known(b)};
}

/* --- CSV -------------------------------------------------------------------
 */

static void bill_csv_number(struct bj_buf *b, int64_t micro)
{
    bj_buf_str(b, ",");
    if (micro != BJ_SQL_NULL)
        bj_buf_fixed(b, (uint64_t)micro, 6);
}

static void bill_csv_row(struct bj_buf *b, const struct bill *v,
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

static void bill_csv(struct bj_call *c, const struct bill *v)
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

/* Append money with two decimals, also if it is less than half of one. */
static void bill_money(struct bj_buf *b, int64_t micro)
{
    if (micro == BJ_SQL_NULL)
        bj_buf_str(b, "&ndash;");
    else
        bj_amount_money(b, micro < HUNDREDTH / 2 ? 0 : micro);
}

static void bill_currency(struct bj_buf *b, const struct bill *v)
{
    bj_html_text(b, bj_slice_str(v->prices.currency));
}

/* "+9.5 %, +729.95 EUR": against the month before. */
static void bill_put_change(struct bj_buf *b, const struct bill *v, int64_t now,
                            int64_t before)
{
    const int64_t change = now - before;
    const uint64_t size = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
    const char *sign = change < 0 ? "&minus;" : "+";
    if ((double)size < FAR * (double)before) {
        bj_buf_str(b, sign);
        bj_amount(b, BJ_AMOUNT_PERCENT, 100 * (double)size / (double)before);
        bj_buf_str(b, ", ");
    }
    bj_buf_str(b, sign);
    bill_money(b, (int64_t)size);
    bj_buf_str(b, " ");
    bill_currency(b, v);
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
static void bill_put_sum_of(struct bj_buf *b, const struct bill *v,
                            int64_t micro)
{
    bill_money(b, micro);
    if (micro == BJ_SQL_NULL)
        return;
    bj_buf_str(b, " <small>");
    bill_currency(b, v);
    bj_buf_str(b, "</small>");
}

/* The cost of the CPU and GPU time that was held and not used, where the use is
 * known. */
static int64_t bill_unused(const struct bill *v)
{
    const struct bj_bill *s = &v->now;
    const int64_t cpu = s->cpu_known_sec - s->cpu_used_msec / 1000;
    const int64_t gpu = s->gpu_known_sec - s->gpu_used_msec / 1000;
    return bj_cost(&v->prices,
                   &(struct bj_paid){s->cpu_known_sec <= 0 ? BJ_SQL_NULL
                                     : cpu > 0             ? cpu
                                                           : 0,
                                     s->gpu_known_sec <= 0 ? BJ_SQL_NULL
                                     : gpu > 0             ? gpu
                                                           : 0,
                                     BJ_SQL_NULL, BJ_SQL_NULL});
}

/* The first two tiles: this month and the one before. */
static void bill_put_months(struct bj_buf *b, const struct bill *v)
{
    const int64_t now = bj_bill_cost(&v->now, &v->prices);
    const int64_t before = bj_bill_cost(&v->before, &v->prices);
    const bool has_prices = bj_prices_are(&v->prices);
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
        bill_put_change(b, v, now, before);
    bj_buf_str(b, "</div></dd></div>");
}

static void bill_put_totals(struct bj_buf *b, const struct bill *v)
{
    const struct bj_bill *s = &v->now;
    bj_buf_str(b, "<dl class=\"card stats\">");
    bill_put_months(b, v);
    bill_put_tile(b, "Held and not used");
    bill_put_sum_of(b, v, bill_unused(v));
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

static void bill_put_items(struct bj_buf *b, const struct bill *v)
{
    struct item item[ITEMS];
    bill_items(v, item);
    bj_widget_card(b, "What it costs", NULL, NULL);
    bj_widget_table(b, bj_local_escaped("What it costs"), "stack");
    bj_local_html(b, "<thead><tr><th scope=\"col\">{Item}</th><th "
                     "scope=\"col\" class=\"n\">{Amount}</th><th scope=\"col\" "
                     "class=\"n\">");
    bill_currency(b, v);
    bj_local_html(b, " {each}</th><th scope=\"col\" class=\"n p\">");
    bj_page_month_name(b, v->month - 1);
    bj_buf_str(b, "</th><th scope=\"col\" class=\"n\">");
    bj_page_month_name(b, v->month);
    bj_buf_str(b, "</th></tr></thead><tbody>\n");
    for (unsigned i = 0; i < ITEMS; i++) {
        const struct item *t = &item[i];
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
        bill_money(b, t->cost_before);
        bj_buf_str(b, "</td><td class=\"n r\">");
        bill_money(b, t->known == 0 ? BJ_SQL_NULL : t->cost);
        bj_buf_str(b, "</td></tr>\n");
    }
    bj_local_html(b, "</tbody><tfoot><tr><th scope=\"row\">{Total}</th><td>"
                     "</td><td></td><td class=\"n p\">");
    bill_money(b, bj_bill_cost(&v->before, &v->prices));
    bj_buf_str(b, "</td><td class=\"n r\">");
    bill_money(b, bj_bill_cost(&v->now, &v->prices));
    bj_buf_str(b, "</td></tr></tfoot></table></div>");
    const int64_t free = bj_bill_not_charged(&v->now, &v->prices);
    if (free > 0) {
        bj_buf_str(b, "<p class=\"small mute\">");
        bill_money(b, free);
        bj_buf_str(b, " ");
        bill_currency(b, v);
        bj_local_html(b, " {of jobs whose node failed are not charged.}</p>");
    }
    bj_widget_card_end(b);
}

static void bill_put_days(struct bj_buf *b, const struct bill *v)
{
    double value[DAYS], sum = 0;
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
               .first = month_first_day(v->month)});
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
static void bill_put_values(struct bj_buf *b, const struct bill *v,
                            const struct member *m, double part)
{
    char n[BJ_AMOUNT_COUNT];
    bj_buf_printf(b, "<td class=\"n p\">%s</td>", bj_amount_count(n, m->jobs));
    bill_put_hours(b, "CPU hours", m->now.cpu_sec);
    bill_put_hours(b, "GPU hours", m->now.gpu_sec);
    if (bj_prices_are(&v->prices)) {
        bj_buf_str(b, "<td class=\"n r\">");
        bill_money(b, m->cost);
        bj_buf_str(b, "</td><td class=\"n p\">");
        bill_money(b, m->cost_before);
        bj_buf_str(b, "</td>");
    }
    bj_buf_str(b, "<td class=\"p\">");
    if (part - part == 0)
        bj_widget_bar(b, BJ_LOOK_NONE, false, part);
    bj_buf_str(b, "</td></tr>\n");
}

static double bill_part(const struct bill *v, const struct member *m)
{
    const int64_t all = bj_bill_cost(&v->now, &v->prices);
    return all > 0 ? 100 * (double)m->cost / (double)all
           : v->now.cpu_sec > 0
               ? 100 * (double)m->now.cpu_sec / (double)v->now.cpu_sec
               : __builtin_nan("");
}

static void bill_add_member(struct member *sum, const struct member *m)
{
    sum->jobs += m->jobs;
    bj_bill_add(&sum->now, &m->now);
    bj_bill_add(&sum->before, &m->before);
}

/* A row of several members: their sum, or the total. */
static void bill_put_sum(struct bj_buf *b, const struct bill *v,
                         struct member *m, double part)
{
    m->cost = bj_bill_cost(&m->now, &v->prices);
    m->cost_before = bj_bill_cost(&m->before, &v->prices);
    bill_put_values(b, v, m, part);
}

static void bill_put_members(struct bj_buf *b, const struct bill *v)
{
    const size_t shown = v->members > SHOWN ? SHOWN - 1 : v->members;
    struct member rest = {.jobs = 0}, all = {.jobs = 0};
    char n[BJ_AMOUNT_COUNT];
    bj_widget_card(b, "Who used it", NULL, NULL);
    bj_widget_table(b, bj_local_escaped("Who used it"), "stack");
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
        const struct member *m = &v->member[i];
        bill_add_member(&all, m);
        if (i >= shown) {
            bill_add_member(&rest, m);
            continue;
        }
        bj_buf_str(b, "<tr><th scope=\"row\"><a href=\"../users/");
        bj_url_text(b, m->name);
        bj_buf_str(b, "\"><bdi>");
        bj_html_text(b, m->name);
        bj_buf_str(b, "</bdi></a></th>");
        bill_put_values(b, v, m, bill_part(v, m));
    }
    if (shown < v->members) {
        bj_local_html(b, "<tr><th scope=\"row\">{%s others}</th>",
                      bj_amount_count(n, (int64_t)(v->members - shown)));
        rest.cost = bj_bill_cost(&rest.now, &v->prices);
        bill_put_sum(b, v, &rest, bill_part(v, &rest));
    }
    bj_local_html(b, "</tbody><tfoot><tr><th scope=\"row\">{Total}</th>");
    bill_put_sum(b, v, &all, __builtin_nan(""));
    bj_buf_str(b, "</tfoot></table></div>");
    bj_widget_card_end(b);
}

/* The form that chooses a month, and the links to other forms. */
static void bill_put_choice(struct bj_call *c, const struct bill *v)
{
    struct bj_buf *b = &c->reply->body;
    bj_buf_str(b, "<div class=\"acts\"><form class=\"filters\">");
    bj_page_month_choice(c, v->month);
    bj_local_html(b, "<button>{Show}</button></form><a class=\"btn\" "
                     "href=\"?month=");
    bj_page_month_number(b, v->month);
    bj_local_html(b, "&amp;format=csv\">{CSV}</a></div>");
}

/* Does the user see the jobs of all members? */
static bool bill_sees_all(const struct bj_call *c, struct bj_slice account)
{
    for (unsigned i = 0; i < c->identity.accounts; i++)
        if (bj_slice_eq(c->identity.account[i], account))
            return true;
    return c->identity.admin;
}

static void bill_put_head(struct bj_call *c, const struct bill *v)
{
    struct bj_buf *b = &c->reply->body;
    char n[BJ_AMOUNT_COUNT];
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
    if (!v->is_over)
        bj_local_html(b, "{so far: the month has not ended}");
    else if (v->open > 0)
        bj_local_html(b,
                      v->open == 1
                          ? "{not final: %s job of this month still runs}"
                          : "{not final: %s jobs of this month still run}",
                      bj_amount_count(n, v->open));
    else
        bj_local_html(b, "{final: all its jobs have ended}");
    bj_buf_str(b, "</span>");
    if (!bill_sees_all(c, v->account))
        bj_local_html(b, "<span>{only your own jobs}</span>");
    bj_buf_str(b, "</p></div>");
    bill_put_choice(c, v);
    bj_buf_str(b, "</div>\n");
}

static void bill_put_page(struct bj_call *c, const struct bill *v)
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
    bj_local_html(
        b, "<p class=\"small mute\">{Held is what jobs reserved, used or "
           "not. A job counts on the days on which it ran. Energy is "
           "charged as far as it is known.}</p>\n");
    bj_page_close(c);
}

int bj_page_bill(struct bj_call *c, const struct bj_params *p)
{
    struct bill *v = calloc(1, sizeof(*v));
    if (!v)
        return bj_err_set(&c->err, -ENOMEM, "bill");
    v->account = c->tail;
    int r = bj_page_month(c, p, &v->month);
    if (r == 0)
        r = bill_read(c, p, v);
    if (r == 0 && bj_call_shape(c) == BJ_SHAPE_CSV)
        bill_csv(c, v);
    else if (r == 0)
        bill_put_page(c, v);
    bj_arena_free(&v->names);
    free(v->member);
    free(v);
    return r;
}
