/* Files with a password or a token: which contents are accepted, and the
 * messages for the others. */
#include "base/secret_file.h"

#include "tests/unit/lib/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
    const char *text; /* NULL: no file */
    mode_t mode;
    const char *secret;  /* NULL: an error */
    const char *message; /* the whole message after the path */
} cases[] = {
    {"s3cret\n", 0600, "s3cret", NULL},
    {"s3cret", 0400, "s3cret", NULL},
    {"s3cret\r\n", 0640, "s3cret", NULL},
    {" \tp#ss w\xc3\xb6rd \n\n", 0600, "p#ss w\xc3\xb6rd", NULL},
    {"0123456789abcde", 0600, "0123456789abcde", NULL},
    {NULL, 0, NULL, ": No such file or directory"},
    {"", 0600, NULL, " is empty"},
    {" \n", 0600, NULL, " is empty"},
    {"a\nb\n", 0600, NULL, ": expected one line"},
    {"a\x7f", 0600, NULL, ": expected one line"},
    {"0123456789abcdef", 0600, NULL, " has 16 bytes or more"},
    {"a", 0644, NULL, " is not trusted: all users can read it"},
    {"a", 0620, NULL,
     " is not trusted: its group or all users can write to it"},
};

static void files(void **state)
{
    (void)state;
    char path[200], buf[16], text[300];
    snprintf(path, sizeof(path), "%s/f", tmp_make());
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_err err = {0};
        memset(buf, 'x', sizeof(buf));
        if (cases[i].text) {
            tmp_file("f", cases[i].text);
            assert_int_equal(chmod(path, cases[i].mode), 0);
        }
        int r = bj_secret_read(path, buf, sizeof(buf), &err);
        assert_int_equal(r, cases[i].secret ? 0 : -EACCES);
        assert_string_equal(buf, cases[i].secret ? cases[i].secret : "");
        if (!cases[i].secret) {
            assert_int_equal(err.code, -EACCES);
            const char *at =
                strstr(bj_err_text(&err, text, sizeof(text)), path);
            assert_non_null(at);
            assert_string_equal(at + strlen(path), cases[i].message);
            for (size_t k = 0; k < sizeof(buf); k++)
                assert_int_equal(buf[k], 0);
        }
        if (cases[i].text)
            tmp_remove("f");
    }
    tmp_gone();
}

static void no_file_configured(void **state)
{
    (void)state;
    char buf[8] = "x";
    assert_int_equal(bj_secret_read(NULL, buf, sizeof(buf), NULL), 0);
    assert_string_equal(buf, "");
    buf[0] = 'x';
    assert_int_equal(bj_secret_read("", buf, sizeof(buf), NULL), 0);
    assert_string_equal(buf, "");
    assert_int_equal(bj_secret_read("/nonexistent", buf, sizeof(buf), NULL),
                     -EACCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),
        cmocka_unit_test(no_file_configured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
