#include "report/chart/chart.h"

#include "base/amount.h"
#include "base/err.h"
#include "base/json.h"
#include "base/local.h"

#include <stdio.h>
#include <string.h>

enum { DAY = 86400 };

/* --- numbers ---------------------------------------------------------------
 */

/* The unit of a value in base/amount.h, and the size of its step from one
 * prefix to the next. */
static const struct {
    enum bj_amount_unit unit;
    double by;
} chart_units[BJ_CHART_UNITS] = {
    [BJ_CHART_PLAIN] = {BJ_AMOUNT_PLAIN, 1000},
    [BJ_CHART_BYTES] = {BJ_AMOUNT_BYTES, 1024},
    [BJ_CHART_BYTES_PER_SEC] = {BJ_AMOUNT_BYTES_PER_SEC, 1024},
    [BJ_CHART_PERCENT] = {BJ_AMOUNT_PERCENT, 1000},
    [BJ_CHART_WATTS] = {BJ_AMOUNT_WATTS, 1000},
    [BJ_CHART_PER_SEC] = {BJ_AMOUNT_PER_SEC, 1000},
    [BJ_CHART_HOURS] = {BJ_AMOUNT_HOURS, 1000}};

void bj_chart_amount(struct bj_buf *b, enum bj_chart_unit unit, double v)
{
    bj_amount(b, chart_units[unit].unit, v < 0 ? 0 : v);
}

/* The unit in which round numbers are ticks: 1 GiB, not 1000000000 B. */
static double scale_of(enum bj_chart_unit unit, double v)
{
    double scale = 1;
    while (v / scale >= chart_units[unit].by)
        scale *= chart_units[unit].by;
    return scale;
}

/* Large numbers need fewer digits after the point. */
bool bj_chart_number(struct bj_slice text, double *ret)
{
    static const struct {
        unsigned digits;
        double by;
    } ways[] = {{6, 1e6}, {3, 1e3}, {0, 1}};
    int64_t v;
    int r = -ERANGE;
    for (unsigned i = 0; r == -ERANGE && i < 3; i++) {
        r = bj_decimal_i64(text, ways[i].digits, &v);
        if (r == 0)
            *ret = (double)v / ways[i].by;
    }
    return r == 0;
}

/* --- values ----------------------------------------------------------------
 */

bool bj_chart_mean(const struct bj_chart *k, unsigned line, double *mean,
                   double *highest)
{
    unsigned n = 0;
    double sum = 0;
    *highest = 0;
    for (unsigned i = 0; i < k->points; i++) {
        double v = k->line[line].value[i];
        if (!bj_chart_known(v))
            continue;
        sum += v;
        n++;
        *highest = v > *highest ? v : *highest;
    }
    *mean = n > 0 ? sum / n : 0;
    return n > 0;
}

bool bj_chart_has_values(const struct bj_chart *k)
{
    double mean, highest;
    for (unsigned i = 0; i < k->lines; i++)
        if (!k->line[i].limit && bj_chart_mean(k, i, &mean, &highest))
            return true;
    return false;
}

static double top_of(const struct bj_chart *k)
{
    double top = 0, mean, highest;
    for (unsigned i = 0; i < k->lines; i++)
        if (bj_chart_mean(k, i, &mean, &highest) && highest > top)
            top = highest;
    return top;
}

/* The smallest round number that is at least v: 1, 2 or 5 times a power. */
static double round_up(double v)
{
    double power = 1;
    while (power < v)
        power *= 10;
    while (power / 10 >= v)
        power /= 10;
    return v <= power / 5 ? power / 5 : v <= power / 2 ? power / 2 : power;
}

/* --- axes ------------------------------------------------------------------
 */

struct bj_chart_axis bj_chart_axis(const struct bj_chart *k, unsigned parts)
{
    struct bj_chart_axis a;
    double top = top_of(k), scale = scale_of(k->unit, top);
    if (k->unit == BJ_CHART_PERCENT && top <= 100)
        return (struct bj_chart_axis){100, 100.0 / parts};
    a.tick = top > 0 ? round_up(top / scale / parts) * scale : 1;
    a.top = a.tick;
    while (a.top < top * 0.9999)
        a.top += a.tick;
    return a;
}

int64_t bj_chart_span(const struct bj_chart *k)
{
    return k->points > 1 ? (int64_t)(k->points - 1) * k->step : 1;
}

/* A time since the start of the job: "30 min". */
static void chart_time_label(char *ret, size_t room, int64_t sec, int64_t tick)
{
    if (tick >= DAY)
        snprintf(ret, room, "%lld d", (long long)(sec / DAY));
    else if (tick >= 3600)
        snprintf(ret, room, "%lld h", (long long)(sec / 3600));
    else if (tick >= 60)
        snprintf(ret, room, "%lld min", (long long)(sec / 60));
    else
        snprintf(ret, room, "%lld s", (long long)sec);
}

int64_t bj_chart_time_tick(int64_t span, unsigned most)
{
    static const int64_t ticks[] = {
        1,       2,        5,        10,       15,        30,       60,
        120,     300,      600,      900,      1200,      1800,     3600,
        7200,    10800,    21600,    43200,    DAY,       2 * DAY,  5 * DAY,
        7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 180 * DAY, 360 * DAY};
    unsigned i = 0;
    while (i + 1 < sizeof(ticks) / sizeof(ticks[0]) &&
           span / ticks[i] > (int64_t)most)
        i++;
    return ticks[i];
}

/* --- what is drawn ---------------------------------------------------------
 */

static void chart_value_ticks(const struct bj_chart *k, struct bj_chart_axes *a)
{
    const unsigned n = (unsigned)(a->axis.top / a->axis.tick + 0.001);
    struct bj_buf b = {0};
    for (unsigned i = 0; i <= n && i < BJ_CHART_TICKS; i++) {
        struct bj_chart_tick *t = &a->value[a->values++];
        const double v = a->axis.tick * i;
        t->at = v > a->axis.top ? 1 : v / a->axis.top;
        b.len = 0;
        bj_chart_amount(&b, k->unit, v);
        snprintf(t->label, sizeof(t->label), "%.*s", (int)b.len,
                 b.p ? b.p : "");
    }
    bj_buf_free(&b);
}

unsigned bj_chart_times(int64_t since, int64_t span, unsigned most,
                        struct bj_chart_tick ret[static BJ_CHART_TICKS])
{
    const int64_t tick = bj_chart_time_tick(span, most);
    int64_t t = since > 0 ? (since + tick - 1) / tick * tick : 0;
    unsigned n = 0;
    for (; n < BJ_CHART_TICKS && t <= since + span; n++, t += tick) {
        ret[n].at = (double)(t - since) / (double)span;
        chart_time_label(ret[n].label, sizeof(ret[n].label), t, tick);
    }
    return n;
}

struct bj_chart_axes bj_chart_axes(const struct bj_chart *k, unsigned times)
{
    struct bj_chart_axes a = {.axis = bj_chart_axis(k, k->small ? 2 : 4),
                              .span = bj_chart_span(k)};
    chart_value_ticks(k, &a);
    a.times = bj_chart_times(k->from - k->start, a.span, times, a.time);
    return a;
}

double bj_chart_x(const struct bj_chart *k, const struct bj_chart_axes *a,
                  unsigned point)
{
    return (double)((int64_t)point * k->step) / (double)a->span;
}

double bj_chart_y(const struct bj_chart *k, const struct bj_chart_axes *a,
                  unsigned line, unsigned point)
{
    const double v = k->line[line].value[point];
    return v < 0 ? 0 : v > a->axis.top ? 1 : v / a->axis.top;
}

double bj_chart_mark_x(const struct bj_chart *k, const struct bj_chart_axes *a,
                       unsigned mark)
{
    const int64_t at = k->mark[mark].at;
    return at < k->from || at - k->from > a->span
               ? __builtin_nan("")
               : (double)(at - k->from) / (double)a->span;
}

bool bj_chart_run(const struct bj_chart *k, unsigned line, unsigned *first,
                  unsigned *end)
{
    const double *v = k->line[line].value;
    *first = *end;
    while (*first < k->points && !bj_chart_known(v[*first]))
        ++*first;
    *end = *first;
    while (*end < k->points && bj_chart_known(v[*end]))
        ++*end;
    return *first < *end;
}

unsigned bj_chart_colour(const struct bj_chart *k, unsigned line)
{
    unsigned n = 0;
    for (unsigned i = 0; i < line; i++)
        n += !k->line[i].limit;
    return n;
}

/* --- the summary -----------------------------------------------------------
 */

/* "CPUs used: 3.2 on average, at most 7.9. CPUs allocated: 8." */
static void put_days(struct bj_buf *b, const struct bj_chart *k, unsigned line)
{
    double sum = 0;
    for (unsigned i = 0; i < k->points; i++)
        if (bj_chart_known(k->line[line].value[i]))
            sum += k->line[line].value[i];
    bj_chart_amount(b, k->unit, sum);
    bj_local_str(b, " {in all}");
}

static void chart_put_line(struct bj_buf *b, const struct bj_chart *k,
                           unsigned line, double mean, double highest)
{
    if (k->kind == BJ_CHART_DAYS) {
        put_days(b, k, line);
    } else if (k->line[line].limit) {
        bj_chart_amount(b, k->unit, highest);
    } else if (highest <= 0) {
        bj_local_str(b, "{always 0}");
    } else {
        bj_chart_amount(b, k->unit, mean);
        bj_local_str(b, " {on average, at most} ");
        bj_chart_amount(b, k->unit, highest);
    }
}

void bj_chart_summary(struct bj_buf *b, const struct bj_chart *k)
{
    double mean, highest;
    bool any = false;
    for (unsigned i = 0; i < k->lines; i++) {
        if (!bj_chart_mean(k, i, &mean, &highest))
            continue;
        bj_buf_str(b, any ? " " : "");
        any = true;
        bj_buf_str(b, k->line[i].name);
        bj_buf_str(b, ": ");
        chart_put_line(b, k, i, mean, highest);
        bj_buf_str(b, ".");
    }
    for (unsigned i = 0; i < k->marks; i++) {
        const int64_t sec = k->mark[i].at - k->start;
        bj_buf_str(b, any || i > 0 ? " " : "");
        bj_buf_printf(b, "%s: ", k->mark[i].text);
        bj_amount_seconds(b, sec > 0 ? (uint64_t)sec : 0);
        bj_buf_str(b, ".");
    }
}
