/* The other end of a connection. */
#ifndef BJ_APISERVER_PEER_H
#define BJ_APISERVER_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

enum { BJ_PEER_BYTES = INET6_ADDRSTRLEN };

/* Is it an address of the loopback interface? */
bool bj_peer_is_loopback(const struct sockaddr_storage *a);

/* Is the client a program on this machine: a Unix socket or the loopback
 * interface? */
bool bj_peer_is_local(int fd);

/* Its address, "unix:UID", or "?" once it has disconnected. */
const char *bj_peer_name(int fd, char buf[BJ_PEER_BYTES]);

#endif
