/* Limits on requests, checked before a request is processed. */
#ifndef BJ_APISERVER_ADMIT_H
#define BJ_APISERVER_ADMIT_H

#include "apiserver/call.h"

/* Check the rate of all requests and that of the authenticated user. 0, or a
 * refusal. */
int bj_admit_request(struct bj_call *c);
int bj_admit_user(struct bj_call *c);

/* Queries of admins may read all jobs, which can take long, so they get all
 * threads but one. True: the request needs no such thread, or has one now. */
bool bj_admit_query(struct bj_call *c);

#endif
