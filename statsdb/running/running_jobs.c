#include "base/buf.h"
#include "statsdb/running/running_impl.h"
#include "statsdb/tables/fragment.h"
#include "store/db.h"

#include <stdlib.h>
#include <string.h>

static const char list_sql[] =
    "SELECT j.id, CAST(j.jobid AS TEXT), (SELECT name FROM user WHERE id ="
    " j.user), (SELECT name FROM account WHERE id = j.account), (SELECT name"
    " FROM partition WHERE id = j.partition), (SELECT name FROM qos WHERE id ="
    " j.qos), j.start, j.suspended, j.nodes, j.cpus, j.gpus,"
    " coalesce(j.memory_allocated_bytes, j.memory_requested_bytes),"
    " j.time_limit, j.start - coalesce(j.eligible, nullif(j.submit, 0)),"
    " j.restarts, " BJ_SQL_INTERACTIVE(
        "j.id") " FROM job AS j WHERE j.cluster = (SELECT id FROM cluster "
                "WHERE name = ?1)"
                " AND j.state = 2 AND j.\"end\" IS NULL AND j.start IS NOT "
                "NULL";

/* When accounting of the cluster was last imported. */
static const char imported_sql[] =
    "SELECT coalesce(max(to_sec), 0) FROM covered WHERE cluster = ?1 AND source"
    " IN ('sacct', 'slurmrestd', 'mariadb', 'qstat', 'bjobs')";

static int read_imported(struct bj_store *s, const char *cluster, int64_t *ret,
                         struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(bj_store_db(s), imported_sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_filled(st, 1, bj_slice_str(cluster));
    r = bj_st_row(st, err);
    *ret = r > 0 ? bj_st_get_i64(st, 0) : 0;
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

static struct bj_slice text(struct bj_arena *a, struct bj_st *st, int col)
{
    struct bj_slice s = bj_st_get_text(st, col);
    return s.n > 0 ? bj_arena_copy(a, s) : (struct bj_slice){0};
}

static void read_job(struct bj_arena *a, struct bj_st *st,
                     struct bj_running_job *j)
{
    *j = (struct bj_running_job){.id = bj_st_get_i64(st, 0),
                                 .jobid = text(a, st, 1),
                                 .user = text(a, st, 2),
                                 .account = text(a, st, 3),
                                 .partition = text(a, st, 4),
                                 .qos = text(a, st, 5),
                                 .start_sec = bj_st_get_i64(st, 6),
                                 .suspended_sec = bj_st_get_i64(st, 7),
                                 .nodes = bj_st_get_i64(st, 8),
                                 .cpus = bj_st_get_i64(st, 9),
                                 .gpus = bj_st_get_i64(st, 10),
                                 .memory = bj_st_get_i64(st, 11),
                                 .limit_sec = bj_st_get_i64(st, 12),
                                 .wait_sec = bj_st_get_i64(st, 13),
                                 .restarts = bj_st_get_i64(st, 14),
                                 .interactive = bj_st_get_i64(st, 15) > 0};
}

static int compare(struct bj_slice a, struct bj_slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

static int by_jobid(const void *a, const void *b)
{
    return compare(((const struct bj_running_job *)a)->jobid,
                   ((const struct bj_running_job *)b)->jobid);
}

static int read_all(struct bj_st *st, struct bj_running_jobs *ret,
                    struct bj_err *err)
{
    size_t cap = 0;
    int r;
    while ((r = bj_st_row(st, err)) > 0) {
        if (ret->n == cap) {
            cap = cap ? 2 * cap : 256;
            struct bj_running_job *more =
                reallocarray(ret->job, cap, sizeof(*more));
            if (!more)
                return bj_err_set(err, -ENOMEM, "running jobs");
            ret->job = more;
        }
        read_job(&ret->arena, st, &ret->job[ret->n++]);
    }
    return r < 0               ? r
           : ret->arena.failed ? bj_err_set(err, -ENOMEM, "running jobs")
                               : 0;
}

int bj_running_jobs(struct bj_store *s, const char *cluster,
                    struct bj_running_jobs *ret, int64_t *ret_imported_sec,
                    struct bj_err *err)
{
    struct bj_st *st = NULL;
    *ret = (struct bj_running_jobs){.n = 0};
    int r = read_imported(s, cluster, ret_imported_sec, err);
    if (r == 0)
        r = bj_db_prepare(bj_store_db(s), list_sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_filled(st, 1, bj_slice_str(cluster));
    r = read_all(st, ret, err);
    bj_st_finalize(st);
    if (ret->n > 0)
        qsort(ret->job, ret->n, sizeof(*ret->job), by_jobid);
    for (size_t i = 1; i < ret->n; i++)
        if (compare(ret->job[i].jobid, ret->job[i - 1].jobid) == 0)
            ret->job[i].ambiguous = ret->job[i - 1].ambiguous = true;
    return r;
}

void bj_running_jobs_free(struct bj_running_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        bj_parts_free(&jobs->job[i].parts);
    free(jobs->job);
    bj_arena_free(&jobs->arena);
    *jobs = (struct bj_running_jobs){.n = 0};
}

struct bj_running_job *bj_running_find(const struct bj_running_jobs *jobs,
                                       struct bj_slice jobid)
{
    const struct bj_running_job key = {.jobid = jobid};
    return jobs->n > 0
               ? bsearch(&key, jobs->job, jobs->n, sizeof(key), by_jobid)
               : NULL;
}
