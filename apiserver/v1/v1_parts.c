/* Parts of a job that are not columns of its row: steps, energy, emissions and
 * findings. */
#include "apiserver/frame/state.h"
#include "apiserver/job/report.h"
#include "apiserver/job/visible_job.h"
#include "apiserver/v1/findings.h"
#include "apiserver/v1/parts.h"
#include "apiserver/v1/table.h"
#include "statsdb/tables/fragment.h"

enum {
    STORE_AND_USER = BJ_NEED_STORE | BJ_NEED_USER,
    JOB = BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE)
};

#define WORD(column) BJ_SQL_WORD("word", column)

static const struct bj_api_column step_columns[] = {
    {"step", BJ_AS_TEXT, 0, BJ_SQL_STEP,
     "batch, extern, interactive, or its number."},
    {"name", BJ_AS_TEXT, 0, "(SELECT text FROM jobname WHERE id = s.name)",
     "Name."},
    {"state", BJ_AS_TEXT, 0, "(SELECT name FROM state WHERE id = s.state)",
     "State, the same for all batch systems."},
    {"state_raw", BJ_AS_TEXT, 0, WORD("s.state_raw"),
     "State as the scheduler reports it."},
    {"exit_code", BJ_AS_INT, 0, "s.exit_code", "Exit code."},
    {"exit_signal", BJ_AS_INT, 0, "s.exit_signal",
     "Signal that ended the step."},
    {"start", BJ_AS_TIME, 0, "s.start", "Started."},
    {"start_ms", BJ_AS_TIME_MS, 0, "s.start", "The same time in milliseconds."},
    {"end", BJ_AS_TIME, 0, "s.\"end\"", "Ended."},
    {"end_ms", BJ_AS_TIME_MS, 0, "s.\"end\"", "The same time in milliseconds."},
    {"elapsed_seconds", BJ_AS_INT, 0, "s.elapsed", "Run time in seconds."},
    {"suspended_seconds", BJ_AS_INT, 0, "s.suspended",
     "Suspended time in seconds."},
    {"cpus", BJ_AS_INT, 0, "s.cpus", "CPUs allocated."},
    {"nodes", BJ_AS_INT, 0, "s.nodes", "Nodes allocated."},
    {"tasks", BJ_AS_INT, 0, "s.tasks", "Tasks."},
    {"nodelist", BJ_AS_TEXT, 0, "(SELECT text FROM hosts WHERE id = s.hosts)",
     "Node list."},
    {"tres_allocated", BJ_AS_TEXT, 0,
     "(SELECT text FROM tres WHERE id = s.tres_allocated)",
     "Resources allocated, as the scheduler reports them."},
    {"cpu_used_seconds", BJ_AS_MICRO, 0, "s.cpu_usec", "CPU time used."},
    {"cpu_system_seconds", BJ_AS_MICRO, 0, "s.cpu_system_usec",
     "CPU time in the kernel."},
    {"cpu_efficiency_percent", BJ_AS_PPM, 0,
     "s.cpu_usec / nullif(s.cpus * s.elapsed, 0)",
     "CPU time used, in percent of allocated."},
    {"memory_task_peak_bytes", BJ_AS_INT, 0, "s.memory_task_peak_bytes",
     "Memory of the largest task."},
    {"memory_task_peak_node", BJ_AS_TEXT, 0, WORD("s.peak_node"),
     "Node of that task."},
    {"memory_peak_bytes", BJ_AS_INT, 0, "s.memory_scheduler_peak_bytes",
     "Memory peak."},
    {"energy_scheduler_joules", BJ_AS_INT, 0, "s.energy_scheduler_joules",
     "Energy."},
    {"read_bytes", BJ_AS_INT, 0, "s.read_bytes",
     "Bytes read from file systems."},
    {"write_bytes", BJ_AS_INT, 0, "s.write_bytes",
     "Bytes written to file systems."},
    {"submit_line", BJ_AS_TEXT, 0, "s.submit_line", "Submit line."},
    {.key = NULL},
};

/* --- energy and grams ------------------------------------------------------
 */

static const struct bj_api_column energy_columns[] = {
    {"kind", BJ_AS_TEXT, 0, "p.kind",
     "total; part: of the total; alternative: the total by another policy."},
    {"component", BJ_AS_TEXT, 0, "p.name",
     "total; its parts cpu, dram, gpu and other; and the total of other "
     "policies: by usage (if_by_use), by reservation (if_by_reservation)."},
    {"joules", BJ_AS_MICRO, 0, "p.uj", "Energy."},
    {"kwh", BJ_AS_MICRO, 0, "(p.uj + 1800000) / 3600000",
     "The same in kilowatt-hours."},
    {"source", BJ_AS_SOURCE, 0, "u.energy_source",
     "Source: nodes, prometheus or scheduler."},
    {"policy", BJ_AS_TEXT, 0, WORD("u.energy_policy"),
     "Policy that splits the energy of nodes over jobs."},
    {.key = NULL},
};

static const struct bj_api_column gram_columns[] = {
    {"provider", BJ_AS_TEXT, 0, "f.provider",
     "Provider of the emission factors; best: at each time the best of them."},
    {"kind", BJ_AS_TEXT, 0, "f.kind", "Kind of factor. Do not compare kinds."},
    {"zone", BJ_AS_TEXT, 0, "nullif(f.zone, '')", "Zone of the grid."},
    {"country", BJ_AS_TEXT, 0, "nullif(f.country, '')", "Country."},
    {"grams", BJ_AS_MICRO, 0, "g.micrograms", "Grams of CO2 equivalent."},
    {"covered_joules", BJ_AS_MICRO, 0, "g.covered_uj",
     "Energy with known emission factors."},
    {"estimated", BJ_AS_BOOL, 0, "g.estimated",
     "Some of the factors are a forecast, an estimate or a profile."},
    {.key = NULL},
};

/* --- findings --------------------------------------------------------------
 */

static const struct bj_api_column finding_columns[] = {
    {"finding", BJ_AS_TEXT, 0, "r.name", "Name of the rule."},
    {"severity", BJ_AS_TEXT, 0, "r.severity", "Severity."},
    {"text", BJ_AS_TEXT, 0, BJ_SQL_FINDING, "Description in one sentence."},
    {"advice", BJ_AS_TEXT, 0, BJ_SQL_ADVICE, "Advice of the site."},
    {"url", BJ_AS_TEXT, 0, "nullif(r.url, '')", "Page with more, of the site."},
    {"value", BJ_AS_REAL, 0, "f.value", "Measured value."},
    {"threshold", BJ_AS_REAL, 0, "f.threshold", "Threshold of the rule."},
    {"condition", BJ_AS_TEXT, 0, "r.condition", "The rule, as it was then."},
    {.key = NULL},
};

/* The SQL of each part, before and after the number of the job; order appends
 * the rest where that depends on the job. */
static const struct {
    const struct bj_api_column *columns;
    const char *from, *behind;
    int (*order)(struct bj_call *c, int64_t job, struct bj_query *q);
} parts[] = {
    [BJ_PART_STEPS] = {step_columns,
                       " FROM job AS b JOIN step AS s ON s.job = b.id"
                       " WHERE b.id = ",
                       " ORDER BY s.slot", NULL},
    [BJ_PART_ENERGY] =
        {energy_columns,
         " FROM (SELECT job, 0 AS n, 'total' AS kind, 'total' AS name, "
         "energy_uj AS uj FROM"
         " job_use UNION ALL SELECT job, 1, 'part', 'cpu', energy_cpu_uj FROM "
         "job_use"
         " UNION ALL SELECT job, 2, 'part', 'dram', energy_dram_uj FROM job_use"
         " UNION ALL SELECT job, 3, 'part', 'gpu', energy_gpu_uj FROM job_use"
         " UNION ALL SELECT job, 4, 'part', 'other', energy_other_uj FROM "
         "job_use"
         " UNION ALL SELECT job, 5, 'alternative', 'if_by_use', energy_used_uj "
         "FROM job_use"
         " UNION ALL SELECT job, 6, 'alternative', 'if_by_reservation', "
         "energy_reserved_uj "
         "FROM"
         " job_use) AS p JOIN job_use AS u ON u.job = p.job WHERE p.uj IS NOT"
         " NULL AND p.job = ",
         " ORDER BY p.n", NULL},
    [BJ_PART_EMISSIONS] = {gram_columns,
                           " FROM job_grams AS g JOIN factor_source AS f ON"
                           " f.id = g.source WHERE g.job = ",
                           " ORDER BY f.rank, f.provider, f.kind, f.zone",
                           NULL},
    [BJ_PART_FINDINGS] = {finding_columns,
                          " FROM job_finding AS f JOIN finding_rule AS r ON"
                          " r.id = f.rule WHERE f.job = ",
                          "", bj_findings_order},
};

static int select_part(struct bj_call *c, enum bj_part which, int64_t job,
                       struct bj_query *q)
{
    bj_query_sql(q, "SELECT ");
    bj_table_select(q, parts[which].columns);
    bj_query_sql(q, parts[which].from);
    bj_query_int(q, job);
    bj_query_sql(q, parts[which].behind);
    return parts[which].order ? parts[which].order(c, job, q) : 0;
}

static int on_part(struct bj_call *c, enum bj_part which)
{
    struct bj_arena arena = {0};
    struct bj_query q = {0};
    struct bj_params p;
    struct bj_visible_job f;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r == 0)
        r = bj_visible_job_find(c, &p, c->tail, &arena, &f);
    if (r == 0)
        r = select_part(c, which, f.job, &q);
    if (r == 0)
        r = bj_table_reply(c, &q, parts[which].columns,
                           c->worker->conf->max_rows);
    bj_query_free(&q);
    bj_arena_free(&arena);
    return r;
}

static int on_steps(struct bj_call *c)
{
    return on_part(c, BJ_PART_STEPS);
}

static int on_energy(struct bj_call *c)
{
    return on_part(c, BJ_PART_ENERGY);
}

static int on_grams(struct bj_call *c)
{
    return on_part(c, BJ_PART_EMISSIONS);
}

static int on_findings(struct bj_call *c)
{
    return on_part(c, BJ_PART_FINDINGS);
}

/* --- for pages -------------------------------------------------------------
 */

int bj_parts_rows(struct bj_call *c, enum bj_part which, int64_t job,
                  const struct bj_output *out)
{
    bool cut;
    struct bj_query q = {0};
    int r = select_part(c, which, job, &q);
    if (r == 0)
        r = bj_table_rows(c, &q, parts[which].columns, out,
                          c->worker->conf->max_rows, &cut);
    bj_query_free(&q);
    return r;
}

#define OF_JOB(name, handler, table, text)                                     \
    {                                                                          \
        .path = "/api/v1/jobs/*/" name, .methods = BJ_HTTP_GET,                \
        .needs = STORE_AND_USER, .run = handler, .help = text, .params = JOB,  \
        .columns = table                                                       \
    }

const struct bj_endpoint bj_endpoints_parts[] = {
    OF_JOB("steps", on_steps, step_columns, "The steps of a job."),
    OF_JOB("energy", on_energy, energy_columns,
           "The energy of a job by component."),
    OF_JOB("emissions", on_grams, gram_columns,
           "The emissions of a job, by provider of emission factors."),
    OF_JOB("findings", on_findings, finding_columns,
           "The findings of an ended job."),
    {.path = "/api/v1/jobs/*/report",
     .methods = BJ_HTTP_GET,
     .needs = STORE_AND_USER,
     .run = bj_report_reply,
     .help = "The report of a job: verdict, requested and used, findings, "
             "advice, nodes, GPUs, and the tasks of its array.",
     .params = JOB},
    {.path = NULL},
};
