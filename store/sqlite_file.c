/* The file of a database of SQLite: its file system, lock and options, and
 * whether it was replaced. */
#include "base/file.h"
#include "base/log.h"
#include "store/sqlite_impl.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

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

int bj_sqlite_make(const char *name, const struct stat *like,
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
    int r = opt->only_writer ? bj_sqlite_make(lock, &like, err) : 0;
    return r == 0 && opt->create ? bj_sqlite_make(s->path, &like, err) : r;
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
    return bj_sqlite_exec(
        &s->base, "PRAGMA query_only = ON; PRAGMA cell_size_check = ON", err);
}

static int set_up_write(struct bj_sqlite *s, const struct bj_db_options *opt,
                        struct bj_err *err)
{
    int r = 0;
    /* Pointer maps make an import 5 % slower and are needed only if jobs are
     * removed. */
    if (opt->shrink)
        r = bj_sqlite_exec(&s->base, "PRAGMA auto_vacuum = INCREMENTAL", err);
    /* A changed page is written to the WAL, and later to the database file; a
     * longer WAL combines some of these writes. */
    if (r == 0)
        r = bj_sqlite_exec(&s->base,
                           "PRAGMA journal_mode = WAL;"
                           "PRAGMA wal_autocheckpoint = 8000;"
                           "PRAGMA journal_size_limit = 67108864",
                           err);
    if (r == 0)
        r = bj_sqlite_exec(&s->base,
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
    int r = bj_sqlite_exec(&s->base, "PRAGMA schema_version", err);
    if (r == 0)
        r = bj_db_int(&s->base, "PRAGMA page_size", &page, err);
    if (r < 0)
        return r;
    snprintf(sql, sizeof(sql), "PRAGMA cache_size = -%llu",
             (unsigned long long)(cache / 1024));
    r = bj_sqlite_exec(&s->base, sql, err);
    if (r < 0 || opt->read_only || opt->max_bytes == 0)
        return r;
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %llu",
             (unsigned long long)(opt->max_bytes / (uint64_t)page));
    return bj_sqlite_exec(&s->base, sql, err);
}

static int set_up(struct bj_sqlite *s, const struct bj_db_options *opt,
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
    int r =
        bj_sqlite_exec(&s->base,
                       "PRAGMA page_size = 8192; PRAGMA foreign_keys = ON;"
                       "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF",
                       err);
    if (r == 0)
        r = opt->read_only
                ? bj_sqlite_exec(&s->base, "PRAGMA query_only = ON", err)
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
     * bj_sqlite_is_lost sees another one. */
    if (stat(s->path, &st) == 0) {
        s->dev = st.st_dev;
        s->ino = st.st_ino;
    }
    int rc = sqlite3_open_v2(s->path, &s->db, flags, NULL);
    if (rc != SQLITE_OK) {
        int sys = s->db ? sqlite3_system_errno(s->db) : 0;
        return bj_file_fail(err, sys ? -sys : bj_sqlite_errno(rc), "open",
                            AT_FDCWD, s->path,
                            flags & SQLITE_OPEN_READONLY ? R_OK : R_OK | W_OK);
    }
    int r = set_up(s, opt, err);
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

int bj_sqlite_open(const struct bj_db_options *opt, struct bj_db **ret,
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
        bj_sqlite_close(&s->base);
        return r;
    }
    *ret = &s->base;
    return 0;
}

void bj_sqlite_close(struct bj_db *db)
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

void bj_sqlite_note_shm(struct bj_sqlite *s)
{
    struct stat st;
    if (s->shm_ino == 0 && stat_suffixed(s, "-shm", &st))
        s->shm_ino = st.st_ino;
}

/* While the WAL of the old file exists, SQLite would apply its pages to the new
 * file, so this still returns false. */
bool bj_sqlite_is_lost(struct bj_db *db)
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

uint64_t bj_sqlite_bytes(struct bj_db *db)
{
    struct stat st;
    return stat_suffixed(bj_sqlite_of(db), "", &st) ? (uint64_t)st.st_size : 0;
}

uint64_t bj_sqlite_log_bytes(struct bj_db *db)
{
    struct stat st;
    return stat_suffixed(bj_sqlite_of(db), "-wal", &st) ? (uint64_t)st.st_size
                                                        : 0;
}
