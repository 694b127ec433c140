/* The lag of a store in a replica of PostgreSQL. */
#ifndef BJ_APISERVER_FRAME_REPLICA_H
#define BJ_APISERVER_FRAME_REPLICA_H

#include "apiserver/frame/call.h"

/* Set c->lag, in a transaction of the reader of c's thread.  The server is
 * queried every few seconds, for all threads.  Errors are those of the store.
 */
int bj_replica_read_lag(struct bj_call *c);

#endif
