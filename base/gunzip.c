#include "base/gunzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum { GZIP_FORMAT = 16, OUT_STEP = 16 * 1024 };

struct bj_gunzip {
    z_stream z;
};

static struct bj_gunzip *make(void)
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
        *g = make();
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
