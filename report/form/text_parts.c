#include "report/form/text_parts.h"

#include <ctype.h>

enum { WIDTH = 78 };

unsigned bj_text_columns(struct bj_slice s)
{
    unsigned n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

void bj_text_wrap(struct bj_buf *out, struct bj_slice text, unsigned indent,
                  unsigned at)
{
    struct bj_slice word;
    bool first = true;
    while (bj_slice_word(&text, &word)) {
        unsigned n = bj_text_columns(word);
        if (!first && at + 1 + n > WIDTH) {
            bj_buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            bj_buf_str(out, " ");
            at++;
        }
        bj_buf_clean(out, word);
        at += n;
        first = false;
    }
    bj_buf_str(out, "\n");
}

void bj_text_state(struct bj_buf *out, struct bj_slice state)
{
    if (bj_slice_eq(state, BJ_SLICE("oom")))
        state = BJ_SLICE("out_of_memory");
    for (size_t i = 0; i < state.n; i++) {
        char c = (char)toupper((unsigned char)state.p[i]);
        bj_buf_put(out, &c, 1);
    }
}
