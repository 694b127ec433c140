#include "statsdb/tables/dict_parts.h"

#include "sched/hostlist.h"
#include "sched/tres.h"
#include "store/arrays.h"

#include <stdlib.h>

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

int bj_dict_parts_new(struct bj_db *db, struct bj_dict_parts **ret,
                      struct bj_err *err)
{
    struct bj_dict_parts *p = calloc(1, sizeof(*p));
    if (!p)
        return bj_err_set(err, -ENOMEM, "dictionaries");
    p->db = db;
    for (int i = 0; i < STATEMENTS; i++) {
        int r = bj_db_prepare(db, texts[i], &p->st[i], err);
        if (r < 0) {
            bj_dict_parts_free(p);
            return r;
        }
    }
    *ret = p;
    return 0;
}

void bj_dict_parts_free(struct bj_dict_parts *p)
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

void bj_dict_parts_clear(struct bj_dict_parts *p)
{
    for (int i = 0; i < MANY; i++)
        bj_arrays_clear(&p->kept[i]);
}

void bj_dict_parts_defer(struct bj_dict_parts *p, bool on)
{
    p->defer = on;
}

int bj_dict_parts_flush(struct bj_dict_parts *p, struct bj_err *err)
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

int bj_dict_add_hosts(struct bj_dict_parts *p, int64_t id, struct bj_slice text,
                      struct bj_err *err)
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

int bj_dict_add_tres(struct bj_dict_parts *p, int64_t id, struct bj_slice text,
                     struct bj_err *err)
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
