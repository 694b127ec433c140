/* /api/v1/applications: what ended jobs used, by application. */
#include "apiserver/v1/applications.h"

#include "apiserver/frame/page.h"
#include "apiserver/frame/state.h"
#include "apiserver/v1/table.h"
#include "base/local.h"

enum {
    SHOWN = 50, /* rows of a page */
    MASK = BJ_BIT(BJ_PARAM_USER) | BJ_BIT(BJ_PARAM_ACCOUNT) |
           BJ_BIT(BJ_PARAM_PARTITION) | BJ_BIT(BJ_PARAM_CLUSTER) |
           BJ_BIT(BJ_PARAM_MINE) | BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO)
};

/* Of one job, as in the daily sums: CPU and GPU seconds allocated; CPU seconds
 * of jobs whose use is known, and that use in milliseconds.  Resized jobs have
 * sums over time.  As real numbers, since sums of what schedulers report could
 * exceed 64 bits. */
#define HELD(sum, count)                                                       \
    "coalesce(1.0 * j." sum ", 1.0 * j." count " * j.elapsed, 0)"
#define CORE HELD("cpu_sec", "cpus")
#define GPU HELD("gpu_sec", "gpus")
#define KNOWN                                                                  \
    "(CASE WHEN j.cpu_usec IS NULL THEN 0 ELSE " CORE                          \
    " END + coalesce(u.counted_cpu_known_sec, 0))"
#define USED                                                                   \
    "(coalesce(j.cpu_usec, 0) / 1000.0 + coalesce(u.counted_cpu_more_msec, "   \
    "0))"
#define GPU_KNOWN "1.0 * coalesce(u.counted_gpu_sec, 0)"
#define GPU_USED "1.0 * coalesce(u.counted_gpu_used_msec, 0)"
#define ENERGY_CORE "1.0 * coalesce(u.counted_cpu_sec, 0)"

#define WHOLE(x) "CAST(round(" x ") AS INTEGER)"
#define HOURS(seconds) WHOLE("sum(" seconds ") / 3.6")
#define PERCENT(part, of)                                                      \
    WHOLE("1000000 * sum(" part ") / nullif(sum(" of "), 0)")

static const struct bj_column columns[] = {
    BJ_COLUMN(
        "application", TEXT, "(SELECT text FROM word WHERE id = u.application)",
        "Application; \"several\": none used half of the CPU time; null: not "
        "recognised.",
        .label = "Application", .form = BJ_SHOW_APPLICATION),
    BJ_COLUMN("jobs", INT, "count(*)", "Jobs that ended in the time.",
              .label = "Jobs ended"),
    BJ_COLUMN("core_hours", MILLI, HOURS(CORE),
              "CPUs allocated, times hours, of the whole run of these jobs.",
              .label = "Core hours", .form = BJ_SHOW_ROUND),
    BJ_COLUMN("cpu_used_hours", MILLI,
              "CASE WHEN sum(" KNOWN
              ") > 0 THEN " WHOLE("sum(" USED ") / 3600") " END",
              "CPU time used in hours, of jobs where it is known."),
    BJ_COLUMN(
        "cpu_efficiency_percent", PPM, PERCENT(USED " / 1000", KNOWN),
        "CPU time used, in percent of allocated, of jobs where it is known.",
        .label = "CPU efficiency", .form = BJ_SHOW_PERCENT),
    BJ_COLUMN("cpu_coverage", PPM, PERCENT(KNOWN, CORE),
              "Jobs with known CPU time, in percent of core_hours."),
    BJ_COLUMN("gpu_hours", MILLI, HOURS(GPU), "GPUs allocated, times hours.",
              .label = "GPU hours", .form = BJ_SHOW_ROUND),
    BJ_COLUMN("gpu_efficiency_percent", PPM,
              PERCENT(GPU_USED " / 1000", GPU_KNOWN),
              "Mean use of the GPUs in percent, of jobs where it is known.",
              .label = "GPU efficiency", .form = BJ_SHOW_GPU),
    BJ_COLUMN("gpu_coverage", PPM, PERCENT(GPU_KNOWN, GPU),
              "Jobs with known GPU use, in percent of gpu_hours."),
    BJ_COLUMN("energy_kwh", MICRO, WHOLE("sum(1.0 * u.energy_uj) / 3600000"),
              "Energy of the jobs where it is known; null: of none.",
              .label = "Energy", .form = BJ_SHOW_KWH),
    BJ_COLUMN("energy_coverage", PPM, PERCENT(ENERGY_CORE, CORE),
              "Jobs with known energy, in percent of core_hours."),
    {.name = NULL},
};

static int applications_make(struct bj_call *c, const struct bj_params *p,
                             struct bj_picked *k, struct bj_query *q)
{
    bj_picked_table(k, columns);
    int64_t from, to;
    int r = bj_params_period(c, p, &from, &to);
    if (r != 0)
        return r;
    const struct bj_filter_time time = {
        from - (int64_t)(c->worker->conf->longest_usec / 1000000), to, from};
    bj_query_sql(q, "SELECT ");
    bj_table_select(q, k);
    bj_query_sql(q, " FROM job AS j LEFT JOIN job_use AS u ON u.job = j.id"
                    " WHERE j.\"end\" >= ");
    bj_query_int(q, from);
    bj_query_sql(q, " AND j.\"end\" <= ");
    bj_query_int(q, to);
    r = bj_query_scope(q, c, p, "j");
    if (r == 0)
        r = bj_query_between(q, c, "j.at", &time);
    bj_query_sql(q, " GROUP BY u.application ORDER BY sum(" CORE
                    ") DESC, count(*) DESC, 1 LIMIT ");
    bj_query_int(q, (int64_t)c->worker->conf->max_rows + 1);
    return r;
}

static int on_applications(struct bj_call *c)
{
    struct bj_query q = {0};
    struct bj_picked k;
    struct bj_params p;
    int r = bj_params_read(c, MASK, &p);
    if (r == 0)
        r = applications_make(c, &p, &k, &q);
    if (r == 0)
        r = bj_table_reply(c, &q, &k, c->worker->conf->max_rows);
    bj_query_free(&q);
    return r;
}

static const char *const shown[] = {"application", "jobs",
                                    "core_hours",  "cpu_efficiency_percent",
                                    "gpu_hours",   "gpu_efficiency_percent",
                                    "energy_kwh",  NULL};

int bj_applications_page(struct bj_call *c, const struct bj_params *p)
{
    struct bj_query q = {0};
    struct bj_picked k;
    struct bj_page_table table;
    bool cut = false;
    int r = applications_make(c, p, &k, &q);
    bj_page_table_begin(&table, &c->reply->body, columns, shown, "");
    table.most = SHOWN;
    if (r == 0)
        r = bj_table_rows(c, &q, &k, &(struct bj_output){.cells = &table.cells},
                          c->worker->conf->max_rows, &cut);
    bj_page_table_end(&table, "No job has ended in this time.");
    if (cut || table.rows > SHOWN)
        bj_local_html(&c->reply->body,
                      "<p>{There are more applications; the API lists all.}"
                      "</p>\n");
    bj_query_free(&q);
    return r;
}

const struct bj_endpoint bj_endpoints_applications[] = {
    {.path = "/api/v1/applications",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_applications,
     .help = "What ended jobs used, by application, the largest first.",
     .params = MASK,
     .columns = columns},
    {.path = NULL},
};
