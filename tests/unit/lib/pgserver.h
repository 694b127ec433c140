/* A private PostgreSQL server: tests/postgres.py. */
#ifndef BJ_TESTS_UNIT_LIB_PGSERVER_H
#define BJ_TESTS_UNIT_LIB_PGSERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct pgserver {
    char url[256];
    char why[160]; /* it does not run */
    pid_t pid;     /* of the server */
    pid_t script;
    int to, from;
};

/* Start one and wait until it answers; false: PostgreSQL is not installed, why
 * says so.  Anything else that goes wrong fails the test. */
bool pgserver_start(struct pgserver *ret);

/* End it and remove its files. */
void pgserver_stop(struct pgserver *s);

/* End it as a crash does; start it again. */
void pgserver_kill(struct pgserver *s);
void pgserver_again(struct pgserver *s);

/* Run statements (on one line) as its superuser. */
void pgserver_sql(struct pgserver *s, const char *sql);

#endif
