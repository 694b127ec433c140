/* Sums over ended jobs by application. */
#ifndef BJ_APISERVER_V1_APPLICATIONS_H
#define BJ_APISERVER_V1_APPLICATIONS_H

#include "apiserver/frame/call.h"
#include "apiserver/frame/params.h"

/* Append a table of the applications of the jobs that the user may see and that
 * ended in the period of the parameters, from and to.  0, or an error of the
 * store. */
int bj_applications_page(struct bj_call *c, const struct bj_params *p);

#endif
