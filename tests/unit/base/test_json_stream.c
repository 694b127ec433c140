/* The JSON stream reader, which hands over single elements of a document, with
 * input in pieces of every size. */
#include "base/json.h"
#include "tests/unit/lib/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The elements that the callbacks got, as text: "a:KEY:VALUE " for each, where
 * a is the target, scalars end in a comma, and members have "key=" before
 * them. */
struct seen {
    struct bj_buf got;
    int stop_at, count; /* element that the callback refuses; 0: none */
};

static void show(struct bj_buf *b, const struct bj_json *v)
{
    enum bj_json_kind kind = bj_json_kind(v);
    struct bj_slice key = bj_json_key(v);
    if (key.p)
        bj_buf_printf(b, "%s=", key.p);
    if (kind == BJ_JSON_OBJECT || kind == BJ_JSON_ARRAY) {
        bj_buf_str(b, kind == BJ_JSON_OBJECT ? "{" : "[");
        BJ_JSON_EACH(c, v)
        {
            show(b, c);
        }
        bj_buf_str(b, kind == BJ_JSON_OBJECT ? "}" : "]");
    } else if (kind == BJ_JSON_NULL) {
        bj_buf_str(b, "null,");
    } else {
        bool yes = false;
        if (bj_json_bool(v, &yes) == 0 && kind == BJ_JSON_BOOL)
            bj_buf_str(b, yes ? "true" : "false");
        bj_buf_slice(b, bj_json_text(v));
        bj_buf_str(b, ",");
    }
}

static int take(struct seen *s, char which, struct bj_slice key,
                const struct bj_json *v, struct bj_err *err)
{
    if (++s->count == s->stop_at)
        return bj_err_set(err, -ELOOP, "enough");
    bj_buf_printf(&s->got, "%c:%.*s:", which, (int)key.n, key.p);
    show(&s->got, v);
    bj_buf_str(&s->got, " ");
    return 0;
}

static int take_a(void *s, struct bj_slice key, const struct bj_json *v,
                  struct bj_err *err)
{
    return take(s, 'a', key, v, err);
}

static int take_b(void *s, struct bj_slice key, const struct bj_json *v,
                  struct bj_err *err)
{
    return take(s, 'b', key, v, err);
}

static int feed_all(struct bj_json_stream *st, const char *text, size_t step,
                    struct bj_err *err)
{
    size_t n = strlen(text);
    int r = 0;
    for (size_t at = 0; at < n && r == 0; at += step) {
        size_t len = n - at < step ? n - at : step;
        char *exact = malloc(len);
        if (!exact)
            return bj_err_set(err, -ENOMEM, "memory is short");
        memcpy(exact, text + at, len);
        r = bj_json_stream_feed(st, (struct bj_slice){exact, len}, err);
        free(exact);
    }
    return r == 0 ? bj_json_stream_end(st, err) : r;
}

static const struct {
    const char *a, *b; /* paths */
    const char *text, *want;
    const char *met;
} target_cases[] = {
    {"jobs", NULL, "{\"jobs\":[{\"id\":1,\"n\":\"x\"},{\"id\":2}]}",
     "a::{id=1,n=x,} a::{id=2,} ", "a"},
    /* values of any shape outside the target are skipped */
    {"jobs", NULL,
     "{\"meta\":{\"jobs\":[9]},\"x\":[[{\"jobs\":[8]}]],\"jobs\":[1,null,"
     "[2,[3]],true,\"s\"],\"jobs2\":[7],\"y\":{\"jobs\":[6]}}",
     "a::1, a::null, a::[2,[3,]] a::true, a::s, ", "a"},
    /* PBS: members of an object */
    {"Jobs", "pbs_version",
     "{\"timestamp\":1,\"pbs_version\":\"22.05\",\"Jobs\":{\"1.srv\":{"
     "\"Job_Name\":\"a\"},\"2[].srv\":{\"Job_Name\":\"b\"}}}",
     "b:pbs_version:22.05, a:1.srv:{Job_Name=a,} a:2[].srv:{Job_Name=b,} ",
     "ab"},
    /* the whole document */
    {"", NULL, "[[1],[2,3],4]", "a::[1,] a::[2,3,] a::4, ", "a"},
    {"", NULL, "{\"a\":1,\"b\":[2]}", "a:a:1, a:b:[2,] ", "a"},
    {"", NULL, "\"s\"", "a::s, ", "a"},
    /* nested targets, also through arrays */
    {"a.b.c", NULL, "{\"a\":{\"b\":{\"c\":[1,2]},\"c\":[3]},\"c\":[4]}",
     "a::1, a::2, ", "a"},
    {"x.1.y", NULL, "{\"x\":[{\"y\":[0]},{\"z\":1,\"y\":[1]},{\"y\":[2]}]}",
     "a::1, ", "a"},
    {"/a.b/c", NULL, "{\"a\":{\"b\":{\"c\":[1]}},\"a.b\":{\"c\":[2]}}",
     "a::2, ", "a"},
    {"a.x", "a.y", "{\"a\":{\"x\":[1],\"z\":[2],\"y\":{\"k\":3}}}",
     "a::1, b:k:3, ", "ab"},
    {"a.x", "a.y", "{\"a\":{\"b\":{\"x\":[5]},\"y\":[6],\"x\":7}}",
     "b::6, a:x:7, ", "ab"},
    {"1", "0", "[[5],[6],[7]]", "b::5, a::6, ", "ab"},
    /* empty, absent, null, twice */
    {"jobs", NULL, "{\"jobs\":[]}", "", "a"},
    {"jobs", NULL, "{\"job\":[1]}", "", ""},
    {"jobs", NULL, "{\"jobs\":null}", "a:jobs:null, ", "a"},
    {"jobs", NULL, "{\"jobs\":[1],\"jobs\":[2]}", "a::1, a::2, ", "a"},
    {"a.b", NULL, "{\"a\":[{\"b\":[1]}]}", "", ""},
    {"0", NULL, "{\"0\":[1]}", "a::1, ", "a"},
    {"jobs", NULL, "[]", "", ""},
    {"jobs", NULL, "5", "", ""},
};

static void targets(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(target_cases); i++) {
        const struct bj_json_target want[] = {
            {target_cases[i].a, take_a},
            {target_cases[i].b, take_b},
            {0},
        };
        for (size_t step = 1; step < 120; step += step < 20 ? 1 : 33) {
            struct seen s = {0};
            struct bj_json_stream *st;
            struct bj_err err = {0};
            assert_int_equal(
                bj_json_stream_new(want, &s, "doc", NULL, &st, &err), 0);
            int r = feed_all(st, target_cases[i].text, step, &err);
            bj_buf_put(&s.got, "", 1);
            if (r != 0 || strcmp(s.got.p, target_cases[i].want) != 0)
                fail_msg("%s by %zu: %d %s: %s", target_cases[i].text, step, r,
                         err.msg, s.got.p);
            assert_int_equal(bj_json_stream_found(st, 0),
                             strchr(target_cases[i].met, 'a') != NULL);
            assert_int_equal(bj_json_stream_found(st, 1),
                             strchr(target_cases[i].met, 'b') != NULL);
            assert_false(bj_json_stream_found(st, 2));
            bj_json_stream_free(st);
            bj_buf_free(&s.got);
        }
    }
}

static void bad_targets(void **state)
{
    static const struct bj_json_target tables[][10] = {
        {{"a", take_a}, {"a.b", take_b}},
        {{"a.b", take_a}, {"/a", take_b}},
        {{"a", take_a}, {"a", take_b}},
        {{"", take_a}, {"a", take_b}},
        {{"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q", take_a}},
        {{"a", take_a},
         {"b", take_a},
         {"c", take_a},
         {"d", take_a},
         {"e", take_a},
         {"f", take_a},
         {"g", take_a},
         {"h", take_a},
         {"i", take_a}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(tables); i++) {
        struct bj_json_stream *st = NULL;
        struct bj_err err = {0};
        assert_int_equal(
            bj_json_stream_new(tables[i], NULL, "doc", NULL, &st, &err),
            -EINVAL);
        assert_null(st);
        assert_int_equal(err.code, -EINVAL);
    }
    bj_json_stream_free(NULL);
}

static const struct bj_json_target jobs[] = {{"jobs", take_a}, {0}};

static void failures(void **state)
{
    static const struct {
        const char *text;
        int stop_at, want;
        const char *msg, *got;
    } cases[] = {
        {"{\"jobs\":[1,\n2,\n3]}", 2, -ELOOP, "doc: line 2, byte ", "a::1, "},
        {"{\"jobs\":[1,\n2,\nx]}", 0, -EINVAL, "doc: line 3, byte ",
         "a::1, a::2, "},
        {"{\"jobs\":[1,{\"a\":", 0, -EINVAL, "doc: line 1, byte ", "a::1, "},
        {"{\"jobs\":[1]", 0, -EINVAL, "doc: line 1, byte ", "a::1, "},
        {"", 0, -EINVAL, "doc: line 1, byte 0: premature EOF", ""},
        {"{\"jobs\":[1]}}", 0, -EINVAL, "doc: line 1, byte ", "a::1, "},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct seen s = {.stop_at = cases[i].stop_at};
        struct bj_json_stream *st;
        struct bj_err err = {0};
        assert_int_equal(bj_json_stream_new(jobs, &s, "doc", NULL, &st, &err),
                         0);
        assert_int_equal(feed_all(st, cases[i].text, 1, &err), cases[i].want);
        assert_memory_equal(err.msg, cases[i].msg, strlen(cases[i].msg));
        bj_buf_put(&s.got, "", 1);
        assert_string_equal(s.got.p, cases[i].got);
        /* The error persists. */
        struct bj_err again = {0};
        assert_int_equal(bj_json_stream_feed(st, BJ_SLICE("1"), &again),
                         cases[i].want);
        assert_string_equal(again.msg, err.msg);
        assert_int_equal(bj_json_stream_end(st, NULL), cases[i].want);
        bj_json_stream_free(st);
        bj_buf_free(&s.got);
    }
}

static int stream_limits(const struct bj_json_limits *lim, const char *text,
                         struct bj_err *err)
{
    struct seen s = {0};
    struct bj_json_stream *st;
    assert_int_equal(bj_json_stream_new(jobs, &s, "doc", lim, &st, NULL), 0);
    int r = feed_all(st, text, 65536, err);
    bj_json_stream_free(st);
    bj_buf_free(&s.got);
    return r;
}

static void limits(void **state)
{
    struct bj_json_limits values = {.values = 3}, depth = {.depth = 3},
                          bytes = {.bytes = 100000};
    struct bj_err err = {0};
    (void)state;
    /* the limit is for one element, not for all */
    assert_int_equal(
        stream_limits(&values, "{\"jobs\":[[1,2],[1,2],[1,2]]}", &err), 0);
    assert_int_equal(stream_limits(&values, "{\"jobs\":[[1,2,3]]}", &err),
                     -EFBIG);
    assert_int_equal(stream_limits(&depth, "{\"x\":[[1]],\"jobs\":[]}", &err),
                     0);
    assert_int_equal(stream_limits(&depth, "{\"x\":[[[1]]],\"jobs\":[]}", &err),
                     -EFBIG);
    assert_string_equal(err.msg, "doc: line 1, byte 8: more than 3 nested "
                                 "arrays and objects");
    /* The depth of an element is counted from the element. */
    assert_int_equal(stream_limits(&depth, "{\"jobs\":[[[[1]]]]}", &err), 0);
    assert_int_equal(stream_limits(&depth, "{\"jobs\":[[[[[1]]]]]}", &err),
                     -EFBIG);

    enum { BIG = 400000 };
    char *text = malloc(BIG + 100);
    /* 40000 small elements of 10 bytes are accepted. */
    struct bj_buf b = {0};
    bj_buf_str(&b, "{\"jobs\":[");
    for (int i = 0; i < BIG / 10; i++)
        bj_buf_str(&b, "\"1234567\",");
    bj_buf_put(&b, "1]}", 4);
    assert_int_equal(stream_limits(&bytes, b.p, &err), 0);
    bj_buf_free(&b);
    /* One large string is refused, inside and outside the target. */
    memset(text, 'x', BIG);
    memcpy(text, "{\"jobs\":[\"", 10);
    memcpy(text + BIG, "\"]}", 4);
    assert_int_equal(stream_limits(&bytes, text, &err), -EFBIG);
    assert_string_equal(err.msg, "doc: an element of more than 100000 bytes");
    memcpy(text, "{\"jobz\":[\"", 10);
    assert_int_equal(stream_limits(&bytes, text, &err), -EFBIG);
    /* So are blanks without end. */
    memset(text, ' ', BIG);
    assert_int_equal(stream_limits(&bytes, text, &err), -EFBIG);
    free(text);
}

static int count_one(void *ctx, struct bj_slice key, const struct bj_json *v,
                     struct bj_err *err)
{
    uint64_t id;
    (void)key;
    (void)err;
    if (bj_json_u64(bj_json_get(v, "job_id"), &id) == 0)
        *(uint64_t *)ctx += id;
    return 0;
}

/* The reader hands over 100,000 jobs. There is no limit on the whole. */
static void a_hundred_thousand_jobs(void **state)
{
    static const struct bj_json_target want[] = {{"jobs", count_one}, {0}};
    uint64_t sum = 0;
    struct bj_json_stream *st;
    struct bj_buf b = {0};
    (void)state;
    assert_int_equal(bj_json_stream_new(want, &sum, "doc", NULL, &st, NULL), 0);
    bj_buf_str(&b, "{\"jobs\":[\n");
    for (uint64_t id = 1; id <= 100000; id++) {
        bj_buf_printf(&b, "%s{\"job_id\":%llu,\"name\":\"job\\n\"}",
                      id > 1 ? "," : "", (unsigned long long)id);
        if (b.len > 4000 || id == 100000) {
            struct bj_slice piece = {b.p, b.len};
            assert_int_equal(bj_json_stream_feed(st, piece, NULL), 0);
            b.len = 0;
        }
    }
    assert_int_equal(bj_json_stream_feed(st, BJ_SLICE("]}"), NULL), 0);
    assert_int_equal(bj_json_stream_end(st, NULL), 0);
    assert_int_equal(sum, 100000ull * 100001 / 2);
    bj_json_stream_free(st);
    bj_buf_free(&b);
}

/* The reader skips the named members of elements, of any content and size.
 * Members of the same name at other levels are kept. */
static void skipped(void **state)
{
    static const char *const names[] = {"x", "big", NULL};
    static const struct {
        const char *text, *got;
    } cases[] = {
        {"{\"jobs\":[{\"a\":1,\"x\":2,\"b\":3},{\"x\":\"s\"}]}",
         "a::{a=1,b=3,} a::{} "},
        {"{\"jobs\":[{\"x\":{\"a\":[1,{\"x\":[]}]},\"b\":{\"x\":1}}]}",
         "a::{b={x=1,}} "},
        {"{\"x\":[9],\"jobs\":[{\"big\":[[[[1]]]],\"a\":null},[\"x\",1]]}",
         "a::{a=null,} a::[x,1,] "},
        {"{\"jobs\":{\"x\":{\"a\":1}}}", "a:x:{a=1,} "},
    };
    const struct bj_json_limits lim = {
        .bytes = 100000, .values = 5, .depth = 6, .skip = names};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t step = 1; step < 60; step += 7) {
            struct seen s = {0};
            struct bj_json_stream *st;
            assert_int_equal(
                bj_json_stream_new(jobs, &s, "doc", &lim, &st, NULL), 0);
            assert_int_equal(feed_all(st, cases[i].text, step, NULL), 0);
            bj_buf_put(&s.got, "", 1);
            assert_string_equal(s.got.p, cases[i].got);
            bj_json_stream_free(st);
            bj_buf_free(&s.got);
        }
    struct bj_buf b = {0};
    struct bj_err err = {0};
    bj_buf_str(&b, "{\"jobs\":[{\"big\":[");
    for (int i = 0; i < 100000; i++)
        bj_buf_str(&b, "[1,2],");
    bj_buf_put(&b, "0]}]}", 6);
    assert_int_equal(stream_limits(&lim, b.p, &err), 0);
    /* A string in a skipped member may not be longer than an element, */
    b.len = 0;
    bj_buf_str(&b, "{\"jobs\":[{\"big\":\"");
    for (int i = 0; i < 200000; i++)
        bj_buf_str(&b, "xx");
    bj_buf_put(&b, "\"}]}", 5);
    assert_int_equal(stream_limits(&lim, b.p, &err), -EFBIG);
    bj_buf_free(&b);
    /* and the limit of depth applies to it. */
    assert_int_equal(
        stream_limits(&lim, "{\"jobs\":[{\"big\":[[[[[[[1]]]]]]]}]}", &err),
        -EFBIG);
}

static int read_once(void *arg)
{
    struct seen s = {0};
    struct bj_json_stream *st;
    struct bj_err err = {0};
    int r = bj_json_stream_new(jobs, &s, "doc", NULL, &st, &err);
    if (r < 0)
        return r;
    r = feed_all(st, arg, 7, &err);
    assert_int_equal(err.code, r);
    if (s.got.failed)
        r = -ENOMEM;
    bj_json_stream_free(st);
    bj_buf_free(&s.got);
    return r;
}

static void no_memory(void **state)
{
    char text[] = "{\"key\":1,\"jobs\":[{\"a\":\"b\\tc\",\"d\":[1,2,3]}]}";
    (void)state;
    assert_true(bj_fail_each(read_once, text) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets),
        cmocka_unit_test(bad_targets),
        cmocka_unit_test(failures),
        cmocka_unit_test(limits),
        cmocka_unit_test(a_hundred_thousand_jobs),
        cmocka_unit_test(skipped),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
