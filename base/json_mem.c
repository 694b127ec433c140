#include "base/json_priv.h"

#include <stdlib.h>

/* A block and its place in the list; the memory follows. */
struct bj_json_block {
    struct bj_json_block *prev, *next;
    _Alignas(16) char mem[];
};

static struct bj_json_block *block_of(void *p)
{
    return (struct bj_json_block *)((char *)p -
                                    offsetof(struct bj_json_block, mem));
}

static void unlink_block(struct bj_json_mem *m, struct bj_json_block *b)
{
    if (b->next)
        b->next->prev = b->prev;
    if (b->prev)
        b->prev->next = b->next;
    else
        m->blocks = b->next;
}

static void *link_block(struct bj_json_mem *m, struct bj_json_block *b)
{
    b->prev = NULL;
    b->next = m->blocks;
    if (b->next)
        b->next->prev = b;
    m->blocks = b;
    return b->mem;
}

static void *mem_realloc(void *ctx, void *p, size_t n)
{
    struct bj_json_mem *m = ctx;
    struct bj_json_block *old = p ? block_of(p) : NULL, *b = NULL;
    if (old)
        unlink_block(m, old);
    if (n <= PTRDIFF_MAX - sizeof(*b))
        b = realloc(old, sizeof(*b) + n);
    if (b)
        return link_block(m, b);
    if (old)
        link_block(m, old);
    longjmp(m->out, 1);
}

static void *mem_alloc(void *ctx, size_t n)
{
    return mem_realloc(ctx, NULL, n);
}

static void mem_free(void *ctx, void *p)
{
    if (!p)
        return;
    unlink_block(ctx, block_of(p));
    free(block_of(p));
}

yajl_alloc_funcs bj_json_mem_funcs(struct bj_json_mem *mem)
{
    return (yajl_alloc_funcs){mem_alloc, mem_realloc, mem_free, mem};
}

void bj_json_mem_free(struct bj_json_mem *mem)
{
    while (mem->blocks) {
        struct bj_json_block *next = mem->blocks->next;
        free(mem->blocks);
        mem->blocks = next;
    }
}
