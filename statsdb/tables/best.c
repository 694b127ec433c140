#include "statsdb/tables/best.h"

#include "store/db.h"

const char *bj_source_name(int64_t source)
{
    static const char *const names[] = {[BJ_FROM_NODES] = "nodes",
                                        [BJ_FROM_PROM] = "prometheus",
                                        [BJ_FROM_SCHEDULER] = "scheduler"};
    return source >= BJ_FROM_NODES && source <= BJ_FROM_SCHEDULER
               ? names[source]
               : NULL;
}

struct bj_best bj_best(int64_t measured, int64_t source, int64_t accounting)
{
    if (measured != BJ_SQL_NULL &&
        (source == BJ_FROM_NODES || source == BJ_FROM_PROM))
        return (struct bj_best){measured, source};
    return (struct bj_best){accounting, accounting == BJ_SQL_NULL
                                            ? BJ_SQL_NULL
                                            : BJ_FROM_SCHEDULER};
}

struct bj_best bj_best_cpu(int64_t measured, int64_t source, int64_t accounting)
{
    const struct bj_best best = bj_best(
        accounting > measured ? BJ_SQL_NULL : measured, source, accounting);
    return best.value == 0 ? (struct bj_best){BJ_SQL_NULL, BJ_SQL_NULL} : best;
}

bool bj_best_is_sampled(int64_t held, int64_t charged)
{
    return held != BJ_SQL_NULL && charged == BJ_SQL_NULL;
}

struct bj_best bj_best_peak(int64_t held, int64_t charged, int64_t source,
                            int64_t accounting)
{
    if (held == BJ_SQL_NULL && accounting == BJ_SQL_NULL)
        held = charged;
    else if (bj_best_is_sampled(held, charged) && accounting > held)
        held = BJ_SQL_NULL;
    return bj_best(held, source, accounting);
}

int64_t bj_best_ratio(int64_t a, int64_t b, int64_t c)
{
    __extension__ typedef __int128 wide;
    if (a < 0 || b < 0 || c <= 0)
        return BJ_SQL_NULL;
    wide v = (wide)a * b / c;
    return v > INT64_MAX ? BJ_SQL_NULL : (int64_t)v;
}

int64_t bj_best_held(int64_t sum, int64_t amount, int64_t elapsed_sec)
{
    return sum != BJ_SQL_NULL ? sum : bj_best_ratio(amount, elapsed_sec, 1);
}

int64_t bj_best_cpu_ppm(int64_t used_usec, int64_t cpus, int64_t elapsed_sec)
{
    int64_t sec;
    if (cpus < 0 || elapsed_sec < 0 ||
        __builtin_mul_overflow(cpus, elapsed_sec, &sec))
        return BJ_SQL_NULL;
    /* microseconds for each second are millionths */
    return bj_best_ratio(used_usec, 1, sec);
}

int64_t bj_best_memory_ppm(int64_t peak_bytes, int64_t of_bytes)
{
    return bj_best_ratio(peak_bytes, 1000000, of_bytes);
}

int64_t bj_accounting_peak(int64_t peak_bytes, int64_t task_peak_bytes)
{
    const int64_t peak =
        peak_bytes > task_peak_bytes ? peak_bytes : task_peak_bytes;
    return peak > 0 ? peak : BJ_SQL_NULL;
}

int64_t bj_accounting_uj(int64_t joules)
{
    return joules > 0 && joules < BJ_MOST_UJ / 1000000 ? joules * 1000000
                                                       : BJ_SQL_NULL;
}
