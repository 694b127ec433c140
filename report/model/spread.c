#include "report/model/spread.h"

#include "report/model/limits.h"
#include "statsdb/job/job_column.h"
#include "statsdb/tables/best.h"

#include <stdlib.h>

enum {
    STATE,
    ELAPSED,
    CPU_ALLOCATED,
    PEAK,
    TASK_PEAK,
    SOURCE,
    USED,
    COST,
    COST_MINIMUM,
    NOT_CHARGED,
    ENERGY,
    EMISSIONS,
    GPUS,
    GPU_USE,
    ID,
    HARDWARE,
    COLUMNS
};

enum { FAILED_MOST = 5 }; /* most names of failed tasks */

/* The known values of tasks, and the task with the largest value. */
struct values {
    int64_t *v;
    int64_t n, max;
    struct bj_slice largest;
};

struct tasks {
    struct bj_job_read *read;
    struct bj_report *r;
    struct values of[BJ_SPREADS];
    struct bj_buf failed; /* names of failed tasks */
    int64_t cap;
    int code; /* of the first value that could not be read */
    struct bj_err *err;
};

/* Read a value; true: it is known. */
static bool spread_value(struct tasks *t, unsigned column,
                         struct bj_job_value *ret)
{
    int r =
        t->code < 0 ? t->code : bj_job_read_value(t->read, column, ret, t->err);
    t->code = r < 0 ? r : 0;
    return r == 0 && ret->known;
}

static int64_t spread_number(struct tasks *t, unsigned column)
{
    struct bj_job_value v;
    return spread_value(t, column, &v) ? v.number : BJ_SQL_NULL;
}

static bool text_is(struct tasks *t, unsigned column, const char *text)
{
    struct bj_job_value v;
    return spread_value(t, column, &v) &&
           bj_slice_eq(v.text, bj_slice_str(text));
}

static void spread_add(struct tasks *t, unsigned which, int64_t v)
{
    struct values *of = &t->of[which];
    struct bj_job_value id;
    if (v == BJ_SQL_NULL || of->n == t->cap)
        return;
    of->v[of->n++] = v;
    if (of->n > 1 && v <= of->max)
        return;
    of->max = v;
    if (spread_value(t, ID, &id))
        of->largest = bj_arena_copy(&t->r->arena, id.text);
}

/* Name a task that did not complete. */
static void add_failed(struct tasks *t)
{
    struct bj_report_array *a = &t->r->array;
    struct bj_job_value id;
    if (a->failed + a->timeout + a->oom > FAILED_MOST ||
        !spread_value(t, ID, &id)) {
        a->failed_more++;
        return;
    }
    bj_buf_str(&t->failed, t->failed.len > 0 ? ", " : "");
    bj_buf_clean(&t->failed, id.text);
}

static void spread_count(struct tasks *t)
{
    struct bj_report_array *a = &t->r->array;
    const struct {
        const char *state;
        int64_t *to;
    } states[] = {{"completed", &a->completed},
                  {"failed", &a->failed},
                  {"node_fail", &a->failed},
                  {"boot_fail", &a->failed},
                  {"timeout", &a->timeout},
                  {"deadline", &a->timeout},
                  {"oom", &a->oom},
                  {"cancelled", &a->cancelled},
                  {"pending", &a->open},
                  {"running", &a->open},
                  {"suspended", &a->open}};
    a->tasks++;
    a->hardware_failed += spread_number(t, HARDWARE) == 1;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (text_is(t, STATE, states[i].state)) {
            ++*states[i].to;
            if (states[i].to == &a->failed || states[i].to == &a->timeout ||
                states[i].to == &a->oom)
                add_failed(t);
            return;
        }
}

/* Add to the CPU time of all tasks, which is unknown if that of one task is
 * unknown. */
static void add_cpu(struct tasks *t, int64_t used)
{
    struct bj_report_array *a = &t->r->array;
    int64_t had = bj_best_ratio(spread_number(t, CPU_ALLOCATED), 1000000, 1);
    if (had <= 0)
        return;
    a->cpu_allocated_usec += had;
    if (used == BJ_SQL_NULL)
        a->cpu_used_usec = BJ_SQL_NULL;
    else if (a->cpu_used_usec != BJ_SQL_NULL)
        a->cpu_used_usec += used;
}

/* Add a value that may be unknown; true: it is known. */
static bool plus(int64_t *sum, int64_t v)
{
    if (v == BJ_SQL_NULL ||
        __builtin_add_overflow(*sum == BJ_SQL_NULL ? 0 : *sum, v, sum))
        return false;
    return true;
}

/* Add to what the tasks that ran and ended cost. */
static void add_cost(struct tasks *t, int64_t elapsed)
{
    struct bj_report_array *a = &t->r->array;
    if (text_is(t, STATE, "running") || text_is(t, STATE, "suspended") ||
        elapsed <= 0)
        return;
    a->ran++;
    a->energy_tasks += plus(&a->energy_uj, spread_number(t, ENERGY));
    a->emissions_tasks += plus(&a->emissions_ug, spread_number(t, EMISSIONS));
    a->cost_tasks += plus(&a->cost, spread_number(t, COST)) &&
                     spread_number(t, COST_MINIMUM) == 0;
    plus(&a->not_charged, spread_number(t, NOT_CHARGED));
    a->node_failed +=
        text_is(t, STATE, "node_fail") || text_is(t, STATE, "boot_fail");
}

/* The peak of a task; one that the scheduler recorded for the largest process
 * is too low. */
static int64_t peak(struct tasks *t)
{
    int64_t v = spread_number(t, PEAK);
    bool recorded = text_is(t, SOURCE, "scheduler");
    return recorded && v == spread_number(t, TASK_PEAK) ? BJ_SQL_NULL : v;
}

static void take_task(struct tasks *t)
{
    int64_t elapsed = spread_number(t, ELAPSED), used = spread_number(t, USED);
    spread_count(t);
    add_cpu(t, used);
    add_cost(t, elapsed);
    if (elapsed >= BJ_REPORT_LEAST_SEC) {
        t->r->array.unknown_cpu += used == BJ_SQL_NULL;
        t->r->array.unknown_memory += spread_number(t, PEAK) == BJ_SQL_NULL;
        t->r->array.unknown_gpu += spread_number(t, GPUS) > 0 &&
                                   spread_number(t, GPU_USE) == BJ_SQL_NULL;
    }
    if (!text_is(t, STATE, "completed") || elapsed == BJ_SQL_NULL)
        return;
    spread_add(t, BJ_SPREAD_ELAPSED, elapsed);
    if (elapsed < BJ_REPORT_LEAST_SEC)
        return;
    t->r->array.judged++;
    spread_add(t, BJ_SPREAD_MEMORY, peak(t));
    spread_add(t, BJ_SPREAD_CPU,
               used == BJ_SQL_NULL ? BJ_SQL_NULL : used / elapsed);
}

static int spread_by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The value that this percentage of the values does not exceed. */
static int64_t quantile(const struct values *of, int percent)
{
    return of->v[(of->n * percent + 99) / 100 - 1];
}

static void spread_settle(struct tasks *t, unsigned which)
{
    static const char *const names[] = {[BJ_SPREAD_ELAPSED] = "elapsed_seconds",
                                        [BJ_SPREAD_MEMORY] =
                                            "memory_peak_bytes",
                                        [BJ_SPREAD_CPU] = "busy_cpus"};
    struct values *of = &t->of[which];
    struct bj_report_spread *s = &t->r->array.spread[which];
    *s = (struct bj_report_spread){bj_slice_str(names[which]),
                                   of->n,
                                   BJ_SQL_NULL,
                                   BJ_SQL_NULL,
                                   BJ_SQL_NULL,
                                   BJ_SQL_NULL,
                                   of->largest};
    if (of->n == 0)
        return;
    qsort(of->v, (size_t)of->n, sizeof(*of->v), spread_by_number);
    s->min = of->v[0];
    s->median = quantile(of, 50);
    s->p95 = quantile(of, 95);
    s->max = of->v[of->n - 1];
}

static int read_tasks(struct bj_db *db, int64_t job, struct tasks *t,
                      struct bj_err *err)
{
    struct bj_st *st = NULL;
    int code = bj_db_prepare(
        db,
        "SELECT j.id FROM job AS j WHERE " BJ_REPORT_SIBLINGS " ORDER BY"
        " j.array_task NULLS LAST, j.id LIMIT ?2",
        &st, err);
    if (code < 0)
        return code;
    bj_st_bind_i64(st, 1, job);
    bj_st_bind_i64(st, 2, t->cap);
    while (code >= 0 && (code = bj_st_row(st, err)) > 0) {
        code = bj_job_read_row(t->read, bj_st_get_i64(st, 0), err);
        if (code > 0)
            take_task(t);
        if (t->code < 0)
            code = t->code;
    }
    bj_st_finalize(st);
    return code;
}

int bj_report_spread(struct bj_db *db, int64_t job, struct bj_report *r,
                     struct bj_report_known *ret, struct bj_err *err)
{
    static const char *const names[COLUMNS] = {
        [STATE] = "state",
        [ELAPSED] = "elapsed_seconds",
        [CPU_ALLOCATED] = "cpu_allocated_seconds",
        [PEAK] = "memory_peak_bytes",
        [TASK_PEAK] = "memory_task_peak_bytes",
        [SOURCE] = "memory_efficiency_source",
        [USED] = "cpu_used_seconds",
        [COST] = "cost",
        [COST_MINIMUM] = "cost_is_minimum",
        [NOT_CHARGED] = "cost_not_charged",
        [ENERGY] = "energy_joules",
        [EMISSIONS] = "emissions_grams",
        [GPUS] = "gpus",
        [GPU_USE] = "gpu_efficiency_percent",
        [ID] = "display_id",
        [HARDWARE] = "hardware_failed"};
    const struct bj_column *column[COLUMNS];
    struct tasks t = {.r = r, .cap = BJ_REPORT_ARRAY_MAX, .err = err};
    for (unsigned i = 0; i < COLUMNS; i++)
        column[i] = bj_job_column(bj_slice_str(names[i]));
    for (unsigned i = 0; i < BJ_SPREADS; i++)
        t.of[i].v =
            bj_arena_alloc(&r->arena, (size_t)t.cap * sizeof(*t.of[i].v));
    if (r->arena.failed)
        return bj_err_set(err, -ENOMEM, "report");
    r->array.cost = r->array.not_charged = BJ_SQL_NULL;
    r->array.energy_uj = r->array.emissions_ug = BJ_SQL_NULL;
    int code = bj_job_read_new(db, column, COLUMNS, &t.read, err);
    if (code == 0)
        code = read_tasks(db, job, &t, err);
    bj_job_read_free(t.read);
    if (t.failed.len > 0)
        r->array.failed_tasks = bj_arena_copy(
            &r->arena, (struct bj_slice){t.failed.p, t.failed.len});
    r->arena.failed |= t.failed.failed;
    bj_buf_free(&t.failed);
    if (code < 0)
        return code;
    for (unsigned i = 0; i < BJ_SPREADS; i++)
        spread_settle(&t, i);
    ret->tasks = r->array.judged;
    ret->memory = r->array.spread[BJ_SPREAD_MEMORY].max;
    ret->elapsed = r->array.spread[BJ_SPREAD_ELAPSED].max;
    ret->busy_micro = r->array.spread[BJ_SPREAD_CPU].max;
    return 0;
}
