#include "statsdb/tables/schema_sql.h"

#include <stddef.h>

/* Accounting: jobs, steps, and their daily sums.
 *
 * Times are seconds since 1970, durations seconds unless a name has another
 * unit; NULL is unknown. Repeated words are stored once, in dictionaries; the
 * views resolve them. */

#define DICTIONARY(name, column)                                               \
    "CREATE TABLE " name "(id INTEGER PRIMARY KEY, " column                    \
    " TEXT NOT NULL UNIQUE) STRICT"

#define ROLLUP                                                                 \
    "jobs_started INT,"                                                        \
    "jobs_ended INT,"                                                          \
    "jobs_completed INT,"                                                      \
    "jobs_failed INT,"                                                         \
    "jobs_cancelled INT,"                                                      \
    "jobs_timeout INT,"                                                        \
    "jobs_oom INT,"                                                            \
    "wait_sec INT,"                                                            \
    "elapsed_sec INT,"                                                         \
    "node_sec INT,"                                                            \
    "cpu_sec INT,"                                                             \
    "gpu_sec INT,"                                                             \
    "mem_mib_sec INT,"                                                         \
    "cpu_used_msec INT,"                                                       \
    "cpu_unknown_sec INT,"                                                     \
    "energy_scheduler_joules INT,"                                             \
    "energy_cpu_sec INT,"

/* Columns of a job and of its steps.  cpu_user_usec NULL: cpu_usec less
 * cpu_system_usec. */
#define BOTH                                                                   \
    "name INT REFERENCES jobname,"                                             \
    "state INT NOT NULL REFERENCES state,"                                     \
    "state_raw INT REFERENCES word,"                                           \
    "exit_code INT,"                                                           \
    "exit_signal INT,"                                                         \
    "start INT,"                                                               \
    "\"end\" INT,"                                                             \
    "elapsed INT,"                                                             \
    "suspended INT,"                                                           \
    "cpus INT,"                                                                \
    "nodes INT,"                                                               \
    "hosts INT REFERENCES hosts,"                                              \
    "tres_allocated INT REFERENCES tres,"                                      \
    "cpu_usec INT,"                                                            \
    "cpu_system_usec INT,"                                                     \
    "cpu_user_usec INT,"                                                       \
    "memory_task_peak_bytes INT,"                                              \
    "memory_scheduler_peak_bytes INT,"                                         \
    "energy_scheduler_joules INT,"                                             \
    "read_bytes INT,"                                                          \
    "write_bytes INT,"

const char *const bj_schema_accounting[] = {
    "CREATE TABLE cluster(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " system TEXT NOT NULL) STRICT",
    /* clang-format off */
    DICTIONARY("user", "name"),
    DICTIONARY("account", "name"),
    DICTIONARY("partition", "name"),
    DICTIONARY("qos", "name"),
    DICTIONARY("jobname", "text"),
    DICTIONARY("hosts", "text"),
    DICTIONARY("dir", "path"),
    DICTIONARY("tres", "text"),
    DICTIONARY("word", "text"),
    /* clang-format on */
    "CREATE TABLE state(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"
    " STRICT",
    /* enum bj_job_state of sched/job.h */
    "INSERT INTO state(id, name) VALUES(0, 'unknown'), (1, 'pending'),"
    " (2, 'running'), (3, 'suspended'), (4, 'completed'), (5, 'failed'),"
    " (6, 'cancelled'), (7, 'timeout'), (8, 'oom'), (9, 'node_fail'),"
    " (10, 'preempted'), (11, 'requeued'), (12, 'deadline'),"
    " (13, 'boot_fail'), (14, 'resized')",
    "CREATE TABLE owner(id INTEGER PRIMARY KEY, uid INT, gid INT,"
    " grp TEXT NOT NULL) STRICT",
    "CREATE UNIQUE INDEX owner_key ON owner(ifnull(uid, -1), ifnull(gid, -1),"
    " grp)",

    /* Members of host lists and resource lists. */
    "CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"
    " STRICT",
    "CREATE TABLE hosts_host(host INT NOT NULL REFERENCES host,"
    " hosts INT NOT NULL REFERENCES hosts, PRIMARY KEY(host, hosts))"
    " STRICT, WITHOUT ROWID",
    "CREATE TABLE tres_item(tres INT NOT NULL REFERENCES tres,"
    " item INT NOT NULL, type INT NOT NULL, name TEXT, model TEXT, count INT,"
    " PRIMARY KEY(tres, item)) STRICT, WITHOUT ROWID",

    BJ_BY_ID
    "CREATE TABLE job(" BOTH "cluster INT NOT NULL REFERENCES cluster,"
    "jobid ANY NOT NULL,"  /* an integer if it has only digits */
    "submit INT NOT NULL," /* 0: unknown */
    "user INT REFERENCES user,"
    "account INT REFERENCES account,"
    "partition INT REFERENCES partition,"
    "qos INT REFERENCES qos,"
    "owner INT REFERENCES owner,"
    "eligible INT,"
    "time_limit INT," /* seconds; 2^63-1: none */
    "gpus INT,"
    "memory_requested_bytes INT,"
    "memory_allocated_bytes INT,"
    "tres_requested INT REFERENCES tres,"
    "dir INT REFERENCES dir," /* working directory without its last component */
    "leaf TEXT,"              /* the last component */
    "array_job_id INT,"
    "array_task INT,"
    "derived_exit_code INT,"
    "derived_exit_signal INT,"
    "restarts INT,"
    "priority INT,"
    "tasks INT,"
    "cpu_task_usec INT,"
    "vmemory_peak_bytes INT,"
    "reason INT REFERENCES word,"
    "flags INT REFERENCES word,"
    "sluid TEXT,"
    "id INTEGER PRIMARY KEY NOT NULL," /* statsdb/tables/job_number.h */
    "at INT GENERATED ALWAYS AS (ifnull(start, submit)) VIRTUAL) STRICT",
    /* In a partitioned table, each unique index must contain the number; the
       writer, of which there is only one, searches for a job before it inserts
       it. */
    BJ_ONLY_SQLITE "CREATE UNIQUE INDEX job_key ON job(cluster, jobid, submit)",
    BJ_ONLY_POSTGRESQL
    "CREATE UNIQUE INDEX job_key ON job(cluster, jobid, submit, id)",
    BJ_ONLY_SQLITE
    "CREATE UNIQUE INDEX job_sluid ON job(sluid) WHERE sluid IS NOT NULL",
    BJ_ONLY_POSTGRESQL
    "CREATE UNIQUE INDEX job_sluid ON job(sluid, id) WHERE sluid IS NOT NULL",
    /* For each month with jobs their smallest and largest at, and largest end;
       2^63-1 if a job may be open. */
    BJ_ONLY_POSTGRESQL
    "CREATE TABLE job_month(month INT PRIMARY KEY, at_from INT NOT NULL,"
    " at_upto INT NOT NULL, end_upto INT NOT NULL)",
    "CREATE INDEX job_user ON job(user, at)",
    "CREATE INDEX job_account ON job(account, at)",
    "CREATE INDEX job_at ON job(at)",
    "CREATE INDEX job_array ON job(array_job_id) WHERE array_job_id IS NOT "
    "NULL",
    "CREATE INDEX job_open ON job(cluster, state) WHERE \"end\" IS NULL",

    /* Rare values; a job without any has no row. */
    BJ_BY_JOB
    "CREATE TABLE job_more("
    "job INTEGER PRIMARY KEY NOT NULL REFERENCES job ON DELETE CASCADE,"
    "display_id TEXT," /* if it cannot be computed from the other ids */
    "array_tasks TEXT,"
    "het_job_id INT,"
    "het_offset INT,"
    "cancelled_by INT,"              /* uid */
    "exit_raw INT REFERENCES word,"  /* if it is not \"code:signal\" */
    "cpus_requested INT,"            /* if they differ from cpus */
    "gpu_model INT REFERENCES word," /* if tres_allocated contains no model */
    "project INT REFERENCES word,"
    "wckey INT REFERENCES word,"
    "reservation INT REFERENCES word,"
    "constraints INT REFERENCES word,"
    "licenses INT REFERENCES word,"
    "batch_host INT REFERENCES word,"
    "submit_host INT REFERENCES word,"
    "container TEXT,"
    "submit_line TEXT,"
    "comment TEXT,"
    "admin_comment TEXT,"
    "system_comment TEXT,"
    "steps_left_out INT) STRICT",

    /* slot 1 is the batch script, 2 extern, 3 interactive, 16 + n step n, from
     * 2^19 on other names. */
    BJ_BY_JOB "CREATE TABLE step(" BOTH "job INT NOT NULL REFERENCES job,"
              "slot INT NOT NULL,"
              "other TEXT," /* its name, if the slot does not determine it */
              "tasks INT,"
              "peak_node INT REFERENCES word," /* node of the largest task */
              "cpu_task_usec INT,"
              "vmemory_peak_bytes INT,"
              "submit_line TEXT,"
              "PRIMARY KEY(job, slot)) STRICT, WITHOUT ROWID",

    /* Combinations with daily sums. */
    "CREATE TABLE assoc(id INTEGER PRIMARY KEY,"
    "cluster INT NOT NULL REFERENCES cluster,"
    "account INT NOT NULL REFERENCES account,"
    "user INT NOT NULL REFERENCES user,"
    "partition INT NOT NULL REFERENCES partition,"
    "UNIQUE(cluster, account, user, partition)) STRICT",
    "CREATE INDEX assoc_user ON assoc(user)",
    "CREATE INDEX assoc_account ON assoc(account)",
    /* month: year * 12 + month - 1; days of UTC */
    "CREATE TABLE rollup_day("
    "id INTEGER PRIMARY KEY," /* month << 37 | assoc << 5 | day */
    ROLLUP "month INT GENERATED ALWAYS AS (id >> 37) VIRTUAL,"
    "assoc INT GENERATED ALWAYS AS ((id >> 5) & 0xffffffff) VIRTUAL"
    " REFERENCES assoc,"
    "day INT GENERATED ALWAYS AS (id & 31) VIRTUAL) STRICT",
    /* Imported period of each source, and the time before which jobs were
       removed. */
    "CREATE TABLE covered(cluster TEXT NOT NULL, source TEXT NOT NULL,"
    " from_sec INT NOT NULL, to_sec INT NOT NULL,"
    " PRIMARY KEY(cluster, source)) STRICT, WITHOUT ROWID",
    "CREATE TABLE removed(id INTEGER PRIMARY KEY CHECK(id = 1),"
    " before_sec INT NOT NULL) STRICT",
    NULL};

/* Who cancelled a job was only in the text of its state, and an allocated
 * memory of 0 counted as known. */
const char *const bj_schema_cancelled[] = {
    "INSERT INTO job_more(job, cancelled_by) SELECT j.id, CAST(substr(w.text,"
    " 14) AS INT) FROM job AS j JOIN word AS w ON w.id = j.state_raw WHERE"
    " j.state = 6 AND CASE WHEN length(w.text) BETWEEN 14 AND 23 AND"
    " substr(w.text, 1, 13) = 'CANCELLED by ' AND ltrim(substr(w.text, 14),"
    " '0123456789') = '' THEN CAST(substr(w.text, 14) AS INT) END < 4294967294"
    " ON CONFLICT(job) DO UPDATE SET cancelled_by = excluded.cancelled_by",
    "UPDATE job SET memory_allocated_bytes = NULL WHERE"
    " memory_allocated_bytes = 0",
    NULL};

/* Jobs that Slurm resized while they ran.  cpu_sec to memory_mib_sec of job are
 * the sums over job_size; NULL: the job kept its size. */
const char *const bj_schema_resized[] = {
    "ALTER TABLE job ADD COLUMN cpu_sec INT",
    "ALTER TABLE job ADD COLUMN node_sec INT",
    "ALTER TABLE job ADD COLUMN gpu_sec INT",
    "ALTER TABLE job ADD COLUMN memory_mib_sec INT",
    "ALTER TABLE job_more ADD COLUMN failed_node INT REFERENCES word",
    "ALTER TABLE job_more ADD COLUMN stdout_path TEXT",
    "ALTER TABLE job_more ADD COLUMN stderr_path TEXT",
    /* What a resized job had, in the order of time; number: from 0. */
    BJ_BY_JOB "CREATE TABLE job_size("
              "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
              "number INT NOT NULL,"
              "sluid TEXT,"
              "start INT,"
              "\"end\" INT,"
              "elapsed INT,"
              "cpus INT,"
              "nodes INT,"
              "gpus INT,"
              "memory_allocated_bytes INT,"
              "hosts INT REFERENCES hosts,"
              "tres_allocated INT REFERENCES tres,"
              "PRIMARY KEY(job, number)) STRICT, WITHOUT ROWID",
    BJ_POSTGRESQL_MONTHS("job_size"),
    "CREATE INDEX job_size_sluid ON job_size(sluid) WHERE sluid IS NOT NULL",
    /* Of the batch script, which is not stored: its options
       (sched/sbatch_script.h), and the application that it names; NULL: not
       read yet, "": there is no script. */
    "ALTER TABLE job_more ADD COLUMN script_options TEXT",
    "ALTER TABLE job_more ADD COLUMN script_application TEXT",
    /* With the end, so that lists of a period need not read the jobs that ended
       before it. */
    "DROP INDEX job_at", "CREATE INDEX job_at ON job(at, id, \"end\")", NULL};

/* In version 9 a row had no value that could be made from its other columns:
 * the id that people write, requested CPUs, the model of GPUs, the CPU time in
 * user space; and a path was in two parts.  Now a row has what the scheduler
 * reports. Exit statuses of version 9 that were like "0:0" stay unknown as
 * texts.  The jobs do not change, so they are not derived again. */
#define MORE(column, made)                                                     \
    column " = coalesce((SELECT m." column                                     \
           " FROM job_more AS m WHERE m.job = job.id), " made ")"
#define GPU_ITEMS "tres_item AS t WHERE t.type = 6 AND t.name = 'gpu' AND "
#define USER_TIME "coalesce(cpu_user_usec, cpu_usec - cpu_system_usec)"

const char *const bj_schema_as_reported[] = {
    "ALTER TABLE job ADD COLUMN display_id TEXT",
    "ALTER TABLE job ADD COLUMN exit_raw INT REFERENCES word",
    "ALTER TABLE job ADD COLUMN cpus_requested INT",
    "ALTER TABLE job ADD COLUMN gpu_model INT REFERENCES word",
    "ALTER TABLE job ADD COLUMN work_dir TEXT",
    "INSERT INTO word(text) SELECT DISTINCT t.model FROM " GPU_ITEMS
    "t.model IS NOT NULL AND NOT EXISTS (SELECT 1 FROM word AS w WHERE"
    " w.text = t.model)",
    BJ_ONLY_SQLITE "DROP TRIGGER job_changed",
    BJ_ONLY_POSTGRESQL "DROP TRIGGER job_changed ON job",
    /* clang-format off */
    "UPDATE job SET "
    MORE("display_id",
         "array_job_id || '_' || array_task, (SELECT m.het_job_id || '+' ||"
         " m.het_offset FROM job_more AS m WHERE m.job = job.id), CAST(jobid AS"
         " TEXT)") ", "
    MORE("exit_raw", "NULL") ", "
    MORE("cpus_requested", "cpus") ", "
    MORE("gpu_model",
         "CASE WHEN gpus > 0 THEN (SELECT w.id FROM word AS w WHERE w.text ="
         " (SELECT min(t.model) FROM " GPU_ITEMS "t.tres ="
         " job.tres_allocated)) END") ","
    " work_dir = CASE WHEN dir IS NULL THEN leaf ELSE (SELECT d.path FROM dir"
    " AS d WHERE d.id = job.dir) || '/' || coalesce(leaf, '') END,"
    " cpu_user_usec = " USER_TIME,
    /* clang-format on */
    BJ_ONLY_SQLITE BJ_SQLITE_JOB_CHANGED,
    BJ_ONLY_POSTGRESQL BJ_POSTGRESQL_JOB_CHANGED,
    "UPDATE step SET cpu_user_usec = " USER_TIME " WHERE cpu_user_usec IS NULL"
    " AND cpu_usec IS NOT NULL AND cpu_system_usec IS NOT NULL",
    "ALTER TABLE job DROP COLUMN dir", "ALTER TABLE job DROP COLUMN leaf",
    "ALTER TABLE job_more DROP COLUMN display_id",
    "ALTER TABLE job_more DROP COLUMN exit_raw",
    "ALTER TABLE job_more DROP COLUMN cpus_requested",
    "ALTER TABLE job_more DROP COLUMN gpu_model", "DROP TABLE dir", NULL};
