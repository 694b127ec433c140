#include "apiserver/job/visible_job.h"

#include "apiserver/job/job_name.h"
#include "report/form/json.h"
#include "report/job/job.h"
#include "statsdb/tables/fragment.h"

static const char found_sql[] =
    "SELECT j.id, " BJ_SQL_KEY " AS key, c.name AS cluster, CAST(j.jobid AS"
    " TEXT) AS jobid, (SELECT name FROM user WHERE id = j.user) AS user, "
    "o.uid, "
    "j.start, j.\"end\", j.nodes, j.cpus, j.gpus, "
    "j.memory_requested_bytes FROM job AS j "
    "JOIN cluster AS c ON c.id = j.cluster "
    "LEFT JOIN owner AS o ON o.id = j.owner WHERE 1 = 1";

static void take_row(struct bj_st *st, struct bj_arena *a,
                     struct bj_visible_job *f)
{
    f->job = bj_st_i64(st, "id");
    f->key = bj_arena_copy(a, bj_st_text(st, "key"));
    f->cluster = bj_arena_copy(a, bj_st_text(st, "cluster"));
    f->id = bj_arena_copy(a, bj_st_text(st, "jobid"));
    f->user = bj_arena_copy(a, bj_st_text(st, "user"));
    f->uid = bj_st_i64(st, "uid");
    f->start = bj_st_i64(st, "start");
    f->end = bj_st_i64(st, "end");
    f->nodes = bj_st_i64(st, "nodes");
    f->cpus = bj_st_i64(st, "cpus");
    f->gpus = bj_st_i64(st, "gpus");
    f->memory_requested = bj_st_i64(st, "memory_requested_bytes");
}

static int visible_job_find(struct bj_call *c, struct bj_query *q,
                            struct bj_arena *arena, struct bj_visible_job *ret)
{
    struct bj_st *st = NULL;
    int r = bj_query_open(q, c->reader, &st, &c->err);
    if (r == 0)
        r = bj_st_row(st, &c->err);
    if (r == 0)
        return bj_call_refuse(c, 404, BJ_JOB_UNKNOWN);
    if (r < 0)
        return r;
    take_row(st, arena, ret);
    r = bj_st_row(st, &c->err);
    if (r > 0)
        return bj_call_refuse(c, 409, BJ_JOB_AMBIGUOUS);
    return r == 0 && arena->failed ? bj_err_set(&c->err, -ENOMEM, "job") : r;
}

int bj_visible_job_find(struct bj_call *c, const struct bj_params *p,
                        struct bj_slice name, struct bj_arena *arena,
                        struct bj_visible_job *ret)
{
    struct bj_query q = {0};
    bj_query_sql(&q, found_sql);
    int r = bj_job_named(&q, c, p, name);
    bj_query_sql(&q, " LIMIT 2");
    if (r == 0)
        r = visible_job_find(c, &q, arena, ret);
    bj_call_about(c, name);
    bj_query_free(&q);
    return r;
}

/* --- its report ---------------------------------------------------------
 */

int bj_job_report(struct bj_call *c, int64_t job, struct bj_report *ret)
{
    int r = bj_report_read(bj_reader_db(c->reader), job, ret, &c->err);
    if (r == -EINTR)
        return bj_call_refuse(c, 503,
                              "The report took longer than query.timeout.");
    return r < 0 ? r : r > 0 ? 0 : bj_call_refuse(c, 404, BJ_JOB_UNKNOWN);
}

/* Make the report of the job in the path of the request. */
static int find_report(struct bj_call *c, const struct bj_params *p,
                       struct bj_report *ret)
{
    struct bj_arena arena = {0};
    struct bj_visible_job job;
    int r = bj_visible_job_find(c, p, c->tail, &arena, &job);
    if (r == 0)
        r = bj_job_report(c, job.job, ret);
    bj_arena_free(&arena);
    return r;
}

int bj_report_reply(struct bj_call *c)
{
    struct bj_params p;
    struct bj_report report = {.interactive = false};
    int r =
        bj_params_read(c, BJ_BIT(BJ_PARAM_CLUSTER) | BJ_BIT(BJ_PARAM_MINE), &p);
    if (r == 0)
        r = find_report(c, &p, &report);
    if (r == 0) {
        bj_call_open(c);
        bj_report_write(&report, &c->reply->body);
        bj_call_close(c, "");
    }
    bj_report_free(&report);
    return r;
}
