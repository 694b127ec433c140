#include "tests/unit/lib/webrig.h"

#include "base/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void on_hello(void *ctx, const struct bj_http_request *req,
                     struct bj_http_reply *r)
{
    struct web_rig *g = ctx;
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
    struct web_rig *g = ctx;
    (void)req;
    r->body = bj_httpd_buf(g->h, BIG);
    if (bj_buf_room(&r->body, BIG)) {
        memset(r->body.p, 'x', BIG);
        r->body.len = BIG;
    }
}

static void on_later(void *ctx, const struct bj_http_request *req,
                     struct bj_http_reply *r)
{
    struct web_rig *g = ctx;
    r->later = true;
    g->pending_request = req;
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

const struct bj_http_route web_routes[] = {
    {"/hello", BJ_HTTP_GET | BJ_HTTP_HEAD, false, on_hello},
    {"/big", BJ_HTTP_GET, false, on_big},
    {"/always", BJ_HTTP_GET, true, on_hello},
    {"/later", BJ_HTTP_GET, false, on_later},
    {"/failed", BJ_HTTP_GET, false, on_failed},
    {"/head", BJ_HTTP_HEAD, false, on_hello},
    {"/echo/*", BJ_HTTP_GET | BJ_HTTP_POST, false, on_echo},
    {.path = NULL},
};

void web_start(struct web_rig *g, struct bj_http_limits limits)
{
    char name[BJ_ADDRESS_MAX];
    struct bj_err err = {0};
    uint64_t port = 0;
    *g = (struct web_rig){.now = START_SEC * SEC};
    assert_int_equal(bj_httpd_new(web_routes, g, &limits, &g->h, &err), 0);
    int fd = bj_httpd_listen(g->h, "127.0.0.1:0", &err);
    assert_true(fd >= 0);
    bj_listen_name(fd, name);
    struct bj_slice text = bj_slice_str(strchr(name, ':') + 1);
    assert_int_equal(bj_slice_u64(text, &port), 0);
    g->port = (unsigned short)port;
}

void web_stop(struct web_rig *g)
{
    bj_httpd_free(g->h);
    bj_buf_free(&g->response);
}

void web_pump(struct web_rig *g)
{
    struct pollfd fds[BJ_HTTPD_FDS];
    for (int quiet = 0; quiet < 3;) {
        nfds_t n = bj_httpd_poll(g->h, fds);
        int got = poll(fds, n, 5);
        bj_httpd_run(g->h, fds, n, g->now);
        quiet = got > 0 || bj_httpd_timeout(g->h, g->now) == 0 ? 0 : quiet + 1;
    }
}

static int open_and_send(struct web_rig *g, const char *from, const char *text,
                         size_t n)
{
    int small = 4096;
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(g->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    if (from) {
        struct sockaddr_in own = {.sin_family = AF_INET};
        assert_int_equal(inet_pton(AF_INET, from, &own.sin_addr), 1);
        assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
    }
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    if (n > 0)
        assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
    web_pump(g);
    return fd;
}

int web_connect(struct web_rig *g, const char *text)
{
    return open_and_send(g, NULL, text, strlen(text));
}

int web_connect_from(struct web_rig *g, const char *from, const char *text)
{
    return open_and_send(g, from, text, strlen(text));
}

const char *web_receive(struct web_rig *g, int fd)
{
    char buf[4096];
    ssize_t n;
    g->response.len = 0;
    while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
        bj_buf_put(&g->response, buf, (size_t)n);
    bool over = n == 0 || (n < 0 && errno == ECONNRESET);
    if (over && g->response.len == 0)
        return NULL;
    bj_buf_put(&g->response, "", 1);
    return g->response.p;
}

bool web_is_open(struct web_rig *g, int fd)
{
    return web_receive(g, fd) != NULL;
}

unsigned web_status(const char *response)
{
    uint64_t v = 0;
    struct bj_slice s = bj_slice_str(response);
    return bj_slice_starts(s, BJ_SLICE("HTTP/1.")) && s.n > 12 &&
                   bj_slice_u64((struct bj_slice){s.p + 9, 3}, &v) == 0
               ? (unsigned)v
               : 0;
}

const char *web_send(struct web_rig *g, const char *text, size_t n)
{
    int fd = open_and_send(g, NULL, text, n);
    const char *response = web_receive(g, fd);
    close(fd);
    web_pump(g);
    return response ? response : "";
}

const char *web_request(struct web_rig *g, const char *text)
{
    return web_send(g, text, strlen(text));
}
