/* Rows of the API as JSON and CSV. */
#include "apiserver/out.h"

#include "base/stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka.h wants those above */
#include <cmocka.h>

#define S(lit)                                                                 \
    {                                                                          \
        lit, sizeof(lit) - 1                                                   \
    }

static const struct {
    struct bj_slice in;
    const char *json, *csv;
} texts[] = {
    {S(""), "\"\"", ""},
    {S("plain-1.2_x"), "\"plain-1.2_x\"", "plain-1.2_x"},
    {S("a\"b\\c"), "\"a\\\"b\\\\c\"", "\"a\"\"b\\c\""},
    {S("two words"), "\"two words\"", "\"two words\""},
    {S("a,b"), "\"a,b\"", "\"a,b\""},
    {S("l\nt\tr\r"), "\"l\\nt\\tr\\u000d\"", "\"l\nt?r?\""},
    {S("nul\0x"), "\"nul\\u0000x\"", "\"nul?x\""},
    {S("\x7f"), "\"?\"", "\"?\""},
    {S("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"",
     "\"gr\xc3\xbc\xc3\x9f\""},
    {S("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\"", "\"\xf0\x9f\x98\x80\""},
    {S("a\xff"
       "b"),
     "\"a\xef\xbf\xbd"
     "b\"",
     "\"a\xef\xbf\xbd"
     "b\""},
    {S("\xe2\x82"), "\"\xef\xbf\xbd\"", "\"\xef\xbf\xbd\""},
    {S("\xc2\x85"), "\"?\"", "\"?\""},
    {S("=1+1"), "\"=1+1\"", "\"'=1+1\""},
    {S("-x"), "\"-x\"", "\"'-x\""},
    {S("@a"), "\"@a\"", "\"'@a\""},
    {S("  +1"), "\"  +1\"", "\"'  +1\""},
    {S("a;=1"), "\"a;=1\"", "\"a;'=1\""},
    {S("a; @b;c"), "\"a; @b;c\"", "\"a;' @b;c\""},
};

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct bj_buf b = {0};
        bj_out_text(&b, texts[i].in);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, texts[i].json);
        b.len = 0;
        bj_out_csv(&b, texts[i].in);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, texts[i].csv);
        bj_buf_free(&b);
    }
}

/* An odd byte is found wherever it is, and written as where it is alone. */
static void test_odd_places(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 256; c++)
        for (size_t at = 0; at < 20; at++) {
            char text[20], want[60];
            struct bj_buf b = {0};
            memset(text, 'a', sizeof(text));
            text[at] = (char)c;
            bj_out_text(&b, (struct bj_slice){text + at, 1});
            int n = snprintf(want, sizeof(want), "\"%.*s%.*s%.*s\"", (int)at,
                             "aaaaaaaaaaaaaaaaaaaa", (int)b.len - 2, b.p + 1,
                             (int)(19 - at), "aaaaaaaaaaaaaaaaaaaa");
            b.len = 0;
            bj_out_text(&b, (struct bj_slice){text, sizeof(text)});
            assert_int_equal(b.len, n);
            assert_memory_equal(b.p, want, (size_t)n);
            bj_buf_free(&b);
        }
}

static void write_table(struct bj_buf *b, enum bj_shape shape)
{
    static const char *const keys[] = {"a", "b", "t", "t_ms"};
    struct bj_rows r;
    bj_rows_begin(&r, b, shape, keys, 4);
    bj_row_begin(&r);
    bj_put_text(&r, BJ_SLICE("x"));
    bj_put_fixed(&r, -1500, 3);
    bj_put_time(&r, 1700000000);
    bj_put_time_ms(&r, 1700000000);
    bj_row_end(&r);
    bj_row_begin(&r);
    bj_put_text(&r, (struct bj_slice){0});
    bj_put_int(&r, INT64_MIN);
    bj_put_null(&r);
    bj_put_bool(&r, true);
    bj_row_end(&r);
    bj_rows_end(&r);
    bj_buf_put(b, "", 1);
}

static void test_tables(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    write_table(&b, BJ_SHAPE_OBJECTS);
    assert_string_equal(
        b.p, "[{\"a\":\"x\",\"b\":-1.5,\"t\":\"2023-11-14T22:13:20Z\","
             "\"t_ms\":1700000000000},{\"a\":null,\"b\":-9223372036854775808,"
             "\"t\":null,\"t_ms\":true}]");
    b.len = 0;
    write_table(&b, BJ_SHAPE_CSV);
    assert_string_equal(b.p, "a,b,t,t_ms\r\n"
                             "x,-1.5,2023-11-14T22:13:20Z,1700000000000\r\n"
                             ",-9223372036854775808,,true\r\n");
    b.len = 0;
    write_table(&b, BJ_SHAPE_ARRAYS);
    assert_string_equal(b.p,
                        "[[\"x\",-1.5,\"2023-11-14T22:13:20Z\",1700000000000],"
                        "[null,-9223372036854775808,null,true]]");
    bj_buf_free(&b);
}

/* Against the calendar of base/stamp.h, and the ends of what can be told. */
static void test_times(void **state)
{
    (void)state;
    static const int64_t secs[] = {
        0,          -1,           1,          951782399,    951782400,
        1700000000, 253402300799, 4102444799, -62135596800, INT64_MAX,
        INT64_MIN,  -86400,       -86401,     86399,        1709164800};
    static const char *const keys[] = {"t"};
    struct bj_buf b = {0};
    struct bj_rows r;
    bj_rows_begin(&r, &b, BJ_SHAPE_CSV, keys, 1);
    for (size_t i = 0; i < sizeof(secs) / sizeof(secs[0]); i++) {
        char want[BJ_STAMP_MAX];
        int64_t sec = secs[i] > INT64_MAX / 1000000   ? INT64_MAX / 1000000
                      : secs[i] < INT64_MIN / 1000000 ? INT64_MIN / 1000000
                                                      : secs[i];
        bj_stamp_text(sec * 1000000, 0, 0, want);
        bj_row_begin(&r);
        b.len = 0;
        bj_put_time(&r, secs[i]);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, want);
    }
    bj_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_odd_places),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
