/* Chooses the runs of gathered records of PBS (pbs_run.h), in the order of the
 * records. One request reads the runs from the database; the list of each jobid
 * is then updated with its records. */
#include "base/array.h"
#include "statsdb/import/pbs_run.h"
#include "statsdb/import/upsert_gather.h"

#include <string.h>

/* Runs of a jobid. */
struct bj_gathered_runs {
    int64_t from, to; /* range of keys to read, without to */
    bool wanted;
    struct listed {
        /* times, state and shared values of the run; all others are
         * unknown */
        struct bj_row row;
        struct listed *next;
    } * run;
};

/* OFFSET 0 makes PostgreSQL search an index for each jobid. */
static const char runs_sql[] =
    "SELECT w.n, t.* FROM"
    " unnest(CAST(?1 AS bigint[]), CAST(?2 AS bigint[]), CAST(?3 AS text[]),"
    " CAST(?4 AS bigint[]), CAST(?5 AS bigint[]), CAST(?6 AS bigint[]),"
    " CAST(?7 AS bigint[])) AS w(n, cluster, jobid, a, b, first, last) CROSS"
    " JOIN LATERAL (SELECT " BJ_PBS_RUN_SQL " FROM job WHERE"
    " cluster = w.cluster AND jobid = w.jobid AND submit >= w.a AND submit <"
    " w.b AND id BETWEEN w.first AND w.last OFFSET 0) AS t";

/* --- lists of runs -------------------------------------------------------- */

static int no_memory(struct bj_err *err)
{
    return bj_err_set(err, -ENOMEM, "runs");
}

/* A key of cluster and jobid, which is a number or a text. */
static struct bj_slice key_of(struct bj_gather *g, const struct bj_row *row)
{
    const struct bj_slice text = row->s[0];
    const struct {
        int64_t cluster, number, is_text;
    } head = {row->v[BJ_JOB_CLUSTER], row->v[BJ_JOB_RAW_ID], text.n > 0};
    char *key = bj_arena_alloc(&g->memory, sizeof(head) + text.n);
    if (!key)
        return (struct bj_slice){NULL, 0};
    memcpy(key, &head, sizeof(head));
    if (text.n > 0)
        memcpy(key + sizeof(head), text.p, text.n);
    return (struct bj_slice){key, sizeof(head) + text.n};
}

static int find_list(struct bj_gather *g, int at, struct bj_err *err)
{
    struct bj_gathered *j = &g->job[at];
    struct bj_slice key = key_of(g, &j->row);
    int first = key.p ? bj_gather_first(g, key, at) : -1;
    int64_t from, to;
    if (first == at)
        j->runs = bj_arena_alloc(&g->memory, sizeof(*j->runs));
    else if (first >= 0)
        j->runs = g->job[first].runs;
    if (!j->runs)
        return no_memory(err);
    bj_pbs_keys(&j->row, &from, &to);
    if (first == at)
        *j->runs = (struct bj_gathered_runs){.from = from, .to = to};
    if (from < j->runs->from)
        j->runs->from = from;
    if (to > j->runs->to)
        j->runs->to = to;
    return 0;
}

/* Update the list with a stored row: it changes the run with its key, or is a
 * new run. */
static int list_run(struct bj_gather *g, struct bj_gathered_runs *runs,
                    const struct bj_row *row, struct bj_err *err)
{
    const struct bj_pbs_run own = bj_pbs_run_of(row);
    struct listed *run = runs->run;
    struct bj_row now;
    bj_pbs_row(row, &own, &now);
    now.weak = row->weak;
    while (run && run->row.v[BJ_JOB_SUBMIT] != own.submit)
        run = run->next;
    if (run) {
        bj_row_merge(&bj_table_job, &run->row, &now);
        run->row = now;
        return 0;
    }
    run = bj_arena_alloc(&g->memory, sizeof(*run));
    if (!run)
        return no_memory(err);
    *run = (struct listed){now, runs->run};
    runs->run = run;
    return 0;
}

/* --- runs of the database ------------------------------------------------- */

static void add_wanted(struct bj_arrays *a, int position,
                       const struct bj_gathered *j)
{
    j->runs->wanted = true;
    bj_arrays_i64(a, 0, position);
    bj_arrays_i64(a, 1, j->row.v[BJ_JOB_CLUSTER]);
    bj_gather_put_id(a, 2, &j->row);
    bj_arrays_i64(a, 3, j->runs->from);
    bj_arrays_i64(a, 4, j->runs->to);
    bj_arrays_i64(a, 5, bj_job_number_first(j->runs->from));
    bj_arrays_i64(a, 6, bj_job_number_last(j->runs->to));
    a->rows++;
}

static int take_run(struct bj_gather *g, struct bj_err *err)
{
    struct bj_st *st = g->runs;
    const struct bj_pbs_run run = bj_pbs_run_read(st, 1);
    int64_t at = bj_st_get_i64(st, 0);
    struct bj_row row;
    if (at < 0 || at >= g->jobs)
        return bj_err_set(err, -EPROTO, "runs of other jobs");
    bj_pbs_row(&g->job[at].row, &run, &row);
    return list_run(g, g->job[at].runs, &row, err);
}

static int read_runs(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    int r = g->runs ? 0 : bj_db_prepare(u->db, runs_sql, &g->runs, err);
    bj_cache_clear(&g->seen);
    for (int i = 0; r == 0 && i < g->jobs; i++)
        r = find_list(g, i, err);
    for (int i = 0; r == 0 && i < g->jobs; i++)
        if (!g->job[i].runs->wanted)
            add_wanted(&g->rows, i, &g->job[i]);
    if (r == 0)
        r = bj_arrays_bind(&g->rows, 7, g->runs, err);
    while (r == 0 && (r = bj_st_row(g->runs, err)) > 0)
        r = take_run(g, err);
    bj_st_reset(g->runs);
    bj_arrays_clear(&g->rows);
    return r;
}

/* --- records -------------------------------------------------------------- */

static int append(struct bj_gather *g, int *n, const struct bj_gathered *j,
                  struct bj_err *err)
{
    struct bj_gathered *to = &g->spare[(*n)++];
    *to = *j;
    bj_gather_number(g, to);
    return list_run(g, to->runs, &to->row, err);
}

static int place(struct bj_gather *g, const struct bj_gathered *j, int *n,
                 struct bj_err *err)
{
    struct bj_pbs_known known = {.any = false};
    struct bj_gathered record = *j, left = {.more = BJ_GATHER_NONE};
    int r = 0;
    for (const struct listed *l = j->runs->run; l; l = l->next) {
        const struct bj_pbs_run run = bj_pbs_run_of(&l->row);
        bj_pbs_note(&known, &run, &j->row);
    }
    if (bj_pbs_place(&known, &record.row, &left.row)) {
        left.id = j->id;
        left.runs = j->runs;
        r = append(g, n, &left, err);
    }
    return r < 0 ? r : append(g, n, &record, err);
}

int bj_gather_runs(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    int n = 0;
    if (!u->pbs)
        return 0;
    if (!BJ_GROW(g->spare, 2 * (size_t)g->jobs, g->spare_cap))
        return no_memory(err);
    int r = read_runs(u, err);
    for (int i = 0; r == 0 && i < g->jobs; i++)
        r = place(g, &g->job[i], &n, err);
    if (r < 0)
        return r;
    struct bj_gathered *job = g->job;
    size_t cap = g->jobs_cap;
    g->job = g->spare;
    g->jobs_cap = g->spare_cap;
    g->spare = job;
    g->spare_cap = cap;
    g->jobs = n;
    return 0;
}
