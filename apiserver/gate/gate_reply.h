/* Converts a reply of the Prometheus server to the response of the gate. */
#ifndef BJ_APISERVER_GATE_GATE_REPLY_H
#define BJ_APISERVER_GATE_GATE_REPLY_H

#include "apiserver/gate/gate_job.h"

/* Is it a reply of Prometheus to the request?  0, or the refusal of j->call. */
int bj_gate_reply_check(struct bj_gate_job *j,
                        const struct bj_fetch_reply *reply);

/* Store the headers of such a reply that the response needs.  0 or a refusal.
 */
int bj_gate_reply_begin(struct bj_gate_job *j,
                        const struct bj_fetch_reply *reply);

/* Make the response as a stream that begins with j->reply_body; wake and ctx
 * are for the stream.  0 or a refusal. */
int bj_gate_reply_stream(struct bj_gate_job *j, void (*wake)(void *ctx),
                         void *ctx);

/* Make the response, or the work of the endpoint's second part, from the
 * complete reply in j->reply_body. */
void bj_gate_reply_body(struct bj_gate_job *j);

#endif
