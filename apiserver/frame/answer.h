/* Processes one request with its endpoint. */
#ifndef BJ_APISERVER_FRAME_ANSWER_H
#define BJ_APISERVER_FRAME_ANSWER_H

#include "apiserver/access/peer.h"
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

struct bj_api_count;

/* The fields of the log line, set when the response begins; it may outlive the
 * request. */
struct bj_request_log {
    char id[sizeof(((struct bj_call *)0)->request_id)];
    char client[BJ_PEER_BYTES];
    const char *method, *endpoint;
    char user[BJ_USER_BYTES];
    char about[sizeof(((struct bj_call *)0)->about)];
    bool admin;
    unsigned status;
    uint64_t start_usec; /* boot clock; 0: log a duration of 0 */
    struct bj_api_count *count;
};

/* Fill in the fields from a call and its reply. */
void bj_request_log_begin(struct bj_request_log *l, const struct bj_call *c,
                          struct bj_api_count *count, uint64_t start_usec);

/* Count and log the response; bytes: its size. */
void bj_request_log_end(const struct bj_request_log *l, uint64_t bytes);

#endif
