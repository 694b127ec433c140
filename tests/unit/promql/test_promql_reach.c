/* The times of the samples that a query reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "promql/reach.h"

enum { MIN = 60000, HOUR = 60 * MIN };

/* The times that a query reads when it is evaluated from 1000 h to 1001 h. */
static struct bj_promql_span reach_of(const char *text)
{
    struct bj_arena arena = {0};
    const struct bj_promql_node *tree = NULL;
    struct bj_err err = {0};
    if (bj_promql_parse(bj_slice_str(text), NULL, &arena, &tree, &err))
        fail_msg("%s: %s", text, err.msg);
    struct bj_promql_span s = bj_promql_reach(
        tree, (struct bj_promql_span){1000ll * HOUR, 1001ll * HOUR});
    bj_arena_free(&arena);
    return s;
}

/* back: minutes before 1000 h; ahead: minutes after 1001 h. */
static void reaches(const char *text, int64_t back, int64_t ahead)
{
    struct bj_promql_span s = reach_of(text);
    if (s.from_ms != 1000ll * HOUR - back * MIN ||
        s.to_ms != 1001ll * HOUR + ahead * MIN)
        fail_msg("%s: %lld, %lld", text,
                 (long long)(1000ll * HOUR - s.from_ms) / MIN,
                 (long long)(s.to_ms - 1001ll * HOUR) / MIN);
}

static void each_selector_has_its_own_range(void **state)
{
    (void)state;
    reaches("m", 5, 0);
    reaches("rate(m[30m])", 30, 0);
    reaches("rate(m[1m])", 1, 0);
    reaches("m offset 1h", 65, -60);
    reaches("m offset -1h", -55, 60);
    reaches("rate(m[10m] offset 20m)", 30, -20);
    reaches("m + rate(n[1h]) + n offset 10m", 60, 0);
    reaches("topk(scalar(m offset 2h), n)", 125, 0);
    reaches("max_over_time(m[1h:1m])", 65, 0);
    reaches("max_over_time(rate(m[10m])[1h:1m] offset 30m)", 100, -30);
    reaches("max_over_time(max_over_time(m[1h:])[2h:] offset 1h)", 245, -60);
    reaches("rate(m[10m] smoothed)", 15, 5);
    reaches("info(rate(m[1m]))", 5, 0);
}

static void fixed_times_replace_those_of_the_query(void **state)
{
    (void)state;
    reaches("m @ start()", 5, -60);
    reaches("m @ end()", -55, 0);
    reaches("max_over_time(m[1h:] @ end())", 5, 0);
    reaches("max_over_time((m @ start() + n)[1h:] @ end())", 5, 0);
    reaches("max_over_time((m @ start())[1h:] @ end())", 5, -60);
    struct bj_promql_span s = reach_of("m @ 1000 offset 10s");
    assert_in_range(s.from_ms, 990000 - 5 * MIN - 1, 990000 - 5 * MIN);
    assert_in_range(s.to_ms, 990000, 990001);
    s = reach_of("m @ 1e300");
    assert_true(s.from_ms < -1000ll * HOUR && s.to_ms > 1ll << 60);
}

static void a_query_without_series_reads_nothing(void **state)
{
    (void)state;
    struct bj_promql_span s = reach_of("vector(1) + time()");
    assert_true(s.from_ms > s.to_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_selector_has_its_own_range),
        cmocka_unit_test(fixed_times_replace_those_of_the_query),
        cmocka_unit_test(a_query_without_series_reads_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
