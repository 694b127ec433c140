#include "apiserver/frame/reader.h"

#include "apiserver/frame/faculty.h"
#include "base/buf.h"
#include "base/clock.h"
#include "statsdb/tables/store.h"

#include <stdlib.h>
#include <string.h>

enum {
    STATEMENTS = 48,
    BUSY_USEC = 200 * 1000, /* readers of a WAL hardly ever wait */
    WALK_ROWS = 1024,       /* rows that a walk always reads, and ... */
    WALK_LOOKS = 64         /* ... rows between two reads of the clock */
};

struct walk {
    uint64_t from, until;
    int64_t part, rows; /* of the current statement, and its rows so far */
    bool expired;       /* the time of the current statement is over */
    bool ascending, late;
    struct bj_reader_row row;
};

struct statement {
    struct bj_st *st;
    uint64_t used; /* number of the request that used it last */
};

struct bj_reader {
    struct bj_reader_options opt;
    char *path;
    struct bj_store *store;
    struct bj_db_function late_function, faculty_function;
    struct statement statement[STATEMENTS];
    uint64_t clock, deadline;
    struct walk walk;
    int64_t data_version;
    uint64_t version;
    struct bj_reader_stat stat;
};

void bj_reader_close(struct bj_reader *r)
{
    for (int i = 0; i < STATEMENTS; i++) {
        bj_st_finalize(r->statement[i].st);
        r->statement[i] = (struct statement){0};
    }
    bj_store_close(r->store);
    r->store = NULL;
}

void bj_reader_free(struct bj_reader *r)
{
    if (!r)
        return;
    bj_reader_close(r);
    free(r->path);
    free(r);
}

static int64_t integer(const struct bj_value *v)
{
    return v->type == BJ_TYPE_INTEGER ? v->i64 : 0;
}

/* bj_faculty(TEXT, ACCOUNT): apiserver/frame/faculty.h. */
static int find_faculty(void *ctx, const struct bj_value *v,
                        struct bj_value *ret)
{
    (void)ctx;
    struct bj_slice s = {0};
    if (v[0].type == BJ_TYPE_TEXT && v[1].type == BJ_TYPE_TEXT)
        s = bj_faculty_of(v[0].text, v[1].text);
    ret->type = s.p ? BJ_TYPE_TEXT : BJ_TYPE_NULL;
    ret->text = s;
    return 0;
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
static int is_late(void *ctx, const struct bj_value *v, struct bj_value *ret)
{
    struct walk *w = &((struct bj_reader *)ctx)->walk;
    const struct bj_reader_row row = {integer(&v[0]), integer(&v[1])};
    const int64_t part = integer(&v[2]);
    if (w->part != part) {
        w->part = part;
        w->rows = 0;
        w->expired = false;
    }
    w->rows++;
    w->expired = w->expired || (w->rows >= WALK_ROWS &&
                                w->rows % WALK_LOOKS == 0 && is_time(w));
    if (w->expired && (!w->late || is_before(w, row, w->row)))
        w->row = row;
    w->late = w->late || w->expired;
    ret->type = BJ_TYPE_INTEGER;
    ret->i64 = w->expired;
    return 0;
}

int bj_reader_new(const struct bj_reader_options *opt, struct bj_reader **ret,
                  struct bj_err *err)
{
    struct bj_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "store");
    r->opt = *opt;
    r->path = strdup(opt->path);
    r->late_function = (struct bj_db_function){"bj_late", 3, false, is_late, r};
    r->faculty_function =
        (struct bj_db_function){"bj_faculty", 2, true, find_faculty, r};
    if (!r->path) {
        free(r);
        return bj_err_set(err, -ENOMEM, "store");
    }
    *ret = r;
    return 0;
}

/* Make the connection read-only, and add the SQL functions of the API.
 * PostgreSQL cannot call them: its queries end at the deadline, without partial
 * results. */
static int reader_set_up(struct bj_reader *r, struct bj_db *db,
                         struct bj_err *err)
{
    bj_db_fence(db);
    if (bj_db_dialect(db) != BJ_DIALECT_SQLITE)
        return 0;
    int rc = bj_db_function(db, &r->late_function, err);
    return rc < 0 ? rc : bj_db_function(db, &r->faculty_function, err);
}

static int open_store(struct bj_reader *r, struct bj_err *err)
{
    struct bj_store_options opt = {.path = r->path,
                                   .read_only = true,
                                   .any_filesystem = r->opt.any_filesystem,
                                   .cache_bytes = r->opt.cache_bytes,
                                   .busy_usec = BUSY_USEC};
    struct bj_store *store;
    int rc = bj_store_open(&opt, &store, err);
    if (rc < 0)
        return rc;
    rc = reader_set_up(r, bj_store_db(store), err);
    if (rc < 0) {
        bj_store_close(store);
        return rc;
    }
    bj_reader_close(r);
    r->store = store;
    r->data_version = -1;
    r->stat.opened++;
    return 0;
}

static int reader_begin(struct bj_reader *r, struct bj_err *err)
{
    struct bj_db *db = bj_store_db(r->store);
    int64_t now = 0;
    r->clock++;
    r->deadline = bj_clock_boot_usec() + r->opt.query_usec;
    bj_db_deadline(db, r->deadline);
    int rc = bj_db_begin(db, BJ_BEGIN_SNAPSHOT, err);
    if (rc == 0)
        rc = bj_db_version(db, &now, err);
    if (rc < 0)
        return rc;
    if (now != r->data_version)
        r->version++;
    r->data_version = now;
    return 0;
}

int bj_reader_begin(struct bj_reader *r, struct bj_err *err)
{
    int rc = 0;
    if (!r->store)
        rc = open_store(r, err);
    else if (bj_db_is_lost(bj_store_db(r->store)))
        open_store(r, NULL); /* incomplete: keep the old one */
    if (rc == 0)
        rc = reader_begin(r, err);
    if (rc < 0 && r->store && bj_reader_broken(rc)) {
        bj_reader_close(r);
        rc = open_store(r, err);
        if (rc == 0)
            rc = reader_begin(r, err);
    }
    if (rc < 0)
        bj_reader_end(r);
    return rc;
}

void bj_reader_end(struct bj_reader *r)
{
    if (!r->store)
        return;
    struct bj_db *db = bj_store_db(r->store);
    if (bj_db_is_late(db))
        r->stat.timeouts++;
    bj_db_deadline(db, 0);
    for (int i = 0; i < STATEMENTS; i++)
        if (r->statement[i].st && r->statement[i].used == r->clock)
            bj_st_reset(r->statement[i].st);
    if (bj_db_in_transaction(db) && bj_db_commit(db, NULL) < 0)
        bj_db_rollback(db);
}

/* The slot of a statement: its own, else the slot not used for the longest
 * time. */
static struct statement *reader_place(struct bj_reader *r, const char *sql)
{
    struct statement *oldest = &r->statement[0];
    for (int i = 0; i < STATEMENTS; i++) {
        struct statement *s = &r->statement[i];
        if (s->st && strcmp(bj_st_sql(s->st), sql) == 0)
            return s;
        if (s->used < oldest->used)
            oldest = s;
    }
    bj_st_finalize(oldest->st);
    *oldest = (struct statement){0};
    return oldest;
}

struct bj_db *bj_reader_db(const struct bj_reader *r)
{
    return bj_store_db(r->store);
}

int bj_reader_prepare(struct bj_reader *r, const char *sql, struct bj_st **ret,
                      struct bj_err *err)
{
    struct statement *s = reader_place(r, sql);
    if (!s->st) {
        int rc = bj_db_prepare(bj_store_db(r->store), sql, &s->st, err);
        if (rc < 0)
            return rc;
    }
    s->used = r->clock;
    bj_st_reset(s->st);
    bj_st_clear(s->st);
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
           code == -EROFS || code == -EACCES || code == -EPROTO ||
           code == -ENOLINK || code == -ECONNREFUSED;
}

void bj_reader_stat(const struct bj_reader *r, struct bj_reader_stat *ret)
{
    *ret = r->stat;
    ret->open = r->store != NULL;
}

/* --- words ------------------------------------------------------------------
 */

enum { SLOTS = 8192, KEEP_BYTES = 240 };

struct slot {
    char *text; /* NULL: unused */
    uint32_t n;
    uint16_t which;
    bool null; /* no text has this number */
    int64_t id;
};

struct bj_words {
    struct slot slot[SLOTS];
    uint64_t version;
    struct bj_buf long_text;
};

int bj_words_new(struct bj_words **ret, struct bj_err *err)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : bj_err_set(err, -ENOMEM, "words");
}

static void clear(struct bj_words *w)
{
    for (int i = 0; i < SLOTS; i++) {
        free(w->slot[i].text);
        w->slot[i] = (struct slot){0};
    }
}

void bj_words_free(struct bj_words *w)
{
    if (!w)
        return;
    clear(w);
    bj_buf_free(&w->long_text);
    free(w);
}

static int fetch(struct bj_words *w, struct bj_reader *r, enum bj_word which,
                 int64_t id, struct slot *s, struct bj_slice *ret,
                 struct bj_err *err)
{
    struct bj_st *st;
    int rc = bj_reader_prepare(r, bj_word_sql[which].text, &st, err);
    if (rc < 0)
        return rc;
    bj_st_bind_i64(st, 1, id);
    rc = bj_st_row(st, err);
    if (rc <= 0)
        return rc;
    struct bj_slice text = bj_st_get_text(st, 0);
    bool null = !text.p;
    free(s->text);
    *s = (struct slot){0};
    w->long_text.len = 0;
    bj_buf_put(&w->long_text, text.p ? text.p : "", text.n);
    bj_buf_put(&w->long_text, "", 1);
    bj_st_reset(st);
    if (w->long_text.failed) {
        bj_buf_free(&w->long_text);
        return bj_err_set(err, -ENOMEM, "words");
    }
    *ret = (struct bj_slice){null ? NULL : w->long_text.p, text.n};
    if (text.n > KEEP_BYTES)
        return 0;
    s->text = malloc(text.n + 1);
    if (!s->text)
        return 0;
    memcpy(s->text, w->long_text.p, text.n + 1);
    s->n = (uint32_t)text.n;
    s->which = (uint16_t)which;
    s->null = null;
    s->id = id;
    return 0;
}

int bj_words_text(struct bj_words *w, struct bj_reader *r, enum bj_word which,
                  int64_t id, struct bj_slice *ret, struct bj_err *err)
{
    *ret = (struct bj_slice){0};
    if (id == BJ_SQL_NULL)
        return 0;
    if (w->version != bj_reader_version(r)) {
        clear(w);
        w->version = bj_reader_version(r);
    }
    uint64_t hash =
        ((uint64_t)id * BJ_WORDS + which) * 0x9e3779b97f4a7c15u >> 51;
    struct slot *s = &w->slot[hash % SLOTS];
    if (s->text && s->id == id && s->which == which) {
        *ret = (struct bj_slice){s->null ? NULL : s->text, s->n};
        return 0;
    }
    return fetch(w, r, which, id, s, ret, err);
}

int bj_words_find(struct bj_reader *r, enum bj_word which, struct bj_slice text,
                  int64_t *ret, struct bj_err *err)
{
    struct bj_st *st;
    *ret = -1;
    int rc = bj_reader_prepare(r, bj_word_sql[which].find, &st, err);
    if (rc < 0)
        return rc;
    bj_st_bind_text(st, 1, text.p ? text : BJ_SLICE(""));
    rc = bj_st_int(st, ret, err);
    return rc < 0 ? rc : 0;
}
