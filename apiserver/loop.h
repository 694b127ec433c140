/* The loop of the server's thread: connections of clients, and those of the
 * gate to Prometheus servers. */
#ifndef BJ_APISERVER_LOOP_H
#define BJ_APISERVER_LOOP_H

#include "apiserver/gate_send.h"
#include "apiserver/state.h"

/* Wait until there is something to do, the descriptor fd is readable (-1: none)
 * or max_ms have passed (-1: no limit), and serve what there is.  1: fd is
 * readable, 0, or -errno of poll(2). */
int bj_server_turn(struct bj_server *s, int fd, int max_ms);

/* Send the response of a request, which is then freed. */
void bj_server_finish(struct bj_server *s, struct bj_request *t);

/* What the gate reports to the server. */
extern const struct bj_gate_events bj_server_events;

#endif
