#include "sched/word.h"

static const struct bj_slice nones[] = {
    BJ_WORD("None"), BJ_WORD("None assigned"), BJ_WORD("Unknown"),
    BJ_WORD("N/A"),  BJ_WORD("(null)"),        BJ_WORD("-"),
};

bool bj_word_is_none(struct bj_slice s)
{
    if (s.n == 0)
        return true;
    if (s.n > sizeof("None assigned") - 1 || !memchr("NU(-", s.p[0], 4))
        return false;
    for (size_t i = 0; i < sizeof(nones) / sizeof(nones[0]); i++)
        if (bj_slice_eq(s, nones[i]))
            return true;
    return false;
}
