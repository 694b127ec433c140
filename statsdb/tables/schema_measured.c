/* Tables for mails about jobs, findings on running jobs, and options of the
 * site. */
#include "statsdb/tables/schema_sql.h"

#include <stddef.h>

/* --- mails ---------------------------------------------------------------- */

const char *const bj_schema_mail[] = {
    /* The choice of a user, and its time: no mail is sent for jobs that ended
       before. */
    "CREATE TABLE mail_choice("
    "user TEXT PRIMARY KEY,"
    "choice TEXT CHECK(choice IN ('off', 'advice', 'all', 'daily', 'weekly')),"
    "since INT NOT NULL) STRICT, WITHOUT ROWID",

    /* Has a row while mails are on: the time since then, the last job that was
       read (as in derive_state), the times of the last digests, and the site's
       default. */
    "CREATE TABLE mail_state("
    "id INTEGER PRIMARY KEY CHECK(id = 1),"
    "since INT NOT NULL,"
    "job_upto INT NOT NULL,"
    "daily INT NOT NULL,"
    "weekly INT NOT NULL,"
    "choice TEXT NOT NULL) STRICT",

    /* Ended jobs whose mail has not been decided yet. */
    "CREATE TABLE mail_todo(job INTEGER PRIMARY KEY NOT NULL) STRICT",

    /* Mails that were sent, and decisions to send none, so that no mail is sent
       twice. */
    "CREATE TABLE mail_sent("
    "key TEXT PRIMARY KEY,"
    "user TEXT NOT NULL,"
    "at INT NOT NULL," /* time of the last change */
    "state TEXT NOT NULL CHECK(state IN ('sending', 'sent', 'waiting',"
    " 'failed')),"
    "tries INT NOT NULL,"
    "error TEXT) STRICT, WITHOUT ROWID",
    "CREATE INDEX mail_sent_at ON mail_sent(at)",
    BJ_ONLY_SQLITE
    "CREATE TRIGGER job_ended AFTER UPDATE OF \"end\" ON job WHEN"
    " old.\"end\" IS NULL AND new.\"end\" IS NOT NULL AND EXISTS"
    " (SELECT 1 FROM mail_state WHERE job_upto >= new.id AND since <="
    " new.\"end\") AND NOT EXISTS (SELECT 1 FROM mail_todo WHERE job = new.id)"
    " BEGIN INSERT INTO mail_todo(job) VALUES(new.id); END",
    BJ_POSTGRESQL_TRIGGER(
        "job_new_mail", "INSERT", "job", "new.\"end\" IS NOT NULL",
        "INSERT INTO mail_todo(job) SELECT new.id FROM mail_state WHERE"
        " since <= new.\"end\" ON CONFLICT DO NOTHING"),
    BJ_POSTGRESQL_TRIGGER(
        "job_ended", "UPDATE OF \"end\"", "job",
        "old.\"end\" IS NULL AND new.\"end\" IS NOT NULL",
        "INSERT INTO mail_todo(job) SELECT new.id FROM mail_state WHERE"
        " job_upto >= new.id AND since <= new.\"end\" ON CONFLICT DO NOTHING"),
    NULL};

/* --- running jobs ----------------------------------------------------------
 * The findings themselves are rows of job_finding. */

const char *const bj_schema_running[] = {
    "CREATE TABLE running_finding("
    "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
    "rule TEXT NOT NULL,"
    "since INT NOT NULL," /* the finding exists in each evaluation since then */
    "seen INT NOT NULL,"  /* time of the last evaluation with the finding */
    "PRIMARY KEY(job, rule)) STRICT, WITHOUT ROWID",

    /* Actions because of findings; kept as long as the job. */
    "CREATE TABLE running_action("
    "id INTEGER PRIMARY KEY,"
    "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
    "rule TEXT NOT NULL,"
    "since INT NOT NULL," /* begin of the finding */
    "step INT NOT NULL,"  /* index in \"escalate\" of the rule */
    "action TEXT NOT NULL CHECK(action IN ('warn', 'cancel')),"
    "at INT NOT NULL," /* time of the last change */
    "state TEXT NOT NULL CHECK(state IN ('dry run', 'waiting', 'doing',"
    " 'done', 'failed')),"
    "detail TEXT) STRICT",
    "CREATE UNIQUE INDEX running_action_key ON running_action(job, rule, since,"
    " step)",
    "CREATE INDEX running_action_open ON running_action(state) WHERE state IN"
    " ('waiting', 'doing')",
    NULL};

/* --- options of the site ---------------------------------------------------
 * So that all programs use the same values: prices (statsdb/derive/price.h),
 * the time zone (statsdb/tables/site_zone.h), texts of reports and numbers for
 * advice (report/model/catalogue.h). */

const char *const bj_schema_site[] = {
    "CREATE TABLE price("
    "id INTEGER PRIMARY KEY CHECK(id = 1),"
    "currency TEXT NOT NULL,"
    "cpu_hour INT," /* millionths of the currency; NULL: free */
    "gpu_hour INT,"
    "gib_hour INT,"
    "kwh INT) STRICT",

    "CREATE TABLE sentence("
    "name TEXT PRIMARY KEY,"
    "text TEXT NOT NULL) STRICT, WITHOUT ROWID",
    NULL};

const char *const bj_schema_zone[] = {
    /* No row: the days of sums are those of UTC. */
    "CREATE TABLE site("
    "id INTEGER PRIMARY KEY CHECK(id = 1),"
    "time_zone TEXT NOT NULL) STRICT",

    /* Jobs whose node failed are not charged. */
    "ALTER TABLE price ADD COLUMN failed_nodes_free INT NOT NULL DEFAULT 0",
    NULL};

/* --- measured values ------------------------------------------------------*/

/* Values measured by nodes and a Prometheus server, and values derived from
 * them and from accounting: use, energy, emissions, findings, and their daily
 * sums (docs/derived.md).  derive.c can derive all derived values again; values
 * from Prometheus are kept, because Prometheus deletes old samples. */

/* Measured values of a job. Sums are over nodes (and GPUs). */
#define VALUES                                                                 \
    "cpu_usec INT,"                                                            \
    "cpu_peak_milli INT," /* peak of used CPUs, x 1000 */                      \
    "memory_peak_bytes INT,"                                                   \
    "memory_mean_bytes INT,"                                                   \
    "io_read_bytes INT,"                                                       \
    "io_write_bytes INT,"                                                      \
    "io_storage_read_bytes INT,"                                               \
    "io_storage_write_bytes INT,"                                              \
    "device_read_bytes INT,"                                                   \
    "device_write_bytes INT,"                                                  \
    "oom_kills INT,"                                                           \
    "gpus_seen INT,"                                                           \
    "gpus_unused INT,"  /* of these: never used */                             \
    "gpu_busy_ppm INT," /* mean over its GPUs and their time */                \
    "gpu_held_usec INT,"                                                       \
    "gpu_idle_usec INT,"                                                       \
    "gpu_memory_peak_bytes INT,"                                               \
    "threads_peak INT,"                                                        \
    "open_fds_peak INT,"                                                       \
    "scratch_files_peak INT,"                                                  \
    "core_min_ppm INT," /* CPU time of the least used core, relative to the    \
                           mean */                                             \
    "cores_used INT,"   /* with at least 80 % of the mean */                   \
    "nodes_unused INT," /* less than a second of CPU time */

/* The statement by which a trigger of PostgreSQL adds a row to a table of one
 * column. */
#define TODO(table)                                                            \
    "INSERT INTO " table " VALUES(new.id) ON CONFLICT DO NOTHING"

const char *const bj_schema_measured[] = {
    /* Final records of nodes: docs/records.md. */
    BJ_BY_ID
    "CREATE TABLE node_record("
    "id INTEGER PRIMARY KEY NOT NULL," /* statsdb/tables/record_number.h */
    "cluster INT NOT NULL REFERENCES cluster,"
    "jobid ANY NOT NULL,"
    "host INT NOT NULL REFERENCES host,"
    "slurm_node TEXT NOT NULL,"
    "start INT NOT NULL," /* 0: unknown */
    "\"end\" INT NOT NULL,"
    "sluid INT REFERENCES word,"
    "user INT REFERENCES user,"
    "uid INT,"
    "account INT REFERENCES account,"
    "identity_source INT REFERENCES word,"
    "cpus INT,"
    "cpu_usec INT,"
    "cpu_user_usec INT,"
    "cpu_system_usec INT,"
    "cpu_throttled_usec INT,"
    "memory_peak_bytes INT,"
    "memory_limit_bytes INT,"
    "memory_limit_hits INT,"
    "oom_kills INT,"
    "processes_seen INT,"
    "io_read_bytes INT,"
    "io_write_bytes INT,"
    "io_read_operations INT,"
    "io_write_operations INT,"
    "io_storage_read_bytes INT,"
    "io_storage_write_bytes INT,"
    "energy_policy INT REFERENCES word,"
    "energy_source INT REFERENCES word,"
    "energy_quality INT REFERENCES word,"
    "energy_static INT REFERENCES word,"
    "energy_gap INT,"
    "complete INT) STRICT",
    BJ_ONLY_SQLITE "CREATE UNIQUE INDEX node_record_key ON node_record(cluster,"
                   " jobid, host, slurm_node, start)",
    BJ_ONLY_POSTGRESQL "CREATE UNIQUE INDEX node_record_key ON node_record("
                       "cluster, jobid, host, slurm_node, start, id)",
    "CREATE INDEX node_record_end ON node_record(\"end\")",
    BJ_BY_RECORD
    "CREATE TABLE node_energy("
    "record INT NOT NULL REFERENCES node_record ON DELETE CASCADE,"
    "policy INT NOT NULL REFERENCES word,"
    "component INT NOT NULL REFERENCES word,"
    "microjoules INT NOT NULL,"
    "PRIMARY KEY(record, policy, component)) STRICT, WITHOUT ROWID",
    BJ_BY_RECORD "CREATE TABLE node_device("
                 "record INT NOT NULL REFERENCES node_record ON DELETE CASCADE,"
                 "device TEXT NOT NULL,"
                 "read_bytes INT,"
                 "write_bytes INT,"
                 "read_operations INT,"
                 "write_operations INT,"
                 "PRIMARY KEY(record, device)) STRICT, WITHOUT ROWID",

    /* Ended jobs that have to be derived, also again. */
    "CREATE TABLE derive_todo(job INTEGER PRIMARY KEY NOT NULL) STRICT",
    "CREATE TABLE derive_record(record INTEGER PRIMARY KEY NOT NULL) STRICT",
    /* The last derived job, if jobs are numbered in the order of their import
       (statsdb/tables/job_number.h), and the version of the rules for findings.
     */
    "CREATE TABLE derive_state(id INTEGER PRIMARY KEY CHECK(id = 1),"
    " job_upto INT NOT NULL, rules TEXT NOT NULL) STRICT",
    BJ_ONLY_SQLITE
    "INSERT INTO derive_state(id, job_upto, rules) VALUES(1, 0, '')",
    BJ_ONLY_POSTGRESQL "INSERT INTO derive_state(id, job_upto, rules)"
                       " VALUES(1, 9223372036854775807, '')",
    BJ_POSTGRESQL_TRIGGER("job_new", "INSERT", "job", "new.\"end\" IS NOT NULL",
                          TODO("derive_todo")),
    /* Not OR IGNORE: the firing statement's own ON CONFLICT would count. */
    BJ_ONLY_SQLITE BJ_SQLITE_JOB_CHANGED,
    BJ_POSTGRESQL_TRIGGER("job_changed", "UPDATE", "job",
                          "new.\"end\" IS NOT NULL", TODO("derive_todo")),
    /* A job is listed when its end is known. */
    BJ_ONLY_SQLITE
    "CREATE TRIGGER job_end_changed AFTER UPDATE OF \"end\" ON job WHEN"
    " old.\"end\" IS NOT new.\"end\" BEGIN DELETE FROM prom_todo WHERE"
    " cluster = old.cluster AND \"end\" = old.\"end\" AND job = old.id; END",
    BJ_POSTGRESQL_TRIGGER(
        "job_end_changed", "UPDATE OF \"end\"", "job",
        "old.\"end\" IS DISTINCT FROM new.\"end\"",
        "DELETE FROM prom_todo WHERE cluster = old.cluster AND \"end\" ="
        " old.\"end\" AND job = old.id"),
    BJ_ONLY_SQLITE
    "CREATE TRIGGER record_new AFTER INSERT ON node_record WHEN NOT EXISTS"
    " (SELECT 1 FROM derive_record WHERE record = new.id)"
    " BEGIN INSERT INTO derive_record(record) VALUES(new.id); END",
    BJ_POSTGRESQL_TRIGGER("record_new", "INSERT", "node_record", "true",
                          TODO("derive_record")),
    BJ_ONLY_SQLITE
    "CREATE TRIGGER record_changed AFTER UPDATE ON node_record WHEN NOT EXISTS"
    " (SELECT 1 FROM derive_record WHERE record = new.id)"
    " BEGIN INSERT INTO derive_record(record) VALUES(new.id); END",
    BJ_POSTGRESQL_TRIGGER("record_changed", "UPDATE", "node_record", "true",
                          TODO("derive_record")),

    /* GPUs of final records. */
    BJ_BY_RECORD "CREATE TABLE node_gpu("
                 "record INT NOT NULL REFERENCES node_record ON DELETE CASCADE,"
                 "gpu TEXT NOT NULL,"
                 "\"index\" TEXT,"
                 "model INT REFERENCES word,"
                 "source INT REFERENCES word,"
                 "held_usec INT,"
                 "idle_usec INT,"
                 "busy_ppm INT,"
                 "sm_active_ppm INT,"
                 "memory_peak_bytes INT,"
                 "energy_uj INT,"
                 "estimated INT,"
                 "PRIMARY KEY(record, gpu)) STRICT, WITHOUT ROWID",
    /* Values of a job from a Prometheus server. */
    BJ_BY_JOB
    "CREATE TABLE job_prom("
    "job INTEGER PRIMARY KEY NOT NULL REFERENCES job ON DELETE CASCADE,"
    "queried_sec INT NOT NULL,"
    "start INT," /* the queried time */
    "\"end\" INT,"
    "outcome INT NOT NULL," /* 0 found, 1 no data, 2 ambiguous: another run has
                               its id at about the same time */
    "nodes_seen INT,"
    "nodes_final INT,"  /* of these: with known last values */
    "coverage_ppm INT," /* part of the expected samples */
    VALUES "energy_policy INT REFERENCES word," /* NULL: different policies */
    "energy_nodes INT) STRICT",
    BJ_BY_JOB "CREATE TABLE job_prom_energy("
              "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
              "component INT NOT NULL REFERENCES word,"
              "microjoules INT NOT NULL,"
              "PRIMARY KEY(job, component)) STRICT, WITHOUT ROWID",
    /* Energy by hour, of jobs longer than an hour; start: of the hour, or of
     * the job if later. */
    BJ_BY_JOB "CREATE TABLE job_bin("
              "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
              "start INT NOT NULL,"
              "microjoules INT NOT NULL,"
              "PRIMARY KEY(job, start)) STRICT, WITHOUT ROWID",
    "CREATE TABLE prom_todo(cluster INT NOT NULL REFERENCES cluster,"
    " \"end\" INT NOT NULL, job INT NOT NULL, PRIMARY KEY(cluster, \"end\","
    " job)) STRICT, WITHOUT ROWID",

    /* Measured and best values.  sources: two bits for each of the values in
     * their order, the lowest first: 0 unknown, 1 nodes, 2 prometheus. */
    BJ_BY_JOB
    "CREATE TABLE job_use("
    "job INTEGER PRIMARY KEY NOT NULL REFERENCES job ON DELETE CASCADE,"
    "sources INT NOT NULL,"
    "measured_nodes INT,"
    "coverage_ppm INT," /* of expected Prometheus samples */
    VALUES "cpu_efficiency_ppm INT,"
    "memory_efficiency_ppm INT,"
    "gpu_efficiency_ppm INT,"
    "cpu_efficiency_source INT," /* 1 nodes, 2 prometheus, 3 scheduler */
    "memory_efficiency_source INT,"
    /* Energy of all nodes, else NULL. */
    "energy_source INT," /* 1 nodes, 2 prometheus, 3 scheduler */
    "energy_policy INT REFERENCES word,"
    "energy_uj INT,"
    "energy_cpu_uj INT,"
    "energy_dram_uj INT,"
    "energy_gpu_uj INT,"
    "energy_other_uj INT,"
    "energy_used_uj INT,"     /* attributed by use */
    "energy_reserved_uj INT," /* attributed by reservation */
    /* Values counted in the daily sums. */
    "counted_assoc INT REFERENCES assoc,"
    "counted_cpu_sec INT NOT NULL,"
    "counted_cpu_more_msec INT NOT NULL DEFAULT 0,"
    "counted_cpu_known_sec INT NOT NULL DEFAULT 0,"
    "counted_gpu_sec INT NOT NULL DEFAULT 0,"
    "counted_gpu_used_msec INT NOT NULL DEFAULT 0,"
    "counted_start INT NOT NULL,"
    "counted_end INT NOT NULL) STRICT",
    "CREATE INDEX job_use_end ON job_use(counted_end)"
    " WHERE energy_uj IS NOT NULL",

    /* Emission factors over time. cluster NULL: all. provider 'best': not a
       source of factors, but the best factor of the others at each moment; its
       kind is 'average' or 'marginal'. */
    "CREATE TABLE factor_source(id INTEGER PRIMARY KEY,"
    " cluster INT REFERENCES cluster, provider TEXT NOT NULL,"
    " kind TEXT NOT NULL, zone TEXT NOT NULL, country TEXT NOT NULL,"
    " rank INT NOT NULL) STRICT",
    "CREATE UNIQUE INDEX factor_source_key ON factor_source("
    "ifnull(cluster, 0), provider, kind, zone)",
    "INSERT INTO factor_source(cluster, provider, kind, zone, country, rank)"
    " VALUES(NULL, 'best', 'average', '', '', -1),"
    " (NULL, 'best', 'marginal', '', '', -1)",
    "CREATE TABLE factor("
    "source INT NOT NULL REFERENCES factor_source,"
    "start INT NOT NULL,"
    "\"end\" INT NOT NULL,"
    "mg_per_kwh INT NOT NULL,"
    "basis INT NOT NULL," /* enum bj_factor_from of carbon/factor.h */
    "estimated INT NOT NULL,"
    "fetched INT NOT NULL,"
    "PRIMARY KEY(source, basis, start)) STRICT, WITHOUT ROWID",
    /* Power usage effectiveness of a cluster's site, from a time on. */
    "CREATE TABLE pue(cluster INT NOT NULL REFERENCES cluster,"
    " start INT NOT NULL, ppm INT NOT NULL, PRIMARY KEY(cluster, start))"
    " STRICT, WITHOUT ROWID",
    BJ_BY_JOB "CREATE TABLE job_grams("
              "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
              "source INT NOT NULL REFERENCES factor_source,"
              "micrograms INT NOT NULL,"
              "covered_uj INT NOT NULL," /* energy covered by factors */
              "estimated INT NOT NULL,"
              "PRIMARY KEY(job, source)) STRICT, WITHOUT ROWID",

    /* Rules at the time of a finding. */
    "CREATE TABLE finding_rule(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " severity TEXT NOT NULL, condition TEXT NOT NULL, text TEXT NOT NULL,"
    " advice TEXT NOT NULL DEFAULT '', url TEXT NOT NULL DEFAULT '',"
    " UNIQUE(name, severity, condition, text, advice, url)) STRICT",
    BJ_BY_JOB "CREATE TABLE job_finding("
              "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
              "rule INT NOT NULL REFERENCES finding_rule,"
              "value REAL,"
              "threshold REAL,"
              "PRIMARY KEY(job, rule)) STRICT, WITHOUT ROWID",

    /* Daily sums; id as in rollup_day.  Energy in millijoules; jobs and cpu_sec
       include only jobs with known energy.  cpu_more_msec: the best CPU time
       minus that of accounting in rollup_day; cpu_known_sec: the part of
       cpu_unknown_sec in rollup_day with a measured CPU time.  gpu_sec: the
       part of gpu_sec in rollup_day with a measured use; gpu_used_msec: that
       use. */
    "CREATE TABLE rollup_energy_day("
    "id INTEGER PRIMARY KEY,"
    "jobs INT NOT NULL,"
    "cpu_sec INT NOT NULL,"
    "energy_mj INT NOT NULL,"
    "energy_used_mj INT NOT NULL,"
    "energy_reserved_mj INT NOT NULL,"
    "cpu_more_msec INT NOT NULL DEFAULT 0,"
    "cpu_known_sec INT NOT NULL DEFAULT 0,"
    "gpu_sec INT NOT NULL DEFAULT 0,"
    "gpu_used_msec INT NOT NULL DEFAULT 0,"
    "month INT GENERATED ALWAYS AS (id >> 37) VIRTUAL,"
    "assoc INT GENERATED ALWAYS AS ((id >> 5) & 0xffffffff) VIRTUAL"
    " REFERENCES assoc,"
    "day INT GENERATED ALWAYS AS (id & 31) VIRTUAL) STRICT",
    "CREATE TABLE rollup_grams_day("
    "id INT NOT NULL,"
    "source INT NOT NULL REFERENCES factor_source,"
    "micrograms INT NOT NULL,"
    "covered_mj INT NOT NULL,"
    "month INT GENERATED ALWAYS AS (id >> 37) VIRTUAL,"
    "assoc INT GENERATED ALWAYS AS ((id >> 5) & 0xffffffff) VIRTUAL"
    " REFERENCES assoc,"
    "day INT GENERATED ALWAYS AS (id & 31) VIRTUAL,"
    "PRIMARY KEY(id, source)) STRICT, WITHOUT ROWID",
    NULL};

/* The peak of memory held; the older column peak is that of memory charged. */
#define HELD(table)                                                            \
    "ALTER TABLE " table " RENAME COLUMN memory_peak_bytes TO"                 \
    " memory_charged_peak_bytes",                                              \
        "ALTER TABLE " table " ADD COLUMN memory_held_peak_bytes INT"

const char *const bj_schema_held[] = {HELD("node_record"), HELD("job_prom"),
                                      HELD("job_use"), NULL};

/* The model of the job's GPUs as the driver reports it; one of them if there
 * are several. */
const char *const bj_schema_gpu_model[] = {
    "ALTER TABLE job_use ADD COLUMN gpu_model INT REFERENCES word", NULL};

#define CHARGED(table)                                                         \
    "ALTER TABLE " table " ADD COLUMN memory_held_peak_charged INT"

/* Whether memory_held_peak_bytes is a charged peak, which may contain page
 * cache. */
const char *const bj_schema_held_charged[] = {
    CHARGED("node_record"), CHARGED("job_prom"), CHARGED("job_use"), NULL};

/* The worst error of a GPU while a job held it (docs/records.md): a number of
 * BJ_GPU_FAULTS; whether the kernel named a process of the job.  job_use: the
 * worst of all GPUs of the job. */
const char *const bj_schema_gpu_fault[] = {
    "ALTER TABLE node_gpu ADD COLUMN fault INT",
    "ALTER TABLE node_gpu ADD COLUMN fault_xid INT",
    "ALTER TABLE node_gpu ADD COLUMN fault_sec INT",
    "ALTER TABLE node_gpu ADD COLUMN fault_by_process INT",
    "ALTER TABLE job_use ADD COLUMN gpu_fault INT",
    NULL};

/* Time for which the freezer suspended the job on a node, the longest of its
 * nodes; the part of its memory on other NUMA nodes than its CPUs, that of the
 * worst node; what is in doubt about its GPUs: bits of BJ_GPU_DOUBTS. */
#define KERNEL(table)                                                          \
    "ALTER TABLE " table " ADD COLUMN suspended_usec INT",                     \
        "ALTER TABLE " table " ADD COLUMN memory_remote_ppm INT"

const char *const bj_schema_kernel[] = {
    KERNEL("node_record"),
    KERNEL("job_prom"),
    KERNEL("job_use"),
    "ALTER TABLE node_record ADD COLUMN gpu_conflicts INT",
    "ALTER TABLE job_use ADD COLUMN gpu_conflicts INT",
    NULL};

/* Evidence of findings.  job_finding.names: the nodes or GPUs that the finding
 * is about.  job_part: what each node and GPU used, of jobs whose nodes
 * Prometheus has, of running jobs in the last minutes.  gpu '': the values are
 * those of the node. */
#define COURSE(table)                                                          \
    "ALTER TABLE " table " ADD COLUMN idle_start_sec INT",                     \
        "ALTER TABLE " table " ADD COLUMN idle_end_sec INT",                   \
        "ALTER TABLE " table " ADD COLUMN memory_rise_bytes INT",              \
        "ALTER TABLE " table " ADD COLUMN memory_steady_ppm INT"

const char *const bj_schema_evidence[] = {
    COURSE("job_prom"),
    COURSE("job_use"),
    "ALTER TABLE job_finding ADD COLUMN names TEXT",
    BJ_BY_JOB "CREATE TABLE job_part("
              "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
              "node TEXT NOT NULL,"
              "gpu TEXT NOT NULL,"
              "\"index\" TEXT," /* of the GPU, on its node */
              "since INT NOT NULL,"
              "upto INT NOT NULL,"
              "cpus INT,"         /* on which it could run */
              "cpus_milli INT,"   /* busy CPUs on average, x 1000 */
              "memory_bytes INT," /* held at most; of a GPU: used at most */
              "memory_limit_bytes INT,"
              "busy_ppm INT,"
              /* since: not used at all; NULL: in use, or unknown if cpus_milli,
                 of a GPU busy_ppm, is NULL, too */
              "idle_since INT,"
              "PRIMARY KEY(job, node, gpu)) STRICT, WITHOUT ROWID",
    BJ_POSTGRESQL_MONTHS("job_part"),
    NULL};

/* What ran.  node_record.executables: base names of the programs of the job on
 * the node with their CPU time in microseconds, a JSON object.
 * job_use.application_by: enum bj_application_by. */
const char *const bj_schema_application[] = {
    "ALTER TABLE node_record ADD COLUMN executables TEXT",
    "ALTER TABLE job_use ADD COLUMN application INT REFERENCES word",
    "ALTER TABLE job_use ADD COLUMN application_by INT", NULL};

/* Final records of hosts on which their job did not run:
 * statsdb/tables/fragment.h. record_any_host has a row while record.check-hosts
 * is off. */
const char *const bj_schema_record_host[] = {
    "CREATE INDEX hosts_host_hosts ON hosts_host(hosts)",
    "CREATE TABLE record_refused(record INTEGER PRIMARY KEY NOT NULL) STRICT",
    "CREATE TABLE record_any_host(id INTEGER PRIMARY KEY CHECK(id = 1)) STRICT",
    NULL};

/* What jobs held that ended since a node failed, for the bill
 * (statsdb/derive/bill.h): parts of the sums of rollup_day, and of cpu_sec and
 * energy_mj here. job_use.counted_failed_... are in these sums; NULL: its node
 * did not fail. */
#define FAILED(sum)                                                            \
    "ALTER TABLE rollup_energy_day ADD COLUMN failed_" sum                     \
    " INT NOT NULL DEFAULT 0"
#define COUNTED_FAILED(sum)                                                    \
    "ALTER TABLE job_use ADD COLUMN counted_failed_" sum " INT"

const char *const bj_schema_failed_nodes[] = {
    FAILED("cpu_sec"), FAILED("gpu_sec"), FAILED("mem_mib_sec"),
    FAILED("energy_cpu_sec"), FAILED("energy_mj"), COUNTED_FAILED("cpu_sec"),
    COUNTED_FAILED("gpu_sec"), COUNTED_FAILED("mem_mib_sec"),
    /* 9: node_fail, 13: boot_fail */
    "INSERT INTO derive_todo(job) SELECT id FROM job WHERE state IN (9, 13)"
    " AND \"end\" IS NOT NULL AND id NOT IN (SELECT job FROM derive_todo)",
    NULL};

/* Sums of months beside those of days: rows with day 0.  The former names are
 * views of the days. */
#define OF_MONTHS(table, key, sums, values)                                    \
    "INSERT INTO " table "(id" key sums ") SELECT (id >> 5) << 5" key values   \
    " FROM " table " GROUP BY id >> 5" key

const char *const bj_schema_months[] = {
    "ALTER TABLE rollup_day RENAME TO rollup_usage",
    "ALTER TABLE rollup_energy_day RENAME TO rollup_energy",
    "ALTER TABLE rollup_grams_day RENAME TO rollup_grams",
    OF_MONTHS("rollup_usage", "", BJ_USAGE_SUMS(BJ_SUM_COLUMN),
              BJ_USAGE_SUMS(BJ_SUM_OF)),
    OF_MONTHS("rollup_energy", "", BJ_ENERGY_SUMS(BJ_SUM_COLUMN),
              BJ_ENERGY_SUMS(BJ_SUM_OF)),
    OF_MONTHS("rollup_grams", ", source", ", micrograms, covered_mj",
              ", sum(micrograms), sum(covered_mj)"),
    NULL};

/* Sums by application, like those of rollup_usage, of jobs that have ended and
 * whose application is known.  job_use.counted_held_...: what is in these sums
 * beside the counted values of earlier versions; NULL: the job is not.
 * derive_state.recount: jobs of an earlier version have yet to be counted;
 * NULL: none. */
#define HELD_SUM(name)                                                         \
    "ALTER TABLE job_use ADD COLUMN counted_held_" name " INT"

const char *const bj_schema_named[] = {
    "CREATE TABLE rollup_application("
    "id INT NOT NULL,"
    "application INT NOT NULL REFERENCES word,"
    "jobs INT NOT NULL,"
    "cpu_sec INT NOT NULL,"
    "cpu_known_sec INT NOT NULL,"
    "cpu_used_msec INT NOT NULL,"
    "gpu_sec INT NOT NULL,"
    "gpu_known_sec INT NOT NULL,"
    "gpu_used_msec INT NOT NULL,"
    "energy_cpu_sec INT NOT NULL,"
    "energy_mj INT NOT NULL,"
    "month INT GENERATED ALWAYS AS (id >> 37) VIRTUAL,"
    "assoc INT GENERATED ALWAYS AS ((id >> 5) & 0xffffffff) VIRTUAL"
    " REFERENCES assoc,"
    "day INT GENERATED ALWAYS AS (id & 31) VIRTUAL,"
    "PRIMARY KEY(id, application)) STRICT, WITHOUT ROWID",
    HELD_SUM("cpu_sec"),
    HELD_SUM("known_sec"),
    HELD_SUM("used_msec"),
    HELD_SUM("gpu_sec"),
    "ALTER TABLE derive_state ADD COLUMN recount INT",
    "UPDATE derive_state SET recount = 1 WHERE EXISTS (SELECT 1 FROM job_use"
    " WHERE application IS NOT NULL)",
    NULL};

/* In PostgreSQL one trigger lists a new job that has ended, instead of two.
 * Rows that ON CONFLICT inserts are written twice there, to confirm them. */
#define LIST(table, column, from)                                              \
    "INSERT INTO " table " SELECT new.id" from                                 \
    " NOT EXISTS (SELECT 1 FROM " table " AS t WHERE t." column " = new.id); "

#define LISTS(trigger, sql)                                                    \
    BJ_ONLY_POSTGRESQL "CREATE OR REPLACE FUNCTION " trigger                   \
                       "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " sql  \
                       "RETURN NULL; END $$"

const char *const bj_schema_lists[] = {
    BJ_ONLY_POSTGRESQL "DROP TRIGGER job_new_mail ON job;"
                       "DROP FUNCTION job_new_mail()",
    LISTS("job_new", LIST("derive_todo", "job", " WHERE") LIST(
                         "mail_todo", "job",
                         " FROM mail_state WHERE since <= new.\"end\" AND")),
    LISTS("record_new", LIST("derive_record", "record", " WHERE")), NULL};

/* Notifications (docs/notify.md).  running_state: when running jobs were
 * evaluated, since no findings may also mean that nothing is known. */
const char *const bj_schema_notify[] = {
    "CREATE TABLE running_state("
    "cluster TEXT PRIMARY KEY,"
    "at INT NOT NULL) STRICT, WITHOUT ROWID",

    /* What is wrong now, and what was until shortly before. */
    "CREATE TABLE notify_alert("
    "key TEXT PRIMARY KEY,"
    "kind TEXT NOT NULL,"
    "cluster TEXT NOT NULL,"
    "user TEXT,"
    "since INT NOT NULL,"
    "seen INT NOT NULL,"
    "ended INT,"
    "fields TEXT NOT NULL) STRICT, WITHOUT ROWID",
    NULL};

/* Messages to targets other than Alertmanager.  notify_alert.told: 1: its begin
 * is an event, 2: its end, too.  An event that waits becomes part of a message
 * with a body, which is kept until it is sent. */
const char *const bj_schema_notify_queue[] = {
    "ALTER TABLE notify_alert ADD COLUMN told INT",
    "CREATE TABLE notify_event("
    "id INTEGER PRIMARY KEY,"
    "target TEXT NOT NULL,"
    "at INT NOT NULL,"
    "kind TEXT NOT NULL,"
    "user TEXT,"
    "since INT NOT NULL,"
    "ended INT," /* NULL: it began */
    "fields TEXT NOT NULL) STRICT",
    "CREATE TABLE notify_message("
    "id INTEGER PRIMARY KEY,"
    "name TEXT NOT NULL," /* random, the same in each attempt */
    "target TEXT NOT NULL,"
    "at INT NOT NULL,"
    "due INT NOT NULL,"
    "tries INT NOT NULL,"
    "state TEXT NOT NULL CHECK(state IN ('waiting', 'sent', 'failed')),"
    "events INT NOT NULL,"
    "error TEXT,"
    "body TEXT) STRICT", /* NULL: sent or failed */
    NULL};
