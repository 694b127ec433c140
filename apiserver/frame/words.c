#include "apiserver/frame/words.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

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
