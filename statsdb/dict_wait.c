#include "statsdb/dict_wait.h"

#include "base/arena.h"
#include "statsdb/feed.h"
#include "statsdb/sql.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 512, BYTES = 64 << 10 };

struct row {
    int64_t v[BJ_DICT_INTS + 2]; /* its number, the numbers, the text's place */
    struct bj_slice text;
};

struct bj_dict_wait {
    struct sqlite3 *db;
    struct sqlite3_stmt *add;
    struct bj_feed feed;
    char name[64], table[32];
    struct bj_arena text;
    int64_t next; /* number of the next entry; 0: to be looked up */
    uint32_t n;
    uint64_t texts;
    struct row row[ROWS];
};

static void feed_row(void *ctx, uint32_t i, struct bj_feed_row *ret)
{
    struct bj_dict_wait *w = ctx;
    *ret = (struct bj_feed_row){w->row[i].v, w->texts, &w->row[i].text};
}

static unsigned count(const char *columns)
{
    unsigned n = 1;
    for (; *columns; columns++)
        n += *columns == ',';
    return n;
}

static int set_up(struct bj_dict_wait *w, const char *table,
                  const char *columns, struct bj_err *err)
{
    char sql[256];
    snprintf(w->table, sizeof(w->table), "%s", table);
    snprintf(w->name, sizeof(w->name), "bj_feed_dict_%s", table);
    snprintf(sql, sizeof(sql),
             "INSERT OR FAIL INTO \"%s\"(id, %s) SELECT * FROM %s", table,
             columns, w->name);
    w->feed = (struct bj_feed){count(columns) + 1, 0, w, feed_row};
    int r = bj_feed_add(w->db, w->name, &w->feed, err);
    return r < 0 ? r : bj_sql_prepare(w->db, sql, &w->add, err);
}

int bj_dict_wait_new(struct sqlite3 *db, const char *table, const char *columns,
                     struct bj_dict_wait **ret, struct bj_err *err)
{
    struct bj_dict_wait *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(err, -ENOMEM, "dictionaries");
    w->db = db;
    int r = set_up(w, table, columns, err);
    if (r < 0) {
        bj_dict_wait_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

void bj_dict_wait_free(struct bj_dict_wait *w)
{
    if (!w)
        return;
    sqlite3_finalize(w->add);
    bj_feed_remove(w->db, w->name);
    bj_arena_free(&w->text);
    free(w);
}

static int look_up_next(struct bj_dict_wait *w, struct bj_err *err)
{
    char sql[96];
    snprintf(sql, sizeof(sql), "SELECT ifnull(max(id), 0) + 1 FROM \"%s\"",
             w->table);
    return bj_sql_int(w->db, sql, &w->next, err);
}

static bool is_full(const struct bj_dict_wait *w, const struct bj_dict_entry *e)
{
    return w->n == ROWS || w->text.used + e->text.n > BYTES;
}

bool bj_dict_wait_room(const struct bj_dict_wait *w,
                       const struct bj_dict_entry *e)
{
    return w->next != 0 && !is_full(w, e);
}

int bj_dict_wait_put(struct bj_dict_wait *w, const struct bj_dict_entry *e,
                     int64_t *ret_id, struct bj_err *err)
{
    int r = 0;
    if (w->next == 0)
        r = look_up_next(w, err);
    if (r == 0 && is_full(w, e))
        r = bj_dict_wait_flush(w, err);
    if (r < 0)
        return r;
    struct row *row = &w->row[w->n];
    row->v[0] = *ret_id = w->next;
    for (unsigned i = 0; i < e->ints; i++)
        row->v[i + 1] = e->v[i];
    if (e->text.p) {
        row->v[e->ints + 1] = 0;
        row->text = bj_arena_copy(&w->text, e->text);
        w->texts = UINT64_C(1) << (e->ints + 1);
    }
    if (w->text.failed)
        return bj_err_set(err, -ENOMEM, "dictionaries");
    w->next++;
    w->n++;
    return 0;
}

int bj_dict_wait_flush(struct bj_dict_wait *w, struct bj_err *err)
{
    w->feed.rows = w->n;
    int r = w->n > 0 ? bj_sql_run(w->add, err) : 0;
    w->n = 0;
    bj_arena_reset(&w->text);
    return r < 0 ? bj_err_wrap(err, r, "%s", w->table) : 0;
}

void bj_dict_wait_drop(struct bj_dict_wait *w)
{
    w->next = 0;
    w->n = 0;
    bj_arena_reset(&w->text);
}
