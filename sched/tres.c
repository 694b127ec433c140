#include "sched/tres.h"

#include "sched/duration.h"
#include "sched/memory.h"
#include "sched/word.h"

static const struct type {
    struct bj_slice key;
    char id; /* digit in the database; 0: none */
    enum bj_tres_type type;
} types[] = {
    /* no name */
    {BJ_WORD("cpu"), '1', BJ_TRES_CPU},
    {BJ_WORD("mem"), '2', BJ_TRES_MEM},
    {BJ_WORD("node"), '4', BJ_TRES_NODE},
    {BJ_WORD("billing"), '5', BJ_TRES_BILLING},
    {BJ_WORD("energy"), '3', BJ_TRES_ENERGY},
    {BJ_WORD("vmem"), '7', BJ_TRES_VMEM},
    {BJ_WORD("pages"), '8', BJ_TRES_PAGES},
    /* "type/name", "gres/name:model" */
    {BJ_WORD("gres"), 0, BJ_TRES_GRES},
    {BJ_WORD("fs"), 0, BJ_TRES_FS},
    {BJ_WORD("license"), 0, BJ_TRES_LICENSE},
    {BJ_WORD("bb"), 0, BJ_TRES_BB},
    {BJ_WORD("ic"), 0, BJ_TRES_IC},
};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

static void database_key(char digit, struct bj_tres *t)
{
    if (digit == '6') {
        t->type = BJ_TRES_FS;
        t->name = BJ_SLICE("disk");
        return;
    }
    for (unsigned i = 0; i < TYPES; i++)
        if (types[i].id == digit)
            t->type = types[i].type;
}

static enum bj_tres_type type_of(struct bj_slice word)
{
    for (unsigned i = 0; i < TYPES; i++)
        if (word.p[0] == types[i].key.p[0] && bj_slice_eq(word, types[i].key))
            return types[i].type;
    return BJ_TRES_OTHER;
}

/* "cpu", "gres/gpu:a100", "license/matlab@server", "1". */
static void parse_key(struct bj_slice key, struct bj_tres *t)
{
    *t = (struct bj_tres){.type = BJ_TRES_OTHER, .name = key};
    if (key.n == 1) {
        database_key(key.p[0], t);
        if (t->type != BJ_TRES_OTHER && t->type != BJ_TRES_FS)
            t->name = (struct bj_slice){NULL, 0};
        return;
    }
    const char *slash = memchr(key.p, '/', key.n);
    const size_t n = slash ? (size_t)(slash - key.p) : key.n;
    if (n == 0)
        return;
    t->type = type_of((struct bj_slice){key.p, n});
    if (t->type == BJ_TRES_OTHER)
        return;
    t->name = (struct bj_slice){NULL, 0};
    if (!slash)
        return;
    t->name = (struct bj_slice){slash + 1, key.n - n - 1};
    const char *colon = t->type == BJ_TRES_GRES && t->name.n > 0
                            ? memchr(t->name.p, ':', t->name.n)
                            : NULL;
    if (colon) {
        const size_t m = (size_t)(colon - t->name.p);
        t->model = (struct bj_slice){colon + 1, t->name.n - m - 1};
        t->name.n = m;
    }
}

static int parse_value(enum bj_tres_type type, enum bj_tres_kind kind,
                       struct bj_slice v, uint64_t *ret)
{
    if (bj_slice_u64(v, ret) == 0) {
        const bool mib = kind == BJ_TRES_ASKED && type == BJ_TRES_MEM;
        if (!mib)
            return kind == BJ_TRES_USED && type == BJ_TRES_CPU
                       ? bj_duration_parse(v, ret)
                       : 0;
    }
    switch (type) {
    case BJ_TRES_CPU:
        return kind == BJ_TRES_USED ? bj_duration_parse(v, ret)
                                    : bj_memory_scaled(v, 1, 1024, ret);
    case BJ_TRES_MEM:
    case BJ_TRES_BB:
        return bj_memory_parse(v, kind == BJ_TRES_ASKED ? 1 << 20 : 1, ret);
    case BJ_TRES_ENERGY:
        return bj_memory_scaled(v, 1, 1000, ret);
    default:
        return bj_memory_parse(v, 1, ret);
    }
}

/* Cut "key=value" off *rest. */
static bool cut_entry(struct bj_slice *rest, struct bj_slice *key,
                      struct bj_slice *value)
{
    struct bj_slice item = {NULL, 0};
    bj_slice_field(rest, ',', &item);
    const char *eq = item.n > 0 ? memchr(item.p, '=', item.n) : NULL;
    if (!eq || eq == item.p)
        return false;
    *key = (struct bj_slice){item.p, (size_t)(eq - item.p)};
    *value = (struct bj_slice){eq + 1, item.n - key->n - 1};
    return true;
}

/* Slurm's two ways of saying "no value": NO_VAL64 and, from older versions, 32
 * bits of it. */
static bool no_value(uint64_t v)
{
    return v >= UINT64_MAX - 2 || v == 0xfffffffe || v == 0xffffffff;
}

unsigned bj_tres_parse(struct bj_slice s, enum bj_tres_kind kind,
                       struct bj_tres_list *ret)
{
    unsigned bad = 0;
    struct bj_slice key, value;
    ret->n = 0;
    while (s.n > 0) {
        struct bj_tres t;
        if (!cut_entry(&s, &key, &value)) {
            bad++;
            continue;
        }
        parse_key(key, &t);
        if (parse_value(t.type, kind, value, &t.count) < 0)
            bad++;
        else if (ret->n < BJ_TRES_MAX && !no_value(t.count))
            ret->v[ret->n++] = t;
    }
    return bad;
}

uint64_t bj_tres_get(const struct bj_tres_list *list, enum bj_tres_type type)
{
    for (unsigned i = 0; i < list->n; i++)
        if (list->v[i].type == type)
            return list->v[i].count;
    return BJ_ABSENT;
}

uint64_t bj_tres_sum(const struct bj_tres_list *list, enum bj_tres_type type,
                     struct bj_slice name, struct bj_slice *ret_model)
{
    uint64_t typed = 0, total = 0;
    bool have_total = false, have_model = false;
    for (unsigned i = 0; i < list->n; i++) {
        const struct bj_tres *t = &list->v[i];
        if (t->type != type || !bj_slice_eq(t->name, name))
            continue;
        if (t->model.n == 0) {
            total = t->count;
            have_total = true;
            continue;
        }
        if (__builtin_add_overflow(typed, t->count, &typed))
            typed = BJ_ABSENT - 1;
        if (ret_model && !have_model)
            *ret_model = t->model;
        have_model = true;
    }
    return have_total ? total : typed;
}

uint64_t bj_tres_used(struct bj_slice s, struct bj_slice key)
{
    struct bj_slice k, v;
    while (s.n > 0) {
        struct bj_tres t;
        if (!cut_entry(&s, &k, &v) || !bj_slice_eq(k, key))
            continue;
        parse_key(k, &t);
        if (parse_value(t.type, BJ_TRES_USED, v, &t.count) < 0 ||
            no_value(t.count))
            return BJ_ABSENT;
        return t.count;
    }
    return BJ_ABSENT;
}
