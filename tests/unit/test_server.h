/* A server of PostgreSQL for all tests of a program: start and stop are its
 * group's setup and teardown. */
#ifndef BJ_TEST_SERVER_H
#define BJ_TEST_SERVER_H

#include "tests/unit/lib/pgserver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct pgserver server;
static bool there;

#define SERVER                                                                 \
    if (!there) {                                                              \
        print_message("%s\n", server.why);                                     \
        skip();                                                                \
    }

static inline int start(void **state)
{
    (void)state;
    there = pgserver_start(&server);
    return 0;
}

static inline int stop(void **state)
{
    (void)state;
    pgserver_stop(&server);
    return 0;
}

/* Its URL, without tables. */
static inline const char *empty_server(void)
{
    pgserver_sql(&server, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    return server.url;
}

#endif
