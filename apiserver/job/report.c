#include "apiserver/job/report.h"

#include "apiserver/job/visible_job.h"
#include "report/form/json.h"
#include "report/job/job.h"

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
