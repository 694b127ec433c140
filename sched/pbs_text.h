/* Strings of what PBS takes for JSON: inside of sched/pbs. */
#ifndef BJ_SCHED_PBS_TEXT_H
#define BJ_SCHED_PBS_TEXT_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the reader is. */
struct bj_pbs_scan {
    struct bj_slice text;
    bool over;  /* nothing follows it */
    bool key;   /* what comes is a key */
    bool array; /* it is in an array */
};

/* Put the string whose first quote is at at, without its quotes and escapes,
 * behind what to holds.  A quote ends it where what follows could follow a
 * string; so does a newline that a key or the end of the object follows.
 * Returns where the text goes on, or 0 when more of it must be known. */
size_t bj_pbs_string(const struct bj_pbs_scan *s, size_t at, struct bj_buf *to);

/* The same for a value without quotes, up to a comma, a closing bracket or a
 * newline; null is nothing.  Returns at when there is none. */
size_t bj_pbs_bare(const struct bj_pbs_scan *s, size_t at, struct bj_buf *to);

#endif
