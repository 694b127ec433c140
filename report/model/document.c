#include "report/model/document.h"

#include "base/local.h"
#include "store/db.h"

#include <string.h>

void bj_doc_free(struct bj_doc *d)
{
    bj_arena_free(&d->arena);
    bj_buf_free(&d->scratch);
    *d = (struct bj_doc){.created_sec = 0};
}

struct bj_doc_section *bj_doc_add(struct bj_doc *d, enum bj_doc_name name,
                                  const char *title, unsigned columns)
{
    struct bj_doc_section *s = &d->section[name];
    *s = (struct bj_doc_section){
        .is_there = true, .title = title, .columns = columns};
    return s;
}

static struct bj_doc_cell *doc_clear(struct bj_doc_cell *row, unsigned columns)
{
    for (unsigned i = 0; i < columns; i++)
        row[i] = (struct bj_doc_cell){.ppm = BJ_SQL_NULL};
    return row;
}

struct bj_doc_cell *bj_doc_row(struct bj_doc *d, struct bj_doc_section *s)
{
    if (s->rows == s->cap) {
        const size_t cap = s->cap ? 2 * s->cap : 8;
        struct bj_doc_cell *v =
            bj_arena_alloc(&d->arena, cap * s->columns * sizeof(*v));
        if (!v)
            return doc_clear(d->spare, s->columns);
        if (s->rows > 0)
            memcpy(v, s->cell, s->rows * s->columns * sizeof(*v));
        s->cell = v;
        s->cap = cap;
    }
    return doc_clear(&s->cell[s->rows++ * s->columns], s->columns);
}

void bj_doc_least(struct bj_buf *out, const struct bj_doc_section *s,
                  size_t shown)
{
    bj_buf_str(out, s->title);
    if (s->rows > shown)
        bj_local_put(out, ": {the %d least busy of %zu}", (int)shown, s->rows);
}

struct bj_slice bj_doc_take(struct bj_doc *d)
{
    const struct bj_slice s = bj_arena_copy(
        &d->arena, (struct bj_slice){d->scratch.p, d->scratch.len});
    d->arena.failed |= d->scratch.failed;
    d->scratch.len = 0;
    return s;
}
