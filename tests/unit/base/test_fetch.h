/* A handle, a reply and a scripted server, for tests of base/fetch.h. */
#ifndef BJ_TESTS_UNIT_BASE_TEST_FETCH_H
#define BJ_TESTS_UNIT_BASE_TEST_FETCH_H

#include "base/clock.h"
#include "base/fetch.h"
#include "base/fetch_priv.h"
#include "tests/unit/lib/httpstub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SERVE(s, list) bj_stub_begin(s, NULL, list, COUNT(list))
#define OK_HEAD "HTTP/1.1 200 OK\r\n"
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

enum { MS = 1000, SECOND = 1000000 };

static struct bj_fetch *f;
static struct bj_fetch_reply reply;
static struct bj_err err;
static struct bj_stub stub;

static inline int set_up(void **state)
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

static inline int tear_down(void **state)
{
    (void)state;
    bj_fetch_free(f);
    bj_fetch_reply_free(&reply);
    bj_stub_free(&stub);
    memset(&stub, 0, sizeof(stub));
    return 0;
}

static inline int fetch(const struct bj_fetch_request *req)
{
    err = (struct bj_err){0};
    int r = bj_fetch(f, req, &reply, &err);
    assert_int_equal(err.code, r);
    assert_int_equal(reply.fault == BJ_FETCH_OK, r == 0);
    return r;
}

/* Check the message: "GET http://127.0.0.1:PORT" and the given text. */
static inline void assert_message(const char *what)
{
    char want[256];
    snprintf(want, sizeof(want), "GET %s%s", stub.url, what);
    assert_string_equal(err.msg, want);
}

static inline void assert_slice(struct bj_slice got, const char *want)
{
    assert_true(bj_slice_eq(got, bj_slice_str(want)));
}

static inline void assert_body(const char *want)
{
    assert_slice((struct bj_slice){reply.body.p, reply.body.len}, want);
}

static inline const char *url_of(const char *path)
{
    static char url[256];
    snprintf(url, sizeof(url), "%s%s", stub.url, path);
    return url;
}

#endif
