#include "apiserver/pages/bill.h"

#include "apiserver/frame/query.h"
#include "apiserver/frame/state.h"
#include "apiserver/v1/usage.h"
#include "base/amount.h"
#include "base/array.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"

#include <stdlib.h>

enum {
    MONTHS = 12,  /* of a year */
    CHOICES = 14, /* months to choose from */
    FAR = 10,     /* a larger change has no percentage */
    MILLION = 1000000,
    HUNDREDTH = MILLION / 100
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

int64_t bj_page_month_first_day(int64_t month)
{
    return bj_days_from_civil((int)(month / MONTHS),
                              (unsigned)(month % MONTHS) + 1, 1);
}

int64_t bj_page_month_start(int64_t month)
{
    return bj_tz_midnight(bj_tz_used(), bj_page_month_first_day(month));
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

/* "October 2026" */
void bj_page_month_text(struct bj_buf *b, int64_t month)
{
    static const char *const names[MONTHS] = {
        "January", "February", "March",     "April",   "May",      "June",
        "July",    "August",   "September", "October", "November", "December"};
    bj_buf_printf(b, "%s %d", bj_local(names[month % MONTHS]),
                  (int)(month / MONTHS));
}

void bj_page_month_name(struct bj_buf *b, int64_t month)
{
    struct bj_buf text = {0};
    bj_page_month_text(&text, month);
    bj_html_text(b, (struct bj_slice){text.p, text.len});
    b->failed |= text.failed;
    bj_buf_free(&text);
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
    struct bj_month_bill *v = ctx;
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

static struct bj_month_member *bill_member(struct bj_month_bill *v,
                                           struct bj_slice name)
{
    for (size_t i = 0; i < v->members; i++)
        if (bj_slice_eq(v->member[i].name, name))
            return &v->member[i];
    if (!BJ_GROW(v->member, v->members + 1, v->room))
        return NULL;
    struct bj_month_member *m = &v->member[v->members];
    *m = (struct bj_month_member){.name = bj_arena_copy(&v->names, name)};
    if (v->names.failed)
        return NULL;
    v->members++;
    return m;
}

static int bill_take_member(void *ctx, const struct bj_usage_sum *s)
{
    struct bj_month_bill *v = ctx;
    struct bj_month_member *m = bill_member(v, s->user);
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
    const struct bj_month_member *x = a, *y = b;
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
static int month_read_open(struct bj_call *c, const struct bj_params *p,
                           struct bj_month_bill *v)
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

int bj_month_bill_read(struct bj_call *c, const struct bj_params *filters,
                       struct bj_month_bill *v)
{
    struct bj_params days = *filters, members;
    v->days = (unsigned)(bj_page_month_first_day(v->month + 1) -
                         bj_page_month_first_day(v->month));
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
        r = month_read_open(c, filters, v);
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

/* The cost of one item of a bill, without what is not charged. */
static int64_t bill_item_cost(const struct bj_month_bill *v,
                              const struct bj_bill *b, unsigned item)
{
    struct bj_prices one = v->prices;
    int64_t *const price[BJ_MONTH_ITEMS] = {&one.cpu_hour, &one.gpu_hour,
                                            &one.gib_hour, &one.kwh};
    for (unsigned i = 0; i < BJ_MONTH_ITEMS; i++)
        if (i != item)
            *price[i] = BJ_SQL_NULL;
    return bj_bill_cost(b, &one);
}

void bj_month_bill_items(const struct bj_month_bill *v,
                         struct bj_month_item ret[BJ_MONTH_ITEMS])
{
    const bool is_free = v->prices.failed_nodes_free;
    const struct bj_bill *b = &v->now;
    const double charged[BJ_MONTH_ITEMS] = {
        (double)(b->cpu_sec - is_free * b->failed_cpu_sec) / 3600,
        (double)(b->gpu_sec - is_free * b->failed_gpu_sec) / 3600,
        (double)(b->mem_mib_sec - is_free * b->failed_mem_mib_sec) / 3600 /
            1024,
        (double)(b->energy_mj - is_free * b->failed_energy_mj) / 3.6e9};
    const int64_t price[BJ_MONTH_ITEMS] = {v->prices.cpu_hour,
                                           v->prices.gpu_hour,
                                           v->prices.gib_hour, v->prices.kwh};
    static const char *const titles[BJ_MONTH_ITEMS] = {
        "CPU hours", "GPU hours", "Memory, GiB hours", "Energy, kWh"};
    for (unsigned i = 0; i < BJ_MONTH_ITEMS; i++)
        ret[i] = (struct bj_month_item){
            .title = titles[i],
            .what = i + 1 < BJ_MONTH_ITEMS ? "held by jobs" : "used by jobs",
            .price = price[i],
            .amount = charged[i],
            .cost = bill_item_cost(v, b, i),
            .cost_before = bill_item_cost(v, &v->before, i),
            .known =
                i + 1 < BJ_MONTH_ITEMS ? MILLION : bj_bill_energy_known(b)};
}

/* The cost of the CPU and GPU time that was held and not used, where the use is
 * known. */
int64_t bj_month_bill_unused(const struct bj_month_bill *v)
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

void bj_month_bill_add(struct bj_month_member *sum,
                       const struct bj_month_member *m)
{
    sum->jobs += m->jobs;
    bj_bill_add(&sum->now, &m->now);
    bj_bill_add(&sum->before, &m->before);
}

/* Does the user see the jobs of all members? */
bool bj_month_bill_sees_all(const struct bj_call *c, struct bj_slice account)
{
    for (unsigned i = 0; i < c->identity.accounts; i++)
        if (bj_slice_eq(c->identity.account[i], account))
            return true;
    return c->identity.admin;
}

/* --- texts -----------------------------------------------------------------
 */

/* Append money with two decimals, also if it is less than half of one; a dash
 * if it is not known. */
void bj_month_bill_money(struct bj_buf *b, int64_t micro)
{
    if (micro == BJ_SQL_NULL)
        bj_buf_str(b, "\xe2\x80\x93");
    else
        bj_amount_money(b, micro < HUNDREDTH / 2 ? 0 : micro);
}

/* "+9.5 %, +729.95 EUR": against the month before, as text. */
void bj_month_bill_change(struct bj_buf *b, const struct bj_month_bill *v,
                          int64_t now, int64_t before)
{
    const int64_t change = now - before;
    const uint64_t size = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
    const char *sign = change < 0 ? "\xe2\x88\x92" : "+";
    if ((double)size < FAR * (double)before) {
        bj_buf_str(b, sign);
        bj_amount(b, BJ_AMOUNT_PERCENT, 100 * (double)size / (double)before);
        bj_buf_str(b, ", ");
    }
    bj_buf_str(b, sign);
    bj_month_bill_money(b, (int64_t)size);
    bj_buf_printf(b, " %s", v->prices.currency);
}

/* Whether the bill will still change, as text. */
void bj_month_bill_status(struct bj_buf *b, const struct bj_month_bill *v)
{
    char n[BJ_AMOUNT_COUNT];
    if (!v->is_over)
        bj_local_str(b, "{so far: the month has not ended}");
    else if (v->open > 0)
        bj_local_put(b,
                     v->open == 1
                         ? "{not final: %s job of this month still runs}"
                         : "{not final: %s jobs of this month still run}",
                     bj_amount_count(n, v->open));
    else
        bj_local_str(b, "{final: all its jobs have ended}");
}
