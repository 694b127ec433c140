/* A PostgreSQL server for all tests of a program; start() and stop() are the
 * setup and teardown of its test group. */
#ifndef BJ_TESTS_UNIT_STATSDB_TEST_SERVER_H
#define BJ_TESTS_UNIT_STATSDB_TEST_SERVER_H

#include "tests/unit/lib/pgserver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct pgserver server;
static bool server_available;

#define NEED_SERVER                                                            \
    if (!server_available) {                                                   \
        print_message("%s\n", server.reason);                                  \
        skip();                                                                \
    }

static inline int start(void **state)
{
    (void)state;
    server_available = pgserver_start(&server);
    return 0;
}

static inline int stop(void **state)
{
    (void)state;
    pgserver_stop(&server);
    return 0;
}

/* Remove all tables; returns the server's URL. */
static inline const char *empty_server(void)
{
    pgserver_sql(&server, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    return server.url;
}

#endif
