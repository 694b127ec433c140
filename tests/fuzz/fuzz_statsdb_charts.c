/* report/chart/charts.h: charts read from any JSON have axes and values
 * within bounds and clean names, and charts that are written and read again are
 * the same. */
#include "base/json.h"
#include "report/chart/charts.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static int read_charts(struct bj_slice text, struct bj_arena *arena,
                       struct bj_charts *ret)
{
    const struct bj_json *doc;
    return bj_json_parse(arena, text, "charts", NULL, &doc, NULL) == 0
               ? bj_charts_parse(doc, ret, NULL)
               : -1;
}

static void check_chart(const struct bj_chart *k)
{
    for (unsigned parts = 2; parts <= 4; parts += 2) {
        struct bj_chart_axis a = bj_chart_axis(k, parts);
        struct bj_buf b = {0};
        MUST(a.tick > 0 && a.top >= a.tick && a.top / a.tick < 20);
        bj_chart_amount(&b, k->unit, a.top);
        MUST(b.len > 0 && b.len < 40);
        bj_buf_free(&b);
        for (unsigned i = 0; i < k->lines; i++)
            for (unsigned n = 0; n < k->points; n++)
                MUST(!(k->line[i].value[n] > a.top * 1.0001));
    }
    MUST(bj_chart_time_tick(bj_chart_span(k), 5) > 0);
    for (unsigned i = 0; i < k->lines; i++)
        for (const char *p = k->line[i].name; *p; p++)
            MUST((unsigned char)*p >= ' ' && *p != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct bj_arena a = {0}, b = {0};
    struct bj_charts one = {.charts = 0}, two = {.charts = 0};
    struct bj_buf first = {0}, second = {0};
    if (read_charts((struct bj_slice){(const char *)data, n}, &a, &one) == 0) {
        for (unsigned i = 0; i < one.charts; i++)
            check_chart(&one.chart[i]);
        bj_charts_write(&one, &first);
        MUST(read_charts((struct bj_slice){first.p, first.len}, &b, &two) == 0);
        bj_charts_write(&two, &second);
        MUST(first.len == second.len &&
             memcmp(first.p, second.p, first.len) == 0);
    }
    bj_charts_free(&one);
    bj_charts_free(&two);
    bj_arena_free(&a);
    bj_arena_free(&b);
    bj_buf_free(&first);
    bj_buf_free(&second);
    return 0;
}
