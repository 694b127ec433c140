/* SQLite: connections, errors, transactions, files. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "store/sqlite_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

static void sqlite_close(struct bj_db *db);

static void sqlite_value(struct sqlite3_value *v, struct bj_value *ret);

static int sqlite_exec(struct bj_db *db, const char *sql, struct bj_err *err);

/* The errno for a result code of SQLite; 0 for SQLITE_OK, ROW and DONE. */
static int sqlite_errno(int rc);

/* Set *err to a text followed by the connection's message for rc (SQLite's
 * general message if db is NULL), and return its errno. */
static int sqlite_fail(struct sqlite3 *db, int rc, struct bj_err *err,
                       const char *what);

/* --- limits of readers ----------------------------------------------------*/

/* Limits of statements: deadline, read-only access, and the program's
 * functions. */

enum {
    OPS = 2000, /* SQLite instructions between two reads of the clock: about 100
                   us */
    LIKE_BYTES = 600,
    SQL_BYTES = 64 * 1024
};

static int sqlite_on_progress(void *ctx)
{
    struct bj_sqlite *s = ctx;
    if (bj_clock_boot_usec() < s->deadline)
        return 0;
    s->base.late = true;
    return 1;
}

static void sqlite_deadline(struct bj_db *db, uint64_t boot_usec)
{
    struct bj_sqlite *s = bj_sqlite_of(db);
    s->deadline = boot_usec;
    sqlite3_progress_handler(s->db, boot_usec ? OPS : 0,
                             boot_usec ? sqlite_on_progress : NULL, s);
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

static void bj_sqlite_fence(struct bj_db *db)
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
        sqlite_value(v[i], &argument[i]);
    if (f->call(f->ctx, argument, &ret) < 0)
        sqlite3_result_error_nomem(ctx);
    else
        set_result(ctx, &ret);
}

static int sqlite_function(struct bj_db *db, const struct bj_db_function *f,
                           struct bj_err *err)
{
    struct sqlite3 *to = bj_sqlite_of(db)->db;
    int flags =
        SQLITE_UTF8 | SQLITE_DIRECTONLY | (f->pure ? SQLITE_DETERMINISTIC : 0);
    int rc = sqlite3_create_function_v2(to, f->name, f->arguments, flags,
                                        (void *)(uintptr_t)f, on_call, NULL,
                                        NULL, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_fail(to, rc, err, f->name);
}

/* bj_printf('%.3g', number) as in C and PostgreSQL
 * (store/postgres.c): SQLite's printf rounds 11.25 to 11.3. */
static void on_printf(struct sqlite3_context *ctx, int n,
                      struct sqlite3_value **v)
{
    char text[32];
    (void)n;
    if (sqlite3_value_type(v[1]) == SQLITE_NULL)
        return;
    snprintf(text, sizeof(text), "%.3g", sqlite3_value_double(v[1]));
    sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

/* --- statements -----------------------------------------------------------*/

/* Statements of SQLite. */

static inline struct sqlite3_stmt *handle(struct bj_st *st)
{
    return ((struct bj_sqlite_st *)st)->st;
}

static int sqlite_prepare(struct bj_db *db, const char *sql, struct bj_st **ret,
                          struct bj_err *err)
{
    struct sqlite3 *to = bj_sqlite_of(db)->db;
    struct bj_sqlite_st *st = malloc(sizeof(*st));
    *ret = NULL;
    if (!st)
        return bj_err_set(err, -ENOMEM, "prepare");
    int rc = sqlite3_prepare_v3(to, sql, -1, SQLITE_PREPARE_PERSISTENT, &st->st,
                                NULL);
    if (rc != SQLITE_OK) {
        free(st);
        return sqlite_fail(to, rc, err, "prepare");
    }
    st->base = (struct bj_st){
        .engine = db->engine, .db = db, .sql = sqlite3_sql(st->st)};
    *ret = &st->base;
    return 0;
}

static void sqlite_finalize(struct bj_st *st)
{
    sqlite3_finalize(handle(st));
    free(st);
}

static int sqlite_row(struct bj_st *st, struct bj_err *err)
{
    int rc = sqlite3_step(handle(st));
    if (rc == SQLITE_ROW)
        return 1;
    int r = rc == SQLITE_DONE
                ? 0
                : sqlite_fail(bj_sqlite_of(st->db)->db, rc, err, "");
    sqlite3_reset(handle(st));
    return r;
}

static int sqlite_insert(struct bj_st *st, int64_t *ret_id, struct bj_err *err)
{
    struct sqlite3 *db = bj_sqlite_of(st->db)->db;
    int r = sqlite_row(st, err);
    if (r < 0)
        return r;
    if (sqlite3_changes64(db) == 0)
        return 0;
    *ret_id = sqlite3_last_insert_rowid(db);
    return 1;
}

static void sqlite_reset(struct bj_st *st)
{
    sqlite3_reset(handle(st));
}

static void sqlite_clear(struct bj_st *st)
{
    sqlite3_clear_bindings(handle(st));
}

static int sqlite_parameters(struct bj_st *st)
{
    return sqlite3_bind_parameter_count(handle(st));
}

static void sqlite_bind_null(struct bj_st *st, int at)
{
    sqlite3_bind_null(handle(st), at);
}

static void sqlite_bind_i64(struct bj_st *st, int at, int64_t v)
{
    sqlite3_bind_int64(handle(st), at, v);
}

static void sqlite_bind_f64(struct bj_st *st, int at, double v)
{
    sqlite3_bind_double(handle(st), at, v);
}

static void sqlite_bind_text(struct bj_st *st, int at, struct bj_slice s)
{
    sqlite3_bind_text64(handle(st), at, s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static int sqlite_columns(struct bj_st *st)
{
    return sqlite3_column_count(handle(st));
}

static const char *sqlite_column_name(struct bj_st *st, int col)
{
    return sqlite3_column_name(handle(st), col);
}

static void sqlite_value(struct sqlite3_value *v, struct bj_value *ret)
{
    const int type = sqlite3_value_type(v);
    if (type == SQLITE_INTEGER) {
        ret->type = BJ_TYPE_INTEGER;
        ret->i64 = sqlite3_value_int64(v);
    } else if (type == SQLITE_NULL) {
        ret->type = BJ_TYPE_NULL;
    } else if (type == SQLITE_FLOAT) {
        ret->type = BJ_TYPE_REAL;
        ret->f64 = sqlite3_value_double(v);
    } else {
        ret->type = BJ_TYPE_TEXT;
        ret->text.p = (const char *)sqlite3_value_text(v);
        ret->text.n = (size_t)sqlite3_value_bytes(v);
    }
}

static void sqlite_get(struct bj_st *st, int col, unsigned n,
                       struct bj_value *ret)
{
    struct sqlite3_stmt *from = handle(st);
    for (unsigned i = 0; i < n; i++)
        sqlite_value(sqlite3_column_value(from, col + (int)i), &ret[i]);
}

static int64_t sqlite_get_i64(struct bj_st *st, int col)
{
    struct sqlite3_value *v = sqlite3_column_value(handle(st), col);
    return sqlite3_value_type(v) == SQLITE_NULL ? BJ_SQL_NULL
                                                : sqlite3_value_int64(v);
}

static double sqlite_get_f64(struct bj_st *st, int col)
{
    return sqlite3_column_double(handle(st), col);
}

static struct bj_slice sqlite_get_text(struct bj_st *st, int col)
{
    const char *p = (const char *)sqlite3_column_text(handle(st), col);
    return (struct bj_slice){p, (size_t)sqlite3_column_bytes(handle(st), col)};
}

/* --- the file -------------------------------------------------------------*/

/* The file of a database of SQLite: its file system, lock and options, and
 * whether it was replaced. */

/* File systems of more than one host.  Their locks and shared memory do not
 * satisfy the requirements of WAL.  Sources: linux/magic.h (in Linux 5.15
 * without SMB2, CIFS and Ceph, which are also in the kernel), and the clients
 * of Lustre (lustre_user.h), GPFS, BeeGFS and PanFS. */
static const struct {
    unsigned long magic;
    const char *name;
} remote[] = {
    {NFS_SUPER_MAGIC, "NFS"}, {SMB_SUPER_MAGIC, "SMB"},
    {0xfe534d42, "SMB"},      {0xff534d42, "CIFS"},
    {0x00c36400, "Ceph"},     {AFS_SUPER_MAGIC, "AFS"},
    {AFS_FS_MAGIC, "AFS"},    {CODA_SUPER_MAGIC, "Coda"},
    {V9FS_MAGIC, "9P"},       {OCFS2_SUPER_MAGIC, "OCFS2"},
    {NCP_SUPER_MAGIC, "NCP"}, {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},     {0x19830326, "BeeGFS"},
    {0xaad7aaea, "PanFS"},    {0x01161970, "GFS2"},
    {0x20030528, "OrangeFS"},
};

static int check_filesystem(const char *path, struct bj_err *err)
{
    char dir[4096];
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) : 0;
    snprintf(dir, sizeof(dir), "%.*s", n > 0 ? n : 1, slash ? path : ".");
    struct statfs fs;
    if (statfs(dir, &fs) < 0)
        return bj_err_set(err, -errno, "%s", dir);
    for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++)
        if ((unsigned long)fs.f_type == remote[i].magic)
            return bj_err_set(err, -EREMOTE,
                              "%s is on %s; a store must be on a local disk",
                              path, remote[i].name);
    return 0;
}

/* Make an empty file, unless it exists, with mode 0640 at most, before SQLite
 * would with the umask alone; root gives it the owner and group of like. */
static int sqlite_make(const char *name, const struct stat *like,
                       struct bj_err *err)
{
    bj_autoclose int fd =
        open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (fd < 0)
        return errno == EEXIST ? 0
                               : bj_file_fail(err, -errno, "create", AT_FDCWD,
                                              name, R_OK | W_OK);
    return geteuid() == 0 && fchown(fd, like->st_uid, like->st_gid) < 0
               ? bj_err_set(err, -errno, "change the owner of %s", name)
               : 0;
}

/* Root's files belong to the owner of the store, so that the daemon can use
 * them: that of its file, or of its directory if there is none yet. */
static int make_files(struct bj_sqlite *s, const struct bj_db_options *opt,
                      struct bj_err *err)
{
    char lock[4096];
    struct stat like = {0};
    if (snprintf(lock, sizeof(lock), "%s.lock", s->path) >= (int)sizeof(lock))
        return bj_err_set(err, -ENAMETOOLONG, "%s", s->path);
    if (stat(s->path, &like) < 0) {
        char *slash = strrchr(lock, '/');
        if (slash)
            *slash = '\0';
        int r = stat(!slash ? "." : *lock ? lock : "/", &like);
        if (slash)
            *slash = '/';
        if (r < 0)
            return bj_file_fail(err, -errno, "open", AT_FDCWD, s->path, W_OK);
    }
    int r = opt->only_writer ? sqlite_make(lock, &like, err) : 0;
    return r == 0 && opt->create ? sqlite_make(s->path, &like, err) : r;
}

/* The lock is a separate file: closing any descriptor of the database would
 * drop SQLite's locks on it. */
static int take_lock(struct bj_sqlite *s, struct bj_err *err)
{
    char name[4096];
    if (snprintf(name, sizeof(name), "%s.lock", s->path) >= (int)sizeof(name))
        return bj_err_set(err, -ENAMETOOLONG, "%s", s->path);
    s->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (s->lock < 0)
        return bj_file_fail(err, -errno, "open", AT_FDCWD, name, R_OK | W_OK);
    if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? bj_err_set(err, -EBUSY,
                                "%s: another process is writing it", s->path)
                   : bj_err_set(err, -errno, "lock %s", name);
    return 0;
}

/* Never run code of another program's schema. */
static int set_up_foreign(struct bj_sqlite *s, struct bj_err *err)
{
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return sqlite_exec(
        &s->base, "PRAGMA query_only = ON; PRAGMA cell_size_check = ON", err);
}

static int set_up_write(struct bj_sqlite *s, const struct bj_db_options *opt,
                        struct bj_err *err)
{
    int r = 0;
    /* Pointer maps make an import 5 % slower and are needed only if jobs are
     * removed. */
    if (opt->shrink)
        r = sqlite_exec(&s->base, "PRAGMA auto_vacuum = INCREMENTAL", err);
    /* A changed page is written to the WAL, and later to the database file; a
     * longer WAL combines some of these writes. */
    if (r == 0)
        r = sqlite_exec(&s->base,
                        "PRAGMA journal_mode = WAL;"
                        "PRAGMA wal_autocheckpoint = 8000;"
                        "PRAGMA journal_size_limit = 67108864",
                        err);
    if (r == 0)
        r = sqlite_exec(&s->base,
                        opt->durable ? "PRAGMA synchronous = FULL"
                                     : "PRAGMA synchronous = NORMAL",
                        err);
    return r;
}

/* Limits in pages, set when the page size of the file is known: until it is
 * read, SQLite assumes 4 KiB. */
static int set_limits(struct bj_sqlite *s, const struct bj_db_options *opt,
                      struct bj_err *err)
{
    char sql[128];
    uint64_t cache = opt->cache_bytes ? opt->cache_bytes : 12u << 20;
    int64_t page;
    int r = sqlite_exec(&s->base, "PRAGMA schema_version", err);
    if (r == 0)
        r = bj_db_int(&s->base, "PRAGMA page_size", &page, err);
    if (r < 0)
        return r;
    snprintf(sql, sizeof(sql), "PRAGMA cache_size = -%llu",
             (unsigned long long)(cache / 1024));
    r = sqlite_exec(&s->base, sql, err);
    if (r < 0 || opt->read_only || opt->max_bytes == 0)
        return r;
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %llu",
             (unsigned long long)(opt->max_bytes / (uint64_t)page));
    return sqlite_exec(&s->base, sql, err);
}

static int sqlite_set_up(struct bj_sqlite *s, const struct bj_db_options *opt,
                         struct bj_err *err)
{
    uint64_t busy = opt->busy_usec ? opt->busy_usec : 10000000;
    sqlite3_busy_timeout(s->db, (int)(busy / 1000));
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (opt->value_bytes)
        sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, (int)opt->value_bytes);
    if (opt->foreign)
        return set_up_foreign(s, err);
    int rc = sqlite3_create_function_v2(s->db, "bj_printf", 2,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                        NULL, on_printf, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return sqlite_fail(s->db, rc, err, "bj_printf");
    int r =
        sqlite_exec(&s->base,
                    "PRAGMA page_size = 8192; PRAGMA foreign_keys = ON;"
                    "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF",
                    err);
    if (r == 0)
        r = opt->read_only
                ? sqlite_exec(&s->base, "PRAGMA query_only = ON", err)
                : set_up_write(s, opt, err);
    return r < 0 ? r : set_limits(s, opt, err);
}

static int open_db(struct bj_sqlite *s, const struct bj_db_options *opt,
                   struct bj_err *err)
{
    struct stat st = {0};
    int flags = SQLITE_OPEN_NOMUTEX;
    if (!opt->foreign)
        flags |= SQLITE_OPEN_NOFOLLOW;
    flags |= opt->read_only || opt->foreign ? SQLITE_OPEN_READONLY
                                            : SQLITE_OPEN_READWRITE;
    if (opt->create)
        flags |= SQLITE_OPEN_CREATE;
    /* Record the identity before opening: if the file is replaced in between,
     * sqlite_is_lost sees another one. */
    if (stat(s->path, &st) == 0) {
        s->dev = st.st_dev;
        s->ino = st.st_ino;
    }
    int rc = sqlite3_open_v2(s->path, &s->db, flags, NULL);
    if (rc != SQLITE_OK) {
        int sys = s->db ? sqlite3_system_errno(s->db) : 0;
        return bj_file_fail(err, sys ? -sys : sqlite_errno(rc), "open",
                            AT_FDCWD, s->path,
                            flags & SQLITE_OPEN_READONLY ? R_OK : R_OK | W_OK);
    }
    int r = sqlite_set_up(s, opt, err);
    if (r < 0 && err && opt->url && strstr(err->msg, s->path))
        return r;
    return r < 0 ? bj_err_wrap(err, r, "%s", opt->url ? s->path : "no store")
                 : 0;
}

/* SQLite keeps a database without a name in memory, and a large one in an
 * unnamed file in TMPDIR. It has no WAL. */
static const char *path_of(const char *url)
{
    static const char scheme[] = "sqlite:";
    if (!url)
        return "";
    return strncmp(url, scheme, sizeof(scheme) - 1) == 0
               ? url + sizeof(scheme) - 1
               : url;
}

static int sqlite_open(const struct bj_db_options *opt, struct bj_db **ret,
                       struct bj_err *err)
{
    struct bj_sqlite *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "store");
    s->base.engine = &bj_engine_sqlite;
    s->lock = -1;
    s->path = strdup(path_of(opt->url));
    int r = s->path ? 0 : bj_err_set(err, -ENOMEM, "store");
    if (r == 0 && *s->path && !opt->any_filesystem)
        r = check_filesystem(s->path, err);
    if (r == 0 && *s->path && (opt->only_writer || opt->create))
        r = make_files(s, opt, err);
    if (r == 0 && *s->path && opt->only_writer)
        r = take_lock(s, err);
    if (r == 0)
        r = open_db(s, opt, err);
    if (r < 0) {
        sqlite_close(&s->base);
        return r;
    }
    *ret = &s->base;
    return 0;
}

static void sqlite_close(struct bj_db *db)
{
    struct bj_sqlite *s = bj_sqlite_of(db);
    for (int i = 0; i < BJ_SQLITE_OWN; i++)
        sqlite3_finalize(s->own[i]);
    /* This rolls back an open transaction. */
    sqlite3_close_v2(s->db);
    bj_close_fd(&s->lock);
    free(s->path);
    free(s);
}

/* --- replaced files ------------------------------------------------------- */

/* Read the state of the file whose name is that of the database and an ending.
 */
static bool stat_suffixed(const struct bj_sqlite *s, const char *end,
                          struct stat *ret)
{
    char name[4096];
    if (!*s->path ||
        snprintf(name, sizeof(name), "%s%s", s->path, end) >= (int)sizeof(name))
        return false;
    return stat(name, ret) == 0;
}

/* Record the identity of the WAL's index file, which exists after the first
 * read. */
static void sqlite_note_shm(struct bj_sqlite *s)
{
    struct stat st;
    if (s->shm_ino == 0 && stat_suffixed(s, "-shm", &st))
        s->shm_ino = st.st_ino;
}

/* While the WAL of the old file exists, SQLite would apply its pages to the new
 * file, so this still returns false. */
static bool sqlite_is_lost(struct bj_db *db)
{
    struct bj_sqlite *s = bj_sqlite_of(db);
    struct stat st, shm;
    if (!stat_suffixed(s, "", &st) ||
        (st.st_ino == s->ino && st.st_dev == s->dev))
        return false;
    bool stale = s->shm_ino != 0 && stat_suffixed(s, "-shm", &shm) &&
                 shm.st_ino == s->shm_ino;
    if (stale && !s->warned)
        bj_log(BJ_LOG_WARN, NULL,
               "%s was replaced, but the -wal and -shm files of the old store "
               "still exist; remove them",
               s->path);
    s->warned = stale;
    return !stale;
}

static uint64_t sqlite_bytes(struct bj_db *db)
{
    struct stat st;
    return stat_suffixed(bj_sqlite_of(db), "", &st) ? (uint64_t)st.st_size : 0;
}

static uint64_t sqlite_log_bytes(struct bj_db *db)
{
    struct stat st;
    return stat_suffixed(bj_sqlite_of(db), "-wal", &st) ? (uint64_t)st.st_size
                                                        : 0;
}

/* --- the whole file -------------------------------------------------------*/

/* Operations on a whole file of SQLite: check, copy, switching references. */

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

static int sqlite_check(struct bj_db *db, struct bj_err *err)
{
    int r = check_pages(bj_sqlite_of(db), err);
    return r < 0 ? r : check_references(bj_sqlite_of(db), err);
}

static int sqlite_references(struct bj_db *db, bool on, struct bj_err *err)
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
        sqlite_bind_null(st, at);
        break;
    case BJ_TYPE_INTEGER:
        sqlite_bind_i64(st, at, v->i64);
        break;
    case BJ_TYPE_REAL:
        sqlite_bind_f64(st, at, v->f64);
        break;
    case BJ_TYPE_TEXT:
        sqlite_bind_text(st, at, v->text);
    }
}

static int sqlite_load(struct bj_db *db, const struct bj_load *l,
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
                       : sqlite_prepare(db, sql.p, &st, err);
    while (r == 0 && (r = l->next(l->ctx, value, err)) > 0) {
        for (int i = 0; i < l->columns; i++)
            bind_value(st, i + 1, &value[i]);
        r = sqlite_row(st, err);
    }
    bj_st_finalize(st);
    bj_buf_free(&sql);
    return r;
}

static int sqlite_shrink(struct bj_db *db, unsigned pages, struct bj_err *err)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%u)", pages);
    return sqlite_exec(db, sql, err);
}

/* --- copy ----------------------------------------------------------------- */

/* Copy all pages, some at a time, so that a writer of another process can write
 * meanwhile; SQLite restarts the copy after such writes. */
static int sqlite_copy_to(struct bj_sqlite *s, struct sqlite3 *to,
                          int (*progress)(void *ctx, uint64_t done,
                                          uint64_t all),
                          void *ctx, struct bj_err *err)
{
    enum { PAGES = 4096 };
    sqlite3_backup *b = sqlite3_backup_init(to, "main", s->db, "main");
    int rc, r = 0;
    if (!b)
        return sqlite_fail(to, sqlite3_errcode(to), err, "backup");
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
    return rc == SQLITE_DONE ? 0 : sqlite_fail(NULL, rc, err, "backup");
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
    int r = rc == SQLITE_OK ? sqlite_copy_to(s, to, progress, ctx, err)
                            : sqlite_fail(to, rc, err, name);
    if (r == 0) {
        rc = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
        r = rc == SQLITE_OK ? 0 : sqlite_fail(to, rc, err, "");
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

static int sqlite_copy(struct bj_db *db, const char *to,
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
    int r = sqlite_make(part, &like, err);
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

/* --- connections ----------------------------------------------------------*/

/* The engine SQLite: its table of functions, errors, transactions. */

static const struct {
    int rc, code;
} codes[] = {
    {SQLITE_OK, 0},
    {SQLITE_ROW, 0},
    {SQLITE_DONE, 0},
    {SQLITE_BUSY, -EBUSY},
    {SQLITE_LOCKED, -EBUSY},
    {SQLITE_PROTOCOL, -EBUSY},
    {SQLITE_FULL, -ENOSPC},
    {SQLITE_IOERR, -EIO},
    {SQLITE_CORRUPT, -EBADMSG},
    {SQLITE_NOTADB, -EBADMSG},
    {SQLITE_READONLY, -EROFS},
    {SQLITE_PERM, -EACCES},
    {SQLITE_AUTH, -EACCES},
    {SQLITE_CANTOPEN, -ENOENT},
    {SQLITE_NOMEM, -ENOMEM},
    {SQLITE_INTERRUPT, -EINTR},
    {SQLITE_CONSTRAINT, -EEXIST},
    {SQLITE_TOOBIG, -EFBIG},
};

static int sqlite_errno(int rc)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].rc == (rc & 0xff))
            return codes[i].code;
    return -EPROTO;
}

static int sqlite_fail(struct sqlite3 *db, int rc, struct bj_err *err,
                       const char *what)
{
    int code = sqlite_errno(rc), sys = db ? sqlite3_system_errno(db) : 0;
    const char *msg = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    const char *path = db ? sqlite3_db_filename(db, "main") : NULL;
    char why[64];
    bool named = path && *path && !strstr(what, path);
    /* What the system said is known for these two only. */
    if (code != -EIO && code != -ENOENT)
        sys = 0;
    /* Files beside the database, such as -shm, report a full disk as EIO. */
    if (sys == ENOSPC || sys == EDQUOT)
        code = -ENOSPC;
    named = named && (code == -ENOSPC || sys != 0);
    return bj_err_say(err, code ? code : -EPROTO, "%s%s%s%s%s%s%s",
                      named ? path : "", named ? ": " : "", what,
                      *what ? ": " : "", msg, sys ? ": " : "",
                      sys ? strerror_r(sys, why, sizeof(why)) : "");
}

void bj_db_single_thread(void)
{
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void bj_db_own_threads(void)
{
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static bool is_for(const char *url)
{
    (void)url;
    return true;
}

static int sqlite_exec(struct bj_db *db, const char *sql, struct bj_err *err)
{
    struct bj_sqlite *s = bj_sqlite_of(db);
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_fail(s->db, rc, err, "");
}

static int64_t changes(struct bj_db *db)
{
    return sqlite3_changes64(bj_sqlite_of(db)->db);
}

static void interrupt(struct bj_db *db)
{
    sqlite3_interrupt(bj_sqlite_of(db)->db);
}

/* --- transactions --------------------------------------------------------- */

/* Run one of the engine's statements, and return the integer of its row in
 * *ret. */
static int run_own(struct bj_sqlite *s, enum bj_sqlite_own which, int64_t *ret,
                   struct bj_err *err)
{
    static const char *const texts[] = {
        [BJ_SQLITE_BEGIN_WRITE] = "BEGIN IMMEDIATE",
        [BJ_SQLITE_BEGIN_SNAPSHOT] = "BEGIN",
        [BJ_SQLITE_COMMIT] = "COMMIT",
        [BJ_SQLITE_ROLLBACK] = "ROLLBACK",
        [BJ_SQLITE_VERSION] = "PRAGMA data_version",
    };
    int rc = SQLITE_OK;
    if (!s->own[which])
        rc =
            sqlite3_prepare_v3(s->db, texts[which], -1,
                               SQLITE_PREPARE_PERSISTENT, &s->own[which], NULL);
    if (rc != SQLITE_OK)
        return sqlite_fail(s->db, rc, err, "prepare");
    rc = sqlite3_step(s->own[which]);
    int r = sqlite_errno(rc);
    if (r < 0)
        r = sqlite_fail(s->db, rc, err, "");
    else if (rc == SQLITE_ROW && ret)
        *ret = sqlite3_column_int64(s->own[which], 0);
    sqlite3_reset(s->own[which]);
    return r;
}

static int sqlite_begin(struct bj_db *db, enum bj_begin mode,
                        struct bj_err *err)
{
    return run_own(bj_sqlite_of(db),
                   mode == BJ_BEGIN_WRITE ? BJ_SQLITE_BEGIN_WRITE
                                          : BJ_SQLITE_BEGIN_SNAPSHOT,
                   NULL, err);
}

static int sqlite_commit(struct bj_db *db, struct bj_err *err)
{
    return run_own(bj_sqlite_of(db), BJ_SQLITE_COMMIT, NULL, err);
}

static bool in_transaction(struct bj_db *db)
{
    return !sqlite3_get_autocommit(bj_sqlite_of(db)->db);
}

static void rollback(struct bj_db *db)
{
    if (in_transaction(db))
        run_own(bj_sqlite_of(db), BJ_SQLITE_ROLLBACK, NULL, NULL);
}

static int version(struct bj_db *db, int64_t *ret, struct bj_err *err)
{
    struct bj_sqlite *s = bj_sqlite_of(db);
    int r = run_own(s, BJ_SQLITE_VERSION, ret, err);
    if (r == 0)
        sqlite_note_shm(s);
    return r;
}

const struct bj_engine bj_engine_sqlite = {
    .name = "SQLite",
    .dialect = BJ_DIALECT_SQLITE,
    .is_for = is_for,
    .open = sqlite_open,
    .close = sqlite_close,
    .exec = sqlite_exec,
    .prepare = sqlite_prepare,
    .changes = changes,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = rollback,
    .in_transaction = in_transaction,
    .interrupt = interrupt,
    .deadline = sqlite_deadline,
    .is_lost = sqlite_is_lost,
    .version = version,
    .fence = bj_sqlite_fence,
    .function = sqlite_function,
    .finalize = sqlite_finalize,
    .row = sqlite_row,
    .insert = sqlite_insert,
    .reset = sqlite_reset,
    .clear = sqlite_clear,
    .parameters = sqlite_parameters,
    .bind_null = sqlite_bind_null,
    .bind_i64 = sqlite_bind_i64,
    .bind_f64 = sqlite_bind_f64,
    .bind_text = sqlite_bind_text,
    .columns = sqlite_columns,
    .column_name = sqlite_column_name,
    .get = sqlite_get,
    .get_i64 = sqlite_get_i64,
    .get_f64 = sqlite_get_f64,
    .get_text = sqlite_get_text,
    .check = sqlite_check,
    .references = sqlite_references,
    .shrink = sqlite_shrink,
    .copy = sqlite_copy,
    .load = sqlite_load,
    .bytes = sqlite_bytes,
    .log_bytes = sqlite_log_bytes,
};
