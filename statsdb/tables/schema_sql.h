/* The statements of schema.c's steps. */
#ifndef BJ_STATSDB_TABLES_SCHEMA_SQL_H
#define BJ_STATSDB_TABLES_SCHEMA_SQL_H

/* The SQL of a step is written once, in forms that store/postgres_sql.c can
 * rewrite; where the engines differ too much, there is a statement for each,
 * which begins with the mark of its engine. */
#define BJ_ONLY_SQLITE "/*sqlite*/"
#define BJ_ONLY_POSTGRESQL "/*postgresql*/"

/* Mark in front of a CREATE TABLE: in PostgreSQL the table is partitioned by a
 * column with numbers of jobs or of final records (statsdb/tables/month.h).
 * BJ_BY_ID is for the tables job and node_record. */
#define BJ_BY_ID "/*by id*/"
#define BJ_BY_JOB "/*by job*/"
#define BJ_BY_RECORD "/*by record*/"

/* Make the partitions of a new table BJ_BY_JOB for the months that the store
 * has already. */
#define BJ_POSTGRESQL_MONTHS(table)                                            \
    BJ_ONLY_POSTGRESQL                                                         \
    "DO $$ DECLARE p record; BEGIN FOR p IN SELECT c.relname AS part,"         \
    " pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_catalog.pg_inherits" \
    " AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid WHERE"          \
    " i.inhparent = 'job_bin'::regclass LOOP EXECUTE format('CREATE TABLE %I"  \
    " PARTITION OF " table " %s', replace(p.part, 'job_bin', '" table "'),"    \
    " p.bound); END LOOP; END $$"

/* A row trigger of PostgreSQL: its event, table, condition and statement. */
#define BJ_POSTGRESQL_TRIGGER(name, when, table, condition, sql)               \
    BJ_ONLY_POSTGRESQL "CREATE FUNCTION " name "() RETURNS trigger LANGUAGE"   \
                       " plpgsql AS $$ BEGIN " sql "; RETURN NULL; END $$;"    \
                       "CREATE TRIGGER " name " AFTER " when " ON " table      \
                       " FOR EACH ROW WHEN (" condition                        \
                       ") EXECUTE FUNCTION " name "()"

/* The triggers that list a changed job to be derived again. */
#define BJ_SQLITE_JOB_CHANGED                                                  \
    "CREATE TRIGGER job_changed AFTER UPDATE ON job WHEN new.\"end\" IS NOT"   \
    " NULL AND NOT EXISTS (SELECT 1 FROM derive_todo WHERE job = new.id)"      \
    " BEGIN INSERT INTO derive_todo(job) VALUES(new.id); END"
#define BJ_POSTGRESQL_JOB_CHANGED                                              \
    "CREATE TRIGGER job_changed AFTER UPDATE ON job FOR EACH ROW WHEN"         \
    " (new.\"end\" IS NOT NULL) EXECUTE FUNCTION job_changed()"

/* The sums of rollup_usage and rollup_energy in version 9. */
#define BJ_USAGE_SUMS(X)                                                       \
    X("jobs_started")                                                          \
    X("jobs_ended")                                                            \
    X("jobs_completed")                                                        \
    X("jobs_failed")                                                           \
    X("jobs_cancelled")                                                        \
    X("jobs_timeout")                                                          \
    X("jobs_oom")                                                              \
    X("wait_sec")                                                              \
    X("elapsed_sec")                                                           \
    X("node_sec")                                                              \
    X("cpu_sec")                                                               \
    X("gpu_sec")                                                               \
    X("mem_mib_sec")                                                           \
    X("cpu_used_msec")                                                         \
    X("cpu_unknown_sec") X("energy_scheduler_joules") X("energy_cpu_sec")
#define BJ_ENERGY_SUMS(X)                                                      \
    X("jobs")                                                                  \
    X("cpu_sec")                                                               \
    X("energy_mj")                                                             \
    X("energy_used_mj")                                                        \
    X("energy_reserved_mj")                                                    \
    X("cpu_more_msec")                                                         \
    X("cpu_known_sec")                                                         \
    X("gpu_sec")                                                               \
    X("gpu_used_msec")                                                         \
    X("failed_cpu_sec")                                                        \
    X("failed_gpu_sec")                                                        \
    X("failed_mem_mib_sec") X("failed_energy_cpu_sec") X("failed_energy_mj")

/* Their lists in SQL. */
#define BJ_SUM_COLUMN(name) ", " name
#define BJ_SUM_OF(name) ", sum(" name ")"

/* NULL at the end. */
extern const char *const bj_schema_accounting[];
extern const char *const bj_schema_measured[];
extern const char *const bj_schema_held[];
extern const char *const bj_schema_mail[];
extern const char *const bj_schema_running[];
extern const char *const bj_schema_site[];
extern const char *const bj_schema_access[];
extern const char *const bj_schema_gpu_model[];
extern const char *const bj_schema_cancelled[];
extern const char *const bj_schema_evidence[];
extern const char *const bj_schema_application[];
extern const char *const bj_schema_resized[];
extern const char *const bj_schema_record_host[];
extern const char *const bj_schema_zone[];
extern const char *const bj_schema_failed_nodes[];
extern const char *const bj_schema_held_charged[];
extern const char *const bj_schema_months[];
extern const char *const bj_schema_lists[];
extern const char *const bj_schema_as_reported[];
extern const char *const bj_schema_named[];
extern const char *const bj_schema_gpu_fault[];
extern const char *const bj_schema_notify[];
extern const char *const bj_schema_notify_queue[];
extern const char *const bj_schema_kernel[];
extern const char *const bj_schema_views[];
extern const char *const bj_schema_people[]; /* of PostgreSQL */

#endif
