#include "statsdb/upsert.h"

#include "statsdb/covered.h"
#include "statsdb/upsert_impl.h"

#include <stdlib.h>

static void job_row(void *ctx, uint32_t i, struct bj_feed_row *ret)
{
    struct bj_upsert *u = ctx;
    struct bj_row *row = &u->wait[i].row;
    row->v[BJ_JOB_ID] = u->first_id + i;
    *ret = (struct bj_feed_row){row->v, row->texts, row->s};
}

static void step_row(void *ctx, uint32_t i, struct bj_feed_row *ret)
{
    const struct bj_upsert *u = ctx;
    const struct bj_row *row = &u->wait_step[i];
    *ret = (struct bj_feed_row){row->v, row->texts, row->s};
}

static int set_up(struct bj_upsert *u, struct bj_err *err)
{
    u->wait = calloc(BJ_WAIT_JOBS, sizeof(*u->wait));
    u->wait_step = calloc(BJ_WAIT_STEPS, sizeof(*u->wait_step));
    if (!u->wait || !u->wait_step)
        return bj_err_set(err, -ENOMEM, "upsert");
    u->unasked[0] = (UINT64_C(1) << BJ_STEP_COLS) - 1;
    u->unasked[1] = (UINT64_C(1) << BJ_JOB_COLS) - 1;
    u->job_feed = (struct bj_feed){BJ_JOB_COLS + 1, 0, u, job_row};
    u->step_feed = (struct bj_feed){BJ_STEP_COLS, 0, u, step_row};
    /* Every number that goes into a row comes from its dictionary in the same
     * transaction; having SQLite look it up again costs a third of an import.
     * bj_store_check looks at all of them. */
    int r = bj_sql_exec(u->db, "PRAGMA foreign_keys = OFF", err);
    if (r == 0)
        r = bj_feed_add(u->db, "bj_feed_job", &u->job_feed, err);
    if (r == 0)
        r = bj_feed_add(u->db, "bj_feed_step", &u->step_feed, err);
    if (r == 0)
        r = bj_dicts_new(u->db, &u->dicts, err);
    if (r == 0)
        r = bj_dicts_wait(u->dicts, err);
    if (r == 0)
        r = bj_rollup_new(u->db, &u->rollup, err);
    return r < 0 ? r : bj_upsert_prepare(u, err);
}

int bj_upsert_new(struct bj_store *s, struct bj_upsert **ret,
                  struct bj_err *err)
{
    struct bj_upsert *u = calloc(1, sizeof(*u));
    if (!u)
        return bj_err_set(err, -ENOMEM, "upsert");
    u->store = s;
    u->db = bj_store_db(s);
    u->cluster_id = BJ_SQL_NULL;
    u->guess = 1;
    int r = set_up(u, err);
    if (r < 0) {
        bj_upsert_free(u);
        return r;
    }
    *ret = u;
    return 0;
}

void bj_upsert_free(struct bj_upsert *u)
{
    if (!u)
        return;
    for (unsigned i = 0; i < BJ_STATEMENTS; i++)
        sqlite3_finalize(u->st[i]);
    bj_rollup_free(u->rollup);
    bj_dicts_free(u->dicts);
    bj_feed_remove(u->db, "bj_feed_job");
    bj_feed_remove(u->db, "bj_feed_step");
    bj_store_rollback(u->store);
    bj_sql_exec(u->db, "PRAGMA foreign_keys = ON", NULL);
    bj_arena_free(&u->text);
    free(u->wait);
    free(u->wait_step);
    free(u);
}

const struct bj_upsert_counts *bj_upsert_counts(const struct bj_upsert *u)
{
    return &u->counts;
}

size_t bj_upsert_bytes(const struct bj_upsert *u)
{
    return sizeof(*u) + bj_dicts_bytes(u->dicts) +
           BJ_WAIT_JOBS * sizeof(*u->wait) +
           BJ_WAIT_STEPS * sizeof(*u->wait_step);
}

/* --- jobs that wait --------------------------------------------------------
 */

static void forget_waiting(struct bj_upsert *u)
{
    u->waiting = u->waiting_steps = 0;
    bj_arena_reset(&u->text);
}

/* One that was not new after all, with what belongs to it. */
static int put_waiting(struct bj_upsert *u, const struct bj_waiting *w,
                       bool job_is_there, int64_t id, struct bj_err *err)
{
    bool fresh = job_is_there;
    int r = 0;
    if (!job_is_there) {
        u->row = w->row;
        r = bj_upsert_put_job(u, &id, &fresh, err);
    }
    if (r == 0 && w->more) {
        u->row = *w->more;
        r = bj_upsert_put_more(u, id, fresh, err);
    }
    for (uint32_t i = 0; r == 0 && i < w->steps; i++) {
        u->row = u->wait_step[w->step + i];
        int64_t slot = u->row.v[BJ_STEP_ID] & ((1 << BJ_STEP_BITS) - 1);
        u->row.v[BJ_STEP_ID] = id << BJ_STEP_BITS | slot;
        r = bj_upsert_put_step(u, fresh, err);
    }
    return r;
}

/* Whether a job that waits got its own number, which none other has. */
static int is_there(struct bj_upsert *u, int64_t id, struct bj_err *err)
{
    struct sqlite3_stmt *st = u->st[BJ_ST_JOB_IS_THERE];
    sqlite3_bind_int64(st, 1, id);
    int r = bj_sql_row(st, err);
    sqlite3_reset(st);
    return r;
}

/* All were new: their steps, too, in one statement, but for those whose names
 * need a place to be looked for. */
static int put_all_steps(struct bj_upsert *u, struct bj_err *err)
{
    uint32_t n = u->waiting_steps;
    bool plain = true;
    for (uint32_t i = 0; plain && i < n; i++)
        plain = u->wait_step[i].s[0].n == 0;
    uint64_t more = 0;
    int r = 0;
    u->step_feed.rows = n;
    for (uint32_t i = 0; plain && i < n; i++) {
        bj_row_shorten(&bj_table_step, &u->wait_step[i]);
        more |= bj_row_known(&u->wait_step[i], u->unasked[0]);
    }
    if (plain && n > 0)
        r = bj_upsert_feed(u, BJ_ST_STEP_FEED, more, err);
    bool done = plain && (n == 0 || sqlite3_changes(u->db) == (int)n);
    u->counts.steps_new += done ? n : 0;
    for (uint32_t i = 0; plain && !done && i < n; i++)
        bj_row_lengthen(&bj_table_step, &u->wait_step[i]);
    for (uint32_t i = 0; r == 0 && i < u->waiting; i++) {
        struct bj_waiting w = u->wait[i];
        w.steps = done ? 0 : w.steps;
        r = put_waiting(u, &w, true, u->first_id + i, err);
    }
    return r;
}

static int put_each(struct bj_upsert *u, struct bj_err *err)
{
    int r = 0;
    u->guess = 0;
    for (uint32_t i = 0; r >= 0 && i < u->waiting; i++) {
        int64_t id = u->first_id + i;
        r = is_there(u, id, err);
        if (r < 0)
            break;
        if (r > 0) {
            u->counts.jobs_new++;
            u->guess = 1;
        }
        if (r > 0)
            r = bj_upsert_share(u, &u->wait[i].row, 1, err);
        else
            id = 0;
        if (r == 0)
            r = put_waiting(u, &u->wait[i], id > 0, id, err);
    }
    return r;
}

/* Put all that wait. */
static int flush(struct bj_upsert *u, struct bj_err *err)
{
    if (u->waiting == 0)
        return 0;
    uint64_t more = 0;
    u->job_feed.rows = u->waiting;
    for (uint32_t i = 0; i < u->waiting; i++) {
        bj_row_shorten(&bj_table_job, &u->wait[i].row);
        more |= bj_row_known(&u->wait[i].row, u->unasked[1]);
    }
    int r = bj_upsert_feed(u, BJ_ST_JOB_FEED, more, err);
    for (uint32_t i = 0; i < u->waiting; i++)
        bj_row_lengthen(&bj_table_job, &u->wait[i].row);
    if (r == 0 && sqlite3_changes(u->db) == (int)u->waiting) {
        u->counts.jobs_new += u->waiting;
        u->guess = u->guess < BJ_WAIT_JOBS / 2 ? 2 * u->guess : BJ_WAIT_JOBS;
        for (uint32_t i = 0; r == 0 && i < u->waiting; i++)
            r = bj_upsert_share(u, &u->wait[i].row, 1, err);
        if (r == 0)
            r = put_all_steps(u, err);
    } else if (r == 0) {
        r = put_each(u, err);
    }
    forget_waiting(u);
    return r;
}

/* Texts of a record are gone when the next one comes. */
static void keep_texts(struct bj_upsert *u, struct bj_row *row)
{
    for (unsigned i = 0; i < BJ_ROW_TEXTS; i++)
        if (row->s[i].n > 0)
            row->s[i] = bj_arena_copy(&u->text, row->s[i]);
}

/* Let u->row, which is a job's, and the rest of its record wait. */
static int let_wait(struct bj_upsert *u, const struct bj_sched_job *job,
                    struct bj_err *err)
{
    struct bj_waiting *w = &u->wait[u->waiting];
    if (u->waiting == 0 &&
        bj_sql_int(u->db, "SELECT ifnull(max(id), 0) + 1 FROM job",
                   &u->first_id, err) < 0)
        return err->code;
    int64_t id = u->first_id + u->waiting;
    w->row = u->row;
    keep_texts(u, &w->row);
    w->more = NULL;
    w->step = u->waiting_steps;
    w->steps = job->steps;
    bool none = bj_row_more_none(job);
    int r = none ? 0 : bj_row_more(u->dicts, id, job, &u->row, err);
    if (r == 0 && !none && !bj_row_more_empty(&u->row)) {
        w->more = bj_arena_alloc(&u->text, sizeof(*w->more));
        if (w->more) {
            *w->more = u->row;
            keep_texts(u, w->more);
        }
    }
    for (uint32_t i = 0; r == 0 && i < job->steps; i++) {
        struct bj_row *step = &u->wait_step[w->step + i];
        r = bj_row_step(u->dicts, id, &job->step[i], step, err);
        keep_texts(u, step);
    }
    if (u->text.failed)
        return bj_err_set(err, -ENOMEM, "jobs that wait");
    u->waiting++;
    u->waiting_steps += job->steps;
    return r < 0 ? r : u->waiting >= u->guess ? flush(u, err) : 0;
}

/* --- transactions ----------------------------------------------------------
 */

int bj_upsert_begin(struct bj_upsert *u, struct bj_err *err)
{
    int r = bj_store_begin(u->store, err);
    return r < 0 ? r : bj_removed_before(u->store, &u->removed_before, err);
}

int bj_upsert_commit(struct bj_upsert *u, struct bj_err *err)
{
    int r = flush(u, err);
    if (r == 0)
        r = bj_rollup_flush(u->rollup, err);
    if (r == 0)
        r = bj_dicts_flush(u->dicts, err);
    return r < 0 ? r : bj_store_commit(u->store, err);
}

void bj_upsert_rollback(struct bj_upsert *u)
{
    for (unsigned i = 0; i < BJ_STATEMENTS; i++)
        sqlite3_reset(u->st[i]);
    bj_store_rollback(u->store);
    forget_waiting(u);
    bj_rollup_drop(u->rollup);
    bj_dicts_clear(u->dicts);
    u->cluster_id = BJ_SQL_NULL;
}

/* --- a job -----------------------------------------------------------------
 */

static enum bj_hosts_grammar grammar_of(struct bj_slice system)
{
    if (bj_slice_eq(system, BJ_SLICE("pbs")))
        return BJ_HOSTS_PBS;
    if (bj_slice_eq(system, BJ_SLICE("lsf")))
        return BJ_HOSTS_LSF;
    return BJ_HOSTS_SLURM;
}

static int cluster_of(struct bj_upsert *u, struct bj_slice name,
                      const struct bj_sched_job *job, struct bj_err *err)
{
    if (job->cluster.n > 0)
        name = job->cluster;
    if (name.n >= BJ_CLUSTER_MAX)
        return bj_err_set(err, -EINVAL, "name of a cluster with %zu bytes",
                          name.n);
    struct bj_slice last = {u->cluster, u->cluster_len};
    if (u->cluster_id != BJ_SQL_NULL && bj_slice_eq(last, name))
        return 0;
    int r =
        bj_dict_cluster(u->dicts, name, job->batch_system, &u->cluster_id, err);
    if (r == 0 && name.n > 0)
        memcpy(u->cluster, name.p, name.n);
    u->cluster_len = name.n;
    bj_dicts_grammar(u->dicts, grammar_of(job->batch_system));
    return r;
}

/* Put u->row, which is a job's, and the rest of its record at once. */
static int put_now(struct bj_upsert *u, const struct bj_sched_job *job,
                   struct bj_err *err)
{
    int64_t id = 0;
    bool fresh = false;
    int r = bj_upsert_put_job(u, &id, &fresh, err);
    u->guess = r == 0 && fresh ? 1 : 0;
    bool none = bj_row_more_none(job);
    if (r == 0 && !none)
        r = bj_row_more(u->dicts, id, job, &u->row, err);
    if (r == 0 && !none && !bj_row_more_empty(&u->row))
        r = bj_upsert_put_more(u, id, fresh, err);
    for (uint32_t i = 0; r == 0 && i < job->steps; i++) {
        r = bj_row_step(u->dicts, id, &job->step[i], &u->row, err);
        if (r == 0)
            r = bj_upsert_put_step(u, fresh, err);
    }
    return r;
}

int bj_upsert_job(struct bj_upsert *u, struct bj_slice cluster,
                  const struct bj_sched_job *job, struct bj_err *err)
{
    struct bj_err own = {0};
    if (job->raw_id.n == 0)
        return bj_err_set(err, -EINVAL, "a job without an id");
    if (job->end_sec < (uint64_t)u->removed_before) {
        u->counts.jobs_removed++;
        return 0;
    }
    bool wait = u->guess > 0 && job->steps <= BJ_WAIT_STEPS;
    int r = 0;
    if (!wait || u->waiting_steps + job->steps > BJ_WAIT_STEPS)
        r = flush(u, &own);
    if (r == 0)
        r = cluster_of(u, cluster, job, &own);
    if (r == 0)
        r = bj_row_job(u->dicts, u->cluster_id, job, &u->row, &own);
    if (r == 0)
        r = wait ? let_wait(u, job, &own) : put_now(u, job, &own);
    return r < 0 ? bj_err_set(err, r, "job %.*s: %s", (int)job->raw_id.n,
                              job->raw_id.p, own.msg)
                 : 0;
}
