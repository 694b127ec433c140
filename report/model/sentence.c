#include "report/model/sentence.h"

#include "report/model/report.h"

static struct bj_slice text_of(const struct bj_report *r,
                               enum bj_sentence which)
{
    return r->sentence[which].p ? r->sentence[which]
                                : bj_slice_str(bj_sentences[which]);
}

struct bj_slice bj_sentence_text(struct bj_report *r, enum bj_sentence which,
                                 const struct bj_buf *value, unsigned values)
{
    const struct bj_slice text = text_of(r, which);
    struct bj_buf out = {0};
    for (size_t i = 0; i < text.n; i++) {
        const char *p = text.p + i;
        unsigned n = i + 2 < text.n && p[0] == '{' && p[2] == '}'
                         ? (unsigned)(p[1] - '0')
                         : 0;
        if (n == 0 || n > BJ_SENTENCE_VALUES) {
            bj_buf_put(&out, p, 1);
            continue;
        }
        if (n <= values)
            bj_buf_put(&out, value[n - 1].p, value[n - 1].len);
        i += 2;
    }
    r->arena.failed |= out.failed;
    struct bj_slice ret =
        bj_arena_copy(&r->arena, (struct bj_slice){out.p, out.len});
    bj_buf_free(&out);
    return ret;
}
