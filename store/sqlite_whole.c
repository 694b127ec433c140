/* Operations on a whole file of SQLite: check, copy, switching references. */
#include "base/buf.h"
#include "base/file.h"
#include "store/sqlite_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_pages(struct bj_sqlite *s, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(&s->base, "PRAGMA integrity_check(1)", &st, err);
    if (r < 0)
        return r;
    r = bj_st_row(st, err);
    struct bj_slice word = r > 0 ? bj_st_get_text(st, 0) : BJ_SLICE("");
    if (r > 0 && !bj_slice_eq(word, BJ_SLICE("ok")))
        r = bj_err_set(err, -EBADMSG, "%s: %.*s", s->path, (int)word.n, word.p);
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

static int check_references(struct bj_sqlite *s, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(&s->base, "PRAGMA foreign_key_check", &st, err);
    if (r < 0)
        return r;
    r = bj_st_row(st, err);
    if (r > 0)
        r = bj_err_set(
            err, -EBADMSG,
            "%s: table %s, row %lld: the referenced row of %s is missing",
            s->path, bj_st_get_text(st, 0).p, (long long)bj_st_get_i64(st, 1),
            bj_st_get_text(st, 2).p);
    bj_st_finalize(st);
    return r;
}

int bj_sqlite_check(struct bj_db *db, struct bj_err *err)
{
    int r = check_pages(bj_sqlite_of(db), err);
    return r < 0 ? r : check_references(bj_sqlite_of(db), err);
}

int bj_sqlite_references(struct bj_db *db, bool on, struct bj_err *err)
{
    struct sqlite3 *of = bj_sqlite_of(db)->db;
    int now = -1;
    if (!sqlite3_get_autocommit(of))
        return bj_err_set(
            err, -EBUSY,
            "foreign keys cannot be switched within a transaction");
    int rc = sqlite3_db_config(of, SQLITE_DBCONFIG_ENABLE_FKEY, (int)on, &now);
    if (rc != SQLITE_OK || now != (int)on)
        return bj_err_set(err, -EPROTO, "foreign keys could not be switched");
    return 0;
}

static void bind_value(struct bj_st *st, int at, const struct bj_value *v)
{
    switch (v->type) {
    case BJ_TYPE_NULL:
        bj_sqlite_bind_null(st, at);
        break;
    case BJ_TYPE_INTEGER:
        bj_sqlite_bind_i64(st, at, v->i64);
        break;
    case BJ_TYPE_REAL:
        bj_sqlite_bind_f64(st, at, v->f64);
        break;
    case BJ_TYPE_TEXT:
        bj_sqlite_bind_text(st, at, v->text);
    }
}

int bj_sqlite_load(struct bj_db *db, const struct bj_load *l,
                   struct bj_err *err)
{
    struct bj_value value[BJ_LOAD_COLUMNS];
    struct bj_buf sql = {0};
    struct bj_st *st = NULL;
    bj_buf_printf(&sql, "INSERT INTO \"%s\"(", l->table);
    for (int i = 0; i < l->columns; i++)
        bj_buf_printf(&sql, "%s\"%s\"", i ? ", " : "", l->column[i]);
    for (int i = 0; i < l->columns; i++)
        bj_buf_str(&sql, i ? ", ?" : ") VALUES(?");
    bj_buf_put(&sql, ")", 2);
    int r = sql.failed ? bj_err_set(err, -ENOMEM, "load")
                       : bj_sqlite_prepare(db, sql.p, &st, err);
    while (r == 0 && (r = l->next(l->ctx, value, err)) > 0) {
        for (int i = 0; i < l->columns; i++)
            bind_value(st, i + 1, &value[i]);
        r = bj_sqlite_row(st, err);
    }
    bj_st_finalize(st);
    bj_buf_free(&sql);
    return r;
}

int bj_sqlite_shrink(struct bj_db *db, unsigned pages, struct bj_err *err)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%u)", pages);
    return bj_sqlite_exec(db, sql, err);
}

/* --- copy ----------------------------------------------------------------- */

/* Copy all pages, some at a time, so that a writer of another process can write
 * meanwhile; SQLite restarts the copy after such writes. */
static int copy(struct bj_sqlite *s, struct sqlite3 *to,
                int (*progress)(void *ctx, uint64_t done, uint64_t all),
                void *ctx, struct bj_err *err)
{
    enum { PAGES = 4096 };
    sqlite3_backup *b = sqlite3_backup_init(to, "main", s->db, "main");
    int rc, r = 0;
    if (!b)
        return bj_sqlite_fail(to, sqlite3_errcode(to), err, "backup");
    do {
        rc = sqlite3_backup_step(b, PAGES);
        int all = sqlite3_backup_pagecount(b),
            left = sqlite3_backup_remaining(b);
        if (progress && all >= left)
            r = progress(ctx, (uint64_t)(all - left), (uint64_t)all);
        if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
            sqlite3_sleep(20);
    } while (r == 0 &&
             (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED));
    sqlite3_backup_finish(b);
    if (r < 0)
        return r;
    return rc == SQLITE_DONE ? 0 : bj_sqlite_fail(NULL, rc, err, "backup");
}

/* Make a copy without a WAL file. */
static int copy_to(struct bj_sqlite *s, const char *name,
                   int (*progress)(void *ctx, uint64_t done, uint64_t all),
                   void *ctx, struct bj_err *err)
{
    struct sqlite3 *to = NULL;
    int rc = sqlite3_open_v2(name, &to,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                 SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                             NULL);
    int r = rc == SQLITE_OK ? copy(s, to, progress, ctx, err)
                            : bj_sqlite_fail(to, rc, err, name);
    if (r == 0) {
        rc = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
        r = rc == SQLITE_OK ? 0 : bj_sqlite_fail(to, rc, err, "");
    }
    sqlite3_close(to);
    return r;
}

static int sync_file(const char *name, struct bj_err *err)
{
    bj_autoclose int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return bj_file_fail(err, -errno, "", AT_FDCWD, name, R_OK);
    return 0;
}

int bj_sqlite_copy(struct bj_db *db, const char *to,
                   int (*progress)(void *ctx, uint64_t done, uint64_t all),
                   void *ctx, struct bj_err *err)
{
    char part[4096];
    if (snprintf(part, sizeof(part), "%s.part", to) >= (int)sizeof(part))
        return bj_err_set(err, -ENAMETOOLONG, "%s", to);
    if (access(to, F_OK) == 0)
        return bj_err_set(err, -EEXIST, "%s exists already", to);
    unlink(part);
    struct stat like = {.st_uid = geteuid(), .st_gid = getegid()};
    if (*bj_sqlite_of(db)->path && stat(bj_sqlite_of(db)->path, &like) < 0)
        return bj_err_set(err, -errno, "%s", bj_sqlite_of(db)->path);
    int r = bj_sqlite_make(part, &like, err);
    if (r == 0)
        r = copy_to(bj_sqlite_of(db), part, progress, ctx, err);
    if (r == 0)
        r = sync_file(part, err);
    /* link(2) does not replace a file that appeared meanwhile. */
    if (r == 0 && link(part, to) < 0)
        r = bj_file_fail(err, -errno, "", AT_FDCWD, to, W_OK);
    unlink(part);
    return r;
}
