/* Parts of a job that are not columns of its row: steps, energy, emissions and
 * findings. */
#include "apiserver/frame/state.h"
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

const struct bj_column bj_step_columns[] = {
    BJ_COLUMN("step", TEXT, BJ_SQL_STEP,
              "batch, extern, interactive, or its number.", .label = "Step"),
    BJ_COLUMN("name", TEXT, "(SELECT text FROM jobname WHERE id = s.name)",
              "Name.", .label = "Name"),
    BJ_COLUMN("state", TEXT, "(SELECT name FROM state WHERE id = s.state)",
              "State, the same for all batch systems.", .label = "State",
              .form = BJ_SHOW_STATE),
    BJ_COLUMN("state_raw", TEXT, WORD("s.state_raw"),
              "State as the scheduler reports it."),
    BJ_COLUMN("exit_code", INT, "s.exit_code", "Exit code."),
    BJ_COLUMN("exit_signal", INT, "s.exit_signal",
              "Signal that ended the step."),
    BJ_COLUMN("start", TIME, "s.start", "Started.", .label = "Started"),
    BJ_COLUMN("start_ms", TIME_MS, "s.start", "The same time in milliseconds."),
    BJ_COLUMN("end", TIME, "s.\"end\"", "Ended."),
    BJ_COLUMN("end_ms", TIME_MS, "s.\"end\"", "The same time in milliseconds."),
    BJ_COLUMN("elapsed_seconds", INT, "s.elapsed", "Run time in seconds.",
              .label = "Elapsed", .unit = BJ_UNIT_SECONDS),
    BJ_COLUMN("suspended_seconds", INT, "s.suspended",
              "Suspended time in seconds."),
    BJ_COLUMN("cpus", INT, "s.cpus", "CPUs allocated.", .label = "CPUs"),
    BJ_COLUMN("nodes", INT, "s.nodes", "Nodes allocated.", .label = "Nodes"),
    BJ_COLUMN("tasks", INT, "s.tasks", "Tasks."),
    BJ_COLUMN("nodelist", TEXT, "(SELECT text FROM hosts WHERE id = s.hosts)",
              "Node list."),
    BJ_COLUMN("tres_allocated", TEXT,
              "(SELECT text FROM tres WHERE id = s.tres_allocated)",
              "Resources allocated, as the scheduler reports them."),
    BJ_COLUMN("cpu_used_seconds", MICRO, "s.cpu_usec", "CPU time used."),
    BJ_COLUMN("cpu_system_seconds", MICRO, "s.cpu_system_usec",
              "CPU time in the kernel."),
    BJ_COLUMN("cpu_efficiency_percent", PPM,
              "s.cpu_usec / nullif(s.cpus * s.elapsed, 0)",
              "CPU time used, in percent of allocated.",
              .label = "CPU efficiency", .form = BJ_SHOW_PERCENT),
    BJ_COLUMN("memory_task_peak_bytes", INT, "s.memory_task_peak_bytes",
              "Memory of the largest task.",
              .label = "Memory of the largest task", .unit = BJ_UNIT_BYTES),
    BJ_COLUMN("memory_task_peak_node", TEXT, WORD("s.peak_node"),
              "Node of that task."),
    BJ_COLUMN("memory_peak_bytes", INT, "s.memory_scheduler_peak_bytes",
              "Memory peak."),
    BJ_COLUMN("energy_scheduler_joules", INT, "s.energy_scheduler_joules",
              "Energy."),
    BJ_COLUMN("read_bytes", INT, "s.read_bytes",
              "Bytes read from file systems."),
    BJ_COLUMN("write_bytes", INT, "s.write_bytes",
              "Bytes written to file systems."),
    BJ_COLUMN("submit_line", TEXT, "s.submit_line", "Submit line."),
    {.name = NULL},
};

/* --- energy and grams ------------------------------------------------------
 */

static const struct bj_column energy_columns[] = {
    BJ_COLUMN(
        "kind", TEXT, "p.kind",
        "total; part: of the total; alternative: the total by another policy."),
    BJ_COLUMN(
        "component", TEXT, "p.name",
        "total; its parts cpu, dram, gpu and other; and the total of other "
        "policies: by usage (if_by_use), by reservation (if_by_reservation)."),
    BJ_COLUMN("joules", MICRO, "p.uj", "Energy."),
    BJ_COLUMN("kwh", MICRO, "(p.uj + 1800000) / 3600000",
              "The same in kilowatt-hours."),
    BJ_COLUMN("source", SOURCE, "u.energy_source",
              "Source: nodes, prometheus or scheduler."),
    BJ_COLUMN("policy", TEXT, WORD("u.energy_policy"),
              "Policy that splits the energy of nodes over jobs."),
    {.name = NULL},
};

static const struct bj_column gram_columns[] = {
    BJ_COLUMN("provider", TEXT, "f.provider",
              "Provider of the emission factors; best: at each time the best "
              "of them."),
    BJ_COLUMN("kind", TEXT, "f.kind", "Kind of factor. Do not compare kinds."),
    BJ_COLUMN("zone", TEXT, "nullif(f.zone, '')", "Zone of the grid."),
    BJ_COLUMN("country", TEXT, "nullif(f.country, '')", "Country."),
    BJ_COLUMN("grams", MICRO, "g.micrograms", "Grams of CO2 equivalent."),
    BJ_COLUMN("covered_joules", MICRO, "g.covered_uj",
              "Energy with known emission factors."),
    BJ_COLUMN("estimated", BOOL, "g.estimated",
              "Some of the factors are a forecast, an estimate or a profile."),
    {.name = NULL},
};

/* --- findings --------------------------------------------------------------
 */

static const struct bj_column finding_columns[] = {
    BJ_COLUMN("finding", TEXT, "r.name", "Name of the rule."),
    BJ_COLUMN("severity", TEXT, "r.severity", "Severity."),
    BJ_COLUMN("text", TEXT, BJ_SQL_FINDING, "Description in one sentence."),
    BJ_COLUMN("advice", TEXT, BJ_SQL_ADVICE, "Advice of the site."),
    BJ_COLUMN("url", TEXT, "nullif(r.url, '')", "Page with more, of the site."),
    BJ_COLUMN("value", REAL, "f.value", "Measured value."),
    BJ_COLUMN("threshold", REAL, "f.threshold", "Threshold of the rule."),
    BJ_COLUMN("condition", TEXT, "r.condition", "The rule, as it was then."),
    {.name = NULL},
};

/* The SQL of each part, before and after the number of the job; order appends
 * the rest where that depends on the job. */
static const struct {
    const struct bj_column *columns;
    const char *from, *behind;
    int (*order)(struct bj_call *c, int64_t job, struct bj_query *q);
} parts[] = {
    [BJ_PART_STEPS] = {bj_step_columns,
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
                       struct bj_picked *k, struct bj_query *q)
{
    bj_picked_table(k, parts[which].columns);
    bj_query_sql(q, "SELECT ");
    bj_table_select(q, k);
    bj_query_sql(q, parts[which].from);
    bj_query_int(q, job);
    bj_query_sql(q, parts[which].behind);
    return parts[which].order ? parts[which].order(c, job, q) : 0;
}

static int on_part(struct bj_call *c, enum bj_part which)
{
    struct bj_arena arena = {0};
    struct bj_query q = {0};
    struct bj_picked k;
    struct bj_params p;
    struct bj_visible_job f;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r == 0)
        r = bj_visible_job_find(c, &p, c->tail, &arena, &f);
    if (r == 0)
        r = select_part(c, which, f.job, &k, &q);
    if (r == 0)
        r = bj_table_reply(c, &q, &k, c->worker->conf->max_rows);
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
    struct bj_picked k;
    int r = select_part(c, which, job, &k, &q);
    if (r == 0)
        r = bj_table_rows(c, &q, &k, out, c->worker->conf->max_rows, &cut);
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
    OF_JOB("steps", on_steps, bj_step_columns, "The steps of a job."),
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
