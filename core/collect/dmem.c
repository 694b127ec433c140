/* Memory of devices that a cgroup holds, by region, such as the VRAM of a GPU
 * (controller dmem of v2, Linux 6.14; drivers amdgpu and xe). */
#include "core/collect/unit.h"
#include "core/find/layout.h"

#include <stdio.h>
#include <stdlib.h>

/* The region of that name, added if missing; NULL: no memory, or no room. */
static struct bj_unit_region *dmem_region(struct bj_unit *u,
                                          struct bj_slice name)
{
    enum { REGIONS = 64 };
    for (uint32_t i = 0; i < u->nregions; i++)
        if (bj_slice_eq(name, bj_slice_str(u->regions[i].name)))
            return &u->regions[i];
    struct bj_unit_region *more =
        u->nregions == REGIONS || name.n >= sizeof(more->name)
            ? NULL
            : realloc(u->regions, (u->nregions + 1) * sizeof(*more));
    if (!more)
        return NULL;
    u->regions = more;
    more = &more[u->nregions++];
    *more = (struct bj_unit_region){"", BJ_ABSENT, BJ_ABSENT};
    memcpy(more->name, name.p, name.n);
    return more;
}

/* Lines "drm/0000:03:00.0/vram0 1048576"; a limit may be "max".  f->off is the
 * offset of the value in a region.  A region that is no longer listed has no
 * value. */
static int dmem_parse(struct bj_cgroup_reader *rd, struct bj_unit *u,
                      const struct bj_cgfile *f, struct bj_slice text)
{
    struct bj_slice line, name, word;
    int r = 0;
    (void)rd;
    for (uint32_t i = 0; i < u->nregions; i++)
        *(uint64_t *)(void *)((char *)&u->regions[i] + f->off) = BJ_ABSENT;
    while (bj_slice_line(&text, &line)) {
        uint64_t v = BJ_ABSENT;
        if (!bj_slice_word(&line, &name))
            continue;
        if (!bj_slice_word(&line, &word) ||
            (!bj_slice_eq(word, BJ_SLICE("max")) &&
             bj_slice_u64(word, &v) < 0)) {
            r = -EINVAL;
            continue;
        }
        struct bj_unit_region *region = dmem_region(u, name);
        if (!region)
            return -ENOMEM;
        *(uint64_t *)(void *)((char *)region + f->off) = v;
    }
    return r;
}

uint64_t bj_dmem_of_device(const struct bj_unit *u, const char *pci)
{
    const size_t n = strlen(pci);
    uint64_t sum = BJ_ABSENT;
    for (uint32_t i = 0; n > 0 && i < u->nregions; i++) {
        const struct bj_unit_region *region = &u->regions[i];
        struct bj_slice rest = bj_slice_str(region->name), driver, address;
        if (region->used_bytes == BJ_ABSENT ||
            !bj_slice_field(&rest, '/', &driver) ||
            !bj_slice_field(&rest, '/', &address) ||
            !bj_slice_eq(address, (struct bj_slice){pci, n}))
            continue;
        sum = (sum == BJ_ABSENT ? 0 : sum) + region->used_bytes;
    }
    return sum;
}

#define DMEM(file, is_slow, field)                                             \
    {                                                                          \
        .name = file, .version = BJ_CGROUP_V2, .ctl = BJ_CTL_UNIFIED,          \
        .keep = BJ_KEPT_NONE, .slow = is_slow, .job_only = true, .dmem = true, \
        .parse = dmem_parse, .off = offsetof(struct bj_unit_region, field)     \
    }
static const struct bj_cgfile files[] = {
    DMEM("dmem.current", false, used_bytes),
    DMEM("dmem.max", true, limit_bytes),
};

BJ_CGROUP_COLLECTOR(bj_dmem_collector, BJ_COLLECT_DMEM, files);
