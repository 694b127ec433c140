/* Charts of a job: made from samples, written to and read from JSON, drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include "base/json.h"
#include "report/chart/charts.h"
#include "report/pdf/chart_draw.h"
#include "report/period/period.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fontconfig and Pango do not free their caches. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\nleak:libpango\nleak:libglib\nleak:libcairo\n";
}

enum { START = 1764000000, DAY = 86400 };

#define NAN_ __builtin_nan("")

static bool near(double a, double b)
{
    return a - b < 1e-6 * b + 1e-9 && b - a < 1e-6 * b + 1e-9;
}

/* --- axes ------------------------------------------------------------------
 */

static struct bj_chart chart(enum bj_chart_unit unit, const double *value,
                             unsigned points)
{
    return (struct bj_chart){.title = "Title",
                             .unit = unit,
                             .start = START,
                             .from = START,
                             .step = 60,
                             .points = points,
                             .line = {{"used", value, false}},
                             .lines = 1};
}

/* Ticks are 1, 2 or 5 times a power of ten, in the unit of the axis. */
static void test_axis(void **state)
{
    static const struct {
        enum bj_chart_unit unit;
        double value, top, tick;
    } cases[] = {{BJ_CHART_PLAIN, 64, 80, 20},
                 {BJ_CHART_PLAIN, 0.3, 0.3, 0.1},
                 {BJ_CHART_PLAIN, 0, 1, 1},
                 {BJ_CHART_BYTES, 256.0 * (1 << 30), 300.0 * (1 << 30),
                  100.0 * (1 << 30)},
                 {BJ_CHART_PERCENT, 3, 100, 25},
                 {BJ_CHART_PERCENT, 1e6, 1e6, 500000},
                 {BJ_CHART_WATTS, 2400, 3000, 1000}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const double v[] = {cases[i].value};
        struct bj_chart k = chart(cases[i].unit, v, 1);
        struct bj_chart_axis a = bj_chart_axis(&k, 4);
        assert_true(near(a.top, cases[i].top));
        assert_true(near(a.tick, cases[i].tick));
    }
}

/* --- from samples ----------------------------------------------------------
 */

struct reply {
    struct bj_samples *s;
    struct bj_arena arena;
};

static void begin(struct reply *r, enum bj_series_by by)
{
    *r = (struct reply){.s = calloc(1, sizeof(*r->s))};
    assert_non_null(r->s);
    r->s->by = by;
    r->s->from = START;
    r->s->to = START + 120;
    r->s->step = 60;
    r->s->points = 3;
    bj_charts_pick(r->s);
}

static void end(struct reply *r)
{
    bj_samples_free(r->s);
    bj_arena_free(&r->arena);
    free(r->s);
}

/* Add a series as Prometheus sends it: labels and values are JSON. */
static int series(struct reply *r, const char *labels, const char *values)
{
    const struct bj_json *metric, *pairs;
    struct bj_err err = {0};
    assert_int_equal(bj_json_parse(&r->arena, bj_slice_str(labels), "labels",
                                   NULL, &metric, &err),
                     0);
    assert_int_equal(bj_json_parse(&r->arena, bj_slice_str(values), "values",
                                   NULL, &pairs, &err),
                     0);
    return bj_samples_take(r->s, metric, pairs, &err);
}

#define ALL(v)                                                                 \
    "[[1764000000,\"" v "\"],[1764000060,\"" v "\"],[1764000120,\"" v "\"]]"

static const struct bj_charts_job unknown = {
    .start = START, .cpus = BJ_SQL_NULL, .memory_requested = BJ_SQL_NULL};

static void test_job(void **state)
{
    const struct bj_charts_job job = {.start = START,
                                      .cpus = 4,
                                      .memory_requested =
                                          INT64_C(30000000000000000)};
    struct reply r;
    struct bj_charts c = {.charts = 0};
    (void)state;
    begin(&r, BJ_SERIES_JOB);
    assert_int_equal(series(&r, "{\"bj\":\"cpus_used\"}",
                            "[[1764000000,\"1.5\"],[1764000120,\"2\"],"
                            "[1764000060,\"NaN\"],[1763999999,\"9\"]]"),
                     0);
    /* on a node that does not confine jobs to their CPUs */
    assert_int_equal(series(&r, "{\"bj\":\"cpus_usable\"}", ALL("128")),
                     -EPROTO);
    /* 20 PB: too large for 64 bits in millionths of a byte */
    assert_int_equal(series(&r, "{\"bj\":\"memory_bytes\"}", ALL("2e16")), 0);
    assert_int_equal(series(&r, "{\"bj\":\"up\"}", ALL("1")), -EPROTO);
    assert_true(bj_charts_add(&c, r.s, &job));
    assert_int_equal(c.charts, 2);
    assert_string_equal(c.chart[0].title, "CPUs");
    assert_int_equal(c.chart[0].lines, 2);
    assert_true(c.chart[0].line[0].value[0] == 1.5 &&
                c.chart[0].line[0].value[1] != c.chart[0].line[0].value[1] &&
                c.chart[0].line[0].value[2] == 2);
    assert_true(c.chart[0].line[1].limit && !c.chart[0].line[0].limit);
    assert_string_equal(c.chart[0].line[1].name, "CPUs allocated");
    assert_true(c.chart[0].line[1].value[0] == 4 &&
                c.chart[0].line[1].value[2] == 4);
    assert_string_equal(c.chart[1].line[1].name, "Memory requested");
    assert_true(c.chart[1].line[0].value[0] == 2e16 &&
                c.chart[1].line[1].value[2] == 3e16);
    bj_charts_free(&c);
    end(&r);
}

/* A rate over a window that began before the job is not known; of a job that is
 * shorter than four windows it is shown. */
static void test_window(void **state)
{
    static const struct {
        int64_t window;
        bool known[3]; /* of the rate */
    } cases[] = {{30, {false, true, true}}, {40, {true, true, true}}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct reply r;
        struct bj_charts c = {.charts = 0};
        begin(&r, BJ_SERIES_JOB);
        r.s->window = cases[i].window;
        assert_int_equal(series(&r, "{\"bj\":\"cpus_used\"}", ALL("2")), 0);
        assert_int_equal(series(&r, "{\"bj\":\"memory_bytes\"}", ALL("3")), 0);
        assert_true(bj_charts_add(&c, r.s, &unknown));
        assert_int_equal(c.charts, 2);
        for (unsigned p = 0; p < 3; p++) {
            assert_int_equal(bj_chart_known(c.chart[0].line[0].value[p]),
                             cases[i].known[p]);
            assert_true(bj_chart_known(c.chart[1].line[0].value[p]));
        }
        bj_charts_free(&c);
        end(&r);
    }
}

/* Eight GPUs, two of them idle: a row for each, named by their numbers and in
 * their order, replaces the mean. */
static void test_gpus(void **state)
{
    struct reply job, gpus;
    struct bj_charts c = {.charts = 0};
    char text[120];
    (void)state;
    begin(&job, BJ_SERIES_JOB);
    series(&job, "{\"bj\":\"gpu_busy_ratio\"}", ALL("0.6"));
    assert_true(bj_charts_add(&c, job.s, &unknown));
    begin(&gpus, BJ_SERIES_GPU);
    for (unsigned i = 0; i < 8; i++) {
        unsigned g = (i * 5 + 3) % 8;
        snprintf(text, sizeof(text),
                 "{\"bj\":\"gpu_busy_ratio\",\"instance\":\"n1:9\",\"gpu\":"
                 "\"GPU-%u-5a0b5f6e\",\"index\":\"%u\"}",
                 7 - g, g);
        series(&gpus, text, g == 2 || g == 5 ? ALL("0") : ALL("0.8"));
    }
    assert_true(bj_charts_add(&c, gpus.s, &unknown));
    assert_int_equal(c.charts, 1);
    assert_int_equal(c.chart[0].kind, BJ_CHART_ROWS);
    assert_int_equal(c.chart[0].lines, 8);
    assert_string_equal(c.chart[0].line[0].name, "n1: GPU 0");
    for (unsigned i = 0; i < 8; i++)
        assert_true(
            near(c.chart[0].line[i].value[1], i == 2 || i == 5 ? 0 : 80));
    bj_charts_free(&c);
    end(&job);
    end(&gpus);
}

/* Of many nodes the chart shows those that differ most, n9 before n10. */
static void test_many_nodes(void **state)
{
    struct reply r;
    struct bj_charts c = {.charts = 0};
    char text[80];
    bool idle = false;
    (void)state;
    begin(&r, BJ_SERIES_NODE);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(text, sizeof(text),
                 "{\"bj\":\"cpus_used\",\"instance\":\"n%u:9\"}", i);
        series(&r, text, i == 77 ? ALL("0") : i < 12 ? ALL("9") : ALL("8"));
    }
    assert_true(bj_charts_add(&c, r.s, &unknown));
    assert_int_equal(c.chart[0].lines, BJ_CHART_LINES);
    assert_int_equal(c.chart[0].all, 100);
    assert_string_equal(c.chart[0].line[9].name, "n9");
    assert_string_equal(c.chart[0].line[10].name, "n10");
    for (unsigned i = 0; i < c.chart[0].lines; i++)
        idle |= strcmp(c.chart[0].line[i].name, "n77") == 0;
    assert_true(idle);
    bj_charts_free(&c);
    end(&r);
}

/* --- by day ----------------------------------------------------------------
 */

static void test_days(void **state)
{
    const int64_t first = 20000 * (int64_t)DAY; /* 2024-10-04 */
    struct bj_period p = {.since_sec = first, .until_sec = first + 3 * DAY};
    struct bj_charts c = {.charts = 0};
    /* the second one half on the first day */
    const int64_t at[] = {0, DAY - 1800, 2 * DAY};
    (void)state;
    bj_period_by_day(&p, first + 9 * DAY);
    assert_int_equal(p.days, 3);
    for (unsigned i = 0; i < 3; i++)
        bj_period_add(&p,
                      &(struct bj_period_job){
                          .account = BJ_SLICE("a"),
                          .use = {.start = first + at[i],
                                  .end = first + at[i] + 3600,
                                  .elapsed = 3600,
                                  .suspended = BJ_SQL_NULL,
                                  .cpu_sec = 4 * 3600,
                                  .cpu_usec = i == 2 ? BJ_SQL_NULL : 7200000000,
                                  .gpu_ppm = BJ_SQL_NULL,
                                  .mem_mib_sec = BJ_SQL_NULL,
                                  .energy_uj = BJ_SQL_NULL,
                                  .emissions_ug = BJ_SQL_NULL,
                                  .emissions_covered_ppm = BJ_SQL_NULL},
                          .memory_bytes = BJ_SQL_NULL,
                          .memory_peak_bytes = BJ_SQL_NULL});
    bj_period_settle(&p);
    bj_period_charts(&p, &c);
    assert_int_equal(c.charts, 1);
    const struct bj_chart *k = &c.chart[0];
    const double used[] = {3, 1, 0}, all[] = {6, 2, 4};
    for (unsigned i = 0; i < 3; i++) {
        assert_true(k->line[0].value[i] == used[i]);
        assert_true(k->line[1].value[i] == all[i]);
    }
    assert_string_equal(k->line[0].name, "used, where known");
    bj_charts_free(&c);
    bj_period_free(&p);
    p = (struct bj_period){.since_sec = first, .until_sec = first + DAY};
    bj_period_by_day(&p, first + 9 * DAY);
    assert_int_equal(p.days, 0); /* a single day gives no chart */
    p = (struct bj_period){.since_sec = INT64_MIN, .until_sec = INT64_MAX};
    bj_period_by_day(&p, first + 9 * DAY);
    assert_int_equal(p.days, 0);
}

/* --- JSON ------------------------------------------------------------------
 */

static int parsed(const char *text, struct bj_charts *c)
{
    struct bj_arena a = {0};
    const struct bj_json *doc;
    struct bj_err err = {0};
    assert_int_equal(
        bj_json_parse(&a, bj_slice_str(text), "charts", NULL, &doc, &err), 0);
    int r = bj_charts_parse(doc, c, &err);
    bj_arena_free(&a);
    return r;
}

static void test_json(void **state)
{
    const double v[] = {1.25, NAN_, 3e15}, limit[] = {4, 4, 4};
    struct bj_charts c = {.charts = 2}, back = {.charts = 0};
    struct bj_buf text = {0};
    (void)state;
    c.chart[0] = chart(BJ_CHART_BYTES, v, 3);
    c.chart[0].line[1] = (struct bj_chart_line){"limit \"x\"\n", limit, true};
    c.chart[0].lines = 2;
    c.chart[0].mark[0] = (struct bj_chart_mark){1700000042, "killed\n", true};
    c.chart[0].marks = 1;
    c.chart[1] = chart(BJ_CHART_PERCENT, limit, 3);
    c.chart[1].kind = BJ_CHART_ROWS;
    c.chart[1].of = BJ_SLICE("each GPU");
    c.chart[1].all = 64;
    bj_charts_write(&c, &text);
    bj_buf_put(&text, "", 1);
    assert_int_equal(parsed(text.p, &back), 0);
    assert_int_equal(back.charts, 2);
    const struct bj_chart *k = &back.chart[0];
    assert_true(k->line[0].value[0] == 1.25 && k->line[0].value[2] == 3e15 &&
                k->line[0].value[1] != k->line[0].value[1]);
    assert_string_equal(k->line[1].name, "limit \"x\"?");
    assert_true(k->line[1].limit && k->unit == BJ_CHART_BYTES);
    assert_int_equal(k->marks, 1);
    assert_int_equal(k->mark[0].at, 1700000042);
    assert_string_equal(k->mark[0].text, "killed?");
    assert_true(k->mark[0].bad);
    assert_int_equal(back.chart[1].marks, 0);
    assert_int_equal(back.chart[1].kind, BJ_CHART_ROWS);
    assert_int_equal(back.chart[1].all, 64);
    bj_charts_free(&back);
    bj_buf_free(&text);
}

#define HEAD                                                                   \
    "{\"charts\":[{\"title\":\"x\",\"kind\":\"curves\",\"unit\":\"count\","    \
    "\"start_ms\":0,\"from_ms\":0,\"step_sec\":1,\"lines\":["

static void test_bad_json(void **state)
{
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"charts\":{}}",
        "{\"charts\":[1]}",
        "{\"charts\":[{\"kind\":\"curves\",\"unit\":\"count\"}]}",
        "{\"charts\":[{\"title\":\"x\",\"kind\":\"cake\",\"unit\":\"count\","
        "\"start_ms\":0,\"from_ms\":0,\"step_sec\":1,\"lines\":[]}]}",
        HEAD "{\"name\":\"a\"}]}]}",
        HEAD "],\"marks\":[{\"text\":\"a\"}]}]}",
        HEAD "],\"marks\":[{\"at_ms\":-1,\"text\":\"a\"}]}]}",
        HEAD "{\"name\":\"a\",\"values\":[1]},{\"name\":\"a\",\"values\":[]}"
             "]}]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bj_charts c = {.charts = 0};
        assert_int_equal(parsed(bad[i], &c), -EBADMSG);
        bj_charts_free(&c);
    }
}

/* --- drawing ---------------------------------------------------------------
 */

static uint32_t word(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 |
           u[3];
}

/* Check that an image has the right size in its header, and that drawing it
 * twice gives the same bytes. */
static void draw(const struct bj_chart *k, double width)
{
    const struct bj_chart_place place = {10, 10, width - 20, 12};
    const double height = k->kind == BJ_CHART_PIE
                              ? bj_pie_height(12)
                              : bj_chart_height(k, place.width, 12);
    struct bj_buf png[2] = {{0}};
    for (unsigned i = 0; i < 2; i++) {
        struct bj_sheet *s = NULL;
        struct bj_err err = {0};
        int r = bj_sheet_new_image(width, height + 20, 2, &s, &err);
        if (r == -ENOSYS)
            skip();
        assert_int_equal(r, 0);
        bj_sheet_row(s, 0, 0);
        (k->kind == BJ_CHART_PIE ? bj_pie_draw : bj_chart_draw)(s, &place, k);
        assert_int_equal(bj_sheet_write_png(s, &png[i], &err), 0);
        bj_sheet_free(s);
    }
    assert_true(png[0].len > 100 && memcmp(png[0].p, "\x89PNG", 4) == 0);
    assert_int_equal(word(png[0].p + 16), 2 * width);
    assert_int_equal(word(png[0].p + 20), (uint32_t)(2 * (height + 20)));
    assert_int_equal(png[0].len, png[1].len);
    assert_memory_equal(png[0].p, png[1].p, png[0].len);
    bj_buf_free(&png[0]);
    bj_buf_free(&png[1]);
}

static void test_hostile(void **state)
{
    static char name[4000];
    const double odd[] = {NAN_, 0, NAN_, 1e18, NAN_}, none[] = {NAN_};
    (void)state;
    for (size_t i = 0; i + 3 <= sizeof(name) - 1; i += 3)
        memcpy(name + i, "x\xcc\x81", 3); /* stacked accents */
    for (int kind = 0; kind < BJ_CHART_KINDS; kind++)
        for (int unit = 0; unit < BJ_CHART_UNITS; unit += 3) {
            struct bj_chart k = chart((enum bj_chart_unit)unit, odd, 5);
            k.kind = (enum bj_chart_kind)kind;
            k.title = name;
            k.of = BJ_SLICE("\033[2J\xe2\x80\xae \xff%");
            k.line[0].name = name;
            k.step = INT64_C(86400000);
            draw(&k, 240);
            k.line[0].value = none;
            k.points = 1;
            draw(&k, 600);
            k.lines = 0;
            draw(&k, 600);
        }
}

/* A mark is drawn on a sheet, too; one outside the time is not. */
static void test_marks(void **state)
{
    const double v[] = {1, 2, 3};
    struct bj_chart k = chart(BJ_CHART_BYTES, v, 3);
    struct bj_buf png[3] = {{0}};
    const struct bj_chart_place place = {10, 10, 580, 12};
    (void)state;
    k.start = k.from;
    for (unsigned i = 0; i < 3; i++) {
        struct bj_sheet *s = NULL;
        struct bj_err err = {0};
        k.marks = i > 0;
        /* Both are 0 s after the start for the summary. */
        k.mark[0] = (struct bj_chart_mark){i == 1 ? k.from : k.from - 1,
                                           "Out of memory", true};
        int r = bj_sheet_new_image(600, 400, 1, &s, &err);
        if (r == -ENOSYS)
            skip();
        assert_int_equal(r, 0);
        bj_sheet_row(s, 0, 0);
        bj_chart_draw(s, &place, &k);
        assert_int_equal(bj_sheet_write_png(s, &png[i], &err), 0);
        bj_sheet_free(s);
    }
    assert_true(png[0].len != png[1].len ||
                memcmp(png[0].p, png[1].p, png[0].len) != 0);
    assert_true(png[1].len != png[2].len ||
                memcmp(png[1].p, png[2].p, png[1].len) != 0);
    for (unsigned i = 0; i < 3; i++)
        bj_buf_free(&png[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axis),       cmocka_unit_test(test_job),
        cmocka_unit_test(test_window),     cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_many_nodes), cmocka_unit_test(test_days),
        cmocka_unit_test(test_json),       cmocka_unit_test(test_bad_json),
        cmocka_unit_test(test_hostile),    cmocka_unit_test(test_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
