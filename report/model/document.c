#include "report/model/document.h"

#include "base/json.h"
#include "base/local.h"
#include "store/db.h"

#include <errno.h>
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

/* --- as JSON ---------------------------------------------------------------
 */

static void doc_write_text(struct bj_buf *out, const char *key,
                           struct bj_slice text)
{
    bj_buf_printf(out, "\"%s\":", key);
    bj_json_string(out, text);
    bj_buf_str(out, ",");
}

/* "12.5 %", or ["12.5 %", 125000] with a meter */
static void doc_write_cell(struct bj_buf *out, const struct bj_doc_cell *cell)
{
    const bool has_meter = cell->has_meter && cell->ppm != BJ_SQL_NULL;
    bj_buf_str(out, has_meter ? "[" : "");
    bj_json_string(out, cell->text);
    if (has_meter)
        bj_buf_printf(out, ",%lld]", (long long)cell->ppm);
}

static void doc_write_section(struct bj_buf *out,
                              const struct bj_doc_section *s)
{
    bj_buf_str(out, "{");
    doc_write_text(out, "title", bj_slice_str(s->title ? s->title : ""));
    doc_write_text(out, "note", s->note);
    bj_buf_printf(out, "\"columns\":%u,\"head\":[", s->columns);
    for (unsigned i = 0; i < s->columns; i++) {
        bj_buf_str(out, i > 0 ? "," : "");
        bj_json_string(out, bj_slice_str(s->head[i] ? s->head[i] : ""));
    }
    bj_buf_str(out, "],\"cells\":[");
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        bj_buf_str(out, i > 0 ? "," : "");
        doc_write_cell(out, &s->cell[i]);
    }
    bj_buf_str(out, "]}");
}

void bj_doc_write(const struct bj_doc *d, struct bj_buf *out)
{
    out->failed |= d->arena.failed;
    bj_buf_str(out, "{");
    doc_write_text(out, "title", d->title);
    doc_write_text(out, "name", d->name);
    doc_write_text(out, "whole_title", d->whole_title);
    bj_buf_printf(out, "\"created\":%lld,\"sections\":[",
                  (long long)d->created_sec);
    for (unsigned i = 0; i < BJ_DOC_SECTIONS; i++) {
        bj_buf_str(out, i > 0 ? "," : "");
        if (d->section[i].is_there)
            doc_write_section(out, &d->section[i]);
        else
            bj_buf_str(out, "null");
    }
    bj_buf_str(out, "]}");
}

static struct bj_slice doc_text(struct bj_doc *d, const struct bj_json *v)
{
    return bj_arena_copy(&d->arena, bj_json_text(v));
}

static int doc_parse_section(const struct bj_json *object,
                             enum bj_doc_name name, struct bj_doc *d,
                             struct bj_err *err)
{
    const struct bj_json *head = bj_json_get(object, "head"),
                         *cells = bj_json_get(object, "cells");
    const uint64_t columns =
        bj_json_u64_or(bj_json_get(object, "columns"), BJ_DOC_COLUMNS + 1);
    if (columns < 1 || columns > BJ_DOC_COLUMNS ||
        bj_json_len(head) != columns || bj_json_len(cells) % columns != 0)
        return bj_err_set(err, -EBADMSG, "document: section %d", (int)name);
    struct bj_doc_section *s =
        bj_doc_add(d, name, doc_text(d, bj_json_get(object, "title")).p,
                   (unsigned)columns);
    s->note = doc_text(d, bj_json_get(object, "note"));
    unsigned i = 0;
    for (const struct bj_json *v = bj_json_first(head); v; v = bj_json_next(v))
        s->head[i++] = doc_text(d, v).p;
    struct bj_doc_cell *row = NULL;
    i = 0;
    for (const struct bj_json *v = bj_json_first(cells); v;
         v = bj_json_next(v), i++) {
        const bool has_meter = bj_json_kind(v) == BJ_JSON_ARRAY;
        row = i % columns == 0 ? bj_doc_row(d, s) : row + 1;
        row->text = doc_text(d, has_meter ? bj_json_at(v, 0) : v);
        row->has_meter =
            has_meter && bj_json_i64(bj_json_at(v, 1), &row->ppm) == 0;
    }
    return 0;
}

int bj_doc_parse(const struct bj_json *object, struct bj_doc *ret,
                 struct bj_err *err)
{
    const struct bj_json *sections = bj_json_get(object, "sections");
    int r = bj_json_len(sections) == BJ_DOC_SECTIONS
                ? 0
                : bj_err_set(err, -EBADMSG, "document: sections");
    ret->title = doc_text(ret, bj_json_get(object, "title"));
    ret->name = doc_text(ret, bj_json_get(object, "name"));
    ret->whole_title = doc_text(ret, bj_json_get(object, "whole_title"));
    if (r == 0 &&
        bj_json_i64(bj_json_get(object, "created"), &ret->created_sec) < 0)
        r = bj_err_set(err, -EBADMSG, "document: created");
    unsigned name = 0;
    for (const struct bj_json *v = bj_json_first(sections); v && r == 0;
         v = bj_json_next(v), name++)
        if (!bj_json_is_null(v))
            r = doc_parse_section(v, name, ret, err);
    return r == 0 && ret->arena.failed ? bj_err_set(err, -ENOMEM, "document")
                                       : r;
}
