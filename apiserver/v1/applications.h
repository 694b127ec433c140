/* Sums of jobs by application. */
#ifndef BJ_APISERVER_V1_APPLICATIONS_H
#define BJ_APISERVER_V1_APPLICATIONS_H

#include "apiserver/frame/call.h"
#include "apiserver/frame/params.h"
#include "apiserver/v1/usage.h"

/* Append a table of the applications of the jobs that the user may see, within
 * the days of the parameters from and to; all: the sums of these jobs.  0, or
 * an error of the store. */
int bj_applications_page(struct bj_call *c, const struct bj_params *p,
                         const struct bj_usage_sum *all);

#endif
