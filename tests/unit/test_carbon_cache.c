/* The cache of emission factors: there and back, restarts, damage. */
#include "carbon/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define T 1795186800u /* 2026-11-20T15:00:00Z */
enum { DAY = 86400 };

static char dir[] = "/tmp/bj-carbon-cache.XXXXXX", path[64], aside[64];
static struct bj_carbon_plan plan;

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/cache", dir);
    snprintf(aside, sizeof(aside), "%s/cache.bad", dir);
    plan.n = 3;
    plan.v[0].provider = bj_carbon_provider(BJ_SLICE("rte"));
    snprintf(plan.v[0].zone, BJ_ZONE_MAX, "FR");
    plan.v[1].provider = bj_carbon_provider(BJ_SLICE("electricitymaps"));
    snprintf(plan.v[1].zone, BJ_ZONE_MAX, "DE");
    plan.v[2].provider = bj_carbon_provider(BJ_SLICE("table"));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    unlink(aside);
    return rmdir(dir);
}

static void drop(struct bj_carbon_cached *s)
{
    for (size_t i = 0; i < BJ_CARBON_SLOTS; i++)
        bj_points_free(&s[i].points);
    memset(s, 0, BJ_CARBON_SLOTS * sizeof(*s));
}

static void write_file(const char *text, mode_t mode)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static const struct bj_carbon_point sample[] = {
    {T - 9 * DAY, T, 900, 10, BJ_FACTOR_DIRECT, false}, /* too old */
    {T - 8 * DAY, T, 900, 11, BJ_FACTOR_DIRECT, true},
    {T, T, 900, BJ_FACTOR_MG_MAX, BJ_FACTOR_LIFECYCLE, false},
    {T + 60, T, 900, 13, BJ_FACTOR_DIRECT, false}, /* of the future */
};

static void fill(struct bj_carbon_cached *s)
{
    for (size_t i = 0; i < COUNT(sample); i++)
        assert_int_equal(bj_points_add(&s[0].points, sample[i]), 0);
    s[0].queried_sec = T - 5;
    s[0].not_before = T + 600;
}

static void test_there_and_back(void **state)
{
    (void)state;
    struct bj_carbon_cached a[BJ_CARBON_SLOTS] = {0}, b[BJ_CARBON_SLOTS] = {0};
    struct stat st;
    fill(a);
    assert_int_equal(bj_cache_save(path, &plan, a, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(bj_cache_load(path, &plan, T, b, NULL), 0);
    assert_int_equal(b[0].points.n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(b[0].points.v[i].start_sec, sample[i + 1].start_sec);
        assert_int_equal(b[0].points.v[i].fetched_sec, T);
        assert_int_equal(b[0].points.v[i].mg_per_kwh, sample[i + 1].mg_per_kwh);
        assert_int_equal(b[0].points.v[i].kind, sample[i + 1].kind);
        assert_int_equal(b[0].points.v[i].estimated, sample[i + 1].estimated);
    }
    assert_int_equal(b[0].queried_sec, T - 5);
    assert_int_equal(b[0].not_before, T + 600);
    assert_int_equal(b[1].points.n, 0);
    assert_int_equal(b[2].points.n, 0);
    drop(a);
    drop(b);
}

/* Another zone of the same provider is another series, another place in the
 * list is not. */
static void test_other_plan(void **state)
{
    (void)state;
    struct bj_carbon_cached a[BJ_CARBON_SLOTS] = {0}, b[BJ_CARBON_SLOTS] = {0};
    struct bj_carbon_plan other = plan;
    fill(a);
    bj_points_add(&a[1].points, sample[2]);
    assert_int_equal(bj_cache_save(path, &plan, a, NULL), 0);
    other.v[0] = plan.v[1];
    other.v[1] = plan.v[0];
    snprintf(other.v[0].zone, BJ_ZONE_MAX, "FR");
    assert_int_equal(bj_cache_load(path, &other, T, b, NULL), 0);
    assert_int_equal(b[0].points.n, 0);
    assert_int_equal(b[1].points.n, 2);
    drop(a);
    drop(b);
}

/* A clock that was ahead when the file was written silences nobody. */
static void test_clock_was_ahead(void **state)
{
    (void)state;
    struct bj_carbon_cached a[BJ_CARBON_SLOTS] = {0}, b[BJ_CARBON_SLOTS] = {0};
    fill(a);
    assert_int_equal(bj_cache_save(path, &plan, a, NULL), 0);
    assert_int_equal(bj_cache_load(path, &plan, T - 30 * DAY, b, NULL), 0);
    assert_int_equal(b[0].points.n, 0);
    assert_int_equal(b[0].queried_sec, 0);
    assert_int_equal(b[0].not_before, 0);
    drop(a);
    drop(b);
}

#define HEAD "{\"format\":\"batchjob emissions 1\",\"series\":["
#define POINTS(p)                                                              \
    HEAD "{\"provider\":\"rte\",\"zone\":\"FR\",\"points\":[" p "]}]}"

static const char *const damaged[] = {
    "",
    "{",
    "null",
    "{}",
    "{\"format\":\"batchjob emissions 2\",\"series\":[]}",
    "{\"format\":\"batchjob emissions 1\"}",
    HEAD "5]}",
    HEAD "{\"provider\":\"rte\",\"zone\":\"FR\"}]}",
    POINTS("5"),
    POINTS("[]"),
    POINTS("[1795186800,900,0,0,0,1]"),
    POINTS("[1795186800,900,-5,0,0,1]"),
    POINTS("[1795186800,900,5000001,0,0,1]"),
    POINTS("[1795186800,900,5,3,0,1]"),
    POINTS("[1795186800,900,5,0,2,1]"),
    POINTS("[1795186800,0,5,0,0,1]"),
    POINTS("[0,900,5,0,0,1]"),
    POINTS("[18446744073709551615,900,5,0,0,1]"),
    POINTS("[1795186800,900,5,0,0]"),
    POINTS("[1795186800,900,5,0,0,1,1]"),
    POINTS("[\"1795186800\",900,5,0,0,1]"),
    POINTS("[1795186800,900,5,0,0,1]") "x",
    POINTS("[[[[[[[[[[[[]]]]]]]]]]]]"),
};

/* Refused with a message, kept aside, nothing half-way taken. */
static void test_damaged(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(damaged); i++) {
        struct bj_carbon_cached s[BJ_CARBON_SLOTS] = {0};
        struct bj_err err = {0};
        write_file(damaged[i], 0644);
        int r = bj_cache_load(path, &plan, T, s, &err);
        print_message("# %s\n", err.msg);
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(err.msg, "damaged, kept as"));
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(access(aside, F_OK), 0);
        assert_null(s[0].points.v);
        assert_int_equal(bj_cache_load(path, &plan, T, s, &err), 0);
    }
}

/* The message says where it is; a time to come becomes now. */
static void test_words_and_clock(void **state)
{
    (void)state;
    const struct bj_slice bad =
        BJ_SLICE(POINTS("[1795186800,900,5,0,0,1],[1,2]"));
    const struct bj_slice ahead =
        BJ_SLICE(POINTS("[1795186800,900,5,0,0,1795186801]"));
    struct bj_carbon_cached s[BJ_CARBON_SLOTS] = {0};
    struct bj_err err = {0};
    assert_int_equal(bj_cache_parse(bad, &plan, T, s, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "series of rte, zone 'FR': point 2: exp"));
    drop(s);
    assert_int_equal(bj_cache_parse(ahead, &plan, T, s, &err), 0);
    assert_int_equal(s[0].points.v[0].fetched_sec, T);
    drop(s);
}

/* Every piece of a good file that is cut off. */
static void test_cut(void **state)
{
    (void)state;
    static const char text[] = POINTS("[1795186800,900,5,0,0,1]");
    for (size_t n = 0; n < sizeof(text); n++) {
        struct bj_carbon_cached s[BJ_CARBON_SLOTS] = {0};
        int r = bj_cache_parse((struct bj_slice){text, n}, &plan, T, s, NULL);
        assert_int_equal(r, n < sizeof(text) - 1 ? -EINVAL : 0);
        drop(s);
    }
}

/* What others can write decides nothing here. */
static void test_not_trusted(void **state)
{
    (void)state;
    struct bj_carbon_cached s[BJ_CARBON_SLOTS] = {0};
    struct bj_err err = {0};
    write_file(POINTS("[1795186800,900,5,0,0,1]"), 0666);
    assert_int_equal(bj_cache_load(path, &plan, T, s, &err), -EPERM);
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    err = (struct bj_err){0};
    assert_int_equal(bj_cache_load(path, &plan, T, s, &err), 0);
    assert_int_equal(err.code, 0); /* nor is it worth a line in the log */
}

static void test_no_place(void **state)
{
    (void)state;
    struct bj_carbon_cached s[BJ_CARBON_SLOTS] = {0};
    struct bj_err err = {0};
    assert_true(bj_cache_save("/nowhere/cache", &plan, s, &err) < 0);
    assert_non_null(strstr(err.msg, "/nowhere/cache"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_other_plan),
        cmocka_unit_test(test_clock_was_ahead),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_words_and_clock),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_not_trusted),
        cmocka_unit_test(test_no_place),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
