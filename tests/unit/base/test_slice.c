/* Slices: cutting, trimming and numbers, also with malformed input. */
#include "base/slice.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define S(lit)                                                                 \
    {                                                                          \
        "" lit, sizeof(lit) - 1                                                \
    }

/* Copies the input to memory of exactly its size, so that the sanitizer sees
 * every byte read past the end. */
static struct bj_slice exact(struct bj_slice s)
{
    char *p = malloc(s.n ? s.n : 1);
    assert_non_null(p);
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    return (struct bj_slice){p, s.n};
}

static bool cut_comma(struct bj_slice *rest, struct bj_slice *ret)
{
    return bj_slice_field(rest, ',', ret);
}

/* want: the pieces, written "<a><b>". */
static const struct {
    bool (*cut)(struct bj_slice *rest, struct bj_slice *ret);
    struct bj_slice in;
    const char *want;
} cuts[] = {
    {bj_slice_line, S(""), ""},
    {bj_slice_line, S("\n"), "<>"},
    {bj_slice_line, S("a"), "<a>"},
    {bj_slice_line, S("a\n"), "<a>"},
    {bj_slice_line, S("a\n\nb"), "<a><><b>"},
    {bj_slice_line, S("a\r\nb\r\n"), "<a\r><b\r>"},
    {bj_slice_word, S(""), ""},
    {bj_slice_word, S(" \t\r\n "), ""},
    {bj_slice_word, S("a"), "<a>"},
    {bj_slice_word, S("  a \t b\nc\r"), "<a><b><c>"},
    {bj_slice_word, S("a\vb"), "<a\vb>"},
    {cut_comma, S(""), ""},
    {cut_comma, S(","), "<>"},
    {cut_comma, S(",,"), "<><>"},
    {cut_comma, S("a"), "<a>"},
    {cut_comma, S("a,,b,"), "<a><><b>"},
    {cut_comma, S(",a"), "<><a>"},
};

static void cutting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cuts); i++) {
        struct bj_slice in = exact(cuts[i].in), rest = in, piece;
        char got[100] = "";
        size_t n = 0;
        while (cuts[i].cut(&rest, &piece))
            n += (size_t)snprintf(got + n, sizeof(got) - n, "<%.*s>",
                                  (int)piece.n, piece.p);
        assert_string_equal(got, cuts[i].want);
        assert_int_equal(rest.n, 0);
        free((void *)(uintptr_t)in.p);
    }
    struct bj_slice none = {NULL, 0}, piece;
    assert_false(bj_slice_line(&none, &piece));
    assert_false(bj_slice_word(&none, &piece));
    assert_false(bj_slice_field(&none, ',', &piece));
}

static void trimming(void **state)
{
    static const struct {
        struct bj_slice in, want;
    } cases[] = {
        {S(""), S("")},           {S(" \n\t\r"), S("")},
        {S("a"), S("a")},         {S("  a b \n"), S("a b")},
        {S("\va\v"), S("\va\v")}, {S("a "), S("a")},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_slice in = exact(cases[i].in);
        assert_true(bj_slice_eq(bj_slice_trim(in), cases[i].want));
        free((void *)(uintptr_t)in.p);
    }
    struct bj_slice none = {NULL, 0};
    assert_int_equal(bj_slice_trim(none).n, 0);
}

static void comparing(void **state)
{
    (void)state;
    struct bj_slice none = {NULL, 0}, a = BJ_SLICE("a"), ab = BJ_SLICE("ab");
    assert_true(bj_slice_eq(none, BJ_SLICE("")));
    assert_false(bj_slice_eq(a, ab));
    assert_false(bj_slice_eq(a, BJ_SLICE("b")));
    assert_true(bj_slice_eq(BJ_SLICE("a\0b"), BJ_SLICE("a\0b")));
    assert_false(bj_slice_eq(BJ_SLICE("a\0b"), BJ_SLICE("a\0c")));
    assert_true(bj_slice_starts(ab, a));
    assert_true(bj_slice_starts(ab, ab));
    assert_true(bj_slice_starts(ab, none));
    assert_true(bj_slice_starts(none, none));
    assert_false(bj_slice_starts(a, ab));
    assert_int_equal(bj_slice_str(NULL).n, 0);
    assert_int_equal(bj_slice_str("abc").n, 3);
}

/* status: the result of bj_slice_u64; left: the text after the number that
 * bj_slice_number reads, NULL if it fails. */
static const struct {
    struct bj_slice in;
    int status;
    uint64_t value;
    const char *left;
} numbers[] = {
    {S("0"), 0, 0, ""},
    {S("7"), 0, 7, ""},
    {S("000000000000000000000000000012"), 0, 12, ""},
    {S("9999999999999999999"), 0, 9999999999999999999u, ""},
    {S("10000000000000000000"), 0, 10000000000000000000u, ""},
    {S("18446744073709551615"), 0, UINT64_MAX, ""},
    {S("18446744073709551616"), -ERANGE, 0, NULL},
    {S("18446744073709551620"), -ERANGE, 0, NULL},
    {S("99999999999999999999"), -ERANGE, 0, NULL},
    {S("184467440737095516150"), -ERANGE, 0, NULL},
    {S("99999999999999999999x"), -EINVAL, 0, NULL},
    {S(""), -EINVAL, 0, NULL},
    {S("-1"), -EINVAL, 0, NULL},
    {S("+1"), -EINVAL, 0, NULL},
    {S(" 1"), -EINVAL, 0, NULL},
    {S("/"), -EINVAL, 0, NULL},
    {S(":"), -EINVAL, 0, NULL},
    {S("\xb1"), -EINVAL, 0, NULL},
    {S("max"), -EINVAL, 0, NULL},
    {S("1 "), -EINVAL, 1, " "},
    {S("12kB"), -EINVAL, 12, "kB"},
    {S("0x10"), -EINVAL, 0, "x10"},
    {S("1.5"), -EINVAL, 1, ".5"},
    {S("18446744073709551615-"), -EINVAL, UINT64_MAX, "-"},
};

static void whole_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(numbers); i++) {
        struct bj_slice in = exact(numbers[i].in);
        uint64_t v = 4711;
        assert_int_equal(bj_slice_u64(in, &v), numbers[i].status);
        assert_int_equal(v, numbers[i].status == 0 ? numbers[i].value : 4711);
        free((void *)(uintptr_t)in.p);
    }
    uint64_t v = 4711;
    assert_int_equal(bj_slice_u64((struct bj_slice){NULL, 0}, &v), -EINVAL);
}

static void leading_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(numbers); i++) {
        struct bj_slice in = exact(numbers[i].in), s = in;
        uint64_t v = 4711;
        bool want = numbers[i].left;
        assert_int_equal(bj_slice_number(&s, &v), want);
        assert_int_equal(v, want ? numbers[i].value : 4711);
        if (want)
            assert_true(bj_slice_eq(s, bj_slice_str(numbers[i].left)));
        else
            assert_true(s.p == in.p && s.n == in.n);
        free((void *)(uintptr_t)in.p);
    }
}

/* Numbers of all lengths, as snprintf() writes them. */
static void numbers_of_any_length(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        char text[32];
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        int n = snprintf(text, sizeof(text), "%llu",
                         (unsigned long long)(x >> (i % 64)));
        uint64_t v = 0;
        assert_int_equal(bj_slice_u64((struct bj_slice){text, (size_t)n}, &v),
                         0);
        assert_int_equal(v, x >> (i % 64));
    }
}

static const struct {
    struct bj_slice in;
    unsigned max;
    int want;
    const char *set; /* the CPUs, "0 1 2" */
} lists[] = {
    {S(""), 64, 0, ""},
    {S("\n"), 64, 0, ""},
    {S("0"), 64, 1, "0"},
    {S("0-3,8,10-11\n"), 64, 7, "0 1 2 3 8 10 11"},
    {S("63"), 64, 1, "63"},
    {S("64"), 64, -ERANGE, NULL},
    {S("0-64"), 64, -ERANGE, NULL},
    {S("0-18446744073709551615"), 64, -ERANGE, NULL},
    {S("0-18446744073709551616"), 64, -ERANGE, NULL},
    {S("99999999999999999999"), 64, -ERANGE, NULL},
    {S("5-5"), 8, 1, "5"},
    {S("0-1,2-3"), 8, 4, "0 1 2 3"},
    {S("3-1"), 8, -EINVAL, NULL},
    {S("3,1"), 8, -EINVAL, NULL},
    {S("1,1"), 8, -EINVAL, NULL},
    {S("0-3,3"), 8, -EINVAL, NULL},
    {S("1,"), 8, -EINVAL, NULL},
    {S(",1"), 8, -EINVAL, NULL},
    {S("1,,2"), 8, -EINVAL, NULL},
    {S("1-"), 8, -EINVAL, NULL},
    {S("-1"), 8, -EINVAL, NULL},
    {S("a"), 8, -EINVAL, NULL},
    {S("1 2"), 8, -EINVAL, NULL},
    {S("0-3:1/2"), 8, -EINVAL, NULL},
};

static void cpulists(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct bj_slice in = exact(lists[i].in);
        unsigned char set[8] = {0};
        char got[200] = "";
        size_t n = 0;
        assert_int_equal(bj_slice_cpulist(in, lists[i].max, NULL),
                         lists[i].want);
        assert_int_equal(bj_slice_cpulist(in, lists[i].max, set),
                         lists[i].want);
        for (unsigned c = 0; lists[i].set && c < 64; c++)
            if (set[c / 8] >> (c % 8) & 1)
                n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%u",
                                      n > 0 ? " " : "", c);
        if (lists[i].set)
            assert_string_equal(got, lists[i].set);
        free((void *)(uintptr_t)in.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cutting),
        cmocka_unit_test(trimming),
        cmocka_unit_test(comparing),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(leading_numbers),
        cmocka_unit_test(numbers_of_any_length),
        cmocka_unit_test(cpulists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
