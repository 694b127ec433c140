#include "apiserver/v1/jobs.h"

#include "apiserver/frame/state.h"
#include "apiserver/v1/table.h"
#include "statsdb/job/job_value.h"

#include <pthread.h>
#include <string.h>

/* --- keys -------------------------------------------------------------------
 */

/* The index of a value in the statement, which contains each value once. */
static unsigned char place_of(struct bj_picked *k, const char *sql)
{
    unsigned i = 0;
    while (i < k->values && strcmp(k->sql[i], sql) != 0)
        i++;
    if (i == k->values)
        k->sql[k->values++] = sql;
    return (unsigned char)i;
}

static void pick(struct bj_picked *k, unsigned at)
{
    const struct bj_job_column *key = &bj_job_columns[at];
    for (unsigned i = 0; i < BJ_JOB_VALUES && key->sql[i]; i++)
        k->value[k->n][i] = place_of(k, key->sql[i]);
    k->at[k->n] = (unsigned char)at;
    k->key[k->n++] = key->name;
    k->derived = k->derived || bj_job_column_is_derived(key);
}

/* The columns of requests without "fields": of lists, and of one job. */
static struct bj_picked of_lists, of_job;

static void pick_defaults(void)
{
    for (unsigned i = 0; bj_job_columns[i].name; i++) {
        pick(&of_job, i);
        if (bj_job_columns[i].in == BJ_IN_LISTS)
            pick(&of_lists, i);
    }
}

int bj_jobs_pick(struct bj_call *c, const struct bj_params *p, bool all,
                 struct bj_picked *ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool want[BJ_JOB_COLUMNS] = {false};
    if (!p->given[BJ_PARAM_FIELDS]) {
        pthread_once(&once, pick_defaults);
        *ret = all ? of_job : of_lists;
        return 0;
    }
    for (unsigned i = 0; i < p->values; i++) {
        struct bj_slice s = p->value[i].text;
        if (p->value[i].which != BJ_PARAM_FIELDS)
            continue;
        const struct bj_job_column *column = bj_job_column(s);
        if (!column)
            return bj_call_refuse(
                c, 400,
                "Unknown field '%.*s'; /api/v1/openapi.json lists them.",
                s.n < 60 ? (int)s.n : 60, s.p);
        want[column - bj_job_columns] = true;
    }
    ret->n = ret->values = 0;
    ret->derived = false;
    for (unsigned i = 0; bj_job_columns[i].name; i++)
        if (want[i])
            pick(ret, i);
    return 0;
}

void bj_jobs_select_values(struct bj_query *q, const struct bj_picked *k)
{
    bj_query_sql(q, "SELECT j.at, j.id");
    for (unsigned i = 0; i < k->values; i++) {
        bj_query_sql(q, ", ");
        bj_query_sql(q, k->sql[i]);
    }
}

void bj_jobs_select(struct bj_query *q, const struct bj_picked *k)
{
    bj_jobs_select_values(q, k);
    bj_query_sql(q, " FROM " BJ_JOB_FROM);
    if (q->months)
        bj_job_ranges_put(q->months, "m.job", &q->b.sql);
    if (k->derived)
        bj_query_sql(q, BJ_JOB_FROM_USE);
    if (k->derived && q->months)
        bj_job_ranges_put(q->months, "u.job", &q->b.sql);
    bj_query_sql(q, " WHERE 1 = 1");
}

/* --- rows ------------------------------------------------------------------
 */

enum { FIRST = 2 }; /* first value of a statement, after j.at and j.id */

static int word(void *ctx, enum bj_word which, int64_t id, struct bj_slice *ret,
                struct bj_err *err)
{
    struct bj_call *c = ctx;
    return bj_words_text(c->worker->words, c->reader, which, id, ret, err);
}

/* Write column i of the row. */
static int put_cell(const struct bj_picked *k, unsigned i,
                    struct bj_job_raw *raw, struct bj_rows *rows,
                    struct bj_err *err)
{
    const struct bj_job_column *column = &bj_job_columns[k->at[i]];
    struct bj_slice s;
    raw->at = k->value[i];
    if (!bj_job_is_text(column->kind)) {
        bj_table_number(column->kind, rows, bj_job_number(column, raw));
        return 0;
    }
    int r = bj_job_text(column, raw, &s, err);
    if (column->kind == BJ_AS_WORD_INT)
        bj_put_number(rows, s);
    else
        bj_put_text(rows, s);
    return r;
}

void bj_jobs_numbers(const struct bj_picked *k, struct bj_st *st,
                     int64_t ret[BJ_JOB_COLUMNS])
{
    struct bj_value values[BJ_PICKED_VALUES];
    bj_st_get(st, FIRST, k->values, values);
    for (unsigned i = 0; i < k->n; i++)
        ret[i] = bj_job_number(
            &bj_job_columns[k->at[i]],
            &(struct bj_job_raw){.row = values, .at = k->value[i]});
}

int bj_jobs_row(struct bj_call *c, const struct bj_picked *k, struct bj_st *st,
                struct bj_rows *rows)
{
    struct bj_value values[BJ_PICKED_VALUES];
    struct bj_job_raw raw;
    int r = 0;
    raw.row = values;
    raw.word = word;
    raw.ctx = c;
    raw.scratch = &c->worker->scratch;
    bj_st_get(st, FIRST, k->values, values);
    bj_row_begin(rows);
    for (unsigned i = 0; i < k->n && r == 0; i++)
        r = put_cell(k, i, &raw, rows, &c->err);
    bj_row_end(rows);
    return r;
}

void bj_jobs_with_gpu(struct bj_query *q, const struct bj_params *p)
{
    if (p->given[BJ_PARAM_GPU])
        bj_query_sql(q, p->number[BJ_PARAM_GPU]
                            ? " AND +j.gpus > 0"
                            : " AND coalesce(j.gpus, 0) = 0");
}

int bj_jobs_refuse_partial(struct bj_call *c, const struct bj_jobs_end *end)
{
    return !end->partial
               ? 0
               : bj_call_refuse(c, 503,
                                "The search for jobs took too long; narrow "
                                "from and to, or name a user or an account.");
}
