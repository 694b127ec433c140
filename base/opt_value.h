/* The texts of option values: durations and sizes. */
#ifndef BJ_BASE_OPT_VALUE_H
#define BJ_BASE_OPT_VALUE_H

#include "base/slice.h"

#include <stdint.h>

/* A duration in microseconds: numbers with units from the largest down
 * ("1h30m", "250ms", "1.5d"; units d h m s ms us) or a plain number of seconds
 * ("15", "0.5").  -EINVAL when it is not a duration or not a whole number of
 * microseconds, -ERANGE when it does not fit; *ret is then unchanged. */
int bj_duration_parse(struct bj_slice s, uint64_t *ret_usec);

/* A size in bytes: a whole number, alone or followed by K, M, G or T (powers of
 * 1024, lower case too, "iB" may follow: "16MiB").  Errors as above. */
int bj_size_parse(struct bj_slice s, uint64_t *ret_bytes);

enum { BJ_AMOUNT_MAX = 32 }; /* most bytes of the texts below */

/* Such texts from numbers, in the largest unit that needs no fraction: "90m",
 * "64K".  Returns buf. */
const char *bj_duration_text(uint64_t usec, char buf[static BJ_AMOUNT_MAX]);
const char *bj_size_text(uint64_t bytes, char buf[static BJ_AMOUNT_MAX]);

#endif
