/* Compressed bodies of responses and requests (RFC 1952). */
#ifndef BJ_BASE_GZIP_H
#define BJ_BASE_GZIP_H

#include "base/buf.h"

/* A compressor; allocated at its first use, then kept. */
struct bj_gzip;

/* Append in, compressed as gzip, to out. *g is NULL at first, created here. 0
 * or -ENOMEM, with out unusable. */
int bj_gzip_pack(struct bj_gzip **g, struct bj_slice in, struct bj_buf *out);
void bj_gzip_free(struct bj_gzip *g); /* NULL is fine */

/* A decompressor; allocated at its first use, then kept. */
struct bj_gunzip;

/* Append in, decompressed, to out. *g is NULL at first, created here.  in is
 * one gzip member. -EFBIG   more than max bytes -EINVAL  not gzip, damaged,
 * incomplete, or followed by more -ENOMEM On failure out holds a part. */
int bj_gunzip(struct bj_gunzip **g, struct bj_slice in, size_t max,
              struct bj_buf *out);
void bj_gunzip_free(struct bj_gunzip *g); /* NULL is fine */

#endif
