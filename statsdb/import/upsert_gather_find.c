/* Finds the gathered jobs that the database has, and those that are the same
 * job. */
#include "base/text.h"
#include "statsdb/import/upsert_gather.h"

enum { NONE = 0, TAKEN = -1, NO_MEMORY = -1 };

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

int bj_gather_first(struct bj_gather *g, struct bj_slice key, int at)
{
    uint64_t hash = bj_cache_hash(g->seed, key);
    uint32_t n = g->seen.n;
    int64_t first = at;
    if (bj_cache_find(&g->seen, hash, key, &first))
        return (int)first;
    bj_cache_add(&g->seen, hash, key, at);
    return g->seen.n > n ? at : NO_MEMORY;
}

static int first_with_number(struct bj_gather *g, int64_t number, int at)
{
    return bj_gather_first(
        g, (struct bj_slice){(const char *)&number, sizeof(number)}, at);
}

static bool same_key(const struct bj_row *a, const struct bj_row *b)
{
    return a->v[BJ_JOB_CLUSTER] == b->v[BJ_JOB_CLUSTER] &&
           a->v[BJ_JOB_RAW_ID] == b->v[BJ_JOB_RAW_ID] &&
           bj_slice_eq(a->s[0], b->s[0]) &&
           a->v[BJ_JOB_SUBMIT] == b->v[BJ_JOB_SUBMIT];
}

/* May the job be merged into an earlier one? After one that may not, later jobs
 * of the key are not merged either, so that the order stays. Waiting tasks and
 * one of these tasks are not merged: bj_upsert_put_job splits them. */
static bool can_merge(const struct bj_gather *g, struct bj_gathered *first,
                      const struct bj_gathered *j)
{
    bool task = first->task || bj_gather_is_task(&j->row);
    bool rest = first->rest || bj_gather_has_rest(g, j);
    if (first->closed || !same_key(&first->row, &j->row) || first->steps > 0 ||
        j->steps > 0 || first->row.s[2].n > 0 || j->row.s[2].n > 0 ||
        (task && rest)) {
        first->closed = true;
        return false;
    }
    first->task = task;
    first->rest = rest;
    return true;
}

/* Decide how to store a job. Ids that are not UTF-8 are stored alone, because
 * different ones may become equal in the database. False: out of memory. */
static bool choose_how(struct bj_gather *g, int at)
{
    struct bj_gathered *j = &g->job[at];
    struct bj_slice id = j->row.s[0], sluid = j->row.s[2];
    int first = first_with_number(g, j->id, at);
    int first_run = sluid.n > 0 ? bj_gather_first(g, sluid, at) : at;
    if (first == NO_MEMORY || first_run == NO_MEMORY)
        return false;
    j->task = bj_gather_is_task(&j->row);
    j->rest = bj_gather_has_rest(g, j);
    j->first =
        first < at && can_merge(g, &g->job[first], j) ? &g->job[first] : NULL;
    if (first_run < at || !bj_text_is_utf8(id) || !bj_text_is_utf8(sluid) ||
        (first < at && !j->first))
        j->how = BJ_JOB_ALONE;
    else
        j->how = j->first ? BJ_JOB_MERGED : BJ_JOB_NEW;
    return true;
}

static void add_key(struct bj_arrays *a, const struct bj_gathered *job)
{
    struct bj_slice sluid = job->row.s[2];
    bj_arrays_i64(a, 0, job->row.v[BJ_JOB_CLUSTER]);
    bj_gather_put_id(a, 1, &job->row);
    bj_arrays_i64(a, 2, job->row.v[BJ_JOB_SUBMIT]);
    bj_arrays_text(a, 3, sluid.n > 0 ? sluid : (struct bj_slice){NULL, 0});
    bj_arrays_i64(a, 4, job->id);
    a->rows++;
}

/* Jobs whose number another key has, and jobs related to these, are stored one
 * by one, in their order. */
static void choose(struct bj_gather *g)
{
    bj_cache_clear(&g->seen);
    for (int i = 0; i < g->jobs; i++)
        if (g->found[i] > NONE && g->found[i] != g->job[i].id)
            first_with_number(g, g->found[i], -1);
    uint32_t moved = g->seen.n;
    for (int i = 0; i < g->jobs; i++) {
        struct bj_gathered *j = &g->job[i];
        if (g->found[i] == TAKEN || (moved > 0 && g->found[i] != NONE &&
                                     first_with_number(g, g->found[i], i) != i))
            j->how = BJ_JOB_ALONE;
        else if (j->how == BJ_JOB_NEW && g->found[i] > NONE)
            j->how = BJ_JOB_KNOWN;
    }
}

int bj_gather_find(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_gather *g = u->gather;
    int r = g->find ? 0 : bj_db_prepare(u->db, find_sql, &g->find, err);
    bj_cache_clear(&g->seen);
    for (int i = 0; r == 0 && i < g->jobs; i++) {
        if (!choose_how(g, i))
            return bj_err_set(err, -ENOMEM, "rows");
        add_key(&g->rows, &g->job[i]);
    }
    if (r == 0)
        r = bj_arrays_numbers(&g->rows, 5, g->find, g->found, err);
    if (r == 0)
        choose(g);
    return r;
}
