/* Values that the API formats like the original API. */
#include "apiserver/compat/original.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

static void check(struct bj_buf *b, const char *want)
{
    bj_buf_put(b, "", 1);
    assert_string_equal(b->p, want);
    b->len = 0;
}

/* Values from the tests of the original API. */
static void test_uuid(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    bj_original_uuid(BJ_SLICE("1009248"), BJ_SLICE("1000"), BJ_SLICE("testacc"),
                     BJ_SLICE("compute-[0-2]"), &b);
    check(&b, "ac28caf5-ce6c-35f6-73fb-47d9d43f7780");
    bj_original_uuid(BJ_SLICE(" 1009248"), BJ_SLICE("1000 "),
                     BJ_SLICE("TestAcc"), BJ_SLICE("COMPUTE-[0-2]"), &b);
    check(&b, "ac28caf5-ce6c-35f6-73fb-47d9d43f7780");
    bj_buf_free(&b);
}

static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"compute-0", "compute-0"},
        {"compute-[0-2]", "compute-0|compute-1|compute-2"},
        {"n[08-10,12],x.y", "n08|n09|n10|n12|x\\.y"},
        {"None assigned", ""},
        {"n[3-1]", ""},
        {"", ""},
    };
    struct bj_buf b = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bj_original_hosts(bj_slice_str(cases[i].in), &b);
        check(&b, cases[i].want);
    }
    bj_original_hosts(BJ_SLICE("n[1-999999999]"), &b);
    assert_true(b.len < 64 * 1024);
    bj_buf_free(&b);
}

static void test_elapsed(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    bj_original_elapsed(0, &b);
    check(&b, "00:00:00");
    bj_original_elapsed(86399, &b);
    check(&b, "23:59:59");
    bj_original_elapsed(2 * 86400 + 3661, &b);
    check(&b, "2-01:01:01");
    bj_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uuid),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_elapsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
