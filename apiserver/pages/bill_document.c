/* The bill as a document, for its PDF. */
#include "apiserver/frame/state.h"
#include "apiserver/pages/bill.h"
#include "base/amount.h"
#include "base/local.h"
#include "base/tz.h"
#include "report/model/show.h"

#include <stdlib.h>

enum {
    PRINTED = 12, /* members; a sheet of paper has room for them */
    DAY = 86400,
    MILLION = 1000000
};

/* A text of the site that lasts as long as the document. */
static const char *bill_word(struct bj_doc *d, const char *english)
{
    return bj_arena_copy(&d->arena, bj_slice_str(bj_local(english))).p;
}

static struct bj_slice bill_take_money(struct bj_doc *d, int64_t micro)
{
    bj_month_bill_money(&d->scratch, micro);
    return bj_doc_take(d);
}

static struct bj_slice bill_take_hours(struct bj_doc *d, int64_t sec)
{
    bj_amount(&d->scratch, BJ_AMOUNT_PLAIN, (double)sec / 3600);
    return bj_doc_take(d);
}

static const char *bill_take_month(struct bj_doc *d, int64_t month)
{
    bj_page_month_text(&d->scratch, month);
    bj_buf_put(&d->scratch, "", 1);
    return bj_doc_take(d).p;
}

static struct bj_slice
bill_take_sum(struct bj_doc *d, const struct bj_month_bill *v, int64_t micro)
{
    bj_month_bill_money(&d->scratch, micro);
    if (micro != BJ_SQL_NULL)
        bj_buf_printf(&d->scratch, " %s", v->prices.currency);
    return bj_doc_take(d);
}

static void bill_doc_about(struct bj_call *c, const struct bj_month_bill *v,
                           struct bj_doc *d)
{
    struct bj_doc_section *s =
        bj_doc_add(d, BJ_DOC_ABOUT, NULL, BJ_DOC_ABOUT_COLUMNS);
    bj_buf_clean(&d->scratch, v->account);
    bj_buf_str(&d->scratch, ", ");
    bj_page_month_text(&d->scratch, v->month);
    bj_buf_put(&d->scratch, "", 1);
    d->title = bj_doc_take(d);
    d->title.n -= d->title.n > 0;
    d->whole_title = d->title;
    d->created_sec =
        v->is_over ? bj_page_month_start(v->month + 1) : c->now_sec;
    bj_show_time(&d->scratch, bj_page_month_start(v->month));
    bj_local_str(&d->scratch, " {to} ");
    bj_show_time(&d->scratch, d->created_sec);
    bj_buf_printf(&d->scratch, ", %s; ", bj_tz_name(bj_tz_used()));
    bj_month_bill_status(&d->scratch, v);
    bj_doc_row(d, s)[BJ_DOC_SENTENCE].text = bj_doc_take(d);
    if (!bj_month_bill_sees_all(c, v->account))
        bj_doc_row(d, s)[BJ_DOC_SENTENCE].text = bj_arena_copy(
            &d->arena, bj_slice_str(bj_local("only your own jobs")));
}

static struct bj_doc_cell *
bill_doc_figure(struct bj_doc *d, struct bj_doc_section *s, const char *label)
{
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_LABEL].text = bj_slice_str(bill_word(d, label));
    return row;
}

/* Hours that were held, and the part of them that was used. */
static void bill_doc_use(struct bj_doc *d, struct bj_doc_section *s,
                         const char *label, int64_t held, int64_t known,
                         int64_t used_msec)
{
    if (held <= 0)
        return;
    struct bj_doc_cell *row = bill_doc_figure(d, s, label);
    if (known <= 0) {
        row[BJ_DOC_AMOUNT].text = bill_take_hours(d, held);
        return;
    }
    bj_local_str(&d->scratch, "{used of} ");
    bj_amount(&d->scratch, BJ_AMOUNT_PLAIN, (double)held / 3600);
    row[BJ_DOC_AMOUNT].text = bj_doc_take(d);
    const double percent = (double)used_msec / 10 / (double)known;
    bj_amount(&d->scratch, BJ_AMOUNT_PERCENT, percent);
    row[BJ_DOC_PERCENT].text = bj_doc_take(d);
    row[BJ_DOC_PERCENT].has_meter = true;
    row[BJ_DOC_PERCENT].ppm = (int64_t)(percent * 1e4);
    if (known < held) {
        bj_local_str(&d->scratch, "{known for} ");
        bj_amount(&d->scratch, BJ_AMOUNT_PERCENT,
                  100 * (double)known / (double)held);
    }
    row[BJ_DOC_QUALITY].text = bj_doc_take(d);
}

static void bill_doc_totals(const struct bj_month_bill *v, struct bj_doc *d)
{
    const struct bj_bill *n = &v->now;
    const int64_t now = bj_bill_cost(n, &v->prices),
                  before = bj_bill_cost(&v->before, &v->prices);
    char jobs[BJ_AMOUNT_COUNT];
    struct bj_doc_cell *row;
    struct bj_doc_section *s = bj_doc_add(
        d, BJ_DOC_FIGURES, bill_word(d, "Total"), BJ_DOC_FIGURE_COLUMNS);
    if (bj_prices_are(&v->prices)) {
        row = bill_doc_figure(d, s, "Cost");
        row[BJ_DOC_AMOUNT].text = bill_take_sum(d, v, now);
        bj_local_put(&d->scratch, "{%s jobs ended}",
                     bj_amount_count(jobs, v->jobs));
        row[BJ_DOC_QUALITY].text = bj_doc_take(d);
        row = bj_doc_row(d, s);
        row[BJ_DOC_LABEL].text = bj_slice_str(bill_take_month(d, v->month - 1));
        row[BJ_DOC_AMOUNT].text = bill_take_sum(d, v, before);
        if (before > 0 && now != BJ_SQL_NULL && v->is_over)
            bj_month_bill_change(&d->scratch, v, now, before);
        row[BJ_DOC_QUALITY].text = bj_doc_take(d);
        row = bill_doc_figure(d, s, "Not used");
        row[BJ_DOC_AMOUNT].text = bill_take_sum(d, v, bj_month_bill_unused(v));
    }
    bill_doc_use(d, s, "CPU hours", n->cpu_sec, n->cpu_known_sec,
                 n->cpu_used_msec);
    bill_doc_use(d, s, "GPU hours", n->gpu_sec, n->gpu_known_sec,
                 n->gpu_used_msec);
    if (n->energy_cpu_sec > 0) {
        row = bill_doc_figure(d, s, "Energy");
        bj_amount(&d->scratch, BJ_AMOUNT_JOULES, (double)n->energy_mj / 1000);
        row[BJ_DOC_AMOUNT].text = bj_doc_take(d);
        bj_amount(&d->scratch, BJ_AMOUNT_PERCENT,
                  (double)bj_bill_energy_known(n) / 10000);
        bj_local_str(&d->scratch, " {known}");
        row[BJ_DOC_QUALITY].text = bj_doc_take(d);
    }
    if (n->emissions_mj > 0) {
        row = bill_doc_figure(d, s, "Emissions");
        bj_amount(&d->scratch, BJ_AMOUNT_GRAMS, (double)n->emissions_ug / 1e6);
        bj_local_str(&d->scratch, " CO2e {(estimate)}");
        row[BJ_DOC_AMOUNT].text = bj_doc_take(d);
    }
}

static struct bj_doc_section *bill_doc_table(const struct bj_month_bill *v,
                                             struct bj_doc *d,
                                             enum bj_doc_name name,
                                             const char *title)
{
    struct bj_doc_section *s =
        bj_doc_add(d, name, bill_word(d, title), BJ_DOC_BILL_COLUMNS);
    if (!bj_prices_are(&v->prices))
        return s;
    s->head[BJ_DOC_BILL_BEFORE] = bill_take_month(d, v->month - 1);
    bj_buf_printf(&d->scratch, "%s", v->prices.currency);
    bj_buf_put(&d->scratch, "", 1);
    s->head[BJ_DOC_BILL_COST] = bj_doc_take(d).p;
    return s;
}

static void bill_doc_items(const struct bj_month_bill *v, struct bj_doc *d)
{
    struct bj_month_item item[BJ_MONTH_ITEMS];
    struct bj_doc_section *s =
        bill_doc_table(v, d, BJ_DOC_BILL, "What it costs");
    bj_month_bill_items(v, item);
    s->head[BJ_DOC_BILL_ITEM] = bill_word(d, "Item");
    s->head[BJ_DOC_BILL_AMOUNT] = bill_word(d, "Amount");
    s->head[BJ_DOC_BILL_EACH] = bill_word(d, "each");
    for (unsigned i = 0; i < BJ_MONTH_ITEMS; i++) {
        const struct bj_month_item *t = &item[i];
        if (t->price == BJ_SQL_NULL)
            continue;
        struct bj_doc_cell *row = bj_doc_row(d, s);
        bj_buf_printf(&d->scratch, "%s, %s", bj_local(t->title),
                      bj_local(t->what));
        row[BJ_DOC_BILL_ITEM].text = bj_doc_take(d);
        if (t->known != 0)
            bj_amount(&d->scratch, BJ_AMOUNT_PLAIN, t->amount);
        else
            bj_buf_str(&d->scratch, "\xe2\x80\x93");
        row[BJ_DOC_BILL_AMOUNT].text = bj_doc_take(d);
        bj_buf_fixed(&d->scratch, (uint64_t)t->price, 6);
        row[BJ_DOC_BILL_EACH].text = bj_doc_take(d);
        row[BJ_DOC_BILL_BEFORE].text = bill_take_money(d, t->cost_before);
        row[BJ_DOC_BILL_COST].text =
            bill_take_money(d, t->known == 0 ? BJ_SQL_NULL : t->cost);
    }
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_BILL_ITEM].text = bj_slice_str(bill_word(d, "Total"));
    row[BJ_DOC_BILL_BEFORE].text =
        bill_take_money(d, bj_bill_cost(&v->before, &v->prices));
    row[BJ_DOC_BILL_COST].text =
        bill_take_money(d, bj_bill_cost(&v->now, &v->prices));
}

static void bill_doc_member(const struct bj_month_bill *v, struct bj_doc *d,
                            struct bj_doc_section *s,
                            const struct bj_month_member *m)
{
    char n[BJ_AMOUNT_COUNT];
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_BILL_ITEM].text = bj_arena_copy(&d->arena, m->name);
    bj_buf_str(&d->scratch, bj_amount_count(n, m->jobs));
    row[BJ_DOC_BILL_JOBS].text = bj_doc_take(d);
    row[BJ_DOC_BILL_CPU].text = bill_take_hours(d, m->now.cpu_sec);
    row[BJ_DOC_BILL_GPU].text = bill_take_hours(d, m->now.gpu_sec);
    if (!bj_prices_are(&v->prices))
        return;
    row[BJ_DOC_BILL_BEFORE].text =
        bill_take_money(d, bj_bill_cost(&m->before, &v->prices));
    row[BJ_DOC_BILL_COST].text =
        bill_take_money(d, bj_bill_cost(&m->now, &v->prices));
}

static void bill_doc_members(const struct bj_month_bill *v, struct bj_doc *d)
{
    const size_t shown = v->members > PRINTED ? PRINTED - 1 : v->members;
    struct bj_doc_section *s =
        bill_doc_table(v, d, BJ_DOC_MEMBERS, "Who used it");
    struct bj_month_member rest = {.jobs = 0}, all = {.jobs = 0};
    char n[BJ_AMOUNT_COUNT];
    s->head[BJ_DOC_BILL_ITEM] = bill_word(d, "User");
    s->head[BJ_DOC_BILL_JOBS] = bill_word(d, "Jobs ended");
    s->head[BJ_DOC_BILL_CPU] = bill_word(d, "CPU hours");
    s->head[BJ_DOC_BILL_GPU] = bill_word(d, "GPU hours");
    for (size_t i = 0; i < v->members; i++) {
        bj_month_bill_add(&all, &v->member[i]);
        if (i < shown)
            bill_doc_member(v, d, s, &v->member[i]);
        else
            bj_month_bill_add(&rest, &v->member[i]);
    }
    if (shown < v->members) {
        bj_local_put(&d->scratch, "{%s others}",
                     bj_amount_count(n, (int64_t)(v->members - shown)));
        rest.name = bj_doc_take(d);
        bill_doc_member(v, d, s, &rest);
    }
    all.name = bj_slice_str(bill_word(d, "Total"));
    bill_doc_member(v, d, s, &all);
}

static void bill_days(const struct bj_month_bill *v, struct bj_doc *d,
                      struct bj_charts *charts)
{
    const bool has_prices = bj_prices_are(&v->prices);
    double *value =
        bj_arena_alloc(&charts->arena, BJ_MONTH_DAYS * sizeof(*value));
    for (unsigned i = 0; value && i < v->days; i++) {
        const int64_t cost = bj_bill_cost(&v->day[i], &v->prices);
        value[i] = has_prices ? (double)cost / MILLION
                              : (double)v->day[i].cpu_sec / 3600;
    }
    charts->chart[0] = (struct bj_chart){
        .kind = BJ_CHART_DAYS,
        .title = bill_word(d, has_prices ? "Cost of each day"
                                         : "CPU hours of each day"),
        .unit = BJ_CHART_PLAIN,
        .start = bj_page_month_first_day(v->month) * DAY,
        .from = bj_page_month_first_day(v->month) * DAY,
        .step = DAY,
        .points = v->days,
        .line = {{bill_word(d, has_prices ? "Cost" : "CPU hours"), value,
                  false}},
        .lines = 1};
    charts->charts = value ? 1 : 0;
}

int bj_month_bill_pdf(struct bj_call *c, const struct bj_params *p,
                      const struct bj_month_bill *v)
{
    struct bj_drawing *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(&c->err, -ENOMEM, "bill");
    struct bj_doc *d = &w->doc;
    w->server = c->worker->server;
    int r = bj_drawing_paper(c, p, w);
    bill_doc_about(c, v, d);
    bill_doc_totals(v, d);
    if (bj_prices_are(&v->prices))
        bill_doc_items(v, d);
    bill_days(v, d, &w->charts);
    if (v->members > 0)
        bill_doc_members(v, d);
    struct bj_doc_section *s =
        bj_doc_add(d, BJ_DOC_SAMPLED, NULL, BJ_DOC_ABOUT_COLUMNS);
    bj_doc_row(d, s)[BJ_DOC_SENTENCE].text =
        bj_arena_copy(&d->arena, bj_slice_str(bj_local(BJ_MONTH_MEANING)));
    if (r == 0 && (d->arena.failed || w->charts.arena.failed))
        r = bj_err_set(&c->err, -ENOMEM, "bill");
    if (r == 0)
        c->work = w;
    else
        bj_drawing_free(w);
    return r;
}
