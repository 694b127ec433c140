/* FNV-1a, 64 bits (IETF draft-eastlake-fnv): the same on every machine, so it
 * may be kept in files.  Not for input that an attacker chooses. */
#ifndef BJ_BASE_HASH_H
#define BJ_BASE_HASH_H

#include "base/slice.h"

/* The hash of the empty text. */
#define BJ_HASH UINT64_C(0xcbf29ce484222325)

/* Continue h with v; a value above 255 separates texts. */
static inline uint64_t bj_hash_unit(uint64_t h, unsigned v)
{
    return (h ^ v) * UINT64_C(0x100000001b3);
}

/* Continue h with s. */
static inline uint64_t bj_hash(uint64_t h, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        h = bj_hash_unit(h, (unsigned char)s.p[i]);
    return h;
}

#endif
