#include "statsdb/tables/row_table.h"

#include <stdio.h>

/* --- from records -------------------------------------------------------- */

static int64_t field_u64(const void *rec, const struct bj_row_column *c)
{
    uint64_t v;
    memcpy(&v, (const char *)rec + c->off, sizeof(v));
    return bj_sql_u64(v);
}

static void set_text(struct bj_row *row, unsigned col, unsigned place,
                     struct bj_slice s)
{
    row->s[place] = s;
    row->v[col] = s.n > 0 ? (int64_t)place : BJ_SQL_NULL;
}

static int fill_one(struct bj_dicts *d, const struct bj_row_column *c,
                    const void *rec, unsigned col, struct bj_row *row,
                    struct bj_err *err)
{
    const char *at = (const char *)rec + c->off;
    struct bj_slice s;
    switch (c->kind) {
    case BJ_KIND_U64:
        row->v[col] = field_u64(rec, c);
        return 0;
    case BJ_KIND_ENUM:
        row->v[col] = *(const enum bj_job_state *)at;
        return 0;
    case BJ_KIND_DICT:
        memcpy(&s, at, sizeof(s));
        row->v[col] = BJ_SQL_NULL;
        if (s.n == 0)
            return 0;
        return bj_dict_text(d, c->which, s, &row->v[col], err);
    case BJ_KIND_TEXT:
        memcpy(&s, at, sizeof(s));
        set_text(row, col, c->which, s);
        return 0;
    case BJ_KIND_OWN:
    case BJ_KIND_ID:
        break;
    }
    row->v[col] = BJ_SQL_NULL;
    return 0;
}

static int fill(struct bj_dicts *d, const struct bj_row_table *t,
                const void *rec, struct bj_row *row, struct bj_err *err)
{
    memset(row->s, 0, sizeof(row->s));
    for (unsigned i = 0; i < t->n; i++) {
        int r = fill_one(d, &t->col[i], rec, i, row, err);
        if (r < 0)
            return bj_err_wrap(err, r, "%s.%s", t->name, t->col[i].name);
    }
    return 0;
}

void bj_row_drop_user(struct bj_row *row)
{
    int64_t *v = row->v;
    int64_t total = v[BJ_COL_CPU], system = v[BJ_COL_CPU_SYSTEM];
    if (total >= 0 && system >= 0 && v[BJ_COL_CPU_USER] == total - system)
        v[BJ_COL_CPU_USER] = BJ_SQL_NULL;
}

/* No process runs without memory, and none runs for seconds without CPU time:
 * there a 0 means that nothing was measured, and so does its I/O of 0. */
static void drop_unmeasured(int64_t *v)
{
    static const unsigned char memory[] = {BJ_COL_TASK_PEAK, BJ_COL_PEAK},
                               io[] = {BJ_COL_READ, BJ_COL_WRITE};
    bool gathered = false;
    if (v[BJ_COL_CPU] == 0 && v[BJ_COL_ELAPSED] != 0)
        v[BJ_COL_CPU] = BJ_SQL_NULL;
    /* Of a few milliseconds, both parts may be rounded to 0. */
    if (v[BJ_COL_CPU_USER] == 0 && v[BJ_COL_CPU_SYSTEM] == 0 &&
        (v[BJ_COL_CPU] == BJ_SQL_NULL || v[BJ_COL_CPU] >= 1000000))
        v[BJ_COL_CPU_USER] = v[BJ_COL_CPU_SYSTEM] = BJ_SQL_NULL;
    for (unsigned i = 0; i < 2; i++) {
        if (v[memory[i]] == 0)
            v[memory[i]] = BJ_SQL_NULL;
        gathered = gathered || v[memory[i]] != BJ_SQL_NULL;
    }
    for (unsigned i = 0; i < 2; i++)
        if (!gathered && v[io[i]] == 0)
            v[io[i]] = BJ_SQL_NULL;
}

/* A plain number is stored as an integer, which needs four bytes and sorts
 * numerically. An id with leading zeros stays a text. */
static void set_id(struct bj_row *row, unsigned col, unsigned place,
                   struct bj_slice s)
{
    int64_t v = 0;
    row->s[place] = bj_jobid_number(s, &v) ? (struct bj_slice){NULL, 0} : s;
    row->v[col] = v;
}

/* The last component of a path is stored with the job, the rest in the
 * dictionary: many jobs have their own directory next to others. */
static int set_dir(struct bj_dicts *d, struct bj_slice path, struct bj_row *row,
                   struct bj_err *err)
{
    size_t n = path.n;
    while (n > 0 && path.p[n - 1] != '/')
        n--;
    row->v[BJ_JOB_DIR] = BJ_SQL_NULL;
    struct bj_slice leaf = path;
    if (n > 0)
        leaf = (struct bj_slice){path.p + n, path.n - n};
    set_text(row, BJ_JOB_LEAF, 1, leaf);
    if (n == 0)
        return 0;
    return bj_dict_text(d, BJ_DICT_DIR, (struct bj_slice){path.p, n - 1},
                        &row->v[BJ_JOB_DIR], err);
}

int bj_row_job(struct bj_dicts *d, int64_t cluster,
               const struct bj_sched_job *job, struct bj_row *ret,
               struct bj_err *err)
{
    int r = fill(d, &bj_table_job, job, ret, err);
    if (r < 0)
        return r;
    drop_unmeasured(ret->v);
    ret->weak = job->snapshot;
    if (job->snapshot && ret->v[BJ_COL_CPU] == 0) /* or not reported yet */
        ret->v[BJ_COL_CPU] = BJ_SQL_NULL;
    bj_row_drop_user(ret);
    ret->v[BJ_JOB_CLUSTER] = cluster;
    set_id(ret, BJ_JOB_RAW_ID, 0, job->jobid);
    int64_t submit = bj_sql_u64(job->submit_sec);
    ret->v[BJ_JOB_SUBMIT] = submit == BJ_SQL_NULL ? 0 : submit;
    ret->energy_of_steps = job->energy_of_steps;
    /* No job runs without memory: the scheduler does not allocate it. */
    if (ret->v[BJ_JOB_ALLOCATED_MEM] == 0)
        ret->v[BJ_JOB_ALLOCATED_MEM] = BJ_SQL_NULL;
    r = set_dir(d, job->work_dir, ret, err);
    int64_t uid = bj_sql_u64(job->uid), gid = bj_sql_u64(job->gid);
    if (r == 0 &&
        (uid != BJ_SQL_NULL || gid != BJ_SQL_NULL || job->group.n > 0))
        r = bj_dict_owner(d, uid, gid, job->group, &ret->v[BJ_JOB_OWNER], err);
    return r;
}

/* Can the display_id be computed from the other ids? */
static bool can_make_id(const struct bj_sched_job *job)
{
    char text[64];
    unsigned long long of = 0, at = 0;
    char sep = 0;
    if (job->array_job != BJ_ABSENT && job->array_task != BJ_ABSENT) {
        of = job->array_job;
        at = job->array_task;
        sep = '_';
    } else if (job->het_job != BJ_ABSENT && job->het_offset != BJ_ABSENT) {
        of = job->het_job;
        at = job->het_offset;
        sep = '+';
    }
    if (job->display_id.n == 0)
        return true;
    if (!sep)
        return bj_slice_eq(job->display_id, job->jobid);
    int n = snprintf(text, sizeof(text), "%llu%c%llu", of, sep, at);
    return bj_slice_eq(job->display_id, (struct bj_slice){text, (size_t)n});
}

static bool can_make_exit(const struct bj_sched_job *job)
{
    char text[64];
    const char *raw = job->exit_raw.p;
    if (job->exit_raw.n == 3 && job->exit_code < 10 && job->exit_signal < 10)
        return (uint64_t)raw[0] == '0' + job->exit_code && raw[1] == ':' &&
               (uint64_t)raw[2] == '0' + job->exit_signal;
    int n = snprintf(text, sizeof(text), "%llu:%llu",
                     (unsigned long long)job->exit_code,
                     (unsigned long long)job->exit_signal);
    return job->exit_raw.n == 0 ||
           bj_slice_eq(job->exit_raw, (struct bj_slice){text, (size_t)n});
}

bool bj_row_more_none(const struct bj_sched_job *job)
{
    for (unsigned i = BJ_MORE_REST; i < BJ_MORE_COLS; i++) {
        const struct bj_row_column *c = &bj_table_more.col[i];
        const char *at = (const char *)job + c->off;
        if (c->kind == BJ_KIND_U64
                ? *(const uint64_t *)(const void *)at != BJ_ABSENT
                : ((const struct bj_slice *)(const void *)at)->n > 0)
            return false;
    }
    return job->steps_left_out == 0 && job->cancelled_by == BJ_ABSENT &&
           (job->cpus_requested == BJ_ABSENT ||
            job->cpus_requested == job->cpus) &&
           can_make_id(job) && can_make_exit(job) &&
           (job->gpu_model.n == 0 || job->tres_allocated_raw.n > 0);
}

int bj_row_more(struct bj_dicts *d, int64_t id, const struct bj_sched_job *job,
                struct bj_row *ret, struct bj_err *err)
{
    int r = fill(d, &bj_table_more, job, ret, err);
    ret->v[BJ_MORE_JOB] = id;
    if (r == 0 && !can_make_id(job))
        set_text(ret, BJ_MORE_SHOWN_ID, 0, job->display_id);
    ret->v[BJ_MORE_CANCELLED_BY] = bj_sql_u64(job->cancelled_by);
    if (job->cpus_requested != job->cpus)
        ret->v[BJ_MORE_CPUS_REQUESTED] = bj_sql_u64(job->cpus_requested);
    if (job->steps_left_out > 0)
        ret->v[BJ_MORE_STEPS_LEFT_OUT] = job->steps_left_out;
    if (r == 0 && !can_make_exit(job))
        r = bj_dict_text(d, BJ_DICT_WORD, job->exit_raw,
                         &ret->v[BJ_MORE_EXIT_RAW], err);
    if (r == 0 && job->tres_allocated_raw.n == 0 && job->gpu_model.n > 0)
        r = bj_dict_text(d, BJ_DICT_WORD, job->gpu_model,
                         &ret->v[BJ_MORE_GPU_MODEL], err);
    return r;
}

bool bj_row_more_empty(const struct bj_row *row)
{
    for (unsigned i = BJ_MORE_JOB + 1; i < BJ_MORE_COLS; i++)
        if (row->v[i] != BJ_SQL_NULL)
            return false;
    return true;
}

static int64_t slot_of(struct bj_slice step)
{
    static const struct {
        struct bj_slice name;
        int64_t slot;
    } names[] = {
        {{"batch", 5}, BJ_SLOT_BATCH},
        {{"extern", 6}, BJ_SLOT_EXTERN},
        {{"interactive", 11}, BJ_SLOT_INTERACTIVE},
    };
    uint64_t v;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (bj_slice_eq(step, names[i].name))
            return names[i].slot;
    if (step.n > 0 && (step.p[0] != '0' || step.n == 1) &&
        bj_slice_u64(step, &v) == 0 && v < BJ_SLOT_OTHER - BJ_SLOT_ZERO)
        return (int64_t)v + BJ_SLOT_ZERO;
    return BJ_SLOT_OTHER;
}

int bj_row_step(struct bj_dicts *d, int64_t id, const struct bj_job_step *step,
                struct bj_row *ret, struct bj_err *err)
{
    int r = fill(d, &bj_table_step, step, ret, err);
    int64_t slot = slot_of(step->step_id);
    drop_unmeasured(ret->v);
    bj_row_drop_user(ret);
    ret->v[BJ_STEP_JOB] = id;
    ret->v[BJ_STEP_SLOT] = slot;
    if (slot == BJ_SLOT_OTHER)
        set_text(ret, BJ_STEP_OTHER, 0, step->step_id);
    return r;
}

/* --- to and from statements ---------------------------------------------- */

void bj_row_bind_one(const struct bj_row_table *t, const struct bj_row *row,
                     unsigned col, struct bj_st *st, int at)
{
    const struct bj_row_column *c = &t->col[col];
    if (bj_row_textual(c) && row->s[c->which].n > 0)
        bj_st_bind_filled(st, at, row->s[c->which]);
    else if (c->kind == BJ_KIND_ID && row->v[col] != BJ_SQL_NULL)
        bj_st_bind_jobid_number(st, at, row->v[col]);
    else if (row->v[col] != BJ_SQL_NULL)
        bj_st_bind_i64(st, at, row->v[col]);
}

int bj_row_bind(const struct bj_row_table *t, const struct bj_row *row,
                struct bj_st *st)
{
    bj_st_clear(st);
    for (unsigned i = 0; i < t->n; i++)
        bj_row_bind_one(t, row, i, st, (int)i + 1);
    return (int)t->n + 1;
}

int bj_row_bind_plain(const struct bj_row_table *t, const struct bj_row *row,
                      struct bj_st *st)
{
    int at = 1;
    bj_st_clear(st);
    for (unsigned i = 0; i < t->n; i++)
        if (!t->col[i].key)
            bj_row_bind_one(t, row, i, st, at++);
    return at;
}

void bj_row_values(const struct bj_row_table *t, const struct bj_row *row,
                   struct bj_value *ret)
{
    for (unsigned i = 0; i < t->n; i++) {
        const struct bj_row_column *c = &t->col[i];
        if (bj_row_textual(c) && row->s[c->which].n > 0)
            ret[i] = (struct bj_value){BJ_TYPE_TEXT, .text = row->s[c->which]};
        else if (row->v[i] != BJ_SQL_NULL)
            ret[i] = (struct bj_value){BJ_TYPE_INTEGER, .i64 = row->v[i]};
        else
            ret[i].type = BJ_TYPE_NULL;
    }
}

int bj_row_names(const struct bj_row_table *t, const char **ret)
{
    for (unsigned i = 0; i < t->n; i++)
        ret[i] = t->col[i].name;
    return (int)t->n;
}

void bj_row_read(const struct bj_row_table *t, struct bj_st *st, int col,
                 struct bj_row *ret)
{
    ret->weak = ret->energy_of_steps = false;
    for (unsigned i = 0; i < t->n; i++, col++) {
        const struct bj_row_column *c = &t->col[i];
        if (!bj_row_textual(c)) {
            ret->v[i] = bj_st_get_i64(st, col);
        } else if (t == &bj_table_job && i == BJ_JOB_RAW_ID &&
                   bj_jobid_number(bj_st_get_text(st, col), &ret->v[i])) {
            ret->s[c->which] = (struct bj_slice){NULL, 0};
        } else if (bj_st_type(st, col) == BJ_TYPE_TEXT) {
            ret->s[c->which] = bj_st_get_text(st, col);
            ret->v[i] = 0;
        } else {
            ret->s[c->which] = (struct bj_slice){NULL, 0};
            ret->v[i] = bj_st_get_i64(st, col);
        }
    }
}
