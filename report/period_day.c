#include "report/period_day.h"

#include "base/local.h"

#include "report/charts.h"
#include "report/text_parts.h"

enum { DAY = 86400 };

static int64_t day_of(int64_t sec, bool utc)
{
    return (sec + 60 * (int64_t)bj_text_offset(sec, utc)) / DAY;
}

void bj_period_by_day(struct bj_period *p, int64_t since_sec, int64_t until_sec,
                      bool utc)
{
    if (since_sec < 0 || until_sec <= since_sec ||
        until_sec - since_sec > (BJ_PERIOD_DAYS + 1) * (int64_t)DAY)
        return;
    const int64_t first = day_of(since_sec, utc);
    const int64_t days = day_of(until_sec - 1, utc) - first + 1;
    if (days < 2 || days > BJ_PERIOD_DAYS)
        return;
    p->utc = utc;
    p->first_day = first;
    p->days = (unsigned)days;
}

void bj_period_add_day(struct bj_period *p, const struct bj_period_job *j)
{
    int64_t cpu, sum;
    if (p->days == 0 || j->at_sec < 0 || j->cpus < 0 || j->elapsed_sec < 0 ||
        __builtin_mul_overflow(j->cpus, j->elapsed_sec, &cpu) ||
        __builtin_mul_overflow(cpu, INT64_C(1000000), &cpu))
        return;
    const int64_t at = day_of(j->at_sec, p->utc) - p->first_day;
    if (at < 0 || at >= p->days)
        return;
    struct bj_period_day *d = &p->day[at];
    if (!__builtin_add_overflow(d->cpu, cpu, &sum))
        d->cpu = sum;
    if (j->cpu_usec > 0 &&
        !__builtin_add_overflow(d->cpu_used, j->cpu_usec, &sum))
        d->cpu_used = sum;
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
        .title = bj_local("CPU hours of jobs, by the day on which they began"),
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
