/* CPU time by CPU: exact, for cgroup v1 only.  (On v2 it is estimated from
 * threads, core/collect/process.h.) */
#include "core/collect/unit.h"
#include "core/find/layout.h"

#include <stdlib.h>

static int percore_grow(struct bj_unit *u, uint32_t n)
{
    if (n <= u->ncores)
        return 0;
    uint32_t want = (n + 63) / 64 * 64;
    uint64_t *more = realloc(u->core_usec, want * sizeof(*more));
    if (!more)
        return -ENOMEM;
    u->core_usec = more;
    unsigned char *set = realloc(u->cpuset, want / 8);
    if (!set)
        return -ENOMEM;
    u->cpuset = set;
    memset(more + u->ncores, 0xff, (want - u->ncores) * sizeof(*more));
    memset(set + u->ncores / 8, 0, (want - u->ncores) / 8);
    u->ncores = want;
    return 0;
}

/* Nanoseconds, one number for each possible CPU. */
static int parse_usage(struct bj_cgroup_reader *rd, struct bj_unit *u,
                       const struct bj_cgfile *f, struct bj_slice text)
{
    (void)rd;
    (void)f;
    struct bj_slice word;
    for (uint32_t cpu = 0; bj_slice_word(&text, &word); cpu++) {
        uint64_t nsec;
        if (cpu >= BJ_CPUS_MAX || bj_slice_u64(word, &nsec) < 0)
            return -EINVAL;
        int r = percore_grow(u, cpu + 1);
        if (r < 0)
            return r;
        u->core_usec[cpu] = nsec / 1000;
    }
    return 0;
}

/* The CPUs that the job may use: they are published even when their time is 0.
 * Read after the CPU times, without which nothing is published. */
static int parse_set(struct bj_cgroup_reader *rd, struct bj_unit *u,
                     const struct bj_cgfile *f, struct bj_slice text)
{
    (void)rd;
    (void)f;
    if (u->ncores == 0)
        return 0;
    memset(u->cpuset, 0, u->ncores / 8);
    int r = bj_slice_cpulist(bj_slice_trim(text), u->ncores, u->cpuset);
    return r < 0 ? r : 0;
}

static const struct bj_cgfile files[] = {
    {.name = "cpuacct.usage_percpu",
     .version = BJ_CGROUP_V1,
     .ctl = BJ_CTL_CPUACCT,
     .keep = BJ_KEPT_NONE,
     .job_only = true,
     .parse = parse_usage},
    {.name = "cpuset.effective_cpus",
     .version = BJ_CGROUP_V1,
     .ctl = BJ_CTL_CPUSET,
     .keep = BJ_KEPT_NONE,
     .slow = true,
     .job_only = true,
     .parse = parse_set},
};

BJ_CGROUP_COLLECTOR(bj_percore_collector, BJ_COLLECT_PERCORE, files);
