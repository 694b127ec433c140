#include "base/html.h"

void bj_html_text(struct bj_buf *b, struct bj_slice s)
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
