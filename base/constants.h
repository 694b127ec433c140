/* Constants of the site, one a line:
 *
 *   # allocations
 *   gpu_years 40 year       also "gpu_years = 40 year", "gpu_years: 40 year"
 *   students 1234
 *   [alpha]                 the lines below belong to this cluster
 *   gpu_years 12.5 quarter
 *
 * A number may have a sign, a fraction and an exponent.  A period may follow
 * it: hour, day, week, month, quarter, year, or a duration such as 90d or 36h.
 * A year has 365 days, a quarter is a fourth and a month a twelfth of a
 * year. */
#ifndef BJ_BASE_CONSTANTS_H
#define BJ_BASE_CONSTANTS_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_constant {
    struct bj_slice cluster; /* {NULL, 0}: all clusters */
    struct bj_slice name;
    int64_t micro;          /* the value in millionths */
    struct bj_slice period; /* as written; {NULL, 0}: none */
    uint64_t period_sec;    /* BJ_ABSENT: none */
};

/* Zero-initialise, set text and, for messages, file. */
struct bj_constants {
    struct bj_slice text; /* the rest to read */
    const char *file;
    uint64_t line; /* number of the last line, from 1 */
    struct bj_slice cluster;
};

/* The next constant; slices point into the text.  1, 0 at the end, or -EINVAL
 * for a bad line, which err names with file and line; the next call continues
 * after it. */
int bj_constants_next(struct bj_constants *c, struct bj_constant *ret,
                      struct bj_err *err);

#endif
