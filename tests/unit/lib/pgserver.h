/* A private PostgreSQL server: tests/postgres.py. */
#ifndef BJ_TESTS_UNIT_LIB_PGSERVER_H
#define BJ_TESTS_UNIT_LIB_PGSERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct pgserver {
    char url[256];
    char reason[160]; /* why it does not run */
    pid_t pid;        /* of the server */
    pid_t script;
    int to, from;
};

/* Start a server and wait until it accepts connections; false: PostgreSQL is
 * not available, and reason says why.  Any other error fails the test. */
bool pgserver_start(struct pgserver *ret);

/* Stop the server and remove its files. */
void pgserver_stop(struct pgserver *s);

/* Kill the server like a crash; start it again. */
void pgserver_kill(struct pgserver *s);
void pgserver_restart(struct pgserver *s);

/* Run SQL statements (on one line) as superuser. */
void pgserver_sql(struct pgserver *s, const char *sql);

#endif
