#include "base/cache.h"

#include "base/clock.h"

#include <stdlib.h>
#include <sys/random.h>

/* Slots are small so that more of them stay in the caches of the CPU. */
struct bj_cache_slot {
    uint32_t hash; /* 0: free */
    uint32_t at;   /* offset of the head in key; the bytes of the key follow */
};

/* The value and the length of the key. */
enum { HEAD = sizeof(int64_t) + sizeof(uint32_t) };

uint64_t bj_cache_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
        seed = bj_clock_wall_usec() * 0x9e3779b97f4a7c15;
    return seed;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9fb21c651e98df25;
    return h ^ h >> 29;
}

uint64_t bj_cache_hash(uint64_t seed, struct bj_slice key)
{
    uint64_t h = seed + key.n, x;
    while (key.n >= 8) {
        memcpy(&x, key.p, 8);
        h = mix(h, x);
        key.p += 8;
        key.n -= 8;
    }
    x = 0;
    if (key.n > 0)
        memcpy(&x, key.p, key.n);
    h = mix(h, x);
    return h ^ h >> 32;
}

static uint32_t mark(uint64_t hash)
{
    return (uint32_t)hash | 1;
}

static bool cache_same(const char *head, struct bj_slice key)
{
    uint32_t n;
    memcpy(&n, head + sizeof(int64_t), sizeof(n));
    return n == key.n && (n == 0 || memcmp(head + HEAD, key.p, n) == 0);
}

bool bj_cache_find(const struct bj_cache *c, uint64_t hash, struct bj_slice key,
                   int64_t *ret)
{
    if (c->cap == 0)
        return false;
    uint32_t want = mark(hash);
    for (uint32_t i = want & (c->cap - 1);; i = (i + 1) & (c->cap - 1)) {
        const struct bj_cache_slot *s = &c->slot[i];
        if (s->hash == 0)
            return false;
        if (s->hash == want && cache_same(c->key + s->at, key)) {
            memcpy(ret, c->key + s->at, sizeof(*ret));
            return true;
        }
    }
}

static void cache_put(struct bj_cache_slot *slot, uint32_t cap,
                      struct bj_cache_slot what)
{
    uint32_t i = what.hash & (cap - 1);
    while (slot[i].hash != 0)
        i = (i + 1) & (cap - 1);
    slot[i] = what;
}

static bool grow_slots(struct bj_cache *c)
{
    uint32_t cap = c->cap ? 2 * c->cap : 64;
    struct bj_cache_slot *slot = calloc(cap, sizeof(*slot));
    if (!slot)
        return false;
    for (uint32_t i = 0; i < c->cap; i++)
        if (c->slot[i].hash != 0)
            cache_put(slot, cap, c->slot[i]);
    free(c->slot);
    c->slot = slot;
    c->cap = cap;
    return true;
}

static bool grow_keys(struct bj_cache *c, uint32_t need)
{
    uint32_t room = c->room ? c->room : 1024;
    while (room - c->used < need)
        room *= 2;
    char *key = realloc(c->key, room);
    if (!key)
        return false;
    c->key = key;
    c->room = room;
    return true;
}

bool bj_cache_has_room(const struct bj_cache *c, struct bj_slice key)
{
    return c->n < c->max_entries && key.n <= c->max_bytes / 4 &&
           c->used + key.n + HEAD <= c->max_bytes;
}

bool bj_cache_next(const struct bj_cache *c, uint32_t *at,
                   struct bj_slice *ret_key, int64_t *ret_value)
{
    uint32_t n;
    if (*at >= c->used)
        return false;
    const char *head = c->key + *at;
    memcpy(ret_value, head, sizeof(*ret_value));
    memcpy(&n, head + sizeof(*ret_value), sizeof(n));
    *ret_key = (struct bj_slice){head + HEAD, n};
    *at += n + HEAD;
    return true;
}

void bj_cache_add(struct bj_cache *c, uint64_t hash, struct bj_slice key,
                  int64_t value)
{
    uint32_t n = (uint32_t)key.n, need = n + HEAD;
    if (key.n > c->max_bytes / 4)
        return;
    if (!bj_cache_has_room(c, key))
        bj_cache_clear(c);
    if (c->n >= c->cap / 2 && !grow_slots(c))
        return;
    if (c->room - c->used < need && !grow_keys(c, need))
        return;
    char *head = c->key + c->used;
    memcpy(head, &value, sizeof(value));
    memcpy(head + sizeof(value), &n, sizeof(n));
    if (n > 0)
        memcpy(head + HEAD, key.p, n);
    cache_put(c->slot, c->cap, (struct bj_cache_slot){mark(hash), c->used});
    c->used += need;
    c->n++;
}

void bj_cache_clear(struct bj_cache *c)
{
    if (c->cap > 0)
        memset(c->slot, 0, c->cap * sizeof(*c->slot));
    c->n = c->used = 0;
}

void bj_cache_free(struct bj_cache *c)
{
    free(c->slot);
    free(c->key);
    *c = (struct bj_cache){.max_entries = c->max_entries,
                           .max_bytes = c->max_bytes};
}
