/* The value of an unknown number. */
#ifndef BJ_BASE_ABSENT_H
#define BJ_BASE_ABSENT_H

#include <stdint.h>

/* The value of a field without one.  It is never printed: absent is not 0.  No
 * source counts that high. */
#define BJ_ABSENT UINT64_MAX

#endif
