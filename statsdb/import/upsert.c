#include "statsdb/import/upsert.h"

#include "statsdb/derive/rollup.h"
#include "statsdb/import/batch.h"
#include "statsdb/import/covered.h"
#include "statsdb/import/stored.h"
#include "statsdb/tables/job_month.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTER_MAX = 256, RECORDS = 1000 };

struct bj_upsert {
    struct bj_store *store;
    struct bj_db *db;
    struct bj_dicts *dicts;
    struct bj_rollup *rollup;
    struct bj_become *become;
    const struct bj_stored_kind *kind;
    struct bj_stored *stored;
    struct bj_batch batch;
    struct bj_upsert_counts counts;
    struct bj_job_months months;
    int64_t removed_before;
    bool begin_later;          /* the transaction has not begun yet */
    char cluster[CLUSTER_MAX]; /* the last cluster; its number is cluster_id */
    size_t cluster_len;
    int64_t cluster_id;
    bool bulk;
};

static int upsert_set_up(struct bj_upsert *u, struct bj_err *err)
{
    int r = bj_dicts_new(u->db, &u->dicts, err);
    if (r == 0)
        r = bj_rollup_new(u->db, &u->rollup, err);
    if (r == 0)
        r = bj_become_new(u->db, &u->become, err);
    if (r == 0)
        r = u->kind->open(u->db, &u->stored, err);
    bj_batch_begin(&u->batch, u->db, u->dicts, &u->counts);
    return r;
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
    u->kind = bj_db_dialect(u->db) == BJ_DIALECT_POSTGRESQL
                  ? &bj_stored_postgres
                  : &bj_stored_sqlite;
    bj_upsert_gather(u, true);
    int r = upsert_set_up(u, err);
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
    bj_batch_free(&u->batch);
    u->kind->close(u->stored);
    bj_become_free(u->become);
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
    u->kind->reset(u->stored);
    bj_become_reset(u->become);
    bj_store_rollback(u->store);
    bj_batch_drop(&u->batch);
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

void bj_upsert_gather(struct bj_upsert *u, bool on)
{
    u->batch.max = on && u->kind == &bj_stored_postgres ? RECORDS : 1;
}

void bj_upsert_only_new(struct bj_upsert *u)
{
    u->batch.only_new = true;
}

/* --- jobs that are stored together ---------------------------------------- */

/* The number of a job's combination for daily sums; it may be preliminary. */
static int find_assoc(struct bj_upsert *u, const struct bj_row *row,
                      int64_t *ret, struct bj_err *err)
{
    static const struct {
        unsigned col;
        enum bj_dict_id dict;
    } parts[4] = {{BJ_JOB_CLUSTER, BJ_DICT_WORD}, /* always known */
                  {BJ_JOB_ACCOUNT, BJ_DICT_ACCOUNT},
                  {BJ_JOB_USER, BJ_DICT_USER},
                  {BJ_JOB_PARTITION, BJ_DICT_PARTITION}};
    int64_t of[4];
    int r = 0;
    for (int i = 0; r == 0 && i < 4; i++) {
        of[i] = row->v[parts[i].col];
        if (of[i] == BJ_SQL_NULL) /* unknown: "" in sums */
            r = bj_dict_text(u->dicts, parts[i].dict, BJ_SLICE(""), &of[i],
                             err);
    }
    bj_dicts_defer(u->dicts, u->batch.follow);
    if (r == 0)
        r = bj_dict_assoc(u->dicts, of, ret, err);
    bj_dicts_defer(u->dicts, false);
    return r;
}

static int find_assocs(struct bj_upsert *u, struct bj_err *err)
{
    int r = 0;
    for (struct bj_batch_job *j = u->batch.job; r == 0 && j; j = j->next) {
        if (j->old && j->change == BJ_ROW_SAME)
            continue;
        r = find_assoc(u, j->row, &j->assoc, err);
        if (r == 0 && j->old)
            r = find_assoc(u, j->old, &j->old_assoc, err);
    }
    return r < 0 ? r : bj_dicts_settle(u->dicts, err);
}

/* Add the values of new and changed jobs to the daily sums, and note their
 * months. */
static int add_sums(struct bj_upsert *u, struct bj_err *err)
{
    int r = find_assocs(u, err);
    for (const struct bj_batch_job *j = u->batch.job; r == 0 && j;
         j = j->next) {
        const int64_t *v = j->row->v;
        if (j->old && j->change == BJ_ROW_SAME)
            continue;
        r = bj_job_months_add(&u->months, j->id,
                              v[BJ_COL_START] == BJ_SQL_NULL ? v[BJ_JOB_SUBMIT]
                                                             : v[BJ_COL_START],
                              v[BJ_COL_END], err);
        if (r == 0 && j->old)
            r = bj_rollup_add(u->rollup,
                              bj_dicts_settled(u->dicts, j->old_assoc), j->old,
                              -1, err);
        if (r == 0)
            r = bj_rollup_add(u->rollup, bj_dicts_settled(u->dicts, j->assoc),
                              j->row, 1, err);
    }
    return r;
}

static int store(struct bj_upsert *u, struct bj_err *err)
{
    struct bj_batch *b = &u->batch;
    int r = bj_batch_settle(b, err);
    if (r == 0 && b->only_new) {
        r = u->kind->known(u->stored, b, err);
        if (r == 0)
            bj_become_only_new(b);
    }
    for (struct bj_batch_record *at = b->record; b->pbs && r == 0 && at;
         at = at->next)
        r = bj_batch_find_runs(b, at, err);
    if (r == 0 && b->pbs)
        r = u->kind->runs(u->stored, b, err);
    if (r == 0 && b->pbs)
        r = bj_become_runs(b, err);
    if (r == 0 && b->record)
        r = u->kind->find(u->stored, b, err);
    if (r == 0)
        r = bj_become_jobs(u->become, b, err);
    if (r == 0)
        r = add_sums(u, err);
    if (r == 0)
        r = u->kind->write(u->stored, b, err);
    return r < 0 ? r : bj_become_write_sizes(u->become, b, err);
}

static const char *id_text(const struct bj_batch_record *r, char *ret,
                           size_t size)
{
    struct bj_slice id = r->row.s[0];
    if (id.n > 0)
        snprintf(ret, size, "%.*s", (int)id.n, id.p);
    else
        snprintf(ret, size, "%lld", (long long)r->row.v[BJ_JOB_RAW_ID]);
    return ret;
}

/* Name the job of an error, or the first and the last of the jobs. */
static int name_jobs(const struct bj_batch_record *first,
                     const struct bj_batch_record *last, int r,
                     struct bj_err *err)
{
    char from[64], to[64];
    id_text(first, from, sizeof(from));
    return first == last ? bj_err_wrap(err, r, "job %s", from)
                         : bj_err_wrap(err, r, "jobs %s to %s", from,
                                       id_text(last, to, sizeof(to)));
}

int bj_upsert_flush(struct bj_upsert *u, struct bj_err *err)
{
    const struct bj_batch_record *first = u->batch.record, *last = first;
    struct bj_err own = {0};
    if (!first)
        return 0;
    while (last->next)
        last = last->next;
    int r = store(u, &own);
    if (r < 0)
        bj_err_copy(err, name_jobs(first, last, r, &own), &own);
    bj_batch_drop(&u->batch);
    return r;
}

/* --- a job -----------------------------------------------------------------
 */

static int cluster_of(struct bj_upsert *u, struct bj_slice name,
                      const struct bj_sched_job *job, struct bj_err *err)
{
    if (job->cluster.n > 0)
        name = job->cluster;
    if (name.n >= CLUSTER_MAX)
        return bj_err_set(err, -EINVAL,
                          "name of a cluster is too long: %zu bytes", name.n);
    struct bj_slice last = {u->cluster, u->cluster_len};
    if (u->cluster_id != BJ_SQL_NULL && bj_slice_eq(last, name))
        return 0;
    const bool pbs = bj_slice_eq(job->batch_system, BJ_SLICE("pbs"));
    int r = pbs == u->batch.pbs ? 0 : bj_upsert_flush(u, err);
    if (r == 0)
        r = bj_dict_cluster(u->dicts, name, job->batch_system, &u->cluster_id,
                            err);
    if (r == 0 && name.n > 0)
        memcpy(u->cluster, name.p, name.n);
    u->cluster_len = name.n;
    u->batch.pbs = pbs;
    return r;
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
    if (r == 0)
        r = bj_batch_add(&u->batch, u->cluster_id, job, &own);
    if (r < 0)
        return bj_err_copy(
            err,
            bj_err_wrap(&own, r, "job %.*s", (int)job->jobid.n, job->jobid.p),
            &own);
    return bj_batch_is_full(&u->batch) ? bj_upsert_flush(u, err) : 0;
}
