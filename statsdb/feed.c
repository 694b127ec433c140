#include "statsdb/feed.h"

#include "base/buf.h"
#include "statsdb/sql.h"

#include <stdlib.h>

struct table {
    sqlite3_vtab base;
    struct bj_feed *feed;
};

struct cursor {
    sqlite3_vtab_cursor base;
    uint32_t row;
    struct bj_feed_row at;
};

static const struct bj_feed *feed_of(sqlite3_vtab_cursor *c)
{
    return ((struct table *)c->pVtab)->feed;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                   sqlite3_vtab **ret, char **err)
{
    (void)argc;
    (void)argv;
    (void)err;
    struct bj_feed *feed = aux;
    struct bj_buf sql = {0};
    bj_buf_str(&sql, "CREATE TABLE feed(");
    for (unsigned i = 0; i < feed->columns; i++)
        bj_buf_printf(&sql, "%sc%u", i ? ", " : "", i);
    bj_buf_put(&sql, ")", 2);
    int rc = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.p);
    bj_buf_free(&sql);
    struct table *t = rc == SQLITE_OK ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return rc == SQLITE_OK ? SQLITE_NOMEM : rc;
    t->feed = feed;
    *ret = &t->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *t)
{
    free(t);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *t, sqlite3_index_info *info)
{
    (void)t;
    info->estimatedCost = 1000;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
    (void)t;
    struct cursor *c = calloc(1, sizeof(*c));
    if (!c)
        return SQLITE_NOMEM;
    *ret = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
    free(c);
    return SQLITE_OK;
}

static void load(sqlite3_vtab_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    const struct bj_feed *feed = feed_of(base);
    if (c->row < feed->rows)
        feed->row(feed->ctx, c->row, &c->at);
}

static int filter(sqlite3_vtab_cursor *c, int number, const char *text,
                  int argc, sqlite3_value **argv)
{
    (void)number;
    (void)text;
    (void)argc;
    (void)argv;
    ((struct cursor *)c)->row = 0;
    load(c);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *c)
{
    ((struct cursor *)c)->row++;
    load(c);
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *c)
{
    return ((struct cursor *)c)->row >= feed_of(c)->rows;
}

/* Done for every value of an import. */
static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int col)
{
    const struct bj_feed_row *row = &((struct cursor *)base)->at;
    int64_t v = row->v[col];
    if (v == BJ_SQL_NULL)
        return SQLITE_OK;
    if (!(row->texts >> col & 1))
        sqlite3_result_int64(out, v);
    else
        sqlite3_result_text64(out, row->text[v].p, row->text[v].n,
                              SQLITE_STATIC, SQLITE_UTF8);
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *ret)
{
    *ret = ((struct cursor *)c)->row;
    return SQLITE_OK;
}

/* Without xCreate there is one such table, which needs no CREATE. */
static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = at_end,
    .xColumn = column,
    .xRowid = rowid,
};

int bj_feed_add(struct sqlite3 *db, const char *name, struct bj_feed *feed,
                struct bj_err *err)
{
    int rc = sqlite3_create_module_v2(db, name, &module, feed, NULL);
    return rc == SQLITE_OK ? 0 : bj_sql_fail(db, rc, err, name);
}

void bj_feed_remove(struct sqlite3 *db, const char *name)
{
    sqlite3_create_module_v2(db, name, NULL, NULL, NULL);
}
