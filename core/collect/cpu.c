/* CPU time, throttling and allocated CPUs of a cgroup. */
#include "base/buf.h"
#include "core/collect/unit.h"
#include "core/find/layout.h"

#include <fcntl.h>
#include <stdlib.h>

#define FIELD(f) offsetof(struct bj_usage, f)

static const struct bj_kv_key v2_keys[] = {
    {{"usage_usec", 10}, FIELD(cpu_usec), 1},
    {{"user_usec", 9}, FIELD(cpu_user_usec), 1},
    {{"system_usec", 11}, FIELD(cpu_system_usec), 1},
    {{"nr_periods", 10}, FIELD(cpu_periods), 1},
    {{"nr_throttled", 12}, FIELD(cpu_throttled_periods), 1},
    {{"throttled_usec", 14}, FIELD(cpu_throttled_usec), 1},
};

/* The kernel prints these counters also without a quota. With 0 periods nothing
 * could have been throttled, so 0 is a true value. */
static int parse_v2(struct bj_cgroup_reader *rd, struct bj_unit *u,
                    const struct bj_cgfile *f, struct bj_slice text)
{
    (void)f;
    return bj_kv_parse(text, v2_keys, sizeof(v2_keys) / sizeof(v2_keys[0]),
                       &rd->order[BJ_KV_CPU_STAT], &u->use);
}

/* Not a sum over the cgroups below: this cgroup had something to run. */
static int parse_v2_local(struct bj_cgroup_reader *rd, struct bj_unit *u,
                          const struct bj_cgfile *f, struct bj_slice text)
{
    (void)f;
    static const struct bj_kv_key keys[] = {
        {{"throttled_usec", 14}, FIELD(cpu_held_back_usec), 1}};
    return bj_kv_parse(text, keys, 1, &rd->order[BJ_KV_CPU_LOCAL], &u->use);
}

/* cpuacct.stat: user and system, in ticks. */
static int parse_v1_stat(struct bj_cgroup_reader *rd, struct bj_unit *u,
                         const struct bj_cgfile *f, struct bj_slice text)
{
    (void)f;
    const struct bj_kv_key keys[] = {
        {{"user", 4}, FIELD(cpu_user_usec), rd->tick_usec},
        {{"system", 6}, FIELD(cpu_system_usec), rd->tick_usec},
    };
    return bj_kv_parse(text, keys, 2, &rd->order[BJ_KV_CPUACCT_STAT], &u->use);
}

/* cpu.stat of v1: throttled_time is in nanoseconds. */
static int parse_v1_quota(struct bj_cgroup_reader *rd, struct bj_unit *u,
                          const struct bj_cgfile *f, struct bj_slice text)
{
    (void)f;
    static const struct bj_kv_key keys[] = {
        {{"nr_periods", 10}, FIELD(cpu_periods), 1},
        {{"nr_throttled", 12}, FIELD(cpu_throttled_periods), 1},
        {{"throttled_time", 14}, FIELD(cpu_throttled_usec), 1},
    };
    int r = bj_kv_parse(text, keys, 3, &rd->order[BJ_KV_CPU_STAT], &u->use);
    if (u->use.cpu_throttled_usec != BJ_ABSENT)
        u->use.cpu_throttled_usec /= 1000;
    return r;
}

/* Keep a CPU list with its ranges expanded to single numbers. */
static int keep_list(struct bj_unit *u, unsigned which, struct bj_slice text)
{
    unsigned char set[BJ_CPUS_MAX / 8] = {0};
    struct bj_buf b = {0};
    int n = bj_slice_cpulist(bj_slice_trim(text), BJ_CPUS_MAX, set);
    if (n < 0)
        return n;
    for (unsigned c = 0; c < BJ_CPUS_MAX; c++)
        if (set[c / 8] & 1u << c % 8)
            bj_buf_printf(&b, "%s%u", b.len > 0 ? "," : "", c);
    bj_buf_put(&b, "", 1);
    if (b.failed) {
        bj_buf_free(&b);
        return -ENOMEM;
    }
    free(u->cpu_list[which]);
    u->cpu_list[which] = b.p;
    u->cpus_listed[which] = (uint32_t)n;
    return 0;
}

/* The CPUs configured for a v2 cgroup itself; if none are, those of its parent
 * apply. */
static int keep_configured(struct bj_cgroup_reader *rd, struct bj_unit *u)
{
    char path[4096], text[4096];
    struct bj_slice s;
    unsigned h = (unsigned)u->ctl[BJ_CTL_CPUSET];
    int r = bj_unit_path(u, rd, h, "cpuset.cpus", path, sizeof(path));
    if (r == 0)
        r = bj_file_read(AT_FDCWD, path, text, sizeof(text), &s, NULL);
    if (bj_err_gone(r))
        return 0;
    return r < 0 ? r : keep_list(u, BJ_CPUS_CONFIGURED, s);
}

static int parse_cpus(struct bj_cgroup_reader *rd, struct bj_unit *u,
                      const struct bj_cgfile *f, struct bj_slice text)
{
    const unsigned extras = rd->conf->extras;
    const bool listed =
        extras & BJ_EXTRA_CPUS ||
        (rd->conf->collect[BJ_COLLECT_PERCORE] && f->version == BJ_CGROUP_V2);
    int n = bj_slice_cpulist(bj_slice_trim(text), BJ_CPUS_MAX, NULL);
    if (n < 0)
        return n;
    u->use.cpus = n > 0 ? (uint64_t)n : BJ_ABSENT;
    if (rd->numa.nodes > 1)
        u->numa_local = bj_numa_of_cpus(&rd->numa, text);
    int r = listed ? keep_list(u, BJ_CPUS_EFFECTIVE, text) : 0;
    if (r == 0 && extras & BJ_EXTRA_CPUSET && f->version == BJ_CGROUP_V2)
        r = keep_configured(rd, u);
    return r;
}

#define V1 BJ_CGROUP_V1
#define V2 BJ_CGROUP_V2

static const struct bj_cgfile files[] = {
    {.name = "cpu.stat",
     .version = V2,
     .ctl = BJ_CTL_CPUACCT,
     .keep = BJ_KEPT_CPU_STAT,
     .basic = true,
     .parse = parse_v2},
    {.name = "cpu.stat.local", /* Linux 6.8 */
     .version = V2,
     .ctl = BJ_CTL_CPUACCT,
     .keep = BJ_KEPT_NONE,
     .rare = true,
     .by_kernel = true,
     .parse = parse_v2_local},
    {.name = "cgroup.stat.local", /* about Linux 6.17 */
     .version = V2,
     .ctl = BJ_CTL_UNIFIED,
     .keep = BJ_KEPT_NONE,
     .rare = true,
     .by_kernel = true,
     .parse = bj_parse_frozen},
    {.name = "cpuacct.usage",
     .version = V1,
     .ctl = BJ_CTL_CPUACCT,
     .keep = BJ_KEPT_CPUACCT_USAGE,
     .basic = true,
     .parse = bj_parse_number,
     .off = FIELD(cpu_usec),
     .div = 1000},
    {.name = "cpuacct.stat",
     .version = V1,
     .ctl = BJ_CTL_CPUACCT,
     .keep = BJ_KEPT_CPUACCT_STAT,
     .parse = parse_v1_stat},
    {.name = "cpu.stat",
     .version = V1,
     .ctl = BJ_CTL_CPU,
     .keep = BJ_KEPT_NONE,
     .zero_slow = true, /* without a quota there are no periods */
     .parse = parse_v1_quota,
     .off = FIELD(cpu_periods)},
    {.name = "cpuset.effective_cpus",
     .version = V1,
     .ctl = BJ_CTL_CPUSET,
     .keep = BJ_KEPT_CPUACCT_STAT,
     .keep_basic = true,
     .slow = true,
     .basic = true,
     .parse = parse_cpus},
    {.name = "cpuset.cpus.effective",
     .version = V2,
     .ctl = BJ_CTL_CPUSET,
     .keep = BJ_KEPT_MEMORY_EVENTS,
     .keep_basic = true,
     .slow = true,
     .basic = true,
     .parse = parse_cpus},
};

BJ_CGROUP_COLLECTOR(bj_cpu_collector, BJ_COLLECT_CPU, files);
