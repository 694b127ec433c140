/* Conditions of a query that select a job by name. */
#ifndef BJ_APISERVER_JOB_NAME_H
#define BJ_APISERVER_JOB_NAME_H

#include "apiserver/query.h"
#include "statsdb/job_name.h"

/* Append " AND ..." for a job by any name (statsdb/job_name.h).  0 or a
 * refusal. */
int bj_job_named(struct bj_query *q, struct bj_call *c,
                 const struct bj_params *p, struct bj_slice name,
                 enum bj_job_name_parts parts);

/* Append " AND ..." for the jobs that the parameter job names, arrays with
 * their tasks.  0 or a refusal. */
int bj_jobs_named(struct bj_query *q, struct bj_call *c,
                  const struct bj_params *p);

/* Is there an index for names of this kind? There is none for UUIDs. */
bool bj_job_name_indexed(struct bj_slice name);

#endif
