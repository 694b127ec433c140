/* Processes one request with its endpoint. */
#ifndef BJ_APISERVER_FRAME_ANSWER_H
#define BJ_APISERVER_FRAME_ANSWER_H

#include "apiserver/frame/call.h"

struct bj_server;

/* Find the endpoint for a path (without its first slash); returns its number.
 */
unsigned bj_answer_find(struct bj_call *c, struct bj_slice path);

/* Process the request, or its first part (c->work is then set), or mark it as
 * parked or checked; the caller must then call again when a thread is free for
 * it. */
void bj_answer(struct bj_call *c);

/* Process the second part of the request. */
void bj_answer_rest(struct bj_call *c);

/* Count and log a response. */
void bj_answer_end(struct bj_call *c);

/* Count and log a refusal by the HTTP server, whose call is not a member of a
 * bj_request. */
void bj_answer_refused(struct bj_server *s, const struct bj_call *c);

#endif
