/* The HTTP client: limits, and everything that can go wrong. */
#include "tests/unit/base/test_fetch.h"
#include "tests/unit/lib/fail.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <zlib.h>

/* --- limits --------------------------------------------------------------- */

static void too_big(void **state)
{
    enum { ZEROS = 20000000 };
    char *zeros = calloc(1, ZEROS), *bomb = malloc(200000);
    int n = snprintf(bomb, 1000, OK_HEAD "Content-Encoding: gzip\r\n\r\n");
    z_stream z = {.next_in = (Bytef *)zeros,
                  .avail_in = ZEROS,
                  .next_out = (Bytef *)bomb + n,
                  .avail_out = 150000};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 9, 0), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t len = (size_t)n + z.total_out;
    deflateEnd(&z);
    free(zeros);
    static char headers[100000];
    int m = snprintf(headers, 100, OK_HEAD "X-Long: ");
    memset(headers + m, 'x', 70000);
    snprintf(headers + m + 70000, 100, "\r\nContent-Length: 0\r\n\r\n");
    const struct bj_stub_response responses[] = {
        {.text = OK_HEAD "Content-Length: 11\r\n\r\n12345678901"},
        {.text = OK_HEAD "Transfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n"
                         "5\r\n78901\r\n0\r\n\r\n"},
        {.text = OK_HEAD "\r\n12345678901"},
        {.text = OK_HEAD "Content-Length: 10\r\n\r\n1234567890"},
        {.text = bomb, .n = len},
        {.text = bomb, .n = len},
        {.text = headers},
    };
    (void)state;
    SERVE(&stub, responses);
    struct bj_fetch_request req = {.url = url_of("/"), .max_bytes = 10};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fetch(&req), -EFBIG);
        assert_int_equal(reply.fault, BJ_FETCH_TOO_BIG);
        assert_message("/: too_big: body larger than the limit");
        assert_true(reply.body.len <= 10);
    }
    assert_int_equal(fetch(&req), 0);
    assert_body("1234567890");
    req.max_bytes = 0;
    assert_int_equal(fetch(&req), -EFBIG); /* 16 MiB */
    req.max_bytes = ZEROS;
    assert_int_equal(fetch(&req), 0);
    assert_int_equal(reply.body.len, ZEROS);
    assert_int_equal(fetch(&req), -EFBIG);
    assert_message("/: too_big: more than 64 KiB of headers");
    bj_stub_end(&stub);
    free(bomb);
}

static void deadlines(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = OK_HEAD "\r\n", .wait_ms = 20000},
        {.text = OK_HEAD "\r\n..................................",
         .drip_ms = 20},
        {.text = "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n"
                 "\r\n",
         .keep = true,
         .wait_ms = 150},
        {.text = "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n"
                 "\r\n",
         .keep = true,
         .wait_ms = 150},
        {.text = "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n"
                 "\r\n",
         .keep = true,
         .wait_ms = 15000},
    };
    (void)state;
    for (int i = 0; i < 3; i++) {
        bj_stub_begin(&stub, NULL, responses + i, i < 2 ? 1 : 3);
        struct bj_fetch_request req = {
            .url = url_of("/"), .total_usec = 400 * MS, .redirects = 9};
        assert_int_equal(fetch(&req), -ETIMEDOUT);
        assert_int_equal(reply.fault, BJ_FETCH_TIMEOUT);
        bj_stub_end(&stub);
        bj_stub_free(&stub);
    }
}

/* Nothing listens, the listener's queue is full, or the host is unknown. */
static void no_connection(void **state)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), c[8];
    (void)state;
    assert_int_equal(bind(l, (struct sockaddr *)&in, len), 0);
    assert_int_equal(getsockname(l, (struct sockaddr *)&in, &len), 0);
    snprintf(stub.url, sizeof(stub.url), "http://127.0.0.1:%u",
             ntohs(in.sin_port));
    /* Bound, but not listening. */
    assert_int_equal(fetch(&(struct bj_fetch_request){.url = url_of("/")}),
                     -ECONNREFUSED);
    assert_int_equal(reply.fault, BJ_FETCH_CONNECT);
    assert_int_equal(reply.status, 0);
    assert_int_equal(listen(l, 0), 0);
    for (size_t i = 0; i < COUNT(c); i++) {
        c[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(c[i], (struct sockaddr *)&in, len);
    }
    assert_int_equal(fetch(&(struct bj_fetch_request){
                         .url = url_of("/"), .connect_usec = 200 * MS}),
                     -ETIMEDOUT);
    for (size_t i = 0; i < COUNT(c); i++)
        close(c[i]);
    close(l);
    /* An invalid host name. */
    assert_int_equal(fetch(&(struct bj_fetch_request){.url = "http://a..b/"}),
                     -EHOSTUNREACH);
    assert_int_equal(reply.fault, BJ_FETCH_DNS);
    assert_memory_equal(err.msg, "GET http://a..b/: dns: ", 23);
}

static int set_flag(void *flag, struct bj_slice piece, struct bj_err *e)
{
    (void)piece;
    (void)e;
    atomic_store((atomic_bool *)flag, true);
    return 0;
}

static void aborted(void **state)
{
    /* The rest of the body never comes. */
    static const struct bj_stub_response responses[] = {
        {.text = OK_HEAD "Content-Length: 9\r\n\r\nbegun", .keep = true},
        {.text = ""}};
    atomic_bool stop = false;
    (void)state;
    SERVE(&stub, responses);
    struct bj_fetch_request req = {.url = url_of("/"),
                                   .total_usec = 900ull * SECOND,
                                   .sink = set_flag,
                                   .ctx = &stop,
                                   .abort = &stop};
    assert_int_equal(fetch(&req), -ECANCELED);
    assert_int_equal(reply.fault, BJ_FETCH_ABORTED);
    bj_stub_end(&stub);
    /* aborted before it begins */
    assert_int_equal(fetch(&req), -ECANCELED);
}

/* --- bad responses and requests ------------------------------------------- */

static void not_http(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = ""},
        {.text = "SSH-2.0-OpenSSH_9.2\r\n"},
        {.text = "<html>old</html>"},
        {.text = "HTTP/1.1 2x0 OK\r\n\r\n"},
        {.text = OK_HEAD "Content-Length: 10\r\n\r\n12345"},
        {.text = OK_HEAD "Content-Length: 4\r\nContent-Encoding: gzip\r\n\r\n"
                         "abcd"},
        {.text = OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\n"},
        {.text = OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\n12"},
        {.text = "HTTP/1.1 20"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(responses); i++) {
        bj_stub_begin(&stub, NULL, responses + i, 1);
        int r = fetch(&(struct bj_fetch_request){.url = url_of("/"),
                                                 .total_usec = 60 * SECOND});
        if (r != -EPROTO || reply.fault != BJ_FETCH_PROTOCOL)
            fail_msg("%zu: %d %s", i, r, err.msg);
        bj_stub_end(&stub);
        bj_stub_free(&stub);
    }
}

static void bad_requests(void **state)
{
    static const char *const split[] = {"X: a\r\nY: b", NULL};
    static const char *const bare[] = {"no colon", NULL};
    const struct bj_fetch_request cases[] = {
        {.url = NULL},
        {.url = ""},
        {.url = "127.0.0.1"},
        {.url = "file:///etc/passwd"},
        {.url = "ftp://127.0.0.1/"},
        {.url = "gopher://127.0.0.1/"},
        {.url = "http://"},
        {.url = "http:///path"},
        {.url = "http://127.0.0.1:99999/"},
        {.url = "http://127.0.0.1:http/"},
        {.url = "http://[::1/"},
        {.url = "http://127.0.0.1/a b"},
        {.url = "http://127.0.0.1:1/", .headers = split},
        {.url = "http://127.0.0.1:1/", .headers = bare},
        {.url = "http://127.0.0.1:1/", .bearer = "a\nb"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int r = fetch(&cases[i]);
        if (r != -EINVAL || reply.fault != BJ_FETCH_LOCAL)
            fail_msg("%zu: %d %s", i, r, err.msg);
    }
}

static void secrets_stay_secret(void **state)
{
    static const struct {
        const char *url, *want;
    } cases[] = {
        {"http://h/p", "http://h/p"},
        {"HTTPS://user:pass@h:8443/p/q?token=t#f", "https://h:8443/p/q"},
        {"http://user:p@ss/word@h/", "http://ss/word@h/"},
        {"http://u@h?x", "http://h"},
        {"http://[::1]:80/", "http://[::1]:80/"},
        {"http://h/a\nb\xff", "http://h/a?b\xef\xbf\xbd"},
        {"user:pass@host", "(no URL)"},
        {"", "(no URL)"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char buf[BJ_FETCH_SHOWN];
        assert_string_equal(bj_fetch_show(cases[i].url, buf), cases[i].want);
    }
    char huge[1000], buf[BJ_FETCH_SHOWN];
    memset(huge, 'h', sizeof(huge));
    memcpy(huge, "http://", 7);
    huge[999] = '\0';
    assert_int_equal(strlen(bj_fetch_show(huge, buf)), BJ_FETCH_SHOWN - 1);

    static const struct bj_stub_response responses[] = {
        {.text = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"}};
    char url[200];
    SERVE(&stub, responses);
    snprintf(url, sizeof(url), "http://anna:geheim@127.0.0.1:%u/x?key=geheim",
             stub.port);
    assert_int_equal(fetch(&(struct bj_fetch_request){.url = url}), -EREMOTEIO);
    assert_message("/x: http: status 404");
    bj_stub_end(&stub);
    /* printf anna:geheim | base64 */
    assert_non_null(
        strstr(stub.received.p, "Authorization: Basic YW5uYTpnZWhlaW0=\r\n"));
}

static void origins(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"http://h/a", "http://h/b?c", true},
        {"http://h", "http://H:80/", true},
        {"https://h:443/", "https://u:p@h", true},
        {"http://[::1]/", "http://[::1]:80", true},
        {"http://h:/", "http://h", true},
        {"http://h", "https://h", false},
        {"http://h:80", "https://h:80", false},
        {"http://h", "http://h:81", false},
        {"http://h", "http://h.x", false},
        {"http://h@evil/", "http://h/", false},
        {"http://h", "http://evil#@h/", false},
        {"http://h", "http://evil?@h/", false},
        {"http://h", "http://evil/@h/", false},
        {"http://h", "ftp://h", false},
        {"x", "x", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (bj_fetch_same_origin(cases[i].a, cases[i].b) != cases[i].same)
            fail_msg("%s %s", cases[i].a, cases[i].b);
}

/* Every allocation fails once, including those of libcurl. The request may
 * succeed nevertheless or fail for another reason; nothing leaks. */
static void no_memory(void **state)
{
    enum { ENOUGH = 1000 };
    static struct bj_stub_response responses[ENOUGH];
    static const char *const headers[] = {"X-A: b", NULL};
    bool failed = true;
    unsigned long n = 0;
    (void)state;
    for (size_t i = 0; i < ENOUGH; i++)
        responses[i].text = OK_HEAD "Content-Length: 2\r\n\r\nhi";
    SERVE(&stub, responses);
    struct bj_fetch_request req = {
        .url = stub.url, .headers = headers, .bearer = "x"};
    for (; n < ENOUGH / 2 && failed; n++) {
        for (int all = 0; all < 2; all++) {
            struct bj_fetch *own = NULL;
            all ? bj_fail_from(n) : bj_fail_after(n);
            int r = bj_fetch_new(&own, NULL);
            if (r == 0)
                r = bj_fetch(own, &req, &reply, NULL);
            failed = bj_fail_stop();
            assert_true(r == 0 || failed);
            bj_fetch_free(own);
            bj_fetch_reply_free(&reply);
        }
    }
    assert_true(n > 5 || !bj_fail_works());
    bj_stub_end(&stub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(too_big),
        TEST(deadlines),
        TEST(no_connection),
        TEST(aborted),
        TEST(not_http),
        TEST(bad_requests),
        TEST(secrets_stay_secret),
        TEST(origins),
        TEST(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
