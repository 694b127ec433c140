#include "statsdb/tables/dict.h"

#include "base/array.h"
#include "base/cache.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"
#include "sched/hostlist.h"
#include "sched/tres.h"
#include "store/arrays.h"
#include "store/db.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Parts of the entries of two dictionaries: the hosts of a host list and the
 * items of a list of resources. They are added once, with the text. */

struct bj_db;
struct bj_dict_parts;

enum {
    BJ_DICT_HOSTS_MAX = 10000
}; /* hosts of a list that are stored; searches do not find further ones */

static void dict_parts_free(struct bj_dict_parts *p);

enum { HOST_FIND, HOST_ADD, HOSTS_ADD, ITEM_ADD, STATEMENTS };

/* Parts that are added together. */
enum { HOSTS, ITEMS, MANY };

static const char *const texts[STATEMENTS] = {
    [HOST_FIND] = "SELECT id FROM host WHERE name = ?1",
    [HOST_ADD] = "INSERT INTO host(name) VALUES(?1)",
    [HOSTS_ADD] = "INSERT INTO hosts_host(host, hosts) VALUES(?1, ?2)"
                  " ON CONFLICT DO NOTHING",
    [ITEM_ADD] = "INSERT INTO tres_item(tres, item, type, name, model, count)"
                 " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
};

static const struct {
    unsigned columns;
    const char *sql;
} many[MANY] = {
    [HOSTS] = {2, "WITH w AS MATERIALIZED (SELECT hosts, name, (SELECT id FROM"
                  " host WHERE host.name = w.name) AS id FROM"
                  " unnest(CAST(?1 AS bigint[]), CAST(?2 AS text[])) AS"
                  " w(hosts, name)), a AS (INSERT INTO host(name) SELECT"
                  " DISTINCT name FROM w WHERE id IS NULL RETURNING id, name)"
                  " INSERT INTO hosts_host(host, hosts) SELECT coalesce(w.id,"
                  " a.id), w.hosts FROM w LEFT JOIN a ON a.name = w.name"
                  " ON CONFLICT DO NOTHING"},
    [ITEMS] = {6, "INSERT INTO tres_item(tres, item, type, name, model, count)"
                  " SELECT * FROM unnest(CAST(?1 AS bigint[]), CAST(?2 AS"
                  " bigint[]), CAST(?3 AS bigint[]), CAST(?4 AS text[]),"
                  " CAST(?5 AS text[]), CAST(?6 AS bigint[])) AS w"},
};

struct bj_dict_parts {
    struct bj_db *db;
    struct bj_st *st[STATEMENTS];
    bool defer;
    struct bj_st *many[MANY];
    struct bj_arrays kept[MANY];
};

static int dict_parts_new(struct bj_db *db, struct bj_dict_parts **ret,
                          struct bj_err *err)
{
    struct bj_dict_parts *p = calloc(1, sizeof(*p));
    if (!p)
        return bj_err_set(err, -ENOMEM, "dictionaries");
    p->db = db;
    for (int i = 0; i < STATEMENTS; i++) {
        int r = bj_db_prepare(db, texts[i], &p->st[i], err);
        if (r < 0) {
            dict_parts_free(p);
            return r;
        }
    }
    *ret = p;
    return 0;
}

static void dict_parts_free(struct bj_dict_parts *p)
{
    if (!p)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_finalize(p->st[i]);
    for (int i = 0; i < MANY; i++) {
        bj_st_finalize(p->many[i]);
        bj_arrays_free(&p->kept[i]);
    }
    free(p);
}

/* Drop the parts that were kept. */
static void dict_parts_clear(struct bj_dict_parts *p)
{
    for (int i = 0; i < MANY; i++)
        bj_arrays_clear(&p->kept[i]);
}

/* While this is on, parts are kept until dict_parts_flush adds them by one
 * request (PostgreSQL only). */
static void dict_parts_defer(struct bj_dict_parts *p, bool on)
{
    p->defer = on;
}

static int dict_parts_flush(struct bj_dict_parts *p, struct bj_err *err)
{
    int r = 0;
    for (int i = 0; r == 0 && i < MANY; i++) {
        if (p->kept[i].rows == 0)
            continue;
        if (!p->many[i])
            r = bj_db_prepare(p->db, many[i].sql, &p->many[i], err);
        if (r == 0)
            r = bj_arrays_run(&p->kept[i], many[i].columns, p->many[i], err);
    }
    return r;
}

static int add_host(struct bj_dict_parts *p, int64_t hosts,
                    struct bj_slice name, struct bj_err *err)
{
    int64_t id = 0;
    if (p->defer) {
        struct bj_arrays *kept = &p->kept[HOSTS];
        bj_arrays_i64(kept, 0, hosts);
        bj_arrays_text(kept, 1, name);
        kept->rows++;
        return 0;
    }
    bj_st_bind_filled(p->st[HOST_FIND], 1, name);
    int r = bj_st_int(p->st[HOST_FIND], &id, err);
    if (r == 0) {
        bj_st_bind_filled(p->st[HOST_ADD], 1, name);
        r = bj_st_insert(p->st[HOST_ADD], &id, err);
    }
    if (r < 0)
        return r;
    bj_st_bind_i64(p->st[HOSTS_ADD], 1, id);
    bj_st_bind_i64(p->st[HOSTS_ADD], 2, hosts);
    return bj_st_run(p->st[HOSTS_ADD], err);
}

/* Add the hosts of the host list with this number. */
static int dict_add_hosts(struct bj_dict_parts *p, int64_t id,
                          struct bj_slice text, struct bj_err *err)
{
    struct bj_hostlist list;
    struct bj_slice name;
    /* A list that cannot be parsed has no hosts, only its text. */
    if (bj_hostlist_begin(&list, text, BJ_HOSTS_SLURM) < 0)
        return 0;
    int r = 0;
    for (unsigned n = 0; r == 0 && n < BJ_DICT_HOSTS_MAX; n++) {
        if (!bj_hostlist_next(&list, &name))
            break;
        r = add_host(p, id, name, err);
    }
    return r;
}

static void keep_item(struct bj_arrays *kept, int64_t id, unsigned i,
                      const struct bj_tres *t)
{
    struct bj_slice none = {NULL, 0};
    bj_arrays_i64(kept, 0, id);
    bj_arrays_i64(kept, 1, i);
    bj_arrays_i64(kept, 2, t->type);
    bj_arrays_text(kept, 3, t->name.n > 0 ? t->name : none);
    bj_arrays_text(kept, 4, t->model.n > 0 ? t->model : none);
    bj_arrays_i64(kept, 5, bj_sql_u64(t->count));
    kept->rows++;
}

/* Add the items of a list of resources. */
static int dict_add_tres(struct bj_dict_parts *p, int64_t id,
                         struct bj_slice text, struct bj_err *err)
{
    struct bj_tres_list list;
    struct bj_st *st = p->st[ITEM_ADD];
    bj_tres_parse(text, BJ_TRES_REQUESTED, &list);
    int r = 0;
    for (unsigned i = 0; r == 0 && i < list.n; i++) {
        const struct bj_tres *t = &list.v[i];
        if (p->defer) {
            keep_item(&p->kept[ITEMS], id, i, t);
            continue;
        }
        bj_st_bind_i64(st, 1, id);
        bj_st_bind_i64(st, 2, i);
        bj_st_bind_i64(st, 3, t->type);
        bj_st_bind_filled(st, 4, t->name);
        bj_st_bind_filled(st, 5, t->model);
        bj_st_bind_i64(st, 6, bj_sql_u64(t->count));
        r = bj_st_run(st, err);
    }
    return r;
}

/* Both statements of a dictionary have its columns as parameters: ints numbers,
 * then a text if there are more columns. Entries and bytes limit its cache. */
struct shape {
    const char *table, *find, *add, *names;
    unsigned columns, ints;
    uint32_t entries, bytes;
};

#define TEXTS(table, column, entries, bytes)                                   \
    {                                                                          \
        table, "SELECT id FROM \"" table "\" WHERE " column " = ?1",           \
            "INSERT INTO \"" table "\"(" column ") VALUES(?1)", column, 1, 0,  \
            entries, bytes                                                     \
    }

enum { SMALL = 4096, LARGE = 16384, VAST = 65536, KIB = 1024 };

static const struct shape shapes[BJ_DICTS] = {
    [BJ_DICT_USER] = TEXTS("user", "name", LARGE, 512 * KIB),
    [BJ_DICT_ACCOUNT] = TEXTS("account", "name", LARGE, 512 * KIB),
    [BJ_DICT_PARTITION] = TEXTS("partition", "name", SMALL, 128 * KIB),
    [BJ_DICT_QOS] = TEXTS("qos", "name", SMALL, 128 * KIB),
    [BJ_DICT_JOBNAME] = TEXTS("jobname", "text", VAST, 2048 * KIB),
    [BJ_DICT_HOSTS] = TEXTS("hosts", "text", VAST, 2048 * KIB),
    [BJ_DICT_TRES] = TEXTS("tres", "text", SMALL, 256 * KIB),
    [BJ_DICT_WORD] = TEXTS("word", "text", LARGE, 512 * KIB),
    [BJ_DICT_OWNER] =
        {"owner",
         "SELECT id FROM owner WHERE ifnull(uid, -1) = ifnull(?1, -1)"
         " AND ifnull(gid, -1) = ifnull(?2, -1) AND grp = ?3",
         "INSERT INTO owner(uid, gid, grp) VALUES(?1, ?2, ?3)", "uid, gid, grp",
         3, 2, LARGE, 512 * KIB},
    [BJ_DICT_ASSOC] =
        {"assoc",
         "SELECT id FROM assoc WHERE cluster = ?1 AND account = ?2"
         " AND user = ?3 AND partition = ?4",
         "INSERT INTO assoc(cluster, account, user, partition)"
         " VALUES(?1, ?2, ?3, ?4)",
         "cluster, account, user, partition", 4, 4, LARGE, 1024 * KIB},
};

/* The columns of an entry after its number: numbers (BJ_SQL_NULL is NULL), then
 * a text unless text.p is NULL. */
struct entry {
    int64_t v[4];
    unsigned ints;
    struct bj_slice text;
};

/* Entries that have preliminary numbers. */
struct deferred {
    struct bj_cache keys; /* its values are positions in rows */
    struct bj_arrays rows;
    struct bj_st *settle;
    int64_t *number; /* final numbers of the rows settled last */
    size_t cap;
};

struct bj_dicts {
    struct bj_db *db;
    uint64_t seed;
    struct bj_dict_parts *parts;
    bool defer;
    struct {
        struct bj_cache cache;
        struct bj_st *find, *add;
        struct deferred deferred;
    } of[BJ_DICTS];
};

enum { DEFERRED = 1 << 20, DEFERRED_BYTES = 16384 * KIB };

int bj_dicts_new(struct bj_db *db, struct bj_dicts **ret, struct bj_err *err)
{
    struct bj_dicts *d = calloc(1, sizeof(*d));
    if (!d)
        return bj_err_set(err, -ENOMEM, "dictionaries");
    d->db = db;
    d->seed = bj_cache_seed();
    int r = dict_parts_new(db, &d->parts, err);
    for (int i = 0; r == 0 && i < BJ_DICTS; i++) {
        d->of[i].cache.max_entries = shapes[i].entries;
        d->of[i].cache.max_bytes = shapes[i].bytes;
        d->of[i].deferred.keys.max_entries = DEFERRED;
        d->of[i].deferred.keys.max_bytes = DEFERRED_BYTES;
        r = bj_db_prepare(db, shapes[i].find, &d->of[i].find, err);
        if (r == 0)
            r = bj_db_prepare(db, shapes[i].add, &d->of[i].add, err);
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
        bj_st_finalize(d->of[i].find);
        bj_st_finalize(d->of[i].add);
        bj_cache_free(&d->of[i].cache);
        bj_st_finalize(d->of[i].deferred.settle);
        bj_cache_free(&d->of[i].deferred.keys);
        bj_arrays_free(&d->of[i].deferred.rows);
        free(d->of[i].deferred.number);
    }
    dict_parts_free(d->parts);
    free(d);
}

void bj_dicts_clear(struct bj_dicts *d)
{
    for (int i = 0; i < BJ_DICTS; i++) {
        bj_cache_clear(&d->of[i].cache);
        bj_cache_clear(&d->of[i].deferred.keys);
        bj_arrays_clear(&d->of[i].deferred.rows);
    }
    dict_parts_clear(d->parts);
}

static void bind(struct bj_st *st, const struct entry *e)
{
    for (unsigned i = 0; i < e->ints; i++)
        bj_st_bind_i64(st, (int)i + 1, e->v[i]);
    if (e->text.p)
        bj_st_bind_text(st, (int)e->ints + 1, e->text);
}

/* Find an entry in its table, or add it. */
static int find_or_add(struct bj_dicts *d, enum bj_dict_id which,
                       const struct entry *e, int64_t *ret, bool *ret_new,
                       struct bj_err *err)
{
    struct bj_st *find = d->of[which].find, *add = d->of[which].add;
    bind(find, e);
    int r = bj_st_int(find, ret, err);
    *ret_new = r == 0;
    if (r != 0)
        return r < 0 ? r : 0;
    bind(add, e);
    r = bj_st_insert(add, ret, err);
    return r < 0 ? r : 0;
}

/* --- many at once -------------------------------------------------------- */

/* A preliminary number encodes the position and the dictionary. */
static int64_t preliminary(enum bj_dict_id which, int64_t at)
{
    return -1 - (at * BJ_DICTS + which);
}

void bj_dicts_defer(struct bj_dicts *d, bool on)
{
    d->defer = on;
}

int64_t bj_dicts_settled(const struct bj_dicts *d, int64_t number)
{
    if (number >= 0 || number == BJ_SQL_NULL)
        return number;
    int64_t v = -1 - number;
    return d->of[v % BJ_DICTS].deferred.number[v / BJ_DICTS];
}

/* Texts that PostgreSQL would change are looked up one by one, because two of
 * them may become equal. */
static bool defer(struct bj_dicts *d, enum bj_dict_id which, uint64_t hash,
                  struct bj_slice key, const struct entry *e, int64_t *ret)
{
    struct deferred *f = &d->of[which].deferred;
    uint32_t n = f->keys.n;
    int64_t at = f->rows.rows;
    if (!bj_cache_find(&f->keys, hash, key, &at)) {
        if (!bj_text_is_utf8(e->text) || !bj_cache_has_room(&f->keys, key))
            return false;
        bj_cache_add(&f->keys, hash, key, at);
        if (f->keys.n == n)
            return false;
        for (unsigned i = 0; i < e->ints; i++)
            bj_arrays_i64(&f->rows, i, e->v[i]);
        if (e->text.p)
            bj_arrays_text(&f->rows, e->ints, e->text);
        f->rows.rows++;
    }
    *ret = preliminary(which, at);
    return true;
}

/* "?2" as "w.c2" */
static void put_find(struct bj_buf *sql, const char *find)
{
    for (; *find; find++)
        if (*find == '?')
            bj_buf_str(sql, "w.c");
        else
            bj_buf_put(sql, find, 1);
}

static void put_columns(struct bj_buf *sql, unsigned n)
{
    for (unsigned i = 1; i <= n; i++)
        bj_buf_printf(sql, "c%u, ", i);
}

/* A statement that finds or adds the rows of arrays; it returns negative
 * numbers for added rows. */
static void put_settle(struct bj_buf *sql, const struct shape *s)
{
    bj_buf_str(sql, "WITH w AS MATERIALIZED (SELECT w.*, (");
    put_find(sql, s->find);
    bj_buf_str(sql, ") AS id FROM unnest(");
    for (unsigned i = 0; i < s->columns; i++)
        bj_buf_printf(sql, "%sCAST(?%u AS %s[])", i ? ", " : "", i + 1,
                      i < s->ints ? "bigint" : "text");
    bj_buf_str(sql, ") WITH ORDINALITY AS w(");
    put_columns(sql, s->columns);
    bj_buf_str(sql, "n)), f AS MATERIALIZED (SELECT ");
    put_columns(sql, s->columns);
    bj_buf_printf(sql,
                  "n, nextval(pg_get_serial_sequence('\"%s\"', 'id')) AS id"
                  " FROM w WHERE id IS NULL), a AS (INSERT INTO \"%s\"(%s, id)"
                  " SELECT ",
                  s->table, s->table, s->names);
    put_columns(sql, s->columns);
    bj_buf_str(sql, "id FROM f) SELECT string_agg(CAST(coalesce(w.id, -f.id)"
                    " AS text), ',' ORDER BY w.n) FROM w LEFT JOIN f ON"
                    " f.n = w.n");
}

static int prepare_settle(struct bj_dicts *d, enum bj_dict_id which,
                          struct bj_err *err)
{
    struct bj_buf sql = {0};
    if (d->of[which].deferred.settle)
        return 0;
    put_settle(&sql, &shapes[which]);
    return bj_db_prepare_buf(d->db, &sql, &d->of[which].deferred.settle, err);
}

/* Add the hosts or items of a new text. */
static int add_parts(struct bj_dicts *d, enum bj_dict_id which, int64_t id,
                     struct bj_slice text, struct bj_err *err)
{
    if (which == BJ_DICT_HOSTS)
        return dict_add_hosts(d->parts, id, text, err);
    if (which == BJ_DICT_TRES)
        return dict_add_tres(d->parts, id, text, err);
    return 0;
}

/* Add the settled entries to the cache. */
static int take_settled(struct bj_dicts *d, enum bj_dict_id which,
                        struct bj_err *err)
{
    struct deferred *f = &d->of[which].deferred;
    struct bj_slice key;
    uint32_t at = 0;
    int64_t i;
    int r = 0;
    while (r == 0 && bj_cache_next(&f->keys, &at, &key, &i)) {
        bool added = f->number[i] < 0;
        f->number[i] = added ? -f->number[i] : f->number[i];
        bj_cache_add(&d->of[which].cache, bj_cache_hash(d->seed, key), key,
                     f->number[i]);
        if (added)
            r = add_parts(d, which, f->number[i], key, err);
    }
    bj_cache_clear(&f->keys);
    return r;
}

static int dict_settle(struct bj_dicts *d, enum bj_dict_id which,
                       struct bj_err *err)
{
    struct deferred *f = &d->of[which].deferred;
    if (f->rows.rows == 0)
        return 0;
    if (!BJ_GROW(f->number, f->rows.rows, f->cap))
        return bj_err_set(err, -ENOMEM, "dictionaries");
    int r = prepare_settle(d, which, err);
    if (r == 0)
        r = bj_arrays_numbers(&f->rows, shapes[which].columns, f->settle,
                              f->number, err);
    return r < 0 ? r : take_settled(d, which, err);
}

int bj_dicts_settle(struct bj_dicts *d, struct bj_err *err)
{
    int r = 0;
    dict_parts_defer(d->parts, true);
    for (unsigned i = 0; r == 0 && i < BJ_DICTS; i++)
        r = dict_settle(d, i, err);
    dict_parts_defer(d->parts, false);
    return r < 0 ? r : dict_parts_flush(d->parts, err);
}

/* --- one ----------------------------------------------------------------- */

/* The number of an entry; key identifies it in the cache. */
static int look_up(struct bj_dicts *d, enum bj_dict_id which,
                   struct bj_slice key, const struct entry *e, int64_t *ret,
                   struct bj_err *err)
{
    struct bj_cache *cache = &d->of[which].cache;
    uint64_t hash = bj_cache_hash(d->seed, key);
    bool added = false;
    int r = 0;
    if (bj_cache_find(cache, hash, key, ret) ||
        (d->defer && defer(d, which, hash, key, e, ret)))
        return 0;
    r = find_or_add(d, which, e, ret, &added, err);
    if (r == 0)
        bj_cache_add(cache, hash, key, *ret);
    return added && r == 0 ? add_parts(d, which, *ret, key, err) : r;
}

int bj_dict_text(struct bj_dicts *d, enum bj_dict_id which,
                 struct bj_slice text, int64_t *ret, struct bj_err *err)
{
    if (text.n > BJ_DICT_TEXT_MAX)
        text.n = BJ_DICT_TEXT_MAX;
    struct entry e = {.text = {text.n > 0 ? text.p : "", text.n}};
    return look_up(d, which, text, &e, ret, err);
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
    struct entry e = {.v = {uid, gid},
                      .ints = 2,
                      .text = {group.n > 0 ? group.p : "", group.n}};
    return look_up(d, BJ_DICT_OWNER, (struct bj_slice){key, 16 + group.n}, &e,
                   ret, err);
}

int bj_dict_assoc(struct bj_dicts *d, const int64_t of[4], int64_t *ret,
                  struct bj_err *err)
{
    struct entry e = {.v = {of[0], of[1], of[2], of[3]}, .ints = 4};
    return look_up(d, BJ_DICT_ASSOC,
                   (struct bj_slice){(const char *)of, 4 * sizeof(*of)}, &e,
                   ret, err);
}

int bj_dict_cluster(struct bj_dicts *d, struct bj_slice name,
                    struct bj_slice system, int64_t *ret, struct bj_err *err)
{
    /* Also sets the batch system when it becomes known. */
    static const char *const sql[] = {
        "INSERT INTO cluster(name, system) VALUES(?1, ?2)"
        " ON CONFLICT(name) DO UPDATE SET system = excluded.system"
        " WHERE cluster.system = '' AND excluded.system != ''",
        "SELECT id FROM cluster WHERE name = ?1"};
    int r = 0;
    for (int i = 0; r >= 0 && i < 2; i++) {
        struct bj_st *st;
        r = bj_db_prepare(d->db, sql[i], &st, err);
        if (r < 0)
            return r;
        bj_st_bind_text(st, 1, name.n ? name : BJ_SLICE(""));
        if (i == 0)
            bj_st_bind_text(st, 2, system.n ? system : BJ_SLICE(""));
        r = bj_st_row(st, err);
        if (r > 0)
            *ret = bj_st_get_i64(st, 0);
        bj_st_finalize(st);
    }
    return r < 0 ? r : 0;
}
