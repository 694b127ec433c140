#include "statsdb/measure/measure_impl.h"

#include "base/text.h"
#include "statsdb/derive/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE "jobid, instance, slurm_node"

/* --- the text of a query --- */

static void text_put_jobs(const struct bj_measure *m, struct bj_buf *out)
{
    bj_buf_put(out, m->match.p ? m->match.p : "", m->match.len);
    bj_buf_str(out, "jobid=~\"");
    for (unsigned i = 0, n = 0; i < m->batch.n; i++) {
        if (m->batch.only_chosen && !m->batch.job[i].chosen)
            continue;
        bj_buf_str(out, n++ ? "|" : "");
        bj_prom_put(out, bj_slice_str(m->batch.job[i].id), true);
    }
    bj_buf_str(out, "\",");
}

static void put_range(const struct bj_measure *m, struct bj_buf *out)
{
    const struct bj_measure_batch *b = &m->batch;
    bj_buf_printf(out, "%llds", (long long)b->range_sec);
    if (b->step_sec > 0)
        bj_buf_printf(out, ":%llds", (long long)b->step_sec);
}

/* Window and step of rates: four scrapes, or for long jobs a 5000th of the
 * range. */
static int64_t rate_sec(const struct bj_measure *m)
{
    int64_t sec = (int64_t)(m->conf->scrape_usec * 4 / 1000000);
    if (m->batch.curve_sec > 0)
        return m->batch.curve_sec;
    return sec < m->batch.range_sec / 5000 ? m->batch.range_sec / 5000 : sec;
}

/* The first rate must not include samples of another run. */
static int64_t rates_range(const struct bj_measure *m)
{
    const struct bj_measure_batch *b = &m->batch;
    return b->range_sec -
           (b->single && b->single->since_sec > 0 ? rate_sec(m) : 0);
}

/* Only series that began with the job. */
static void put_own(const struct bj_measure *m, struct bj_buf *out)
{
    const struct bj_measure_job *single = m->batch.single;
    if (!single)
        return;
    bj_buf_str(out, " and on (" NODE ") (batchjob_job_start_time_seconds{");
    text_put_jobs(m, out);
    bj_buf_str(out, "}");
    if (single->since_sec > 0)
        bj_buf_printf(out, " >= %lld", (long long)single->since_sec);
    if (single->until_sec > 0)
        bj_buf_printf(out, " < %lld", (long long)single->until_sec);
    bj_buf_str(out, "))");
}

static void put_hour(const struct bj_measure *m, struct bj_buf *out)
{
    bj_buf_str(out, "[1h");
    if (m->batch.single)
        bj_buf_printf(out, ":%llds", (long long)m->batch.step_sec);
    bj_buf_str(out, "]");
}

/* Placeholders in queries: $S labels of the cluster and the jobs, $M labels of
 * the cluster, $D range with its step, $E range for rates, $R window of a rate,
 * $P place of scratch. $(SERIES$) is the range of a series, $(SERIES$h its last
 * hour and $(SERIES$@ its present value; all three exclude series of other runs
 * with the id of the only job.
 */
static void put_measure_value(const void *ctx, char x, struct bj_buf *out)
{
    const struct bj_measure *m = ctx;
    switch (x) {
    case '(':
        bj_buf_str(out, m->batch.single ? "(" : "");
        break;
    case ')':
        put_own(m, out);
        bj_buf_str(out, "[");
        put_range(m, out);
        bj_buf_str(out, "]");
        break;
    case 'h':
        put_own(m, out);
        put_hour(m, out);
        break;
    case '@':
        put_own(m, out);
        break;
    case 'S':
        text_put_jobs(m, out);
        break;
    case 'M':
        bj_buf_put(out, m->match.p ? m->match.p : "", m->match.len);
        break;
    case 'D':
        put_range(m, out);
        break;
    case 'E':
        bj_buf_printf(out, "%llds", (long long)rates_range(m));
        break;
    case 'R':
        bj_buf_printf(out, "%llds", (long long)rate_sec(m));
        break;
    default:
        bj_prom_put(
            out,
            bj_slice_str(m->conf->scratch_place ? m->conf->scratch_place : ""),
            false);
        break;
    }
}

/* Replace the placeholders of a query. */
static void measure_expand(const struct bj_measure *m, const char *text,
                           struct bj_buf *out)
{
    out->len = 0;
    bj_prom_expand(out, text, put_measure_value, m);
    bj_buf_put(out, "", 1);
}

/* Can the CPUs be computed at all times of the batch's range?  The first rate
 * must not include samples of another run. */
static bool measure_has_rates(const struct bj_measure *m)
{
    return rates_range(m) > 0;
}

static int measure_compare_id(const void *id, const void *job)
{
    return strcmp(id, ((const struct bj_measure_job *)job)->id);
}

/* The job with that id; NULL: not in the batch. */
static struct bj_measure_job *measure_find(struct bj_measure_batch *b,
                                           struct bj_slice id)
{
    char text[BJ_MEASURE_ID];
    if (id.n == 0 || id.n >= sizeof(text))
        return NULL;
    memcpy(text, id.p, id.n);
    text[id.n] = '\0';
    if (strlen(text) != id.n)
        return NULL;
    return bsearch(text, b->job, b->n, sizeof(b->job[0]), measure_compare_id);
}

/* --- what nodes and GPUs used --- */

#define GPU NODE ", gpu, index"
#define EACH_BY(by, over, name)                                                \
    "max by (" by ") (" over "_over_time($(" name "{$S}$)))"

struct course_reply {
    struct bj_measure *m;
    int which;
    unsigned digits;
};

static int run_course(struct bj_measure *m, const char *text,
                      struct bj_buf *sql, struct bj_err *err)
{
    measure_expand(m, text, sql);
    m->counts.queries++;
    return sql->failed ? bj_err_set(err, -ENOMEM, "prometheus") : 0;
}

/* --- nodes and GPUs --------------------------------------------------------
 */

enum { CPU, CPUS, MEMORY, LIMIT, BUSY, BUSIEST };

/* digits: the value is multiplied by 10^digits. */
static const struct {
    int value;
    unsigned digits;
    bool gpu;
    const char *text;
} part_queries[] = {
    {CPU, 3, false, EACH_BY(NODE, "max", "batchjob_job_cpu_seconds_total")},
    {CPUS, 0, false, EACH_BY(NODE, "max", "batchjob_job_cpus")},
    {MEMORY, 0, false,
     EACH_BY(NODE, "max", "batchjob_job_memory_held_peak_bytes")},
    {LIMIT, 0, false, EACH_BY(NODE, "max", "batchjob_job_memory_limit_bytes")},
    {BUSY, 6, true, EACH_BY(GPU, "avg", "batchjob_job_gpu_busy_ratio")},
    {BUSIEST, 6, true, EACH_BY(GPU, "max", "batchjob_job_gpu_busy_ratio")},
    {MEMORY, 0, true,
     EACH_BY(GPU, "max", "batchjob_job_gpu_memory_used_bytes")},
};

static int on_part(void *ctx, const struct bj_json *metric,
                   const struct bj_json *value, struct bj_err *err)
{
    (void)err;
    const struct course_reply *a = ctx;
    struct bj_measure_job *j =
        measure_find(&a->m->batch, bj_json_text(bj_json_get(metric, "jobid")));
    int64_t v;
    if (!j || !j->chosen || bj_prom_value(value, a->digits, &v, NULL) < 0 ||
        v < 0)
        return 0;
    struct bj_part *p = bj_parts_of_series(&j->parts, metric);
    if (!p)
        return 0;
    int64_t *const to[] = {[CPU] = &p->cpus_milli,
                           [CPUS] = &p->cpus,
                           [MEMORY] = &p->memory,
                           [LIMIT] = &p->memory_limit,
                           [BUSY] = &p->busy_ppm};
    if (a->which == BUSIEST)
        p->unused = v == 0;
    else if (*to[a->which] == BJ_SQL_NULL || v > *to[a->which])
        *to[a->which] = v;
    return 0;
}

/* CPU seconds x 1000 become busy CPUs x 1000.  A node is unused as in
 * measure_query.c: only if its last value is known. */
static void finish_parts(struct bj_measure_job *j)
{
    const bool ended = j->v[BJ_ME_FINAL] >= j->v[BJ_ME_NODES];
    for (size_t i = 0; i < j->parts.n; i++) {
        struct bj_part *p = &j->parts.v[i];
        if (p->gpu.n > 0 || p->cpus_milli == BJ_SQL_NULL)
            continue;
        p->unused = ended && p->cpus_milli < 1000;
        p->cpus_milli /= j->end_sec - j->start_sec;
    }
}

static bool has_parts(const struct bj_measure_job *j, bool gpu)
{
    return j->outcome == BJ_MEASURE_FOUND && j->end_sec > j->start_sec &&
           (gpu ? j->gpus > 0 : j->nodes > 1 || j->gpus > 0);
}

static int query_parts(struct bj_measure *m, struct bj_buf *text,
                       struct bj_err *err)
{
    struct bj_measure_batch *b = &m->batch;
    int r = 0;
    for (size_t i = 0;
         r == 0 && i < sizeof(part_queries) / sizeof(part_queries[0]); i++) {
        struct course_reply a = {m, part_queries[i].value,
                                 part_queries[i].digits};
        const struct bj_prom_sink sink = {&a, on_part};
        bool any = false;
        for (unsigned k = 0; k < b->n; k++) {
            b->job[k].chosen = has_parts(&b->job[k], part_queries[i].gpu);
            any = any || b->job[k].chosen;
        }
        if (!any)
            continue;
        r = run_course(m, part_queries[i].text, text, err);
        if (r == 0)
            r = bj_prom_query(m->prom, text->p, b->at_sec, &sink, err);
    }
    for (unsigned k = 0; k < b->n; k++)
        finish_parts(&b->job[k]);
    return r;
}

/* --- curves ----------------------------------------------------------------
 */

enum {
    LEAST_SEC = 600,     /* shorter jobs have no curves */
    MOST_POINTS = 200,   /* of a job */
    RANGE_POINTS = 10000 /* of a query; Prometheus allows 11000 */
};

static const char *const curve_queries[BJ_MEASURE_CURVES] = {
    [BJ_MEASURE_MEMORY] =
        "sum by (jobid) (max by (" NODE
        ") ($(batchjob_job_memory_rss_bytes{$S}$@) + max by (" NODE
        ") ($(batchjob_job_memory_shmem_bytes{$S}$@))",
    [BJ_MEASURE_CPUS] = "sum by (jobid) (max by (" NODE
                        ") ($(rate(batchjob_job_cpu_seconds_total{$S}[$R])$@))",
    [BJ_MEASURE_IO] =
        "sum by (jobid) (max by (" NODE
        ") ($(rate(batchjob_job_io_read_bytes_total{$S}[$R])$@) + max by (" NODE
        ") ($(rate(batchjob_job_io_write_bytes_total{$S}[$R])$@))",
    [BJ_MEASURE_GPUS] =
        "max by (jobid) ($(max_over_time(batchjob_job_gpu_busy_ratio{$S}[$R])"
        "$@)",
};

/* The step of a job's curves: the interval of scrapes times a power of two, so
 * that jobs can share a query. */
static void plan_curve(const struct bj_measure *m, struct bj_measure_job *j)
{
    const int64_t sec = j->end_sec - j->start_sec;
    int64_t step = (int64_t)(m->conf->scrape_usec / 1000000);
    step = step > 0 ? step : 1;
    j->points = 0;
    j->chosen = false;
    if (j->outcome != BJ_MEASURE_FOUND || sec < LEAST_SEC)
        return;
    while (sec / step > MOST_POINTS)
        step *= 2;
    if (sec / step < BJ_EVIDENCE_POINTS)
        return;
    j->curve_step_sec = step;
    j->points = (size_t)(sec / step);
}

static int on_curve(void *ctx, const struct bj_json *metric,
                    const struct bj_json *values, struct bj_err *err)
{
    const struct course_reply *a = ctx;
    struct bj_measure_job *j =
        measure_find(&a->m->batch, bj_json_text(bj_json_get(metric, "jobid")));
    if (!j || !j->chosen || j->curve[a->which])
        return 0;
    double *v = calloc(j->points, sizeof(*v));
    if (!v)
        return bj_err_set(err, -ENOMEM, "prometheus");
    for (size_t i = 0; i < j->points; i++)
        v[i] = (double)NAN;
    BJ_JSON_EACH(pair, values)
    {
        int64_t number, at;
        if (bj_prom_value(pair, a->digits, &number, &at) < 0 || number < 0 ||
            at <= j->start_sec || at > j->end_sec)
            continue;
        const int64_t i = (at - j->start_sec - 1) / j->curve_step_sec;
        if (i >= 0 && i < (int64_t)j->points)
            v[i] = (double)number / pow(10, a->digits);
    }
    j->curve[a->which] = v;
    return 0;
}

/* Choose jobs with the same step as the first one, so that one query has few
 * enough points; returns whether there are any. */
static bool choose_curves(struct bj_measure_batch *b, int64_t *ret_start,
                          int64_t *ret_end, int64_t *ret_step)
{
    const struct bj_measure_job *first = NULL;
    for (unsigned i = 0; i < b->n; i++) {
        struct bj_measure_job *j = &b->job[i];
        j->chosen = false;
        if (j->points == 0 || j->curve[BJ_MEASURE_CPUS])
            continue;
        const int64_t start = first && *ret_start < j->start_sec ? *ret_start
                                                                 : j->start_sec,
                      end = first && *ret_end > j->end_sec ? *ret_end
                                                           : j->end_sec;
        if (first && (j->curve_step_sec != first->curve_step_sec ||
                      (end - start) / first->curve_step_sec > RANGE_POINTS))
            continue;
        first = first ? first : j;
        j->chosen = true;
        *ret_start = start;
        *ret_end = end;
        *ret_step = first->curve_step_sec;
    }
    return first != NULL;
}

static int query_curves(struct bj_measure *m, struct bj_buf *text,
                        struct bj_err *err)
{
    static const unsigned digits[BJ_MEASURE_CURVES] = {
        [BJ_MEASURE_CPUS] = 6, [BJ_MEASURE_GPUS] = 6};
    struct bj_measure_batch *b = &m->batch;
    const int64_t scrape = (int64_t)(m->conf->scrape_usec / 1000000);
    int64_t start = 0, end = 0, step = 0;
    int r = 0;
    while (r == 0 && choose_curves(b, &start, &end, &step)) {
        b->curve_sec = 4 * scrape > step ? 4 * scrape : step;
        for (int i = 0; r == 0 && i < BJ_MEASURE_CURVES; i++) {
            struct course_reply a = {m, i, digits[i]};
            const struct bj_prom_sink sink = {&a, on_curve};
            if (i == BJ_MEASURE_GPUS && !b->gpus)
                continue;
            r = run_course(m, curve_queries[i], text, err);
            if (r == 0)
                r = bj_prom_range(m->prom, text->p, start + step, end, step,
                                  &sink, err);
        }
        /* without a curve of CPUs nothing is known of these jobs */
        for (unsigned i = 0; i < b->n; i++)
            if (b->job[i].chosen && !b->job[i].curve[BJ_MEASURE_CPUS])
                b->job[i].points = 0;
    }
    return r;
}

static int64_t to_int(double v, double by)
{
    return isnan(v) || v * by > 9e18 ? BJ_SQL_NULL : (int64_t)(v * by);
}

static void take_curves(const struct bj_measure *m, struct bj_measure_job *j)
{
    const int64_t scrape = (int64_t)(m->conf->scrape_usec / 1000000);
    const double *memory = j->curve[BJ_MEASURE_MEMORY];
    int64_t first = -1, last = -1;
    double rise = (double)NAN, steady = (double)NAN;
    const struct bj_evidence_use use = {
        .cpus = j->curve[BJ_MEASURE_CPUS],
        .bytes = j->curve[BJ_MEASURE_IO],
        .gpus = j->gpus > 0 ? j->curve[BJ_MEASURE_GPUS] : NULL,
        .n = j->points,
        .step_sec = j->curve_step_sec,
        .window_sec =
            4 * scrape > j->curve_step_sec ? 4 * scrape : j->curve_step_sec,
        .start_sec = j->start_sec,
        .end_sec = j->end_sec,
        .nodes = j->nodes > 0 ? j->nodes : 1};
    if (memory)
        bj_evidence_rise(memory, j->points, (double)j->curve_step_sec, &rise,
                         &steady);
    if (use.cpus && use.bytes && (j->gpus <= 0 || use.gpus))
        bj_evidence_idle(&use, &first, &last);
    j->v[BJ_USE_IDLE_START] = first < 0 ? BJ_SQL_NULL : first;
    j->v[BJ_USE_IDLE_END] = last < 0 ? BJ_SQL_NULL : last;
    j->v[BJ_USE_MEM_RISE] = to_int(rise, 1);
    j->v[BJ_USE_MEM_STEADY] = to_int(steady, 1e6);
}

/* measure_course.c: what nodes and GPUs used, and the values of
 * BJ_USE_IDLE_START to BJ_USE_MEM_STEADY, of the jobs of the batch that were
 * found. */
static int measure_course(struct bj_measure *m, struct bj_err *err)
{
    struct bj_measure_batch *b = &m->batch;
    struct bj_buf text = {0};
    b->only_chosen = true;
    int r = query_parts(m, &text, err);
    for (unsigned i = 0; i < b->n; i++)
        plan_curve(m, &b->job[i]);
    if (r == 0)
        r = query_curves(m, &text, err);
    for (unsigned i = 0; r == 0 && i < b->n; i++)
        if (b->job[i].points > 0)
            take_curves(m, &b->job[i]);
    b->only_chosen = false;
    b->curve_sec = 0;
    bj_buf_free(&text);
    return r;
}

enum { HOUR = 3600 };

/* A job's series is split when a label changes, for example when its account
 * becomes known, and a node may be scraped twice. So each query first computes
 * the maximum over differing labels, then the sum over nodes. */
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
    return measure_find(&m->batch, bj_json_text(bj_json_get(metric, "jobid")));
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
    measure_expand(m, text, sql);
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
    measure_expand(m, hours, text);
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
    if (q->column == BJ_USE_CPU_PEAK && !measure_has_rates(m))
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
        r = measure_course(m, err);
    bj_buf_free(&text);
    return r;
}
