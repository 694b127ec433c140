/* Entity tags and compression of responses (RFC 9110). */
#ifndef BJ_APISERVER_FRAME_ENCODE_H
#define BJ_APISERVER_FRAME_ENCODE_H

#include "apiserver/frame/call.h"

/* Complete the response of a call.  The response to a GET gets an ETag, or
 * becomes 304 if the client has it already.  Large text is compressed for a
 * client that accepts gzip, unless it is on this machine, where compression
 * costs more than the transfer. */
void bj_encode(struct bj_call *c);

#endif
