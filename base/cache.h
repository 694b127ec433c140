/* A map from bytes to numbers that drops all entries when it is full. */
#ifndef BJ_BASE_CACHE_H
#define BJ_BASE_CACHE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise, then set max_entries and max_bytes (of keys); free with
 * bj_cache_free. */
struct bj_cache {
    uint32_t max_entries, max_bytes;
    uint32_t n, cap; /* entries; slots, a power of two */
    uint32_t used, room;
    struct bj_cache_slot *slot;
    char *key;
};

/* A seed for hashes that differs between processes, so that no user can choose
 * texts that make look-ups slow. */
uint64_t bj_cache_seed(void);
uint64_t bj_cache_hash(uint64_t seed, struct bj_slice key);

bool bj_cache_find(const struct bj_cache *c, uint64_t hash, struct bj_slice key,
                   int64_t *ret);

/* Would bj_cache_add add this key without dropping others? */
bool bj_cache_has_room(const struct bj_cache *c, struct bj_slice key);

/* Return the next entry, in the order in which entries were added; false at the
 * end. Start with *at 0. */
bool bj_cache_next(const struct bj_cache *c, uint32_t *at,
                   struct bj_slice *ret_key, int64_t *ret_value);

/* Add a key that is missing. A full cache is emptied first. A key that is too
 * long, or for which memory is missing, is not added. */
void bj_cache_add(struct bj_cache *c, uint64_t hash, struct bj_slice key,
                  int64_t value);
void bj_cache_clear(struct bj_cache *c);
void bj_cache_free(struct bj_cache *c);

#endif
