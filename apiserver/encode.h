/* How a response is transferred: entity tags and compression (RFC 9110). */
#ifndef BJ_APISERVER_ENCODE_H
#define BJ_APISERVER_ENCODE_H

#include "apiserver/call.h"

/* Complete the response of a call.  A GET gets an ETag, or is answered with 304
 * when the client has this response already.  A large text is compressed for a
 * client that accepts gzip and is not on this machine, where compression costs
 * more than the transfer. */
void bj_encode(struct bj_call *c);

#endif
