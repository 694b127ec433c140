/* Rows in memory as a table of SQL, so that one statement takes in many:
 *     INSERT INTO job(...) SELECT * FROM feed WHERE true ...
 * A statement for each row would spend a third of its time on beginning and
 * ending.
 *
 * Source: SQLite, "The Virtual Table Mechanism Of SQLite" (eponymous tables).
 */
#ifndef BJ_STATSDB_FEED_H
#define BJ_STATSDB_FEED_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

struct sqlite3;

/* A row: numbers, BJ_SQL_NULL being NULL.  Where texts has the column's bit,
 * the number says which of text it is. */
struct bj_feed_row {
    const int64_t *v;
    uint64_t texts;
    const struct bj_slice *text;
};

/* What is fed.  It must stay where it is until the connection is closed or the
 * feed is taken off, and the rows until the statement has run. */
struct bj_feed {
    unsigned columns;
    uint32_t rows; /* set before a statement runs */
    void *ctx;
    void (*row)(void *ctx, uint32_t i, struct bj_feed_row *ret);
};

/* Make the feed known to a connection under a name. */
int bj_feed_add(struct sqlite3 *db, const char *name, struct bj_feed *feed,
                struct bj_err *err);

/* Take it off again; statements that use it must have been finalized. */
void bj_feed_remove(struct sqlite3 *db, const char *name);

#endif
