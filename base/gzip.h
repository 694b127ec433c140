/* Compressed bodies of responses (RFC 1952). */
#ifndef BJ_BASE_GZIP_H
#define BJ_BASE_GZIP_H

#include "base/buf.h"

/* A compressor; allocated at its first use, then kept. */
struct bj_gzip;

/* Append in, compressed as gzip, to out. *g is NULL at first, created here. 0
 * or -ENOMEM, with out unusable. */
int bj_gzip_pack(struct bj_gzip **g, struct bj_slice in, struct bj_buf *out);
void bj_gzip_free(struct bj_gzip *g); /* NULL is fine */

#endif
