/* Errors: what a message holds after setting, wrapping and printing. */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* What a system call or a callee returned: not a name in the call. */
static const int missing = -ENOENT, io = -EIO;

static void set_and_text(void **state)
{
    (void)state;
    struct bj_err err = {0};
    char buf[300];
    assert_int_equal(bj_err_set(&err, missing, "open %s", "cpu.stat"), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    assert_string_equal(err.msg, "open cpu.stat");
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)),
                        "open cpu.stat: No such file or directory");
}

static void without_err(void **state)
{
    (void)state;
    assert_int_equal(bj_err_set(NULL, -EIO, "x %d", 1), -EIO);
    assert_int_equal(bj_err_wrap(NULL, -EIO, "x %d", 1), -EIO);
}

static void text_of_odd_errors(void **state)
{
    (void)state;
    struct bj_err err = {0};
    char buf[300];
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)), "");
    memcpy(err.msg, "plain", 6);
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)), "plain");
    err = (struct bj_err){.code = -EINVAL};
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)),
                        "Invalid argument");
    assert_string_equal(bj_err_text(&err, buf, 4), "Inv");
    assert_string_equal(bj_err_text(&err, buf, 1), "");
    buf[0] = 'x';
    bj_err_text(&err, buf, 0);
    assert_int_equal(buf[0], 'x');
}

static void wrap_puts_context_in_front(void **state)
{
    (void)state;
    struct bj_err err = {0};
    bj_err_set(&err, -ERANGE, "cpu.stat: bad line");
    assert_int_equal(bj_err_wrap(&err, -EIO, "job %d", 4711), -EIO);
    assert_int_equal(err.code, -EIO);
    assert_string_equal(err.msg, "job 4711: cpu.stat: bad line");
    /* The new message may contain the old one. */
    bj_err_set(&err, -EIO, "a");
    bj_err_set(&err, -EIO, "<%s>", err.msg);
    bj_err_wrap(&err, -EIO, "[%s]", err.msg);
    assert_string_equal(err.msg, "[<a>]: <a>");
}

/* A recoded error keeps the text of its first code; printing adds no other. */
static void recode_keeps_the_text(void **state)
{
    (void)state;
    struct bj_err err = {0};
    char buf[300];
    bj_err_set(&err, missing, "open f");
    assert_int_equal(bj_err_recode(&err, -EACCES), -EACCES);
    assert_int_equal(err.code, -EACCES);
    assert_int_equal(bj_err_wrap(&err, -EACCES, "option"), -EACCES);
    static const char want[] = "option: open f: No such file or directory";
    assert_string_equal(err.msg, want);
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)), want);
    assert_string_equal(bj_err_reason(&err, buf, sizeof(buf)), want);
    bj_err_recode(&err, -EPERM);
    assert_string_equal(err.msg, want);
    bj_err_set(&err, -EINVAL, "f is empty");
    bj_err_recode(&err, -EACCES);
    assert_string_equal(err.msg, "f is empty");
    bj_err_set(&err, io, "again");
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)),
                        "again: Input/output error");
    assert_int_equal(bj_err_recode(NULL, -EIO), -EIO);
}

/* A message of any length is the full text, cut to the buffer. */
static void long_messages_are_cut(void **state)
{
    (void)state;
    for (int outer = 0; outer < 300; outer++)
        for (int inner = 0; inner < 300; inner += 7) {
            struct bj_err err = {0};
            char want[700];
            memset(want, 'o', (size_t)outer);
            memcpy(want + outer, ": ", 2);
            memset(want + outer + 2, 'i', (size_t)inner);
            want[outer + 2 + inner] = '\0';
            bj_err_set(&err, -EIO, "%s", want + outer + 2);
            bj_err_wrap(&err, -EIO, "%.*s", outer, want);
            size_t len = strlen(err.msg);
            assert_true(len < sizeof(err.msg));
            assert_memory_equal(err.msg, want, len);
            /* It is cut only if it does not fit. */
            size_t full = strlen(want), room = sizeof(err.msg) - 1;
            if (full <= room)
                assert_int_equal(len, full);
            else
                assert_true(len >= room - 2);
        }
}

static void reasons(void **state)
{
    static const int explained[] = {EINVAL,  ERANGE, EBADMSG,
                                    ENOTSUP, EAGAIN, EREMOTEIO};
    char buf[64];
    struct bj_err err;
    (void)state;
    for (size_t i = 0; i < sizeof(explained) / sizeof(explained[0]); i++) {
        bj_err_set(&err, -explained[i], "it is so");
        assert_string_equal(bj_err_reason(&err, buf, sizeof(buf)), "it is so");
    }
    bj_err_set(&err, missing, "open x");
    assert_string_equal(bj_err_reason(&err, buf, sizeof(buf)),
                        "open x: No such file or directory");
}

/* A reason of the program itself is not followed by words of the system. */
static void own_reasons(void **state)
{
    (void)state;
    struct bj_err err = {0}, copy = {0};
    char buf[300];
    bj_err_set(&err, -EPERM, "f is not trusted");
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)),
                        "f is not trusted");
    bj_err_wrap(&err, -EINVAL, "option");
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)),
                        "option: f is not trusted");
    bj_err_set(&err, -ENOMEM, "store");
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)),
                        "store: Cannot allocate memory");
    /* A new code has another text: the one of the old code stays. */
    bj_err_set(&err, missing, "open f");
    bj_err_wrap(&err, -EINVAL, "option");
    assert_string_equal(bj_err_text(&err, buf, sizeof(buf)),
                        "option: open f: No such file or directory");
    assert_int_equal(bj_err_copy(&copy, -EAGAIN, &err), -EAGAIN);
    assert_int_equal(copy.code, -EAGAIN);
    assert_string_equal(bj_err_text(&copy, buf, sizeof(buf)),
                        "option: open f: No such file or directory");
    assert_int_equal(bj_err_copy(NULL, -EIO, &err), -EIO);
}

/* Names and replies of others are part of messages: no line end, escape
 * sequence or piece of a character of theirs is. */
static void no_controls(void **state)
{
    (void)state;
    struct bj_err err = {0};
    bj_err_set(&err, -EINVAL, "job '%s'",
               "a\r\nlevel=error\033[2J\x7f\xc2\x9b\xff");
    assert_string_equal(err.msg, "job 'a?"
                                 "?level=error?[2J?"
                                 "?\xef\xbf\xbd'");
    bj_err_wrap(&err, -EINVAL, "file '%s'", "\n\r");
    assert_string_equal(err.msg, "file '?"
                                 "?': job 'a?"
                                 "?level=error?[2J?"
                                 "?\xef\xbf\xbd'");
}

static void gone(void **state)
{
    (void)state;
    assert_true(bj_err_gone(-ENOENT));
    assert_true(bj_err_gone(-ENODEV));
    assert_true(bj_err_gone(-ESRCH));
    assert_false(bj_err_gone(0));
    assert_false(bj_err_gone(-EIO));
    assert_false(bj_err_gone(ENOENT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_and_text),
        cmocka_unit_test(without_err),
        cmocka_unit_test(text_of_odd_errors),
        cmocka_unit_test(wrap_puts_context_in_front),
        cmocka_unit_test(recode_keeps_the_text),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(reasons),
        cmocka_unit_test(own_reasons),
        cmocka_unit_test(no_controls),
        cmocka_unit_test(gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
