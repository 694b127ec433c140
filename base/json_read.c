#include "base/json_priv.h"

#include <string.h>
#include <yajl/yajl_parse.h>

/* --- yajl's callbacks: 1 continues, 0 ends the parsing ---------------------
 */

static int on_scalar(struct bj_json_reader *r, enum bj_json_kind kind,
                     const void *p, size_t n)
{
    return r->events->scalar(r->ctx, kind, (struct bj_slice){p, n}, &r->err) ==
           0;
}

static int on_null(void *r)
{
    return on_scalar(r, BJ_JSON_NULL, NULL, 0);
}

static int on_boolean(void *r, int v)
{
    return on_scalar(r, BJ_JSON_BOOL, "1", v ? 1 : 0);
}

static int on_number(void *r, const char *p, size_t n)
{
    return on_scalar(r, BJ_JSON_NUMBER, p, n);
}

static int on_string(void *r, const unsigned char *p, size_t n)
{
    return on_scalar(r, BJ_JSON_STRING, p, n);
}

static int on_key(void *ctx, const unsigned char *p, size_t n)
{
    struct bj_json_reader *r = ctx;
    struct bj_slice key = {(const char *)p, n};
    return r->events->key(r->ctx, key, &r->err) == 0;
}

static int on_open_object(void *ctx)
{
    struct bj_json_reader *r = ctx;
    return r->events->open(r->ctx, BJ_JSON_OBJECT, &r->err) == 0;
}

static int on_open_array(void *ctx)
{
    struct bj_json_reader *r = ctx;
    return r->events->open(r->ctx, BJ_JSON_ARRAY, &r->err) == 0;
}

static int on_close(void *ctx)
{
    struct bj_json_reader *r = ctx;
    return r->events->close(r->ctx, &r->err) == 0;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_open_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_close,
    .yajl_start_array = on_open_array,
    .yajl_end_array = on_close,
};

/* --- calls of yajl, which a jump may end for lack of memory --------------- */

static int start(struct bj_json_reader *r)
{
    yajl_alloc_funcs funcs = bj_json_mem_funcs(&r->mem);
    if (setjmp(r->mem.out))
        return -ENOMEM;
    r->yajl = yajl_alloc(&callbacks, &funcs, r);
    /* The caller cleans names in other encodings. */
    if (r->yajl)
        yajl_config(r->yajl, yajl_dont_validate_strings, 1);
    return r->yajl ? 0 : -ENOMEM;
}

/* The message of yajl without "parse error: " and newline. */
static void take_words(struct bj_json_reader *r)
{
    unsigned char *text = yajl_get_error(r->yajl, 0, NULL, 0);
    struct bj_slice s = bj_slice_trim(bj_slice_str((const char *)text));
    const char *colon = s.n > 0 ? memchr(s.p, ':', s.n) : NULL;
    if (colon) {
        s.n -= (size_t)(colon + 1 - s.p);
        s.p = colon + 1;
    }
    s = bj_slice_trim(s);
    if (s.n > 120)
        s.n = 120;
    bj_err_set(&r->err, -EINVAL, "%.*s", (int)s.n, s.n > 0 ? s.p : "no JSON");
    yajl_free_error(r->yajl, text);
}

/* Parse a piece, or the end when p is NULL. */
static int parse(struct bj_json_reader *r, struct bj_slice piece)
{
    if (setjmp(r->mem.out))
        return bj_err_set(&r->err, -ENOMEM, "out of memory");
    yajl_status st =
        piece.p ? yajl_parse(r->yajl, (const unsigned char *)piece.p, piece.n)
                : yajl_complete_parse(r->yajl);
    if (st == yajl_status_ok)
        return 0;
    if (st == yajl_status_error)
        take_words(r);
    return r->err.code ? r->err.code : bj_err_set(&r->err, -EINVAL, "no JSON");
}

/* --- positions -------------------------------------------------------------*/

static void advance(struct bj_json_reader *r, struct bj_slice s)
{
    const char *nl;
    while (s.n > 0 && (nl = memchr(s.p, '\n', s.n))) {
        r->lines++;
        r->line_bytes = 0;
        s.n -= (size_t)(nl + 1 - s.p);
        s.p = nl + 1;
    }
    r->line_bytes += s.n;
}

static int fail(struct bj_json_reader *r, struct bj_err *err)
{
    if (!r->ended)
        bj_err_wrap(&r->err, r->err.code, "%s: line %llu, byte %llu", r->name,
                    (unsigned long long)r->lines + 1,
                    (unsigned long long)r->line_bytes);
    r->ended = true;
    return bj_err_copy(err, r->err.code, &r->err);
}

int bj_json_reader_init(struct bj_json_reader *r,
                        const struct bj_json_events *events, void *ctx,
                        const char *name, struct bj_err *err)
{
    r->mem.blocks = NULL;
    r->yajl = NULL;
    r->events = events;
    r->ctx = ctx;
    r->name = name;
    r->lines = r->line_bytes = 0;
    r->ended = false;
    r->err = (struct bj_err){0};
    if (start(r) < 0)
        return bj_err_set(err, -ENOMEM, "%s: out of memory", name);
    return 0;
}

int bj_json_reader_feed(struct bj_json_reader *r, struct bj_slice piece,
                        struct bj_err *err)
{
    if (r->ended)
        return fail(r, err);
    if (piece.n == 0)
        return 0;
    int x = parse(r, piece);
    size_t n = x == 0 ? piece.n : yajl_get_bytes_consumed(r->yajl);
    advance(r, (struct bj_slice){piece.p, n < piece.n ? n : piece.n});
    return x == 0 ? 0 : fail(r, err);
}

int bj_json_reader_end(struct bj_json_reader *r, struct bj_err *err)
{
    if (r->ended)
        return fail(r, err);
    return parse(r, (struct bj_slice){0}) == 0 ? 0 : fail(r, err);
}

void bj_json_reader_fini(struct bj_json_reader *r)
{
    bj_json_mem_free(&r->mem);
    r->yajl = NULL;
}

/* --- a whole text ---------------------------------------------------------*/

static int tree_key(void *b, struct bj_slice key, struct bj_err *err)
{
    return bj_json_build_key(b, key, err);
}

static int tree_open(void *b, enum bj_json_kind kind, struct bj_err *err)
{
    return bj_json_build_open(b, kind, err);
}

static int tree_close(void *b, struct bj_err *err)
{
    (void)err;
    bj_json_build_close(b);
    return 0;
}

static int tree_scalar(void *b, enum bj_json_kind kind, struct bj_slice text,
                       struct bj_err *err)
{
    return bj_json_build_scalar(b, kind, text, err);
}

int bj_json_parse(struct bj_arena *a, struct bj_slice text, const char *name,
                  const struct bj_json_limits *limits,
                  const struct bj_json **ret, struct bj_err *err)
{
    static const struct bj_json_events events = {tree_key, tree_open,
                                                 tree_close, tree_scalar};
    struct bj_json_build b = {.arena = a, .limits = bj_json_limits(limits)};
    struct bj_json_reader r;
    if (text.n > b.limits.bytes)
        return bj_err_set(err, -EFBIG, "%s: larger than %zu bytes", name,
                          b.limits.bytes);
    bj_json_build_start(&b);
    int x = bj_json_reader_init(&r, &events, &b, name, err);
    if (x == 0)
        x = bj_json_reader_feed(&r, text, err);
    if (x == 0)
        x = bj_json_reader_end(&r, err);
    bj_json_reader_fini(&r);
    if (x == 0)
        *ret = b.root;
    return x;
}
