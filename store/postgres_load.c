/* Many rows at once: COPY in text format. */
#include "base/text.h"
#include "store/postgres_impl.h"

#include <stdio.h>

enum { BLOCK = 64 * 1024 };

/* The character to write after a backslash, or 0 if the character needs no
 * escape. */
static char escaped(char c)
{
    switch (c) {
    case '\\':
        return c;
    case '\n':
        return 'n';
    case '\t':
        return 't';
    case '\r':
        return 'r';
    default:
        return 0;
    }
}

static void put_utf8(struct bj_buf *to, struct bj_slice s)
{
    if (!bj_buf_room(to, 2 * s.n))
        return;
    char *p = to->p + to->len;
    for (size_t i = 0; i < s.n; i++) {
        char other = escaped(s.p[i]);
        if (other)
            *p++ = '\\';
        *p++ = other ? other : s.p[i];
    }
    to->len = (size_t)(p - to->p);
}

static void put_i64(struct bj_buf *to, int64_t v)
{
    bj_buf_put(to, "-", v < 0);
    bj_buf_u64(to, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static void put_text(struct bj_buf *to, struct bj_slice s)
{
    struct bj_buf clean = {0};
    if (bj_text_is_utf8(s)) {
        put_utf8(to, s);
        return;
    }
    if (bj_buf_room(&clean, 3 * s.n))
        clean.len = bj_text_utf8(s, clean.p);
    else
        to->failed = true;
    put_utf8(to, (struct bj_slice){clean.p, clean.len});
    bj_buf_free(&clean);
}

static void put_row(struct bj_buf *to, const struct bj_value *v, int columns)
{
    for (int i = 0; i < columns; i++) {
        bj_buf_put(to, "\t", i ? 1 : 0);
        switch (v[i].type) {
        case BJ_TYPE_NULL:
            bj_buf_put(to, "\\N", 2);
            break;
        case BJ_TYPE_INTEGER:
            put_i64(to, v[i].i64);
            break;
        case BJ_TYPE_REAL:
            bj_buf_printf(to, "%.17g", v[i].f64);
            break;
        case BJ_TYPE_TEXT:
            put_text(to, v[i].text);
        }
    }
    bj_buf_put(to, "\n", 1);
}

static int begin(struct bj_postgres *p, const struct bj_load *l,
                 struct bj_err *err)
{
    struct bj_pg_result *res = NULL;
    struct bj_buf sql = {0};
    bj_buf_printf(&sql, "COPY \"%s\"(", l->table);
    for (int i = 0; i < l->columns; i++)
        bj_buf_printf(&sql, "%s\"%s\"", i ? ", " : "", l->column[i]);
    bj_buf_str(&sql, ") FROM STDIN");
    bj_buf_put(&sql, "", 1);
    int r = sql.failed ? bj_err_set(err, -ENOMEM, "load")
                       : bj_postgres_ready(p, err);
    if (r == 0 && !p->lib->send_query(p->conn, sql.p))
        r = bj_postgres_fail(p, NULL, err, "");
    bj_buf_free(&sql);
    if (r == 0)
        res = bj_postgres_next(p);
    if (r == 0 && (!res || p->lib->result_status(res) != BJ_PG_COPY_IN)) {
        r = bj_postgres_fail(p, res, err, l->table);
        bj_postgres_finish(p, NULL, NULL, "");
    }
    p->lib->clear(res);
    return r;
}

static int send(struct bj_postgres *p, struct bj_buf *block, struct bj_err *err)
{
    if (block->failed)
        return bj_err_set(err, -ENOMEM, "load");
    if (block->len > 0 &&
        p->lib->put_copy(p->conn, block->p, (int)block->len) != 1)
        return bj_postgres_fail(p, NULL, err, "");
    block->len = 0;
    return 0;
}

/* Other statements of the connection must not run meanwhile. */
int bj_postgres_load(struct bj_db *db, const struct bj_load *l,
                     struct bj_err *err)
{
    struct bj_postgres *p = bj_postgres_of(db);
    struct bj_value value[BJ_LOAD_COLUMNS];
    struct bj_buf block = {0};
    int r = begin(p, l, err);
    if (r < 0)
        return r;
    while (r == 0 && (r = l->next(l->ctx, value, err)) > 0) {
        put_row(&block, value, l->columns);
        r = block.len >= BLOCK ? send(p, &block, err) : 0;
    }
    if (r == 0)
        r = send(p, &block, err);
    bj_buf_free(&block);
    /* After an error the server discards the rows. */
    if (p->lib->end_copy(p->conn, r < 0 ? "stopped" : NULL) != 1)
        return r < 0 ? r : bj_postgres_fail(p, NULL, err, "");
    int end = bj_postgres_finish(p, NULL, r < 0 ? NULL : err, l->table);
    return r < 0 ? r : end;
}
