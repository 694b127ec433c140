#include "statsdb/pbs_run.h"

#include "sched/state.h"
#include "store/db.h"

#include <stdlib.h>

enum { RUNS_MAX = 1000 }; /* distinguished runs of a job */

struct run {
    int64_t submit, start, end; /* BJ_SQL_NULL: unknown */
    enum bj_job_state state;
};

struct bj_pbs_runs {
    struct bj_st *find;
};

/* The known runs of a job. */
struct known {
    struct run newest;
    struct run same; /* with the record's start */
    struct run open; /* the first one that has not ended */
    bool any, has_same, has_open;
};

int bj_pbs_runs_new(struct bj_store *s, struct bj_pbs_runs **ret,
                    struct bj_err *err)
{
    struct bj_pbs_runs *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "runs");
    int e = bj_db_prepare(
        bj_store_db(s),
        "SELECT submit, start, \"end\", state FROM job WHERE cluster ="
        " (SELECT id FROM cluster WHERE name = ?1) AND jobid = ?2"
        " AND submit >= ?3 AND submit < ?4 ORDER BY submit",
        &r->find, err);
    if (e < 0) {
        bj_pbs_runs_free(r);
        return e;
    }
    *ret = r;
    return 0;
}

void bj_pbs_runs_free(struct bj_pbs_runs *r)
{
    if (!r)
        return;
    bj_st_finalize(r->find);
    free(r);
}

static void note_run(struct known *k, const struct run *run,
                     const struct bj_sched_job *job)
{
    if (!k->any || run->submit >= k->newest.submit)
        k->newest = *run;
    k->any = true;
    if (!bj_state_ended(run->state) &&
        (!k->has_open || run->submit < k->open.submit)) {
        k->open = *run;
        k->has_open = true;
    }
    if (job->start_sec != BJ_ABSENT && run->start == (int64_t)job->start_sec) {
        k->same = *run;
        k->has_same = true;
    }
}

/* Read all runs with keys between two times. */
static int read_runs(struct bj_pbs_runs *r, struct bj_slice cluster,
                     const struct bj_sched_job *job, int64_t from, int64_t to,
                     struct known *k, struct bj_err *err)
{
    int e;
    bj_st_bind_filled(r->find, 1, cluster);
    bj_st_bind_jobid(r->find, 2, job->raw_id);
    bj_st_bind_i64(r->find, 3, from);
    bj_st_bind_i64(r->find, 4, to);
    while ((e = bj_st_row(r->find, err)) > 0) {
        struct run run = {bj_st_get_i64(r->find, 0), bj_st_get_i64(r->find, 1),
                          bj_st_get_i64(r->find, 2),
                          (enum bj_job_state)bj_st_get_i64(r->find, 3)};
        note_run(k, &run, job);
    }
    return e;
}

/* Submit time of the key for a record; base: the job's submit time. */
static int64_t choose_run(const struct known *k, const struct bj_sched_job *job,
                          int64_t base)
{
    const bool has_count =
        job->restarts != BJ_ABSENT && job->restarts < RUNS_MAX;
    const int64_t reported = has_count ? base + (int64_t)job->restarts : base;
    const struct run *n = &k->newest;
    if (k->has_same)
        return k->same.submit;
    if (!k->any)
        return reported;
    if (job->state == BJ_STATE_PENDING)
        return n->submit;
    bool another = job->start_sec != BJ_ABSENT && n->start != BJ_SQL_NULL;
    if (another && has_count && reported < n->submit)
        return reported; /* an earlier run, reported late */
    if (another || n->state == BJ_STATE_REQUEUED)
        return reported > n->submit ? reported : n->submit + 1;
    return n->submit;
}

/* For D and A records, which have no times. */
static void choose_run_without_submit(const struct known *k,
                                      struct bj_sched_job *job)
{
    const struct run *n = &k->newest;
    if (!k->any)
        return;
    if (n->state == BJ_STATE_REQUEUED && n->end != (int64_t)job->end_sec)
        job->submit_sec = (uint64_t)n->submit + 1;
    else if (!bj_state_ended(n->state) || n->end == (int64_t)job->end_sec)
        job->submit_sec = (uint64_t)n->submit;
}

/* An earlier run whose end was never reported. */
static bool open_before(const struct known *k, const struct bj_sched_job *job,
                        struct bj_sched_job *left)
{
    if (!k->has_open || k->open.submit >= (int64_t)job->submit_sec)
        return false;
    bj_sched_job_init(left);
    left->cluster = job->cluster;
    left->batch_system = job->batch_system;
    left->raw_id = left->shown_id = job->raw_id;
    left->submit_sec = (uint64_t)k->open.submit;
    left->state = BJ_STATE_REQUEUED;
    return true;
}

int bj_pbs_runs_place(struct bj_pbs_runs *r, struct bj_slice cluster,
                      struct bj_sched_job *job, struct bj_sched_job *left,
                      struct bj_err *err)
{
    const bool bare = job->submit_sec == BJ_ABSENT;
    const int64_t base = bare ? 0 : bj_sql_u64(job->submit_sec);
    const int64_t end =
        bare || base > INT64_MAX - RUNS_MAX ? INT64_MAX : base + RUNS_MAX;
    struct known k = {.any = false};
    if (job->cluster.n > 0)
        cluster = job->cluster;
    int e = read_runs(r, cluster, job, base, end, &k, err);
    if (e < 0)
        return e;
    if (bare)
        choose_run_without_submit(&k, job);
    else
        job->submit_sec = (uint64_t)choose_run(&k, job, base);
    if (job->submit_sec == BJ_ABSENT)
        return 0;
    return open_before(&k, job, left);
}
