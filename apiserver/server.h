/* Starts, runs and stops the server (apiserver/state.h). */
#ifndef BJ_APISERVER_SERVER_H
#define BJ_APISERVER_SERVER_H

#include "apiserver/state.h"

/* Make it and its threads.  The server owns conf in any case; tables are its
 * endpoints, NULL at the end.  Free it with bj_server_free, also after a
 * failure. */
int bj_server_init(struct bj_server *s, struct bj_api_conf *conf,
                   const struct bj_endpoint *const *tables, struct bj_err *err);

/* Wait for the threads to end, then free all. False: a thread still runs after
 * that time; nothing was freed and the process should exit. */
bool bj_server_free(struct bj_server *s, unsigned patience_sec);

const struct bj_api_conf *bj_server_conf(const struct bj_server *s);

/* Replace the options; the server owns the new ones in any case. After an error
 * the old ones stay in force. Running requests keep theirs. */
int bj_server_reload(struct bj_server *s, struct bj_api_conf *conf,
                     struct bj_err *err);

/* Read the files of the web configuration again if they have changed; checks at
 * intervals.  Errors are logged. */
void bj_server_follow(struct bj_server *s, uint64_t now_usec);

#endif
