#include "base/array.h"
#include "sched/state.h"
#include "statsdb/import/pbs_run.h"
#include "statsdb/import/pbs_size.h"
#include "statsdb/import/upsert_impl.h"

static const struct statement {
    const struct bj_row_table *table;
    enum { FIND, ADD, SET, SET_PLAIN, PLAIN } kind;
    const char *where;
} statements[BJ_STATEMENTS] = {
    [BJ_ST_JOB_KNOWN] = {NULL, PLAIN, BJ_SQL_KNOWN_JOB("?")},
    [BJ_ST_JOB_RUNS] = {NULL, PLAIN,
                        "SELECT " BJ_PBS_RUN_SQL " FROM job WHERE"
                        " cluster = ?1 AND jobid = ?2 AND submit >= ?3 AND"
                        " submit < ?4"},
    [BJ_ST_JOB_FIND] = {&bj_table_job, FIND,
                        "cluster = ?1 AND jobid = ?2 AND submit = ?3"},
    [BJ_ST_JOB_FIND_SLUID] = {&bj_table_job, FIND, "sluid = ?1"},
    [BJ_ST_JOB_ADD] = {&bj_table_job, ADD, NULL},
    [BJ_ST_JOB_SET] = {&bj_table_job, SET, NULL},
    [BJ_ST_JOB_SET_PLAIN] = {&bj_table_job, SET_PLAIN, NULL},
    [BJ_ST_MORE_FIND] = {&bj_table_more, FIND, "job = ?1"},
    [BJ_ST_MORE_ADD] = {&bj_table_more, ADD, NULL},
    [BJ_ST_MORE_SET_PLAIN] = {&bj_table_more, SET_PLAIN, NULL},
    [BJ_ST_MORE_SPLIT] = {NULL, PLAIN,
                          "UPDATE job_more SET display_id = NULL,"
                          " array_tasks = NULL WHERE job = ?1"
                          " AND array_tasks IS NOT NULL"},
    [BJ_ST_STEP_FIND] = {&bj_table_step, FIND, "job = ?1 AND slot = ?2"},
    [BJ_ST_STEP_ALL] = {&bj_table_step, FIND, "job = ?1"},
    [BJ_ST_STEP_ADD] = {&bj_table_step, ADD, NULL},
    [BJ_ST_STEP_SET_PLAIN] = {&bj_table_step, SET_PLAIN, NULL},
    [BJ_ST_SIZE_DROP] = {NULL, PLAIN, "DELETE FROM job_size WHERE job = ?1"},
    [BJ_ST_SIZE_ALL] = {NULL, PLAIN,
                        "SELECT start, \"end\", elapsed, cpus, nodes, gpus,"
                        " memory_allocated_bytes, hosts, tres_allocated FROM"
                        " job_size WHERE job = ?1 ORDER BY number"},
    [BJ_ST_SIZE_ADD] = {NULL, PLAIN,
                        "INSERT INTO job_size(job, number, sluid, start,"
                        " \"end\", elapsed, cpus, nodes, gpus,"
                        " memory_allocated_bytes, hosts, tres_allocated)"
                        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
                        " ?11, ?12)"},
};

static void sql_find(const struct statement *s, struct bj_buf *ret)
{
    bj_buf_str(ret, "SELECT ");
    if (s->table == &bj_table_job)
        bj_buf_str(ret, "id, ");
    bj_row_sql_columns(s->table, ret);
    bj_buf_printf(ret, " FROM %s WHERE %s",
                  s->table == &bj_table_job    ? "job"
                  : s->table == &bj_table_more ? "job_more"
                                               : "step",
                  s->where);
}

static int prepare(struct bj_upsert *u, unsigned i, struct bj_err *err)
{
    const struct statement *s = &statements[i];
    struct bj_buf sql = {0};
    if (s->kind == FIND) {
        sql_find(s, &sql);
        /* Read only the partition of the submit time. */
        if (i == BJ_ST_JOB_FIND && bj_job_numbers_follow(u->db))
            bj_buf_str(&sql, " AND id BETWEEN ?4 AND ?5");
    } else if (s->kind == PLAIN) {
        bj_buf_str(&sql, s->where);
    } else if (s->kind == ADD) {
        bj_row_sql_insert(s->table, s->table == &bj_table_job ? "id" : NULL,
                          &sql);
    } else {
        bj_row_sql_update(s->table, s->kind == SET_PLAIN, &sql);
    }
    return bj_db_prepare_buf(u->db, &sql, &u->st[i], err);
}

int bj_upsert_prepare(struct bj_upsert *u, struct bj_err *err)
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < BJ_STATEMENTS; i++)
        r = prepare(u, i, err);
    return r;
}

/* --- runs ----------------------------------------------------------------- */

int bj_upsert_is_known(struct bj_upsert *u, struct bj_err *err)
{
    static const unsigned char columns[] = {
        BJ_JOB_CLUSTER, BJ_JOB_RAW_ID, BJ_JOB_ARRAY_JOB, BJ_JOB_ARRAY_TASK,
        BJ_JOB_SUBMIT,  BJ_COL_START,  BJ_COL_END};
    struct bj_st *st = u->st[BJ_ST_JOB_KNOWN];
    bj_st_clear(st);
    for (int i = 0; i < (int)sizeof(columns); i++)
        if (columns[i] != BJ_JOB_SUBMIT || u->row.v[BJ_JOB_SUBMIT] != 0)
            bj_row_bind_one(&bj_table_job, &u->row, columns[i], st, i + 1);
    int r = bj_st_row(st, err);
    bj_st_reset(st);
    return r;
}

int bj_upsert_find_run(struct bj_upsert *u, struct bj_row *left,
                       struct bj_err *err)
{
    struct bj_st *st = u->st[BJ_ST_JOB_RUNS];
    struct bj_pbs_known known = {.any = false};
    int64_t from, to;
    int r;
    bj_pbs_keys(&u->row, &from, &to);
    bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_CLUSTER, st, 1);
    bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_RAW_ID, st, 2);
    bj_st_bind_i64(st, 3, from);
    bj_st_bind_i64(st, 4, to);
    while ((r = bj_st_row(st, err)) > 0) {
        const struct bj_pbs_run run = bj_pbs_run_read(st, 0);
        bj_pbs_note(&known, &run, &u->row);
    }
    return r < 0 ? r : bj_pbs_place(&known, &u->row, left);
}

/* --- rows ------------------------------------------------------------------
 */

/* Insert a row unless its key exists: 1 inserted, 0 not. */
static int add(struct bj_upsert *u, unsigned which, const struct bj_row *row,
               struct bj_err *err)
{
    bj_row_bind(statements[which].table, row, u->st[which]);
    int r = bj_st_run(u->st[which], err);
    return r < 0 ? r : bj_db_changes(u->db) > 0;
}

int bj_upsert_assoc(struct bj_upsert *u, const struct bj_row *row, bool defer,
                    int64_t *ret, struct bj_err *err)
{
    static const struct {
        unsigned col;
        enum bj_dict_id dict;
    } parts[4] = {{BJ_JOB_CLUSTER, BJ_DICT_WORD}, /* always known */
                  {BJ_JOB_ACCOUNT, BJ_DICT_ACCOUNT},
                  {BJ_JOB_USER, BJ_DICT_USER},
                  {BJ_JOB_PARTITION, BJ_DICT_PARTITION}};
    int64_t of[4];
    int r = 0;
    for (int i = 0; r == 0 && i < 4; i++) {
        of[i] = row->v[parts[i].col];
        if (of[i] == BJ_SQL_NULL) /* unknown: "" in sums */
            r = bj_dict_text(u->dicts, parts[i].dict, BJ_SLICE(""), &of[i],
                             err);
    }
    bj_dicts_defer(u->dicts, defer);
    if (r == 0)
        r = bj_dict_assoc(u->dicts, of, ret, err);
    bj_dicts_defer(u->dicts, false);
    return r;
}

/* Add a job's values to the daily sums, or subtract them. */
static int add_sums(struct bj_upsert *u, const struct bj_row *row, int sign,
                    struct bj_err *err)
{
    int64_t assoc = 0;
    int r = bj_upsert_assoc(u, row, false, &assoc, err);
    return r < 0 ? r : bj_rollup_add(u->rollup, assoc, row, sign, err);
}

/* Find the job: 1 and u->old if it exists. The statement stays at its row,
 * because texts of u->old point into it. */
static int job_find(struct bj_upsert *u, struct bj_st **ret_st, int64_t *ret_id,
                    struct bj_err *err)
{
    struct bj_st *st = u->st[BJ_ST_JOB_FIND];
    bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_CLUSTER, st, 1);
    bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_RAW_ID, st, 2);
    bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_SUBMIT, st, 3);
    if (u->number != BJ_SQL_NULL) {
        bj_st_bind_i64(st, 4, bj_job_number_first(u->row.v[BJ_JOB_SUBMIT]));
        bj_st_bind_i64(st, 5, bj_job_number_last(u->row.v[BJ_JOB_SUBMIT]));
    }
    int r = bj_st_row(st, err);
    if (r == 0 && u->row.v[BJ_JOB_SLUID] != BJ_SQL_NULL) {
        st = u->st[BJ_ST_JOB_FIND_SLUID];
        bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_SLUID, st, 1);
        r = bj_st_row(st, err);
    }
    *ret_st = st;
    if (r <= 0)
        return r;
    *ret_id = bj_st_get_i64(st, 0);
    bj_row_read(&bj_table_job, st, 1, &u->old);
    return 1;
}

/* Column at of a job. */
static int64_t job_at(const struct bj_row *job)
{
    int64_t start = job->v[BJ_COL_START];
    return start == BJ_SQL_NULL ? job->v[BJ_JOB_SUBMIT] : start;
}

int bj_upsert_month(struct bj_upsert *u, int64_t id, const struct bj_row *row,
                    struct bj_err *err)
{
    return bj_job_months_add(&u->months, id, job_at(row), row->v[BJ_COL_END],
                             err);
}

static int job_set(struct bj_upsert *u, int64_t id, enum bj_row_change change,
                   struct bj_err *err)
{
    unsigned which =
        change == BJ_ROW_PLAIN ? BJ_ST_JOB_SET_PLAIN : BJ_ST_JOB_SET;
    struct bj_st *st = u->st[which];
    int at = change == BJ_ROW_PLAIN
                 ? bj_row_bind_plain(&bj_table_job, &u->row, st)
                 : bj_row_bind(&bj_table_job, &u->row, st);
    bj_st_bind_i64(st, at, id);
    int r = bj_upsert_month(u, id, &u->row, err);
    if (r == 0)
        r = add_sums(u, &u->old, -1, err);
    if (r == 0)
        r = add_sums(u, &u->row, 1, err);
    return r < 0 ? r : bj_st_run(st, err);
}

/* The row of all waiting tasks becomes that of the last task. */
static int split(struct bj_upsert *u, int64_t id, struct bj_err *err)
{
    if (u->row.v[BJ_JOB_ARRAY_TASK] == BJ_SQL_NULL &&
        u->old.v[BJ_JOB_ARRAY_TASK] == BJ_SQL_NULL)
        return 0;
    bj_st_bind_i64(u->st[BJ_ST_MORE_SPLIT], 1, id);
    return bj_st_run(u->st[BJ_ST_MORE_SPLIT], err);
}

/* Insert the job unless its key or number exists: 1 inserted, 0 not. */
static int job_add(struct bj_upsert *u, int64_t *ret_id, struct bj_err *err)
{
    struct bj_st *st = u->st[BJ_ST_JOB_ADD];
    int at = bj_row_bind(&bj_table_job, &u->row, st);
    bj_st_bind_i64(st, at, u->number);
    int r = bj_upsert_month(u, u->number, &u->row, err);
    if (r == 0)
        r = bj_st_insert(st, ret_id, err);
    if (r <= 0)
        return r;
    u->counts.jobs_new++;
    r = add_sums(u, &u->row, 1, err);
    return r < 0 ? r : 1;
}

/* Insert a job that was not found: 1 inserted, 0 not. */
static int job_add_new(struct bj_upsert *u, int64_t *ret_id, struct bj_err *err)
{
    const int64_t first = u->number;
    int r;
    while ((r = job_add(u, ret_id, err)) == 0 && u->number != BJ_SQL_NULL) {
        u->number = bj_job_number_next(u->number);
        if (u->number == first)
            break;
    }
    return r;
}

int bj_upsert_begin_job(struct bj_upsert *u, int64_t *ret_id, bool *ret_new,
                        struct bj_err *err)
{
    struct bj_st *st;
    /* A number may be free although the job exists under another number. */
    bool try = u->was_new && u->number == BJ_SQL_NULL;
    int added = try ? job_add(u, ret_id, err) : 0;
    int found = added == 0 ? job_find(u, &st, ret_id, err) : 0;
    if (added == 0 && found == 0)
        added = job_add_new(u, ret_id, err);
    u->was_new = *ret_new = added > 0;
    u->job.found = NULL;
    if (added < 0 || found < 0)
        return added < 0 ? added : found;
    if (added == 0 && found == 0)
        return bj_err_set(err, -EPROTO, "a job was neither found nor inserted");
    if (found == 0)
        return 0;
    /* A number contains the submit time; jobs found by their SLUID keep both.
     */
    if (u->number != BJ_SQL_NULL)
        u->row.v[BJ_JOB_SUBMIT] = u->old.v[BJ_JOB_SUBMIT];
    /* also for its row of job_more */
    u->row.weak = u->row.weak &&
                  bj_state_ended((enum bj_job_state)u->old.v[BJ_COL_STATE]);
    u->job.found = st;
    u->job.row = u->row;
    u->job.old = u->old;
    return split(u, *ret_id, err);
}

static int add_up_steps(struct bj_upsert *u, int64_t id,
                        struct bj_step_sum *ret, struct bj_err *err)
{
    struct bj_st *st = u->st[BJ_ST_STEP_ALL];
    struct bj_row step;
    int r;
    bj_step_sum_begin(ret);
    bj_st_bind_i64(st, 1, id);
    while ((r = bj_st_row(st, err)) > 0) {
        bj_row_read(&bj_table_step, st, 0, &step);
        bj_row_add_step(&step, ret);
    }
    bj_st_reset(st);
    return r;
}

int bj_upsert_end_job(struct bj_upsert *u, int64_t id, struct bj_err *err)
{
    struct bj_step_sum sum;
    if (!u->job.found)
        return 0;
    u->row = u->job.row;
    u->old = u->job.old;
    int r = add_up_steps(u, id, &sum, err);
    if (r < 0)
        return r;
    bj_row_merge(&bj_table_job, &u->old, &u->row);
    enum bj_row_change change = bj_row_complete(&sum, &u->old, &u->row);
    if (change == BJ_ROW_SAME) {
        u->counts.jobs_same++;
    } else {
        u->counts.jobs_changed++;
        r = job_set(u, id, change, err);
    }
    bj_st_reset(u->job.found);
    return r;
}

int bj_upsert_put_more(struct bj_upsert *u, int64_t id, bool fresh,
                       struct bj_err *err)
{
    struct bj_st *find = u->st[BJ_ST_MORE_FIND];
    struct bj_st *set = u->st[BJ_ST_MORE_SET_PLAIN];
    u->row.v[BJ_MORE_JOB] = id;
    bj_st_bind_i64(find, 1, id);
    int r = fresh ? 0 : bj_st_row(find, err);
    if (r == 0)
        r = add(u, BJ_ST_MORE_ADD, &u->row, err);
    else if (r > 0) {
        bj_row_read(&bj_table_more, find, 0, &u->old);
        r = 0;
        if (bj_row_merge(&bj_table_more, &u->old, &u->row) != BJ_ROW_SAME) {
            int at = bj_row_bind_plain(&bj_table_more, &u->row, set);
            bj_st_bind_i64(set, at, id);
            r = bj_st_run(set, err);
        }
        bj_st_reset(find);
    }
    return r < 0 ? r : 0;
}

/* Find the step of u->row: 1 and u->old if it exists. Steps with unusual names
 * get the next free slot. */
static int step_find(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_st *find = u->st[BJ_ST_STEP_FIND];
    struct bj_slice other = u->row.s[0];
    for (;;) {
        bj_st_bind_i64(find, 1, u->row.v[BJ_STEP_JOB]);
        bj_st_bind_i64(find, 2, u->row.v[BJ_STEP_SLOT]);
        int r = bj_st_row(find, err);
        if (r <= 0)
            return r;
        bj_row_read(&bj_table_step, find, 0, &u->old);
        if (bj_slice_eq(u->old.s[0], other))
            return 1;
        bj_st_reset(find);
        u->row.v[BJ_STEP_SLOT]++;
    }
}

int bj_upsert_put_step(struct bj_upsert *u, bool fresh, struct bj_err *err)
{
    struct bj_st *set = u->st[BJ_ST_STEP_SET_PLAIN];
    int r = 0;
    if (fresh && u->row.s[0].n == 0)
        r = add(u, BJ_ST_STEP_ADD, &u->row, err);
    if (r != 0) {
        u->counts.steps_new += r > 0;
        return r < 0 ? r : 0;
    }
    r = step_find(u, err);
    if (r == 0) {
        r = add(u, BJ_ST_STEP_ADD, &u->row, err);
        u->counts.steps_new += r > 0;
        return r < 0 ? r : 0;
    }
    if (r < 0)
        return r;
    if (bj_row_merge(&bj_table_step, &u->old, &u->row) == BJ_ROW_SAME) {
        u->counts.steps_same++;
        r = 0;
    } else {
        int at = bj_row_bind_plain(&bj_table_step, &u->row, set);
        bj_st_bind_i64(set, at, u->row.v[BJ_STEP_JOB]);
        bj_st_bind_i64(set, at + 1, u->row.v[BJ_STEP_SLOT]);
        u->counts.steps_changed++;
        r = bj_st_run(set, err);
    }
    bj_st_reset(u->st[BJ_ST_STEP_FIND]);
    return r;
}

/* The number of a text in a dictionary; an empty text is unknown. */
static int entry(struct bj_upsert *u, enum bj_dict_id dict, struct bj_slice s,
                 int64_t *ret, struct bj_err *err)
{
    *ret = BJ_SQL_NULL;
    return s.n > 0 ? bj_dict_text(u->dicts, dict, s, ret, err) : 0;
}

static int size_row(struct bj_upsert *u, const struct bj_job_size *size,
                    struct bj_size_row *ret, struct bj_err *err)
{
    int64_t *v = ret->v;
    v[BJ_SIZE_START] = bj_sql_u64(size->start_sec);
    v[BJ_SIZE_END] = bj_sql_u64(size->end_sec);
    v[BJ_SIZE_ELAPSED] = bj_sql_u64(size->elapsed_sec);
    v[BJ_SIZE_CPUS] = bj_sql_u64(size->cpus);
    v[BJ_SIZE_NODES] = bj_sql_u64(size->nodes);
    v[BJ_SIZE_GPUS] = bj_sql_u64(size->gpus);
    v[BJ_SIZE_MEMORY] = bj_sql_u64(size->mem_allocated_bytes);
    int r = entry(u, BJ_DICT_HOSTS, size->nodelist, &v[BJ_SIZE_HOSTS], err);
    return r < 0 ? r
                 : entry(u, BJ_DICT_TRES, size->tres_allocated_raw,
                         &v[BJ_SIZE_TRES], err);
}

static int drop_sizes(struct bj_upsert *u, int64_t id, struct bj_err *err)
{
    bj_st_bind_i64(u->st[BJ_ST_SIZE_DROP], 1, id);
    return bj_st_run(u->st[BJ_ST_SIZE_DROP], err);
}

static int add_size(struct bj_upsert *u, int64_t id, int64_t number,
                    struct bj_slice sluid, const struct bj_size_row *size,
                    struct bj_err *err)
{
    struct bj_st *st = u->st[BJ_ST_SIZE_ADD];
    int at = 1;
    bj_st_bind_i64(st, at++, id);
    bj_st_bind_i64(st, at++, number);
    bj_st_bind_filled(st, at++, sluid);
    for (int i = 0; i < BJ_SIZE_COLS; i++)
        bj_st_bind_i64(st, at++, size->v[i]);
    return bj_st_run(st, err);
}

int bj_upsert_put_sizes(struct bj_upsert *u, int64_t id,
                        const struct bj_sched_job *job, struct bj_err *err)
{
    struct bj_size_row row;
    int r = drop_sizes(u, id, err);
    for (unsigned i = 0; r >= 0 && i < job->sizes; i++) {
        r = size_row(u, &job->size[i], &row, err);
        if (r == 0)
            r = add_size(u, id, i, job->size[i].sluid, &row, err);
    }
    return r < 0 ? r : 0;
}

/* --- one size of PBS ------------------------------------------------------ */

static int read_sizes(struct bj_upsert *u, int64_t id, struct bj_pbs_sizes *ret,
                      struct bj_err *err)
{
    struct bj_st *st = u->st[BJ_ST_SIZE_ALL];
    int r;
    bj_st_bind_i64(st, 1, id);
    while ((r = bj_st_row(st, err)) > 0) {
        if (!BJ_GROW(ret->size, ret->n + 1, ret->cap)) {
            bj_st_reset(st);
            return bj_err_set(err, -ENOMEM, "sizes of a job");
        }
        struct bj_size_row *size = &ret->size[ret->n++];
        for (int i = 0; i < BJ_SIZE_COLS; i++)
            size->v[i] = bj_st_get_i64(st, i);
    }
    bj_st_reset(st);
    return r;
}

static int write_sizes(struct bj_upsert *u, int64_t id,
                       const struct bj_pbs_sizes *s, struct bj_err *err)
{
    int r = drop_sizes(u, id, err);
    for (size_t i = 0; r >= 0 && i < s->n; i++)
        r = add_size(u, id, (int64_t)i, BJ_SLICE(""), &s->size[i], err);
    return r < 0 ? r : 0;
}

/* Store what the run had over its time; the rest of u->row is stored. */
static int put_sums(struct bj_upsert *u, const struct bj_pbs_sizes *s,
                    struct bj_err *err)
{
    const struct bj_size_sums sum =
        bj_pbs_sizes_sums(s, u->row.v[BJ_COL_START]);
    int64_t id;
    bool fresh;
    u->row.v[BJ_JOB_CPU_SEC] = sum.cpu_sec;
    u->row.v[BJ_JOB_NODE_SEC] = sum.node_sec;
    u->row.v[BJ_JOB_GPU_SEC] = sum.gpu_sec;
    u->row.v[BJ_JOB_MIB_SEC] = sum.memory_mib_sec;
    int r = bj_upsert_begin_job(u, &id, &fresh, err);
    return r < 0 ? r : bj_upsert_end_job(u, id, err);
}

int bj_upsert_join_size(struct bj_upsert *u, int64_t id,
                        const struct bj_sched_job *job, struct bj_err *err)
{
    struct bj_pbs_sizes sizes = {.size = NULL};
    struct bj_pbs_size_record record = {.kind = job->sizes_kind,
                                        .run_start = u->row.v[BJ_COL_START],
                                        .suspended = u->row.v[BJ_COL_SUSPENDED],
                                        .elapsed =
                                            bj_sql_u64(job->size->elapsed_sec)};
    int r = size_row(u, job->size, &record.size, err);
    record.size.v[BJ_SIZE_ELAPSED] = BJ_SQL_NULL;
    if (r == 0)
        r = read_sizes(u, id, &sizes, err);
    if (r == 0 && (r = bj_pbs_sizes_join(&sizes, &record)) < 0)
        bj_err_set(err, r, "sizes of a job");
    if (r > 0)
        r = write_sizes(u, id, &sizes, err);
    if (r == 0 && record.kind == BJ_SIZE_LAST)
        r = put_sums(u, &sizes, err);
    bj_pbs_sizes_free(&sizes);
    return r;
}
