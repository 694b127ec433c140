/* Files of "key value" lines, the usual format of the kernel. */
#ifndef BJ_CORE_COLLECT_KV_H
#define BJ_CORE_COLLECT_KV_H

#include "base/slice.h"

#include <stdint.h>

/* Lines whose order is remembered; a longer file is searched line by line. */
enum { BJ_KV_LINES = 160 };

/* A key to read, and the place of its number: a uint64_t at offset off in the
 * record.  The number is multiplied by mul (0 means 1). */
struct bj_kv_key {
    struct bj_slice key;
    size_t off;
    uint64_t mul;
};

/* The order of the keys in the file that was read last, since a kernel always
 * prints the same order.  Zero-initialise.  It is only a hint: if a line has
 * moved, the order is determined again. */
struct bj_kv_order {
    unsigned lines; /* up to the last wanted key; 0: not known */
    bool whole;     /* some key was missing, so lines counts all lines; a longer
                       file may have the key */
    struct {
        uint8_t key;   /* index of the wanted key + 1; 0: skip the line */
        uint8_t width; /* minimum length of the line: that of its key */
    } line[BJ_KV_LINES];
};

/* Read text into record.  The fields of missing keys are unchanged; unknown
 * keys are skipped.  At most 255 keys.  Returns 0, or -EINVAL if a wanted key
 * has no number after it (the other keys are still read). */
int bj_kv_parse(struct bj_slice text, const struct bj_kv_key *keys, size_t n,
                struct bj_kv_order *order, void *record);

#endif
