#include "statsdb/derive/derive_impl.h"

#include "base/buf.h"
#include "statsdb/tables/fragment.h"

#include <stdlib.h>

/* The limits of the numbers of records are values, too, and conditions on each
 * table, so that PostgreSQL reads only the partitions within them. */
#define WITHIN(number) BJ_SQL_RECORD_WITHIN(number, "?2", "?3")
#define OF_RECORD " WHERE record = n.id AND " WITHIN("record")

/* Final records of job ?1: same cluster and id, and linked to this run. */
#define RECORDS                                                                \
    "node_record AS n JOIN job AS j ON j.cluster = n.cluster"                  \
    " AND j.jobid = n.jobid WHERE j.id = ?1 AND ?1 = (SELECT job FROM"         \
    " node_record_job" OF_RECORD ") AND " WITHIN("n.id")

/* Records of other hosts with the id of job ?1 that are not counted yet. */
#define OF_RUN                                                                 \
    "node_record_other AS n WHERE n.job = ?1 AND " WITHIN(                     \
        "n.record") " AND NOT EXISTS (SELECT 1 FROM record_refused WHERE "     \
                    "record = n.record)"

static const char job_sql[] = "SELECT c.name, (SELECT name FROM partition WHERE"
                              " id = j.partition), (SELECT name FROM qos WHERE"
                              " id = j.qos)"
#define COLUMN(upper, sql) ", " sql
    BJ_DJ_COLUMNS(COLUMN)
#undef COLUMN
        " FROM job AS j JOIN cluster AS c ON c.id = j.cluster WHERE j.id = ?1";

/* The GPUs of a record; their mean use is weighted by the time held.  Of a GPU
 * without a mean, the part of that time in which it was not idle. */
#define BUSY                                                                   \
    "coalesce(busy_ppm, (held_usec - idle_usec) / nullif(held_usec / 1000000," \
    " 0))"
#define EACH_GPU(x) "CASE WHEN count(" x ") = count(*) THEN sum(" x ") END"
#define GPU(what, name)                                                        \
    ", (SELECT " what " FROM node_gpu" OF_RECORD ") AS " name
#define GPUS                                                                   \
    GPU("nullif(count(*), 0)", "gpu_rows")                                     \
    GPU("count(" BUSY ")", "gpus")                                             \
    GPU("sum(busy_ppm = 0 OR (held_usec > 0 AND idle_usec >= held_usec))",     \
        "gpus_unused")                                                         \
    GPU("sum(" BUSY " * (held_usec / 1000))", "gpu_busy")                      \
    GPU("sum(CASE WHEN " BUSY " IS NULL THEN 0 ELSE held_usec / 1000 END)",    \
        "gpu_known")                                                           \
    GPU(EACH_GPU("held_usec"), "gpu_held")                                     \
    GPU(EACH_GPU("idle_usec"), "gpu_idle")                                     \
    GPU(EACH_GPU("memory_peak_bytes"), "gpu_mem")                              \
    GPU("min(model)", "gpu_model")

/* The nodes and GPUs of a job: name, GPU, index, CPUs, CPU time, use, and
 * whether it did nothing at all. */
#define NODE                                                                   \
    "CASE n.slurm_node WHEN '' THEN (SELECT name FROM host WHERE id ="         \
    " n.host) ELSE n.slurm_node END AS node"
static const char record_parts_sql[] =
    "SELECT r.node, '', NULL, r.cpus, r.cpu_known, NULL, CASE WHEN r.cpu_known"
    " < 1000000 THEN 1 ELSE 0 END FROM (SELECT n.*, " BJ_SQL_RECORD_CPU
    " AS cpu_known, " NODE " FROM " RECORDS ") AS r UNION ALL"
    " SELECT r.node, g.gpu, g.\"index\", NULL, NULL, " BUSY ", CASE WHEN"
    " g.busy_ppm = 0 OR (g.held_usec > 0 AND g.idle_usec >= g.held_usec) THEN 1"
    " ELSE 0 END FROM (SELECT n.*, " NODE " FROM " RECORDS ") AS r JOIN"
    " node_gpu AS g ON g.record = r.id AND " WITHIN("g.record");
#undef NODE

static const char prom_parts_sql[] =
    "SELECT p.node, p.gpu, p.\"index\", p.cpus, p.cpus_milli * 1000 *"
    " (p.upto - p.since), p.busy_ppm, CASE WHEN p.idle_since = p.since THEN 1"
    " ELSE 0 END FROM job_part AS p JOIN job AS j ON j.id = p.job WHERE p.job ="
    " ?1 AND p.upto = j.\"end\"";

static const char nodes_sql[] = "SELECT (SELECT count(*) FROM " OF_RUN "),"
                                " count(DISTINCT r.host || '/' || r.slurm_node)"
#define VALUE(upper, lower, nodes) ", " nodes
    BJ_USE_VALUES(VALUE)
#undef VALUE
        ", min(r.gpu_model)"
        " FROM (SELECT n.*, " BJ_SQL_RECORD_CPU " AS cpu_known,"
        " (SELECT sum(read_bytes) FROM node_device" OF_RECORD
        ") AS device_read, (SELECT sum(write_bytes) FROM node_device" OF_RECORD
        ") AS device_write" GPUS " FROM " RECORDS ") AS r";

static const char prom_sql[] =
    "SELECT nodes_seen, nodes_final, coverage_ppm, energy_policy, energy_nodes"
#define VALUE(upper, lower, nodes) ", " #lower
    BJ_USE_VALUES(VALUE) " FROM job_prom WHERE job = ?1 AND outcome = 0";

static const char old_use_sql[] = "SELECT 0" BJ_USE_VALUES(VALUE)
#undef VALUE
#define REST(upper, lower) ", " #lower
    BJ_USE_REST(REST)
#undef REST
        " FROM job_use WHERE job = ?1";

static const char *const texts[BJ_DERIVE_STATEMENTS] = {
    [BJ_DE_JOB] = job_sql,
    [BJ_DE_NODES] = nodes_sql,
    /* Per policy and component: sums, sums of the node's own policy, the number
     * of nodes, and their policies. */
    [BJ_DE_NODE_ENERGY] =
        "SELECT p.text, c.text, sum(e.microjoules), sum(CASE e.policy"
        " WHEN r.energy_policy THEN e.microjoules ELSE 0 END),"
        " count(DISTINCT r.host || '/' || r.slurm_node),"
        " min(r.energy_policy), max(r.energy_policy) FROM"
        " (SELECT n.* FROM " RECORDS ") AS r JOIN node_energy AS e ON e.record"
        " = r.id AND " WITHIN(
            "e.record") " JOIN word AS p ON p.id = e.policy JOIN word AS c ON "
                        "c.id ="
                        " e.component GROUP BY p.text, c.text",
    [BJ_DE_PROM] = prom_sql,
    [BJ_DE_PROM_ENERGY] =
        "SELECT w.text, e.microjoules FROM job_prom_energy AS e JOIN word AS w"
        " ON w.id = e.component WHERE e.job = ?1",
    [BJ_DE_BINS] = "SELECT start, microjoules FROM job_bin WHERE job = ?1"
                   " ORDER BY start",
    [BJ_DE_RECORD_PARTS] = record_parts_sql,
    [BJ_DE_PROM_PARTS] = prom_parts_sql,
    [BJ_DE_OLD_USE] = old_use_sql,
    [BJ_DE_OLD_GRAMS] = "SELECT source, micrograms, covered_uj, estimated FROM"
                        " job_grams WHERE job = ?1",
    [BJ_DE_OLD_FOUND] = "SELECT rule, value, threshold, names FROM job_finding"
                        " WHERE"
                        " job = ?1 ORDER BY rule",
    [BJ_DE_EXECUTABLES] =
        "SELECT n.executables FROM " RECORDS " AND n.executables IS NOT NULL",
    [BJ_DE_STEPS] = "SELECT n.text, sum(s.cpu_usec) FROM step AS s JOIN jobname"
                    " AS n ON n.id = s.name WHERE s.job = ?1 AND s.slot >= 16"
                    " GROUP BY n.text HAVING sum(s.cpu_usec) > 0"
                    " ORDER BY 2 DESC LIMIT 100",
    [BJ_DE_TEXTS] = "SELECT (SELECT text FROM jobname WHERE id = j.name),"
                    " m.submit_line, m.script_application FROM job AS j LEFT"
                    " JOIN job_more AS m ON m.job = j.id WHERE j.id = ?1",
    [BJ_DE_USE_DELETE] = "DELETE FROM job_use WHERE job = ?1",
    [BJ_DE_GRAMS_PUT] =
        "INSERT INTO job_grams(job, source, micrograms, covered_uj, estimated)"
        " VALUES(?1, ?2, ?3, ?4, ?5)",
    [BJ_DE_GRAMS_DELETE] = "DELETE FROM job_grams WHERE job = ?1",
    [BJ_DE_FOUND_PUT] = "INSERT INTO job_finding(job, rule, value, threshold,"
                        " names) VALUES(?1, ?2, ?3, ?4, ?5)"
                        " ON CONFLICT DO NOTHING",
    [BJ_DE_FOUND_DELETE] = "DELETE FROM job_finding WHERE job = ?1",
    [BJ_DE_DAY_ENERGY] =
        "INSERT INTO rollup_energy AS d(id, jobs, cpu_sec, energy_mj,"
        " energy_used_mj, energy_reserved_mj, cpu_more_msec, cpu_known_sec,"
        " gpu_sec, gpu_used_msec, failed_cpu_sec, failed_gpu_sec,"
        " failed_mem_mib_sec, failed_energy_cpu_sec, failed_energy_mj)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
        " ?15) ON CONFLICT(id) DO UPDATE SET"
        " jobs = d.jobs + ?2,"
        " cpu_sec = d.cpu_sec + ?3,"
        " energy_mj = d.energy_mj + ?4,"
        " energy_used_mj = d.energy_used_mj + ?5,"
        " energy_reserved_mj = d.energy_reserved_mj + ?6,"
        " cpu_more_msec = d.cpu_more_msec + ?7,"
        " cpu_known_sec = d.cpu_known_sec + ?8,"
        " gpu_sec = d.gpu_sec + ?9,"
        " gpu_used_msec = d.gpu_used_msec + ?10,"
        " failed_cpu_sec = d.failed_cpu_sec + ?11,"
        " failed_gpu_sec = d.failed_gpu_sec + ?12,"
        " failed_mem_mib_sec = d.failed_mem_mib_sec + ?13,"
        " failed_energy_cpu_sec = d.failed_energy_cpu_sec + ?14,"
        " failed_energy_mj = d.failed_energy_mj + ?15",
    [BJ_DE_DAY_ENERGY_SWEEP] =
        "DELETE FROM rollup_energy WHERE id = ?1 AND jobs = 0 AND cpu_sec ="
        " 0 AND energy_mj = 0 AND energy_used_mj = 0 AND energy_reserved_mj ="
        " 0 AND cpu_more_msec = 0 AND cpu_known_sec = 0"
        " AND gpu_sec = 0 AND gpu_used_msec = 0 AND failed_cpu_sec = 0 AND"
        " failed_gpu_sec = 0 AND failed_mem_mib_sec = 0 AND"
        " failed_energy_cpu_sec = 0 AND failed_energy_mj = 0",
    [BJ_DE_DAY_GRAMS] =
        "INSERT INTO rollup_grams AS d(id, source, micrograms, covered_mj)"
        " VALUES(?1, ?2, ?3, ?4) ON CONFLICT(id, source) DO UPDATE SET"
        " micrograms = d.micrograms + ?3, covered_mj = d.covered_mj + ?4",
    [BJ_DE_DAY_GRAMS_SWEEP] =
        "DELETE FROM rollup_grams WHERE id = ?1 AND source = ?2 AND"
        " micrograms = 0 AND covered_mj = 0",
    [BJ_DE_PROM_TODO] =
        "INSERT INTO prom_todo(cluster, \"end\", job) SELECT ?1, ?2, ?3 WHERE"
        " NOT EXISTS (SELECT 1 FROM job_prom WHERE job = ?3 AND start = ?4"
        " AND \"end\" = ?2)"
        " ON CONFLICT DO NOTHING",
    [BJ_DE_RECORDS] = "SELECT d.record, (SELECT job FROM node_record_job WHERE"
                      " record = d.record), (SELECT 1 FROM"
                      " node_record_refused WHERE record = d.record)"
                      " FROM derive_record AS d LIMIT ?1",
    [BJ_DE_REFUSED] = "SELECT n.record FROM " OF_RUN,
    [BJ_DE_REFUSED_HOST] = "SELECT h.name FROM node_record_refused AS r JOIN"
                           " host AS h ON h.id = r.host WHERE r.record = ?1 AND"
                           " NOT EXISTS (SELECT 1 FROM record_refused WHERE"
                           " record = ?1)",
    [BJ_DE_REFUSED_PUT] = "INSERT INTO record_refused(record) VALUES(?1)",
    [BJ_DE_RECORD_DONE] = "DELETE FROM derive_record WHERE record = ?1",
    [BJ_DE_TODO] = "SELECT job FROM derive_todo ORDER BY job LIMIT ?1",
    [BJ_DE_TODO_DONE] = "DELETE FROM derive_todo WHERE job = ?1",
    [BJ_DE_TODO_ADD] = "INSERT INTO derive_todo(job) VALUES(?1)"
                       " ON CONFLICT DO NOTHING",
    [BJ_DE_NEW] = "SELECT id FROM job WHERE id > ?2 ORDER BY id LIMIT ?1",
    [BJ_DE_OTHER_RUNS] =
        "SELECT k.id FROM job AS j JOIN job AS k ON k.cluster = j.cluster AND"
        " k.jobid = j.jobid WHERE j.id = ?1 AND k.id != ?1 AND k.\"end\" IS NOT"
        " NULL ORDER BY abs(k.\"end\" - j.\"end\") LIMIT ?2",
    [BJ_DE_SET_UPTO] = "UPDATE derive_state SET job_upto = ?1 WHERE job_upto"
                       " != ?1",
};

static void put_sql(struct bj_buf *sql)
{
    static const char *const columns[BJ_USE_COLUMNS] = {
#define NAME(upper, lower, nodes) [BJ_USE_##upper] = #lower,
        BJ_USE_VALUES(NAME)
#undef NAME
#define NAME(upper, lower) [BJ_USE_##upper] = #lower,
            BJ_USE_REST(NAME)
#undef NAME
    };
    bj_buf_str(sql, "INSERT INTO job_use(job");
    for (int i = 0; i < BJ_USE_COLUMNS; i++)
        bj_buf_printf(sql, ", %s", columns[i]);
    bj_buf_str(sql, ") VALUES(?1");
    for (int i = 0; i < BJ_USE_COLUMNS; i++)
        bj_buf_printf(sql, ", ?%d", i + 2);
    bj_buf_str(sql, ") ON CONFLICT(job) DO UPDATE SET ");
    for (int i = 0; i < BJ_USE_COLUMNS; i++)
        bj_buf_printf(sql, "%s%s = excluded.%s", i ? ", " : "", columns[i],
                      columns[i]);
    bj_buf_put(sql, "", 1);
}

int bj_derive_prepare(struct bj_derive *d, int n, struct bj_err *err)
{
    struct bj_buf put = {0};
    put_sql(&put);
    int r = put.failed ? bj_err_set(err, -ENOMEM, "derive") : 0;
    for (int i = 0; r == 0 && i < n; i++)
        r = bj_db_prepare(d->db, i == BJ_DE_USE_PUT ? put.p : texts[i],
                          &d->st[i], err);
    bj_buf_free(&put);
    return r;
}
