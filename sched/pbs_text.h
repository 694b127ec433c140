/* Strings of PBS's JSON output.  Private to sched/pbs. */
#ifndef BJ_SCHED_PBS_TEXT_H
#define BJ_SCHED_PBS_TEXT_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/* The position of the reader. */
struct bj_pbs_scan {
    struct bj_slice text;
    bool over;  /* the text ends here */
    bool key;   /* a key is expected */
    bool array; /* within an array */
};

/* Append the string whose first quote is at at to to, without quotes and
 * escapes. A quote ends it where the text after it can follow a string; so
 * does a newline before a key or the end of the object.  Returns the end, or 0
 * when more text is needed. */
size_t bj_pbs_string(const struct bj_pbs_scan *s, size_t at, struct bj_buf *to);

/* The same for a value without quotes, up to a comma, a closing bracket or a
 * newline; null is empty.  Returns at when there is none. */
size_t bj_pbs_bare(const struct bj_pbs_scan *s, size_t at, struct bj_buf *to);

#endif
