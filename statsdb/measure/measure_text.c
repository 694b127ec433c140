#include "statsdb/measure/measure_impl.h"

#define NODE "jobid, instance, slurm_node"

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

void bj_measure_expand(const struct bj_measure *m, const char *text,
                       struct bj_buf *out)
{
    out->len = 0;
    bj_prom_expand(out, text, put_measure_value, m);
    bj_buf_put(out, "", 1);
}

bool bj_measure_has_rates(const struct bj_measure *m)
{
    return rates_range(m) > 0;
}
