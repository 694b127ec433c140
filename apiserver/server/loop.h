/* The loop of the server's thread: connections of clients, and those of the
 * gate to Prometheus servers. */
#ifndef BJ_APISERVER_SERVER_LOOP_H
#define BJ_APISERVER_SERVER_LOOP_H

#include "apiserver/frame/state.h"
#include "apiserver/gate/gate_send.h"

/* Wait until a connection needs service, the descriptor fd is readable (-1:
 * none) or max_ms have passed (-1: no limit), then serve all connections.  1:
 * fd is readable, 0, or -errno of poll(2). */
int bj_server_turn(struct bj_server *s, int fd, int max_ms);

/* Send the response of a request, and free the request. */
void bj_server_finish(struct bj_server *s, struct bj_request *t);

/* The callbacks of the gate. */
extern const struct bj_gate_events bj_server_events;

#endif
