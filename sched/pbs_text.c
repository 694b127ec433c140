#include "sched/pbs_text.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Skip blanks; *lines counts the newlines. */
static size_t skip_blanks(const struct bj_pbs_scan *s, size_t i,
                          unsigned *lines)
{
    for (; i < s->text.n && is_blank(s->text.p[i]); i++)
        *lines += s->text.p[i] == '\n';
    return i;
}

enum ends { ENDS, GOES_ON, UNSURE };

/* Whether a quote can end a string, from the text after it at i.  A key ends
 * before a colon, a value before a closing brace or a comma and a key. */
static enum ends ends_here(const struct bj_pbs_scan *s, size_t i, bool escaped)
{
    const enum ends never = s->over ? ENDS : UNSURE;
    unsigned lines = 0;
    i = skip_blanks(s, i, &lines);
    if (i == s->text.n)
        return never;
    const char c = s->text.p[i];
    if (s->key)
        return c == ':' && !escaped ? ENDS : GOES_ON;
    if (s->array)
        return memchr(",]}:", c, 4) && !escaped ? ENDS : GOES_ON;
    if (c != ',' && c != '}')
        return GOES_ON;
    const size_t behind = skip_blanks(s, i + 1, &lines);
    if (escaped && lines == 0)
        return behind == s->text.n && !s->over ? UNSURE : GOES_ON;
    if (behind == s->text.n)
        return never;
    const char d = s->text.p[behind];
    return d == '}' || (c == ',' ? d == '"' : d == ',') ? ENDS : GOES_ON;
}

/* A newline within a string at i: PBS has left out the rest when a key or the
 * end of the object follows. */
static enum ends broken_off(const struct bj_pbs_scan *s, size_t i)
{
    unsigned lines = 0;
    i = skip_blanks(s, i, &lines);
    if (i == s->text.n)
        return s->over ? ENDS : UNSURE;
    if (s->text.p[i] == '}')
        return ENDS;
    if (s->text.p[i] != '"')
        return GOES_ON;
    for (i++; i < s->text.n; i++) {
        const char c = s->text.p[i];
        const bool letter = ((c | 32) >= 'a' && (c | 32) <= 'z') ||
                            (c >= '0' && c <= '9') || memchr("_.-[]", c, 5);
        if (!letter)
            break;
    }
    if (i + 1 >= s->text.n)
        return s->over ? GOES_ON : UNSURE;
    return s->text.p[i] == '"' && s->text.p[i + 1] == ':' ? ENDS : GOES_ON;
}

static void put_utf8(struct bj_buf *b, uint32_t c)
{
    char out[4];
    size_t n = 0;
    if (c < 0x80) {
        out[n++] = (char)c;
    } else if (c < 0x800) {
        out[n++] = (char)(0xc0 | c >> 6);
        out[n++] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        out[n++] = (char)(0xe0 | c >> 12);
        out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (c & 0x3f));
    } else {
        out[n++] = (char)(0xf0 | c >> 18);
        out[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (c & 0x3f));
    }
    bj_buf_put(b, out, n);
}

/* "u00e9" at p as a number; above 0xffff when it is not one. */
static uint32_t hex4(const char *p, size_t n)
{
    uint32_t v = 0;
    if (n < 5 || p[0] != 'u')
        return UINT32_MAX;
    for (int i = 1; i < 5; i++) {
        const char c = p[i];
        const char lower = (char)(c | 32);
        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return UINT32_MAX;
    }
    return v;
}

/* The escaped character at p, after the backslash, and the length of the
 * escape; 0 when it is not an escape. */
static size_t unicode(const char *p, size_t n, uint32_t *ret)
{
    const uint32_t v = hex4(p, n);
    *ret = v;
    if (v < 0xd800 || (v > 0xdfff && v <= 0xffff))
        return 5;
    if (v > 0xdbff || n < 11 || p[5] != '\\')
        return 0;
    const uint32_t low = hex4(p + 6, n - 6);
    *ret = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
    return low >= 0xdc00 && low <= 0xdfff ? 11 : 0;
}

/* Decode the text between quotes; a backslash without an escape stays. */
static void unescape(const char *p, size_t n, struct bj_buf *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    for (size_t i = 0; i < n; i++) {
        const char *escape =
            p[i] == '\\' && i + 1 < n ? memchr(from, p[i + 1], 8) : NULL;
        uint32_t c;
        size_t len = 0;
        if (escape) {
            bj_buf_put(to, &into[escape - from], 1);
            i++;
        } else if (p[i] == '\\' &&
                   (len = unicode(p + i + 1, n - i - 1, &c)) > 0) {
            put_utf8(to, c);
            i += len;
        } else {
            bj_buf_put(to, p + i, 1);
        }
    }
}

size_t bj_pbs_string(const struct bj_pbs_scan *s, size_t at, struct bj_buf *to)
{
    const size_t from = at + 1;
    for (size_t i = from; i < s->text.n; i++) {
        const char *p = s->text.p + i;
        const char next = i + 1 < s->text.n ? p[1] : 0;
        const bool escape = *p == '\\' && (next == '"' || next == '\\');
        enum ends e = GOES_ON;
        size_t behind = i + 1;
        if (escape && next == '"') {
            behind = i + 2;
            e = ends_here(s, behind, true);
        } else if (*p == '"') {
            e = ends_here(s, behind, false);
        } else if (*p == '\n') {
            e = s->key ? ENDS : broken_off(s, i);
            behind = i;
        }
        if (e == UNSURE)
            return 0;
        if (e == ENDS) {
            unescape(s->text.p + from, i - from + escape, to);
            return behind;
        }
        i += escape;
    }
    if (!s->over)
        return 0;
    unescape(s->text.p + from, s->text.n - from, to);
    return s->text.n;
}

size_t bj_pbs_bare(const struct bj_pbs_scan *s, size_t at, struct bj_buf *to)
{
    size_t i = at;
    while (i < s->text.n && !memchr(",}]\n", s->text.p[i], 4))
        i++;
    if (i == s->text.n && !s->over)
        return 0;
    const struct bj_slice word =
        bj_slice_trim((struct bj_slice){s->text.p + at, i - at});
    if (!bj_slice_eq(word, BJ_SLICE("null")))
        bj_buf_slice(to, word);
    return i;
}
