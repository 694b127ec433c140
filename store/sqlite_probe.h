/* What SQLite does with statements: for tests and measurements only.  No
 * program calls these. */
#ifndef BJ_STORE_SQLITE_PROBE_H
#define BJ_STORE_SQLITE_PROBE_H

#include "store/db.h"

/* Call begun for each statement that begins to run, over all connections that
 * are opened from now on.  From several threads. */
void bj_probe_all(void (*begun)(const char *sql));

/* What a statement has cost since it was compiled. */
struct bj_probe_cost {
    int steps; /* of SQLite's machine */
    int scans; /* steps of scans of whole tables */
    int sorts;
};
void bj_probe_cost(struct bj_st *st, struct bj_probe_cost *ret);

/* One function of each kind at a time. */

/* Call ended after each statement of this connection. */
void bj_probe_ended(struct bj_db *db,
                    void (*ended)(void *ctx, const struct bj_probe_cost *cost),
                    void *ctx);

/* Call fn before each commit; and after so many steps of SQLite's machine. */
void bj_probe_commits(struct bj_db *db, void (*fn)(void));
void bj_probe_steps(struct bj_db *db, int steps, void (*fn)(void));

#endif
