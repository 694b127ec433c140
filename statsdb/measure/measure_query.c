#include "base/text.h"
#include "statsdb/measure/measure_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR = 3600 };

/* A job's series is split when a label changes, for example when its account
 * becomes known, and a node may be scraped twice. So each query first computes
 * the maximum over differing labels, then the sum over nodes. */
#define NODE "jobid, instance, slurm_node"
#define EACH(more, over, name)                                                 \
    "max by (" NODE more ") (" over "_over_time($(" name "{$S}$)))"
#define TOTAL(name) "sum by (jobid) (" EACH("", "max", name) ")"
#define SAMPLES(name) "sum by (" NODE ") (count_over_time($(" name "{$S}$)))"
#define CORES EACH(", cpu", "max", "batchjob_job_core_cpu_seconds_total")

struct query {
    int column;
    unsigned digits; /* the value is multiplied by 10^digits */
    bool gpu;        /* only for jobs with GPUs */
    const char *text;
};

static const struct query queries[] = {
    {BJ_ME_NODES, 0, false,
     "count by (jobid) (" EACH("", "max",
                               "batchjob_job_cpu_seconds_total") ")"},
    {BJ_ME_FINAL, 0, false,
     "count by (jobid) (" EACH("", "max", "batchjob_job_end_time_seconds") ")"},
    {BJ_ME_SAMPLES, 0, false,
     "sum by (jobid) (count_over_time($(batchjob_job_memory_used_bytes{$S}"
     "$)))"},
    {BJ_USE_CPU, 6, false, TOTAL("batchjob_job_cpu_seconds_total")},
    {BJ_USE_CPU_PEAK, 3, false,
     "max_over_time((sum by (jobid) (max by (" NODE
     ") ($(rate(batchjob_job_cpu_seconds_total{$S}[$R])$@)))[$E:$R])"},
    {BJ_USE_MEM_HELD, 0, false, TOTAL("batchjob_job_memory_held_peak_bytes")},
    /* 1: in all samples of a node.  0: in some, as more was held later, or
     * since the exporter restarted; unknown. */
    {BJ_USE_HELD_CHARGED, 0, false,
     "max by (jobid) (" SAMPLES(
         "batchjob_job_memory_held_peak_charged") " >= bool"
                                                  " on (" NODE ") " SAMPLES(
                                                      "batchjob_job_memory_"
                                                      "held_peak_bytes") ")"},
    {BJ_USE_MEM_CHARGED, 0, false,
     TOTAL("batchjob_job_memory_charged_peak_bytes")},
    {BJ_USE_MEM_MEAN, 0, false,
     "sum by (jobid) (avg by (" NODE
     ") (avg_over_time($(batchjob_job_memory_used_bytes{$S}$))))"},
    {BJ_USE_IO_READ, 0, false, TOTAL("batchjob_job_io_read_bytes_total")},
    {BJ_USE_IO_WRITE, 0, false, TOTAL("batchjob_job_io_write_bytes_total")},
    {BJ_USE_STORAGE_READ, 0, false,
     TOTAL("batchjob_job_io_storage_read_bytes_total")},
    {BJ_USE_STORAGE_WRITE, 0, false,
     TOTAL("batchjob_job_io_storage_write_bytes_total")},
    {BJ_USE_DEVICE_READ, 0, false,
     "sum by (jobid) (" EACH(", device", "max",
                             "batchjob_job_device_read_bytes_total") ")"},
    {BJ_USE_DEVICE_WRITE, 0, false,
     "sum by (jobid) (" EACH(", device", "max",
                             "batchjob_job_device_write_bytes_total") ")"},
    {BJ_USE_OOM_KILLS, 0, false, TOTAL("batchjob_job_oom_kills_total")},
    {BJ_USE_GPUS_SEEN, 0, true,
     "count by (jobid) (" EACH(
         ", gpu", "max",
         "batchjob_job_gpu_busy_ratio") " or " EACH(", gpu", "max",
                                                    "batchjob_job_gpu_idle_"
                                                    "seconds_total") ")"},
    {BJ_USE_GPUS_UNUSED, 0, true,
     "count by (jobid) (" EACH(", gpu", "max",
                               "batchjob_job_gpu_busy_ratio") " == 0)"},
    {BJ_USE_GPU_BUSY, 6, true,
     "avg by (jobid) (avg by (" NODE
     ", gpu) (avg_over_time($(batchjob_job_gpu_busy_ratio{$S}$))))"},
    {BJ_USE_GPU_HELD, 6, true,
     "sum by (jobid) (" EACH(", gpu", "max",
                             "batchjob_job_gpu_held_seconds_total") ")"},
    {BJ_USE_GPU_IDLE, 6, true,
     "sum by (jobid) (" EACH(", gpu", "max",
                             "batchjob_job_gpu_idle_seconds_total") ")"},
    {BJ_USE_GPU_MEM_PEAK, 0, true,
     "sum by (jobid) (" EACH(", gpu", "max",
                             "batchjob_job_gpu_memory_used_bytes") ")"},
    /* Shells and srun only wait. */
    {BJ_USE_THREADS, 0, false,
     "sum by (jobid) (max by (" NODE
     ") (max_over_time($(batchjob_job_state_threads{$Sstate=\"running\"}$))))"},
    {BJ_USE_OPEN_FDS, 0, false, TOTAL("batchjob_job_open_fds")},
    {BJ_USE_SCRATCH, 0, false,
     "sum by (jobid) (max by (" NODE
     ") (max_over_time($(batchjob_job_place_open_files{$Splace=\"$P\"}$))))"},
    {BJ_USE_CORE_MIN, 6, false,
     "min by (jobid) (" CORES ") / avg by (jobid) (" CORES ")"},
    {BJ_USE_CORES_USED, 0, false,
     "count by (jobid) (" CORES " >= on (jobid) group_left () 0.8 * avg by"
     " (jobid) (" CORES "))"},
    {BJ_USE_NODES_UNUSED, 0, false,
     "count by (jobid) (" EACH("", "max",
                               "batchjob_job_cpu_seconds_total") " < 1)"},
    {BJ_ME_ENERGY_NODES, 0, false,
     "count by (jobid) (" EACH("", "max",
                               "batchjob_job_energy_joules_total") ")"},
};

#define ENERGY EACH(", component", "max", "batchjob_job_energy_joules_total")

static const char energy[] = "sum by (jobid, component) (" ENERGY ")";
static const char policy[] =
    "count by (policy) (last_over_time(batchjob_node_energy_info{$M}[$D]))";

/* Energy by hour, for jobs longer than one. */
static const char hours[] =
    "sum by (jobid) (max by (" NODE ", component)"
    " (max_over_time($(batchjob_job_energy_joules_total{$S}$h)))";

/* --- replies ------------------------------------------------------------
 */

struct reply {
    struct bj_measure *m;
    const struct query *q;
};

static struct bj_measure_job *job_of(struct bj_measure *m,
                                     const struct bj_json *metric)
{
    return bj_measure_find(&m->batch,
                           bj_json_text(bj_json_get(metric, "jobid")));
}

static int on_value(void *ctx, const struct bj_json *metric,
                    const struct bj_json *value, struct bj_err *err)
{
    (void)err;
    const struct reply *a = ctx;
    struct bj_measure_job *j = job_of(a->m, metric);
    int64_t v;
    if (j && bj_prom_value(value, a->q->digits, &v, NULL) == 0 && v >= 0)
        j->v[a->q->column] = v;
    return 0;
}

static int on_energy(void *ctx, const struct bj_json *metric,
                     const struct bj_json *value, struct bj_err *err)
{
    (void)err;
    static const char *const names[BJ_COMPONENTS] = {"cpu", "dram", "gpu",
                                                     "other"};
    const struct reply *a = ctx;
    struct bj_measure_job *j = job_of(a->m, metric);
    struct bj_slice name = bj_json_text(bj_json_get(metric, "component"));
    int64_t v;
    for (int i = 0; j && i < BJ_COMPONENTS; i++)
        if (bj_slice_eq(name, bj_slice_str(names[i])) &&
            bj_prom_value(value, 6, &v, NULL) == 0 && v >= 0)
            j->component[i] = v;
    return 0;
}

static int on_policy(void *ctx, const struct bj_json *metric,
                     const struct bj_json *value, struct bj_err *err)
{
    (void)value;
    (void)err;
    const struct reply *a = ctx;
    struct bj_measure_batch *b = &a->m->batch;
    bj_text_clean(bj_json_text(bj_json_get(metric, "policy")), b->policy,
                  sizeof(b->policy));
    b->policies++;
    return 0;
}

/* Energy of each hour, from the counter at full hours. */
static int on_hours(void *ctx, const struct bj_json *metric,
                    const struct bj_json *values, struct bj_err *err)
{
    const struct reply *a = ctx;
    struct bj_measure_job *j = job_of(a->m, metric);
    if (!j || j->bin || j->end_sec - j->start_sec <= HOUR)
        return 0;
    size_t cap = (size_t)(j->end_sec - j->start_sec) / HOUR + 2;
    j->bin = calloc(cap, sizeof(*j->bin));
    if (!j->bin)
        return bj_err_set(err, -ENOMEM, "prometheus");
    int64_t last = 0, from = j->start_sec, v, at;
    BJ_JSON_EACH(pair, values)
    {
        if (bj_prom_value(pair, 6, &v, &at) < 0 || v <= last || at <= from ||
            at >= j->end_sec || j->bins + 1 >= cap)
            continue;
        j->bin[j->bins++] = (struct bj_energy_bin){from, v - last};
        from = at;
        last = v;
    }
    /* The last bin gets the rest of the sum: check_bins(). */
    j->bin[j->bins++] = (struct bj_energy_bin){from, -last};
    return 0;
}

/* --- sending ------------------------------------------------------------
 */

static int run_query(struct bj_measure *m, const struct query *q,
                     const char *text,
                     int (*series)(void *, const struct bj_json *,
                                   const struct bj_json *, struct bj_err *),
                     struct bj_buf *sql, struct bj_err *err)
{
    struct reply a = {m, q};
    const struct bj_prom_sink sink = {&a, series};
    bj_measure_expand(m, text, sql);
    m->counts.queries++;
    return sql->failed
               ? bj_err_set(err, -ENOMEM, "prometheus")
               : bj_prom_query(m->prom, sql->p, m->batch.at_sec, &sink, err);
}

static int64_t query_sum_of(const struct bj_measure_job *j)
{
    int64_t sum = 0;
    for (int i = 0; i < BJ_COMPONENTS; i++)
        sum += j->component[i] > 0 ? j->component[i] : 0;
    return sum;
}

static int query_hours(struct bj_measure *m, struct bj_buf *text,
                       struct bj_err *err)
{
    struct reply a = {m, NULL};
    const struct bj_prom_sink sink = {&a, on_hours};
    const struct bj_measure_batch *b = &m->batch;
    int64_t start = INT64_MAX, end = 0;
    for (unsigned i = 0; i < b->n; i++) {
        const struct bj_measure_job *j = &b->job[i];
        if (j->end_sec - j->start_sec <= HOUR || query_sum_of(j) == 0)
            continue;
        start = j->start_sec < start ? j->start_sec : start;
        end = j->end_sec > end ? j->end_sec : end;
    }
    /* Prometheus returns at most 11000 points per series. */
    if (start > end || (end - start) / HOUR > 10000)
        return 0;
    start = (start / HOUR + 1) * HOUR;
    bj_measure_expand(m, hours, text);
    m->counts.queries++;
    return text->failed ? bj_err_set(err, -ENOMEM, "prometheus")
                        : bj_prom_range(m->prom, text->p, start,
                                        end / HOUR * HOUR, HOUR, &sink, err);
}

/* Bins must add up to the energy; otherwise drop them. */
static void check_bins(struct bj_measure_batch *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        struct bj_measure_job *j = &b->job[i];
        if (j->bins == 0)
            continue;
        j->bin[j->bins - 1].microjoules += query_sum_of(j);
        if (j->bin[j->bins - 1].microjoules < 0 || j->bins == 1)
            j->bins = 0;
    }
}

/* A count without a result is 0 if the job has other values. */
static void fill_counts(struct bj_measure_batch *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        int64_t *v = b->job[i].v;
        if (v[BJ_USE_GPU_BUSY] >= 0 && v[BJ_USE_GPUS_UNUSED] == BJ_SQL_NULL)
            v[BJ_USE_GPUS_UNUSED] = 0;
        if (v[BJ_USE_HELD_CHARGED] == 0)
            v[BJ_USE_HELD_CHARGED] = BJ_SQL_NULL;
        else if (v[BJ_USE_MEM_HELD] > 0 && v[BJ_USE_HELD_CHARGED] != 1)
            v[BJ_USE_HELD_CHARGED] = 0;
        /* A node may be used until the job ends. */
        if (v[BJ_ME_FINAL] < v[BJ_ME_NODES])
            v[BJ_USE_NODES_UNUSED] = BJ_SQL_NULL;
        else if (v[BJ_ME_NODES] > 0 && v[BJ_USE_NODES_UNUSED] == BJ_SQL_NULL)
            v[BJ_USE_NODES_UNUSED] = 0;
        b->job[i].outcome = v[BJ_ME_NODES] > 0 ? BJ_MEASURE_FOUND
                            : b->job[i].single ? BJ_MEASURE_AMBIGUOUS
                                               : BJ_MEASURE_NO_DATA;
    }
}

static bool applies(const struct bj_measure *m, const struct query *q)
{
    if (q->column == BJ_USE_CPU_PEAK && !bj_measure_has_rates(m))
        return false;
    return m->batch.gpus || !q->gpu;
}

int bj_measure_query(struct bj_measure *m, struct bj_err *err)
{
    struct bj_buf text = {0};
    int r = 0;
    m->batch.policies = 0;
    for (size_t i = 0; r == 0 && i < sizeof(queries) / sizeof(queries[0]); i++)
        if (applies(m, &queries[i]))
            r = run_query(m, &queries[i], queries[i].text, on_value, &text,
                          err);
    if (r == 0)
        r = run_query(m, NULL, energy, on_energy, &text, err);
    if (r == 0)
        r = run_query(m, NULL, policy, on_policy, &text, err);
    if (r == 0)
        r = query_hours(m, &text, err);
    check_bins(&m->batch);
    fill_counts(&m->batch);
    if (r == 0)
        r = bj_measure_course(m, err);
    bj_buf_free(&text);
    return r;
}
