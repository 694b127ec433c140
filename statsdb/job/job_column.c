#include "statsdb/job/job_column.h"

#include "sched/job.h"
#include "statsdb/derive/bill.h"
#include "statsdb/derive/price.h"
#include "statsdb/tables/application.h"
#include "statsdb/tables/best.h"
#include "statsdb/tables/fragment.h"
#include "store/db.h"

#include <string.h>
#include <strings.h>

/* --- computed columns -------------------------------------------------------
 */

static int64_t column_first(int64_t a, int64_t b)
{
    return a != BJ_SQL_NULL ? a : b;
}

/* amount, elapsed, sum over time of a resized job */
static int64_t make_held(const int64_t *v)
{
    return bj_best_held(v[2], v[0], v[1]);
}

/* value, end: Slurm reports 0 for running jobs. */
static int64_t make_ended(const int64_t *v)
{
    return v[1] == BJ_SQL_NULL ? BJ_SQL_NULL : v[0];
}

/* A submit time of 0 is unknown. */
static int64_t make_stamp(const int64_t *v)
{
    return v[0] == 0 ? BJ_SQL_NULL : v[0];
}

/* time_limit */
static int64_t make_unlimited(const int64_t *v)
{
    return v[0] == BJ_SQL_NULL ? BJ_SQL_NULL : v[0] == INT64_MAX;
}

/* start, eligible, submit */
static int64_t make_wait(const int64_t *v)
{
    int64_t since = column_first(v[1], make_stamp(&v[2])), wait;
    if (v[0] == BJ_SQL_NULL || since == BJ_SQL_NULL ||
        __builtin_sub_overflow(v[0], since, &wait))
        return BJ_SQL_NULL;
    return wait > 0 ? wait : 0;
}

/* measured, its source, accounting's */
static int64_t make_cpu_used(const int64_t *v)
{
    return bj_best_cpu(v[0], v[1], v[2]).value;
}

/* measured, its source, accounting's of the job, of its largest task */
static int64_t make_peak(const int64_t *v)
{
    return bj_best_peak(v[0], v[1], v[2], bj_accounting_peak(v[3], v[4])).value;
}

/* The same values. */
static int64_t make_peak_sampled(const int64_t *v)
{
    const bool measured = v[2] == BJ_FROM_NODES || v[2] == BJ_FROM_PROM;
    return measured ? bj_best_is_sampled(v[0], v[1]) : BJ_SQL_NULL;
}

/* The same values, and whether held is a charged peak. */
static int64_t make_peak_charged(const int64_t *v)
{
    const bool measured = v[2] == BJ_FROM_NODES || v[2] == BJ_FROM_PROM;
    return !measured ? BJ_SQL_NULL : v[0] == BJ_SQL_NULL ? 1 : v[5];
}

/* measured, its source, end, CPU time used, cpus, elapsed, cpu_sec */
static struct bj_best cpu_efficiency(const int64_t *v)
{
    return bj_best_cpu(v[0], v[1],
                       v[2] == BJ_SQL_NULL
                           ? BJ_SQL_NULL
                           : bj_best_cpu_ppm(v[3], make_held(&v[4]), 1));
}

static int64_t make_cpu_efficiency(const int64_t *v)
{
    return cpu_efficiency(v).value;
}

static int64_t make_cpu_source(const int64_t *v)
{
    return cpu_efficiency(v).source;
}

/* measured, its source, end, peak of the job, of its largest task, allocated,
 * requested */
static struct bj_best memory_efficiency(const int64_t *v)
{
    return bj_best(v[0], v[1],
                   v[2] == BJ_SQL_NULL
                       ? BJ_SQL_NULL
                       : bj_best_memory_ppm(bj_accounting_peak(v[3], v[4]),
                                            column_first(v[5], v[6])));
}

static int64_t make_memory_efficiency(const int64_t *v)
{
    return memory_efficiency(v).value;
}

static int64_t make_memory_source(const int64_t *v)
{
    return memory_efficiency(v).source;
}

/* time_limit, elapsed, end, start; none if the job never started */
static int64_t make_time_efficiency(const int64_t *v)
{
    if (v[0] == INT64_MAX || v[2] == BJ_SQL_NULL ||
        (v[3] == BJ_SQL_NULL && v[1] == 0))
        return BJ_SQL_NULL;
    return bj_best_ratio(v[1], 1000000, v[0]);
}

/* measured, its source, energy_joules */
static int64_t make_energy(const int64_t *v)
{
    return bj_best(v[0], v[1], bj_accounting_uj(v[2])).value;
}

static int64_t make_energy_source(const int64_t *v)
{
    return bj_best(v[0], v[1], bj_accounting_uj(v[2])).source;
}

/* The same values, and the energy of the nodes beyond their components, which
 * only a meter of the whole node gives. */
static int64_t make_energy_partial(const int64_t *v)
{
    return v[0] == BJ_SQL_NULL ||
                   (v[1] != BJ_FROM_NODES && v[1] != BJ_FROM_PROM)
               ? BJ_SQL_NULL
               : v[3] == BJ_SQL_NULL;
}

/* cpus, elapsed, gpus, memory, end, ENERGY, prices, cpu_sec, gpu_sec,
 * memory_mib_sec, state, whether jobs that hardware ended are free, GPU fault
 */
static struct bj_prices prices_of(const int64_t *v)
{
    return (struct bj_prices){v[8], v[9], v[10], v[11], v[16] > 0, ""};
}

static struct bj_paid paid_of(const int64_t *v)
{
    const int64_t energy = make_energy(&v[5]);
    return (struct bj_paid){
        bj_best_held(v[12], v[0], v[1]),
        v[2] == BJ_SQL_NULL ? 0 : bj_best_held(v[13], v[2], v[1]),
        v[3] < 0 ? BJ_SQL_NULL : bj_best_held(v[14], v[3] >> 20, v[1]),
        bj_best_ratio(energy, 1, 1000)};
}

static bool is_free(const int64_t *v)
{
    return v[16] > 0 && bj_bill_hardware_failed(v[15], v[17]);
}

static int64_t make_cost(const int64_t *v)
{
    const struct bj_prices prices = prices_of(v);
    const struct bj_paid paid = paid_of(v);
    const int64_t cost =
        v[4] == BJ_SQL_NULL ? BJ_SQL_NULL : bj_cost(&prices, &paid);
    return cost != BJ_SQL_NULL && is_free(v) ? 0 : cost;
}

static int64_t make_not_charged(const int64_t *v)
{
    const struct bj_prices prices = prices_of(v);
    const struct bj_paid paid = paid_of(v);
    return make_cost(v) == BJ_SQL_NULL ? BJ_SQL_NULL
           : is_free(v)                ? bj_cost(&prices, &paid)
                                       : 0;
}

static int64_t make_cost_minimum(const int64_t *v)
{
    if (is_free(v))
        return make_cost(v) == BJ_SQL_NULL ? BJ_SQL_NULL : 0;
    const struct bj_prices prices = prices_of(v);
    const struct bj_paid paid = paid_of(v);
    return make_cost(v) == BJ_SQL_NULL ? BJ_SQL_NULL
                                       : bj_cost_is_minimum(&prices, &paid);
}

/* state, GPU fault */
static int64_t make_hardware_failed(const int64_t *v)
{
    return bj_bill_hardware_failed(v[0], v[1]);
}

/* part, whole */
static int64_t make_share(const int64_t *v)
{
    return bj_best_ratio(v[0], 1000000, v[1]);
}

/* --- the table -------------------------------------------------------------
 */

#define CPU_EFFICIENCY                                                         \
    "u.cpu_efficiency_ppm", "u.cpu_efficiency_source", "j.\"end\"",            \
        "j.cpu_usec", "j.cpus", "j.elapsed", "j.cpu_sec"
#define MEMORY_PEAK                                                            \
    "u.memory_held_peak_bytes", "u.memory_charged_peak_bytes",                 \
        "u.memory_efficiency_source", "j.memory_scheduler_peak_bytes",         \
        "j.memory_task_peak_bytes"
#define MEMORY_EFFICIENCY                                                      \
    "u.memory_efficiency_ppm", "u.memory_efficiency_source", "j.\"end\"",      \
        "j.memory_scheduler_peak_bytes", "j.memory_task_peak_bytes",           \
        "j.memory_allocated_bytes", "j.memory_requested_bytes"
#define GPU_DOUBT(bit, name)                                                   \
    " || CASE WHEN u.gpu_conflicts & " #bit " > 0 THEN ', " name "' ELSE '' "  \
    "END"
#define GPU_FAULT(n, name) " WHEN " #n " THEN '" name "'"
#define ENERGY "u.energy_uj", "u.energy_source", "j.energy_scheduler_joules"
#define COST                                                                   \
    "j.cpus", "j.elapsed", "j.gpus", "j.memory_allocated_bytes", "j.\"end\"",  \
        ENERGY, BJ_SQL_PRICES, "j.cpu_sec", "j.gpu_sec", "j.memory_mib_sec",   \
        "j.state", BJ_SQL_FAILED_NODES_FREE, "u.gpu_fault"

/* Grams by the best factor of all providers at each moment. */
#define GRAMS(column, kind)                                                    \
    "(SELECT g." column " FROM job_grams AS g WHERE g.job = j.id AND g.source" \
    " = (SELECT id FROM factor_source WHERE cluster IS NULL AND provider = "   \
    "'best' AND kind = '" kind "' AND zone = ''))"

/* The values that nodes measured for a job, with each node's own policy. */
#define MEASURED                                                               \
    " FROM node_record AS r JOIN node_energy AS e ON e.record = r.id"          \
    " AND e.policy = r.energy_policy WHERE " BJ_SQL_RECORD_OF("r", "j") ")"

/* Like bj_tres_sum of tres_requested; allocated GPUs if the scheduler has no
 * such lists, or PBS's chunks, which have no items but others. */
_Static_assert(BJ_TRES_OTHER == 0 && BJ_TRES_GRES == 6,
               "types in GPUS_REQUESTED");
#define GPUS_REQUESTED                                                         \
    "CASE WHEN NOT EXISTS (SELECT 1 FROM tres_item WHERE tres = "              \
    "j.tres_requested AND type > 0) THEN j.gpus ELSE (SELECT coalesce("        \
    "sum(CASE WHEN t.model IS NULL THEN t.count END), sum(t.count), 0)"        \
    " FROM tres_item AS t WHERE t.tres = j.tres_requested AND t.type = 6"      \
    " AND t.name = 'gpu') END"

/* The model reported by a node's driver, else the scheduler's type. */
static const char gpu_model[] =
    "(SELECT text FROM word WHERE id = coalesce(u.gpu_model, j.gpu_model))";

/* The most severe first, without a sort. */
static const char finding_names[] =
    "(SELECT nullif(substr("
    "coalesce(',' || group_concat(CASE WHEN r.severity = 'critical'"
    " THEN r.name END), '') || "
    "coalesce(',' || group_concat(CASE WHEN r.severity = 'warning'"
    " THEN r.name END), '') || "
    "coalesce(',' || group_concat(CASE WHEN r.severity NOT IN ('critical',"
    " 'warning') THEN r.name END), ''), 2), '') "
    "FROM job_finding AS f JOIN finding_rule AS r ON r.id = f.rule "
    "WHERE f.job = j.id)";

/* The help is last; label and form may follow, for web pages. */
#define MADE(key, sacct, as, amount, where, function, values, ...)             \
    {                                                                          \
        .name = key, .title = sacct, .kind = BJ_AS_##as,                       \
        .unit = BJ_UNIT_##amount, .in = where, .make = function,               \
        .sql = values, .help = __VA_ARGS__                                     \
    }
#define PLAIN(name, title, kind, unit, sql, ...)                               \
    MADE(name, title, kind, unit, BJ_IN_LISTS, NULL, BJ_VALUES(sql),           \
         __VA_ARGS__)
#define MORE(name, title, kind, unit, sql, ...)                                \
    MADE(name, title, kind, unit, BJ_ON_REQUEST, NULL, BJ_VALUES(sql),         \
         __VA_ARGS__)
#define TEXT_OF(key, sacct, as, dictionary, amount, where, value, ...)         \
    {                                                                          \
        .name = key, .title = sacct, .kind = BJ_AS_##as,                       \
        .word = BJ_WORD_##dictionary, .unit = BJ_UNIT_##amount, .in = where,   \
        .sql = {value}, .help = __VA_ARGS__                                    \
    }
#define WORD(name, title, word, unit, sql, ...)                                \
    TEXT_OF(name, title, WORD, word, unit, BJ_IN_LISTS, sql, __VA_ARGS__)
#define MORE_WORD(name, title, unit, sql, ...)                                 \
    TEXT_OF(name, title, WORD, OTHER, unit, BJ_ON_REQUEST, sql, __VA_ARGS__)
#define OWNER(name, title, kind, word, unit, ...)                              \
    TEXT_OF(name, title, kind, word, unit, BJ_IN_LISTS, "j.owner", __VA_ARGS__)

/* What a running job used in the last minutes (table job_part), if that is
 * known of each node or GPU. */
#define NOW(value, of, parts, all)                                             \
    "CASE WHEN j.\"end\" IS NULL THEN (SELECT CASE WHEN count(" of             \
    ") = count(*) AND count(*) = coalesce(" all ", count(*)) THEN " value      \
    " END FROM job_part AS p WHERE p.job = j.id AND " parts ") END"

#define IDLE_SINCE                                                             \
    "CASE WHEN j.\"end\" IS NULL THEN (SELECT CASE WHEN count(p.idle_since) =" \
    " count(*) AND sum(CASE p.gpu WHEN '' THEN 1 ELSE 0 END) = coalesce("      \
    "j.nodes, 1) AND count(*) >= coalesce(j.nodes, 1) + coalesce(j.gpus, 0)"   \
    " THEN max(p.idle_since) END FROM job_part AS p WHERE p.job = j.id) END"

const struct bj_column bj_job_columns[] = {
    MADE("key", "Key", KEY, NONE, BJ_IN_LISTS, NULL,
         BJ_VALUES("j.cluster", "j.jobid", "j.submit"),
         "Unique key of one run of a job: cluster:jobid:submit.",
         .label = "Key"),
    WORD("cluster", "Cluster", CLUSTER, NONE, "j.cluster", "Cluster.",
         .label = "Cluster", .form = BJ_SHOW_CLUSTER),
    WORD("batch_system", "BatchSystem", SYSTEM, NONE, "j.cluster",
         "Batch system: slurm, pbs or lsf."),
    PLAIN("jobid", "JobIDRaw", TEXT, NONE, "j.jobid",
          "The scheduler's own id, as in cgroups and metrics."),
    PLAIN("display_id", "JobID", TEXT, NONE, "j.display_id",
          "Id as people write it: 4711, 4711_3, 4711+1.", .label = "Job",
          .form = BJ_SHOW_JOB),
    PLAIN("sluid", "SLUID", TEXT, NONE, "j.sluid",
          "Slurm's unique id of the run."),
    PLAIN("array_job_id", "ArrayJobID", INT, NONE, "j.array_job_id",
          "Id of the array."),
    PLAIN("array_task", "ArrayTaskID", INT, NONE, "j.array_task",
          "Index in the array."),
    PLAIN("het_job_id", "HetJobID", INT, NONE, "m.het_job_id",
          "Id of the leader of a heterogeneous job."),
    PLAIN("het_offset", "HetJobOffset", INT, NONE, "m.het_offset",
          "Index in the heterogeneous job."),
    WORD("name", "JobName", NAME, FREE, "j.name", "Name.", .label = "Name"),
    WORD("user", "User", USER, FREE, "j.user", "Owner.", .label = "User",
         .form = BJ_SHOW_USER),
    OWNER("uid", "UID", WORD_INT, UID, NONE, "User id of the owner."),
    OWNER("group", "Group", WORD, GROUP, FREE, "Group of the owner."),
    OWNER("gid", "GID", WORD_INT, GID, NONE, "Group id of the owner."),
    WORD("account", "Account", ACCOUNT, FREE, "j.account", "Account.",
         .label = "Account", .form = BJ_SHOW_ACCOUNT),
    WORD("project", "Project", OTHER, FREE, "m.project", "Project."),
    WORD("wckey", "WCKey", OTHER, FREE, "m.wckey", "Workload key."),
    WORD("partition", "Partition", PARTITION, FREE, "j.partition",
         "Partition or queue.", .label = "Partition",
         .form = BJ_SHOW_PARTITION),
    WORD("qos", "QOS", QOS, FREE, "j.qos", "Quality of service.",
         .label = "QOS"),
    WORD("state", "State", STATE, NONE, "j.state",
         "State, in the same words for all batch systems.", .label = "State",
         .form = BJ_SHOW_STATE),
    WORD("state_raw", "StateRaw", OTHER, FREE, "j.state_raw",
         "State as the scheduler reports it.",
         .label = "State in the scheduler"),
    WORD("reason", "Reason", OTHER, FREE, "j.reason",
         "Reason the scheduler reports for the state.", .label = "Reason",
         .form = BJ_SHOW_REASON),
    MADE("exit_code", "ExitCode", INT, NONE, BJ_IN_LISTS, make_ended,
         BJ_VALUES("j.exit_code", "j.\"end\""),
         "Exit code of a job that ended.", .label = "Exit code"),
    MADE("exit_signal", "ExitSignal", INT, NONE, BJ_IN_LISTS, make_ended,
         BJ_VALUES("j.exit_signal", "j.\"end\""),
         "Signal that ended the job; 0 for none.", .label = "Signal"),
    PLAIN("cancelled_by", "CancelledBy", INT, NONE, "m.cancelled_by",
          "User id of the user who cancelled it."),
    WORD("failed_node", "FailedNode", OTHER, NONE, "m.failed_node",
         "Node whose failure ended it."),
    PLAIN("restarts", "Restarts", INT, COUNT, "j.restarts",
          "Times it was requeued.", .label = "Restarts"),
    PLAIN("priority", "Priority", INT, COUNT, "j.priority", "Priority.",
          .label = "Priority"),
    MADE("submit", "Submit", TIME, NONE, BJ_IN_LISTS, make_stamp,
         BJ_VALUES(BJ_SQL_SUBMIT), "Time of submission.", .label = "Submitted"),
    MADE("submit_ms", NULL, TIME_MS, NONE, BJ_IN_LISTS, make_stamp,
         BJ_VALUES(BJ_SQL_SUBMIT),
         "Time of submission, in milliseconds since 1970."),
    PLAIN("eligible", "Eligible", TIME, NONE, "j.eligible",
          "Time at which it became eligible to start.", .label = "Eligible"),
    PLAIN("eligible_ms", NULL, TIME_MS, NONE, "j.eligible",
          "Time at which it became eligible, in milliseconds since 1970."),
    PLAIN("start", "Start", TIME, NONE, "j.start", "Start time.",
          .label = "Started"),
    PLAIN("start_ms", NULL, TIME_MS, NONE, "j.start",
          "Start time in milliseconds since 1970."),
    PLAIN("end", "End", TIME, NONE, "j.\"end\"", "End time.", .label = "Ended"),
    PLAIN("end_ms", NULL, TIME_MS, NONE, "j.\"end\"",
          "End time in milliseconds since 1970."),
    PLAIN("from", NULL, TIME_MS, NONE, "coalesce(j.start, nullif(j.submit, 0))",
          "Start of a link to Grafana: start_ms, else submit_ms."),
    PLAIN("to", NULL, LINK_END, NONE, "j.\"end\"",
          "End of a link to Grafana: end_ms, or now."),
    MADE("wait_seconds", "Wait", INT, SECONDS, BJ_IN_LISTS, make_wait,
         BJ_VALUES("j.start", "j.eligible", "j.submit"),
         "Time from eligible to start.", .label = "Waited"),
    PLAIN("elapsed_seconds", "Elapsed", INT, SECONDS, "j.elapsed",
          "Run time without suspension; of a running job until the last "
          "import, in batchjob_acct until now.",
          .label = "Elapsed"),
    PLAIN("suspended_seconds", "Suspended", INT, SECONDS, "j.suspended",
          "Time it was suspended.", .label = "Suspended"),
    PLAIN("time_limit_seconds", "Timelimit", LIMIT, SECONDS, "j.time_limit",
          "Time limit; null where there is none.", .label = "Time limit"),
    MADE("time_limit_unlimited", NULL, BOOL, NONE, BJ_ON_REQUEST,
         make_unlimited, BJ_VALUES("j.time_limit"),
         "Whether the job has no time limit."),
    PLAIN("cpus", "NCPUS", INT, COUNT, "j.cpus", "Allocated CPUs.",
          .label = "CPUs"),
    PLAIN("cpus_requested", "ReqCPUS", INT, COUNT, "j.cpus_requested",
          "Requested CPUs.", .label = "CPUs requested"),
    PLAIN("nodes", "NNodes", INT, COUNT, "j.nodes", "Allocated nodes.",
          .label = "Nodes"),
    PLAIN("tasks", "NTasks", INT, COUNT, "j.tasks", "Tasks.", .label = "Tasks"),
    PLAIN("gpus", "NGPUs", INT, COUNT, "j.gpus", "Allocated GPUs.",
          .label = "GPUs"),
    MORE("gpus_requested", "ReqGPUS", INT, COUNT, GPUS_REQUESTED,
         "Requested GPUs.", .label = "GPUs requested"),
    MORE("gpu_fault", "GPUFault", TEXT, NONE,
         "CASE u.gpu_fault" BJ_GPU_FAULTS(GPU_FAULT) " END",
         "The worst error of a GPU while the job held it: application, "
         "degraded, drain_later, drain_now, reset or lost; null: none is "
         "known."),
    MORE(
        "gpu_conflicts", "GPUConflicts", TEXT, NONE,
        "nullif(substr(''" BJ_GPU_DOUBTS(GPU_DOUBT) ", 3), '')",
        "What is in doubt about its GPUs: denied (another job holds a GPU that "
        "it names), stray (it used one that it was not given), double (another "
        "job had one at the same time), unresolved (one cannot be "
        "distinguished); "
        "null: nothing is known to be."),
    MADE("hardware_failed", "HardwareFailed", BOOL, NONE, BJ_ON_REQUEST,
         make_hardware_failed, BJ_VALUES("j.state", "u.gpu_fault"),
         "Whether hardware ended the job: a node that failed or did not boot, "
         "or a job that ended early whose GPU had failed."),
    PLAIN("gpu_model", "GPUModel", TEXT, FREE, gpu_model,
          "Model of its GPUs (one of several) as the driver reports it, else "
          "the scheduler's type.",
          .label = "GPU model"),
    WORD("nodelist", "NodeList", HOSTS, FREE, "j.hosts",
         "Names of the allocated nodes.", .label = "Node list",
         .form = BJ_SHOW_NODES),
    PLAIN("memory_requested_bytes", "ReqMem", INT, BYTES,
          "j.memory_requested_bytes", "Requested memory of the whole job."),
    PLAIN("memory_allocated_bytes", "AllocMem", INT, BYTES,
          "j.memory_allocated_bytes", "Allocated memory of the whole job.",
          .label = "Memory allocated"),
    WORD("tres_requested", "ReqTRES", TRES, FREE, "j.tres_requested",
         "Requested resources as the scheduler reports them.",
         .label = "Resources requested"),
    WORD("tres_allocated", "AllocTRES", TRES, FREE, "j.tres_allocated",
         "Allocated resources as the scheduler reports them.",
         .label = "Resources allocated"),
    MADE("cpu_allocated_seconds", "CPUTime", INT, SECONDS, BJ_IN_LISTS,
         make_held, BJ_VALUES("j.cpus", "j.elapsed", "j.cpu_sec"),
         "Allocated CPU time: CPUs times run time, over all sizes of a resized"
         " job."),
    MADE("gpu_allocated_seconds", "GPUTime", INT, SECONDS, BJ_ON_REQUEST,
         make_held, BJ_VALUES("j.gpus", "j.elapsed", "j.gpu_sec"),
         "Allocated GPU time: GPUs times run time, over all sizes of a resized"
         " job."),
    MADE("memory_allocated_mib_seconds", "MemTime", INT, COUNT, BJ_ON_REQUEST,
         make_held,
         BJ_VALUES("j.memory_allocated_bytes >> 20", "j.elapsed",
                   "j.memory_mib_sec"),
         "Allocated memory in MiB times run time, over all sizes of a resized"
         " job."),
    MADE("cpu_used_seconds", "TotalCPU", MICRO, SECONDS, BJ_IN_LISTS,
         make_cpu_used,
         BJ_VALUES("u.cpu_usec", "u.cpu_efficiency_source", "j.cpu_usec"),
         "CPU time used; measured, else from accounting."),
    PLAIN("cpu_system_seconds", "SystemCPU", MICRO, SECONDS,
          "j.cpu_system_usec", "CPU time in the kernel, from accounting."),
    MADE("cpu_efficiency_percent", "CPUEff", PPM, PERCENT, BJ_IN_LISTS,
         make_cpu_efficiency, BJ_VALUES(CPU_EFFICIENCY),
         "CPU time used in percent of that allocated; measured, else from "
         "accounting. It exceeds 100 where hardware threads do not count.",
         .label = "CPU efficiency", .form = BJ_SHOW_PERCENT),
    MADE("cpu_efficiency_source", "CPUEffSource", SOURCE, NONE, BJ_ON_REQUEST,
         make_cpu_source, BJ_VALUES(CPU_EFFICIENCY),
         "Source of cpu_efficiency_percent: nodes, prometheus or scheduler."),
    PLAIN("memory_task_peak_bytes", "MaxRSS", INT, BYTES,
          "j.memory_task_peak_bytes",
          "Highest memory of the largest task, from accounting."),
    MADE("memory_peak_bytes", "PeakMem", INT, BYTES, BJ_IN_LISTS, make_peak,
         BJ_VALUES(MEMORY_PEAK),
         "Highest memory that the job held, without page cache; measured, "
         "else from accounting.",
         .label = "Peak memory"),
    MADE("memory_peak_sampled", "PeakMemSampled", BOOL, NONE, BJ_ON_REQUEST,
         make_peak_sampled, BJ_VALUES(MEMORY_PEAK),
         "Whether memory_peak_bytes is only the largest sample, because the "
         "kernels of the nodes keep no peak; null: it was not measured."),
    MADE("memory_peak_charged", "PeakMemCharged", BOOL, NONE, BJ_ON_REQUEST,
         make_peak_charged,
         BJ_VALUES(MEMORY_PEAK, "u.memory_held_peak_charged"),
         "Whether memory_peak_bytes may contain page cache, because it was "
         "charged before the first sample of a node; null: that is not known."),
    MORE("memory_remote_percent", "RemoteMem", PPM, PERCENT,
         "u.memory_remote_ppm",
         "Part of its memory on other NUMA nodes than its CPUs, mean of the "
         "samples, of the worst node; null: not measured, or one NUMA node."),
    MORE("suspended_measured_seconds", "SuspendedMeasured", MICRO, SECONDS,
         "u.suspended_usec",
         "Time for which the freezer of the kernel suspended the job, the "
         "longest of its nodes; null: a kernel does not count it."),
    MORE("memory_charged_peak_bytes", "ChargedPeakMem", INT, BYTES,
         "u.memory_charged_peak_bytes",
         "Highest memory charged to the job, page cache included; measured."),
    MADE("memory_efficiency_percent", "MemEff", PPM, PERCENT, BJ_IN_LISTS,
         make_memory_efficiency, BJ_VALUES(MEMORY_EFFICIENCY),
         "Highest memory held in percent of that allocated; measured, else "
         "from accounting.",
         .label = "Memory efficiency", .form = BJ_SHOW_MEMORY),
    MADE(
        "memory_efficiency_source", "MemEffSource", SOURCE, NONE, BJ_ON_REQUEST,
        make_memory_source, BJ_VALUES(MEMORY_EFFICIENCY),
        "Source of memory_efficiency_percent: nodes, prometheus or scheduler."),
    MADE("time_efficiency_percent", "TimeEff", PPM, PERCENT, BJ_IN_LISTS,
         make_time_efficiency,
         BJ_VALUES("j.time_limit", "j.elapsed", "j.\"end\"", "j.start"),
         "Run time in percent of the time limit; none if it never started."),
    MADE("energy_joules", "Energy", MICRO, JOULES, BJ_IN_LISTS, make_energy,
         BJ_VALUES(ENERGY),
         "Energy; measured on all its nodes, else from accounting.",
         .label = "Energy"),
    MADE("energy_source", "EnergySource", SOURCE, NONE, BJ_ON_REQUEST,
         make_energy_source, BJ_VALUES(ENERGY),
         "Source of energy_joules: nodes, prometheus or scheduler."),
    MADE("energy_partial", "EnergyPartial", BOOL, NONE, BJ_ON_REQUEST,
         make_energy_partial, BJ_VALUES(ENERGY, "u.energy_other_uj"),
         "Whether energy_joules is that of components alone, such as "
         "processors and memory, because no meter measured the whole nodes; "
         "null: it was not measured."),
    MORE("energy_scheduler_joules", "EnergyScheduler", INT, JOULES,
         "j.energy_scheduler_joules", "Energy as the scheduler reports it."),
    PLAIN("read_bytes", "DiskRead", INT, BYTES, "j.read_bytes",
          "Bytes read, from accounting."),
    PLAIN("write_bytes", "DiskWrite", INT, BYTES, "j.write_bytes",
          "Bytes written, from accounting."),
    PLAIN("work_dir", "WorkDir", TEXT, FREE, "j.work_dir", "Working directory.",
          .label = "Working directory"),
    PLAIN("submit_line", "SubmitLine", TEXT, FREE, "m.submit_line",
          "Command that submitted it.", .label = "Submit line"),
    MORE(
        "script_options", "ScriptOptions", TEXT, FREE,
        "nullif(m.script_options, '')",
        "Options of the batch script that request amounts, each with its line; "
        "none: it has none, null: the script is not known."),
    MORE_WORD(
        "application", "Application", NONE, "u.application",
        "Application that an ended job ran, by the site's table of programs; "
        "null: not recognised."),
    MORE("application_by", "ApplicationBy", TEXT, NONE,
         BJ_SQL_APPLICATION_BY("u.application_by"),
         "Evidence for the application: executables (CPU time by program, from "
         "nodes), steps, script, submit_line or job_name."),
    PLAIN("comment", "Comment", TEXT, FREE, "m.comment", "Comment.",
          .label = "Comment"),
    MORE("admin_comment", "AdminComment", TEXT, FREE, "m.admin_comment",
         "Comment of the administrator."),
    MORE_WORD("reservation", "Reservation", FREE, "m.reservation",
              "Reservation it ran in."),
    MORE_WORD(
        "constraints", "Constraints", FREE, "m.constraints",
        "Features that its nodes must have (Slurm), or its placement (PBS)."),
    /* Derived once a job has ended. */
    MORE("gpu_efficiency_percent", "GPUEff", PPM, PERCENT,
         "u.gpu_efficiency_ppm",
         "Busy time of its GPUs in percent of the time held.",
         .label = "GPU efficiency", .form = BJ_SHOW_GPU),
    MORE("gpus_measured", "GPUsMeasured", INT, COUNT, "u.gpus_seen",
         "GPUs whose use was measured."),
    MORE("gpus_unused", "GPUsUnused", INT, COUNT, "u.gpus_unused",
         "GPUs on which nothing ran, of those measured."),
    MORE("gpu_held_seconds", "GPUHeld", MICRO, SECONDS, "u.gpu_held_usec",
         "GPU time held."),
    MORE("gpu_idle_seconds", "GPUIdle", MICRO, SECONDS, "u.gpu_idle_usec",
         "GPU time held in which nothing of the job ran on the GPU.",
         .label = "GPU time idle"),
    MORE("gpu_memory_peak_bytes", "GPUPeakMem", INT, BYTES,
         "u.gpu_memory_peak_bytes", "Highest memory on its GPUs."),
    MORE("memory_mean_bytes", "MeanMem", INT, BYTES, "u.memory_mean_bytes",
         "Mean memory over all its nodes, measured."),
    MORE("io_read_bytes", "IORead", INT, BYTES, "u.io_read_bytes",
         "Bytes read by system calls, measured.", .label = "Data read"),
    MORE("io_write_bytes", "IOWrite", INT, BYTES, "u.io_write_bytes",
         "Bytes written by system calls, measured.", .label = "Data written"),
    MORE("now_cpus_busy", "CPUsNow", MILLI, COUNT,
         NOW("sum(p.cpus_milli)", "p.cpus_milli", "p.gpu = ''", "j.nodes"),
         "CPUs that a running job used in the last minutes, from Prometheus; "
         "null: not known of all its nodes.",
         .label = "CPUs now"),
    MORE(
        "now_memory_bytes", "MemNow", INT, BYTES,
        NOW("sum(p.memory_bytes)", "p.memory_bytes", "p.gpu = ''", "j.nodes"),
        "Memory that a running job held at most in the last minutes; null: not "
        "known of all its nodes.",
        .label = "Memory now"),
    MORE(
        "now_gpu_busy_percent", "GPUNow", PPM, PERCENT,
        NOW("sum(p.busy_ppm) / count(*)", "p.busy_ppm", "p.gpu <> ''",
            "j.gpus"),
        "Use of the GPUs of a running job in the last minutes; null: not known "
        "of all of them.",
        .label = "GPU use now"),
    MORE("idle_since", "IdleSince", TIME, NONE, IDLE_SINCE,
         "Since when a running job uses none of its CPUs and GPUs; null: it "
         "uses some, or that is not known (now_cpus_busy is null).",
         .label = "Idle since"),
    MORE("measured_nodes", "Measured", INT, COUNT, "u.measured_nodes",
         "Nodes that were measured.", .label = "Nodes measured"),
    MORE("coverage_percent", "Coverage", PPM, PERCENT, "u.coverage_ppm",
         "Samples in Prometheus in percent of those expected."),
    MORE_WORD("energy_policy", "EnergyPolicy", NONE, "u.energy_policy",
              "Policy by which nodes attribute energy to jobs.",
              .label = "Energy attributed by"),
    MORE("energy_used_joules", "EnergyUsed", MICRO, JOULES, "u.energy_used_uj",
         "Energy attributed by use alone."),
    MORE("energy_reserved_joules", "EnergyReserved", MICRO, JOULES,
         "u.energy_reserved_uj", "Energy attributed by reservation alone."),
    MORE("energy_measured_joules", "EnergyMeasured", MICRO, JOULES,
         "(SELECT sum(e.microjoules)" MEASURED,
         "Energy of the nodes that reported it, even if not all did."),
    MORE("energy_measured_nodes", "EnergyNodes", INT, COUNT,
         "(SELECT nullif(count(DISTINCT r.host), 0)" MEASURED,
         "Number of nodes that reported energy."),
    MORE("emissions_grams", "CO2", MICRO, GRAMS, GRAMS("micrograms", "average"),
         "Emissions by average emission factors, g CO2e.",
         .label = "CO2e (estimate)"),
    MORE("emissions_estimated", "CO2Estimated", BOOL, NONE,
         GRAMS("estimated", "average"),
         "Whether emissions_grams used a forecast, an estimate or a profile."),
    MORE("emissions_marginal_grams", "CO2Marginal", MICRO, GRAMS,
         GRAMS("micrograms", "marginal"),
         "Emissions by marginal emission factors, g CO2e."),
    MADE("emissions_covered_percent", "CO2Covered", PPM, PERCENT, BJ_ON_REQUEST,
         make_share, BJ_VALUES(GRAMS("covered_uj", "average"), "u.energy_uj"),
         "Energy with a known emission factor, in percent."),
    MADE(
        "cost", "Cost", MICRO, MONEY, BJ_ON_REQUEST, make_cost, BJ_VALUES(COST),
        "Cost of an ended job at the site's prices, in \"currency\"; null: the "
        "site has none.",
        .label = "Cost"),
    MADE("cost_is_minimum", "CostMin", BOOL, NONE, BJ_ON_REQUEST,
         make_cost_minimum, BJ_VALUES(COST),
         "Whether something that has a price is unknown, so that the job cost "
         "at least this."),
    MADE("cost_not_charged", "NotCharged", MICRO, MONEY, BJ_ON_REQUEST,
         make_not_charged, BJ_VALUES(COST),
         "What is not charged of an ended job, since a node failed; null: the "
         "site has no prices."),
    MORE("currency", "Currency", TEXT, NONE, BJ_SQL_CURRENCY,
         "Currency of the cost, as the site names it."),
    MORE("findings", "Findings", INT, COUNT,
         "(SELECT count(*) FROM job_finding WHERE job = j.id)",
         "Number of findings."),
    MORE("finding_names", "FindingNames", TEXT, FREE, finding_names,
         "Names of the findings, the worst first.", .label = "Findings",
         .form = BJ_SHOW_FINDINGS),
    {.name = NULL},
};
_Static_assert(sizeof(bj_job_columns) / sizeof(bj_job_columns[0]) <=
                   BJ_JOB_COLUMNS + 1,
               "BJ_JOB_COLUMNS is the size of arrays with all columns");

/* --- names -----------------------------------------------------------------
 */

/* sacct's other names. */
static const struct {
    const char *sacct, *name;
} synonyms[] = {
    {"AllocCPUS", "cpus"},
    {"AllocNodes", "nodes"},
    {"ConsumedEnergy", "energy_scheduler_joules"},
    {"ConsumedEnergyRaw", "energy_scheduler_joules"},
    {"CPUTimeRAW", "cpu_allocated_seconds"},
    {"ElapsedRaw", "elapsed_seconds"},
    {"TimelimitRaw", "time_limit_seconds"},
};

unsigned bj_column_names(const struct bj_column *columns,
                         const char *ret[static BJ_JOB_COLUMNS])
{
    unsigned n = 0;
    for (; columns[n].name && n < BJ_JOB_COLUMNS; n++)
        ret[n] = columns[n].name;
    return n;
}

const struct bj_column *bj_column_find(const struct bj_column *columns,
                                       struct bj_slice name)
{
    while (columns->name && !bj_slice_eq(bj_slice_str(columns->name), name))
        columns++;
    return columns->name ? columns : NULL;
}

const struct bj_column *bj_job_column(struct bj_slice name)
{
    return bj_column_find(bj_job_columns, name);
}

static bool column_is_name(struct bj_slice s, const char *name)
{
    return name && strlen(name) == s.n && strncasecmp(name, s.p, s.n) == 0;
}

const struct bj_column *bj_job_column_of_people(struct bj_slice name)
{
    const struct bj_column *c = bj_job_column(name);
    if (c)
        return c;
    for (c = bj_job_columns; c->name; c++)
        if (column_is_name(name, c->title))
            return c;
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
        if (column_is_name(name, synonyms[i].sacct))
            return bj_job_column(bj_slice_str(synonyms[i].name));
    for (c = bj_job_columns; c->name && !column_is_name(name, c->name);)
        c++;
    return c->name ? c : NULL;
}

bool bj_job_column_is_derived(const struct bj_column *c)
{
    for (unsigned i = 0; i < BJ_JOB_VALUES && c->sql[i]; i++)
        for (const char *s = c->sql[i]; (s = strstr(s, "u.")); s++)
            if (s == c->sql[i] || s[-1] == ' ' || s[-1] == '(')
                return true;
    return false;
}

enum bj_form bj_column_form(const struct bj_column *c)
{
    static const enum bj_form units[] = {
        [BJ_UNIT_MONEY] = BJ_SHOW_MONEY, [BJ_UNIT_SECONDS] = BJ_SHOW_SECONDS,
        [BJ_UNIT_BYTES] = BJ_SHOW_BYTES, [BJ_UNIT_JOULES] = BJ_SHOW_JOULES,
        [BJ_UNIT_GRAMS] = BJ_SHOW_GRAMS, [BJ_UNIT_PERCENT] = BJ_SHOW_PART};
    if (c->form)
        return c->form;
    if (c->kind == BJ_AS_TIME)
        return BJ_SHOW_TIME;
    if (c->kind >= BJ_AS_TEXT)
        return BJ_SHOW_TEXT;
    return units[c->unit] ? units[c->unit] : BJ_SHOW_NUMBER;
}

unsigned bj_value_digits(enum bj_value_kind kind)
{
    static const unsigned char digits[BJ_AS_KEY + 1] = {[BJ_AS_TENTHS] = 1,
                                                        [BJ_AS_MILLI] = 3,
                                                        [BJ_AS_PPM] = 4,
                                                        [BJ_AS_MICRO] = 6};
    return digits[kind];
}

const char *bj_value_type(enum bj_value_kind kind)
{
    static const char *const types[] = {
        [BJ_AS_INT] = "integer",      [BJ_AS_TENTHS] = "number",
        [BJ_AS_MILLI] = "number",     [BJ_AS_PPM] = "number",
        [BJ_AS_MICRO] = "number",     [BJ_AS_REAL] = "number",
        [BJ_AS_BOOL] = "boolean",     [BJ_AS_LIMIT] = "integer",
        [BJ_AS_TEXT] = "string",      [BJ_AS_WORD] = "string",
        [BJ_AS_WORD_INT] = "integer", [BJ_AS_SOURCE] = "string",
        [BJ_AS_TIME] = "string",      [BJ_AS_TIME_MS] = "integer",
        [BJ_AS_LINK_END] = "string",  [BJ_AS_KEY] = "string",
        [BJ_AS_MONTH] = "string",     [BJ_AS_DAY] = "string"};
    return types[kind];
}
