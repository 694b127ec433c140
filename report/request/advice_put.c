#include "report/request/advice_impl.h"

struct bj_buf *bj_advice_value(struct bj_advisor *a)
{
    struct bj_buf *b = &a->value[a->values++];
    b->len = 0;
    return b;
}

static struct bj_slice copy_buf(struct bj_advisor *a, const struct bj_buf *b)
{
    a->r->arena.failed |= b->failed;
    return b->len > 0
               ? bj_arena_copy(&a->r->arena, (struct bj_slice){b->p, b->len})
               : (struct bj_slice){0};
}

struct bj_report_advice *
bj_advice_append(struct bj_advisor *a, const char *name, enum bj_sentence which)
{
    struct bj_report *r = a->r;
    const unsigned values = a->values;
    a->values = 0;
    if (r->advices == BJ_ADVICE_MAX)
        return NULL;
    struct bj_report_advice *ret = &r->advice[r->advices++];
    *ret = (struct bj_report_advice){
        .advice = bj_slice_str(name),
        .text = bj_sentence_text(r, which, a->value, values),
        .finding = a->finding->finding,
        .url = a->finding->url,
        .runs = a->known->tasks > 0 ? a->known->tasks : 1};
    return ret;
}

void bj_advice_add(struct bj_advisor *a, const char *name,
                   enum bj_sentence which)
{
    for (size_t i = 0; i < a->r->advices; i++)
        if (bj_slice_eq(a->r->advice[i].advice, bj_slice_str(name))) {
            a->values = 0;
            return; /* another finding has caused this advice already */
        }
    bj_advice_append(a, name, which);
}

void bj_advice_wish(struct bj_advisor *a, enum bj_request_part part,
                    enum bj_sentence with, enum bj_sentence words,
                    unsigned words_from)
{
    a->wish[part] = (struct bj_wish){a->finding, with, words, words_from};
    a->shows[part] = a->values;
    for (unsigned i = 0; i < a->values; i++)
        a->shown[part][i] = copy_buf(a, &a->value[i]);
    a->values = 0;
}
