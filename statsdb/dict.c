#include "statsdb/dict.h"

#include "statsdb/cache.h"
#include "statsdb/dict_parts.h"
#include "statsdb/sql.h"

#include <stdio.h>
#include <stdlib.h>

/* One dictionary: its statements, both with the same parameters, and how much
 * of it is cached. */
struct shape {
    const char *table, *find, *add;
    uint32_t entries, bytes;
};

#define TEXTS(table, column, entries, bytes)                                   \
    table, "SELECT id FROM \"" table "\" WHERE " column " = ?1",               \
        "INSERT INTO \"" table "\"(" column ") VALUES(?1)", entries, bytes

enum { SMALL = 4096, LARGE = 16384, VAST = 65536, KIB = 1024 };

static const struct shape shapes[BJ_DICTS] = {
    [BJ_DICT_USER] = {TEXTS("user", "name", LARGE, 512 * KIB)},
    [BJ_DICT_ACCOUNT] = {TEXTS("account", "name", LARGE, 512 * KIB)},
    [BJ_DICT_PARTITION] = {TEXTS("partition", "name", SMALL, 128 * KIB)},
    [BJ_DICT_QOS] = {TEXTS("qos", "name", SMALL, 128 * KIB)},
    [BJ_DICT_JOBNAME] = {TEXTS("jobname", "text", VAST, 2048 * KIB)},
    [BJ_DICT_HOSTS] = {TEXTS("hosts", "text", VAST, 2048 * KIB)},
    [BJ_DICT_DIR] = {TEXTS("dir", "path", VAST, 3072 * KIB)},
    [BJ_DICT_TRES] = {TEXTS("tres", "text", SMALL, 256 * KIB)},
    [BJ_DICT_WORD] = {TEXTS("word", "text", LARGE, 512 * KIB)},
    [BJ_DICT_OWNER] =
        {"owner",
         "SELECT id FROM owner WHERE ifnull(uid, -1) = ifnull(?1, -1)"
         " AND ifnull(gid, -1) = ifnull(?2, -1) AND grp = ?3",
         "INSERT INTO owner(uid, gid, grp) VALUES(?1, ?2, ?3)", LARGE,
         512 * KIB},
    [BJ_DICT_ASSOC] =
        {"assoc",
         "SELECT id FROM assoc WHERE cluster = ?1 AND account = ?2"
         " AND user = ?3 AND partition = ?4",
         "INSERT INTO assoc(cluster, account, user, partition)"
         " VALUES(?1, ?2, ?3, ?4)",
         LARGE, 1024 * KIB},
};

enum { LAST = 64 };

struct bj_dicts {
    struct sqlite3 *db;
    uint64_t seed;
    struct bj_dict_parts *parts;
    enum bj_hosts_grammar grammar;
    struct {
        struct bj_cache cache;
        bool complete; /* the cache has all of the table, as far as we know */
        struct sqlite3_stmt *find, *add;
        char last[LAST]; /* the last text, and its number */
        size_t last_len; /* above LAST: nothing */
        int64_t last_id;
    } of[BJ_DICTS];
};

/* Is a table empty?  Needed before anything is cached. */
static bool is_empty(struct bj_dicts *d, enum bj_dict_id which)
{
    char sql[80];
    int64_t id;
    snprintf(sql, sizeof(sql), "SELECT max(id) FROM \"%s\"",
             shapes[which].table);
    return bj_sql_int(d->db, sql, &id, NULL) == 0 && id == BJ_SQL_NULL;
}

int bj_dicts_new(struct sqlite3 *db, struct bj_dicts **ret, struct bj_err *err)
{
    struct bj_dicts *d = calloc(1, sizeof(*d));
    if (!d)
        return bj_err_set(err, -ENOMEM, "dictionaries");
    d->db = db;
    d->seed = bj_cache_seed();
    int r = bj_dict_parts_new(db, &d->parts, err);
    for (int i = 0; r == 0 && i < BJ_DICTS; i++) {
        d->of[i].last_len = LAST + 1;
        d->of[i].cache.max_entries = shapes[i].entries;
        d->of[i].cache.max_bytes = shapes[i].bytes;
        r = bj_sql_prepare(db, shapes[i].find, &d->of[i].find, err);
        if (r == 0)
            r = bj_sql_prepare(db, shapes[i].add, &d->of[i].add, err);
        d->of[i].complete = r == 0 && is_empty(d, (enum bj_dict_id)i);
    }
    if (r < 0) {
        bj_dicts_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

void bj_dicts_free(struct bj_dicts *d)
{
    if (!d)
        return;
    for (int i = 0; i < BJ_DICTS; i++) {
        sqlite3_finalize(d->of[i].find);
        sqlite3_finalize(d->of[i].add);
        bj_cache_free(&d->of[i].cache);
    }
    bj_dict_parts_free(d->parts);
    free(d);
}

void bj_dicts_clear(struct bj_dicts *d)
{
    for (int i = 0; i < BJ_DICTS; i++) {
        bj_cache_clear(&d->of[i].cache);
        d->of[i].complete = false;
        d->of[i].last_len = LAST + 1;
    }
}

void bj_dicts_grammar(struct bj_dicts *d, enum bj_hosts_grammar grammar)
{
    d->grammar = grammar;
}

/* An entry: numbers (BJ_SQL_NULL is NULL), then a text unless text.p is NULL.
 */
struct entry {
    int64_t v[4];
    unsigned ints;
    struct bj_slice text;
};

static void bind(struct sqlite3_stmt *st, const struct entry *e)
{
    for (unsigned i = 0; i < e->ints; i++)
        bj_sql_bind(st, (int)i + 1, e->v[i]);
    if (e->text.p)
        sqlite3_bind_text64(st, (int)e->ints + 1, e->text.p, e->text.n,
                            SQLITE_STATIC, SQLITE_UTF8);
}

static int find(struct bj_dicts *d, enum bj_dict_id which,
                const struct entry *e, int64_t *ret, struct bj_err *err)
{
    struct sqlite3_stmt *st = d->of[which].find;
    bind(st, e);
    int r = bj_sql_row(st, err);
    if (r <= 0)
        return r;
    *ret = bj_sql_get(st, 0);
    sqlite3_reset(st);
    return 1;
}

/* Find an entry in its table, or add it.  The first is not needed where the
 * cache holds all of the table; the table refuses a duplicate. */
static int find_or_add(struct bj_dicts *d, enum bj_dict_id which,
                       const struct entry *e, int64_t *ret, bool *ret_new,
                       struct bj_err *err)
{
    *ret_new = false;
    if (!d->of[which].complete) {
        int r = find(d, which, e, ret, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    bind(d->of[which].add, e);
    int r = bj_sql_run(d->of[which].add, err);
    if (r == -EEXIST && d->of[which].complete) {
        struct bj_err why = {0};
        d->of[which].complete = false;
        int found = find(d, which, e, ret, &why);
        return found > 0 ? 0 : r; /* not there: it refers to what is not */
    }
    if (r == 0) {
        *ret = sqlite3_last_insert_rowid(d->db);
        *ret_new = true;
    }
    return r;
}

static int enter(struct bj_dicts *d, enum bj_dict_id which, uint64_t hash,
                 struct bj_slice key, const struct entry *e, int64_t *ret,
                 struct bj_err *err)
{
    bool fresh;
    int r = find_or_add(d, which, e, ret, &fresh, err);
    if (r == 0 && fresh && which == BJ_DICT_HOSTS)
        r = bj_dict_add_hosts(d->parts, *ret, key, d->grammar, err);
    if (r == 0 && fresh && which == BJ_DICT_TRES)
        r = bj_dict_add_tres(d->parts, *ret, key, err);
    if (r == 0 && !bj_cache_add(&d->of[which].cache, hash, key, *ret))
        d->of[which].complete = false;
    return r;
}

static int look_up(struct bj_dicts *d, enum bj_dict_id which,
                   struct bj_slice text, int64_t *ret, struct bj_err *err)
{
    struct bj_cache *c = &d->of[which].cache;
    uint64_t hash = bj_cache_hash(d->seed, text);
    if (bj_cache_find(c, hash, text, ret))
        return 0;
    struct entry e = {.text = {text.n > 0 ? text.p : "", text.n}};
    return enter(d, which, hash, text, &e, ret, err);
}

/* Steps mostly repeat what was in the line before. */
int bj_dict_text(struct bj_dicts *d, enum bj_dict_id which,
                 struct bj_slice text, int64_t *ret, struct bj_err *err)
{
    if (text.n > BJ_DICT_TEXT_MAX)
        text.n = BJ_DICT_TEXT_MAX;
    if (text.n == d->of[which].last_len && text.n > 0 &&
        memcmp(text.p, d->of[which].last, text.n) == 0) {
        *ret = d->of[which].last_id;
        return 0;
    }
    int r = look_up(d, which, text, ret, err);
    if (r == 0 && text.n > 0 && text.n <= LAST) {
        memcpy(d->of[which].last, text.p, text.n);
        d->of[which].last_len = text.n;
        d->of[which].last_id = *ret;
    }
    return r;
}

int bj_dict_owner(struct bj_dicts *d, int64_t uid, int64_t gid,
                  struct bj_slice group, int64_t *ret, struct bj_err *err)
{
    char key[16 + 256];
    if (group.n > 256)
        group.n = 256;
    memcpy(key, &uid, 8);
    memcpy(key + 8, &gid, 8);
    if (group.n > 0)
        memcpy(key + 16, group.p, group.n);
    struct bj_slice k = {key, 16 + group.n};
    struct bj_cache *c = &d->of[BJ_DICT_OWNER].cache;
    uint64_t hash = bj_cache_hash(d->seed, k);
    if (bj_cache_find(c, hash, k, ret))
        return 0;
    struct entry e = {.v = {uid, gid},
                      .ints = 2,
                      .text = {group.n > 0 ? group.p : "", group.n}};
    return enter(d, BJ_DICT_OWNER, hash, k, &e, ret, err);
}

int bj_dict_assoc(struct bj_dicts *d, const int64_t of[4], int64_t *ret,
                  struct bj_err *err)
{
    struct bj_slice k = {(const char *)of, 4 * sizeof(*of)};
    struct bj_cache *c = &d->of[BJ_DICT_ASSOC].cache;
    uint64_t hash = bj_cache_hash(d->seed, k);
    if (bj_cache_find(c, hash, k, ret))
        return 0;
    struct entry e = {.v = {of[0], of[1], of[2], of[3]}, .ints = 4};
    return enter(d, BJ_DICT_ASSOC, hash, k, &e, ret, err);
}

int bj_dict_cluster(struct bj_dicts *d, struct bj_slice name,
                    struct bj_slice system, int64_t *ret, struct bj_err *err)
{
    /* The batch system may become known later. */
    static const char *const sql[] = {
        "INSERT INTO cluster(name, system) VALUES(?1, ?2)"
        " ON CONFLICT(name) DO UPDATE SET system = excluded.system"
        " WHERE system = '' AND excluded.system != ''",
        "SELECT id FROM cluster WHERE name = ?1"};
    int r = 0;
    for (int i = 0; r >= 0 && i < 2; i++) {
        struct sqlite3_stmt *st;
        r = bj_sql_prepare(d->db, sql[i], &st, err);
        if (r < 0)
            return r;
        sqlite3_bind_text64(st, 1, name.n ? name.p : "", name.n, SQLITE_STATIC,
                            SQLITE_UTF8);
        if (i == 0)
            sqlite3_bind_text64(st, 2, system.n ? system.p : "", system.n,
                                SQLITE_STATIC, SQLITE_UTF8);
        r = bj_sql_row(st, err);
        if (r > 0)
            *ret = bj_sql_get(st, 0);
        sqlite3_finalize(st);
    }
    return r < 0 ? r : 0;
}
