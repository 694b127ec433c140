/* Files of "key value" lines, as most of the kernel's are. */
#ifndef BJ_CORE_COLLECT_KV_H
#define BJ_CORE_COLLECT_KV_H

#include "base/slice.h"

#include <stdint.h>

/* Lines whose order is kept; a longer file is searched line by line. */
enum { BJ_KV_LINES = 160 };

/* A key that is wanted, and where its number goes: a uint64_t at off of the
 * record, multiplied by mul (0 means 1). */
struct bj_kv_key {
    struct bj_slice key;
    size_t off;
    uint64_t mul;
};

/* The order of the keys in a file, taken from the last one that was read: one
 * kernel prints them always alike.  Zero-initialise.  Only a hint: if a line is
 * not at its old place, the order is determined again. */
struct bj_kv_order {
    unsigned lines; /* up to the last wanted key; 0: nothing is known */
    bool whole;     /* ... or to the end of the file, as it lacked some key: one
                       that has more lines may have it */
    struct {
        uint8_t key;   /* index of the wanted key + 1; 0: pass over */
        uint8_t width; /* of the line, at least: its key without the value */
    } line[BJ_KV_LINES];
};

/* Read text into record: keys that it lacks leave their fields alone, unknown
 * keys pass.  At most 255 keys.  0, or -EINVAL when a wanted key has no number
 * after it (the other keys are still read). */
int bj_kv_parse(struct bj_slice text, const struct bj_kv_key *keys, size_t n,
                struct bj_kv_order *order, void *record);

#endif
