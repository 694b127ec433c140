/* Logging: standard error is redirected to a pipe and compared. */
#include "base/log.h"

#include "tests/unit/lib/testclock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char got[1 << 16];

/* Call fn and store its output in got. */
static size_t catch_stderr(void (*fn)(const void *), const void *arg)
{
    int ends[2], saved = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_true(saved >= 0);
    dup2(ends[1], STDERR_FILENO);
    fn(arg);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    size_t len = 0;
    ssize_t n;
    while ((n = read(ends[0], got + len, sizeof(got) - 1 - len)) > 0)
        len += (size_t)n;
    close(ends[0]);
    got[len] = '\0';
    return len;
}

static void log_text(const void *text)
{
    bj_log(BJ_LOG_WARN, NULL, "%s", (const char *)text);
}

/* The text after a prefix and the time stamp of the test. */
static const char *after_stamp(const char *line, const char *before)
{
    static const char stamp[] = "2023-11-14T22:13:20.123Z";
    size_t n = strlen(before);
    assert_memory_equal(line, before, n);
    assert_memory_equal(line + n, stamp, sizeof(stamp) - 1);
    return line + n + sizeof(stamp) - 1;
}

static const struct {
    const char *text, *want; /* want: the value, the same in both formats */
} values[] = {
    {"", ""},
    {"plain", "plain"},
    {"say \"x\" \\", "say \\\"x\\\" \\\\"},
    {"a\nb\tc", "a\\nb\\tc"},
    {"\x01\x1b[0m\x7f", "\\u0001\\u001b[0m\\u007f"},
    {"\xc3\xa9", "\xc3\xa9"},
    {"\xff", "\xef\xbf\xbd"},
    {"cut \xe2\x82", "cut \xef\xbf\xbd"},
};

static void escaping(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        char want[128];
        bj_log_setup(BJ_LOG_INFO, BJ_LOG_LOGFMT);
        catch_stderr(log_text, values[i].text);
        snprintf(want, sizeof(want), " level=warn msg=\"%s\"\n",
                 values[i].want);
        assert_string_equal(after_stamp(got, "ts="), want);

        bj_log_setup(BJ_LOG_INFO, BJ_LOG_JSON);
        catch_stderr(log_text, values[i].text);
        snprintf(want, sizeof(want), "\",\"level\":\"warn\",\"msg\":\"%s\"}\n",
                 values[i].want);
        assert_string_equal(after_stamp(got, "{\"ts\":\""), want);
    }
}

static void log_error(const void *err)
{
    bj_log(BJ_LOG_ERROR, err, "cannot start %d", 1);
}

static void with_an_error(void **state)
{
    (void)state;
    struct bj_err err = {0};
    const int code = -EACCES; /* as from a system call */
    bj_err_set(&err, code, "open \"x\"");
    bj_log_setup(BJ_LOG_INFO, BJ_LOG_LOGFMT);
    catch_stderr(log_error, &err);
    assert_string_equal(after_stamp(got, "ts="),
                        " level=error msg=\"cannot start 1\""
                        " err=\"open \\\"x\\\": Permission denied\"\n");
    bj_log_setup(BJ_LOG_INFO, BJ_LOG_JSON);
    catch_stderr(log_error, &err);
    assert_string_equal(after_stamp(got, "{\"ts\":\""),
                        "\",\"level\":\"error\",\"msg\":\"cannot start 1\","
                        "\"err\":\"open \\\"x\\\": Permission denied\"}\n");
}

static void log_all_levels(const void *unused)
{
    (void)unused;
    bj_log(BJ_LOG_ERROR, NULL, "e");
    bj_log(BJ_LOG_WARN, NULL, "w");
    bj_log(BJ_LOG_INFO, NULL, "i");
    bj_log(BJ_LOG_DEBUG, NULL, "d");
}

static void levels(void **state)
{
    (void)state;
    for (int level = BJ_LOG_ERROR; level <= BJ_LOG_DEBUG; level++) {
        bj_log_setup((enum bj_log_level)level, BJ_LOG_LOGFMT);
        catch_stderr(log_all_levels, NULL);
        int lines = 0;
        for (const char *p = got; (p = strchr(p, '\n')); p++)
            lines++;
        assert_int_equal(lines, level + 1);
    }
}

/* A line of any length and with any escapes ends correctly. */
static void long_lines_are_cut(void **state)
{
    (void)state;
    static char text[5000];
    static const char kinds[] = {'a', '"', '\x01', '\xff'};
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t len = 0; len < sizeof(text) - 1; len += 97) {
            memset(text, kinds[k], len);
            text[len] = '\0';
            bj_log_setup(BJ_LOG_INFO, BJ_LOG_JSON);
            size_t n = catch_stderr(log_text, text);
            assert_true(n < 4096); /* so that a pipe takes it as a whole */
            assert_string_equal(got + n - 3, "\"}\n");
            assert_ptr_equal(strchr(got, '\n'), got + n - 1);
        }
}

static void *log_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++)
        bj_log(BJ_LOG_WARN, NULL, "0123456789012345678901234567890123456789");
    return NULL;
}

static void log_from_threads(const void *unused)
{
    (void)unused;
    pthread_t t[4];
    for (size_t i = 0; i < COUNT(t); i++)
        pthread_create(&t[i], NULL, log_often, NULL);
    for (size_t i = 0; i < COUNT(t); i++)
        pthread_join(t[i], NULL);
}

static void threads_do_not_mix(void **state)
{
    (void)state;
    bj_log_setup(BJ_LOG_INFO, BJ_LOG_LOGFMT);
    size_t len = catch_stderr(log_from_threads, NULL);
    size_t line = (size_t)(strchr(got, '\n') - got) + 1;
    assert_int_equal(len, 200 * line);
    for (size_t at = 0; at < len; at += line)
        assert_memory_equal(after_stamp(got + at, "ts="), " level=warn", 11);
}

static void parsing(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int level; /* -1: none */
    } cases[] = {{"error", BJ_LOG_ERROR},
                 {"warn", BJ_LOG_WARN},
                 {"warning", BJ_LOG_WARN},
                 {"WARN", BJ_LOG_WARN},
                 {"info", BJ_LOG_INFO},
                 {"debug", BJ_LOG_DEBUG},
                 {"", -1},
                 {"warni", -1},
                 {"infos", -1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        enum bj_log_level level = BJ_LOG_ERROR;
        int r = bj_log_level_parse(cases[i].text, &level);
        assert_int_equal(r, cases[i].level < 0 ? -EINVAL : 0);
        if (r == 0)
            assert_int_equal(level, cases[i].level);
    }
    enum bj_log_format format = BJ_LOG_LOGFMT;
    assert_int_equal(bj_log_format_parse("json", &format), 0);
    assert_int_equal(format, BJ_LOG_JSON);
    assert_int_equal(bj_log_format_parse("logfmt", &format), 0);
    assert_int_equal(format, BJ_LOG_LOGFMT);
    assert_int_equal(bj_log_format_parse("xml", &format), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escaping),
        cmocka_unit_test(with_an_error),
        cmocka_unit_test(levels),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(threads_do_not_mix),
        cmocka_unit_test(parsing),
    };
    testclock_set(1000, 1700000000123000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
