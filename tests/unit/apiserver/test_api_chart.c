/* Charts: units, axes, legends, limits, gaps, tooltips and tables. */
#include "apiserver/frame/widget.h"
#include "apiserver/job/chart.h"
#include "base/tz.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

enum { POINTS = 4, START = 1700000000 };

static struct bj_chart chart(const double *first, const double *limit,
                             enum bj_chart_unit unit)
{
    struct bj_chart k = {.title = "CPUs",
                         .unit = unit,
                         .start = START,
                         .from = START,
                         .step = 1800,
                         .points = POINTS,
                         .line = {{"used", first, false}},
                         .lines = 1};
    if (limit)
        k.line[k.lines++] = (struct bj_chart_line){"allowed", limit, true};
    return k;
}

static char *drawn(struct bj_buf *b, const struct bj_chart *k, bool figure)
{
    if (figure)
        bj_chart_figure(b, k);
    else
        bj_chart_svg(b, k, true);
    bj_buf_put(b, "", 1);
    assert_false(b->failed);
    return b->p;
}

static void has(const char *page, const char *want)
{
    if (!strstr(page, want))
        fail_msg("no %s in %s", want, page);
}

static unsigned times(const char *page, const char *what)
{
    unsigned n = 0;
    for (const char *p = page; (p = strstr(p, what)); p++)
        n++;
    return n;
}

static void test_amounts(void **state)
{
    static const struct {
        enum bj_chart_unit unit;
        double v;
        const char *want;
    } cases[] = {
        {BJ_CHART_PERCENT, 34.375, "34.4 %"},
        {BJ_CHART_PERCENT, 67, "67 %"},
        {BJ_CHART_PLAIN, 8, "8"},
        {BJ_CHART_PLAIN, 1.666, "1.67"},
        {BJ_CHART_PLAIN, 0.067, "0.067"},
        {BJ_CHART_PLAIN, 12345, "12,345"},
        {BJ_CHART_BYTES, 1.5 * 1024 * 1024 * 1024, "1.5 GiB"},
        {BJ_CHART_BYTES, 512, "512 B"},
        {BJ_CHART_BYTES_PER_SEC, 2048, "2 KiB/s"},
        {BJ_CHART_WATTS, 1500, "1.5 kW"},
        {BJ_CHART_WATTS, -3, "0 W"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_buf b = {0};
        bj_chart_amount(&b, cases[i].unit, cases[i].v);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, cases[i].want);
        bj_buf_free(&b);
    }
}

static void test_axes(void **state)
{
    const double used[POINTS] = {1, 2, 3, 2}, allowed[POINTS] = {8, 8, 8, 8};
    struct bj_buf b = {0};
    struct bj_tz *tz = NULL;
    (void)state;
    assert_int_equal(bj_tz_load("CET-1", &tz, NULL), 0);
    bj_tz_use(tz); /* tooltips have the time of the reader */
    struct bj_chart k = chart(used, allowed, BJ_CHART_PLAIN);
    const char *page = drawn(&b, &k, false);
    static const char *const want[] = {
        ">4</text>", ">8</text>", ">0 min</text>", ">20 min</text>",
        ">80 min</text>", ">used</text>", ">allowed</text>",
        "prefers-color-scheme:dark", "data-top=\"8\" data-unit=\"\"",
        "data-dur=\"5400\" data-start=\"1700000000\"",
        /* the level line has its ends only */
        "class=\"lim\" data-n=\"allowed\" d=\"M0 0L1000 0\"",
        "class=\"l c0\" data-n=\"used\" d=\"M0 87.5L333.3 75L666.7 62.5L1000 "
        "75\"",
        "used: 2 on average, at most 3. allowed: 8."};
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        has(page, want[i]);
    bj_buf_free(&b);
    bj_tz_use(NULL);
    bj_tz_free(tz);
}

/* An axis in percent always ends at 100 %. */
static void test_percent(void **state)
{
    const double used[POINTS] = {0, 0, 0, 0};
    struct bj_buf b = {0};
    (void)state;
    struct bj_chart k = chart(used, NULL, BJ_CHART_PERCENT);
    k.of = BJ_SLICE("n1 GPU 3");
    const char *page = drawn(&b, &k, true);
    has(page, ">100 %</text>");
    has(page, "d=\"M0 100L1000 100\"");
    has(page, "CPUs, n1 GPU 3");
    has(page, "used: always 0.");
    bj_buf_free(&b);
}

static void test_gaps(void **state)
{
    const double nan = __builtin_nan("");
    const double used[POINTS] = {1, nan, 3, 2},
                 none[POINTS] = {nan, nan, nan, nan};
    struct bj_buf b = {0};
    (void)state;
    struct bj_chart k = chart(used, NULL, BJ_CHART_WATTS);
    const char *page = drawn(&b, &k, true);
    has(page, "<td class=\"n\">-</td>");
    /* one point alone, then two */
    has(page, "d=\"M0 66.7H3M666.7 0L1000 33.3\"");
    assert_int_equal(times(page, "<th scope=\"col\""), 2);
    bj_buf_free(&b);
    b = (struct bj_buf){0};
    k = chart(none, none, BJ_CHART_WATTS);
    assert_false(bj_chart_has_values(&k));
    has(drawn(&b, &k, false), "No values in this time.");
    bj_buf_free(&b);
}

/* Marks are lines across the values, with their texts above; outside the time
 * there are none. */
static void test_marks(void **state)
{
    const double used[POINTS] = {1, 2, 3, 2};
    struct bj_buf b = {0};
    (void)state;
    struct bj_chart k = chart(used, NULL, BJ_CHART_PLAIN);
    k.mark[0] = (struct bj_chart_mark){START + 2700, "Out of <memory>", true};
    k.mark[1] = (struct bj_chart_mark){START, "Step 0", false};
    k.mark[2] = (struct bj_chart_mark){START + 5401, "late", false};
    k.mark[3] = (struct bj_chart_mark){START - 1, "early", false};
    k.marks = 4;
    const char *page = drawn(&b, &k, false);
    has(page, "<path class=\"m bad\" d=\"M500 0V100\"/>");
    has(page, "<path class=\"m\" d=\"M0 0V100\"/>");
    has(page, "<text class=\"m bad\" x=\"50%\" y=\"13\" text-anchor="
              "\"middle\">Out of &lt;memory&gt;</text>");
    has(page, "text-anchor=\"start\">Step 0</text>");
    has(page,
        "used: 2 on average, at most 3. Out of &lt;memory&gt;: 00:45:00.");
    assert_null(strstr(page, ">late<"));
    assert_null(strstr(page, ">early<"));
    bj_buf_free(&b);
}

/* A chart with only a limit has no values, and names are escaped. */
static void test_names(void **state)
{
    const double allowed[POINTS] = {1, 1, 1, 1};
    struct bj_buf b = {0};
    (void)state;
    struct bj_chart k = chart(allowed, NULL, BJ_CHART_PLAIN);
    k.line[0].limit = true;
    assert_false(bj_chart_has_values(&k));
    k.line[0].limit = false;
    k.of = BJ_SLICE("</title><script>\"");
    const char *page = drawn(&b, &k, false);
    assert_null(strstr(page, "<script"));
    has(page, "&lt;script&gt;&quot;");
    bj_buf_free(&b);
}

/* A chart of many points has a limited size. */
static void test_size(void **state)
{
    static double used[2000];
    struct bj_buf b = {0};
    (void)state;
    for (unsigned i = 0; i < 2000; i++)
        used[i] = i % 7;
    struct bj_chart k = chart(used, NULL, BJ_CHART_PLAIN);
    k.points = 300;
    const char *page = drawn(&b, &k, true);
    assert_true(strlen(page) < 16000);
    assert_int_equal(times(page, "<tr><td>"), 20);
    bj_buf_free(&b);
}

/* The strip of a map: unknown is a gap, idle is not. */
static void test_strip(void **state)
{
    const double nan = __builtin_nan("");
    const double use[] = {nan, 0, .4, 1, 25, 50, 75, 100, 100, nan, nan};
    struct bj_buf b = {0};
    (void)state;
    bj_widget_strip(&b, use, sizeof(use) / sizeof(use[0]));
    bj_buf_put(&b, "", 1);
    assert_false(b.failed);
    assert_string_equal(
        b.p, "<svg class=\"strip\" viewBox=\"0 0 11 1\" preserveAspectRatio="
             "\"none\" aria-hidden=\"true\" data-v=\" 0*2 1 25 50 75 100*2 *2"
             "\"><path class=\"ui\" d=\"M1 .34h2v.32h-2z\"/><path class=\"u1\" "
             "d=\"M3 0h1v1h-1z\"/><path class=\"u2\" d=\"M4 0h1v1h-1z\"/><path "
             "class=\"u3\" d=\"M5 0h1v1h-1z\"/><path class=\"u4\" d=\"M6 0h3v1"
             "h-3z\"/></svg>");
    bj_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amounts), cmocka_unit_test(test_axes),
        cmocka_unit_test(test_percent), cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_size),
        cmocka_unit_test(test_strip),   cmocka_unit_test(test_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
