/* Fields of a path are stored and returned unchanged. */
#include "core/find/ident.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const struct bj_slice f[BJ_ID_FIELDS])
{
    struct bj_slice back[BJ_ID_FIELDS];
    struct bj_path_fields *t = bj_path_fields_new(f);
    assert_non_null(t);
    bj_path_fields_get(t, back);
    for (int i = 0; i < BJ_ID_FIELDS; i++) {
        assert_int_equal(back[i].n, f[i].n);
        if (f[i].n > 0)
            assert_memory_equal(back[i].p, f[i].p, f[i].n);
    }
    free(t);
}

static void test_some_fields(void **state)
{
    (void)state;
    struct bj_slice f[BJ_ID_FIELDS] = {{0}};
    check(f);
    f[BJ_ID_JOBID] = BJ_SLICE("4711");
    f[BJ_ID_UID] = BJ_SLICE("1000");
    f[BJ_ID_SYSTEM] = BJ_SLICE("slurm");
    check(f);
}

static void test_all_fields(void **state)
{
    (void)state;
    char text[BJ_ID_FIELDS][200];
    struct bj_slice f[BJ_ID_FIELDS];
    for (int i = 0; i < BJ_ID_FIELDS; i++) {
        memset(text[i], 'a' + i, sizeof(text[i]));
        f[i] = (struct bj_slice){text[i], sizeof(text[i]) - (size_t)i};
    }
    check(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some_fields),
        cmocka_unit_test(test_all_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
