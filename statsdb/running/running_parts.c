#include "statsdb/running/running_impl.h"
#include "store/db.h"

#include <inttypes.h>

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

void bj_running_expand(const struct bj_running_cluster *c, uint32_t window_sec,
                       int64_t oldest_sec, const char *text, struct bj_buf *out)
{
    const struct window w = {c, window_sec, oldest_sec};
    out->len = 0;
    bj_prom_expand(out, text, put_window_value, &w);
    bj_buf_put(out, "", 1);
}

#define NODE "jobid, instance, slurm_node"
#define GPU NODE ", gpu, index"

/* What a query is about, of a node or GPU.  CPUs are seconds x 1000 of the
 * window until they are divided by its part in which the job was seen.  SAMPLES
 * of a node are steps of the window, whatever the interval of scrapes. */
enum value { CPUS, CPU, MEMORY, LIMIT, BUSY, SAMPLES, UNUSED };

static const struct query {
    enum value value;
    unsigned digits;
    bool now; /* only for the present use */
    const char *text;
} queries[] = {
    {CPU, 3, false,
     "sum by (" NODE ") (increase(batchjob_job_cpu_seconds_total{$S}[$W]))"},
    {SAMPLES, 0, false,
     "max by (" NODE
     ") (count_over_time(batchjob_job_cpu_seconds_total{$S}[$W:$E]))"},
    {CPUS, 0, false, "max by (" NODE ") (batchjob_job_cpus{$S})"},
    {MEMORY, 0, true,
     "max by (" NODE ") (batchjob_job_memory_rss_bytes{$S}) + max by (" NODE
     ") (batchjob_job_memory_shmem_bytes{$S})"},
    {LIMIT, 0, true, "max by (" NODE ") (batchjob_job_memory_limit_bytes{$S})"},
    {BUSY, 6, false,
     "max by (" GPU ") (avg_over_time(batchjob_job_gpu_busy_ratio{$S}[$W]))"},
    {SAMPLES, 0, false,
     "max by (" GPU ") (count_over_time(batchjob_job_gpu_busy_ratio{$S}[$W]))"},
    {MEMORY, 0, true,
     "max by (" GPU ") (batchjob_job_gpu_memory_used_bytes{$S})"},
    /* As running_query.c counts them. */
    {UNUSED, 0, false,
     "(max by (" GPU ") (max_over_time(batchjob_job_gpu_busy_ratio{$S}[$W]))"
     " == 0) unless on (" NODE ", gpu) (sum by (" NODE
     ", gpu) (increase(batchjob_job_gpu_held_seconds_total{$S}[$W])) - sum by"
     " (" NODE
     ", gpu) (increase(batchjob_job_gpu_idle_seconds_total{$S}[$W])) > 1)"},
};

struct reply {
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

static int on_value(void *ctx, const struct bj_json *metric,
                    const struct bj_json *value, struct bj_err *err)
{
    (void)err;
    const struct reply *a = ctx;
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
                           [BUSY] = &p->busy_ppm, [SAMPLES] = &p->samples};
    if (a->value == UNUSED)
        p->unused = true;
    else
        parts_put(to[a->value], v);
    return 0;
}

/* From the time on which the values are about, nothing was used: a tenth of a
 * CPU, or 1 % of a GPU, count as nothing.  Of a job that is younger than the
 * window, or that was not seen for a part of it, that is not known.  A counter
 * needs no samples between its first and last one; a GPU's use does. */
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

int bj_running_parts(struct bj_running_cluster *c, struct bj_running_jobs *jobs,
                     uint32_t window_sec, bool now, int64_t now_sec,
                     struct bj_err *err)
{
    struct bj_buf text = {0};
    int e = 0;
    for (size_t i = 0; i < jobs->n; i++)
        bj_parts_clear(&jobs->job[i].parts);
    for (size_t i = 0; e == 0 && i < sizeof(queries) / sizeof(queries[0]);
         i++) {
        struct reply a = {jobs, queries[i].value, queries[i].digits};
        const struct bj_prom_sink sink = {&a, on_value};
        if (queries[i].now && !now)
            continue;
        bj_running_expand(c, window_sec, 0, queries[i].text, &text);
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
