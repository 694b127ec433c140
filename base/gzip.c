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

static struct bj_gzip *make_gzip(void)
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
        *g = make_gzip();
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

/* --- requests --------------------------------------------------------------*/

struct bj_gunzip {
    z_stream z;
};

static struct bj_gunzip *make_gunzip(void)
{
    struct bj_gunzip *g = calloc(1, sizeof(*g));
    if (g && inflateInit2(&g->z, MAX_WBITS + GZIP_FORMAT) != Z_OK) {
        free(g);
        g = NULL;
    }
    return g;
}

static int inflate_all(z_stream *z, struct bj_slice in, size_t max,
                       struct bj_buf *out)
{
    size_t start = out->len;
    int r = Z_OK;
    if (in.n > UINT_MAX)
        return -EFBIG;
    z->next_in = (Bytef *)(uintptr_t)in.p;
    z->avail_in = (uInt)in.n;
    while (r == Z_OK) {
        if (out->len - start > max)
            return -EFBIG;
        if (!bj_buf_room(out, OUT_STEP))
            return -ENOMEM;
        z->next_out = (Bytef *)out->p + out->len;
        z->avail_out = OUT_STEP;
        r = inflate(z, Z_NO_FLUSH);
        out->len += OUT_STEP - z->avail_out;
    }
    if (r == Z_MEM_ERROR)
        return -ENOMEM;
    if (r != Z_STREAM_END || z->avail_in > 0)
        return -EINVAL;
    return out->len - start > max ? -EFBIG : 0;
}

int bj_gunzip(struct bj_gunzip **g, struct bj_slice in, size_t max,
              struct bj_buf *out)
{
    if (!*g)
        *g = make_gunzip();
    if (!*g)
        return -ENOMEM;
    int r = inflate_all(&(*g)->z, in, max, out);
    inflateReset(&(*g)->z);
    return r;
}

void bj_gunzip_free(struct bj_gunzip *g)
{
    if (g)
        inflateEnd(&g->z);
    free(g);
}
