#include "statsdb/tables/store.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "statsdb/tables/schema.h"
#include "store/db.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* The order of transactions of several connections.  With SQLite alone, a
 * connection that always begins another transaction could keep others from
 * writing. */
struct turn {
    pthread_mutex_t lock;
    pthread_cond_t change;
    uint64_t next, now;
    /* One of the connections to a server is lost: the program must open new
     * ones. */
    atomic_bool lost;
};

struct bj_store {
    struct bj_db *db;
    char *path; /* NULL without a name */
    struct turn own_turn, *turn;
    bool has_turn;
};

static int check_version(struct bj_store *s, struct bj_err *err)
{
    int version = 0;
    int r = bj_schema_read(s->db, &version, err);
    if (r < 0 || version == bj_schema_version())
        return r;
    return bj_err_set(
        err, version > bj_schema_version() ? -ENOTSUP : -EAGAIN,
        "the store has version %d, this program reads %d%s", version,
        bj_schema_version(),
        version > bj_schema_version() ? "" : "; run batchjob_stats_db once");
}

static int check_unfinished(struct bj_store *s, struct bj_err *err)
{
    int version = 0;
    int r = bj_schema_read(s->db, &version, err);
    if (r != -EINPROGRESS || version == bj_schema_version())
        return r == -EINPROGRESS ? 0 : r;
    return bj_err_set(err, -ENOTSUP,
                      "a copy by another version of this program has not"
                      " finished; empty the store and copy again");
}

/* Mark a copy as an independent store, because it may differ from its source
 * from now on. */
static int own_copy(struct bj_store *s, struct bj_err *err)
{
    enum bj_schema_copy copy = BJ_SCHEMA_OWN;
    int r = bj_schema_copy(s->db, &copy, err);
    return r == 0 && copy == BJ_SCHEMA_IS_COPY
               ? bj_schema_set_copy(s->db, BJ_SCHEMA_OWN, err)
               : r;
}

/* --- upgrades ------------------------------------------------------------- */

static int check_tables(struct bj_db *db, struct bj_err *err)
{
    int version = 0;
    int r = bj_schema_read(db, &version, err);
    return r < 0 ? r : bj_schema_fits(db, version, err);
}

/* Before a file is opened for writing, which may change its header: is it a
 * store with the tables of its version?  *ret is the version, 0 without a file.
 * Other errors are those of opening it. */
static int check_file(struct bj_store *s, const struct bj_store_options *opt,
                      int *ret, struct bj_err *err)
{
    const struct bj_db_options db = {.url = s->path,
                                     .read_only = true,
                                     .any_filesystem = opt->any_filesystem,
                                     .busy_usec = opt->busy_usec};
    struct bj_db *file = NULL;
    *ret = 0;
    if (!s->path || !bj_db_is_file(s->path) || bj_db_open(&db, &file, NULL) < 0)
        return 0;
    int r = bj_schema_read(file, ret, err);
    if (r == 0)
        r = bj_schema_fits(file, *ret, err);
    bj_db_close(file);
    return r;
}

/* The backup gets the owner of the store, and its mode, but no right for
 * others. */
static int like_store(const struct bj_store *s, const char *name,
                      struct bj_err *err)
{
    struct stat st;
    if (stat(s->path, &st) < 0 || chmod(name, st.st_mode & 0640) < 0)
        return bj_err_set(err, -errno, "%s", name);
    if (chown(name, st.st_uid, st.st_gid) < 0 && errno != EPERM)
        return bj_err_set(err, -errno, "%s", name);
    return 0;
}

/* Copy a file before it is upgraded.  A copy of the same version, of an upgrade
 * that failed, is replaced. */
static int back_up(struct bj_store *s, int version, struct bj_err *err)
{
    char name[4096], fresh[sizeof(name) + 8];
    const char *path = bj_db_shown(s->path);
    if (snprintf(name, sizeof(name), "%s.version-%d", path, version) >=
        (int)sizeof(name))
        return bj_err_set(err, -ENAMETOOLONG, "%s", path);
    snprintf(fresh, sizeof(fresh), "%s.new", name);
    unlink(fresh);
    int r = bj_db_copy(s->db, fresh, NULL, NULL, err);
    if (r == 0)
        r = like_store(s, fresh, err);
    if (r == 0 && rename(fresh, name) < 0)
        r = bj_err_set(err, -errno, "%s", name);
    if (r < 0) {
        unlink(fresh);
        return bj_err_wrap(err, r,
                           "no backup before the upgrade from version %d, so"
                           " the store was not changed",
                           version);
    }
    bj_log(BJ_LOG_INFO, NULL,
           "%s: upgrade from version %d to %d; its backup is %s", path, version,
           bj_schema_version(), name);
    return 0;
}

/* A file, which check_file has checked, is copied first if it holds data; in a
 * database of PostgreSQL the transaction alone protects it. */
static int upgrade(struct bj_store *s, int version, struct bj_err *err)
{
    int r = 0;
    if (version > 0 && version < bj_schema_version())
        r = back_up(s, version, err);
    else if (s->path && !bj_db_is_file(s->path))
        r = check_tables(s->db, err);
    return r < 0 ? r : bj_schema_migrate(s->db, err);
}

/* --- opening -------------------------------------------------------------- */

static int open_db(struct bj_store *s, const struct bj_store_options *opt,
                   struct bj_err *err)
{
    const bool migrate = !opt->read_only && !opt->as_it_is &&
                         !opt->shared_with && !opt->short_writes;
    const struct bj_db_options db = {.url = s->path,
                                     .read_only = opt->read_only,
                                     .create = migrate,
                                     .any_filesystem = opt->any_filesystem,
                                     .only_writer = !opt->read_only &&
                                                    !opt->short_writes &&
                                                    !opt->shared_with,
                                     .durable = opt->shared_with != NULL,
                                     .shrink = opt->shrink,
                                     .cache_bytes = opt->cache_bytes,
                                     .busy_usec = opt->busy_usec,
                                     .max_bytes = opt->max_bytes};
    int version = 0;
    int r = migrate ? check_file(s, opt, &version, err) : 0;
    if (r == -EINPROGRESS) /* a copy is not upgraded; checked below */
        r = version = 0;
    if (r < 0)
        return bj_err_wrap(err, r, "%s", bj_db_shown(s->path));
    r = bj_db_open(&db, &s->db, err);
    if (r == -EROFS && opt->read_only)
        return bj_err_set(err, r,
                          "%s: without write access to its directory it can be "
                          "read only while batchjob_stats_db runs",
                          s->path);
    if (r < 0)
        return r;
    r = migrate            ? upgrade(s, version, err)
        : opt->any_version ? bj_schema_read(s->db, &(int){0}, err)
                           : check_version(s, err);
    if (r == -EINPROGRESS && opt->copy)
        r = check_unfinished(s, err);
    if (r == 0 && migrate && !opt->copy)
        r = own_copy(s, err);
    return r < 0 ? bj_err_wrap(err, r, "%s",
                               s->path ? bj_db_shown(s->path) : "no store")
                 : 0;
}

int bj_store_open(const struct bj_store_options *opt, struct bj_store **ret,
                  struct bj_err *err)
{
    struct bj_store *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "store");
    pthread_mutex_init(&s->own_turn.lock, NULL);
    pthread_cond_init(&s->own_turn.change, NULL);
    s->turn = opt->shared_with ? opt->shared_with->turn : &s->own_turn;
    const char *path = opt->shared_with ? opt->shared_with->path : opt->path;
    s->path = path ? strdup(path) : NULL;
    int r = path && !s->path ? bj_err_set(err, -ENOMEM, "store")
                             : open_db(s, opt, err);
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
    bj_db_close(s->db);
    pthread_cond_destroy(&s->own_turn.change);
    pthread_mutex_destroy(&s->own_turn.lock);
    free(s->path);
    free(s);
}

struct bj_db *bj_store_db(struct bj_store *s)
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
    if (atomic_load(&s->turn->lost))
        return bj_err_set(err, -ENOLINK, "a connection to the server was lost");
    if (!had)
        take_turn(s);
    int r = bj_db_begin(s->db, BJ_BEGIN_WRITE, err);
    if (r < 0 && !had)
        give_turn(s);
    return r;
}

int bj_store_commit(struct bj_store *s, struct bj_err *err)
{
    int r = bj_db_commit(s->db, err);
    if (r == 0)
        give_turn(s);
    return r;
}

void bj_store_rollback(struct bj_store *s)
{
    if (s->db) {
        bj_db_rollback(s->db);
        if (s->path && !bj_db_is_file(s->path) && bj_db_is_lost(s->db))
            atomic_store(&s->turn->lost, true);
    }
    give_turn(s);
}

/* --- check ----------------------------------------------------------------*/

/* Checks that the references in SQLite's schema hold in PostgreSQL's tables. */
static const char references[] =
    "SELECT t.name, k.\"from\", k.\"table\" FROM sqlite_schema AS t,"
    " pragma_foreign_key_list(t.name) AS k WHERE t.type = 'table'"
    " ORDER BY t.name, k.\"from\"";

static int check_reference(struct bj_db *db, const char *table,
                           const char *column, const char *to,
                           struct bj_err *err)
{
    struct bj_buf sql = {0};
    struct bj_st *st = NULL;
    int64_t value = 0;
    bj_buf_printf(&sql,
                  "SELECT t.\"%s\" FROM \"%s\" AS t WHERE t.\"%s\" IS NOT NULL"
                  " AND NOT EXISTS (SELECT 1 FROM \"%s\" AS r WHERE r.id ="
                  " t.\"%s\") LIMIT 1",
                  column, table, column, to, column);
    int r = bj_db_prepare_buf(db, &sql, &st, err);
    if (r == 0)
        r = bj_st_int(st, &value, err);
    bj_st_finalize(st);
    return r > 0 ? bj_err_set(err, -EBADMSG,
                              "table %s has the %s %lld, which table %s lacks",
                              table, column, (long long)value, to)
                 : r;
}

static int check_references(struct bj_db *db, struct bj_db *schema,
                            struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(schema, references, &st, err);
    while (r == 0 && (r = bj_st_row(st, err)) > 0)
        r = check_reference(db, bj_st_get_text(st, 0).p,
                            bj_st_get_text(st, 1).p, bj_st_get_text(st, 2).p,
                            err);
    bj_st_finalize(st);
    return r;
}

int bj_store_check(struct bj_store *s, struct bj_err *err)
{
    struct bj_db *db = bj_store_db(s);
    struct bj_store *empty = NULL;
    if (bj_db_dialect(db) == BJ_DIALECT_SQLITE)
        return bj_db_check(db, err);
    int r = bj_store_open(&(struct bj_store_options){0}, &empty, err);
    if (r == 0)
        r = bj_db_begin(db, BJ_BEGIN_SNAPSHOT, err);
    if (r == 0)
        r = check_references(db, bj_store_db(empty), err);
    bj_db_rollback(db);
    bj_store_close(empty);
    return r;
}
