#include "sched/gres.h"

#include "sched/word.h"

/* Cut everything before the next comma outside of brackets. */
static struct bj_slice cut_entry(struct bj_slice *rest)
{
    unsigned depth = 0;
    size_t n = 0;
    for (; n < rest->n && (depth > 0 || rest->p[n] != ','); n++)
        if (rest->p[n] == '(')
            depth++;
        else if (rest->p[n] == ')' && depth > 0)
            depth--;
    const struct bj_slice entry = {rest->p, n};
    if (n < rest->n)
        n++;
    rest->p += n;
    rest->n -= n;
    return entry;
}

/* Cut the part after the last colon off s. */
static struct bj_slice cut_last(struct bj_slice *s)
{
    size_t n = s->n;
    while (n > 0 && s->p[n - 1] != ':')
        n--;
    const struct bj_slice last = {s->p + n, s->n - n};
    s->n = n > 0 ? n - 1 : 0;
    return last;
}

/* "gpu:a100:4(S:0-1)".  Brackets after the number contain the location of the
 * resources; brackets before it mean an unknown type. */
static bool parse_entry(struct bj_slice e, struct bj_gres *ret)
{
    static const struct bj_slice no_consume = BJ_WORD("no_consume");
    uint64_t unit = 1;
    if (e.n > 0 && e.p[e.n - 1] == ')') {
        while (e.n > 0 && e.p[e.n - 1] != '(')
            e.n--;
        e.n -= e.n > 0;
    }
    struct bj_slice count = cut_last(&e);
    if (count.n > 1 && count.p[count.n - 1] == 'K') {
        unit = 1024;
        count.n--;
    }
    if (e.n == 0 || bj_slice_u64(count, &ret->count) < 0 ||
        __builtin_mul_overflow(ret->count, unit, &ret->count))
        return false;
    ret->name = ret->type = (struct bj_slice){e.p, 0};
    while (ret->name.n < e.n && e.p[ret->name.n] != ':')
        ret->name.n++;
    if (ret->name.n < e.n) {
        ret->type.p = e.p + ret->name.n + 1;
        ret->type.n = e.n - ret->name.n - 1;
    }
    if (bj_word_is_none(ret->type) || bj_slice_eq(ret->type, no_consume))
        ret->type.n = 0;
    return ret->name.n > 0;
}

bool bj_gres_next(struct bj_slice *rest, struct bj_gres *ret, unsigned *bad)
{
    while (rest->n > 0) {
        const struct bj_slice entry = bj_slice_trim(cut_entry(rest));
        if (bj_word_is_none(entry))
            continue;
        if (parse_entry(entry, ret))
            return true;
        if (bad)
            ++*bad;
    }
    return false;
}
