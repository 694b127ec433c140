/* Buffers: growth, failure, and numbers compared with those of the C
 * library. */
#include "base/buf.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Let the sanitizer's malloc fail as the real one does. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void assert_text(const struct bj_buf *b, const char *want)
{
    assert_false(b->failed);
    assert_int_equal(b->len, strlen(want));
    assert_memory_equal(b->p, want, b->len);
}

static void texts(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    bj_buf_put(&b, NULL, 0);
    assert_int_equal(b.len, 0);
    bj_buf_str(&b, "");
    bj_buf_slice(&b, (struct bj_slice){NULL, 0});
    bj_buf_slice(&b, BJ_SLICE("ab"));
    bj_buf_str(&b, "cd");
    bj_buf_printf(&b, "%s", "");
    bj_buf_printf(&b, "%d%c", 12, 'x');
    assert_text(&b, "abcd12x");
    bj_buf_free(&b);
    assert_null(b.p);
    bj_buf_free(&b);
}

/* bj_buf_printf of texts of all lengths, at all positions of the buffer. */
static void printing_across_the_end(void **state)
{
    (void)state;
    for (int have = 0; have < 600; have += 13)
        for (int more = 0; more < 600; more++) {
            struct bj_buf b = {0};
            bj_buf_printf(&b, "%*s", have, "");
            bj_buf_printf(&b, "%0*d", more, 0);
            size_t want = (size_t)have + (more ? (size_t)more : 1);
            assert_int_equal(b.len, want);
            assert_int_equal(b.p[b.len - 1], '0');
            bj_buf_free(&b);
        }
}

static void growing(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    for (unsigned i = 0; i < 100000; i++)
        bj_buf_put(&b, &(char){(char)(i % 251)}, 1);
    assert_int_equal(b.len, 100000);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal((unsigned char)b.p[i], i % 251);
    assert_true(b.cap < 4 * b.len);
    bj_buf_free(&b);
}

/* Trimming frees much unused memory; the text stays and may grow again. */
static void trimming(void **state)
{
    enum { SMALL = 1000, LARGE = 1 << 20 };
    struct bj_buf b = {0};
    (void)state;
    bj_buf_trim(&b);
    assert_null(b.p);
    bj_buf_str(&b, "text");
    assert_true(bj_buf_grow(&b, SMALL));
    size_t cap = b.cap;
    bj_buf_trim(&b);
    assert_int_equal(b.cap, cap);
    assert_true(bj_buf_grow(&b, LARGE));
    bj_buf_trim(&b);
    assert_int_equal(b.cap, b.len);
    assert_text(&b, "text");
    bj_buf_str(&b, " and more");
    assert_text(&b, "text and more");
    /* An empty buffer keeps its memory. */
    b.len = 0;
    assert_true(bj_buf_grow(&b, LARGE));
    cap = b.cap;
    bj_buf_trim(&b);
    assert_int_equal(b.cap, cap);
    bj_buf_free(&b);
}

/* After a failure no text is added, even if it would fit, until it is reset. */
static void failure_is_final(void **state)
{
    (void)state;
    const size_t impossible[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2,
                                 SIZE_MAX / 4};
    for (size_t i = 0; i < COUNT(impossible); i++) {
        struct bj_buf b = {0};
        bj_buf_str(&b, "abc");
        assert_false(bj_buf_grow(&b, impossible[i]));
        assert_true(b.failed);
        bj_buf_str(&b, "d");
        bj_buf_u64(&b, 1);
        bj_buf_fixed(&b, 1500000, 6);
        bj_buf_printf(&b, "%d", 1);
        bj_buf_label(&b, BJ_SLICE("\"x"));
        assert_true(b.failed);
        assert_int_equal(b.len, 3);
        assert_memory_equal(b.p, "abc", 3);
        bj_buf_reset(&b);
        bj_buf_printf(&b, "%d%100s", 1, "x");
        assert_false(b.failed);
        assert_int_equal(b.len, 101);
        bj_buf_free(&b);
    }
}

/* Powers of ten and two, their neighbours, and random numbers of all
 * lengths. */
static size_t make_numbers(uint64_t *v, size_t cap)
{
    size_t n = 0;
    for (uint64_t p = 1; n < 60; p *= 10) {
        v[n++] = p - 1;
        v[n++] = p;
        v[n++] = p + 1;
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        v[n++] = (UINT64_C(1) << bit) - 1;
        v[n++] = UINT64_C(1) << bit;
    }
    v[n++] = UINT64_MAX;
    uint64_t x = 88172645463325252u;
    for (; n < cap; n++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        v[n] = x >> (n % 64);
    }
    return n;
}

static void decimal(void **state)
{
    (void)state;
    static uint64_t v[20000];
    size_t n = make_numbers(v, COUNT(v));
    struct bj_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        char want[32], back[20];
        int len = snprintf(want, sizeof(want), "%" PRIu64, v[i]);
        b.len = 0;
        bj_buf_u64(&b, v[i]);
        assert_text(&b, want);
        const char *first = bj_u64_backwards(back + sizeof(back), v[i]);
        assert_int_equal(back + sizeof(back) - first, len);
        assert_memory_equal(first, want, (size_t)len);
    }
    bj_buf_free(&b);
}

/* The expected text of bj_buf_fixed, made with snprintf. */
static void point(char *text, uint64_t v, unsigned digits)
{
    char plain[64];
    int n = snprintf(plain, sizeof(plain), "%0*" PRIu64, (int)digits + 1, v);
    int whole = n - (int)digits;
    snprintf(text, 64, "%.*s.%s", whole, plain, plain + whole);
    size_t len = strlen(text);
    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    text[len] = '\0';
}

static void fixed_point(void **state)
{
    (void)state;
    static uint64_t v[6000];
    size_t n = make_numbers(v, COUNT(v));
    struct bj_buf b = {0};
    for (unsigned digits = 0; digits <= 18; digits++)
        for (size_t i = 0; i < n; i++) {
            char want[64];
            point(want, v[i], digits);
            b.len = 0;
            bj_buf_fixed(&b, v[i], digits);
            assert_text(&b, want);
        }
    bj_buf_free(&b);
}

static void fixed_point_by_hand(void **state)
{
    static const struct {
        uint64_t v;
        unsigned digits;
        const char *want;
    } cases[] = {
        {0, 6, "0"},
        {1, 6, "0.000001"},
        {1500000, 6, "1.5"},
        {2000000, 6, "2"},
        {120, 3, "0.12"},
        {5, 0, "5"},
        {UINT64_MAX, 6, "18446744073709.551615"},
        {UINT64_MAX, 18, "18.446744073709551615"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_buf b = {0};
        bj_buf_fixed(&b, cases[i].v, cases[i].digits);
        assert_text(&b, cases[i].want);
        bj_buf_free(&b);
    }
}

/* Numbers grow a full buffer. */
static void numbers_at_the_end(void **state)
{
    (void)state;
    for (size_t gap = 0; gap < 50; gap++) {
        struct bj_buf b = {0};
        assert_true(bj_buf_grow(&b, 256));
        while (b.cap - b.len > gap)
            bj_buf_put(&b, "x", 1);
        size_t from = b.len;
        bj_buf_fixed(&b, UINT64_MAX, 18);
        bj_buf_u64(&b, UINT64_MAX);
        assert_false(b.failed);
        assert_int_equal(b.len - from, 41);
        assert_memory_equal(b.p + from,
                            "18.44674407370955161518446744073709551615", 41);
        bj_buf_free(&b);
    }
}

static void labels(void **state)
{
    static const struct {
        struct bj_slice in;
        const char *want;
    } cases[] = {
        {{"", 0}, ""},
        {{NULL, 0}, ""},
        {{"plain", 5}, "plain"},
        {{"\"", 1}, "\\\""},
        {{"\\", 1}, "\\\\"},
        {{"\n", 1}, "\\n"},
        {{"a\"b\\c\nd", 7}, "a\\\"b\\\\c\\nd"},
        {{"\\n", 2}, "\\\\n"},
        {{"\xc3\xa9", 2}, "\xc3\xa9"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_buf b = {0};
        bj_buf_label(&b, cases[i].in);
        assert_text(&b, cases[i].want);
        bj_buf_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(printing_across_the_end),
        cmocka_unit_test(growing),
        cmocka_unit_test(trimming),
        cmocka_unit_test(failure_is_final),
        cmocka_unit_test(decimal),
        cmocka_unit_test(fixed_point),
        cmocka_unit_test(fixed_point_by_hand),
        cmocka_unit_test(numbers_at_the_end),
        cmocka_unit_test(labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
