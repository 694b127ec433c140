/* A complete API server with its own store, queried over HTTP. */
#ifndef BJ_TESTS_UNIT_APISERVER_TEST_API_RIG_H
#define BJ_TESTS_UNIT_APISERVER_TEST_API_RIG_H

#include "tests/unit/statsdb/test_statsdb.h"

#include "apiserver/server/server.h"
#include "base/clock.h"
#include "base/log.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { RESPONSE_BYTES = 4 << 20 };

struct rig {
    struct fixture f; /* opened and filled before rig_open */
    struct bj_server server;
    struct sockaddr_in addr;
    char response[RESPONSE_BYTES + 1]; /* with its headers */
};

/* boss is an admin, lead a coordinator of phys. */
static inline void rig_open(struct rig *r, const char *option)
{
    socklen_t len = sizeof(r->addr);
    struct bj_err err = {0};
    char store[128], more[96];
    struct bj_api_conf *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    snprintf(store, sizeof(store), "--store.path=%s", r->f.path);
    snprintf(more, sizeof(more), "%s", option);
    char *argv[] = {store,
                    store,
                    (char *)"--access.trust-loopback",
                    (char *)"--access.admins=boss",
                    (char *)"--access.coordinators=phys: lead",
                    (char *)"--access.rate=0",
                    (char *)"--query.timeout=600s",
                    more,
                    (char *)"--log.level=error"};
    if (bj_api_conf_load(c, COUNT(argv), argv, &err) < 0 ||
        bj_server_init(&r->server, c, bj_endpoint_tables, &err) < 0)
        fail_msg("%s", err.msg);
    int fd = bj_httpd_listen(r->server.httpd, "127.0.0.1:0", NULL);
    assert_true(fd >= 0);
    assert_return_code(getsockname(fd, (struct sockaddr *)&r->addr, &len),
                       errno);
}

static inline void rig_close(struct rig *r)
{
    assert_true(bj_server_free(&r->server, 20));
    fixture_close(&r->f);
}

static inline void rig_pump(struct rig *r)
{
    assert_int_equal(bj_server_turn(&r->server, -1, 1), 0);
}

static inline int rig_send(struct rig *r, const char *user, const char *path,
                           const char *body)
{
    struct bj_buf b = {0};
    bj_buf_printf(&b,
                  "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                  "X-Grafana-User: %s\r\nContent-Length: %zu\r\n\r\n%s",
                  body ? "POST" : "GET", path, user, body ? strlen(body) : 0,
                  body ? body : "");
    assert_false(b.failed);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_return_code(
        connect(fd, (struct sockaddr *)&r->addr, sizeof(r->addr)), errno);
    assert_int_equal(send(fd, b.p, b.len, MSG_NOSIGNAL), b.len);
    bj_buf_free(&b);
    return fd;
}

/* Receive a response into r->answer; returns its status. */
static inline unsigned rig_receive(struct rig *r, int fd)
{
    size_t got = 0;
    ssize_t n = -1;
    while (n != 0) {
        rig_pump(r);
        n = recv(fd, r->response + got, RESPONSE_BYTES - got, MSG_DONTWAIT);
        if (n < 0)
            assert_int_equal(errno, EAGAIN);
        got += n > 0 ? (size_t)n : 0;
    }
    r->response[got] = '\0';
    close(fd);
    assert_true(got > 12);
    return (unsigned)strtoul(r->response + 9, NULL, 10);
}

/* Send a request (body NULL: GET) and receive the response; returns its
 * status. */
static inline unsigned rig_request(struct rig *r, const char *user,
                                   const char *path, const char *body)
{
    return rig_receive(r, rig_send(r, user, path, body));
}

#endif
