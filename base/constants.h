/* Numbers of the site's own, one a line:
 *
 *   # allocations
 *   gpu_years 40 year       also "gpu_years = 40 year", "gpu_years: 40 year"
 *   students 1234
 *   [alpha]                 what follows is of this cluster
 *   gpu_years 12.5 quarter
 *
 * A number may have a sign, a fraction and an exponent.  A period behind it
 * says for how long it is: hour, day, week, month, quarter, year, or a length
 * such as 90d or 36h.  A year has 365 days, a quarter and a month are a quarter
 * and a twelfth of it. */
#ifndef BJ_BASE_CONSTANTS_H
#define BJ_BASE_CONSTANTS_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_constant {
    struct bj_slice cluster; /* {NULL, 0}: of all */
    struct bj_slice name;
    int64_t micro;          /* millionths of it */
    struct bj_slice period; /* as it was written; {NULL, 0}: none */
    uint64_t period_sec;    /* BJ_ABSENT: none */
};

/* Zero-initialise, set text and, for messages, file. */
struct bj_constants {
    struct bj_slice text; /* what is left of it */
    const char *file;
    uint64_t line; /* number of the last one, from 1 */
    struct bj_slice cluster;
};

/* The next of them; slices point into the text.  1, 0 at the end, or -EINVAL
 * when a line is none, which err tells with file and line; the next call goes
 * on behind it. */
int bj_constants_next(struct bj_constants *c, struct bj_constant *ret,
                      struct bj_err *err);

#endif
