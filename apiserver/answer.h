/* The way of one request through its endpoint. */
#ifndef BJ_APISERVER_ANSWER_H
#define BJ_APISERVER_ANSWER_H

#include "apiserver/call.h"

struct bj_server;

/* Find the endpoint for a path, which is without its first slash; its number.
 */
unsigned bj_answer_find(struct bj_call *c, struct bj_slice path);

/* Answer, or do the first part of it (c->work is then set), or note that it has
 * to be parked: then it is called once more when the request has its turn. */
void bj_answer(struct bj_call *c);

/* The second part. */
void bj_answer_rest(struct bj_call *c);

/* Count and log what was answered. */
void bj_answer_end(struct bj_call *c);

/* The same for what the HTTP server has refused: such a call has no ticket. */
void bj_answer_refused(struct bj_server *s, const struct bj_call *c);

#endif
