/* The client at the other end of a connection. */
#ifndef BJ_APISERVER_ACCESS_PEER_H
#define BJ_APISERVER_ACCESS_PEER_H

#include "apiserver/access/certs.h"
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

/* --- users of unix sockets -------------------------------------------------
 *
 * A query of the user database may hang (LDAP, NIS). Each runs in a thread of
 * its own, one for a user id at a time; a caller waits at most two seconds. */

struct bj_peer_names;

/* NULL: no memory. */
struct bj_peer_names *bj_peer_names_new(void);

/* The names must not be used any more. Queries that hang go on and free the
 * rest. NULL is fine. */
void bj_peer_names_free(struct bj_peer_names *n);

/* The name of a user id, kept for a minute. Threads may share n.
 *   -EAGAIN     it is not known yet, and may_wait is false
 *   -ENOENT     the user database has no such user, or its name is too long
 *   -ETIMEDOUT  the user database does not answer
 *   -ENOMEM     no memory, or no thread */
int bj_peer_names_find(struct bj_peer_names *n, uid_t uid, bool may_wait,
                       char ret[static BJ_USER_BYTES]);

#endif
