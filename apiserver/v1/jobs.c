#include "apiserver/v1/jobs.h"

#include "apiserver/frame/state.h"
#include "apiserver/v1/table.h"

#include <pthread.h>

/* The columns of requests without "fields": of lists, and of one job. */
static struct bj_picked of_lists, of_job;

static void pick_defaults(void)
{
    bj_picked_table(&of_job, bj_job_columns);
    for (const struct bj_column *k = bj_job_columns; k->name; k++)
        if (k->in == BJ_IN_LISTS)
            bj_picked_add(&of_lists, k);
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
        const struct bj_column *column = bj_job_column(s);
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
            bj_picked_add(ret, &bj_job_columns[i]);
    return 0;
}

void bj_jobs_select_values(struct bj_query *q, const struct bj_picked *k)
{
    bj_query_sql(q,
                 k->values > 0 ? "SELECT j.at, j.id, " : "SELECT j.at, j.id");
    bj_table_select(q, k);
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

int bj_jobs_row(struct bj_call *c, const struct bj_picked *k, struct bj_st *st,
                struct bj_rows *rows)
{
    return bj_table_row(c, k, st, BJ_JOBS_FIRST, rows);
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
