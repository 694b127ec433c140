/* The feed with random responses of simulated providers, clock changes and
 * restarts: a factor is never 0, is a value of its provider, is not called live
 * when it is old, and is never average instead of marginal or vice versa. */
#include "carbon/feed.h"

#include "tests/unit/lib/fakegrid.h"
#include "tests/unit/lib/rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define T 1795186800u /* 2026-11-20T15:00:00Z */
enum { HOUR = 3600, DAY = 86400, EVENTS = 80 };

struct world {
    struct grid grid;
    struct bj_carbon_conf conf;
    struct bj_carbon_feed *feed;
    uint64_t random;
    unsigned live, profile, year; /* counts of factors by origin */
};

static uint64_t draw(struct world *w, uint64_t n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (w->random >> 33) % n;
}

static void restart(struct world *w)
{
    struct bj_carbon_net net = grid_net(&w->grid);
    bj_carbon_feed_free(w->feed);
    assert_int_equal(
        bj_carbon_feed_new(&w->conf, &net, draw(w, 1000), &w->feed, NULL), 0);
}

static int grid_of(const char *provider)
{
    static const char *const names[GRIDS] = {"rte", "electricitymaps", "neso",
                                             "watttime"};
    for (int i = 0; i < GRIDS; i++)
        if (strcmp(provider, names[i]) == 0)
            return i;
    return -1;
}

static void check(const struct bj_factor *f, uint64_t now)
{
    assert_in_range(f->mg_per_kwh, 1, BJ_FACTOR_MG_MAX);
    int g = grid_of(f->provider);
    assert_int_equal(f->kind == BJ_FACTOR_MARGINAL, g == GRID_WATTTIME);
    if (g < 0) {
        assert_string_equal(f->provider, "table");
        assert_int_equal(f->from, BJ_FACTOR_YEAR);
        assert_int_equal(f->mg_per_kwh, 56039);
        return;
    }
    if (f->from == BJ_FACTOR_LIVE) {
        assert_true(f->start_sec <= now && now - f->start_sec < 2 * HOUR);
        assert_int_equal(f->start_sec % grid_step((enum grid_provider)g), 0);
        assert_int_equal(f->mg_per_kwh,
                         grid_mg((enum grid_provider)g, f->start_sec));
        return;
    }
    assert_int_equal(f->from, BJ_FACTOR_PROFILE);
    assert_true(f->estimated);
    assert_int_equal(f->start_sec, now - now % HOUR);
}

/* Count the origins, all of which must occur. */
static void tally(struct world *w, enum bj_factor_from from)
{
    w->live += from == BJ_FACTOR_LIVE;
    w->profile += from == BJ_FACTOR_PROFILE;
    w->year += from == BJ_FACTOR_YEAR;
}

static void check_all(struct world *w)
{
    struct bj_factor f[BJ_CARBON_FEED_FACTORS];
    size_t n = bj_carbon_feed_factors(w->feed, w->grid.wall_sec, f,
                                      BJ_CARBON_FEED_FACTORS);
    for (size_t i = 0; i < n; i++) {
        check(&f[i], w->grid.wall_sec);
        tally(w, f[i].from);
    }
    assert_true(n > 0); /* the table at least */
    struct bj_carbon_feed_status s[BJ_CARBON_SLOTS];
    size_t slots =
        bj_carbon_feed_status(w->feed, w->grid.wall_sec, s, BJ_CARBON_SLOTS);
    for (size_t i = 0; i < slots; i++)
        assert_int_equal(s[i].errors[BJ_CARBON_OK], 0);
}

/* A random event; in most cases, only time passes. */
static void event(struct world *w)
{
    switch (draw(w, 12)) {
    case 0:
        w->grid.mode[draw(w, GRIDS)] = (enum grid_mode)draw(w, GRID_MODES);
        break;
    case 1:
        w->grid.mode[draw(w, GRIDS)] = GRID_GOOD;
        break;
    case 2:
        w->grid.retry_after_usec = draw(w, 4ull * HOUR) * 1000000;
        break;
    case 3:
        restart(w);
        break;
    case 4:
        w->grid.tokens_expired = true;
        break;
    case 5:
        if (draw(w, 6) == 0) /* the clock is set */
            w->grid.wall_sec += draw(w, 10ull * DAY) - 5ull * DAY;
        break;
    case 6:
        grid_run(&w->grid, w->feed, draw(w, 2ull * DAY));
        break;
    default:
        grid_run(&w->grid, w->feed, draw(w, 2ull * HOUR));
    }
}

static void run_world(uint64_t seed, const char *token, struct world *sum)
{
    struct world w = {.grid = {.boot_usec = 5000000, .wall_sec = T},
                      .random = seed};
    w.conf = grid_conf(token, "provider=neso", "provider=watttime",
                       "provider=rte", "provider=table",
                       "provider=electricitymaps", "country=FR", NULL);
    restart(&w);
    for (int i = 0; i < EVENTS; i++) {
        event(&w);
        check_all(&w);
    }
    sum->live += w.live;
    sum->profile += w.profile;
    sum->year += w.year;
    bj_carbon_feed_free(w.feed);
    grid_conf_free(&w.conf);
}

static void test_worlds(void **state)
{
    (void)state;
    char token[] = "/tmp/bj-carbon-random.XXXXXX";
    struct world sum = {0};
    int fd = mkstemp(token);
    assert_int_equal(write(fd, "user:password", 13), 13);
    close(fd);
    /* Seed 7 alone gives all origins. */
    const unsigned first = bj_rounds(1, 7), least = 40;
    for (uint64_t seed = first; seed <= 7; seed++) {
        print_message("# world %u\n", (unsigned)seed);
        run_world(seed, token, &sum);
    }
    print_message("# live %u, profile %u, year %u\n", sum.live, sum.profile,
                  sum.year);
    /* else the test covers too little */
    assert_true(sum.live > least);
    assert_true(sum.profile > least);
    assert_true(sum.year > least);
    unlink(token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_worlds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
