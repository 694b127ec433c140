#include "apiserver/frame/cells.h"

#include "base/stamp.h"

#include <string.h>

void bj_cells_free(struct bj_cells *c)
{
    bj_buf_free(&c->text);
}

void bj_cells_begin(struct bj_cells *c, const char *const *key, unsigned keys)
{
    c->key = key;
    c->keys = keys;
    c->n = 0;
    c->text.len = 0;
}

void bj_cells_put(struct bj_cells *c, struct bj_cell v)
{
    if (c->n < BJ_ROW_KEYS)
        c->cell[c->n++] = v;
    if (v.kind == BJ_CELL_TEXT)
        bj_buf_slice(&c->text, v.text);
}

void bj_cells_row(struct bj_cells *c)
{
    size_t at = 0;
    /* Set the pointers to the row's texts, because their buffer may have moved.
     */
    for (unsigned i = 0; i < c->n && !c->text.failed; i++)
        if (c->cell[i].kind == BJ_CELL_TEXT) {
            c->cell[i].text.p = c->text.p ? c->text.p + at : "";
            at += c->cell[i].text.n;
        }
    if (!c->text.failed)
        c->row(c->ctx, c);
    c->n = 0;
    c->text.len = 0;
}

/* Find the column of a key; c->keys: unknown. */
static unsigned find(const struct bj_cells *c, const char *key)
{
    unsigned i = 0;
    while (i < c->keys && strcmp(c->key[i], key) != 0)
        i++;
    return i;
}

const struct bj_cell *bj_cells_get(const struct bj_cells *c, const char *key)
{
    unsigned i = find(c, key);
    return i < c->n ? &c->cell[i] : NULL;
}

bool bj_cell_is_empty(const struct bj_cell *v)
{
    return !v || v->kind == BJ_CELL_NULL ||
           (v->kind == BJ_CELL_TEXT && v->text.n == 0);
}

void bj_cell_text(struct bj_buf *b, const struct bj_cell *v)
{
    char stamp[BJ_STAMP_MAX];
    switch (v->kind) {
    case BJ_CELL_NULL:
        break;
    case BJ_CELL_TEXT:
        bj_buf_slice(b, v->text);
        break;
    case BJ_CELL_NUMBER:
        bj_buf_str(b, v->number < 0 ? "-" : "");
        bj_buf_fixed(
            b, v->number < 0 ? ~(uint64_t)v->number + 1 : (uint64_t)v->number,
            v->digits);
        break;
    case BJ_CELL_TIME:
        bj_stamp_text(v->number * 1000000, 0, 0, stamp);
        bj_buf_str(b, stamp);
        break;
    case BJ_CELL_BOOL:
        bj_buf_str(b, v->number ? "true" : "false");
    }
}
