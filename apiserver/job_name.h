/* Conditions of a query that select a job by name. */
#ifndef BJ_APISERVER_JOB_NAME_H
#define BJ_APISERVER_JOB_NAME_H

#include "apiserver/query.h"
#include "statsdb/job_name.h"

/* Jobs with a UUID: few, the runs of one job on the same nodes. */
enum { BJ_JOBS_FOUND = 100 };
struct bj_job_found {
    int64_t id[BJ_JOBS_FOUND];
    unsigned n;
};

/* Append " AND ..." for what the user may see, as bj_query_scope does, and for
 * a job by any name (statsdb/job_name.h).  A UUID is not stored but computed
 * from each job of the users and accounts that the user may see or has named.
 * 0, a refusal or an error. */
int bj_job_named(struct bj_query *q, struct bj_call *c,
                 const struct bj_params *p, struct bj_slice name);

/* Search for the UUID that the parameter job may be.  0, a refusal or an error.
 */
int bj_jobs_search(struct bj_call *c, const struct bj_params *p,
                   struct bj_job_found *ret);

/* Append " AND ..." for the jobs that the parameter job names, arrays with
 * their tasks; found: by bj_jobs_search. */
void bj_jobs_named(struct bj_query *q, struct bj_call *c,
                   const struct bj_params *p, const struct bj_job_found *found);

#endif
