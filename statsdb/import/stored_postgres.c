#include "base/array.h"
#include "statsdb/import/pbs_run.h"
#include "statsdb/import/stored.h"
#include "statsdb/tables/job_number.h"
#include "store/arrays.h"

#include <stdlib.h>

/* The tables of the rows. */
enum { JOB, MORE, STEP, TABLES };

static const struct {
    const struct bj_row_table *table;
    const char *name, *key;
    const char *number; /* a column that is not in the rows: the job's number */
} tables[TABLES] = {{&bj_table_job, "job", "id", "id"},
                    {&bj_table_more, "job_more", "job", NULL},
                    {&bj_table_step, "step", "job", NULL}};

enum {
    ST_KNOWN,
    ST_RUNS,
    ST_FIND,
    ST_FETCH,
    ST_CHANGE = ST_FETCH + TABLES,
    STATEMENTS = ST_CHANGE + TABLES
};

struct bj_stored {
    struct bj_db *db;
    struct bj_st *st[STATEMENTS]; /* prepared when they are needed */
    struct bj_arrays rows;        /* parameters of a request */
    int64_t *numbers;             /* of an answer */
    size_t numbers_cap;
};

/* clang-format off */
static const char known_sql[] =
    "SELECT string_agg(CASE WHEN EXISTS (" BJ_SQL_KNOWN_JOB("w.c") ") THEN '1'"
    " ELSE '0' END, ',' ORDER BY w.n) FROM unnest(CAST(?1 AS bigint[]),"
    " CAST(?2 AS text[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]),"
    " CAST(?5 AS bigint[]), CAST(?6 AS bigint[]), CAST(?7 AS bigint[])) WITH"
    " ORDINALITY AS w(c1, c2, c3, c4, c5, c6, c7, n)";
/* clang-format on */

/* OFFSET 0 makes PostgreSQL search an index for each row of the arrays. Without
 * statistics, it expects so many steps per job that it would read the whole
 * table. */
static const char runs_sql[] =
    "SELECT w.n, t.* FROM"
    " unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS text[]),"
    " CAST(?4 AS bigint[]), CAST(?5 AS bigint[]), CAST(?6 AS bigint[]),"
    " CAST(?7 AS bigint[])) AS w(n, cluster, jobid, a, b, first, last) CROSS"
    " JOIN LATERAL (SELECT " BJ_PBS_RUN_SQL " FROM job WHERE"
    " cluster = w.cluster AND jobid = w.jobid AND submit >= w.a AND submit <"
    " w.b AND id BETWEEN w.first AND w.last OFFSET 0) AS t";

enum { NONE = 0, TAKEN = -1 };

/* Selects the number of each job that exists; else NONE, or TAKEN: another job
 * has the number. Jobs with a key are in the partition of its second. */
static const char find_sql[] =
    "SELECT string_agg(CAST(coalesce((SELECT id FROM job WHERE cluster = w.c1"
    " AND jobid = w.c2 AND submit = w.c3 AND id BETWEEN w.c5 >> 32 << 32 AND"
    " (w.c5 >> 32 << 32) + 4294967295 LIMIT 1), CASE WHEN w.c4 IS NOT NULL THEN"
    " (SELECT id FROM job WHERE sluid = w.c4 LIMIT 1) END, CASE WHEN EXISTS"
    " (SELECT 1 FROM job WHERE id = w.c5) THEN -1 ELSE 0 END) AS text), ','"
    " ORDER BY w.n) FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS text[]),"
    " CAST(?3 AS bigint[]), CAST(?4 AS text[]), CAST(?5 AS bigint[])) WITH"
    " ORDINALITY AS w(c1, c2, c3, c4, c5, n)";

static void postgres_close(struct bj_stored *s)
{
    if (!s)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_finalize(s->st[i]);
    bj_arrays_free(&s->rows);
    free(s->numbers);
    free(s);
}

static int postgres_open(struct bj_db *db, struct bj_stored **ret,
                         struct bj_err *err)
{
    struct bj_stored *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "upsert");
    s->db = db;
    *ret = s;
    return 0;
}

static void postgres_reset(struct bj_stored *s)
{
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_reset(s->st[i]);
    bj_arrays_clear(&s->rows);
}

static int stored_postgres_prepare(struct bj_stored *s, int which,
                                   const char *sql, struct bj_err *err)
{
    return s->st[which] ? 0 : bj_db_prepare(s->db, sql, &s->st[which], err);
}

static void add_id(struct bj_stored *s, unsigned column,
                   const struct bj_row *row)
{
    if (row->s[0].n > 0)
        bj_arrays_text(&s->rows, column, row->s[0]);
    else
        bj_arrays_i64(&s->rows, column, row->v[BJ_JOB_RAW_ID]);
}

/* Run a statement that returns a number for each row of parameters. */
static int stored_postgres_ask(struct bj_stored *s, int which, unsigned columns,
                               struct bj_err *err)
{
    if (!BJ_GROW(s->numbers, s->rows.rows, s->numbers_cap))
        return bj_err_set(err, -ENOMEM, "rows");
    return bj_arrays_numbers(&s->rows, columns, s->st[which], s->numbers, err);
}

/* --- finding -------------------------------------------------------------- */

static int postgres_known(struct bj_stored *s, struct bj_batch *b,
                          struct bj_err *err)
{
    const int64_t *n;
    int res = stored_postgres_prepare(s, ST_KNOWN, known_sql, err);
    for (struct bj_batch_record *r = b->record; r; r = r->next) {
        const int64_t *v = r->row.v;
        bj_arrays_i64(&s->rows, 0, v[BJ_JOB_CLUSTER]);
        add_id(s, 1, &r->row);
        bj_arrays_i64(&s->rows, 2, v[BJ_JOB_ARRAY_JOB]);
        bj_arrays_i64(&s->rows, 3, v[BJ_JOB_ARRAY_TASK]);
        bj_arrays_i64(&s->rows, 4,
                      v[BJ_JOB_SUBMIT] ? v[BJ_JOB_SUBMIT] : BJ_SQL_NULL);
        bj_arrays_i64(&s->rows, 5, v[BJ_COL_START]);
        bj_arrays_i64(&s->rows, 6, v[BJ_COL_END]);
        s->rows.rows++;
    }
    if (res == 0)
        res = stored_postgres_ask(s, ST_KNOWN, 7, err);
    n = s->numbers;
    for (struct bj_batch_record *r = b->record; res == 0 && r; r = r->next)
        r->known = *n++ != 0;
    return res;
}

static void add_runs(struct bj_stored *s, const struct bj_batch_runs *l)
{
    bj_arrays_i64(&s->rows, 0, s->rows.rows);
    bj_arrays_i64(&s->rows, 1, l->of->v[BJ_JOB_CLUSTER]);
    add_id(s, 2, l->of);
    bj_arrays_i64(&s->rows, 3, l->from);
    bj_arrays_i64(&s->rows, 4, l->to);
    bj_arrays_i64(&s->rows, 5, bj_job_number_first(l->from));
    bj_arrays_i64(&s->rows, 6, bj_job_number_last(l->to));
    s->rows.rows++;
}

static int take_run(struct bj_stored *s, struct bj_batch *b,
                    struct bj_batch_runs *const *list, struct bj_err *err)
{
    const int64_t at = bj_st_get_i64(s->st[ST_RUNS], 0);
    const struct bj_pbs_run run = bj_pbs_run_read(s->st[ST_RUNS], 1);
    struct bj_row row = {.weak = false};
    if (at < 0 || at >= s->rows.rows)
        return bj_err_set(err, -EPROTO, "runs of other jobs");
    bj_pbs_row(list[at]->of, &run, &row);
    return bj_batch_list_run(b, list[at], &row, err);
}

static int postgres_runs(struct bj_stored *s, struct bj_batch *b,
                         struct bj_err *err)
{
    struct bj_batch_runs **list =
        bj_arena_alloc(&b->memory, b->records * sizeof(struct bj_batch_runs *));
    int r = list ? stored_postgres_prepare(s, ST_RUNS, runs_sql, err)
                 : bj_err_set(err, -ENOMEM, "runs");
    for (struct bj_batch_runs *l = b->runs; r == 0 && l; l = l->next) {
        list[s->rows.rows] = l;
        add_runs(s, l);
    }
    if (r == 0)
        r = bj_arrays_bind(&s->rows, 7, s->st[ST_RUNS], err);
    while (r == 0 && (r = bj_st_row(s->st[ST_RUNS], err)) > 0)
        r = take_run(s, b, list, err);
    bj_st_reset(s->st[ST_RUNS]);
    bj_arrays_clear(&s->rows);
    return r;
}

static int prepare_fetch(struct bj_stored *s, int table, struct bj_err *err)
{
    struct bj_buf sql = {0};
    if (s->st[ST_FETCH + table])
        return 0;
    bj_buf_str(&sql, "SELECT w_id, ");
    bj_row_sql_columns(tables[table].table, &sql);
    bj_buf_printf(&sql,
                  " FROM unnest(CAST(?1 AS bigint[])) AS w(w_id) CROSS JOIN"
                  " LATERAL (SELECT * FROM %s WHERE %s = w_id OFFSET 0) AS t",
                  tables[table].name, tables[table].key);
    return bj_db_prepare_buf(s->db, &sql, &s->st[ST_FETCH + table], err);
}

static int stored_postgres_take(struct bj_stored *s, struct bj_batch *b,
                                int table, struct bj_err *err)
{
    static int (*const takes[TABLES])(struct bj_batch *, struct bj_batch_job *,
                                      const struct bj_row *,
                                      struct bj_err *) = {
        bj_batch_take_job, bj_batch_take_more, bj_batch_take_step};
    struct bj_st *st = s->st[ST_FETCH + table];
    struct bj_batch_job *j = bj_batch_stored(b, bj_st_get_i64(st, 0));
    struct bj_row row = {.weak = false};
    if (!j)
        return bj_err_set(err, -ENOMEM, "rows");
    bj_row_read(tables[table].table, st, 1, &row);
    return takes[table](b, j, &row, err);
}

static int fetch(struct bj_stored *s, struct bj_batch *b, int table,
                 struct bj_err *err)
{
    int r = prepare_fetch(s, table, err);
    for (const struct bj_batch_job *j = b->job; j; j = j->next) {
        bj_arrays_i64(&s->rows, 0, j->id);
        s->rows.rows++;
    }
    if (r == 0)
        r = bj_arrays_bind(&s->rows, 1, s->st[ST_FETCH + table], err);
    while (r == 0 && (r = bj_st_row(s->st[ST_FETCH + table], err)) > 0)
        r = stored_postgres_take(s, b, table, err);
    bj_st_reset(s->st[ST_FETCH + table]);
    bj_arrays_clear(&s->rows);
    return r;
}

static int find_numbers(struct bj_stored *s, struct bj_batch *b,
                        struct bj_err *err)
{
    int res = stored_postgres_prepare(s, ST_FIND, find_sql, err);
    for (const struct bj_batch_record *r = b->record; r; r = r->next) {
        const struct bj_slice sluid = r->row.s[2];
        bj_arrays_i64(&s->rows, 0, r->row.v[BJ_JOB_CLUSTER]);
        add_id(s, 1, &r->row);
        bj_arrays_i64(&s->rows, 2, r->row.v[BJ_JOB_SUBMIT]);
        bj_arrays_text(&s->rows, 3,
                       sluid.n > 0 ? sluid : (struct bj_slice){NULL, 0});
        bj_arrays_i64(&s->rows, 4, r->number);
        s->rows.rows++;
    }
    return res < 0 ? res : stored_postgres_ask(s, ST_FIND, 5, err);
}

static int postgres_find(struct bj_stored *s, struct bj_batch *b,
                         struct bj_err *err)
{
    int res = find_numbers(s, b, err);
    const int64_t *n = s->numbers;
    for (struct bj_batch_record *r = b->record; res == 0 && r; r = r->next) {
        r->is_taken = *n == TAKEN;
        r->found = *n > NONE ? *n : 0;
        if (*n++ > NONE && !bj_batch_stored(b, r->found))
            res = bj_err_set(err, -ENOMEM, "rows");
    }
    for (int i = 0; res == 0 && b->job && i < TABLES; i++)
        res = fetch(s, b, i, err);
    for (const struct bj_batch_job *j = b->job; res == 0 && j; j = j->next)
        if (!j->old)
            res = bj_err_set(err, -EPROTO, "a job was found, but not read");
    return res;
}

/* --- writing -------------------------------------------------------------- */

/* The rows of a table that are new, or that have changed. */
struct rows {
    int table;
    bool changed;
    const struct bj_batch_job *job;
    unsigned step;
};

/* The next row, and its job. NULL: no more. */
static const struct bj_row *next_row(struct rows *l,
                                     const struct bj_batch_job **ret)
{
    for (const struct bj_batch_job *j; (j = l->job); l->job = j->next) {
        *ret = j;
        if (l->table == STEP) {
            while (l->step < j->steps) {
                const struct bj_batch_step *step = &j->step[l->step++];
                if (l->changed ? step->stored && step->changed : !step->stored)
                    return step->row;
            }
            l->step = 0;
            continue;
        }
        const bool job = l->table == JOB;
        const bool stored = job ? j->old != NULL : j->more_stored;
        const bool writes =
            job ? !stored || j->change != BJ_ROW_SAME : j->more_changed;
        if (writes && stored == l->changed) {
            l->job = j->next;
            return job ? j->row : j->more;
        }
    }
    return NULL;
}

/* The values of the next row. False: no more. */
static bool next_values(struct rows *l, struct bj_value *ret)
{
    static const unsigned char job_column[TABLES] = {BJ_JOB_COLS, BJ_MORE_JOB,
                                                     BJ_STEP_JOB};
    const struct bj_batch_job *j;
    const struct bj_row *row = next_row(l, &j);
    if (!row)
        return false;
    bj_row_values(tables[l->table].table, row, ret);
    ret[job_column[l->table]] =
        (struct bj_value){BJ_TYPE_INTEGER, .i64 = j->id};
    return true;
}

static int stored_postgres_next(void *ctx, struct bj_value *ret,
                                struct bj_err *err)
{
    (void)err;
    return next_values(ctx, ret);
}

static int columns_of(int table, const char **ret)
{
    int n = bj_row_names(tables[table].table, ret);
    if (tables[table].number)
        ret[n++] = tables[table].number;
    return n;
}

static int stored_postgres_load(struct bj_stored *s, struct bj_batch *b,
                                int table, struct bj_err *err)
{
    const char *column[BJ_ROW_COLS + 1];
    struct rows rows = {.table = table, .job = b->job}, any = rows;
    const struct bj_batch_job *j;
    const struct bj_load load = {.table = tables[table].name,
                                 .column = column,
                                 .columns = columns_of(table, column),
                                 .next = stored_postgres_next,
                                 .ctx = &rows};
    return next_row(&any, &j) ? bj_db_load(s->db, &load, err) : 0;
}

static int prepare_change(struct bj_stored *s, int table, struct bj_err *err)
{
    struct bj_buf sql = {0};
    if (s->st[ST_CHANGE + table])
        return 0;
    bj_row_sql_change(tables[table].table, tables[table].number, &sql);
    return bj_db_prepare_buf(s->db, &sql, &s->st[ST_CHANGE + table], err);
}

static void add_values(struct bj_arrays *a, const struct bj_value *v, int n)
{
    for (int i = 0; i < n; i++)
        if (v[i].type == BJ_TYPE_TEXT)
            bj_arrays_text(a, (unsigned)i, v[i].text);
        else
            bj_arrays_i64(a, (unsigned)i,
                          v[i].type == BJ_TYPE_NULL ? BJ_SQL_NULL : v[i].i64);
    a->rows++;
}

static int stored_postgres_change(struct bj_stored *s, struct bj_batch *b,
                                  int table, struct bj_err *err)
{
    const char *column[BJ_ROW_COLS + 1];
    struct bj_value v[BJ_ROW_COLS + 1];
    struct rows rows = {.table = table, .changed = true, .job = b->job};
    const int n = columns_of(table, column);
    while (next_values(&rows, v))
        add_values(&s->rows, v, n);
    if (s->rows.rows == 0)
        return 0;
    int r = prepare_change(s, table, err);
    return r < 0 ? r
                 : bj_arrays_run(&s->rows, (unsigned)n,
                                 s->st[ST_CHANGE + table], err);
}

static int postgres_write(struct bj_stored *s, struct bj_batch *b,
                          struct bj_err *err)
{
    int r = 0;
    for (int i = 0; r == 0 && i < TABLES; i++) {
        r = stored_postgres_change(s, b, i, err);
        if (r == 0)
            r = stored_postgres_load(s, b, i, err);
    }
    return r;
}

const struct bj_stored_kind bj_stored_postgres = {
    .open = postgres_open,
    .close = postgres_close,
    .reset = postgres_reset,
    .known = postgres_known,
    .runs = postgres_runs,
    .find = postgres_find,
    .write = postgres_write,
};
