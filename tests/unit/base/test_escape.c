/* Escaping of untrusted text in JSON, CSV, HTML and URLs. */
#include "base/csv.h"
#include "base/html.h"
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka.h needs those above. */
#include <cmocka.h>

#define S(lit)                                                                 \
    {                                                                          \
        lit, sizeof(lit) - 1                                                   \
    }

static const struct {
    struct bj_slice in;
    const char *json, *csv, *html, *url;
} cases[] = {
    {S(""), "\"\"", "", "", ""},
    {S("plain-1.2_x~"), "\"plain-1.2_x~\"", "plain-1.2_x~", "plain-1.2_x~",
     "plain-1.2_x~"},
    {S("a\"b\\c"), "\"a\\\"b\\\\c\"", "\"a\"\"b\\c\"", "a&quot;b\\c",
     "a%22b%5Cc"},
    {S("two words"), "\"two words\"", "\"two words\"", "two words",
     "two%20words"},
    {S("a,b"), "\"a,b\"", "\"a,b\"", "a,b", "a%2Cb"},
    {S("<b>&'"), "\"<b>&'\"", "<b>&'", "&lt;b&gt;&amp;&#39;", "%3Cb%3E%26%27"},
    {S("l\nt\tr\r"), "\"l\\nt\\tr\\r\"", "\"l?t?r?\"", "l t r ",
     "l%0At%09r%0D"},
    {S("nul\0x"), "\"nul\\u0000x\"", "\"nul?x\"", "nul x", "nul%00x"},
    {S("\x7f"), "\"?\"", "\"?\"", " ", "%7F"},
    {S("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"", "gr\xc3\xbc\xc3\x9f",
     "gr\xc3\xbc\xc3\x9f", "gr%C3%BC%C3%9F"},
    {S("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80",
     "\xf0\x9f\x98\x80", "%F0%9F%98%80"},
    {S("a\xff!"), "\"a\xef\xbf\xbd!\"", "a\xef\xbf\xbd!", NULL, "a%FF%21"},
    {S("\xe2\x82"), "\"\xef\xbf\xbd\"", "\xef\xbf\xbd", NULL, "%E2%82"},
    {S("\xc2\x85"), "\"?\"", "?", NULL, "%C2%85"},
    {S("=1+1"), "\"=1+1\"", "\"'=1+1\"", "=1+1", "%3D1%2B1"},
    {S("-x"), "\"-x\"", "\"'-x\"", "-x", "-x"},
    {S("@a"), "\"@a\"", "\"'@a\"", "@a", "%40a"},
    {S("\t=x"), "\"\\t=x\"", "\"'?=x\"", " =x", "%09%3Dx"},
    {S("  +1"), "\"  +1\"", "\"'  +1\"", "  +1", "%20%20%2B1"},
    {S("a;=1"), "\"a;=1\"", "\"a;'=1\"", "a;=1", "a%3B%3D1"},
    {S("a; @b;c"), "\"a; @b;c\"", "\"a;' @b;c\"", "a; @b;c", "a%3B%20%40b%3Bc"},
};

static void check(void (*put)(struct bj_buf *, struct bj_slice),
                  struct bj_slice in, const char *want)
{
    struct bj_buf b = {0};
    if (!want)
        return;
    put(&b, in);
    bj_buf_put(&b, "", 1);
    assert_string_equal(b.p, want);
    bj_buf_free(&b);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check(bj_json_string, cases[i].in, cases[i].json);
        check(bj_csv_text, cases[i].in, cases[i].csv);
        check(bj_html_text, cases[i].in, cases[i].html);
        check(bj_url_text, cases[i].in, cases[i].url);
    }
}

/* Every byte is escaped in the same way at every position. */
static void test_places(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 256; c++)
        for (size_t at = 0; at < 20; at++) {
            char text[20], want[60];
            struct bj_buf b = {0};
            memset(text, 'a', sizeof(text));
            text[at] = (char)c;
            bj_json_string(&b, (struct bj_slice){text + at, 1});
            int n = snprintf(want, sizeof(want), "\"%.*s%.*s%.*s\"", (int)at,
                             "aaaaaaaaaaaaaaaaaaaa", (int)b.len - 2, b.p + 1,
                             (int)(19 - at), "aaaaaaaaaaaaaaaaaaaa");
            b.len = 0;
            bj_json_string(&b, (struct bj_slice){text, sizeof(text)});
            assert_int_equal(b.len, n);
            assert_memory_equal(b.p, want, (size_t)n);
            bj_buf_free(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
