#include "statsdb/import/become.h"

#include "base/array.h"
#include "sched/state.h"
#include "statsdb/import/pbs_run.h"
#include "statsdb/tables/job_number.h"

#include <stdlib.h>

enum { ST_TAKEN, ST_SIZE_DROP, ST_SIZE_ADD, ST_SIZE_ALL, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [ST_TAKEN] = "SELECT 1 FROM job WHERE id = ?1",
    [ST_SIZE_DROP] = "DELETE FROM job_size WHERE job = ?1",
    [ST_SIZE_ALL] = "SELECT start, \"end\", elapsed, cpus, nodes, gpus,"
                    " memory_allocated_bytes, hosts, tres_allocated FROM"
                    " job_size WHERE job = ?1 ORDER BY number",
    [ST_SIZE_ADD] = "INSERT INTO job_size(job, number, sluid, start, \"end\","
                    " elapsed, cpus, nodes, gpus, memory_allocated_bytes,"
                    " hosts, tres_allocated) VALUES(?1, ?2, ?3, ?4, ?5, ?6,"
                    " ?7, ?8, ?9, ?10, ?11, ?12)",
};

struct bj_become {
    struct bj_st *st[STATEMENTS];
};

int bj_become_new(struct bj_db *db, struct bj_become **ret, struct bj_err *err)
{
    struct bj_become *c = calloc(1, sizeof(*c));
    int r = c ? 0 : bj_err_set(err, -ENOMEM, "upsert");
    for (int i = 0; r == 0 && i < STATEMENTS; i++)
        r = bj_db_prepare(db, texts[i], &c->st[i], err);
    if (r < 0)
        bj_become_free(c);
    else
        *ret = c;
    return r;
}

void bj_become_free(struct bj_become *c)
{
    for (int i = 0; c && i < STATEMENTS; i++)
        bj_st_finalize(c->st[i]);
    free(c);
}

void bj_become_reset(struct bj_become *c)
{
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_reset(c->st[i]);
}

static int become_no_memory(struct bj_err *err)
{
    return bj_err_set(err, -ENOMEM, "rows");
}

/* --- jobs that are known -------------------------------------------------- */

static int64_t submit_of(const struct bj_row *row)
{
    int64_t submit = row->v[BJ_JOB_SUBMIT];
    return submit == 0 ? BJ_SQL_NULL : submit;
}

static bool become_same(int64_t a, int64_t b)
{
    return a != BJ_SQL_NULL && a == b;
}

/* Do two rows match by the same rules as BJ_SQL_KNOWN_JOB? */
static bool is_same(const struct bj_row *a, const struct bj_row *b)
{
    bool id = a->v[BJ_JOB_RAW_ID] == b->v[BJ_JOB_RAW_ID] &&
              bj_slice_eq(a->s[0], b->s[0]);
    bool task = become_same(a->v[BJ_JOB_ARRAY_JOB], b->v[BJ_JOB_ARRAY_JOB]) &&
                become_same(a->v[BJ_JOB_ARRAY_TASK], b->v[BJ_JOB_ARRAY_TASK]);
    return (id || task) && a->v[BJ_JOB_CLUSTER] == b->v[BJ_JOB_CLUSTER] &&
           (become_same(submit_of(a), submit_of(b)) ||
            become_same(a->v[BJ_COL_START], b->v[BJ_COL_START]) ||
            become_same(a->v[BJ_COL_END], b->v[BJ_COL_END]));
}

static bool become_is_known(const struct bj_batch *b,
                            const struct bj_batch_record *r)
{
    if (r->known)
        return true;
    for (const struct bj_batch_record *e = b->record; e != r; e = e->next)
        if (is_same(&e->row, &r->row))
            return true;
    return false;
}

void bj_become_only_new(struct bj_batch *b)
{
    struct bj_batch_record **at = &b->record;
    while (*at) {
        if (become_is_known(b, *at)) {
            *at = (*at)->next;
            b->counts->jobs_known++;
        } else {
            at = &(*at)->next;
        }
    }
    b->end = at;
}

/* --- runs of PBS ---------------------------------------------------------- */

static int list_record(struct bj_batch *b, struct bj_batch_record *r,
                       struct bj_err *err)
{
    if (b->follow)
        r->number = bj_job_number_at(r->number, r->row.v[BJ_JOB_SUBMIT]);
    return bj_batch_list_run(b, r->runs, &r->row, err);
}

/* Choose the run of the record at *at, which follows that of *left, if any. */
static int become_place(struct bj_batch *b, struct bj_batch_record **at,
                        struct bj_err *err)
{
    struct bj_batch_record *r = *at;
    struct bj_pbs_known known = {.any = false};
    struct bj_row left;
    int res = 0;
    for (const struct bj_batch_run *l = r->runs->run; l; l = l->next) {
        const struct bj_pbs_run run = bj_pbs_run_of(&l->row);
        bj_pbs_note(&known, &run, &r->row);
    }
    if (bj_pbs_place(&known, &r->row, &left)) {
        struct bj_batch_record *ended = bj_batch_insert(b, at);
        if (!ended)
            return become_no_memory(err);
        ended->row = left;
        ended->runs = r->runs;
        ended->number = r->number;
        res = list_record(b, ended, err);
    }
    return res < 0 ? res : list_record(b, r, err);
}

int bj_become_runs(struct bj_batch *b, struct bj_err *err)
{
    int res = 0;
    for (struct bj_batch_record **at = &b->record, *r; res == 0 && (r = *at);
         at = &r->next)
        res = become_place(b, at, err);
    return res;
}

/* --- numbers of new jobs -------------------------------------------------- */

static int is_taken(struct bj_become *c, struct bj_batch *b, int64_t number,
                    struct bj_err *err)
{
    struct bj_st *st = c->st[ST_TAKEN];
    if (bj_batch_has(b, number))
        return 1;
    bj_st_bind_i64(st, 1, number);
    int r = bj_st_row(st, err);
    bj_st_reset(st);
    return r;
}

/* The number of a new job: its own, or the next one that is free. */
static int become_number_of(struct bj_become *c, struct bj_batch *b,
                            const struct bj_batch_record *r, int64_t *ret,
                            struct bj_err *err)
{
    int64_t number = r->number;
    *ret = number;
    if (!b->follow || (!r->is_taken && !bj_batch_has(b, number)))
        return 0;
    do {
        number = bj_job_number_next(number);
        int res = is_taken(c, b, number, err);
        *ret = number;
        if (res <= 0)
            return res;
    } while (number != r->number);
    return bj_err_set(err, -EPROTO, "no number is free for the job");
}

/* --- rows ----------------------------------------------------------------- */

/* The row of all waiting tasks becomes that of the last task. */
static int become_split(struct bj_batch *b, const struct bj_row *row,
                        struct bj_batch_job *j, struct bj_err *err)
{
    if (!j->more || j->more->v[BJ_MORE_ARRAY_TASKS] == BJ_SQL_NULL ||
        (!bj_batch_is_task(row) && !bj_batch_is_task(j->row)))
        return 0;
    struct bj_row *more = bj_batch_copy(b, j->more);
    if (!more)
        return become_no_memory(err);
    static const struct bj_slice none = {NULL, 0};
    more->v[BJ_MORE_ARRAY_TASKS] = BJ_SQL_NULL;
    more->s[1] = none;
    j->more = more;
    j->more_changed = true;
    return 0;
}

static void merge_more(struct bj_batch_job *j, struct bj_row *more, bool weak)
{
    more->weak = weak;
    more->v[BJ_MORE_JOB] = j->id;
    if (j->more && bj_row_merge(&bj_table_more, j->more, more) == BJ_ROW_SAME)
        return;
    j->more = more;
    j->more_changed = true;
}

/* Steps with unusual names get the next free slot. */
static int merge_step(struct bj_batch *b, struct bj_batch_job *j,
                      struct bj_row *step, struct bj_err *err)
{
    const struct bj_slice other = step->s[0];
    struct bj_batch_step *old;
    unsigned at;
    step->v[BJ_STEP_JOB] = j->id;
    for (;; step->v[BJ_STEP_SLOT]++) {
        const int64_t slot = step->v[BJ_STEP_SLOT];
        at = bj_batch_step_at(j, slot);
        old = at < j->steps && j->step[at].row->v[BJ_STEP_SLOT] == slot
                  ? &j->step[at]
                  : NULL;
        if (!old || bj_slice_eq(old->row->s[0], other))
            break;
    }
    if (!old) {
        const struct bj_batch_step added = {.row = step};
        b->counts->steps_new++;
        return bj_batch_put_step(b, j, at, &added, err);
    }
    if (bj_row_merge(&bj_table_step, old->row, step) == BJ_ROW_SAME) {
        b->counts->steps_same++;
        return 0;
    }
    b->counts->steps_changed++;
    old->row = step;
    old->changed = true;
    return 0;
}

/* Merge a row into a job that exists. Its usage is that of all its steps. */
static void merge_job(struct bj_batch *b, struct bj_batch_job *j,
                      struct bj_row *row)
{
    struct bj_step_sum sum;
    bj_step_sum_begin(&sum);
    for (unsigned i = 0; i < j->steps; i++)
        bj_row_add_step(j->step[i].row, &sum);
    bj_row_merge(&bj_table_job, j->row, row);
    const enum bj_row_change change = bj_row_complete(&sum, j->row, row);
    if (change == BJ_ROW_SAME) {
        b->counts->jobs_same++;
        return;
    }
    b->counts->jobs_changed++;
    j->row = row;
    if (change > j->change)
        j->change = change;
}

/* What a record of a job that exists may change. */
static void limit(const struct bj_batch *b, const struct bj_batch_job *j,
                  struct bj_row *row)
{
    /* A number contains the submit time; jobs found by their SLUID keep both.
     */
    if (b->follow)
        row->v[BJ_JOB_SUBMIT] = j->row->v[BJ_JOB_SUBMIT];
    row->weak =
        row->weak && bj_state_ended((enum bj_job_state)j->row->v[BJ_COL_STATE]);
}

/* --- sizes ---------------------------------------------------------------- */

static int read_sizes(struct bj_become *c, struct bj_batch_job *j,
                      struct bj_err *err)
{
    struct bj_st *st = c->st[ST_SIZE_ALL];
    struct bj_pbs_sizes *s = &j->sizes;
    int r = 0;
    if (j->sizes_read)
        return 0;
    j->sizes_read = true;
    bj_st_bind_i64(st, 1, j->id);
    while ((r = bj_st_row(st, err)) > 0) {
        if (!BJ_GROW(s->size, s->n + 1, s->cap)) {
            r = bj_err_set(err, -ENOMEM, "sizes of a job");
            break;
        }
        for (int i = 0; i < BJ_SIZE_COLS; i++)
            s->size[s->n].v[i] = bj_st_get_i64(st, i);
        s->n++;
    }
    bj_st_reset(st);
    return r;
}

/* Join the size of a record of PBS to those of its run; of the last one, store
 * what the run had over its time. row: the record's, unchanged. */
static int join_size(struct bj_become *c, struct bj_batch *b,
                     const struct bj_batch_record *r, struct bj_batch_job *j,
                     struct bj_row *row, struct bj_err *err)
{
    struct bj_pbs_size_record record = {.kind = r->sizes_kind,
                                        .size = r->size->row,
                                        .run_start = row->v[BJ_COL_START],
                                        .suspended = row->v[BJ_COL_SUSPENDED],
                                        .elapsed = r->elapsed};
    record.size.v[BJ_SIZE_ELAPSED] = BJ_SQL_NULL;
    int res = read_sizes(c, j, err);
    if (res == 0 && (res = bj_pbs_sizes_join(&j->sizes, &record)) < 0)
        bj_err_set(err, res, "sizes of a job");
    if (res < 0)
        return res;
    j->sizes_changed = j->sizes_changed || res > 0;
    if (record.kind != BJ_SIZE_LAST)
        return 0;
    const struct bj_size_sums sum =
        bj_pbs_sizes_sums(&j->sizes, row->v[BJ_COL_START]);
    row->v[BJ_JOB_CPU_SEC] = sum.cpu_sec;
    row->v[BJ_JOB_NODE_SEC] = sum.node_sec;
    row->v[BJ_JOB_GPU_SEC] = sum.gpu_sec;
    row->v[BJ_JOB_MIB_SEC] = sum.memory_mib_sec;
    limit(b, j, row);
    merge_job(b, j, row);
    return 0;
}

static int add_size(struct bj_become *c, int64_t id, size_t number,
                    struct bj_slice sluid, const struct bj_size_row *size,
                    struct bj_err *err)
{
    struct bj_st *st = c->st[ST_SIZE_ADD];
    int at = 1;
    bj_st_bind_i64(st, at++, id);
    bj_st_bind_i64(st, at++, (int64_t)number);
    bj_st_bind_filled(st, at++, sluid);
    for (int i = 0; i < BJ_SIZE_COLS; i++)
        bj_st_bind_i64(st, at++, size->v[i]);
    return bj_st_run(st, err);
}

static int write_sizes(struct bj_become *c, const struct bj_batch_job *j,
                       struct bj_err *err)
{
    const struct bj_batch_record *all = j->all_sizes;
    const size_t n = all ? all->sizes : j->sizes.n;
    bj_st_bind_i64(c->st[ST_SIZE_DROP], 1, j->id);
    int r = bj_st_run(c->st[ST_SIZE_DROP], err);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = all ? add_size(c, j->id, i, all->size[i].sluid, &all->size[i].row,
                           err)
                : add_size(c, j->id, i, BJ_SLICE(""), &j->sizes.size[i], err);
    return r;
}

int bj_become_write_sizes(struct bj_become *c, struct bj_batch *b,
                          struct bj_err *err)
{
    int r = 0;
    for (const struct bj_batch_job *j = b->job; r == 0 && j; j = j->next)
        if (j->all_sizes || j->sizes_changed)
            r = write_sizes(c, j, err);
    return r;
}

/* --- records -------------------------------------------------------------- */

static int add_new(struct bj_become *c, struct bj_batch *b,
                   struct bj_batch_record *r, struct bj_batch_job **ret,
                   struct bj_err *err)
{
    int64_t id;
    int res = become_number_of(c, b, r, &id, err);
    if (res < 0)
        return res;
    b->counts->jobs_new++;
    *ret = bj_batch_new(b, r, id);
    return *ret ? 0 : become_no_memory(err);
}

static int become_merge(struct bj_batch *b, struct bj_batch_record *r,
                        struct bj_batch_job *j, struct bj_err *err)
{
    limit(b, j, &r->row);
    int res = become_split(b, &r->row, j, err);
    if (res == 0 && r->more)
        merge_more(j, r->more, r->row.weak);
    for (unsigned i = 0; res == 0 && i < r->steps; i++) {
        r->step[i].weak = r->row.weak;
        res = merge_step(b, j, &r->step[i], err);
    }
    if (res == 0)
        merge_job(b, j, &r->row);
    return res < 0 ? res : bj_batch_name(b, j, j->row, err);
}

static int become_put(struct bj_become *c, struct bj_batch *b,
                      struct bj_batch_record *r, struct bj_err *err)
{
    struct bj_batch_job *j = bj_batch_find(b, r);
    const bool fresh = !j, one_size = r->sizes_kind != BJ_SIZES_ALL;
    const uint64_t changed = b->counts->jobs_changed;
    struct bj_row *again = one_size ? bj_batch_copy(b, &r->row) : NULL;
    int res = one_size && !again ? become_no_memory(err)
              : fresh            ? add_new(c, b, r, &j, err)
                                 : become_merge(b, r, j, err);
    for (unsigned i = 0; fresh && res == 0 && i < r->steps; i++)
        res = merge_step(b, j, &r->step[i], err);
    if (res < 0)
        return res;
    if (one_size) {
        if (!fresh && again->v[BJ_COL_SUSPENDED] == BJ_SQL_NULL)
            again->v[BJ_COL_SUSPENDED] = j->row->v[BJ_COL_SUSPENDED];
        return join_size(c, b, r, j, again, err);
    }
    if (r->sizes > 0 && (fresh || b->counts->jobs_changed > changed))
        j->all_sizes = r;
    return 0;
}

int bj_become_jobs(struct bj_become *c, struct bj_batch *b, struct bj_err *err)
{
    int res = 0;
    for (struct bj_batch_record *r = b->record; res == 0 && r; r = r->next)
        res = become_put(c, b, r, err);
    return res < 0 || !b->memory.failed ? res : become_no_memory(err);
}
