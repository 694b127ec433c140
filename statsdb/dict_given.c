#include "statsdb/dict_given.h"

#include "statsdb/feed.h"
#include "statsdb/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bj_dict_given_grow(struct bj_dict_given *g, int64_t id, struct bj_err *err)
{
    if (id < 0 || id > UINT32_MAX)
        return bj_err_set(err, -EINVAL, "number %lld in a dictionary",
                          (long long)id);
    size_t words = (size_t)id / 64 + 1;
    words += words / 2 + 64;
    uint64_t *word = reallocarray(g->word, words, sizeof(*word));
    if (!word)
        return bj_err_set(err, -ENOMEM, "dictionaries");
    memset(word + g->words, 0, (words - g->words) * sizeof(*word));
    g->word = word;
    g->words = words;
    return 0;
}

void bj_dict_given_clear(struct bj_dict_given *g)
{
    if (g->words > 0)
        memset(g->word, 0, g->words * sizeof(*g->word));
}

void bj_dict_given_free(struct bj_dict_given *g)
{
    free(g->word);
    *g = (struct bj_dict_given){0};
}

/* The numbers one by one, in ascending order. */
struct walk {
    const struct bj_dict_given *given;
    size_t at;
    uint64_t rest; /* bits of that word still to come */
    int64_t id;
};

static void next_id(void *ctx, uint32_t i, struct bj_feed_row *ret)
{
    struct walk *w = ctx;
    if (i == 0) {
        w->at = 0;
        w->rest = w->given->word[0];
    }
    while (w->rest == 0)
        w->rest = w->given->word[++w->at];
    w->id = (int64_t)(w->at * 64) + __builtin_ctzll(w->rest);
    w->rest &= w->rest - 1;
    *ret = (struct bj_feed_row){&w->id, 0, NULL};
}

static uint32_t count(const struct bj_dict_given *g)
{
    uint32_t n = 0;
    for (size_t i = 0; i < g->words; i++)
        n += (uint32_t)__builtin_popcountll(g->word[i]);
    return n;
}

static int look(struct sqlite3 *db, const char *table, struct bj_err *err)
{
    char sql[128];
    struct sqlite3_stmt *st;
    snprintf(sql, sizeof(sql),
             "SELECT c0 FROM bj_feed_given LEFT JOIN \"%s\" ON id = c0"
             " WHERE id IS NULL LIMIT 1",
             table);
    int r = bj_sql_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    r = bj_sql_row(st, err);
    if (r > 0)
        r = bj_err_set(err, -EEXIST, "%s: row %lld is not there, but used",
                       table, (long long)bj_sql_get(st, 0));
    sqlite3_finalize(st);
    return r;
}

int bj_dict_given_prove(struct bj_dict_given *g, struct sqlite3 *db,
                        const char *table, struct bj_err *err)
{
    struct walk w = {.given = g};
    struct bj_feed feed = {1, count(g), &w, next_id};
    if (feed.rows == 0)
        return 0;
    int r = bj_feed_add(db, "bj_feed_given", &feed, err);
    if (r == 0)
        r = look(db, table, err);
    bj_feed_remove(db, "bj_feed_given");
    bj_dict_given_clear(g);
    return r;
}
