#include "statsdb/derive/bill.h"

#include "sched/job.h"
#include "statsdb/tables/best.h"
#include "statsdb/tables/fragment.h"

enum { MICRO = 1000000, DAY = 86400 };

int64_t bj_bill_sane(int64_t v)
{
    static const int64_t most = INT64_C(1) << 53;
    return v < 0 || v > most ? 0 : v; /* BJ_SQL_NULL is negative */
}

int64_t bj_bill_times(int64_t a, int64_t b)
{
    int64_t v;
    return __builtin_mul_overflow(bj_bill_sane(a), bj_bill_sane(b), &v)
               ? 0
               : bj_bill_sane(v);
}

bool bj_bill_dated(int64_t sec)
{
    return sec >= 0 && sec <= INT64_C(253402300799);
}

bool bj_bill_hardware_failed(int64_t state, int64_t gpu_fault)
{
    const bool early = state == BJ_STATE_FAILED || state == BJ_STATE_TIMEOUT ||
                       state == BJ_STATE_CANCELLED;
    return state == BJ_STATE_NODE_FAIL || state == BJ_STATE_BOOT_FAIL ||
           (early && gpu_fault >= BJ_GPU_FAULT_HARDWARE);
}

/* --- parts of a job --------------------------------------------------------
 */

bool bj_bill_time(const struct bj_bill_job *j, int64_t *start, int64_t *stop)
{
    if (!bj_bill_dated(j->start))
        return false;
    *start = j->start;
    *stop = bj_bill_dated(j->end) ? j->end
                                  : j->start + bj_bill_sane(j->elapsed) +
                                        bj_bill_sane(j->suspended);
    if (!bj_bill_dated(*stop))
        *stop = *start;
    return true;
}

static int64_t share(int64_t total, int64_t part, int64_t whole)
{
    __extension__ typedef unsigned __int128 wide;
    return (int64_t)((wide)total * (wide)part / (wide)whole);
}

int64_t bj_bill_part(int64_t total, int64_t start, int64_t stop, int64_t from,
                     int64_t to)
{
    if (stop <= start || stop - start > (int64_t)BJ_BILL_DAYS * DAY)
        return stop >= from && stop < to ? total : 0;
    from = from < start ? start : from;
    to = to > stop ? stop : to;
    if (from >= to)
        return 0;
    return share(total, to - start, stop - start) -
           share(total, from - start, stop - start);
}

/* Count a job that hardware ended among those, too. */
static struct bj_bill with_failed(struct bj_bill b, bool failed)
{
    if (failed) {
        b.failed_cpu_sec = b.cpu_sec;
        b.failed_gpu_sec = b.gpu_sec;
        b.failed_mem_mib_sec = b.mem_mib_sec;
        b.failed_energy_cpu_sec = b.energy_cpu_sec;
        b.failed_energy_mj = b.energy_mj;
    }
    return b;
}

/* All of a job. */
static struct bj_bill all_of(const struct bj_bill_job *j)
{
    const int64_t cpu = bj_bill_sane(j->cpu_sec);
    const int64_t gpu = bj_bill_sane(j->gpu_sec);
    struct bj_bill b = {.cpu_sec = cpu, .gpu_sec = gpu};
    b.mem_mib_sec = bj_bill_sane(j->mem_mib_sec);
    if (j->cpu_usec != BJ_SQL_NULL) {
        b.cpu_known_sec = cpu;
        b.cpu_used_msec = bj_bill_sane(j->cpu_usec / 1000);
    }
    if (!bj_bill_dated(j->end) || j->end < j->start)
        return b; /* the rest is known when it has ended */
    if (j->gpu_ppm != BJ_SQL_NULL) {
        b.gpu_known_sec = gpu;
        b.gpu_used_msec = bj_bill_times(gpu, j->gpu_ppm) / 1000;
    }
    if (j->energy_uj == BJ_SQL_NULL)
        return b;
    b.energy_cpu_sec = cpu;
    b.energy_mj = j->energy_uj > 0 ? j->energy_uj / 1000 : 0;
    if (j->emissions_ug != BJ_SQL_NULL) {
        b.emissions_ug = bj_bill_sane(j->emissions_ug);
        b.emissions_mj = bj_bill_sane(
            bj_best_ratio(b.energy_mj, j->emissions_covered_ppm, MICRO));
    }
    return b;
}

/* All sums of a bill, for functions that do the same with each. */
enum { SUMS = sizeof(struct bj_bill) / sizeof(int64_t) };
_Static_assert(sizeof(struct bj_bill) == SUMS * sizeof(int64_t), "only sums");

static int64_t *bill_sum_of(struct bj_bill *b, unsigned i)
{
    return (int64_t *)(void *)b + i;
}

bool bj_bill_of_job(const struct bj_bill_job *j, int64_t from, int64_t to,
                    struct bj_bill *ret)
{
    int64_t start, stop;
    *ret = (struct bj_bill){.cpu_sec = 0};
    if (!bj_bill_time(j, &start, &stop) ||
        (stop > start ? stop <= from || start >= to
                      : stop < from || stop >= to))
        return false;
    const bool ended = bj_bill_dated(j->end) && j->end >= j->start;
    struct bj_bill all = with_failed(all_of(j), ended && j->hardware_failed);
    for (unsigned i = 0; i < SUMS; i++)
        *bill_sum_of(ret, i) =
            bj_bill_part(*bill_sum_of(&all, i), start, stop, from, to);
    return true;
}

void bj_bill_add(struct bj_bill *sum, const struct bj_bill *b)
{
    struct bj_bill one = *b;
    for (unsigned i = 0; i < SUMS; i++) {
        int64_t v;
        if (!__builtin_add_overflow(*bill_sum_of(sum, i), *bill_sum_of(&one, i),
                                    &v))
            *bill_sum_of(sum, i) = v;
    }
}

/* --- figures ---------------------------------------------------------------
 */

int64_t bj_bill_ratio(int64_t v, int64_t by_times, int64_t by)
{
    int64_t whole, rest;
    if (by <= 0 || v < 0 || __builtin_mul_overflow(v / by, by_times, &whole) ||
        __builtin_mul_overflow(v % by, by_times, &rest) ||
        rest > INT64_MAX - by / 2 ||
        __builtin_add_overflow(whole, (rest + by / 2) / by, &whole))
        return BJ_SQL_NULL;
    return whole;
}

/* What a site charges: all, or all but jobs whose node failed. */
static struct bj_bill charged(const struct bj_bill *b,
                              const struct bj_prices *p)
{
    struct bj_bill v = *b;
    if (p->failed_nodes_free) {
        v.cpu_sec -= b->failed_cpu_sec;
        v.gpu_sec -= b->failed_gpu_sec;
        v.mem_mib_sec -= b->failed_mem_mib_sec;
        v.energy_cpu_sec -= b->failed_energy_cpu_sec;
        v.energy_mj -= b->failed_energy_mj;
    }
    return v;
}

int64_t bj_bill_cost(const struct bj_bill *b, const struct bj_prices *p)
{
    const struct bj_bill v = charged(b, p);
    return bj_cost(
        p, &(struct bj_paid){v.cpu_sec, v.gpu_sec, v.mem_mib_sec, v.energy_mj});
}

int64_t bj_bill_not_charged(const struct bj_bill *b, const struct bj_prices *p)
{
    const bool free = p->failed_nodes_free;
    return bj_cost(p, &(struct bj_paid){free ? b->failed_cpu_sec : 0,
                                        free ? b->failed_gpu_sec : 0,
                                        free ? b->failed_mem_mib_sec : 0,
                                        free ? b->failed_energy_mj : 0});
}

int64_t bj_bill_cpu_known(const struct bj_bill *b)
{
    return bj_best_ratio(b->cpu_known_sec, MICRO, b->cpu_sec);
}

int64_t bj_bill_gpu_known(const struct bj_bill *b)
{
    return bj_best_ratio(b->gpu_known_sec, MICRO, b->gpu_sec);
}

int64_t bj_bill_energy_known(const struct bj_bill *b)
{
    return bj_best_ratio(b->energy_cpu_sec, MICRO, b->cpu_sec);
}

int64_t bj_bill_emissions_known(const struct bj_bill *b)
{
    if (b->cpu_sec <= 0)
        return BJ_SQL_NULL;
    if (b->energy_mj <= 0)
        return 0;
    return bj_best_ratio(bj_bill_energy_known(b), b->emissions_mj,
                         b->energy_mj);
}

int64_t bj_bill_cost_known(const struct bj_bill *b, const struct bj_prices *p)
{
    if (!bj_prices_are(p) || b->cpu_sec <= 0)
        return BJ_SQL_NULL;
    const struct bj_bill v = charged(b, p);
    return p->kwh == BJ_SQL_NULL || v.cpu_sec <= 0 ? MICRO
                                                   : bj_bill_energy_known(&v);
}
