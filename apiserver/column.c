#include "apiserver/column.h"

#include <stddef.h>

/* The short forms of the store's numbers (statsdb/schema_1.c), undone. */
#define MEM(c) "iif(j." c " < 0, -j." c ", j." c " * 1024)"
#define USEC(c) "iif(j." c " < 0, -j." c ", j." c " * 1000)"
#define MSEC(c) "iif(j." c " < 0, -j." c " / 1000, j." c ")"
#define ELAPSED                                                                \
    "(j.elapsed_off + iif(j.start IS NULL OR j.\"end\" IS NULL, 0, "           \
    "j.\"end\" - j.start - ifnull(j.suspended, 0)))"
#define FROM(column)                                                           \
    "CASE " column " WHEN 1 THEN 'nodes' WHEN 2 THEN 'prometheus' WHEN 3 "     \
    "THEN 'scheduler' END"
#define GRAMS(column)                                                          \
    "(SELECT g." column " FROM job_grams AS g WHERE g.job = j.id AND g.source" \
    " = (SELECT id FROM factor_source WHERE cluster IS NULL AND provider = "   \
    "'best' AND kind = 'average' AND zone = ''))"
#define WORD(column) "(SELECT text FROM word WHERE id = " column ")"

const struct bj_api_column bj_api_columns[] = {
    {"key", BJ_AS_TEXT, 0,
     "(SELECT name FROM cluster WHERE id = j.cluster) || ':' || j.raw_id || "
     "':' || j.submit",
     "Names one run of a job for ever: cluster:id:submit."},
    {"cluster", BJ_AS_WORD, BJ_WORD_CLUSTER, "j.cluster", "Cluster."},
    {"batch_system", BJ_AS_WORD, BJ_WORD_SYSTEM, "j.cluster",
     "slurm, pbs or lsf."},
    {"id", BJ_AS_TEXT, 0, "j.raw_id",
     "The id that cgroups and metrics have; ids wrap, see key."},
    {"shown_id", BJ_AS_TEXT, 0,
     "coalesce(m.shown_id, j.array_job || '_' || j.array_task, m.het_job || "
     "'+' || m.het_offset, j.raw_id)",
     "The id as people write it: 4700_3."},
    {"sluid", BJ_AS_TEXT, 0, "j.sluid", "Slurm's unique id of the run."},
    {"array_job", BJ_AS_INT, 0, "j.array_job", "Id of the array."},
    {"array_task", BJ_AS_INT, 0, "j.array_task", "Number in the array."},
    {"het_job", BJ_AS_INT, 0, "m.het_job", "Leader of a heterogeneous job."},
    {"het_offset", BJ_AS_INT, 0, "m.het_offset", "Number in it."},
    {"user", BJ_AS_WORD, BJ_WORD_USER, "j.user", "Owner."},
    {"uid", BJ_AS_INT, 0, "o.uid", "Owner's number."},
    {"group", BJ_AS_TEXT, 0, "nullif(o.grp, '')", "Owner's group."},
    {"gid", BJ_AS_INT, 0, "o.gid", "Its number."},
    {"account", BJ_AS_WORD, BJ_WORD_ACCOUNT, "j.account", "Account."},
    {"project", BJ_AS_WORD, BJ_WORD_OTHER, "m.project", "Project."},
    {"wckey", BJ_AS_WORD, BJ_WORD_OTHER, "m.wckey", "Workload key."},
    {"partition", BJ_AS_WORD, BJ_WORD_PARTITION, "j.partition",
     "Partition or queue."},
    {"qos", BJ_AS_WORD, BJ_WORD_QOS, "j.qos", "Quality of service."},
    {"name", BJ_AS_WORD, BJ_WORD_NAME, "j.name", "Name, free text."},
    {"state", BJ_AS_WORD, BJ_WORD_STATE, "j.state",
     "State, the same for all batch systems."},
    {"state_raw", BJ_AS_WORD, BJ_WORD_OTHER, "j.state_raw",
     "State as the batch system tells it."},
    {"reason", BJ_AS_WORD, BJ_WORD_OTHER, "j.reason", "Why it waits."},
    {"exit_code", BJ_AS_INT, 0, "j.exit_code", "Exit code."},
    {"exit_signal", BJ_AS_INT, 0, "j.exit_signal", "Signal that ended it."},
    {"cancelled_by", BJ_AS_INT, 0, "m.cancelled_by", "Number of who did."},
    {"restarts", BJ_AS_INT, 0, "j.restarts", "How often it was requeued."},
    {"priority", BJ_AS_INT, 0, "j.priority", "Priority."},
    {"submit", BJ_AS_TIME, 0, "nullif(j.submit, 0)", "Submitted."},
    {"submit_ms", BJ_AS_TIME_MS, 0, "nullif(j.submit, 0)", "The same."},
    {"eligible", BJ_AS_TIME, 0, "j.eligible", "Allowed to start."},
    {"eligible_ms", BJ_AS_TIME_MS, 0, "j.eligible", "The same."},
    {"start", BJ_AS_TIME, 0, "j.start", "Started."},
    {"start_ms", BJ_AS_TIME_MS, 0, "j.start", "The same."},
    {"end", BJ_AS_TIME, 0, "j.\"end\"", "Ended."},
    {"end_ms", BJ_AS_TIME_MS, 0, "j.\"end\"", "The same."},
    {"to", BJ_AS_LINK_END, 0, "j.\"end\"", "End of a link: end_ms, or now."},
    {"wait_sec", BJ_AS_INT, 0,
     "max(j.start - ifnull(j.eligible, nullif(j.submit, 0)), 0)",
     "From eligible to start."},
    {"elapsed_sec", BJ_AS_INT, 0, ELAPSED, "Ran for so long."},
    {"suspended_sec", BJ_AS_INT, 0, "j.suspended", "Was suspended for."},
    {"time_limit_sec", BJ_AS_INT, 0,
     "nullif(j.time_limit, 9223372036854775807)", "Limit; null: none."},
    {"cpus", BJ_AS_INT, 0, "j.cpus", "CPUs allocated."},
    {"cpus_requested", BJ_AS_INT, 0, "ifnull(m.cpus_requested, j.cpus)",
     "CPUs asked for."},
    {"nodes", BJ_AS_INT, 0, "j.nodes", "Nodes allocated."},
    {"tasks", BJ_AS_INT, 0, "j.tasks", "Tasks."},
    {"gpus", BJ_AS_INT, 0, "j.gpus", "GPUs allocated."},
    {"gpu_model", BJ_AS_WORD, BJ_WORD_OTHER, "m.gpu_model", "Of which model."},
    {"nodelist", BJ_AS_WORD, BJ_WORD_HOSTS, "j.hosts", "On which nodes."},
    {"mem_requested_bytes", BJ_AS_INT, 0, MEM("requested_mem"),
     "Memory asked for."},
    {"mem_allocated_bytes", BJ_AS_INT, 0, MEM("allocated_mem"),
     "Memory allocated."},
    {"tres_requested", BJ_AS_WORD, BJ_WORD_TRES, "j.tres_requested",
     "Resources asked for, as told."},
    {"tres_allocated", BJ_AS_WORD, BJ_WORD_TRES, "j.tres_allocated",
     "Resources allocated, as told."},
    {"cpu_alloc_sec", BJ_AS_INT, 0, "j.cpus * " ELAPSED, "CPU time allocated."},
    {"cpu_sec", BJ_AS_MICRO, 0, USEC("cpu_time"), "CPU time used."},
    {"cpu_system_sec", BJ_AS_MICRO, 0, USEC("cpu_system_time"),
     "Of it in the kernel."},
    {"cpu_efficiency", BJ_AS_TENTHS, 0,
     MSEC("cpu_time") " / nullif(j.cpus * " ELAPSED ", 0)",
     "CPU time used, in percent of what was allocated."},
    {"mem_task_peak_bytes", BJ_AS_INT, 0, MEM("task_peak_mem"),
     "Memory of the largest task."},
    {"mem_peak_bytes", BJ_AS_INT, 0, MEM("peak_mem"), "Memory, highest."},
    {"mem_efficiency", BJ_AS_TENTHS, 0,
     "coalesce(" MEM("peak_mem") ", " MEM(
         "task_peak_mem") ") * 1000 / "
                          "nullif(coalesce(" MEM("allocated_mem") ", " MEM(
                              "requested_mem") "), 0)",
     "Highest memory, in percent of what was allocated."},
    {"time_efficiency", BJ_AS_TENTHS, 0,
     ELAPSED " * 1000 / nullif(nullif(j.time_limit, 9223372036854775807), 0)",
     "Time it ran for, in percent of its limit."},
    {"energy_joules", BJ_AS_INT, 0, "j.energy_joules", "Energy."},
    {"read_bytes", BJ_AS_INT, 0, "j.read_bytes", "Read from file systems."},
    {"write_bytes", BJ_AS_INT, 0, "j.write_bytes", "Written to them."},
    {"work_dir", BJ_AS_TEXT, 0,
     "CASE WHEN j.dir IS NULL THEN j.leaf ELSE (SELECT path FROM dir WHERE id "
     "= j.dir) || '/' || ifnull(j.leaf, '') END",
     "Working directory."},
    {"submit_line", BJ_AS_TEXT, 0, "m.submit_line", "How it was submitted."},
    {"comment", BJ_AS_TEXT, 0, "m.comment", "Comment, free text."},
    /* What is worked out once a job has ended: statsdb/schema_2.c. */
    {"best_cpu_efficiency", BJ_AS_PPM, 0, "u.cpu_efficiency_ppm",
     "CPU time used in percent of what was allocated, as the best source "
     "tells it."},
    {"best_cpu_source", BJ_AS_TEXT, 0, FROM("u.cpu_efficiency_source"),
     "Which one: nodes, prometheus or scheduler."},
    {"best_mem_efficiency", BJ_AS_PPM, 0, "u.mem_efficiency_ppm",
     "Highest memory in percent of what was allocated, as the best source "
     "tells it."},
    {"best_mem_source", BJ_AS_TEXT, 0, FROM("u.mem_efficiency_source"),
     "Which one."},
    {"gpu_efficiency", BJ_AS_PPM, 0, "u.gpu_efficiency_ppm",
     "How busy its GPUs were, in percent of the time."},
    {"gpus_unused", BJ_AS_INT, 0, "u.gpus_unused",
     "GPUs on which nothing ever ran."},
    {"gpu_held_sec", BJ_AS_MICRO, 0, "u.gpu_held_usec",
     "Time that it held GPUs for."},
    {"gpu_idle_sec", BJ_AS_MICRO, 0, "u.gpu_idle_usec",
     "Of it: without using them."},
    {"gpu_mem_peak_bytes", BJ_AS_INT, 0, "u.gpu_mem_peak_bytes",
     "Memory on its GPUs, highest."},
    {"best_energy_joules", BJ_AS_MICRO, 0, "u.energy_uj",
     "Energy, as the best source tells it, of all its nodes."},
    {"best_energy_source", BJ_AS_TEXT, 0, FROM("u.energy_source"),
     "Which one."},
    {"energy_policy", BJ_AS_TEXT, 0, WORD("u.energy_policy"),
     "How nodes split their energy over jobs."},
    {"emissions_g", BJ_AS_MICRO, 0, GRAMS("micrograms"),
     "CO2 equivalent of that energy, by the best average factors, in grams."},
    {"emissions_estimated", BJ_AS_BOOL, 0, GRAMS("estimated"),
     "Some of these factors are a forecast, an estimate or a profile."},
    {"findings", BJ_AS_INT, 0,
     "(SELECT count(*) FROM job_finding WHERE job = j.id)",
     "How many things were found wrong with it."},
    {"finding_names", BJ_AS_TEXT, 0,
     "(SELECT group_concat(r.name) FROM job_finding AS f JOIN finding_rule AS "
     "r ON r.id = f.rule WHERE f.job = j.id)",
     "Their names, with commas between."},
    {.key = NULL},
};

const char *bj_column_type(const struct bj_api_column *k)
{
    static const char *const types[] = {
        [BJ_AS_INT] = "integer",     [BJ_AS_TENTHS] = "number",
        [BJ_AS_MICRO] = "number",    [BJ_AS_MILLI] = "number",
        [BJ_AS_PPM] = "number",      [BJ_AS_REAL] = "number",
        [BJ_AS_BOOL] = "boolean",    [BJ_AS_TEXT] = "string",
        [BJ_AS_WORD] = "string",     [BJ_AS_TIME] = "string",
        [BJ_AS_TIME_MS] = "integer", [BJ_AS_LINK_END] = "string"};
    return types[k->kind];
}
