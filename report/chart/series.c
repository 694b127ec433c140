#include "report/chart/series.h"
#include "statsdb/prom/prom.h"

#include <string.h>

#define RATE(metric) "sum by($B)(rate(batchjob_job_" metric "$S[$W]))"
#define SUM(metric) "sum by($B)(batchjob_job_" metric "$S)"

const struct bj_series_metric bj_series_metrics[] = {
    {"cpus_used", "CPUs used", "cores", RATE("cpu_seconds_total"),
     "CPUs in use."},
    {"cpus_usable", "CPUs usable", "cores", SUM("cpus"),
     "CPUs on which the job may run."},
    {"cpus_system", "CPUs used by the kernel", "cores",
     RATE("cpu_system_seconds_total"),
     "CPUs that the kernel uses for the job."},
    {"memory_bytes", "Memory with page cache", "bytes",
     SUM("memory_used_bytes"), "Memory in use, with page cache."},
    {"memory_held_bytes", "Memory held", "bytes",
     "sum by($B)(batchjob_job_memory_rss_bytes$S"
     "+batchjob_job_memory_shmem_bytes$S)",
     "Anonymous and shared memory, without page cache."},
    {"memory_rss_bytes", "Anonymous memory", "bytes", SUM("memory_rss_bytes"),
     "Anonymous memory."},
    {"memory_held_peak_bytes", "Memory peak", "bytes",
     SUM("memory_held_peak_bytes"),
     "Sum of the peaks of held memory of its nodes so far."},
    {"memory_limit_bytes", "Memory limit", "bytes", SUM("memory_limit_bytes"),
     "Memory limit."},
    {"memory_limit_hits_per_sec", "Limit hits", "1/s",
     RATE("memory_limit_hits_total"),
     "Rate at which the job hits its memory limit."},
    {"processes", "Processes", "count", SUM("processes"), "Processes."},
    {"threads", "Threads", "count", SUM("threads"), "Threads."},
    {"read_bytes_per_sec", "Read", "bytes/s", RATE("io_read_bytes_total"),
     "Read by system calls."},
    {"write_bytes_per_sec", "Written", "bytes/s", RATE("io_write_bytes_total"),
     "Written by system calls."},
    {"storage_read_bytes_per_sec", "Read from storage", "bytes/s",
     RATE("io_storage_read_bytes_total"), "Read from storage devices."},
    {"storage_write_bytes_per_sec", "Written to storage", "bytes/s",
     RATE("io_storage_write_bytes_total"), "Written to storage devices."},
    {"cpu_pressure_ratio", "CPU pressure", "ratio",
     "avg by($B)(rate(batchjob_job_pressure_cpu_some_seconds_total$S[$W]))",
     "Share of time in which some threads waited for a CPU; mean of nodes."},
    {"memory_pressure_ratio", "Memory pressure", "ratio",
     "avg by($B)(rate(batchjob_job_pressure_memory_some_seconds_total$S[$W]))",
     "Share of time in which some threads waited for memory; mean of nodes."},
    {"power_watts", "Power", "watts", RATE("energy_joules_total"),
     "Power attributed to the job."},
    {"gpu_busy_ratio", "GPU use", "ratio",
     "avg by($B)(batchjob_job_gpu_busy_ratio$S)",
     "Share of time in which its GPUs were busy; mean of GPUs."},
    {"gpu_memory_bytes", "GPU memory", "bytes", SUM("gpu_memory_used_bytes"),
     "Memory in use on its GPUs."},
    {"gpu_power_watts", "GPU power", "watts", SUM("gpu_power_watts"),
     "Power of its GPUs that is attributed to the job."},
    {"gpus_held", "GPUs held", "count", RATE("gpu_held_seconds_total"),
     "GPUs held."},
    {"gpus_idle", "GPUs idle", "count", RATE("gpu_idle_seconds_total"),
     "GPUs held but not used."},
    {.name = NULL},
};

int bj_series_find(struct bj_slice name)
{
    for (int i = 0; bj_series_metrics[i].name; i++)
        if (bj_slice_eq(bj_slice_str(bj_series_metrics[i].name), name))
            return i;
    return -1;
}

/* --- the selector ----------------------------------------------------------
 */

void bj_series_selector(struct bj_buf *b, const struct bj_series_job *j)
{
    bj_buf_str(b, "{jobid=\"");
    bj_prom_put(b, j->id, false);
    bj_buf_str(b, "\"");
    /* Series without the label also match; the jobid selects among them. */
    if (j->user.n > 0) {
        bj_buf_str(b, ",user=~\"");
        bj_prom_put(b, j->user, true);
        bj_buf_str(b, "|");
        if (j->uid >= 0) {
            bj_buf_u64(b, (uint64_t)j->uid);
            bj_buf_str(b, "|");
        }
        bj_buf_str(b, "\"");
    }
    if (j->cluster_label && j->cluster_label[0]) {
        bj_buf_printf(b, ",%s=~\"", j->cluster_label);
        bj_prom_put(b, j->cluster, true);
        bj_buf_str(b, "|\"");
    }
    if (j->match && j->match[0])
        bj_buf_printf(b, ",%s", j->match);
    bj_buf_str(b, "}");
}

/* --- the query -------------------------------------------------------------
 */

struct series_values {
    struct bj_slice selector;
    enum bj_series_by by;
    int64_t window_sec;
};

/* $S the selector, $B labels that remain, $W the window of a rate. */
static void put_series_value(const void *ctx, char x, struct bj_buf *b)
{
    static const char *const labels[] = {
        [BJ_SERIES_JOB] = "",
        [BJ_SERIES_NODE] = "instance,slurm_node",
        [BJ_SERIES_GPU] = "instance,slurm_node,gpu,index"};
    const struct series_values *v = ctx;
    if (x == 'S')
        bj_buf_slice(b, v->selector);
    else if (x == 'B')
        bj_buf_str(b, labels[v->by]);
    else
        bj_buf_printf(b, "%llds", (long long)v->window_sec);
}

void bj_series_query(struct bj_buf *b, const unsigned char *metric, unsigned n,
                     struct bj_slice selector, enum bj_series_by by,
                     int64_t window_sec)
{
    const struct series_values values = {selector, by, window_sec};
    for (unsigned i = 0; i < n; i++) {
        const struct bj_series_metric *m = &bj_series_metrics[metric[i]];
        bj_buf_str(b, i ? " or label_replace(" : "label_replace(");
        bj_prom_expand(b, m->promql, put_series_value, &values);
        bj_buf_printf(b, ",\"bj\",\"%s\",\"\",\"\")", m->name);
    }
}

int64_t bj_series_step(int64_t span_sec, int64_t least_sec)
{
    static const int64_t round[] = {1,    2,    5,     10,    15,    20,   30,
                                    60,   120,  300,   600,   900,   1200, 1800,
                                    3600, 7200, 10800, 21600, 43200, 86400};
    const unsigned n = sizeof(round) / sizeof(round[0]);
    int64_t step = span_sec / 300 + 1;
    if (step < least_sec)
        step = least_sec;
    for (unsigned i = 0; i < n; i++)
        if (round[i] >= step)
            return round[i];
    return (step + 86399) / 86400 * 86400;
}
