#include "report/form/jobstats.h"

#include "base/tz.h"
#include "report/form/text_parts.h"
#include "report/model/show.h"

#include <inttypes.h>

enum { WIDTH = 80, LABEL = 15, CELLS = 50 };

struct page {
    const struct bj_report *r;
    bool colour;
    struct bj_buf *out;
    struct bj_buf value;
};

static void line(struct page *p, char of)
{
    for (unsigned i = 0; i < WIDTH; i++)
        bj_buf_put(p->out, &of, 1);
    bj_buf_str(p->out, "\n");
}

static void section(struct page *p, const char *title)
{
    unsigned n = (unsigned)bj_slice_str(title).n;
    bj_buf_printf(p->out, "\n%*s%s\n", (int)(WIDTH - n) / 2, "", title);
    line(p, '=');
}

static void put_field(struct page *p, const char *label, bool bold)
{
    bj_buf_printf(p->out, "%*s: %s", LABEL, label,
                  bold && p->colour ? "\033[1m" : "");
    bj_buf_put(p->out, p->value.p, p->value.len);
    bj_buf_str(p->out, bold && p->colour ? "\033[0m\n" : "\n");
    p->value.len = 0;
}

static void put_text(struct page *p, const char *label, enum bj_report_column a,
                     enum bj_report_column b)
{
    bj_buf_clean(&p->value, bj_report_text(p->r, a));
    if (b != a) {
        bj_buf_str(&p->value, "/");
        bj_buf_clean(&p->value, bj_report_text(p->r, b));
    }
    put_field(p, label, a == BJ_REPORT_DISPLAY_ID);
}

static void put_number(struct page *p, const char *label,
                       enum bj_report_column c)
{
    int64_t v = bj_report_number(p->r, c);
    if (v <= 0)
        return;
    bj_show_number(&p->value, v);
    put_field(p, label, false);
}

static void put_memory(struct page *p)
{
    const struct bj_report_figure *f = &p->r->figure[BJ_FIGURE_MEMORY];
    int64_t cpus = bj_report_number(p->r, BJ_REPORT_CPUS);
    int64_t had = f->allocated != BJ_SQL_NULL ? f->allocated : f->requested;
    if (had <= 0)
        return;
    bj_show_bytes(&p->value, had);
    if (cpus > 1) {
        bj_buf_str(&p->value, " (");
        bj_show_bytes(&p->value, had / cpus);
        bj_buf_str(&p->value, " per CPU-core)");
    }
    put_field(p, "CPU Memory", false);
}

static void put_times(struct page *p)
{
    int64_t start = bj_report_number(p->r, BJ_REPORT_START);
    int64_t limit = bj_report_number(p->r, BJ_REPORT_LIMIT);
    if (start != BJ_SQL_NULL) {
        bj_show_time(&p->value, start);
        bj_buf_printf(&p->value, " %s", bj_tz_name(bj_tz_used()));
        put_field(p, "Start Time", false);
    }
    bj_show_seconds(&p->value, bj_report_number(p->r, BJ_REPORT_ELAPSED));
    if (bj_report_is(p->r, BJ_REPORT_STATE, "running"))
        bj_buf_str(&p->value, " (in progress)");
    put_field(p, "Run Time", false);
    if (limit == INT64_MAX)
        bj_buf_str(&p->value, "UNLIMITED");
    else
        bj_show_seconds(&p->value, limit);
    put_field(p, "Time Limit", false);
}

static void put_head(struct page *p)
{
    put_text(p, "Job ID", BJ_REPORT_DISPLAY_ID, BJ_REPORT_DISPLAY_ID);
    put_text(p, "User/Account", BJ_REPORT_USER, BJ_REPORT_ACCOUNT);
    put_text(p, "Job Name", BJ_REPORT_NAME, BJ_REPORT_NAME);
    bj_text_state(&p->value, bj_report_text(p->r, BJ_REPORT_STATE));
    put_field(p, "State",
              bj_report_is(p->r, BJ_REPORT_STATE, "oom") ||
                  bj_report_is(p->r, BJ_REPORT_STATE, "timeout"));
    put_number(p, "Nodes", BJ_REPORT_NODES);
    put_number(p, "CPU Cores", BJ_REPORT_CPUS);
    put_memory(p);
    put_number(p, "GPUs", BJ_REPORT_GPUS);
    put_text(p, "QOS/Partition", BJ_REPORT_QOS, BJ_REPORT_PARTITION);
    put_text(p, "Cluster", BJ_REPORT_CLUSTER, BJ_REPORT_CLUSTER);
    put_times(p);
}

/* "[|||||      10%]": one bar for each two percent; the number covers bars. */
static void put_meter(struct page *p, const char *label, int64_t ppm)
{
    if (ppm == BJ_SQL_NULL)
        return;
    int64_t percent = (ppm + 5000) / 10000;
    int64_t bars = (percent > 100 ? 100 : percent) / 2;
    bj_buf_printf(&p->value, "%" PRId64 "%%", percent);
    int64_t room = CELLS - (int64_t)p->value.len;
    bj_buf_printf(p->out, "%21s  [", label);
    for (int64_t i = 0; i < room; i++)
        bj_buf_str(p->out, i < bars ? "|" : " ");
    bj_buf_put(p->out, p->value.p, p->value.len);
    bj_buf_str(p->out, "]\n");
    p->value.len = 0;
}

static void put_detail(struct page *p)
{
    const struct bj_report *r = p->r;
    section(p, "Detailed Utilization");
    bj_buf_str(p->out, "  CPU utilization per node (CPU time used/run time)\n");
    for (size_t i = 0; i < r->nodes; i++) {
        const struct bj_report_node *n = &r->node[i];
        bj_buf_str(p->out, "      ");
        bj_buf_clean(p->out, n->node);
        bj_buf_str(p->out, ": ");
        bj_show_seconds(p->out,
                        n->cpu_usec < 0 ? BJ_SQL_NULL : n->cpu_usec / 1000000);
        bj_buf_str(p->out, " (efficiency=");
        bj_show_percent(p->out, n->cpu_ppm);
        bj_buf_str(p->out, n->cpu_usec >= 0 && n->cpu_usec < 1000000
                               ? ") <-- CPU node was not used\n"
                               : ")\n");
    }
    bj_buf_str(p->out, "\n  CPU memory usage per node - used/allocated\n");
    for (size_t i = 0; i < r->nodes; i++) {
        bj_buf_str(p->out, "      ");
        bj_buf_clean(p->out, r->node[i].node);
        bj_buf_str(p->out, ": ");
        bj_show_bytes(p->out, r->node[i].memory_peak);
        bj_buf_str(p->out, "/");
        bj_show_bytes(p->out, r->node[i].memory_limit);
        bj_buf_str(p->out, "\n");
    }
    if (r->gpus > 0)
        bj_buf_str(p->out, "\n  GPU utilization per node\n");
    for (size_t i = 0; i < r->gpus; i++) {
        const struct bj_report_gpu *g = &r->gpu[i];
        bj_buf_str(p->out, "      ");
        bj_buf_clean(p->out, g->node);
        bj_buf_str(p->out, " (GPU ");
        bj_buf_clean(p->out, g->index);
        bj_buf_str(p->out, "): ");
        bj_show_percent(p->out, g->busy_ppm);
        bj_buf_str(p->out, g->busy_ppm == 0 ? " <-- GPU was not used\n" : "\n");
    }
}

static void put_note(struct page *p, struct bj_slice text,
                     struct bj_slice command)
{
    bj_buf_str(p->out, "  * ");
    bj_text_wrap(p->out, text, 4, 4);
    if (command.n > 0) {
        bj_buf_str(p->out, "      ");
        bj_buf_clean(p->out, command);
        bj_buf_str(p->out, "\n");
    }
}

static void put_notes(struct page *p)
{
    const struct bj_report *r = p->r;
    section(p, "Notes");
    put_note(p, r->verdict.wrong, (struct bj_slice){0});
    for (size_t i = 0; i < r->findings; i++)
        if (!bj_slice_eq(r->finding[i].text, r->verdict.wrong))
            put_note(p, r->finding[i].text, r->finding[i].url);
    for (size_t i = 0; i < r->advices; i++)
        put_note(p, r->advice[i].text, r->advice[i].line);
    if (r->next.note.n > 0)
        put_note(p, r->next.note, (struct bj_slice){0});
}

void bj_report_jobstats(const struct bj_report *r, bool colour,
                        struct bj_buf *out)
{
    const struct bj_report_figure *f = r->figure;
    struct page p = {.r = r, .colour = colour, .out = out};
    line(&p, '=');
    bj_buf_printf(out, "%*s%s\n", (WIDTH - 20) / 2, "", "Slurm Job Statistics");
    line(&p, '=');
    put_head(&p);
    section(&p, "Overall Utilization");
    put_meter(&p, "CPU utilization", f[BJ_FIGURE_CPU].ppm);
    put_meter(&p, "CPU memory usage", f[BJ_FIGURE_MEMORY].ppm);
    put_meter(&p, "GPU utilization", f[BJ_FIGURE_GPU].ppm);
    if (r->nodes > 0)
        put_detail(&p);
    put_notes(&p);
    out->failed |= p.value.failed;
    bj_buf_free(&p.value);
}
