/* A listening unix socket. */
#ifndef BJ_APISERVER_SERVER_SOCKET_H
#define BJ_APISERVER_SERVER_SOCKET_H

#include "base/err.h"

/* Listen at a path; an existing socket is replaced unless a process listens on
 * it (-EADDRINUSE). All users may connect; the kernel reports their uid.
 * Returns the descriptor. */
int bj_socket_open(const char *path, struct bj_err *err);

#endif
