/* Sums of records whose exported labels are equal. */
#include "core/view/dialect_walk.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>

/* A sum, by its exported keys. */
struct bj_dialect_sum {
    struct bj_slice key[BJ_SUB_KEYS];
    uint64_t first, second; /* sums of the two fields */
};

static void add(uint64_t *sum, uint64_t v)
{
    if (__builtin_add_overflow(*sum, v, sum) || *sum == BJ_ABSENT)
        *sum = BJ_ABSENT - 1;
}

static int compare_slices(struct bj_slice a, struct bj_slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int r = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return r != 0 ? r : (a.n > b.n) - (a.n < b.n);
}

static int compare(const void *a, const void *b)
{
    const struct bj_dialect_sum *x = a, *y = b;
    int r = 0;
    for (int k = 0; k < BJ_SUB_KEYS && r == 0; k++)
        r = compare_slices(x->key[k], y->key[k]);
    return r;
}

static int append(struct bj_dialect_room *room, const struct bj_dialect_sum *s)
{
    if (!BJ_GROW(room->sums, room->nsums + 1, room->sums_cap))
        return -ENOMEM;
    room->sums[room->nsums++] = *s;
    return 0;
}

/* Append a record with its exported keys; the others are empty. */
static int take_as(struct bj_dialect_walk *w, struct bj_dialect_sum *s)
{
    struct bj_slice key[BJ_SUB_KEYS] = {{0}};
    if (w->row->map && !w->row->map(&w->room->arena, s->key))
        return 0;
    if (!bj_dialect_wanted(w->row, s->key))
        return 0;
    bj_dialect_keys(w->row, s->key, key);
    memcpy(s->key, key, sizeof(key));
    return append(w->room, s);
}

static int take(struct bj_dialect_walk *w, const char *record)
{
    const struct bj_dialect_row *row = w->row;
    const struct bj_sub *sub = (const void *)record;
    struct bj_dialect_sum s = {
        .first = row->value ? row->value(record)
                            : bj_dialect_field(record, row->off)};
    if (row->use != BJ_SECOND_NONE)
        s.second = bj_dialect_field(record, row->second);
    if (row->use == BJ_SECOND_SUB && s.second == BJ_ABSENT)
        s.second = 0; /* unknown: nothing to subtract */
    if (s.first == BJ_ABSENT || s.second == BJ_ABSENT)
        return 0;
    memcpy(s.key, sub->key, sizeof(s.key));
    if (!row->split)
        return take_as(w, &s);
    struct bj_slice rest = sub->key[0], one;
    int r = 0;
    while (r == 0 && bj_slice_field(&rest, ',', &one)) {
        struct bj_dialect_sum part = s;
        part.key[0] = one;
        r = take_as(w, &part);
    }
    return r;
}

static void merge(struct bj_dialect_room *room)
{
    struct bj_dialect_sum *v = room->sums;
    size_t n = 0;
    if (room->nsums == 0)
        return;
    qsort(v, room->nsums, sizeof(*v), compare);
    for (size_t i = 1; i < room->nsums; i++)
        if (compare(&v[n], &v[i]) == 0) {
            add(&v[n].first, v[i].first);
            add(&v[n].second, v[i].second);
        } else {
            v[++n] = v[i];
        }
    room->nsums = n + 1;
}

static uint64_t quotient(uint64_t a, uint64_t b, uint64_t times)
{
    uint64_t more;
    if (b == 0)
        return BJ_ABSENT;
    return __builtin_mul_overflow(a, times, &more) ? a / b * times : more / b;
}

static uint64_t value_of(const struct bj_dialect_row *row,
                         const struct bj_dialect_sum *s)
{
    uint64_t v = s->first;
    if (row->use == BJ_SECOND_ADD)
        add(&v, s->second);
    else if (row->use == BJ_SECOND_SUB)
        v -= v < s->second ? v : s->second;
    else if (row->use == BJ_SECOND_PER)
        v = quotient(v, s->second, 1);
    else if (row->use == BJ_SECOND_SHARE)
        v = quotient(v, s->second, 1000000);
    return v == BJ_ABSENT || v < row->least ? BJ_ABSENT
                                            : bj_dialect_scaled(row->scale, v);
}

static int put_states(struct bj_dialect_walk *w, struct bj_slice labels,
                      const struct bj_dialect_sum *s)
{
    int r = 0;
    for (size_t i = 0; w->row->states[i] && r >= 0; i++) {
        const struct bj_slice key[BJ_SUB_KEYS] = {
            s->key[0], bj_slice_str(w->row->states[i])};
        r = bj_dialect_put(w, labels, key, bj_slice_eq(key[1], s->key[1]));
    }
    return r;
}

int bj_dialect_put_sums(struct bj_dialect_walk *w, struct bj_slice labels)
{
    const struct bj_dialect_row *row = w->row;
    struct bj_dialect_room *room = w->room;
    const struct bj_list *list =
        (const void *)((const char *)w->snap + row->list);
    const char *record = list->v;
    static const struct bj_dialect_sum zero;
    int r = 0;
    room->nsums = 0;
    bj_arena_reset(&room->arena);
    for (size_t i = 0; i < list->n && r == 0; i++, record += row->size)
        r = take(w, record);
    if (r == 0 && room->nsums == 0 && row->source > 0 &&
        w->snap->cluster_lists.part[row->source - 1])
        r = append(room, &zero);
    if (r < 0 || room->arena.failed)
        return -ENOMEM;
    merge(room);
    for (size_t i = 0; i < room->nsums && r >= 0; i++) {
        const struct bj_dialect_sum *s = &room->sums[i];
        uint64_t v = value_of(row, s);
        if (row->states)
            r = put_states(w, labels, s);
        else if (v != BJ_ABSENT)
            r = bj_dialect_put(w, labels, w->key[0] ? s->key : NULL, v);
    }
    return r;
}
