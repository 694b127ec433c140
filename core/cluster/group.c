#include "core/cluster/group.h"

#include <stdlib.h>
#include <string.h>

static const struct bj_slice other = {"(other)", 7};

static uint64_t hash_keys(const struct bj_slice key[BJ_SUB_KEYS])
{
    uint64_t h = 0xcbf29ce484222325;
    for (int k = 0; k < BJ_SUB_KEYS; k++) {
        for (size_t i = 0; i < key[k].n; i++)
            h = (h ^ (unsigned char)key[k].p[i]) * 0x100000001b3;
        h = (h ^ 0x1ff) * 0x100000001b3;
    }
    return h ^ h >> 32;
}

static struct bj_sub *at(const struct bj_group *g, size_t i)
{
    return (struct bj_sub *)(void *)(g->v + i * g->size);
}

static bool same(const struct bj_slice *a, const struct bj_slice *b)
{
    for (int k = 0; k < BJ_SUB_KEYS; k++)
        if (!bj_slice_eq(a[k], b[k]))
            return false;
    return true;
}

/* Where the keys are, or would go. */
static size_t slot_of(const struct bj_group *g, const struct bj_slice *key)
{
    size_t s = hash_keys(key) & (g->slots - 1);
    while (g->slot[s] && !same(at(g, g->slot[s] - 1)->key, key))
        s = (s + 1) & (g->slots - 1);
    return s;
}

static bool rehash(struct bj_group *g)
{
    size_t slots = g->slots > 0 ? 2 * g->slots : 64;
    uint32_t *slot = calloc(slots, sizeof(*slot));
    if (!slot)
        return false;
    free(g->slot);
    g->slot = slot;
    g->slots = slots;
    for (size_t i = 0; i < g->n; i++)
        g->slot[slot_of(g, at(g, i)->key)] = (uint32_t)i + 1;
    return true;
}

static bool make_room(struct bj_group *g)
{
    if (g->n == g->room) {
        size_t room = g->room > 0 ? 2 * g->room : 16;
        char *v = realloc(g->v, room * g->size);
        if (!v)
            return false;
        g->v = v;
        g->room = room;
    }
    return 2 * (g->n + 1) <= g->slots || rehash(g);
}

static void *add(struct bj_group *g, const struct bj_slice *key)
{
    if (!make_room(g)) {
        g->arena->failed = 1;
        return NULL;
    }
    struct bj_sub *r = at(g, g->n);
    memset(r, 0, g->size);
    for (int k = 0; k < BJ_SUB_KEYS; k++)
        if (key[k].p)
            r->key[k] = bj_arena_copy(g->arena, key[k]);
    g->slot[slot_of(g, key)] = (uint32_t)++g->n;
    return r;
}

void *bj_group_find(const struct bj_group *g,
                    const struct bj_slice key[BJ_SUB_KEYS])
{
    size_t s = g->slots > 0 ? slot_of(g, key) : 0;
    return g->slots > 0 && g->slot[s] ? at(g, g->slot[s] - 1) : NULL;
}

void *bj_group_at(struct bj_group *g, const struct bj_slice key[BJ_SUB_KEYS])
{
    void *r = bj_group_find(g, key);
    if (r)
        return r;
    if (g->n < g->cap)
        return add(g, key);
    g->refused++;
    struct bj_slice rest[BJ_SUB_KEYS] = {other};
    for (int k = 1; k < BJ_SUB_KEYS; k++)
        rest[k] = key[k];
    r = bj_group_find(g, rest);
    if (r)
        return r;
    /* A quarter more than the cap is for the keys behind "(other)". */
    if (g->n < g->cap + g->cap / 4)
        return add(g, rest);
    for (int k = 1; k < BJ_SUB_KEYS; k++)
        rest[k] = key[k].p ? other : key[k];
    r = bj_group_find(g, rest);
    return r ? r : add(g, rest);
}

static int by_keys(const void *a, const void *b)
{
    const struct bj_sub *x = a, *y = b;
    for (int k = 0; k < BJ_SUB_KEYS; k++) {
        if (!x->key[k].p || !y->key[k].p)
            break;
        int d = strverscmp(x->key[k].p, y->key[k].p);
        if (d)
            return d;
    }
    return 0;
}

struct bj_list bj_group_list(struct bj_group *g)
{
    void *v = g->n > 0 ? bj_arena_alloc(g->arena, g->n * g->size) : NULL;
    if (!v)
        return (struct bj_list){0};
    memcpy(v, g->v, g->n * g->size);
    qsort(v, g->n, g->size, by_keys);
    return (struct bj_list){v, g->n};
}

void bj_group_free(struct bj_group *g)
{
    free(g->v);
    free(g->slot);
    g->v = NULL;
    g->slot = NULL;
    g->n = g->room = g->slots = 0;
}
