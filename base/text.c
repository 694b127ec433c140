#include "base/text.h"

enum { REPLACEMENT = 3 }; /* bytes of U+FFFD in UTF-8 */

/* Lead bytes of more than one byte: how long the character is, and between
 * which limits the second byte must be.  They keep overlong forms, surrogates
 * and everything above U+10FFFF out.  (Unicode 15, table 3-7.) */
static const struct {
    unsigned char from, to, len, lo, hi;
} leads[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f},
    {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

/* How many bytes at p belong together; *good when they are a character.  Else
 * they are the longest piece that could have become one, as the Unicode
 * standard recommends for replacement (section 3.9). */
static size_t take_char(const unsigned char *p, size_t n, bool *good)
{
    *good = p[0] < 0x80;
    if (*good)
        return 1;
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
        if (p[0] < leads[i].from || p[0] > leads[i].to)
            continue;
        if (n < 2 || p[1] < leads[i].lo || p[1] > leads[i].hi)
            return 1;
        size_t have = 2;
        while (have < leads[i].len && have < n && (p[have] & 0xc0) == 0x80)
            have++;
        *good = have == leads[i].len;
        return have;
    }
    return 1;
}

/* C0 and DEL, and C1 (U+0080 to U+009F, two bytes). */
static bool is_control(const unsigned char *p, size_t len)
{
    return len == 1 ? p[0] < 0x20 || p[0] == 0x7f
                    : len == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

size_t bj_text_clean(struct bj_slice s, char *dst, size_t cap)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t out = 0;
    for (size_t in = 0, len; in < s.n; in += len) {
        bool good;
        const void *from = p + in;
        len = take_char(p + in, s.n - in, &good);
        size_t put = len;
        if (!good) {
            from = "\xef\xbf\xbd";
            put = REPLACEMENT;
        } else if (is_control(p + in, len)) {
            from = "?";
            put = 1;
        }
        if (put > cap - 1 - out)
            break;
        memcpy(dst + out, from, put);
        out += put;
    }
    dst[out] = '\0';
    return out;
}

size_t bj_text_utf8(struct bj_slice s, char *dst)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t out = 0;
    for (size_t in = 0, len; in < s.n; in += len) {
        bool good;
        len = take_char(p + in, s.n - in, &good);
        size_t put = good ? len : REPLACEMENT;
        memcpy(dst + out, good ? (const void *)(p + in) : "\xef\xbf\xbd", put);
        if (dst[out] == '\0')
            dst[out] = '?';
        out += put;
    }
    return out;
}

bool bj_text_is_utf8(struct bj_slice s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t in = 0; in < s.n;) {
        bool good = p[in] != '\0';
        if (p[in] < 0x80 && good) {
            in++;
            continue;
        }
        if (good)
            in += take_char(p + in, s.n - in, &good);
        if (!good)
            return false;
    }
    return true;
}

static bool is_ident(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c && strchr("_.:@+-[]", c));
}

size_t bj_text_ident(struct bj_slice s, char *dst, size_t cap)
{
    size_t n = bj_text_clean(s, dst, cap), out = 0;
    for (size_t in = 0; in < n; in++)
        if (((unsigned char)dst[in] & 0xc0) != 0x80) /* one _ a character */
            dst[out++] = is_ident(dst[in]) ? dst[in] : '_';
    dst[out] = '\0';
    return out;
}

static int text_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

size_t bj_text_unescape_unit(struct bj_slice s, char *dst, size_t cap)
{
    size_t out = 0;
    for (size_t in = 0; in < s.n && out < cap - 1; out++) {
        int hi = -1, lo = -1;
        if (s.n - in >= 4 && s.p[in] == '\\' && s.p[in + 1] == 'x') {
            hi = text_hex(s.p[in + 2]);
            lo = text_hex(s.p[in + 3]);
        }
        bool escape = hi >= 0 && lo >= 0;
        dst[out] = escape ? (char)(hi * 16 + lo) : s.p[in];
        in += escape ? 4 : 1;
    }
    dst[out] = '\0';
    return out;
}
