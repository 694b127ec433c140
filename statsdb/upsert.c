#include "statsdb/upsert.h"

#include "statsdb/covered.h"
#include "statsdb/dict.h"
#include "statsdb/rollup.h"
#include "statsdb/row.h"

#include <stdlib.h>

/* Statements, made from the columns of the tables. */
enum {
    JOB_FIND,
    JOB_FIND_SLUID,
    JOB_ADD,
    JOB_SET,
    JOB_SET_PLAIN,
    MORE_FIND,
    MORE_ADD,
    MORE_SET_PLAIN,
    STEP_FIND,
    STEP_ADD,
    STEP_SET_PLAIN,
    STATEMENTS
};

static const struct statement {
    const struct bj_table *table;
    enum { FIND, ADD, SET, SET_PLAIN } kind;
    const char *where;
} statements[STATEMENTS] = {
    [JOB_FIND] = {&bj_table_job, FIND,
                  "cluster = ?1 AND raw_id = ?2 AND submit = ?3"},
    [JOB_FIND_SLUID] = {&bj_table_job, FIND, "sluid = ?1"},
    [JOB_ADD] = {&bj_table_job, ADD, NULL},
    [JOB_SET] = {&bj_table_job, SET, NULL},
    [JOB_SET_PLAIN] = {&bj_table_job, SET_PLAIN, NULL},
    [MORE_FIND] = {&bj_table_more, FIND, "job = ?1"},
    [MORE_ADD] = {&bj_table_more, ADD, NULL},
    [MORE_SET_PLAIN] = {&bj_table_more, SET_PLAIN, NULL},
    [STEP_FIND] = {&bj_table_step, FIND, "id = ?1"},
    [STEP_ADD] = {&bj_table_step, ADD, NULL},
    [STEP_SET_PLAIN] = {&bj_table_step, SET_PLAIN, NULL},
};

enum { CLUSTER_MAX = 256 };

struct bj_upsert {
    struct bj_store *store;
    struct sqlite3 *db;
    struct bj_dicts *dicts;
    struct bj_rollup *rollup;
    struct sqlite3_stmt *st[STATEMENTS];
    struct bj_upsert_counts counts;
    int64_t removed_before;
    bool expect_new;           /* the last job was: the next one may be, too */
    char cluster[CLUSTER_MAX]; /* the last one, and its number */
    size_t cluster_len;
    int64_t cluster_id;
    struct bj_row row, old;
};

static int prepare(struct bj_upsert *u, unsigned i, struct bj_err *err)
{
    const struct statement *s = &statements[i];
    struct bj_buf sql = {0};
    if (s->kind == FIND) {
        bj_buf_str(&sql, "SELECT ");
        if (s->table == &bj_table_job)
            bj_buf_str(&sql, "id, ");
        bj_row_sql_columns(s->table, &sql);
        bj_buf_printf(&sql, " FROM %s WHERE %s",
                      s->table == &bj_table_job    ? "job"
                      : s->table == &bj_table_more ? "job_more"
                                                   : "step",
                      s->where);
    } else if (s->kind == ADD) {
        bj_row_sql_insert(s->table, &sql);
    } else {
        bj_row_sql_update(s->table, s->kind == SET_PLAIN, &sql);
    }
    bj_buf_put(&sql, "", 1);
    int r = sql.failed ? bj_err_set(err, -ENOMEM, "statements")
                       : bj_sql_prepare(u->db, sql.p, &u->st[i], err);
    bj_buf_free(&sql);
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
    /* Every number that goes into a row comes from its dictionary in the same
     * transaction; having SQLite look it up again costs a third of an import.
     * bj_store_check looks at all of them. */
    int r = bj_sql_exec(u->db, "PRAGMA foreign_keys = OFF", err);
    if (r == 0)
        r = bj_dicts_new(u->db, &u->dicts, err);
    if (r == 0)
        r = bj_rollup_new(u->db, &u->rollup, err);
    for (unsigned i = 0; r == 0 && i < STATEMENTS; i++)
        r = prepare(u, i, err);
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
    for (unsigned i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(u->st[i]);
    bj_rollup_free(u->rollup);
    bj_dicts_free(u->dicts);
    bj_store_rollback(u->store);
    bj_sql_exec(u->db, "PRAGMA foreign_keys = ON", NULL);
    free(u);
}

int bj_upsert_begin(struct bj_upsert *u, struct bj_err *err)
{
    int r = bj_store_begin(u->store, err);
    return r < 0 ? r : bj_removed_before(u->store, &u->removed_before, err);
}

int bj_upsert_commit(struct bj_upsert *u, struct bj_err *err)
{
    int r = bj_rollup_flush(u->rollup, err);
    return r < 0 ? r : bj_store_commit(u->store, err);
}

void bj_upsert_rollback(struct bj_upsert *u)
{
    for (unsigned i = 0; i < STATEMENTS; i++)
        sqlite3_reset(u->st[i]);
    bj_store_rollback(u->store);
    bj_rollup_drop(u->rollup);
    bj_dicts_clear(u->dicts);
    u->cluster_id = BJ_SQL_NULL;
}

const struct bj_upsert_counts *bj_upsert_counts(const struct bj_upsert *u)
{
    return &u->counts;
}

size_t bj_upsert_bytes(const struct bj_upsert *u)
{
    return sizeof(*u) + bj_dicts_bytes(u->dicts);
}

/* --- rows ------------------------------------------------------------------
 */

/* Insert a row unless one with its key is there: 1 inserted, 0 not. */
static int add(struct bj_upsert *u, unsigned which, const struct bj_row *row,
               struct bj_err *err)
{
    bj_row_bind(statements[which].table, row, u->st[which]);
    int r = bj_sql_run(u->st[which], err);
    return r < 0 ? r : sqlite3_changes(u->db) > 0;
}

static int share(struct bj_upsert *u, const struct bj_row *row, int sign,
                 struct bj_err *err)
{
    static const struct {
        unsigned col;
        enum bj_dict_id dict;
    } parts[4] = {{BJ_JOB_CLUSTER, BJ_DICT_WORD},
                  {BJ_JOB_ACCOUNT, BJ_DICT_ACCOUNT},
                  {BJ_JOB_USER, BJ_DICT_USER},
                  {BJ_JOB_PARTITION, BJ_DICT_PARTITION}};
    int64_t of[4], assoc;
    int r = 0;
    for (int i = 0; r == 0 && i < 4; i++) {
        of[i] = row->v[parts[i].col];
        if (of[i] == BJ_SQL_NULL) /* not known: in sums it is "" */
            r = bj_dict_text(u->dicts, parts[i].dict, BJ_SLICE(""), &of[i],
                             err);
    }
    if (r == 0)
        r = bj_dict_assoc(u->dicts, of, &assoc, err);
    return r < 0 ? r : bj_rollup_add(u->rollup, assoc, row, sign, err);
}

/* Look the job up: 1 and u->old when it is there.  The statement is left at
 * its row, which texts of u->old point into. */
static int job_find(struct bj_upsert *u, struct sqlite3_stmt **ret_st,
                    int64_t *ret_id, struct bj_err *err)
{
    struct sqlite3_stmt *st = u->st[JOB_FIND];
    bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_CLUSTER, st, 1);
    bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_RAW_ID, st, 2);
    bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_SUBMIT, st, 3);
    int r = bj_sql_row(st, err);
    if (r == 0 && u->row.v[BJ_JOB_SLUID] != BJ_SQL_NULL) {
        st = u->st[JOB_FIND_SLUID];
        bj_row_bind_one(&bj_table_job, &u->row, BJ_JOB_SLUID, st, 1);
        r = bj_sql_row(st, err);
    }
    *ret_st = st;
    if (r <= 0)
        return r;
    *ret_id = sqlite3_column_int64(st, 0);
    bj_row_read(&bj_table_job, st, 1, &u->old);
    return 1;
}

static int job_set(struct bj_upsert *u, int64_t id, enum bj_row_change change,
                   struct bj_err *err)
{
    unsigned which = change == BJ_ROW_PLAIN ? JOB_SET_PLAIN : JOB_SET;
    struct sqlite3_stmt *st = u->st[which];
    int at = change == BJ_ROW_PLAIN
                 ? bj_row_bind_plain(&bj_table_job, &u->row, st)
                 : bj_row_bind(&bj_table_job, &u->row, st);
    sqlite3_bind_int64(st, at, id);
    int r = share(u, &u->old, -1, err);
    if (r == 0)
        r = share(u, &u->row, 1, err);
    return r < 0 ? r : bj_sql_run(st, err);
}

/* Put u->row: its number, and whether it is new. */
static int job_put(struct bj_upsert *u, int64_t *ret_id, bool *ret_new,
                   struct bj_err *err)
{
    struct sqlite3_stmt *st = NULL;
    int r = 0;
    *ret_new = false;
    if (!u->expect_new)
        r = job_find(u, &st, ret_id, err);
    if (r == 0) {
        r = add(u, JOB_ADD, &u->row, err);
        if (r > 0) {
            *ret_id = sqlite3_last_insert_rowid(u->db);
            *ret_new = u->expect_new = true;
            u->counts.jobs_new++;
            return share(u, &u->row, 1, err);
        }
        if (r == 0 && !st)
            r = job_find(u, &st, ret_id, err);
        if (r == 0)
            return bj_err_set(err, -EPROTO, "a job is neither there nor new");
    }
    if (r < 0)
        return r;
    u->expect_new = false;
    enum bj_row_change change = bj_row_merge(&bj_table_job, &u->old, &u->row);
    if (change == BJ_ROW_SAME)
        u->counts.jobs_same++;
    else
        u->counts.jobs_changed++;
    r = change == BJ_ROW_SAME ? 0 : job_set(u, *ret_id, change, err);
    sqlite3_reset(st);
    return r;
}

static int more_put(struct bj_upsert *u, int64_t id, bool fresh,
                    const struct bj_sched_job *job, bool *ret_changed,
                    struct bj_err *err)
{
    int r = bj_row_more(u->dicts, id, job, &u->row, err);
    if (r < 0 || bj_row_more_empty(&u->row))
        return r;
    struct sqlite3_stmt *find = u->st[MORE_FIND], *set = u->st[MORE_SET_PLAIN];
    sqlite3_bind_int64(find, 1, id);
    r = fresh ? 0 : bj_sql_row(find, err);
    if (r <= 0) {
        *ret_changed = true;
        return r < 0 ? r : add(u, MORE_ADD, &u->row, err);
    }
    bj_row_read(&bj_table_more, find, 0, &u->old);
    if (bj_row_merge(&bj_table_more, &u->old, &u->row) != BJ_ROW_SAME) {
        int at = bj_row_bind_plain(&bj_table_more, &u->row, set);
        sqlite3_bind_int64(set, at, id);
        r = bj_sql_run(set, err);
        *ret_changed = true;
    }
    sqlite3_reset(find);
    return r;
}

/* Look the step of u->row up: 1 and u->old when it is there.  Steps with names
 * that nobody has foreseen look for a free place. */
static int step_find(struct bj_upsert *u, struct bj_err *err)
{
    struct sqlite3_stmt *find = u->st[STEP_FIND];
    struct bj_slice other = u->row.s[0];
    for (;;) {
        sqlite3_bind_int64(find, 1, u->row.v[BJ_STEP_ID]);
        int r = bj_sql_row(find, err);
        if (r <= 0)
            return r;
        bj_row_read(&bj_table_step, find, 0, &u->old);
        if (bj_slice_eq(u->old.s[0], other))
            return 1;
        sqlite3_reset(find);
        u->row.v[BJ_STEP_ID]++;
    }
}

static int step_put(struct bj_upsert *u, int64_t id, bool fresh,
                    const struct bj_job_step *step, struct bj_err *err)
{
    struct sqlite3_stmt *set = u->st[STEP_SET_PLAIN];
    int r = bj_row_step(u->dicts, id, step, &u->row, err);
    if (r == 0 && fresh && u->row.s[0].n == 0)
        r = add(u, STEP_ADD, &u->row, err);
    if (r != 0) {
        u->counts.steps_new += r > 0;
        return r;
    }
    r = step_find(u, err);
    if (r == 0) {
        r = add(u, STEP_ADD, &u->row, err);
        u->counts.steps_new += r > 0;
        return r;
    }
    if (r < 0)
        return r;
    if (bj_row_merge(&bj_table_step, &u->old, &u->row) == BJ_ROW_SAME) {
        u->counts.steps_same++;
        r = 0;
    } else {
        int at = bj_row_bind_plain(&bj_table_step, &u->row, set);
        sqlite3_bind_int64(set, at, u->row.v[BJ_STEP_ID]);
        u->counts.steps_changed++;
        r = bj_sql_run(set, err);
    }
    sqlite3_reset(u->st[STEP_FIND]);
    return r;
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
    if (name.n >= CLUSTER_MAX)
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

int bj_upsert_job(struct bj_upsert *u, struct bj_slice cluster,
                  const struct bj_sched_job *job, struct bj_err *err)
{
    int64_t id = 0;
    bool fresh = false, more = false;
    if (job->raw_id.n == 0)
        return bj_err_set(err, -EINVAL, "a job without an id");
    if (job->end_sec < (uint64_t)u->removed_before) {
        u->counts.jobs_removed++;
        return 0;
    }
    int r = cluster_of(u, cluster, job, err);
    if (r == 0)
        r = bj_row_job(u->dicts, u->cluster_id, job, &u->row, err);
    if (r == 0)
        r = job_put(u, &id, &fresh, err);
    if (r == 0)
        r = more_put(u, id, fresh, job, &more, err);
    for (unsigned i = 0; r >= 0 && i < job->steps; i++)
        r = step_put(u, id, fresh, &job->step[i], err);
    return r < 0 ? bj_err_wrap(err, r, "job %.*s", (int)job->raw_id.n,
                               job->raw_id.p)
                 : 0;
}
