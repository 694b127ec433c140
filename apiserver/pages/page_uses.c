#include "apiserver/pages/page_job.h"
#include "base/html.h"
#include "base/local.h"
#include "report/model/report.h"
#include "report/model/show.h"

static const double nearly_full = 95; /* percent */

/* Resources that a job requested and used: figures of its report, or current
 * values. */
static bool known(double v)
{
    return v - v == 0;
}

/* One row; NaN leaves a cell empty. */
struct use {
    const char *title;
    enum bj_page_form form;
    double requested, used;
    const char *used_unit; /* unit after the used amount */
    double percent;
    enum bj_page_form percent_form;
    const char *note;
};

static void put_use(struct bj_buf *b, const struct use *u)
{
    if (!known(u->used) && !known(u->percent) &&
        (!known(u->requested) || u->requested <= 0))
        return;
    bj_buf_printf(b, "<tr><th scope=\"row\">%s</th><td class=\"n\">",
                  bj_local_escaped(u->title));
    if (known(u->requested))
        bj_page_amount(b, u->form == BJ_SHOW_ROUND ? BJ_SHOW_NUMBER : u->form,
                       u->requested);
    bj_buf_str(b, "</td><td class=\"n\">");
    if (known(u->used)) {
        bj_page_amount(b, u->form, u->used);
        bj_buf_str(b, *u->used_unit ? " " : "");
        bj_buf_str(b, bj_local_escaped(u->used_unit));
    }
    bj_buf_str(b, "</td><td>");
    if (known(u->percent))
        bj_page_amount(b, u->percent_form, u->percent);
    bj_buf_printf(b, "</td><td class=\"note\">%s</td></tr>\n",
                  bj_local_escaped(u->note));
}

/* The current use of the job; NaN: unknown. */
static double current_value(const struct bj_job_page *g, const char *metric)
{
    double v;
    return bj_curves_now(&g->curves, metric, &v) ? v : __builtin_nan("");
}

static double ratio(double a, double b)
{
    return known(a) && known(b) && b > 0 ? a / b : __builtin_nan("");
}

static double first_known(double a, double b)
{
    return known(a) ? a : b;
}

static void put_gpus(struct bj_buf *b, const struct bj_job_page *g)
{
    const double none = __builtin_nan(""), gpus = g->fact[BJ_JOB_GPUS];
    const double percent = g->fact[BJ_JOB_NOW_GPUS];
    if (!known(gpus) || gpus <= 0)
        return;
    put_use(b, &(struct use){"GPUs", BJ_SHOW_ROUND, gpus,
                             ratio(percent * gpus, 100), "now", percent,
                             BJ_SHOW_GPU, ""});
    put_use(b, &(struct use){"GPU memory", BJ_SHOW_BYTES, none,
                             current_value(g, "gpu_memory_bytes"), "now", none,
                             0, ""});
}

/* The uses of a running or waiting job. */
static void put_uses(struct bj_buf *b, const struct bj_job_page *g)
{
    const double none = __builtin_nan("");
    const double *v = g->fact;
    /* as findings and the other forms have them (job_part) */
    const double cpus = v[BJ_JOB_NOW_CPUS], bytes = v[BJ_JOB_NOW_MEMORY];
    double of =
        first_known(v[BJ_JOB_MEMORY_ALLOCATED], v[BJ_JOB_MEMORY_REQUESTED]);
    put_use(b, &(struct use){"CPUs", BJ_SHOW_ROUND, v[BJ_JOB_CPUS], cpus, "now",
                             100 * ratio(cpus, v[BJ_JOB_CPUS]), BJ_SHOW_PERCENT,
                             ""});
    /* Before the end of a job, only memory that is nearly full is a problem. */
    double memory = 100 * ratio(bytes, of);
    put_use(b, &(struct use){
                   "Memory", BJ_SHOW_BYTES, of, bytes, "now", memory,
                   memory > nearly_full ? BJ_SHOW_MEMORY : BJ_SHOW_PART, ""});
    put_gpus(b, g);
    put_use(b, &(struct use){"Time", BJ_SHOW_SECONDS, v[BJ_JOB_LIMIT],
                             v[BJ_JOB_ELAPSED], "",
                             100 * ratio(v[BJ_JOB_ELAPSED], v[BJ_JOB_LIMIT]),
                             BJ_SHOW_PART,
                             known(v[BJ_JOB_LIMIT]) ? "" : "no time limit"});
    put_use(b, &(struct use){"Power", BJ_SHOW_ROUND, none,
                             current_value(g, "power_watts"), "W now", none, 0,
                             ""});
}

/* --- the figures of an ended job -------------------------------------------
 */

static void put_amount(struct bj_buf *b, const struct bj_report *r,
                       const struct bj_report_figure *f, int64_t v)
{
    bj_buf_str(b, "<td class=\"n\">");
    if (v != BJ_SQL_NULL)
        bj_report_amount_html(b, r, f, v);
    bj_buf_str(b, "</td>");
}

/* "measured by nodes; requested 8.0 GiB" */
static void put_note(struct bj_buf *b, const struct bj_report *r,
                     const struct bj_report_figure *f)
{
    bj_buf_str(b, "<td class=\"note\">");
    bj_html_text(b, f->quality);
    if (f->source.n > 0 && !bj_slice_eq(f->source, BJ_SLICE("prices"))) {
        bj_buf_str(b, ", ");
        bj_html_text(b, f->source);
    }
    if (f->requested != BJ_SQL_NULL && f->requested != f->allocated) {
        bj_local_html(b, f->source.n > 0 ? "; {requested} " : "{requested} ");
        bj_report_amount_html(b, r, f, f->requested);
    }
    bj_buf_str(b, "</td></tr>\n");
}

void bj_job_figures(struct bj_buf *b, const struct bj_report *r)
{
    static const enum bj_page_form forms[BJ_FIGURES] = {
        [BJ_FIGURE_CPU] = BJ_SHOW_PERCENT,
        [BJ_FIGURE_MEMORY] = BJ_SHOW_MEMORY,
        [BJ_FIGURE_CHARGED] = BJ_SHOW_MEMORY,
        [BJ_FIGURE_GPU] = BJ_SHOW_GPU,
        [BJ_FIGURE_TIME] = BJ_SHOW_TIME_USED};
    for (unsigned i = 0; i < BJ_FIGURES; i++) {
        const struct bj_report_figure *f = &r->figure[i];
        if (f->used == BJ_SQL_NULL && f->ppm == BJ_SQL_NULL &&
            (f->allocated == BJ_SQL_NULL || i == BJ_FIGURE_CHARGED))
            continue;
        bj_buf_str(b, "<tr><th scope=\"row\">");
        bj_html_text(b, f->label);
        bj_buf_str(b, "</th>");
        put_amount(b, r, f, f->allocated);
        put_amount(b, r, f, f->used);
        bj_buf_str(b, "<td>");
        if (f->ppm != BJ_SQL_NULL)
            bj_page_amount(b, forms[i] ? forms[i] : BJ_SHOW_PERCENT,
                           (double)f->ppm / 1e4);
        bj_buf_str(b, "</td>");
        put_note(b, r, f);
    }
}

/* --- nodes and GPUs --------------------------------------------------------
 */

enum { PARTS = 40 }; /* rows of a table, at most */

static void put_cells(struct bj_buf *b, int64_t ppm, int64_t memory)
{
    bj_buf_str(b, "</td><td>");
    if (ppm != BJ_SQL_NULL)
        bj_page_amount(b, BJ_SHOW_PART, (double)ppm / 1e4);
    bj_buf_str(b, "</td><td class=\"n\">");
    bj_show_bytes(b, memory);
}

static void put_node_part(struct bj_buf *b, const struct bj_report *r, size_t i)
{
    const struct bj_report_node *n = &r->node[i];
    bj_html_text(b, n->node);
    put_cells(b, n->cpu_ppm, n->memory_peak);
    bj_local_html(b, " {of} ");
    bj_show_bytes(b, n->memory_limit);
}

static void put_gpu_part(struct bj_buf *b, const struct bj_report *r, size_t i)
{
    const struct bj_report_gpu *g = &r->gpu[i];
    struct bj_buf name = {0};
    bj_show_gpu(&name, g->node, g->index, g->gpu);
    bj_html_text(b, (struct bj_slice){name.p, name.len});
    b->failed |= name.failed;
    bj_buf_free(&name);
    put_cells(b, g->busy_ppm, g->memory_peak);
}

static int64_t node_rank(const struct bj_report *r, size_t i)
{
    return bj_report_rank(r->node[i].cpu_ppm);
}

static int64_t gpu_rank(const struct bj_report *r, size_t i)
{
    return bj_report_rank(r->gpu[i].busy_ppm);
}

struct part_table {
    const char *title, *name, *use;
    size_t n;
    int64_t (*rank)(const struct bj_report *r, size_t i);
    void (*put)(struct bj_buf *b, const struct bj_report *r, size_t i);
};

/* The next row after one; NULL for the first: by rank, then by place. */
static size_t next_part(const struct bj_report *r, const struct part_table *t,
                        const size_t *after)
{
    size_t best = t->n;
    for (size_t i = 0; i < t->n; i++) {
        const int64_t v = t->rank(r, i);
        if (after && (v < t->rank(r, *after) ||
                      (v == t->rank(r, *after) && i <= *after)))
            continue;
        if (best == t->n || v < t->rank(r, best))
            best = i;
    }
    return best;
}

static void put_part_table(struct bj_buf *b, const struct bj_report *r,
                           const struct part_table *t)
{
    bj_buf_printf(b, "<h2>%s</h2>\n", bj_local_escaped(t->title));
    if (t->n > PARTS)
        bj_local_html(b, "<p class=\"sub\">{the %d least busy of %zu}</p>\n",
                      PARTS, t->n);
    bj_buf_printf(b,
                  "<div class=\"wide\"><table class=\"parts\"><thead><tr>"
                  "<th scope=\"col\">%s</th>",
                  bj_local_escaped(t->name));
    bj_buf_printf(b, "<th scope=\"col\">%s</th>", bj_local_escaped(t->use));
    bj_local_html(b, "<th scope=\"col\" class=\"n\">{Memory}</th></tr></thead>"
                     "<tbody>\n");
    size_t at = next_part(r, t, NULL);
    for (unsigned i = 0; i < PARTS && at < t->n; i++) {
        bj_buf_str(b, "<tr><td>");
        t->put(b, r, at);
        bj_buf_str(b, "</td></tr>\n");
        at = next_part(r, t, &at);
    }
    bj_buf_str(b, "</tbody></table></div>\n");
}

void bj_job_parts(struct bj_buf *b, const struct bj_report *r)
{
    const struct part_table nodes = {"CPUs and memory of nodes",
                                     "Node",
                                     "CPUs",
                                     r->nodes,
                                     node_rank,
                                     put_node_part},
                            gpus = {"GPUs",  "GPU",    "Busy",
                                    r->gpus, gpu_rank, put_gpu_part};
    struct bj_buf note = {0};
    if (r->nodes > 1 || (r->nodes > 0 && r->node[0].at != BJ_SQL_NULL))
        put_part_table(b, r, &nodes);
    if (r->gpus > 0)
        put_part_table(b, r, &gpus);
    bj_report_sampled(r, &note);
    if (note.len > 0) {
        bj_buf_str(b, "<p class=\"sub\">");
        bj_html_text(b, (struct bj_slice){note.p, note.len});
        bj_buf_str(b, "</p>\n");
    }
    b->failed |= note.failed;
    bj_buf_free(&note);
}

void bj_job_uses(struct bj_buf *b, const struct bj_job_page *g)
{
    bj_local_html(b, g->is_array_task
                         ? "<h2>{This task: requested and used}</h2>\n"
                         : "<h2>{Requested and used}</h2>\n");
    bj_local_html(
        b, "<div class=\"wide\"><table class=\"uses\"><thead><tr><th></th><th "
           "scope=\"col\" class=\"n\">");
    /* a job that waits holds nothing */
    bj_local_html(b, known(g->fact[BJ_JOB_START]) ? "{Held}" : "{Requested}");
    bj_local_html(b, "</th><th scope=\"col\" class=\"n\">{Used}</th><th "
                     "scope=\"col\">{Efficiency}</th><th></th></tr></thead>"
                     "<tbody>\n");
    if (bj_job_has_ended(g)) {
        bj_buf_slice(b, (struct bj_slice){g->figures.p, g->figures.len});
        b->failed |= g->figures.failed;
    } else {
        put_uses(b, g);
    }
    bj_buf_str(b, "</tbody></table></div>\n");
}
