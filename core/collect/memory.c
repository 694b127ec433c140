/* Memory of a cgroup. */
#include "core/collect/unit.h"
#include "core/find/layout.h"

#include <fcntl.h>
#include <stdio.h>

#define FIELD(f) offsetof(struct bj_usage, f)
#define V1 BJ_CGROUP_V1
#define V2 BJ_CGROUP_V2

/* For "no limit" v1 prints PAGE_COUNTER_MAX in bytes: 2^63-1 rounded down to a
 * page. */
#define NO_LIMIT (INT64_MAX - 65536)

static const struct bj_kv_key v2_keys[] = {
    {{"anon", 4}, FIELD(mem_rss_bytes), 1},
    {{"file", 4}, FIELD(mem_cache_bytes), 1},
    {{"kernel", 6}, FIELD(mem_kernel_bytes), 1},
    {{"shmem", 5}, FIELD(mem_shmem_bytes), 1},
    {{"file_mapped", 11}, FIELD(mem_mapped_bytes), 1},
    {{"anon_thp", 8}, FIELD(mem_huge_bytes), 1},
    {{"inactive_file", 13}, FIELD(mem_inactive_file_bytes), 1},
    {{"active_file", 11}, FIELD(mem_active_file_bytes), 1},
    {{"unevictable", 11}, FIELD(mem_unevictable_bytes), 1},
};

/* Note a sample: update the peak of the memory held, anonymous and shared
 * memory, without what the kernel can reclaim or needs itself (the rest).
 *
 * The kernel records only the peak of all charged memory.  If that rose since
 * the last sample, the memory held then is not known: as much as the smaller
 * rest of both samples is not counted as held, all else is.  So short jobs and
 * short peaks are not underestimated, and page cache that grows afterwards
 * changes nothing.  At the first sample nothing is known of the time before, so
 * all of the kernel's peak counts, and mem_held_charged says so until more is
 * held.  Without the kernel's peak (cgroup v2 before Linux 5.19) the largest
 * sample remains, and mem_held_sampled says so. */
static void note_held(struct bj_unit *u)
{
    struct bj_usage *use = &u->use;
    const uint64_t used = use->mem_used_bytes, peak = use->mem_peak_bytes;
    if (used == BJ_ABSENT || use->mem_rss_bytes == BJ_ABSENT ||
        use->mem_shmem_bytes == BJ_ABSENT)
        return;
    const uint64_t held = use->mem_rss_bytes + use->mem_shmem_bytes;
    if (held > u->held.most_bytes) {
        u->held.most_bytes = held;
        u->held.charged = false;
    }
    use->mem_held_peak_bytes = u->held.most_bytes;
    use->mem_held_sampled = peak == BJ_ABSENT ? 1 : BJ_ABSENT;
    if (peak == BJ_ABSENT)
        return;
    const uint64_t rest = used > held ? used - held : 0;
    if (peak > u->held.seen_bytes) {
        uint64_t least = rest < u->held.rest_bytes ? rest : u->held.rest_bytes;
        if (peak > u->held.most_bytes + least) {
            u->held.most_bytes = peak - least;
            u->held.charged = u->held.seen_bytes == 0;
        }
        u->held.seen_bytes = peak;
    }
    u->held.rest_bytes = rest;
    /* memory.stat is read after the peak and may be larger. */
    use->mem_held_peak_bytes =
        u->held.most_bytes < peak ? u->held.most_bytes : peak;
    use->mem_held_charged = u->held.charged ? 1 : BJ_ABSENT;
}

static int parse_v2_stat(struct bj_cgroup_reader *rd, struct bj_unit *u,
                         const struct bj_cgfile *f, struct bj_slice text)
{
    (void)f;
    int r = bj_kv_parse(text, v2_keys, sizeof(v2_keys) / sizeof(v2_keys[0]),
                        &rd->order[BJ_KV_MEMORY_STAT], &u->use);
    note_held(u);
    return r;
}

/* total_ means the cgroup and all below it.  The same file has the limit, the
 * lowest of its own and its parents'. */
static const struct bj_kv_key v1_keys[] = {
    {{"hierarchical_memory_limit", 25}, FIELD(mem_limit_bytes), 1},
    {{"total_cache", 11}, FIELD(mem_cache_bytes), 1},
    {{"total_rss", 9}, FIELD(mem_rss_bytes), 1},
    {{"total_rss_huge", 14}, FIELD(mem_huge_bytes), 1},
    {{"total_shmem", 11}, FIELD(mem_shmem_bytes), 1},
    {{"total_mapped_file", 17}, FIELD(mem_mapped_bytes), 1},
    {{"total_swap", 10}, FIELD(mem_swap_bytes), 1},
    {{"total_inactive_file", 19}, FIELD(mem_inactive_file_bytes), 1},
    {{"total_active_file", 17}, FIELD(mem_active_file_bytes), 1},
    {{"total_unevictable", 17}, FIELD(mem_unevictable_bytes), 1},
};

static int parse_v1_stat(struct bj_cgroup_reader *rd, struct bj_unit *u,
                         const struct bj_cgfile *f, struct bj_slice text)
{
    (void)f;
    int r = bj_kv_parse(text, v1_keys, sizeof(v1_keys) / sizeof(v1_keys[0]),
                        &rd->order[BJ_KV_MEMORY_STAT], &u->use);
    if (u->use.mem_limit_bytes > NO_LIMIT)
        u->use.mem_limit_bytes = BJ_ABSENT;
    note_held(u);
    return r;
}

/* memory.events of v2; for v1 see core/events.c. */
static const struct bj_kv_key oom_keys[] = {
    {{"oom_kill", 8}, FIELD(mem_oom_kills), 1},
    {{"oom", 3}, FIELD(mem_ooms), 1},
    {{"max", 3}, FIELD(mem_limit_hits), 1},
};

static int parse_events(struct bj_cgroup_reader *rd, struct bj_unit *u,
                        const struct bj_cgfile *f, struct bj_slice text)
{
    (void)f;
    return bj_kv_parse(text, oom_keys, sizeof(oom_keys) / sizeof(oom_keys[0]),
                       &rd->order[BJ_KV_MEMORY_EVENTS], &u->use);
}

/* The limit of the nearest parent with a limit in that file.  The path is
 * shortened from its end; the root of the hierarchy has no such file. */
static uint64_t parent_limit(struct bj_unit *u, struct bj_cgroup_reader *rd,
                             const char *file)
{
    unsigned h = (unsigned)u->ctl[BJ_CTL_MEMORY];
    char path[4096], text[64];
    if (bj_unit_path(u, rd, h, "", path, sizeof(path)) < 0)
        return BJ_ABSENT;
    size_t root = strlen(rd->hiers->v[h].path);
    for (char *cut; (cut = strrchr(path, '/')) && cut > path + root;) {
        *cut = '\0';
        bj_autoclose int dir = bj_dir_open(AT_FDCWD, path);
        struct bj_slice s;
        uint64_t v;
        if (dir >= 0 &&
            bj_file_read(dir, file, text, sizeof(text), &s, NULL) == 0 &&
            bj_slice_number(&s, &v))
            return v;
    }
    return BJ_ABSENT;
}

/* memory.peak: since the descriptor began a new peak, if it can. */
static int parse_v2_peak(struct bj_cgroup_reader *rd, struct bj_unit *u,
                         const struct bj_cgfile *f, struct bj_slice text)
{
    struct bj_slice number = text;
    return bj_slice_number(&number, &u->peak_since_bytes)
               ? bj_parse_peak(rd, u, f, text)
               : -EINVAL;
}

static int parse_numa(struct bj_cgroup_reader *rd, struct bj_unit *u,
                      const struct bj_cgfile *f, struct bj_slice text)
{
    uint64_t all, remote;
    int r = bj_numa_parse(&rd->numa, text, f->version == V1, u->numa_local,
                          &all, &remote);
    if (r < 0)
        return r;
    u->use.mem_remote_bytes = remote;
    u->numa_kib += all / 1024;
    u->numa_remote_kib += remote / 1024;
    if (u->numa_kib > 0)
        u->use.mem_remote_ppm =
            (uint64_t)((double)u->numa_remote_kib * 1e6 / (double)u->numa_kib +
                       0.5);
    return 0;
}

static int parse_v2_limit(struct bj_cgroup_reader *rd, struct bj_unit *u,
                          const struct bj_cgfile *f, struct bj_slice text)
{
    uint64_t v;
    if (!bj_slice_number(&text, &v)) {
        if (!bj_slice_eq(bj_slice_trim(text), BJ_SLICE("max")))
            return -EINVAL;
        v = parent_limit(u, rd, f->name);
    }
    memcpy((char *)&u->use + f->off, &v, sizeof(v));
    return 0;
}

static int parse_v1_limit(struct bj_cgroup_reader *rd, struct bj_unit *u,
                          const struct bj_cgfile *f, struct bj_slice text)
{
    int r = bj_parse_number(rd, u, f, text);
    if (u->use.memsw_limit_bytes > NO_LIMIT)
        u->use.memsw_limit_bytes = BJ_ABSENT;
    return r;
}

#define VALUE(file, ver, slot, base, parser, field)                            \
    {                                                                          \
        .name = file, .version = ver, .ctl = BJ_CTL_MEMORY, .keep = slot,      \
        .basic = base, .parse = parser, .off = FIELD(field)                    \
    }
#define NUMBER(file, ver, slot, base, field)                                   \
    VALUE(file, ver, slot, base, bj_parse_number, field)
#define PEAK(file, ver, slot, field)                                           \
    VALUE(file, ver, slot, true, bj_parse_peak, field)

#define NUMA(ver)                                                              \
    {                                                                          \
        .name = "memory.numa_stat", .version = ver, .ctl = BJ_CTL_MEMORY,      \
        .keep = BJ_KEPT_NONE, .rare = true, .numa = true, .parse = parse_numa  \
    }

/* kmem is read by name, as it is not worth a kept descriptor. memory.stat must
 * follow usage and peak (note_held). */
static const struct bj_cgfile files[] = {
    NUMBER("memory.current", V2, BJ_KEPT_MEMORY_CURRENT, true, mem_used_bytes),
    {.name = "memory.peak",
     .version = V2,
     .ctl = BJ_CTL_MEMORY,
     .keep = BJ_KEPT_MEMORY_PEAK,
     .basic = true,
     .own_peak = true,
     .parse = parse_v2_peak,
     .off = FIELD(mem_peak_bytes)},
    {.name = "memory.stat",
     .version = V2,
     .ctl = BJ_CTL_MEMORY,
     .keep = BJ_KEPT_MEMORY_STAT,
     .basic = true,
     .parse = parse_v2_stat},
    {.name = "memory.max",
     .version = V2,
     .ctl = BJ_CTL_MEMORY,
     .keep = BJ_KEPT_MEMORY_SWAP,
     .keep_basic = true,
     .slow = true,
     .basic = true,
     .parse = parse_v2_limit,
     .off = FIELD(mem_limit_bytes)},
    {.name = "memory.events",
     .version = V2,
     .ctl = BJ_CTL_MEMORY,
     .keep = BJ_KEPT_MEMORY_EVENTS,
     .notified = true,
     .parse = parse_events},
    {.name = "memory.swap.current",
     .version = V2,
     .ctl = BJ_CTL_MEMORY,
     .keep = BJ_KEPT_MEMORY_SWAP,
     .swap = true,
     .parse = bj_parse_number,
     .off = FIELD(mem_swap_bytes)},
    {.name = "memory.swap.peak", /* Linux 6.5 */
     .version = V2,
     .ctl = BJ_CTL_MEMORY,
     .keep = BJ_KEPT_NONE,
     .swap = true,
     .zero_slow = true, /* a job that has not swapped yet */
     .parse = bj_parse_peak,
     .off = FIELD(mem_swap_peak_bytes)},
    {.name = "memory.swap.max",
     .version = V2,
     .ctl = BJ_CTL_MEMORY,
     .keep = BJ_KEPT_NONE,
     .slow = true,
     .parse = parse_v2_limit,
     .off = FIELD(mem_swap_limit_bytes)},
    NUMA(V2),
    NUMA(V1),
    NUMBER("memory.usage_in_bytes", V1, BJ_KEPT_MEMORY_USAGE, true,
           mem_used_bytes),
    PEAK("memory.max_usage_in_bytes", V1, BJ_KEPT_MEMORY_MAX_USAGE,
         mem_peak_bytes),
    {.name = "memory.stat",
     .version = V1,
     .ctl = BJ_CTL_MEMORY,
     .keep = BJ_KEPT_MEMORY_STAT_V1,
     .basic = true,
     .parse = parse_v1_stat},
    NUMBER("memory.kmem.usage_in_bytes", V1, BJ_KEPT_MEMORY_KMEM, false,
           mem_kernel_bytes),
    {.name = "memory.memsw.limit_in_bytes",
     .version = V1,
     .ctl = BJ_CTL_MEMORY,
     .keep = BJ_KEPT_NONE,
     .slow = true,
     .parse = parse_v1_limit,
     .off = FIELD(memsw_limit_bytes)},
};

BJ_CGROUP_COLLECTOR(bj_memory_collector, BJ_COLLECT_MEMORY, files);
