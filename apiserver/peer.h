/* The client at the other end of a connection. */
#ifndef BJ_APISERVER_PEER_H
#define BJ_APISERVER_PEER_H

#include "base/httpd.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

enum { BJ_PEER_BYTES = INET6_ADDRSTRLEN };

/* Is it an address of the loopback interface? */
bool bj_peer_is_loopback(const struct sockaddr *a);

/* Is the client a program on this machine: a Unix socket or the loopback
 * interface? */
bool bj_peer_is_local(const struct bj_http_request *req);

/* The client's address, or "unix:UID". */
const char *bj_peer_name(const struct bj_http_request *req,
                         char buf[BJ_PEER_BYTES]);

#endif
