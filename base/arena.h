/* An arena: many small allocations that are freed together. */
#ifndef BJ_BASE_ARENA_H
#define BJ_BASE_ARENA_H

#include "base/slice.h"

#include <stddef.h>

/* Zero-initialise; free with bj_arena_free.  failed is set when an allocation
 * fails: check it once, at the end. */
struct bj_arena {
    struct bj_arena_block *blocks;
    char *next, *end;
    size_t used; /* bytes handed out since the last reset */
    unsigned char failed;
};

/* n zeroed bytes, aligned for any record; NULL without memory.  n may be 0. */
void *bj_arena_alloc(struct bj_arena *a, size_t n);

/* A terminated copy of s; "" without memory (failed is then set). */
struct bj_slice bj_arena_copy(struct bj_arena *a, struct bj_slice s);

/* Free all allocations but keep one block that is large enough for the same
 * amount. */
void bj_arena_reset(struct bj_arena *a);
void bj_arena_free(struct bj_arena *a);

#endif
