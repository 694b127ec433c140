#include "statsdb/import/upsert.h"

#include "base/text.h"
#include "statsdb/import/covered.h"
#include "statsdb/import/upsert_impl.h"

#include <stdlib.h>

static int set_up(struct bj_upsert *u, struct bj_err *err)
{
    int r = bj_dicts_new(u->db, &u->dicts, err);
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
    int r = set_up(u, err);
    if (r == 0)
        r = bj_upsert_gather(u, true, err);
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
        bj_st_finalize(u->st[i]);
    bj_gather_free(u->gather);
    bj_rollup_free(u->rollup);
    bj_dicts_free(u->dicts);
    bj_store_rollback(u->store);
    if (u->bulk)
        bj_db_references(bj_store_db(u->store), true, NULL);
    free(u);
}

const struct bj_upsert_counts *bj_upsert_counts(const struct bj_upsert *u)
{
    return &u->counts;
}

/* --- transactions ----------------------------------------------------------
 */

int bj_upsert_begin(struct bj_upsert *u, struct bj_err *err)
{
    int r = bj_store_begin(u->store, err);
    u->begin_later = false;
    u->cluster_id = BJ_SQL_NULL; /* look it up in this transaction */
    bj_job_months_begin(&u->months, u->db);
    return r < 0 ? r : bj_removed_before(u->store, &u->removed_before, err);
}

void bj_upsert_begin_later(struct bj_upsert *u)
{
    u->begin_later = true;
}

int bj_upsert_ready(struct bj_upsert *u, struct bj_err *err)
{
    return u->begin_later ? bj_upsert_begin(u, err) : 0;
}

int bj_upsert_commit(struct bj_upsert *u, struct bj_err *err)
{
    int r = bj_upsert_ready(u, err);
    if (r == 0)
        r = bj_upsert_flush(u, err);
    if (r == 0)
        r = bj_rollup_flush(u->rollup, err);
    if (r == 0)
        r = bj_job_months_flush(&u->months, err);
    return r < 0 ? r : bj_store_commit(u->store, err);
}

void bj_upsert_rollback(struct bj_upsert *u)
{
    for (unsigned i = 0; i < BJ_STATEMENTS; i++)
        bj_st_reset(u->st[i]);
    bj_store_rollback(u->store);
    bj_gather_drop(u->gather);
    u->begin_later = false;
    bj_rollup_drop(u->rollup);
    bj_dicts_clear(u->dicts);
    u->cluster_id = BJ_SQL_NULL;
}

int bj_upsert_bulk(struct bj_upsert *u, bool on, struct bj_err *err)
{
    if (u->bulk == on)
        return 0;
    int r = bj_db_references(bj_store_db(u->store), !on, err);
    if (r == 0)
        u->bulk = on;
    return r;
}

int bj_upsert_gather(struct bj_upsert *u, bool on, struct bj_err *err)
{
    if (bj_db_dialect(u->db) != BJ_DIALECT_POSTGRESQL)
        return 0;
    bj_gather_free(u->gather);
    u->gather = on ? bj_gather_new() : NULL;
    return u->gather || !on ? 0 : bj_err_set(err, -ENOMEM, "upsert");
}

void bj_upsert_only_new(struct bj_upsert *u)
{
    u->only_new = true;
}

int bj_upsert_flush(struct bj_upsert *u, struct bj_err *err)
{
    return u->gather ? bj_gather_store(u, err) : 0;
}

/* --- a job -----------------------------------------------------------------
 */

static int cluster_of(struct bj_upsert *u, struct bj_slice name,
                      const struct bj_sched_job *job, struct bj_err *err)
{
    if (job->cluster.n > 0)
        name = job->cluster;
    if (name.n >= BJ_CLUSTER_MAX)
        return bj_err_set(err, -EINVAL,
                          "name of a cluster is too long: %zu bytes", name.n);
    struct bj_slice last = {u->cluster, u->cluster_len};
    if (u->cluster_id != BJ_SQL_NULL && bj_slice_eq(last, name))
        return 0;
    const bool pbs = bj_slice_eq(job->batch_system, BJ_SLICE("pbs"));
    int r = pbs == u->pbs ? 0 : bj_upsert_flush(u, err);
    if (r == 0)
        r = bj_dict_cluster(u->dicts, name, job->batch_system, &u->cluster_id,
                            err);
    if (r == 0 && name.n > 0)
        memcpy(u->cluster, name.p, name.n);
    u->cluster_len = name.n;
    u->pbs = pbs;
    return r;
}

static int64_t number_of(const struct bj_upsert *u,
                         const struct bj_sched_job *job)
{
    return bj_job_numbers_follow(u->db)
               ? bj_job_number_of(u->cluster_id, job->jobid,
                                  u->row.v[BJ_JOB_SUBMIT])
               : BJ_SQL_NULL;
}

/* Choose the run of a record of PBS. If the record shows that an earlier run
 * has ended, that run is stored first. */
static int put_run(struct bj_upsert *u, const struct bj_sched_job *job,
                   struct bj_err *err)
{
    struct bj_row left, record;
    int64_t id;
    bool fresh;
    int r = bj_upsert_find_run(u, &left, err);
    if (r <= 0)
        return r;
    record = u->row;
    u->row = left;
    u->number = number_of(u, job);
    r = bj_upsert_begin_job(u, &id, &fresh, err);
    if (r == 0)
        r = bj_upsert_end_job(u, id, err);
    u->row = record;
    return r;
}

static int put(struct bj_upsert *u, const struct bj_sched_job *job,
               struct bj_err *err)
{
    int64_t id = 0;
    bool fresh = false;
    struct bj_row record;
    const bool one_size = job->sizes_kind != BJ_SIZES_ALL;
    int r = bj_row_job(u->dicts, u->cluster_id, job, &u->row, err);
    if (r == 0 && u->only_new)
        r = bj_upsert_is_known(u, err);
    if (r > 0) {
        u->counts.jobs_known++;
        return 0;
    }
    if (r == 0 && u->pbs)
        r = put_run(u, job, err);
    if (r == 0 && one_size)
        record = u->row;
    if (r == 0)
        u->number = number_of(u, job);
    if (r == 0)
        r = bj_upsert_begin_job(u, &id, &fresh, err);
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
    if (r < 0)
        return r;
    const uint64_t changed = u->counts.jobs_changed;
    r = bj_upsert_end_job(u, id, err);
    if (r == 0 && one_size) {
        if (!fresh && record.v[BJ_COL_SUSPENDED] == BJ_SQL_NULL)
            record.v[BJ_COL_SUSPENDED] = u->row.v[BJ_COL_SUSPENDED];
        u->row = record;
        r = bj_upsert_join_size(u, id, job, err);
    } else if (r == 0 && job->sizes > 0 &&
               (fresh || u->counts.jobs_changed > changed)) {
        r = bj_upsert_put_sizes(u, id, job, err);
    }
    return r;
}

/* Runs of PBS are listed by jobid: different jobids must differ in the
 * database, too, which accepts only UTF-8. Resized runs are few. */
static bool can_gather(const struct bj_upsert *u,
                       const struct bj_sched_job *job)
{
    return (!u->pbs || bj_text_is_utf8(job->jobid)) && job->sizes == 0;
}

int bj_upsert_job(struct bj_upsert *u, struct bj_slice cluster,
                  const struct bj_sched_job *job, struct bj_err *err)
{
    struct bj_err own = {0};
    if (job->jobid.n == 0)
        return bj_err_set(err, -EINVAL, "a job without jobid");
    int r = bj_upsert_ready(u, err);
    if (r < 0)
        return r;
    if (job->end_sec < (uint64_t)u->removed_before) {
        u->counts.jobs_removed++;
        return 0;
    }
    r = cluster_of(u, cluster, job, &own);
    bool gathers = u->gather && can_gather(u, job);
    if (r == 0 && !gathers)
        r = bj_upsert_flush(u, &own);
    if (r == 0)
        r = gathers ? bj_gather_add(u, job, &own) : put(u, job, &own);
    if (r < 0)
        return bj_err_copy(
            err,
            bj_err_wrap(&own, r, "job %.*s", (int)job->jobid.n, job->jobid.p),
            &own);
    return gathers && bj_gather_is_full(u->gather) ? bj_upsert_flush(u, err)
                                                   : 0;
}
