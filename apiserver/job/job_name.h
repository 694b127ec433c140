/* Query conditions that select jobs by name. */
#ifndef BJ_APISERVER_JOB_JOB_NAME_H
#define BJ_APISERVER_JOB_JOB_NAME_H

#include "apiserver/frame/query.h"
#include "statsdb/job/job_name.h"

/* Maximum number of jobs with one UUID, which are the runs of one job on the
 * same nodes. */
enum { BJ_JOBS_FOUND = 100 };
struct bj_job_found {
    int64_t id[BJ_JOBS_FOUND];
    unsigned n;
};

/* Append " AND ..." for the rows that the user may see, like bj_query_scope,
 * and for a job by any name (statsdb/job/job_name.h).  UUIDs are not stored:
 * they are computed from all jobs of the users and accounts that the user may
 * see, or that the request names. 0, a refusal or an error. */
int bj_job_named(struct bj_query *q, struct bj_call *c,
                 const struct bj_params *p, struct bj_slice name);

/* If the parameter job is a UUID, search for its jobs.  0, a refusal or an
 * error. */
int bj_jobs_search(struct bj_call *c, const struct bj_params *p,
                   struct bj_job_found *ret);

/* Append " AND ..." for the jobs in the parameter job, arrays with their tasks;
 * found: from bj_jobs_search. */
void bj_jobs_named(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p, const struct bj_job_found *found);

#endif
