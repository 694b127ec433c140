/* Asking a web server: what goes out, what comes back, and all that can go
 * wrong. */
#include "base/clock.h"
#include "base/fetch.h"
#include "base/fetch_priv.h"
#include "tests/unit/lib/httpstub.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PLAY(s, list) bj_stub_begin(s, NULL, list, COUNT(list))
#define OK_HEAD "HTTP/1.1 200 OK\r\n"

enum { MS = 1000, SECOND = 1000000 };

static struct bj_fetch *f;
static struct bj_fetch_reply reply;
static struct bj_err err;
static struct bj_stub stub;

static int enter(void **state)
{
    (void)state;
    for (const char *const *v =
             (const char *const[]){"http_proxy", "https_proxy", "all_proxy",
                                   "no_proxy", "HTTPS_PROXY", "ALL_PROXY",
                                   "NO_PROXY", NULL};
         *v; v++)
        unsetenv(*v);
    return bj_fetch_new(&f, NULL);
}

static int leave(void **state)
{
    (void)state;
    bj_fetch_free(f);
    bj_fetch_reply_free(&reply);
    bj_stub_free(&stub);
    memset(&stub, 0, sizeof(stub));
    return 0;
}

static int ask(const struct bj_fetch_request *req)
{
    err = (struct bj_err){0};
    int r = bj_fetch(f, req, &reply, &err);
    assert_int_equal(err.code, r);
    assert_int_equal(reply.fault == BJ_FETCH_OK, r == 0);
    return r;
}

/* "GET http://127.0.0.1:PORT" and what follows. */
static void assert_message(const char *what)
{
    char want[256];
    snprintf(want, sizeof(want), "GET %s%s", stub.url, what);
    assert_string_equal(err.msg, want);
}

static void assert_slice(struct bj_slice got, const char *want)
{
    assert_true(bj_slice_eq(got, bj_slice_str(want)));
}

static void assert_body(const char *want)
{
    assert_slice((struct bj_slice){reply.body.p, reply.body.len}, want);
}

static const char *at(const char *path)
{
    static char url[256];
    snprintf(url, sizeof(url), "%s%s", stub.url, path);
    return url;
}

/* --- good answers --------------------------------------------------------- */

static void a_question(void **state)
{
    static const struct bj_stub_answer answers[] = {
        {.text = "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n" OK_HEAD
                 "Content-Type: application/json\r\nx-auth-TOKEN:  abc \r\n"
                 "ETag: \"v1\"\r\nLocation: /s/1\r\nX-Auth-Token: second\r\n"
                 "X-Empty:\r\nContent-Length: 2\r\n\r\n{}",
         .keep = true},
        {.text = "HTTP/1.1 204 No Content\r\n\r\n"},
    };
    char want[200];
    (void)state;
    PLAY(&stub, answers);
    assert_int_equal(ask(&(struct bj_fetch_request){.url = at("/a?b=c#d")}), 0);
    assert_int_equal(reply.status, 200);
    assert_body("{}");
    assert_slice(reply.content_type, "application/json");
    assert_slice(reply.etag, "\"v1\"");
    assert_int_equal(reply.retry_after_usec, 0);
    assert_slice(bj_fetch_header(&reply, "X-Auth-Token"), "abc");
    assert_slice(bj_fetch_header(&reply, "location"), "/s/1");
    assert_non_null(bj_fetch_header(&reply, "X-Empty").p);
    assert_int_equal(bj_fetch_header(&reply, "X-Empty").n, 0);
    assert_null(bj_fetch_header(&reply, "X-Early").p);
    assert_null(bj_fetch_header(&reply, "X-Auth").p);
    /* The second on the same connection; nothing of the first is left. */
    assert_int_equal(ask(&(struct bj_fetch_request){.url = at("/2")}), 0);
    assert_int_equal(reply.status, 204);
    assert_body("");
    assert_null(reply.etag.p);
    bj_stub_end(&stub);
    assert_int_equal(stub.accepted, 1);
    snprintf(want, sizeof(want),
             "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
             "User-Agent: batchjob\r\nAccept: */*\r\n"
             "Accept-Encoding: gzip, deflate\r\n\r\nGET /2 HTTP/1.1\r\n",
             stub.port);
    assert_memory_equal(stub.seen.p, want, strlen(want));
}

static void what_is_sent(void **state)
{
    static const struct bj_stub_answer answers[] = {
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
    PLAY(&stub, answers);
    assert_int_equal(
        ask(&(struct bj_fetch_request){.url = at("/1"),
                                       .body = BJ_SLICE("{\"a\":1}"),
                                       .user = "admin",
                                       .password = "pass:word"}),
        0);
    assert_int_equal(ask(&(struct bj_fetch_request){.url = at("/2"),
                                                    .method = "PATCH",
                                                    .headers = headers,
                                                    .bearer = "tok.en",
                                                    .body = BJ_SLICE("b\0c")}),
                     0);
    assert_int_equal(
        ask(&(struct bj_fetch_request){.url = at("/3"), .method = "DELETE"}),
        0);
    assert_int_equal(
        ask(&(struct bj_fetch_request){.url = at("/4"), .method = "HEAD"}), 0);
    assert_int_equal(
        ask(&(struct bj_fetch_request){.url = at("/5"), .method = "POST"}), 0);
    bj_stub_end(&stub);
    const char *p = stub.seen.p;
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
    p += strlen(p) + 1; /* behind the NUL of the body */
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
    const struct bj_stub_answer answers[] = {
        {.text = big, .n = (size_t)n + BIG},
        {.text = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"},
        {.text = big, .n = (size_t)n + BIG},
    };
    struct sum s = {0};
    (void)state;
    PLAY(&stub, answers);
    struct bj_fetch_request req = {
        .url = at("/"), .sink = add, .ctx = &s, .max_bytes = BIG};
    assert_int_equal(ask(&req), 0);
    assert_int_equal(s.bytes, BIG);
    assert_true(s.pieces > 10);
    assert_int_equal(reply.body.len, 0);
    s.pieces = 0;
    assert_int_equal(ask(&req), -EREMOTEIO);
    assert_int_equal(s.pieces, 0);
    assert_body("none");
    s.code = -ELOOP;
    assert_int_equal(ask(&req), -ELOOP);
    assert_string_equal(err.msg, "mine");
    assert_int_equal(reply.fault, BJ_FETCH_LOCAL);
    assert_int_equal(s.pieces, 1);
    bj_stub_end(&stub);
}

static void on_a_unix_socket(void **state)
{
    static const struct bj_stub_answer answers[] = {
        {.text = OK_HEAD "Content-Length: 2\r\n\r\nhi"}};
    char dir[] = "/tmp/bj-fetch-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/socket", dir);
    bj_stub_begin(&stub, path, answers, 1);
    assert_int_equal(ask(&(struct bj_fetch_request){
                         .url = "http://slurmrestd/x", .unix_socket = path}),
                     0);
    assert_body("hi");
    bj_stub_end(&stub);
    unlink(path);
    rmdir(dir);
}

/* --- statuses ------------------------------------------------------------- */

static void statuses(void **state)
{
    static const struct {
        const char *head;
        int want;
        const char *msg;
        uint64_t retry_sec;
    } cases[] = {
        {"200 OK", 0, NULL, 0},
        {"206 Partial Content", 0, NULL, 0},
        {"304 Not Modified", 0, NULL, 0},
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
        {"503 Busy\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT", -EAGAIN,
         NULL, 0},
        {"503 Busy\r\nRetry-After: Wed, 31 Dec 2098 23:59:59 GMT", -EAGAIN,
         NULL, 86400},
        {"503 Busy\r\nRetry-After: -1", -EAGAIN, NULL, 0},
        {"500 Oops", -EREMOTEIO, "/p: http: status 500", 0},
        {"599 ?", -EREMOTEIO, "/p: http: status 599", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[300];
        snprintf(text, sizeof(text),
                 "HTTP/1.1 %s\r\nConnection: close\r\n\r\n%s", cases[i].head,
                 i == 2 ? "" : "why");
        const struct bj_stub_answer answers[] = {{.text = text}};
        PLAY(&stub, answers);
        assert_int_equal(
            ask(&(struct bj_fetch_request){.url = at("/p?token=s#x")}),
            cases[i].want);
        assert_int_equal(reply.fault,
                         cases[i].want ? BJ_FETCH_HTTP : BJ_FETCH_OK);
        char status[8];
        snprintf(status, sizeof(status), "%u", reply.status);
        assert_memory_equal(cases[i].head, status, 3);
        if (cases[i].msg)
            assert_message(cases[i].msg);
        assert_body(i == 2 ? "" : "why");
        assert_int_equal(reply.retry_after_usec, cases[i].retry_sec * SECOND);
        bj_stub_end(&stub);
        bj_stub_free(&stub);
    }
    /* A date that is near. */
    char text[200], date[64];
    time_t then = time(NULL) + 100;
    struct tm tm;
    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT",
             gmtime_r(&then, &tm));
    snprintf(text, sizeof(text), "HTTP/1.1 503 Busy\r\nRetry-After: %s\r\n\r\n",
             date);
    const struct bj_stub_answer answers[] = {{.text = text}};
    PLAY(&stub, answers);
    assert_int_equal(ask(&(struct bj_fetch_request){.url = at("/")}), -EAGAIN);
    assert_in_range(reply.retry_after_usec, 95 * SECOND, 100 * SECOND);
    bj_stub_end(&stub);
}

static void long_complaints(void **state)
{
    enum { BIG = 1000000 };
    static char big[BIG + 100];
    int n = snprintf(big, sizeof(big), "HTTP/1.1 500 Oops\r\n\r\n");
    memset(big + n, 'x', BIG);
    const struct bj_stub_answer answers[] = {
        {.text = big, .n = (size_t)n + BIG}};
    (void)state;
    PLAY(&stub, answers);
    assert_int_equal(ask(&(struct bj_fetch_request){.url = at("/")}),
                     -EREMOTEIO);
    assert_int_equal(reply.fault, BJ_FETCH_HTTP);
    assert_int_equal(reply.status, 500);
    assert_int_equal(reply.body.len, 65536);
    bj_stub_end(&stub);
}

/* --- redirects ------------------------------------------------------------ */

static void redirects(void **state)
{
    static const struct bj_stub_answer hops[] = {
        {.text = "HTTP/1.1 302 Found\r\nLocation: /b\r\nETag: x\r\n"
                 "Content-Length: 3\r\n\r\nout",
         .keep = true},
        {.text = "HTTP/1.1 308 Moved\r\nLocation: c?d\r\nContent-Length: "
                 "0\r\n\r\n",
         .keep = true},
        {.text = OK_HEAD "Content-Length: 2\r\n\r\nin", .keep = true},
        /* one too many; */
        {.text = "HTTP/1.1 302 Found\r\nLocation: /e\r\nContent-Length: "
                 "0\r\n\r\n",
         .keep = true},
        {.text = "HTTP/1.1 302 Found\r\nLocation: /f\r\nContent-Length: "
                 "0\r\n\r\n",
         .keep = true},
        /* not what one may repeat; */
        {.text = "HTTP/1.1 307 Found\r\nLocation: /g\r\nContent-Length: "
                 "0\r\n\r\n",
         .keep = true},
        /* nowhere, and not ours */
        {.text = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
         .keep = true},
        {.text = "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
                 "Content-Length: 0\r\n\r\n",
         .keep = true},
    };
    (void)state;
    PLAY(&stub, hops);
    struct bj_fetch_request req = {
        .url = at("/a"), .redirects = 2, .user = "u", .password = "p"};
    assert_int_equal(ask(&req), 0);
    assert_int_equal(reply.status, 200);
    assert_body("in");
    assert_null(reply.etag.p);
    req.redirects = 1;
    assert_int_equal(ask(&req), -EREMOTEIO);
    assert_message("/e: http: status 302, not followed");
    req.body = BJ_SLICE("x");
    assert_int_equal(ask(&req), -EREMOTEIO);
    assert_int_equal(reply.status, 307);
    req.body = (struct bj_slice){0};
    for (int i = 0; i < 2; i++) {
        req.cross_origin = i > 0;
        assert_int_equal(ask(&req), -EREMOTEIO);
        assert_int_equal(reply.status, 302);
    }
    bj_stub_end(&stub);
    assert_non_null(strstr(stub.seen.p, "GET /c?d HTTP/1.1\r\n"));
    assert_null(strstr(stub.seen.p, "GET /f"));
    assert_null(strstr(stub.seen.p, "/g"));
    /* Within its origin the credentials go along. */
    const char *b = strstr(stub.seen.p, "GET /b ");
    assert_non_null(b);
    assert_non_null(strstr(b, "Authorization: Basic dTpw\r\n"));
}

static void to_another_host(void **state)
{
    static const struct bj_stub_answer there[] = {
        {.text = OK_HEAD "Content-Length: 3\r\n\r\nfar"}};
    const char *const headers[] = {"X-Auth-Token: secret", NULL};
    struct bj_stub other;
    char text[200];
    (void)state;
    PLAY(&other, there);
    snprintf(text, sizeof(text),
             "HTTP/1.1 302 Found\r\nLocation: %s/x\r\nContent-Length: "
             "0\r\n\r\n",
             other.url);
    const struct bj_stub_answer answers[] = {{.text = text, .keep = true},
                                             {.text = text, .keep = true}};
    PLAY(&stub, answers);
    struct bj_fetch_request req = {.url = at("/a"),
                                   .redirects = 2,
                                   .user = "u",
                                   .password = "p",
                                   .headers = headers};
    assert_int_equal(ask(&req), -EREMOTEIO);
    assert_message("/a: http: status 302, not followed");
    req.cross_origin = true;
    assert_int_equal(ask(&req), 0);
    assert_body("far");
    bj_stub_end(&stub);
    bj_stub_end(&other);
    assert_non_null(strstr(other.seen.p, "GET /x HTTP/1.1\r\n"));
    assert_null(strstr(other.seen.p, "Authorization"));
    assert_null(strstr(other.seen.p, "secret"));
    assert_non_null(strstr(stub.seen.p, "X-Auth-Token: secret\r\n"));
    bj_stub_free(&other);
}

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
    const struct bj_stub_answer answers[] = {
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
    PLAY(&stub, answers);
    struct bj_fetch_request req = {.url = at("/"), .max_bytes = 10};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(&req), -EFBIG);
        assert_int_equal(reply.fault, BJ_FETCH_TOO_BIG);
        assert_message("/: too_big: more than the limit of bytes");
        assert_true(reply.body.len <= 10);
    }
    assert_int_equal(ask(&req), 0);
    assert_body("1234567890");
    req.max_bytes = 0;
    assert_int_equal(ask(&req), -EFBIG); /* 16 MiB */
    req.max_bytes = ZEROS;
    assert_int_equal(ask(&req), 0);
    assert_int_equal(reply.body.len, ZEROS);
    assert_int_equal(ask(&req), -EFBIG);
    assert_message("/: too_big: more than 64 KiB of headers");
    bj_stub_end(&stub);
    free(bomb);
}

static void deadlines(void **state)
{
    static const struct bj_stub_answer answers[] = {
        {.text = OK_HEAD "\r\n", .wait_ms = 5000},
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
         .wait_ms = 1500},
    };
    (void)state;
    for (int i = 0; i < 3; i++) {
        bj_stub_begin(&stub, NULL, answers + i, i < 2 ? 1 : 3);
        uint64_t start = bj_clock_boot_usec();
        struct bj_fetch_request req = {
            .url = at("/"), .total_usec = 400 * MS, .redirects = 9};
        assert_int_equal(ask(&req), -ETIMEDOUT);
        uint64_t took = bj_clock_boot_usec() - start;
        assert_int_equal(reply.fault, BJ_FETCH_TIMEOUT);
        assert_true(took >= 390 * MS && took < 3 * SECOND);
        bj_stub_end(&stub);
        bj_stub_free(&stub);
    }
}

/* Nobody accepts: the queue of a listener that is full. */
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
    /* Bound, but nobody listens. */
    assert_int_equal(ask(&(struct bj_fetch_request){.url = at("/")}),
                     -ECONNREFUSED);
    assert_int_equal(reply.fault, BJ_FETCH_CONNECT);
    assert_int_equal(reply.status, 0);
    assert_int_equal(listen(l, 0), 0);
    for (size_t i = 0; i < COUNT(c); i++) {
        c[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(c[i], (struct sockaddr *)&in, len);
    }
    uint64_t start = bj_clock_boot_usec();
    assert_int_equal(ask(&(struct bj_fetch_request){.url = at("/"),
                                                    .connect_usec = 200 * MS}),
                     -ETIMEDOUT);
    assert_true(bj_clock_boot_usec() - start < 3 * SECOND);
    for (size_t i = 0; i < COUNT(c); i++)
        close(c[i]);
    close(l);
    /* A name that nobody can have. */
    assert_int_equal(ask(&(struct bj_fetch_request){.url = "http://a..b/"}),
                     -EHOSTUNREACH);
    assert_int_equal(reply.fault, BJ_FETCH_DNS);
    assert_memory_equal(err.msg, "GET http://a..b/: dns: ", 23);
}

static void *set_flag(void *flag)
{
    usleep(200 * MS);
    atomic_store((atomic_bool *)flag, true);
    return NULL;
}

static void aborted(void **state)
{
    static const struct bj_stub_answer answers[] = {
        {.text = OK_HEAD "\r\n", .wait_ms = 8000}};
    atomic_bool stop = false;
    pthread_t t;
    (void)state;
    PLAY(&stub, answers);
    assert_int_equal(pthread_create(&t, NULL, set_flag, &stop), 0);
    uint64_t start = bj_clock_boot_usec();
    struct bj_fetch_request req = {.url = at("/"), .abort = &stop};
    assert_int_equal(ask(&req), -ECANCELED);
    assert_int_equal(reply.fault, BJ_FETCH_ABORTED);
    assert_true(bj_clock_boot_usec() - start < 3 * SECOND);
    pthread_join(t, NULL);
    bj_stub_end(&stub);
    /* and before it has begun */
    assert_int_equal(ask(&req), -ECANCELED);
}

/* --- bad ones ------------------------------------------------------------- */

static void no_http(void **state)
{
    static const struct bj_stub_answer answers[] = {
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
    for (size_t i = 0; i < COUNT(answers); i++) {
        bj_stub_begin(&stub, NULL, answers + i, 1);
        int r = ask(&(struct bj_fetch_request){.url = at("/"),
                                               .total_usec = 2 * SECOND});
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
        int r = ask(&cases[i]);
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

    static const struct bj_stub_answer answers[] = {
        {.text = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"}};
    char url[200];
    PLAY(&stub, answers);
    snprintf(url, sizeof(url), "http://anna:geheim@127.0.0.1:%u/x?key=geheim",
             stub.port);
    assert_int_equal(ask(&(struct bj_fetch_request){.url = url}), -EREMOTEIO);
    assert_message("/x: http: status 404");
    bj_stub_end(&stub);
    /* printf anna:geheim | base64 */
    assert_non_null(
        strstr(stub.seen.p, "Authorization: Basic YW5uYTpnZWhlaW0=\r\n"));
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

/* --- surroundings --------------------------------------------------------- */

static void proxies(void **state)
{
    static const struct bj_stub_answer answers[] = {
        {.text = OK_HEAD "Content-Length: 5\r\n\r\nproxy"}};
    (void)state;
    PLAY(&stub, answers);
    setenv("http_proxy", stub.url, 1);
    struct bj_fetch_request req = {.url = "http://a..b/x"};
    assert_int_equal(ask(&req), 0);
    assert_body("proxy");
    req.no_proxy = true;
    assert_int_equal(ask(&req), -EHOSTUNREACH);
    unsetenv("http_proxy");
    bj_stub_end(&stub);
    assert_memory_equal(stub.seen.p, "GET http://a..b/x HTTP/1.1\r\n", 28);
}

/* A server that hangs up while we write raises no signal, and none is lost. */
static void no_signals(void **state)
{
    static const struct bj_stub_answer answers[] = {{.text = NULL}};
    static char big[4000000];
    sigset_t set;
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    PLAY(&stub, answers);
    struct bj_slice body = {big, sizeof(big)};
    int r = ask(&(struct bj_fetch_request){.url = at("/"), .body = body});
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_question),
        TEST(what_is_sent),
        TEST(into_a_sink),
        TEST(on_a_unix_socket),
        TEST(statuses),
        TEST(long_complaints),
        TEST(redirects),
        TEST(to_another_host),
        TEST(too_big),
        TEST(deadlines),
        TEST(no_connection),
        TEST(aborted),
        TEST(no_http),
        TEST(bad_requests),
        TEST(secrets_stay_secret),
        TEST(origins),
        TEST(proxies),
        TEST(no_signals),
        TEST(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
