/* Forwards requests of the gate to Prometheus servers, and their replies to the
 * clients, in pieces as they arrive.  It is part of the loop of the HTTP
 * server's thread and never waits.
 *
 * Requests are counted when they are admitted.  Beyond gate.max-queries and
 * gate.max-user-queries they wait, without a connection to Prometheus. If a
 * server fails before anything was sent to the client, the request is sent to
 * another server, once. */
#ifndef BJ_APISERVER_GATE_GATE_SEND_H
#define BJ_APISERVER_GATE_GATE_SEND_H

#include "apiserver/gate/gate_job.h"

#include <poll.h>

/* How the gate reports to the server; called from bj_gate_run(). */
struct bj_gate_events {
    void (*answered)(void *ctx, struct bj_call *call);
    void (*readable)(void *ctx); /* a stream has data for a waiting reader */
};

/* All functions but bj_gate_admitted() are for the thread of the HTTP server.
 */
struct bj_gate;

int bj_gate_new(const struct bj_gate_events *events, void *ctx,
                struct bj_gate **ret, struct bj_err *err);
/* Prepare for requests, unless that has been done; starts libcurl
 * (base/fetch.h). */
int bj_gate_start(struct bj_gate *g, struct bj_err *err);
/* Use the servers and limits of these settings from now on. */
void bj_gate_use(struct bj_gate *g, struct bj_settings *settings);
/* Refuse all requests in progress. */
void bj_gate_stop(struct bj_gate *g);
/* Call it after the HTTP server was freed, whose streams refer to the gate;
 * NULL is fine. */
void bj_gate_free(struct bj_gate *g);

/* The admitted requests. */
struct bj_gate_list *bj_gate_admitted(struct bj_gate *g);

/* Forward the request from the next bj_gate_run() on; the gate takes ownership
 * of j. */
void bj_gate_submit(struct bj_gate *g, struct bj_gate_job *j);

/* Return the *ret_n descriptors to poll, valid until the next call of another
 * function. */
const struct pollfd *bj_gate_poll(const struct bj_gate *g, nfds_t *ret_n);

/* The timeout for poll(2) in milliseconds; -1: none. */
int bj_gate_timeout(const struct bj_gate *g, uint64_t now_usec);

/* Serve those descriptors of bj_gate_poll() that poll(2) reports as ready, and
 * all other work that is due. */
void bj_gate_run(struct bj_gate *g, const struct pollfd *fds, nfds_t n,
                 uint64_t now_usec);

/* Append the metrics of the gate. */
void bj_gate_metrics(struct bj_gate *g, struct bj_buf *b);

#endif
