/* Merges rows of the same job, row of job_more or step. */
#include "sched/job.h"
#include "sched/state.h"
#include "statsdb/tables/row_table.h"

/* It has ended, and nothing says how. */
static bool ended_unknown(const struct bj_row *row)
{
    return row->v[BJ_COL_STATE] == BJ_STATE_UNKNOWN &&
           row->v[BJ_COL_END] != BJ_SQL_NULL;
}

/* Rank of a row's state: later states win. A requeued run may continue under
 * the same key if the scheduler does not count runs; a resized one continues.
 */
static int rank(const struct bj_row *row)
{
    const int64_t state = row->v[BJ_COL_STATE];
    if (ended_unknown(row))
        return 2;
    if (state == BJ_STATE_RUNNING || state == BJ_STATE_SUSPENDED ||
        state == BJ_STATE_REQUEUED || state == BJ_STATE_RESIZED)
        return 1;
    return state == BJ_STATE_PENDING || state == BJ_STATE_UNKNOWN ? 0 : 2;
}

static bool known(const struct bj_row_column *c, const struct bj_row *row,
                  unsigned col)
{
    if (bj_row_textual(c))
        return row->s[c->which].n > 0 || row->v[col] != BJ_SQL_NULL;
    if (c->kind == BJ_KIND_ENUM)
        return row->v[col] != BJ_STATE_UNKNOWN;
    return row->v[col] != BJ_SQL_NULL;
}

static bool differ(const struct bj_row_column *c, const struct bj_row *a,
                   const struct bj_row *b, unsigned col)
{
    if (!bj_row_textual(c))
        return a->v[col] != b->v[col];
    return !bj_slice_eq(a->s[c->which], b->s[c->which]) ||
           (a->s[c->which].n == 0 && a->v[col] != b->v[col]);
}

static void copy_value(const struct bj_row_column *c, const struct bj_row *from,
                       struct bj_row *to, unsigned col)
{
    to->v[col] = from->v[col];
    if (bj_row_textual(c))
        to->s[c->which] = from->s[c->which];
}

/* Usage only grows during a run, and an answer for a period lacks what was used
 * outside of it; of steps that were left out, the most are known. */
static bool is_usage(const struct bj_row_table *t, unsigned col)
{
    if (t == &bj_table_more)
        return col == BJ_MORE_STEPS_LEFT_OUT;
    return (col >= BJ_COL_CPU && col <= BJ_COL_WRITE) ||
           col == (t == &bj_table_job ? (unsigned)BJ_JOB_VPEAK
                                      : (unsigned)BJ_STEP_VPEAK);
}

/* Do two ended rows describe the same run?  A scheduler that does not count
 * runs reports them under one key. */
static bool same_run(const struct bj_row *a, const struct bj_row *b)
{
    const int64_t start = a->v[BJ_COL_START], other = b->v[BJ_COL_START];
    return rank(a) == 2 && rank(b) == 2 &&
           (start == BJ_SQL_NULL || other == BJ_SQL_NULL || start == other);
}

/* CPU time is one value in three columns: no user time means total less system
 * time (bj_row_drop_user), so it must come from the row of the total. */
static void merge_user(const struct bj_row *old, const struct bj_row *new,
                       struct bj_row *row)
{
    const bool from_new = new->v[BJ_COL_CPU] != BJ_SQL_NULL &&
                          row->v[BJ_COL_CPU] == new->v[BJ_COL_CPU];
    const struct bj_row *of = from_new ? new : old;
    if (of->v[BJ_COL_CPU] == BJ_SQL_NULL ||
        of->v[BJ_COL_CPU_SYSTEM] == BJ_SQL_NULL)
        return;
    row->v[BJ_COL_CPU_SYSTEM] = of->v[BJ_COL_CPU_SYSTEM];
    row->v[BJ_COL_CPU_USER] = of->v[BJ_COL_CPU_USER];
}

/* PBS reports first that a job was deleted, then that a signal ended it. */
static bool ends_cancelled(const struct bj_row *old, const struct bj_row *row)
{
    return old->v[BJ_COL_STATE] == BJ_STATE_CANCELLED &&
           row->v[BJ_COL_STATE] == BJ_STATE_FAILED &&
           row->v[BJ_COL_EXIT_SIGNAL] > 0;
}

/* The change from a row to another. */
static enum bj_row_change change_of(const struct bj_row_table *t,
                                    const struct bj_row *old,
                                    const struct bj_row *row)
{
    enum bj_row_change change = BJ_ROW_SAME;
    for (unsigned i = 0; i < t->n; i++)
        if (differ(&t->col[i], old, row, i)) {
            if (t->col[i].key)
                return BJ_ROW_INDEXED;
            change = BJ_ROW_PLAIN;
        }
    return change;
}

enum bj_row_change bj_row_merge(const struct bj_row_table *t,
                                const struct bj_row *old, struct bj_row *row)
{
    bool stale = false, open = false, unknown = false, larger = !t->rank;
    if (t == &bj_table_job)
        row->weak = row->weak &&
                    bj_state_ended((enum bj_job_state)old->v[BJ_COL_STATE]);
    if (t == &bj_table_job && ends_cancelled(old, row))
        row->v[BJ_COL_STATE] = BJ_STATE_CANCELLED;
    const struct bj_row new = *row;
    if (t->rank) {
        stale = rank(row) < rank(old) || row->weak;
        open =
            !stale && row->v[BJ_COL_STATE] != BJ_STATE_UNKNOWN && rank(row) < 2;
        unknown = ended_unknown(row) && rank(old) < 2;
        larger = same_run(old, row) && !row->weak;
    }
    stale = stale || row->weak;
    for (unsigned i = 0; i < t->n; i++) {
        const struct bj_row_column *c = &t->col[i];
        /* A running job has no end, even if the old row has one. */
        if ((open && i == BJ_COL_END) || (unknown && i == BJ_COL_STATE))
            continue;
        if (!known(c, row, i) || (stale && known(c, old, i)) ||
            (larger && is_usage(t, i) && old->v[i] > row->v[i]))
            copy_value(c, old, row, i);
    }
    if (t->rank)
        merge_user(old, &new, row);
    return change_of(t, old, row);
}

/* --- usage of the steps ---------------------------------------------------
 */

static uint64_t unsigned_of(int64_t v)
{
    return v < 0 ? BJ_ABSENT : (uint64_t)v;
}

static void read_use(const struct bj_row *row, unsigned vpeak,
                     struct bj_sched_usage *ret)
{
    const int64_t *v = row->v;
    bj_sched_usage_init(ret);
    ret->cpu_usec = unsigned_of(v[BJ_COL_CPU]);
    ret->cpu_system_usec = unsigned_of(v[BJ_COL_CPU_SYSTEM]);
    ret->cpu_user_usec = unsigned_of(v[BJ_COL_CPU_USER]);
    if (v[BJ_COL_CPU_USER] == BJ_SQL_NULL && ret->cpu_usec != BJ_ABSENT &&
        ret->cpu_system_usec <= ret->cpu_usec)
        ret->cpu_user_usec = ret->cpu_usec - ret->cpu_system_usec;
    ret->mem_task_peak_bytes = unsigned_of(v[BJ_COL_TASK_PEAK]);
    ret->mem_peak_bytes = unsigned_of(v[BJ_COL_PEAK]);
    ret->vmem_peak_bytes = unsigned_of(v[vpeak]);
    ret->energy_joules = unsigned_of(v[BJ_COL_ENERGY]);
    ret->read_bytes = unsigned_of(v[BJ_COL_READ]);
    ret->write_bytes = unsigned_of(v[BJ_COL_WRITE]);
}

void bj_row_add_step(const struct bj_row *row, struct bj_step_sum *sum)
{
    const int64_t slot = row->v[BJ_STEP_SLOT];
    struct bj_job_step step;
    bj_job_step_init(&step);
    step.step_id = slot == BJ_SLOT_BATCH    ? BJ_SLICE("batch")
                   : slot == BJ_SLOT_EXTERN ? BJ_SLICE("extern")
                                            : step.step_id;
    step.state = (enum bj_job_state)row->v[BJ_COL_STATE];
    read_use(row, BJ_STEP_VPEAK, &step.use);
    bj_step_sum_add(sum, &step);
}

enum bj_row_change bj_row_complete(const struct bj_step_sum *sum,
                                   const struct bj_row *old, struct bj_row *row)
{
    struct bj_sched_job job;
    const struct bj_sched_usage *use = &job.use;
    bj_sched_job_init(&job);
    job.state = (enum bj_job_state)row->v[BJ_COL_STATE];
    job.energy_of_steps = row->energy_of_steps;
    read_use(row, BJ_JOB_VPEAK, &job.use);
    const struct bj_sched_usage was = *use;
    bj_step_sum_complete(sum, &job);
    if (use->cpu_usec != was.cpu_usec) {
        row->v[BJ_COL_CPU] = bj_sql_u64(use->cpu_usec);
        row->v[BJ_COL_CPU_SYSTEM] = bj_sql_u64(use->cpu_system_usec);
        row->v[BJ_COL_CPU_USER] = bj_sql_u64(use->cpu_user_usec);
        bj_row_drop_user(row);
    }
    row->v[BJ_COL_TASK_PEAK] = bj_sql_u64(use->mem_task_peak_bytes);
    row->v[BJ_COL_PEAK] = bj_sql_u64(use->mem_peak_bytes);
    row->v[BJ_JOB_VPEAK] = bj_sql_u64(use->vmem_peak_bytes);
    row->v[BJ_COL_ENERGY] = bj_sql_u64(use->energy_joules);
    row->v[BJ_COL_READ] = bj_sql_u64(use->read_bytes);
    row->v[BJ_COL_WRITE] = bj_sql_u64(use->write_bytes);
    return change_of(&bj_table_job, old, row);
}
