/* The report of a period as PDF. */
#include "report/pdf/pdf.h"

#include "base/amount.h"
#include "base/local.h"
#include "report/model/show.h"
#include "report/pdf/pdf_parts.h"
#include "statsdb/tables/best.h"

enum { SHOWN = 60, MICRO = 1000000 };

static struct bj_buf *cell(struct bj_pdf_page *p)
{
    return &p->cell;
}

static int64_t ratio(int64_t part, int64_t all)
{
    return all > 0 ? bj_best_ratio(part, MICRO, all) : BJ_SQL_NULL;
}

/* --- totals ----------------------------------------------------------------
 */

enum { LABEL, METER, PERCENT, USED, TOTALS };

static const struct bj_pdf_column total_columns[TOTALS] = {
    [LABEL] = {0, 72, false, NULL},
    [METER] = {74, 110, false, NULL},
    [PERCENT] = {188, 44, true, NULL},
    [USED] = {240, 250, false, NULL},
};

static void put_known(struct bj_pdf_page *p, int64_t known)
{
    bj_buf_str(cell(p), ", ");
    bj_show_percent(cell(p), known);
    bj_local_str(cell(p), " {known}");
    bj_pdf_cell(p, &total_columns[USED]);
}

static void put_hours(struct bj_pdf_page *p, const char *label, int64_t used,
                      int64_t known, int64_t all)
{
    const int64_t ppm = ratio(used, known);
    if (all <= 0)
        return;
    bj_pdf_row(p, 0, 1);
    bj_pdf_text(p, &total_columns[LABEL], bj_slice_str(bj_local(label)));
    if (bj_period_is_known(known, all))
        bj_pdf_meter(p, &total_columns[METER], ppm);
    bj_show_percent(cell(p), ppm);
    bj_pdf_cell(p, &total_columns[PERCENT]);
    bj_period_hours(cell(p), used, known, all);
    bj_pdf_cell(p, &total_columns[USED]);
}

static void put_totals(struct bj_pdf_page *p, const struct bj_period_sums *s,
                       struct bj_slice currency)
{
    bj_pdf_title(p, "Resources used");
    put_hours(p, "CPU time", s->cpu_used, s->cpu_known, s->cpu);
    put_hours(p, "GPU time", s->gpu_used, s->gpu_known, s->gpu);
    if (s->energy_uj != BJ_SQL_NULL) {
        bj_pdf_row(p, 0, 1);
        bj_pdf_text(p, &total_columns[LABEL], bj_slice_str(bj_local("Energy")));
        bj_show_energy(cell(p), s->energy_uj);
        put_known(p, s->energy_known);
    }
    if (s->emissions_ug != BJ_SQL_NULL) {
        bj_pdf_row(p, 0, 1);
        bj_pdf_text(p, &total_columns[LABEL],
                    bj_slice_str(bj_local("Emissions")));
        bj_show_grams(cell(p), s->emissions_ug);
        bj_local_str(cell(p), " CO2e {(estimate)}");
        put_known(p, s->emissions_known);
    }
    if (s->cost != BJ_SQL_NULL) {
        bj_pdf_row(p, 0, 1);
        bj_pdf_text(p, &total_columns[LABEL], bj_slice_str(bj_local("Cost")));
        bj_show_money(cell(p), s->cost, currency);
        put_known(p, s->cost_known);
    }
    if (s->not_charged > 0) {
        bj_pdf_row(p, 0, 1);
        bj_pdf_text(p, &total_columns[LABEL],
                    bj_slice_str(bj_local("Not charged")));
        bj_show_money(cell(p), s->not_charged, currency);
        bj_local_str(cell(p), " {of jobs whose node failed}");
        bj_pdf_cell(p, &total_columns[USED]);
    }
}

/* --- by day ----------------------------------------------------------------
 */

static void put_days(struct bj_pdf_page *p, const struct bj_period *d)
{
    struct bj_charts charts = {.charts = 0};
    bj_period_charts(d, &charts);
    bj_pdf_charts(p, &charts, (struct bj_slice){0});
    p->cell.failed |= charts.arena.failed;
    bj_charts_free(&charts);
}

/* --- jobs that wasted most -------------------------------------------------
 */

enum { ID, USER, NAME, AMOUNT, AMOUNT_METER, OF, WASTERS };

static const struct bj_pdf_column waster_columns[WASTERS] = {
    [ID] = {0, 88, false, "job"},
    [USER] = {92, 80, false, "user"},
    [NAME] = {176, 120, false, "name"},
    [AMOUNT] = {300, 64, true, NULL},
    [AMOUNT_METER] = {374, 72, false, "used"},
    [OF] = {448, 46, true, NULL},
};

static void put_wasters(struct bj_pdf_page *p, const struct bj_period *d,
                        enum bj_waste which)
{
    static const char *const titles[BJ_WASTES] = {
        [BJ_WASTE_GPU] = "Jobs with the most unused GPU hours",
        [BJ_WASTE_CPU] = "Jobs without GPUs with the most unused CPU hours",
        [BJ_WASTE_MEMORY] = "Jobs with the most unused memory"};
    struct bj_pdf_column head[WASTERS];
    const unsigned n = d->wasters[which];
    if (n == 0)
        return;
    bj_pdf_title(p, titles[which]);
    for (unsigned i = 0; i < WASTERS; i++)
        head[i] = waster_columns[i];
    head[AMOUNT].title = which == BJ_WASTE_MEMORY ? "GiB hours"
                         : which == BJ_WASTE_GPU  ? "GPU hours"
                                                  : "CPU hours";
    bj_pdf_head(p, head, WASTERS);
    for (unsigned i = 0; i < n; i++) {
        const struct bj_waster *w = &d->waster[which][i];
        bj_pdf_row(p, i, n);
        bj_pdf_text(p, &waster_columns[ID], w->id);
        bj_pdf_text(p, &waster_columns[USER], w->user);
        bj_pdf_text(p, &waster_columns[NAME], w->name);
        if (which == BJ_WASTE_MEMORY)
            bj_show_gib_hours(cell(p), w->amount);
        else
            bj_show_hours(cell(p), w->amount);
        bj_pdf_cell(p, &waster_columns[AMOUNT]);
        bj_pdf_meter(p, &waster_columns[AMOUNT_METER], w->ppm);
        bj_show_percent(cell(p), w->ppm);
        bj_pdf_cell(p, &waster_columns[OF]);
    }
}

/* --- findings and groups ---------------------------------------------------
 */

enum { FINDING, JOBS, COUNTS };

static const struct bj_pdf_column count_columns[COUNTS] = {
    [FINDING] = {0, 200, false, "finding"},
    [JOBS] = {204, 50, true, "jobs"},
};

static void put_findings(struct bj_pdf_page *p, const struct bj_period *d)
{
    if (d->findings == 0)
        return;
    bj_pdf_title(p, "Findings");
    bj_pdf_head(p, count_columns, COUNTS);
    for (unsigned i = 0; i < d->findings; i++) {
        bj_pdf_row(p, i, d->findings);
        bj_pdf_text(p, &count_columns[FINDING], d->finding[i].name);
        bj_show_number(cell(p), d->finding[i].jobs);
        bj_pdf_cell(p, &count_columns[JOBS]);
    }
}

enum {
    GROUP,
    GROUP_JOBS,
    CPU_HOURS,
    CPU_METER,
    CPU_USED,
    CPU_KNOWN,
    GPU_HOURS,
    ENERGY,
    GROUPS
};

static const struct bj_pdf_column group_columns[GROUPS] = {
    [GROUP] = {0, 98, false, NULL},
    [GROUP_JOBS] = {102, 46, true, "jobs"},
    [CPU_HOURS] = {152, 62, true, "CPU hours"},
    [CPU_METER] = {222, 48, false, "used"},
    [CPU_USED] = {272, 42, true, NULL},
    [CPU_KNOWN] = {318, 42, true, "known"},
    [GPU_HOURS] = {364, 60, true, "GPU hours"},
    [ENERGY] = {428, 66, true, "energy"},
};

static void put_group(struct bj_pdf_page *p, const struct bj_period_sums *s,
                      const char *none)
{
    const int64_t ppm = ratio(s->cpu_used, s->cpu_known);
    bj_pdf_text(p, &group_columns[GROUP],
                s->name.n > 0 ? s->name : bj_slice_str(bj_local(none)));
    bj_show_number(cell(p), s->jobs);
    bj_pdf_cell(p, &group_columns[GROUP_JOBS]);
    bj_show_hours(cell(p), s->cpu);
    bj_pdf_cell(p, &group_columns[CPU_HOURS]);
    if (bj_period_is_known(s->cpu_known, s->cpu))
        bj_pdf_meter(p, &group_columns[CPU_METER], ppm);
    bj_show_percent(cell(p), ppm);
    bj_pdf_cell(p, &group_columns[CPU_USED]);
    bj_show_percent(cell(p), ratio(s->cpu_known, s->cpu));
    bj_pdf_cell(p, &group_columns[CPU_KNOWN]);
    bj_show_hours(cell(p), s->gpu > 0 ? s->gpu : BJ_SQL_NULL);
    bj_pdf_cell(p, &group_columns[GPU_HOURS]);
    bj_show_energy(cell(p), s->energy_uj);
    bj_pdf_cell(p, &group_columns[ENERGY]);
}

static void put_groups(struct bj_pdf_page *p, const struct bj_period *d)
{
    const size_t shown = d->groups < SHOWN ? d->groups : SHOWN;
    char more[BJ_AMOUNT_COUNT];
    if (shown == 0)
        return;
    bj_pdf_title(p, bj_period_groups[d->by].title);
    bj_pdf_head(p, group_columns, GROUPS);
    for (size_t i = 0; i < shown; i++) {
        bj_pdf_row(p, i, shown);
        put_group(p, &d->group[i], bj_period_groups[d->by].none);
    }
    if (d->groups > shown) {
        bj_local_put(cell(p), "{and %s more}",
                     bj_amount_count(more, (int64_t)(d->groups - shown)));
        bj_pdf_paragraph(p, 2, BJ_PDF_MUTED);
    }
}

int bj_pdf_period(struct bj_sheet *s, const struct bj_period *d,
                  const char *title, struct bj_err *err)
{
    struct bj_pdf_page p = {.sheet = s, .width = bj_sheet_width(s)};
    bj_sheet_row(s, 0, BJ_ROW_PAGE | BJ_ROW_KEEP);
    bj_sheet_text(s, &(struct bj_sheet_text){.text = bj_slice_str(title),
                                             .width = p.width,
                                             .size = 15,
                                             .lines = 4,
                                             .font = BJ_FONT_BOLD,
                                             .colour = BJ_PDF_TEXT});
    bj_period_meaning(cell(&p));
    bj_pdf_paragraph(&p, 8, BJ_PDF_MUTED);
    bj_period_states(cell(&p), &d->all);
    bj_pdf_paragraph(&p, 8, BJ_PDF_TEXT);
    put_totals(&p, &d->all, bj_slice_str(d->prices.currency));
    put_days(&p, d);
    for (int i = 0; i < BJ_WASTES; i++)
        put_wasters(&p, d, (enum bj_waste)i);
    put_findings(&p, d);
    put_groups(&p, d);
    bool failed = p.cell.failed;
    bj_buf_free(&p.cell);
    return failed ? bj_err_set(err, -ENOMEM, "PDF") : 0;
}
