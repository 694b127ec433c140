#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Test vectors of draft-eastlake-fnv. */
static void vectors(void **state)
{
    static const struct {
        struct bj_slice text;
        uint64_t hash;
    } want[] = {
        {{"", 0}, 0xcbf29ce484222325},
        {{"a", 1}, 0xaf63dc4c8601ec8c},
        {{"foobar", 6}, 0x85944171f73967e8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_true(bj_hash(BJ_HASH, want[i].text) == want[i].hash);
    assert_true(bj_hash(bj_hash(BJ_HASH, BJ_SLICE("foo")), BJ_SLICE("bar")) ==
                want[2].hash);
}

/* A unit beyond a byte has a hash that no byte has. */
static void units(void **state)
{
    (void)state;
    const uint64_t h = bj_hash_unit(BJ_HASH, 0x100);
    for (unsigned c = 0; c < 256; c++)
        assert_true(bj_hash_unit(BJ_HASH, c) != h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors),
                                       cmocka_unit_test(units)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
