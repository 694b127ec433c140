/* The report of a user's jobs as HTML. */
#include "base/html.h"
#include "base/local.h"
#include "mail/html.h"
#include "report/model/show.h"
#include "statsdb/tables/best.h"

enum { MICRO = 1000000, WASTERS = 3 };

/* Append the text as a paragraph, and clear it. */
static void put_paragraph(struct bj_buf *b, struct bj_buf *text)
{
    bj_buf_str(b, "<p>");
    bj_html_text(b, (struct bj_slice){text->p, text->len});
    bj_buf_str(b, "</p>\n");
    b->failed |= text->failed;
    text->len = 0;
}

static void put_known(struct bj_buf *b, int64_t known)
{
    bj_buf_str(b, "<br><small>");
    bj_show_percent(b, known);
    bj_local_html_str(b, " {known}</small></td></tr>\n");
}

static void put_hours(struct bj_buf *b, const char *label, int64_t used,
                      int64_t known, int64_t all)
{
    if (all <= 0)
        return;
    bj_buf_printf(b, "<tr><th scope=\"row\">%s</th><td class=\"n\">",
                  bj_local_escaped(label));
    bj_show_percent(b, known > 0 ? bj_best_ratio(used, MICRO, known)
                                 : BJ_SQL_NULL);
    bj_buf_str(b, "</td><td class=\"n\">");
    struct bj_buf hours = {0};
    bj_period_hours(&hours, used, known, all);
    bj_html_text(b, (struct bj_slice){hours.p, hours.len});
    b->failed |= hours.failed;
    bj_buf_free(&hours);
    bj_buf_str(b, "</td></tr>\n");
}

static void put_sum(struct bj_buf *b, const char *label, int64_t known,
                    int64_t v, void (*show)(struct bj_buf *, int64_t))
{
    if (v == BJ_SQL_NULL)
        return;
    bj_buf_printf(b, "<tr><th scope=\"row\">%s</th><td></td><td class=\"n\">",
                  bj_local_escaped(label));
    show(b, v);
    put_known(b, known);
}

static void put_cost(const struct bj_period *p, struct bj_buf *b)
{
    if (p->all.cost == BJ_SQL_NULL)
        return;
    bj_local_html_str(
        b, "<tr><th scope=\"row\">{Cost}</th><td></td><td class=\"n\">");
    bj_show_unit_html(b, bj_slice_str(p->prices.currency), p->all.cost);
    put_known(b, p->all.cost_known);
    if (p->all.not_charged <= 0)
        return;
    bj_local_html_str(b, "<tr><th scope=\"row\">{Not charged}</th><td></td><td "
                         "class=\"n\">");
    bj_show_unit_html(b, bj_slice_str(p->prices.currency), p->all.not_charged);
    bj_local_html_str(b, " {of jobs whose node failed}</td></tr>\n");
}

static void put_wasters(const struct bj_period *p, enum bj_waste which,
                        struct bj_buf *b)
{
    static const char *const titles[BJ_WASTES] = {
        [BJ_WASTE_GPU] = "Most unused GPU hours",
        [BJ_WASTE_CPU] = "Most unused CPU hours, of jobs without GPUs",
        [BJ_WASTE_MEMORY] = "Most unused memory, GiB hours"};
    if (p->wasters[which] == 0)
        return;
    bj_buf_printf(b, "<h2>%s</h2>\n<table>\n", bj_local_escaped(titles[which]));
    for (unsigned i = 0; i < p->wasters[which] && i < WASTERS; i++) {
        const struct bj_waster *w = &p->waster[which][i];
        bj_buf_str(b, "<tr><td>");
        bj_html_text(b, w->id);
        bj_buf_str(b, "</td><td class=\"phone\"><bdi>");
        bj_html_text(b, w->name);
        bj_buf_str(b, "</bdi></td><td class=\"n\">");
        if (which == BJ_WASTE_MEMORY)
            bj_show_gib_hours(b, w->amount);
        else
            bj_show_hours(b, w->amount);
        bj_buf_str(b, "</td><td class=\"n\">");
        bj_show_percent(b, w->ppm);
        bj_local_html_str(b, " {used}</td></tr>\n");
    }
    bj_buf_str(b, "</table>\n");
}

void bj_mail_html_period(const struct bj_period *p, struct bj_buf *b)
{
    const struct bj_period_sums *s = &p->all;
    struct bj_buf text = {0};
    bj_period_meaning(&text);
    put_paragraph(b, &text);
    bj_period_states(&text, s);
    put_paragraph(b, &text);
    bj_buf_free(&text);
    bj_buf_str(b, "<table>\n");
    put_hours(b, "CPU time", s->cpu_used, s->cpu_known, s->cpu);
    put_hours(b, "GPU time", s->gpu_used, s->gpu_known, s->gpu);
    put_sum(b, "Energy", s->energy_known, s->energy_uj, bj_show_energy);
    put_sum(b, "CO2e (estimate)", s->emissions_known, s->emissions_ug,
            bj_show_grams);
    put_cost(p, b);
    bj_buf_str(b, "</table>\n");
    for (enum bj_waste which = 0; which < BJ_WASTES; which++)
        put_wasters(p, which, b);
    if (p->findings > 0)
        bj_local_html_str(b, "<h2>{Findings}</h2>\n<table>\n");
    for (unsigned i = 0; i < p->findings; i++) {
        bj_buf_str(b, "<tr><td>");
        bj_html_text(b, p->finding[i].name);
        bj_buf_str(b, "</td><td class=\"n\">");
        bj_show_number(b, p->finding[i].jobs);
        bj_buf_printf(
            b, " %s",
            bj_local_escaped(p->finding[i].jobs == 1 ? "job" : "jobs"));
        bj_buf_str(b, "</td></tr>\n");
    }
    bj_buf_str(b, p->findings > 0 ? "</table>\n" : "");
}
