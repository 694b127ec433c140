/* Leaves out gathered jobs that the store has (bj_upsert_only_new). */
#include "statsdb/import/upsert_gather.h"

/* clang-format off */
static const char known_sql[] =
    "SELECT string_agg(CASE WHEN EXISTS (" BJ_SQL_KNOWN_JOB("w.c") ") THEN '1'"
    " ELSE '0' END, ',' ORDER BY w.n) FROM unnest(CAST(?1 AS bigint[]),"
    " CAST(?2 AS text[]), CAST(?3 AS bigint[]), CAST(?4 AS bigint[]),"
    " CAST(?5 AS bigint[]), CAST(?6 AS bigint[]), CAST(?7 AS bigint[])) WITH"
    " ORDINALITY AS w(c1, c2, c3, c4, c5, c6, c7, n)";
/* clang-format on */

static int64_t submit_of(const struct bj_row *row)
{
    int64_t submit = row->v[BJ_JOB_SUBMIT];
    return submit == 0 ? BJ_SQL_NULL : submit;
}

static void add(struct bj_arrays *a, const struct bj_row *row)
{
    bj_arrays_i64(a, 0, row->v[BJ_JOB_CLUSTER]);
    bj_gather_put_id(a, 1, row);
    bj_arrays_i64(a, 2, row->v[BJ_JOB_ARRAY_JOB]);
    bj_arrays_i64(a, 3, row->v[BJ_JOB_ARRAY_TASK]);
    bj_arrays_i64(a, 4, submit_of(row));
    bj_arrays_i64(a, 5, row->v[BJ_COL_START]);
    bj_arrays_i64(a, 6, row->v[BJ_COL_END]);
    a->rows++;
}

static bool same(int64_t a, int64_t b)
{
    return a != BJ_SQL_NULL && a == b;
}

/* Do two rows match by the same rules as in the statement? */
static bool is_same(const struct bj_row *a, const struct bj_row *b)
{
    bool id = a->v[BJ_JOB_RAW_ID] == b->v[BJ_JOB_RAW_ID] &&
              bj_slice_eq(a->s[0], b->s[0]);
    bool task = same(a->v[BJ_JOB_ARRAY_JOB], b->v[BJ_JOB_ARRAY_JOB]) &&
                same(a->v[BJ_JOB_ARRAY_TASK], b->v[BJ_JOB_ARRAY_TASK]);
    return (id || task) && a->v[BJ_JOB_CLUSTER] == b->v[BJ_JOB_CLUSTER] &&
           (same(submit_of(a), submit_of(b)) ||
            same(a->v[BJ_COL_START], b->v[BJ_COL_START]) ||
            same(a->v[BJ_COL_END], b->v[BJ_COL_END]));
}

static bool is_among(const struct bj_gather *g, int n, const struct bj_row *row)
{
    for (int i = 0; i < n; i++)
        if (is_same(&g->job[i].row, row))
            return true;
    return false;
}

int bj_gather_known(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    int left = 0, r = 0;
    if (!u->only_new)
        return 0;
    if (!g->known)
        r = bj_db_prepare(u->db, known_sql, &g->known, err);
    for (int i = 0; i < g->jobs; i++)
        add(&g->rows, &g->job[i].row);
    if (r == 0)
        r = bj_arrays_numbers(&g->rows, 7, g->known, g->found, err);
    for (int i = 0; r == 0 && i < g->jobs; i++)
        if (g->found[i] == 0 && !is_among(g, left, &g->job[i].row))
            g->job[left++] = g->job[i];
    u->counts.jobs_known += (unsigned)(r == 0 ? g->jobs - left : 0);
    g->jobs = r == 0 ? left : g->jobs;
    return r;
}
