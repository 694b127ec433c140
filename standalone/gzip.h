/* Compressed pages. */
#ifndef BJ_STANDALONE_GZIP_H
#define BJ_STANDALONE_GZIP_H

#include "base/buf.h"

/* A compressor: its memory is taken at the first use and kept. */
struct bj_gzip;

/* Append in, packed as gzip, to out.  *g is NULL at first and made here.  0 or
 * -ENOMEM, after which out holds nothing of use. */
int bj_gzip_pack(struct bj_gzip **g, struct bj_slice in, struct bj_buf *out);
void bj_gzip_free(struct bj_gzip *g); /* NULL is fine */

#endif
