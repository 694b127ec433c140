/* The tasks of an array on the page of one of them: how they ended, how what
 * they used is distributed, those that used much more, and a link to each. */
#include "apiserver/frame/widget.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/jobs.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "report/model/limits.h"
#include "report/model/show.h"

#include <stdio.h>

enum {
    TASKS = 300,    /* maximum number of tasks with a link */
    SPREAD = 1000,  /* maximum number whose values are shown */
    BINS = 40,      /* bars of a distribution */
    OUTLIERS = 8,   /* maximum number that are named */
    OUTLIER_BY = 2, /* times the median */
    MEASURES = 2
};

/* What the tasks used, from the spreads of the report. */
static const struct {
    const char *title, *outliers;
    unsigned spread;
    enum bj_form form;
} array_measures[MEASURES] = {{"Run time", "Longer than twice the median",
                               BJ_SPREAD_ELAPSED, BJ_SHOW_SECONDS},
                              {"Memory", "More memory than twice the median",
                               BJ_SPREAD_MEMORY, BJ_SHOW_BYTES}};

struct array_outlier {
    char id[48];
    int64_t v;
};

/* How one measure is distributed over the completed tasks. */
struct array_spread {
    unsigned bin[BINS], n, above; /* above: outliers, also those not named */
    struct array_outlier top[OUTLIERS]; /* the largest first */
};

struct array_tasks {
    struct bj_buf tiles;
    unsigned n;
    const struct bj_report_array *of;
    struct array_spread spread[MEASURES];
};

/* The letter for a state, in addition to the colour, and the class of its tile;
 * completed: none. */
static const struct {
    const char *state, *letter, *class;
} array_letters[] = {{"completed", "", "u2"},  {"failed", "F", "ui"},
                     {"timeout", "T", "ui"},   {"oom", "M", "ui"},
                     {"cancelled", "C", "u1"}, {"running", "R", "u3"},
                     {"pending", "W", "free"}, {"node_fail", "N", "ui"},
                     {"boot_fail", "N", "ui"}, {"deadline", "D", "ui"},
                     {"preempted", "P", "u1"}, {NULL, "?", "u1"}};

static void array_add_outlier(struct array_spread *s, struct bj_slice id,
                              int64_t v)
{
    unsigned at = s->above < OUTLIERS ? s->above : OUTLIERS;
    s->above++;
    while (at > 0 && s->top[at - 1].v < v) {
        if (at < OUTLIERS)
            s->top[at] = s->top[at - 1];
        at--;
    }
    if (at == OUTLIERS)
        return;
    s->top[at].v = v;
    snprintf(s->top[at].id, sizeof(s->top[at].id), "%.*s", (int)id.n, id.p);
}

static void array_add_value(struct array_tasks *t, unsigned i,
                            struct bj_slice id, int64_t v)
{
    const struct bj_report_spread *of =
        &t->of->spread[array_measures[i].spread];
    struct array_spread *s = &t->spread[i];
    if (v == BJ_SQL_NULL || v < 0 || of->tasks <= 0 || of->max <= 0)
        return;
    const double bin = (double)v / (double)of->max * BINS;
    s->bin[bin >= BINS ? BINS - 1 : (unsigned)bin]++;
    s->n++;
    if (of->median > 0 && v / OUTLIER_BY >= of->median &&
        v > OUTLIER_BY * of->median)
        array_add_outlier(s, id, v);
}

/* Memory that the scheduler recorded for the largest process is too low. */
static int64_t array_task_memory(const struct bj_cells *row)
{
    const struct bj_cell *source =
        bj_cells_get(row, "memory_efficiency_source");
    const int64_t v = bj_page_whole(row, "memory_peak_bytes");
    return !bj_cell_is_empty(source) &&
                   bj_slice_eq(source->text, BJ_SLICE("scheduler")) &&
                   v == bj_page_whole(row, "memory_task_peak_bytes")
               ? BJ_SQL_NULL
               : v;
}

static void array_put_tile(struct array_tasks *t, const struct bj_cells *row,
                           struct bj_slice state, int64_t elapsed,
                           int64_t memory)
{
    const struct bj_cell *task = bj_cells_get(row, "array_task"),
                         *id = bj_cells_get(row, "display_id");
    struct bj_buf *b = &t->tiles;
    size_t i = 0;
    while (array_letters[i].state &&
           !bj_slice_eq(state, bj_slice_str(array_letters[i].state)))
        i++;
    bj_buf_printf(b, "<li><a class=\"%s\" href=\"", array_letters[i].class);
    bj_url_text(b, bj_cells_get(row, "key")->text);
    bj_buf_str(b, "\" title=\"");
    bj_cell_text(b, id);
    bj_buf_str(b, ": ");
    bj_html_text(b, state);
    if (elapsed != BJ_SQL_NULL) {
        bj_buf_str(b, ", ");
        bj_show_seconds(b, elapsed);
    }
    if (memory != BJ_SQL_NULL) {
        bj_buf_str(b, ", ");
        bj_show_bytes(b, memory);
    }
    bj_buf_str(b, "\">");
    bj_cell_text(b, bj_cell_is_empty(task) ? id : task);
    bj_buf_printf(b, "%s</a></li>", array_letters[i].letter);
}

static void array_take_task(void *ctx, const struct bj_cells *row)
{
    struct array_tasks *t = ctx;
    const struct bj_cell *key = bj_cells_get(row, "key"),
                         *state = bj_cells_get(row, "state"),
                         *id = bj_cells_get(row, "display_id");
    if (bj_cell_is_empty(key) || bj_cell_is_empty(state) ||
        bj_cell_is_empty(id))
        return;
    const int64_t elapsed = bj_page_whole(row, "elapsed_seconds"),
                  memory = array_task_memory(row);
    if (t->n++ < TASKS)
        array_put_tile(t, row, state->text, elapsed, memory);
    if (!bj_slice_eq(state->text, BJ_SLICE("completed")))
        return;
    array_add_value(t, 0, id->text, elapsed);
    if (elapsed >= BJ_REPORT_LEAST_SEC)
        array_add_value(t, 1, id->text, memory);
}

static int array_read_tasks(struct bj_call *c, int64_t array,
                            struct bj_slice cluster, struct array_tasks *t,
                            struct bj_jobs_end *end)
{
    static const char *const fields[] = {"key",
                                         "state",
                                         "array_task",
                                         "display_id",
                                         "elapsed_seconds",
                                         "memory_peak_bytes",
                                         "memory_task_peak_bytes",
                                         "memory_efficiency_source"};
    char id[24];
    struct bj_params p = {.values = 0};
    struct bj_cells cells = {.row = array_take_task, .ctx = t};
    snprintf(id, sizeof(id), "%lld", (long long)array);
    int r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_JOB), BJ_SLICE("job"),
                          bj_slice_str(id));
    if (r == 0 && cluster.n > 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_CLUSTER), BJ_SLICE("cluster"),
                          cluster);
    for (size_t i = 0; r == 0 && i < sizeof(fields) / sizeof(fields[0]); i++)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          bj_slice_str(fields[i]));
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_ORDER), BJ_SLICE("order"),
                          BJ_SLICE("asc"));
    p.given[BJ_PARAM_LIMIT] = true;
    p.number[BJ_PARAM_LIMIT] = SPREAD;
    if (r == 0)
        r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &cells}, end);
    t->tiles.failed |= cells.text.failed;
    bj_cells_free(&cells);
    return r;
}

static void array_put_measure(struct bj_buf *b, unsigned i, int64_t v)
{
    if (array_measures[i].form == BJ_SHOW_BYTES)
        bj_show_bytes(b, v);
    else
        bj_show_seconds(b, v);
}

/* A bar for each part of the values from 0 to the largest; its height is the
 * number of tasks. */
static void array_put_spread(struct bj_buf *b, const struct array_tasks *t,
                             unsigned i)
{
    const struct bj_report_spread *of =
        &t->of->spread[array_measures[i].spread];
    const struct array_spread *s = &t->spread[i];
    const char *title = bj_local_escaped(array_measures[i].title);
    char n[BJ_AMOUNT_COUNT];
    unsigned top = 1;
    if (s->n < BJ_REPORT_LEAST_TASKS)
        return;
    for (unsigned k = 0; k < BINS; k++)
        top = s->bin[k] > top ? s->bin[k] : top;
    bj_local_html(b,
                  "<figure><figcaption><b>%s</b> {%s completed tasks, "
                  "median} ",
                  title, bj_amount_count(n, s->n));
    array_put_measure(b, i, of->median);
    bj_local_html_str(b, ", {95 % at most} ");
    array_put_measure(b, i, of->p95);
    bj_buf_printf(b,
                  "</figcaption><svg class=\"chart\" height=\"78\" "
                  "role=\"img\" aria-label=\"%s\"><svg y=\"4\" height=\"56\" "
                  "viewBox=\"0 0 %d 100\" preserveAspectRatio=\"none\">"
                  "<path class=\"d c0\" d=\"",
                  title, BINS * 10);
    for (unsigned k = 0; k < BINS; k++)
        if (s->bin[k] > 0)
            bj_buf_printf(b, "M%u %.3gh8V100h-8z", k * 10,
                          97.0 - 97.0 * s->bin[k] / top);
    bj_buf_str(b, "\"/></svg>");
    for (unsigned k = 0; k <= 2; k++) {
        bj_buf_printf(b, "<text class=\"x\" x=\"%u%%\" y=\"74\"%s>", 50 * k,
                      k == 0   ? ""
                      : k == 1 ? " text-anchor=\"middle\""
                               : " text-anchor=\"end\"");
        array_put_measure(b, i, of->max / 2 * k);
        bj_buf_str(b, "</text>");
    }
    bj_buf_str(b, "</svg></figure>\n");
}

/* "Longer than twice the median: 2000_7 (00:50:00), 2000_9 (00:45:00)" */
static void array_put_outliers(struct bj_buf *b, const struct array_tasks *t,
                               unsigned i)
{
    const struct array_spread *s = &t->spread[i];
    const unsigned shown = s->above < OUTLIERS ? s->above : OUTLIERS;
    char n[BJ_AMOUNT_COUNT];
    if (s->above == 0 || s->n < BJ_REPORT_LEAST_TASKS)
        return;
    bj_buf_str(b, "<p>");
    bj_widget_mark(b, BJ_LOOK_WARN,
                   bj_slice_str(bj_local(array_measures[i].outliers)));
    for (unsigned k = 0; k < shown; k++) {
        const struct bj_slice id = bj_slice_str(s->top[k].id);
        bj_buf_str(b, k ? ", <a href=\"" : ": <a href=\"");
        bj_url_text(b, id);
        bj_buf_str(b, "\">");
        bj_html_text(b, id);
        bj_buf_str(b, "</a> (");
        array_put_measure(b, i, s->top[k].v);
        bj_buf_str(b, ")");
    }
    if (s->above > shown)
        bj_local_html(b, " {and %s more}",
                      bj_amount_count(n, s->above - shown));
    bj_buf_str(b, "</p>\n");
}

int bj_page_array(struct bj_call *c, const struct bj_report *r,
                  const struct bj_doc *d, const struct bj_html_page *page)
{
    struct bj_buf *b = &c->reply->body;
    struct array_tasks t = {.of = &r->array};
    struct bj_jobs_end end = {0};
    const long long id = (long long)bj_report_number(r, BJ_REPORT_ARRAY);
    char n[BJ_AMOUNT_COUNT];
    if (r->array.tasks <= 1)
        return 0;
    const int ret = array_read_tasks(
        c, (int64_t)id, bj_report_text(r, BJ_REPORT_CLUSTER), &t, &end);
    bj_buf_str(b, "<section class=\"card\">");
    bj_doc_html_section(d, BJ_DOC_ARRAY, page, b);
    bj_buf_str(b, "<div class=\"charts\">\n");
    for (unsigned i = 0; i < MEASURES; i++)
        array_put_spread(b, &t, i);
    bj_buf_str(b, "</div>\n");
    for (unsigned i = 0; i < MEASURES; i++)
        array_put_outliers(b, &t, i);
    if (t.n > 0) {
        bj_buf_str(b, "<ol class=\"tiles\">");
        bj_buf_slice(b, (struct bj_slice){t.tiles.p, t.tiles.len});
        bj_buf_printf(b, "</ol>\n<p class=\"key\">%s ",
                      t.n > TASKS ? bj_local_escaped("The first tasks.") : "");
        bj_local_html_str(b,
                          "{By start. F: failed, T: time limit, M: out of "
                          "memory, N: node failed, D: deadline, C: cancelled, "
                          "P: preempted, R: running, W: waiting.}</p>\n");
    }
    bj_local_html(b,
                  "<p><a href=\"../jobs?job=%lld\">{All %s tasks of array "
                  "%lld}</a></p></section>\n",
                  id, bj_amount_count(n, r->array.tasks), id);
    b->failed |= t.tiles.failed;
    bj_buf_free(&t.tiles);
    return ret;
}
