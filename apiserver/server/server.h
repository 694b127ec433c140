/* Starts, runs and stops the server (apiserver/frame/state.h). */
#ifndef BJ_APISERVER_SERVER_SERVER_H
#define BJ_APISERVER_SERVER_SERVER_H

#include "apiserver/frame/state.h"
#include "apiserver/gate/gate_send.h"

/* Initialise the server and start its threads.  It takes ownership of conf in
 * any case; tables: its endpoints, NULL at the end.  Free it with
 * bj_server_free, also after a failure. */
int bj_server_init(struct bj_server *s, struct bj_api_conf *conf,
                   const struct bj_endpoint *const *tables, struct bj_err *err);

/* Wait up to patience_sec for the threads to end, then free the server. False:
 * a thread still runs; nothing was freed, and the process should exit. */
bool bj_server_free(struct bj_server *s, unsigned patience_sec);

const struct bj_api_conf *bj_server_conf(const struct bj_server *s);

/* Replace the options; the server takes ownership of the new ones in any case.
 * After an error the old options stay in use. Running requests keep their
 * options. */
int bj_server_reload(struct bj_server *s, struct bj_api_conf *conf,
                     struct bj_err *err);

/* Read the files of the web configuration again if they have changed; checked
 * at intervals.  Errors are logged. */
void bj_server_follow(struct bj_server *s, uint64_t now_usec);

/* Wait until a connection needs service, the descriptor fd is readable (-1:
 * none) or max_ms have passed (-1: no limit), then serve all connections.  1:
 * fd is readable, 0, or -errno of poll(2). */
int bj_server_turn(struct bj_server *s, int fd, int max_ms);

/* Send the response of a request, and free the request. */
void bj_server_finish(struct bj_server *s, struct bj_request *t);

/* The callbacks of the gate. */
extern const struct bj_gate_events bj_server_events;

#endif
