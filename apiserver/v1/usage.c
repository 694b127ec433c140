/* /api/v1/usage: usage, from the daily sums of the store. */
#include "apiserver/v1/usage.h"

#include "apiserver/frame/faculty.h"
#include "apiserver/frame/query.h"
#include "apiserver/frame/state.h"
#include "apiserver/frame/words.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "statsdb/derive/bill.h"

#include <stdio.h>
#include <stdlib.h>

enum { DAY = 86400, WEEK = 7 * DAY };

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
    enum bj_word word;
} groups[GROUPS] = {
    [BY_CLUSTER] = {"cluster", "a.cluster", BJ_WORD_CLUSTER},
    [BY_ACCOUNT] = {"account", "a.account", BJ_WORD_ACCOUNT},
    [BY_USER] = {"user", "a.user", BJ_WORD_USER},
    [BY_PARTITION] = {"partition", "a.partition", BJ_WORD_PARTITION},
    [BY_FACULTY] = {"faculty", "fac.name", 0},
    [BY_MONTH] = {"month", "mo.m", 0},
    [BY_DAY] = {"day", "(r.id & 31)", 0},
};

/* In the order of the columns after the groups. */
enum sum {
    STARTED,
    ENDED,
    COMPLETED,
    FAILED,
    CANCELLED,
    TIMEOUT,
    OOM,
    WAIT,
    ELAPSED,
    NODE,
    CPU,
    GPU,
    MEM,
    USED,
    UNKNOWN,
    ENERGY,
    ENERGY_CPU,
    BEST_MJ,
    BEST_CPU,
    GRAMS_UG,
    GRAMS_MJ,
    MORE,      /* the best CPU time minus that of accounting */
    KNOWN,     /* part of UNKNOWN with a measured CPU time */
    GPU_KNOWN, /* part of GPU with a measured use */
    GPU_USED,
    FAILED_CPU, /* of jobs whose node failed */
    FAILED_GPU,
    FAILED_MEM,
    FAILED_ENERGY_CPU,
    FAILED_MJ,
    SUMS
};

static const char sums[] =
    "sum(r.jobs_started), sum(r.jobs_ended), sum(r.jobs_completed), "
    "sum(r.jobs_failed), sum(r.jobs_cancelled), sum(r.jobs_timeout), "
    "sum(r.jobs_oom), sum(r.wait_sec), sum(r.elapsed_sec), sum(r.node_sec), "
    "sum(r.cpu_sec), sum(r.gpu_sec), sum(r.mem_mib_sec), "
    "sum(r.cpu_used_msec), sum(r.cpu_unknown_sec), "
    "sum(r.energy_scheduler_joules), "
    "sum(r.energy_cpu_sec), sum(e.energy_mj), sum(e.cpu_sec), "
    "sum(g.micrograms), sum(g.covered_mj), sum(e.cpu_more_msec), "
    "sum(e.cpu_known_sec), sum(e.gpu_sec), sum(e.gpu_used_msec), "
    "sum(e.failed_cpu_sec), sum(e.failed_gpu_sec), sum(e.failed_mem_mib_sec), "
    "sum(e.failed_energy_cpu_sec), sum(e.failed_energy_mj)";

const struct bj_key bj_usage_keys[] = {
    {"cluster", "string",
     "Cluster; null unless grouped by it, as are the next six."},
    {"account", "string", "Account."},
    {"user", "string", "User."},
    {"partition", "string", "Partition or queue."},
    {"faculty", "string",
     "Faculty of the account (faculty.file); null: it has none."},
    {"month", "string", "Month, as 2026-11."},
    {"day", "string", "Day in the site's time zone, as 2026-11-20."},
    {"time", "string", "Start of that day or month."},
    {"time_ms", "integer", "The same time in milliseconds."},
    {"jobs_started", "integer", "Jobs that started in the time."},
    {"jobs_ended", "integer", "Jobs that ended in the time."},
    {"jobs_completed", "integer", "Of these, completed."},
    {"jobs_failed", "integer", "Of these, failed."},
    {"jobs_cancelled", "integer", "Of these, cancelled."},
    {"jobs_timeout", "integer", "Of these, ended by their time limit."},
    {"jobs_oom", "integer", "Of these, out of memory."},
    {"wait_mean_seconds", "integer", "Mean wait of the jobs that started."},
    {"job_hours", "number", "Run time of jobs in hours."},
    {"node_hours", "number", "Nodes allocated, times hours."},
    {"core_hours", "number", "CPUs allocated, times hours."},
    {"gpu_hours", "number", "GPUs allocated, times hours."},
    {"memory_gib_hours", "number", "GiB allocated, times hours."},
    {"cpu_used_hours", "number",
     "CPU time used in hours, measured, else from accounting; null: of no "
     "job."},
    {"cpu_efficiency_percent", "number",
     "CPU time used, in percent of allocated, of jobs where it is known."},
    {"cpu_coverage", "number",
     "Jobs with known CPU time, in percent of core_hours."},
    {"cpu_unused_hours", "number",
     "CPU time allocated but not used in hours, of jobs where the use is "
     "known."},
    {"gpu_efficiency_percent", "number",
     "Mean use of the GPUs in percent, of ended jobs where it is known."},
    {"gpu_coverage", "number",
     "Jobs with known GPU use, in percent of gpu_hours."},
    {"gpu_unused_hours", "number",
     "GPU time allocated and, on average, not used in hours, of ended jobs "
     "where it is known."},
    {"energy_scheduler_kwh", "number",
     "Energy that the scheduler reports; null: of no job."},
    {"energy_scheduler_coverage", "number",
     "Jobs with that energy, in percent of core_hours."},
    {"energy_kwh", "number",
     "Energy of ended jobs, best known value: from nodes, Prometheus or the "
     "scheduler; null: of none."},
    {"energy_coverage", "number",
     "Jobs with known energy, in percent of core_hours."},
    {"emissions_grams", "number",
     "Emissions of that energy, by the best average emission factors, in grams "
     "of CO2 equivalent."},
    {"emissions_coverage", "number",
     "Part of core_hours for which they are known, in percent: that of the "
     "energy, times the part of energy_kwh with an emission factor."},
    {"cost", "number",
     "Cost of the allocated hours and the known energy at the site's prices; "
     "null: the site has none."},
    {"cost_coverage", "number",
     "Part of core_hours for which the cost is known, in percent: that of the "
     "energy if energy has a price, else 100."},
    {"cost_not_charged", "number",
     "What the site does not charge of jobs whose node failed; not part of "
     "the cost."},
    {"currency", "string", "Currency of the cost, as the site names it."},
    {NULL, NULL, NULL},
};

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
    bool by[GROUPS];
    struct bj_buf faculties; /* text of the file */
    const char *order;       /* NULL: the default */
    int64_t first, last;     /* months */
    int64_t from, to;        /* their first and last day */
    int64_t whole, upto;     /* those of which all days count, and no day is
                                listed; none: upto < whole */
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

static int64_t day_of(int64_t sec, int64_t *month)
{
    struct bj_civil t = {0};
    bj_civil_from_days(bj_tz_day(bj_tz_used(), sec >= 0 ? sec : 0), &t);
    *month = (int64_t)t.year * 12 + t.month - 1;
    return t.day;
}

/* Skip months without sums. */
static int first_month(struct bj_call *c, int64_t *ret)
{
    struct bj_st *st;
    int r = bj_reader_prepare(
        c->reader, "SELECT id >> 37 FROM rollup_usage ORDER BY id LIMIT 1", &st,
        &c->err);
    if (r == 0 && (r = bj_st_row(st, &c->err)) > 0)
        *ret = bj_st_get_i64(st, 0);
    return r < 0 ? r : 0;
}

/* Find the months whose sums are read from one row for each combination. */
static void find_whole(struct usage *a)
{
    const int64_t next = a->last + 1;
    const int64_t days =
        bj_days_from_civil((int)(next / 12), (unsigned)(next % 12) + 1, 1) -
        bj_days_from_civil((int)(a->last / 12), (unsigned)(a->last % 12) + 1,
                           1);
    a->whole = a->from == 1 ? a->first : a->first + 1;
    a->upto = a->to == days ? a->last : a->last - 1;
    if (a->by[BY_DAY])
        a->upto = a->whole - 1;
}

static int read_usage(struct bj_call *c, struct usage *a)
{
    int64_t first = INT64_MAX;
    int r = read_groups(c, a);
    if (r == 0 && a->by[BY_FACULTY])
        r = read_faculties(c, a);
    if (r == 0)
        r = read_order(c, a);
    if (r == 0)
        r = first_month(c, &first);
    if (r != 0)
        return r;
    int64_t now = c->now_sec + DAY;
    int64_t to =
        a->p.given[BJ_PARAM_TO] ? a->p.number[BJ_PARAM_TO] : c->now_sec;
    int64_t from =
        a->p.given[BJ_PARAM_FROM] ? a->p.number[BJ_PARAM_FROM] : to - WEEK;
    if (from > to)
        return bj_call_refuse(c, 400,
                              "The parameter from must not be later than to.");
    a->from = day_of(from, &a->first);
    a->to = day_of(to < now ? to : now, &a->last);
    if (a->first < first) {
        a->first = first;
        a->from = 1;
    }
    find_whole(a);
    return 0;
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

/* The first or last row of a month: a day, or 0 if the month is whole.  month
 * and its day: where the days are not all. */
static void put_day(struct bj_query *q, const struct usage *a, int64_t month,
                    int64_t day, int64_t otherwise)
{
    bj_query_sql(q, "CASE WHEN m BETWEEN ");
    bj_query_int(q, a->whole);
    bj_query_sql(q, " AND ");
    bj_query_int(q, a->upto);
    bj_query_sql(q, " THEN CAST(0 AS INTEGER) WHEN m = ");
    bj_query_int(q, month);
    bj_query_sql(q, " THEN ");
    bj_query_int(q, day);
    bj_query_sql(q, " ELSE ");
    bj_query_int(q, otherwise);
    bj_query_sql(q, " END");
}

static int build(struct bj_call *c, struct usage *a)
{
    struct bj_query *q = &a->q;
    bool any = false;
    bj_query_sql(q, "WITH RECURSIVE each_mo(m) AS (SELECT CAST(");
    bj_query_int(q, a->first);
    bj_query_sql(q,
                 " AS INTEGER) UNION ALL SELECT m + 1 FROM each_mo WHERE m < ");
    bj_query_int(q, a->last);
    bj_query_sql(q, "), mo(m, since, upto) AS (SELECT m, ");
    put_day(q, a, a->first, a->from, 1);
    bj_query_sql(q, ", ");
    put_day(q, a, a->last, a->to, 31);
    bj_query_sql(q, " FROM each_mo)");
    if (a->by[BY_FACULTY]) {
        bj_query_sql(q, ", fac(id, name) AS MATERIALIZED (SELECT id,"
                        " bj_faculty(");
        bj_query_text(q, (struct bj_slice){a->faculties.p, a->faculties.len});
        bj_query_sql(q, ", name) FROM account)");
    }
    bj_query_sql(q, " SELECT ");
    for (int g = 0; g < GROUPS; g++) {
        bj_query_sql(q, a->by[g] ? groups[g].sql : "NULL");
        bj_query_sql(q, ", ");
    }
    bj_query_sql(q, sums);
    /* The sums of one month and one combination are adjacent.  The source of
     * the factors is a subquery, because with a constant SQLite may read all of
     * rollup_grams. */
    bj_query_sql(q, " FROM (SELECT (SELECT id FROM factor_source WHERE cluster"
                    " IS NULL AND provider = 'best' AND kind = 'average' AND"
                    " zone = '') AS id) AS s CROSS JOIN mo CROSS JOIN assoc AS"
                    " a CROSS JOIN rollup_usage AS r"
                    " LEFT JOIN rollup_energy AS e ON e.id = r.id"
                    " LEFT JOIN rollup_grams AS g ON g.id = r.id AND"
                    " g.source = s.id");
    bj_query_sql(q, a->by[BY_FACULTY] ? " LEFT JOIN fac ON fac.id = a.account"
                                      : "");
    bj_query_sql(q, " WHERE r.id BETWEEN ((mo.m << 37) | (a.id << 5) |"
                    " mo.since) AND ((mo.m << 37) | (a.id << 5) | mo.upto) AND"
                    " mo.m <= ");
    bj_query_int(q, a->last);
    int r = bj_query_scope(q, c, &a->p, "a");
    for (int g = 0; g < GROUPS; g++)
        if (a->by[g]) {
            bj_query_sql(q, any ? ", " : " GROUP BY ");
            bj_query_sql(q, groups[g].sql);
            any = true;
        }
    put_order(a);
    bj_query_sql(q, " LIMIT ");
    bj_query_int(q, (int64_t)c->worker->conf->max_rows + 1);
    return r;
}

/* --- rows ------------------------------------------------------------------
 */

static int put_groups(struct bj_call *c, const struct usage *a,
                      struct bj_st *st, struct bj_rows *rows)
{
    int r = 0;
    for (int g = 0; g < BY_FACULTY && r == 0; g++) {
        struct bj_slice text = {0};
        if (a->by[g])
            r = bj_words_text(c->worker->words, c->reader, groups[g].word,
                              bj_st_get_i64(st, g), &text, &c->err);
        bj_put_text(rows, text);
    }
    bj_put_text(rows, bj_st_get_text(st, BY_FACULTY));
    if (!a->by[BY_MONTH]) {
        for (int i = 0; i < 4; i++)
            bj_put_null(rows);
        return r;
    }
    char month[16], day[24];
    int64_t m = bj_st_get_i64(st, BY_MONTH);
    int64_t d = a->by[BY_DAY] ? bj_st_get_i64(st, BY_DAY) : 1;
    snprintf(month, sizeof(month), "%04d-%02d", (int)(m / 12 % 10000),
             (int)(m % 12) + 1);
    snprintf(day, sizeof(day), "%s-%02d", month, (int)(d % 32));
    const int64_t sec = bj_tz_midnight(
        bj_tz_used(),
        bj_days_from_civil((int)(m / 12), (unsigned)(m % 12) + 1, (unsigned)d));
    bj_put_text(rows, bj_slice_str(month));
    bj_put_text(rows, a->by[BY_DAY] ? bj_slice_str(day) : (struct bj_slice){0});
    bj_put_time(rows, sec);
    bj_put_time_ms(rows, sec);
    return r;
}

/* Write v * times / by, rounded half up, with digits digits after the point. */
static void put_ratio(struct bj_rows *rows, int64_t v, int64_t times,
                      int64_t by, unsigned digits)
{
    v = bj_bill_ratio(v, times, by);
    if (v == BJ_SQL_NULL)
        bj_put_null(rows);
    else
        bj_put_fixed(rows, v, digits);
}

/* Write the hours that were not used; null if no use is known. */
static void put_unused(struct bj_rows *rows, int64_t known_sec,
                       int64_t used_msec)
{
    int64_t msec = known_sec * 1000 - used_msec;
    put_ratio(rows, msec > 0 ? msec : 0, 1, known_sec > 0 ? 3600 : 0, 3);
}

/* Write millionths as percent; null if unknown. */
static void put_known(struct bj_rows *rows, int64_t ppm)
{
    put_ratio(rows, ppm, 1, ppm == BJ_SQL_NULL ? 0 : 1000, 1);
}

static void put_cost(const struct bj_prices *prices, const struct bj_bill *b,
                     struct bj_rows *rows)
{
    const int64_t cost = bj_bill_cost(b, prices);
    put_ratio(rows, cost, 1, cost != BJ_SQL_NULL, 6);
    put_known(rows, bj_bill_cost_known(b, prices));
    const int64_t not_charged = bj_bill_not_charged(b, prices);
    put_ratio(rows, not_charged, 1, not_charged != BJ_SQL_NULL, 6);
    bj_put_text(rows, prices->currency[0] ? bj_slice_str(prices->currency)
                                          : (struct bj_slice){0});
}

static void put_sums(struct bj_st *st, const struct bj_prices *prices,
                     struct bj_rows *rows)
{
    int64_t v[SUMS];
    for (int i = 0; i < SUMS; i++) {
        v[i] = bj_st_get_i64(st, GROUPS + i);
        v[i] = v[i] == BJ_SQL_NULL ? 0 : v[i];
    }
    const struct bj_bill b = {.cpu_sec = v[CPU],
                              .gpu_sec = v[GPU],
                              .mem_mib_sec = v[MEM],
                              .cpu_known_sec = v[CPU] - v[UNKNOWN] + v[KNOWN],
                              .cpu_used_msec = v[USED] + v[MORE],
                              .gpu_known_sec = v[GPU_KNOWN],
                              .gpu_used_msec = v[GPU_USED],
                              .energy_cpu_sec = v[BEST_CPU],
                              .energy_mj = v[BEST_MJ],
                              .emissions_mj = v[GRAMS_MJ],
                              .emissions_ug = v[GRAMS_UG],
                              .failed_cpu_sec = v[FAILED_CPU],
                              .failed_gpu_sec = v[FAILED_GPU],
                              .failed_mem_mib_sec = v[FAILED_MEM],
                              .failed_energy_cpu_sec = v[FAILED_ENERGY_CPU],
                              .failed_energy_mj = v[FAILED_MJ]};
    for (int i = STARTED; i <= OOM; i++)
        bj_put_int(rows, v[i]);
    put_ratio(rows, v[WAIT], 1, v[STARTED], 0);
    for (int i = ELAPSED; i <= GPU; i++)
        put_ratio(rows, v[i], 1000, 3600, 3);
    put_ratio(rows, b.mem_mib_sec, 1000, 3600 * 1024, 3);
    put_ratio(rows, b.cpu_used_msec, 1, b.cpu_known_sec > 0 ? 3600 : 0, 3);
    put_ratio(rows, b.cpu_used_msec, 1, b.cpu_known_sec, 1);
    put_known(rows, bj_bill_cpu_known(&b));
    put_unused(rows, b.cpu_known_sec, b.cpu_used_msec);
    put_ratio(rows, b.gpu_used_msec, 1, b.gpu_known_sec, 1);
    put_known(rows, bj_bill_gpu_known(&b));
    put_unused(rows, b.gpu_known_sec, b.gpu_used_msec);
    if (v[ENERGY_CPU] > 0)
        put_ratio(rows, v[ENERGY], 10, 36, 6);
    else
        bj_put_null(rows);
    put_ratio(rows, v[ENERGY_CPU], 1000, v[CPU], 1);
    put_ratio(rows, b.energy_mj, 1, b.energy_cpu_sec > 0 ? 3600 : 0, 6);
    put_known(rows, bj_bill_energy_known(&b));
    put_ratio(rows, b.emissions_ug, 1, b.emissions_mj > 0 ? 1 : 0, 6);
    put_known(rows, bj_bill_emissions_known(&b));
    put_cost(prices, &b, rows);
}

/* Write the table; *cut: there are more rows. */
static int write_table(struct bj_call *c, struct usage *a,
                       const struct bj_output *out, bool *cut)
{
    const char *names[BJ_KEYS];
    struct bj_st *st = NULL;
    struct bj_rows rows;
    struct bj_prices prices;
    int r = bj_prices_read(bj_reader_db(c->reader), &prices, &c->err);
    if (r == 0)
        r = build(c, a);
    if (r == 0)
        r = bj_query_open(&a->q, c->reader, &st, &c->err);
    if (r != 0)
        return r;
    bj_rows_begin(&rows, out, names, bj_key_names(bj_usage_keys, names));
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        *cut = rows.n == c->worker->conf->max_rows;
        r = 0;
        if (*cut)
            break;
        bj_row_begin(&rows);
        r = put_groups(c, a, st, &rows);
        put_sums(st, &prices, &rows);
        bj_row_end(&rows);
    }
    bj_rows_end(&rows);
    return r;
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
        r = write_table(c, a, out, cut);
    bj_query_free(&a->q);
    bj_buf_free(&a->faculties);
    free(a);
    return r == -EINTR ? bj_call_refuse(
                             c, 503,
                             "The query took longer than query.timeout; narrow "
                             "from and to, or name a user or an account.")
                       : r;
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
     .keys = bj_usage_keys},
    {.path = NULL},
};
