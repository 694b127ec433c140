#include "statsdb/store.h"

#include "base/file.h"
#include "statsdb/schema.h"
#include "statsdb/sql.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Whose transaction is next.  SQLite alone would let a connection that always
 * begins another one keep the rest from writing. */
struct turn {
    pthread_mutex_t lock;
    pthread_cond_t change;
    uint64_t next, now;
};

struct bj_store {
    struct sqlite3 *db;
    char *path, *wal_path;
    int lock; /* descriptor of PATH.lock, or -1 */
    struct turn own_turn, *turn;
    bool has_turn;
};

/* File systems of more than one host.  Their locks and shared memory do not
 * hold what WAL needs.  Sources: linux/magic.h, which in Linux 5.15 lacks
 * three of its own (SMB2, CIFS, Ceph), and the numbers that the clients
 * themselves define (Lustre lustre_user.h, GPFS, BeeGFS, PanFS). */
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

/* The lock is a separate file: closing any descriptor of the database would
 * drop SQLite's locks on it. */
static int take_lock(struct bj_store *s, struct bj_err *err)
{
    char name[4096];
    if (snprintf(name, sizeof(name), "%s.lock", s->path) >= (int)sizeof(name))
        return bj_err_set(err, -ENAMETOOLONG, "%s", s->path);
    s->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (s->lock < 0)
        return bj_err_set(err, -errno, "open %s", name);
    if (flock(s->lock, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? bj_err_set(err, -EBUSY,
                                "%s: another process is writing it", s->path)
                   : bj_err_set(err, -errno, "lock %s", name);
    return 0;
}

static int set_up(struct bj_store *s, const struct bj_store_options *opt,
                  struct bj_err *err)
{
    uint64_t busy = opt->busy_usec ? opt->busy_usec : 10000000;
    sqlite3_busy_timeout(s->db, (int)(busy / 1000));
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    int r =
        bj_sql_exec(s->db,
                    "PRAGMA page_size = 8192; PRAGMA foreign_keys = ON;"
                    "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF",
                    err);
    if (r < 0 || opt->read_only)
        return r < 0 ? r : bj_sql_exec(s->db, "PRAGMA query_only = ON", err);
    /* Pointer maps make an import 5 % slower and are needed only if jobs are
     * removed. */
    if (opt->shrink)
        r = bj_sql_exec(s->db, "PRAGMA auto_vacuum = INCREMENTAL", err);
    if (r < 0)
        return r;
    /* A changed page is written to the WAL and later to its place; a longer WAL
     * combines some of these writes. */
    return bj_sql_exec(s->db,
                       "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                       "PRAGMA wal_autocheckpoint = 8000;"
                       "PRAGMA journal_size_limit = 67108864",
                       err);
}

/* Limits in pages, set when the page size of the store is known: until then
 * SQLite assumes 4 KiB. */
static int set_limits(struct bj_store *s, const struct bj_store_options *opt,
                      struct bj_err *err)
{
    char sql[128];
    uint64_t cache = opt->cache_bytes ? opt->cache_bytes : 12u << 20;
    int64_t page;
    int r = bj_sql_int(s->db, "PRAGMA page_size", &page, err);
    if (r < 0)
        return r;
    snprintf(sql, sizeof(sql), "PRAGMA cache_size = -%llu",
             (unsigned long long)(cache / 1024));
    r = bj_sql_exec(s->db, sql, err);
    if (r < 0 || opt->read_only || opt->max_bytes == 0)
        return r;
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %llu",
             (unsigned long long)(opt->max_bytes / (uint64_t)page));
    return bj_sql_exec(s->db, sql, err);
}

static int open_db(struct bj_store *s, const struct bj_store_options *opt,
                   struct bj_err *err)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    flags |= opt->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    bool migrate =
        !opt->read_only && !opt->as_it_is && !opt->beside && !opt->short_writes;
    if (migrate)
        flags |= SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(s->path, &s->db, flags, NULL);
    if (rc != SQLITE_OK) {
        int sys = s->db ? sqlite3_system_errno(s->db) : 0;
        return bj_err_set(err, sys ? -sys : bj_sql_errno(rc), "open %s",
                          s->path);
    }
    int r = set_up(s, opt, err), version = 0;
    if (r == 0 && opt->beside)
        r = bj_sql_exec(s->db, "PRAGMA synchronous = FULL", err);
    if (r == 0 && migrate)
        r = bj_schema_migrate(s->db, err);
    else if (r == 0)
        r = bj_schema_read(s->db, &version, err);
    if (r == 0 && !migrate && !opt->any_version &&
        version != bj_schema_version())
        r = bj_err_set(err, version > bj_schema_version() ? -ENOTSUP : -EAGAIN,
                       "the store has version %d, this program reads %d%s",
                       version, bj_schema_version(),
                       version > bj_schema_version()
                           ? ""
                           : "; run batchjob_stats_db once");
    if (r == 0)
        r = set_limits(s, opt, err);
    if (r == -EROFS && opt->read_only)
        bj_err_set(err, r,
                   "without write access to its directory it can be read "
                   "only while batchjob_stats_db runs");
    return r < 0 ? bj_err_wrap(err, r, "%s", opt->path ? opt->path : "no store")
                 : 0;
}

/* SQLite keeps a database without a name in memory, and a large one in an
 * unnamed file in TMPDIR. It has no WAL. */
static int name_files(struct bj_store *s, const char *path, struct bj_err *err)
{
    s->path = strdup(path ? path : "");
    if (!s->path ||
        asprintf(&s->wal_path, "%s%s", s->path, path ? "-wal" : "") < 0) {
        s->wal_path = NULL;
        return bj_err_set(err, -ENOMEM, "store");
    }
    return 0;
}

int bj_store_open(const struct bj_store_options *opt, struct bj_store **ret,
                  struct bj_err *err)
{
    struct bj_store *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "store");
    s->lock = -1;
    pthread_mutex_init(&s->own_turn.lock, NULL);
    pthread_cond_init(&s->own_turn.change, NULL);
    s->turn = opt->beside ? opt->beside->turn : &s->own_turn;
    int r = name_files(s, opt->beside ? opt->beside->path : opt->path, err);
    if (r == 0 && opt->path && !opt->any_filesystem)
        r = check_filesystem(opt->path, err);
    if (r == 0 && opt->path && !opt->read_only && !opt->short_writes)
        r = take_lock(s, err);
    if (r == 0)
        r = open_db(s, opt, err);
    if (r < 0) {
        bj_store_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

void bj_store_close(struct bj_store *s)
{
    if (!s)
        return;
    bj_store_rollback(s);
    sqlite3_close_v2(s->db);
    pthread_cond_destroy(&s->own_turn.change);
    pthread_mutex_destroy(&s->own_turn.lock);
    bj_close_fd(&s->lock);
    free(s->path);
    free(s->wal_path);
    free(s);
}

struct sqlite3 *bj_store_db(struct bj_store *s)
{
    return s->db;
}

int bj_store_other_error(struct bj_err *err, int code)
{
    if (code != -EIO && code != -ENOSPC && code != -EROFS && code != -EBADMSG)
        return code;
    struct bj_err was = {0};
    char why[64];
    if (err)
        was = *err;
    return bj_err_set(err, -EREMOTEIO, "%s: %s", was.msg,
                      strerror_r(-code, why, sizeof(why)));
}

int bj_store_check(struct bj_store *s, struct bj_err *err)
{
    struct sqlite3_stmt *st;
    int r = bj_sql_prepare(s->db, "PRAGMA integrity_check(1)", &st, err);
    if (r < 0)
        return r;
    r = bj_sql_row(st, err);
    struct bj_slice word = r > 0 ? bj_sql_text(st, 0) : BJ_SLICE("");
    if (r > 0 && !bj_slice_eq(word, BJ_SLICE("ok")))
        r = bj_err_set(err, -EBADMSG, "%s: %.*s", s->path, (int)word.n, word.p);
    sqlite3_finalize(st);
    if (r < 0)
        return r;
    r = bj_sql_prepare(s->db, "PRAGMA foreign_key_check", &st, err);
    if (r < 0)
        return r;
    r = bj_sql_row(st, err);
    if (r > 0)
        r = bj_err_set(
            err, -EBADMSG,
            "%s: table %s, row %lld: the referenced row of %s is missing",
            s->path, (const char *)sqlite3_column_text(st, 0),
            (long long)sqlite3_column_int64(st, 1),
            (const char *)sqlite3_column_text(st, 2));
    sqlite3_finalize(st);
    return r;
}

int bj_store_references(struct bj_store *s, bool on, struct bj_err *err)
{
    int now = -1;
    if (!sqlite3_get_autocommit(s->db))
        return bj_err_set(
            err, -EBUSY,
            "foreign keys cannot be switched within a transaction");
    int rc =
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, (int)on, &now);
    if (rc != SQLITE_OK || now != (int)on)
        return bj_err_set(err, -EPROTO, "foreign keys could not be switched");
    return 0;
}

static void take_turn(struct bj_store *s)
{
    struct turn *t = s->turn;
    pthread_mutex_lock(&t->lock);
    uint64_t mine = t->next++;
    while (t->now != mine)
        pthread_cond_wait(&t->change, &t->lock);
    pthread_mutex_unlock(&t->lock);
    s->has_turn = true;
}

static void give_turn(struct bj_store *s)
{
    struct turn *t = s->turn;
    if (!s->has_turn)
        return;
    s->has_turn = false;
    pthread_mutex_lock(&t->lock);
    t->now++;
    pthread_cond_broadcast(&t->change);
    pthread_mutex_unlock(&t->lock);
}

int bj_store_begin(struct bj_store *s, struct bj_err *err)
{
    bool had = s->has_turn;
    if (!had)
        take_turn(s);
    int r = bj_sql_exec(s->db, "BEGIN IMMEDIATE", err);
    if (r < 0 && !had)
        give_turn(s);
    return r;
}

int bj_store_commit(struct bj_store *s, struct bj_err *err)
{
    int r = bj_sql_exec(s->db, "COMMIT", err);
    if (r == 0)
        give_turn(s);
    return r;
}

void bj_store_rollback(struct bj_store *s)
{
    /* After some errors, such as a full disk, SQLite has rolled back already.
     */
    if (s->db && !sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    give_turn(s);
}

uint64_t bj_store_wal_bytes(const struct bj_store *s)
{
    struct stat st;
    return stat(s->wal_path, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

uint64_t bj_store_bytes(const struct bj_store *s)
{
    struct stat st;
    return stat(s->path, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

/* --- backup ----------------------------------------------------------------
 */

/* Copy all pages, some at a time, so that a writer of another process gets its
 * turn; SQLite restarts the copy after its writes. */
static int copy(struct bj_store *s, struct sqlite3 *to,
                int (*progress)(void *ctx, uint64_t done, uint64_t all),
                void *ctx, struct bj_err *err)
{
    enum { PAGES = 4096 };
    sqlite3_backup *b = sqlite3_backup_init(to, "main", s->db, "main");
    int rc, r = 0;
    if (!b)
        return bj_sql_fail(to, sqlite3_errcode(to), err, "backup");
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
    return rc == SQLITE_DONE ? 0 : bj_sql_fail(NULL, rc, err, "backup");
}

/* Make a copy without a WAL file. */
static int copy_to(struct bj_store *s, const char *name,
                   int (*progress)(void *ctx, uint64_t done, uint64_t all),
                   void *ctx, struct bj_err *err)
{
    struct sqlite3 *to = NULL;
    int rc = sqlite3_open_v2(name, &to,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                 SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                             NULL);
    int r = rc == SQLITE_OK ? copy(s, to, progress, ctx, err)
                            : bj_sql_fail(to, rc, err, name);
    if (r == 0)
        r = bj_sql_exec(to, "PRAGMA journal_mode = DELETE", err);
    sqlite3_close(to);
    return r;
}

static int sync_file(const char *name, struct bj_err *err)
{
    bj_autoclose int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return bj_err_set(err, -errno, "%s", name);
    return 0;
}

int bj_store_backup(struct bj_store *s, const char *to,
                    int (*progress)(void *ctx, uint64_t done, uint64_t all),
                    void *ctx, struct bj_err *err)
{
    char part[4096];
    if (snprintf(part, sizeof(part), "%s.part", to) >= (int)sizeof(part))
        return bj_err_set(err, -ENAMETOOLONG, "%s", to);
    if (access(to, F_OK) == 0)
        return bj_err_set(err, -EEXIST, "%s", to);
    unlink(part);
    int r = copy_to(s, part, progress, ctx, err);
    if (r == 0)
        r = sync_file(part, err);
    /* link(2) does not replace a file that appeared meanwhile. */
    if (r == 0 && link(part, to) < 0)
        r = bj_err_set(err, -errno, "%s", to);
    unlink(part);
    return r;
}
