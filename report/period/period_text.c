/* The report of a period as text. */
#include "base/amount.h"
#include "base/local.h"
#include "base/tz.h"
#include "report/form/meter.h"
#include "report/form/text.h"
#include "report/form/text_parts.h"
#include "report/model/show.h"
#include "report/period/period.h"
#include "statsdb/tables/best.h"

enum { LABEL = 12, NAME = 22, SHOWN = 20, MICRO = 1000000 };

struct page {
    const struct bj_period *p;
    const struct bj_report_style *style;
    struct bj_buf *out;
    struct bj_buf cell;
};

static void colour(struct page *g, const char *code)
{
    bj_buf_str(g->out, g->style->colour ? code : "");
}

static void title(struct page *g, const char *text)
{
    colour(g, "\033[1m");
    bj_buf_printf(g->out, "\n%s\n", bj_local(text));
    colour(g, "\033[0m");
}

/* Append the cell, aligned to the right of a column, and clear it. */
static void put_right(struct page *g, unsigned width)
{
    struct bj_slice s = {g->cell.p, g->cell.len};
    unsigned n = bj_text_columns(s);
    bj_buf_printf(g->out, "%*s", n < width ? (int)(width - n) : 0, "");
    bj_buf_slice(g->out, s);
    g->cell.len = 0;
}

/* Append text at the left of a column, truncated to its width. */
static void put_left(struct page *g, struct bj_slice s, unsigned width)
{
    bj_buf_clean(&g->cell, s);
    unsigned n = 0;
    size_t at = 0;
    for (; at < g->cell.len; at++)
        if (((unsigned char)g->cell.p[at] & 0xc0) != 0x80 && ++n > width)
            break;
    n = n > width ? width : n;
    bj_buf_put(g->out, g->cell.p, at);
    bj_buf_printf(g->out, "%*s", (int)(width - n), "");
    g->cell.len = 0;
}

/* --- totals ----------------------------------------------------------------
 */

void bj_period_states(struct bj_buf *out, const struct bj_period_sums *s)
{
    const struct {
        const char *what;
        int64_t n;
    } states[] = {{"completed", s->completed},
                  {"failed", s->failed},
                  {"timed out", s->timeout},
                  {"out of memory", s->oom},
                  {"cancelled", s->cancelled},
                  {"not ended", s->open},
                  {"ended otherwise", s->jobs - s->completed - s->failed -
                                          s->timeout - s->oom - s->cancelled -
                                          s->open}};
    char n[BJ_AMOUNT_COUNT];
    bj_local_put(out, s->jobs == 1 ? "{%s job}" : "{%s jobs}",
                 bj_amount_count(n, s->jobs));
    const char *before = ": ";
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (states[i].n > 0) {
            bj_buf_printf(out, "%s%s %s", before,
                          bj_amount_count(n, states[i].n),
                          bj_local(states[i].what));
            before = ", ";
        }
}

static void put_states(struct page *g)
{
    bj_period_states(&g->cell, &g->p->all);
    bj_text_wrap(g->out, (struct bj_slice){g->cell.p, g->cell.len}, 2, 0);
    g->cell.len = 0;
}

void bj_period_meaning(struct bj_buf *out)
{
    bj_local_put(out, BJ_USED_IN_PERIOD, bj_tz_name(bj_tz_used()));
}

void bj_period_hours(struct bj_buf *out, int64_t used, int64_t known,
                     int64_t all)
{
    struct bj_buf v[3] = {{0}, {0}, {0}};
    const int64_t hours[3] = {used, known, all - known};
    for (int i = 0; i < 3; i++) {
        bj_show_hours(&v[i], known > 0 ? hours[i] : all);
        bj_buf_put(&v[i], "", 1);
        out->failed |= v[i].failed;
    }
    if (out->failed)
        ;
    else if (known <= 0)
        bj_local_put(out, "{%s h, not measured}", v[0].p);
    else if (known >= all)
        bj_local_put(out, "{%s of %s h}", v[0].p, v[1].p);
    else
        bj_local_put(out, "{%s of the %s h that were measured; %s h were not}",
                     v[0].p, v[1].p, v[2].p);
    for (int i = 0; i < 3; i++)
        bj_buf_free(&v[i]);
}

bool bj_period_is_known(int64_t known, int64_t all)
{
    return known > 0 && known >= all - known;
}

static void put_known(struct page *g, int64_t known)
{
    bj_buf_str(g->out, ", ");
    bj_show_percent(g->out, known);
    bj_local_str(g->out, " {known}\n");
}

static void put_hours(struct page *g, const char *label, int64_t used,
                      int64_t known, int64_t all)
{
    int64_t ppm = bj_best_ratio(used, MICRO, known);
    if (all <= 0)
        return;
    bj_buf_str(g->out, "  ");
    bj_text_left(g->out, label, LABEL);
    if (bj_period_is_known(known, all)) {
        bj_meter(g->out, ppm, g->style->ascii);
        bj_show_percent(&g->cell, ppm);
        put_right(g, 7);
    } else if (known > 0) {
        bj_show_percent(g->out, ppm);
    }
    if (known > 0 && known < all) /* the line is full */
        bj_buf_printf(g->out, "\n  %*s", LABEL, "");
    else
        bj_buf_str(g->out, known > 0 ? "  " : "");
    bj_period_hours(g->out, used, known, all);
    bj_buf_str(g->out, "\n");
}

static void put_totals(struct page *g)
{
    const struct bj_period_sums *s = &g->p->all;
    bj_buf_str(g->out, "\n");
    put_hours(g, "CPU time", s->cpu_used, s->cpu_known, s->cpu);
    put_hours(g, "GPU time", s->gpu_used, s->gpu_known, s->gpu);
    if (s->energy_uj != BJ_SQL_NULL) {
        bj_buf_str(g->out, "  ");
        bj_text_left(g->out, "Energy", LABEL);
        bj_show_energy(g->out, s->energy_uj);
        put_known(g, s->energy_known);
    }
    if (s->emissions_ug != BJ_SQL_NULL) {
        bj_buf_str(g->out, "  ");
        bj_text_left(g->out, "Emissions", LABEL);
        bj_show_grams(g->out, s->emissions_ug);
        bj_local_str(g->out, " CO2e {(estimate)}");
        put_known(g, s->emissions_known);
    }
    if (s->cost != BJ_SQL_NULL) {
        bj_buf_str(g->out, "  ");
        bj_text_left(g->out, "Cost", LABEL);
        bj_show_money(g->out, s->cost, bj_slice_str(g->p->prices.currency));
        put_known(g, s->cost_known);
    }
    if (s->not_charged > 0) {
        bj_buf_str(g->out, "  ");
        bj_text_left(g->out, "Not charged", LABEL);
        bj_show_money(g->out, s->not_charged,
                      bj_slice_str(g->p->prices.currency));
        bj_local_str(g->out, " {of jobs whose node failed}");
        bj_buf_str(g->out, "\n");
    }
}

/* --- tables ----------------------------------------------------------------
 */

static void put_group(struct page *g, const struct bj_period_sums *s)
{
    bj_buf_str(g->out, "  ");
    put_left(g,
             s->name.n > 0
                 ? s->name
                 : bj_slice_str(bj_local(bj_period_groups[g->p->by].none)),
             NAME);
    bj_show_number(&g->cell, s->jobs);
    put_right(g, 7);
    bj_show_hours(&g->cell, s->cpu);
    put_right(g, 11);
    bj_show_percent(&g->cell,
                    s->cpu_known > 0
                        ? bj_best_ratio(s->cpu_used, MICRO, s->cpu_known)
                        : BJ_SQL_NULL);
    put_right(g, 8);
    bj_show_percent(&g->cell, bj_best_ratio(s->cpu_known, MICRO, s->cpu));
    put_right(g, 8);
    bj_show_hours(&g->cell, s->gpu > 0 ? s->gpu : BJ_SQL_NULL);
    put_right(g, 10);
    bj_show_energy(&g->cell, s->energy_uj);
    put_right(g, 12);
    bj_buf_str(g->out, "\n");
}

static void put_groups(struct page *g)
{
    static const struct {
        const char *title;
        unsigned width;
    } heads[] = {{"jobs", 7},  {"CPU hours", 11}, {"used", 8},
                 {"known", 8}, {"GPU hours", 10}, {"energy", 12}};
    char n[BJ_AMOUNT_COUNT];
    const struct bj_period *p = g->p;
    if (p->groups == 0)
        return;
    title(g, bj_period_groups[p->by].title);
    bj_buf_printf(g->out, "  %*s", NAME, "");
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        bj_text_right(g->out, heads[i].title, heads[i].width);
    bj_buf_str(g->out, "\n");
    for (size_t i = 0; i < p->groups && i < SHOWN; i++)
        put_group(g, &p->group[i]);
    if (p->groups > SHOWN)
        bj_local_put(g->out, "  {and %s more}\n",
                     bj_amount_count(n, (int64_t)(p->groups - SHOWN)));
}

static void put_wasters(struct page *g, enum bj_waste which)
{
    static const char *const titles[BJ_WASTES] = {
        [BJ_WASTE_GPU] = "Jobs with the most unused GPU hours",
        [BJ_WASTE_CPU] = "Jobs without GPUs with the most unused CPU hours",
        [BJ_WASTE_MEMORY] = "Jobs with the most unused memory, GiB hours"};
    const struct bj_period *p = g->p;
    if (p->wasters[which] == 0)
        return;
    title(g, titles[which]);
    for (unsigned i = 0; i < p->wasters[which]; i++) {
        const struct bj_waster *w = &p->waster[which][i];
        bj_buf_str(g->out, "  ");
        put_left(g, w->id, 14);
        bj_buf_str(g->out, " ");
        put_left(g, w->user, 12);
        bj_buf_str(g->out, " ");
        put_left(g, w->name, 14);
        if (which == BJ_WASTE_MEMORY)
            bj_show_gib_hours(&g->cell, w->amount);
        else
            bj_show_hours(&g->cell, w->amount);
        put_right(g, 11);
        bj_show_percent(&g->cell, w->ppm);
        put_right(g, 9);
        bj_local_str(g->out, " {used}\n");
    }
}

static void put_findings(struct page *g)
{
    const struct bj_period *p = g->p;
    if (p->findings > 0)
        title(g, "Findings");
    for (unsigned i = 0; i < p->findings; i++) {
        bj_buf_str(g->out, "  ");
        put_left(g, p->finding[i].name, 32);
        bj_show_number(&g->cell, p->finding[i].jobs);
        put_right(g, 8);
        bj_buf_printf(g->out, " %s\n",
                      bj_local(p->finding[i].jobs == 1 ? "job" : "jobs"));
    }
}

void bj_period_print(const struct bj_period *p, const char *first,
                     const struct bj_report_style *style, struct bj_buf *out)
{
    struct page g = {.p = p, .style = style, .out = out};
    colour(&g, "\033[1m");
    bj_text_wrap(out, bj_slice_str(first), 2, 0);
    colour(&g, "\033[0m");
    bj_period_meaning(&g.cell);
    bj_text_wrap(out, (struct bj_slice){g.cell.p, g.cell.len}, 2, 0);
    g.cell.len = 0;
    put_states(&g);
    put_totals(&g);
    for (int i = 0; i < BJ_WASTES; i++)
        put_wasters(&g, (enum bj_waste)i);
    put_findings(&g);
    put_groups(&g);
    out->failed |= g.cell.failed;
    bj_buf_free(&g.cell);
}
