#include "report/job/job.h"

#include "report/model/catalogue.h"
#include "report/model/sentence.h"
#include "report/model/show.h"
#include "report/model/spread.h"
#include "report/request/advice.h"
#include "statsdb/derive/price.h"
#include "statsdb/job/job_column.h"
#include "statsdb/job/wasted.h"
#include "statsdb/running/running.h"
#include "statsdb/tables/best.h"
#include "statsdb/tables/fragment.h"

#include <stdlib.h>

/* --- rows ------------------------------------------------------------------
 */

/* Receives a row of a statement. */
typedef void take_fn(struct bj_report *r, struct bj_st *st, void *row);

struct rows {
    void **v; /* in the arena */
    size_t *n, size;
    take_fn *take;
};

static int load_rows(struct bj_db *db, const char *sql, int64_t job,
                     struct bj_report *r, const struct rows *rows,
                     struct bj_err *err)
{
    struct bj_st *st = NULL;
    size_t cap = 0;
    char *v = NULL;
    int code = bj_db_prepare(db, sql, &st, err);
    if (code < 0)
        return code;
    bj_st_bind_i64(st, 1, job);
    while ((code = bj_st_row(st, err)) > 0) {
        if (*rows->n == cap) {
            char *more = bj_arena_alloc(&r->arena, 2 * (cap + 8) * rows->size);
            if (!more)
                break;
            if (*rows->n > 0)
                memcpy(more, v, *rows->n * rows->size);
            v = more;
            cap = 2 * (cap + 8);
        }
        rows->take(r, st, v + rows->size * (*rows->n)++);
    }
    bj_st_finalize(st);
    *rows->v = v;
    return r->arena.failed ? bj_err_set(err, -ENOMEM, "report") : code;
}

static struct bj_slice read_copy(struct bj_report *r, struct bj_st *st,
                                 const char *column)
{
    struct bj_slice s = bj_st_text(st, column);
    return s.p ? bj_arena_copy(&r->arena, s) : s;
}

/* --- the job ---------------------------------------------------------------
 */

static int read_job(struct bj_db *db, int64_t job, struct bj_report *r,
                    struct bj_err *err)
{
    struct bj_job_read *read = NULL;
    int code = bj_job_read_new(db, bj_report_columns(), BJ_REPORT_COLUMN_COUNT,
                               &read, err);
    if (code == 0)
        code = bj_job_read_row(read, job, err);
    for (unsigned i = 0; code > 0 && i < BJ_REPORT_COLUMN_COUNT; i++) {
        struct bj_job_value *v = &r->job[i];
        int e = bj_job_read_value(read, i, v, err);
        if (v->known && v->text.p)
            v->text = bj_arena_copy(&r->arena, v->text);
        code = e < 0 ? e : 1;
    }
    bj_job_read_free(read);
    return code > 0 && r->arena.failed ? bj_err_set(err, -ENOMEM, "report")
                                       : code;
}

/* Is the job interactive?  Its CPUs may be idle while its user thinks. */
static int read_interactive(struct bj_db *db, int64_t job, struct bj_report *r,
                            struct bj_err *err)
{
    struct bj_st *st = NULL;
    const struct bj_slice name = bj_report_text(r, BJ_REPORT_NAME);
    int code = bj_db_prepare(db, "SELECT " BJ_SQL_INTERACTIVE("?1"), &st, err);
    if (code < 0)
        return code;
    bj_st_bind_i64(st, 1, job);
    code = bj_st_row(st, err);
    r->interactive = (code > 0 && bj_st_get_i64(st, 0) > 0) ||
                     bj_slice_starts(name, BJ_SLICE("interactive")) ||
                     bj_slice_starts(name, BJ_SLICE("sys/dashboard/"));
    bj_st_finalize(st);
    return code < 0 ? code : 0;
}

/* Earlier runs like this one, among the last 500 jobs of the owner; state 4 is
 * BJ_STATE_COMPLETED. */
static const char usual_sql[] =
    "SELECT o.elapsed FROM (SELECT * FROM job WHERE \"user\" = (SELECT"
    " \"user\" FROM job WHERE id = ?1) AND at < (SELECT at FROM job WHERE id ="
    " ?1) ORDER BY at DESC LIMIT 500) AS o JOIN job AS j ON j.cluster ="
    " o.cluster AND j.name = o.name AND j.cpus = o.cpus AND"
    " coalesce(j.nodes, 0) = coalesce(o.nodes, 0) AND coalesce(j.gpus, 0) ="
    " coalesce(o.gpus, 0) AND coalesce(j.account, 0) = coalesce(o.account, 0)"
    " AND coalesce(j.partition, 0) = coalesce(o.partition, 0) AND j.state ="
    " o.state LEFT JOIN job_use AS u ON u.job = j.id LEFT JOIN job_use AS p ON"
    " p.job = o.id WHERE j.id = ?1 AND j.state = 4 AND j.array_job_id IS NULL"
    " AND o.array_job_id IS NULL AND coalesce(u.application, 0) ="
    " coalesce(p.application, 0) AND o.elapsed > 0 AND"
    " coalesce(o.suspended, 0) = 0 ORDER BY o.at DESC LIMIT 10";

enum { USUAL_RUNS = 10 };

static int read_by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int read_usual(struct bj_db *db, int64_t job, struct bj_report *r,
                      struct bj_err *err)
{
    struct bj_st *st = NULL;
    int64_t v[USUAL_RUNS];
    size_t n = 0;
    int code = bj_db_prepare(db, usual_sql, &st, err);
    if (code < 0)
        return code;
    bj_st_bind_i64(st, 1, job);
    while ((code = bj_st_row(st, err)) > 0)
        if (n < USUAL_RUNS)
            v[n++] = bj_st_get_i64(st, 0);
    bj_st_finalize(st);
    if (n > 0) {
        qsort(v, n, sizeof(*v), read_by_number);
        r->usual = (struct bj_report_usual){
            (int64_t)n, v[(n - 1) / 2] + (v[n / 2] - v[(n - 1) / 2]) / 2};
    }
    return code;
}

/* --- nodes and GPUs --------------------------------------------------------
 */

#define RECORDS                                                                \
    " FROM node_record AS n JOIN job AS j ON " BJ_SQL_RECORD_OF(               \
        "n", "j") " JOIN host AS h ON h.id = n.host"

#define OF_JOB " WHERE j.id = ?1"

static const char nodes_sql[] =
    "SELECT CASE n.slurm_node WHEN '' THEN h.name ELSE n.slurm_node END AS"
    " node, n.cpus AS cpus, " BJ_SQL_RECORD_CPU
    " AS cpu_usec, " BJ_SQL_RECORD_CPU
    " / nullif(n.cpus * j.elapsed, 0) AS cpu_ppm,"
    " coalesce(nullif(n.memory_held_peak_bytes, 0),"
    " nullif(n.memory_charged_peak_bytes, 0)) AS memory_peak,"
    " n.memory_limit_bytes AS memory_limit, (SELECT nullif(count(*), 0) FROM"
    " node_gpu WHERE record = n.id) AS gpus, n.memory_charged_peak_bytes AS"
    " memory_charged, NULL AS cpus_busy, NULL AS at, NULL AS idle_since,"
    " 'nodes' AS source" RECORDS OF_JOB " ORDER BY 1";

#define PART_GPUS                                                              \
    "(SELECT nullif(count(*), 0) FROM job_part WHERE job = p.job AND node ="   \
    " p.node AND gpu != '') AS gpus"

/* What the nodes of a running job used in the last minutes. */
static const char running_nodes_sql[] =
    "SELECT p.node AS node, p.cpus AS cpus, NULL AS cpu_usec, p.cpus_milli *"
    " 1000 / nullif(p.cpus, 0) AS cpu_ppm, p.memory_bytes AS memory_peak,"
    " p.memory_limit_bytes AS memory_limit, " PART_GPUS ", NULL AS"
    " memory_charged, p.cpus_milli * 1000 AS cpus_busy, p.upto AS at,"
    " p.idle_since AS idle_since, 'prometheus' AS source FROM job_part AS p"
    " WHERE p.job = ?1 AND p.gpu = '' ORDER BY 1";

/* What the nodes of an ended job used in its run, of which only Prometheus has
 * samples. */
#define OF_RUN                                                                 \
    " FROM job_part AS p JOIN job AS j ON j.id = p.job AND j.\"end\" = p.upto" \
    " WHERE p.job = ?1 AND p.gpu "
static const char sampled_nodes_sql[] =
    "SELECT p.node AS node, p.cpus AS cpus, p.cpus_milli * 1000 * (p.upto -"
    " p.since) AS cpu_usec, p.cpus_milli * 1000 / nullif(p.cpus, 0) AS cpu_ppm,"
    " p.memory_bytes AS memory_peak, p.memory_limit_bytes AS "
    "memory_limit, " PART_GPUS
    ", NULL AS memory_charged, NULL AS cpus_busy, NULL AS at, NULL AS"
    " idle_since, 'prometheus' AS source" OF_RUN "= '' ORDER BY 1";

static void read_take_node(struct bj_report *r, struct bj_st *st, void *row)
{
    *(struct bj_report_node *)row = (struct bj_report_node){
        .node = read_copy(r, st, "node"),
        .cpus = bj_st_i64(st, "cpus"),
        .cpu_usec = bj_st_i64(st, "cpu_usec"),
        .cpu_ppm = bj_st_i64(st, "cpu_ppm"),
        .memory_peak = bj_st_i64(st, "memory_peak"),
        .memory_limit = bj_st_i64(st, "memory_limit"),
        .gpus = bj_st_i64(st, "gpus"),
        .memory_charged = bj_st_i64(st, "memory_charged"),
        .cpus_busy = bj_st_i64(st, "cpus_busy"),
        .at = bj_st_i64(st, "at"),
        .idle_since = bj_st_i64(st, "idle_since"),
        .source = read_copy(r, st, "source")};
}

#define GPU_FAULT(n, name) " WHEN " #n " THEN '" name "'"
static const char gpus_sql[] =
    "SELECT CASE n.slurm_node WHEN '' THEN h.name ELSE n.slurm_node END AS"
    " node, g.gpu AS gpu, g.\"index\" AS \"index\", (SELECT text FROM word"
    " WHERE id = g.model) AS model, g.held_usec AS held_usec, g.idle_usec AS"
    " idle_usec, coalesce(g.busy_ppm, (g.held_usec - g.idle_usec) * 1000000 /"
    " nullif(g.held_usec, 0)) AS busy_ppm, g.memory_peak_bytes AS memory_peak,"
    " NULL AS idle_since, CASE g.fault" BJ_GPU_FAULTS(
        GPU_FAULT) " END AS"
                   " fault, g.fault_xid AS fault_xid, g.fault_sec AS fault_at, "
                   "CASE"
                   " g.fault_by_process WHEN 1 THEN 'process' WHEN 0 THEN "
                   "'holder' END AS"
                   " fault_evidence, 'nodes' AS source" RECORDS
                   " JOIN node_gpu AS g ON g.record = n.id" OF_JOB
                   " ORDER BY 1, length(g.\"index\"), g.\"index\", g.gpu";

#define PART_GPU(idle_since)                                                   \
    "SELECT p.node AS node, p.gpu AS gpu, p.\"index\" AS \"index\", NULL AS"   \
    " model, NULL AS held_usec, NULL AS idle_usec, p.busy_ppm AS busy_ppm,"    \
    " p.memory_bytes AS memory_peak, " idle_since                              \
    " AS idle_since, NULL AS fault, NULL AS fault_xid, NULL AS fault_at, NULL" \
    " AS fault_evidence, 'prometheus' AS source"
#define PART_GPU_ORDER " ORDER BY 1, length(p.\"index\"), p.\"index\", p.gpu"

static const char running_gpus_sql[] =
    PART_GPU("p.idle_since") " FROM job_part AS p WHERE p.job = ?1 AND p.gpu"
                             " != ''" PART_GPU_ORDER;

static const char sampled_gpus_sql[] =
    PART_GPU("NULL") OF_RUN "!= ''" PART_GPU_ORDER;

static void take_gpu(struct bj_report *r, struct bj_st *st, void *row)
{
    *(struct bj_report_gpu *)row = (struct bj_report_gpu){
        .node = read_copy(r, st, "node"),
        .gpu = read_copy(r, st, "gpu"),
        .index = read_copy(r, st, "index"),
        .model = read_copy(r, st, "model"),
        .held_usec = bj_st_i64(st, "held_usec"),
        .idle_usec = bj_st_i64(st, "idle_usec"),
        .busy_ppm = bj_st_i64(st, "busy_ppm"),
        .memory_peak = bj_st_i64(st, "memory_peak"),
        .idle_since = bj_st_i64(st, "idle_since"),
        .fault = read_copy(r, st, "fault"),
        .fault_xid = bj_st_i64(st, "fault_xid"),
        .fault_at = bj_st_i64(st, "fault_at"),
        .fault_evidence = read_copy(r, st, "fault_evidence"),
        .source = read_copy(r, st, "source")};
}

/* --- findings --------------------------------------------------------------
 */

#define WORST                                                                  \
    " ORDER BY r.severity = 'critical' DESC, r.severity = 'warning' DESC, "

#define FINDING(tasks, value, example)                                         \
    "SELECT r.name AS name, r.severity AS severity, " BJ_SQL_FINDING           \
    " AS text, " BJ_SQL_ADVICE " AS advice, nullif(r.url, '') AS url,"         \
    " r.condition AS condition, " tasks " AS tasks, " value                    \
    " AS value, " example " AS example"

static const char findings_sql[] =
    FINDING("NULL", "CAST(f.value AS INTEGER)",
            "NULL") " FROM job_finding AS f JOIN"
                    " finding_rule AS r ON r.id = f.rule WHERE f.job = ?1" WORST
                    "r.id";

/* Findings on the tasks of an array, with the values of the task with the
 * highest number; of its runs, of the newest.  The order of ids is that of
 * imports. */
static const char array_findings_sql[] = FINDING(
    "n.tasks", "NULL",
    "j.display_id") " FROM (SELECT o.rule AS rule, o.job AS job, count(*) OVER"
                    " (PARTITION BY o.rule) AS tasks, row_number() OVER "
                    "(PARTITION"
                    " BY o.rule ORDER BY coalesce(j.array_task, -1) DESC, j.at "
                    "DESC,"
                    " j.id DESC) AS nr FROM job AS j JOIN job_finding AS o"
                    " ON o.job = j.id WHERE " BJ_REPORT_SIBLINGS ") AS n JOIN"
                    " job_finding AS f ON f.job = n.job AND f.rule = n.rule "
                    "JOIN "
                    "finding_rule"
                    " AS r ON r.id = n.rule JOIN job AS j ON j.id = n.job "
                    "WHERE n.nr = 1" WORST "n.tasks DESC, r.id";

/* "19 of 20 tasks, such as 2000_20: ..." */
static struct bj_slice text_of_tasks(struct bj_report *r,
                                     const struct bj_report_finding *f,
                                     struct bj_slice example)
{
    const bool one = f->tasks == 1;
    struct bj_buf value[4] = {{0}, {0}, {0}, {0}};
    struct bj_buf *v = value;
    if (!one) {
        bj_show_number(v++, f->tasks);
        bj_show_number(v++, r->array.tasks);
    }
    bj_buf_slice(v++, example);
    bj_buf_slice(v++, f->text);
    struct bj_slice ret =
        bj_sentence_text(r, one ? BJ_SENTENCE_TASK_HAS : BJ_SENTENCE_TASKS_HAVE,
                         value, (unsigned)(v - value));
    for (int i = 0; i < 4; i++) {
        r->arena.failed |= value[i].failed;
        bj_buf_free(&value[i]);
    }
    return ret;
}

static void take_finding(struct bj_report *r, struct bj_st *st, void *row)
{
    struct bj_report_finding *f = row;
    *f = (struct bj_report_finding){.finding = read_copy(r, st, "name"),
                                    .severity = read_copy(r, st, "severity"),
                                    .text = read_copy(r, st, "text"),
                                    .advice = read_copy(r, st, "advice"),
                                    .url = read_copy(r, st, "url"),
                                    .condition = read_copy(r, st, "condition"),
                                    .tasks = bj_st_i64(st, "tasks"),
                                    .value = bj_st_i64(st, "value")};
    if (f->tasks != BJ_SQL_NULL)
        f->text = text_of_tasks(r, f, bj_st_text(st, "example"));
}

/* --- warnings --------------------------------------------------------------
 */

static const char warnings_sql[] =
    "SELECT at, rule, action, state, detail FROM running_action WHERE job = ?1"
    " ORDER BY at, id";

static const enum bj_sentence warning_sentences[2][BJ_ACTION_STATES] = {
    {[BJ_ACTION_DRY] = BJ_SENTENCE_WARN_DRY,
     [BJ_ACTION_WAITING] = BJ_SENTENCE_WARN_WAITS,
     [BJ_ACTION_DOING] = BJ_SENTENCE_WARN_WAITS,
     [BJ_ACTION_DONE] = BJ_SENTENCE_WARN_DONE,
     [BJ_ACTION_FAILED] = BJ_SENTENCE_WARN_FAILED},
    {[BJ_ACTION_DRY] = BJ_SENTENCE_CANCEL_DRY,
     [BJ_ACTION_WAITING] = BJ_SENTENCE_CANCEL_RUNS,
     [BJ_ACTION_DOING] = BJ_SENTENCE_CANCEL_RUNS,
     [BJ_ACTION_DONE] = BJ_SENTENCE_CANCEL_DONE,
     [BJ_ACTION_FAILED] = BJ_SENTENCE_CANCEL_FAILED},
};

static struct bj_slice warning_text(struct bj_report *r,
                                    const struct bj_report_warning *w)
{
    struct bj_buf value[2] = {{0}, {0}};
    bool cancel = bj_slice_eq(w->action, BJ_SLICE("cancel"));
    bj_buf_slice(&value[0], w->finding);
    bj_buf_slice(&value[1], w->detail);
    struct bj_slice ret = bj_sentence_text(
        r, warning_sentences[cancel][bj_action_state(w->state)], value, 2);
    for (int i = 0; i < 2; i++) {
        r->arena.failed |= value[i].failed;
        bj_buf_free(&value[i]);
    }
    return ret;
}

static void take_warning(struct bj_report *r, struct bj_st *st, void *row)
{
    struct bj_report_warning *w = row;
    *w = (struct bj_report_warning){.at = bj_st_i64(st, "at"),
                                    .finding = read_copy(r, st, "rule"),
                                    .action = read_copy(r, st, "action"),
                                    .state = read_copy(r, st, "state"),
                                    .detail = read_copy(r, st, "detail")};
    w->text = warning_text(r, w);
}

/* --- all -------------------------------------------------------------------
 */

static int read_rows(struct bj_db *db, int64_t job, struct bj_report *r,
                     struct bj_err *err)
{
    const bool array = r->array.tasks > 1,
               runs = bj_report_is(r, BJ_REPORT_STATE, "running");
    const struct rows nodes = {(void **)&r->node, &r->nodes, sizeof(*r->node),
                               read_take_node},
                      gpus = {(void **)&r->gpu, &r->gpus, sizeof(*r->gpu),
                              take_gpu},
                      warnings = {(void **)&r->warning, &r->warnings,
                                  sizeof(*r->warning), take_warning},
                      findings = {(void **)&r->finding, &r->findings,
                                  sizeof(*r->finding), take_finding};
    int code = load_rows(db, runs ? running_nodes_sql : nodes_sql, job, r,
                         &nodes, err);
    if (code == 0)
        code = load_rows(db, runs ? running_gpus_sql : gpus_sql, job, r, &gpus,
                         err);
    if (code == 0 && !runs && r->nodes == 0 && r->gpus == 0)
        code = load_rows(db, sampled_nodes_sql, job, r, &nodes, err);
    if (code == 0 && !runs && !bj_report_has_records(r) && r->gpus == 0)
        code = load_rows(db, sampled_gpus_sql, job, r, &gpus, err);
    if (code == 0)
        code = load_rows(db, array ? array_findings_sql : findings_sql, job, r,
                         &findings, err);
    if (code == 0)
        code = load_rows(db, warnings_sql, job, r, &warnings, err);
    return code;
}

/* --- figures ------------------------------------------------------------
 */

enum { MICRO = 1000000 };

static const char *const units[BJ_FIGURES] = {
    [BJ_FIGURE_CPU] = "seconds",      [BJ_FIGURE_MEMORY] = "bytes",
    [BJ_FIGURE_CHARGED] = "bytes",    [BJ_FIGURE_GPU] = "seconds",
    [BJ_FIGURE_GPU_MEMORY] = "bytes", [BJ_FIGURE_TIME] = "seconds",
    [BJ_FIGURE_READ] = "bytes",       [BJ_FIGURE_WRITE] = "bytes",
    [BJ_FIGURE_ENERGY] = "joules",    [BJ_FIGURE_EMISSIONS] = "grams"};

static const char *const names[BJ_FIGURES] = {
    [BJ_FIGURE_CPU] = "cpu",
    [BJ_FIGURE_MEMORY] = "memory",
    [BJ_FIGURE_CHARGED] = "memory_charged",
    [BJ_FIGURE_GPU] = "gpu",
    [BJ_FIGURE_GPU_MEMORY] = "gpu_memory",
    [BJ_FIGURE_TIME] = "time",
    [BJ_FIGURE_READ] = "read",
    [BJ_FIGURE_WRITE] = "write",
    [BJ_FIGURE_ENERGY] = "energy",
    [BJ_FIGURE_EMISSIONS] = "emissions",
    [BJ_FIGURE_COST] = "cost"};

_Static_assert((int)BJ_SENTENCE_LABEL_COST - (int)BJ_SENTENCE_LABEL_CPU ==
                   (int)BJ_FIGURE_COST,
               "labels are in the order of figures");

static int64_t read_times(int64_t a, int64_t b)
{
    return bj_best_ratio(a, b, 1);
}

static int64_t micro(int64_t sec)
{
    return read_times(sec, MICRO);
}

static void put_source(struct bj_report_figure *f, struct bj_slice source)
{
    if (f->used == BJ_SQL_NULL || source.n == 0)
        return;
    f->source = source;
    f->quality = bj_slice_eq(source, BJ_SLICE("scheduler"))
                     ? BJ_SLICE("recorded")
                     : BJ_SLICE("measured");
}

static void put_cpu(struct bj_report *r, struct bj_report_figure *f)
{
    int64_t sec = bj_report_number(r, BJ_REPORT_ELAPSED);
    f->requested =
        micro(read_times(bj_report_number(r, BJ_REPORT_CPUS_REQUESTED), sec));
    f->allocated = micro(bj_report_number(r, BJ_REPORT_CPU_ALLOCATED));
    f->used = bj_report_number(r, BJ_REPORT_CPU_USED);
    f->ppm = bj_report_number(r, BJ_REPORT_CPU_EFFICIENCY);
    put_source(f, bj_report_text(r, BJ_REPORT_CPU_SOURCE));
}

/* The source of values that only nodes and Prometheus measure. */
static struct bj_slice measured(const struct bj_report *r)
{
    return bj_report_has_records(r) ? BJ_SLICE("nodes")
                                    : BJ_SLICE("prometheus");
}

static void put_memory(struct bj_report *r, struct bj_report_figure *f)
{
    const int64_t sampled = bj_report_number(r, BJ_REPORT_MEMORY_SAMPLED);
    struct bj_slice source = bj_report_text(r, BJ_REPORT_MEMORY_SOURCE);
    /* Without a request there is no efficiency, which the column is about. */
    if (source.n == 0)
        source = sampled == BJ_SQL_NULL ? BJ_SLICE("scheduler") : measured(r);
    f->requested = bj_report_number(r, BJ_REPORT_MEMORY_REQUESTED);
    f->allocated = bj_report_number(r, BJ_REPORT_MEMORY_ALLOCATED);
    f->used = bj_report_number(r, BJ_REPORT_MEMORY_PEAK);
    f->ppm = bj_report_number(r, BJ_REPORT_MEMORY_EFFICIENCY);
    put_source(f, source);
    /* The kernel killed the job because it needed more, or it may have used
     * more between two samples. */
    if (f->used != BJ_SQL_NULL &&
        (bj_report_is(r, BJ_REPORT_STATE, "oom") || sampled > 0))
        f->quality = BJ_SLICE("at least");
}

static void put_charged(struct bj_report *r, struct bj_report_figure *f)
{
    f->allocated = r->figure[BJ_FIGURE_MEMORY].allocated;
    f->used = bj_report_number(r, BJ_REPORT_MEMORY_CHARGED);
    /* No efficiency: page cache fills whatever memory there is. */
    put_source(f, measured(r));
}

static void read_put_gpu(struct bj_report *r, struct bj_report_figure *f)
{
    int64_t gpus = bj_report_number(r, BJ_REPORT_GPUS);
    f->ppm = bj_report_number(r, BJ_REPORT_GPU_EFFICIENCY);
    if (gpus > 0)
        f->allocated = micro(bj_report_number(r, BJ_REPORT_GPU_ALLOCATED));
    if (f->ppm != BJ_SQL_NULL && f->allocated != BJ_SQL_NULL)
        f->used = bj_best_ratio(f->allocated, f->ppm, MICRO);
    put_source(f, measured(r));
}

static void put_limit(struct bj_report *r, struct bj_report_figure *f)
{
    int64_t limit = bj_report_number(r, BJ_REPORT_LIMIT);
    f->requested = limit == INT64_MAX ? BJ_SQL_NULL : micro(limit);
    f->allocated = f->requested;
    f->used = micro(bj_report_number(r, BJ_REPORT_ELAPSED));
    f->ppm = bj_report_number(r, BJ_REPORT_TIME_EFFICIENCY);
    put_source(f, BJ_SLICE("scheduler"));
    if (f->used != BJ_SQL_NULL && bj_report_is(r, BJ_REPORT_STATE, "timeout"))
        f->quality = BJ_SLICE("at least");
}

/* System calls include data in the page cache; accounting counts disk I/O. */
static void put_io(struct bj_report *r, struct bj_report_figure *f,
                   enum bj_report_column measured_by,
                   enum bj_report_column recorded_by)
{
    f->used = bj_report_number(r, measured_by);
    put_source(f, measured(r));
    if (f->used != BJ_SQL_NULL)
        return;
    f->used = bj_report_number(r, recorded_by);
    put_source(f, BJ_SLICE("scheduler"));
}

static void read_put_energy(struct bj_report *r)
{
    struct bj_report_figure *f = &r->figure[BJ_FIGURE_ENERGY];
    struct bj_report_figure *grams = &r->figure[BJ_FIGURE_EMISSIONS];
    f->used = bj_report_number(r, BJ_REPORT_ENERGY);
    put_source(f, bj_report_text(r, BJ_REPORT_ENERGY_SOURCE));
    /* That of components alone is less than that of the nodes. */
    if (f->used != BJ_SQL_NULL &&
        bj_report_number(r, BJ_REPORT_ENERGY_PARTIAL) > 0)
        f->quality = BJ_SLICE("at least");
    grams->used = bj_report_number(r, BJ_REPORT_EMISSIONS);
    put_source(grams, f->source);
    if (grams->used != BJ_SQL_NULL)
        grams->quality = BJ_SLICE("estimated");
}

static void put_cost(struct bj_report *r, struct bj_report_figure *f)
{
    f->unit = bj_report_text(r, BJ_REPORT_CURRENCY);
    f->used = bj_report_number(r, BJ_REPORT_COST);
    if (f->used == BJ_SQL_NULL)
        return;
    f->source = BJ_SLICE("prices");
    f->quality = bj_report_number(r, BJ_REPORT_COST_MINIMUM) > 0
                     ? BJ_SLICE("at least")
                     : BJ_SLICE("calculated");
}

/* Fill r->figure from the columns of the job. */
static void read_figures(struct bj_report *r)
{
    for (unsigned i = 0; i < BJ_FIGURES; i++)
        r->figure[i] = (struct bj_report_figure){
            .figure = bj_slice_str(names[i]),
            .label = bj_sentence_text(
                r, (enum bj_sentence)(BJ_SENTENCE_LABEL_CPU + i), NULL, 0),
            .unit = bj_slice_str(units[i] ? units[i] : ""),
            .requested = BJ_SQL_NULL,
            .allocated = BJ_SQL_NULL,
            .used = BJ_SQL_NULL,
            .ppm = BJ_SQL_NULL};
    put_cpu(r, &r->figure[BJ_FIGURE_CPU]);
    put_memory(r, &r->figure[BJ_FIGURE_MEMORY]);
    put_charged(r, &r->figure[BJ_FIGURE_CHARGED]);
    read_put_gpu(r, &r->figure[BJ_FIGURE_GPU]);
    r->figure[BJ_FIGURE_GPU_MEMORY].used =
        bj_report_number(r, BJ_REPORT_GPU_MEMORY_PEAK);
    put_source(&r->figure[BJ_FIGURE_GPU_MEMORY], measured(r));
    put_limit(r, &r->figure[BJ_FIGURE_TIME]);
    put_io(r, &r->figure[BJ_FIGURE_READ], BJ_REPORT_IO_READ, BJ_REPORT_READ);
    put_io(r, &r->figure[BJ_FIGURE_WRITE], BJ_REPORT_IO_WRITE, BJ_REPORT_WRITE);
    read_put_energy(r);
    put_cost(r, &r->figure[BJ_FIGURE_COST]);
}

/* --- order of findings -----------------------------------------------------
 */

static int64_t wasted(const struct bj_report *r,
                      const struct bj_report_finding *f,
                      const struct bj_prices *prices)
{
    static const enum bj_report_column columns[BJ_WASTED_COLUMNS] = {
        [BJ_WASTED_ELAPSED] = BJ_REPORT_ELAPSED,
        [BJ_WASTED_CPU_ALLOCATED] = BJ_REPORT_CPU_ALLOCATED,
        [BJ_WASTED_CPU_USED] = BJ_REPORT_CPU_USED,
        [BJ_WASTED_GPU_ALLOCATED] = BJ_REPORT_GPU_ALLOCATED,
        [BJ_WASTED_GPU_EFFICIENCY] = BJ_REPORT_GPU_EFFICIENCY,
        [BJ_WASTED_MEMORY_ALLOCATED] = BJ_REPORT_MEMORY_ALLOCATED,
        [BJ_WASTED_MEMORY_EFFICIENCY] = BJ_REPORT_MEMORY_EFFICIENCY,
        [BJ_WASTED_COST] = BJ_REPORT_COST};
    int64_t number[BJ_WASTED_COLUMNS];
    for (unsigned i = 0; i < BJ_WASTED_COLUMNS; i++)
        number[i] = bj_report_number(r, columns[i]);
    return bj_wasted_cost(prices, number, f->condition, f->value);
}

/* Sort findings of the same severity by the cost of what they say was wasted
 * (statsdb/job/wasted.h).  Findings without cost are last; those of arrays keep
 * their order. */
static void read_order(struct bj_report *r, const struct bj_prices *prices)
{
    if (r->array.tasks > 1)
        return;
    for (size_t i = 1; i < r->findings; i++) {
        const struct bj_report_finding f = r->finding[i];
        const int64_t cost = wasted(r, &f, prices);
        size_t at = i;
        while (at > 0 && bj_slice_eq(r->finding[at - 1].severity, f.severity) &&
               wasted(r, &r->finding[at - 1], prices) < cost) {
            r->finding[at] = r->finding[at - 1];
            at--;
        }
        r->finding[at] = f;
    }
}

/* --- the report ------------------------------------------------------------
 */

int bj_report_read(struct bj_db *db, int64_t job, struct bj_report *ret,
                   struct bj_err *err)
{
    *ret = (struct bj_report){.interactive = false};
    struct bj_report_known known = {.tasks = 0};
    struct bj_prices prices;
    int code = read_job(db, job, ret, err);
    if (code <= 0)
        return code;
    code = bj_catalogue_use(db, ret, err);
    if (code == 0)
        code = read_interactive(db, job, ret, err);
    if (code == 0 && bj_report_number(ret, BJ_REPORT_ARRAY) != BJ_SQL_NULL)
        code = bj_report_spread(db, job, ret, &known, err);
    if (code == 0)
        code = read_usual(db, job, ret, err);
    if (code == 0)
        code = read_rows(db, job, ret, err);
    if (code < 0)
        return code;
    read_figures(ret);
    code = bj_prices_read(db, &prices, err);
    if (code < 0)
        return code;
    read_order(ret, &prices);
    bj_report_advise(ret, &known);
    bj_report_judge(ret);
    return ret->arena.failed ? bj_err_set(err, -ENOMEM, "report") : 1;
}
