/* A listening unix socket. */
#ifndef BJ_APISERVER_SOCKET_H
#define BJ_APISERVER_SOCKET_H

#include "base/err.h"

/* Listen at a path; a socket that is there already is replaced when nobody
 * listens on it (-EADDRINUSE otherwise).  Everybody may connect: who it is, the
 * kernel tells.  Returns the descriptor. */
int bj_socket_open(const char *path, struct bj_err *err);

#endif
