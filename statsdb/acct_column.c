#include "statsdb/acct_column.h"

#include <strings.h>

/* What the nodes measured of a job, and of each the policy that the node
 * believes in. */
#define MEASURED                                                               \
    " FROM node_record AS r JOIN node_energy AS e ON e.record = r.id"          \
    " AND e.policy = r.energy_policy WHERE r.cluster = j.cluster"              \
    " AND r.raw_id = j.raw_id AND j.id = (SELECT job FROM node_record_job"     \
    " WHERE record = r.id)"

/* Grams of all sources of a kind together: for each time the best there was. */
#define BEST(what, kind)                                                       \
    "(SELECT " what " FROM job_grams AS g JOIN factor_source AS s ON s.id ="   \
    " g.source WHERE g.job = j.id AND s.provider = 'best' AND s.kind = '" kind \
    "')"

#define SOURCE(column)                                                         \
    "CASE " column " WHEN 1 THEN 'nodes' WHEN 2 THEN 'prometheus' WHEN 3 THEN" \
    " 'scheduler' END"

#define PEAK                                                                   \
    "coalesce(max(v.mem_peak_bytes, v.mem_task_peak_bytes),"                   \
    " v.mem_peak_bytes, v.mem_task_peak_bytes)"

/* Shares of what a job had.  While it runs its use is not known yet. */
#define SHARE(used, of)                                                        \
    "iif(j.\"end\" IS NULL, NULL, round(100.0 * (" used ") / nullif(" of       \
    ", 0), 1))"

/* All of them; the last one has no name. */
static const struct bj_acct_column all[] = {
    {"JobID", "job_id", BJ_ACCT_TEXT, "v.shown_id", "as people write it"},
    {"JobIDRaw", "raw_id", BJ_ACCT_TEXT, "v.raw_id", "as cgroups have it"},
    {"SLUID", "sluid", BJ_ACCT_TEXT, "v.sluid", NULL},
    {"Cluster", "cluster", BJ_ACCT_TEXT, "v.cluster", NULL},
    {"JobName", "name", BJ_ACCT_NAME, "v.name", NULL},
    {"User", "user", BJ_ACCT_NAME, "v.user", NULL},
    {"UID", "uid", BJ_ACCT_INT, "v.uid", NULL},
    {"Group", "group", BJ_ACCT_NAME, "v.\"group\"", NULL},
    {"Account", "account", BJ_ACCT_NAME, "v.account", NULL},
    {"Project", "project", BJ_ACCT_NAME, "v.project", NULL},
    {"Partition", "partition", BJ_ACCT_NAME, "v.partition", "or queue"},
    {"QOS", "qos", BJ_ACCT_NAME, "v.qos", NULL},
    {"State", "state", BJ_ACCT_STATE, "v.state", "one set over all schedulers"},
    {"StateRaw", "state_raw", BJ_ACCT_NAME, "v.state_raw",
     "in the scheduler's words"},
    {"Reason", "reason", BJ_ACCT_NAME, "v.reason", NULL},
    {"ExitCode", "exit", BJ_ACCT_TEXT,
     "iif(j.\"end\" IS NULL, NULL, v.exit_code || ':' || ifnull(v.exit_signal,"
     " 0))",
     "code:signal, of a job that has ended"},
    {"Submit", "submit", BJ_ACCT_TIME, "v.submit_sec", NULL},
    {"Eligible", "eligible", BJ_ACCT_TIME, "v.eligible_sec", NULL},
    {"Start", "start", BJ_ACCT_TIME, "v.start_sec", NULL},
    {"End", "end", BJ_ACCT_TIME, "v.end_sec", NULL},
    {"Wait", "wait_sec", BJ_ACCT_SECONDS,
     "max(v.start_sec - ifnull(v.eligible_sec, v.submit_sec), 0)",
     "from eligible to start"},
    {"Elapsed", "elapsed_sec", BJ_ACCT_SECONDS, "v.elapsed_sec", NULL},
    {"Timelimit", "time_limit_sec", BJ_ACCT_SECONDS, "v.time_limit_sec", NULL},
    {"Restarts", "restarts", BJ_ACCT_INT, "v.restarts", NULL},
    {"NNodes", "nodes", BJ_ACCT_INT, "v.nodes", NULL},
    {"NCPUS", "cpus", BJ_ACCT_INT, "v.cpus", NULL},
    {"NGPUs", "gpus", BJ_ACCT_INT, "v.gpus", NULL},
    {"NodeList", "nodelist", BJ_ACCT_NAME, "v.nodelist", NULL},
    {"AllocTRES", "tres_allocated", BJ_ACCT_NAME, "v.tres_allocated", NULL},
    {"ReqTRES", "tres_requested", BJ_ACCT_NAME, "v.tres_requested", NULL},
    {"ReqMem", "mem_requested_bytes", BJ_ACCT_BYTES, "v.mem_requested_bytes",
     "of the whole job"},
    {"AllocMem", "mem_allocated_bytes", BJ_ACCT_BYTES, "v.mem_allocated_bytes",
     "of the whole job"},
    {"MaxRSS", "mem_task_peak_bytes", BJ_ACCT_BYTES, "v.mem_task_peak_bytes",
     "of the largest task"},
    {"PeakMem", "mem_peak_bytes", BJ_ACCT_BYTES, PEAK,
     "of all tasks, as far as it is known"},
    {"TotalCPU", "cpu_used_sec", BJ_ACCT_CPU, "v.cpu_usec", "CPU time used"},
    {"DiskRead", "read_bytes", BJ_ACCT_BYTES, "v.read_bytes", NULL},
    {"DiskWrite", "write_bytes", BJ_ACCT_BYTES, "v.write_bytes", NULL},
    {"CPUEff", "cpu_efficiency_percent", BJ_ACCT_PERCENT,
     "ifnull(round(u.cpu_efficiency_ppm / 1e4, 1), " SHARE(
         "v.cpu_usec / 1e6", "v.cpus * v.elapsed_sec") ")",
     "CPU time used of that of its CPUs, measured where it was; over 100 with "
     "threads or stale accounting"},
    {"MemEff", "mem_efficiency_percent", BJ_ACCT_PERCENT,
     "ifnull(round(u.mem_efficiency_ppm / 1e4, 1), " SHARE(
         PEAK, "ifnull(v.mem_allocated_bytes, v.mem_requested_bytes)") ")",
     "peak of the memory it had, measured where it was"},
    {"GPUEff", "gpu_efficiency_percent", BJ_ACCT_PERCENT,
     "round(u.gpu_efficiency_ppm / 1e4, 1)", "time in which its GPUs worked"},
    {"GPUIdle", "gpu_idle_sec", BJ_ACCT_CPU, "u.gpu_idle_usec",
     "GPU time held without use"},
    {"MeanMem", "mem_mean_bytes", BJ_ACCT_BYTES, "u.mem_mean_bytes",
     "of all its nodes, measured"},
    {"IORead", "io_read_bytes", BJ_ACCT_BYTES, "u.io_read_bytes",
     "by system calls, measured"},
    {"IOWrite", "io_write_bytes", BJ_ACCT_BYTES, "u.io_write_bytes",
     "by system calls, measured"},
    {"Measured", "measured_nodes", BJ_ACCT_INT, "u.measured_nodes",
     "on how many of its nodes"},
    {"Coverage", "coverage_percent", BJ_ACCT_PERCENT,
     "round(u.coverage_ppm / 1e4, 1)",
     "samples that Prometheus had of those it should have"},
    {"TimeEff", "time_efficiency_percent", BJ_ACCT_PERCENT,
     SHARE("v.elapsed_sec", "nullif(v.time_limit_sec, 9223372036854775807)"),
     "run time of its time limit"},
    {"Energy", "energy_joules", BJ_ACCT_JOULES,
     "coalesce(u.energy_uj / 1000000, (SELECT sum(e.microjoules) / "
     "1000000" MEASURED
     " HAVING count(DISTINCT r.host) >= j.nodes), v.energy_joules)",
     "measured where all of its nodes were, else the scheduler's"},
    {"EnergySource", "energy_source", BJ_ACCT_TEXT, SOURCE("u.energy_source"),
     "nodes, prometheus or scheduler"},
    {"EnergyUsed", "energy_used_joules", BJ_ACCT_JOULES,
     "u.energy_used_uj / 1000000", "its nodes' split by use alone"},
    {"EnergyReserved", "energy_reserved_joules", BJ_ACCT_JOULES,
     "u.energy_reserved_uj / 1000000", "and by what was reserved"},
    {"CO2", "co2_grams", BJ_ACCT_GRAMS, BEST("g.micrograms", "average"),
     "grams CO2 equivalent of its energy, by average factors"},
    {"CO2Marginal", "co2_marginal_grams", BJ_ACCT_GRAMS,
     BEST("g.micrograms", "marginal"), "the same by marginal factors"},
    {"CO2Covered", "co2_covered_percent", BJ_ACCT_PERCENT,
     BEST("round(100.0 * g.covered_uj / nullif(u.energy_uj, 0), 1)", "average"),
     "part of its energy for which factors are known"},
    {"Findings", "findings", BJ_ACCT_NAME,
     "(SELECT group_concat(name, ',') FROM (SELECT f.name FROM job_finding_v AS"
     " f WHERE f.job = j.id ORDER BY f.severity = 'critical' DESC, f.severity ="
     " 'warning' DESC, f.name))",
     "what rules found, the worst first"},
    {"EnergyNodes", "energy_measured_nodes", BJ_ACCT_INT,
     "(SELECT nullif(count(DISTINCT r.host), 0)" MEASURED ")",
     "how many of its nodes have told"},
    {"EnergyMeasured", "energy_measured_joules", BJ_ACCT_JOULES,
     "(SELECT sum(e.microjoules) / 1000000" MEASURED ")",
     "of the nodes that have told"},
    {"EnergyScheduler", "energy_scheduler_joules", BJ_ACCT_JOULES,
     "v.energy_joules", "the scheduler's"},
    {"Priority", "priority", BJ_ACCT_INT, "v.priority", NULL},
    {"Reservation", "reservation", BJ_ACCT_NAME, "v.reservation", NULL},
    {"WorkDir", "work_dir", BJ_ACCT_NAME, "v.work_dir", NULL},
    {"SubmitLine", "submit_line", BJ_ACCT_NAME, "v.submit_line", NULL},
    {"Comment", "comment", BJ_ACCT_NAME, "v.comment", NULL},
    {"AdminComment", "admin_comment", BJ_ACCT_NAME, "v.admin_comment", NULL},
    {NULL, NULL, BJ_ACCT_TEXT, NULL, NULL},
};

/* What sacct calls otherwise. */
static const struct {
    const char *theirs, *ours;
} others[] = {
    {"AllocCPUS", "NCPUS"},
    {"AllocNodes", "NNodes"},
    {"ConsumedEnergy", "EnergyScheduler"},
};

static bool is(struct bj_slice s, const char *name)
{
    return strlen(name) == s.n && strncasecmp(name, s.p, s.n) == 0;
}

/* "JobName%30": sacct's width, which nobody needs here. */
static struct bj_slice without_width(struct bj_slice name)
{
    const char *percent = name.n > 0 ? memchr(name.p, '%', name.n) : NULL;
    return percent ? (struct bj_slice){name.p, (size_t)(percent - name.p)}
                   : name;
}

static const struct bj_acct_column *find(struct bj_slice name)
{
    const struct bj_acct_column *c = all;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (is(name, others[i].theirs))
            name = bj_slice_str(others[i].ours);
    while (c->name && !is(name, c->name))
        c++;
    return c->name ? c : NULL;
}

int bj_acct_format(const struct bj_strv *names,
                   const struct bj_acct_column *ret[BJ_ACCT_COLUMNS_MAX],
                   unsigned *ret_n, struct bj_err *err)
{
    *ret_n = 0;
    for (size_t i = 0; i < names->n; i++) {
        struct bj_slice rest = bj_slice_str(names->v[i]), name;
        while (bj_slice_field(&rest, ',', &name)) {
            name = bj_slice_trim(name);
            const struct bj_acct_column *c = find(without_width(name));
            const struct bj_acct_column *end = c ? c + 1 : c;
            if (is(name, "all"))
                for (c = end = all; end->name;)
                    end++;
            if (!c)
                return bj_err_set(err, -EINVAL,
                                  "format: '%.*s' is no column; see --help",
                                  (int)(name.n < 40 ? name.n : 40), name.p);
            for (; c < end; c++) {
                if (*ret_n == BJ_ACCT_COLUMNS_MAX)
                    return bj_err_set(err, -EINVAL,
                                      "format: more than %d columns",
                                      BJ_ACCT_COLUMNS_MAX);
                ret[(*ret_n)++] = c;
            }
        }
    }
    if (*ret_n == 0)
        return bj_err_set(err, -EINVAL, "format: no column");
    return 0;
}

void bj_acct_select(const struct bj_acct_column *const *columns, unsigned n,
                    struct bj_buf *sql)
{
    bj_buf_str(sql, "SELECT ");
    for (unsigned i = 0; i < n; i++) {
        bj_buf_str(sql, i ? ", " : "");
        bj_buf_str(sql, columns[i]->sql);
    }
    bj_buf_str(sql, " FROM job AS j JOIN job_v AS v ON v.id = j.id"
                    " LEFT JOIN job_use AS u ON u.job = j.id WHERE j.id = ?1");
}

void bj_acct_columns_help(struct bj_buf *out)
{
    for (const struct bj_acct_column *c = all; c->name; c++)
        bj_buf_printf(out, "  %-15s%s%s\n", c->name, c->help ? " " : "",
                      c->help ? c->help : "");
}
