/* Limits of the HTTP server, over real sockets and with a simulated clock:
 * which connections it closes, and when. */
#include "tests/unit/lib/webrig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void deadlines(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    assert_int_equal(bj_httpd_timeout(g.h, g.now), -1);
    /* Bytes that trickle in do not move the deadline. */
    int fd = web_connect(&g, "");
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 10000);
    for (int i = 1; i < 10; i++) {
        g.now += SEC;
        assert_int_equal(send(fd, &"GET /hello HTTP"[i], 1, MSG_NOSIGNAL), 1);
        web_pump(&g);
        assert_int_equal(bj_httpd_timeout(g.h, g.now), 10000 - i * 1000);
    }
    g.now += SEC - 1;
    web_pump(&g);
    assert_true(web_is_open(&g, fd));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 1);
    g.now++;
    web_pump(&g);
    assert_false(web_is_open(&g, fd));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), -1);
    close(fd);
    /* The deadline is longer between two requests, but not within the
     * second. */
    fd = web_connect(&g, GET("/hello"));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 75000);
    g.now += 60 * SEC;
    assert_int_equal(send(fd, "GET /hello HTTP/1.1\r\n", 21, MSG_NOSIGNAL), 21);
    web_pump(&g);
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 10000);
    g.now += 10 * SEC;
    web_pump(&g);
    assert_int_equal(web_status(web_receive(&g, fd)), 200);
    assert_false(web_is_open(&g, fd));
    close(fd);
    struct bj_httpd_stat st;
    bj_httpd_stat(g.h, &st);
    assert_int_equal(st.expired, 2);
    assert_int_equal(st.evicted, 0);
    web_stop(&g);
}

static void making_room(void **state)
{
    (void)state;
    enum { MAX = 4, TRIES = 10 };
    struct web_rig g;
    int fd[TRIES];
    web_start(&g, (struct bj_http_limits){.connections = MAX, .responses = 2});
    /* A connection that has had a response is not preferred. */
    fd[0] = web_connect(&g, GET("/hello"));
    assert_int_equal(web_status(web_receive(&g, fd[0])), 200);
    for (int i = 1; i < TRIES; i++) {
        g.now++;
        fd[i] = web_connect(&g, "GET /hel");
        for (int k = 0; k <= i; k++)
            assert_int_equal(web_is_open(&g, fd[k]), i - k < MAX);
    }
    assert_int_equal(web_status(web_request(&g, GET("/hello"))), 200);
    assert_false(web_is_open(&g, fd[TRIES - MAX]));
    assert_true(web_is_open(&g, fd[TRIES - MAX + 1]));
    for (int i = 0; i < TRIES; i++)
        close(fd[i]);
    struct bj_httpd_stat st;
    bj_httpd_stat(g.h, &st);
    assert_int_equal(st.evicted, TRIES - MAX + 1);
    web_stop(&g);
}

static void too_many_responses(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){.responses = 1});
    int first = web_connect(&g, GET("/big"));
    assert_int_equal(bj_httpd_busy(g.h), 1);
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 30000);
    g.now += 2 * SEC - 1;
    const char *got = web_request(&g, GET("/hello"));
    assert_int_equal(web_status(got), 503);
    assert_non_null(strstr(got, "\r\nRetry-After: 1\r\n"));
    assert_int_equal(web_status(web_request(&g, GET("/always"))), 200);
    g.now++;
    int second = web_connect(&g, GET("/big"));
    assert_int_equal(bj_httpd_busy(g.h), 1);
    assert_int_equal(web_status(web_receive(&g, second)), 200);
    web_receive(&g, first);
    assert_false(web_is_open(&g, first));
    /* A response that the client does not read is dropped at the deadline. */
    g.now += 30 * SEC;
    web_pump(&g);
    assert_int_equal(bj_httpd_busy(g.h), 0);
    struct bj_httpd_stat st;
    bj_httpd_stat(g.h, &st);
    assert_int_equal(st.refused, 1);
    assert_int_equal(st.evicted, 1);
    assert_int_equal(st.expired, 1);
    close(first);
    close(second);
    web_stop(&g);
}

/* Clients that do not read hold a limited number of bytes; then one that has
 * stalled for long is closed. */
static void too_many_bytes(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){.flight_bytes = 2 * (size_t)BIG});
    int a = web_connect(&g, GET("/big")), b = web_connect(&g, GET("/big"));
    assert_int_equal(bj_httpd_busy(g.h), 2);
    assert_int_equal(web_status(web_request(&g, GET("/hello"))), 503);
    assert_int_equal(web_status(web_request(&g, GET("/always"))), 200);
    g.now += 3 * SEC;
    assert_int_equal(web_status(web_request(&g, GET("/hello"))), 200);
    assert_int_equal(bj_httpd_busy(g.h), 1);
    assert_int_equal(web_status(web_request(&g, GET("/hello"))), 200);
    close(a);
    close(b);
    web_stop(&g);
}

static void finish(struct web_rig *g)
{
    struct bj_http_reply r = {.status = 202, .type = "text/plain"};
    bj_httpd_finish(g->h, g->pending_request, &r);
    g->pending_request = NULL;
    web_pump(g);
}

/* A delayed response waits for room, which becomes free without another
 * request. */
static void waiting_for_room(void **state)
{
    (void)state;
    struct web_rig g;
    struct bj_httpd_stat st;
    web_start(&g, (struct bj_http_limits){.flight_bytes = 2 * (size_t)BIG,
                                          .later = true});
    int a = web_connect(&g, GET("/big"));
    g.now += SEC;
    int b = web_connect(&g, GET("/big"));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 29000);
    assert_false(bj_httpd_room(g.h, 0));
    int late = web_connect(&g, GET("/later"));
    assert_non_null(g.pending_request);
    assert_false(bj_http_client_gone(g.pending_request));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 1000);
    g.now += SEC - 1;
    web_pump(&g);
    assert_false(bj_httpd_room(g.h, 0));
    g.now++;
    web_pump(&g);
    assert_true(bj_httpd_room(g.h, 0));
    assert_false(bj_httpd_room(g.h, BIG));
    finish(&g);
    assert_int_equal(web_status(web_receive(&g, late)), 202);
    assert_true(web_is_open(&g, b));
    bj_httpd_stat(g.h, &st);
    assert_int_equal(st.refused, 0);
    assert_int_equal(st.evicted, 1);
    close(a);
    close(b);
    close(late);
    web_stop(&g);
}

/* The handler can find out that its client has gone. */
static void client_disconnects(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){.later = true});
    int fd = web_connect(&g, GET("/later"));
    assert_non_null(g.pending_request);
    assert_false(bj_http_client_gone(g.pending_request));
    close(fd);
    assert_true(bj_http_client_gone(g.pending_request));
    finish(&g);
    assert_int_equal(bj_httpd_busy(g.h), 0);
    web_stop(&g);
}

static void draining(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    int idle = web_connect(&g, GET("/hello")), half = web_connect(&g, "GET");
    int busy = web_connect(&g, GET("/big"));
    web_receive(&g, idle);
    bj_httpd_drain(g.h);
    assert_false(web_is_open(&g, idle));
    assert_false(web_is_open(&g, half));
    size_t n = strlen(web_receive(&g, busy));
    while (bj_httpd_busy(g.h) > 0) {
        web_pump(&g);
        n += strlen(web_receive(&g, busy));
    }
    web_pump(&g);
    const char *rest;
    while ((rest = web_receive(&g, busy)))
        n += strlen(rest);
    assert_true(n > BIG);
    close(idle);
    close(half);
    close(busy);
    web_stop(&g);
}

/* A connection that has just begun is not closed for a new one; the new one
 * waits. */
static void holding(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){
                      .connections = 2, .responses = 1, .hold_usec = 2 * SEC});
    int first = web_connect(&g, "GET /hel");
    g.now += SEC;
    int second = web_connect(&g, "GET /hel");
    int third = web_connect(&g, GET("/hello"));
    assert_int_equal(web_status(web_receive(&g, third)), 0);
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 1000);
    g.now += SEC;
    web_pump(&g);
    assert_false(web_is_open(&g, first));
    assert_true(web_is_open(&g, second));
    assert_int_equal(web_status(web_receive(&g, third)), 200);
    /* An idle one is closed at once, though it is younger. */
    int fourth = web_connect(&g, GET("/hello"));
    assert_int_equal(web_status(web_receive(&g, fourth)), 200);
    assert_false(web_is_open(&g, third));
    assert_true(web_is_open(&g, second));
    close(first);
    close(second);
    close(third);
    close(fourth);
    web_stop(&g);
}

/* One address may hold a part of the connections without a complete request;
 * others get in at once, though the connections of the first have just begun.
 */
static void crowding(void **state)
{
    (void)state;
    enum { ALL = 8, SHARE = 2, MANY = 20 };
    struct web_rig g;
    int slow[MANY];
    web_start(&g, (struct bj_http_limits){.connections = ALL,
                                          .responses = 1,
                                          .hold_usec = 2 * SEC,
                                          .waiting = SHARE});
    for (int i = 0; i < MANY; i++)
        slow[i] = web_connect_from(&g, "127.0.0.9", "GET /hel");
    int open = 0;
    for (int i = 0; i < MANY; i++)
        open += web_is_open(&g, slow[i]);
    assert_int_equal(open, ALL);
    /* each good client makes the crowd smaller, down to its share */
    int good[ALL];
    for (int i = 0; i < ALL - SHARE; i++) {
        char from[16];
        snprintf(from, sizeof(from), "127.0.0.%d", 10 + i);
        good[i] = web_connect_from(&g, from, "GET /hel");
        assert_true(web_is_open(&g, good[i]));
    }
    open = 0;
    for (int i = 0; i < MANY; i++)
        open += web_is_open(&g, slow[i]);
    assert_int_equal(open, SHARE);
    /* none is over its share: a new one waits as before */
    int late = web_connect_from(&g, "127.0.0.99", GET("/hello"));
    assert_int_equal(web_status(web_receive(&g, late)), 0);
    int more = web_connect_from(&g, "127.0.0.9", GET("/hello"));
    g.now += 2 * SEC;
    web_pump(&g);
    assert_int_equal(web_status(web_receive(&g, late)), 200);
    for (int i = 0; i < ALL - SHARE; i++)
        close(good[i]);
    for (int i = 0; i < MANY; i++)
        close(slow[i]);
    close(late);
    close(more);
    web_stop(&g);
}

#define POST(length, more)                                                     \
    "POST /echo/x HTTP/1.1\r\nHost: x\r\n" more "Content-Length: " length      \
    "\r\n\r\n"

/* A body counts from the end of its headers on. */
static void too_much_body(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){.bodies_bytes = 100});
    int slow = web_connect(&g, POST("80", ""));
    const char *response =
        web_request(&g, POST("30", "") "012345678901234567890123456789");
    assert_int_equal(web_status(response), 503);
    response = web_request(&g, POST("3", "") "abc");
    assert_int_equal(web_status(response), 200);
    assert_non_null(strstr(response, "body abc!"));
    for (int i = 0; i < 80; i++)
        assert_int_equal(send(slow, "x", 1, MSG_NOSIGNAL), 1);
    web_pump(&g);
    assert_int_equal(web_status(web_receive(&g, slow)), 200);
    response = web_request(&g, POST("30", "") "012345678901234567890123456789");
    assert_int_equal(web_status(response), 200);
    /* A client that disconnects frees its room. */
    int gone = web_connect(&g, POST("100", ""));
    close(gone);
    web_pump(&g);
    response = web_request(&g, POST("2", "") "ab");
    assert_int_equal(web_status(response), 200);
    close(slow);
    web_stop(&g);
}

static unsigned admit(void *ctx, const struct bj_http_request *req)
{
    struct web_rig *g = ctx;
    g->calls++;
    return bj_slice_eq(bj_http_header(req, "X-Who"), BJ_SLICE("me")) ? 0 : 401;
}

static void refusing_before_the_body(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    bj_httpd_admit(g.h, admit);
    int fd = web_connect(&g, POST("4000", ""));
    const char *response = web_receive(&g, fd);
    assert_int_equal(web_status(response), 401);
    assert_non_null(strstr(response, "WWW-Authenticate: Bearer"));
    assert_false(web_is_open(&g, fd));
    close(fd);
    response = web_request(&g, POST("2", "X-Who: me\r\n") "ab");
    assert_int_equal(web_status(response), 200);
    assert_int_equal(web_status(web_request(&g, GET("/hello"))), 200);
    assert_int_equal(g.calls, 3); /* admit() twice, the page once */
    web_stop(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deadlines),
        cmocka_unit_test(making_room),
        cmocka_unit_test(too_many_responses),
        cmocka_unit_test(too_many_bytes),
        cmocka_unit_test(waiting_for_room),
        cmocka_unit_test(client_disconnects),
        cmocka_unit_test(draining),
        cmocka_unit_test(holding),
        cmocka_unit_test(crowding),
        cmocka_unit_test(too_much_body),
        cmocka_unit_test(refusing_before_the_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
