/* The feed of emission factors: several threads read factors while one steps
 * the feed, and allocations fail. */
#include "carbon/factor_file.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/fakegrid.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define T 1795186800u /* 2026-11-20T15:00:00Z */
enum { HOUR = 3600, DAY = 86400, READERS = 3 };

/* --- threads --------------------------------------------------------------*/

struct shared {
    struct bj_carbon_feed *feed;
    atomic_bool stop;
    atomic_uint reads;
};

static void *read_factors(void *arg)
{
    struct shared *s = arg;
    static const uint64_t at = T + 12 * HOUR;
    struct bj_factor f[BJ_CARBON_FEED_FACTORS], history[64];
    struct bj_carbon_feed_status status[BJ_CARBON_SLOTS];
    while (!atomic_load(&s->stop)) {
        size_t n =
            bj_carbon_feed_factors(s->feed, at, f, BJ_CARBON_FEED_FACTORS);
        n += bj_carbon_feed_history(s->feed, T, T + DAY, history, 64);
        n += bj_carbon_feed_status(s->feed, at, status, BJ_CARBON_SLOTS);
        atomic_fetch_add(&s->reads, n > 0);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct grid g = {.boot_usec = 77000000, .wall_sec = T};
    struct bj_carbon_net net = grid_net(&g);
    struct bj_carbon_conf conf =
        grid_conf(NULL, "provider=rte", "provider=neso", "provider=table",
                  "country=FR", NULL);
    struct shared s = {0};
    assert_int_equal(bj_carbon_feed_new(&conf, &net, 1, &s.feed, NULL), 0);
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_factors, &s),
                         0);
    for (int i = 0; i < 20; i++) {
        g.mode[GRID_RTE] = i % 4 == 3 ? GRID_DOWN : GRID_GOOD;
        grid_run(&g, s.feed, 3 * HOUR);
    }
    bj_carbon_feed_abort(s.feed);
    while (atomic_load(&s.reads) < 10)
        ;
    atomic_store(&s.stop, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    bj_carbon_feed_free(s.feed);
    grid_conf_free(&conf);
}

/* --- memory ---------------------------------------------------------------*/

static int success_or_enomem(int r)
{
    assert_true(r == 0 || r == -ENOMEM);
    return r;
}

static int parse(void *arg)
{
    (void)arg;
    static struct bj_carbon_reply reply;
    static const char text[] =
        "{\"results\":[{\"taux_co2\":31,\"date_heure\":\"2026-11-20T15:00:00Z\""
        "}]}";
    return success_or_enomem(
        bj_carbon_provider(BJ_SLICE("rte"))
            ->parse(bj_slice_str(text), "FR", &reply, NULL));
}

static int read_factor_file(void *arg)
{
    struct bj_points p = {0};
    struct bj_factor_rows want = {"FR", 1};
    int r = arg ? bj_factor_file_json(
                      BJ_SLICE("{\"factors\":[{\"zone\":\"FR\",\"year\":"
                               "2026,\"kind\":\"marginal\","
                               "\"g_per_kwh\":5}]}"),
                      "f", &want, &p, NULL)
                : bj_factor_file_csv(
                      BJ_SLICE("zone,kind,year,g_per_kwh\nFR,marginal,"
                               "2026,5\n"),
                      "f", &want, &p, NULL);
    assert_int_equal(p.n, r == 0);
    bj_points_free(&p);
    return success_or_enomem(r);
}

static int new_feed(void *arg)
{
    struct bj_carbon_feed *feed = NULL;
    struct bj_carbon_net net = {NULL, NULL};
    int r = bj_carbon_feed_new(arg, &net, 1, &feed, NULL);
    assert_int_equal(feed != NULL, r == 0);
    bj_carbon_feed_free(feed);
    return success_or_enomem(r);
}

static void test_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    struct bj_carbon_conf conf = grid_conf(NULL, "provider=rte", NULL);
    static int json = 1;
    assert_true(bj_fail_each(parse, NULL) > 0);
    assert_true(bj_fail_each(read_factor_file, NULL) > 0);
    assert_true(bj_fail_each(read_factor_file, &json) > 0);
    assert_true(bj_fail_each(new_feed, &conf) > 0);
    grid_conf_free(&conf);
}

/* A request that runs out of memory is a fault, and the next request works. */
static void test_request_without_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    struct grid g = {.boot_usec = 77000000, .wall_sec = T};
    struct bj_carbon_net net = grid_net(&g);
    struct bj_carbon_conf conf = grid_conf(NULL, "provider=rte", NULL);
    struct bj_carbon_feed *feed;
    struct bj_carbon_feed_status s;
    bool ok = false;
    assert_int_equal(bj_carbon_feed_new(&conf, &net, 1, &feed, NULL), 0);
    grid_advance(&g, grid_settle(&g, feed, NULL));
    for (unsigned long n = 0; !ok; n++) {
        bj_fail_after(n);
        uint64_t next = grid_settle(&g, feed, NULL);
        bj_fail_stop();
        assert_int_equal(bj_carbon_feed_status(feed, g.wall_sec, &s, 1), 1);
        ok = s.success;
        assert_true(ok || s.fault == BJ_CARBON_LOCAL ||
                    s.fault == BJ_CARBON_CONTENT); /* failed in the fake */
        grid_advance(&g, next);
    }
    bj_carbon_feed_free(feed);
    grid_conf_free(&conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_request_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
