#include "base/html.h"

static void put_escaped(struct bj_buf *b, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        const char *as = c == '&'                ? "&amp;"
                         : c == '<'              ? "&lt;"
                         : c == '>'              ? "&gt;"
                         : c == '"'              ? "&quot;"
                         : c == '\''             ? "&#39;"
                         : c < 0x20 || c == 0x7f ? " "
                                                 : NULL;
        if (as)
            bj_buf_str(b, as);
        else
            bj_buf_put(b, &s.p[i], 1);
    }
}

void bj_html_text(struct bj_buf *b, struct bj_slice s)
{
    size_t i = 0;
    while (i < s.n && !(s.p[i] & 0x80))
        i++;
    if (i == s.n) {
        put_escaped(b, s);
        return;
    }
    struct bj_buf text = {0}, clean = {0};
    bj_buf_slice(&text, s);
    for (i = 0; i < text.len; i++)
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
            text.p[i] = ' ';
    bj_buf_clean(&clean, (struct bj_slice){text.p, text.len});
    put_escaped(b, (struct bj_slice){clean.p, clean.len});
    b->failed |= text.failed || clean.failed;
    bj_buf_free(&text);
    bj_buf_free(&clean);
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c != '\0' && strchr("-_.~", c));
}

void bj_url_text(struct bj_buf *b, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (is_unreserved(s.p[i]))
            bj_buf_put(b, &s.p[i], 1);
        else
            bj_buf_printf(b, "%%%02X", (unsigned)(unsigned char)s.p[i]);
}
