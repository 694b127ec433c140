#include "statsdb/derive/evidence.h"
#include "statsdb/measure/measure_impl.h"

#include <math.h>
#include <stdlib.h>

#define NODE "jobid, instance, slurm_node"
#define GPU NODE ", gpu, index"
#define EACH(by, over, name)                                                   \
    "max by (" by ") (" over "_over_time($(" name "{$S}$)))"

struct reply {
    struct bj_measure *m;
    int which;
    unsigned digits;
};

static int run_query(struct bj_measure *m, const char *text, struct bj_buf *sql,
                     struct bj_err *err)
{
    bj_measure_expand(m, text, sql);
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
    {CPU, 3, false, EACH(NODE, "max", "batchjob_job_cpu_seconds_total")},
    {CPUS, 0, false, EACH(NODE, "max", "batchjob_job_cpus")},
    {MEMORY, 0, false,
     EACH(NODE, "max", "batchjob_job_memory_held_peak_bytes")},
    {LIMIT, 0, false, EACH(NODE, "max", "batchjob_job_memory_limit_bytes")},
    {BUSY, 6, true, EACH(GPU, "avg", "batchjob_job_gpu_busy_ratio")},
    {BUSIEST, 6, true, EACH(GPU, "max", "batchjob_job_gpu_busy_ratio")},
    {MEMORY, 0, true, EACH(GPU, "max", "batchjob_job_gpu_memory_used_bytes")},
};

static int on_part(void *ctx, const struct bj_json *metric,
                   const struct bj_json *value, struct bj_err *err)
{
    (void)err;
    const struct reply *a = ctx;
    struct bj_measure_job *j = bj_measure_find(
        &a->m->batch, bj_json_text(bj_json_get(metric, "jobid")));
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
        struct reply a = {m, part_queries[i].value, part_queries[i].digits};
        const struct bj_prom_sink sink = {&a, on_part};
        bool any = false;
        for (unsigned k = 0; k < b->n; k++) {
            b->job[k].chosen = has_parts(&b->job[k], part_queries[i].gpu);
            any = any || b->job[k].chosen;
        }
        if (!any)
            continue;
        r = run_query(m, part_queries[i].text, text, err);
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
    const struct reply *a = ctx;
    struct bj_measure_job *j = bj_measure_find(
        &a->m->batch, bj_json_text(bj_json_get(metric, "jobid")));
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
            struct reply a = {m, i, digits[i]};
            const struct bj_prom_sink sink = {&a, on_curve};
            if (i == BJ_MEASURE_GPUS && !b->gpus)
                continue;
            r = run_query(m, curve_queries[i], text, err);
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

int bj_measure_course(struct bj_measure *m, struct bj_err *err)
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
