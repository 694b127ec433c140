/* The feed of emission factors, with simulated providers and clocks: fallbacks,
 * intervals, faults. */
#include "carbon/feed.h"

#include "base/absent.h"
#include "tests/unit/lib/fakegrid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define T 1795186800u /* 2026-11-20T15:00:00Z */
enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

struct room {
    struct grid grid;
    struct bj_carbon_conf conf;
    struct bj_carbon_feed *feed;
    struct bj_err err;
};

static struct room room;

static void start(struct room *r)
{
    struct bj_carbon_net net = grid_net(&r->grid);
    assert_int_equal(bj_carbon_feed_new(&r->conf, &net, 1, &r->feed, NULL), 0);
}

static void stop(struct room *r)
{
    bj_carbon_feed_free(r->feed);
    r->feed = NULL;
}

static int setup(void **state)
{
    *state = &room;
    room = (struct room){.grid = {.boot_usec = 77000000, .wall_sec = T + 600}};
    return 0;
}

static int teardown(void **state)
{
    struct room *r = *state;
    bj_carbon_feed_free(r->feed);
    grid_conf_free(&r->conf);
    return 0;
}

/* The first average now as "provider from mg", or "none". */
static const char *first(struct room *r)
{
    static char text[80];
    struct bj_factor f;
    if (!grid_first(&r->grid, r->feed, false, &f))
        return "none";
    snprintf(text, sizeof(text), "%s %s %u", f.provider, grid_from_name(f.from),
             (unsigned)f.mg_per_kwh);
    return text;
}

static struct bj_carbon_feed_status status(struct room *r, size_t i)
{
    struct bj_carbon_feed_status all[BJ_CARBON_SLOTS];
    assert_true(bj_carbon_feed_status(r->feed, r->grid.wall_sec, all,
                                      BJ_CARBON_SLOTS) > i);
    return all[i];
}

static const char *rte_now(const struct room *r)
{
    static char text[80];
    uint64_t start_sec = r->grid.wall_sec - r->grid.wall_sec % 900;
    snprintf(text, sizeof(text), "rte live %u",
             (unsigned)grid_mg(GRID_RTE, start_sec));
    return text;
}

/* --- valid factors
 * ----------------------------------------------------------*/

static void test_static_only(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "country=FR", "factor=50", NULL);
    start(r);
    assert_int_equal(grid_settle(&r->grid, r->feed, &r->err), UINT64_MAX);
    assert_string_equal(first(r), "table year 56039");
    struct bj_factor f[BJ_CARBON_FEED_FACTORS];
    assert_int_equal(
        bj_carbon_feed_factors(r->feed, T, f, BJ_CARBON_FEED_FACTORS), 2);
    assert_int_equal(f[0].year, 2023);
    assert_string_equal(f[1].provider, "constant");
    assert_string_equal(f[1].country, "FR");
    assert_int_equal(f[1].mg_per_kwh, 50000);
    assert_int_equal(bj_carbon_feed_factors(r->feed, T, f, 1), 1);
    assert_true(status(r, 0).success && status(r, 1).success);
    assert_int_equal(status(r, 0).age_sec, BJ_ABSENT);
}

/* The order of the table and the constant is that of the list. */
static void test_constant_first(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "provider=constant", "provider=table",
                        "country=FR", "factor=50", NULL);
    start(r);
    assert_string_equal(first(r), "constant constant 50000");
}

/* A country whose value is 0 has no factor. */
static void test_nothing(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "country=CAF", NULL);
    start(r);
    assert_string_equal(first(r), "none");
}

static uint32_t mean_of_hour(enum grid_provider p, uint64_t hour)
{
    uint64_t sum = 0, n = HOUR / grid_step(p);
    for (uint64_t i = 0; i < n; i++)
        sum += grid_mg(p, hour + i * grid_step(p));
    return (uint32_t)((sum + n / 2) / n);
}

/* Three good days, then an outage: the last value is valid for two hours, then
 * the profile of the days before, then the table; afterwards live values
 * again. */
static void test_fallbacks(void **state)
{
    struct room *r = *state;
    char want[64];
    r->conf =
        grid_conf(NULL, "provider=rte", "provider=table", "country=FR", NULL);
    start(r);
    assert_string_equal(first(r), "table year 56039");
    grid_run(&r->grid, r->feed, 3 * DAY);
    grid_settle(&r->grid, r->feed, NULL);
    assert_true(strncmp(first(r), "rte live ", 9) == 0);
    struct bj_factor last;
    assert_true(grid_first(&r->grid, r->feed, false, &last));

    r->grid.mode[GRID_RTE] = GRID_DOWN;
    uint64_t ends = last.start_sec + 2 * HOUR;
    grid_run(&r->grid, r->feed, ends - 1 - r->grid.wall_sec);
    snprintf(want, sizeof(want), "rte live %u", (unsigned)last.mg_per_kwh);
    assert_string_equal(first(r), want);
    grid_run(&r->grid, r->feed, 1);
    uint64_t hour = r->grid.wall_sec - r->grid.wall_sec % HOUR;
    snprintf(want, sizeof(want), "rte profile %u",
             (unsigned)mean_of_hour(GRID_RTE, hour - DAY));
    assert_string_equal(first(r), want);

    grid_run(&r->grid, r->feed, 6 * DAY);
    assert_true(strncmp(first(r), "rte profile ", 12) == 0);
    grid_run(&r->grid, r->feed, 5 * DAY);
    assert_string_equal(first(r), "table year 56039");
    r->grid.mode[GRID_RTE] = GRID_GOOD;
    grid_run(&r->grid, r->feed, 80 * MINUTE);
    assert_true(strncmp(first(r), "rte live ", 9) == 0);
}

/* Factors have the order of the list, even if the first provider has only a
 * profile. */
static void test_order_of_providers(void **state)
{
    struct room *r = *state;
    struct bj_factor f[BJ_CARBON_FEED_FACTORS];
    r->conf = grid_conf(NULL, "provider=neso", "provider=rte", NULL);
    start(r);
    grid_run(&r->grid, r->feed, 3 * DAY);
    assert_true(strncmp(first(r), "neso live ", 10) == 0);
    r->grid.mode[GRID_NESO] = GRID_DOWN;
    grid_run(&r->grid, r->feed, 3 * HOUR);
    assert_true(strncmp(first(r), "neso profile ", 13) == 0);
    assert_int_equal(bj_carbon_feed_factors(r->feed, r->grid.wall_sec, f,
                                            BJ_CARBON_FEED_FACTORS),
                     2);
    assert_string_equal(f[1].provider, "rte");
    assert_int_equal(f[1].from, BJ_FACTOR_LIVE);
    assert_int_equal(bj_carbon_feed_factors(r->feed, r->grid.wall_sec, f, 1),
                     1);
}

/* Marginal values are not replaced by averages, nor the other way round. */
static void test_marginal(void **state)
{
    struct room *r = *state;
    char token[] = "/tmp/bj-carbon-token.XXXXXX";
    int fd = mkstemp(token);
    assert_int_equal(write(fd, "user:password\n", 14), 14);
    close(fd);
    r->conf = grid_conf(token, "provider=watttime", "country=US",
                        "provider=table", NULL);
    start(r);
    grid_run(&r->grid, r->feed, HOUR);
    struct bj_factor f;
    assert_string_equal(first(r), "table year 369473");
    assert_true(grid_first(&r->grid, r->feed, true, &f));
    assert_string_equal(f.provider, "watttime");
    assert_int_equal(f.kind, BJ_FACTOR_MARGINAL);
    assert_int_equal(f.mg_per_kwh, grid_mg(GRID_WATTTIME, f.start_sec));
    r->grid.mode[GRID_WATTTIME] = GRID_DOWN;
    grid_run(&r->grid, r->feed, 3 * HOUR);
    assert_false(grid_first(&r->grid, r->feed, true, &f));
    unlink(token);
}

static void test_history(void **state)
{
    struct room *r = *state;
    static struct bj_factor f[256];
    r->conf = grid_conf(NULL, "provider=rte", NULL);
    start(r);
    grid_run(&r->grid, r->feed, 10);
    uint64_t from = T - 4 * HOUR;
    size_t n = bj_carbon_feed_history(r->feed, from, T, f, COUNT(f));
    assert_int_equal(n, 16);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(f[i].start_sec, from + 900 * i);
        assert_int_equal(f[i].end_sec, from + 900 * (i + 1));
        assert_int_equal(f[i].mg_per_kwh, grid_mg(GRID_RTE, f[i].start_sec));
        assert_int_equal(f[i].fetched_sec - T - 600 <= 10, 1);
        assert_string_equal(f[i].zone, "FR");
    }
    assert_int_equal(bj_carbon_feed_history(r->feed, from, T, f, 3), 16);
}

/* --- faults ---------------------------------------------------------------*/

/* A response, the fault it causes, and the least and most seconds until the
 * next request. */
static const struct {
    enum grid_mode mode;
    enum bj_carbon_fault fault;
    uint64_t least, most;
} faults[] = {
    {GRID_GOOD, BJ_CARBON_OK, 1800, 1890},
    {GRID_LATE, BJ_CARBON_EMPTY, 1800, 1890},
    {GRID_EMPTY, BJ_CARBON_EMPTY, 1800, 1890},
    {GRID_NULL, BJ_CARBON_EMPTY, 1800, 1890},
    {GRID_ZERO, BJ_CARBON_EMPTY, 1800, 1890},
    {GRID_HTML, BJ_CARBON_CONTENT, 60, 75},
    {GRID_CUT, BJ_CARBON_CONTENT, 60, 75},
    {GRID_DOWN, BJ_CARBON_CONNECT, 60, 75},
    {GRID_TLS, BJ_CARBON_TLS, 60, 75},
    {GRID_HANG, BJ_CARBON_TIMEOUT, 60, 75},
    {GRID_BROKEN, BJ_CARBON_STATUS, 60, 75},
    {GRID_BUSY, BJ_CARBON_LIMITED, 1800, 2250},
    {GRID_DENY, BJ_CARBON_DENIED, 900, 1125},
    {GRID_BIG, BJ_CARBON_CONTENT, 60, 75},
};

static void test_faults(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "provider=rte", NULL);
    for (size_t i = 0; i < COUNT(faults); i++) {
        start(r);
        r->grid.mode[GRID_RTE] = faults[i].mode;
        grid_advance(&r->grid, grid_settle(&r->grid, r->feed, NULL));
        uint64_t next = grid_settle(&r->grid, r->feed, &r->err);
        struct bj_carbon_feed_status s = status(r, 0);
        print_message("# %s: %s, %u s\n", bj_carbon_fault_name(s.fault),
                      r->err.msg, (unsigned)next);
        assert_int_equal(s.fault, faults[i].fault);
        assert_int_equal(s.success, s.fault == BJ_CARBON_OK);
        assert_int_equal(s.queries, 1);
        assert_int_equal(s.errors[s.fault], s.fault != BJ_CARBON_OK);
        assert_int_equal(r->err.code == 0, s.fault == BJ_CARBON_OK);
        assert_in_range(next, faults[i].least, faults[i].most + 1);
        if (faults[i].mode == GRID_LATE) /* it has yesterday's hour */
            assert_memory_equal(first(r), "rte profile ", 12);
        else
            assert_string_equal(first(r), s.success ? rte_now(r) : "none");
        stop(r);
    }
}

/* A fault is logged once; another fault, and the first one after a success, are
 * logged again. */
static void test_logged_once(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "provider=rte", NULL);
    start(r);
    static const struct {
        enum grid_mode mode;
        bool logged;
    } steps[] = {{GRID_DOWN, true},  {GRID_DOWN, false}, {GRID_DOWN, false},
                 {GRID_HANG, true},  {GRID_DOWN, true},  {GRID_GOOD, false},
                 {GRID_GOOD, false}, {GRID_DOWN, true}};
    grid_advance(&r->grid, grid_settle(&r->grid, r->feed, NULL));
    for (size_t i = 0; i < COUNT(steps); i++) {
        r->grid.mode[GRID_RTE] = steps[i].mode;
        uint64_t next = grid_settle(&r->grid, r->feed, &r->err);
        assert_int_equal(r->err.code != 0, steps[i].logged);
        if (steps[i].logged)
            assert_non_null(strstr(r->err.msg, "rte: "));
        grid_advance(&r->grid, next);
    }
    assert_int_equal(r->grid.value_requests[GRID_RTE], COUNT(steps));
}

/* The interval of retries is 1, 2, 4, ... minutes, at most an hour. */
static void test_back_off(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "provider=rte", NULL);
    start(r);
    r->grid.mode[GRID_RTE] = GRID_DOWN;
    grid_advance(&r->grid, grid_settle(&r->grid, r->feed, NULL));
    for (unsigned i = 0; i < 40; i++) {
        uint64_t want = i < 6 ? (uint64_t)MINUTE << i : HOUR;
        uint64_t next = grid_settle(&r->grid, r->feed, NULL);
        assert_in_range(next, want, want + want / 4 + 1);
        grid_advance(&r->grid, next);
    }
    assert_int_equal(r->grid.value_requests[GRID_RTE], 40);
    r->grid.mode[GRID_RTE] = GRID_GOOD;
    assert_in_range(grid_settle(&r->grid, r->feed, NULL), 1800, 1891);
    r->grid.mode[GRID_RTE] = GRID_DOWN;
    grid_advance(&r->grid, 1891);
    assert_in_range(grid_settle(&r->grid, r->feed, NULL), 60, 76);
}

/* Exporters that start at the same time send their requests at different
 * times. */
static void test_jitter(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "provider=rte", NULL);
    uint64_t seen[20];
    unsigned different = 0;
    for (uint64_t seed = 0; seed < COUNT(seen); seed++) {
        struct bj_carbon_net net = grid_net(&r->grid);
        assert_int_equal(
            bj_carbon_feed_new(&r->conf, &net, seed, &r->feed, NULL), 0);
        grid_advance(&r->grid, grid_settle(&r->grid, r->feed, NULL));
        seen[seed] = grid_settle(&r->grid, r->feed, NULL);
        different += seed > 0 && seen[seed] != seen[seed - 1];
        stop(r);
    }
    assert_in_range(different, 15, 19);
}

static void test_retry_after(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "provider=rte", NULL);
    start(r);
    r->grid.mode[GRID_RTE] = GRID_BUSY;
    r->grid.retry_after_usec = 3ull * HOUR * 1000000;
    grid_advance(&r->grid, grid_settle(&r->grid, r->feed, NULL));
    assert_in_range(grid_settle(&r->grid, r->feed, NULL), 3 * HOUR,
                    3 * HOUR + 3 * HOUR / 4 + 1);
    r->grid.retry_after_usec = 5000000; /* less than the normal wait */
    grid_advance(&r->grid, 4 * HOUR);
    assert_in_range(grid_settle(&r->grid, r->feed, NULL), 1800, 2251);
}

static void test_abort(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "provider=rte", NULL);
    start(r);
    bj_carbon_feed_abort(r->feed);
    r->grid.mode[GRID_RTE] = GRID_ABORT;
    grid_advance(&r->grid, grid_settle(&r->grid, r->feed, NULL));
    assert_int_equal(grid_settle(&r->grid, r->feed, &r->err), 1);
    assert_int_equal(r->err.code, 0);
    assert_int_equal(status(r, 0).queries, 0);
}

/* No request is sent, and no profile is used, before the clock is set. */
static void test_clock_not_set(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(NULL, "provider=rte", NULL);
    r->grid.wall_sec = 600;
    start(r);
    grid_run(&r->grid, r->feed, HOUR);
    assert_int_equal(r->grid.value_requests[GRID_RTE], 0);
    assert_string_equal(first(r), "none");
    r->grid.wall_sec = T;
    grid_run(&r->grid, r->feed, 20);
    assert_string_equal(first(r), rte_now(r));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_static_only),
        TEST(test_constant_first),
        TEST(test_nothing),
        TEST(test_fallbacks),
        TEST(test_order_of_providers),
        TEST(test_marginal),
        TEST(test_history),
        TEST(test_faults),
        TEST(test_logged_once),
        TEST(test_back_off),
        TEST(test_jitter),
        TEST(test_retry_after),
        TEST(test_abort),
        TEST(test_clock_not_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
