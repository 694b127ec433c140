/* FNV-1a, 64 bits (IETF draft-eastlake-fnv): the same on every machine and for
 * ever, so that it may be kept in files.  It is no help against those who
 * choose what is hashed. */
#ifndef BJ_BASE_HASH_H
#define BJ_BASE_HASH_H

#include "base/slice.h"

/* Of nothing. */
#define BJ_HASH UINT64_C(0xcbf29ce484222325)

/* Of what h was of, and v behind it; v beyond a byte is what no text holds. */
static inline uint64_t bj_hash_unit(uint64_t h, unsigned v)
{
    return (h ^ v) * UINT64_C(0x100000001b3);
}

/* Of what h was of, and s behind it. */
static inline uint64_t bj_hash(uint64_t h, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        h = bj_hash_unit(h, (unsigned char)s.p[i]);
    return h;
}

#endif
