/* Arenas: allocations are zeroed, aligned, do not overlap, and keep their
 * content. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* Let the sanitizer's malloc fail as the real one does. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void pieces_are_apart_aligned_and_zero(void **state)
{
    (void)state;
    enum { N = 3000 };
    struct bj_arena a = {0};
    static unsigned char *p[N];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) {
            size_t size = i * 7 % 101;
            p[i] = bj_arena_alloc(&a, size);
            assert_non_null(p[i]);
            assert_int_equal((uintptr_t)p[i] % 16, 0);
            for (size_t k = 0; k < size; k++)
                assert_int_equal(p[i][k], 0);
            memset(p[i], (int)(i % 255 + 1), size);
        }
        /* No allocation overlaps another one. */
        for (size_t i = 0; i < N; i++)
            for (size_t k = 0; k < i * 7 % 101; k++)
                assert_int_equal(p[i][k], i % 255 + 1);
        assert_true(a.used >= N * 50);
        bj_arena_reset(&a);
        assert_int_equal(a.used, 0);
    }
    assert_int_equal(a.failed, 0);
    bj_arena_free(&a);
    assert_null(a.blocks);
    bj_arena_free(&a);
}

static void sizes_at_the_ends(void **state)
{
    (void)state;
    struct bj_arena a = {0};
    assert_non_null(bj_arena_alloc(&a, 0));
    assert_non_null(bj_arena_alloc(&a, 1));
    char *big = bj_arena_alloc(&a, 1000000);
    assert_non_null(big);
    memset(big, 1, 1000000);
    assert_int_equal(a.failed, 0);
    const size_t impossible[] = {SIZE_MAX,        SIZE_MAX - 1,  SIZE_MAX - 15,
                                 SIZE_MAX - 16,   SIZE_MAX - 17, SIZE_MAX - 40,
                                 SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
        a.failed = 0;
        assert_null(bj_arena_alloc(&a, impossible[i]));
        assert_int_equal(a.failed, 1);
    }
    assert_non_null(bj_arena_alloc(&a, 5));
    assert_int_equal(a.failed, 1); /* the failure is remembered */
    bj_arena_reset(&a);
    assert_int_equal(a.failed, 0);
    bj_arena_free(&a);
}

static void one_block_is_kept(void **state)
{
    (void)state;
    struct bj_arena a = {0};
    for (int i = 0; i < 100; i++)
        bj_arena_alloc(&a, 1000);
    size_t used = a.used;
    bj_arena_reset(&a);
    const void *kept = a.blocks;
    /* The kept block is large enough for the same allocations ... */
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 100; i++)
            bj_arena_alloc(&a, 1000);
        assert_int_equal(a.used, used);
        assert_ptr_equal(a.blocks, kept);
        bj_arena_reset(&a);
    }
    /* ... and is freed after a peak. */
    bj_arena_alloc(&a, 1 << 20);
    bj_arena_reset(&a);
    assert_true(a.end - a.next >= 1 << 20);
    bj_arena_alloc(&a, 10);
    bj_arena_reset(&a);
    assert_true(a.end - a.next < 1 << 16);
    bj_arena_free(&a);
    bj_arena_reset(&a); /* of an empty arena */
    assert_null(a.blocks);
}

static void copies(void **state)
{
    (void)state;
    struct bj_arena a = {0};
    struct bj_slice s = bj_arena_copy(&a, BJ_SLICE("a\0b"));
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.p, "a\0b", 4);
    s = bj_arena_copy(&a, (struct bj_slice){NULL, 0});
    assert_int_equal(s.n, 0);
    assert_string_equal(s.p, "");
    s = bj_arena_copy(&a, (struct bj_slice){"x", SIZE_MAX});
    assert_string_equal(s.p, "");
    assert_int_equal(a.failed, 1);
    bj_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_apart_aligned_and_zero),
        cmocka_unit_test(sizes_at_the_ends),
        cmocka_unit_test(one_block_is_kept),
        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
