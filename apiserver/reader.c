#include "apiserver/reader.h"

#include "apiserver/original.h"
#include "base/clock.h"
#include "base/log.h"
#include "statsdb/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    STATEMENTS = 48,
    OPS = 2000, /* SQLite instructions between two reads of the clock: about 100
                   us */
    BUSY_USEC = 200 * 1000, /* readers of a WAL hardly ever wait */
    LIKE_BYTES = 600,
    WALK_ROWS = 1024, /* rows that a walk reads in any case, and ... */
    WALK_LOOKS = 64   /* ... between two reads of the clock */
};

struct walk {
    uint64_t from, until;
    int64_t part, rows; /* of the current statement, and its rows so far */
    bool over;          /* its time */
    bool ascending, late;
    struct bj_reader_row row;
};

struct statement {
    struct sqlite3_stmt *st;
    uint64_t used; /* number of the request of the last use */
};

struct bj_reader {
    struct bj_reader_options opt;
    char *path, *shm_path;
    struct bj_store *store;
    dev_t dev;
    ino_t ino, shm_ino; /* identity of the file and of the index of its WAL */
    struct statement statement[STATEMENTS];
    uint64_t clock, deadline;
    struct walk walk;
    bool begun, late, warned;
    int64_t data_version;
    uint64_t version;
    struct bj_reader_stat stat;
};

int bj_reader_new(const struct bj_reader_options *opt, struct bj_reader **ret,
                  struct bj_err *err)
{
    struct bj_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "store");
    r->opt = *opt;
    r->path = strdup(opt->path);
    if (!r->path || asprintf(&r->shm_path, "%s-shm", opt->path) < 0) {
        free(r->path);
        free(r);
        return bj_err_set(err, -ENOMEM, "store");
    }
    *ret = r;
    return 0;
}

void bj_reader_close(struct bj_reader *r)
{
    for (int i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(r->statement[i].st);
        r->statement[i] = (struct statement){0};
    }
    bj_store_close(r->store);
    r->store = NULL;
    r->begun = false;
}

void bj_reader_free(struct bj_reader *r)
{
    if (!r)
        return;
    bj_reader_close(r);
    free(r->path);
    free(r->shm_path);
    free(r);
}

static int on_progress(void *ctx)
{
    struct bj_reader *r = ctx;
    if (!r->begun || bj_clock_boot_usec() < r->deadline)
        return 0;
    r->late = true;
    return 1;
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

static struct bj_slice argument(struct sqlite3_value *v)
{
    const char *p = (const char *)sqlite3_value_text(v);
    return (struct bj_slice){p ? p : "", (size_t)sqlite3_value_bytes(v)};
}

/* bj_uuid(JOBID, UID, ACCOUNT, NODELIST): the original's id of a job. */
static void make_uuid(struct sqlite3_context *ctx, int n,
                      struct sqlite3_value **v)
{
    struct bj_buf to = {0};
    (void)n;
    bj_original_uuid(argument(v[0]), argument(v[1]), argument(v[2]),
                     argument(v[3]), &to);
    if (to.failed)
        sqlite3_result_error_nomem(ctx);
    else
        sqlite3_result_text(ctx, to.p, (int)to.len, SQLITE_TRANSIENT);
    bj_buf_free(&to);
}

void bj_reader_walk(struct bj_reader *r, bool ascending, unsigned part)
{
    const uint64_t begin = r->deadline - r->opt.query_usec;
    r->walk = (struct walk){.from = bj_clock_boot_usec(),
                            .until = begin + r->opt.query_usec / 1000 * part,
                            .part = -1,
                            .ascending = ascending};
}

bool bj_reader_late(const struct bj_reader *r, struct bj_reader_row *ret)
{
    *ret = r->walk.row;
    return r->walk.late;
}

static bool is_time(const struct walk *w)
{
    uint64_t now = bj_clock_boot_usec();
    uint64_t all = w->until > w->from ? w->until - w->from : 0;
    return now >= w->from + all / 1000 * (uint64_t)w->part;
}

/* Does a come before b in the order of the walk? */
static bool is_before(const struct walk *w, struct bj_reader_row a,
                      struct bj_reader_row b)
{
    if (a.at != b.at)
        return (a.at < b.at) == w->ascending;
    return a.id != b.id && (a.id < b.id) == w->ascending;
}

/* bj_late(AT, ID, PART) */
static void is_late(struct sqlite3_context *ctx, int n,
                    struct sqlite3_value **v)
{
    struct walk *w = &((struct bj_reader *)sqlite3_user_data(ctx))->walk;
    const struct bj_reader_row row = {sqlite3_value_int64(v[0]),
                                      sqlite3_value_int64(v[1])};
    int64_t part = sqlite3_value_int64(v[2]);
    (void)n;
    if (w->part != part) {
        w->part = part;
        w->rows = 0;
        w->over = false;
    }
    w->rows++;
    w->over = w->over ||
              (w->rows >= WALK_ROWS && w->rows % WALK_LOOKS == 0 && is_time(w));
    if (w->over && (!w->late || is_before(w, row, w->row)))
        w->row = row;
    w->late = w->late || w->over;
    sqlite3_result_int(ctx, w->over);
}

/* The SQL functions of the API. */
static int add_functions(struct bj_reader *r, struct sqlite3 *db)
{
    int rc = sqlite3_create_function_v2(db, "bj_uuid", 4,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC |
                                            SQLITE_DIRECTONLY,
                                        NULL, make_uuid, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "bj_late", 3,
                                        SQLITE_UTF8 | SQLITE_DIRECTONLY, r,
                                        is_late, NULL, NULL, NULL);
    return rc;
}

static int fence(struct bj_reader *r, struct sqlite3 *db)
{
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LIKE_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 64 * 1024);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_progress_handler(db, OPS, on_progress, r);
    sqlite3_set_authorizer(db, on_authorize, NULL);
    return add_functions(r, db);
}

static int open_store(struct bj_reader *r, struct bj_err *err)
{
    struct bj_store_options opt = {.path = r->path,
                                   .read_only = true,
                                   .any_filesystem = r->opt.any_filesystem,
                                   .cache_bytes = r->opt.cache_bytes,
                                   .busy_usec = BUSY_USEC};
    struct bj_store *store;
    struct stat st = {0};
    /* Record the identity before opening: if the file is replaced in between,
     * the next check sees another one. */
    if (stat(r->path, &st) < 0)
        return bj_err_set(err, -errno, "%s", r->path);
    int rc = bj_store_open(&opt, &store, err);
    if (rc < 0)
        return rc;
    rc = fence(r, bj_store_db(store));
    if (rc != SQLITE_OK) {
        rc = bj_sql_fail(bj_store_db(store), rc, err, "functions");
        bj_store_close(store);
        return rc;
    }
    bj_reader_close(r);
    r->store = store;
    r->dev = st.st_dev;
    r->ino = st.st_ino;
    r->shm_ino = 0;
    r->data_version = -1;
    r->stat.opened++;
    return 0;
}

static ino_t shm_of(const struct bj_reader *r)
{
    struct stat st;
    return stat(r->shm_path, &st) == 0 ? st.st_ino : 0;
}

/* Is there another file of this name? While the WAL of the old one exists,
 * SQLite would apply its pages to the new one: wait. */
static bool replaced(struct bj_reader *r)
{
    struct stat st;
    if (stat(r->path, &st) < 0 || (st.st_ino == r->ino && st.st_dev == r->dev))
        return false;
    bool stale = r->shm_ino != 0 && shm_of(r) == r->shm_ino;
    if (stale && !r->warned)
        bj_log(BJ_LOG_WARN, NULL,
               "%s was replaced, but the -wal and -shm files of the old store "
               "still exist; remove them",
               r->path);
    r->warned = stale;
    return !stale;
}

static int check_version(struct bj_reader *r, struct bj_err *err)
{
    struct sqlite3_stmt *st;
    int rc = bj_reader_prepare(r, "PRAGMA data_version", &st, err);
    if (rc == 0)
        rc = bj_sql_row(st, err);
    if (rc < 0)
        return rc;
    int64_t now = bj_sql_get(st, 0);
    sqlite3_reset(st);
    if (r->shm_ino == 0)
        r->shm_ino = shm_of(r);
    if (now != r->data_version)
        r->version++;
    r->data_version = now;
    return 0;
}

static int begin(struct bj_reader *r, struct bj_err *err)
{
    struct sqlite3_stmt *st;
    r->clock++;
    r->late = false;
    r->begun = true;
    r->deadline = bj_clock_boot_usec() + r->opt.query_usec;
    int rc = bj_reader_prepare(r, "BEGIN", &st, err);
    if (rc == 0)
        rc = bj_sql_run(st, err);
    return rc < 0 ? rc : check_version(r, err);
}

int bj_reader_begin(struct bj_reader *r, struct bj_err *err)
{
    int rc = 0;
    if (!r->store)
        rc = open_store(r, err);
    else if (replaced(r))
        open_store(r, NULL); /* incomplete: keep the old one */
    if (rc == 0)
        rc = begin(r, err);
    if (rc < 0 && r->store && bj_reader_broken(rc)) {
        bj_reader_close(r);
        rc = open_store(r, err);
        if (rc == 0)
            rc = begin(r, err);
    }
    if (rc < 0)
        bj_reader_end(r);
    return rc;
}

void bj_reader_end(struct bj_reader *r)
{
    if (r->late)
        r->stat.timeouts++;
    r->begun = r->late = false;
    if (!r->store)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        if (r->statement[i].st && r->statement[i].used == r->clock)
            sqlite3_reset(r->statement[i].st);
    if (!sqlite3_get_autocommit(bj_store_db(r->store)))
        sqlite3_exec(bj_store_db(r->store), "COMMIT", NULL, NULL, NULL);
}

/* The slot of a statement: its own, else the one unused for longest. */
static struct statement *place(struct bj_reader *r, const char *sql)
{
    struct statement *oldest = &r->statement[0];
    for (int i = 0; i < STATEMENTS; i++) {
        struct statement *s = &r->statement[i];
        if (s->st && strcmp(sqlite3_sql(s->st), sql) == 0)
            return s;
        if (s->used < oldest->used)
            oldest = s;
    }
    sqlite3_finalize(oldest->st);
    *oldest = (struct statement){0};
    return oldest;
}

struct sqlite3 *bj_reader_db(const struct bj_reader *r)
{
    return bj_store_db(r->store);
}

int bj_reader_prepare(struct bj_reader *r, const char *sql,
                      struct sqlite3_stmt **ret, struct bj_err *err)
{
    struct statement *s = place(r, sql);
    if (!s->st) {
        int rc = bj_sql_prepare(bj_store_db(r->store), sql, &s->st, err);
        if (rc < 0)
            return rc;
    }
    s->used = r->clock;
    sqlite3_reset(s->st);
    sqlite3_clear_bindings(s->st);
    *ret = s->st;
    return 0;
}

uint64_t bj_reader_version(const struct bj_reader *r)
{
    return r->version + r->stat.opened;
}

bool bj_reader_broken(int code)
{
    return code == -EBADMSG || code == -EIO || code == -ENOENT ||
           code == -EROFS || code == -EACCES || code == -EPROTO;
}

void bj_reader_stat(const struct bj_reader *r, struct bj_reader_stat *ret)
{
    *ret = r->stat;
    ret->open = r->store != NULL;
}
