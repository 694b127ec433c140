/* The page that compares two to four jobs: a column for each. */
#include "apiserver/frame/state.h"
#include "apiserver/job/visible_job.h"
#include "apiserver/pages/pages.h"
#include "apiserver/v1/jobs.h"
#include "base/html.h"
#include "base/local.h"

#include <stdlib.h>

enum { JOBS_MAX = 4, COMPARE = BJ_BIT(BJ_PARAM_JOB) };

static const struct bj_page_column lines[] = {
    {"display_id", "Job", BJ_SHOW_JOB, false},
    {"state", "State", BJ_SHOW_STATE, false},
    {"name", "Name", BJ_SHOW_TEXT, false},
    {"user", "User", BJ_SHOW_USER, false},
    {"partition", "Partition", BJ_SHOW_PARTITION, false},
    {"start", "Started", BJ_SHOW_TIME, false},
    {"elapsed_seconds", "Run time", BJ_SHOW_SECONDS, false},
    {"wait_seconds", "Waited", BJ_SHOW_SECONDS, false},
    {"time_limit_seconds", "Time limit", BJ_SHOW_SECONDS, false},
    {"nodes", "Nodes", BJ_SHOW_NUMBER, false},
    {"nodelist", "Node list", BJ_SHOW_TEXT, false},
    {"cpus", "CPUs", BJ_SHOW_NUMBER, false},
    {"cpu_efficiency_percent", "CPU efficiency", BJ_SHOW_PERCENT, false},
    {"memory_allocated_bytes", "Memory allocated", BJ_SHOW_BYTES, false},
    {"memory_peak_bytes", "Peak memory", BJ_SHOW_BYTES, false},
    {"memory_efficiency_percent", "Memory efficiency", BJ_SHOW_MEMORY, false},
    {"gpus", "GPUs", BJ_SHOW_NUMBER, false},
    {"gpu_efficiency_percent", "GPU efficiency", BJ_SHOW_GPU, false},
    {"energy_joules", "Energy", BJ_SHOW_JOULES, false},
    {"emissions_grams", "CO2e (estimate)", BJ_SHOW_GRAMS, false},
    {"io_read_bytes", "Data read", BJ_SHOW_BYTES, false},
    {"io_write_bytes", "Data written", BJ_SHOW_BYTES, false},
    {"finding_names", "Findings", BJ_SHOW_FINDINGS, false},
    {NULL, NULL, 0, false},
};
enum { LINES = sizeof(lines) / sizeof(lines[0]) - 1, VERDICT = LINES };

/* The cells of each line; the last is the verdict. */
struct table {
    struct bj_buf line[LINES + 1];
};

static void compare_put_row(void *ctx, const struct bj_cells *row)
{
    struct table *t = ctx;
    for (unsigned i = 0; i < LINES; i++) {
        bj_buf_str(&t->line[i], "<td class=\"wrap\">");
        bj_page_value(&t->line[i], &lines[i], row,
                      &(struct bj_page_place){.to_root = ""});
        bj_buf_str(&t->line[i], "</td>");
    }
}

static int compare_add_job(struct bj_call *c, struct bj_slice name,
                           struct table *t)
{
    struct bj_params p = {.values = 0};
    struct bj_jobs_end end;
    struct bj_arena arena = {0};
    struct bj_visible_job f;
    struct bj_report report = {.interactive = false};
    struct bj_cells cells = {.row = compare_put_row, .ctx = t};
    int r = bj_visible_job_find(c, &p, name, &arena, &f);
    if (r == 0)
        r = bj_params_put(c, &p, BJ_BIT(BJ_PARAM_JOB), BJ_SLICE("job"), f.key);
    if (r == 0)
        r = bj_page_fields(c, &p, lines);
    if (r == 0)
        r = bj_jobs_list(c, &p, &(struct bj_output){.cells = &cells}, &end);
    if (r == 0)
        r = bj_job_report(c, f.job, &report);
    if (r == 0) {
        bj_buf_str(&t->line[VERDICT], "<td class=\"wrap\">");
        bj_html_text(&t->line[VERDICT], report.verdict.wrong);
        bj_buf_str(&t->line[VERDICT], "</td>");
    }
    c->reply->body.failed |= cells.text.failed;
    bj_report_free(&report);
    bj_cells_free(&cells);
    bj_arena_free(&arena);
    return r;
}

static void compare_put_table(struct bj_buf *b, const struct table *t)
{
    bj_buf_str(b, "<div class=\"wide\"><table><tbody>\n");
    for (unsigned i = 0; i <= LINES; i++) {
        bj_buf_printf(
            b, "<tr><th scope=\"row\">%s</th>",
            bj_local_escaped(i == VERDICT ? "Verdict" : lines[i].title));
        bj_buf_slice(b, (struct bj_slice){t->line[i].p, t->line[i].len});
        bj_buf_str(b, "</tr>\n");
        b->failed |= t->line[i].failed;
    }
    bj_buf_str(b, "</tbody></table></div>\n");
}

static void compare_put_form(struct bj_buf *b, const struct bj_params *p)
{
    bj_buf_str(b, "<form>");
    for (unsigned i = 0; i < JOBS_MAX; i++) {
        bj_local_html(
            b, "<label>{Job %u}<input name=\"job\" type=\"text\" value=\"",
            i + 1);
        if (i < p->values)
            bj_html_text(b, p->value[i].text);
        bj_buf_str(b, "\"></label>\n");
    }
    bj_local_html(b, "<button>{Compare}</button></form>\n");
}

static int compare_put_page(struct bj_call *c, const struct bj_params *p,
                            struct table *t)
{
    int r = 0;
    for (unsigned i = 0; i < p->values && i < JOBS_MAX && r == 0; i++)
        r = compare_add_job(c, p->value[i].text, t);
    if (r != 0)
        return r;
    bj_page_open(c, bj_local("Compare jobs"), "");
    compare_put_form(&c->reply->body, p);
    if (p->values > 0)
        compare_put_table(&c->reply->body, t);
    bj_page_close(c);
    return 0;
}

static int on_compare(struct bj_call *c)
{
    struct bj_params p;
    struct table *t = NULL;
    int r = bj_params_read(c, COMPARE, &p);
    if (r == 0 && p.values > JOBS_MAX)
        r = bj_call_refuse(c, 400, "At most %d jobs can be compared.",
                           JOBS_MAX);
    if (r != 0)
        return r;
    t = calloc(1, sizeof(*t));
    if (!t)
        return bj_err_set(&c->err, -ENOMEM, "compare");
    r = compare_put_page(c, &p, t);
    for (unsigned i = 0; i <= LINES; i++)
        bj_buf_free(&t->line[i]);
    free(t);
    return r;
}

const struct bj_endpoint bj_endpoints_page_compare[] = {
    {.path = "/compare",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_compare,
     .refused = bj_page_refuse,
     .to_root = "",
     .help = "Web page: two to four jobs side by side.",
     .type = "text/html",
     .params = COMPARE},
    {.path = NULL},
};
