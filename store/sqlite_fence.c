/* Limits of statements: deadline, read-only access, and the program's
 * functions. */
#include "base/clock.h"
#include "store/sqlite_impl.h"

#include <string.h>

enum {
    OPS = 2000, /* SQLite instructions between two reads of the clock: about 100
                   us */
    LIKE_BYTES = 600,
    SQL_BYTES = 64 * 1024
};

static int on_progress(void *ctx)
{
    struct bj_sqlite *s = ctx;
    if (bj_clock_boot_usec() < s->deadline)
        return 0;
    s->base.late = true;
    return 1;
}

void bj_sqlite_deadline(struct bj_db *db, uint64_t boot_usec)
{
    struct bj_sqlite *s = bj_sqlite_of(db);
    s->deadline = boot_usec;
    sqlite3_progress_handler(s->db, boot_usec ? OPS : 0,
                             boot_usec ? on_progress : NULL, s);
}

/* Statements may read, compute, begin and end a transaction. */
static int on_authorize(void *ctx, int action, const char *a, const char *b,
                        const char *database, const char *trigger)
{
    (void)ctx;
    (void)database;
    (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_TRANSACTION:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return b && strcmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
        return a && strcmp(a, "data_version") == 0 ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

void bj_sqlite_fence(struct bj_db *db)
{
    struct sqlite3 *to = bj_sqlite_of(db)->db;
    sqlite3_limit(to, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LIKE_BYTES);
    sqlite3_limit(to, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES);
    sqlite3_limit(to, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_set_authorizer(to, on_authorize, NULL);
}

static void set_result(struct sqlite3_context *ctx, const struct bj_value *v)
{
    switch (v->type) {
    case BJ_TYPE_INTEGER:
        sqlite3_result_int64(ctx, v->i64);
        break;
    case BJ_TYPE_REAL:
        sqlite3_result_double(ctx, v->f64);
        break;
    case BJ_TYPE_TEXT:
        sqlite3_result_text64(ctx, v->text.p, v->text.n, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
        break;
    case BJ_TYPE_NULL:
        sqlite3_result_null(ctx);
    }
}

static void on_call(struct sqlite3_context *ctx, int n,
                    struct sqlite3_value **v)
{
    const struct bj_db_function *f = sqlite3_user_data(ctx);
    struct bj_value argument[BJ_FUNCTION_ARGUMENTS], ret = {BJ_TYPE_NULL, {0}};
    for (int i = 0; i < n; i++)
        bj_sqlite_value(v[i], &argument[i]);
    if (f->call(f->ctx, argument, &ret) < 0)
        sqlite3_result_error_nomem(ctx);
    else
        set_result(ctx, &ret);
}

int bj_sqlite_function(struct bj_db *db, const struct bj_db_function *f,
                       struct bj_err *err)
{
    struct sqlite3 *to = bj_sqlite_of(db)->db;
    int flags =
        SQLITE_UTF8 | SQLITE_DIRECTONLY | (f->pure ? SQLITE_DETERMINISTIC : 0);
    int rc = sqlite3_create_function_v2(to, f->name, f->arguments, flags,
                                        (void *)(uintptr_t)f, on_call, NULL,
                                        NULL, NULL);
    return rc == SQLITE_OK ? 0 : bj_sqlite_fail(to, rc, err, f->name);
}
