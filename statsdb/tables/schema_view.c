#include "statsdb/tables/application.h"
#include "statsdb/tables/fragment.h"
#include "statsdb/tables/schema_sql.h"

#include <stddef.h>

/* Views with names instead of numbers; NULL is unknown.  schema_access.c has a
 * restricted version of each. */

/* Dictionaries of a job's row. */
#define NAME(table, column) " " BJ_SQL_NAME(table, "j." column) " AS " column
#define WORD(table, column, name)                                              \
    " " BJ_SQL_WORD(table, "j." column) " AS " name
#define MORE(column) " " BJ_SQL_WORD("word", "m." column) " AS " column

/* The name of a value's source (bj_source_name), from two bits for each value.
 */
#define SOURCE(n)                                                              \
    "CASE sources>>2*" #n "&3 WHEN 1 THEN'nodes'WHEN 2 THEN'prometheus'END"
#define VALUE(n, name) "," name "," SOURCE(n) " " name "_source"
/* clang-format off */
const char *const bj_schema_views[] = {
    /* Accounting of a job; job_use_v has measured values. */
    "CREATE VIEW job_v AS SELECT j.id, c.name AS cluster,"
    " c.system AS batch_system, j.jobid,"
    " j.display_id, j.sluid,"
    " j.array_job_id, j.array_task, m.array_tasks, m.het_job_id, m.het_offset,"
    NAME("user", "user") ", o.uid, o.gid, o.grp AS \"group\","
    NAME("account", "account") "," MORE("project") "," MORE("wckey") ","
    NAME("partition", "partition") "," NAME("qos", "qos") ","
    WORD("jobname", "name", "name") ", nullif(" BJ_SQL_SUBMIT ", 0) AS"
    " submit_sec,"
    " j.eligible AS eligible_sec, j.start AS start_sec, j.\"end\" AS end_sec,"
    " j.elapsed AS elapsed_seconds, j.suspended AS suspended_seconds,"
    " j.time_limit AS time_limit_seconds," NAME("state", "state") ","
    WORD("word", "state_raw", "state_raw") "," WORD("word", "reason", "reason")
    ", j.exit_code, j.exit_signal, "BJ_SQL_WORD("word", "j.exit_raw")
    " AS exit_raw, j.derived_exit_code, j.derived_exit_signal,"
    " m.cancelled_by, j.restarts, j.priority," WORD("word", "flags", "flags")
    ", j.cpus, j.cpus_requested, j.nodes,"
    " j.tasks, j.gpus," WORD("word", "gpu_model", "gpu_model") "," WORD("hosts", "hosts", "nodelist")
    "," WORD("tres", "tres_allocated", "tres_allocated") ","
    WORD("tres", "tres_requested", "tres_requested")
    ", j.memory_requested_bytes, j.memory_allocated_bytes,"
    " j.memory_task_peak_bytes, j.memory_scheduler_peak_bytes,"
    " j.vmemory_peak_bytes, j.cpu_usec, j.cpu_user_usec, j.cpu_system_usec,"
    " j.cpu_task_usec, j.energy_scheduler_joules, j.read_bytes, j.write_bytes,"
    " j.work_dir,"
    MORE("reservation") "," MORE("constraints") "," MORE("licenses") ","
    MORE("batch_host") "," MORE("submit_host") ", m.container, m.submit_line,"
    " m.comment, m.admin_comment, m.system_comment, m.steps_left_out,"
    MORE("failed_node") ", m.stdout_path, m.stderr_path, j.cpu_sec, j.node_sec,"
    " j.gpu_sec, j.memory_mib_sec"
    " FROM job AS j JOIN cluster AS c ON c.id = j.cluster LEFT JOIN job_more"
    " AS m ON m.job = j.id LEFT JOIN owner AS o ON o.id = j.owner",

    "CREATE VIEW job_size_v AS SELECT z.job, z.number, z.sluid,"
    " z.start AS start_sec, z.\"end\" AS end_sec,"
    " z.elapsed AS elapsed_seconds, z.cpus, z.nodes, z.gpus,"
    " z.memory_allocated_bytes, " BJ_SQL_WORD("hosts", "z.hosts")
    " AS nodelist, " BJ_SQL_WORD("tres", "z.tres_allocated")
    " AS tres_allocated FROM job_size AS z",

    "CREATE VIEW step_v AS SELECT s.job, " BJ_SQL_STEP
    " AS step_id, " BJ_SQL_WORD("jobname", "s.name") " AS name, "
    BJ_SQL_NAME("state", "s.state") " AS state, "
    BJ_SQL_WORD("word", "s.state_raw") " AS state_raw, s.exit_code,"
    " s.exit_signal, s.start AS start_sec, s.\"end\" AS end_sec,"
    " s.elapsed AS elapsed_seconds, s.suspended AS suspended_seconds,"
    " s.cpus, s.nodes, s.tasks, " BJ_SQL_WORD("hosts", "s.hosts")
    " AS nodelist, " BJ_SQL_WORD("tres", "s.tres_allocated")
    " AS tres_allocated, s.cpu_usec, s.cpu_user_usec, s.cpu_system_usec, s.cpu_task_usec,"
    " s.memory_task_peak_bytes, s.memory_scheduler_peak_bytes,"
    " s.vmemory_peak_bytes, s.energy_scheduler_joules, s.read_bytes,"
    " s.write_bytes, " BJ_SQL_WORD("word", "s.peak_node")
    " AS memory_task_peak_node, s.submit_line FROM step AS s",

    /* The run of a record: ids are used again and clocks differ, so of possible
     * runs it is the one with the nearest end. */
    "CREATE VIEW node_record_job AS SELECT r.id AS record, (SELECT id FROM"
    " (SELECT j.id AS id, j.start AS start, abs(j.\"end\" - r.\"end\") AS far"
    " FROM job AS j WHERE " BJ_SQL_RECORD_RUN("r", "j")
    " AND " BJ_SQL_RECORD_HOST("r", "j") ") AS n"
    " ORDER BY far IS NULL, far, start DESC LIMIT 1) AS job"
    " FROM node_record AS r",
    /* Records with the id of a job that ran on other hosts. */
    "CREATE VIEW node_record_other AS SELECT r.id AS record, j.id AS job"
    " FROM node_record AS r JOIN job AS j ON " BJ_SQL_RECORD_RUN("r", "j")
    " WHERE NOT " BJ_SQL_RECORD_HOST("r", "j"),
    /* Accounting has the run, which has ended, but not on the record's host. */
    "CREATE VIEW node_record_refused AS SELECT r.id AS record, r.host"
    " FROM node_record AS r WHERE EXISTS (SELECT 1 FROM job AS j WHERE "
    BJ_SQL_RECORD_RUN("r", "j") " AND j.\"end\" IS NOT NULL) AND NOT EXISTS (SELECT 1 FROM job AS j WHERE "
    BJ_SQL_RECORD_RUN("r", "j") " AND " BJ_SQL_RECORD_HOST("r", "j") ")",
    /* Energy of a job by policy and component, over its nodes. */
    "CREATE VIEW job_energy_v AS SELECT l.job, p.text AS policy,"
    " c.text AS component, sum(e.microjoules) AS microjoules,"
    " count(*) AS nodes FROM node_record_job AS l"
    " JOIN node_energy AS e ON e.record = l.record"
    " JOIN word AS p ON p.id = e.policy JOIN word AS c ON c.id = e.component"
    " WHERE l.job IS NOT NULL GROUP BY l.job, p.text, c.text",

    /* Each value with its source. */
    "CREATE VIEW job_use_v AS SELECT u.job, measured_nodes, coverage_ppm"
        VALUE(0, "cpu_usec")
    VALUE(1, "cpu_peak_milli")
    VALUE(2, "memory_charged_peak_bytes")
    VALUE(3, "memory_mean_bytes")
    VALUE(4, "io_read_bytes")
    VALUE(5, "io_write_bytes")
    VALUE(6, "io_storage_read_bytes")
    VALUE(7, "io_storage_write_bytes")
    VALUE(8, "device_read_bytes")
    VALUE(9, "device_write_bytes")
    VALUE(10, "oom_kills")
    VALUE(11, "gpus_seen")
    VALUE(12, "gpus_unused")
    VALUE(13, "gpu_busy_ppm")
    VALUE(14, "gpu_held_usec")
    VALUE(15, "gpu_idle_usec")
    VALUE(16, "gpu_memory_peak_bytes")
    VALUE(17, "threads_peak")
    VALUE(18, "open_fds_peak")
    VALUE(19, "scratch_files_peak")
    VALUE(20, "core_min_ppm")
    VALUE(21, "cores_used")
    VALUE(22, "nodes_unused")
    VALUE(23, "memory_held_peak_bytes")
    VALUE(24, "idle_start_sec")
    VALUE(25, "idle_end_sec")
    VALUE(26, "memory_rise_bytes")
    VALUE(27, "memory_steady_ppm")
    VALUE(28, "memory_held_peak_charged")
    /* from final records only */
    ",suspended_usec,memory_remote_ppm"
    ",cpu_efficiency_ppm," BJ_SQL_SOURCE("u.cpu_efficiency_source")
    " AS cpu_efficiency_source,memory_efficiency_ppm,"
    BJ_SQL_SOURCE("u.memory_efficiency_source") " AS memory_efficiency_source,"
    "gpu_efficiency_ppm," BJ_SQL_WORD("word", "u.gpu_model")
    " AS gpu_model," BJ_SQL_WORD("word", "u.application") " AS application,"
    BJ_SQL_APPLICATION_BY("u.application_by") " AS application_by,energy_uj,energy_cpu_uj,energy_dram_uj,"
    "energy_gpu_uj,energy_other_uj,energy_used_uj,"
    "energy_reserved_uj," BJ_SQL_SOURCE("u.energy_source") " AS energy_source,"
    BJ_SQL_WORD("word", "u.energy_policy") " AS energy_policy"
    " FROM job_use AS u",

    "CREATE VIEW job_grams_v AS SELECT g.job, s.provider, s.kind, s.zone,"
    " s.country, g.micrograms / 1e6 AS grams, g.covered_uj, g.estimated"
    " FROM job_grams AS g JOIN factor_source AS s ON s.id = g.source",

    "CREATE VIEW job_finding_v AS SELECT f.job, r.name, r.severity, "
    BJ_SQL_FILLED("printf", "r.text") " AS text, nullif("
    BJ_SQL_FILLED("printf", "r.advice") ", '') AS advice,"
    " nullif(r.url, '') AS url, f.value, f.threshold, f.names, r.condition"
    " FROM job_finding AS f JOIN finding_rule AS r ON r.id = f.rule",

    "CREATE VIEW factor_v AS SELECT " BJ_SQL_NAME("cluster", "s.cluster")
    " AS cluster, s.provider, s.kind, s.zone, s.country,"
    " f.start AS start_sec, " BJ_SQL_UNLESS_OPEN("f.\"end\"") " AS end_sec,"
    " f.mg_per_kwh / 1e3 AS grams_per_kwh, " BJ_SQL_BASIS("f.basis")
    " AS basis, f.estimated, nullif(f.fetched, 0) AS fetched_sec"
    " FROM factor AS f JOIN factor_source AS s ON s.id = f.source",

    "CREATE VIEW rollup_day AS SELECT * FROM rollup_usage WHERE day > 0",
    "CREATE VIEW rollup_month AS SELECT month, assoc" BJ_USAGE_SUMS(BJ_SUM_COLUMN)
    " FROM rollup_usage WHERE day = 0",

    "CREATE VIEW rollup_energy_day AS SELECT * FROM rollup_energy WHERE day > 0",
    "CREATE VIEW rollup_energy_month AS SELECT month, assoc"
    BJ_ENERGY_SUMS(BJ_SUM_COLUMN) " FROM rollup_energy WHERE day = 0",

    "CREATE VIEW rollup_grams_day AS SELECT * FROM rollup_grams WHERE day > 0",
    "CREATE VIEW rollup_grams_month AS SELECT month, assoc, source, micrograms,"
    " covered_mj FROM rollup_grams WHERE day = 0",
    NULL};
/* clang-format on */

/* --- roles ----------------------------------------------------------------*/

/* Views for people who read a store in PostgreSQL by SQL (docs/scale.md): the
 * schema "people" has the store's views, each restricted to the rows that the
 * API shows to the same user.  The schema exists if the administrator has made
 * it.
 *
 * Row-level security is not used: names and directories of jobs are in
 * dictionaries that jobs share, so for each of their rows a policy would have
 * to search for a job with that name.  Here people cannot read tables; views
 * read them with the rights of their owner, and as security barriers they keep
 * conditions of a query from seeing other rows. */

const char *const bj_schema_access[] = {
    /* Rights of users in addition to their own jobs; account '': all jobs.
       "batchjob_stats_server write-access" writes them. */
    "CREATE TABLE access_rule("
    "user TEXT NOT NULL,"
    "account TEXT NOT NULL,"
    "PRIMARY KEY(user, account)) STRICT, WITHOUT ROWID",
    NULL};

#define ME "CAST(current_user AS TEXT)"
#define MY_NUMBER "(SELECT u.id FROM user AS u WHERE u.name = " ME ")"
#define RULES "SELECT 1 FROM access_rule AS x WHERE x.user = " ME
#define IS_ADMIN "EXISTS (" RULES " AND x.account = '')"

/* A union of three queries: for the user's own jobs, for those of coordinated
 * accounts, and for admins.  Each has its own plan, which uses the index of
 * users, the index of accounts, or no rule; the server skips those that the
 * user does not need.  t is the table with user and account. */
#define OWN " WHERE t.user = " MY_NUMBER " AND NOT " IS_ADMIN
#define COORDINATED                                                            \
    " JOIN account AS ac ON ac.id = t.account JOIN access_rule AS ru ON"       \
    " ru.account = ac.name WHERE ru.user = " ME " AND NOT coalesce(t.user ="   \
    " " MY_NUMBER ", false) AND NOT " IS_ADMIN " AND EXISTS (" RULES ")"

#define VIEW(name) "CREATE VIEW people." name " WITH (security_barrier) AS "
#define THREE(name, select, behind)                                            \
    VIEW(name)                                                                 \
    "SELECT w.* FROM (" select OWN behind                                      \
    " UNION ALL " select COORDINATED behind " UNION ALL " select               \
    " WHERE " IS_ADMIN behind ") AS w"

#define OF_JOB(view, job)                                                      \
    THREE(view,                                                                \
          "SELECT v.* FROM " view " AS v JOIN job AS t ON t.id = v." job, "")
/* Sums, with the names of cluster, account, user and partition. */
#define OF_ASSOC(view)                                                         \
    THREE(view,                                                                \
          "SELECT c.name AS cluster, n.name AS account, u.name AS user,"       \
          " p.name AS partition, v.* FROM " view " AS v JOIN assoc AS t ON"    \
          " t.id = v.assoc JOIN cluster AS c ON c.id = t.cluster JOIN account" \
          " AS n ON n.id = t.account JOIN user AS u ON u.id = t.user JOIN"     \
          " partition AS p ON p.id = t.partition",                             \
          "")

const char *const bj_schema_people[] = {
    OF_JOB("job_v", "id"), OF_JOB("step_v", "job"), OF_JOB("job_size_v", "job"),
    OF_JOB("job_use_v", "job"), OF_JOB("job_grams_v", "job"),
    OF_JOB("job_finding_v", "job"),
    /* This view begins with the job; the store's view reads the records of all
       jobs. */
    THREE("job_energy_v",
          "SELECT t.id AS job, p.text AS policy, c.text AS component,"
          " sum(e.microjoules) AS microjoules, count(*) AS nodes FROM job AS t"
          " JOIN node_record AS r ON " BJ_SQL_RECORD_OF(
              "r", "t") " JOIN"
                        " node_energy AS e ON e.record = r.id JOIN word AS p ON"
                        " p.id = e.policy JOIN word AS c ON c.id = e.component",
          " GROUP BY t.id, p.text, c.text"),
    VIEW("factor_v") "SELECT * FROM factor_v", OF_ASSOC("rollup_month"),
    OF_ASSOC("rollup_energy_month"), OF_ASSOC("rollup_grams_month"), NULL};
