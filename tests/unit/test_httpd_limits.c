/* The HTTP server over real sockets and a clock of the test's own: whom it lets
 * go, when, and for whom. */
#include "tests/unit/lib/webrig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
    int fd = web_dial(&g, "");
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
    /* Between two requests there is more time, within the second not. */
    fd = web_dial(&g, GET("/hello"));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 75000);
    g.now += 60 * SEC;
    assert_int_equal(send(fd, "GET /hello HTTP/1.1\r\n", 21, MSG_NOSIGNAL), 21);
    web_pump(&g);
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 10000);
    g.now += 10 * SEC;
    web_pump(&g);
    assert_int_equal(web_status(web_take(&g, fd)), 200);
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
    /* One that has had an answer is no better than those without. */
    fd[0] = web_dial(&g, GET("/hello"));
    assert_int_equal(web_status(web_take(&g, fd[0])), 200);
    for (int i = 1; i < TRIES; i++) {
        g.now++;
        fd[i] = web_dial(&g, "GET /hel");
        for (int k = 0; k <= i; k++)
            assert_int_equal(web_is_open(&g, fd[k]), i - k < MAX);
    }
    assert_int_equal(web_status(web_ask(&g, GET("/hello"))), 200);
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
    int first = web_dial(&g, GET("/big"));
    assert_int_equal(bj_httpd_busy(g.h), 1);
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 30000);
    g.now += 2 * SEC - 1;
    const char *got = web_ask(&g, GET("/hello"));
    assert_int_equal(web_status(got), 503);
    assert_non_null(strstr(got, "\r\nRetry-After: 1\r\n"));
    assert_int_equal(web_status(web_ask(&g, GET("/always"))), 200);
    g.now++;
    int second = web_dial(&g, GET("/big"));
    assert_int_equal(bj_httpd_busy(g.h), 1);
    assert_int_equal(web_status(web_take(&g, second)), 200);
    web_take(&g, first);
    assert_false(web_is_open(&g, first));
    /* What nobody takes is given up in the end. */
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

/* Readers that stand still hold so many bytes and no more; then one that has
 * stood for long goes. */
static void too_many_bytes(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){.flight_bytes = 2 * (size_t)BIG});
    int a = web_dial(&g, GET("/big")), b = web_dial(&g, GET("/big"));
    assert_int_equal(bj_httpd_busy(g.h), 2);
    assert_int_equal(web_status(web_ask(&g, GET("/hello"))), 503);
    assert_int_equal(web_status(web_ask(&g, GET("/always"))), 200);
    g.now += 3 * SEC;
    assert_int_equal(web_status(web_ask(&g, GET("/hello"))), 200);
    assert_int_equal(bj_httpd_busy(g.h), 1);
    assert_int_equal(web_status(web_ask(&g, GET("/hello"))), 200);
    close(a);
    close(b);
    web_stop(&g);
}

static void finish(struct web_rig *g)
{
    struct bj_http_reply r = {.status = 202, .type = "text/plain"};
    bj_httpd_finish(g->h, g->waiting, &r);
    g->waiting = NULL;
    web_pump(g);
}

/* What is answered later waits for room, which is made without anybody asking
 * once more. */
static void waiting_for_room(void **state)
{
    (void)state;
    struct web_rig g;
    struct bj_httpd_stat st;
    web_start(&g, (struct bj_http_limits){.flight_bytes = 2 * (size_t)BIG,
                                          .later = true});
    int a = web_dial(&g, GET("/big"));
    g.now += SEC;
    int b = web_dial(&g, GET("/big"));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 29000);
    assert_false(bj_httpd_room(g.h, 0));
    int late = web_dial(&g, GET("/later"));
    assert_non_null(g.waiting);
    assert_false(bj_http_given_up(g.waiting));
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 1000);
    g.now += SEC - 1;
    web_pump(&g);
    assert_false(bj_httpd_room(g.h, 0));
    g.now++;
    web_pump(&g);
    assert_true(bj_httpd_room(g.h, 0));
    assert_false(bj_httpd_room(g.h, BIG));
    finish(&g);
    assert_int_equal(web_status(web_take(&g, late)), 202);
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
static void hanging_up(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){.later = true});
    int fd = web_dial(&g, GET("/later"));
    assert_non_null(g.waiting);
    assert_false(bj_http_given_up(g.waiting));
    close(fd);
    assert_true(bj_http_given_up(g.waiting));
    finish(&g);
    assert_int_equal(bj_httpd_busy(g.h), 0);
    web_stop(&g);
}

static void draining(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){0});
    int idle = web_dial(&g, GET("/hello")), half = web_dial(&g, "GET");
    int busy = web_dial(&g, GET("/big"));
    web_take(&g, idle);
    bj_httpd_drain(g.h);
    assert_false(web_is_open(&g, idle));
    assert_false(web_is_open(&g, half));
    size_t n = strlen(web_take(&g, busy));
    while (bj_httpd_busy(g.h) > 0) {
        web_pump(&g);
        n += strlen(web_take(&g, busy));
    }
    web_pump(&g);
    const char *rest;
    while ((rest = web_take(&g, busy)))
        n += strlen(rest);
    assert_true(n > BIG);
    close(idle);
    close(half);
    close(busy);
    web_stop(&g);
}

/* A connection that has just begun is not closed for a new one, which waits. */
static void holding(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){
                      .connections = 2, .responses = 1, .hold_usec = 2 * SEC});
    int first = web_dial(&g, "GET /hel");
    g.now += SEC;
    int second = web_dial(&g, "GET /hel");
    int third = web_dial(&g, GET("/hello"));
    assert_int_equal(web_status(web_take(&g, third)), 0);
    assert_int_equal(bj_httpd_timeout(g.h, g.now), 1000);
    g.now += SEC;
    web_pump(&g);
    assert_false(web_is_open(&g, first));
    assert_true(web_is_open(&g, second));
    assert_int_equal(web_status(web_take(&g, third)), 200);
    /* An idle one is closed at once, though it is younger. */
    int fourth = web_dial(&g, GET("/hello"));
    assert_int_equal(web_status(web_take(&g, fourth)), 200);
    assert_false(web_is_open(&g, third));
    assert_true(web_is_open(&g, second));
    close(first);
    close(second);
    close(third);
    close(fourth);
    web_stop(&g);
}

#define POST(length, more)                                                     \
    "POST /echo/x HTTP/1.1\r\nHost: x\r\n" more "Content-Length: " length      \
    "\r\n\r\n"

/* Bodies count from their headers on. */
static void too_much_body(void **state)
{
    (void)state;
    struct web_rig g;
    web_start(&g, (struct bj_http_limits){.bodies_bytes = 100});
    int slow = web_dial(&g, POST("80", ""));
    const char *answer =
        web_ask(&g, POST("30", "") "012345678901234567890123456789");
    assert_int_equal(web_status(answer), 503);
    answer = web_ask(&g, POST("3", "") "abc");
    assert_int_equal(web_status(answer), 200);
    assert_non_null(strstr(answer, "body abc!"));
    for (int i = 0; i < 80; i++)
        assert_int_equal(send(slow, "x", 1, MSG_NOSIGNAL), 1);
    web_pump(&g);
    assert_int_equal(web_status(web_take(&g, slow)), 200);
    answer = web_ask(&g, POST("30", "") "012345678901234567890123456789");
    assert_int_equal(web_status(answer), 200);
    /* A client that goes away leaves its room. */
    int gone = web_dial(&g, POST("100", ""));
    close(gone);
    web_pump(&g);
    answer = web_ask(&g, POST("2", "") "ab");
    assert_int_equal(web_status(answer), 200);
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
    int fd = web_dial(&g, POST("4000", ""));
    const char *answer = web_take(&g, fd);
    assert_int_equal(web_status(answer), 401);
    assert_non_null(strstr(answer, "WWW-Authenticate: Bearer"));
    assert_false(web_is_open(&g, fd));
    close(fd);
    answer = web_ask(&g, POST("2", "X-Who: me\r\n") "ab");
    assert_int_equal(web_status(answer), 200);
    assert_int_equal(web_status(web_ask(&g, GET("/hello"))), 200);
    assert_int_equal(g.calls, 3); /* twice, and the page */
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
        cmocka_unit_test(hanging_up),
        cmocka_unit_test(draining),
        cmocka_unit_test(holding),
        cmocka_unit_test(too_much_body),
        cmocka_unit_test(refusing_before_the_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
