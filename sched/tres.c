#include "sched/tres.h"

#include "sched/value.h"

#include <stddef.h>

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

/* A numeric key of Slurm's database. */
static void database_key(struct bj_slice key, struct bj_tres *t)
{
    *t = (struct bj_tres){.type = BJ_TRES_OTHER, .name = key};
    if (key.p[0] == '6') {
        t->type = BJ_TRES_FS;
        t->name = BJ_SLICE("disk");
        return;
    }
    for (unsigned i = 0; i < TYPES; i++) {
        if (types[i].id == key.p[0]) {
            t->type = types[i].type;
            t->name = (struct bj_slice){NULL, 0};
        }
    }
}

/* "cpu", "gres/gpu:a100", "license/matlab@server", "1"; slash is the index of
 * the first slash, or the length of the key. */
static void parse_key(struct bj_slice key, size_t slash, struct bj_tres *t)
{
    if (key.n == 1) {
        database_key(key, t);
        return;
    }
    t->type = BJ_TRES_OTHER;
    t->name = key;
    t->model = (struct bj_slice){NULL, 0};
    for (unsigned i = 0; i < TYPES; i++) {
        if (key.p[0] == types[i].key.p[0] && slash == types[i].key.n &&
            memcmp(key.p, types[i].key.p, slash) == 0) {
            t->type = types[i].type;
            break;
        }
    }
    if (t->type == BJ_TRES_OTHER)
        return;
    t->name = (struct bj_slice){NULL, 0};
    if (slash == key.n)
        return;
    t->name = (struct bj_slice){key.p + slash + 1, key.n - slash - 1};
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
    const bool plain =
        kind == BJ_TRES_REQUESTED ? type != BJ_TRES_MEM : type != BJ_TRES_CPU;
    if (plain && bj_slice_u64(v, ret) == 0)
        return 0;
    switch (type) {
    case BJ_TRES_CPU:
        return kind == BJ_TRES_USED ? bj_elapsed_parse(v, ret)
                                    : bj_memory_parse(v, 1, ret);
    case BJ_TRES_MEM:
        return bj_memory_parse(v, kind == BJ_TRES_REQUESTED ? 1 << 20 : 1, ret);
    case BJ_TRES_ENERGY:
        return bj_memory_scaled(v, 1, 1000, ret);
    default:
        return bj_memory_parse(v, 1, ret);
    }
}

/* Cut "key=value" off *rest; *slash is the index of the key's first slash, or
 * its length. */
static bool cut_entry(struct bj_slice *rest, struct bj_slice *key,
                      size_t *slash, struct bj_slice *value)
{
    const char *const begin = rest->p;
    const char *const end = begin + rest->n;
    const char *p = begin, *first = NULL;
    for (; p < end && *p != '=' && *p != ','; p++)
        if (*p == '/' && !first)
            first = p;
    const char *eq = p;
    while (p < end && *p != ',')
        p++;
    const bool good = eq < p && eq > begin;
    if (good) {
        *key = (struct bj_slice){begin, (size_t)(eq - begin)};
        *value = (struct bj_slice){eq + 1, (size_t)(p - eq) - 1};
        *slash = first ? (size_t)(first - begin) : key->n;
    }
    p += p < end;
    *rest = (struct bj_slice){p, (size_t)(end - p)};
    return good;
}

/* Slurm's two forms of "no value": NO_VAL64 and, in older versions, its 32
 * bits. */
static bool no_value(uint64_t v)
{
    return v >= UINT64_MAX - 2 || v == 0xfffffffe || v == 0xffffffff;
}

unsigned bj_tres_parse(struct bj_slice s, enum bj_tres_kind kind,
                       struct bj_tres_list *ret)
{
    unsigned bad = 0;
    struct bj_slice key, value;
    size_t slash;
    ret->n = 0;
    while (s.n > 0) {
        struct bj_tres spill;
        struct bj_tres *t = ret->n < BJ_TRES_MAX ? &ret->v[ret->n] : &spill;
        if (!cut_entry(&s, &key, &slash, &value)) {
            bad++;
            continue;
        }
        parse_key(key, slash, t);
        if (parse_value(t->type, kind, value, &t->count) < 0)
            bad++;
        else if (t != &spill && !no_value(t->count))
            ret->n++;
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

static const struct used {
    struct bj_slice key;
    enum bj_tres_type type;
    size_t at;
} used[] = {
    {BJ_WORD("mem="), BJ_TRES_MEM, offsetof(struct bj_tres_used, mem_bytes)},
    {BJ_WORD("vmem="), BJ_TRES_VMEM, offsetof(struct bj_tres_used, vmem_bytes)},
    {BJ_WORD("fs/disk="), BJ_TRES_FS,
     offsetof(struct bj_tres_used, disk_bytes)},
    {BJ_WORD("cpu="), BJ_TRES_CPU, offsetof(struct bj_tres_used, cpu_usec)},
};

void bj_tres_used(struct bj_slice s, struct bj_tres_used *ret)
{
    *ret = (struct bj_tres_used){BJ_ABSENT, BJ_ABSENT, BJ_ABSENT, BJ_ABSENT};
    const char *const end = s.n > 0 ? s.p + s.n : s.p;
    for (const char *p = s.p; p < end; p++) {
        const struct used *u = *p == 'm'   ? &used[0]
                               : *p == 'v' ? &used[1]
                               : *p == 'f' ? &used[2]
                               : *p == 'c' ? &used[3]
                                           : NULL;
        const char *value = p;
        p = memchr(p, ',', (size_t)(end - p));
        if (!p)
            p = end;
        if (!u || (size_t)(p - value) <= u->key.n ||
            memcmp(value, u->key.p, u->key.n) != 0)
            continue;
        value += u->key.n;
        const struct bj_slice v = {value, (size_t)(p - value)};
        uint64_t count;
        if (parse_value(u->type, BJ_TRES_USED, v, &count) == 0 &&
            !no_value(count))
            *(uint64_t *)((char *)ret + u->at) = count;
    }
}

/* --- generic resources of nodes -------------------------------------------*/

/* Cut everything before the next comma outside of brackets. */
static struct bj_slice cut_gres(struct bj_slice *rest)
{
    unsigned depth = 0;
    size_t n = 0;
    for (; n < rest->n && (depth > 0 || rest->p[n] != ','); n++)
        if (rest->p[n] == '(')
            depth++;
        else if (rest->p[n] == ')' && depth > 0)
            depth--;
    const struct bj_slice entry = {rest->p, n};
    if (n < rest->n)
        n++;
    rest->p += n;
    rest->n -= n;
    return entry;
}

/* Cut the part after the last colon off s. */
static struct bj_slice cut_last(struct bj_slice *s)
{
    size_t n = s->n;
    while (n > 0 && s->p[n - 1] != ':')
        n--;
    const struct bj_slice last = {s->p + n, s->n - n};
    s->n = n > 0 ? n - 1 : 0;
    return last;
}

/* "gpu:a100:4(S:0-1)".  Brackets after the number contain the location of the
 * resources; brackets before it mean an unknown type. */
static bool parse_entry(struct bj_slice e, struct bj_gres *ret)
{
    static const struct bj_slice no_consume = BJ_WORD("no_consume");
    uint64_t unit = 1;
    if (e.n > 0 && e.p[e.n - 1] == ')') {
        while (e.n > 0 && e.p[e.n - 1] != '(')
            e.n--;
        e.n -= e.n > 0;
    }
    struct bj_slice count = cut_last(&e);
    if (count.n > 1 && count.p[count.n - 1] == 'K') {
        unit = 1024;
        count.n--;
    }
    if (e.n == 0 || bj_slice_u64(count, &ret->count) < 0 ||
        __builtin_mul_overflow(ret->count, unit, &ret->count))
        return false;
    ret->name = ret->type = (struct bj_slice){e.p, 0};
    while (ret->name.n < e.n && e.p[ret->name.n] != ':')
        ret->name.n++;
    if (ret->name.n < e.n) {
        ret->type.p = e.p + ret->name.n + 1;
        ret->type.n = e.n - ret->name.n - 1;
    }
    if (bj_word_is_none(ret->type) || bj_slice_eq(ret->type, no_consume))
        ret->type.n = 0;
    return ret->name.n > 0;
}

bool bj_gres_next(struct bj_slice *rest, struct bj_gres *ret, unsigned *bad)
{
    while (rest->n > 0) {
        const struct bj_slice entry = bj_slice_trim(cut_gres(rest));
        if (bj_word_is_none(entry))
            continue;
        if (parse_entry(entry, ret))
            return true;
        if (bad)
            ++*bad;
    }
    return false;
}
