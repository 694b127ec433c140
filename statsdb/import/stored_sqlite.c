#include "statsdb/import/pbs_run.h"
#include "statsdb/import/stored.h"

#include <stdlib.h>

/* Statements, made from the columns of the tables. */
enum {
    ST_KNOWN,
    ST_RUNS,
    ST_FIND,
    ST_FIND_SLUID,
    ST_MORE,
    ST_STEPS,
    ST_JOB_ADD,
    ST_MORE_ADD,
    ST_STEP_ADD,
    ST_JOB_SET,
    ST_JOB_SET_PLAIN,
    ST_MORE_SET,
    ST_STEP_SET,
    STATEMENTS
};

struct bj_stored {
    struct bj_st *st[STATEMENTS];
};

static const struct statement {
    const struct bj_row_table *table;
    enum { PLAIN, FIND, ADD, SET, SET_PLAIN } kind;
    const char *sql; /* all of it, or what follows the columns of a FIND */
} statements[STATEMENTS] = {
    [ST_KNOWN] = {.sql = BJ_SQL_KNOWN_JOB("?")},
    [ST_RUNS] = {.sql = "SELECT " BJ_PBS_RUN_SQL " FROM job WHERE cluster = ?1"
                        " AND jobid = ?2 AND submit >= ?3 AND submit < ?4"},
    [ST_FIND] = {&bj_table_job, FIND,
                 ", id FROM job WHERE cluster = ?1 AND jobid = ?2"
                 " AND submit = ?3"},
    [ST_FIND_SLUID] = {&bj_table_job, FIND, ", id FROM job WHERE sluid = ?1"},
    [ST_MORE] = {&bj_table_more, FIND, " FROM job_more WHERE job = ?1"},
    [ST_STEPS] = {&bj_table_step, FIND, " FROM step WHERE job = ?1"},
    [ST_JOB_ADD] = {&bj_table_job, ADD, NULL},
    [ST_MORE_ADD] = {&bj_table_more, ADD, NULL},
    [ST_STEP_ADD] = {&bj_table_step, ADD, NULL},
    [ST_JOB_SET] = {&bj_table_job, SET, NULL},
    [ST_JOB_SET_PLAIN] = {&bj_table_job, SET_PLAIN, NULL},
    [ST_MORE_SET] = {&bj_table_more, SET_PLAIN, NULL},
    [ST_STEP_SET] = {&bj_table_step, SET_PLAIN, NULL},
};

static int stored_sqlite_prepare(struct bj_db *db, const struct statement *s,
                                 struct bj_st **ret, struct bj_err *err)
{
    struct bj_buf sql = {0};
    if (s->kind == FIND) {
        bj_buf_str(&sql, "SELECT ");
        bj_row_sql_columns(s->table, &sql);
    }
    if (s->sql)
        bj_buf_str(&sql, s->sql);
    else if (s->kind == ADD)
        bj_row_sql_insert(s->table, &sql);
    else
        bj_row_sql_update(s->table, s->kind == SET_PLAIN, &sql);
    return bj_db_prepare_buf(db, &sql, ret, err);
}

static void sqlite_close(struct bj_stored *s)
{
    for (int i = 0; s && i < STATEMENTS; i++)
        bj_st_finalize(s->st[i]);
    free(s);
}

static int sqlite_open(struct bj_db *db, struct bj_stored **ret,
                       struct bj_err *err)
{
    struct bj_stored *s = calloc(1, sizeof(*s));
    int r = s ? 0 : bj_err_set(err, -ENOMEM, "upsert");
    for (int i = 0; r == 0 && i < STATEMENTS; i++)
        r = stored_sqlite_prepare(db, &statements[i], &s->st[i], err);
    if (r < 0)
        sqlite_close(s);
    else
        *ret = s;
    return r;
}

static void sqlite_reset(struct bj_stored *s)
{
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_reset(s->st[i]);
}

/* --- finding -------------------------------------------------------------- */

static int sqlite_known(struct bj_stored *s, struct bj_batch *b,
                        struct bj_err *err)
{
    static const unsigned char columns[] = {
        BJ_JOB_CLUSTER, BJ_JOB_RAW_ID, BJ_JOB_ARRAY_JOB, BJ_JOB_ARRAY_TASK,
        BJ_JOB_SUBMIT,  BJ_COL_START,  BJ_COL_END};
    struct bj_st *st = s->st[ST_KNOWN];
    int res = 0;
    for (struct bj_batch_record *r = b->record; res >= 0 && r; r = r->next) {
        bj_st_clear(st);
        for (int i = 0; i < (int)sizeof(columns); i++)
            if (columns[i] != BJ_JOB_SUBMIT || r->row.v[BJ_JOB_SUBMIT] != 0)
                bj_row_bind_one(&bj_table_job, &r->row, columns[i], st, i + 1);
        res = bj_st_row(st, err);
        r->known = res > 0;
        bj_st_reset(st);
    }
    return res < 0 ? res : 0;
}

static int read_runs(struct bj_stored *s, struct bj_batch *b,
                     struct bj_batch_runs *runs, struct bj_err *err)
{
    struct bj_st *st = s->st[ST_RUNS];
    struct bj_row row = {.weak = false};
    int r;
    bj_row_bind_one(&bj_table_job, runs->of, BJ_JOB_CLUSTER, st, 1);
    bj_row_bind_one(&bj_table_job, runs->of, BJ_JOB_RAW_ID, st, 2);
    bj_st_bind_i64(st, 3, runs->from);
    bj_st_bind_i64(st, 4, runs->to);
    while ((r = bj_st_row(st, err)) > 0) {
        const struct bj_pbs_run run = bj_pbs_run_read(st, 0);
        bj_pbs_row(runs->of, &run, &row);
        r = bj_batch_list_run(b, runs, &row, err);
        if (r < 0)
            break;
    }
    bj_st_reset(st);
    return r;
}

static int sqlite_runs(struct bj_stored *s, struct bj_batch *b,
                       struct bj_err *err)
{
    int r = 0;
    for (struct bj_batch_runs *l = b->runs; r == 0 && l; l = l->next)
        r = read_runs(s, b, l, err);
    return r;
}

static int read_more(struct bj_stored *s, struct bj_batch *b,
                     struct bj_batch_job *j, struct bj_err *err)
{
    struct bj_st *st = s->st[ST_MORE];
    struct bj_row row = {.weak = false};
    j->more_read = true;
    bj_st_bind_i64(st, 1, j->id);
    int r = bj_st_row(st, err);
    if (r > 0) {
        bj_row_read(&bj_table_more, st, 0, &row);
        r = bj_batch_take_more(b, j, &row, err);
    }
    bj_st_reset(st);
    return r;
}

static int read_steps(struct bj_stored *s, struct bj_batch *b,
                      struct bj_batch_job *j, struct bj_err *err)
{
    struct bj_st *st = s->st[ST_STEPS];
    struct bj_row row = {.weak = false};
    int r;
    j->steps_read = true;
    bj_st_bind_i64(st, 1, j->id);
    while ((r = bj_st_row(st, err)) > 0) {
        bj_row_read(&bj_table_step, st, 0, &row);
        r = bj_batch_take_step(b, j, &row, err);
        if (r < 0)
            break;
    }
    bj_st_reset(st);
    return r;
}

/* Read the job at the row of a statement, with what the record needs. */
static int stored_sqlite_read_job(struct bj_stored *s, struct bj_batch *b,
                                  struct bj_batch_record *r, struct bj_st *st,
                                  struct bj_err *err)
{
    r->found = bj_st_get_i64(st, BJ_JOB_COLS);
    struct bj_batch_job *j = bj_batch_stored(b, r->found);
    struct bj_row row = {.weak = false};
    int res = j ? 0 : bj_err_set(err, -ENOMEM, "rows");
    if (res == 0 && !j->old) {
        bj_row_read(&bj_table_job, st, 0, &row);
        res = bj_batch_take_job(b, j, &row, err);
    }
    bj_st_reset(st);
    if (res == 0 && !j->steps_read)
        res = read_steps(s, b, j, err);
    if (res == 0 && !j->more_read &&
        (r->more || bj_batch_is_task(&r->row) || bj_batch_is_task(j->old)))
        res = read_more(s, b, j, err);
    return res;
}

static int stored_sqlite_find(struct bj_stored *s, struct bj_batch *b,
                              struct bj_batch_record *r, struct bj_err *err)
{
    struct bj_st *st = s->st[ST_FIND];
    bj_row_bind_one(&bj_table_job, &r->row, BJ_JOB_CLUSTER, st, 1);
    bj_row_bind_one(&bj_table_job, &r->row, BJ_JOB_RAW_ID, st, 2);
    bj_row_bind_one(&bj_table_job, &r->row, BJ_JOB_SUBMIT, st, 3);
    int res = bj_st_row(st, err);
    if (res == 0 && r->row.v[BJ_JOB_SLUID] != BJ_SQL_NULL) {
        st = s->st[ST_FIND_SLUID];
        bj_row_bind_one(&bj_table_job, &r->row, BJ_JOB_SLUID, st, 1);
        res = bj_st_row(st, err);
    }
    return res > 0 ? stored_sqlite_read_job(s, b, r, st, err) : res;
}

static int sqlite_find(struct bj_stored *s, struct bj_batch *b,
                       struct bj_err *err)
{
    int res = 0;
    for (struct bj_batch_record *r = b->record; res == 0 && r; r = r->next)
        res = stored_sqlite_find(s, b, r, err);
    return res;
}

/* --- writing -------------------------------------------------------------- */

static int write_job(struct bj_stored *s, struct bj_batch_job *j,
                     struct bj_err *err)
{
    struct bj_st *st;
    int r;
    if (!j->old) {
        st = s->st[ST_JOB_ADD];
        bj_row_bind(&bj_table_job, j->row, st);
        r = bj_st_insert(st, &j->id, err);
        return r > 0    ? 0
               : r == 0 ? bj_err_set(err, -EPROTO,
                                     "a job was neither found nor inserted")
                        : r;
    }
    if (j->change == BJ_ROW_SAME)
        return 0;
    const bool plain = j->change == BJ_ROW_PLAIN;
    st = s->st[plain ? ST_JOB_SET_PLAIN : ST_JOB_SET];
    int at = plain ? bj_row_bind_plain(&bj_table_job, j->row, st)
                   : bj_row_bind(&bj_table_job, j->row, st);
    bj_st_bind_i64(st, at, j->id);
    return bj_st_run(st, err);
}

/* Insert a row that has the number of the job in a column, or change it. */
static int write_row(struct bj_stored *s, const struct bj_batch_job *j,
                     const struct statement *add, const struct bj_row *row,
                     bool stored, unsigned column, struct bj_err *err)
{
    struct bj_row of = *row;
    struct bj_st *st = s->st[add - statements];
    of.v[column] = j->id;
    if (!stored) {
        bj_row_bind(add->table, &of, st);
        return bj_st_run(st, err);
    }
    st = s->st[add->table == &bj_table_more ? ST_MORE_SET : ST_STEP_SET];
    int at = bj_row_bind_plain(add->table, &of, st);
    bj_st_bind_i64(st, at, j->id);
    if (add->table == &bj_table_step)
        bj_st_bind_i64(st, at + 1, row->v[BJ_STEP_SLOT]);
    return bj_st_run(st, err);
}

static int sqlite_write(struct bj_stored *s, struct bj_batch *b,
                        struct bj_err *err)
{
    int r = 0;
    for (struct bj_batch_job *j = b->job; r == 0 && j; j = j->next) {
        r = write_job(s, j, err);
        if (r == 0 && j->more_changed)
            r = write_row(s, j, &statements[ST_MORE_ADD], j->more,
                          j->more_stored, BJ_MORE_JOB, err);
        for (unsigned i = 0; r == 0 && i < j->steps; i++) {
            const struct bj_batch_step *step = &j->step[i];
            if (step->changed || !step->stored)
                r = write_row(s, j, &statements[ST_STEP_ADD], step->row,
                              step->stored, BJ_STEP_JOB, err);
        }
    }
    return r;
}

const struct bj_stored_kind bj_stored_sqlite = {
    .open = sqlite_open,
    .close = sqlite_close,
    .reset = sqlite_reset,
    .known = sqlite_known,
    .runs = sqlite_runs,
    .find = sqlite_find,
    .write = sqlite_write,
};
