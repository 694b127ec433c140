/* Observes the statements of SQLite, for tests and measurements; no program
 * calls these functions. */
#ifndef BJ_STORE_SQLITE_PROBE_H
#define BJ_STORE_SQLITE_PROBE_H

#include "store/db.h"

/* Call begun for each statement that begins to run on any connection opened
 * from now on.  Several threads may call it. */
void bj_probe_all(void (*begun)(const char *sql));

/* The work of a statement since it was compiled. */
struct bj_probe_cost {
    int steps; /* instructions of SQLite's virtual machine */
    int scans; /* steps of full table scans */
    int sorts;
};
void bj_probe_cost(struct bj_st *st, struct bj_probe_cost *ret);

/* Only one function of each kind can be set. */

/* Call ended after each statement of this connection. */
void bj_probe_ended(struct bj_db *db,
                    void (*ended)(void *ctx, const struct bj_probe_cost *cost),
                    void *ctx);

/* Call fn before each commit, or after this many instructions of SQLite's
 * virtual machine. */
void bj_probe_commits(struct bj_db *db, void (*fn)(void));
void bj_probe_steps(struct bj_db *db, int steps, void (*fn)(void));

#endif
