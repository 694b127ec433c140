/* The file with the texts of a site: errors, and the printed catalogue. */
#include "base/buf.h"
#include "base/err.h"
#include "report/model/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct bj_err err;

static void test_catalogue_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"# fine\n\n ends = x\n", "f:3: 'ends' is not the name of a text"},
        {"timeout\n", "f:1: NAME = TEXT is expected"},
        {"timeout =\n", "f:1: a text of 1 to 2000 bytes is expected"},
        {"timeout = It is over.\n", "f:1: the same values are expected as in "
                                    "'The job reached its time limit of {1}.'"},
        {"timeout = {1} {2}\n", "f:1: the same values"},
        {"timeout = {1}\ntimeout = {1}\n", "f:2: 'timeout' is there twice"},
        {"\"timeout\" = {1}\n", "f:1: 'timeout' is not the name of a text"},
        {"Jobs = x\n", "f:1: 'Jobs' is not the name of a text"},
        {"\"Jobs\" = x\n\"Jobs\" = x\n", "f:2: 'Jobs' is there twice"},
        {"\"{1} tasks\" = x\n", "f:1: the same values are expected as in "
                                "'{1} tasks'"},
        {"\"CPU efficiency was {value} %.\" = x {value} {time}\n",
         "f:1: the same values"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bj_catalogue c = {.arena = {0}};
        assert_int_equal(
            bj_catalogue_parse(bj_slice_str(bad[i].text), "f", &c, &err),
            -EINVAL);
        if (strncmp(err.msg, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("%s", err.msg);
        bj_catalogue_free(&c);
    }
    struct bj_catalogue c = {.arena = {0}};
    assert_true(bj_catalogue_load("/nonexistent", &c, &err) < 0);
    assert_non_null(strstr(err.msg, "/nonexistent"));
}

/* The printed catalogue can be read again and contains the same texts. */
static void test_printed_catalogue(void **state)
{
    (void)state;
    struct bj_buf text = {0};
    struct bj_catalogue c = {.arena = {0}};
    bj_catalogue_print(&text);
    assert_int_equal(
        bj_catalogue_parse((struct bj_slice){text.p, text.len}, "f", &c, &err),
        0);
    for (unsigned i = 0; i < BJ_SENTENCE_COUNT; i++)
        assert_true(bj_slice_eq(c.text[i], bj_slice_str(bj_sentences[i])));
    assert_true(c.locals.n > 400);
    for (size_t i = 0; i < c.locals.n; i++)
        assert_true(bj_slice_eq(c.locals.text[i].text,
                                bj_slice_str(c.locals.text[i].english.p)));
    bj_catalogue_free(&c);
    bj_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue_errors),
        cmocka_unit_test(test_printed_catalogue)};
    return cmocka_run_group_tests_name("catalogue", tests, NULL, NULL);
}
