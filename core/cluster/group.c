#include "core/cluster/group.h"

#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static const struct bj_slice other = {"(other)", 7};

static uint64_t hash_keys(const struct bj_slice key[BJ_SUB_KEYS])
{
    uint64_t h = BJ_HASH;
    for (int k = 0; k < BJ_SUB_KEYS; k++)
        h = bj_hash_unit(bj_hash(h, key[k]), 0x1ff);
    return h ^ h >> 32;
}

static struct bj_sub *record_at(const struct bj_group *g, size_t i)
{
    return (struct bj_sub *)(void *)(g->v + i * g->size);
}

static bool group_same(const struct bj_slice *a, const struct bj_slice *b)
{
    for (int k = 0; k < BJ_SUB_KEYS; k++)
        if (!bj_slice_eq(a[k], b[k]))
            return false;
    return true;
}

/* The slot of the keys, or the empty slot for them. */
static size_t slot_of(const struct bj_group *g, const struct bj_slice *key)
{
    size_t s = hash_keys(key) & (g->slots - 1);
    while (g->slot[s] && !group_same(record_at(g, g->slot[s] - 1)->key, key))
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
        g->slot[slot_of(g, record_at(g, i)->key)] = (uint32_t)i + 1;
    return true;
}

static bool make_room(struct bj_group *g)
{
    if (g->n == g->room && !bj_array_grow(&g->v, g->n + 1, &g->room, g->size))
        return false;
    return 2 * (g->n + 1) <= g->slots || rehash(g);
}

static void *group_add(struct bj_group *g, const struct bj_slice *key)
{
    if (!make_room(g)) {
        g->arena->failed = 1;
        return NULL;
    }
    struct bj_sub *r = record_at(g, g->n);
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
    return g->slots > 0 && g->slot[s] ? record_at(g, g->slot[s] - 1) : NULL;
}

/* The "(other)" record for keys beyond the cap. */
static void *get_other(struct bj_group *g,
                       const struct bj_slice key[BJ_SUB_KEYS])
{
    struct bj_slice rest[BJ_SUB_KEYS] = {other};
    g->refused++;
    for (int k = 1; k < BJ_SUB_KEYS; k++)
        rest[k] = key[k];
    void *r = bj_group_find(g, rest);
    if (r)
        return r;
    /* The cap plus a quarter, for the keys after "(other)". */
    if (g->n < g->cap + g->cap / 4)
        return group_add(g, rest);
    for (int k = 1; k < BJ_SUB_KEYS; k++)
        rest[k] = key[k].p ? other : key[k];
    r = bj_group_find(g, rest);
    return r ? r : group_add(g, rest);
}

void *bj_group_get(struct bj_group *g, const struct bj_slice key[BJ_SUB_KEYS])
{
    void *r = bj_group_find(g, key);
    if (r)
        return r;
    return g->n < g->cap ? group_add(g, key) : get_other(g, key);
}

/* --- the largest ----------------------------------------------------------*/

/* All records of a first key. */
struct head {
    struct bj_sub sub; /* of that key alone */
    uint64_t weight, rank, n;
    bool had, kept;
};

static uint64_t number_at(const void *record, size_t off)
{
    uint64_t v;
    memcpy(&v, (const char *)record + off, sizeof(v));
    return v == BJ_ABSENT ? 0 : v;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static int by_first(const void *key, const void *sub)
{
    return strverscmp(((const struct bj_slice *)key)->p,
                      ((const struct bj_sub *)sub)->key[0].p);
}

static bool kept_before(const struct bj_list *had, size_t size,
                        struct bj_slice key)
{
    return had && had->n > 0 && bsearch(&key, had->v, had->n, size, by_first);
}

static int by_rank(const void *a, const void *b)
{
    const struct head *x = *(struct head *const *)a;
    const struct head *y = *(struct head *const *)b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? 1 : -1;
    if (x->had != y->had)
        return x->had ? -1 : 1;
    return strverscmp(x->sub.key[0].p, y->sub.key[0].p);
}

static struct head *head_of(struct bj_group *heads, const struct bj_sub *r)
{
    const struct bj_slice key[BJ_SUB_KEYS] = {r->key[0]};
    return bj_group_get(heads, key);
}

/* Collect the first keys, and choose which to keep. */
static bool group_choose(const struct bj_group *g,
                         const struct bj_group_limit *limit,
                         struct bj_group *heads)
{
    size_t cap = limit->cap;
    for (size_t i = 0; i < g->n; i++) {
        struct head *h = head_of(heads, record_at(g, i));
        if (!h)
            return false;
        h->weight = plus(h->weight, number_at(record_at(g, i), limit->weight));
        h->n++;
    }
    struct head **order = calloc(heads->n, sizeof(struct head *));
    if (!order)
        return false;
    for (size_t i = 0; i < heads->n; i++) {
        struct head *h = order[i] = (struct head *)(void *)record_at(heads, i);
        h->had = kept_before(limit->had, g->size, h->sub.key[0]);
        h->rank = h->had ? plus(h->weight, h->weight) : h->weight;
    }
    qsort(order, heads->n, sizeof(struct head *), by_rank);
    for (size_t i = 0; i < heads->n; i++) {
        order[i]->kept = order[i]->n <= cap;
        cap -= order[i]->kept ? order[i]->n : 0;
    }
    free(order);
    return true;
}

static void group_merge(char *to, const char *from, size_t size, size_t max)
{
    for (size_t off = sizeof(struct bj_sub); off < size;
         off += sizeof(uint64_t)) {
        uint64_t *sum = (void *)(to + off), v;
        memcpy(&v, from + off, sizeof(v));
        if (off != max || *sum == BJ_ABSENT)
            bj_cluster_add(sum, v);
        else if (v != BJ_ABSENT && v > *sum)
            *sum = v;
    }
}

/* Add the numbers of r to another record. */
static bool move(struct bj_group *to, const struct bj_sub *r, bool kept,
                 size_t max)
{
    const size_t n = to->n, first = sizeof(struct bj_sub);
    char *record_at = kept ? group_add(to, r->key) : get_other(to, r->key);
    if (record_at && to->n > n)
        memcpy(record_at + first, (const char *)r + first, to->size - first);
    else if (record_at)
        group_merge(record_at, (const char *)r, to->size, max);
    return record_at;
}

bool bj_group_cut(struct bj_group *g, const struct bj_group_limit *limit)
{
    struct bj_arena arena = {0};
    struct bj_group heads = {
        .arena = &arena, .size = sizeof(struct head), .cap = g->n};
    struct bj_group out = {.arena = g->arena,
                           .size = g->size,
                           .cap = limit->cap,
                           .refused = g->refused};
    if (g->n <= limit->cap)
        return true;
    bool good = group_choose(g, limit, &heads) && !arena.failed;
    for (int kept = 1; kept >= 0; kept--)
        for (size_t i = 0; good && i < g->n; i++)
            if (head_of(&heads, record_at(g, i))->kept == kept)
                good = move(&out, record_at(g, i), kept, limit->max);
    bj_group_free(&heads);
    bj_arena_free(&arena);
    bj_group_free(good ? g : &out);
    if (good)
        *g = out;
    else
        g->arena->failed = 1;
    return good;
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
