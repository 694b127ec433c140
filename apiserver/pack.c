#include "apiserver/pack.h"

#include "base/buf.h"

#include <stdlib.h>

/* The blob: the numbers, then the length and the bytes of each text. */

static int64_t put_text(struct bj_buf *to, struct sqlite3_value *v)
{
    const char *p = (const char *)sqlite3_value_text(v);
    uint32_t n = (uint32_t)sqlite3_value_bytes(v);
    if (!p)
        to->failed = true;
    bj_buf_put(to, &n, sizeof(n));
    bj_buf_put(to, p, n);
    return BJ_SQL_TEXT;
}

static int64_t put_value(struct bj_buf *to, struct sqlite3_value *v)
{
    int type = sqlite3_value_type(v);
    if (type == SQLITE_NULL)
        return BJ_SQL_NULL;
    int64_t n = type == SQLITE_INTEGER ? sqlite3_value_int64(v) : BJ_SQL_TEXT;
    return n == BJ_SQL_TEXT ? put_text(to, v) : n;
}

static void pack(struct sqlite3_context *ctx, int n, struct sqlite3_value **v)
{
    struct bj_buf *to = sqlite3_user_data(ctx);
    int64_t number[BJ_PACK_VALUES];
    size_t bytes = (size_t)n * sizeof(number[0]);
    if (n > BJ_PACK_VALUES) {
        sqlite3_result_error_toobig(ctx);
        return;
    }
    to->len = 0;
    to->len = bj_buf_room(to, bytes) ? bytes : 0;
    for (int i = 0; i < n; i++)
        number[i] = put_value(to, v[i]);
    if (to->failed) {
        bj_buf_free(to);
        sqlite3_result_error_nomem(ctx);
        return;
    }
    memcpy(to->p, number, bytes);
    sqlite3_result_blob64(ctx, to->p, to->len, SQLITE_TRANSIENT);
}

static void free_buf(void *buf)
{
    bj_buf_free(buf);
    free(buf);
}

int bj_pack_install(struct sqlite3 *db)
{
    struct bj_buf *buf = calloc(1, sizeof(*buf));
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    return buf ? sqlite3_create_function_v2(db, "bj_pack", -1, flags, buf, pack,
                                            NULL, NULL, free_buf)
               : SQLITE_NOMEM;
}

bool bj_pack_read(struct bj_slice blob, unsigned values, int64_t *number,
                  struct bj_slice *text)
{
    size_t at = values * sizeof(number[0]);
    if (blob.n < at)
        return false;
    memcpy(number, blob.p, at);
    for (unsigned i = 0; i < values; i++) {
        uint32_t n;
        if (number[i] != BJ_SQL_TEXT)
            continue;
        if (blob.n - at < sizeof(n))
            return false;
        memcpy(&n, blob.p + at, sizeof(n));
        at += sizeof(n);
        if (blob.n - at < n)
            return false;
        text[i] = (struct bj_slice){blob.p + at, n};
        at += n;
    }
    return at == blob.n;
}
