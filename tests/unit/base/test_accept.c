/* Content negotiation, RFC 9110 section 12.5: headers of real clients and edge
 * cases of the grammar. */
#include "standalone/page.h"

#include "base/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OM "application/openmetrics-text"

static const struct {
    const char *accept;
    enum bj_page_format want;
} formats[] = {
    {NULL, BJ_PAGE_TEXT},
    {"", BJ_PAGE_TEXT},
    {"*/*", BJ_PAGE_TEXT}, /* curl */
    {"text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;"
     "q=0.8",
     BJ_PAGE_TEXT}, /* browsers */
    /* Prometheus 2.42 and 2.50; 3.0 prefers a text that we do not write. */
    {OM ";version=1.0.0," OM
        ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
     BJ_PAGE_OPENMETRICS},
    {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
     "encoding=delimited;q=0.7," OM ";version=1.0.0;q=0.6," OM
     ";version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.3",
     BJ_PAGE_OPENMETRICS},
    {OM ";version=1.0.0;escaping=allow-utf-8;q=0.6," OM
        ";version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;"
        "q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
     BJ_PAGE_OPENMETRICS},
    {"text/plain;version=0.0.4;q=1,*/*;q=0.1", BJ_PAGE_TEXT}, /* VictoriaM. */
    /* weights */
    {OM ";q=0.5,text/plain;q=0.5", BJ_PAGE_OPENMETRICS},
    {OM ";q=0.4,text/plain;q=0.5", BJ_PAGE_TEXT},
    {OM ";q=0.499,text/plain;q=0.5", BJ_PAGE_TEXT},
    {OM ";q=0.501,text/plain;q=0.5", BJ_PAGE_OPENMETRICS},
    {OM ";q=0", BJ_PAGE_TEXT},
    {OM ";q=0.000", BJ_PAGE_TEXT},
    {OM ";q=0.001", BJ_PAGE_OPENMETRICS},
    {OM ";q=1.000", BJ_PAGE_OPENMETRICS},
    {"text/plain," OM, BJ_PAGE_OPENMETRICS},
    /* the most specific range decides for text */
    {OM ";q=0.5,*/*", BJ_PAGE_TEXT},
    {OM ";q=0.5,text/*", BJ_PAGE_TEXT},
    {OM ";q=0.5,*/*,text/plain;q=0.2", BJ_PAGE_OPENMETRICS},
    {OM ";q=0.5,text/*;q=0.1,*/*", BJ_PAGE_OPENMETRICS},
    {"application/*", BJ_PAGE_TEXT},
    /* versions */
    {OM ";version=2.0.0", BJ_PAGE_TEXT},
    {OM ";version=\"1.0.0\"", BJ_PAGE_OPENMETRICS},
    {OM ";version=2.0.0," OM ";version=1.0.0;q=0.1", BJ_PAGE_OPENMETRICS},
    /* case, blanks, nonsense */
    {"Application/OpenMetrics-Text ; Version=1.0.0 ; Q=0.9 , text/plain;q=0.3",
     BJ_PAGE_OPENMETRICS},
    {",,;;=,;q=,q=1," OM, BJ_PAGE_OPENMETRICS},
    {OM "x", BJ_PAGE_TEXT},
    {OM ";q", BJ_PAGE_OPENMETRICS},
    {";;;;", BJ_PAGE_TEXT},
};

static void format(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(formats); i++) {
        struct bj_slice s = bj_slice_str(formats[i].accept);
        if (bj_accept_format(s) != formats[i].want)
            fail_msg("Accept: %s", formats[i].accept);
    }
}

static const struct {
    const char *encoding;
    bool want;
} encodings[] = {
    {NULL, false},
    {"", false},
    {"gzip", true},
    {"gzip, deflate, br", true},
    {"deflate, br", false},
    {"identity", false},
    {"GZIP;q=0.5", true},
    {"x-gzip", true},
    {"gzip;q=0", false},
    {"*", true},
    {"*;q=0", false},
    {"gzip;q=0, *", false},
    {"identity, gzip;q=0.5", false},
    {"identity;q=0.5, gzip;q=0.5", true},
    {"identity;q=0.1, gzip", true},
};

static void encoding(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(encodings); i++) {
        struct bj_slice s = bj_slice_str(encodings[i].encoding);
        if (bj_accept_gzip(s) != encodings[i].want)
            fail_msg("Accept-Encoding: %s", encodings[i].encoding);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format),
        cmocka_unit_test(encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
