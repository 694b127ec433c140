/* The thread that forwards requests of the gate to Prometheus servers and their
 * responses to the clients, in pieces as they come.
 *
 * Requests are counted when they are admitted.  Beyond gate.max-queries and
 * gate.max-user-queries they wait, which costs no thread and no connection to
 * Prometheus.  When a server fails before the client has a byte, another one
 * gets the request, once. */
#ifndef BJ_APISERVER_GATE_SEND_H
#define BJ_APISERVER_GATE_SEND_H

#include "apiserver/gate_job.h"

#include <time.h>

/* How the thread reports to the server; called in that thread. */
struct bj_gate_events {
    void (*answered)(void *ctx, struct bj_call *call);
    void (*readable)(void *ctx); /* a stream that its reader waits for */
};

struct bj_gate;

/* A gate without a thread. */
int bj_gate_new(const struct bj_gate_events *events, void *ctx,
                struct bj_gate **ret, struct bj_err *err);
/* Start the thread, unless it runs. */
int bj_gate_start(struct bj_gate *g, struct bj_err *err);
/* Use the servers and limits of these settings from now on. */
void bj_gate_use(struct bj_gate *g, struct bj_settings *settings);
/* Refuse what is under way and end the thread.  False: it does not end in time.
 */
bool bj_gate_stop(struct bj_gate *g, const struct timespec *until);
/* After the HTTP server, whose streams refer to it; NULL is fine. */
void bj_gate_free(struct bj_gate *g);

/* The requests that are admitted. */
struct bj_gate_list *bj_gate_admitted(struct bj_gate *g);

/* Forward the request; the gate owns j from now on. */
void bj_gate_submit(struct bj_gate *g, struct bj_gate_job *j);

/* Append the metrics of the gate. */
void bj_gate_metrics(struct bj_gate *g, struct bj_buf *b);

#endif
