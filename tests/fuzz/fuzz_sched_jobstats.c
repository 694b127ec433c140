/* sched/jobstats.h: any comment is read within the limits.  The first byte
 * chooses whether the rest is the comment, or JSON that is compressed and
 * encoded into one, which a fuzzer could not produce. */
#include "base/absent.h"
#include "sched/jobstats.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

static size_t encode(const unsigned char *p, size_t n, char *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    char *const begin = to;
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16;
        v |= i + 1 < n ? (unsigned)p[i + 1] << 8 : 0;
        v |= i + 2 < n ? p[i + 2] : 0;
        for (int k = 0; k < 4; k++)
            *to++ = digits[v >> (18 - 6 * k) & 63];
        if (i + 1 >= n)
            to[-2] = '=';
        if (i + 2 >= n)
            to[-1] = '=';
    }
    return (size_t)(to - begin);
}

static struct bj_slice pack(const uint8_t *data, size_t n, char *to)
{
    uLong room = compressBound(n) + 64;
    unsigned char *zipped = malloc(room);
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
                  .avail_in = (uInt)n,
                  .next_out = zipped,
                  .avail_out = (uInt)room};
    MUST(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) ==
         Z_OK);
    MUST(deflate(&z, Z_FINISH) == Z_STREAM_END);
    memcpy(to, "JS1:", 4);
    size_t len = 4 + encode(zipped, z.total_out, to + 4);
    deflateEnd(&z);
    free(zipped);
    return (struct bj_slice){to, len};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct bj_arena a = {0};
    struct bj_jobstats got;
    char *room = malloc(2 * size + 256);
    struct bj_slice text = {(const char *)data + 1, size - 1};
    if (data[0] & 1)
        text = pack(data + 1, size - 1, room);
    int r = bj_jobstats_read(&a, text, &got, NULL);
    MUST(r == 0 || r == -ENOENT || r == -EINVAL || r == -EFBIG);
    if (r == 0) {
        MUST(got.nodes > 0 && got.nodes <= size);
        MUST(got.gpu_busy_ppm == BJ_ABSENT || got.gpus > 0);
        MUST(got.nodes_unused == BJ_ABSENT || got.nodes_unused <= got.nodes);
    }
    free(room);
    bj_arena_free(&a);
    return 0;
}
