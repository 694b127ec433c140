/* Texts that a site translates. */
#include "base/local.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void add(struct bj_locals *l, const char *english, const char *text)
{
    bj_locals_add(l, bj_slice_str(english), bj_slice_str(text));
}

static void expect(struct bj_buf *b, const char *want)
{
    bj_buf_put(b, "", 1);
    assert_false(b->failed);
    assert_string_equal(b->p, want);
    b->len = 0;
}

static void test_english(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    bj_locals_use(NULL);
    assert_string_equal(bj_local("Jobs"), "Jobs");
    bj_local_put(&b, "<%s> {%d of %zu jobs, 5 %%} %.1f%%", "a", 3, (size_t)7,
                 1.25);
    expect(&b, "<a> 3 of 7 jobs, 5 % 1.2%");
    bj_local_str(&b, "{100 % of it} %d");
    expect(&b, "100 % of it %d");
    bj_buf_free(&b);
}

static void test_site(void **state)
{
    (void)state;
    struct bj_locals l = {.n = 0};
    struct bj_buf b = {0};
    add(&l, "Jobs", "Auftr\xc3\xa4ge");
    add(&l, "a", "first");
    add(&l, "zz", "last");
    add(&l, "{1} of {2} jobs, {3}", "%n {2}: <{3}> & {1}%s");
    add(&l, "a", "second"); /* the last one counts */
    assert_int_equal(l.n, 4);
    assert_true(bj_locals_has(&l, BJ_SLICE("zz")));
    assert_false(bj_locals_has(&l, BJ_SLICE("z")));
    bj_locals_use(&l);
    assert_string_equal(bj_local("a"), "second");
    assert_string_equal(bj_local("zz"), "last");
    assert_string_equal(bj_local("Job"), "Job");
    /* Each placeholder gets its value; a translation is never a format. */
    bj_local_put(&b, "%s {%d of %zu jobs, %s} %d", "x", 3, (size_t)7, "<y>", 9);
    expect(&b, "x %n 7: <<y>> & 3%s 9");
    bj_local_html(&b, "<b>{%d of %zu jobs, %s}</b>", 3, (size_t)7, "y");
    expect(&b, "<b>%n 7: &lt;y&gt; &amp; 3%s</b>");
    assert_string_equal(bj_local_escaped("{1} of {2} jobs, {3}"),
                        "%n {2}: &lt;{3}&gt; &amp; {1}%s");
    assert_string_equal(bj_local_escaped("Job &amp;"), "Job &amp;");
    bj_local_html_str(&b, "<i>{Jobs}</i> {Job}");
    expect(&b, "<i>Auftr\xc3\xa4ge</i> Job");
    bj_locals_use(NULL);
    assert_string_equal(bj_local("a"), "a");
    bj_locals_free(&l);
    bj_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_english),
        cmocka_unit_test(test_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
