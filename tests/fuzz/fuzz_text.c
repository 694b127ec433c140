/* base/text.c and the label writer: the output is valid UTF-8 without control
 * characters and fits its buffer, and labels that are escaped and unescaped are
 * the same. */
#include "base/buf.h"
#include "base/text.h"
#include "tests/fuzz/fuzz.h"

/* The code point at p and its length *n, computed without a table. */
static uint32_t code_point(const unsigned char *p, size_t left, size_t *n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    *n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    MUST(p[0] < 0x80 || (p[0] >= 0xc0 && p[0] < 0xf8));
    MUST(*n <= left);
    uint32_t c = *n == 1 ? p[0] : p[0] & (0xffu >> (*n + 1));
    for (size_t i = 1; i < *n; i++) {
        MUST((p[i] & 0xc0) == 0x80);
        c = c << 6 | (p[i] & 0x3f);
    }
    MUST(c >= least[*n] && c <= 0x10ffff);
    MUST(c < 0xd800 || c > 0xdfff);
    return c;
}

static void must_be_clean(const char *s, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c = code_point((const unsigned char *)s + i, n - i, &len);
        MUST(c >= 0x20 && !(c >= 0x7f && c < 0xa0));
    }
}

static void clean(struct bj_slice in, size_t cap)
{
    char *dst = malloc(cap), *again = malloc(cap);
    MUST(dst && again);
    size_t n = bj_text_clean(in, dst, cap);
    MUST(n <= cap - 1 && dst[n] == '\0' && strlen(dst) == n);
    must_be_clean(dst, n);
    /* Cleaning does not change clean text. */
    MUST(bj_text_clean((struct bj_slice){dst, n}, again, cap) == n);
    MUST(memcmp(dst, again, n) == 0);
    n = bj_text_ident(in, dst, cap);
    MUST(n <= cap - 1 && strlen(dst) == n);
    MUST(strspn(dst, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_.:@+-[]") == n);
    free(dst);
    free(again);
}

static void unescape(struct bj_slice in, size_t cap)
{
    char *dst = malloc(cap);
    MUST(dst);
    size_t n = bj_text_unescape_unit(in, dst, cap);
    MUST(n <= cap - 1 && n <= in.n && dst[n] == '\0');
    if (in.n == 0 || !memchr(in.p, '\\', in.n))
        MUST(n == (in.n < cap ? in.n : cap - 1) &&
             memcmp(dst, in.p ? in.p : "", n) == 0);
    free(dst);
}

/* Read an escaped label as Prometheus does. */
static void label(struct bj_slice in)
{
    struct bj_buf b = {0};
    bj_buf_label(&b, in);
    MUST(!b.failed && b.len >= in.n && b.len <= 2 * in.n);
    size_t n = 0;
    for (size_t i = 0; i < b.len; i++, n++) {
        char c = b.p[i];
        MUST(c != '"' && c != '\n' && n < in.n);
        if (c == '\\') {
            MUST(++i < b.len);
            c = b.p[i];
            MUST(c == 'n' || c == '"' || c == '\\');
            c = c == 'n' ? '\n' : c;
        }
        MUST(c == in.p[n]);
    }
    MUST(n == in.n);
    bj_buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *mem;
    struct bj_slice in = fuzz_exact(data + 1, size - 1, &mem);
    size_t cap = data[0] == 0 ? BJ_LABEL_MAX + 1 : data[0];
    clean(in, cap);
    clean(in, 3 * size + 1);
    unescape(in, cap);
    label(in);
    free(mem);
    return 0;
}
