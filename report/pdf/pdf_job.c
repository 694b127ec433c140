/* The report of a job as PDF. */
#include "report/pdf/pdf.h"

#include "base/amount.h"
#include "base/local.h"
#include "report/form/text_parts.h"
#include "report/model/show.h"
#include "report/pdf/pdf_parts.h"

#include <stdio.h>
#include <stdlib.h>

/* maximum number of nodes and GPUs shown, the least busy first */
enum { SHOWN = 40 };

struct page {
    struct bj_pdf_page pdf;
    const struct bj_report *r;
};

static struct bj_slice text(const struct page *p, enum bj_report_column c)
{
    return bj_report_text(p->r, c);
}

static int64_t number(const struct page *p, enum bj_report_column c)
{
    return bj_report_number(p->r, c);
}

static bool is_array(const struct page *p)
{
    return p->r->array.tasks > 1;
}

/* --- the first lines -------------------------------------------------------
 */

static void put_id(struct bj_buf *b, const struct bj_report *r)
{
    if (r->array.tasks > 1) {
        bj_local_put(b, "{Array} %lld",
                     (long long)bj_report_number(r, BJ_REPORT_ARRAY));
    } else {
        bj_local_str(b, "{Job} ");
        bj_buf_clean(b, bj_report_text(r, BJ_REPORT_DISPLAY_ID));
    }
}

void bj_pdf_job_title(const struct bj_report *r, struct bj_buf *out)
{
    struct bj_slice name = bj_report_text(r, BJ_REPORT_NAME);
    if (r->array.tasks > 1)
        bj_local_put(out, "{Report of array %lld}",
                     (long long)bj_report_number(r, BJ_REPORT_ARRAY));
    else
        bj_local_put(out, "{Report of job %s}",
                     bj_report_text(r, BJ_REPORT_DISPLAY_ID).p);
    if (name.n > 0) {
        bj_buf_str(out, " (");
        bj_buf_clean(out, name);
        bj_buf_str(out, ")");
    }
}

int64_t bj_pdf_job_time(const struct bj_report *r)
{
    const enum bj_report_column order[] = {BJ_REPORT_END, BJ_REPORT_START,
                                           BJ_REPORT_SUBMIT};
    for (unsigned i = 0; i < 3; i++) {
        int64_t sec = bj_report_number(r, order[i]);
        if (sec != BJ_SQL_NULL)
            return sec;
    }
    return 0;
}

/* Add known text after a separator. */
static void put_word(struct page *p, const char *before, struct bj_slice s)
{
    if (s.n == 0)
        return;
    bj_local_str(&p->pdf.cell, p->pdf.cell.len > 0 ? before : "");
    bj_buf_clean(&p->pdf.cell, s);
}

static void put_head(struct page *p)
{
    struct bj_buf *b = &p->pdf.cell;
    const double left = 170;
    put_id(b, p->r);
    bj_sheet_row(p->pdf.sheet, 0, BJ_ROW_PAGE | BJ_ROW_KEEP);
    bj_sheet_text(p->pdf.sheet, &(struct bj_sheet_text){.text = {b->p, b->len},
                                                        .width = left,
                                                        .size = 18,
                                                        .font = BJ_FONT_BOLD,
                                                        .colour = BJ_PDF_TEXT});
    bj_sheet_text(p->pdf.sheet,
                  &(struct bj_sheet_text){.text = text(p, BJ_REPORT_NAME),
                                          .x = left + 10,
                                          .y = 5,
                                          .width = p->pdf.width - left - 10,
                                          .size = 13,
                                          .colour = BJ_PDF_MUTED,
                                          .right = true});
    b->len = 0;
    put_word(p, "", bj_report_state(p->r));
    put_word(p, ", {of} ", text(p, BJ_REPORT_USER));
    put_word(p, ", {account} ", text(p, BJ_REPORT_ACCOUNT));
    put_word(p, ", {partition} ", text(p, BJ_REPORT_PARTITION));
    put_word(p, ", {cluster} ", text(p, BJ_REPORT_CLUSTER));
    bj_pdf_paragraph(&p->pdf, 3, BJ_PDF_MUTED);
}

static double put_sentence(struct page *p, double y, struct bj_slice s,
                           double size, enum bj_font font)
{
    if (s.n == 0)
        return y;
    return y + 3 +
           bj_sheet_text(p->pdf.sheet,
                         &(struct bj_sheet_text){.text = s,
                                                 .x = 12,
                                                 .y = y,
                                                 .width = p->pdf.width - 22,
                                                 .size = size,
                                                 .lines = 8,
                                                 .font = font,
                                                 .colour = BJ_PDF_TEXT});
}

static void put_verdict(struct page *p)
{
    const struct bj_report_verdict *v = &p->r->verdict;
    const uint32_t colour = bj_pdf_colour(v->level);
    double y = 7;
    bj_sheet_row(p->pdf.sheet, 10, 0);
    bj_sheet_box(p->pdf.sheet, 0, 0, p->pdf.width, 0, BJ_PDF_TINT);
    bj_sheet_box(p->pdf.sheet, 0, 0, 4, 0, colour);
    y += bj_sheet_text(p->pdf.sheet,
                       &(struct bj_sheet_text){.text = v->level,
                                               .x = 12,
                                               .y = y,
                                               .width = 100,
                                               .size = 9,
                                               .font = BJ_FONT_BOLD,
                                               .colour = colour});
    y = put_sentence(p, y + 2, v->wrong, 12, BJ_FONT_BOLD);
    y = put_sentence(p, y, v->cost, 10, BJ_FONT_SANS);
    y = put_sentence(p, y, v->todo, 10, BJ_FONT_BOLD);
    bj_sheet_grow(p->pdf.sheet, y + 5);
}

/* --- advice and findings ---------------------------------------------------
 */

/* A line to copy, on a tinted background. */
static void put_line(struct page *p, struct bj_slice line)
{
    if (line.n == 0)
        return;
    bj_sheet_row(p->pdf.sheet, 3, 0);
    bj_sheet_box(p->pdf.sheet, 12, 0, p->pdf.width - 12, 0, BJ_PDF_TINT);
    double h = bj_sheet_text(p->pdf.sheet,
                             &(struct bj_sheet_text){.text = line,
                                                     .x = 20,
                                                     .y = 4,
                                                     .width = p->pdf.width - 28,
                                                     .size = 9,
                                                     .lines = 3,
                                                     .font = BJ_FONT_MONO,
                                                     .colour = BJ_PDF_TEXT});
    bj_sheet_grow(p->pdf.sheet, h + 8);
}

/* Put a label at the left, and a text at x. */
static void put_item(struct page *p, struct bj_slice label, uint32_t colour,
                     double x, struct bj_slice s, bool keep)
{
    bj_sheet_row(p->pdf.sheet, 3, keep ? BJ_ROW_KEEP : 0);
    bj_sheet_text(p->pdf.sheet, &(struct bj_sheet_text){.text = label,
                                                        .width = x,
                                                        .size = 9,
                                                        .font = BJ_FONT_BOLD,
                                                        .colour = colour});
    bj_sheet_text(p->pdf.sheet,
                  &(struct bj_sheet_text){.text = s,
                                          .x = x,
                                          .width = p->pdf.width - x,
                                          .size = 9,
                                          .lines = 8,
                                          .colour = BJ_PDF_TEXT});
}

static void put_advice(struct page *p)
{
    const struct bj_report *r = p->r;
    if (r->advices > 0)
        bj_pdf_title(&p->pdf, "What to change");
    for (size_t i = 0; i < r->advices; i++) {
        const struct bj_report_advice *a = &r->advice[i];
        put_item(p, BJ_SLICE("\xe2\x80\xa2"), BJ_PDF_TEXT, 12, a->text,
                 a->line.n > 0 || a->url.n > 0);
        put_line(p, a->line);
        if (a->url.n > 0)
            put_item(p, BJ_SLICE(""), BJ_PDF_METER, 12, a->url, false);
    }
    if (r->next.note.n > 0)
        put_item(p, BJ_SLICE(""), BJ_PDF_TEXT, 12, r->next.note, false);
}

static void put_findings(struct page *p)
{
    const struct bj_report *r = p->r;
    if (r->findings > 0)
        bj_pdf_title(&p->pdf, "Findings");
    for (size_t i = 0; i < r->findings; i++) {
        const struct bj_report_finding *f = &r->finding[i];
        bj_buf_clean(&p->pdf.cell, f->text);
        put_item(p, f->severity, bj_pdf_colour(f->severity), 62,
                 (struct bj_slice){p->pdf.cell.p, p->pdf.cell.len}, false);
        p->pdf.cell.len = 0;
    }
}

static void put_warnings(struct page *p)
{
    const struct bj_report *r = p->r;
    if (r->warnings > 0)
        bj_pdf_title(&p->pdf, "Warnings");
    for (size_t i = 0; i < r->warnings; i++) {
        const struct bj_report_warning *w = &r->warning[i];
        bj_show_time(&p->pdf.cell, w->at);
        bj_buf_str(&p->pdf.cell, ": ");
        bj_buf_clean(&p->pdf.cell, w->text);
        put_item(p, BJ_SLICE("\xe2\x80\xa2"), BJ_PDF_TEXT, 12,
                 (struct bj_slice){p->pdf.cell.p, p->pdf.cell.len}, false);
        p->pdf.cell.len = 0;
    }
}

/* --- requested and used ----------------------------------------------------
 */

enum { LABEL, METER, PERCENT, USED, ALLOCATED, REQUESTED, SOURCE, COLUMNS };

static const struct bj_pdf_column figure_columns[COLUMNS] = {
    [LABEL] = {0, 70, false, NULL},
    [METER] = {72, 72, false, NULL},
    [PERCENT] = {146, 42, true, NULL},
    [USED] = {190, 62, true, "used"},
    [ALLOCATED] = {254, 62, true, "allocated"},
    [REQUESTED] = {318, 62, true, "requested"},
    [SOURCE] = {390, 105, false, "source, quality"},
};

static bool is_shown(const struct bj_report_figure *f)
{
    return f->used != BJ_SQL_NULL || f->ppm != BJ_SQL_NULL;
}

static void put_amount(struct page *p, const struct bj_report_figure *f,
                       int64_t v, unsigned column)
{
    if (v != BJ_SQL_NULL)
        bj_report_amount(&p->pdf.cell, p->r, f, v);
    bj_pdf_cell(&p->pdf, &figure_columns[column]);
}

static void put_figure(struct page *p, const struct bj_report_figure *f,
                       size_t i, size_t rows)
{
    bj_pdf_row(&p->pdf, i, rows);
    bj_pdf_text(&p->pdf, &figure_columns[LABEL], f->label);
    bj_pdf_meter(&p->pdf, &figure_columns[METER], f->ppm);
    if (f->ppm != BJ_SQL_NULL)
        bj_show_percent(&p->pdf.cell, f->ppm);
    bj_pdf_cell(&p->pdf, &figure_columns[PERCENT]);
    put_amount(p, f, f->used, USED);
    put_amount(p, f, f->allocated, ALLOCATED);
    put_amount(p, f, f->requested, REQUESTED);
    put_word(p, "", f->source);
    put_word(p, ", ", f->quality);
    bj_pdf_cell(&p->pdf, &figure_columns[SOURCE]);
}

static void put_figures(struct page *p)
{
    struct bj_buf title = {0};
    size_t rows = 0, row = 0;
    for (unsigned i = 0; i < BJ_FIGURES; i++)
        rows += is_shown(&p->r->figure[i]);
    if (rows == 0)
        return;
    if (is_array(p)) {
        struct bj_slice id = text(p, BJ_REPORT_DISPLAY_ID);
        bj_local_put(&title, "{Task %s: resources used}", id.p ? id.p : "");
    } else {
        bj_local_str(&title, "{Resources used}");
    }
    bj_buf_put(&title, "", 1);
    bj_pdf_title(&p->pdf, title.failed ? "" : title.p);
    p->pdf.cell.failed |= title.failed;
    bj_buf_free(&title);
    bj_pdf_head(&p->pdf, figure_columns, COLUMNS);
    for (unsigned i = 0; i < BJ_FIGURES; i++)
        if (is_shown(&p->r->figure[i]))
            put_figure(p, &p->r->figure[i], row++, rows);
}

/* --- nodes and GPUs --------------------------------------------------------
 */

enum { NAME, BUSY, BUSY_PERCENT, MEMORY, MEMORY_PERCENT, PEAK, MORE, PARTS };

static const struct bj_pdf_column part_columns[PARTS] = {
    [NAME] = {0, 110, false, NULL},
    [BUSY] = {114, 72, false, "busy"},
    [BUSY_PERCENT] = {188, 44, true, NULL},
    [MEMORY] = {246, 72, false, "memory"},
    [MEMORY_PERCENT] = {320, 44, true, NULL},
    [PEAK] = {366, 64, true, "peak"},
    [MORE] = {440, 55, false, "of"},
};

struct rank {
    int64_t ppm;
    size_t at;
};

static int by_use(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->ppm != y->ppm)
        return x->ppm < y->ppm ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void put_busy(struct page *p, int64_t ppm, unsigned meter)
{
    bj_pdf_meter(&p->pdf, &part_columns[meter], ppm);
    bj_show_percent(&p->pdf.cell, ppm);
    bj_pdf_cell(&p->pdf, &part_columns[meter + 1]);
}

static int64_t use_of_node(const struct bj_report *r, size_t i)
{
    return r->node[i].cpu_ppm;
}

static int64_t use_of_gpu(const struct bj_report *r, size_t i)
{
    return r->gpu[i].busy_ppm;
}

static void put_node(struct page *p, size_t i)
{
    const struct bj_report_node *n = &p->r->node[i];
    bj_pdf_text(&p->pdf, &part_columns[NAME], n->node);
    put_busy(p, n->cpu_ppm, BUSY);
    if (n->memory_peak >= 0 && n->memory_limit > 0)
        put_busy(
            p,
            (int64_t)((double)n->memory_peak * 1e6 / (double)n->memory_limit +
                      0.5),
            MEMORY);
    bj_show_bytes(&p->pdf.cell, n->memory_peak);
    bj_pdf_cell(&p->pdf, &part_columns[PEAK]);
    bj_show_bytes(&p->pdf.cell, n->memory_limit);
    bj_pdf_cell(&p->pdf, &part_columns[MORE]);
}

static void put_gpu(struct page *p, size_t i)
{
    const struct bj_report_gpu *g = &p->r->gpu[i];
    bj_show_gpu(&p->pdf.cell, g->node, g->index, g->gpu);
    bj_pdf_cell(&p->pdf, &part_columns[NAME]);
    put_busy(p, g->busy_ppm, BUSY);
    bj_show_bytes(&p->pdf.cell, g->memory_peak);
    bj_pdf_cell(&p->pdf, &part_columns[PEAK]);
    bj_pdf_text(&p->pdf, &part_columns[MEMORY], g->model);
}

/* The rows with the least use, which indicate the problem. */
static void put_least(struct page *p, const char *what, size_t n, bool gpus)
{
    struct rank *rank = calloc(n, sizeof(*rank));
    struct bj_pdf_column head[PARTS];
    struct bj_buf title = {0};
    const size_t shown = n < SHOWN ? n : SHOWN;
    for (unsigned i = 0; i < PARTS; i++)
        head[i] = part_columns[i];
    if (gpus) {
        head[MEMORY].title = "model";
        head[PEAK].title = "memory";
        head[MORE].title = NULL;
    }
    bj_buf_str(&title, bj_local(what));
    if (n > SHOWN)
        bj_local_put(&title, ": {the %d least busy of %zu}", SHOWN, n);
    bj_buf_put(&title, "", 1);
    bj_pdf_title(&p->pdf, title.failed ? "" : title.p);
    p->pdf.cell.failed |= title.failed;
    bj_buf_free(&title);
    bj_pdf_head(&p->pdf, head, PARTS);
    for (size_t i = 0; rank && i < n; i++)
        rank[i] = (struct rank){
            bj_report_rank(gpus ? use_of_gpu(p->r, i) : use_of_node(p->r, i)),
            i};
    if (rank)
        qsort(rank, n, sizeof(*rank), by_use);
    for (size_t i = 0; rank && i < shown; i++) {
        bj_pdf_row(&p->pdf, i, shown);
        if (gpus)
            put_gpu(p, rank[i].at);
        else
            put_node(p, rank[i].at);
    }
    p->pdf.cell.failed |= !rank;
    free(rank);
}

/* --- tasks of an array -----------------------------------------------------
 */

enum { VALUE, LEAST, MEDIAN, P95, MOST, TASK, DRAWING, SPREADS };

static const struct bj_pdf_column spread_columns[SPREADS] = {
    [VALUE] = {0, 72, false, NULL},
    [LEAST] = {74, 66, true, "least"},
    [MEDIAN] = {142, 66, true, "median"},
    [P95] = {210, 66, true, "95 %"},
    [MOST] = {278, 66, true, "most"},
    [TASK] = {350, 60, false, "task"},
    [DRAWING] = {414, 81, false, "0 to most"},
};

static void show_spread(struct bj_buf *b, unsigned which, int64_t v)
{
    if (which == BJ_SPREAD_MEMORY)
        bj_show_bytes(b, v);
    else if (which == BJ_SPREAD_ELAPSED)
        bj_show_seconds(b, v);
    else
        bj_show_millionths(b, v);
}

/* Draw a line from the minimum to the maximum, with marks at the median and at
 * 95 %. */
static void draw_spread(struct page *p, const struct bj_report_spread *s)
{
    const struct bj_pdf_column *c = &spread_columns[DRAWING];
    if (s->max <= 0 || s->min < 0)
        return;
    const double unit = (c->width - 2) / (double)s->max;
    bj_sheet_box(p->pdf.sheet, c->x, 6.5, c->width, 1, BJ_PDF_LINE);
    bj_sheet_box(p->pdf.sheet, c->x + (double)s->min * unit, 5,
                 (double)(s->max - s->min) * unit + 1, 4, BJ_PDF_TRACK);
    bj_sheet_box(p->pdf.sheet, c->x + (double)s->median * unit, 2.5, 2, 9,
                 BJ_PDF_METER);
    bj_sheet_box(p->pdf.sheet, c->x + (double)s->p95 * unit, 4, 1, 6,
                 BJ_PDF_TEXT);
}

static void put_outcomes(struct page *p)
{
    const struct bj_report_array *a = &p->r->array;
    const struct {
        int64_t n;
        const char *what;
    } all[] = {{a->completed, "completed"}, {a->failed, "failed"},
               {a->timeout, "timed out"},   {a->oom, "out of memory"},
               {a->cancelled, "cancelled"}, {a->open, "not ended"}};
    char n[BJ_AMOUNT_COUNT];
    bj_local_put(&p->pdf.cell, "{%s tasks}", bj_amount_count(n, a->tasks));
    const char *before = ": ";
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].n <= 0)
            continue;
        bj_buf_str(&p->pdf.cell, before);
        bj_show_number(&p->pdf.cell, all[i].n);
        bj_buf_printf(&p->pdf.cell, " %s", bj_local(all[i].what));
        before = ", ";
    }
    bj_pdf_paragraph(&p->pdf, 0, BJ_PDF_TEXT);
}

static void put_array(struct page *p)
{
    static const char *const labels[] = {[BJ_SPREAD_ELAPSED] = "Run time",
                                         [BJ_SPREAD_MEMORY] = "Memory",
                                         [BJ_SPREAD_CPU] = "Busy CPUs"};
    const struct bj_report_array *a = &p->r->array;
    size_t rows = 0, row = 0;
    if (!is_array(p))
        return;
    bj_pdf_title(&p->pdf, "Tasks of the array");
    put_outcomes(p);
    for (unsigned i = 0; i < BJ_SPREADS; i++)
        rows += a->spread[i].tasks > 0;
    if (rows > 0)
        bj_pdf_head(&p->pdf, spread_columns, SPREADS);
    for (unsigned i = 0; i < BJ_SPREADS; i++) {
        const struct bj_report_spread *s = &a->spread[i];
        const int64_t v[] = {s->min, s->median, s->p95, s->max};
        if (s->tasks <= 0)
            continue;
        bj_pdf_row(&p->pdf, row++, rows);
        bj_pdf_text(&p->pdf, &spread_columns[VALUE],
                    bj_slice_str(bj_local(labels[i])));
        for (unsigned k = 0; k < 4; k++) {
            show_spread(&p->pdf.cell, i, v[k]);
            bj_pdf_cell(&p->pdf, &spread_columns[LEAST + k]);
        }
        bj_pdf_text(&p->pdf, &spread_columns[TASK], s->largest);
        draw_spread(p, s);
    }
}

/* --- facts -----------------------------------------------------------------
 */

static void put_when(struct page *p, const char *label, enum bj_report_column c)
{
    int64_t sec = number(p, c);
    if (sec != BJ_SQL_NULL)
        bj_show_time(&p->pdf.cell, sec);
    bj_pdf_fact(&p->pdf, label);
}

static void put_count(struct page *p, enum bj_report_column c, const char *one,
                      const char *many)
{
    int64_t n = number(p, c);
    if (n <= 0)
        return;
    bj_buf_str(&p->pdf.cell, p->pdf.cell.len > 0 ? ", " : "");
    bj_show_number(&p->pdf.cell, n);
    bj_buf_printf(&p->pdf.cell, " %s", bj_local(n == 1 ? one : many));
}

static void put_facts(struct page *p)
{
    bj_pdf_title(&p->pdf, "The job");
    put_count(p, BJ_REPORT_NODES, "node", "nodes");
    put_count(p, BJ_REPORT_CPUS, "CPU", "CPUs");
    put_count(p, BJ_REPORT_GPUS, "GPU", "GPUs");
    put_word(p, " {on} ", text(p, BJ_REPORT_NODELIST));
    bj_pdf_fact(&p->pdf, number(p, BJ_REPORT_START) != BJ_SQL_NULL
                             ? "Allocated"
                             : "Requested");
    put_when(p, "Submitted", BJ_REPORT_SUBMIT);
    if (number(p, BJ_REPORT_WAIT) != BJ_SQL_NULL)
        bj_show_seconds(&p->pdf.cell, number(p, BJ_REPORT_WAIT));
    bj_pdf_fact(&p->pdf, "Waited");
    put_when(p, "Started", BJ_REPORT_START);
    put_when(p, "Ended", BJ_REPORT_END);
    put_count(p, BJ_REPORT_RESTARTS, "time", "times");
    bj_pdf_fact(&p->pdf, "Requeued");
    bj_show_zone(&p->pdf.cell);
    bj_pdf_paragraph(&p->pdf, 4, BJ_PDF_MUTED);
}

int bj_pdf_job(struct bj_sheet *s, const struct bj_report *r,
               const struct bj_charts *charts, struct bj_err *err)
{
    struct page p = {.pdf = {.sheet = s}, .r = r};
    p.pdf.width = bj_sheet_width(s);
    put_head(&p);
    put_verdict(&p);
    put_advice(&p);
    put_figures(&p);
    put_findings(&p);
    put_warnings(&p);
    put_array(&p);
    put_facts(&p);
    bj_pdf_charts(&p.pdf, charts,
                  is_array(&p) ? text(&p, BJ_REPORT_DISPLAY_ID)
                               : (struct bj_slice){0});
    if (r->nodes > 1)
        put_least(&p, "CPUs and memory of nodes", r->nodes, false);
    if (r->gpus > 0)
        put_least(&p, "GPUs", r->gpus, true);
    bj_report_idle(r, &p.pdf.cell);
    if (p.pdf.cell.len > 0)
        bj_pdf_paragraph(&p.pdf, 4, BJ_PDF_MUTED);
    bj_report_sampled(r, &p.pdf.cell);
    if (p.pdf.cell.len > 0)
        bj_pdf_paragraph(&p.pdf, 4, BJ_PDF_MUTED);
    bool failed = p.pdf.cell.failed;
    bj_buf_free(&p.pdf.cell);
    return failed ? bj_err_set(err, -ENOMEM, "PDF") : 0;
}
