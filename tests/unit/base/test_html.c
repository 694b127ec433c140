/* The page about the exporter's own cost. */
#include "standalone/html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_cost(void **state)
{
    (void)state;
    struct bj_collector_stat collectors[] = {
        {.sub = {{BJ_SLICE("cpu")}},
         .success = 1,
         .duration_usec = 1500,
         .errors = 7,
         .age_usec = BJ_ABSENT},
        {.sub = {{BJ_SLICE("<b>&\"")}}, .duration_usec = 2000000},
    };
    struct bj_snap snap = {.self = {.collectors = {collectors, 2},
                                    .cpu_usec = 123456789,
                                    .rss_bytes = 4096}};
    struct bj_buf out = {0};
    bj_html_cost(&snap, &out);
    bj_buf_put(&out, "", 1);
    assert_false(out.failed);
    static const char *const want[] = {
        "<td>cpu</td><td align=\"right\">1</td><td align=\"right\">0.0015</td>"
        "<td align=\"right\">7</td><td align=\"right\"></td></tr>",
        "<td>&lt;b&gt;&amp;&quot;</td>",
        "duration (seconds)",
        ">cpu (seconds)</th><td align=\"right\">123.456789</td>",
        ">resident_memory (bytes)</th><td align=\"right\">4096</td>",
    };
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        if (!strstr(out.p, want[i]))
            fail_msg("no %s", want[i]);
    assert_null(strstr(out.p, "<b>"));
    assert_null(strstr(out.p, "<script"));
    /* absent values are left out */
    assert_null(strstr(out.p, "scheduler was asked"));
    bj_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
