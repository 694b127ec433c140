/* Pressure stall information of a cgroup (v2).
 * Source: kernel accounting/psi.rst. */
#include "core/collect/unit.h"
#include "core/find/layout.h"

/* "some avg10=... avg60=... avg300=... total=USEC" */
static bool total_of(struct bj_slice line, uint64_t *ret)
{
    struct bj_slice word;
    while (bj_slice_word(&line, &word)) {
        if (!bj_slice_starts(word, BJ_SLICE("total=")))
            continue;
        word.p += 6;
        word.n -= 6;
        return bj_slice_u64(word, ret) == 0;
    }
    return false;
}

/* f->off is the field of "some"; that of "full" follows it. */
static int pressure_parse(struct bj_cgroup_reader *rd, struct bj_unit *u,
                          const struct bj_cgfile *f, struct bj_slice text)
{
    (void)rd;
    uint64_t *some = (uint64_t *)(void *)((char *)&u->use + f->off);
    struct bj_slice line;
    while (bj_slice_line(&text, &line)) {
        bool full = bj_slice_starts(line, BJ_SLICE("full "));
        if (!full && !bj_slice_starts(line, BJ_SLICE("some ")))
            continue;
        if (!total_of(line, some + full))
            return -EINVAL;
    }
    return 0;
}

#define PRESSURE(file, field)                                                  \
    {                                                                          \
        .name = file, .version = BJ_CGROUP_V2, .ctl = BJ_CTL_UNIFIED,          \
        .keep = BJ_KEPT_NONE, .slow = true, .parse = pressure_parse,           \
        .off = offsetof(struct bj_usage, field)                                \
    }

_Static_assert(offsetof(struct bj_usage, psi_cpu_full_usec) ==
                   offsetof(struct bj_usage, psi_cpu_some_usec) +
                       sizeof(uint64_t),
               "full follows some");

static const struct bj_cgfile files[] = {
    PRESSURE("cpu.pressure", psi_cpu_some_usec),
    PRESSURE("memory.pressure", psi_mem_some_usec),
    PRESSURE("io.pressure", psi_io_some_usec),
};

BJ_CGROUP_COLLECTOR(bj_pressure_collector, BJ_COLLECT_PRESSURE, files);
