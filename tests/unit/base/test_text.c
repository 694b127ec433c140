/* Cleaning text: invalid UTF-8, control characters, text that is too long. The
 * expected replacements come from Python's bytes.decode("utf-8", "replace"). */
#include "base/amount.h"
#include "base/text.h"

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
#define R "\xef\xbf\xbd" /* U+FFFD */

static const struct {
    struct bj_slice in;
    const char *want;
} cleans[] = {
    {S(""), ""},
    {S("plain ~"), "plain ~"},
    {S("\xc3\xa9"), "\xc3\xa9"},
    {S("\xe2\x82\xac"), "\xe2\x82\xac"},
    {S("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80"},
    {S("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf"},
    {S("\xef\xbf\xbf"), "\xef\xbf\xbf"},
    {S(R), R},
    {S("\xed\x9f\xbf"), "\xed\x9f\xbf"},
    {S("\xee\x80\x80"), "\xee\x80\x80"},
    {S("\xf0\x90\x80\x80"), "\xf0\x90\x80\x80"},
    /* continuation bytes alone, incomplete sequences */
    {S("\x80"), R},
    {S("\xbf\xbf"), R R},
    {S("\xc3"), R},
    {S("\xc3("), R "("},
    {S("\xe2\x82"), R},
    {S("\xe2\x82("), R "("},
    {S("\xe2(\xa1"), R "(" R},
    {S("\xf0\x9f\x98"), R},
    {S("\xf0\x9f"), R},
    {S("\xf0"), R},
    {S("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), R R R R "A"},
    /* overlong forms */
    {S("\xc0\xaf"), R R},
    {S("\xc1\xbf"), R R},
    {S("\xe0\x80\xaf"), R R R},
    {S("\xe0\x9f\xbf"), R R R},
    {S("\xf0\x80\x80\xaf"), R R R R},
    {S("\xf0\x8f\xbf\xbf"), R R R R},
    /* surrogates, above U+10FFFF, bytes that UTF-8 never uses */
    {S("\xed\xa0\x80"), R R R},
    {S("\xed\xbf\xbf"), R R R},
    {S("\xf4\x90\x80\x80"), R R R R},
    {S("\xf5\x80\x80\x80"), R R R R},
    {S("\xf8\x88\x80\x80\x80"), R R R R R},
    {S("\xfe\xff"), R R},
    {S("a\xff"
       "b\xc3\xa9"
       "c"),
     "a" R "b\xc3\xa9"
     "c"},
    /* controls */
    {S("a\0b"), "a?b"},
    {S("\x01\x1f\x7f\n\t\x1b[0m"), "?????"
                                   "?[0m"},
    {S("\xc2\x80\xc2\x9f\xc2\xa0"), "??\xc2\xa0"},
};

static struct bj_slice exact(struct bj_slice s)
{
    char *p = malloc(s.n ? s.n : 1);
    assert_non_null(p);
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    return (struct bj_slice){p, s.n};
}

static void cleaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cleans); i++) {
        struct bj_slice in = exact(cleans[i].in);
        char got[64];
        size_t n = bj_text_clean(in, got, sizeof(got));
        assert_string_equal(got, cleans[i].want);
        assert_int_equal(n, strlen(got));
        free((void *)(uintptr_t)in.p);
    }
}

/* Only whole characters are copied, for all sizes of characters and buffers. */
static void cutting_keeps_characters_whole(void **state)
{
    static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac",
                                             "\xf0\x9f\x98\x80"};
    (void)state;
    for (size_t len = 1; len <= 4; len++)
        for (size_t lead = 0; lead < 4; lead++)
            for (size_t cap = 1; cap < 300; cap++) {
                char in[400];
                size_t n = 0;
                while (n < lead)
                    in[n++] = 'x';
                while (n + 4 < sizeof(in)) {
                    memcpy(in + n, characters[len - 1], len);
                    n += len;
                }
                char *got = malloc(cap);
                assert_non_null(got);
                size_t out = bj_text_clean((struct bj_slice){in, n}, got, cap);
                size_t room = cap - 1;
                size_t want = room < lead ? room : room - (room - lead) % len;
                assert_int_equal(out, want);
                assert_memory_equal(got, in, want);
                assert_int_equal(got[want], 0);
                free(got);
            }
}

static void label_limit(void **state)
{
    (void)state;
    char in[200], got[BJ_LABEL_MAX + 1];
    memset(in, 'a', sizeof(in));
    assert_int_equal(
        bj_text_clean((struct bj_slice){in, 128}, got, sizeof(got)), 128);
    assert_int_equal(
        bj_text_clean((struct bj_slice){in, 129}, got, sizeof(got)), 128);
    /* A character of three bytes across the limit is left out ... */
    memcpy(in + 126, "\xe2\x82\xac", 3);
    assert_int_equal(
        bj_text_clean((struct bj_slice){in, 200}, got, sizeof(got)), 126);
    /* ... and so is the replacement of a single bad byte. */
    memcpy(in + 126,
           "\xff"
           "aa",
           3);
    assert_int_equal(
        bj_text_clean((struct bj_slice){in, 200}, got, sizeof(got)), 126);
    in[125] = '\xff';
    assert_int_equal(
        bj_text_clean((struct bj_slice){in, 126}, got, sizeof(got)), 128);
}

static void empty_input_or_buffer(void **state)
{
    (void)state;
    char got[2] = "x";
    assert_int_equal(bj_text_clean((struct bj_slice){NULL, 0}, got, 1), 0);
    assert_int_equal(got[0], 0);
    got[0] = 'x';
    assert_int_equal(bj_text_clean(BJ_SLICE("abc"), got, 1), 0);
    assert_int_equal(got[0], 0);
}

static void identifiers(void **state)
{
    static const struct {
        struct bj_slice in;
        const char *want;
    } cases[] = {
        {S(""), ""},
        {S("4711"), "4711"},
        {S("123[4].pbs01"), "123[4].pbs01"},
        {S("a_b.c:d@e+f-g"), "a_b.c:d@e+f-g"},
        {S("a/b c\"d\\e,f=g"), "a_b_c_d_e_f_g"},
        {S("`{|}~!#$%&'()*;<>?^"), "___________________"},
        {S("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "___"},
        {S("a\xff\0\n"), "a___"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char got[64];
        size_t n = bj_text_ident(cases[i].in, got, sizeof(got));
        assert_string_equal(got, cases[i].want);
        assert_int_equal(n, strlen(got));
    }
}

static void unit_names(void **state)
{
    static const struct {
        struct bj_slice in, want;
    } cases[] = {
        {S(""), S("")},
        {S("user.slice"), S("user.slice")},
        /* systemd-escape 'Hallöchen, Meister' of systemd.unit(5) */
        {S("Hall\\xc3\\xb6chen\\x2c\\x20Meister"), S("Hall\xc3\xb6"
                                                     "chen, Meister")},
        {S("a\\x2db"), S("a-b")},
        {S("a\\X2d"), S("a\\X2d")},
        {S("\\x5cx41"), S("\\x41")},
        {S("\\x"), S("\\x")},
        {S("\\x4"), S("\\x4")},
        {S("\\x4g"), S("\\x4g")},
        {S("\\x\\x41"), S("\\xA")},
        {S("\\\\x41"), S("\\A")},
        {S("\\x00"), S("\0")},
        {S("\\xAf"), S("\xaf")},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_slice in = exact(cases[i].in);
        char got[64];
        size_t n = bj_text_unescape_unit(in, got, sizeof(got));
        assert_true(bj_slice_eq((struct bj_slice){got, n}, cases[i].want));
        assert_int_equal(got[n], 0);
        free((void *)(uintptr_t)in.p);

        char place[64]; /* in place, too */
        memcpy(place, cases[i].in.p, cases[i].in.n);
        n = bj_text_unescape_unit((struct bj_slice){place, cases[i].in.n},
                                  place, sizeof(place));
        assert_true(bj_slice_eq((struct bj_slice){place, n}, cases[i].want));
    }
    char small[3];
    assert_int_equal(bj_text_unescape_unit(BJ_SLICE("\\x41\\x42\\x43"), small,
                                           sizeof(small)),
                     2);
    assert_string_equal(small, "AB");
}

/* Three significant digits without trailing zeros; whole numbers from 100 on,
 * with separators; the next unit when the rounded number would reach it. */
static void test_amounts(void **state)
{
    static const struct {
        enum bj_amount_unit unit;
        double v;
        const char *want;
    } cases[] = {
        {BJ_AMOUNT_PLAIN, 0, "0"},
        {BJ_AMOUNT_PLAIN, 6.25, "6.25"},
        {BJ_AMOUNT_PLAIN, 25, "25"},
        {BJ_AMOUNT_PLAIN, 37.46, "37.5"},
        {BJ_AMOUNT_PLAIN, 9.996, "10"},
        {BJ_AMOUNT_PLAIN, 99.96, "100"},
        {BJ_AMOUNT_PLAIN, 0.98649, "0.986"},
        {BJ_AMOUNT_PLAIN, 0.0123456, "0.0123"},
        {BJ_AMOUNT_PLAIN, 0.00009876, "0.0000988"},
        {BJ_AMOUNT_PLAIN, 999.4, "999"},
        {BJ_AMOUNT_PLAIN, 12890.4, "12,890"},
        {BJ_AMOUNT_PLAIN, 1234567, "1,234,567"},
        {BJ_AMOUNT_PLAIN, -1595.6, "-1,596"},
        {BJ_AMOUNT_PLAIN, 3e20, "3e+20"},
        {BJ_AMOUNT_BYTES, 512, "512 B"},
        {BJ_AMOUNT_BYTES, 1023, "1,023 B"},
        {BJ_AMOUNT_BYTES, 1536, "1.5 KiB"},
        {BJ_AMOUNT_BYTES, 1048570, "1 MiB"},
        {BJ_AMOUNT_BYTES, 8589934592, "8 GiB"},
        {BJ_AMOUNT_BYTES, 0x1p60, "1,024 PiB"},
        {BJ_AMOUNT_BYTES_PER_SEC, 1536, "1.5 KiB/s"},
        {BJ_AMOUNT_PERCENT, 6.25, "6.25 %"},
        {BJ_AMOUNT_PERCENT, 100, "100 %"},
        {BJ_AMOUNT_WATTS, 1234, "1.23 kW"},
        {BJ_AMOUNT_PER_SEC, 12, "12/s"},
        {BJ_AMOUNT_HOURS, 16974.8, "16,975 h"},
        {BJ_AMOUNT_JOULES, 1080, "0.3 Wh"},
        {BJ_AMOUNT_JOULES, 3.6e6, "1 kWh"},
        {BJ_AMOUNT_JOULES, 7.2e9, "2,000 kWh"},
        {BJ_AMOUNT_GRAMS, 999.7, "1 kg"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_buf b = {0};
        bj_amount(&b, cases[i].unit, cases[i].v);
        bj_buf_put(&b, "", 1);
        assert_false(b.failed);
        assert_string_equal(b.p, cases[i].want);
        bj_buf_free(&b);
    }
    struct bj_buf b = {0};
    bj_amount_whole(&b, INT64_MIN);
    bj_buf_str(&b, " ");
    bj_amount_whole(&b, 999);
    bj_buf_str(&b, " ");
    bj_amount_money(&b, INT64_C(35071254999));
    bj_buf_str(&b, " ");
    bj_amount_money(&b, -4999);
    bj_buf_str(&b, " ");
    bj_amount_seconds(&b, 93784);
    bj_buf_put(&b, "", 1);
    assert_string_equal(
        b.p, "-9,223,372,036,854,775,808 999 35,071.25 -0.004999 1-02:03:04");
    bj_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(cleaning),
        cmocka_unit_test(cutting_keeps_characters_whole),
        cmocka_unit_test(label_limit),
        cmocka_unit_test(empty_input_or_buffer),
        cmocka_unit_test(identifiers),
        cmocka_unit_test(unit_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
