/* The values of a job in the store: read, and written when they have changed.
 */
#include "base/array.h"
#include "base/buf.h"
#include "base/json.h"
#include "statsdb/derive/derive_impl.h"
#include "statsdb/tables/fragment.h"

#include <stdlib.h>
#include <string.h>

/* --- statements -----------------------------------------------------------*/

/* The limits of the numbers of records are values, too, and conditions on each
 * table, so that PostgreSQL reads only the partitions within them. */
#define WITHIN(number) BJ_SQL_RECORD_WITHIN(number, ":lo", ":hi")
#define OF_RECORD " WHERE record = n.id AND " WITHIN("record")

/* Final records of job :job: same cluster and id, and linked to this run. */
#define RECORDS                                                                \
    "node_record AS n JOIN job AS j ON j.cluster = n.cluster"                  \
    " AND j.jobid = n.jobid WHERE j.id = :job AND :job = (SELECT job FROM"     \
    " node_record_job" OF_RECORD ") AND " WITHIN("n.id")

/* Records of other hosts with the id of job :job that are not counted yet. */
#define OF_RUN                                                                 \
    "node_record_other AS n WHERE n.job = :job AND " WITHIN(                   \
        "n.record") " AND NOT EXISTS (SELECT 1 FROM record_refused WHERE "     \
                    "record = n.record)"

static const char job_sql[] = "SELECT c.name, (SELECT name FROM partition WHERE"
                              " id = j.partition), (SELECT name FROM qos WHERE"
                              " id = j.qos)"
#define COLUMN(upper, sql) ", " sql
    BJ_DJ_COLUMNS(COLUMN)
#undef COLUMN
        " FROM job AS j JOIN cluster AS c ON c.id = j.cluster WHERE j.id = "
        ":job";

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
    "SELECT r.node AS node, '' AS gpu, NULL AS \"index\", r.cpus AS cpus,"
    " r.cpu_known AS cpu_usec, NULL AS busy, CASE WHEN r.cpu_known"
    " < 1000000 THEN 1 ELSE 0 END AS unused, NULL AS fault FROM (SELECT "
    "n.*, " BJ_SQL_RECORD_CPU " AS cpu_known, " NODE " FROM " RECORDS
    ") AS r UNION ALL"
    " SELECT r.node, g.gpu, g.\"index\", NULL, NULL, " BUSY ", CASE WHEN"
    " g.busy_ppm = 0 OR (g.held_usec > 0 AND g.idle_usec >= g.held_usec) THEN 1"
    " ELSE 0 END, g.fault FROM (SELECT n.*, " NODE " FROM " RECORDS
    ") AS r JOIN"
    " node_gpu AS g ON g.record = r.id AND " WITHIN("g.record");
#undef NODE

static const char prom_parts_sql[] =
    "SELECT p.node AS node, p.gpu AS gpu, p.\"index\" AS \"index\", p.cpus AS"
    " cpus, p.cpus_milli * 1000 * (p.upto - p.since) AS cpu_usec, p.busy_ppm"
    " AS busy, CASE WHEN p.idle_since = p.since THEN 1 ELSE 0 END AS unused,"
    " NULL AS fault"
    " FROM job_part AS p JOIN job AS j ON j.id = p.job WHERE p.job ="
    " :job AND p.upto = j.\"end\"";

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
    BJ_USE_VALUES(VALUE) " FROM job_prom WHERE job = :job AND outcome = 0";

static const char old_use_sql[] = "SELECT 0" BJ_USE_VALUES(VALUE)
#undef VALUE
#define REST(upper, lower) ", " #lower
    BJ_USE_REST(REST)
#undef REST
        " FROM job_use WHERE job = :job";

static const char *const texts[BJ_DERIVE_STATEMENTS] = {
    [BJ_DE_JOB] = job_sql,
    [BJ_DE_NODES] = nodes_sql,
    [BJ_DE_GPU_FAULT] =
        "SELECT max((SELECT max(g.fault) FROM node_gpu AS g WHERE g.record ="
        " r.id AND " WITHIN("g.record") ")) AS fault, max(r.gpu_conflicts & 1)"
                                        " + max(r.gpu_conflicts & 2) + "
                                        "max(r.gpu_conflicts & 4) +"
                                        " max(r.gpu_conflicts & 8) AS "
                                        "conflicts FROM (SELECT n.id,"
                                        " n.gpu_conflicts FROM " RECORDS
                                        ") AS r",
    /* Per policy and component: sums, sums of the node's own policy, the number
     * of nodes, and their policies. */
    [BJ_DE_NODE_ENERGY] =
        "SELECT p.text AS policy, c.text AS component, sum(e.microjoules) AS"
        " microjoules, sum(CASE e.policy WHEN r.energy_policy THEN"
        " e.microjoules ELSE 0 END) AS own, count(DISTINCT r.host || '/' ||"
        " r.slurm_node) AS nodes, min(r.energy_policy) AS low,"
        " max(r.energy_policy) AS high FROM"
        " (SELECT n.* FROM " RECORDS ") AS r JOIN node_energy AS e ON e.record"
        " = r.id AND " WITHIN(
            "e.record") " JOIN word AS p ON p.id = e.policy JOIN word AS c ON "
                        "c.id ="
                        " e.component GROUP BY p.text, c.text",
    [BJ_DE_PROM] = prom_sql,
    [BJ_DE_PROM_ENERGY] = "SELECT w.text AS component, e.microjoules FROM "
                          "job_prom_energy AS e JOIN word AS w"
                          " ON w.id = e.component WHERE e.job = :job",
    [BJ_DE_BINS] = "SELECT start, microjoules FROM job_bin WHERE job = :job"
                   " ORDER BY start",
    [BJ_DE_RECORD_PARTS] = record_parts_sql,
    [BJ_DE_PROM_PARTS] = prom_parts_sql,
    [BJ_DE_OLD_USE] = old_use_sql,
    [BJ_DE_OLD_GRAMS] = "SELECT source, micrograms, covered_uj, estimated FROM"
                        " job_grams WHERE job = :job",
    [BJ_DE_OLD_FOUND] = "SELECT rule, value, threshold, names FROM job_finding"
                        " WHERE"
                        " job = :job ORDER BY rule",
    [BJ_DE_EXECUTABLES] =
        "SELECT n.executables FROM " RECORDS " AND n.executables IS NOT NULL",
    [BJ_DE_STEPS] = "SELECT n.text, sum(s.cpu_usec) FROM step AS s JOIN jobname"
                    " AS n ON n.id = s.name WHERE s.job = :job AND s.slot >= 16"
                    " GROUP BY n.text HAVING sum(s.cpu_usec) > 0"
                    " ORDER BY 2 DESC LIMIT 100",
    [BJ_DE_TEXTS] =
        "SELECT (SELECT text FROM jobname WHERE id = j.name) AS name,"
        " m.submit_line, m.script_application FROM job AS j LEFT"
        " JOIN job_more AS m ON m.job = j.id WHERE j.id = :job",
    [BJ_DE_USE_DELETE] = "DELETE FROM job_use WHERE job = :job",
    [BJ_DE_GRAMS_PUT] =
        "INSERT INTO job_grams(job, source, micrograms, covered_uj, estimated)"
        " VALUES(:job, :source, :micrograms, :covered, :estimated)",
    [BJ_DE_GRAMS_DELETE] = "DELETE FROM job_grams WHERE job = :job",
    [BJ_DE_FOUND_PUT] =
        "INSERT INTO job_finding(job, rule, value, threshold,"
        " names) VALUES(:job, :rule, :value, :threshold, :names)"
        " ON CONFLICT DO NOTHING",
    [BJ_DE_FOUND_DELETE] = "DELETE FROM job_finding WHERE job = :job",
    [BJ_DE_DAY_ENERGY] = "INSERT INTO rollup_energy AS d(id, jobs"
#define SUM(upper, lower) ", " #lower
    BJ_DAY_SUMS(SUM) ") VALUES(:id, :jobs"
#undef SUM
#define SUM(upper, lower) ", :" #lower
    BJ_DAY_SUMS(SUM) ") ON CONFLICT(id) DO UPDATE SET jobs = d.jobs + :jobs"
#undef SUM
#define SUM(upper, lower) ", " #lower " = d." #lower " + :" #lower
    BJ_DAY_SUMS(SUM),
#undef SUM
    [BJ_DE_DAY_ENERGY_SWEEP] =
        "DELETE FROM rollup_energy WHERE id = :id AND jobs = 0"
#define SUM(upper, lower) " AND " #lower " = 0"
    BJ_DAY_SUMS(SUM),
#undef SUM
    [BJ_DE_DAY_GRAMS] =
        "INSERT INTO rollup_grams AS d(id, source, micrograms, covered_mj)"
        " VALUES(:id, :source, :micrograms, :covered_mj) ON CONFLICT(id,"
        " source) DO UPDATE SET micrograms = d.micrograms + :micrograms,"
        " covered_mj = d.covered_mj + :covered_mj",
    [BJ_DE_DAY_GRAMS_SWEEP] =
        "DELETE FROM rollup_grams WHERE id = :id AND source = :source AND"
        " micrograms = 0 AND covered_mj = 0",
    [BJ_DE_DAY_NAMED] = "INSERT INTO rollup_application AS d(id, application,"
                        " jobs"
#define SUM(upper, lower) ", " #lower
    BJ_NAMED_SUMS(SUM) ") VALUES(:id, :application, :jobs"
#undef SUM
#define SUM(upper, lower) ", :" #lower
    BJ_NAMED_SUMS(SUM) ") ON CONFLICT(id, application) DO UPDATE SET jobs ="
                       " d.jobs + :jobs"
#undef SUM
#define SUM(upper, lower) ", " #lower " = d." #lower " + :" #lower
    BJ_NAMED_SUMS(SUM),
#undef SUM
    [BJ_DE_DAY_NAMED_SWEEP] = "DELETE FROM rollup_application WHERE id = :id"
                              " AND application = :application AND jobs = 0"
#define SUM(upper, lower) " AND " #lower " = 0"
    BJ_NAMED_SUMS(SUM),
#undef SUM
    [BJ_DE_PROM_TODO] =
        "INSERT INTO prom_todo(cluster, \"end\", job) SELECT :cluster, :end,"
        " :job WHERE NOT EXISTS (SELECT 1 FROM job_prom WHERE job = :job AND"
        " start = :start AND \"end\" = :end)"
        " ON CONFLICT DO NOTHING",
    [BJ_DE_RECORDS] = "SELECT d.record, (SELECT job FROM node_record_job WHERE"
                      " record = d.record) AS job, (SELECT 1 FROM"
                      " node_record_refused WHERE record = d.record) AS refused"
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
    [BJ_DE_RECOUNT] = "SELECT job FROM job_use WHERE job > ?2 AND application"
                      " IS NOT NULL AND counted_held_cpu_sec IS NULL ORDER BY"
                      " job LIMIT ?1",
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
    bj_buf_str(sql, ") VALUES(:job");
    for (int i = 0; i < BJ_USE_COLUMNS; i++)
        bj_buf_printf(sql, ", :%s", columns[i]);
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

/* --- reading --------------------------------------------------------------*/

/* Limit: hours of ten years. */
enum { BINS_MAX = 100000 };

static struct bj_st *bind_job(struct bj_derive *d, int which)
{
    bj_st_set_i64(d->st[which], "job", d->job.id);
    return d->st[which];
}

/* Like bind_job(), for the records of the job. */
struct bj_st *bj_derive_bind_records(struct bj_derive *d, int which)
{
    struct bj_st *st = bind_job(d, which);
    bj_st_set_i64(st, "lo", d->job.v[BJ_DJ_RECORDS_FIRST]);
    bj_st_set_i64(st, "hi", d->job.v[BJ_DJ_RECORDS_END]);
    return st;
}

static void copy_text(struct bj_st *st, int col, char *to, size_t cap)
{
    struct bj_slice s = bj_st_get_text(st, col);
    size_t n = s.n < cap ? s.n : cap - 1;
    if (n > 0)
        memcpy(to, s.p, n);
    to[n] = '\0';
}

static int rows_read_job(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bind_job(d, BJ_DE_JOB);
    struct bj_derive_job *j = &d->job;
    int r = bj_st_row(st, err);
    if (r <= 0)
        return r;
    copy_text(st, 0, j->cluster, sizeof(j->cluster));
    copy_text(st, 1, j->partition, sizeof(j->partition));
    copy_text(st, 2, j->qos, sizeof(j->qos));
    for (int i = 0; i < BJ_DJ_COUNT; i++)
        j->v[i] = bj_st_get_i64(st, i + 3);
    bj_st_reset(st);
    return 1;
}

static int read_nodes(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bj_derive_bind_records(d, BJ_DE_NODES);
    int r = bj_st_row(st, err);
    if (r <= 0)
        return r;
    d->job.refused = bj_st_get_i64(st, 0);
    d->job.nodes.nodes = bj_st_get_i64(st, 1);
    for (int i = 0; i < BJ_USE_VALUE_COUNT; i++)
        d->job.nodes.v[i] = bj_st_get_i64(st, i + 2);
    d->job.gpu_model = bj_st_get_i64(st, BJ_USE_VALUE_COUNT + 2);
    bj_st_reset(st);
    return 0;
}

/* The worst error of a GPU, and what is in doubt; only of jobs with GPUs. */
static int read_fault(struct bj_derive *d, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    if (j->v[BJ_DJ_GPUS] <= 0 && j->gpu_model == BJ_SQL_NULL &&
        j->nodes.v[BJ_USE_GPUS_SEEN] == BJ_SQL_NULL &&
        j->nodes.v[BJ_USE_GPU_HELD] == BJ_SQL_NULL)
        return 0;
    struct bj_st *st = bj_derive_bind_records(d, BJ_DE_GPU_FAULT);
    int r = bj_st_row(st, err);
    if (r > 0) {
        j->gpu_fault = bj_st_i64(st, "fault");
        j->gpu_conflicts = bj_st_i64(st, "conflicts");
    }
    bj_st_reset(st);
    return r < 0 ? r : 0;
}

static int component(struct bj_slice name)
{
    static const char *const names[BJ_COMPONENTS] = {"cpu", "dram", "gpu",
                                                     "other"};
    int i = 0;
    while (i < BJ_COMPONENTS - 1 && !bj_slice_eq(name, bj_slice_str(names[i])))
        i++;
    return i; /* other names */
}

static void add_to(int64_t *sum, int64_t v)
{
    if (v != BJ_SQL_NULL && v >= 0)
        *sum = *sum == BJ_SQL_NULL ? v : *sum + v;
}

static void no_energy(struct bj_derive_energy *e)
{
    *e = (struct bj_derive_energy){
        .policy = BJ_SQL_NULL, .used = BJ_SQL_NULL, .reserved = BJ_SQL_NULL};
    for (int i = 0; i < BJ_COMPONENTS; i++)
        e->component[i] = BJ_SQL_NULL;
}

static int read_node_energy(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bj_derive_bind_records(d, BJ_DE_NODE_ENERGY);
    struct bj_derive_energy *e = &d->job.node_energy;
    bool first = true;
    int r;
    while ((r = bj_st_row(st, err)) > 0) {
        const struct bj_slice policy = bj_st_text(st, "policy");
        const int of = component(bj_st_text(st, "component"));
        const int64_t microjoules = bj_st_i64(st, "microjoules"),
                      own = bj_st_i64(st, "own"),
                      nodes = bj_st_i64(st, "nodes"),
                      low = bj_st_i64(st, "low"), high = bj_st_i64(st, "high");
        if (bj_slice_eq(policy, BJ_SLICE("usage")))
            add_to(&e->used, microjoules);
        if (bj_slice_eq(policy, BJ_SLICE("reservation")))
            add_to(&e->reserved, microjoules);
        if (low != BJ_SQL_NULL && own >= 0)
            add_to(&e->component[of], own);
        if (nodes > e->nodes)
            e->nodes = nodes;
        int64_t one = low == high ? low : BJ_SQL_NULL;
        e->policy = first || e->policy == one ? one : BJ_SQL_NULL;
        first = false;
    }
    return r;
}

static int read_prom(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bind_job(d, BJ_DE_PROM);
    struct bj_derive_job *j = &d->job;
    int r = bj_st_row(st, err);
    if (r <= 0)
        return r;
    const int64_t seen = bj_st_i64(st, "nodes_seen"),
                  final = bj_st_i64(st, "nodes_final"),
                  with_energy = bj_st_i64(st, "energy_nodes");
    j->prom.nodes = seen > 0 ? seen : 0;
    j->prom_final = final > 0 ? final : 0;
    j->prom_coverage = bj_st_i64(st, "coverage_ppm");
    j->prom_energy.policy = bj_st_i64(st, "energy_policy");
    j->prom_energy.nodes = with_energy > 0 ? with_energy : 0;
#define VALUE(upper, lower, nodes)                                             \
    j->prom.v[BJ_USE_##upper] = bj_st_i64(st, #lower);
    BJ_USE_VALUES(VALUE)
#undef VALUE
    bj_st_reset(st);
    st = bind_job(d, BJ_DE_PROM_ENERGY);
    while ((r = bj_st_row(st, err)) > 0)
        add_to(
            &j->prom_energy.component[component(bj_st_text(st, "component"))],
            bj_st_i64(st, "microjoules"));
    return r;
}

static int read_bins(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = bind_job(d, BJ_DE_BINS);
    struct bj_derive_job *j = &d->job;
    int r, bad = 0;
    while ((r = bj_st_row(st, err)) > 0) {
        if (bad < 0 || j->bins == BINS_MAX)
            continue;
        if (!BJ_GROW(j->bin, j->bins + 1, j->bins_cap)) {
            bad = bj_err_set(err, -ENOMEM, "derive");
            continue;
        }
        j->bin[j->bins++] = (struct bj_energy_bin){
            bj_st_i64(st, "start"), bj_st_i64(st, "microjoules")};
    }
    return r < 0 ? r : bad;
}

/* What each node and GPU used, from the source that has more nodes. */
static int read_parts(struct bj_derive *d, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    const bool records = j->nodes.nodes >= j->prom.nodes;
    int r = 0;
    bj_parts_clear(&j->parts);
    if (j->v[BJ_DJ_NODES] <= 1 && j->v[BJ_DJ_GPUS] <= 0)
        return 0;
    if (j->nodes.nodes == 0 && j->prom.nodes == 0)
        return 0;
    struct bj_st *st = records ? bj_derive_bind_records(d, BJ_DE_RECORD_PARTS)
                               : bind_job(d, BJ_DE_PROM_PARTS);
    while ((r = bj_st_row(st, err)) > 0) {
        struct bj_part *p =
            bj_parts_at(&j->parts, bj_st_text(st, "node"),
                        bj_st_text(st, "gpu"), bj_st_text(st, "index"));
        int64_t usec = bj_st_i64(st, "cpu_usec");
        if (!p)
            continue;
        p->cpus = bj_st_i64(st, "cpus");
        p->cpus_milli = bj_best_ratio(usec, 1, j->v[BJ_DJ_ELAPSED] * 1000);
        p->busy_ppm = bj_st_i64(st, "busy");
        p->unused = bj_st_i64(st, "unused") > 0;
        p->failed = bj_st_i64(st, "fault") >= BJ_GPU_FAULT_HARDWARE;
    }
    return r;
}

int bj_derive_read_old(struct bj_derive *d, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    j->n_old_grams = 0;
    struct bj_st *st = bind_job(d, BJ_DE_OLD_USE);
    int r = bj_st_row(st, err);
    j->had_use = r > 0;
    for (int i = 0; r > 0 && i < BJ_USE_COLUMNS; i++)
        j->old_use[i] = bj_st_get_i64(st, i + 1);
    bj_st_reset(st);
    st = bind_job(d, BJ_DE_OLD_GRAMS);
    while (r >= 0 && (r = bj_st_row(st, err)) > 0)
        if (j->n_old_grams < BJ_GRAMS_MAX)
            j->old_grams[j->n_old_grams++] =
                (struct bj_grams_row){.source = bj_st_i64(st, "source"),
                                      .micrograms = bj_st_i64(st, "micrograms"),
                                      .covered_uj = bj_st_i64(st, "covered_uj"),
                                      .estimated = bj_st_i64(st, "estimated")};
    return r;
}

/* --- the application -------------------------------------------------------
 */

/* Count the executables of one record, an object of names with times. */
static int add_record(struct bj_derive *d, struct bj_slice text,
                      struct bj_application_programs *to, struct bj_err *err)
{
    static const struct bj_json_limits limits = {
        .bytes = 64 << 10, .values = 1000, .depth = 2};
    const struct bj_json *doc;
    int r = bj_json_parse(&d->arena, text, "executables", &limits, &doc, err);
    if (r < 0) /* the store was changed by others */
        return r == -ENOMEM ? r : 0;
    BJ_JSON_EACH(one, doc)
    {
        uint64_t usec = bj_json_u64_or(one, 0);
        bj_application_add(d->opt.applications, bj_json_key(one),
                           usec < INT64_MAX ? (int64_t)usec : 0, to);
    }
    return 0;
}

static int read_executables(struct bj_derive *d,
                            struct bj_application_programs *to,
                            struct bj_err *err)
{
    struct bj_st *st = bj_derive_bind_records(d, BJ_DE_EXECUTABLES);
    int r, bad = 0;
    while ((r = bj_st_row(st, err)) > 0) {
        bj_arena_reset(&d->arena);
        if (bad == 0)
            bad = add_record(d, bj_st_get_text(st, 0), to, err);
    }
    return r < 0 ? r : bad;
}

int bj_derive_application(struct bj_derive *d, struct bj_err *err)
{
    struct bj_application_evidence e = {0};
    struct bj_derive_job *j = &d->job;
    int r = 0;
    j->application = NULL;
    if (!d->opt.applications)
        return 0;
    if (j->nodes.nodes > 0)
        r = read_executables(d, &e.executables, err);
    struct bj_st *st = bind_job(d, BJ_DE_STEPS);
    while (r == 0 && (r = bj_st_row(st, err)) > 0) {
        bj_application_add(d->opt.applications, bj_st_get_text(st, 0),
                           bj_st_get_i64(st, 1), &e.steps);
        r = 0;
    }
    if (r < 0)
        return r;
    st = bind_job(d, BJ_DE_TEXTS);
    r = bj_st_row(st, err);
    if (r > 0) {
        e.job_name = bj_st_text(st, "name");
        e.submit_line = bj_st_text(st, "submit_line");
        e.script = bj_st_text(st, "script_application");
        j->application =
            bj_application_of(d->opt.applications, &e, &j->application_by);
    }
    bj_st_reset(st);
    return r < 0 ? r : 0;
}

static void no_values(struct bj_derive_values *t)
{
    t->nodes = 0;
    for (int i = 0; i < BJ_USE_VALUE_COUNT; i++)
        t->v[i] = BJ_SQL_NULL;
}

int bj_derive_read(struct bj_derive *d, int64_t id, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    j->id = id;
    j->bins = j->n_grams = j->n_old_grams = j->n_found = 0;
    j->prom_final = 0;
    j->prom_coverage = j->gpu_model = j->gpu_fault = BJ_SQL_NULL;
    j->gpu_conflicts = BJ_SQL_NULL;
    no_values(&j->nodes);
    no_values(&j->prom);
    no_energy(&j->node_energy);
    no_energy(&j->prom_energy);
    int r = rows_read_job(d, err);
    if (r <= 0)
        return r;
    r = read_nodes(d, err);
    if (r == 0 && j->nodes.nodes > 0)
        r = read_fault(d, err);
    if (r == 0 && j->nodes.nodes > 0)
        r = read_node_energy(d, err);
    if (r == 0)
        r = read_prom(d, err);
    if (r == 0)
        r = read_bins(d, err);
    if (r == 0)
        r = read_parts(d, err);
    if (r == 0)
        r = bj_derive_read_old(d, err);
    return r < 0 ? r : 1;
}

/* --- use, grams and daily sums ---------------------------------------------
 */

static bool same_use(const struct bj_derive_job *j)
{
    return j->has_use == j->had_use &&
           (!j->has_use || memcmp(j->use, j->old_use, sizeof(j->use)) == 0) &&
           j->n_grams == j->n_old_grams &&
           memcmp(j->grams, j->old_grams, j->n_grams * sizeof(j->grams[0])) ==
               0;
}

static int run_for(struct bj_derive *d, int which, struct bj_err *err)
{
    bj_st_set_i64(d->st[which], "job", d->job.id);
    return bj_st_run(d->st[which], err);
}

static int put_use(struct bj_derive *d, struct bj_err *err)
{
    const struct bj_derive_job *j = &d->job;
    struct bj_st *st = d->st[BJ_DE_USE_PUT];
#define VALUE(upper, lower, nodes)                                             \
    bj_st_set_i64(st, #lower, j->use[BJ_USE_##upper]);
    BJ_USE_VALUES(VALUE)
#undef VALUE
#define VALUE(upper, lower) bj_st_set_i64(st, #lower, j->use[BJ_USE_##upper]);
    BJ_USE_REST(VALUE)
#undef VALUE
    return run_for(d, BJ_DE_USE_PUT, err);
}

static int put_grams(struct bj_derive *d, struct bj_err *err)
{
    struct bj_st *st = d->st[BJ_DE_GRAMS_PUT];
    int r = 0;
    for (size_t i = 0; r == 0 && i < d->job.n_grams; i++) {
        const struct bj_grams_row *g = &d->job.grams[i];
        bj_st_set_i64(st, "source", g->source);
        bj_st_set_i64(st, "micrograms", g->micrograms);
        bj_st_set_i64(st, "covered", g->covered_uj);
        bj_st_set_i64(st, "estimated", g->estimated);
        r = run_for(d, BJ_DE_GRAMS_PUT, err);
    }
    return r;
}

static int write_use(struct bj_derive *d, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    int r = 0;
    if (j->had_use)
        r = bj_derive_count(d, j->old_use, j->old_grams, j->n_old_grams, -1,
                            err);
    if (r == 0 && j->n_old_grams > 0)
        r = run_for(d, BJ_DE_GRAMS_DELETE, err);
    if (r == 0 && j->had_use && !j->has_use)
        r = run_for(d, BJ_DE_USE_DELETE, err);
    if (r < 0 || !j->has_use)
        return r;
    r = put_use(d, err);
    if (r == 0)
        r = put_grams(d, err);
    return r < 0 ? r : bj_derive_count(d, j->use, j->grams, j->n_grams, 1, err);
}

/* --- findings --------------------------------------------------------------
 */

struct finding {
    int64_t rule;
    double value, threshold;
    const char *names; /* NULL: none */
};

/* In the order of the rules, as in the table. */
static void insert(struct finding *v, size_t *n, struct finding f)
{
    size_t at = *n;
    while (at > 0 && v[at - 1].rule > f.rule)
        at--;
    memmove(v + at + 1, v + at, (*n - at) * sizeof(*v));
    v[at] = f;
    ++*n;
}

/* Compare the bits: NaN equals itself. */
static bool same_finding(struct bj_st *st, const struct finding *f)
{
    double value = bj_st_f64(st, "value");
    double threshold = bj_st_f64(st, "threshold");
    return bj_st_i64(st, "rule") == f->rule &&
           bj_slice_eq(bj_st_text(st, "names"),
                       bj_slice_str(f->names ? f->names : "")) &&
           memcmp(&value, &f->value, sizeof(value)) == 0 &&
           memcmp(&threshold, &f->threshold, sizeof(threshold)) == 0;
}

/* Are exactly these findings stored? */
static int same_findings(struct bj_derive *d, const struct finding *v, size_t n,
                         bool *ret, struct bj_err *err)
{
    struct bj_st *st = d->st[BJ_DE_OLD_FOUND];
    size_t i = 0;
    bool same = true;
    int r;
    bj_st_set_i64(st, "job", d->job.id);
    while ((r = bj_st_row(st, err)) > 0) {
        same = same && i < n && same_finding(st, &v[i]);
        i++;
    }
    *ret = same && i == n;
    return r;
}

/* Returns 1 if findings were written. */
static int write_findings(struct bj_derive *d, struct bj_err *err)
{
    struct finding v[BJ_DERIVE_FOUND];
    size_t n = 0;
    bool same = false;
    int r = 0;
    for (size_t i = 0; r == 0 && i < d->job.n_found; i++) {
        const struct bj_rule_match *f = &d->job.found[i];
        struct finding one = {0, f->value, f->threshold, f->names};
        r = bj_finding_rules_id(d->finding_rules, f->rule, &one.rule, err);
        if (r == 0)
            insert(v, &n, one);
    }
    if (r == 0)
        r = same_findings(d, v, n, &same, err);
    if (r < 0 || same)
        return r;
    struct bj_st *st = d->st[BJ_DE_FOUND_PUT];
    r = run_for(d, BJ_DE_FOUND_DELETE, err);
    for (size_t i = 0; r == 0 && i < n; i++) {
        bj_st_set_i64(st, "rule", v[i].rule);
        bj_st_set_f64(st, "value", v[i].value);
        bj_st_set_f64(st, "threshold", v[i].threshold);
        bj_st_set_text(st, "names",
                       v[i].names ? bj_slice_str(v[i].names)
                                  : (struct bj_slice){0});
        r = run_for(d, BJ_DE_FOUND_PUT, err);
    }
    return r < 0 ? r : 1;
}

int bj_derive_write(struct bj_derive *d, struct bj_err *err)
{
    bool same = same_use(&d->job);
    int r = same ? 0 : write_use(d, err), found = 0;
    if (r == 0 && d->opt.rules)
        r = found = write_findings(d, err);
    return r < 0 ? r : !same || found > 0;
}
