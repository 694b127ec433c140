#include "base/json_priv.h"

#include <stdlib.h>

struct bj_json_limits bj_json_limits(const struct bj_json_limits *limits)
{
    struct bj_json_limits l = limits ? *limits : (struct bj_json_limits){0};
    if (l.bytes == 0)
        l.bytes = (size_t)64 << 20;
    if (l.bytes > UINT32_MAX - 1) /* the tree's lengths have 32 bits */
        l.bytes = UINT32_MAX - 1;
    if (l.values == 0)
        l.values = (size_t)2 << 20;
    if (l.depth == 0 || l.depth > BJ_JSON_DEPTH)
        l.depth = BJ_JSON_DEPTH;
    return l;
}

void bj_json_build_start(struct bj_json_build *b)
{
    b->depth = 0;
    b->values = 0;
    b->key = (struct bj_slice){0};
    b->root = NULL;
}

static int copy(struct bj_json_build *b, struct bj_slice s,
                struct bj_slice *ret, struct bj_err *err)
{
    if (s.n >= UINT32_MAX)
        return bj_err_set(err, -EFBIG, "a string is too long");
    *ret = bj_arena_copy(b->arena, s);
    if (b->arena->failed)
        return bj_err_set(err, -ENOMEM, "out of memory");
    return 0;
}

int bj_json_build_key(struct bj_json_build *b, struct bj_slice key,
                      struct bj_err *err)
{
    return copy(b, key, &b->key, err);
}

/* Add a new value. */
static int add(struct bj_json_build *b, enum bj_json_kind kind,
               struct bj_json **ret, struct bj_err *err)
{
    if (b->values >= b->limits.values)
        return bj_err_set(err, -EFBIG, "more than %zu values",
                          b->limits.values);
    struct bj_json *v = bj_arena_alloc(b->arena, sizeof(*v));
    if (!v)
        return bj_err_set(err, -ENOMEM, "out of memory");
    b->values++;
    v->kind = (unsigned char)kind;
    v->key = b->key.p;
    v->key_n = (uint32_t)b->key.n;
    b->key = (struct bj_slice){0};
    if (b->depth == 0) {
        b->root = v;
    } else {
        b->open[b->depth - 1].node->n++;
        *b->open[b->depth - 1].tail = v;
        b->open[b->depth - 1].tail = &v->next;
    }
    *ret = v;
    return 0;
}

int bj_json_build_open(struct bj_json_build *b, enum bj_json_kind kind,
                       struct bj_err *err)
{
    struct bj_json *v;
    if (b->depth >= b->limits.depth)
        return bj_err_set(err, -EFBIG, "more than %u nested arrays and objects",
                          b->limits.depth);
    int r = add(b, kind, &v, err);
    if (r < 0)
        return r;
    b->open[b->depth].node = v;
    b->open[b->depth].tail = &v->first;
    b->depth++;
    return 0;
}

void bj_json_build_close(struct bj_json_build *b)
{
    b->depth--;
}

int bj_json_build_scalar(struct bj_json_build *b, enum bj_json_kind kind,
                         struct bj_slice text, struct bj_err *err)
{
    struct bj_json *v;
    struct bj_slice own = {0};
    int r = add(b, kind, &v, err);
    if (r == 0 && (kind == BJ_JSON_STRING || kind == BJ_JSON_NUMBER))
        r = copy(b, text, &own, err);
    if (r < 0)
        return r;
    v->text = own.p;
    v->n = (uint32_t)text.n;
    return 0;
}
