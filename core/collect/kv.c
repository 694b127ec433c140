#include "core/collect/kv.h"

#include <errno.h>
#include <string.h>

static void store(const struct bj_kv_key *k, void *record, uint64_t v)
{
    uint64_t mul = k->mul ? k->mul : 1;
    *(uint64_t *)(void *)((char *)record + k->off) = v * mul;
}

/* The line begins with key, a blank and a number. */
static inline bool kv_take(struct bj_slice *rest, const struct bj_kv_key *k,
                           void *record)
{
    size_t n = k->key.n;
    if (rest->n <= n || rest->p[n] != ' ' || memcmp(rest->p, k->key.p, n) != 0)
        return false;
    struct bj_slice num = {rest->p + n + 1, rest->n - n - 1};
    uint64_t v;
    if (!bj_slice_number(&num, &v))
        return false;
    store(k, record, v);
    *rest = num;
    return true;
}

/* Advance to the next line, which is at least width bytes away.  After these
 * only the rest of a number follows, too short for memchr(3) to be faster. */
static inline bool next_line(struct bj_slice *rest, size_t width)
{
    const char *end = rest->p + rest->n;
    const char *p = width < rest->n ? rest->p + width : end;
    while (p < end && *p != '\n')
        p++;
    if (p == end)
        return false;
    *rest = (struct bj_slice){p + 1, (size_t)(end - p) - 1};
    return rest->n > 0;
}

/* Read the lines in the remembered order; false when a line differs from it. */
static bool by_order(struct bj_slice rest, const struct bj_kv_key *keys,
                     size_t n, const struct bj_kv_order *order, void *record)
{
    for (unsigned i = 0; i < order->lines; i++) {
        if (rest.n == 0)
            return false;
        unsigned k = order->line[i].key;
        if (k > n || (k > 0 && !kv_take(&rest, &keys[k - 1], record)))
            return false;
        if (!next_line(&rest, k > 0 ? 0 : order->line[i].width))
            return i + 1 == order->lines;
    }
    return order->lines > 0 && !order->whole;
}

static int learn(struct bj_slice rest, const struct bj_kv_key *keys, size_t n,
                 struct bj_kv_order *order, void *record)
{
    int result = 0;
    size_t found = 0;
    unsigned i = 0, last = 0;
    struct bj_slice line;
    for (; bj_slice_line(&rest, &line); i++) {
        struct bj_slice value = line, key;
        if (!bj_slice_word(&value, &key))
            key.n = 0;
        size_t k = 0;
        while (k < n && !bj_slice_eq(key, keys[k].key))
            k++;
        if (i < BJ_KV_LINES) {
            order->line[i].key = k < n ? (uint8_t)(k + 1) : 0;
            order->line[i].width = key.n <= UINT8_MAX ? (uint8_t)key.n : 0;
        }
        if (k == n)
            continue;
        struct bj_slice whole = line;
        if (!kv_take(&whole, &keys[k], record))
            result = -EINVAL;
        found++;
        last = i + 1;
    }
    order->whole = found < n;
    order->lines = order->whole ? i : last;
    if (result < 0 || order->lines > BJ_KV_LINES)
        order->lines = 0;
    return result;
}

int bj_kv_parse(struct bj_slice text, const struct bj_kv_key *keys, size_t n,
                struct bj_kv_order *order, void *record)
{
    if (by_order(text, keys, n, order, record))
        return 0;
    return learn(text, keys, n, order, record);
}
