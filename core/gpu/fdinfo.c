#include "core/gpu/fdinfo.h"

#include "core/gpu/gpu.h"

#include <stddef.h>

/* Kinds of lines about engines, by prefix; if two prefixes match, the longer
 * one is first. */
static const struct {
    struct bj_slice prefix;
    size_t off;
    struct bj_slice unit;
} engine_lines[] = {
#define AT(member) offsetof(struct bj_fdinfo_engine, member)
    {{"drm-engine-capacity-", 20}, AT(capacity), {"", 0}},
    {{"drm-engine-", 11}, AT(busy_ns), {"ns", 2}},
    {{"drm-cycles-", 11}, AT(cycles), {"", 0}},
    {{"drm-total-cycles-", 17}, AT(total_cycles), {"", 0}},
};
enum { LINES = sizeof(engine_lines) / sizeof(engine_lines[0]) };

static bool copy(struct bj_slice from, char to[BJ_FDINFO_TEXT])
{
    if (from.n == 0 || from.n >= BJ_FDINFO_TEXT)
        return false;
    memcpy(to, from.p, from.n);
    to[from.n] = '\0';
    return true;
}

/* The engine of that name, added if missing; NULL: too many, or the name cannot
 * be a label. */
static struct bj_fdinfo_engine *engine_of(struct bj_fdinfo *f,
                                          struct bj_slice name)
{
    for (unsigned i = 0; i < f->n; i++)
        if (bj_slice_eq(bj_slice_str(f->engine[i].name), name))
            return &f->engine[i];
    struct bj_fdinfo_engine *e = &f->engine[f->n];
    if (f->n == BJ_FDINFO_ENGINES || !copy(name, e->name))
        return NULL;
    e->busy_ns = e->cycles = e->total_cycles = BJ_ABSENT;
    e->capacity = 1;
    f->n++;
    return e;
}

static void engine_line(struct bj_fdinfo *f, struct bj_slice key,
                        struct bj_slice value)
{
    uint64_t v;
    struct bj_slice number = {"", 0}, unit = {"", 0};
    for (size_t i = 0; i < LINES; i++) {
        struct bj_slice prefix = engine_lines[i].prefix;
        if (!bj_slice_starts(key, prefix))
            continue;
        if (bj_slice_word(&value, &number))
            bj_slice_word(&value, &unit);
        struct bj_slice name = {key.p + prefix.n, key.n - prefix.n};
        bool good = bj_slice_u64(number, &v) == 0 && v != BJ_ABSENT &&
                    bj_slice_eq(unit, engine_lines[i].unit);
        bool none = engine_lines[i].off == AT(capacity) && v == 0;
        struct bj_fdinfo_engine *e = good && !none ? engine_of(f, name) : NULL;
        if (e)
            *(uint64_t *)(void *)((char *)e + engine_lines[i].off) = v;
        return;
    }
}

/* Memory on the card: "vram" of amdgpu, "vram0" of xe, "local0" of i915. */
static bool on_card(struct bj_slice region)
{
    static const struct bj_slice names[] = {{"vram", 4}, {"local", 5}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t at = names[i].n;
        if (!bj_slice_starts(region, names[i]))
            continue;
        while (at < region.n && region.p[at] >= '0' && region.p[at] <= '9')
            at++;
        return at == region.n;
    }
    return false;
}

static bool bytes(struct bj_slice text, uint64_t *ret)
{
    struct bj_slice number, unit = {"", 0};
    uint64_t v;
    if (!bj_slice_word(&text, &number) || bj_slice_u64(number, &v) < 0)
        return false;
    bj_slice_word(&text, &unit);
    uint64_t mul = unit.n == 0                          ? 1
                   : bj_slice_eq(unit, BJ_SLICE("KiB")) ? 1024
                   : bj_slice_eq(unit, BJ_SLICE("MiB")) ? 1048576
                                                        : 0;
    if (mul == 0 || v > (BJ_ABSENT - 1) / mul)
        return false;
    *ret = v * mul;
    return true;
}

/* Sums over the memory regions of the card: resident memory, by its current and
 * by its older name. "total" includes memory outside the card. */
struct memory {
    uint64_t resident, memory;
};

static void memory_line(struct memory *m, struct bj_slice key,
                        struct bj_slice value)
{
    static const struct bj_slice now = {"drm-resident-", 13},
                                 before = {"drm-memory-", 11};
    bool is_now = bj_slice_starts(key, now);
    struct bj_slice prefix = is_now ? now : before;
    uint64_t v, *sum = is_now ? &m->resident : &m->memory;
    if (!bj_slice_starts(key, prefix) ||
        !on_card((struct bj_slice){key.p + prefix.n, key.n - prefix.n}) ||
        !bytes(value, &v))
        return;
    if (*sum == BJ_ABSENT)
        *sum = v;
    else
        *sum = v < BJ_ABSENT - 1 - *sum ? *sum + v : BJ_ABSENT - 1;
}

bool bj_fdinfo_parse(struct bj_slice text, struct bj_fdinfo *ret)
{
    struct bj_slice line, key;
    struct memory m = {BJ_ABSENT, BJ_ABSENT};
    char address[BJ_FDINFO_TEXT] = "";
    bool drm = false;
    ret->n = 0;
    ret->pdev[0] = ret->client[0] = '\0';
    while (bj_slice_line(&text, &line)) {
        if (!bj_slice_starts(line, BJ_SLICE("drm-")) ||
            !bj_slice_field(&line, ':', &key))
            continue;
        line = bj_slice_trim(line);
        drm |= bj_slice_eq(key, BJ_SLICE("drm-driver"));
        if (bj_slice_eq(key, BJ_SLICE("drm-pdev")))
            copy(line, address);
        else if (bj_slice_eq(key, BJ_SLICE("drm-client-id")))
            copy(line, ret->client);
        engine_line(ret, key, line);
        memory_line(&m, key, line);
    }
    bj_gpu_pci_text(address, ret->pdev);
    ret->memory_bytes = m.resident != BJ_ABSENT ? m.resident : m.memory;
    return drm && ret->pdev[0] != '\0';
}
