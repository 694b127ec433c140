#include "statsdb/running/running_impl.h"

#include "store/db.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Percentage of a window's expected samples that a node must have. */
enum { COVERED_PERCENT = 90, FEWEST_SAMPLES = 2, STEPS = 60 };

struct window {
    const struct bj_running_cluster *c;
    uint32_t sec;
    int64_t oldest_sec;
};

/* The number of samples that counts as nearly all of a window. */
static int64_t samples_needed(const struct window *w)
{
    const int64_t scrape = (int64_t)(w->c->conf->prom.scrape_usec / 1000000);
    const int64_t all = scrape > 0 ? w->sec / scrape : 0;
    const int64_t need = all * COVERED_PERCENT / 100;
    return need > FEWEST_SAMPLES ? need : FEWEST_SAMPLES;
}

static uint32_t window_step(const struct window *w)
{
    return w->sec >= STEPS ? w->sec / STEPS : 1;
}

/* Placeholders: $S labels of the cluster, $W the window, $V the square of its
 * seconds, $E a sixtieth of it, $P the same, but no less than the interval of
 * scrapes, $N the number of samples that counts as nearly all, $F the oldest
 * time of a current sample. */
static void put_window_value(const void *ctx, char x, struct bj_buf *out)
{
    const struct window *w = ctx;
    const int64_t scrape = (int64_t)(w->c->conf->prom.scrape_usec / 1000000);
    switch (x) {
    case 'S':
        bj_buf_put(out, w->c->match.p ? w->c->match.p : "", w->c->match.len);
        break;
    case 'W':
        bj_buf_printf(out, "%" PRIu32 "s", w->sec);
        break;
    case 'V':
        bj_buf_printf(out, "%" PRIu64, (uint64_t)w->sec * w->sec);
        break;
    case 'E':
        bj_buf_printf(out, "%" PRIu32 "s", window_step(w));
        break;
    case 'P':
        bj_buf_printf(out, "%" PRId64 "s",
                      w->sec / 60 > scrape ? w->sec / 60 : scrape);
        break;
    case 'N':
        bj_buf_printf(out, "%" PRId64, samples_needed(w));
        break;
    default:
        bj_buf_printf(out, "%" PRId64, w->oldest_sec);
        break;
    }
}

/* Replace the placeholders of a query. */
static void running_expand(const struct bj_running_cluster *c,
                           uint32_t window_sec, int64_t oldest_sec,
                           const char *text, struct bj_buf *out)
{
    const struct window w = {c, window_sec, oldest_sec};
    out->len = 0;
    bj_prom_expand(out, text, put_window_value, &w);
    bj_buf_put(out, "", 1);
}

#define NODE "jobid, instance, slurm_node"
#define EACH_PART NODE ", gpu, index"

/* What a query is about, of a node or GPU.  CPUs are seconds x 1000 of
 * the window until they are divided by its part in which the job was seen.
 * SAMPLE_COUNT: of a node steps of the window, whatever the interval of
 * scrapes. */
enum value { CPUS, CPU, MEMORY, LIMIT, BUSY, SAMPLE_COUNT, UNUSED };

static const struct part_query {
    enum value value;
    unsigned digits;
    bool now; /* only for the present use */
    const char *text;
} part_queries[] = {
    {CPU, 3, false,
     "sum by (" NODE ") (increase(batchjob_job_cpu_seconds_total{$S}[$W]))"},
    {SAMPLE_COUNT, 0, false,
     "max by (" NODE
     ") (count_over_time(batchjob_job_cpu_seconds_total{$S}[$W:$E]))"},
    {CPUS, 0, false, "max by (" NODE ") (batchjob_job_cpus{$S})"},
    {MEMORY, 0, true,
     "max by (" NODE ") (batchjob_job_memory_rss_bytes{$S}) + max by (" NODE
     ") (batchjob_job_memory_shmem_bytes{$S})"},
    {LIMIT, 0, true, "max by (" NODE ") (batchjob_job_memory_limit_bytes{$S})"},
    {BUSY, 6, false,
     "max by (" EACH_PART
     ") (avg_over_time(batchjob_job_gpu_busy_ratio{$S}[$W]))"},
    {SAMPLE_COUNT, 0, false,
     "max by (" EACH_PART
     ") (count_over_time(batchjob_job_gpu_busy_ratio{$S}[$W]))"},
    {MEMORY, 0, true,
     "max by (" EACH_PART ") (batchjob_job_gpu_memory_used_bytes{$S})"},
    /* As running_query.c counts them. */
    {UNUSED, 0, false,
     "(max by (" EACH_PART
     ") (max_over_time(batchjob_job_gpu_busy_ratio{$S}[$W]))"
     " == 0) unless on (" NODE ", gpu) (sum by (" NODE
     ", gpu) (increase(batchjob_job_gpu_held_seconds_total{$S}[$W])) - sum by"
     " (" NODE
     ", gpu) (increase(batchjob_job_gpu_idle_seconds_total{$S}[$W])) > 1)"},
};

struct part_reply {
    const struct bj_running_jobs *jobs;
    enum value value;
    unsigned digits;
};

/* A second value of a node is that of another address; the larger counts, so
 * that use is never too small. */
static void parts_put(int64_t *to, int64_t v)
{
    *to = *to == BJ_SQL_NULL || v > *to ? v : *to;
}

static int on_part(void *ctx, const struct bj_json *metric,
                   const struct bj_json *value, struct bj_err *err)
{
    (void)err;
    const struct part_reply *a = ctx;
    struct bj_running_job *j =
        bj_running_find(a->jobs, bj_json_text(bj_json_get(metric, "jobid")));
    int64_t v;
    if (!j || j->ambiguous || bj_prom_value(value, a->digits, &v, NULL) < 0 ||
        v < 0)
        return 0;
    struct bj_part *p = bj_parts_of_series(&j->parts, metric);
    if (!p)
        return 0;
    int64_t *const to[] = {[CPUS] = &p->cpus,     [CPU] = &p->cpus_milli,
                           [MEMORY] = &p->memory, [LIMIT] = &p->memory_limit,
                           [BUSY] = &p->busy_ppm, [SAMPLE_COUNT] = &p->samples};
    if (a->value == UNUSED)
        p->unused = true;
    else
        parts_put(to[a->value], v);
    return 0;
}

/* From the time on which the values are about, nothing was used: a tenth of a
 * CPU, or 1 % of a GPU, count as nothing.  Of a job that is younger than
 * the window, or that was not seen for a part of it, that is not known.  A
 * counter needs no samples between its first and last one; a GPU's use
 * does. */
static void parts_finish(struct bj_part *p, const struct window *w,
                         int64_t now_sec)
{
    enum { LEAST_MILLI = 100, LEAST_PPM = 10000, SECOND = 1000, ALL = 100 };
    const int64_t samples = p->samples == BJ_SQL_NULL ? 0 : p->samples;
    if (p->gpu.n > 0) {
        if (samples >= samples_needed(w) && p->busy_ppm != BJ_SQL_NULL &&
            p->busy_ppm < LEAST_PPM)
            p->idle_since = now_sec - w->sec;
        return;
    }
    const int64_t steps = samples * window_step(w);
    const int64_t seen_sec = steps < w->sec ? steps : w->sec;
    if (seen_sec == 0)
        p->cpus_milli = BJ_SQL_NULL;
    if (p->cpus_milli == BJ_SQL_NULL)
        return;
    const bool whole = seen_sec * ALL >= w->sec * COVERED_PERCENT;
    p->unused = whole && p->cpus_milli < SECOND;
    p->cpus_milli /= seen_sec;
    if (whole && p->cpus_milli < LEAST_MILLI)
        p->idle_since = now_sec - w->sec;
}

/* Query what each node and GPU of the jobs used in a window.  now: also their
 * memory, and which of them are idle. */
static int running_parts(struct bj_running_cluster *c,
                         struct bj_running_jobs *jobs, uint32_t window_sec,
                         bool now, int64_t now_sec, struct bj_err *err)
{
    struct bj_buf text = {0};
    int e = 0;
    for (size_t i = 0; i < jobs->n; i++)
        bj_parts_clear(&jobs->job[i].parts);
    for (size_t i = 0;
         e == 0 && i < sizeof(part_queries) / sizeof(part_queries[0]); i++) {
        struct part_reply a = {jobs, part_queries[i].value,
                               part_queries[i].digits};
        const struct bj_prom_sink sink = {&a, on_part};
        if (part_queries[i].now && !now)
            continue;
        running_expand(c, window_sec, 0, part_queries[i].text, &text);
        e = text.failed ? bj_err_set(err, -ENOMEM, "running jobs")
                        : bj_prom_query(c->prom, text.p, now_sec, &sink, err);
    }
    bj_buf_free(&text);
    for (size_t i = 0; e == 0 && i < jobs->n; i++) {
        struct bj_parts *p = &jobs->job[i].parts;
        for (size_t k = 0; k < p->n; k++)
            parts_finish(&p->v[k], &(struct window){c, window_sec, 0}, now_sec);
        bj_parts_sort(p);
    }
    return e;
}

enum { FACTS = 4 }; /* of a query */

/* A job's series is split when a label changes, and a node may be scraped
 * twice.  Counts are those of the largest part; use is the sum of the parts, so
 * that it is never too small. */
#define GPU NODE ", gpu"
#define NODES(more, expr) "count by (jobid) (max by (" NODE more ") (" expr "))"
#define SAMPLES(more, name)                                                    \
    "count by (jobid) (max by (" NODE more ") (count_over_time(" name          \
    "{$S}[$W])) >= $N)"
#define GROWTH(name) "sum by (jobid) (increase(" name "{$S}[$W]))"
#define HIGHEST(more, name)                                                    \
    "sum by (jobid) (max by (" NODE more ") (max_over_time(" name "{$S}[$W]))" \
    ")"
/* The sum of two series exists only where both do. */
#define HELD                                                                   \
    "sum by (jobid) (max by (" NODE ") (batchjob_job_memory_rss_bytes{$S}) + " \
    "max by (" NODE ") (batchjob_job_memory_shmem_bytes{$S}))"
#define EACH_GPU(name) "sum by (" GPU ") (increase(" name "{$S}[$W]))"

/* A value, and the facts that need it. */
static const struct query {
    enum bj_running_value value;
    unsigned digits;
    int8_t fact[FACTS]; /* -1: none; the first -1: always needed */
    const char *text;
} queries[] = {
    {BJ_RV_NODES,
     0,
     {-1},
     NODES("", "count_over_time(batchjob_job_cpu_seconds_total{$S}[$W])")},
    {BJ_RV_COVERED, 0, {-1}, SAMPLES("", "batchjob_job_cpu_seconds_total")},
    {BJ_RV_FRESH,
     0,
     {-1},
     "count by (jobid) (max by (" NODE
     ") (timestamp(batchjob_job_cpu_seconds_total{$S})) >= $F)"},
    {BJ_RV_CPU,
     6,
     {BJ_FACT_CPU_EFFICIENCY, BJ_FACT_CPUS_BUSY, -1},
     GROWTH("batchjob_job_cpu_seconds_total")},
    {BJ_RV_NODES_UNUSED,
     0,
     {BJ_FACT_NODES_UNUSED, -1},
     "count by (jobid) (sum by (" NODE
     ") (increase(batchjob_job_cpu_seconds_total{$S}[$W])) < 1)"},
    {BJ_RV_IO_NODES,
     0,
     {BJ_FACT_IO_BYTES, -1},
     SAMPLES("", "batchjob_job_io_read_bytes_total")},
    {BJ_RV_IO,
     0,
     {BJ_FACT_IO_BYTES, -1},
     GROWTH("batchjob_job_io_read_bytes_total") " + " GROWTH(
         "batchjob_job_io_write_bytes_total")},
    {BJ_RV_MEM_SHARE,
     6,
     {BJ_FACT_MEM_EFFICIENCY, -1},
     "max by (jobid) ((max by (" NODE
     ") (min_over_time(batchjob_job_memory_rss_bytes{$S}[$W])) + max by (" NODE
     ") (min_over_time(batchjob_job_memory_shmem_bytes{$S}[$W]))) / max "
     "by (" NODE ") (max_over_time(batchjob_job_memory_limit_bytes{$S}[$W])))"},
    {BJ_RV_MEM_PEAK,
     0,
     {BJ_FACT_MEM_PEAK, -1},
     HIGHEST("", "batchjob_job_memory_held_peak_bytes")},
    {BJ_RV_MEM_RECENT_NODES,
     0,
     {BJ_FACT_MEM_RECENT_PEAK, -1},
     SAMPLES("", "batchjob_job_memory_charged_recent_peak_bytes")},
    {BJ_RV_MEM_RECENT,
     0,
     {BJ_FACT_MEM_RECENT_PEAK, -1},
     HIGHEST("", "batchjob_job_memory_charged_recent_peak_bytes")},
    {BJ_RV_MEM_REMOTE,
     6,
     {BJ_FACT_MEM_REMOTE, -1},
     "max by (jobid) (max by (" NODE
     ") (avg_over_time(batchjob_job_memory_remote_bytes{$S}[$W])) / max by"
     " (" NODE ") (avg_over_time(batchjob_job_memory_rss_bytes{$S}[$W])))"},
    {BJ_RV_THREADS,
     0,
     {BJ_FACT_THREADS, -1},
     "sum by (jobid) (max by (" NODE
     ") (max_over_time(batchjob_job_state_threads{$Sstate=\"running\"}[$W])))"},
    {BJ_RV_OPEN_FILES,
     0,
     {BJ_FACT_OPEN_FILES, -1},
     HIGHEST("", "batchjob_job_open_fds")},
    {BJ_RV_OOM_KILLS,
     0,
     {BJ_FACT_OOM_KILLS, -1},
     GROWTH("batchjob_job_oom_kills_total")},
    {BJ_RV_GPUS,
     0,
     {BJ_FACT_GPUS, BJ_FACT_GPUS_UNUSED, BJ_FACT_GPU_EFFICIENCY,
      BJ_FACT_GPU_IDLE},
     NODES(", gpu", "count_over_time(batchjob_job_gpu_busy_ratio{$S}[$W])")},
    {BJ_RV_GPU_COVERED,
     0,
     {BJ_FACT_GPUS_UNUSED, BJ_FACT_GPU_EFFICIENCY, BJ_FACT_GPU_IDLE, -1},
     SAMPLES(", gpu", "batchjob_job_gpu_busy_ratio")},
    /* GPUs that were never busy in a sample, and idle between samples. */
    {BJ_RV_GPUS_UNUSED,
     0,
     {BJ_FACT_GPUS_UNUSED, -1},
     "count by (jobid) ((max by (" GPU
     ") (max_over_time(batchjob_job_gpu_busy_ratio{$S}[$W])) == 0) unless on "
     "(" GPU
     ") (" EACH_GPU("batchjob_job_gpu_held_seconds_total") " - " EACH_GPU(
         "batchjob_job_gpu_idle_seconds_total") " > 1))"},
    {BJ_RV_GPU_BUSY,
     6,
     {BJ_FACT_GPU_EFFICIENCY, -1},
     "avg by (jobid) (max by (" GPU
     ") (avg_over_time(batchjob_job_gpu_busy_ratio{$S}[$W])))"},
    {BJ_RV_GPU_IDLE,
     6,
     {BJ_FACT_GPU_IDLE, -1},
     GROWTH("batchjob_job_gpu_idle_seconds_total")},
    {BJ_RV_GPU_MEM,
     0,
     {BJ_FACT_GPU_MEM_PEAK, -1},
     HIGHEST(", gpu", "batchjob_job_gpu_memory_used_bytes")},
    {BJ_RV_MEM_NOW, 0, {BJ_FACT_MEM_FORECAST, -1}, HELD},
    {BJ_RV_MEM_RISE,
     0,
     {BJ_FACT_MEM_RISE, BJ_FACT_MEM_GROWTH, BJ_FACT_MEM_FORECAST, -1},
     "3600 * clamp_min(deriv((" HELD ")[$W:$P]), 0)"},
    {BJ_RV_MEM_STEADY,
     6,
     {BJ_FACT_MEM_STEADY, -1},
     /* The variance of equally spaced times is the square of their range,
      * divided by 12. */
     "clamp_max(deriv((" HELD
     ")[$W:$P]) ^ 2 * $V / 12 / (stdvar_over_time((" HELD ")[$W:$P]) > 0), 1)"},
};

/* --- facts -----------------------------------------------------------------
 */

static double query_number(int64_t v)
{
    return v == BJ_SQL_NULL ? (double)NAN : (double)v;
}

/* A count without a series is 0, provided that the counted parts are known. */
static double counted(int64_t v)
{
    return v == BJ_SQL_NULL ? 0 : (double)v;
}

static void gpu_facts(const struct bj_running_job *j, double *f)
{
    const int64_t *v = j->v;
    int64_t gpus = j->gpus > 0 ? j->gpus : 0;
    int64_t seen = v[BJ_RV_GPUS] > 0 ? v[BJ_RV_GPUS] : 0;
    int64_t covered = v[BJ_RV_GPU_COVERED] > 0 ? v[BJ_RV_GPU_COVERED] : 0;
    /* If the number of GPUs differs from accounting, the value is unknown. */
    if (seen != gpus)
        return;
    f[BJ_FACT_GPUS] = (double)gpus;
    if (covered != gpus)
        return;
    f[BJ_FACT_GPUS_UNUSED] = gpus > 0 ? counted(v[BJ_RV_GPUS_UNUSED]) : 0;
    if (gpus == 0)
        return;
    f[BJ_FACT_GPU_EFFICIENCY] = 100 * query_number(v[BJ_RV_GPU_BUSY]) / 1e6;
    f[BJ_FACT_GPU_IDLE] = query_number(v[BJ_RV_GPU_IDLE]) / 1e6;
    f[BJ_FACT_GPU_MEM_PEAK] = query_number(v[BJ_RV_GPU_MEM]);
}

/* Memory that rises; the curve is that of the window. */
static void rise_facts(const struct bj_running_job *j, double window_sec,
                       double *f)
{
    const int64_t *v = j->v;
    const double of = f[BJ_FACT_MEM_ALLOCATED],
                 rise = query_number(v[BJ_RV_MEM_RISE]);
    double left = f[BJ_FACT_TIME_LIMIT] - f[BJ_FACT_RUNTIME];
    left = left < 0 ? 0 : left; /* NAN stays */
    f[BJ_FACT_MEM_RISE] = rise;
    f[BJ_FACT_MEM_STEADY] = 100 * query_number(v[BJ_RV_MEM_STEADY]) / 1e6;
    if (!(of > 0))
        return;
    f[BJ_FACT_MEM_GROWTH] = 100 * rise * window_sec / 3600 / of;
    f[BJ_FACT_MEM_FORECAST] =
        100 * (query_number(v[BJ_RV_MEM_NOW]) + rise * left / 3600) / of;
}

static bool is_complete(const struct bj_running_job *j)
{
    const int64_t *v = j->v;
    return j->nodes > 0 && v[BJ_RV_NODES] == j->nodes &&
           v[BJ_RV_COVERED] == j->nodes && v[BJ_RV_FRESH] == j->nodes;
}

void bj_running_facts(const struct bj_running_job *j, uint32_t window_sec,
                      int64_t grace_sec, int64_t now_sec,
                      double f[BJ_FACT_COUNT])
{
    const int64_t *v = j->v;
    double window = window_sec;
    for (int i = 0; i < BJ_FACT_COUNT; i++)
        f[i] = (double)NAN;
    /* Unknown while the window includes samples of an earlier run or of the
     * job's start, or if the job was suspended for an unknown part of it. */
    if (j->ambiguous || !is_complete(j) || j->suspended_sec > 0 ||
        now_sec - j->start_sec < (int64_t)window_sec + grace_sec)
        return;
    f[BJ_FACT_STATE] = 2;
    f[BJ_FACT_RUNTIME] = (double)(now_sec - j->start_sec);
    f[BJ_FACT_TIME_LIMIT] =
        j->limit_sec == INT64_MAX ? (double)NAN : query_number(j->limit_sec);
    f[BJ_FACT_TIME_EFFICIENCY] =
        f[BJ_FACT_TIME_LIMIT] > 0
            ? 100 * f[BJ_FACT_RUNTIME] / f[BJ_FACT_TIME_LIMIT]
            : (double)NAN;
    f[BJ_FACT_WAIT] = j->wait_sec < 0 ? (double)NAN : query_number(j->wait_sec);
    f[BJ_FACT_NODES] = (double)j->nodes;
    f[BJ_FACT_CPUS] = query_number(j->cpus);
    f[BJ_FACT_INTERACTIVE] = j->interactive;
    f[BJ_FACT_RESTARTS] = query_number(j->restarts);
    f[BJ_FACT_MEM_ALLOCATED] = query_number(j->memory);
    f[BJ_FACT_CPUS_BUSY] = query_number(v[BJ_RV_CPU]) / 1e6 / window;
    if (j->cpus > 0)
        f[BJ_FACT_CPU_EFFICIENCY] =
            100 * f[BJ_FACT_CPUS_BUSY] / (double)j->cpus;
    f[BJ_FACT_NODES_UNUSED] = counted(v[BJ_RV_NODES_UNUSED]);
    if (v[BJ_RV_IO_NODES] == j->nodes)
        f[BJ_FACT_IO_BYTES] = query_number(v[BJ_RV_IO]);
    f[BJ_FACT_MEM_EFFICIENCY] = 100 * query_number(v[BJ_RV_MEM_SHARE]) / 1e6;
    f[BJ_FACT_MEM_PEAK] = query_number(v[BJ_RV_MEM_PEAK]);
    if (v[BJ_RV_MEM_RECENT_NODES] == j->nodes)
        f[BJ_FACT_MEM_RECENT_PEAK] = query_number(v[BJ_RV_MEM_RECENT]);
    f[BJ_FACT_MEM_REMOTE] = query_number(v[BJ_RV_MEM_REMOTE]) / 1e4;
    f[BJ_FACT_THREADS] = query_number(v[BJ_RV_THREADS]);
    f[BJ_FACT_OPEN_FILES] = query_number(v[BJ_RV_OPEN_FILES]);
    f[BJ_FACT_OOM_KILLS] = query_number(v[BJ_RV_OOM_KILLS]);
    gpu_facts(j, f);
    rise_facts(j, window, f);
}

/* --- queries ---------------------------------------------------------------
 */

struct reply {
    const struct bj_running_jobs *jobs;
    const struct query *q;
};

/* If a job has two values, they contradict each other, and the value is
 * unknown. */
static int on_value(void *ctx, const struct bj_json *metric,
                    const struct bj_json *value, struct bj_err *err)
{
    (void)err;
    const struct reply *a = ctx;
    struct bj_running_job *j =
        bj_running_find(a->jobs, bj_json_text(bj_json_get(metric, "jobid")));
    int64_t v;
    if (!j || bj_prom_value(value, a->q->digits, &v, NULL) < 0)
        return 0;
    int64_t *to = &j->v[a->q->value];
    if (*to != BJ_SQL_NULL || v < 0)
        j->ambiguous = true;
    *to = v;
    return 0;
}

/* Does a rule of this window use the fact? */
static bool uses(const struct bj_rules *rules, uint32_t window_sec, int8_t fact)
{
    const struct bj_rule *rule;
    for (size_t i = 0; (rule = bj_rules_at(rules, i)); i++) {
        for (unsigned k = 0;
             rule->running_sec == window_sec && rule->enabled && k < rule->rows;
             k++) {
            const struct bj_rule_row *row = &rule->row[k];
            if (row->left == fact || row->left_by == fact ||
                row->right == fact || row->right_by == fact)
                return true;
        }
    }
    return false;
}

static bool is_needed(const struct bj_running *r, uint32_t window_sec,
                      const struct query *q)
{
    if (q->fact[0] < 0)
        return true;
    for (size_t i = 0; i < FACTS && q->fact[i] >= 0; i++)
        if (uses(r->rules, window_sec, q->fact[i]))
            return true;
    return false;
}

static int query_window(struct bj_running *r, struct bj_running_cluster *c,
                        struct bj_running_jobs *jobs, uint32_t window_sec,
                        int64_t now_sec, struct bj_err *err)
{
    struct bj_buf text = {0};
    int64_t oldest =
        now_sec - (int64_t)(r->conf->running.max_age_usec / 1000000);
    int e = 0;
    for (size_t i = 0; i < jobs->n; i++)
        for (int k = 0; k < BJ_RUNNING_VALUES; k++)
            jobs->job[i].v[k] = BJ_SQL_NULL;
    for (size_t i = 0; e == 0 && i < sizeof(queries) / sizeof(queries[0]);
         i++) {
        struct reply a = {jobs, &queries[i]};
        const struct bj_prom_sink sink = {&a, on_value};
        if (!is_needed(r, window_sec, &queries[i]))
            continue;
        running_expand(c, window_sec, oldest, queries[i].text, &text);
        e = text.failed ? bj_err_set(err, -ENOMEM, "running jobs")
                        : bj_prom_query(c->prom, text.p, now_sec, &sink, err);
    }
    bj_buf_free(&text);
    return e;
}

/* Do rules of this window need what single nodes and GPUs used? */
static bool needs_parts(const struct bj_rules *rules, uint32_t window_sec)
{
    static const int8_t facts[] = {
        BJ_FACT_NODES_UNUSED, BJ_FACT_GPUS_UNUSED,    BJ_FACT_NODES_UNEVEN,
        BJ_FACT_GPUS_UNEVEN,  BJ_FACT_NODE_DEVIATION, BJ_FACT_GPU_DEVIATION};
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        if (uses(rules, window_sec, facts[i]))
            return true;
    return false;
}

/* The facts about single nodes and GPUs, and their names. */
static int part_facts(struct bj_running_jobs *jobs, struct bj_running_job *j,
                      unsigned w, struct bj_err *err)
{
    struct bj_fact_names names = {.of = {NULL}};
    double *f = j->fact[w];
    /* Without the facts of the job nothing is known of its parts. */
    if (isnan(f[BJ_FACT_STATE]) || j->parts.n == 0)
        return 0;
    bj_parts_facts(&j->parts, j->nodes,
                   isnan(f[BJ_FACT_GPUS]) ? 0 : (int64_t)f[BJ_FACT_GPUS], f,
                   &names);
    for (int i = 0; i < BJ_FACT_COUNT; i++) {
        if (!names.of[i])
            continue;
        if (!j->names[w])
            j->names[w] = bj_arena_alloc(&jobs->arena, sizeof(names.of));
        if (j->names[w])
            j->names[w][i] =
                bj_arena_copy(&jobs->arena, bj_slice_str(names.of[i])).p;
    }
    bj_arena_free(&names.arena);
    return jobs->arena.failed ? bj_err_set(err, -ENOMEM, "running jobs") : 0;
}

static int window_facts(struct bj_running *r, struct bj_running_cluster *c,
                        struct bj_running_jobs *jobs, unsigned w,
                        int64_t now_sec, struct bj_err *err)
{
    const int64_t grace = (int64_t)(c->conf->prom.grace_usec / 1000000);
    int e = query_window(r, c, jobs, r->window[w], now_sec, err);
    if (e == 0 && needs_parts(r->rules, r->window[w]))
        e = running_parts(c, jobs, r->window[w], false, now_sec, err);
    for (size_t i = 0; e == 0 && i < jobs->n; i++) {
        struct bj_running_job *j = &jobs->job[i];
        j->fact[w] =
            bj_arena_alloc(&jobs->arena, BJ_FACT_COUNT * sizeof(double));
        if (!j->fact[w])
            return bj_err_set(err, -ENOMEM, "running jobs");
        bj_running_facts(j, r->window[w], grace, now_sec, j->fact[w]);
        j->known = j->known || !isnan(j->fact[w][BJ_FACT_STATE]);
        if (needs_parts(r->rules, r->window[w]))
            e = part_facts(jobs, j, w, err);
    }
    return e;
}

int bj_running_query(struct bj_running *r, struct bj_running_cluster *c,
                     struct bj_running_jobs *jobs, int64_t now_sec,
                     struct bj_err *err)
{
    enum { NOW_SEC = 300, SCRAPES = 5 };
    const int64_t scrape = (int64_t)(c->conf->prom.scrape_usec / 1000000);
    const uint32_t now =
        (uint32_t)(scrape * SCRAPES > NOW_SEC ? scrape * SCRAPES : NOW_SEC);
    int e = 0;
    for (unsigned w = 0; e == 0 && jobs->n > 0 && w < r->windows; w++)
        e = window_facts(r, c, jobs, w, now_sec, err);
    jobs->since_sec = now_sec - now;
    if (e == 0 && jobs->n > 0)
        e = running_parts(c, jobs, now, true, now_sec, err);
    return e;
}
