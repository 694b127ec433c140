/* Shared by the files of the engine SQLite only. */
#ifndef BJ_STORE_SQLITE_IMPL_H
#define BJ_STORE_SQLITE_IMPL_H

#include "store/db.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Statements of the engine itself, compiled once. */
enum bj_sqlite_own {
    BJ_SQLITE_BEGIN_WRITE,
    BJ_SQLITE_BEGIN_SNAPSHOT,
    BJ_SQLITE_COMMIT,
    BJ_SQLITE_ROLLBACK,
    BJ_SQLITE_VERSION,
    BJ_SQLITE_OWN /* number of these */
};

struct bj_sqlite {
    struct bj_db base;
    struct sqlite3 *db;
    struct sqlite3_stmt *own[BJ_SQLITE_OWN];
    uint64_t deadline;
    char *path;         /* "": a database without a name */
    int lock;           /* descriptor of PATH.lock, or -1 */
    dev_t dev;          /* identity of the file ... */
    ino_t ino, shm_ino; /* ... and of the index of its WAL */
    bool warned;
};

struct bj_sqlite_st {
    struct bj_st base;
    struct sqlite3_stmt *st;
};

static inline struct bj_sqlite *bj_sqlite_of(struct bj_db *db)
{
    return (struct bj_sqlite *)db;
}

#endif
