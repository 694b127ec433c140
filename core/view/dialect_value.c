/* Values, keys and samples of a row. */
#include "core/view/dialect_walk.h"

static uint64_t times(uint64_t v, uint64_t by)
{
    uint64_t ret;
    return __builtin_mul_overflow(v, by, &ret) ? BJ_ABSENT : ret;
}

uint64_t bj_dialect_scaled(enum bj_scale scale, uint64_t v)
{
    switch (scale) {
    case BJ_SCALE_NONE:
    case BJ_SCALE_MICRO:
        break;
    case BJ_SCALE_NSEC:
    case BJ_SCALE_MILLI:
        return times(v, 1000);
    case BJ_SCALE_TICKS:
        return v / 10000;
    case BJ_SCALE_MIB: /* 10^6 / 2^20 */
        return v / 16384 * 15625 + v % 16384 * 15625 / 16384;
    case BJ_SCALE_PERCENT:
        return times(v, 100);
    case BJ_SCALE_MB:
        return times(v >> 20, 1000000);
    case BJ_SCALE_FLAG:
        return v != 0;
    case BJ_SCALE_ZERO:
        return 0;
    }
    return v;
}

uint64_t bj_dialect_value(const struct bj_dialect_row *row, const char *record)
{
    uint64_t v = bj_dialect_field(record, row->off);
    if (row->use == BJ_SECOND_ELSE && v == BJ_ABSENT)
        v = bj_dialect_field(record, row->second);
    if (v == BJ_ABSENT && row->use == BJ_SECOND_LACK &&
        bj_dialect_field(record, row->second) == BJ_ABSENT)
        return BJ_ABSENT;
    if (v == BJ_ABSENT)
        return row->lack ? row->lack : BJ_ABSENT;
    if (v < row->least || row->lacking)
        return BJ_ABSENT;
    if (row->use == BJ_SECOND_ADD) {
        uint64_t more = bj_dialect_field(record, row->second);
        if (more == BJ_ABSENT || __builtin_add_overflow(v, more, &v))
            return BJ_ABSENT;
    }
    if (row->use == BJ_SECOND_PER) {
        uint64_t by = bj_dialect_field(record, row->second);
        if (by == BJ_ABSENT || by == 0)
            return BJ_ABSENT;
        v /= by;
    }
    return bj_dialect_scaled(row->scale, v);
}

/* Selection of records, and their keys in the original's words. */

static bool fits(struct bj_slice s, const char *pattern)
{
    struct bj_slice want = bj_slice_str(pattern);
    if (want.n > 0 && want.p[want.n - 1] == '*') {
        want.n--;
        return bj_slice_starts(s, want);
    }
    if (want.n > 0 && want.p[0] == '*') {
        want = bj_slice_str(pattern + 1);
        if (s.n < want.n)
            return false;
        s = (struct bj_slice){s.p + (s.n - want.n), want.n};
    }
    return bj_slice_eq(s, want);
}

static bool skipped(const char *const *skip, struct bj_slice path)
{
    for (size_t i = path.n; i-- > 0;)
        if (path.p[i] == '/') {
            path = (struct bj_slice){path.p + i + 1, path.n - i - 1};
            break;
        }
    for (; *skip; skip++)
        if (bj_slice_eq(path, bj_slice_str(*skip)))
            return true;
    return false;
}

static const struct bj_dialect_word *
find_word(const struct bj_dialect_row *row,
          const struct bj_slice key[BJ_SUB_KEYS])
{
    for (const struct bj_dialect_word *w = row->words; w && w->ours; w++)
        if (bj_slice_eq(key[row->word], bj_slice_str(w->ours)))
            return w;
    return NULL;
}

bool bj_dialect_wanted(const struct bj_dialect_row *row,
                       const struct bj_slice key[BJ_SUB_KEYS])
{
    for (int i = 0; i < 2; i++)
        if (row->only[i] && !fits(key[i], row->only[i]))
            return false;
    if (row->words_only && !find_word(row, key))
        return false;
    return !row->skip || !skipped(row->skip, key[0]);
}

struct bj_slice bj_dialect_map_word(const struct bj_dialect_row *row,
                                    const struct bj_slice key[BJ_SUB_KEYS])
{
    const struct bj_dialect_word *word = find_word(row, key);
    return word ? bj_slice_str(word->theirs) : key[row->word];
}

size_t bj_dialect_keys(const struct bj_dialect_row *row,
                       const struct bj_slice key[BJ_SUB_KEYS],
                       struct bj_slice ret[BJ_SUB_KEYS])
{
    size_t n = 0;
    for (unsigned k = 0; k < BJ_SUB_KEYS; k++)
        if (row->key[k])
            ret[n++] = k == row->word ? bj_dialect_map_word(row, key) : key[k];
    return n;
}

int bj_dialect_begin(struct bj_dialect_walk *w)
{
    w->begun = true;
    return w->sink->family(w->sink->ctx, w->row, w->key);
}

int bj_dialect_put(struct bj_dialect_walk *w, struct bj_slice labels,
                   const struct bj_slice *key, uint64_t value)
{
    const struct bj_dialect_sample s = {labels, key, value, w->digits};
    int r = w->begun ? 0 : bj_dialect_begin(w);
    return r < 0 ? r : w->sink->sample(w->sink->ctx, &s);
}
