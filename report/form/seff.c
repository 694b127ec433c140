#include "report/form/seff.h"

#include "report/form/text_parts.h"
#include "report/model/show.h"

#include <inttypes.h>

static void put_text(struct bj_buf *out, const struct bj_report *r,
                     const char *label, enum bj_report_column c)
{
    bj_buf_str(out, label);
    bj_buf_clean(out, bj_report_text(r, c));
    bj_buf_str(out, "\n");
}

/* seff prints two digits and the largest unit in which the number is above one;
 * its GB are GiB. */
static void put_bytes(struct bj_buf *out, int64_t bytes)
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

static void put_percent(struct bj_buf *out, int64_t ppm)
{
    if (ppm < 0)
        bj_buf_str(out, "unknown");
    else
        bj_buf_printf(out, "%.2f%%", (double)ppm / 1e4);
}

static void put_time(struct bj_buf *out, const struct bj_report_figure *cpu,
                     int64_t usec)
{
    if (usec == BJ_SQL_NULL)
        bj_buf_str(out, "unknown");
    else
        bj_show_unit(out, cpu->unit, usec);
}

static void put_cpus(struct bj_buf *out, const struct bj_report *r)
{
    int64_t cpus = bj_report_number(r, BJ_REPORT_CPUS);
    int64_t nodes = bj_report_number(r, BJ_REPORT_NODES);
    if (cpus > 1 && nodes > 0)
        bj_buf_printf(out, "Nodes: %" PRId64 "\nCores per node: %" PRId64 "\n",
                      nodes, cpus / nodes);
    else if (cpus > 0)
        bj_buf_printf(out, "Cores: %" PRId64 "\n", cpus);
}

static void put_use(struct bj_buf *out, const struct bj_report *r)
{
    const struct bj_report_figure *cpu = &r->figure[BJ_FIGURE_CPU];
    const struct bj_report_figure *memory = &r->figure[BJ_FIGURE_MEMORY];
    int64_t nodes = bj_report_number(r, BJ_REPORT_NODES);
    int64_t had = memory->allocated != BJ_SQL_NULL ? memory->allocated
                                                   : memory->requested;
    bj_buf_str(out, "CPU Utilized: ");
    put_time(out, cpu, cpu->used);
    bj_buf_str(out, "\nCPU Efficiency: ");
    put_percent(out, cpu->ppm);
    bj_buf_str(out, " of ");
    put_time(out, cpu, cpu->allocated);
    bj_buf_str(out, " core-walltime\nJob Wall-clock time: ");
    bj_show_seconds(out, bj_report_number(r, BJ_REPORT_ELAPSED));
    bj_buf_str(out, "\nMemory Utilized: ");
    put_bytes(out, memory->used);
    bj_buf_str(out, "\nMemory Efficiency: ");
    put_percent(out, memory->ppm);
    bj_buf_str(out, " of ");
    put_bytes(out, had);
    if (nodes > 0) {
        bj_buf_str(out, " (");
        put_bytes(out, had > 0 ? had / nodes : had);
        bj_buf_str(out, "/node)");
    }
    bj_buf_str(out, "\n");
}

void bj_report_seff(const struct bj_report *r, struct bj_buf *out)
{
    int64_t code = bj_report_number(r, BJ_REPORT_EXIT_CODE);
    put_text(out, r, "Job ID: ", BJ_REPORT_JOBID);
    if (bj_report_number(r, BJ_REPORT_ARRAY) != BJ_SQL_NULL)
        put_text(out, r, "Array Job ID: ", BJ_REPORT_DISPLAY_ID);
    put_text(out, r, "Cluster: ", BJ_REPORT_CLUSTER);
    bj_buf_str(out, "User/Group: ");
    bj_buf_clean(out, bj_report_text(r, BJ_REPORT_USER));
    put_text(out, r, "/", BJ_REPORT_GROUP);
    bj_buf_str(out, "State: ");
    bj_text_state(out, bj_report_text(r, BJ_REPORT_STATE));
    if (code != BJ_SQL_NULL)
        bj_buf_printf(out, " (exit code %" PRId64 ")", code);
    bj_buf_str(out, "\n");
    put_cpus(out, r);
    put_use(out, r);
    if (bj_report_is(r, BJ_REPORT_STATE, "running"))
        bj_buf_str(out, "WARNING: Efficiency statistics may be misleading for "
                        "RUNNING jobs.\n");
}
