/* The report of a period as a document. */
#include "base/amount.h"
#include "base/local.h"
#include "base/tz.h"
#include "report/model/show.h"
#include "report/period/period.h"
#include "statsdb/tables/best.h"

enum { MICRO = 1000000 };

static int64_t period_ppm(int64_t part, int64_t all)
{
    return all > 0 ? bj_best_ratio(part, MICRO, all) : BJ_SQL_NULL;
}

/* --- totals ----------------------------------------------------------------
 */

/* "1,234 jobs: 1,200 completed, 34 failed" */
static void period_show_states(struct bj_buf *out,
                               const struct bj_period_sums *s)
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

/* Is the use of at least half of what was held known?  If not, forms show the
 * percentage without a meter: it says little about the rest. */
static bool period_is_known(int64_t known, int64_t all)
{
    return known > 0 && known >= all - known;
}

static void period_put_percent(struct bj_doc *d, struct bj_doc_cell *c,
                               int64_t used, int64_t known, int64_t all)
{
    c->ppm = period_ppm(used, known);
    c->has_meter = period_is_known(known, all);
    bj_show_percent(&d->scratch, c->ppm);
    c->text = bj_doc_take(d);
}

static void period_put_hours(struct bj_doc *d, struct bj_doc_section *s,
                             const char *label, int64_t used, int64_t known,
                             int64_t all)
{
    if (all <= 0)
        return;
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_LABEL].text = bj_slice_str(bj_local(label));
    period_put_percent(d, &row[BJ_DOC_PERCENT], used, known, all);
    bj_period_hours(&d->scratch, used, known, all);
    row[BJ_DOC_AMOUNT].text = bj_doc_take(d);
    row[BJ_DOC_AMOUNT].is_long = known > 0 && known < all;
}

/* Add a figure whose amount is in scratch. */
static struct bj_doc_cell *
period_put_sum(struct bj_doc *d, struct bj_doc_section *s, const char *label)
{
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_LABEL].text = bj_slice_str(bj_local(label));
    row[BJ_DOC_AMOUNT].text = bj_doc_take(d);
    return row;
}

static void period_put_known(struct bj_doc *d, struct bj_doc_cell *row,
                             int64_t known)
{
    bj_show_percent(&d->scratch, known);
    bj_local_str(&d->scratch, " {known}");
    row[BJ_DOC_QUALITY].text = bj_doc_take(d);
}

static void period_put_totals(const struct bj_period *p, struct bj_doc *d)
{
    const struct bj_period_sums *s = &p->all;
    const struct bj_slice currency = bj_slice_str(p->prices.currency);
    struct bj_doc_section *to = bj_doc_add(
        d, BJ_DOC_FIGURES, bj_local("Resources used"), BJ_DOC_FIGURE_COLUMNS);
    period_put_hours(d, to, "CPU time", s->cpu_used, s->cpu_known, s->cpu);
    period_put_hours(d, to, "GPU time", s->gpu_used, s->gpu_known, s->gpu);
    if (s->energy_uj != BJ_SQL_NULL) {
        bj_show_energy(&d->scratch, s->energy_uj);
        period_put_known(d, period_put_sum(d, to, "Energy"), s->energy_known);
    }
    if (s->emissions_ug != BJ_SQL_NULL) {
        bj_show_grams(&d->scratch, s->emissions_ug);
        bj_local_str(&d->scratch, " CO2e {(estimate)}");
        period_put_known(d, period_put_sum(d, to, "Emissions"),
                         s->emissions_known);
    }
    if (s->cost != BJ_SQL_NULL) {
        bj_show_money(&d->scratch, s->cost, currency);
        period_put_known(d, period_put_sum(d, to, "Cost"), s->cost_known);
    }
    if (s->not_charged > 0) {
        bj_show_money(&d->scratch, s->not_charged, currency);
        bj_local_str(&d->scratch, " {of jobs whose node failed}");
        period_put_sum(d, to, "Not charged");
    }
}

/* --- rows ------------------------------------------------------------------
 */

static void period_put_wasters(const struct bj_period *p, enum bj_waste which,
                               struct bj_doc *d)
{
    static const struct {
        enum bj_doc_name name;
        const char *title, *unit;
        void (*show)(struct bj_buf *b, int64_t v);
    } of[BJ_WASTES] = {
        [BJ_WASTE_GPU] = {BJ_DOC_WASTE_GPU,
                          "Jobs with the most unused GPU hours", "GPU hours",
                          bj_show_hours},
        [BJ_WASTE_CPU] = {BJ_DOC_WASTE_CPU,
                          "Jobs without GPUs with the most unused CPU hours",
                          "CPU hours", bj_show_hours},
        [BJ_WASTE_MEMORY] = {BJ_DOC_WASTE_MEMORY,
                             "Jobs with the most unused memory, GiB hours",
                             "GiB hours", bj_show_gib_hours}};
    if (p->wasters[which] == 0)
        return;
    struct bj_doc_section *s = bj_doc_add(
        d, of[which].name, bj_local(of[which].title), BJ_DOC_WASTE_COLUMNS);
    s->head[BJ_DOC_JOB] = bj_local("job");
    s->head[BJ_DOC_USER] = bj_local("user");
    s->head[BJ_DOC_JOB_NAME] = bj_local("name");
    s->head[BJ_DOC_UNUSED] = bj_local(of[which].unit);
    s->head[BJ_DOC_USED] = bj_local("used");
    for (unsigned i = 0; i < p->wasters[which]; i++) {
        const struct bj_waster *w = &p->waster[which][i];
        struct bj_doc_cell *row = bj_doc_row(d, s);
        row[BJ_DOC_JOB].text = w->id;
        row[BJ_DOC_USER].text = w->user;
        row[BJ_DOC_JOB_NAME].text = w->name;
        of[which].show(&d->scratch, w->amount);
        row[BJ_DOC_UNUSED].text = bj_doc_take(d);
        row[BJ_DOC_USED].has_meter = true;
        row[BJ_DOC_USED].ppm = w->ppm;
        bj_show_percent(&d->scratch, w->ppm);
        row[BJ_DOC_USED].text = bj_doc_take(d);
        row[BJ_DOC_USED].unit = bj_local("used");
    }
}

static void period_put_counts(const struct bj_period *p, struct bj_doc *d)
{
    if (p->findings == 0)
        return;
    struct bj_doc_section *s = bj_doc_add(
        d, BJ_DOC_COUNTS, bj_local("Findings"), BJ_DOC_COUNT_COLUMNS);
    s->head[BJ_DOC_FINDING] = bj_local("finding");
    s->head[BJ_DOC_JOBS] = bj_local("jobs");
    for (size_t i = 0; i < p->findings; i++) {
        struct bj_doc_cell *row = bj_doc_row(d, s);
        row[BJ_DOC_FINDING].text = p->finding[i].name;
        bj_show_number(&d->scratch, p->finding[i].jobs);
        row[BJ_DOC_JOBS].text = bj_doc_take(d);
        row[BJ_DOC_JOBS].unit =
            bj_local(p->finding[i].jobs == 1 ? "job" : "jobs");
    }
}

static void period_put_group(const struct bj_period *p,
                             const struct bj_period_sums *g, struct bj_doc *d,
                             struct bj_doc_section *s)
{
    struct bj_doc_cell *row = bj_doc_row(d, s);
    row[BJ_DOC_GROUP].text =
        g->name.n > 0 ? g->name
                      : bj_slice_str(bj_local(bj_period_groups[p->by].none));
    bj_show_number(&d->scratch, g->jobs);
    row[BJ_DOC_GROUP_JOBS].text = bj_doc_take(d);
    bj_show_hours(&d->scratch, g->cpu);
    row[BJ_DOC_CPU_HOURS].text = bj_doc_take(d);
    period_put_percent(d, &row[BJ_DOC_CPU_USED], g->cpu_used, g->cpu_known,
                       g->cpu);
    bj_show_percent(&d->scratch, period_ppm(g->cpu_known, g->cpu));
    row[BJ_DOC_CPU_KNOWN].text = bj_doc_take(d);
    bj_show_hours(&d->scratch, g->gpu > 0 ? g->gpu : BJ_SQL_NULL);
    row[BJ_DOC_GPU_HOURS].text = bj_doc_take(d);
    bj_show_energy(&d->scratch, g->energy_uj);
    row[BJ_DOC_ENERGY].text = bj_doc_take(d);
}

static void period_put_groups(const struct bj_period *p, struct bj_doc *d)
{
    if (p->groups == 0)
        return;
    struct bj_doc_section *s =
        bj_doc_add(d, BJ_DOC_GROUPS, bj_local(bj_period_groups[p->by].title),
                   BJ_DOC_GROUP_COLUMNS);
    s->head[BJ_DOC_GROUP_JOBS] = bj_local("jobs");
    s->head[BJ_DOC_CPU_HOURS] = bj_local("CPU hours");
    s->head[BJ_DOC_CPU_USED] = bj_local("used");
    s->head[BJ_DOC_CPU_KNOWN] = bj_local("known");
    s->head[BJ_DOC_GPU_HOURS] = bj_local("GPU hours");
    s->head[BJ_DOC_ENERGY] = bj_local("energy");
    for (size_t i = 0; i < p->groups; i++)
        period_put_group(p, &p->group[i], d, s);
}

/* "solve: Request 6 GPUs. 12 jobs, 61 GPU hours, 37 EUR held and not used." */
static void period_put_changes(const struct bj_period *p, struct bj_doc *d)
{
    const struct bj_slice currency = bj_slice_str(p->prices.currency);
    char n[BJ_AMOUNT_COUNT];
    if (p->changes == 0)
        return;
    struct bj_doc_section *s = bj_doc_add(
        d, BJ_DOC_ADVICE,
        bj_local(p->changes == BJ_PERIOD_CHANGES ? "Three things to change"
                                                 : "What to change"),
        BJ_DOC_ITEM_COLUMNS);
    for (unsigned i = 0; i < p->changes; i++) {
        const struct bj_period_change *v = &p->change[i];
        struct bj_doc_cell *row = bj_doc_row(d, s);
        bj_buf_clean(&d->scratch,
                     v->name.n > 0
                         ? v->name
                         : bj_slice_str(bj_local("Jobs without a name")));
        bj_buf_str(&d->scratch, ": ");
        bj_buf_clean(&d->scratch, v->text);
        bj_buf_str(&d->scratch, " ");
        bj_local_put(&d->scratch, v->runs == 1 ? "{%s job}" : "{%s jobs}",
                     bj_amount_count(n, v->runs));
        const size_t before = d->scratch.len;
        bj_buf_str(&d->scratch, ", ");
        bj_show_wasted(&d->scratch, &v->wasted, v->cost, currency);
        if (d->scratch.len > before + 2)
            bj_local_str(&d->scratch, " {held and not used}");
        else if (!d->scratch.failed)
            d->scratch.len = before;
        bj_buf_str(&d->scratch, ".");
        row[BJ_DOC_ITEM].text = bj_doc_take(d);
        row[BJ_DOC_LINE].text = v->line;
    }
}

void bj_period_document(const struct bj_period *p, const char *title,
                        struct bj_doc *ret)
{
    struct bj_doc_section *about;
    ret->title = bj_arena_copy(&ret->arena, bj_slice_str(title));
    ret->whole_title = ret->title;
    ret->created_sec = p->last_sec;
    about = bj_doc_add(ret, BJ_DOC_ABOUT, NULL, BJ_DOC_ABOUT_COLUMNS);
    bj_period_meaning(&ret->scratch);
    bj_doc_row(ret, about)->text = bj_doc_take(ret);
    period_show_states(&ret->scratch, &p->all);
    bj_doc_row(ret, about)->text = bj_doc_take(ret);
    period_put_changes(p, ret);
    period_put_totals(p, ret);
    for (int i = 0; i < BJ_WASTES; i++)
        period_put_wasters(p, (enum bj_waste)i, ret);
    period_put_counts(p, ret);
    period_put_groups(p, ret);
}
