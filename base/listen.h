/* Listening TCP sockets from text. */
#ifndef BJ_BASE_LISTEN_H
#define BJ_BASE_LISTEN_H

#include "base/err.h"
#include "base/opt.h"
#include "base/slice.h"

#include <sys/socket.h>

enum { BJ_ADDRESS_MAX = 80 }; /* bytes of an address as text, with NUL */

/* Check the form of an address for bj_listen_open: 0, or -EINVAL with a
 * message. For options; resolves no names. */
int bj_listen_check(const char *address, struct bj_err *err);

/* Make a listening socket, non-blocking and close-on-exec, for "HOST:PORT",
 * ":PORT" or "[IPV6]:PORT".  ":PORT" and "[::]:PORT" accept IPv4 and IPv6;
 * without IPv6 in the kernel, ":PORT" accepts IPv4 alone.  Port 0 lets the
 * kernel choose. HOST may be a name; its first address is used.  Returns the
 * descriptor. -EINVAL: not an address, or an unknown host; else the error of
 * socket(2), bind(2) or listen(2), with a message. */
int bj_listen_open(const char *address, int backlog, struct bj_err *err);

/* For check-config: could the program listen on the addresses?  One in use is
 * only a note on standard output, since the service itself may run. */
int bj_listen_try(const struct bj_strv *addresses, struct bj_err *err);

/* The address of fd, "127.0.0.1:9010" or "[::]:9010".  Returns buf. */
const char *bj_listen_name(int fd, char buf[BJ_ADDRESS_MAX]);

/* The bytes of a client's address without its port, and how many of them are
 * its network (IPv4 /24, IPv6 /64); empty for NULL and unix sockets.  IPv4 in
 * IPv6 is IPv4. */
struct bj_slice bj_listen_client(const struct sockaddr *a, size_t *ret_network);

#endif
