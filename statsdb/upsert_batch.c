#include "statsdb/upsert_impl.h"

#include <stdlib.h>

/* While one batch goes into the tables in a thread of its own, the other one is
 * filled.  Whose turn it is to use SQLite says u->sql: the thread holds it for
 * a whole batch, who fills for the few entries that are new in a dictionary.
 * Rows, statements and sums belong to the batch that is being put. */

int bj_batches_new(struct bj_upsert *u, struct bj_err *err)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&u->sql, &attr);
    pthread_mutexattr_destroy(&attr);
    u->fill = &u->batch[0];
    for (int i = 0; i < 2; i++) {
        struct bj_batch *b = &u->batch[i];
        b->wait = calloc(BJ_WAIT_JOBS, sizeof(*b->wait));
        b->step = calloc(BJ_WAIT_STEPS, sizeof(*b->step));
        if (!b->wait || !b->step)
            return bj_err_set(err, -ENOMEM, "upsert");
    }
    return 0;
}

void bj_batches_free(struct bj_upsert *u)
{
    for (int i = 0; i < 2; i++) {
        bj_arena_free(&u->batch[i].text);
        free(u->batch[i].wait);
        free(u->batch[i].step);
    }
    if (u->fill)
        pthread_mutex_destroy(&u->sql);
}

static void forget(struct bj_batch *b)
{
    b->jobs = b->steps = 0;
    bj_arena_reset(&b->text);
}

/* --- into the tables -------------------------------------------------------
 */

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
        u->row = u->put->step[w->step + i];
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
    struct bj_batch *b = u->put;
    bool plain = true;
    for (uint32_t i = 0; plain && i < b->steps; i++)
        plain = b->step[i].s[0].n == 0;
    uint64_t more = 0;
    int r = 0;
    u->step_feed.rows = b->steps;
    for (uint32_t i = 0; plain && i < b->steps; i++) {
        bj_row_mark_texts(&bj_table_step, &b->step[i]);
        more |= bj_row_known(&b->step[i], u->unasked[0]);
    }
    if (plain && b->steps > 0)
        r = bj_upsert_feed(u, BJ_ST_STEP_FEED, more, err);
    bool done =
        plain && (b->steps == 0 || sqlite3_changes(u->db) == (int)b->steps);
    u->counts.steps_new += done ? b->steps : 0;
    for (uint32_t i = 0; r == 0 && i < b->jobs; i++) {
        struct bj_waiting w = b->wait[i];
        w.steps = done ? 0 : w.steps;
        r = put_waiting(u, &w, true, b->first_id + i, err);
    }
    return r;
}

/* Put u->put as if all of it were new: 1 when it was not, and nothing but some
 * jobs has been put. */
static int put_new(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_batch *b = u->put;
    uint64_t more = 0;
    u->job_feed.rows = b->jobs;
    for (uint32_t i = 0; i < b->jobs; i++) {
        bj_row_mark_texts(&bj_table_job, &b->wait[i].row);
        more |= bj_row_known(&b->wait[i].row, u->unasked[1]);
    }
    int r = bj_upsert_feed(u, BJ_ST_JOB_FEED, more, err);
    if (r < 0)
        return r;
    if (sqlite3_changes(u->db) != (int)b->jobs)
        return 1;
    u->counts.jobs_new += b->jobs;
    for (uint32_t i = 0; r == 0 && i < b->jobs; i++)
        r = bj_upsert_share_of(u, b->wait[i].of, &b->wait[i].row, 1, err);
    return r < 0 ? r : put_all_steps(u, err);
}

static int put_each(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_batch *b = u->put;
    int r = 0;
    u->guess = 0;
    for (uint32_t i = 0; r >= 0 && i < b->jobs; i++) {
        int64_t id = b->first_id + i;
        r = is_there(u, id, err);
        if (r < 0)
            break;
        if (r > 0) {
            u->counts.jobs_new++;
            u->guess = 1;
        }
        if (r > 0)
            r = bj_upsert_share_of(u, b->wait[i].of, &b->wait[i].row, 1, err);
        else
            id = 0;
        if (r == 0)
            r = put_waiting(u, &b->wait[i], id > 0, id, err);
    }
    return r;
}

/* Make the best of what came of u->put, which nobody works at any more. */
static int settle(struct bj_upsert *u, int r, struct bj_err *err)
{
    if (r == 0)
        u->guess = u->guess < BJ_WAIT_JOBS / 2 ? 2 * u->guess : BJ_WAIT_JOBS;
    else if (r > 0)
        r = put_each(u, err);
    forget(u->put);
    u->put = NULL;
    return r;
}

/* --- two at a time ---------------------------------------------------------
 */

static int work(void *ctx)
{
    struct bj_upsert *u = ctx;
    pthread_mutex_lock(&u->sql);
    int r = put_new(u, &u->worker_err);
    pthread_mutex_unlock(&u->sql);
    return r;
}

/* Wait for the batch that is being put. */
static int collect(struct bj_upsert *u, struct bj_err *err)
{
    if (!u->put)
        return 0;
    int r = bj_background_wait(u->worker);
    if (r < 0 && err)
        *err = u->worker_err;
    return settle(u, r, err);
}

/* Put the batch that is full: in the thread, as long as all is new. */
static int hand_over(struct bj_upsert *u, struct bj_err *err)
{
    int r = collect(u, err);
    if (r < 0 || u->fill->jobs == 0)
        return r;
    u->put = u->fill;
    bool wanted = u->parallel && u->guess == BJ_WAIT_JOBS;
    if (wanted && !u->worker && !u->no_worker)
        u->no_worker = bj_background_new(work, u, &u->worker) < 0;
    if (!wanted || !u->worker)
        return settle(u, put_new(u, err), err);
    u->fill = &u->batch[u->fill == &u->batch[0]];
    u->worker_err = (struct bj_err){0};
    bj_background_go(u->worker);
    return 0;
}

void bj_upsert_parallel(struct bj_upsert *u)
{
    u->parallel = true;
}

int bj_upsert_alone(struct bj_upsert *u, struct bj_err *err)
{
    u->parallel = false;
    return collect(u, err);
}

int bj_batches_flush(struct bj_upsert *u, struct bj_err *err)
{
    int r = hand_over(u, err);
    return r < 0 ? r : collect(u, err);
}

uint32_t bj_upsert_waiting(const struct bj_upsert *u)
{
    return u->fill->jobs;
}

int bj_upsert_flush(struct bj_upsert *u, struct bj_err *err)
{
    return bj_batches_flush(u, err);
}

void bj_batches_drop(struct bj_upsert *u)
{
    if (u->put && u->worker)
        bj_background_wait(u->worker);
    u->put = NULL;
    u->parallel = false;
    forget(&u->batch[0]);
    forget(&u->batch[1]);
}

/* --- letting jobs wait -----------------------------------------------------
 */

int bj_batch_room(struct bj_upsert *u, const struct bj_sched_job *job,
                  bool *ret_wait, struct bj_err *err)
{
    int r = 0;
    if (u->guess > 0 && job->steps <= BJ_WAIT_STEPS &&
        u->fill->steps + job->steps > BJ_WAIT_STEPS)
        r = hand_over(u, err);
    *ret_wait = u->guess > 0 && job->steps <= BJ_WAIT_STEPS;
    return r < 0 || *ret_wait ? r : bj_batches_flush(u, err);
}

/* Texts of a record are gone when the next one comes. */
static void keep_texts(struct bj_batch *b, struct bj_row *row)
{
    for (unsigned i = 0; i < BJ_ROW_TEXTS; i++)
        if (row->s[i].n > 0)
            row->s[i] = bj_arena_copy(&b->text, row->s[i]);
}

static int add_more(struct bj_upsert *u, int64_t id,
                    const struct bj_sched_job *job, struct bj_waiting *w,
                    struct bj_err *err)
{
    struct bj_batch *b = u->fill;
    struct bj_row more;
    w->more = NULL;
    if (bj_row_more_none(job))
        return 0;
    int r = bj_row_more(u->dicts, id, job, &more, err);
    if (r < 0 || bj_row_more_empty(&more))
        return r;
    w->more = bj_arena_alloc(&b->text, sizeof(*w->more));
    if (w->more) {
        *w->more = more;
        keep_texts(b, w->more);
    }
    return 0;
}

int bj_batch_add(struct bj_upsert *u, const struct bj_sched_job *job,
                 struct bj_err *err)
{
    struct bj_batch *b = u->fill;
    struct bj_waiting *w = &b->wait[b->jobs];
    if (u->next_id == 0 &&
        bj_sql_int(u->db, "SELECT ifnull(max(id), 0) + 1 FROM job", &u->next_id,
                   err) < 0)
        return err->code;
    int64_t id = u->next_id;
    if (b->jobs == 0)
        b->first_id = id;
    int r = bj_row_job(u->dicts, u->cluster_id, job, &w->row, err);
    if (r == 0)
        r = bj_upsert_parts(u, &w->row, w->of, err);
    keep_texts(b, &w->row);
    if (r == 0)
        r = add_more(u, id, job, w, err);
    w->step = b->steps;
    w->steps = job->steps;
    for (uint32_t i = 0; r == 0 && i < job->steps; i++) {
        struct bj_row *step = &b->step[w->step + i];
        r = bj_row_step(u->dicts, id, &job->step[i], step, err);
        keep_texts(b, step);
    }
    if (b->text.failed)
        return bj_err_set(err, -ENOMEM, "jobs that wait");
    if (r < 0)
        return r;
    u->next_id++;
    b->jobs++;
    b->steps += job->steps;
    return b->jobs >= u->guess ? hand_over(u, err) : 0;
}
