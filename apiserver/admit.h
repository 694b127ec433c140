/* Limits that a request passes before it is answered. */
#ifndef BJ_APISERVER_ADMIT_H
#define BJ_APISERVER_ADMIT_H

#include "apiserver/call.h"

/* The limit of all requests together; false: it was refused. */
bool bj_admit(struct bj_call *c);

/* Authenticate the request and apply the user's limit, for endpoints that do
 * not leave it to BJ_NEED_USER.  0, or a refusal. */
int bj_call_identify(struct bj_call *c);

#endif
