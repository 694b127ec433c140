/* Responses of the HTTP server, over real sockets and with a simulated
 * clock. */
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/webrig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void answering(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    const char *got = web_request(
        &g, "GET /hello HTTP/1.1\r\nHost: x\r\nACCEPT: a, b\r\n\r\n");
    assert_int_equal(web_status(got), 200);
    assert_string_equal(g.accept, "a, b");
    assert_non_null(strstr(got, "\r\nContent-Type: text/hello\r\n"));
    assert_non_null(strstr(got, "\r\nContent-Length: 6\r\n"));
    assert_non_null(strstr(got, "\r\nX-One: 1\r\n"));
    assert_non_null(strstr(got, "\r\nX-Two: 2\r\n"));
    assert_non_null(strstr(got, "\r\n\r\nhello\n"));

    got = web_request(&g, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(web_status(got), 200);
    assert_null(strstr(got, "Content-Length"));
    assert_null(strstr(got, "chunked"));
    assert_string_equal(strstr(got, "\r\n\r\n"), "\r\n\r\n");

    got = web_request(&g, GET("/failed"));
    assert_int_equal(web_status(got), 500);
    assert_non_null(strstr(got, "\r\n\r\nNot enough memory"));
    assert_null(strstr(got, "half of it"));

    struct bj_httpd_stat st;
    bj_httpd_stat(g.h, &st);
    assert_int_equal(st.connections, 3);
    assert_int_equal(st.requests, 3);
    web_stop(&g);
}

static void refusing(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        unsigned status;
        const char *has;
    } cases[] = {
        {GET("/hello?x=%zz"), 200, "hello"},
        {GET("/h%65llo"), 200, "hello"},
        {GET("http://x:80/hello"), 200, "hello"},
        {GET("http://x"), 400, "malformed"},
        {GET("/none"), 404, "nothing at this path"},
        {GET("/"), 404, "nothing"},
        {GET("//hello"), 404, "nothing"},
        {GET("/hello/"), 404, "nothing"},
        {GET("/x/../hello"), 404, "nothing"},
        {GET("/h%2565llo"), 404, "nothing"},
        {GET("/%2fhello"), 400, "malformed"},
        {GET("/%2Fhello"), 400, "malformed"},
        {GET("/hello%00"), 400, "malformed"},
        {GET("/hello%"), 400, "malformed"},
        {GET("/hello%4"), 400, "malformed"},
        {GET("/hello%4g"), 400, "malformed"},
        {GET("/head"), 405, "\r\nAllow: HEAD\r\n"},
        {"HEAD /big HTTP/1.1\r\nHost: x\r\n\r\n", 405, "\r\nAllow: GET\r\n"},
        {"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405,
         "\r\nAllow: GET, HEAD\r\n"},
        {"BREW /hello HTTP/1.1\r\nHost: x\r\n\r\n", 405, "that method"},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd", 200,
         "hello"},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 4097\r\n\r\n", 413,
         "too long"},
        {"GET /hello HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
         "\r\n0\r\n\r\n",
         411, "Content-Length"},
        {"GET /hello HTTP/1.1\r\n\r\n", 400, ""},
    };
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *got = web_request(&g, cases[i].request);
        if (web_status(got) != cases[i].status || !strstr(got, cases[i].has))
            fail_msg("%s\ngot: %s", cases[i].request, got);
    }
    web_stop(&g);
}

/* A request whose end is ambiguous is refused, and the connection is closed:
 * bytes after it are not taken for another request. */
static void ambiguous_length(void **state)
{
    (void)state;
    static const struct {
        const char *headers;
        unsigned status;
    } cases[] = {
        {"Content-Length: 0\r\nContent-Length: 4\r\n", 400},
        {"Content-Length: 4\r\ncontent-length: 4\r\n", 400},
        {"Content-Length : 4\r\n", 400},
        {"Transfer-Encoding\t: chunked\r\n", 400},
        {"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", 411},
    };
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    for (size_t i = 0; i < COUNT(cases); i++) {
        char request[300];
        snprintf(request, sizeof(request),
                 "GET /hello HTTP/1.1\r\nHost: x\r\n%s\r\n" GET("/hello"),
                 cases[i].headers);
        const char *got = web_request(&g, request);
        unsigned status = web_status(got);
        /* libmicrohttpd 1.0 refuses the last one itself. */
        if ((status != cases[i].status &&
             (status != 400 || i != COUNT(cases) - 1)) ||
            !strstr(got, "\r\nConnection: close\r\n") ||
            strstr(got + 1, "HTTP/1.1 "))
            fail_msg("%s\ngot: %s", request, got);
    }
    web_stop(&g);
}

/* Headers that a proxy may read in another way are refused. */
static void ambiguous_headers(void **state)
{
    (void)state;
#define HEADERS(lit)                                                           \
    {                                                                          \
        lit, sizeof(lit) - 1                                                   \
    }
    static const struct {
        const char *text;
        size_t n;
    } bad[] = {
        /* folded, the first of it a name that this server trusts */
        HEADERS("Acc: boss\r\n ept\r\n"),
        HEADERS("Acc:\r\n ept: boss\r\n"),
        HEADERS("Accept: a\r\n\tb\r\n"),
        HEADERS("Accept: a\r\n \r\n"),
        HEADERS("Content-Length: 4\r\n 0\r\n"),
        HEADERS("Content-\r\n Length: 4\r\n"),
        HEADERS("Content: 4\r\n -Length\r\n"),
        /* NUL and control bytes, in names and values */
        HEADERS("Accept: boss\0x\r\n"),
        HEADERS("Acc\0ept: boss\r\n"),
        HEADERS("Accept: a\x01\r\n"),
        HEADERS("Accept: a\x7f\r\n"),
        HEADERS("Accept: \x1b[2J\r\n"),
        HEADERS("Acc\x01: a\r\n"),
        HEADERS("Acc ept: a\r\n"),
        HEADERS("Acc(): a\r\n"),
        HEADERS("Accept\r\n"),
        /* a line that ends with CR or LF alone */
        HEADERS("X: a\rAccept: boss\r\n"),
        HEADERS("X: a\nAccept: boss\r\n"),
    };
    static const char start[] = "GET /hello HTTP/1.1\r\nHost: x\r\n";
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    for (size_t i = 0; i < COUNT(bad); i++) {
        char request[300];
        size_t n = sizeof(start) - 1;
        memcpy(request, start, n);
        memcpy(request + n, bad[i].text, bad[i].n);
        memcpy(request + n + bad[i].n, "\r\n", 2);
        g.accept[0] = '\0';
        const char *got = web_send(&g, request, n + bad[i].n + 2);
        if (web_status(got) != 400 || g.accept[0])
            fail_msg("%s\naccept: %s\ngot: %s", bad[i].text, g.accept, got);
    }
    const char *got = web_request(
        &g, "GET /hello HTTP/1.1\r\nHost: x\r\nX-Empty:\r\nAccept:\ta \xc3\xbc "
            "\r\nX:b\r\n\r\n");
    assert_int_equal(web_status(got), 200);
    web_stop(&g);
}

/* Parameters, several headers of a name, paths with a tail, and bodies. */
static void echoing(void **state)
{
    (void)state;
    static const struct {
        const char *request, *want;
    } cases[] = {
        {GET("/echo/a%20b/c?x=1&y&x=%26+z&=q"),
         "tail a b/c x=1 y= x=& z =q who 0 body !\n"},
        {GET("/echo/*"), "tail * who 0 body !\n"},
        {GET("/echo/a?stop=1&x=1"), "tail a stop=1 who 0 body !\n"},
        {"GET /echo/a HTTP/1.1\r\nHost: x\r\nX-Who: a\r\nx-who: b\r\nX-WHO: "
         "c\r\nX-Who2: d\r\n\r\n",
         "tail a who 3 a b body !\n"},
        {"POST /echo/a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd",
         "tail a who 0 body abcd!\n"},
        {"GET /echo/a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd",
         "tail a who 0 body !\n"},
    };
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *got = web_request(&g, cases[i].request);
        const char *body = strstr(got, "\r\n\r\n");
        assert_non_null(body);
        assert_string_equal(body + 4, cases[i].want);
    }
    assert_int_equal(web_status(web_request(&g, GET("/echo/"))), 404);
    assert_int_equal(web_status(web_request(&g, GET("/echo"))), 404);
    assert_int_equal(web_status(web_request(&g, GET("/echo%2fx"))), 400);
    web_stop(&g);
}

static void keeping_alive(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    int fd = web_connect(&g, GET("/hello") GET("/none") GET("/hello"));
    const char *first = web_receive(&g, fd);
    assert_int_equal(web_status(first), 200);
    const char *second = strstr(first + 1, "HTTP/1.1");
    assert_int_equal(web_status(second), 404);
    assert_int_equal(web_status(strstr(second + 1, "HTTP/1.1")), 200);
    assert_int_equal(g.calls, 2);
    close(fd);
    web_stop(&g);
}

static void buffers(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){.keep_bytes = 10000});
    struct bj_buf b = bj_httpd_buf(g.h, 100);
    assert_int_equal(b.cap, 0);
    assert_true(bj_buf_room(&b, 5000));
    bj_buf_str(&b, "text");
    const char *p = b.p;
    bj_httpd_buf_return(g.h, &b);
    assert_null(b.p);
    b = bj_httpd_buf(g.h, 100);
    assert_ptr_equal(b.p, p);
    assert_int_equal(b.len, 0);
    bj_httpd_buf_return(g.h, &b);
    /* Too big to be kept. */
    b = bj_httpd_buf(g.h, 20000);
    assert_ptr_not_equal(b.p, p);
    assert_true(b.cap >= 20000);
    assert_true(bj_buf_room(&b, 8 << 20));
    bj_httpd_buf_return(g.h, &b);
    b = bj_httpd_buf(g.h, 100);
    assert_ptr_equal(b.p, p);
    bj_buf_free(&b);
    web_stop(&g);
}

static void wrong_options(void **state)
{
    (void)state;
    struct bj_httpd *h = NULL;
    struct bj_err err = {0};
    struct bj_http_limits few = {.connections = 5, .responses = 5};
    assert_int_equal(bj_httpd_new(web_routes, NULL, &few, &h, &err), -EINVAL);
    bj_httpd_free(NULL);
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    assert_int_equal(bj_httpd_listen(g.h, "nonsense", &err), -EINVAL);
    for (int i = 1; i < BJ_HTTPD_LISTENERS; i++)
        assert_true(bj_httpd_listen(g.h, "127.0.0.1:0", &err) >= 0);
    assert_int_equal(bj_httpd_listen(g.h, "127.0.0.1:0", &err), -ENOSPC);
    web_stop(&g);
}

/* Whichever allocation fails, the request ends, and the next one succeeds. */
static void out_of_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    web_request(&g, GET("/hello"));
    for (unsigned long i = 0, failed = 1; failed; i++) {
        bj_fail_after(i);
        int fd = web_connect(&g, GET("/hello"));
        failed = bj_fail_stop();
        close(fd);
        web_pump(&g);
        assert_int_equal(web_status(web_request(&g, GET("/hello"))), 200);
        assert_true(i < 1000);
    }
    web_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answering),        cmocka_unit_test(refusing),
        cmocka_unit_test(ambiguous_length), cmocka_unit_test(ambiguous_headers),
        cmocka_unit_test(echoing),          cmocka_unit_test(keeping_alive),
        cmocka_unit_test(buffers),          cmocka_unit_test(wrong_options),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
