/* base/httpd.c over a real socket: nothing is read past the end of the input,
 * the handlers get well-formed requests only, and the next client is served.  A
 * byte of 0xff splits the input into pieces that are sent separately. */
#include "base/httpd.h"
#include "base/listen.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* One server for all inputs, with a simulated clock. */
static struct {
    struct bj_httpd *h;
    struct sockaddr_in addr;
    uint64_t now;
    bool served;
} rig;

static void on_page(void *ctx, const struct bj_http_request *req,
                    struct bj_http_reply *r)
{
    (void)ctx;
    MUST(req->method == BJ_HTTP_GET || req->method == BJ_HTTP_HEAD);
    struct bj_slice accept = bj_http_header(req, "Accept");
    MUST(accept.n == 0 || accept.p);
    rig.served = true;
    r->unsized = req->method == BJ_HTTP_HEAD;
    if (!r->unsized)
        bj_buf_slice(&r->body, accept);
}

static int on_arg(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct bj_buf *b = ctx;
    MUST(key.p && (value.n == 0 || value.p));
    bj_buf_slice(b, key);
    bj_buf_slice(b, value);
    return b->len > 4096;
}

/* Echo the parameters, a header, the end of the path and the body of a
 * request. */
static void on_echo(void *ctx, const struct bj_http_request *req,
                    struct bj_http_reply *r)
{
    struct bj_slice host[2];
    (void)ctx;
    MUST(req->method == BJ_HTTP_GET || req->method == BJ_HTTP_POST);
    MUST(req->tail.n > 0 && strlen(req->tail.p) == req->tail.n);
    MUST(req->method == BJ_HTTP_POST || req->body.n == 0);
    MUST(req->body.n <= 4096);
    bj_http_each_arg(req, on_arg, &r->body);
    unsigned n = bj_http_header_all(req, "Host", host, 2);
    for (unsigned i = 0; i < n && i < 2; i++)
        bj_buf_slice(&r->body, host[i]);
    bj_buf_slice(&r->body, req->tail);
    bj_buf_slice(&r->body, req->body);
    rig.served = true;
}

/* The handler of error responses. */
static void on_refusal(void *ctx, const struct bj_http_request *req,
                       struct bj_http_reply *r)
{
    (void)ctx;
    (void)req;
    MUST(r->status >= 400);
    bj_buf_str(&r->body, "!");
}

static const struct bj_http_route routes[] = {
    {"/echo/*", BJ_HTTP_GET | BJ_HTTP_POST, false, on_echo},
    {"/page", BJ_HTTP_GET | BJ_HTTP_HEAD, false, on_page},
    {"/", BJ_HTTP_GET, true, on_page},
    {NULL, 0, false, on_refusal},
};

static void start(void)
{
    struct bj_http_limits limits = {.connections = 8, .responses = 4};
    socklen_t len = sizeof(rig.addr);
    MUST(bj_httpd_new(routes, NULL, &limits, &rig.h, NULL) == 0);
    int fd = bj_httpd_listen(rig.h, "127.0.0.1:0", NULL);
    MUST(fd >= 0);
    MUST(getsockname(fd, (struct sockaddr *)&rig.addr, &len) == 0);
    rig.now = 1000000;
}

static void turn(int timeout_ms)
{
    struct pollfd fds[BJ_HTTPD_FDS];
    nfds_t n = bj_httpd_poll(rig.h, fds);
    poll(fds, n, timeout_ms);
    bj_httpd_run(rig.h, fds, n, rig.now);
}

/* Four turns are enough for most inputs: the kernel has usually delivered the
 * bytes when send(2) returns. */
static void pump(void)
{
    for (int i = 0; i < 4; i++)
        turn(0);
}

static bool is_connected(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int why = 0;
    socklen_t len = sizeof(why);
    return poll(&p, 1, 0) == 1 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) == 0 && why == 0;
}

/* Connect, or return -1 after 100 turns of the server, which may have to close
 * other connections first. */
static int try_dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    MUST(fd >= 0);
    if (connect(fd, (struct sockaddr *)&rig.addr, sizeof(rig.addr)) == 0 ||
        errno == EINPROGRESS)
        for (int i = 0; i < 100; i++) {
            if (is_connected(fd))
                return fd;
            turn(1);
        }
    close(fd);
    return -1;
}

/* Connect with up to 100 attempts, for busy machines. */
static int dial(void)
{
    int fd = -1;
    for (int i = 0; i < 100 && fd < 0; i++) {
        fd = try_dial();
        turn(fd < 0 ? 10 : 0);
    }
    MUST(fd >= 0);
    pump();
    return fd;
}

static void disconnect(int fd)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    pump();
}

static void check_alive(void)
{
    static const char get[] = "GET /page HTTP/1.1\r\nHost: x\r\n\r\n";
    int fd = dial();
    rig.served = false;
    MUST(send(fd, get, sizeof(get) - 1, MSG_NOSIGNAL) == sizeof(get) - 1);
    /* A busy machine may need many turns. */
    for (int i = 0; i < 10000 && !rig.served; i++)
        turn(i < 4 ? 0 : 1);
    MUST(rig.served);
    disconnect(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char buf[512];
    if (!rig.h)
        start();
    int fd = dial();
    while (size > 0) {
        const uint8_t *cut = memchr(data, 0xff, size);
        size_t n = cut ? (size_t)(cut - data) : size;
        if (n > 0)
            send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        pump();
        n += cut != NULL;
        data += n;
        size -= n;
    }
    ssize_t got = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
    MUST(got <= 0 || memcmp(buf, "HTTP/1.", 7) == 0);
    disconnect(fd);
    check_alive();
    return 0;
}
