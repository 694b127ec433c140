/* The HTTP client: sent requests, responses, redirects and proxies, with a
 * scripted server. */
#include "tests/unit/base/test_fetch.h"
#include "tests/unit/lib/testclock.h"

#include <signal.h>

/* --- good responses ------------------------------------------------------- */

static void a_request(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n" OK_HEAD
                 "Content-Type: application/json\r\nx-auth-TOKEN:  abc \r\n"
                 "ETag: \"v1\"\r\nLocation: /s/1\r\nX-Auth-Token: second\r\n"
                 "X-Empty:\r\nContent-Length: 2\r\n\r\n{}",
         .keep = true},
        {.text = "HTTP/1.1 204 No Content\r\n\r\n"},
    };
    char want[200];
    (void)state;
    SERVE(&stub, responses);
    assert_int_equal(
        fetch(&(struct bj_fetch_request){.url = url_of("/a?b=c#d")}), 0);
    assert_int_equal(reply.status, 200);
    assert_body("{}");
    assert_slice(bj_fetch_header(&reply, "Content-Type"), "application/json");
    assert_int_equal(reply.retry_after_usec, 0);
    assert_slice(bj_fetch_header(&reply, "X-Auth-Token"), "abc");
    assert_slice(bj_fetch_header(&reply, "location"), "/s/1");
    assert_non_null(bj_fetch_header(&reply, "X-Empty").p);
    assert_int_equal(bj_fetch_header(&reply, "X-Empty").n, 0);
    assert_null(bj_fetch_header(&reply, "X-Early").p);
    assert_null(bj_fetch_header(&reply, "X-Auth").p);
    /* The second request uses the same connection; nothing of the first
     * response is left. */
    assert_int_equal(fetch(&(struct bj_fetch_request){.url = url_of("/2")}), 0);
    assert_int_equal(reply.status, 204);
    assert_body("");
    assert_null(bj_fetch_header(&reply, "ETag").p);
    bj_stub_end(&stub);
    assert_int_equal(stub.accepted, 1);
    snprintf(want, sizeof(want),
             "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
             "User-Agent: batchjob\r\nAccept: */*\r\n"
             "Accept-Encoding: gzip, deflate\r\n\r\nGET /2 HTTP/1.1\r\n",
             stub.port);
    assert_memory_equal(stub.received.p, want, strlen(want));
}

static void sent_requests(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = OK_HEAD "Content-Length: 0\r\n\r\n", .keep = true},
        {.text = OK_HEAD "Content-Length: 0\r\n\r\n", .keep = true},
        {.text = OK_HEAD "Content-Length: 0\r\n\r\n", .keep = true},
        {.text = OK_HEAD "Content-Length: 5\r\n\r\n", .keep = true},
        {.text = OK_HEAD "Content-Length: 0\r\n\r\n"},
    };
    const char *const headers[] = {"X-SLURM-USER-NAME: anna",
                                   "Accept: text/csv",
                                   "content-type: text/plain", NULL};
    (void)state;
    SERVE(&stub, responses);
    assert_int_equal(
        fetch(&(struct bj_fetch_request){.url = url_of("/1"),
                                         .body = BJ_SLICE("{\"a\":1}"),
                                         .user = "admin",
                                         .password = "pass:word"}),
        0);
    assert_int_equal(
        fetch(&(struct bj_fetch_request){.url = url_of("/2"),
                                         .method = "PATCH",
                                         .headers = headers,
                                         .bearer = "tok.en",
                                         .body = BJ_SLICE("b\0c")}),
        0);
    assert_int_equal(fetch(&(struct bj_fetch_request){.url = url_of("/3"),
                                                      .method = "DELETE"}),
                     0);
    assert_int_equal(fetch(&(struct bj_fetch_request){.url = url_of("/4"),
                                                      .method = "HEAD"}),
                     0);
    assert_int_equal(fetch(&(struct bj_fetch_request){.url = url_of("/5"),
                                                      .method = "POST"}),
                     0);
    bj_stub_end(&stub);
    const char *p = stub.received.p;
    assert_memory_equal(p, "POST /1 HTTP/1.1\r\n", 18);
    /* printf admin:pass:word | base64 */
    assert_non_null(
        strstr(p, "\r\nAuthorization: Basic YWRtaW46cGFzczp3b3Jk\r\n"));
    assert_non_null(strstr(p, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(p, "\r\n\r\n{\"a\":1}PATCH /2 HTTP/1.1\r\n"));
    p = strstr(p, "PATCH");
    assert_non_null(strstr(p, "\r\nAuthorization: Bearer tok.en\r\n"));
    assert_non_null(strstr(p, "\r\nX-SLURM-USER-NAME: anna\r\n"));
    assert_non_null(strstr(p, "\r\nAccept: text/csv\r\n"));
    assert_non_null(strstr(p, "\r\ncontent-type: text/plain\r\n"));
    assert_non_null(strstr(p, "\r\nContent-Length: 3\r\n"));
    assert_null(strstr(p, "application/json"));
    p += strlen(p) + 1; /* after the NUL of the body */
    assert_memory_equal(p, "cDELETE /3 HTTP/1.1\r\n", 21);
    assert_null(strstr(p, "Authorization"));
    assert_non_null(strstr(p, "HEAD /4 HTTP/1.1\r\n"));
    p = strstr(p, "POST /5 HTTP/1.1\r\n");
    assert_non_null(p);
    assert_non_null(strstr(p, "\r\nContent-Length: 0\r\n"));
    assert_int_equal(stub.accepted, 1);
}

struct sum {
    uint64_t bytes, pieces;
    int code;
};

static int add(void *ctx, struct bj_slice piece, struct bj_err *e)
{
    struct sum *s = ctx;
    s->bytes += piece.n;
    s->pieces++;
    return s->code ? bj_err_set(e, s->code, "mine") : 0;
}

static void into_a_sink(void **state)
{
    enum { BIG = 3000000 };
    static char big[BIG + 100];
    int n =
        snprintf(big, sizeof(big), OK_HEAD "Content-Length: %d\r\n\r\n", BIG);
    memset(big + n, 'x', BIG);
    const struct bj_stub_response responses[] = {
        {.text = big, .n = (size_t)n + BIG},
        {.text = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"},
        {.text = big, .n = (size_t)n + BIG},
    };
    struct sum s = {0};
    (void)state;
    SERVE(&stub, responses);
    struct bj_fetch_request req = {
        .url = url_of("/"), .sink = add, .ctx = &s, .max_bytes = BIG};
    assert_int_equal(fetch(&req), 0);
    assert_int_equal(s.bytes, BIG);
    assert_true(s.pieces > 10);
    assert_int_equal(reply.body.len, 0);
    s.pieces = 0;
    assert_int_equal(fetch(&req), -EREMOTEIO);
    assert_int_equal(s.pieces, 0);
    assert_body("none");
    s.code = -ELOOP;
    assert_int_equal(fetch(&req), -ELOOP);
    assert_string_equal(err.msg, "mine");
    assert_int_equal(reply.fault, BJ_FETCH_LOCAL);
    assert_int_equal(s.pieces, 1);
    bj_stub_end(&stub);
}

static void on_a_unix_socket(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = OK_HEAD "Content-Length: 2\r\n\r\nhi"}};
    char dir[] = "/tmp/bj-fetch-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/socket", dir);
    bj_stub_begin(&stub, path, responses, 1);
    assert_int_equal(fetch(&(struct bj_fetch_request){
                         .url = "http://slurmrestd/x", .unix_socket = path}),
                     0);
    assert_body("hi");
    bj_stub_end(&stub);
    unlink(path);
    rmdir(dir);
}

/* --- statuses ------------------------------------------------------------- */

static const struct {
    const char *head;
    int want;
    const char *msg;
    uint64_t retry_sec;
} status_cases[] = {
    {"200 OK", 0, NULL, 0},
    {"206 Partial Content", 0, NULL, 0},
    {"304 Not Modified", -EREMOTEIO, "/p: http: status 304, not followed", 0},
    {"300 Choose", -EREMOTEIO, "/p: http: status 300, not followed", 0},
    {"400 Bad", -EREMOTEIO, "/p: http: status 400", 0},
    {"401 Unauthorized", -EACCES, "/p: http: status 401", 0},
    {"403 Forbidden", -EACCES, "/p: http: status 403", 0},
    {"404 Not Found", -EREMOTEIO, "/p: http: status 404", 0},
    {"408 Late", -EAGAIN, "/p: http: status 408", 0},
    {"429 Slow\r\nRetry-After: 120", -EAGAIN, "/p: http: status 429", 120},
    {"503 Busy\r\nretry-after:  7 ", -EAGAIN, "/p: http: status 503", 7},
    {"503 Busy\r\nRetry-After: 99999999999999999999", -EAGAIN, NULL, 86400},
    {"503 Busy\r\nRetry-After: 100000", -EAGAIN, NULL, 86400},
    {"503 Busy\r\nRetry-After: soon", -EAGAIN, NULL, 0},
    {"503 Busy\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT", -EAGAIN, NULL,
     0},
    {"503 Busy\r\nRetry-After: Wed, 31 Dec 2098 23:59:59 GMT", -EAGAIN, NULL,
     86400},
    {"503 Busy\r\nRetry-After: -1", -EAGAIN, NULL, 0},
    {"500 Oops", -EREMOTEIO, "/p: http: status 500", 0},
    {"599 ?", -EREMOTEIO, "/p: http: status 599", 0},
};

static void statuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(status_cases); i++) {
        char text[300];
        snprintf(text, sizeof(text),
                 "HTTP/1.1 %s\r\nConnection: close\r\n\r\n%s",
                 status_cases[i].head, i == 2 ? "" : "why");
        const struct bj_stub_response responses[] = {{.text = text}};
        SERVE(&stub, responses);
        assert_int_equal(
            fetch(&(struct bj_fetch_request){.url = url_of("/p?token=s#x")}),
            status_cases[i].want);
        assert_int_equal(reply.fault,
                         status_cases[i].want ? BJ_FETCH_HTTP : BJ_FETCH_OK);
        char status[8];
        snprintf(status, sizeof(status), "%u", reply.status);
        assert_memory_equal(status_cases[i].head, status, 3);
        if (status_cases[i].msg)
            assert_message(status_cases[i].msg);
        assert_body(i == 2 ? "" : "why");
        assert_int_equal(reply.retry_after_usec,
                         status_cases[i].retry_sec * SECOND);
        bj_stub_end(&stub);
        bj_stub_free(&stub);
    }
}

static void retry_after_date(void **state)
{
    (void)state;
    static const struct bj_stub_response responses[] = {
        {.text = "HTTP/1.1 503 Busy\r\n"
                 "Retry-After: Tue, 14 Nov 2023 22:15:00 GMT\r\n\r\n"}};
    testclock_stop();
    testclock_set_wall(1700000000ull * SECOND); /* 22:13:20 */
    SERVE(&stub, responses);
    assert_int_equal(fetch(&(struct bj_fetch_request){.url = url_of("/")}),
                     -EAGAIN);
    assert_int_equal(reply.retry_after_usec, 100 * SECOND);
    testclock_run();
    bj_stub_end(&stub);
}

static void long_error_body(void **state)
{
    enum { BIG = 1000000 };
    static char big[BIG + 100];
    int n = snprintf(big, sizeof(big), "HTTP/1.1 500 Oops\r\n\r\n");
    memset(big + n, 'x', BIG);
    const struct bj_stub_response responses[] = {
        {.text = big, .n = (size_t)n + BIG}};
    (void)state;
    SERVE(&stub, responses);
    assert_int_equal(fetch(&(struct bj_fetch_request){.url = url_of("/")}),
                     -EREMOTEIO);
    assert_int_equal(reply.fault, BJ_FETCH_HTTP);
    assert_int_equal(reply.status, 500);
    assert_int_equal(reply.body.len, 65536);
    bj_stub_end(&stub);
}

/* --- redirects ------------------------------------------------------------ */

static void redirects(void **state)
{
    static const struct bj_stub_response hops[] = {
        {.text = "HTTP/1.1 302 Found\r\nLocation: /b\r\nETag: x\r\n"
                 "Content-Length: 3\r\n\r\nout",
         .keep = true},
        {.text = "HTTP/1.1 308 Moved\r\nLocation: c?d\r\nContent-Length: "
                 "0\r\n\r\n",
         .keep = true},
        {.text = OK_HEAD "Content-Length: 2\r\n\r\nin", .keep = true},
        /* one redirect too many */
        {.text = "HTTP/1.1 302 Found\r\nLocation: /e\r\nContent-Length: "
                 "0\r\n\r\n",
         .keep = true},
        {.text = "HTTP/1.1 302 Found\r\nLocation: /f\r\nContent-Length: "
                 "0\r\n\r\n",
         .keep = true},
        /* not followed, because the request has a body */
        {.text = "HTTP/1.1 307 Found\r\nLocation: /g\r\nContent-Length: "
                 "0\r\n\r\n",
         .keep = true},
        /* without a location, and to another scheme */
        {.text = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
         .keep = true},
        {.text = "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
                 "Content-Length: 0\r\n\r\n",
         .keep = true},
    };
    (void)state;
    SERVE(&stub, hops);
    struct bj_fetch_request req = {
        .url = url_of("/a"), .redirects = 2, .user = "u", .password = "p"};
    assert_int_equal(fetch(&req), 0);
    assert_int_equal(reply.status, 200);
    assert_body("in");
    assert_null(bj_fetch_header(&reply, "ETag").p);
    req.redirects = 1;
    assert_int_equal(fetch(&req), -EREMOTEIO);
    assert_message("/e: http: status 302, not followed");
    req.body = BJ_SLICE("x");
    assert_int_equal(fetch(&req), -EREMOTEIO);
    assert_int_equal(reply.status, 307);
    req.body = (struct bj_slice){0};
    for (int i = 0; i < 2; i++) {
        req.cross_origin = i > 0;
        assert_int_equal(fetch(&req), -EREMOTEIO);
        assert_int_equal(reply.status, 302);
    }
    bj_stub_end(&stub);
    assert_non_null(strstr(stub.received.p, "GET /c?d HTTP/1.1\r\n"));
    assert_null(strstr(stub.received.p, "GET /f"));
    assert_null(strstr(stub.received.p, "/g"));
    /* A redirect within the origin keeps the credentials. */
    const char *b = strstr(stub.received.p, "GET /b ");
    assert_non_null(b);
    assert_non_null(strstr(b, "Authorization: Basic dTpw\r\n"));
}

static void to_another_host(void **state)
{
    static const struct bj_stub_response other_responses[] = {
        {.text = OK_HEAD "Content-Length: 3\r\n\r\nfar"}};
    const char *const headers[] = {"X-Auth-Token: secret", NULL};
    struct bj_stub other;
    char text[200];
    (void)state;
    SERVE(&other, other_responses);
    snprintf(text, sizeof(text),
             "HTTP/1.1 302 Found\r\nLocation: %s/x\r\nContent-Length: "
             "0\r\n\r\n",
             other.url);
    const struct bj_stub_response responses[] = {{.text = text, .keep = true},
                                                 {.text = text, .keep = true}};
    SERVE(&stub, responses);
    struct bj_fetch_request req = {.url = url_of("/a"),
                                   .redirects = 2,
                                   .user = "u",
                                   .password = "p",
                                   .headers = headers};
    assert_int_equal(fetch(&req), -EREMOTEIO);
    assert_message("/a: http: status 302, not followed");
    req.cross_origin = true;
    assert_int_equal(fetch(&req), 0);
    assert_body("far");
    bj_stub_end(&stub);
    bj_stub_end(&other);
    assert_non_null(strstr(other.received.p, "GET /x HTTP/1.1\r\n"));
    assert_null(strstr(other.received.p, "Authorization"));
    assert_null(strstr(other.received.p, "secret"));
    assert_non_null(strstr(stub.received.p, "X-Auth-Token: secret\r\n"));
    bj_stub_free(&other);
}

/* --- environment ---------------------------------------------------------- */

static void proxies(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = OK_HEAD "Content-Length: 5\r\n\r\nproxy"}};
    (void)state;
    SERVE(&stub, responses);
    setenv("http_proxy", stub.url, 1);
    struct bj_fetch_request req = {.url = "http://a..b/x"};
    assert_int_equal(fetch(&req), 0);
    assert_body("proxy");
    req.no_proxy = true;
    assert_int_equal(fetch(&req), -EHOSTUNREACH);
    unsetenv("http_proxy");
    bj_stub_end(&stub);
    assert_memory_equal(stub.received.p, "GET http://a..b/x HTTP/1.1\r\n", 28);
}

/* A server that closes the connection while the client writes causes no
 * SIGPIPE, and the signal mask stays unchanged. */
static void no_signals(void **state)
{
    static const struct bj_stub_response responses[] = {{.text = NULL}};
    static char big[4000000];
    sigset_t set;
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    SERVE(&stub, responses);
    struct bj_slice body = {big, sizeof(big)};
    int r = fetch(&(struct bj_fetch_request){.url = url_of("/"), .body = body});
    assert_int_equal(r, -EPROTO);
    bj_stub_end(&stub);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
    assert_false(sigismember(&set, SIGPIPE));
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(bj_fetch_fault_name(BJ_FETCH_OK), "ok");
    assert_string_equal(bj_fetch_fault_name(BJ_FETCH_LOCAL), "local");
    bj_fetch_free(NULL);
    struct bj_fetch_reply none = {0};
    bj_fetch_reply_free(&none);
    assert_null(bj_fetch_header(&none, "a").p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request),        TEST(sent_requests), TEST(into_a_sink),
        TEST(on_a_unix_socket), TEST(statuses),      TEST(retry_after_date),
        TEST(long_error_body),  TEST(redirects),     TEST(to_another_host),
        TEST(proxies),          TEST(no_signals),    TEST(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
