/* One job that the user may see, and its report. */
#ifndef BJ_APISERVER_JOB_VISIBLE_JOB_H
#define BJ_APISERVER_JOB_VISIBLE_JOB_H

#include "apiserver/frame/call.h"
#include "apiserver/frame/params.h"
#include "base/arena.h"
#include "report/model/report.h"

/* Refusals, with status 404 and 409. */
#define BJ_JOB_UNKNOWN "The job does not exist, or you may not see it."
#define BJ_JOB_AMBIGUOUS "Several jobs have this id; use the key of one."

/* Texts are in an arena. */
struct bj_visible_job {
    int64_t job; /* its number in the store */
    struct bj_slice key, cluster, id, user;
    /* BJ_SQL_NULL: unknown */
    int64_t uid, start, end, nodes, cpus, gpus, memory_requested;
};

/* Find a job by its name (job_name.h) among the jobs that the user may see and
 * that match the filters of p.  0; a refusal: 404 if there is none, 409 if
 * there are several; or an error of the store. */
int bj_visible_job_find(struct bj_call *c, const struct bj_params *p,
                        struct bj_slice name, struct bj_arena *arena,
                        struct bj_visible_job *ret);

/* Make the report of a job, by its number in the store; the user must be
 * allowed to see the job (bj_visible_job_find).  0, a refusal, or an error of
 * the store.  Free the report in any case. */
int bj_job_report(struct bj_call *c, int64_t job, struct bj_report *ret);

/* The endpoint /api/v1/jobs/JOB/report. */
int bj_report_reply(struct bj_call *c);

#endif
