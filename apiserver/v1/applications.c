/* /api/v1/applications: what jobs used, by application, from the daily sums of
 * the store. */
#include "apiserver/v1/applications.h"

#include "apiserver/frame/page.h"
#include "apiserver/frame/state.h"
#include "apiserver/v1/sum_rows.h"
#include "apiserver/v1/table.h"
#include "base/local.h"

enum {
    SHOWN = 50, /* rows of a page */
    MASK = BJ_BIT(BJ_PARAM_USER) | BJ_BIT(BJ_PARAM_ACCOUNT) |
           BJ_BIT(BJ_PARAM_PARTITION) | BJ_BIT(BJ_PARAM_CLUSTER) |
           BJ_BIT(BJ_PARAM_MINE) | BJ_BIT(BJ_PARAM_FROM) | BJ_BIT(BJ_PARAM_TO)
};

/* The sums of an application, s, as columns of the tables that they are read
 * from: of jobs whose application is known, and of all. */
#define APPLICATION_SUMS(X)                                                    \
    X(jobs, "r.jobs", "r.jobs_ended")                                          \
    X(cpu, "r.cpu_sec", "r.cpu_sec")                                           \
    X(known, "r.cpu_known_sec",                                                \
      "r.cpu_sec - r.cpu_unknown_sec + coalesce(e.cpu_known_sec, 0)")          \
    X(used, "r.cpu_used_msec",                                                 \
      "r.cpu_used_msec + coalesce(e.cpu_more_msec, 0)")                        \
    X(gpu, "r.gpu_sec", "r.gpu_sec")                                           \
    X(gpu_known, "r.gpu_known_sec", "coalesce(e.gpu_sec, 0)")                  \
    X(gpu_used, "r.gpu_used_msec", "coalesce(e.gpu_used_msec, 0)")             \
    X(energy_cpu, "r.energy_cpu_sec", "coalesce(e.cpu_sec, 0)")                \
    X(energy, "r.energy_mj", "coalesce(e.energy_mj, 0)")

#define WHOLE(x) "CAST(round(" x ") AS INTEGER)"
#define HOURS(seconds) WHOLE(seconds " / 3.6")
#define PPM(part, of) WHOLE("1000000.0 * " part " / nullif(" of ", 0)")
#define PPM_OF_MSEC(msec, of) WHOLE("1000.0 * " msec " / nullif(" of ", 0)")
#define IF_ANY(known, x) "CASE WHEN " known " > 0 THEN " x " END"

static const struct bj_column columns[] = {
    BJ_COLUMN(
        "application", TEXT, "(SELECT text FROM word WHERE id = s.application)",
        "Application; \"several\": none used half of the CPU time; null: not "
        "recognised, or the job runs.",
        .label = "Application", .form = BJ_SHOW_APPLICATION),
    BJ_COLUMN("jobs", INT, "s.jobs", "Jobs that ended in the time.",
              .label = "Jobs ended"),
    BJ_COLUMN("core_hours", MILLI, HOURS("s.cpu"),
              "CPUs allocated, times hours.", .label = "CPU hours",
              .form = BJ_SHOW_ROUND),
    BJ_COLUMN("cpu_used_hours", MILLI,
              IF_ANY("s.known", WHOLE("s.used / 3600.0")),
              "CPU time used in hours, of jobs where it is known."),
    BJ_COLUMN(
        "cpu_efficiency_percent", PPM, PPM_OF_MSEC("s.used", "s.known"),
        "CPU time used, in percent of allocated, of jobs where it is known.",
        .label = "CPU efficiency", .form = BJ_SHOW_PERCENT),
    BJ_COLUMN("cpu_coverage", PPM, PPM("s.known", "s.cpu"),
              "Jobs with known CPU time, in percent of core_hours."),
    BJ_COLUMN("gpu_hours", MILLI, HOURS("s.gpu"),
              "GPUs allocated, times hours.", .label = "GPU hours",
              .form = BJ_SHOW_ROUND),
    BJ_COLUMN("gpu_efficiency_percent", PPM,
              PPM_OF_MSEC("s.gpu_used", "s.gpu_known"),
              "Mean use of the GPUs in percent, of jobs where it is known.",
              .label = "GPU efficiency", .form = BJ_SHOW_GPU),
    BJ_COLUMN("gpu_coverage", PPM, PPM("s.gpu_known", "s.gpu"),
              "Jobs with known GPU use, in percent of gpu_hours."),
    BJ_COLUMN("energy_kwh", MICRO,
              IF_ANY("s.energy_cpu", WHOLE("s.energy / 3600.0")),
              "Energy of the jobs where it is known; null: of none.",
              .label = "Energy", .form = BJ_SHOW_KWH),
    BJ_COLUMN("energy_coverage", PPM, PPM("s.energy_cpu", "s.cpu"),
              "Jobs with known energy, in percent of core_hours."),
    {.name = NULL},
};

/* Select the sums of all jobs, which the caller knows. */
static void applications_known(struct bj_query *q, const struct bj_usage_sum *s)
{
    const struct bj_bill *b = &s->bill;
    const int64_t v[] = {s->ended,         b->cpu_sec,        b->cpu_known_sec,
                         b->cpu_used_msec, b->gpu_sec,        b->gpu_known_sec,
                         b->gpu_used_msec, b->energy_cpu_sec, b->energy_mj};
    size_t i = 0;
#define SUM_IS(name, named, every)                                             \
    bj_query_sql(q, i ? ", CAST(" : "SELECT CAST(");                           \
    bj_query_int(q, v[i++]);                                                   \
    bj_query_sql(q, " AS INTEGER) AS " #name);
    APPLICATION_SUMS(SUM_IS)
#undef SUM_IS
}

/* Select them from the store. */
static int applications_every(struct bj_call *c, const struct bj_params *p,
                              const struct bj_sum_rows *rows,
                              struct bj_query *q)
{
#define SUM_OF(name, named, every) ", sum(" every ") AS " #name
    bj_query_sql(
        q, "SELECT 1 AS one" APPLICATION_SUMS(
               SUM_OF) " FROM mo CROSS JOIN assoc AS a CROSS JOIN rollup_usage"
                       " AS r LEFT JOIN rollup_energy AS e ON e.id = r.id");
#undef SUM_OF
    bj_sum_rows_where(q, rows);
    return bj_query_scope(q, c, p, "a");
}

/* A row of each application in named, and of all jobs in every.  all: its sums,
 * or NULL. */
static int applications_with(struct bj_call *c, const struct bj_params *p,
                             const struct bj_sum_rows *rows,
                             const struct bj_usage_sum *all, struct bj_query *q)
{
    bj_sum_rows_with(q, rows);
#define SUM_OF(name, named, every) ", sum(" named ") AS " #name
    bj_query_sql(q, ", named AS MATERIALIZED (SELECT r.application AS "
                    "application" APPLICATION_SUMS(
                        SUM_OF) " FROM mo CROSS JOIN assoc AS a CROSS JOIN"
                                " rollup_application AS r");
#undef SUM_OF
    bj_sum_rows_where(q, rows);
    int r = bj_query_scope(q, c, p, "a");
#define SUM_OF(name, named, every) ", sum(" every ") AS " #name
    bj_query_sql(q, " GROUP BY r.application), every AS MATERIALIZED (");
    if (r == 0 && all)
        applications_known(q, all);
    else if (r == 0)
        r = applications_every(c, p, rows, q);
    bj_query_sql(q, ")");
    return r;
}

static int applications_make(struct bj_call *c, const struct bj_params *p,
                             const struct bj_usage_sum *all,
                             struct bj_picked *k, struct bj_query *q)
{
    struct bj_sum_rows rows;
    bj_picked_table(k, columns);
    int r = bj_sum_rows_read(c, p, false, &rows);
    if (r == 0)
        r = applications_with(c, p, &rows, all, q);
    bj_query_sql(q, " SELECT ");
    bj_table_select(q, k);
    /* The others: all without the named, at least 0 while a job that accounting
     * has corrected is not yet counted again. */
#define NAME(name, named, every) ", " #name
#define REST(name, named, every)                                               \
    ", CASE WHEN every_sum." #name " > named_sum." #name                       \
    " THEN every_sum." #name " - named_sum." #name " ELSE 0 END"
#define ALL_OF(name, named, every) ", coalesce(sum(" #name "), 0) AS " #name
    bj_query_sql(q, " FROM (SELECT application" APPLICATION_SUMS(
                        NAME) " FROM named UNION ALL SELECT "
                              "NULL" APPLICATION_SUMS(
                                  REST) " FROM every AS "
                                        "every_sum CROSS "
                                        "JOIN"
                                        " (SELECT 1 AS "
                                        "on"
                                        "e" APPLICATION_SUMS(ALL_OF) " FROM "
                                                                     "named)"
                                                                     " AS "
                                                                     "named_"
                                                                     "sum) "
                                                                     "AS s "
                                                                     "WHERE "
                                                                     "s."
                                                                     "jobs "
                                                                     "> 0 OR"
                                                                     " s."
                                                                     "cpu > "
                                                                     "0 "
                                                                     "ORDER "
                                                                     "BY "
                                                                     "s.cpu "
                                                                     "DESC, "
                                                                     "s."
                                                                     "jobs "
                                                                     "DESC, "
                                                                     "1"
                                                                     " LIMIT"
                                                                     " ");
#undef NAME
#undef REST
#undef ALL_OF
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
        r = applications_make(c, &p, NULL, &k, &q);
    if (r == 0)
        r = bj_table_reply(c, &q, &k, c->worker->conf->max_rows);
    bj_query_free(&q);
    return r;
}

static const char *const shown[] = {"application", "jobs",
                                    "core_hours",  "cpu_efficiency_percent",
                                    "gpu_hours",   "gpu_efficiency_percent",
                                    "energy_kwh",  NULL};

/* Say when the sums lack jobs. */
static int applications_note(struct bj_call *c)
{
    struct bj_st *st;
    int r = bj_reader_prepare(
        c->reader, "SELECT 1 FROM derive_state WHERE recount IS NOT NULL", &st,
        &c->err);
    if (r == 0 && (r = bj_st_row(st, &c->err)) > 0)
        bj_local_html(&c->reply->body,
                      "<p>{Since the upgrade, jobs are being counted by "
                      "application again; those that are not yet counted are "
                      "in the row without a name.}</p>\n");
    return r < 0 ? r : 0;
}

int bj_applications_page(struct bj_call *c, const struct bj_params *p,
                         const struct bj_usage_sum *all)
{
    struct bj_query q = {0};
    struct bj_picked k;
    struct bj_page_table table;
    bool cut = false;
    int r = applications_make(c, p, all, &k, &q);
    bj_page_table_begin(&table, &c->reply->body, columns, shown, "");
    table.most = SHOWN;
    if (r == 0)
        r = bj_table_rows(c, &q, &k, &(struct bj_output){.cells = &table.cells},
                          c->worker->conf->max_rows, &cut);
    bj_page_table_end(&table, "No job ran in this time.");
    if (r == 0)
        r = applications_note(c);
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
     .help = "What jobs used, by application, the largest first.",
     .params = MASK,
     .columns = columns},
    {.path = NULL},
};
