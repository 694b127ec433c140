/* Limits that a request passes before it is answered. */
#ifndef BJ_APISERVER_ADMIT_H
#define BJ_APISERVER_ADMIT_H

#include "apiserver/call.h"

/* The rate of all requests together, and that of the user, who is
 * authenticated.  0, or a refusal. */
int bj_admit_request(struct bj_call *c);
int bj_admit_user(struct bj_call *c);

/* Queries of admins may be about all jobs, which can take long: they get all
 * threads but one.  True: the request needs no such place, or has one of them
 * now. */
bool bj_admit_query(struct bj_call *c);

#endif
