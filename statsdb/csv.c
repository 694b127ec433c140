#include "statsdb/csv.h"

#include "base/text.h"

#include <stdlib.h>

/* A spreadsheet takes text that begins with one of =+-@ (tab and return, too)
 * for a formula. */
static void put_field(struct bj_buf *out, struct bj_slice s)
{
    bool quote = false;
    for (size_t i = 0; i < s.n && !quote; i++)
        quote = memchr(",\"\r\n", s.p[i], 4) != NULL;
    bool formula = s.n > 0 && memchr("=+-@\t\r", s.p[0], 6) != NULL;
    if (!quote && !formula) {
        bj_buf_slice(out, s);
        return;
    }
    bj_buf_str(out, formula ? "\"'" : "\"");
    for (size_t i = 0; i < s.n; i++)
        bj_buf_put(out, s.p[i] == '"' ? "\"\"" : &s.p[i],
                   s.p[i] == '"' ? 2 : 1);
    bj_buf_str(out, "\"");
}

void bj_csv_text(struct bj_buf *out, struct bj_slice s)
{
    char small[512], *text = small;
    size_t cap = 3 * s.n + 1; /* U+FFFD has three bytes */
    if (cap > sizeof(small) && !(text = malloc(cap))) {
        out->failed = true;
        return;
    }
    size_t n =
        bj_text_clean(s, text, cap > sizeof(small) ? cap : sizeof(small));
    put_field(out, (struct bj_slice){text, n});
    if (text != small)
        free(text);
}
