#include "statsdb/derive/derive_zone.h"

#include "statsdb/derive/derive_impl.h"
#include "statsdb/derive/rollup.h"
#include "statsdb/tables/site_zone.h"

#include <stdlib.h>
#include <string.h>

/* --- moving ----------------------------------------------------------------
 */

enum { BATCH = 500, JOB_COLUMNS = 17, ID = 0, ASSOC, VALUES };

struct move {
    struct bj_derive derive; /* only its statements */
    struct bj_rollup *rollup;
    struct bj_st *jobs;
    const struct bj_tz *from, *to;
    size_t n;
    int64_t job[BATCH][VALUES + JOB_COLUMNS];
};

/* The columns of sums, in the order of the statement. */
static const struct {
    unsigned char col;
    const char *name;
} columns[JOB_COLUMNS] = {{BJ_COL_STATE, "state"},
                          {BJ_COL_START, "start"},
                          {BJ_COL_END, "\"end\""},
                          {BJ_COL_ELAPSED, "elapsed"},
                          {BJ_COL_SUSPENDED, "suspended"},
                          {BJ_COL_CPUS, "cpus"},
                          {BJ_COL_NODES, "nodes"},
                          {BJ_COL_CPU, "cpu_usec"},
                          {BJ_COL_ENERGY, "energy_scheduler_joules"},
                          {BJ_JOB_SUBMIT, "submit"},
                          {BJ_JOB_ELIGIBLE, "eligible"},
                          {BJ_JOB_GPUS, "gpus"},
                          {BJ_JOB_ALLOCATED_MEM, "memory_allocated_bytes"},
                          {BJ_JOB_CPU_SEC, "cpu_sec"},
                          {BJ_JOB_NODE_SEC, "node_sec"},
                          {BJ_JOB_GPU_SEC, "gpu_sec"},
                          {BJ_JOB_MIB_SEC, "memory_mib_sec"}};

static int zone_prepare(struct move *m, struct bj_db *db, struct bj_err *err)
{
    struct bj_buf sql = {0};
    bj_buf_str(&sql, "SELECT j.id, a.id");
    for (unsigned i = 0; i < JOB_COLUMNS; i++)
        bj_buf_printf(&sql, ", j.%s", columns[i].name);
    bj_buf_printf(
        &sql,
        " FROM job AS j JOIN assoc AS a ON a.cluster = j.cluster AND a.account"
        " = coalesce(j.account, (SELECT id FROM account WHERE name = ''))"
        " AND a.\"user\" = coalesce(j.\"user\", (SELECT id FROM \"user\" WHERE"
        " name = '')) AND a.\"partition\" = coalesce(j.\"partition\", (SELECT"
        " id FROM \"partition\" WHERE name = '')) WHERE j.id > ?1 ORDER BY j.id"
        " LIMIT %d",
        BATCH);
    int r = bj_db_prepare_buf(db, &sql, &m->jobs, err);
    if (r == 0)
        r = bj_rollup_new(db, &m->rollup, err);
    return r < 0 ? r : bj_derive_prepare(&m->derive, BJ_DERIVE_STATEMENTS, err);
}

/* Read the jobs after one: their number. */
static int read_jobs(struct move *m, int64_t after, struct bj_err *err)
{
    int r;
    m->n = 0;
    bj_st_bind_i64(m->jobs, 1, after);
    while ((r = bj_st_row(m->jobs, err)) > 0)
        if (m->n < BATCH) {
            for (int i = 0; i < VALUES + JOB_COLUMNS; i++)
                m->job[m->n][i] = bj_st_get_i64(m->jobs, i);
            m->n++;
        }
    bj_st_reset(m->jobs);
    return r < 0 ? r : (int)m->n;
}

/* Are both times on one day, which is the same in both zones? */
static bool is_one_day(const struct move *m, int64_t start, int64_t end)
{
    const int64_t last = INT64_C(253402300799); /* of year 9999 */
    if (start < 0 || end < start || end > last)
        return false;
    const int64_t day = bj_tz_day(m->from, start);
    return day == bj_tz_day(m->from, end) && day == bj_tz_day(m->to, start) &&
           day == bj_tz_day(m->to, end);
}

/* Move the sums of measured values. */
static int move_use(struct move *m, int64_t job, struct bj_err *err)
{
    struct bj_derive *d = &m->derive;
    d->job.id = job;
    int r = bj_derive_read_old(d, err);
    if (r < 0 || !d->job.had_use ||
        is_one_day(m, d->job.old_use[BJ_USE_COUNTED_START],
                   d->job.old_use[BJ_USE_COUNTED_END]))
        return r;
    d->tz = m->from;
    r = bj_derive_count(d, d->job.old_use, d->job.old_grams, d->job.n_old_grams,
                        -1, err);
    d->tz = m->to;
    return r < 0 ? r
                 : bj_derive_count(d, d->job.old_use, d->job.old_grams,
                                   d->job.n_old_grams, 1, err);
}

/* Move the sums of accounting. */
static int move_row(struct move *m, const int64_t *v, struct bj_err *err)
{
    struct bj_row row = {.weak = false};
    for (int i = 0; i < BJ_ROW_COLS; i++)
        row.v[i] = BJ_SQL_NULL;
    for (int i = 0; i < JOB_COLUMNS; i++)
        row.v[columns[i].col] = v[VALUES + i];
    if (is_one_day(m, row.v[BJ_COL_START], row.v[BJ_COL_END]))
        return 0;
    bj_rollup_use_zone(m->rollup, m->from);
    int r = bj_rollup_add(m->rollup, v[ASSOC], &row, -1, err);
    bj_rollup_use_zone(m->rollup, m->to);
    if (r == 0)
        r = bj_rollup_add(m->rollup, v[ASSOC], &row, 1, err);
    return r;
}

static int move_all(struct move *m, struct bj_err *err)
{
    int64_t after = -1;
    int r;
    while ((r = read_jobs(m, after, err)) > 0) {
        after = m->job[m->n - 1][ID];
        for (size_t i = 0; r >= 0 && i < m->n; i++)
            if ((r = move_row(m, m->job[i], err)) == 0)
                r = move_use(m, m->job[i][ID], err);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : bj_rollup_flush(m->rollup, err);
}

static int write_name(struct bj_db *db, const char *name, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(db,
                          "INSERT INTO site(id, time_zone) VALUES(1, ?1) ON"
                          " CONFLICT(id) DO UPDATE SET time_zone ="
                          " excluded.time_zone",
                          &st, err);
    if (r < 0)
        return r;
    bj_st_bind_text(st, 1, bj_slice_str(name));
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

/* Move the sums between two zones and store the new one, in a transaction. */
static int zone_change(struct bj_store *s, struct move *m, struct bj_err *err)
{
    struct bj_db *db = bj_store_db(s);
    m->derive.store = s;
    m->derive.db = db;
    int r = zone_prepare(m, db, err);
    if (r == 0)
        r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = move_all(m, err);
    if (r == 0)
        r = write_name(db, bj_tz_name(m->to), err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}

int bj_site_zone_set(struct bj_store *s, const char *name, bool *ret_changed,
                     struct bj_err *err)
{
    char had[BJ_TZ_NAME], machine[BJ_TZ_NAME];
    struct bj_tz *from = NULL, *to = NULL;
    *ret_changed = false;
    int r = bj_site_zone_name(bj_store_db(s), had, err);
    if (r < 0)
        return r;
    if (!name || !name[0]) {
        bj_tz_of_machine(machine);
        name = had[0] ? had : machine;
    }
    if (strcmp(had, name) == 0)
        return 0;
    struct move *m = calloc(1, sizeof(*m));
    r = m ? bj_site_zone_read(bj_store_db(s), &from, err)
          : bj_err_set(err, -ENOMEM, "time zone");
    if (r == 0)
        r = bj_tz_load(name, &to, err);
    if (r == 0) {
        m->from = from;
        m->to = to;
        r = zone_change(s, m, err);
        *ret_changed = r == 0;
    }
    if (m) {
        for (int i = 0; i < BJ_DERIVE_STATEMENTS; i++)
            bj_st_finalize(m->derive.st[i]);
        bj_st_finalize(m->jobs);
        bj_rollup_free(m->rollup);
    }
    free(m);
    bj_tz_free(from);
    bj_tz_free(to);
    return r < 0 ? bj_err_wrap(err, r, "time zone of the site") : 0;
}
