#include "report/read.h"

#include "report/advice.h"
#include "report/catalogue.h"
#include "report/figures.h"
#include "report/sentence.h"
#include "report/spread.h"
#include "report/verdict.h"
#include "statsdb/escalation.h"
#include "statsdb/fragment.h"
#include "statsdb/job_column.h"

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

static struct bj_slice copy(struct bj_report *r, struct bj_st *st, int col)
{
    struct bj_slice s = bj_st_get_text(st, col);
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

/* --- nodes and GPUs --------------------------------------------------------
 */

#define RECORDS                                                                \
    " FROM node_record AS n JOIN job AS j ON " BJ_SQL_RECORD_OF(               \
        "n", "j") " JOIN host AS h ON h.id = n.host"

#define OF_JOB " WHERE j.id = ?1"

static const char nodes_sql[] =
    "SELECT CASE n.slurm_node WHEN '' THEN h.name ELSE n.slurm_node END,"
    " n.cpus, " BJ_SQL_RECORD_CPU ", " BJ_SQL_RECORD_CPU
    " / nullif(n.cpus * j.elapsed, 0),"
    " coalesce(nullif(n.memory_held_peak_bytes, 0),"
    " nullif(n.memory_charged_peak_bytes, 0)),"
    " n.memory_limit_bytes, (SELECT nullif(count(*), 0) FROM node_gpu WHERE"
    " record = n.id), n.memory_charged_peak_bytes" RECORDS OF_JOB " ORDER BY 1";

static void take_node(struct bj_report *r, struct bj_st *st, void *row)
{
    *(struct bj_report_node *)row = (struct bj_report_node){
        copy(r, st, 0),       bj_st_get_i64(st, 1), bj_st_get_i64(st, 2),
        bj_st_get_i64(st, 3), bj_st_get_i64(st, 4), bj_st_get_i64(st, 5),
        bj_st_get_i64(st, 6), bj_st_get_i64(st, 7)};
}

static const char gpus_sql[] =
    "SELECT CASE n.slurm_node WHEN '' THEN h.name ELSE n.slurm_node END,"
    " g.gpu, g.\"index\","
    " (SELECT text FROM word WHERE id = g.model), g.held_usec, g.idle_usec,"
    " coalesce(g.busy_ppm, (g.held_usec - g.idle_usec) * 1000000 /"
    " nullif(g.held_usec, 0)), g.memory_peak_bytes" RECORDS
    " JOIN node_gpu AS g ON g.record = n.id" OF_JOB
    " ORDER BY 1, length(g.\"index\"), g.\"index\", g.gpu";

static void take_gpu(struct bj_report *r, struct bj_st *st, void *row)
{
    *(struct bj_report_gpu *)row = (struct bj_report_gpu){
        copy(r, st, 0),       copy(r, st, 1),       copy(r, st, 2),
        copy(r, st, 3),       bj_st_get_i64(st, 4), bj_st_get_i64(st, 5),
        bj_st_get_i64(st, 6), bj_st_get_i64(st, 7)};
}

/* --- findings --------------------------------------------------------------
 */

#define WORST                                                                  \
    " ORDER BY r.severity = 'critical' DESC, r.severity = 'warning' DESC, "

static const char findings_sql[] =
    "SELECT r.name, r.severity, " BJ_SQL_FINDING ", " BJ_SQL_ADVICE
    ", nullif(r.url, ''), r.condition, NULL FROM job_finding AS f JOIN"
    " finding_rule AS r ON r.id = f.rule WHERE f.job = ?1" WORST "r.id";

/* Findings on the tasks of an array, with the numbers of the last task. */
static const char array_findings_sql[] =
    "SELECT r.name, r.severity, " BJ_SQL_FINDING ", " BJ_SQL_ADVICE
    ", nullif(r.url, ''), r.condition, n.tasks FROM (SELECT o.rule AS rule,"
    " max(o.job) AS job, count(*) AS tasks FROM job AS j JOIN job_finding AS o"
    " ON o.job = j.id WHERE " BJ_REPORT_SIBLINGS " GROUP BY o.rule) AS n JOIN"
    " job_finding AS f ON f.job = n.job AND f.rule = n.rule JOIN finding_rule"
    " AS r ON r.id = n.rule" WORST "n.tasks DESC, r.id";

static void take_finding(struct bj_report *r, struct bj_st *st, void *row)
{
    *(struct bj_report_finding *)row = (struct bj_report_finding){
        copy(r, st, 0), copy(r, st, 1), copy(r, st, 2),      copy(r, st, 3),
        copy(r, st, 4), copy(r, st, 5), bj_st_get_i64(st, 6)};
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
    *w = (struct bj_report_warning){.at = bj_st_get_i64(st, 0),
                                    .finding = copy(r, st, 1),
                                    .action = copy(r, st, 2),
                                    .state = copy(r, st, 3),
                                    .detail = copy(r, st, 4)};
    w->text = warning_text(r, w);
}

/* --- all -------------------------------------------------------------------
 */

static int read_rows(struct bj_db *db, int64_t job, struct bj_report *r,
                     struct bj_err *err)
{
    const bool array = r->array.tasks > 1;
    const struct rows nodes = {(void **)&r->node, &r->nodes, sizeof(*r->node),
                               take_node},
                      gpus = {(void **)&r->gpu, &r->gpus, sizeof(*r->gpu),
                              take_gpu},
                      warnings = {(void **)&r->warning, &r->warnings,
                                  sizeof(*r->warning), take_warning},
                      findings = {(void **)&r->finding, &r->findings,
                                  sizeof(*r->finding), take_finding};
    int code = load_rows(db, nodes_sql, job, r, &nodes, err);
    if (code == 0)
        code = load_rows(db, gpus_sql, job, r, &gpus, err);
    if (code == 0)
        code = load_rows(db, array ? array_findings_sql : findings_sql, job, r,
                         &findings, err);
    if (code == 0)
        code = load_rows(db, warnings_sql, job, r, &warnings, err);
    return code;
}

int bj_report_read(struct bj_db *db, int64_t job, struct bj_report *ret,
                   struct bj_err *err)
{
    *ret = (struct bj_report){.interactive = false};
    struct bj_report_known known = {.tasks = 0};
    int code = read_job(db, job, ret, err);
    if (code <= 0)
        return code;
    code = bj_catalogue_use(db, ret, err);
    if (code == 0)
        code = read_interactive(db, job, ret, err);
    if (code == 0 && bj_report_number(ret, BJ_REPORT_ARRAY) != BJ_SQL_NULL)
        code = bj_report_spread(db, job, ret, &known, err);
    if (code == 0)
        code = read_rows(db, job, ret, err);
    if (code < 0)
        return code;
    bj_report_figures(ret);
    bj_report_advise(ret, &known);
    bj_report_judge(ret);
    return ret->arena.failed ? bj_err_set(err, -ENOMEM, "report") : 1;
}
