#include "report/period/period_day.h"

#include "base/local.h"
#include "base/tz.h"
#include "report/chart/charts.h"
#include "statsdb/tables/best.h"

enum { DAY = 86400, MICRO = 1000000 };

void bj_period_by_day(struct bj_period *p, int64_t now_sec)
{
    const struct bj_tz *tz = bj_tz_used();
    const int64_t until = p->until_sec < now_sec ? p->until_sec : now_sec + 1;
    if (p->since_sec < 0 || until <= p->since_sec ||
        until - p->since_sec > (BJ_PERIOD_DAYS + 1) * (int64_t)DAY)
        return;
    const int64_t first = bj_tz_day(tz, p->since_sec);
    const int64_t days = bj_tz_day(tz, until - 1) - first + 1;
    if (days < 2 || days > BJ_PERIOD_DAYS)
        return;
    p->first_day = first;
    p->days = (unsigned)days;
}

void bj_period_add_day(struct bj_period *p, const struct bj_period_job *j)
{
    const struct bj_tz *tz = bj_tz_used();
    int64_t start, stop;
    if (p->days == 0 || !bj_bill_time(&j->use, &start, &stop))
        return;
    int64_t day = bj_tz_day(tz, start > p->since_sec ? start : p->since_sec);
    for (; day <= bj_tz_day(tz, stop) && day < p->first_day + p->days; day++) {
        struct bj_bill b;
        int64_t from = bj_tz_midnight(tz, day),
                to = bj_tz_midnight(tz, day + 1);
        from = from < p->since_sec ? p->since_sec : from;
        to = to > p->until_sec ? p->until_sec : to;
        if (day < p->first_day || !bj_bill_of_job(&j->use, from, to, &b))
            continue;
        struct bj_period_day *d = &p->day[day - p->first_day];
        d->cpu += bj_best_ratio(b.cpu_sec, MICRO, 1);
        d->cpu_used += bj_best_ratio(b.cpu_used_msec, 1000, 1);
    }
}

void bj_period_charts(const struct bj_period *p, struct bj_charts *ret)
{
    double *used = bj_arena_alloc(&ret->arena, BJ_PERIOD_DAYS * sizeof(*used));
    double *all = bj_arena_alloc(&ret->arena, BJ_PERIOD_DAYS * sizeof(*all));
    struct bj_chart *k = &ret->chart[ret->charts];
    if (!used || !all || p->days == 0 || p->all.cpu <= 0 ||
        ret->charts == BJ_CHARTS)
        return;
    for (unsigned i = 0; i < p->days; i++) {
        used[i] = (double)p->day[i].cpu_used / 3.6e9;
        all[i] = (double)p->day[i].cpu / 3.6e9;
    }
    *k = (struct bj_chart){
        .kind = BJ_CHART_DAYS,
        .title = bj_local("CPU hours by day"),
        .unit = BJ_CHART_HOURS,
        .start = p->first_day * DAY,
        .from = p->first_day * DAY,
        .step = DAY,
        .points = p->days,
        .line = {{bj_local(p->all.cpu_known < p->all.cpu ? "used, where known"
                                                         : "used"),
                  used, false},
                 {bj_local("allocated"), all, true}},
        .lines = 2};
    ret->charts++;
}
