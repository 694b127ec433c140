/* Stores gathered jobs by few requests, for PostgreSQL.
 *
 * The words of all jobs are looked up and added together. One request finds the
 * jobs that exist, others read their rows, into which the gathered ones are
 * merged; new rows are loaded. Records of one job are merged in memory. Jobs
 * with repeated steps, and jobs with unusual keys, are stored one by one at the
 * end, in their order. */
#include "base/array.h"
#include "statsdb/import/upsert_gather.h"

#include <stdio.h>

static const struct bj_row_table *const tables[BJ_GATHER_TABLES] = {
    &bj_table_job, &bj_table_more, &bj_table_step};
static const char *const names[BJ_GATHER_TABLES] = {"job", "job_more", "step"};
static const char *const keys[BJ_GATHER_TABLES] = {"id", "job", "job"};

/* --- rows of jobs that exist ---------------------------------------------- */

/* OFFSET 0 makes PostgreSQL search an index for each row. Without statistics,
 * it expects so many steps per job that it would read the whole table. */
static int prepare_fetch(struct bj_upsert *u, int table, struct bj_err *err)
{
    struct bj_buf sql = {0};
    if (u->gather->of[table].fetch)
        return 0;
    bj_buf_str(&sql, "SELECT w.w_n, ");
    bj_row_sql_columns(tables[table], &sql);
    bj_buf_printf(&sql,
                  " FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]))"
                  " AS w(w_n, w_id) CROSS JOIN LATERAL (SELECT * FROM %s WHERE"
                  " %s = w.w_id OFFSET 0) AS t",
                  names[table], keys[table]);
    return bj_db_prepare_buf(u->db, &sql, &u->gather->of[table].fetch, err);
}

/* Add the numbers of known jobs. */
static void want(struct bj_gather *g)
{
    for (int i = 0; i < g->jobs; i++) {
        if (g->job[i].how != BJ_JOB_KNOWN)
            continue;
        bj_arrays_i64(&g->rows, 0, i);
        bj_arrays_i64(&g->rows, 1, g->job[i].id);
        g->rows.rows++;
    }
}

/* The gathered step of a slot, or NULL.  The slots of steps that are not stored
 * alone increase. */
static struct bj_gathered_row *
step_at(const struct bj_gather *g, const struct bj_gathered *j, int64_t slot)
{
    int from = j->step, upto = j->step + j->steps;
    while (from < upto) {
        const int middle = from + (upto - from) / 2;
        const int64_t at = g->other[middle].row.v[BJ_STEP_SLOT];
        if (at == slot)
            return &g->other[middle];
        if (at < slot)
            from = middle + 1;
        else
            upto = middle;
    }
    return NULL;
}

static int take_old(struct bj_gather *g, int table, struct bj_err *err)
{
    struct bj_st *st = g->of[table].fetch;
    int64_t at = bj_st_get_i64(st, 0);
    struct bj_row read = {.energy_of_steps = false};
    struct bj_gathered_row *step = NULL;
    if (at < 0 || at >= g->jobs)
        return bj_err_set(err, -EPROTO, "rows of other jobs");
    struct bj_gathered *j = &g->job[at];
    bj_row_read(tables[table], st, 1, &read);
    if (table == BJ_GATHER_STEP) {
        step = step_at(g, j, read.v[BJ_STEP_SLOT]);
        if (!step)
            bj_row_add_step(&read, &j->sum);
        if (!step)
            return 0;
    }
    struct bj_row *row = bj_arena_alloc(&g->memory, sizeof(*row));
    if (!row)
        return bj_err_set(err, -ENOMEM, "rows");
    *row = read;
    bj_gather_keep(g, row);
    if (step)
        step->old = row;
    else if (table == BJ_GATHER_MORE)
        j->old_more = row;
    else
        j->old = row;
    return 0;
}

static int fetch_table(struct bj_upsert *u, int table, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    want(g);
    if (g->rows.rows == 0)
        return 0;
    int r = prepare_fetch(u, table, err);
    struct bj_st *st = g->of[table].fetch;
    if (r == 0)
        r = bj_arrays_bind(&g->rows, 2, st, err);
    while (r == 0 && (r = bj_st_row(st, err)) > 0)
        r = take_old(g, table, err);
    bj_st_reset(st);
    bj_arrays_clear(&g->rows);
    return r;
}

/* Would the job split a record of waiting tasks? bj_upsert_put_job does that.
 */
static bool is_split(const struct bj_gathered *j)
{
    return (j->task || bj_gather_is_task(j->old)) && j->old_more &&
           j->old_more->v[BJ_MORE_REST] != BJ_SQL_NULL;
}

static bool has_step_alone(const struct bj_gather *g,
                           const struct bj_gathered *j)
{
    for (int i = j->step; i < j->step + j->steps; i++)
        if (g->other[i].alone)
            return true;
    return false;
}

static int fetch(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    int r = 0;
    for (struct bj_gathered *j = g->job; j < g->job + g->jobs; j++) {
        bj_step_sum_begin(&j->sum);
        if (j->how == BJ_JOB_KNOWN && has_step_alone(g, j))
            j->how = BJ_JOB_ALONE;
    }
    for (int i = 0; r == 0 && i < BJ_GATHER_TABLES; i++)
        r = fetch_table(u, i, err);
    for (struct bj_gathered *j = g->job; r == 0 && j < g->job + g->jobs; j++)
        if (j->how == BJ_JOB_KNOWN && (!j->old || is_split(j)))
            j->how = BJ_JOB_ALONE;
    return r < 0 || !g->memory.failed ? r : bj_err_set(err, -ENOMEM, "rows");
}

/* --- merging -------------------------------------------------------------- */

static int list(struct bj_row_list *l, const struct bj_row *row,
                struct bj_err *err)
{
    if (!BJ_GROW(l->row, l->n + 1, l->cap))
        return bj_err_set(err, -ENOMEM, "rows");
    l->row[l->n++] = row;
    return 0;
}

/* Merge a row into that of the database; 1: it has changed. A job's usage is
 * completed by sum. */
static int merge_row(struct bj_gather *g, int table, const struct bj_row *old,
                     const struct bj_step_sum *sum, struct bj_row *row,
                     struct bj_err *err)
{
    enum bj_row_change change = bj_row_merge(tables[table], old, row);
    if (sum)
        change = bj_row_complete(sum, old, row);
    if (change == BJ_ROW_SAME)
        return 0;
    int r = list(&g->of[table].changed, row, err);
    return r < 0 ? r : 1;
}

static int merge_step(struct bj_upsert *u, struct bj_gathered *j,
                      struct bj_gathered_row *step, struct bj_err *err)
{
    if (step->alone)
        return 0;
    if (!step->old) {
        bj_row_add_step(&step->row, &j->sum);
        return list(&u->gather->of[BJ_GATHER_STEP].loaded, &step->row, err);
    }
    int r =
        merge_row(u->gather, BJ_GATHER_STEP, step->old, NULL, &step->row, err);
    bj_row_add_step(&step->row, &j->sum);
    u->counts.steps_changed += r > 0;
    u->counts.steps_same += r == 0;
    return r;
}

static int merge_more(struct bj_gather *g, struct bj_gathered *j,
                      struct bj_err *err)
{
    if (j->more == BJ_GATHER_NONE)
        return 0;
    struct bj_row *more = &g->other[j->more].row;
    more->weak = j->row.weak;
    if (!j->old_more)
        return list(&g->of[BJ_GATHER_MORE].loaded, more, err);
    int r = merge_row(g, BJ_GATHER_MORE, j->old_more, NULL, more, err);
    j->more_changed = r > 0;
    return r;
}

static int merge_job(struct bj_upsert *u, struct bj_gathered *j,
                     struct bj_err *err)
{
    int r;
    if (j->how == BJ_JOB_NEW) {
        r = bj_upsert_month(u, j->id, &j->row, err);
        return r < 0 ? r
                     : list(&u->gather->of[BJ_GATHER_JOB].loaded, &j->row, err);
    }
    r = merge_row(u->gather, BJ_GATHER_JOB, j->old, &j->sum, &j->row, err);
    j->changed = r > 0;
    u->counts.jobs_changed += r > 0;
    u->counts.jobs_same += r == 0;
    return r > 0 ? bj_upsert_month(u, j->id, &j->row, err) : r;
}

/* Merge the row of job_more of a later record of a job into its row, which is
 * listed only once. */
static int merge_more_into_first(struct bj_gather *g, struct bj_gathered *j,
                                 struct bj_err *err)
{
    struct bj_gathered *to = j->first;
    if (j->more == BJ_GATHER_NONE)
        return 0;
    if (to->more == BJ_GATHER_NONE) {
        to->more = j->more;
        return merge_more(g, to, err);
    }
    struct bj_row *old = &g->other[to->more].row, *row = &g->other[j->more].row;
    row->weak = j->row.weak;
    if (bj_row_merge(&bj_table_more, old, row) == BJ_ROW_SAME)
        return 0;
    *old = *row;
    if (!to->old_more || to->more_changed)
        return 0;
    to->more_changed = true;
    return list(&g->of[BJ_GATHER_MORE].changed, old, err);
}

static int merge_into_first(struct bj_upsert *u, struct bj_gathered *j,
                            struct bj_err *err)
{
    struct bj_gathered *to = j->first;
    int r = 0;
    enum bj_row_change change = bj_row_merge(&bj_table_job, &to->row, &j->row);
    if (to->how == BJ_JOB_KNOWN)
        change = bj_row_complete(&to->sum, &to->row, &j->row);
    if (change == BJ_ROW_SAME) {
        u->counts.jobs_same++;
    } else {
        u->counts.jobs_changed++;
        to->row = j->row;
        r = bj_upsert_month(u, to->id, &to->row, err);
        if (r == 0 && to->how == BJ_JOB_KNOWN && !to->changed)
            r = list(&u->gather->of[BJ_GATHER_JOB].changed, &to->row, err);
        to->changed = to->how == BJ_JOB_KNOWN;
    }
    return r < 0 ? r : merge_more_into_first(u->gather, j, err);
}

/* List the new and changed rows of a job. */
static int merge(struct bj_upsert *u, struct bj_gathered *j, struct bj_err *err)
{
    if (j->how == BJ_JOB_MERGED && j->first->how == BJ_JOB_ALONE)
        j->how = BJ_JOB_ALONE;
    if (j->how == BJ_JOB_ALONE)
        return 0;
    if (j->how == BJ_JOB_MERGED)
        return merge_into_first(u, j, err);
    int r = 0;
    for (int i = j->step; r >= 0 && i < j->step + j->steps; i++)
        r = merge_step(u, j, &u->gather->other[i], err);
    if (r >= 0)
        r = merge_job(u, j, err);
    if (r >= 0)
        r = merge_more(u->gather, j, err);
    return r < 0 ? r : 0;
}

/* --- daily sums ----------------------------------------------------------- */

static int find_assoc(struct bj_upsert *u, struct bj_gathered *j,
                      struct bj_err *err)
{
    int r =
        j->changed ? bj_upsert_assoc(u, j->old, true, &j->old_assoc, err) : 0;
    if (r == 0 && (j->changed || j->how == BJ_JOB_NEW))
        r = bj_upsert_assoc(u, &j->row, true, &j->assoc, err);
    return r;
}

static int add_sums(struct bj_upsert *u, struct bj_gathered *j,
                    struct bj_err *err)
{
    int64_t assoc = bj_dicts_settled(u->dicts, j->assoc);
    int64_t before = bj_dicts_settled(u->dicts, j->old_assoc);
    int r = j->changed ? bj_rollup_add(u->rollup, before, j->old, -1, err) : 0;
    if (r == 0 && (j->changed || j->how == BJ_JOB_NEW))
        r = bj_rollup_add(u->rollup, assoc, &j->row, 1, err);
    return r;
}

static int settle_assoc(struct bj_upsert *u, struct bj_err *err)
{
    return bj_dicts_settle(u->dicts, err);
}

/* --- writing -------------------------------------------------------------- */

/* The column for the number of a job, which is not in its row. */
static const char *number_column(int table)
{
    return table == BJ_GATHER_JOB ? "id" : NULL;
}

static void values_of(int table, const struct bj_row *row, struct bj_value *ret)
{
    bj_row_values(tables[table], row, ret);
    if (table == BJ_GATHER_JOB)
        ret[BJ_JOB_COLS] = (struct bj_value){
            BJ_TYPE_INTEGER, .i64 = ((const struct bj_gathered *)row)->id};
}

struct loading {
    int table;
    const struct bj_row_list *list;
    size_t at;
};

static int next(void *ctx, struct bj_value *ret, struct bj_err *err)
{
    struct loading *l = ctx;
    (void)err;
    if (l->at == l->list->n)
        return 0;
    values_of(l->table, l->list->row[l->at++], ret);
    return 1;
}

static int load(struct bj_upsert *u, int table, struct bj_err *err)
{
    const char *column[BJ_ROW_COLS + 1];
    const struct bj_row_list *list = &u->gather->of[table].loaded;
    int n = bj_row_names(tables[table], column);
    if (number_column(table))
        column[n++] = number_column(table);
    const struct bj_load load = {
        .table = names[table],
        .column = column,
        .columns = n,
        .next = next,
        .ctx = &(struct loading){.table = table, .list = list}};
    return list->n > 0 ? bj_db_load(u->db, &load, err) : 0;
}

static int prepare_change(struct bj_upsert *u, int table, struct bj_err *err)
{
    struct bj_buf sql = {0};
    if (u->gather->of[table].change)
        return 0;
    bj_row_sql_change(tables[table], number_column(table), &sql);
    return bj_db_prepare_buf(u->db, &sql, &u->gather->of[table].change, err);
}

static void add_values(struct bj_arrays *a, const struct bj_value *v,
                       unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (v[i].type == BJ_TYPE_TEXT)
            bj_arrays_text(a, i, v[i].text);
        else
            bj_arrays_i64(a, i,
                          v[i].type == BJ_TYPE_NULL ? BJ_SQL_NULL : v[i].i64);
    a->rows++;
}

static int change(struct bj_upsert *u, int table, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    const char *column[BJ_ROW_COLS + 1];
    struct bj_value v[BJ_ROW_COLS + 1];
    const struct bj_row_list *list = &g->of[table].changed;
    unsigned n = (unsigned)bj_row_names(tables[table], column) +
                 (number_column(table) != NULL);
    if (list->n == 0)
        return 0;
    int r = prepare_change(u, table, err);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        values_of(table, list->row[i], v);
        add_values(&g->rows, v, n);
    }
    return r < 0 ? r : bj_arrays_run(&g->rows, n, g->of[table].change, err);
}

static int write(struct bj_upsert *u, struct bj_err *err)
{
    int r = 0;
    for (int i = 0; r == 0 && i < BJ_GATHER_TABLES; i++) {
        r = change(u, i, err);
        if (r == 0)
            r = load(u, i, err);
    }
    u->counts.jobs_new += u->gather->of[BJ_GATHER_JOB].loaded.n;
    u->counts.steps_new += u->gather->of[BJ_GATHER_STEP].loaded.n;
    return r;
}

/* --- one by one ----------------------------------------------------------- */

static int put_steps(struct bj_upsert *u, const struct bj_gathered *j,
                     int64_t id, bool fresh, struct bj_err *err)
{
    int r = 0;
    for (int i = j->step; r == 0 && i < j->step + j->steps; i++) {
        const struct bj_gathered_row *step = &u->gather->other[i];
        if (j->how != BJ_JOB_ALONE && !step->alone)
            continue;
        u->row = step->row;
        u->row.v[BJ_STEP_JOB] = id;
        r = bj_upsert_put_step(u, fresh, err);
    }
    return r;
}

static int put(struct bj_upsert *u, struct bj_gathered *j, struct bj_err *err)
{
    int64_t id;
    bool fresh;
    if (j->how != BJ_JOB_ALONE)
        return put_steps(u, j, j->id, j->how == BJ_JOB_NEW, err);
    u->row = j->row;
    u->number = j->id;
    int r = bj_upsert_begin_job(u, &id, &fresh, err);
    if (r == 0 && j->more != BJ_GATHER_NONE) {
        u->row = u->gather->other[j->more].row;
        r = bj_upsert_put_more(u, id, fresh, err);
    }
    if (r == 0)
        r = put_steps(u, j, id, fresh, err);
    return r < 0 ? r : bj_upsert_end_job(u, id, err);
}

/* --- all ------------------------------------------------------------------ */

static const char *id_text(const struct bj_gathered *j, char *ret, size_t size)
{
    struct bj_slice id = j->row.s[0];
    if (id.n > 0)
        snprintf(ret, size, "%.*s", (int)id.n, id.p);
    else
        snprintf(ret, size, "%lld", (long long)j->row.v[BJ_JOB_RAW_ID]);
    return ret;
}

/* Call a function for each job; error messages contain the job. */
static int each(struct bj_upsert *u,
                int (*call)(struct bj_upsert *, struct bj_gathered *,
                            struct bj_err *),
                struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    struct bj_err own = {0};
    char id[64];
    for (struct bj_gathered *j = g->job; j < g->job + g->jobs; j++) {
        int r = call(u, j, &own);
        if (r < 0)
            return bj_err_copy(
                err, bj_err_wrap(&own, r, "job %s", id_text(j, id, sizeof(id))),
                &own);
    }
    return 0;
}

/* Call a function for all jobs; error messages contain the first and the last
 * job. */
static int for_all(struct bj_upsert *u,
                   int (*call)(struct bj_upsert *, struct bj_err *),
                   struct bj_err *err)
{
    const struct bj_gather *g = u->gather;
    struct bj_err own = {0};
    char first[64], last[64];
    int r = call(u, &own);
    return r < 0 ? bj_err_set(err, r, "jobs %s to %s: %s",
                              id_text(g->job, first, sizeof(first)),
                              id_text(&g->job[g->jobs - 1], last, sizeof(last)),
                              own.msg)
                 : 0;
}

int bj_gather_store(struct bj_upsert *u, struct bj_err *err)
{
    enum { PARTS = 11 };
    static const struct {
        int (*all)(struct bj_upsert *, struct bj_err *);
        int (*each)(struct bj_upsert *, struct bj_gathered *, struct bj_err *);
    } parts[PARTS] = {
        {.all = bj_gather_settle},
        {.all = bj_gather_known},
        {.all = bj_gather_runs},
        {.all = bj_gather_find},
        {.all = fetch},
        {.each = merge},
        {.each = find_assoc},
        {.all = settle_assoc},
        {.each = add_sums},
        {.all = write},
        {.each = put},
    };
    struct bj_gather *g = u->gather;
    int r = 0;
    for (int i = 0; i < BJ_GATHER_TABLES; i++)
        g->of[i].loaded.n = g->of[i].changed.n = 0;
    for (size_t i = 0; r == 0 && g->jobs > 0 && i < PARTS; i++)
        r = parts[i].all ? for_all(u, parts[i].all, err)
                         : each(u, parts[i].each, err);
    bj_gather_drop(g);
    return r;
}
