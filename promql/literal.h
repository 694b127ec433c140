/* Numbers, durations and strings of PromQL. */
#ifndef BJ_PROMQL_LITERAL_H
#define BJ_PROMQL_LITERAL_H

#include "base/arena.h"
#include "base/slice.h"

#include <stdint.h>

/* Rewrite a number in the simplest decimal form of the same value: "0x10" is
 * "16", "010" is "8", "1_000." is "1000", ".5" is "0.5".  0; -EINVAL: not a
 * number; -ERANGE: too large for a double, or if octal or hexadecimal for 64
 * bits. */
int bj_promql_number(struct bj_slice s, struct bj_arena *arena,
                     struct bj_slice *ret);

/* Parse a duration such as "1h30m" into milliseconds; a number without unit
 * means seconds and may have up to three decimals.  0, -EINVAL or -ERANGE. */
int bj_promql_duration(struct bj_slice s, int64_t *ret_ms);

/* Decode a string in quotes into its bytes.  0 or -EINVAL. */
int bj_promql_string(struct bj_slice quoted, struct bj_arena *arena,
                     struct bj_slice *ret);

/* Is all of s UTF-8, by the rules of Go's utf8.Valid? */
bool bj_promql_utf8(struct bj_slice s);

/* Number of bytes of the UTF-8 character at the start of s; 0: there is none.
 */
unsigned bj_promql_utf8_len(struct bj_slice s);

#endif
