#include "apiserver/column.h"

#include <stddef.h>

/* What elapsed() takes. */
#define ELAPSED "j.elapsed_off", "j.start", "j.\"end\"", "j.suspended"
#define FROM(column)                                                           \
    "CASE " column " WHEN 1 THEN 'nodes' WHEN 2 THEN 'prometheus' WHEN 3 "     \
    "THEN 'scheduler' END"
#define GRAMS(column)                                                          \
    "(SELECT g." column " FROM job_grams AS g WHERE g.job = j.id AND g.source" \
    " = (SELECT id FROM factor_source WHERE cluster IS NULL AND provider = "   \
    "'best' AND kind = 'average' AND zone = ''))"
#define WORD_TEXT(column) "(SELECT text FROM word WHERE id = " column ")"

/* --- what is made of values -------------------------------------------------
 */

/* a * b / by, where all of that is known and makes sense. */
static int64_t scale(int64_t a, int64_t b, int64_t by)
{
    int64_t v;
    if (a == BJ_SQL_NULL || b == BJ_SQL_NULL || by <= 0 ||
        __builtin_mul_overflow(a, b, &v))
        return BJ_SQL_NULL;
    return v / by;
}

/* The short forms of the store's numbers (statsdb/schema_1.c), undone: 1024 or
 * 1000 of the unit, or, when it is negative, units. */
static int64_t unpack(int64_t v, int64_t units)
{
    return v < 0 && v != BJ_SQL_NULL ? -v : scale(v, units, 1);
}

static int64_t first(int64_t a, int64_t b)
{
    return a != BJ_SQL_NULL ? a : b;
}

/* How long it ran for, of what the store keeps no more than it has to. */
static int64_t elapsed(const int64_t *v)
{
    int64_t sec = 0;
    if (v[0] == BJ_SQL_NULL)
        return BJ_SQL_NULL;
    if (v[1] != BJ_SQL_NULL && v[2] != BJ_SQL_NULL &&
        (__builtin_sub_overflow(v[2], v[1], &sec) ||
         __builtin_sub_overflow(sec, v[3] == BJ_SQL_NULL ? 0 : v[3], &sec)))
        return BJ_SQL_NULL;
    return __builtin_add_overflow(sec, v[0], &sec) ? BJ_SQL_NULL : sec;
}

static int64_t make_mem(const int64_t *v)
{
    return unpack(v[0], 1024);
}

static int64_t make_usec(const int64_t *v)
{
    return unpack(v[0], 1000);
}

static int64_t make_first(const int64_t *v)
{
    return first(v[0], v[1]);
}

/* cpus, elapsed */
static int64_t make_cpu_alloc(const int64_t *v)
{
    return scale(v[0], elapsed(v + 1), 1);
}

/* value, end: Slurm has a 0 for jobs that still run. */
static int64_t make_ended(const int64_t *v)
{
    return v[1] == BJ_SQL_NULL ? BJ_SQL_NULL : v[0];
}

/* 0 stands for what was not told. */
static int64_t make_stamp(const int64_t *v)
{
    return v[0] == 0 ? BJ_SQL_NULL : v[0];
}

/* The largest number stands for none. */
static int64_t make_limit(const int64_t *v)
{
    return v[0] == INT64_MAX ? BJ_SQL_NULL : v[0];
}

/* start, eligible, submit */
static int64_t make_wait(const int64_t *v)
{
    int64_t since = first(v[1], make_stamp(&v[2])), wait;
    if (v[0] == BJ_SQL_NULL || since == BJ_SQL_NULL ||
        __builtin_sub_overflow(v[0], since, &wait))
        return BJ_SQL_NULL;
    return wait > 0 ? wait : 0;
}

/* cpu_time, cpus, elapsed; milliseconds by seconds are tenths of a percent */
static int64_t make_cpu_share(const int64_t *v)
{
    return scale(scale(unpack(v[0], 1000), 1, 1000), 1,
                 scale(v[1], elapsed(v + 2), 1));
}

/* peak_mem, task_peak_mem, allocated_mem, requested_mem */
static int64_t make_mem_share(const int64_t *v)
{
    return scale(unpack(first(v[0], v[1]), 1024), 1000,
                 unpack(first(v[2], v[3]), 1024));
}

/* time_limit, elapsed */
static int64_t make_time_share(const int64_t *v)
{
    return scale(elapsed(v + 1), 1000, make_limit(v));
}

/* --- the keys --------------------------------------------------------------
 */

#define PLAIN(key, kind, sql, help)                                            \
    {                                                                          \
        key, kind, 0, NULL, {sql}, help                                        \
    }
#define WORD(key, word, sql, help)                                             \
    {                                                                          \
        key, BJ_AS_WORD, word, NULL, {sql}, help                               \
    }
#define OWNER(key, kind, word, help)                                           \
    {                                                                          \
        key, kind, word, NULL, {"j.owner"}, help                               \
    }
#define MADE(key, kind, make, help, ...)                                       \
    {                                                                          \
        key, kind, 0, make, {__VA_ARGS__}, help                                \
    }

const struct bj_job_key bj_job_keys[] = {
    MADE("key", BJ_AS_KEY, NULL,
         "Names one run of a job for ever: cluster:id:submit.", "j.cluster",
         "j.raw_id", "j.submit"),
    WORD("cluster", BJ_WORD_CLUSTER, "j.cluster", "Cluster."),
    WORD("batch_system", BJ_WORD_SYSTEM, "j.cluster", "slurm, pbs or lsf."),
    PLAIN("id", BJ_AS_TEXT, "j.raw_id",
          "The id that cgroups and metrics have; ids wrap, see key."),
    MADE("shown_id", BJ_AS_SHOWN_ID, NULL, "The id as people write it: 4700_3.",
         "m.shown_id", "j.array_job", "j.array_task", "m.het_job",
         "m.het_offset", "j.raw_id"),
    PLAIN("sluid", BJ_AS_TEXT, "j.sluid", "Slurm's unique id of the run."),
    PLAIN("array_job", BJ_AS_INT, "j.array_job", "Id of the array."),
    PLAIN("array_task", BJ_AS_INT, "j.array_task", "Number in the array."),
    PLAIN("het_job", BJ_AS_INT, "m.het_job", "Leader of a heterogeneous job."),
    PLAIN("het_offset", BJ_AS_INT, "m.het_offset", "Number in it."),
    WORD("user", BJ_WORD_USER, "j.user", "Owner."),
    OWNER("uid", BJ_AS_WORD_INT, BJ_WORD_UID, "Owner's number."),
    OWNER("group", BJ_AS_WORD, BJ_WORD_GROUP, "Owner's group."),
    OWNER("gid", BJ_AS_WORD_INT, BJ_WORD_GID, "Its number."),
    WORD("account", BJ_WORD_ACCOUNT, "j.account", "Account."),
    WORD("project", BJ_WORD_OTHER, "m.project", "Project."),
    WORD("wckey", BJ_WORD_OTHER, "m.wckey", "Workload key."),
    WORD("partition", BJ_WORD_PARTITION, "j.partition", "Partition or queue."),
    WORD("qos", BJ_WORD_QOS, "j.qos", "Quality of service."),
    WORD("name", BJ_WORD_NAME, "j.name", "Name, free text."),
    WORD("state", BJ_WORD_STATE, "j.state",
         "State, the same for all batch systems."),
    WORD("state_raw", BJ_WORD_OTHER, "j.state_raw",
         "State as the batch system tells it."),
    WORD("reason", BJ_WORD_OTHER, "j.reason", "Why it waits."),
    MADE("exit_code", BJ_AS_INT, make_ended, "Exit code, once it has ended.",
         "j.exit_code", "j.\"end\""),
    MADE("exit_signal", BJ_AS_INT, make_ended,
         "Signal that ended it, 0 for none.", "j.exit_signal", "j.\"end\""),
    PLAIN("cancelled_by", BJ_AS_INT, "m.cancelled_by", "Number of who did."),
    PLAIN("restarts", BJ_AS_INT, "j.restarts", "How often it was requeued."),
    PLAIN("priority", BJ_AS_INT, "j.priority", "Priority."),
    MADE("submit", BJ_AS_TIME, make_stamp, "Submitted.", "j.submit"),
    MADE("submit_ms", BJ_AS_TIME_MS, make_stamp, "The same.", "j.submit"),
    PLAIN("eligible", BJ_AS_TIME, "j.eligible", "Allowed to start."),
    PLAIN("eligible_ms", BJ_AS_TIME_MS, "j.eligible", "The same."),
    PLAIN("start", BJ_AS_TIME, "j.start", "Started."),
    PLAIN("start_ms", BJ_AS_TIME_MS, "j.start", "The same."),
    PLAIN("end", BJ_AS_TIME, "j.\"end\"", "Ended."),
    PLAIN("end_ms", BJ_AS_TIME_MS, "j.\"end\"", "The same."),
    PLAIN("to", BJ_AS_LINK_END, "j.\"end\"", "End of a link: end_ms, or now."),
    MADE("wait_sec", BJ_AS_INT, make_wait, "From eligible to start.", "j.start",
         "j.eligible", "j.submit"),
    MADE("elapsed_sec", BJ_AS_INT, elapsed, "Ran for so long.", ELAPSED),
    PLAIN("suspended_sec", BJ_AS_INT, "j.suspended", "Was suspended for."),
    MADE("time_limit_sec", BJ_AS_INT, make_limit, "Limit; null: none.",
         "j.time_limit"),
    PLAIN("cpus", BJ_AS_INT, "j.cpus", "CPUs allocated."),
    MADE("cpus_requested", BJ_AS_INT, make_first, "CPUs asked for.",
         "m.cpus_requested", "j.cpus"),
    PLAIN("nodes", BJ_AS_INT, "j.nodes", "Nodes allocated."),
    PLAIN("tasks", BJ_AS_INT, "j.tasks", "Tasks."),
    PLAIN("gpus", BJ_AS_INT, "j.gpus", "GPUs allocated."),
    WORD("gpu_model", BJ_WORD_OTHER, "m.gpu_model", "Of which model."),
    WORD("nodelist", BJ_WORD_HOSTS, "j.hosts", "On which nodes."),
    MADE("mem_requested_bytes", BJ_AS_INT, make_mem, "Memory asked for.",
         "j.requested_mem"),
    MADE("mem_allocated_bytes", BJ_AS_INT, make_mem, "Memory allocated.",
         "j.allocated_mem"),
    WORD("tres_requested", BJ_WORD_TRES, "j.tres_requested",
         "Resources asked for, as told."),
    WORD("tres_allocated", BJ_WORD_TRES, "j.tres_allocated",
         "Resources allocated, as told."),
    MADE("cpu_alloc_sec", BJ_AS_INT, make_cpu_alloc, "CPU time allocated.",
         "j.cpus", ELAPSED),
    MADE("cpu_sec", BJ_AS_MICRO, make_usec, "CPU time used.", "j.cpu_time"),
    MADE("cpu_system_sec", BJ_AS_MICRO, make_usec, "Of it in the kernel.",
         "j.cpu_system_time"),
    MADE("cpu_efficiency", BJ_AS_TENTHS, make_cpu_share,
         "CPU time used, in percent of what was allocated.", "j.cpu_time",
         "j.cpus", ELAPSED),
    MADE("mem_task_peak_bytes", BJ_AS_INT, make_mem,
         "Memory of the largest task.", "j.task_peak_mem"),
    MADE("mem_peak_bytes", BJ_AS_INT, make_mem, "Memory, highest.",
         "j.peak_mem"),
    MADE("mem_efficiency", BJ_AS_TENTHS, make_mem_share,
         "Highest memory, in percent of what was allocated.", "j.peak_mem",
         "j.task_peak_mem", "j.allocated_mem", "j.requested_mem"),
    MADE("time_efficiency", BJ_AS_TENTHS, make_time_share,
         "Time it ran for, in percent of its limit.", "j.time_limit", ELAPSED),
    PLAIN("energy_joules", BJ_AS_INT, "j.energy_joules", "Energy."),
    PLAIN("read_bytes", BJ_AS_INT, "j.read_bytes", "Read from file systems."),
    PLAIN("write_bytes", BJ_AS_INT, "j.write_bytes", "Written to them."),
    MADE("work_dir", BJ_AS_PATH, NULL, "Working directory.", "j.dir", "j.leaf"),
    PLAIN("submit_line", BJ_AS_TEXT, "m.submit_line", "How it was submitted."),
    PLAIN("comment", BJ_AS_TEXT, "m.comment", "Comment, free text."),
    /* What is worked out once a job has ended: statsdb/schema_2.c. */
    PLAIN("best_cpu_efficiency", BJ_AS_PPM, "u.cpu_efficiency_ppm",
          "CPU time used in percent of what was allocated, as the best source "
          "tells it."),
    PLAIN("best_cpu_source", BJ_AS_TEXT, FROM("u.cpu_efficiency_source"),
          "Which one: nodes, prometheus or scheduler."),
    PLAIN("best_mem_efficiency", BJ_AS_PPM, "u.mem_efficiency_ppm",
          "Highest memory in percent of what was allocated, as the best source "
          "tells it."),
    PLAIN("best_mem_source", BJ_AS_TEXT, FROM("u.mem_efficiency_source"),
          "Which one."),
    PLAIN("gpu_efficiency", BJ_AS_PPM, "u.gpu_efficiency_ppm",
          "How busy its GPUs were, in percent of the time."),
    PLAIN("gpus_unused", BJ_AS_INT, "u.gpus_unused",
          "GPUs on which nothing ever ran."),
    PLAIN("gpu_held_sec", BJ_AS_MICRO, "u.gpu_held_usec",
          "Time that it held GPUs for."),
    PLAIN("gpu_idle_sec", BJ_AS_MICRO, "u.gpu_idle_usec",
          "Of it: without using them."),
    PLAIN("gpu_mem_peak_bytes", BJ_AS_INT, "u.gpu_mem_peak_bytes",
          "Memory on its GPUs, highest."),
    PLAIN("best_energy_joules", BJ_AS_MICRO, "u.energy_uj",
          "Energy, as the best source tells it, of all its nodes."),
    PLAIN("best_energy_source", BJ_AS_TEXT, FROM("u.energy_source"),
          "Which one."),
    PLAIN("energy_policy", BJ_AS_TEXT, WORD_TEXT("u.energy_policy"),
          "How nodes split their energy over jobs."),
    PLAIN("emissions_g", BJ_AS_MICRO, GRAMS("micrograms"),
          "CO2 equivalent of that energy, by the best average factors, in "
          "grams."),
    PLAIN("emissions_estimated", BJ_AS_BOOL, GRAMS("estimated"),
          "Some of these factors are a forecast, an estimate or a profile."),
    PLAIN("findings", BJ_AS_INT,
          "(SELECT count(*) FROM job_finding WHERE job = j.id)",
          "How many things were found wrong with it."),
    PLAIN("finding_names", BJ_AS_TEXT,
          "(SELECT group_concat(r.name) FROM job_finding AS f JOIN "
          "finding_rule AS r ON r.id = f.rule WHERE f.job = j.id)",
          "Their names, with commas between."),
    {.key = NULL},
};

const char *bj_column_type(enum bj_column_kind kind)
{
    static const char *const types[] = {
        [BJ_AS_INT] = "integer",     [BJ_AS_TENTHS] = "number",
        [BJ_AS_MICRO] = "number",    [BJ_AS_MILLI] = "number",
        [BJ_AS_PPM] = "number",      [BJ_AS_REAL] = "number",
        [BJ_AS_BOOL] = "boolean",    [BJ_AS_TEXT] = "string",
        [BJ_AS_WORD] = "string",     [BJ_AS_WORD_INT] = "integer",
        [BJ_AS_TIME] = "string",     [BJ_AS_TIME_MS] = "integer",
        [BJ_AS_LINK_END] = "string", [BJ_AS_KEY] = "string",
        [BJ_AS_SHOWN_ID] = "string", [BJ_AS_PATH] = "string"};
    return types[kind];
}
