/* Writing base64; bj_base64 (base/secret.h) reads it. */
#ifndef BJ_BASE_BASE64_H
#define BJ_BASE_BASE64_H

#include "base/buf.h"

/* Append s in base64 (RFC 4648, section 4), without line ends. */
void bj_base64_put(struct bj_buf *out, struct bj_slice s);

#endif
