#include "report/form/programs.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/tz.h"
#include "report/form/text.h"
#include "report/model/show.h"

#include <inttypes.h>
#include <zlib.h>

/* --- seff ---
 */

static void seff_put_text(struct bj_buf *out, const struct bj_report *r,
                          const char *label, enum bj_report_column c)
{
    bj_buf_str(out, label);
    bj_buf_clean(out, bj_report_text(r, c));
    bj_buf_str(out, "\n");
}

/* seff prints two digits and the largest unit in which the number is above one;
 * its GB are GiB. */
static void seff_put_bytes(struct bj_buf *out, int64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB", "PB"};
    if (bytes < 0) {
        bj_buf_str(out, "unknown");
        return;
    }
    double v = (double)bytes / 1024;
    unsigned u = 0;
    while (v >= 1024 && u < 4) {
        v /= 1024;
        u++;
    }
    bj_buf_printf(out, "%.2f %s", v, units[u]);
}

static void seff_put_percent(struct bj_buf *out, int64_t ppm)
{
    if (ppm < 0)
        bj_buf_str(out, "unknown");
    else
        bj_buf_printf(out, "%.2f%%", (double)ppm / 1e4);
}

static void seff_put_time(struct bj_buf *out,
                          const struct bj_report_figure *cpu, int64_t usec)
{
    if (usec == BJ_SQL_NULL)
        bj_buf_str(out, "unknown");
    else
        bj_show_unit(out, cpu->unit, usec);
}

static void seff_put_cpus(struct bj_buf *out, const struct bj_report *r)
{
    int64_t cpus = bj_report_number(r, BJ_REPORT_CPUS);
    int64_t nodes = bj_report_number(r, BJ_REPORT_NODES);
    if (cpus > 1 && nodes > 0)
        bj_buf_printf(out, "Nodes: %" PRId64 "\nCores per node: %" PRId64 "\n",
                      nodes, cpus / nodes);
    else if (cpus > 0)
        bj_buf_printf(out, "Cores: %" PRId64 "\n", cpus);
}

static void seff_put_use(struct bj_buf *out, const struct bj_report *r)
{
    const struct bj_report_figure *cpu = &r->figure[BJ_FIGURE_CPU];
    const struct bj_report_figure *memory = &r->figure[BJ_FIGURE_MEMORY];
    int64_t nodes = bj_report_number(r, BJ_REPORT_NODES);
    int64_t had = memory->allocated != BJ_SQL_NULL ? memory->allocated
                                                   : memory->requested;
    bj_buf_str(out, "CPU Utilized: ");
    seff_put_time(out, cpu, cpu->used);
    bj_buf_str(out, "\nCPU Efficiency: ");
    seff_put_percent(out, cpu->ppm);
    bj_buf_str(out, " of ");
    seff_put_time(out, cpu, cpu->allocated);
    bj_buf_str(out, " core-walltime\nJob Wall-clock time: ");
    bj_show_seconds(out, bj_report_number(r, BJ_REPORT_ELAPSED));
    bj_buf_str(out, "\nMemory Utilized: ");
    seff_put_bytes(out, memory->used);
    bj_buf_str(out, "\nMemory Efficiency: ");
    seff_put_percent(out, memory->ppm);
    bj_buf_str(out, " of ");
    seff_put_bytes(out, had);
    if (nodes > 0) {
        bj_buf_str(out, " (");
        seff_put_bytes(out, had > 0 ? had / nodes : had);
        bj_buf_str(out, "/node)");
    }
    bj_buf_str(out, "\n");
}

void bj_report_seff(const struct bj_report *r, struct bj_buf *out)
{
    int64_t code = bj_report_number(r, BJ_REPORT_EXIT_CODE);
    seff_put_text(out, r, "Job ID: ", BJ_REPORT_JOBID);
    if (bj_report_number(r, BJ_REPORT_ARRAY) != BJ_SQL_NULL)
        seff_put_text(out, r, "Array Job ID: ", BJ_REPORT_DISPLAY_ID);
    seff_put_text(out, r, "Cluster: ", BJ_REPORT_CLUSTER);
    bj_buf_str(out, "User/Group: ");
    bj_buf_clean(out, bj_report_text(r, BJ_REPORT_USER));
    seff_put_text(out, r, "/", BJ_REPORT_GROUP);
    bj_buf_str(out, "State: ");
    bj_text_state(out, bj_report_text(r, BJ_REPORT_STATE));
    if (code != BJ_SQL_NULL)
        bj_buf_printf(out, " (exit code %" PRId64 ")", code);
    bj_buf_str(out, "\n");
    seff_put_cpus(out, r);
    seff_put_use(out, r);
    if (bj_report_is(r, BJ_REPORT_STATE, "running"))
        bj_buf_str(out, "WARNING: Efficiency statistics may be misleading for "
                        "RUNNING jobs.\n");
}

/* --- jobstats -----------------------------------------------------------
 */

enum { WIDTH = 80, LABEL = 15, CELLS = 50 };

struct page {
    const struct bj_report *r;
    bool colour;
    struct bj_buf *out;
    struct bj_buf value;
};

static void jobstats_line(struct page *p, char of)
{
    for (unsigned i = 0; i < WIDTH; i++)
        bj_buf_put(p->out, &of, 1);
    bj_buf_str(p->out, "\n");
}

static void jobstats_section(struct page *p, const char *title)
{
    unsigned n = (unsigned)bj_slice_str(title).n;
    bj_buf_printf(p->out, "\n%*s%s\n", (int)(WIDTH - n) / 2, "", title);
    jobstats_line(p, '=');
}

static void jobstats_put_field(struct page *p, const char *label, bool bold)
{
    bj_buf_printf(p->out, "%*s: %s", LABEL, label,
                  bold && p->colour ? "\033[1m" : "");
    bj_buf_put(p->out, p->value.p, p->value.len);
    bj_buf_str(p->out, bold && p->colour ? "\033[0m\n" : "\n");
    p->value.len = 0;
}

static void jobstats_put_text(struct page *p, const char *label,
                              enum bj_report_column a, enum bj_report_column b)
{
    bj_buf_clean(&p->value, bj_report_text(p->r, a));
    if (b != a) {
        bj_buf_str(&p->value, "/");
        bj_buf_clean(&p->value, bj_report_text(p->r, b));
    }
    jobstats_put_field(p, label, a == BJ_REPORT_DISPLAY_ID);
}

static void jobstats_put_number(struct page *p, const char *label,
                                enum bj_report_column c)
{
    int64_t v = bj_report_number(p->r, c);
    if (v <= 0)
        return;
    bj_show_number(&p->value, v);
    jobstats_put_field(p, label, false);
}

static void jobstats_put_memory(struct page *p)
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
    jobstats_put_field(p, "CPU Memory", false);
}

static void jobstats_put_times(struct page *p)
{
    int64_t start = bj_report_number(p->r, BJ_REPORT_START);
    int64_t limit = bj_report_number(p->r, BJ_REPORT_LIMIT);
    if (start != BJ_SQL_NULL) {
        bj_show_time(&p->value, start);
        bj_buf_printf(&p->value, " %s", bj_tz_name(bj_tz_used()));
        jobstats_put_field(p, "Start Time", false);
    }
    bj_show_seconds(&p->value, bj_report_number(p->r, BJ_REPORT_ELAPSED));
    if (bj_report_is(p->r, BJ_REPORT_STATE, "running"))
        bj_buf_str(&p->value, " (in progress)");
    jobstats_put_field(p, "Run Time", false);
    if (limit == INT64_MAX)
        bj_buf_str(&p->value, "UNLIMITED");
    else
        bj_show_seconds(&p->value, limit);
    jobstats_put_field(p, "Time Limit", false);
}

static void jobstats_put_head(struct page *p)
{
    jobstats_put_text(p, "Job ID", BJ_REPORT_DISPLAY_ID, BJ_REPORT_DISPLAY_ID);
    jobstats_put_text(p, "User/Account", BJ_REPORT_USER, BJ_REPORT_ACCOUNT);
    jobstats_put_text(p, "Job Name", BJ_REPORT_NAME, BJ_REPORT_NAME);
    bj_text_state(&p->value, bj_report_text(p->r, BJ_REPORT_STATE));
    jobstats_put_field(p, "State",
                       bj_report_is(p->r, BJ_REPORT_STATE, "oom") ||
                           bj_report_is(p->r, BJ_REPORT_STATE, "timeout"));
    jobstats_put_number(p, "Nodes", BJ_REPORT_NODES);
    jobstats_put_number(p, "CPU Cores", BJ_REPORT_CPUS);
    jobstats_put_memory(p);
    jobstats_put_number(p, "GPUs", BJ_REPORT_GPUS);
    jobstats_put_text(p, "QOS/Partition", BJ_REPORT_QOS, BJ_REPORT_PARTITION);
    jobstats_put_text(p, "Cluster", BJ_REPORT_CLUSTER, BJ_REPORT_CLUSTER);
    jobstats_put_times(p);
}

/* "[|||||      10%]": one bar for each two percent; the number covers bars. */
static void jobstats_put_meter(struct page *p, const char *label, int64_t ppm)
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

static void jobstats_put_detail(struct page *p)
{
    const struct bj_report *r = p->r;
    jobstats_section(p, "Detailed Utilization");
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

static void jobstats_put_note(struct page *p, struct bj_slice text,
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

static void jobstats_put_notes(struct page *p)
{
    const struct bj_report *r = p->r;
    jobstats_section(p, "Notes");
    jobstats_put_note(p, r->verdict.wrong, (struct bj_slice){0});
    for (size_t i = 0; i < r->findings; i++)
        if (!bj_slice_eq(r->finding[i].text, r->verdict.wrong))
            jobstats_put_note(p, r->finding[i].text, r->finding[i].url);
    for (size_t i = 0; i < r->advices; i++)
        jobstats_put_note(p, r->advice[i].text, r->advice[i].line);
    if (r->next.note.n > 0)
        jobstats_put_note(p, r->next.note, (struct bj_slice){0});
}

void bj_report_jobstats(const struct bj_report *r, bool colour,
                        struct bj_buf *out)
{
    const struct bj_report_figure *f = r->figure;
    struct page p = {.r = r, .colour = colour, .out = out};
    jobstats_line(&p, '=');
    bj_buf_printf(out, "%*s%s\n", (WIDTH - 20) / 2, "", "Slurm Job Statistics");
    jobstats_line(&p, '=');
    jobstats_put_head(&p);
    jobstats_section(&p, "Overall Utilization");
    jobstats_put_meter(&p, "CPU utilization", f[BJ_FIGURE_CPU].ppm);
    jobstats_put_meter(&p, "CPU memory usage", f[BJ_FIGURE_MEMORY].ppm);
    jobstats_put_meter(&p, "GPU utilization", f[BJ_FIGURE_GPU].ppm);
    if (r->nodes > 0)
        jobstats_put_detail(&p);
    jobstats_put_notes(&p);
    out->failed |= p.value.failed;
    bj_buf_free(&p.value);
}

/* --- JS1: the summary of jobstats ---------------------------------------
 */

enum { SHORT_SEC = 60, GZIP_BITS = 15 + 16 };

/* --- JSON ------------------------------------------------------------------
 */

/* The size of a GPU's memory, which is not measured, from the name of its
 * model; BJ_SQL_NULL: not in the name. */
static int64_t js1_gpu_total(struct bj_slice model)
{
    for (size_t i = 0; i + 2 <= model.n; i++) {
        size_t at = i;
        int64_t gb = 0;
        while (at < model.n && model.p[at] >= '0' && model.p[at] <= '9' &&
               gb < 10000)
            gb = gb * 10 + (model.p[at++] - '0');
        if (at > i && at + 1 < model.n && model.p[at] == 'G' &&
            model.p[at + 1] == 'B')
            return gb << 30;
        i = at > i ? at - 1 : i;
    }
    return BJ_SQL_NULL;
}

/* Append a member, unless its value is unknown.  digits: 10^digits is the unit
 * of v, which is printed with one decimal place; 0: as it is. */
static void js1_put_member(struct bj_buf *out, struct bj_slice name, int64_t v,
                           unsigned digits)
{
    if (v < 0 || out->failed)
        return;
    bj_buf_str(out, out->p[out->len - 1] == '{' ? "" : ",");
    bj_json_string(out, name);
    if (digits > 0)
        bj_buf_printf(out, ":%.1f", (double)v / (digits == 6 ? 1e6 : 1e4));
    else
        bj_buf_printf(out, ":%" PRId64, v);
}

/* Append one of the objects that have a member for each GPU of the node with a
 * value. */
static void js1_put_gpus(const struct bj_report *r, struct bj_slice node,
                         const char *name, int which, struct bj_buf *out)
{
    bj_buf_printf(out, ",\"%s\":{", name);
    for (size_t i = 0; i < r->gpus; i++) {
        const struct bj_report_gpu *g = &r->gpu[i];
        if (!bj_slice_eq(g->node, node))
            continue;
        js1_put_member(out, g->index.n > 0 ? g->index : g->gpu,
                       which == 0   ? js1_gpu_total(g->model)
                       : which == 1 ? g->memory_peak
                                    : g->busy_ppm,
                       which == 2 ? 4 : 0);
    }
    bj_buf_str(out, "}");
}

static void js1_put_node(const struct bj_report *r, struct bj_slice node,
                         int64_t total, int64_t used, int64_t cpu_usec,
                         int64_t cpus, struct bj_buf *out)
{
    bj_json_string(out, node);
    bj_buf_str(out, ":{");
    js1_put_member(out, BJ_SLICE("total_memory"), total, 0);
    js1_put_member(out, BJ_SLICE("used_memory"), used, 0);
    js1_put_member(out, BJ_SLICE("total_time"), cpu_usec, 6);
    js1_put_member(out, BJ_SLICE("cpus"), cpus, 0);
    if (bj_report_number(r, BJ_REPORT_GPUS) > 0) {
        js1_put_gpus(r, node, "gpu_total_memory", 0, out);
        js1_put_gpus(r, node, "gpu_used_memory", 1, out);
        js1_put_gpus(r, node, "gpu_utilization", 2, out);
    }
    bj_buf_str(out, "}");
}

/* False: no value is known. */
static bool js1_put_json(const struct bj_report *r, struct bj_buf *out)
{
    int64_t nodes = bj_report_number(r, BJ_REPORT_NODES);
    int64_t had = r->figure[BJ_FIGURE_MEMORY].allocated;
    int64_t share = nodes > 0 && had > 0 ? had / nodes : BJ_SQL_NULL;
    const struct bj_report_figure *cpu = &r->figure[BJ_FIGURE_CPU];
    if (r->nodes == 0 && (nodes != 1 || cpu->used == BJ_SQL_NULL))
        return false;
    bj_buf_str(out, "{\"nodes\":{");
    for (size_t i = 0; i < r->nodes; i++) {
        const struct bj_report_node *n = &r->node[i];
        bj_buf_str(out, i ? "," : "");
        js1_put_node(r, n->node, n->memory_limit > 0 ? n->memory_limit : share,
                     n->memory_peak, n->cpu_usec, n->cpus, out);
    }
    if (r->nodes == 0)
        js1_put_node(r, bj_report_text(r, BJ_REPORT_NODELIST), share,
                     r->figure[BJ_FIGURE_MEMORY].used, cpu->used,
                     bj_report_number(r, BJ_REPORT_CPUS), out);
    bj_buf_str(out, "}");
    js1_put_member(out, BJ_SLICE("total_time"),
                   bj_report_number(r, BJ_REPORT_ELAPSED), 0);
    js1_put_member(out, BJ_SLICE("gpus"), bj_report_number(r, BJ_REPORT_GPUS),
                   0);
    bj_buf_str(out, "}");
    return true;
}

/* --- gzip and base64 -------------------------------------------------------
 */

static int js1_put_packed(const struct bj_buf *json, struct bj_buf *out,
                          struct bj_err *err)
{
    z_stream z = {.next_in = (unsigned char *)json->p,
                  .avail_in = (uInt)json->len};
    struct bj_buf packed = {0};
    int code = Z_MEM_ERROR;
    if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return bj_err_set(err, -ENOMEM, "JS1");
    size_t cap = deflateBound(&z, (uLong)json->len);
    if (bj_buf_room(&packed, cap)) {
        z.next_out = (unsigned char *)packed.p;
        z.avail_out = (uInt)cap;
        code = deflate(&z, Z_FINISH);
    }
    if (code == Z_STREAM_END) {
        bj_buf_str(out, "JS1:");
        bj_base64_put(out, (struct bj_slice){packed.p, z.total_out});
    }
    deflateEnd(&z);
    bj_buf_free(&packed);
    return code == Z_STREAM_END ? 0 : bj_err_set(err, -ENOMEM, "JS1");
}

int bj_report_js1(const struct bj_report *r, struct bj_buf *out,
                  struct bj_err *err)
{
    struct bj_buf json = {0};
    int64_t sec = bj_report_number(r, BJ_REPORT_ELAPSED);
    int code = 0;
    if (!bj_report_is(r, BJ_REPORT_STATE, "running") && r->nodes == 0 &&
        sec != BJ_SQL_NULL && sec < SHORT_SEC)
        bj_buf_str(out, "JS1:Short");
    else if (!js1_put_json(r, &json))
        bj_buf_str(out, "JS1:None");
    else
        code = json.failed ? bj_err_set(err, -ENOMEM, "JS1")
                           : js1_put_packed(&json, out, err);
    bj_buf_free(&json);
    return code;
}
