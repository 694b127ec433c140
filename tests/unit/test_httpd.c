/* The HTTP server over real sockets and a clock of the test's own. */
#include "base/httpd.h"

#include "base/listen.h"
#include "tests/unit/lib/fail.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SEC ((uint64_t)1000000)

enum { BIG = 16 << 20, START_SEC = 1000 };

/* A server, its clock, and what its handlers have seen. */
struct rig {
    struct bj_httpd *h;
    uint64_t now;
    unsigned short port;
    unsigned calls;
    char accept[64];
    struct bj_buf answer;
};

/* Handlers */

static void on_hello(void *ctx, const struct bj_http_request *req,
                     struct bj_http_reply *r)
{
    struct rig *g = ctx;
    struct bj_slice accept = bj_http_header(req, "aCCept");
    g->calls++;
    snprintf(g->accept, sizeof(g->accept), "%.*s", (int)accept.n,
             accept.p ? accept.p : "");
    r->type = "text/hello";
    r->header[0].name = "X-One";
    r->header[0].value = "1";
    r->header[1].name = "X-Two";
    r->header[1].value = "2";
    if (req->method == BJ_HTTP_HEAD)
        r->unsized = true;
    else
        bj_buf_str(&r->body, "hello\n");
}

static void on_big(void *ctx, const struct bj_http_request *req,
                   struct bj_http_reply *r)
{
    struct rig *g = ctx;
    (void)req;
    r->body = bj_httpd_buf(g->h, BIG);
    if (bj_buf_room(&r->body, BIG)) {
        memset(r->body.p, 'x', BIG);
        r->body.len = BIG;
    }
}

static void on_failed(void *ctx, const struct bj_http_request *req,
                      struct bj_http_reply *r)
{
    (void)ctx;
    (void)req;
    bj_buf_str(&r->body, "half of it");
    r->body.failed = true;
}

static int echo_arg(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct bj_buf *b = ctx;
    bj_buf_printf(b, " %.*s=", (int)key.n, key.p);
    bj_buf_slice(b, value);
    return bj_slice_eq(key, BJ_SLICE("stop"));
}

static void on_echo(void *ctx, const struct bj_http_request *req,
                    struct bj_http_reply *r)
{
    struct bj_slice who[2];
    (void)ctx;
    bj_buf_printf(&r->body, "tail %s", req->tail.p);
    bj_http_each_arg(req, echo_arg, &r->body);
    unsigned n = bj_http_header_all(req, "x-who", who, 2);
    bj_buf_printf(&r->body, " who %u", n);
    for (unsigned i = 0; i < n && i < 2; i++)
        bj_buf_printf(&r->body, " %.*s", (int)who[i].n, who[i].p);
    bj_buf_str(&r->body, " body ");
    bj_buf_slice(&r->body, req->body);
    bj_buf_str(&r->body, "!\n");
}

static const struct bj_http_route routes[] = {
    {"/hello", BJ_HTTP_GET | BJ_HTTP_HEAD, false, on_hello},
    {"/big", BJ_HTTP_GET, false, on_big},
    {"/always", BJ_HTTP_GET, true, on_hello},
    {"/failed", BJ_HTTP_GET, false, on_failed},
    {"/head", BJ_HTTP_HEAD, false, on_hello},
    {"/echo/*", BJ_HTTP_GET | BJ_HTTP_POST, false, on_echo},
    {.path = NULL},
};

/* The rig */

static void start(struct rig *g, struct bj_http_limits limits)
{
    char name[BJ_ADDRESS_MAX];
    struct bj_err err = {0};
    uint64_t port = 0;
    *g = (struct rig){.now = START_SEC * SEC};
    assert_int_equal(bj_httpd_new(routes, g, &limits, &g->h, &err), 0);
    int fd = bj_httpd_listen(g->h, "127.0.0.1:0", &err);
    assert_true(fd >= 0);
    bj_listen_name(fd, name);
    struct bj_slice text = bj_slice_str(strchr(name, ':') + 1);
    assert_int_equal(bj_slice_u64(text, &port), 0);
    g->port = (unsigned short)port;
}

static void stop(struct rig *g)
{
    bj_httpd_free(g->h);
    bj_buf_free(&g->answer);
}

/* Serve until nothing is left to do at once. */
static void pump(struct rig *g)
{
    struct pollfd fds[BJ_HTTPD_FDS];
    for (int quiet = 0; quiet < 3;) {
        nfds_t n = bj_httpd_poll(g->h, fds);
        int got = poll(fds, n, 5);
        bj_httpd_run(g->h, fds, n, g->now);
        quiet = got > 0 || bj_httpd_timeout(g->h, g->now) == 0 ? 0 : quiet + 1;
    }
}

static int dial(struct rig *g, const char *text)
{
    int small = 4096;
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(g->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    if (*text)
        assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
                         strlen(text));
    pump(g);
    return fd;
}

/* What there is to read without waiting, as text; NULL at the end. */
static const char *take(struct rig *g, int fd)
{
    char buf[4096];
    ssize_t n;
    g->answer.len = 0;
    while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
        bj_buf_put(&g->answer, buf, (size_t)n);
    bool over = n == 0 || (n < 0 && errno == ECONNRESET);
    if (over && g->answer.len == 0)
        return NULL;
    bj_buf_put(&g->answer, "", 1);
    return g->answer.p;
}

static bool is_open(struct rig *g, int fd)
{
    return take(g, fd) != NULL;
}

static unsigned status(const char *answer)
{
    uint64_t v = 0;
    struct bj_slice s = bj_slice_str(answer);
    return bj_slice_starts(s, BJ_SLICE("HTTP/1.")) && s.n > 12 &&
                   bj_slice_u64((struct bj_slice){s.p + 9, 3}, &v) == 0
               ? (unsigned)v
               : 0;
}

/* Ask on a connection of its own; the answer stays until the next. */
static const char *ask(struct rig *g, const char *text)
{
    int fd = dial(g, text);
    const char *answer = take(g, fd);
    close(fd);
    pump(g);
    return answer ? answer : "";
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

/* Tests */

static void answering(void **state)
{
    (void)state;
    struct rig g;
    start(&g, (struct bj_http_limits){0});
    const char *got =
        ask(&g, "GET /hello HTTP/1.1\r\nHost: x\r\nACCEPT: a, b\r\n\r\n");
    assert_int_equal(status(got), 200);
    assert_string_equal(g.accept, "a, b");
    assert_non_null(strstr(got, "\r\nContent-Type: text/hello\r\n"));
    assert_non_null(strstr(got, "\r\nContent-Length: 6\r\n"));
    assert_non_null(strstr(got, "\r\nX-One: 1\r\n"));
    assert_non_null(strstr(got, "\r\nX-Two: 2\r\n"));
    assert_non_null(strstr(got, "\r\n\r\nhello\n"));

    got = ask(&g, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(status(got), 200);
    assert_null(strstr(got, "Content-Length"));
    assert_null(strstr(got, "chunked"));
    assert_string_equal(strstr(got, "\r\n\r\n"), "\r\n\r\n");

    got = ask(&g, GET("/failed"));
    assert_int_equal(status(got), 500);
    assert_non_null(strstr(got, "\r\n\r\nNot enough memory"));
    assert_null(strstr(got, "half of it"));

    struct bj_httpd_stat st;
    bj_httpd_stat(g.h, &st);
    assert_int_equal(st.connections, 3);
    assert_int_equal(st.requests, 3);
    stop(&g);
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
         411, "length"},
        {"GET /hello HTTP/1.1\r\n\r\n", 400, ""},
    };
    struct rig g;
    start(&g, (struct bj_http_limits){0});
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *got = ask(&g, cases[i].request);
        if (status(got) != cases[i].status || !strstr(got, cases[i].has))
            fail_msg("%s\ngot: %s", cases[i].request, got);
    }
    stop(&g);
}

/* Where a request ends is no matter of opinion: what may be another request to
 * somebody else is not answered. */
static void doubtful(void **state)
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
    struct rig g;
    start(&g, (struct bj_http_limits){0});
    for (size_t i = 0; i < COUNT(cases); i++) {
        char request[300];
        snprintf(request, sizeof(request),
                 "GET /hello HTTP/1.1\r\nHost: x\r\n%s\r\n" GET("/hello"),
                 cases[i].headers);
        const char *got = ask(&g, request);
        if (status(got) != cases[i].status ||
            !strstr(got, "\r\nConnection: close\r\n") ||
            strstr(got + 1, "HTTP/1.1 "))
            fail_msg("%s\ngot: %s", request, got);
    }
    stop(&g);
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
    struct rig g;
    start(&g, (struct bj_http_limits){0});
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *got = ask(&g, cases[i].request);
        const char *body = strstr(got, "\r\n\r\n");
        assert_non_null(body);
        assert_string_equal(body + 4, cases[i].want);
    }
    assert_int_equal(status(ask(&g, GET("/echo/"))), 404);
    assert_int_equal(status(ask(&g, GET("/echo"))), 404);
    assert_int_equal(status(ask(&g, GET("/echo%2fx"))), 400);
    stop(&g);
}

static void keeping_alive(void **state)
{
    (void)state;
    struct rig g;
    start(&g, (struct bj_http_limits){0});
    int fd = dial(&g, GET("/hello") GET("/none") GET("/hello"));
    const char *first = take(&g, fd);
    assert_int_equal(status(first), 200);
    const char *second = strstr(first + 1, "HTTP/1.1");
    assert_int_equal(status(second), 404);
    assert_int_equal(status(strstr(second + 1, "HTTP/1.1")), 200);
    assert_int_equal(g.calls, 2);
    close(fd);
    stop(&g);
}

static void deadlines(void **state)
{
    (void)state;
    struct rig g;
    start(&g, (struct bj_http_limits){0});
    assert_int_equal(bj_httpd_timeout(g.h, g.now), -1);
    /* Bytes that trickle in do not move the deadline. */
    int fd = dial(&g, "");
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 10000);
    for (int i = 1; i < 10; i++) {
        g.now += SEC;
        assert_int_equal(send(fd, &"GET /hello HTTP"[i], 1, MSG_NOSIGNAL), 1);
        pump(&g);
        assert_int_equal(bj_httpd_timeout(g.h, g.now), 10000 - i * 1000);
    }
    g.now += SEC - 1;
    pump(&g);
    assert_true(is_open(&g, fd));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 1);
    g.now++;
    pump(&g);
    assert_false(is_open(&g, fd));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), -1);
    close(fd);
    /* Between two requests there is more time, within the second not. */
    fd = dial(&g, GET("/hello"));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 75000);
    g.now += 60 * SEC;
    assert_int_equal(send(fd, "GET /hello HTTP/1.1\r\n", 21, MSG_NOSIGNAL), 21);
    pump(&g);
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 10000);
    g.now += 10 * SEC;
    pump(&g);
    assert_int_equal(status(take(&g, fd)), 200);
    assert_false(is_open(&g, fd));
    close(fd);
    struct bj_httpd_stat st;
    bj_httpd_stat(g.h, &st);
    assert_int_equal(st.expired, 2);
    assert_int_equal(st.evicted, 0);
    stop(&g);
}

static void making_room(void **state)
{
    (void)state;
    enum { MAX = 4, TRIES = 10 };
    struct rig g;
    int fd[TRIES];
    start(&g, (struct bj_http_limits){.connections = MAX, .responses = 2});
    /* One that has had an answer is no better than those without. */
    fd[0] = dial(&g, GET("/hello"));
    assert_int_equal(status(take(&g, fd[0])), 200);
    for (int i = 1; i < TRIES; i++) {
        g.now++;
        fd[i] = dial(&g, "GET /hel");
        for (int k = 0; k <= i; k++)
            assert_int_equal(is_open(&g, fd[k]), i - k < MAX);
    }
    assert_int_equal(status(ask(&g, GET("/hello"))), 200);
    assert_false(is_open(&g, fd[TRIES - MAX]));
    assert_true(is_open(&g, fd[TRIES - MAX + 1]));
    for (int i = 0; i < TRIES; i++)
        close(fd[i]);
    struct bj_httpd_stat st;
    bj_httpd_stat(g.h, &st);
    assert_int_equal(st.evicted, TRIES - MAX + 1);
    stop(&g);
}

static void too_many_responses(void **state)
{
    (void)state;
    struct rig g;
    start(&g, (struct bj_http_limits){.responses = 1});
    int first = dial(&g, GET("/big"));
    assert_int_equal(bj_httpd_busy(g.h), 1);
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 30000);
    g.now += 2 * SEC - 1;
    const char *got = ask(&g, GET("/hello"));
    assert_int_equal(status(got), 503);
    assert_non_null(strstr(got, "\r\nRetry-After: 1\r\n"));
    assert_int_equal(status(ask(&g, GET("/always"))), 200);
    g.now++;
    int second = dial(&g, GET("/big"));
    assert_int_equal(bj_httpd_busy(g.h), 1);
    assert_int_equal(status(take(&g, second)), 200);
    take(&g, first);
    assert_false(is_open(&g, first));
    /* What nobody takes is given up in the end. */
    g.now += 30 * SEC;
    pump(&g);
    assert_int_equal(bj_httpd_busy(g.h), 0);
    struct bj_httpd_stat st;
    bj_httpd_stat(g.h, &st);
    assert_int_equal(st.refused, 1);
    assert_int_equal(st.evicted, 1);
    assert_int_equal(st.expired, 1);
    close(first);
    close(second);
    stop(&g);
}

/* Readers that stand still hold so many bytes and no more; then one that has
 * stood for long goes. */
static void too_many_bytes(void **state)
{
    (void)state;
    struct rig g;
    start(&g, (struct bj_http_limits){.flight_bytes = 2 * (size_t)BIG});
    int a = dial(&g, GET("/big")), b = dial(&g, GET("/big"));
    assert_int_equal(bj_httpd_busy(g.h), 2);
    assert_int_equal(status(ask(&g, GET("/hello"))), 503);
    assert_int_equal(status(ask(&g, GET("/always"))), 200);
    g.now += 3 * SEC;
    assert_int_equal(status(ask(&g, GET("/hello"))), 200);
    assert_int_equal(bj_httpd_busy(g.h), 1);
    assert_int_equal(status(ask(&g, GET("/hello"))), 200);
    close(a);
    close(b);
    stop(&g);
}

static void draining(void **state)
{
    (void)state;
    struct rig g;
    start(&g, (struct bj_http_limits){0});
    int idle = dial(&g, GET("/hello")), half = dial(&g, "GET");
    int busy = dial(&g, GET("/big"));
    take(&g, idle);
    bj_httpd_drain(g.h);
    assert_false(is_open(&g, idle));
    assert_false(is_open(&g, half));
    size_t n = strlen(take(&g, busy));
    while (bj_httpd_busy(g.h) > 0) {
        pump(&g);
        n += strlen(take(&g, busy));
    }
    pump(&g);
    const char *rest;
    while ((rest = take(&g, busy)))
        n += strlen(rest);
    assert_true(n > BIG);
    close(idle);
    close(half);
    close(busy);
    stop(&g);
}

static void buffers(void **state)
{
    (void)state;
    struct rig g;
    start(&g, (struct bj_http_limits){.keep_bytes = 10000});
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
    stop(&g);
}

static void wrong_options(void **state)
{
    (void)state;
    struct bj_httpd *h = NULL;
    struct bj_err err = {0};
    struct bj_http_limits few = {.connections = 5, .responses = 5};
    assert_int_equal(bj_httpd_new(routes, NULL, &few, &h, &err), -EINVAL);
    bj_httpd_free(NULL);
    struct rig g;
    start(&g, (struct bj_http_limits){0});
    assert_int_equal(bj_httpd_listen(g.h, "nonsense", &err), -EINVAL);
    for (int i = 1; i < BJ_HTTPD_LISTENERS; i++)
        assert_true(bj_httpd_listen(g.h, "127.0.0.1:0", &err) >= 0);
    assert_int_equal(bj_httpd_listen(g.h, "127.0.0.1:0", &err), -ENOSPC);
    stop(&g);
}

/* Whatever allocation fails, a request ends in some way and nothing is lost. */
static void want_of_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    struct rig g;
    start(&g, (struct bj_http_limits){0});
    ask(&g, GET("/hello"));
    for (unsigned long i = 0, failed = 1; failed; i++) {
        bj_fail_after(i);
        int fd = dial(&g, GET("/hello"));
        failed = bj_fail_stop();
        close(fd);
        pump(&g);
        assert_int_equal(status(ask(&g, GET("/hello"))), 200);
        assert_true(i < 1000);
    }
    stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answering),
        cmocka_unit_test(refusing),
        cmocka_unit_test(doubtful),
        cmocka_unit_test(echoing),
        cmocka_unit_test(too_many_bytes),
        cmocka_unit_test(keeping_alive),
        cmocka_unit_test(deadlines),
        cmocka_unit_test(making_room),
        cmocka_unit_test(too_many_responses),
        cmocka_unit_test(draining),
        cmocka_unit_test(buffers),
        cmocka_unit_test(wrong_options),
        cmocka_unit_test(want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
