#include "base/base64.h"

void bj_base64_put(struct bj_buf *out, struct bj_slice s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                                 "tuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t i = 0; i < s.n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 |
                     (i + 1 < s.n ? (unsigned)p[i + 1] << 8 : 0) |
                     (i + 2 < s.n ? (unsigned)p[i + 2] : 0);
        const char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
                              i + 1 < s.n ? digits[v >> 6 & 63] : '=',
                              i + 2 < s.n ? digits[v & 63] : '='};
        bj_buf_put(out, four, sizeof(four));
    }
}
