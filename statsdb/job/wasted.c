#include "statsdb/job/wasted.h"

#include "statsdb/tables/best.h"

enum { MICRO = 1000000 };

const char *const bj_wasted_columns[BJ_WASTED_COLUMNS] = {
    [BJ_WASTED_ELAPSED] = "elapsed_seconds",
    [BJ_WASTED_CPU_ALLOCATED] = "cpu_allocated_seconds",
    [BJ_WASTED_CPU_USED] = "cpu_used_seconds",
    [BJ_WASTED_GPU_ALLOCATED] = "gpu_allocated_seconds",
    [BJ_WASTED_GPU_EFFICIENCY] = "gpu_efficiency_percent",
    [BJ_WASTED_MEMORY_ALLOCATED] = "memory_allocated_bytes",
    [BJ_WASTED_MEMORY_EFFICIENCY] = "memory_efficiency_percent",
    [BJ_WASTED_COST] = "cost"};

enum waste {
    WASTE_NONE,
    WASTE_CPU,
    WASTE_GPU,
    WASTE_MEMORY,
    WASTE_TIME,
    WASTE_ALL
};

/* What a finding says was wasted, by the fact of its last condition. */
static enum waste waste_of(struct bj_slice condition)
{
    static const struct {
        const char *fact;
        enum waste what;
    } all[] = {{"gpus_unused", WASTE_GPU},
               {"gpu_efficiency", WASTE_GPU},
               {"gpu_deviation", WASTE_GPU},
               {"gpu_idle", WASTE_GPU},
               {"nodes_unused", WASTE_CPU},
               {"node_deviation", WASTE_CPU},
               {"cpus_busy", WASTE_CPU},
               {"cpu_efficiency", WASTE_CPU},
               {"cpu_evenness", WASTE_CPU},
               {"core_min", WASTE_CPU},
               {"mem_efficiency", WASTE_MEMORY},
               {"idle_end", WASTE_TIME},
               {"idle_start", WASTE_TIME},
               {"out_of_memory", WASTE_ALL},
               {"state", WASTE_ALL}};
    struct bj_slice rest = condition, word, fact = {0};
    for (bool first = true; bj_slice_word(&rest, &word); first = false)
        if (first)
            fact = word;
        else if (bj_slice_eq(word, BJ_SLICE("and")))
            bj_slice_word(&rest, &fact);
        else if (bj_slice_eq(fact, BJ_SLICE("out_of_memory")) &&
                 bj_slice_eq(word, BJ_SLICE("=")))
            return WASTE_ALL;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (bj_slice_eq(fact, bj_slice_str(all[i].fact)))
            return all[i].what;
    return WASTE_NONE;
}

/* Seconds that were allocated and not used; BJ_SQL_NULL: not known. */
static int64_t unused_sec(int64_t allocated_sec, int64_t used_usec)
{
    const int64_t allocated = bj_best_ratio(allocated_sec, MICRO, 1);
    return allocated < 0 || used_usec < 0 ? BJ_SQL_NULL
           : used_usec > allocated        ? 0
                                          : (allocated - used_usec) / MICRO;
}

/* MiB seconds that were allocated and not used; BJ_SQL_NULL: not known. */
static int64_t unused_mib_sec(int64_t bytes, int64_t elapsed, int64_t ppm)
{
    if (bytes < 0 || elapsed < 0 || ppm < 0)
        return BJ_SQL_NULL;
    return ppm > MICRO ? 0
                       : bj_best_ratio(bj_best_ratio(bytes >> 20, elapsed, 1),
                                       MICRO - ppm, MICRO);
}

/* MiB seconds that the job held; BJ_SQL_NULL: not known. */
static int64_t held_mib_sec(int64_t bytes, int64_t elapsed)
{
    return bytes < 0 || elapsed < 0 ? BJ_SQL_NULL
                                    : bj_best_ratio(bytes >> 20, elapsed, 1);
}

void bj_wasted(const int64_t number[BJ_WASTED_COLUMNS],
               struct bj_slice condition, int64_t value, struct bj_paid *ret)
{
    const int64_t elapsed = number[BJ_WASTED_ELAPSED];
    const int64_t cpu = number[BJ_WASTED_CPU_ALLOCATED],
                  gpu = number[BJ_WASTED_GPU_ALLOCATED],
                  bytes = number[BJ_WASTED_MEMORY_ALLOCATED];
    *ret = (struct bj_paid){BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL};
    switch (waste_of(condition)) {
    case WASTE_CPU:
        ret->cpu_sec = unused_sec(cpu, number[BJ_WASTED_CPU_USED]);
        break;
    case WASTE_GPU:
        ret->gpu_sec = unused_sec(
            gpu, bj_best_ratio(gpu, number[BJ_WASTED_GPU_EFFICIENCY], 1));
        break;
    case WASTE_MEMORY:
        ret->memory_mib_sec =
            unused_mib_sec(bytes, elapsed, number[BJ_WASTED_MEMORY_EFFICIENCY]);
        break;
    case WASTE_TIME:
        if (value < 0)
            break;
        ret->cpu_sec = bj_best_ratio(cpu, value, elapsed);
        ret->gpu_sec = bj_best_ratio(gpu, value, elapsed);
        ret->memory_mib_sec =
            bj_best_ratio(held_mib_sec(bytes, elapsed), value, elapsed);
        break;
    case WASTE_ALL:
        ret->cpu_sec = cpu;
        ret->gpu_sec = gpu;
        ret->memory_mib_sec = held_mib_sec(bytes, elapsed);
        break;
    default:
        break;
    }
}

int64_t bj_wasted_cost(const struct bj_prices *prices,
                       const int64_t number[BJ_WASTED_COLUMNS],
                       struct bj_slice condition, int64_t value)
{
    const int64_t all = number[BJ_WASTED_COST];
    const enum waste what = waste_of(condition);
    struct bj_paid paid;
    if (what == WASTE_ALL)
        return all < 0 ? BJ_SQL_NULL : all;
    if (what == WASTE_TIME)
        return all < 0 || value < 0
                   ? BJ_SQL_NULL
                   : bj_best_ratio(all, value, number[BJ_WASTED_ELAPSED]);
    bj_wasted(number, condition, value, &paid);
    return bj_cost(prices, &paid);
}
