#include "report/sentence.h"

struct bj_slice bj_say(struct bj_arena *a, enum bj_sentence which,
                       const struct bj_buf *value, unsigned values)
{
    struct bj_buf out = {0};
    for (const char *p = bj_sentences[which]; *p; p++) {
        unsigned n =
            p[0] == '{' && p[1] && p[2] == '}' ? (unsigned)(p[1] - '0') : 0;
        if (n == 0 || n > BJ_SENTENCE_VALUES) {
            bj_buf_put(&out, p, 1);
            continue;
        }
        if (n <= values)
            bj_buf_put(&out, value[n - 1].p, value[n - 1].len);
        p += 2;
    }
    a->failed |= out.failed;
    struct bj_slice ret = bj_arena_copy(a, (struct bj_slice){out.p, out.len});
    bj_buf_free(&out);
    return ret;
}
