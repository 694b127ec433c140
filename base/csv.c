#include "base/csv.h"

static bool is_formula(struct bj_slice s)
{
    while (s.n > 0 && s.p[0] == ' ') {
        s.p++;
        s.n--;
    }
    return s.n > 0 && memchr("=+-@\t\r", s.p[0], 6);
}

/* No quotes are needed. */
static bool csv_is_plain(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || memchr("\",;\x7f", s.p[i], 4))
            return false;
    return !is_formula(s);
}

void bj_csv_text(struct bj_buf *out, struct bj_slice s)
{
    if (csv_is_plain(s)) {
        bj_buf_clean(out, s);
        return;
    }
    bj_buf_str(out, is_formula(s) ? "\"'" : "\"");
    while (s.n > 0) {
        size_t n = 0;
        while (n < s.n && s.p[n] != '"' && s.p[n] != ';')
            n++;
        bj_buf_clean(out, (struct bj_slice){s.p, n});
        char c = n < s.n ? s.p[n++] : '\0';
        s.p += n;
        s.n -= n;
        bj_buf_put(out, &c, c != '\0');
        bj_buf_put(out, "\"", c == '"');
        bj_buf_put(out, "'", c == ';' && is_formula(s));
    }
    bj_buf_str(out, "\"");
}
