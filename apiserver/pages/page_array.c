/* The array on the page of one of its tasks: how its tasks ended, what they
 * used, and a link to each. */
#include "apiserver/pages/page_form.h"
#include "apiserver/pages/page_job.h"
#include "apiserver/v1/jobs.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "report/model/report.h"
#include "report/model/show.h"

#include <stdio.h>

enum { TASKS = 300 /* maximum number of tasks with a link */ };

static void put_count(struct bj_buf *b, const char *title, int64_t n)
{
    char text[BJ_AMOUNT_COUNT];
    if (n > 0)
        bj_buf_printf(b, "<div><dt>%s</dt><dd>%s</dd></div>\n",
                      bj_local_escaped(title), bj_amount_count(text, n));
}

static void put_spread_value(struct bj_buf *b, unsigned which, int64_t v)
{
    bj_buf_str(b, "<td class=\"n\">");
    if (v == BJ_SQL_NULL)
        bj_buf_str(b, "-");
    else if (which == BJ_SPREAD_ELAPSED)
        bj_show_seconds(b, v);
    else if (which == BJ_SPREAD_MEMORY)
        bj_show_bytes(b, v);
    else
        bj_page_amount(b, BJ_SHOW_ROUND, (double)v / 1e6);
    bj_buf_str(b, "</td>");
}

static bool is_known(const struct bj_report_spread *s)
{
    return s->tasks != BJ_SQL_NULL && s->tasks > 0;
}

static void put_spreads(struct bj_buf *b, const struct bj_report_array *a)
{
    static const char *const titles[BJ_SPREADS] = {
        [BJ_SPREAD_ELAPSED] = "Run time",
        [BJ_SPREAD_MEMORY] = "Memory",
        [BJ_SPREAD_CPU] = "Busy CPUs"};
    bj_buf_str(b, "<div class=\"wide\"><table><thead><tr><th></th>");
    static const char *const heads[] = {"Least", "Median", "95 % below",
                                        "Largest"};
    for (unsigned i = 0; i < 4; i++)
        bj_buf_printf(b, "<th scope=\"col\" class=\"n\">%s</th>",
                      bj_local_escaped(heads[i]));
    bj_local_html(
        b,
        "<th scope=\"col\">{Task with the largest}</th></tr></thead><tbody>\n");
    for (unsigned i = 0; i < BJ_SPREADS; i++) {
        const struct bj_report_spread *s = &a->spread[i];
        const int64_t values[] = {s->min, s->median, s->p95, s->max};
        if (!is_known(s))
            continue;
        bj_buf_printf(b, "<tr><th scope=\"row\">%s</th>",
                      bj_local_escaped(titles[i]));
        for (unsigned v = 0; v < 4; v++)
            put_spread_value(b, i, values[v]);
        bj_buf_str(b, "<td>");
        if (s->largest.n > 0) {
            bj_buf_str(b, "<a href=\"../jobs?job=");
            bj_url_text(b, s->largest);
            bj_buf_str(b, "\">");
            bj_html_text(b, s->largest);
            bj_buf_str(b, "</a>");
        }
        bj_buf_str(b, "</td></tr>\n");
    }
    bj_buf_str(b, "</tbody></table></div>\n");
}

/* --- tasks ------------------------------------------------------------------
 */

/* The letter for a state, in addition to the colour; none: completed. */
static const char *letter_of(struct bj_slice state)
{
    static const struct {
        const char *state, *letter;
    } letters[] = {{"failed", "F"},    {"timeout", "T"},   {"oom", "M"},
                   {"cancelled", "C"}, {"running", "R"},   {"pending", "W"},
                   {"completed", ""},  {"node_fail", "F"}, {"boot_fail", "F"}};
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
        if (bj_slice_eq(state, bj_slice_str(letters[i].state)))
            return letters[i].letter;
    return "?";
}

struct tasks {
    struct bj_buf *b;
    unsigned n;
};

static void put_task(void *ctx, const struct bj_cells *row)
{
    struct tasks *t = ctx;
    const struct bj_cell *key = bj_cells_get(row, "key"),
                         *state = bj_cells_get(row, "state"),
                         *task = bj_cells_get(row, "array_task"),
                         *id = bj_cells_get(row, "display_id");
    if (bj_cell_is_empty(key) || bj_cell_is_empty(state))
        return;
    bj_buf_str(t->b, t->n++ == 0 ? "<p class=\"tasks\">" : "");
    bj_buf_str(t->b, "<a class=\"");
    bj_html_text(t->b, state->text);
    bj_buf_str(t->b, "\" href=\"");
    bj_url_text(t->b, key->text);
    bj_buf_str(t->b, "\" title=\"");
    bj_cell_text(t->b, id);
    bj_buf_str(t->b, ": ");
    bj_html_text(t->b, state->text);
    bj_buf_str(t->b, "\">");
    if (bj_cell_is_empty(task))
        bj_cell_text(t->b, id);
    else
        bj_cell_text(t->b, task);
    bj_buf_printf(t->b, "%s</a> ", letter_of(state->text));
}

static int put_tasks(struct bj_call *c, int64_t array, struct bj_slice cluster)
{
    static const char *const fields[] = {"key", "state", "array_task",
                                         "display_id"};
    char id[24];
    struct bj_params p = {.values = 0};
    struct bj_jobs_end end = {0};
    struct tasks tasks = {.b = &c->reply->body};
    struct bj_cells cells = {.row = put_task, .ctx = &tasks};
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
    p.number[BJ_PARAM_LIMIT] = TASKS;
    if (r == 0)
        r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &cells}, &end);
    if (tasks.n > 0)
        bj_local_html(
            &c->reply->body,
            "</p>\n<p class=\"note\">%s {By start. F: failed, T: time limit, "
            "M: out of memory, C: cancelled, R: running, W: waiting.}</p>\n",
            *end.next ? bj_local_escaped("The first tasks.") : "");
    c->reply->body.failed |= cells.text.failed;
    bj_cells_free(&cells);
    return r;
}

int bj_job_array(struct bj_call *c, const struct bj_report *r)
{
    const struct bj_report_array *a = &r->array;
    struct bj_buf *b = &c->reply->body;
    if (a->tasks <= 0)
        return 0;
    char n[BJ_AMOUNT_COUNT];
    int64_t id = bj_report_number(r, BJ_REPORT_ARRAY);
    bj_local_html(b,
                  "<h2>{The array}</h2>\n<p><a href=\"../jobs?job=%lld\">{All "
                  "%s tasks of array %lld}</a></p>\n<dl>",
                  (long long)id, bj_amount_count(n, a->tasks), (long long)id);
    put_count(b, "Completed", a->completed);
    put_count(b, "Failed", a->failed);
    put_count(b, "Time limit reached", a->timeout);
    put_count(b, "Out of memory", a->oom);
    put_count(b, "Cancelled", a->cancelled);
    put_count(b, "Running or waiting", a->open);
    bj_buf_str(b, "</dl>\n");
    if (is_known(&a->spread[BJ_SPREAD_ELAPSED])) /* a task has completed */
        put_spreads(b, a);
    return put_tasks(c, id, bj_report_text(r, BJ_REPORT_CLUSTER));
}
