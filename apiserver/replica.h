/* A store in a replica of PostgreSQL: how far it is behind. */
#ifndef BJ_APISERVER_REPLICA_H
#define BJ_APISERVER_REPLICA_H

#include "apiserver/call.h"

/* In a transaction of the reader of c's thread: set c->lag.  The server is
 * queried once in some seconds for all threads.  Errors are those of the
 * store. */
int bj_replica_look(struct bj_call *c);

#endif
