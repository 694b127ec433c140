/* Words of a grammar, in tables. */
#ifndef BJ_SCHED_WORD_H
#define BJ_SCHED_WORD_H

#include "base/slice.h"

#include <stdbool.h>

/* Initialises a slice in a static table, where BJ_SLICE is not a constant. */
#define BJ_WORD(lit)                                                           \
    {                                                                          \
        "" lit, sizeof(lit) - 1                                                \
    }

/* The texts that schedulers print for an absent text: empty, "None", "None
 * assigned", "Unknown", "N/A", "(null)", "-". */
bool bj_word_is_none(struct bj_slice s);

/* s, or the empty slice for one of those. */
static inline struct bj_slice bj_word_text(struct bj_slice s)
{
    return bj_word_is_none(s) ? (struct bj_slice){NULL, 0} : s;
}

#endif
