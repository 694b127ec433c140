#include "report/job/figures.h"

#include "statsdb/job/wasted.h"
#include "statsdb/tables/best.h"

enum { MICRO = 1000000 };

static const char *const units[BJ_FIGURES] = {
    [BJ_FIGURE_CPU] = "seconds",      [BJ_FIGURE_MEMORY] = "bytes",
    [BJ_FIGURE_CHARGED] = "bytes",    [BJ_FIGURE_GPU] = "seconds",
    [BJ_FIGURE_GPU_MEMORY] = "bytes", [BJ_FIGURE_TIME] = "seconds",
    [BJ_FIGURE_READ] = "bytes",       [BJ_FIGURE_WRITE] = "bytes",
    [BJ_FIGURE_ENERGY] = "joules",    [BJ_FIGURE_EMISSIONS] = "grams"};

static const char *const names[BJ_FIGURES] = {
    [BJ_FIGURE_CPU] = "cpu",
    [BJ_FIGURE_MEMORY] = "memory",
    [BJ_FIGURE_CHARGED] = "memory_charged",
    [BJ_FIGURE_GPU] = "gpu",
    [BJ_FIGURE_GPU_MEMORY] = "gpu_memory",
    [BJ_FIGURE_TIME] = "time",
    [BJ_FIGURE_READ] = "read",
    [BJ_FIGURE_WRITE] = "write",
    [BJ_FIGURE_ENERGY] = "energy",
    [BJ_FIGURE_EMISSIONS] = "emissions",
    [BJ_FIGURE_COST] = "cost"};

_Static_assert((int)BJ_SENTENCE_LABEL_COST - (int)BJ_SENTENCE_LABEL_CPU ==
                   (int)BJ_FIGURE_COST,
               "labels are in the order of figures");

static int64_t times(int64_t a, int64_t b)
{
    return bj_best_ratio(a, b, 1);
}

static int64_t micro(int64_t sec)
{
    return times(sec, MICRO);
}

static void put_source(struct bj_report_figure *f, struct bj_slice source)
{
    if (f->used == BJ_SQL_NULL || source.n == 0)
        return;
    f->source = source;
    f->quality = bj_slice_eq(source, BJ_SLICE("scheduler"))
                     ? BJ_SLICE("recorded")
                     : BJ_SLICE("measured");
}

static void put_cpu(struct bj_report *r, struct bj_report_figure *f)
{
    int64_t sec = bj_report_number(r, BJ_REPORT_ELAPSED);
    f->requested =
        micro(times(bj_report_number(r, BJ_REPORT_CPUS_REQUESTED), sec));
    f->allocated = micro(bj_report_number(r, BJ_REPORT_CPU_ALLOCATED));
    f->used = bj_report_number(r, BJ_REPORT_CPU_USED);
    f->ppm = bj_report_number(r, BJ_REPORT_CPU_EFFICIENCY);
    put_source(f, bj_report_text(r, BJ_REPORT_CPU_SOURCE));
}

static void put_memory(struct bj_report *r, struct bj_report_figure *f)
{
    f->requested = bj_report_number(r, BJ_REPORT_MEMORY_REQUESTED);
    f->allocated = bj_report_number(r, BJ_REPORT_MEMORY_ALLOCATED);
    f->used = bj_report_number(r, BJ_REPORT_MEMORY_PEAK);
    f->ppm = bj_report_number(r, BJ_REPORT_MEMORY_EFFICIENCY);
    put_source(f, bj_report_text(r, BJ_REPORT_MEMORY_SOURCE));
    /* The kernel killed the job because it needed more, or it may have used
     * more between two samples. */
    if (f->used != BJ_SQL_NULL &&
        (bj_report_is(r, BJ_REPORT_STATE, "oom") ||
         bj_report_number(r, BJ_REPORT_MEMORY_SAMPLED) > 0))
        f->quality = BJ_SLICE("at least");
}

/* The source of values that only nodes and Prometheus measure. */
static struct bj_slice measured(const struct bj_report *r)
{
    return bj_report_has_records(r) ? BJ_SLICE("nodes")
                                    : BJ_SLICE("prometheus");
}

static void put_charged(struct bj_report *r, struct bj_report_figure *f)
{
    f->allocated = r->figure[BJ_FIGURE_MEMORY].allocated;
    f->used = bj_report_number(r, BJ_REPORT_MEMORY_CHARGED);
    /* No efficiency: page cache fills whatever memory there is. */
    put_source(f, measured(r));
}

static void put_gpu(struct bj_report *r, struct bj_report_figure *f)
{
    int64_t gpus = bj_report_number(r, BJ_REPORT_GPUS);
    f->ppm = bj_report_number(r, BJ_REPORT_GPU_EFFICIENCY);
    if (gpus > 0)
        f->allocated = micro(bj_report_number(r, BJ_REPORT_GPU_ALLOCATED));
    if (f->ppm != BJ_SQL_NULL && f->allocated != BJ_SQL_NULL)
        f->used = bj_best_ratio(f->allocated, f->ppm, MICRO);
    put_source(f, measured(r));
}

static void put_limit(struct bj_report *r, struct bj_report_figure *f)
{
    int64_t limit = bj_report_number(r, BJ_REPORT_LIMIT);
    f->requested = limit == INT64_MAX ? BJ_SQL_NULL : micro(limit);
    f->allocated = f->requested;
    f->used = micro(bj_report_number(r, BJ_REPORT_ELAPSED));
    f->ppm = bj_report_number(r, BJ_REPORT_TIME_EFFICIENCY);
    put_source(f, BJ_SLICE("scheduler"));
    if (f->used != BJ_SQL_NULL && bj_report_is(r, BJ_REPORT_STATE, "timeout"))
        f->quality = BJ_SLICE("at least");
}

/* System calls include data in the page cache; accounting counts disk I/O. */
static void put_io(struct bj_report *r, struct bj_report_figure *f,
                   enum bj_report_column measured_by,
                   enum bj_report_column recorded_by)
{
    f->used = bj_report_number(r, measured_by);
    put_source(f, measured(r));
    if (f->used != BJ_SQL_NULL)
        return;
    f->used = bj_report_number(r, recorded_by);
    put_source(f, BJ_SLICE("scheduler"));
}

static void put_energy(struct bj_report *r)
{
    struct bj_report_figure *f = &r->figure[BJ_FIGURE_ENERGY];
    struct bj_report_figure *grams = &r->figure[BJ_FIGURE_EMISSIONS];
    f->used = bj_report_number(r, BJ_REPORT_ENERGY);
    put_source(f, bj_report_text(r, BJ_REPORT_ENERGY_SOURCE));
    /* That of components alone is less than that of the nodes. */
    if (f->used != BJ_SQL_NULL &&
        bj_report_number(r, BJ_REPORT_ENERGY_PARTIAL) > 0)
        f->quality = BJ_SLICE("at least");
    grams->used = bj_report_number(r, BJ_REPORT_EMISSIONS);
    put_source(grams, f->source);
    if (grams->used != BJ_SQL_NULL)
        grams->quality = BJ_SLICE("estimated");
}

static void put_cost(struct bj_report *r, struct bj_report_figure *f)
{
    f->unit = bj_report_text(r, BJ_REPORT_CURRENCY);
    f->used = bj_report_number(r, BJ_REPORT_COST);
    if (f->used == BJ_SQL_NULL)
        return;
    f->source = BJ_SLICE("prices");
    f->quality = bj_report_number(r, BJ_REPORT_COST_MINIMUM) > 0
                     ? BJ_SLICE("at least")
                     : BJ_SLICE("calculated");
}

void bj_report_figures(struct bj_report *r)
{
    for (unsigned i = 0; i < BJ_FIGURES; i++)
        r->figure[i] = (struct bj_report_figure){
            .figure = bj_slice_str(names[i]),
            .label = bj_sentence_text(
                r, (enum bj_sentence)(BJ_SENTENCE_LABEL_CPU + i), NULL, 0),
            .unit = bj_slice_str(units[i] ? units[i] : ""),
            .requested = BJ_SQL_NULL,
            .allocated = BJ_SQL_NULL,
            .used = BJ_SQL_NULL,
            .ppm = BJ_SQL_NULL};
    put_cpu(r, &r->figure[BJ_FIGURE_CPU]);
    put_memory(r, &r->figure[BJ_FIGURE_MEMORY]);
    put_charged(r, &r->figure[BJ_FIGURE_CHARGED]);
    put_gpu(r, &r->figure[BJ_FIGURE_GPU]);
    r->figure[BJ_FIGURE_GPU_MEMORY].used =
        bj_report_number(r, BJ_REPORT_GPU_MEMORY_PEAK);
    put_source(&r->figure[BJ_FIGURE_GPU_MEMORY], measured(r));
    put_limit(r, &r->figure[BJ_FIGURE_TIME]);
    put_io(r, &r->figure[BJ_FIGURE_READ], BJ_REPORT_IO_READ, BJ_REPORT_READ);
    put_io(r, &r->figure[BJ_FIGURE_WRITE], BJ_REPORT_IO_WRITE, BJ_REPORT_WRITE);
    put_energy(r);
    put_cost(r, &r->figure[BJ_FIGURE_COST]);
}

/* --- order of findings -----------------------------------------------------
 */

static int64_t wasted(const struct bj_report *r,
                      const struct bj_report_finding *f,
                      const struct bj_prices *prices)
{
    static const enum bj_report_column columns[BJ_WASTED_COLUMNS] = {
        [BJ_WASTED_ELAPSED] = BJ_REPORT_ELAPSED,
        [BJ_WASTED_CPU_ALLOCATED] = BJ_REPORT_CPU_ALLOCATED,
        [BJ_WASTED_CPU_USED] = BJ_REPORT_CPU_USED,
        [BJ_WASTED_GPU_ALLOCATED] = BJ_REPORT_GPU_ALLOCATED,
        [BJ_WASTED_GPU_EFFICIENCY] = BJ_REPORT_GPU_EFFICIENCY,
        [BJ_WASTED_MEMORY_ALLOCATED] = BJ_REPORT_MEMORY_ALLOCATED,
        [BJ_WASTED_MEMORY_EFFICIENCY] = BJ_REPORT_MEMORY_EFFICIENCY,
        [BJ_WASTED_COST] = BJ_REPORT_COST};
    int64_t number[BJ_WASTED_COLUMNS];
    for (unsigned i = 0; i < BJ_WASTED_COLUMNS; i++)
        number[i] = bj_report_number(r, columns[i]);
    return bj_wasted_cost(prices, number, f->condition, f->value);
}

void bj_report_order(struct bj_report *r, const struct bj_prices *prices)
{
    if (r->array.tasks > 1)
        return;
    for (size_t i = 1; i < r->findings; i++) {
        const struct bj_report_finding f = r->finding[i];
        const int64_t cost = wasted(r, &f, prices);
        size_t at = i;
        while (at > 0 && bj_slice_eq(r->finding[at - 1].severity, f.severity) &&
               wasted(r, &r->finding[at - 1], prices) < cost) {
            r->finding[at] = r->finding[at - 1];
            at--;
        }
        r->finding[at] = f;
    }
}
