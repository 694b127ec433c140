#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>

enum { ALIGN = 16, FIRST_BYTES = 4096 };

/* A block of memory; the allocations follow the header. */
struct bj_arena_block {
    struct bj_arena_block *older;
    size_t size; /* bytes after the header */
    _Alignas(ALIGN) char mem[];
};

static bool add_block(struct bj_arena *a, size_t size)
{
    struct bj_arena_block *b = NULL;
    if (size <= SIZE_MAX - sizeof(*b))
        b = malloc(sizeof(*b) + size);
    if (!b)
        return false;
    b->older = a->blocks;
    b->size = size;
    a->blocks = b;
    a->next = b->mem;
    a->end = b->mem + size;
    return true;
}

/* The rest of the current block is lost: since blocks double, that is at most
 * half of the memory. */
static bool add_larger(struct bj_arena *a, size_t n)
{
    size_t size = FIRST_BYTES;
    if (a->blocks && a->blocks->size <= SIZE_MAX / 2)
        size = a->blocks->size * 2;
    return add_block(a, size < n ? n : size);
}

void *bj_arena_alloc(struct bj_arena *a, size_t n)
{
    size_t room = (size_t)(a->end - a->next);
    size_t take = n > SIZE_MAX - ALIGN
                      ? SIZE_MAX
                      : ((n ? n : 1) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (room < take && !add_larger(a, take)) {
        a->failed = 1;
        return NULL;
    }
    char *p = a->next;
    a->next += take;
    a->used += take;
    return memset(p, 0, n);
}

struct bj_slice bj_arena_copy(struct bj_arena *a, struct bj_slice s)
{
    char *p = bj_arena_alloc(a, s.n < SIZE_MAX ? s.n + 1 : SIZE_MAX);
    if (!p)
        return BJ_SLICE("");
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    return (struct bj_slice){p, s.n};
}

static void free_blocks(struct bj_arena_block *b)
{
    while (b) {
        struct bj_arena_block *older = b->older;
        free(b);
        b = older;
    }
}

void bj_arena_reset(struct bj_arena *a)
{
    size_t used = a->used < FIRST_BYTES ? FIRST_BYTES : a->used;
    struct bj_arena_block *b = a->blocks;
    /* Keep one block that fits; free one that is far too large after a peak. */
    if (b && !b->older && b->size >= used && b->size / 4 <= used) {
        *a = (struct bj_arena){
            .blocks = b, .next = b->mem, .end = b->mem + b->size};
        return;
    }
    bj_arena_free(a);
    if (b)
        add_block(a, used); /* on failure the next alloc tries again */
}

void bj_arena_free(struct bj_arena *a)
{
    free_blocks(a->blocks);
    *a = (struct bj_arena){0};
}
