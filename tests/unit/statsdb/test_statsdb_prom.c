/* Queries to Prometheus: the requests, recorded responses of Prometheus 2.42
 * (tests/fixtures/prometheus), and invalid responses. */
#include "tests/unit/lib/httpstub.h"
#include "tests/unit/statsdb/test_statsdb.h"

#include "base/file.h"
#include "statsdb/prom/prom.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define FIXTURES "tests/fixtures/prometheus/"

static struct bj_err err;
static atomic_bool stop;

/* Write a series as a line: labels, then time=value pairs. */
static int on_series(void *ctx, const struct bj_json *metric,
                     const struct bj_json *value, struct bj_err *e)
{
    (void)e;
    struct bj_buf *out = ctx;
    int64_t v, at;
    BJ_JSON_EACH(label, metric)
    {
        bj_buf_slice(out, bj_json_key(label));
        bj_buf_str(out, "=");
        bj_buf_slice(out, bj_json_text(label));
        bj_buf_str(out, " ");
    }
    if (bj_prom_value(value, 3, &v, &at) == 0)
        bj_buf_printf(out, "%lld=%lld ", (long long)at, (long long)v);
    BJ_JSON_EACH(pair, value)
    {
        if (bj_prom_value(pair, 3, &v, &at) == 0)
            bj_buf_printf(out, "%lld=%lld ", (long long)at, (long long)v);
    }
    bj_buf_str(out, "\n");
    return 0;
}

static int read_text(struct bj_slice text, bool range, size_t piece, char *got,
                     size_t cap)
{
    struct bj_buf out = {0};
    const struct bj_prom_sink sink = {&out, on_series};
    struct bj_prom_reply *r;
    err = (struct bj_err){0};
    assert_int_equal(bj_prom_reply_new(range, &sink, &r, &err), 0);
    int e = 0;
    for (size_t at = 0; e == 0 && at < text.n; at += piece) {
        size_t n = text.n - at < piece ? text.n - at : piece;
        e = bj_prom_reply_feed(r, (struct bj_slice){text.p + at, n}, &err);
    }
    if (e == 0)
        e = bj_prom_reply_end(r, &err);
    bj_prom_reply_free(r);
    snprintf(got, cap, "%.*s", (int)out.len, out.p ? out.p : "");
    bj_buf_free(&out);
    return e;
}

static void test_recorded(void **state)
{
    static const struct {
        const char *file;
        bool range;
        int code;
        const char *want; /* series, or part of the error message */
    } cases[] = {
        {"vector.json", false, 0,
         "component=cpu jobid=900 1795189860=1417500000 \n"
         "component=dram jobid=900 1795189860=472500000 \n"},
        {"matrix.json", true, 0,
         "jobid=900 1795183200=445500000 1795186800=1110000000 \n"},
        {"nan.json", false, 0, "jobid=900 \n"},
        {"empty.json", false, 0, ""},
        {"matrix.json", false, -EPROTO, "expected a vector"},
        {"vector.json", true, -EPROTO, "expected a matrix"},
        {"scalar.json", false, -EPROTO, "expected a vector"},
        {"too_many.json", false, -EPROTO, "would load too many samples"},
        {"syntax.json", false, -EPROTO, "unclosed left parenthesis"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t piece = 1; piece < 200; piece += 66) {
            char path[100], buf[4096], got[1000];
            struct bj_slice text;
            snprintf(path, sizeof(path), FIXTURES "%s", cases[i].file);
            assert_int_equal(
                bj_file_read(AT_FDCWD, path, buf, sizeof(buf), &text, &err), 0);
            int r = read_text(text, cases[i].range, piece, got, sizeof(got));
            assert_int_equal(r, cases[i].code);
            if (r == 0)
                assert_string_equal(got, cases[i].want);
            else if (!strstr(err.msg, cases[i].want))
                fail_msg("%s: %s", path, err.msg);
        }
}

#define HEAD "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","

static void test_invalid(void **state)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"", -EPROTO},
        {"<html>", -EPROTO},
        {"[]", -EPROTO},
        {"{}", -EPROTO},
        {"{\"status\":\"success\"}", -EPROTO},
        {HEAD "\"result\":[]}", -EPROTO}, /* cut off */
        {HEAD "\"result\":[7]}}", -EPROTO},
        {HEAD "\"result\":[{\"metric\":{}}]}}", -EPROTO},
        {HEAD "\"result\":[{\"metric\":1,\"value\":[1,\"2\"]}]}}", -EPROTO},
        {HEAD "\"result\":[{\"metric\":{},\"value\":7}]}}", -EPROTO},
        {HEAD "\"result\":[{\"metric\":{},\"value\":[]}]}}", 0},
        {HEAD "\"result\":[]},\"warnings\":[\"store gone\"]}", -EAGAIN},
        {HEAD "\"result\":[]},\"warnings\":[\"PromQL info: x\"]}", 0},
        {HEAD "\"result\":[]},\"isPartial\":false}", 0},
        {"{\"isPartial\":true,\"status\":\"success\"}", -EAGAIN},
        {HEAD "\"result\":[]},\"infos\":[\"x\"]}", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char got[200];
        int r =
            read_text(bj_slice_str(cases[i].text), false, 7, got, sizeof(got));
        if (r != cases[i].code)
            fail_msg("%s: %d %s", cases[i].text, r, err.msg);
    }
}

static void test_values(void **state)
{
    static const struct {
        const char *pair;
        int64_t want; /* -1: none */
    } cases[] = {
        {"[1, \"2.5\"]", 2500},
        {"[1, 2.5]", 2500},
        {"[1.9, \"1e3\"]", 1000000},
        {"[1, \"NaN\"]", -1},
        {"[1, \"+Inf\"]", -1},
        {"[1, \"1e30\"]", -1},
        {"[1]", -1},
        {"[1, \"1\", 2]", -1},
        {"[\"x\", \"1\"]", -1},
        {"[1, null]", -1},
        {"{}", -1},
    };
    (void)state;
    struct bj_arena a = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct bj_json *doc;
        int64_t v = -1;
        assert_int_equal(bj_json_parse(&a, bj_slice_str(cases[i].pair), "x",
                                       NULL, &doc, NULL),
                         0);
        int r = bj_prom_value(doc, 3, &v, NULL);
        assert_int_equal(r, cases[i].want < 0 ? -EINVAL : 0);
        assert_int_equal(v, cases[i].want);
    }
    bj_arena_free(&a);
}

static void test_matchers(void **state)
{
    static const struct {
        const char *match, *want; /* NULL: refused */
    } cases[] = {
        {"cluster=%c", "cluster=\"al\\\"pha\","},
        {"site=x=y", "site=\"x=y\","},
        {"a=b\\c", "a=\"b\\\\c\","},
        {"a=", "a=\"\","},
        {"a", NULL},
        {"=a", NULL},
        {"1a=b", NULL},
        {"a b=c", NULL},
        {"a=b\nc", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *v[] = {(char *)cases[i].match};
        const struct bj_strv match = {v, 1};
        struct bj_buf out = {0};
        int r = bj_prom_matchers(&match, "al\"pha", &out, &err);
        bj_buf_put(&out, "", 1);
        assert_int_equal(r, cases[i].want ? 0 : -EINVAL);
        if (cases[i].want)
            assert_string_equal(out.p, cases[i].want);
        bj_buf_free(&out);
    }
}

/* Query a server that sends this reply. */
static int send_query(const char *reply, const char *token, char *received,
                      size_t cap)
{
    struct bj_stub stub = {0};
    const struct bj_stub_response replies[] = {{.text = reply}};
    bj_stub_begin(&stub, NULL, replies, 1);
    char url[80];
    char *header[] = {(char *)"X-Scope-OrgID: site"};
    snprintf(url, sizeof(url), "%s/prom/", stub.url);
    struct bj_prom_conf conf = {.url = url,
                                .token_file = (char *)token,
                                .headers = {header, 1},
                                .timeout_usec = 5000000,
                                .max_bytes = 1 << 20};
    struct bj_buf out = {0};
    const struct bj_prom_sink sink = {&out, on_series};
    struct bj_prom *p;
    err = (struct bj_err){0};
    assert_int_equal(bj_prom_new(&conf, &stop, &p, &err), 0);
    int r = bj_prom_query(p, "sum(a{b=\"c\"}[5m] + 1)", 17, &sink, &err);
    bj_prom_free(p);
    bj_stub_end(&stub);
    snprintf(received, cap, "%s", stub.received.p ? stub.received.p : "");
    bj_stub_free(&stub);
    bj_buf_free(&out);
    return r;
}

static void test_request(void **state)
{
    (void)state;
    char received[2000], token[] = "/tmp/bj-token-XXXXXX";
    unsetenv("http_proxy");
    int fd = mkstemp(token);
    assert_int_equal(write(fd, "s3cret\n", 7), 7);
    close(fd);
    int r = send_query(
        "HTTP/1.1 200 OK\r\nContent-Length: 63\r\n\r\n"
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","
        "\"result\":[]}}",
        token, received, sizeof(received));
    if (r < 0)
        fail_msg("%s", err.msg);
    static const char *const wanted[] = {
        "POST /prom/api/v1/query HTTP/1.1\r\n",
        "\r\nAuthorization: Bearer s3cret\r\n",
        "\r\nX-Scope-OrgID: site\r\n",
        "\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        "\r\n\r\nquery=sum%28a%7Bb%3D%22c%22%7D%5B5m%5D%20%2B%201%29",
        "&time=17&timeout=5&nocache=1&deny_partial_response=1"
        "&partial_response=false",
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!strstr(received, wanted[i]))
            fail_msg("%s\nin\n%s", wanted[i], received);
    /* the server's reason is in the error, the token is not */
    r = send_query(
        "HTTP/1.1 422 Unprocessable Entity\r\nConnection: close\r\n\r\n"
        "{\"status\":\"error\",\"error\":\"query processing would load too"
        " many samples into memory in query execution\"}",
        token, received, sizeof(received));
    assert_int_equal(r, -EREMOTEIO);
    if (!strstr(err.msg, "status 422"))
        fail_msg("%s", err.msg);
    assert_non_null(strstr(err.msg, "too many samples"));
    assert_null(strstr(err.msg, "s3cret"));
    r = send_query(
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<html>login</html>", token,
        received, sizeof(received));
    assert_int_equal(r, -EPROTO);
    /* a token file that others can write is refused */
    assert_int_equal(chmod(token, 0666), 0);
    r = send_query("", token, received, sizeof(received));
    assert_int_equal(r, -EACCES);
    assert_string_equal(received, "");
    unlink(token);
}

static void test_settle_time(void **state)
{
    static const struct {
        const char *url;
        uint64_t scrape, settle;
        int want;
    } cases[] = {
        {"http://h:9090", 30, 60, 0},
        {"http://h:9090", 30, 59, -EINVAL},
        {"", 30, 0, 0}, /* without a URL it is not checked */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_err why = {0};
        char url[40];
        snprintf(url, sizeof(url), "%s", cases[i].url);
        const struct bj_prom_conf conf = {.url = url,
                                          .scrape_usec = cases[i].scrape,
                                          .settle_usec = cases[i].settle};
        assert_int_equal(bj_prom_check(&conf, &why), cases[i].want);
    }
}

/* Single options with valid and invalid values. */
static void test_options(void **state)
{
    static const struct {
        const char *name, *value;
        int want;
    } cases[] = {
        {"prometheus.url", "https://h/prefix", 0},
        {"prometheus.url", "ftp://h", -EINVAL},
        {"prometheus.url", "h:9090", -EINVAL},
        {"prometheus.url", "http://", -EINVAL},
        {"prometheus.url", "http://u:s3cret@h:99999", -EINVAL},
        {"prometheus.match", "job=a=b\"c", 0},
        {"prometheus.match", "job=", 0},
        {"prometheus.match", "job", -EINVAL},
        {"prometheus.match", "a-b=c", -EINVAL},
        {"prometheus.match", "job=a\nb", -EINVAL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        err = (struct bj_err){0};
        struct bj_prom_conf conf = {0};
        const struct bj_optset set = {bj_prom_opts, &conf};
        int r = bj_opt_set(&set, 1, bj_slice_str(cases[i].name),
                           bj_slice_str(cases[i].value), &err);
        if (r != cases[i].want)
            fail_msg("%s: %d", cases[i].value, r);
        if (r < 0)
            assert_ptr_equal(strstr(err.msg, cases[i].name), err.msg);
        assert_null(strstr(err.msg, "s3cret"));
        bj_opt_free(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded), cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_matchers),
        cmocka_unit_test(test_request),  cmocka_unit_test(test_settle_time),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
