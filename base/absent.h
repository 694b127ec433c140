/* The value of a number that nobody knows. */
#ifndef BJ_BASE_ABSENT_H
#define BJ_BASE_ABSENT_H

#include <stdint.h>

/* The value of a field that has none.  It is never printed: absent is absent,
 * not 0.  No source counts that high. */
#define BJ_ABSENT UINT64_MAX

#endif
