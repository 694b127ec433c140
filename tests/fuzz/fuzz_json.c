/* base/json.h: any input is read within the limits; a tree that is written and
 * parsed again is the same; and a stream of pieces of any size passes on the
 * same elements as the tree.  The first byte chooses the size of the pieces and
 * the limits. */
#include "base/json.h"
#include "tests/fuzz/fuzz.h"

/* Write a tree; numbers are written as strings. */
static void write_tree(struct bj_json_out *o, const struct bj_json *v)
{
    bool yes = false;
    switch (bj_json_kind(v)) {
    case BJ_JSON_ARRAY:
    case BJ_JSON_OBJECT:
        if (bj_json_kind(v) == BJ_JSON_ARRAY)
            bj_json_put_array(o, NULL);
        else
            bj_json_put_object(o, NULL);
        BJ_JSON_EACH(c, v)
        {
            if (bj_json_key(c).p)
                bj_json_put_key(o, bj_json_key(c));
            write_tree(o, c);
        }
        bj_json_put_end(o);
        break;
    case BJ_JSON_BOOL:
        MUST(bj_json_bool(v, &yes) == 0);
        bj_json_put_bool(o, NULL, yes);
        break;
    case BJ_JSON_NULL:
        bj_json_put_null(o, NULL);
        break;
    default:
        bj_json_put_str(o, NULL, bj_json_text(v));
    }
}

static void dump(struct bj_buf *b, const struct bj_json *v)
{
    struct bj_json_out o = {.to = b};
    write_tree(&o, v);
    MUST(bj_json_out_end(&o) == 0);
}

static void check_value(const struct bj_json *v, unsigned depth)
{
    uint64_t u = 1, s = 1;
    int64_t i = 1;
    bool b;
    size_t n = 0;
    MUST(depth <= 64);
    struct bj_slice t = bj_json_text(v);
    MUST(!t.p || t.p[t.n] == '\0');
    int ru = bj_json_u64(v, &u), ri = bj_json_i64(v, &i);
    if (ru == 0 && ri == 0)
        MUST((uint64_t)i == u);
    if (bj_json_kind(v) == BJ_JSON_NUMBER)
        MUST((ru == 0 || ru == -ERANGE) && (ri == 0 || ri == -ERANGE));
    for (unsigned digits = 0; digits <= 18; digits += 9) {
        int64_t f;
        if (bj_json_fixed(v, digits, &f) == 0 && f != 0 && ri == 0 && i != 0)
            MUST((f < 0) == (i < 0));
    }
    bj_json_bool(v, &b);
    MUST(bj_json_slurm_u64(v, &s) <= 1);
    BJ_JSON_EACH(c, v)
    {
        MUST(bj_json_at(v, n) == c || n > 100);
        if (bj_json_kind(v) == BJ_JSON_OBJECT)
            MUST(bj_json_find(v, bj_json_key(c)) != NULL);
        check_value(c, depth + 1);
        n++;
    }
    MUST(n == bj_json_len(v));
}

static void round_trip(const struct bj_json *v)
{
    struct bj_buf one = {0}, two = {0};
    struct bj_arena a = {0};
    const struct bj_json *w;
    dump(&one, v);
    MUST(bj_json_parse(&a, (struct bj_slice){one.p, one.len}, "fuzz", NULL, &w,
                       NULL) == 0);
    dump(&two, w);
    MUST(one.len == two.len && memcmp(one.p, two.p, one.len) == 0);
    bj_arena_free(&a);
    bj_buf_free(&one);
    bj_buf_free(&two);
}

struct seen {
    struct bj_buf text;
    size_t n;
};

static int element(void *ctx, struct bj_slice key, const struct bj_json *v,
                   struct bj_err *err)
{
    struct seen *s = ctx;
    (void)err;
    bj_buf_slice(&s->text, key);
    dump(&s->text, v);
    s->n++;
    return 0;
}

static int stream(struct bj_slice in, size_t step, const char *path,
                  struct seen *s)
{
    const struct bj_json_target targets[] = {{path, element}, {0}};
    struct bj_json_stream *st;
    struct bj_err err = {0};
    MUST(bj_json_stream_new(targets, s, "fuzz", NULL, &st, NULL) == 0);
    int r = 0;
    while (r == 0 && in.n > 0) {
        size_t n = in.n < step ? in.n : step;
        char *mem;
        struct bj_slice piece = fuzz_exact(in.p, n, &mem);
        r = bj_json_stream_feed(st, piece, &err);
        free(mem);
        in.p += n;
        in.n -= n;
    }
    if (r == 0)
        r = bj_json_stream_end(st, &err);
    MUST(r == err.code && (r == 0 || err.msg[0]));
    bj_json_stream_free(st);
    return r;
}

/* A stream passes on the elements that the tree has. */
static void compare(struct bj_slice in, size_t step, const struct bj_json *v)
{
    struct seen got = {0}, want = {0};
    struct bj_err err;
    bool many =
        bj_json_kind(v) == BJ_JSON_ARRAY || bj_json_kind(v) == BJ_JSON_OBJECT;
    int r = stream(in, step, "", &got);
    MUST((r == 0) == (v != NULL));
    if (v && !many)
        element(&want, (struct bj_slice){"", 0}, v, &err);
    BJ_JSON_EACH(c, v)
    {
        struct bj_slice key = bj_json_key(c);
        element(&want, key.p ? key : (struct bj_slice){"", 0}, c, &err);
    }
    if (v) {
        MUST(got.n == want.n && got.text.len == want.text.len);
        MUST(got.text.len == 0 ||
             memcmp(got.text.p, want.text.p, got.text.len) == 0);
    }
    bj_buf_free(&got.text);
    bj_buf_free(&want.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *mem;
    struct bj_slice in = fuzz_exact(data + 1, size - 1, &mem);
    size_t step = data[0] % 32u + 1;
    struct bj_arena a = {0};
    const struct bj_json *v = NULL;
    struct bj_err err = {0};
    struct bj_json_limits lim = {.depth = data[0] & 64 ? 3 : 60,
                                 .values = data[0] & 128 ? 5 : 0};
    int r = bj_json_parse(&a, in, "fuzz", &lim, &v, &err);
    MUST(r == err.code && (r == 0) == (v != NULL));
    if (r == 0) {
        check_value(v, 1);
        round_trip(v);
    }
    if (r == 0 || r == -EINVAL)
        compare(in, step, v);
    struct seen s = {0};
    stream(in, step, "a.b", &s);
    stream(in, step, "/0/a/1", &s);
    bj_buf_free(&s.text);
    bj_arena_free(&a);
    free(mem);
    return 0;
}
