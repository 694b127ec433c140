/* Lists of jobs, sorted by a column. */
#ifndef BJ_APISERVER_V1_JOBS_SORT_H
#define BJ_APISERVER_V1_JOBS_SORT_H

#include "apiserver/v1/jobs_query.h"

/* Write the page at the cursor, which is a number of rows here.  If there are
 * too many jobs, only the newest are sorted, and l->end.partial is set.  0, a
 * refusal, or an error of the store. */
int bj_jobs_sort(struct bj_call *c, struct bj_jobs_query *l,
                 struct bj_rows *rows);

#endif
