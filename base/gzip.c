#include "base/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum {
    LEVEL = 1,
    /* Repetition is between neighbouring lines: a window of 16 KiB finds it as
     * well as one of 32, with half the memory. */
    WINDOW_BITS = 14,
    MEMORY_LEVEL = 7,
    GZIP_FORMAT = 16,
    OUT_STEP = 16 * 1024,
};

struct bj_gzip {
    z_stream z;
};

static struct bj_gzip *make(void)
{
    struct bj_gzip *g = calloc(1, sizeof(*g));
    if (g && deflateInit2(&g->z, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP_FORMAT,
                          MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        g = NULL;
    }
    return g;
}

static int deflate_all(z_stream *z, struct bj_slice in, struct bj_buf *out)
{
    int r;
    if (in.n > UINT_MAX)
        return -ENOMEM;
    z->next_in = (Bytef *)(uintptr_t)in.p;
    z->avail_in = (uInt)in.n;
    do {
        if (!bj_buf_room(out, OUT_STEP))
            return -ENOMEM;
        size_t room = out->cap - out->len;
        z->next_out = (Bytef *)out->p + out->len;
        z->avail_out = room > UINT_MAX ? UINT_MAX : (uInt)room;
        uInt before = z->avail_out;
        r = deflate(z, Z_FINISH);
        out->len += before - z->avail_out;
    } while (r == Z_OK || r == Z_BUF_ERROR);
    return r == Z_STREAM_END ? 0 : -ENOMEM;
}

int bj_gzip_pack(struct bj_gzip **g, struct bj_slice in, struct bj_buf *out)
{
    if (!*g)
        *g = make();
    if (!*g)
        return -ENOMEM;
    int r = deflate_all(&(*g)->z, in, out);
    deflateReset(&(*g)->z);
    return r;
}

void bj_gzip_free(struct bj_gzip *g)
{
    if (g)
        deflateEnd(&g->z);
    free(g);
}
