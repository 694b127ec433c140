/* Limits on requests, checked before a request is processed. */
#ifndef BJ_APISERVER_FRAME_ADMIT_H
#define BJ_APISERVER_FRAME_ADMIT_H

#include "apiserver/frame/call.h"

/* Check the rate of all requests; check the rate of the authenticated user. 0,
 * or a refusal. */
int bj_admit_request(struct bj_call *c);
int bj_admit_user(struct bj_call *c);

/* Limit the queries of admins, which may read all jobs and take long, to all
 * threads but one. True: the request is not such a query, or may run now. */
bool bj_admit_query(struct bj_call *c);

#endif
