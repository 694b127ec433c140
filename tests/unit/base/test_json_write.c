/* The JSON writer. Expected texts were written by Python's json module. */
#include "base/json.h"
#include "tests/unit/lib/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void document(struct bj_json_out *o)
{
    bj_json_put_object(o, NULL);
    bj_json_put_u64(o, "job_id", 18446744073709551614u);
    bj_json_put_str(o, "name", BJ_SLICE("a\"b\\c/d\ne"));
    bj_json_put_array(o, "nodes");
    bj_json_put_str(o, NULL, BJ_SLICE("n1"));
    bj_json_put_str(o, NULL, BJ_SLICE("n2"));
    bj_json_put_end(o);
    bj_json_put_u64(o, "absent", UINT64_MAX);
    bj_json_put_i64(o, "nice", -5);
    bj_json_put_i64(o, "least", INT64_MIN);
    bj_json_put_bool(o, "done", true);
    bj_json_put_bool(o, "failed", false);
    bj_json_put_null(o, "end");
    bj_json_put_key(o, BJ_SLICE("by\"user"));
    bj_json_put_object(o, NULL);
    bj_json_put_end(o);
    bj_json_put_array(o, "none");
    bj_json_put_end(o);
    bj_json_put_end(o);
}

static void all_kinds(void **state)
{
    static const char want[] =
        "# {\"job_id\":18446744073709551614,\"name\":\"a\\\"b\\\\c/d\\ne\","
        "\"nodes\":[\"n1\",\"n2\"],"
        "\"absent\":null,\"nice\":-5,"
        "\"least\":-9223372036854775808,\"done\":true,\"failed\":false,"
        "\"end\":null,\"by\\\"user\":{},\"none\":[]}";
    struct bj_buf b = {0};
    (void)state;
    bj_buf_str(&b, "# ");
    struct bj_json_out out = {.to = &b}, *o = &out;
    document(o);
    assert_int_equal(bj_json_out_end(o), 0);
    bj_buf_put(&b, "", 1);
    assert_string_equal(b.p, want);
    bj_buf_free(&b);
}

static void strings(void **state)
{
#define S(lit)                                                                 \
    {                                                                          \
        lit, sizeof(lit) - 1                                                   \
    }
    static const struct {
        struct bj_slice in;
        const char *want;
    } cases[] = {
        {S(""), "\"\""},
        {S("plain"), "\"plain\""},
        {S("\t\b\f\r\n"), "\"\\t\\b\\f\\r\\n\""},
        {S("a\0b"), "\"a\\u0000b\""},
        {S("\x01\x1f"), "\"\\u0001\\u001f\""},
        {S("Br\xc3\xbc"
           "cke\n\xf0\x9f\x8c\x89"),
         "\"Br\xc3\xbc"
         "cke\\n\xf0\x9f\x8c\x89\""},
        {S("M\xfcller"), "\"M\xef\xbf\xbdller\""},
        {S("\xff\xfe\n\xff"), "\"\xef\xbf\xbd\xef\xbf\xbd\\n\xef\xbf\xbd\""},
        {S("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {S("x\x7fy\xc2\x85z"), "\"x?y?z\""},
        {S("\xc3\n"), "\"\xef\xbf\xbd\\n\""},
        {S("</script>"), "\"</script>\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_buf b = {0};
        struct bj_json_out out = {.to = &b}, *o = &out;
        bj_json_put_str(o, NULL, cases[i].in);
        assert_int_equal(bj_json_out_end(o), 0);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, cases[i].want);
        bj_buf_free(&b);
    }
    struct bj_buf b = {0};
    struct bj_json_out out = {.to = &b}, *o = &out;
    bj_json_put_str(o, NULL, (struct bj_slice){NULL, 0});
    assert_int_equal(bj_json_out_end(o), 0);
    assert_int_equal(b.len, 2);
    bj_buf_free(&b);
}

/* Call the writer, one call for each letter: { [ begin, any other character
 * ends an object or array, k is a key, v and V are values, K and O have a
 * key. */
static int call_writer(const char *calls, bool *empty)
{
    struct bj_buf b = {0};
    struct bj_json_out out = {.to = &b}, *o = &out;
    for (; *calls; calls++) {
        switch (*calls) {
        case '{':
            bj_json_put_object(o, NULL);
            break;
        case '[':
            bj_json_put_array(o, NULL);
            break;
        case 'k':
            bj_json_put_key(o, BJ_SLICE("k"));
            break;
        case 'v':
            bj_json_put_u64(o, NULL, 1);
            break;
        case 'V':
            bj_json_put_str(o, NULL, BJ_SLICE("s"));
            break;
        case 'K':
            bj_json_put_null(o, "k");
            break;
        case 'O':
            bj_json_put_object(o, "k");
            break;
        default:
            bj_json_put_end(o);
        }
    }
    *empty = b.len == 0;
    int r = bj_json_out_end(o);
    bj_buf_free(&b);
    return r;
}

static void order_of_calls(void **state)
{
    static const char *const right[] = {
        "v", "V", "{}", "[]", "[vV[]{}]", "{K}", "{kvK}", "{k[]}", "{O}k{}}"};
    static const char *const wrong[] = {
        "",    "{",   "[",   "]",   "vv",   "{v}", "{V}",  "[K]", "K",  "k",
        "{k}", "{kk", "{}]", "{}v", "{kK}", "[k]", "{[]}", "{kv", "[O]"};
    bool empty;
    (void)state;
    for (size_t i = 0; i < COUNT(right); i++)
        if (call_writer(right[i], &empty) != 0)
            fail_msg("%s", right[i]);
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (call_writer(wrong[i], &empty) != -EINVAL)
            fail_msg("%s", wrong[i]);

    char deep[201];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    deep[200] = '\0';
    assert_int_equal(call_writer(deep, &empty), 0);
    memset(deep, '[', 101);
    assert_int_equal(call_writer(deep, &empty), -EINVAL);
}

/* The parser reads back what the writer wrote. */
static void written_documents_are_readable(void **state)
{
    struct bj_buf b = {0};
    struct bj_arena a = {0};
    const struct bj_json *v;
    uint64_t u;
    int64_t i;
    (void)state;
    struct bj_json_out out = {.to = &b}, *o = &out;
    document(o);
    assert_int_equal(bj_json_out_end(o), 0);
    assert_int_equal(
        bj_json_parse(&a, (struct bj_slice){b.p, b.len}, "doc", NULL, &v, NULL),
        0);
    assert_int_equal(bj_json_u64(bj_json_get(v, "job_id"), &u), 0);
    assert_true(u == 18446744073709551614u);
    assert_string_equal(bj_json_text(bj_json_get(v, "name")).p, "a\"b\\c/d\ne");
    assert_int_equal(bj_json_i64(bj_json_get(v, "least"), &i), 0);
    assert_true(i == INT64_MIN);
    assert_true(bj_json_is_null(bj_json_get(v, "absent")));
    bj_arena_free(&a);
    bj_buf_free(&b);
}

static int write_once(void *arg)
{
    struct bj_buf b = {0};
    struct bj_json_out o = {.to = &b};
    (void)arg;
    document(&o);
    int r = bj_json_out_end(&o);
    bj_buf_free(&b);
    return r;
}

static void no_memory(void **state)
{
    (void)state;
    assert_true(bj_fail_each(write_once, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds),
        cmocka_unit_test(strings),
        cmocka_unit_test(order_of_calls),
        cmocka_unit_test(written_documents_are_readable),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
