/* A JSON document in memory. */
#include "base/json.h"

#include "base/json_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yajl/yajl_parse.h>

/* --- memory ---------------------------------------------------------------*/

/* A block and its place in the list; the memory follows. */
struct bj_json_block {
    struct bj_json_block *prev, *next;
    _Alignas(16) char mem[];
};

static struct bj_json_block *block_of(void *p)
{
    return (struct bj_json_block *)((char *)p -
                                    offsetof(struct bj_json_block, mem));
}

static void unlink_block(struct bj_json_mem *m, struct bj_json_block *b)
{
    if (b->next)
        b->next->prev = b->prev;
    if (b->prev)
        b->prev->next = b->next;
    else
        m->blocks = b->next;
}

static void *link_block(struct bj_json_mem *m, struct bj_json_block *b)
{
    b->prev = NULL;
    b->next = m->blocks;
    if (b->next)
        b->next->prev = b;
    m->blocks = b;
    return b->mem;
}

static void *mem_realloc(void *ctx, void *p, size_t n)
{
    struct bj_json_mem *m = ctx;
    struct bj_json_block *old = p ? block_of(p) : NULL, *b = NULL;
    if (old)
        unlink_block(m, old);
    if (n <= PTRDIFF_MAX - sizeof(*b))
        b = realloc(old, sizeof(*b) + n);
    if (b)
        return link_block(m, b);
    if (old)
        link_block(m, old);
    longjmp(m->out, 1);
}

static void *mem_alloc(void *ctx, size_t n)
{
    return mem_realloc(ctx, NULL, n);
}

static void mem_free(void *ctx, void *p)
{
    if (!p)
        return;
    unlink_block(ctx, block_of(p));
    free(block_of(p));
}

/* yajl's functions over mem, which must not move. */
static yajl_alloc_funcs json_mem_funcs(struct bj_json_mem *mem)
{
    return (yajl_alloc_funcs){mem_alloc, mem_realloc, mem_free, mem};
}

static void json_mem_free(struct bj_json_mem *mem)
{
    while (mem->blocks) {
        struct bj_json_block *next = mem->blocks->next;
        free(mem->blocks);
        mem->blocks = next;
    }
}

/* --- building -------------------------------------------------------------*/

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

static int json_copy(struct bj_json_build *b, struct bj_slice s,
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
    return json_copy(b, key, &b->key, err);
}

/* Add a new value. */
static int json_add(struct bj_json_build *b, enum bj_json_kind kind,
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
    int r = json_add(b, kind, &v, err);
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
    int r = json_add(b, kind, &v, err);
    if (r == 0 && (kind == BJ_JSON_STRING || kind == BJ_JSON_NUMBER))
        r = json_copy(b, text, &own, err);
    if (r < 0)
        return r;
    v->text = own.p;
    v->n = (uint32_t)text.n;
    return 0;
}

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

static int json_start(struct bj_json_reader *r)
{
    yajl_alloc_funcs funcs = json_mem_funcs(&r->mem);
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
static int json_parse(struct bj_json_reader *r, struct bj_slice piece)
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

static void json_advance(struct bj_json_reader *r, struct bj_slice s)
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

static int json_fail(struct bj_json_reader *r, struct bj_err *err)
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
    if (json_start(r) < 0)
        return bj_err_set(err, -ENOMEM, "%s: out of memory", name);
    return 0;
}

int bj_json_reader_feed(struct bj_json_reader *r, struct bj_slice piece,
                        struct bj_err *err)
{
    if (r->ended)
        return json_fail(r, err);
    if (piece.n == 0)
        return 0;
    int x = json_parse(r, piece);
    size_t n = x == 0 ? piece.n : yajl_get_bytes_consumed(r->yajl);
    json_advance(r, (struct bj_slice){piece.p, n < piece.n ? n : piece.n});
    return x == 0 ? 0 : json_fail(r, err);
}

int bj_json_reader_end(struct bj_json_reader *r, struct bj_err *err)
{
    if (r->ended)
        return json_fail(r, err);
    return json_parse(r, (struct bj_slice){0}) == 0 ? 0 : json_fail(r, err);
}

void bj_json_reader_fini(struct bj_json_reader *r)
{
    json_mem_free(&r->mem);
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

/* --- values ---------------------------------------------------------------*/

enum bj_json_kind bj_json_kind(const struct bj_json *v)
{
    return v ? (enum bj_json_kind)v->kind : BJ_JSON_NONE;
}

const char *bj_json_kind_name(const struct bj_json *v)
{
    static const char *const names[] = {
        [BJ_JSON_NONE] = "nothing",  [BJ_JSON_NULL] = "null",
        [BJ_JSON_BOOL] = "boolean",  [BJ_JSON_NUMBER] = "number",
        [BJ_JSON_STRING] = "string", [BJ_JSON_ARRAY] = "array",
        [BJ_JSON_OBJECT] = "object",
    };
    return names[bj_json_kind(v)];
}

const struct bj_json *bj_json_first(const struct bj_json *v)
{
    enum bj_json_kind kind = bj_json_kind(v);
    return kind == BJ_JSON_ARRAY || kind == BJ_JSON_OBJECT ? v->first : NULL;
}

const struct bj_json *bj_json_next(const struct bj_json *v)
{
    return v ? v->next : NULL;
}

size_t bj_json_len(const struct bj_json *v)
{
    enum bj_json_kind kind = bj_json_kind(v);
    return kind == BJ_JSON_ARRAY || kind == BJ_JSON_OBJECT ? v->n : 0;
}

struct bj_slice bj_json_key(const struct bj_json *v)
{
    return v ? (struct bj_slice){v->key, v->key_n} : (struct bj_slice){0};
}

const struct bj_json *bj_json_find(const struct bj_json *v, struct bj_slice key)
{
    const struct bj_json *found = NULL;
    if (bj_json_kind(v) != BJ_JSON_OBJECT)
        return NULL;
    BJ_JSON_EACH(m, v)
    {
        if (bj_slice_eq(bj_json_key(m), key))
            found = m;
    }
    return found;
}

const struct bj_json *bj_json_get(const struct bj_json *v, const char *key)
{
    return bj_json_find(v, bj_slice_str(key));
}

const struct bj_json *bj_json_at(const struct bj_json *v, size_t i)
{
    if (i >= bj_json_len(v))
        return NULL;
    const struct bj_json *c = bj_json_first(v);
    while (i-- > 0)
        c = c->next;
    return c;
}

struct bj_json_steps bj_json_steps(const char *path)
{
    char sep = path[0] == '/' ? '/' : '.';
    struct bj_slice rest = bj_slice_str(path[0] == '/' ? path + 1 : path);
    return (struct bj_json_steps){rest, sep, path[0] != '\0'};
}

/* Unlike bj_slice_field, an empty step after the last separator counts: "/a/"
 * is the key "" in "a". */
bool bj_json_step(struct bj_json_steps *s, struct bj_slice *ret)
{
    if (!s->more)
        return false;
    const char *end =
        s->rest.n > 0 ? memchr(s->rest.p, s->sep, s->rest.n) : NULL;
    size_t len = end ? (size_t)(end - s->rest.p) : s->rest.n;
    *ret = (struct bj_slice){s->rest.p, len};
    s->more = end != NULL;
    s->rest.p += end ? len + 1 : len;
    s->rest.n -= end ? len + 1 : len;
    return true;
}

const struct bj_json *bj_json_path(const struct bj_json *v, const char *path)
{
    struct bj_json_steps steps = bj_json_steps(path);
    struct bj_slice step;
    while (v && bj_json_step(&steps, &step)) {
        uint64_t i;
        if (v->kind == BJ_JSON_ARRAY)
            v = bj_slice_u64(step, &i) == 0 ? bj_json_at(v, i) : NULL;
        else
            v = bj_json_find(v, step);
    }
    return v;
}

struct bj_slice bj_json_text(const struct bj_json *v)
{
    enum bj_json_kind kind = bj_json_kind(v);
    if (kind == BJ_JSON_STRING || kind == BJ_JSON_NUMBER)
        return (struct bj_slice){v->text, v->n};
    return (struct bj_slice){0};
}

bool bj_json_is_null(const struct bj_json *v)
{
    return bj_json_kind(v) == BJ_JSON_NULL;
}

/* The text of a scalar: 0, -ENOENT or -EINVAL. */
static int scalar_text(const struct bj_json *v, struct bj_slice *ret)
{
    enum bj_json_kind kind = bj_json_kind(v);
    if (kind == BJ_JSON_NONE || kind == BJ_JSON_NULL)
        return -ENOENT;
    struct bj_slice s = bj_slice_trim(bj_json_text(v));
    if (!s.p)
        return -EINVAL;
    if (s.n == 0)
        return -ENOENT;
    *ret = s;
    return 0;
}

int bj_json_u64(const struct bj_json *v, uint64_t *ret)
{
    struct bj_slice s;
    int r = scalar_text(v, &s);
    return r < 0 ? r : bj_decimal_u64(s, 0, ret);
}

int bj_json_i64(const struct bj_json *v, int64_t *ret)
{
    return bj_json_fixed(v, 0, ret);
}

int bj_json_fixed(const struct bj_json *v, unsigned digits, int64_t *ret)
{
    struct bj_slice s;
    int r = scalar_text(v, &s);
    return r < 0 ? r : bj_decimal_i64(s, digits, ret);
}

uint64_t bj_json_u64_or(const struct bj_json *v, uint64_t otherwise)
{
    uint64_t n;
    return bj_json_u64(v, &n) == 0 ? n : otherwise;
}

int bj_json_bool(const struct bj_json *v, bool *ret)
{
    static const char *const words[] = {"false", "true", "0", "1"};
    if (bj_json_kind(v) == BJ_JSON_BOOL) {
        *ret = v->n != 0;
        return 0;
    }
    struct bj_slice s;
    int r = scalar_text(v, &s);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0) {
            *ret = i % 2 != 0;
            return 0;
        }
    }
    return -EINVAL;
}

int bj_json_slurm_u64(const struct bj_json *v, uint64_t *ret)
{
    if (bj_json_kind(v) != BJ_JSON_OBJECT)
        return bj_json_u64(v, ret);
    bool set = false, infinite = false;
    int r = bj_json_bool(bj_json_get(v, "infinite"), &infinite);
    if (r == 0 && infinite)
        return 1;
    r = bj_json_bool(bj_json_get(v, "set"), &set);
    if (r < 0)
        return r == -ENOENT ? -EINVAL : r;
    return set ? bj_json_u64(bj_json_get(v, "number"), ret) : -ENOENT;
}

/* --- decimal numbers -------------------------------------------------------*/

/* A number as written: the digits before and after the point, and by how many
 * digits the exponent moves the point to the right. */
struct decimal {
    bool minus;
    struct bj_slice whole, part;
    int64_t shift;
};

enum { SHIFT_MAX = 1000000 }; /* also for all larger shifts */

static bool json_is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static struct bj_slice cut_digits(struct bj_slice *s)
{
    struct bj_slice d = {s->p, 0};
    while (d.n < s->n && json_is_digit(s->p[d.n]))
        d.n++;
    s->p += d.n;
    s->n -= d.n;
    return d;
}

static bool cut_char(struct bj_slice *s, char a, char b)
{
    if (s->n == 0 || (s->p[0] != a && s->p[0] != b))
        return false;
    s->p++;
    s->n--;
    return true;
}

static bool cut_sign(struct bj_slice *s)
{
    return cut_char(s, '-', '-') || (cut_char(s, '+', '+'), false);
}

/* Cut the exponent after the 'e'; false when it is not a number. */
static bool cut_exponent(struct bj_slice *s, int64_t *ret)
{
    bool minus = cut_sign(s);
    struct bj_slice digits = cut_digits(s);
    uint64_t e = SHIFT_MAX;
    if (digits.n == 0)
        return false;
    if (bj_slice_u64(digits, &e) < 0 || e > SHIFT_MAX)
        e = SHIFT_MAX;
    *ret = minus ? -(int64_t)e : (int64_t)e;
    return true;
}

static int take_apart(struct bj_slice s, struct decimal *ret)
{
    struct decimal d = {0};
    s = bj_slice_trim(s);
    if (s.n == 0)
        return -ENOENT;
    d.minus = cut_sign(&s);
    d.whole = cut_digits(&s);
    if (cut_char(&s, '.', '.'))
        d.part = cut_digits(&s);
    if (d.whole.n + d.part.n == 0)
        return -EINVAL;
    if (cut_char(&s, 'e', 'E') && !cut_exponent(&s, &d.shift))
        return -EINVAL;
    if (s.n > 0)
        return -EINVAL;
    *ret = d;
    return 0;
}

/* Digit i of whole and part in a row; 0 after the end. */
static unsigned digit(const struct decimal *d, int64_t i)
{
    size_t at = (size_t)i;
    if (i < 0)
        return 0;
    if (at < d->whole.n)
        return (unsigned)(d->whole.p[at] - '0');
    at -= d->whole.n;
    return at < d->part.n ? (unsigned)(d->part.p[at] - '0') : 0;
}

/* The number without its sign, times 10^digits.  Only the first digit that is
 * cut off decides on rounding. */
static int magnitude(const struct decimal *d, unsigned digits, uint64_t *ret)
{
    const int64_t have = (int64_t)(d->whole.n + d->part.n);
    const int64_t want = (int64_t)d->whole.n + d->shift + digits;
    int64_t i = 0;
    uint64_t v = 0;
    while (i < have && i < want && digit(d, i) == 0)
        i++;
    for (; i < want && (i < have || v > 0); i++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, digit(d, i), &v))
            return -ERANGE;
    if (digit(d, want) >= 5 && __builtin_add_overflow(v, 1, &v))
        return -ERANGE;
    *ret = v;
    return 0;
}

static int json_read_number(struct bj_slice text, unsigned digits,
                            bool *ret_minus, uint64_t *ret)
{
    struct decimal d;
    int r = take_apart(text, &d);
    if (r < 0)
        return r;
    *ret_minus = d.minus;
    return magnitude(&d, digits, ret);
}

int bj_decimal_u64(struct bj_slice text, unsigned digits, uint64_t *ret)
{
    bool minus;
    uint64_t v;
    int r = json_read_number(text, digits, &minus, &v);
    if (r < 0)
        return r;
    if (minus && v > 0)
        return -ERANGE;
    *ret = v;
    return 0;
}

int bj_decimal_i64(struct bj_slice text, unsigned digits, int64_t *ret)
{
    bool minus;
    uint64_t v;
    int r = json_read_number(text, digits, &minus, &v);
    if (r < 0)
        return r;
    if (v > (uint64_t)INT64_MAX + (minus ? 1 : 0))
        return -ERANGE;
    /* In two steps, since INT64_MIN has no positive counterpart. */
    *ret = minus && v > 0 ? -(int64_t)(v - 1) - 1 : (int64_t)v;
    return 0;
}

/* --- writing ---------------------------------------------------------------*/

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
static bool json_begin(struct bj_json_out *o, const char *key)
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
    if (!json_begin(o, key))
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
    if (json_begin(o, key))
        bj_json_string(o->to, s);
}

void bj_json_put_u64(struct bj_json_out *o, const char *key, uint64_t v)
{
    if (v == UINT64_MAX)
        bj_json_put_null(o, key);
    else if (json_begin(o, key))
        bj_buf_u64(o->to, v);
}

void bj_json_put_i64(struct bj_json_out *o, const char *key, int64_t v)
{
    if (!json_begin(o, key))
        return;
    bj_buf_put(o->to, "-", v < 0);
    bj_buf_u64(o->to, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void bj_json_put_bool(struct bj_json_out *o, const char *key, bool v)
{
    if (json_begin(o, key))
        bj_buf_str(o->to, v ? "true" : "false");
}

void bj_json_put_null(struct bj_json_out *o, const char *key)
{
    if (json_begin(o, key))
        bj_buf_str(o->to, "null");
}
