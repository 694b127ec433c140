/* /api/v1/usage: usage, from the daily sums of the store. */
#include "apiserver/v1/usage.h"

#include "apiserver/frame/faculty.h"
#include "apiserver/frame/state.h"
#include "apiserver/v1/sum_rows.h"
#include "apiserver/v1/table.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "statsdb/derive/bill.h"

#include <stdlib.h>
#include <string.h>

enum group {
    BY_CLUSTER,
    BY_ACCOUNT,
    BY_USER,
    BY_PARTITION,
    BY_FACULTY,
    BY_MONTH,
    BY_DAY
};
enum { GROUPS = BY_DAY + 1 };

static const struct {
    const char *name, *sql;
} groups[GROUPS] = {
    [BY_CLUSTER] = {"cluster", "a.cluster"},
    [BY_ACCOUNT] = {"account", "a.account"},
    [BY_USER] = {"user", "a.user"},
    [BY_PARTITION] = {"partition", "a.partition"},
    [BY_FACULTY] = {"faculty", "fac.name"},
    [BY_MONTH] = {"month", "mo.m"},
    [BY_DAY] = {"day", "(r.id & 31)"},
};

/* --- the columns -----------------------------------------------------------
 */

/* Sums of a row; no sum is 0. */
static int64_t usage_sum_of(int64_t v)
{
    return v == BJ_SQL_NULL ? 0 : v;
}

#define SUM(column) "sum(" column ")"
#define CPU SUM("r.cpu_sec")
#define GPU SUM("r.gpu_sec")
#define MEM SUM("r.mem_mib_sec")
/* CPU time of jobs whose use is known, and that use: of accounting, and by
 * which the best value exceeds it. */
#define CPU_KNOWN CPU, SUM("r.cpu_unknown_sec"), SUM("e.cpu_known_sec")
#define CPU_USED CPU_KNOWN, SUM("r.cpu_used_msec"), SUM("e.cpu_more_msec")
#define GPU_USED SUM("e.gpu_sec"), SUM("e.gpu_used_msec")
#define OF_SCHEDULER SUM("r.energy_cpu_sec"), SUM("r.energy_scheduler_joules")
#define ENERGY SUM("e.cpu_sec"), SUM("e.energy_mj")
/* The last five: of jobs whose node failed. */
#define COST                                                                   \
    BJ_SQL_PRICES, BJ_SQL_FAILED_NODES_FREE, CPU, GPU, MEM, ENERGY,            \
        SUM("e.failed_cpu_sec"), SUM("e.failed_gpu_sec"),                      \
        SUM("e.failed_mem_mib_sec"), SUM("e.failed_energy_cpu_sec"),           \
        SUM("e.failed_energy_mj")

/* month and its day, or NULL for the first */
static int64_t usage_time(const int64_t *v)
{
    return v[0] == BJ_SQL_NULL
               ? BJ_SQL_NULL
               : bj_tz_midnight(bj_tz_used(),
                                bj_days_from_civil(
                                    (int)(v[0] / 12), (unsigned)(v[0] % 12) + 1,
                                    v[1] == BJ_SQL_NULL ? 1 : (unsigned)v[1]));
}

static int64_t usage_count(const int64_t *v)
{
    return usage_sum_of(v[0]);
}

/* sum, number */
static int64_t usage_mean(const int64_t *v)
{
    return bj_bill_ratio(usage_sum_of(v[0]), 1, usage_sum_of(v[1]));
}

static int64_t usage_hours(const int64_t *v)
{
    return bj_bill_ratio(usage_sum_of(v[0]), 1000, 3600);
}

static int64_t usage_gib_hours(const int64_t *v)
{
    return bj_bill_ratio(usage_sum_of(v[0]), 1000, 3600 * 1024);
}

/* Millionths as tenths of a percent. */
static int64_t usage_tenths(int64_t ppm)
{
    return bj_bill_ratio(ppm, 1, 1000); /* BJ_SQL_NULL is negative */
}

/* Milliseconds as thousandths of hours; BJ_SQL_NULL if no use is known. */
static int64_t usage_known_hours(int64_t known_sec, int64_t msec)
{
    return bj_bill_ratio(msec > 0 ? msec : 0, 1, known_sec > 0 ? 3600 : 0);
}

/* CPU_KNOWN or CPU_USED */
static struct bj_bill usage_cpu(const int64_t *v)
{
    return (struct bj_bill){.cpu_sec = usage_sum_of(v[0]),
                            .cpu_known_sec = usage_sum_of(v[0]) -
                                             usage_sum_of(v[1]) +
                                             usage_sum_of(v[2])};
}

static int64_t usage_cpu_used_msec(const int64_t *v)
{
    return usage_sum_of(v[3]) + usage_sum_of(v[4]);
}

static int64_t usage_cpu_used(const int64_t *v)
{
    return bj_bill_ratio(usage_cpu_used_msec(v), 1,
                         usage_cpu(v).cpu_known_sec > 0 ? 3600 : 0);
}

static int64_t usage_cpu_efficiency(const int64_t *v)
{
    return bj_bill_ratio(usage_cpu_used_msec(v), 1, usage_cpu(v).cpu_known_sec);
}

static int64_t usage_cpu_coverage(const int64_t *v)
{
    const struct bj_bill b = usage_cpu(v);
    return usage_tenths(bj_bill_cpu_known(&b));
}

static int64_t usage_cpu_unused(const int64_t *v)
{
    const int64_t known = usage_cpu(v).cpu_known_sec;
    return usage_known_hours(known, known * 1000 - usage_cpu_used_msec(v));
}

/* GPU_USED */
static int64_t usage_gpu_efficiency(const int64_t *v)
{
    return bj_bill_ratio(usage_sum_of(v[1]), 1, usage_sum_of(v[0]));
}

/* GPU, GPU_USED */
static int64_t usage_gpu_coverage(const int64_t *v)
{
    const struct bj_bill b = {.gpu_sec = usage_sum_of(v[0]),
                              .gpu_known_sec = usage_sum_of(v[1])};
    return usage_tenths(bj_bill_gpu_known(&b));
}

/* GPU_USED */
static int64_t usage_gpu_unused(const int64_t *v)
{
    const int64_t known = usage_sum_of(v[0]);
    return usage_known_hours(known, known * 1000 - usage_sum_of(v[1]));
}

/* OF_SCHEDULER */
static int64_t usage_scheduler_kwh(const int64_t *v)
{
    return usage_sum_of(v[0]) > 0 ? bj_bill_ratio(usage_sum_of(v[1]), 10, 36)
                                  : BJ_SQL_NULL;
}

/* part and whole of the CPU time */
static int64_t usage_part(const int64_t *v)
{
    return bj_bill_ratio(usage_sum_of(v[0]), 1000, usage_sum_of(v[1]));
}

/* ENERGY */
static int64_t usage_kwh(const int64_t *v)
{
    return bj_bill_ratio(usage_sum_of(v[1]), 1,
                         usage_sum_of(v[0]) > 0 ? 3600 : 0);
}

/* CPU, ENERGY, energy with a factor */
static struct bj_bill usage_energy(const int64_t *v)
{
    return (struct bj_bill){.cpu_sec = usage_sum_of(v[0]),
                            .energy_cpu_sec = usage_sum_of(v[1]),
                            .energy_mj = usage_sum_of(v[2]),
                            .emissions_mj = usage_sum_of(v[3])};
}

/* The same values; the last is not used. */
static int64_t usage_energy_coverage(const int64_t *v)
{
    const struct bj_bill b = usage_energy(v);
    return usage_tenths(bj_bill_energy_known(&b));
}

static int64_t usage_emissions_coverage(const int64_t *v)
{
    const struct bj_bill b = usage_energy(v);
    return usage_tenths(bj_bill_emissions_known(&b));
}

/* micrograms, energy with a factor */
static int64_t usage_grams(const int64_t *v)
{
    return bj_bill_ratio(usage_sum_of(v[0]), 1, usage_sum_of(v[1]) > 0);
}

/* COST */
static struct bj_prices usage_prices(const int64_t *v)
{
    return (struct bj_prices){v[0], v[1], v[2], v[3], v[4] > 0, ""};
}

static struct bj_bill usage_bill(const int64_t *v)
{
    return (struct bj_bill){.cpu_sec = usage_sum_of(v[5]),
                            .gpu_sec = usage_sum_of(v[6]),
                            .mem_mib_sec = usage_sum_of(v[7]),
                            .energy_cpu_sec = usage_sum_of(v[8]),
                            .energy_mj = usage_sum_of(v[9]),
                            .failed_cpu_sec = usage_sum_of(v[10]),
                            .failed_gpu_sec = usage_sum_of(v[11]),
                            .failed_mem_mib_sec = usage_sum_of(v[12]),
                            .failed_energy_cpu_sec = usage_sum_of(v[13]),
                            .failed_energy_mj = usage_sum_of(v[14])};
}

static int64_t usage_cost(const int64_t *v)
{
    const struct bj_prices prices = usage_prices(v);
    const struct bj_bill b = usage_bill(v);
    return bj_bill_ratio(bj_bill_cost(&b, &prices), 1, 1);
}

static int64_t usage_cost_coverage(const int64_t *v)
{
    const struct bj_prices prices = usage_prices(v);
    const struct bj_bill b = usage_bill(v);
    return usage_tenths(bj_bill_cost_known(&b, &prices));
}

static int64_t usage_not_charged(const int64_t *v)
{
    const struct bj_prices prices = usage_prices(v);
    const struct bj_bill b = usage_bill(v);
    return bj_bill_ratio(bj_bill_not_charged(&b, &prices), 1, 1);
}

#define GROUP(key, of, title, text)                                            \
    {                                                                          \
        .name = key, .kind = BJ_AS_WORD, .word = BJ_WORD_##of,                 \
        .sql = {"a." key}, .help = text, .label = title, .form = BJ_SHOW_GROUP \
    }
/* The help is last; label, form and unit may follow, for web pages. */
#define MADE(key, type, function, values, ...)                                 \
    {                                                                          \
        .name = key, .kind = BJ_AS_##type, .make = function, .sql = values,    \
        .help = __VA_ARGS__                                                    \
    }

/* A group is NULL unless rows are grouped by it. */
const struct bj_column bj_usage_columns[] = {
    GROUP("cluster", CLUSTER, "Cluster",
          "Cluster; null unless grouped by it, as are the next six."),
    GROUP("account", ACCOUNT, "Account", "Account."),
    GROUP("user", USER, "User", "User."),
    GROUP("partition", PARTITION, "Partition", "Partition or queue."),
    MADE("faculty", TEXT, NULL, BJ_VALUES("fac.name"),
         "Faculty of the account (faculty.file); null: it has none.",
         .label = "Faculty", .form = BJ_SHOW_FACULTY),
    MADE("month", MONTH, NULL, BJ_VALUES("mo.m"), "Month, as 2026-11.",
         .label = "Month", .form = BJ_SHOW_GROUP),
    MADE("day", DAY, NULL, BJ_VALUES("mo.m", "(r.id & 31)"),
         "Day in the site's time zone, as 2026-11-20.", .label = "Day",
         .form = BJ_SHOW_GROUP),
    MADE("time", TIME, usage_time, BJ_VALUES("mo.m", "(r.id & 31)"),
         "Start of that day or month."),
    MADE("time_ms", TIME_MS, usage_time, BJ_VALUES("mo.m", "(r.id & 31)"),
         "The same time in milliseconds."),
    MADE("jobs_started", INT, usage_count, BJ_VALUES(SUM("r.jobs_started")),
         "Jobs that started in the time."),
    MADE("jobs_ended", INT, usage_count, BJ_VALUES(SUM("r.jobs_ended")),
         "Jobs that ended in the time.", .label = "Jobs ended"),
    MADE("jobs_completed", INT, usage_count, BJ_VALUES(SUM("r.jobs_completed")),
         "Of these, completed.", .label = "Completed"),
    MADE("jobs_failed", INT, usage_count, BJ_VALUES(SUM("r.jobs_failed")),
         "Of these, failed.", .label = "Failed"),
    MADE("jobs_cancelled", INT, usage_count, BJ_VALUES(SUM("r.jobs_cancelled")),
         "Of these, cancelled.", .label = "Cancelled"),
    MADE("jobs_timeout", INT, usage_count, BJ_VALUES(SUM("r.jobs_timeout")),
         "Of these, ended by their time limit.", .label = "Time limit reached"),
    MADE("jobs_oom", INT, usage_count, BJ_VALUES(SUM("r.jobs_oom")),
         "Of these, out of memory.", .label = "Out of memory"),
    MADE("wait_mean_seconds", INT, usage_mean,
         BJ_VALUES(SUM("r.wait_sec"), SUM("r.jobs_started")),
         "Mean wait of the jobs that started.", .label = "Mean wait",
         .unit = BJ_UNIT_SECONDS),
    MADE("job_hours", MILLI, usage_hours, BJ_VALUES(SUM("r.elapsed_sec")),
         "Run time of jobs in hours."),
    MADE("node_hours", MILLI, usage_hours, BJ_VALUES(SUM("r.node_sec")),
         "Nodes allocated, times hours."),
    MADE("core_hours", MILLI, usage_hours, BJ_VALUES(CPU),
         "CPUs allocated, times hours.", .label = "CPU hours",
         .form = BJ_SHOW_ROUND),
    MADE("gpu_hours", MILLI, usage_hours, BJ_VALUES(GPU),
         "GPUs allocated, times hours.", .label = "GPU hours",
         .form = BJ_SHOW_ROUND),
    MADE("memory_gib_hours", MILLI, usage_gib_hours, BJ_VALUES(MEM),
         "GiB allocated, times hours."),
    MADE("cpu_used_hours", MILLI, usage_cpu_used, BJ_VALUES(CPU_USED),
         "CPU time used in hours, measured, else from accounting; null: of no "
         "job."),
    MADE("cpu_efficiency_percent", TENTHS, usage_cpu_efficiency,
         BJ_VALUES(CPU_USED),
         "CPU time used, in percent of allocated, of jobs where it is known.",
         .label = "CPU efficiency", .form = BJ_SHOW_PERCENT),
    MADE("cpu_coverage", TENTHS, usage_cpu_coverage, BJ_VALUES(CPU_KNOWN),
         "Jobs with known CPU time, in percent of core_hours."),
    MADE("cpu_unused_hours", MILLI, usage_cpu_unused, BJ_VALUES(CPU_USED),
         "CPU time allocated but not used in hours, of jobs where the use is "
         "known.",
         .label = "CPU hours unused", .form = BJ_SHOW_ROUND),
    MADE("gpu_efficiency_percent", TENTHS, usage_gpu_efficiency,
         BJ_VALUES(GPU_USED),
         "Mean use of the GPUs in percent, of ended jobs where it is known.",
         .label = "GPU efficiency", .form = BJ_SHOW_GPU),
    MADE("gpu_coverage", TENTHS, usage_gpu_coverage, BJ_VALUES(GPU, GPU_USED),
         "Jobs with known GPU use, in percent of gpu_hours."),
    MADE("gpu_unused_hours", MILLI, usage_gpu_unused, BJ_VALUES(GPU_USED),
         "GPU time allocated and, on average, not used in hours, of ended jobs "
         "where it is known.",
         .label = "GPU hours unused", .form = BJ_SHOW_ROUND),
    MADE("energy_scheduler_kwh", MICRO, usage_scheduler_kwh,
         BJ_VALUES(OF_SCHEDULER),
         "Energy that the scheduler reports; null: of no job."),
    MADE("energy_scheduler_coverage", TENTHS, usage_part,
         BJ_VALUES(SUM("r.energy_cpu_sec"), CPU),
         "Jobs with that energy, in percent of core_hours."),
    MADE(
        "energy_kwh", MICRO, usage_kwh, BJ_VALUES(ENERGY),
        "Energy of ended jobs, best known value: from nodes, Prometheus or the "
        "scheduler; null: of none.",
        .label = "Energy", .form = BJ_SHOW_KWH),
    MADE("energy_coverage", TENTHS, usage_energy_coverage,
         BJ_VALUES(CPU, ENERGY, SUM("g.covered_mj")),
         "Jobs with known energy, in percent of core_hours."),
    MADE("emissions_grams", MICRO, usage_grams,
         BJ_VALUES(SUM("g.micrograms"), SUM("g.covered_mj")),
         "Emissions of that energy, by the best average emission factors, in "
         "grams "
         "of CO2 equivalent.",
         .label = "CO2e (estimate)", .unit = BJ_UNIT_GRAMS),
    MADE("emissions_coverage", TENTHS, usage_emissions_coverage,
         BJ_VALUES(CPU, ENERGY, SUM("g.covered_mj")),
         "Part of core_hours for which they are known, in percent: that of the "
         "energy, times the part of energy_kwh with an emission factor."),
    MADE("cost", MICRO, usage_cost, BJ_VALUES(COST),
         "Cost of the allocated hours and the known energy at the site's "
         "prices; "
         "null: the site has none.",
         .label = "Cost", .unit = BJ_UNIT_MONEY),
    MADE("cost_coverage", TENTHS, usage_cost_coverage, BJ_VALUES(COST),
         "Part of core_hours for which the cost is known, in percent: that of "
         "the "
         "energy if energy has a price, else 100."),
    MADE("cost_not_charged", MICRO, usage_not_charged, BJ_VALUES(COST),
         "What the site does not charge of jobs whose node failed; not part of "
         "the cost."),
    MADE("currency", TEXT, NULL, BJ_VALUES(BJ_SQL_CURRENCY),
         "Currency of the cost, as the site names it."),
    {.name = NULL},
};
enum { USAGE_COLUMNS = sizeof(bj_usage_columns) / sizeof(bj_usage_columns[0]) };

/* Orders of rows, largest first. */
#define CPU_MSEC                                                               \
    "1000 * (sum(r.cpu_sec) - sum(r.cpu_unknown_sec) +"                        \
    " coalesce(sum(e.cpu_known_sec), 0)) - sum(r.cpu_used_msec) -"             \
    " coalesce(sum(e.cpu_more_msec), 0)"
static const struct {
    const char *name, *sql;
} orders[] = {
    {"core_hours", "sum(r.cpu_sec)"},
    {"gpu_hours", "sum(r.gpu_sec)"},
    {"energy_kwh", "sum(e.energy_mj)"},
    {"cpu_unused_hours", CPU_MSEC},
    {"gpu_unused_hours", "1000 * sum(e.gpu_sec) - sum(e.gpu_used_msec)"},
};

struct usage {
    struct bj_params p;
    struct bj_query q;
    struct bj_column column[USAGE_COLUMNS];
    struct bj_picked k;
    bool by[GROUPS];
    struct bj_buf faculties; /* text of the file */
    const char *order;       /* NULL: the default */
    struct bj_sum_rows rows;
    bool sums; /* select the sums themselves, not columns */
};

static int read_groups(struct bj_call *c, struct usage *a)
{
    for (unsigned i = 0; a->p.given[BJ_PARAM_GROUP_BY] && i < a->p.values;
         i++) {
        struct bj_slice s = a->p.value[i].text;
        unsigned g = 0;
        if (a->p.value[i].which != BJ_PARAM_GROUP_BY)
            continue;
        while (g < GROUPS && !bj_slice_eq(bj_slice_str(groups[g].name), s))
            g++;
        if (g == GROUPS)
            return bj_call_refuse(
                c, 400,
                "Unknown group '%.*s'; expected cluster, "
                "account, user, partition, faculty, month or day.",
                s.n < 60 ? (int)s.n : 60, s.p);
        a->by[g] = true;
    }
    /* Grouping by day requires the month. */
    a->by[BY_MONTH] = a->by[BY_MONTH] || a->by[BY_DAY];
    return 0;
}

static int read_faculties(struct bj_call *c, struct usage *a)
{
    int r = bj_faculty_read(c->worker->conf->faculties, &a->faculties, &c->err);
    if (r < 0) {
        bj_call_log(c, "faculty.file");
        return bj_call_refuse(c, 503,
                              "The list of faculties cannot be read at the "
                              "moment.");
    }
    return a->faculties.failed ? bj_err_set(&c->err, -ENOMEM, "usage") : 0;
}

static int read_order(struct bj_call *c, struct usage *a)
{
    struct bj_slice s = bj_params_text(&a->p, BJ_PARAM_SORT);
    for (size_t i = 0; s.n && i < sizeof(orders) / sizeof(orders[0]); i++)
        if (bj_slice_eq(bj_slice_str(orders[i].name), s))
            a->order = orders[i].sql;
    return !s.n || a->order
               ? 0
               : bj_call_refuse(c, 400,
                                "Cannot sort by '%.*s'; expected core_hours, "
                                "gpu_hours, energy_kwh, cpu_unused_hours or "
                                "gpu_unused_hours.",
                                s.n < 60 ? (int)s.n : 60, s.p);
}

static int read_usage(struct bj_call *c, struct usage *a)
{
    int r = read_groups(c, a);
    if (r == 0 && a->by[BY_FACULTY])
        r = read_faculties(c, a);
    if (r == 0)
        r = read_order(c, a);
    return r == 0 ? bj_sum_rows_read(c, &a->p, a->by[BY_DAY], &a->rows) : r;
}

static void put_order(struct usage *a)
{
    struct bj_query *q = &a->q;
    bool any = false;
    for (int g = 0; g < GROUPS; g++)
        any = any || a->by[g];
    if (!any)
        return;
    bj_query_sql(q, " ORDER BY ");
    if (a->order) {
        bj_query_sql(q, a->order);
        bj_query_sql(q, " DESC");
    } else if (a->by[BY_MONTH]) {
        bj_query_sql(q, groups[BY_MONTH].sql);
        bj_query_sql(q, a->by[BY_DAY] ? ", " : "");
        bj_query_sql(q, a->by[BY_DAY] ? groups[BY_DAY].sql : "");
    } else {
        bj_query_sql(q, "sum(r.cpu_sec) DESC, sum(r.jobs_ended) DESC");
    }
}

/* Select the columns; those of groups only if rows are grouped by them. */
static void usage_pick(struct usage *a)
{
    for (unsigned i = 0; i < USAGE_COLUMNS; i++) {
        struct bj_column *k = &a->column[i];
        *k = bj_usage_columns[i];
        for (unsigned v = 0; v < BJ_JOB_VALUES && k->sql[v]; v++)
            for (int g = 0; g < GROUPS; g++)
                if (!a->by[g] && strcmp(k->sql[v], groups[g].sql) == 0)
                    k->sql[v] = "NULL";
    }
    bj_picked_table(&a->k, a->column);
}

/* The sums in the order in which usage_take reads them, after the groups. */
static const char *const usage_sums[] = {
    SUM("r.jobs_started"),
    SUM("r.jobs_ended"),
    CPU,
    GPU,
    MEM,
    SUM("r.cpu_unknown_sec"),
    SUM("e.cpu_known_sec"),
    SUM("r.cpu_used_msec"),
    SUM("e.cpu_more_msec"),
    GPU_USED,
    ENERGY,
    SUM("g.covered_mj"),
    SUM("g.micrograms"),
    SUM("e.failed_cpu_sec"),
    SUM("e.failed_gpu_sec"),
    SUM("e.failed_mem_mib_sec"),
    SUM("e.failed_energy_cpu_sec"),
    SUM("e.failed_energy_mj"),
    SUM("r.jobs_oom"),
    SUM("r.jobs_timeout"),
};
enum { USAGE_SUMS = sizeof(usage_sums) / sizeof(usage_sums[0]) };

static void usage_select_sums(struct usage *a)
{
    for (int g = 0; g < GROUPS; g++) {
        bj_query_sql(&a->q, g ? ", " : "");
        bj_query_sql(&a->q, a->by[g] ? groups[g].sql : "NULL");
    }
    for (unsigned i = 0; i < USAGE_SUMS; i++) {
        bj_query_sql(&a->q, ", ");
        bj_query_sql(&a->q, usage_sums[i]);
    }
}

static int build(struct bj_call *c, struct usage *a)
{
    struct bj_query *q = &a->q;
    bool any = false;
    bj_sum_rows_with(q, &a->rows);
    if (a->by[BY_FACULTY]) {
        bj_query_sql(q, ", fac(id, name) AS MATERIALIZED (SELECT id,"
                        " bj_faculty(");
        bj_query_text(q, (struct bj_slice){a->faculties.p, a->faculties.len});
        bj_query_sql(q, ", name) FROM account)");
    }
    bj_query_sql(q, " SELECT ");
    if (a->sums) {
        usage_select_sums(a);
    } else {
        usage_pick(a);
        bj_table_select(q, &a->k);
    }
    /* The source of the factors is a subquery, because with a constant SQLite
     * may read all of rollup_grams. */
    bj_query_sql(q, " FROM (SELECT (SELECT id FROM factor_source WHERE cluster"
                    " IS NULL AND provider = 'best' AND kind = 'average' AND"
                    " zone = '') AS id) AS s CROSS JOIN mo CROSS JOIN assoc AS"
                    " a CROSS JOIN rollup_usage AS r"
                    " LEFT JOIN rollup_energy AS e ON e.id = r.id"
                    " LEFT JOIN rollup_grams AS g ON g.id = r.id AND"
                    " g.source = s.id");
    bj_query_sql(q, a->by[BY_FACULTY] ? " LEFT JOIN fac ON fac.id = a.account"
                                      : "");
    bj_sum_rows_where(q, &a->rows);
    int r = bj_query_scope(q, c, &a->p, "a");
    for (int g = 0; g < GROUPS; g++)
        if (a->by[g]) {
            bj_query_sql(q, any ? ", " : " GROUP BY ");
            bj_query_sql(q, groups[g].sql);
            any = true;
        }
    put_order(a);
    bj_query_sql(q, " LIMIT ");
    bj_query_int(q, a->sums ? BJ_USAGE_SUMS_MAX + 1
                            : (int64_t)c->worker->conf->max_rows + 1);
    return r;
}

/* --- sums ------------------------------------------------------------------
 */

/* Read a row of usage_select_sums. */
static int usage_take(struct bj_call *c, struct usage *a, struct bj_st *st,
                      struct bj_usage_sum *ret)
{
    static const enum bj_word words[] = {[BY_CLUSTER] = BJ_WORD_CLUSTER,
                                         [BY_ACCOUNT] = BJ_WORD_ACCOUNT,
                                         [BY_USER] = BJ_WORD_USER,
                                         [BY_PARTITION] = BJ_WORD_PARTITION};
    struct bj_slice name[BY_PARTITION + 1] = {{NULL, 0}};
    int64_t v[USAGE_SUMS];
    int r = 0;
    for (int g = 0; g <= BY_PARTITION && r == 0; g++)
        if (a->by[g])
            r = bj_words_text(c->worker->words, c->reader, words[g],
                              bj_st_get_i64(st, g), &name[g], &c->err);
    for (int i = 0; i < (int)USAGE_SUMS; i++)
        v[i] = usage_sum_of(bj_st_get_i64(st, GROUPS + i));
    *ret = (struct bj_usage_sum){
        .cluster = name[BY_CLUSTER],
        .account = name[BY_ACCOUNT],
        .user = name[BY_USER],
        .partition = name[BY_PARTITION],
        .month = a->by[BY_MONTH] ? bj_st_get_i64(st, BY_MONTH) : 0,
        .day = a->by[BY_DAY] ? (unsigned)bj_st_get_i64(st, BY_DAY) : 0,
        .started = v[0],
        .ended = v[1],
        .oom = v[20],
        .timeout = v[21],
        .bill = {.cpu_sec = v[2],
                 .gpu_sec = v[3],
                 .mem_mib_sec = v[4],
                 .cpu_known_sec = v[2] - v[5] + v[6],
                 .cpu_used_msec = v[7] + v[8],
                 .gpu_known_sec = v[9],
                 .gpu_used_msec = v[10],
                 .energy_cpu_sec = v[11],
                 .energy_mj = v[12],
                 .emissions_mj = v[13],
                 .emissions_ug = v[14],
                 .failed_cpu_sec = v[15],
                 .failed_gpu_sec = v[16],
                 .failed_mem_mib_sec = v[17],
                 .failed_energy_cpu_sec = v[18],
                 .failed_energy_mj = v[19]}};
    if (a->by[BY_FACULTY])
        ret->faculty = bj_st_get_text(st, BY_FACULTY);
    return r;
}

static int usage_each(struct bj_call *c, struct usage *a, bj_usage_each *each,
                      void *ctx)
{
    struct bj_st *st = NULL;
    struct bj_usage_sum sum;
    uint64_t n = 0;
    int r = bj_query_open(&a->q, c->reader, &st, &c->err);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        if (++n > BJ_USAGE_SUMS_MAX)
            return bj_call_refuse(c, 503,
                                  "There are too many groups; choose a "
                                  "shorter time or one account.");
        r = usage_take(c, a, st, &sum);
        if (r == 0)
            r = each(ctx, &sum);
    }
    return r;
}

/* A query that took too long. */
static int usage_late(struct bj_call *c, int r)
{
    return r == -EINTR ? bj_call_refuse(
                             c, 503,
                             "The query took longer than query.timeout; narrow "
                             "from and to, or name a user or an account.")
                       : r;
}

int bj_usage_sums(struct bj_call *c, const struct bj_params *p,
                  bj_usage_each *each, void *ctx)
{
    struct usage *a = calloc(1, sizeof(*a));
    if (!a)
        return bj_err_set(&c->err, -ENOMEM, "usage");
    a->p = *p;
    a->sums = true;
    int r = read_usage(c, a);
    if (r == 0)
        r = build(c, a);
    if (r == 0)
        r = usage_each(c, a, each, ctx);
    bj_query_free(&a->q);
    bj_buf_free(&a->faculties);
    free(a);
    return usage_late(c, r);
}

int bj_usage_list(struct bj_call *c, const struct bj_params *p,
                  const struct bj_output *out, bool *cut)
{
    struct usage *a = calloc(1, sizeof(*a));
    if (!a)
        return bj_err_set(&c->err, -ENOMEM, "usage");
    a->p = *p;
    *cut = false;
    int r = read_usage(c, a);
    if (r == 0)
        r = build(c, a);
    if (r == 0)
        r = bj_table_rows(c, &a->q, &a->k, out, c->worker->conf->max_rows, cut);
    bj_query_free(&a->q);
    bj_buf_free(&a->faculties);
    free(a);
    return usage_late(c, r);
}

static int on_usage(struct bj_call *c)
{
    struct bj_params p;
    struct bj_buf found = {0};
    enum bj_shape shape = bj_call_shape(c);
    bool cut;
    int r = bj_params_read(c, BJ_USAGE_MASK, &p);
    if (r == 0)
        r = bj_usage_list(
            c, &p, &(struct bj_output){.to = &found, .shape = shape}, &cut);
    if (r == 0 && shape == BJ_SHAPE_CSV && cut)
        bj_call_header(c, "X-Cut", "true");
    if (r == 0 && shape == BJ_SHAPE_CSV)
        c->reply->type = "text/csv; charset=utf-8";
    else if (r == 0)
        bj_call_open(c);
    if (r == 0)
        bj_buf_put(&c->reply->body, found.p, found.len);
    if (r == 0 && shape != BJ_SHAPE_CSV)
        bj_call_close(c, cut ? ",\"meta\":{\"cut\":true}"
                             : ",\"meta\":{\"cut\":false}");
    c->reply->body.failed = c->reply->body.failed || found.failed;
    bj_buf_free(&found);
    return r;
}

const struct bj_endpoint bj_endpoints_usage[] = {
    {.path = "/api/v1/usage",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_STORE | BJ_NEED_USER,
     .run = on_usage,
     .help = "Usage in whole days of the site's time zone: one row, or one for "
             "each group.",
     .params = BJ_USAGE_MASK,
     .columns = bj_usage_columns},
    {.path = NULL},
};
