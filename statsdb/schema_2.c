#include "statsdb/schema_sql.h"

#include <stddef.h>

/* What is worked out of accounting, node records and a Prometheus server:
 * values of use, energy, grams of CO2, findings, and their daily sums
 * (docs/statsdb.md, "Derived").  Written by derive.c alone; all of it can be
 * worked out again.  What Prometheus told is kept, for it forgets. */

/* What was measured of a job.  Sums are over nodes (and GPUs). */
#define VALUES                                                                 \
    "cpu_usec INT,"                                                            \
    "cpu_peak_milli INT," /* CPUs at work in its busiest moments, x 1000 */    \
    "mem_peak_bytes INT,"                                                      \
    "mem_mean_bytes INT,"                                                      \
    "io_read_bytes INT,"                                                       \
    "io_write_bytes INT,"                                                      \
    "io_storage_read_bytes INT,"                                               \
    "io_storage_write_bytes INT,"                                              \
    "device_read_bytes INT,"                                                   \
    "device_write_bytes INT,"                                                  \
    "oom_kills INT,"                                                           \
    "gpus_seen INT,"                                                           \
    "gpus_unused INT,"  /* of them: nothing ever ran there */                  \
    "gpu_busy_ppm INT," /* mean over its GPUs and their time */                \
    "gpu_held_usec INT,"                                                       \
    "gpu_idle_usec INT,"                                                       \
    "gpu_mem_peak_bytes INT,"                                                  \
    "threads_peak INT,"                                                        \
    "open_fds_peak INT,"                                                       \
    "scratch_files_peak INT,"                                                  \
    "core_min_ppm INT," /* CPU time of its idlest core, of the mean */         \
    "cores_used INT,"   /* with four fifths of the mean or more */             \
    "nodes_unused INT," /* less than a second of CPU time */

const char *const bj_schema_2[] = {
    /* Jobs that have ended and are to be worked out (again). */
    "CREATE TABLE derive_todo(job INTEGER PRIMARY KEY) STRICT",
    "CREATE TABLE derive_record(record INTEGER PRIMARY KEY) STRICT",
    /* Jobs up to this number have been looked at; rules: of the findings. */
    "CREATE TABLE derive_state(id INTEGER PRIMARY KEY CHECK(id = 1),"
    " job_upto INT NOT NULL, rules TEXT NOT NULL) STRICT",
    "INSERT INTO derive_state(id, job_upto, rules) VALUES(1, 0, '')",
    /* Not OR IGNORE: the firing statement's own ON CONFLICT would count. */
    "CREATE TRIGGER job_changed AFTER UPDATE ON job WHEN new.\"end\" IS NOT"
    " NULL AND NOT EXISTS (SELECT 1 FROM derive_todo WHERE job = new.id)"
    " BEGIN INSERT INTO derive_todo(job) VALUES(new.id); END",
    "CREATE TRIGGER record_new AFTER INSERT ON node_record WHEN NOT EXISTS"
    " (SELECT 1 FROM derive_record WHERE record = new.id)"
    " BEGIN INSERT INTO derive_record(record) VALUES(new.id); END",
    "CREATE TRIGGER record_changed AFTER UPDATE ON node_record WHEN NOT EXISTS"
    " (SELECT 1 FROM derive_record WHERE record = new.id)"
    " BEGIN INSERT INTO derive_record(record) VALUES(new.id); END",

    /* GPUs of final records. */
    "CREATE TABLE node_gpu("
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

    /* What a Prometheus server told of a job. */
    "CREATE TABLE job_prom("
    "job INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,"
    "asked_sec INT NOT NULL,"
    "outcome INT NOT NULL," /* 0 told, 1 knows nothing of it, 2 its id is that
                               of another run at about the same time */
    "nodes_seen INT,"
    "nodes_final INT,"  /* of them: their last values were seen */
    "coverage_ppm INT," /* samples there were of those there should be */
    VALUES "energy_policy INT REFERENCES word," /* NULL: not one for all */
    "energy_nodes INT) STRICT",
    "CREATE TABLE job_prom_energy("
    "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
    "component INT NOT NULL REFERENCES word,"
    "microjoules INT NOT NULL,"
    "PRIMARY KEY(job, component)) STRICT, WITHOUT ROWID",
    /* Its energy by hour, of jobs that are longer than one; start: of the hour
     * or of the job, if that is later. */
    "CREATE TABLE job_bin("
    "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
    "start INT NOT NULL,"
    "microjoules INT NOT NULL,"
    "PRIMARY KEY(job, start)) STRICT, WITHOUT ROWID",
    "CREATE TABLE prom_todo(cluster INT NOT NULL REFERENCES cluster,"
    " \"end\" INT NOT NULL, job INT NOT NULL, PRIMARY KEY(cluster, \"end\","
    " job)) STRICT, WITHOUT ROWID",

    /* The best that is known.  sources: two bits for each of the values in
     * their order, the lowest first: 0 unknown, 1 nodes, 2 prometheus. */
    "CREATE TABLE job_use("
    "job INTEGER PRIMARY KEY REFERENCES job ON DELETE CASCADE,"
    "sources INT NOT NULL,"
    "measured_nodes INT,"
    "coverage_ppm INT," /* of Prometheus' */
    VALUES "cpu_efficiency_ppm INT,"
    "mem_efficiency_ppm INT,"
    "gpu_efficiency_ppm INT,"
    "cpu_efficiency_source INT," /* 1 nodes, 2 prometheus, 3 scheduler */
    "mem_efficiency_source INT,"
    /* Energy, of all nodes or not at all. */
    "energy_source INT," /* 1 nodes, 2 prometheus, 3 scheduler */
    "energy_policy INT REFERENCES word,"
    "energy_uj INT,"
    "energy_cpu_uj INT,"
    "energy_dram_uj INT,"
    "energy_gpu_uj INT,"
    "energy_other_uj INT,"
    "energy_used_uj INT,"     /* split by use alone */
    "energy_reserved_uj INT," /* split by what was reserved */
    /* As it is in the daily sums. */
    "counted_assoc INT REFERENCES assoc,"
    "counted_cpu_sec INT NOT NULL,"
    "counted_start INT NOT NULL,"
    "counted_end INT NOT NULL) STRICT",
    "CREATE INDEX job_use_end ON job_use(counted_end)"
    " WHERE energy_uj IS NOT NULL",

    /* Emission factors over time.  cluster NULL: for all.  provider 'best':
     * no factor, but for each moment the best of the others; its kind is
     * 'average' or 'marginal'. */
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
    /* Power usage effectiveness of a cluster's house, from a time on. */
    "CREATE TABLE pue(cluster INT NOT NULL REFERENCES cluster,"
    " start INT NOT NULL, ppm INT NOT NULL, PRIMARY KEY(cluster, start))"
    " STRICT, WITHOUT ROWID",
    "CREATE TABLE job_grams("
    "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
    "source INT NOT NULL REFERENCES factor_source,"
    "micrograms INT NOT NULL,"
    "covered_uj INT NOT NULL," /* energy for which there were factors */
    "estimated INT NOT NULL,"
    "PRIMARY KEY(job, source)) STRICT, WITHOUT ROWID",

    /* Rules as they were when something was found. */
    "CREATE TABLE finding_rule(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " severity TEXT NOT NULL, condition TEXT NOT NULL, text TEXT NOT NULL,"
    " UNIQUE(name, severity, condition, text)) STRICT",
    "CREATE TABLE job_finding("
    "job INT NOT NULL REFERENCES job ON DELETE CASCADE,"
    "rule INT NOT NULL REFERENCES finding_rule,"
    "value REAL,"
    "threshold REAL,"
    "PRIMARY KEY(job, rule)) STRICT, WITHOUT ROWID",

    /* Daily sums; id as in rollup_day.  Thousandths of a joule. */
    "CREATE TABLE rollup_energy_day("
    "id INTEGER PRIMARY KEY,"
    "jobs INT NOT NULL,"
    "cpu_sec INT NOT NULL,"
    "energy_mj INT NOT NULL,"
    "energy_used_mj INT NOT NULL,"
    "energy_reserved_mj INT NOT NULL,"
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

#define SOURCE(n)                                                              \
    "CASE (u.sources >> 2 * " #n ") & 3 WHEN 1 THEN 'nodes' WHEN 2 THEN"       \
    " 'prometheus' END"
#define VALUE(n, name) ", u." name ", " SOURCE(n) " AS " name "_source"
#define FROM(column)                                                           \
    "CASE " column " WHEN 1 THEN 'nodes' WHEN 2 THEN 'prometheus' WHEN 3"      \
    " THEN 'scheduler' END"

const char *const bj_schema_2_views[] = {
    /* Which run a record belongs to: of those it may belong to the one whose
     * end is nearest.  (Version 1 took the last that had begun.) */
    "DROP VIEW job_energy_v", "DROP VIEW node_record_job",
    "CREATE VIEW node_record_job AS SELECT r.id AS record, (SELECT id FROM"
    " (SELECT j.id AS id, j.start AS start, abs(j.\"end\" - r.\"end\") AS far"
    " FROM job AS j WHERE j.cluster = r.cluster AND j.raw_id = r.raw_id"
    " AND j.start <= r.\"end\" + 120 AND (j.\"end\" IS NULL"
    " OR j.\"end\" >= r.\"end\" - 600))"
    " ORDER BY far IS NULL, far, start DESC LIMIT 1) AS job"
    " FROM node_record AS r",
    "CREATE VIEW job_energy_v AS SELECT l.job, p.text AS policy,"
    " c.text AS component, sum(e.microjoules) AS microjoules,"
    " count(*) AS nodes FROM node_record_job AS l"
    " JOIN node_energy AS e ON e.record = l.record"
    " JOIN word AS p ON p.id = e.policy JOIN word AS c ON c.id = e.component"
    " WHERE l.job IS NOT NULL GROUP BY l.job, p.text, c.text",

    /* Every value with where it is from. */
    "CREATE VIEW job_use_v AS SELECT u.job, u.measured_nodes, u.coverage_ppm"
    /* clang-format off */
    VALUE(0, "cpu_usec")
    VALUE(1, "cpu_peak_milli")
    VALUE(2, "mem_peak_bytes")
    VALUE(3, "mem_mean_bytes")
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
    VALUE(16, "gpu_mem_peak_bytes")
    VALUE(17, "threads_peak")
    VALUE(18, "open_fds_peak")
    VALUE(19, "scratch_files_peak")
    VALUE(20, "core_min_ppm")
    VALUE(21, "cores_used")
    VALUE(22, "nodes_unused")
    ", u.cpu_efficiency_ppm, " FROM("u.cpu_efficiency_source")
    " AS cpu_efficiency_source, u.mem_efficiency_ppm, "
    FROM("u.mem_efficiency_source") " AS mem_efficiency_source,"
    " u.gpu_efficiency_ppm, u.energy_uj, u.energy_cpu_uj, u.energy_dram_uj,"
    " u.energy_gpu_uj, u.energy_other_uj, u.energy_used_uj,"
    " u.energy_reserved_uj, " FROM("u.energy_source") " AS energy_source,"
    " (SELECT text FROM word WHERE id = u.energy_policy) AS energy_policy"
    " FROM job_use AS u",
    /* clang-format on */

    "CREATE VIEW job_grams_v AS SELECT g.job, s.provider, s.kind, s.zone,"
    " s.country, g.micrograms / 1e6 AS grams, g.covered_uj, g.estimated"
    " FROM job_grams AS g JOIN factor_source AS s ON s.id = g.source",

    /* {value} and {threshold} in the text of a rule. */
    "CREATE VIEW job_finding_v AS SELECT f.job, r.name, r.severity,"
    " replace(replace(r.text, '{value}', ifnull(printf('%.4g', f.value),"
    " '?')), '{threshold}', ifnull(printf('%.4g', f.threshold), '?')) AS text,"
    " f.value, f.threshold, r.condition"
    " FROM job_finding AS f JOIN finding_rule AS r ON r.id = f.rule",

    "CREATE VIEW factor_v AS SELECT (SELECT name FROM cluster WHERE id ="
    " s.cluster) AS cluster, s.provider, s.kind, s.zone, s.country,"
    " f.start AS start_sec, nullif(f.\"end\", 9223372036854775807) AS end_sec,"
    " f.mg_per_kwh / 1e3 AS grams_per_kwh, CASE f.basis WHEN 0 THEN 'live'"
    " WHEN 1 THEN 'stated' WHEN 2 THEN 'profile' WHEN 3 THEN 'year' WHEN 4"
    " THEN 'constant' END AS basis, f.estimated,"
    " nullif(f.fetched, 0) AS fetched_sec"
    " FROM factor AS f JOIN factor_source AS s ON s.id = f.source",

    "CREATE VIEW rollup_energy_month AS SELECT month, assoc,"
    " sum(jobs) AS jobs, sum(cpu_sec) AS cpu_sec, sum(energy_mj) AS energy_mj,"
    " sum(energy_used_mj) AS energy_used_mj,"
    " sum(energy_reserved_mj) AS energy_reserved_mj"
    " FROM rollup_energy_day GROUP BY month, assoc",

    "CREATE VIEW rollup_grams_month AS SELECT month, assoc, source,"
    " sum(micrograms) AS micrograms, sum(covered_mj) AS covered_mj"
    " FROM rollup_grams_day GROUP BY month, assoc, source",
    NULL};
