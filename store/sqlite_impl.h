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

/* Set *err to a text followed by the connection's message for rc (SQLite's
 * general message if db is NULL), and return its errno. */
int bj_sqlite_fail(struct sqlite3 *db, int rc, struct bj_err *err,
                   const char *what);

/* The errno for a result code of SQLite; 0 for SQLITE_OK, ROW and DONE. */
int bj_sqlite_errno(int rc);

int bj_sqlite_exec(struct bj_db *db, const char *sql, struct bj_err *err);

/* sqlite_st.c */
int bj_sqlite_prepare(struct bj_db *db, const char *sql, struct bj_st **ret,
                      struct bj_err *err);
void bj_sqlite_finalize(struct bj_st *st);
int bj_sqlite_row(struct bj_st *st, struct bj_err *err);
int bj_sqlite_insert(struct bj_st *st, int64_t *ret_id, struct bj_err *err);
void bj_sqlite_reset(struct bj_st *st);
void bj_sqlite_clear(struct bj_st *st);
int bj_sqlite_parameters(struct bj_st *st);
void bj_sqlite_bind_null(struct bj_st *st, int at);
void bj_sqlite_bind_i64(struct bj_st *st, int at, int64_t v);
void bj_sqlite_bind_f64(struct bj_st *st, int at, double v);
void bj_sqlite_bind_text(struct bj_st *st, int at, struct bj_slice s);
int bj_sqlite_columns(struct bj_st *st);
const char *bj_sqlite_column_name(struct bj_st *st, int col);
void bj_sqlite_get(struct bj_st *st, int col, unsigned n, struct bj_value *ret);
int64_t bj_sqlite_get_i64(struct bj_st *st, int col);
double bj_sqlite_get_f64(struct bj_st *st, int col);
struct bj_slice bj_sqlite_get_text(struct bj_st *st, int col);
void bj_sqlite_value(struct sqlite3_value *v, struct bj_value *ret);

/* sqlite_file.c */
int bj_sqlite_open(const struct bj_db_options *opt, struct bj_db **ret,
                   struct bj_err *err);
void bj_sqlite_close(struct bj_db *db);
bool bj_sqlite_is_lost(struct bj_db *db);
uint64_t bj_sqlite_bytes(struct bj_db *db);
uint64_t bj_sqlite_log_bytes(struct bj_db *db);

/* Record the identity of the WAL's index file, which exists after the first
 * read. */
void bj_sqlite_note_shm(struct bj_sqlite *s);

/* sqlite_fence.c */
void bj_sqlite_deadline(struct bj_db *db, uint64_t boot_usec);
void bj_sqlite_fence(struct bj_db *db);
int bj_sqlite_function(struct bj_db *db, const struct bj_db_function *f,
                       struct bj_err *err);

/* sqlite_whole.c */
int bj_sqlite_check(struct bj_db *db, struct bj_err *err);
int bj_sqlite_references(struct bj_db *db, bool on, struct bj_err *err);
int bj_sqlite_load(struct bj_db *db, const struct bj_load *l,
                   struct bj_err *err);
int bj_sqlite_shrink(struct bj_db *db, unsigned pages, struct bj_err *err);

/* Make an empty file, unless it exists, with mode 0640 at most, before SQLite
 * would with the umask alone; root gives it the owner and group of like. */
int bj_sqlite_make(const char *name, const struct stat *like,
                   struct bj_err *err);
int bj_sqlite_copy(struct bj_db *db, const char *to,
                   int (*progress)(void *ctx, uint64_t done, uint64_t all),
                   void *ctx, struct bj_err *err);

#endif
