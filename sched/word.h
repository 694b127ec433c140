/* Words of a grammar in tables. */
#ifndef BJ_SCHED_WORD_H
#define BJ_SCHED_WORD_H

#include "base/slice.h"

#include <stdbool.h>

/* Initialises a slice inside a static table, where BJ_SLICE is no constant. */
#define BJ_WORD(lit)                                                           \
    {                                                                          \
        "" lit, sizeof(lit) - 1                                                \
    }

/* The texts by which schedulers say that there is no text: empty, "None",
 * "None assigned", "Unknown", "N/A", "(null)", "-". */
bool bj_word_is_none(struct bj_slice s);

/* s, or the empty slice where it is one of those. */
static inline struct bj_slice bj_word_text(struct bj_slice s)
{
    return bj_word_is_none(s) ? (struct bj_slice){NULL, 0} : s;
}

#endif
