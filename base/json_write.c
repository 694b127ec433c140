#include "base/json.h"

#include <errno.h>

#define SIXTEEN 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1

/* Bytes that are escaped or checked: controls, quotes, backslashes, and all
 * that is not ASCII. */
static const bool special[256] = {
    SIXTEEN, SIXTEEN, ['"'] = 1, ['\\'] = 1, [127] = 1, SIXTEEN, SIXTEEN,
    SIXTEEN, SIXTEEN, SIXTEEN,   SIXTEEN,    SIXTEEN,   SIXTEEN};

/* Put the plain bytes at the start of s; returns how many. */
static inline size_t put_plain(struct bj_buf *to, struct bj_slice s)
{
    size_t n = 0;
    if (!bj_buf_room(to, s.n))
        return s.n;
    char *p = to->p + to->len;
    for (; n < s.n && !special[(unsigned char)s.p[n]]; n++)
        p[n] = s.p[n];
    to->len += n;
    return n;
}

/* Put the bytes at the start of s that are not plain; returns how many. */
static size_t put_escaped(struct bj_buf *to, struct bj_slice s)
{
    static const char letters[] = "\"\\\n\t\r\b\f", escapes[] = "\"\\ntrbf";
    size_t n = 0;
    while (n < s.n && (unsigned char)s.p[n] > '~')
        n++;
    if (n > 0) {
        bj_buf_clean(to, (struct bj_slice){s.p, n});
        return n;
    }
    const char *at = memchr(letters, s.p[0], sizeof(letters) - 1);
    if (at)
        bj_buf_printf(to, "\\%c", escapes[at - letters]);
    else
        bj_buf_printf(to, "\\u%04x", (unsigned)s.p[0]);
    return 1;
}

void bj_json_string(struct bj_buf *to, struct bj_slice s)
{
    bj_buf_put(to, "\"", 1);
    while (s.n > 0) {
        size_t n = put_plain(to, s);
        if (n == 0)
            n = put_escaped(to, s);
        s.p += n;
        s.n -= n;
    }
    bj_buf_put(to, "\"", 1);
}

/* --- order ----------------------------------------------------------------*/

static bool in_object(const struct bj_json_out *o)
{
    return o->depth > 0 && o->open[o->depth - 1] == '}';
}

void bj_json_put_key(struct bj_json_out *o, struct bj_slice key)
{
    if (!in_object(o) || o->keyed)
        o->wrong = true;
    if (o->wrong)
        return;
    bj_buf_put(o->to, ",", o->more);
    bj_json_string(o->to, key);
    bj_buf_put(o->to, ":", 1);
    o->keyed = true;
}

/* Whether a value is allowed now; puts its key. */
static bool begin(struct bj_json_out *o, const char *key)
{
    if (key)
        bj_json_put_key(o, bj_slice_str(key));
    if (o->done || in_object(o) != o->keyed)
        o->wrong = true;
    if (o->wrong)
        return false;
    bj_buf_put(o->to, ",", o->more && !o->keyed);
    o->keyed = false;
    o->more = true;
    o->done = o->depth == 0;
    return true;
}

static void descend(struct bj_json_out *o, const char *key, char open,
                    char close)
{
    if (o->depth == sizeof(o->open))
        o->wrong = true;
    if (!begin(o, key))
        return;
    bj_buf_put(o->to, &open, 1);
    o->open[o->depth++] = close;
    o->more = o->done = false;
}

int bj_json_out_end(const struct bj_json_out *o)
{
    if (o->to->failed)
        return -ENOMEM;
    return o->wrong || !o->done ? -EINVAL : 0;
}

/* --- values ---------------------------------------------------------------*/

void bj_json_put_object(struct bj_json_out *o, const char *key)
{
    descend(o, key, '{', '}');
}

void bj_json_put_array(struct bj_json_out *o, const char *key)
{
    descend(o, key, '[', ']');
}

void bj_json_put_end(struct bj_json_out *o)
{
    if (o->depth == 0 || o->keyed)
        o->wrong = true;
    if (o->wrong)
        return;
    bj_buf_put(o->to, &o->open[--o->depth], 1);
    o->done = o->depth == 0;
    o->more = true;
}

void bj_json_put_str(struct bj_json_out *o, const char *key, struct bj_slice s)
{
    if (begin(o, key))
        bj_json_string(o->to, s);
}

void bj_json_put_u64(struct bj_json_out *o, const char *key, uint64_t v)
{
    if (v == UINT64_MAX)
        bj_json_put_null(o, key);
    else if (begin(o, key))
        bj_buf_u64(o->to, v);
}

void bj_json_put_i64(struct bj_json_out *o, const char *key, int64_t v)
{
    if (!begin(o, key))
        return;
    bj_buf_put(o->to, "-", v < 0);
    bj_buf_u64(o->to, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void bj_json_put_bool(struct bj_json_out *o, const char *key, bool v)
{
    if (begin(o, key))
        bj_buf_str(o->to, v ? "true" : "false");
}

void bj_json_put_null(struct bj_json_out *o, const char *key)
{
    if (begin(o, key))
        bj_buf_str(o->to, "null");
}
