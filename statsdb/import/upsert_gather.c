#include "statsdb/import/upsert_gather.h"

#include "base/array.h"

#include <stdlib.h>

enum { ROWS = 5000, BYTES = 4 << 20 };

struct bj_gather *bj_gather_new(void)
{
    struct bj_gather *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    g->seen.max_entries = g->seen.max_bytes = UINT32_MAX;
    g->seed = bj_cache_seed();
    return g;
}

void bj_gather_free(struct bj_gather *g)
{
    if (!g)
        return;
    bj_st_finalize(g->known);
    bj_st_finalize(g->runs);
    bj_st_finalize(g->find);
    for (int i = 0; i < BJ_GATHER_TABLES; i++) {
        bj_st_finalize(g->of[i].fetch);
        bj_st_finalize(g->of[i].change);
        free(g->of[i].loaded.row);
        free(g->of[i].changed.row);
    }
    bj_arrays_free(&g->rows);
    bj_cache_free(&g->seen);
    bj_arena_free(&g->memory);
    free(g->job);
    free(g->spare);
    free(g->other);
    free(g);
}

void bj_gather_drop(struct bj_gather *g)
{
    if (!g)
        return;
    g->jobs = g->others = 0;
    bj_arena_reset(&g->memory);
    bj_arrays_clear(&g->rows);
    bj_cache_clear(&g->seen);
}

/* --- gathering ------------------------------------------------------------ */

void bj_gather_keep(struct bj_gather *g, struct bj_row *row)
{
    for (int i = 0; i < BJ_ROW_TEXTS; i++)
        if (row->s[i].n > 0)
            row->s[i] = bj_arena_copy(&g->memory, row->s[i]);
}

/* The slots of most steps increase; a step in another order, or with a name,
 * may need a slot that is in use, so it is stored alone. */
static int add_steps(struct bj_upsert *u, struct bj_gathered *to,
                     const struct bj_sched_job *job, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    int64_t last = -1;
    int r = 0;
    to->step = g->others;
    for (uint32_t i = 0; r == 0 && i < job->steps; i++) {
        struct bj_gathered_row *step = &g->other[g->others++];
        step->row.weak = false;
        r = bj_row_step(u->dicts, to->id, &job->step[i], &step->row, err);
        bj_gather_keep(g, &step->row);
        int64_t slot = step->row.v[BJ_STEP_SLOT];
        step->old = NULL;
        step->alone = slot <= last || slot >= BJ_SLOT_OTHER;
        last = slot > last ? slot : last;
    }
    to->steps = g->others - to->step;
    return r;
}

static int add_more(struct bj_upsert *u, struct bj_gathered *to,
                    const struct bj_sched_job *job, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    struct bj_gathered_row *more = &g->other[g->others];
    if (bj_row_more_none(job))
        return 0;
    int r = bj_row_more(u->dicts, to->id, job, &more->row, err);
    if (r < 0 || bj_row_more_empty(&more->row))
        return r;
    bj_gather_keep(g, &more->row);
    to->more = g->others++;
    return 0;
}

static int add(struct bj_upsert *u, const struct bj_sched_job *job,
               struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    struct bj_gathered *to = &g->job[g->jobs++];
    *to = (struct bj_gathered){.more = BJ_GATHER_NONE};
    int r = bj_row_job(u->dicts, u->cluster_id, job, &to->row, err);
    if (r < 0)
        return r;
    bj_gather_keep(g, &to->row);
    to->id =
        bj_job_number_of(u->cluster_id, job->jobid, to->row.v[BJ_JOB_SUBMIT]);
    r = add_more(u, to, job, err);
    if (r == 0)
        r = add_steps(u, to, job, err);
    return r == 0 && g->memory.failed ? bj_err_set(err, -ENOMEM, "texts") : r;
}

int bj_gather_add(struct bj_upsert *u, const struct bj_sched_job *job,
                  struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    if (!BJ_GROW(g->job, (size_t)g->jobs + 1, g->jobs_cap) ||
        !BJ_GROW(g->other, (size_t)g->others + 1 + job->steps, g->others_cap))
        return bj_err_set(err, -ENOMEM, "rows");
    bj_dicts_defer(u->dicts, true);
    int r = add(u, job, err);
    bj_dicts_defer(u->dicts, false);
    return r;
}

void bj_gather_put_id(struct bj_arrays *a, unsigned column,
                      const struct bj_row *row)
{
    if (row->s[0].n > 0)
        bj_arrays_text(a, column, row->s[0]);
    else
        bj_arrays_i64(a, column, row->v[BJ_JOB_RAW_ID]);
}

void bj_gather_number(struct bj_gather *g, struct bj_gathered *j)
{
    int64_t submit = j->row.v[BJ_JOB_SUBMIT];
    j->id = bj_job_number_at(j->id, submit);
    if (j->more != BJ_GATHER_NONE)
        g->other[j->more].row.v[BJ_MORE_JOB] = j->id;
    for (int i = j->step; i < j->step + j->steps; i++)
        g->other[i].row.v[BJ_STEP_JOB] = j->id;
}

bool bj_gather_is_full(const struct bj_gather *g)
{
    return g->jobs >= BJ_GATHER_JOBS || g->others >= ROWS ||
           g->memory.used >= BYTES;
}

/* --- numbers -------------------------------------------------------------- */

static void settle_row(const struct bj_dicts *d, struct bj_row *row,
                       int columns)
{
    for (int i = 0; i < columns; i++)
        if (row->v[i] < 0 && row->v[i] != BJ_SQL_NULL)
            row->v[i] = bj_dicts_settled(d, row->v[i]);
}

int bj_gather_settle(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    int r = bj_dicts_settle(u->dicts, err);
    for (struct bj_gathered *j = g->job; r == 0 && j < g->job + g->jobs; j++) {
        settle_row(u->dicts, &j->row, BJ_JOB_COLS);
        if (j->more != BJ_GATHER_NONE)
            settle_row(u->dicts, &g->other[j->more].row, BJ_MORE_COLS);
        for (int i = j->step; i < j->step + j->steps; i++)
            settle_row(u->dicts, &g->other[i].row, BJ_STEP_COLS);
    }
    return r;
}
