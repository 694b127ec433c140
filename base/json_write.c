#include "base/json_priv.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

enum { DEPTH = 100 };

/* yajl_gen escapes, puts commas and blanks; what may come where is watched
 * here, since it takes a string for a key and closes what is not open. */
struct bj_json_out {
    struct bj_json_mem mem;
    yajl_gen gen;
    struct bj_buf *to;
    struct bj_buf clean, number;
    unsigned depth;
    bool object[DEPTH]; /* what is open at each depth */
    bool keyed;         /* a key waits for its value */
    bool done;          /* the document is complete */
    bool wrong;         /* something was put where it must not be */
};

static void sink(void *to, const char *p, size_t n)
{
    bj_buf_put(to, p, n);
}

static int start(struct bj_json_out *o, bool pretty)
{
    yajl_alloc_funcs funcs = bj_json_mem_funcs(&o->mem);
    if (setjmp(o->mem.out))
        return -ENOMEM;
    o->gen = yajl_gen_alloc(&funcs);
    if (!o->gen)
        return -ENOMEM;
    yajl_gen_config(o->gen, yajl_gen_print_callback, sink, o->to);
    yajl_gen_config(o->gen, yajl_gen_beautify, pretty ? 1 : 0);
    yajl_gen_config(o->gen, yajl_gen_indent_string, "  ");
    return 0;
}

static void out_free(struct bj_json_out *o)
{
    bj_json_mem_free(&o->mem);
    bj_buf_free(&o->clean);
    bj_buf_free(&o->number);
    free(o);
}

int bj_json_out_new(struct bj_buf *to, bool pretty, struct bj_json_out **ret)
{
    struct bj_json_out *o = calloc(1, sizeof(*o));
    if (!o)
        return -ENOMEM;
    o->to = to;
    if (start(o, pretty) < 0) {
        out_free(o);
        return -ENOMEM;
    }
    *ret = o;
    return 0;
}

int bj_json_out_end(struct bj_json_out *o)
{
    if (!o)
        return 0;
    int r = 0;
    if (o->to->failed || o->clean.failed || o->number.failed)
        r = -ENOMEM;
    else if (o->wrong || !o->done)
        r = -EINVAL;
    out_free(o);
    return r;
}

/* --- what may come where --------------------------------------------------*/

static bool in_object(const struct bj_json_out *o)
{
    return o->depth > 0 && o->object[o->depth - 1];
}

static void check(struct bj_json_out *o, yajl_gen_status st)
{
    o->wrong = o->wrong || st != yajl_gen_status_ok;
}

static bool plain(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || (unsigned char)s.p[i] > 0x7e)
            return false;
    return true;
}

/* How many bytes lie before the next control character that yajl escapes. */
static size_t run_length(struct bj_slice s)
{
    size_t n = 0;
    while (n < s.n && (unsigned char)s.p[n] >= 0x20)
        n++;
    return n;
}

static void clean_run(struct bj_buf *to, struct bj_slice s)
{
    size_t cap = 3 * s.n + 1; /* a bad byte becomes three */
    if (s.n > 0 && bj_buf_room(to, cap))
        to->len += bj_text_clean(s, to->p + to->len, cap);
}

/* s with all that is neither UTF-8 nor an escape replaced. */
static struct bj_slice cleaned(struct bj_json_out *o, struct bj_slice s)
{
    if (plain(s))
        return s;
    o->clean.len = 0;
    while (s.n > 0) {
        size_t run = run_length(s);
        clean_run(&o->clean, (struct bj_slice){s.p, run});
        if (run < s.n)
            bj_buf_put(&o->clean, s.p + run++, 1);
        s.p += run;
        s.n -= run;
    }
    if (o->clean.failed)
        return (struct bj_slice){"", 0};
    return (struct bj_slice){o->clean.p, o->clean.len};
}

static void put_text(struct bj_json_out *o, struct bj_slice s)
{
    s = cleaned(o, s);
    check(o, yajl_gen_string(o->gen, (const unsigned char *)(s.p ? s.p : ""),
                             s.n));
}

void bj_json_put_key(struct bj_json_out *o, struct bj_slice key)
{
    if (!in_object(o) || o->keyed)
        o->wrong = true;
    if (o->wrong)
        return;
    put_text(o, key);
    o->keyed = true;
}

/* Whether a value may come now; its key is put. */
static bool begin(struct bj_json_out *o, const char *key)
{
    if (key)
        bj_json_put_key(o, bj_slice_str(key));
    if (o->done || in_object(o) != o->keyed)
        o->wrong = true;
    if (o->wrong)
        return false;
    o->keyed = false;
    o->done = o->depth == 0;
    return true;
}

static bool descend(struct bj_json_out *o, const char *key, bool object)
{
    if (o->depth == DEPTH)
        o->wrong = true;
    if (!begin(o, key))
        return false;
    o->object[o->depth++] = object;
    o->done = false;
    return true;
}

/* --- values ---------------------------------------------------------------*/

void bj_json_put_object(struct bj_json_out *o, const char *key)
{
    if (descend(o, key, true))
        check(o, yajl_gen_map_open(o->gen));
}

void bj_json_put_array(struct bj_json_out *o, const char *key)
{
    if (descend(o, key, false))
        check(o, yajl_gen_array_open(o->gen));
}

void bj_json_put_end(struct bj_json_out *o)
{
    if (o->depth == 0 || o->keyed)
        o->wrong = true;
    if (o->wrong)
        return;
    check(o, in_object(o) ? yajl_gen_map_close(o->gen)
                          : yajl_gen_array_close(o->gen));
    o->done = --o->depth == 0;
}

void bj_json_put_str(struct bj_json_out *o, const char *key, struct bj_slice s)
{
    if (begin(o, key))
        put_text(o, s);
}

static void put_number(struct bj_json_out *o, const char *key, bool minus,
                       uint64_t v, unsigned digits)
{
    if (!begin(o, key))
        return;
    o->number.len = 0;
    if (minus)
        bj_buf_put(&o->number, "-", 1);
    bj_buf_fixed(&o->number, v, digits);
    if (!o->number.failed)
        check(o, yajl_gen_number(o->gen, o->number.p, o->number.len));
}

void bj_json_put_fixed(struct bj_json_out *o, const char *key, uint64_t v,
                       unsigned digits)
{
    if (v == UINT64_MAX)
        bj_json_put_null(o, key);
    else
        put_number(o, key, false, v, digits);
}

void bj_json_put_u64(struct bj_json_out *o, const char *key, uint64_t v)
{
    bj_json_put_fixed(o, key, v, 0);
}

void bj_json_put_i64(struct bj_json_out *o, const char *key, int64_t v)
{
    put_number(o, key, v < 0, v < 0 ? -(uint64_t)v : (uint64_t)v, 0);
}

void bj_json_put_bool(struct bj_json_out *o, const char *key, bool v)
{
    if (begin(o, key))
        check(o, yajl_gen_bool(o->gen, v));
}

void bj_json_put_null(struct bj_json_out *o, const char *key)
{
    if (begin(o, key))
        check(o, yajl_gen_null(o->gen));
}
