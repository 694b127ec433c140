/* Numbers, durations and strings of PromQL. */
#ifndef BJ_PROMQL_LITERAL_H
#define BJ_PROMQL_LITERAL_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdint.h>

/* The number, in the plainest decimal form of the same value: "0x10" is "16",
 * "010" is "8", "1_000." is "1000", ".5" is "0.5".  0, -EINVAL when it is not a
 * number, -ERANGE when it is above what a double or (octal, hexadecimal) 64
 * bits hold. */
int bj_promql_number(struct bj_slice s, struct bj_arena *arena,
                     struct bj_slice *ret);

/* A duration such as "1h30m" in milliseconds; a number counts seconds and may
 * have a fraction of up to three digits.  0, -EINVAL or -ERANGE. */
int bj_promql_duration(struct bj_slice s, int64_t *ret_ms);

/* The bytes of a string with its quotes.  0 or -EINVAL. */
int bj_promql_string(struct bj_slice quoted, struct bj_arena *arena,
                     struct bj_slice *ret);

/* All of s is UTF-8, by the rules of Go's utf8.Valid. */
bool bj_promql_utf8(struct bj_slice s);

/* The bytes of the UTF-8 character that s starts with; 0 when it starts with
 * none. */
unsigned bj_promql_utf8_len(struct bj_slice s);

#endif
