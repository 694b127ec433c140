#include "statsdb/derive/derive_impl.h"

#include "base/stamp.h"
#include "statsdb/derive/bill.h"

#include <string.h>

enum { DAY = 86400, PARTS_MAX = 13 };

/* Daily and monthly sums of one job. Totals are spread as in rollup.c: a day
 * gets the whole units at its end minus those at its start. */
struct stretch {
    int64_t assoc, start, end;
    int sign;
    bool counts; /* count the job itself, on its last day */
};

/* The row of a day; that of its month has its higher bits. */
enum { OF_DAY = 31 };

static int64_t day_id(int64_t assoc, int64_t day)
{
    struct bj_civil date;
    bj_civil_from_days(day, &date);
    int64_t month = (int64_t)date.year * 12 + (int64_t)date.month - 1;
    return month << 37 | assoc << 5 | (int64_t)date.day;
}

/* Add parts to one row.  Parameter ?1 is the row, followed by the source if the
 * table has one. */
static int put(struct bj_derive *d, int add, int sweep, int64_t id,
               int64_t source, const int64_t *part, int parts, int sign,
               struct bj_err *err)
{
    struct bj_st *st = d->st[add];
    int at = 2;
    bool any = false;
    bj_st_bind_i64(st, 1, id);
    if (source > 0)
        bj_st_bind_i64(st, at++, source);
    for (int i = 0; i < parts; i++) {
        bj_st_bind_i64(st, at++, part[i] * sign);
        any = any || part[i] != 0;
    }
    if (!any)
        return 0;
    int r = bj_st_run(st, err);
    if (r < 0 || sign > 0)
        return r;
    bj_st_bind_i64(d->st[sweep], 1, id);
    if (source > 0)
        bj_st_bind_i64(d->st[sweep], 2, source);
    return bj_st_run(d->st[sweep], err);
}

/* Spread totals over the days. */
static int spread(struct bj_derive *d, const struct stretch *s, int64_t source,
                  const int64_t total[PARTS_MAX], int parts, struct bj_err *err)
{
    bool grams = source > 0;
    int add = grams ? BJ_DE_DAY_GRAMS : BJ_DE_DAY_ENERGY;
    int sweep = grams ? BJ_DE_DAY_GRAMS_SWEEP : BJ_DE_DAY_ENERGY_SWEEP;
    const int64_t first =
        s->end - s->start > (int64_t)BJ_BILL_DAYS * DAY || s->end <= s->start
            ? s->end
            : s->start;
    const int64_t last = bj_tz_day(d->tz, s->end - (s->end > first));
    int64_t day = bj_tz_day(d->tz, first);
    int64_t from = bj_tz_midnight(d->tz, day), to;
    int64_t month[PARTS_MAX + 1] = {0};
    int r = 0;
    for (; r == 0 && day <= last; day++, from = to) {
        int64_t part[PARTS_MAX + 1] = {day == last && s->counts};
        int64_t *of = grams ? part : part + 1;
        const int64_t id = day_id(s->assoc, day);
        to = bj_tz_midnight(d->tz, day + 1);
        for (int i = 0; i < parts; i++)
            of[i] = bj_bill_part(total[i], s->start, s->end, from, to);
        for (int i = 0; i < parts + !grams; i++)
            month[i] += part[i];
        r = put(d, add, sweep, id, source, part, parts + !grams, s->sign, err);
        if (r == 0 &&
            (day == last || day_id(s->assoc, day + 1) >> 5 != id >> 5)) {
            r = put(d, add, sweep, id & ~(int64_t)OF_DAY, source, month,
                    parts + !grams, s->sign, err);
            memset(month, 0, sizeof(month));
        }
    }
    return r;
}

/* Microjoules to millijoules, or unknown. */
static int64_t mj(int64_t uj)
{
    return uj > 0 ? uj / 1000 : 0;
}

/* A value of a job whose node failed; of others 0. */
static int64_t failed(const int64_t *use, int value)
{
    return use[BJ_USE_FAILED_CPU] == BJ_SQL_NULL ? 0 : use[value];
}

int bj_derive_count(struct bj_derive *d, const int64_t *use,
                    const struct bj_grams_row *grams, size_t n, int sign,
                    struct bj_err *err)
{
    const struct stretch s = {use[BJ_USE_ASSOC], use[BJ_USE_COUNTED_START],
                              use[BJ_USE_COUNTED_END], sign,
                              use[BJ_USE_ENERGY] != BJ_SQL_NULL};
    if (s.assoc == BJ_SQL_NULL)
        return 0;
    const int64_t energy[PARTS_MAX] = {
        use[BJ_USE_COUNTED_CPU],        mj(use[BJ_USE_ENERGY]),
        mj(use[BJ_USE_ENERGY_USED]),    mj(use[BJ_USE_ENERGY_RESERVED]),
        use[BJ_USE_COUNTED_MORE],       use[BJ_USE_COUNTED_KNOWN],
        use[BJ_USE_COUNTED_GPU],        use[BJ_USE_COUNTED_GPU_USED],
        failed(use, BJ_USE_FAILED_CPU), failed(use, BJ_USE_FAILED_GPU),
        failed(use, BJ_USE_FAILED_MIB), failed(use, BJ_USE_COUNTED_CPU),
        mj(failed(use, BJ_USE_ENERGY))};
    int r = spread(d, &s, 0, energy, PARTS_MAX, err);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const int64_t total[PARTS_MAX] = {grams[i].micrograms,
                                          mj(grams[i].covered_uj)};
        r = spread(d, &s, grams[i].source, total, 2, err);
    }
    return r;
}
