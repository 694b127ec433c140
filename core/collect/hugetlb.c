/* Huge pages of a cgroup that processes request themselves (hugetlbfs), by
 * size; transparent huge pages are part of collect/memory.c. */
#include "core/collect/unit.h"
#include "core/find/layout.h"

#include <stdlib.h>

/* The sizes of all architectures with batch jobs: x86-64 has 2MB and 1GB, arm64
 * 64KB, 2MB, 32MB, 512MB, 1GB and 16GB (by the size of its small pages), POWER
 * 2MB and 1GB, or 16MB and 16GB.  A machine has files for its own sizes only
 * (mm/hugetlb_cgroup.c of the kernel, mem_fmt). */
#define SIZES(X)                                                               \
    X(0, "64KB")                                                               \
    X(1, "2MB")                                                                \
    X(2, "16MB")                                                               \
    X(3, "32MB")                                                               \
    X(4, "512MB")                                                              \
    X(5, "1GB")                                                                \
    X(6, "16GB")

const char *const bj_page_sizes[BJ_PAGE_SIZES] = {
#define NAME(i, size) [i] = size,
    SIZES(NAME)
#undef NAME
};

/* For "no limit" v1 prints 2^63-1, rounded down to a huge page. */
#define NO_LIMIT ((uint64_t)INT64_MAX / 2)

/* f->off is the offset of the value in the array of all sizes. */
static int hugetlb_put(struct bj_unit *u, const struct bj_cgfile *f, uint64_t v)
{
    size_t size = BJ_PAGE_SIZES * sizeof(*u->hugetlb);
    if (!u->hugetlb) {
        if (v == BJ_ABSENT)
            return 0;
        u->hugetlb = malloc(size);
        if (!u->hugetlb)
            return -ENOMEM;
        memset(u->hugetlb, 0xff, size); /* all BJ_ABSENT */
    }
    *(uint64_t *)(void *)((char *)u->hugetlb + f->off) = v;
    return 0;
}

static int parse_number(struct bj_cgroup_reader *rd, struct bj_unit *u,
                        const struct bj_cgfile *f, struct bj_slice text)
{
    (void)rd;
    uint64_t v;
    return bj_slice_number(&text, &v) ? hugetlb_put(u, f, v) : -EINVAL;
}

/* A peak stays when the kernel's is reset. */
static int parse_peak(struct bj_cgroup_reader *rd, struct bj_unit *u,
                      const struct bj_cgfile *f, struct bj_slice text)
{
    (void)rd;
    uint64_t v, before = BJ_ABSENT;
    if (u->hugetlb)
        before = *(uint64_t *)(void *)((char *)u->hugetlb + f->off);
    if (!bj_slice_number(&text, &v))
        return -EINVAL;
    return hugetlb_put(u, f, before != BJ_ABSENT && before > v ? before : v);
}

static int parse_limit(struct bj_cgroup_reader *rd, struct bj_unit *u,
                       const struct bj_cgfile *f, struct bj_slice text)
{
    (void)rd;
    uint64_t v = BJ_ABSENT;
    if (!bj_slice_eq(bj_slice_trim(text), BJ_SLICE("max")) &&
        !bj_slice_number(&text, &v))
        return -EINVAL;
    return hugetlb_put(u, f, v > NO_LIMIT ? BJ_ABSENT : v);
}

/* "max 3" */
static int parse_events(struct bj_cgroup_reader *rd, struct bj_unit *u,
                        const struct bj_cgfile *f, struct bj_slice text)
{
    (void)rd;
    static const struct bj_kv_key keys[] = {{{"max", 3}, 0, 1}};
    struct bj_kv_order order = {0};
    uint64_t v = BJ_ABSENT;
    int r = bj_kv_parse(text, keys, 1, &order, &v);
    return r < 0 ? r : hugetlb_put(u, f, v);
}

#define HUGETLB(i, ver, file, fn, field)                                       \
    {                                                                          \
        .name = file, .version = ver, .ctl = BJ_CTL_HUGETLB,                   \
        .keep = BJ_KEPT_NONE, .slow = true, .job_only = true, .parse = fn,     \
        .off = (i) * sizeof(struct bj_unit_hugetlb) +                          \
               offsetof(struct bj_unit_hugetlb, field)                         \
    }
/* failcnt of v1 is not used: it does not count events in cgroups below. */
#define FILES(i, size)                                                         \
    HUGETLB(i, BJ_CGROUP_V1, "hugetlb." size ".usage_in_bytes", parse_number,  \
            used_bytes),                                                       \
        HUGETLB(i, BJ_CGROUP_V1, "hugetlb." size ".max_usage_in_bytes",        \
                parse_peak, peak_bytes),                                       \
        HUGETLB(i, BJ_CGROUP_V1, "hugetlb." size ".limit_in_bytes",            \
                parse_limit, limit_bytes),                                     \
        HUGETLB(i, BJ_CGROUP_V2, "hugetlb." size ".current", parse_number,     \
                used_bytes),                                                   \
        HUGETLB(i, BJ_CGROUP_V2, "hugetlb." size ".max", parse_limit,          \
                limit_bytes),                                                  \
        HUGETLB(i, BJ_CGROUP_V2, "hugetlb." size ".events", parse_events,      \
                limit_hits),

static const struct bj_cgfile files[] = {SIZES(FILES)};

BJ_CGROUP_COLLECTOR(bj_hugetlb_collector, BJ_COLLECT_HUGETLB, files);
