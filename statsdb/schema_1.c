#include "statsdb/schema_sql.h"

#include <stddef.h>

/* Words that come again and again are kept once, in dictionaries.  Numbers
 * that would need six bytes and seldom do have a short form:
 *   _mem   KiB, or bytes when negative
 *   _time  milliseconds, or microseconds when negative
 * and what is nearly always the same is kept as a difference.  The views job_v
 * and step_v undo all of that. */

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
    "energy_joules INT,"                                                       \
    "energy_cpu_sec INT,"

#define ROLLUP_SUMS                                                            \
    ", sum(jobs_started) AS jobs_started"                                      \
    ", sum(jobs_ended) AS jobs_ended"                                          \
    ", sum(jobs_completed) AS jobs_completed"                                  \
    ", sum(jobs_failed) AS jobs_failed"                                        \
    ", sum(jobs_cancelled) AS jobs_cancelled"                                  \
    ", sum(jobs_timeout) AS jobs_timeout"                                      \
    ", sum(jobs_oom) AS jobs_oom"                                              \
    ", sum(wait_sec) AS wait_sec"                                              \
    ", sum(elapsed_sec) AS elapsed_sec"                                        \
    ", sum(node_sec) AS node_sec"                                              \
    ", sum(cpu_sec) AS cpu_sec"                                                \
    ", sum(gpu_sec) AS gpu_sec"                                                \
    ", sum(mem_mib_sec) AS mem_mib_sec"                                        \
    ", sum(cpu_used_msec) AS cpu_used_msec"                                    \
    ", sum(cpu_unknown_sec) AS cpu_unknown_sec"                                \
    ", sum(energy_joules) AS energy_joules"                                    \
    ", sum(energy_cpu_sec) AS energy_cpu_sec"

const char *const bj_schema_1[] = {
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

    /* What lists of hosts and of resources are made of. */
    "CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"
    " STRICT",
    "CREATE TABLE hosts_host(host INT NOT NULL REFERENCES host,"
    " hosts INT NOT NULL REFERENCES hosts, PRIMARY KEY(host, hosts))"
    " STRICT, WITHOUT ROWID",
    "CREATE TABLE tres_item(tres INT NOT NULL REFERENCES tres,"
    " item INT NOT NULL, type INT NOT NULL, name TEXT, model TEXT, count INT,"
    " PRIMARY KEY(tres, item)) STRICT, WITHOUT ROWID",

    "CREATE TABLE job("
    "name INT REFERENCES jobname,"
    "state INT NOT NULL REFERENCES state,"
    "state_raw INT REFERENCES word,"
    "exit_code INT,"
    "exit_signal INT,"
    "start INT,"
    "\"end\" INT,"
    "elapsed_off INT," /* elapsed less (end - start - suspended), or, while
                          start or end is NULL, elapsed */
    "suspended INT,"
    "cpus INT,"
    "nodes INT,"
    "hosts INT REFERENCES hosts,"
    "tres_allocated INT REFERENCES tres,"
    "cpu_time INT,"
    "cpu_system_time INT,"
    "cpu_off_time INT," /* cpu less user less system */
    "task_peak_mem INT,"
    "peak_mem INT,"
    "energy_joules INT,"
    "read_bytes INT,"
    "write_bytes INT,"
    "cluster INT NOT NULL REFERENCES cluster,"
    "raw_id ANY NOT NULL," /* an integer where it is all digits */
    "submit INT NOT NULL," /* 0: not told */
    "user INT REFERENCES user,"
    "account INT REFERENCES account,"
    "partition INT REFERENCES partition,"
    "qos INT REFERENCES qos,"
    "owner INT REFERENCES owner,"
    "eligible INT,"
    "time_limit INT," /* seconds; 2^63-1: none */
    "gpus INT,"
    "requested_mem INT,"
    "allocated_mem INT,"
    "tres_requested INT REFERENCES tres,"
    "dir INT REFERENCES dir," /* working directory but its last component */
    "leaf TEXT,"              /* the last component */
    "array_job INT,"
    "array_task INT,"
    "derived_exit_code INT,"
    "derived_exit_signal INT,"
    "restarts INT,"
    "priority INT,"
    "tasks INT,"
    "task_time INT,"
    "vpeak_mem INT,"
    "reason INT REFERENCES word,"
    "flags INT REFERENCES word,"
    "sluid TEXT,"
    "id INTEGER PRIMARY KEY,"
    "at INT GENERATED ALWAYS AS (ifnull(start, submit)) VIRTUAL) STRICT",
    "CREATE UNIQUE INDEX job_key ON job(cluster, raw_id, submit)",
    "CREATE UNIQUE INDEX job_sluid ON job(sluid) WHERE sluid IS NOT NULL",
    "CREATE INDEX job_user ON job(user, at)",
    "CREATE INDEX job_account ON job(account, at)",
    "CREATE INDEX job_at ON job(at)",
    "CREATE INDEX job_array ON job(array_job) WHERE array_job IS NOT NULL",
    "CREATE INDEX job_open ON job(cluster, state) WHERE \"end\" IS NULL",

    /* What few jobs have; no row where there is nothing of it. */
    "CREATE TABLE job_more("
    "job INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,"
    "shown_id TEXT," /* where it does not follow from the other ids */
    "array_tasks TEXT,"
    "het_job INT,"
    "het_offset INT,"
    "cancelled_by INT,"              /* where state_raw does not say it */
    "exit_raw INT REFERENCES word,"  /* where it is not \"code:signal\" */
    "cpus_requested INT,"            /* where they are not cpus */
    "gpu_model INT REFERENCES word," /* where tres_allocated has none */
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

    /* id: number of the job << 20 | slot; slot 1 is the batch script, 2 extern,
     * 3 interactive, 16 + n step n, and from 2^19 on what has another name. */
    "CREATE TABLE step("
    "name INT REFERENCES jobname,"
    "state INT NOT NULL REFERENCES state,"
    "state_raw INT REFERENCES word,"
    "exit_code INT,"
    "exit_signal INT,"
    "start INT,"
    "\"end\" INT,"
    "elapsed_off INT,"
    "suspended INT,"
    "cpus INT,"
    "nodes INT,"
    "hosts INT REFERENCES hosts,"
    "tres_allocated INT REFERENCES tres,"
    "cpu_time INT,"
    "cpu_system_time INT,"
    "cpu_off_time INT,"
    "task_peak_mem INT,"
    "peak_mem INT,"
    "energy_joules INT,"
    "read_bytes INT,"
    "write_bytes INT,"
    "id INTEGER PRIMARY KEY,"
    "other TEXT," /* its name, if slot does not say it */
    "tasks INT,"
    "peak_node INT REFERENCES word," /* where the largest task was */
    "task_time INT,"
    "vpeak_mem INT,"
    "submit_line TEXT,"
    "job INT GENERATED ALWAYS AS (id >> 20) VIRTUAL REFERENCES job) STRICT",

    /* Who used what where: the dimensions of the rollups. */
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
    /* What the nodes counted of a job: docs/records.md. */
    "CREATE TABLE node_record("
    "id INTEGER PRIMARY KEY,"
    "cluster INT NOT NULL REFERENCES cluster,"
    "raw_id ANY NOT NULL,"
    "host INT NOT NULL REFERENCES host,"
    "slurm_node TEXT NOT NULL,"
    "start INT NOT NULL," /* 0: not known */
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
    "CREATE UNIQUE INDEX node_record_key ON node_record(cluster, raw_id, host,"
    " slurm_node, start)",
    "CREATE INDEX node_record_end ON node_record(\"end\")",
    "CREATE TABLE node_energy("
    "record INT NOT NULL REFERENCES node_record ON DELETE CASCADE,"
    "policy INT NOT NULL REFERENCES word,"
    "component INT NOT NULL REFERENCES word,"
    "microjoules INT NOT NULL,"
    "PRIMARY KEY(record, policy, component)) STRICT, WITHOUT ROWID",
    "CREATE TABLE node_device("
    "record INT NOT NULL REFERENCES node_record ON DELETE CASCADE,"
    "device TEXT NOT NULL,"
    "read_bytes INT,"
    "write_bytes INT,"
    "read_operations INT,"
    "write_operations INT,"
    "PRIMARY KEY(record, device)) STRICT, WITHOUT ROWID",

    /* How far each source has been read, and up to when jobs were removed. */
    "CREATE TABLE covered(cluster TEXT NOT NULL, source TEXT NOT NULL,"
    " from_sec INT NOT NULL, to_sec INT NOT NULL,"
    " PRIMARY KEY(cluster, source)) STRICT, WITHOUT ROWID",
    "CREATE TABLE removed(id INTEGER PRIMARY KEY CHECK(id = 1),"
    " before_sec INT NOT NULL) STRICT",

    /* The days of a month and of one assoc lie beside each other. */
    "CREATE VIEW rollup_month AS SELECT month, assoc" ROLLUP_SUMS
    " FROM rollup_day GROUP BY month, assoc",
    NULL};
