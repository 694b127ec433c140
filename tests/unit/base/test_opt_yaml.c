/* Options from YAML. */
#include "base/opt.h"
#include "tests/unit/lib/optroom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* A YAML text, and the options that it sets or the error message after the name
 * of the file. */
static const struct {
    struct bj_slice text;
    int status;
    const char *want;
} yamls[] = {
    {S(""), 0, ""},
    {S("# nothing\n"), 0, ""},
    {S("---\n...\n"), 0, ""},
    {S("~\n"), 0, ""},
    {S("{}\n"), 0, ""},
    {S("max-jobs: 7\n"), 0, "jobs=7"},
    {S("maxJobs: 7"), 0, "jobs=7"},
    {S("\xef\xbb\xbfmax-jobs: 7\n"), 0, "jobs=7"},
    {S("%YAML 1.1\n---\nmax-jobs: '7'\r\n...\n"), 0, "jobs=7"},
    {S("web.timeout: 2m\n"), 0, "timeout=120000000"},
    {S("web:\n  timeout: 2m\n  name: a b\n"), 0, "timeout=120000000 name=a b"},
    {S("{web: {timeout: 2m, fast: yes}, log: {level: debug}}"), 0,
     "timeout=120000000 level=debug fast=1"},
    {S("WEB:\n  Timeout: 2m\n"), 0, "timeout=120000000"},
    {S("collector:\n  cpu: off\nopen-fds: on\n"), 0, "cpu=0 fds=1"},
    /* a name that is both an option and a section */
    {S("collector:\n  cpu:\n    rest: 2\n"), 0, "rest=2"},
    {S("collector:\n  cpu: no\n  cpu.rest: 2\n"), 0, "cpu=0 rest=2"},
    {S("collector.cpu: no\ncollector: {cpu: {rest: 2}}\n"), 0, "cpu=0 rest=2"},
    {S("collector:\n  cpu:\n"), -EINVAL, "2:7: collector.cpu: has no value"},
    {S("collector:\n  cpu: {}\n  cpu:\n    rest: 2\n"), -EINVAL,
     "3:3: collector.cpu: given twice"},
    {S("job-files:\n- /a\n- \"/b c\"\n"), 0, "file=/a file=/b c"},
    {S("job-files: [/a, /b]\n"), 0, "file=/a file=/b"},
    {S("job-files: /a\n"), 0, "file=/a"},
    {S("job-files: []\n"), 0, ""},
    {S("path.procfs: ''\n"), 0, "proc="},
    {S("path:\n  procfs: |\n    x\n"), 0, "proc=x\n"},
    {S("cluster: 'null'\n"), 0, "cluster=null"},
    {S("web:\nlog:\n  level: warn\n"), 0, "level=warn"},
    {S("web: {}\n"), 0, ""},
    {S("web:\n  # name: x\n"), 0, ""},

    /* values: the position in the message is that of the value */
    {S("max-jobs: 0\n"), -ERANGE,
     "1:11: max-jobs: '0' is not between 1 and 65536"},
    {S("\n\nweb:\n  timeout: [1s]\n"), -EINVAL,
     "4:12: web.timeout: takes one value, not a list"},
    {S("web:\n   timeout:\n       never\n"), -EINVAL,
     "3:8: web.timeout: 'never' is not a duration such as 250ms, 15s, 2m or "
     "1h"},
    {S("web:\n  timeout: {a: 1}\n"), -EINVAL,
     "2:12: web.timeout: is an option, not a section"},
    {S("max-jobs:\n"), -EINVAL, "1:10: max-jobs: has no value"},
    {S("max-jobs: ~\n"), -EINVAL, "1:11: max-jobs: has no value"},
    {S("cluster: null\n"), -EINVAL, "1:10: cluster: has no value"},
    {S("job-files:\n  - /a\n  -\n"), -EINVAL,
     "3:4: job-files: an entry is empty"},
    {S("job-files: [/a, '']\n"), -EINVAL, "1:17: job-files: an entry is empty"},
    {S("job-files:\n - /a\n - [b]\n"), -EINVAL,
     "3:4: job-files: a list may contain only texts"},
    {S("job-files:\n - a: b\n"), -EINVAL,
     "2:4: job-files: a list may contain only texts"},
    {S("path.procfs: \"a\\0b\"\n"), -EINVAL,
     "1:14: path.procfs: 'a?b' contains a NUL byte"},
    {S("web: 5\n"), -EINVAL,
     "1:6: web: is a section, not an option; write 'web.timeout: VALUE', or "
     "its options "
     "indented below it"},
    {S("web: [1]\n"), -EINVAL, "1:6: web: is a section, not a list"},
    /* misspelt names: one letter too few, too many, wrong, two swapped */
    {S("max-jbs: 1\n"), -EINVAL,
     "1:1: unknown option 'max-jbs'; did you mean 'max-jobs'?"},
    {S("web:\n  timmeout: 1s\n"), -EINVAL,
     "2:3: unknown option 'web.timmeout'; did you mean 'web.timeout'?"},
    {S("collectir:\n  cpu: no\n"), -EINVAL,
     "1:1: unknown option 'collectir'; did you mean 'collector'?"},
    {S("path: {procsf: x}\n"), -EINVAL,
     "1:8: unknown option 'path.procsf'; did you mean 'path.procfs'?"},
    {S("\xc3\xa9: 1\n"), -EINVAL, "1:1: unknown option '\xc3\xa9'"},
    {S("# \xc3\xa9\n{cluster: \xc3\xa9, max-jobs: x}\n"), -EINVAL,
     "2:24: max-jobs: 'x' is not a whole number"},

    /* keys: the position in the message is that of the key */
    {S("max-jobs: 1\nnosuch: 2\n"), -EINVAL, "2:1: unknown option 'nosuch'"},
    {S("web:\n  nosuch: 2\n"), -EINVAL, "2:3: unknown option 'web.nosuch'"},
    {S("nosuch:\n  a: 1\n"), -EINVAL, "1:1: unknown option 'nosuch'"},
    {S("nosuch:\n"), -EINVAL, "1:1: unknown option 'nosuch'"},
    {S("'': 1\n"), -EINVAL, "1:1: unknown option ''"},
    {S("web:\n  '': 1\n"), -EINVAL, "2:3: unknown option 'web.'"},
    {S("\"max-jobs\\0\": 1\n"), -EINVAL, "1:1: unknown option 'max-jobs?'"},
    {S("max: {jobs: 1}\n"), -EINVAL, "1:1: unknown option 'max'"},
    {S("[a]: 1\n"), -EINVAL, "1:1: the name of an option must be text"},
    {S("? {a: b}\n: 1\n"), -EINVAL, "1:3: the name of an option must be text"},
    {S("max-jobs: 1\nopen-fds: 1\nmax-jobs: 2\n"), -EINVAL,
     "3:1: max-jobs: given twice"},
    {S("max-jobs: 1\nMaxJobs: 2\n"), -EINVAL, "2:1: MaxJobs: given twice"},
    {S("web:\n  name: a\nweb.name: b\n"), -EINVAL,
     "3:1: web.name: given twice"},
    {S("web:\n  name: a\nweb:\n  fast: 1\n"), -EINVAL, "3:1: web: given twice"},
    {S("web:\nweb:\n"), -EINVAL, "2:1: web: given twice"},

    /* documents */
    {S("- a\n"), -EINVAL, "1:1: expected options, \"name: value\""},
    {S("hello\n"), -EINVAL, "1:1: expected options, \"name: value\""},
    {S("max-jobs: 1\n---\nmax-jobs: 2\n"), -EINVAL, "2:1: a second document"},
    {S("max-jobs: &a 5\n"), -EINVAL, "1:11: anchors are not supported"},
    {S("&a max-jobs: 5\n"), -EINVAL, "1:1: anchors are not supported"},
    {S("web: &a {}\n"), -EINVAL, "1:6: anchors are not supported"},
    {S("job-files: &a [x]\n"), -EINVAL, "1:12: anchors are not supported"},
    {S("max-jobs: *a\n"), -EINVAL, "1:11: aliases are not supported"},
    {S("<<: *a\n"), -EINVAL, "1:1: unknown option '<<'"},
    {S("max-jobs: !!int 5\n"), -EINVAL, "1:11: tags are not supported"},
    {S("web: !x {}\n"), -EINVAL, "1:6: tags are not supported"},

    /* syntax: the messages are those of libyaml */
    {S("max-jobs: 1\n\topen-fds: 1\n"), -EINVAL,
     "2:1: a tab: YAML is indented with blanks"},
    {S("max-jobs: 1: 2\n"), -EINVAL,
     "1:12: mapping values are not allowed in this context"},
    {S("web:\n\ttimeout: 2m\n"), -EINVAL,
     "2:1: a tab: YAML is indented with blanks"},
    {S("{max-jobs: 1\n"), -EINVAL, "2:1: did not find expected ',' or '}'"},
    {S("cluster: \"abc\n"), -EINVAL, "2:1: found unexpected end of stream"},
    {S("cluster: \"\\q\"\n"), -EINVAL, "1:11: found unknown escape character"},
    {S("web:\n    name: a\n  fast: 1\n"), -EINVAL,
     "3:3: expected 'name: value', indented as the lines before"},
    {S("max-jobs: 5\n"
       "cluster: a\xff"
       "b\n"),
     -EINVAL, "2:11: invalid leading UTF-8 octet"},
    {S("cluster: \xe2\x82\n"), -EINVAL, "1:12: invalid trailing UTF-8 octet"},
    {S("cluster: \xed\xa0\x80\n"), -EINVAL, "1:10: invalid Unicode character"},
    {S("cluster: a\n\n \x01\n"), -EINVAL,
     "3:2: control characters are not allowed"},
    {S("cluster: \0\n"), -EINVAL, "1:10: control characters are not allowed"},
};

static void yaml_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(yamls); i++) {
        struct opt_rig r;
        char got[300];
        init(&r);
        int status =
            bj_opt_yaml_text(r.sets, 2, "/etc/x", yamls[i].text, &r.err);
        show(&r, got, sizeof(got));
        if (status < 0) {
            assert_memory_equal(r.err.msg, "/etc/x:", 7);
            assert_string_equal(r.err.msg + 7, yamls[i].want);
        } else {
            assert_string_equal(got, yamls[i].want);
        }
        assert_int_equal(status, yamls[i].status);
        assert_int_equal(
            bj_opt_yaml_text(r.sets, 2, "/etc/x", yamls[i].text, NULL),
            yamls[i].status);
        fini(&r);
    }
}

/* Texts of very deep nesting, or with very long names or lists. */
static void yaml_bombs(void **state)
{
    (void)state;
    static const struct {
        const char *head, *piece;
        int status;
    } cases[] = {
        {"", "[", -EINVAL},
        {"", "{", -EINVAL},
        {"", "- ", -EINVAL},
        {"", "? ", -EINVAL},
        {"", "a: {", -EINVAL},
        {"", "web: {", -EINVAL},
        {"", "x", -EINVAL},
        {"", "#", 0},
        {"", "\n", 0},
        {"job-files: [", "a,", -ERANGE},
        {"max-jobs: ", "1", -ERANGE},
        {"cluster: ", "1", 0},
        {"job-files: ", "[", -EINVAL},
        {"cluster: \"", "\\x41", -EINVAL},
    };
    enum { BYTES = 100000 };
    char *text = malloc(BYTES + 100);
    assert_non_null(text);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct opt_rig r;
        init(&r);
        size_t n = strlen(cases[i].head), step = strlen(cases[i].piece);
        memcpy(text, cases[i].head, n);
        for (; n < BYTES; n += step)
            memcpy(text + n, cases[i].piece, step);
        int status = bj_opt_yaml_text(r.sets, 2, "f",
                                      (struct bj_slice){text, n}, &r.err);
        assert_int_equal(status, cases[i].status);
        fini(&r);
    }
    free(text);
}

static void yaml_files(void **state)
{
    (void)state;
    struct opt_rig r;
    char name[] = "/tmp/bj-test-opt-XXXXXX", got[300], want[300];
    init(&r);
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    static const char text[] = "max-jobs: 7\nnosuch: 1\n";
    assert_int_equal(write(fd, text, 12), 12);
    assert_int_equal(bj_opt_yaml(r.sets, 2, name, &r.err), 0);
    show(&r, got, sizeof(got));
    assert_string_equal(got, "jobs=7");
    assert_int_equal(write(fd, text + 12, 10), 10);
    assert_int_equal(bj_opt_yaml(r.sets, 2, name, &r.err), -EINVAL);
    snprintf(want, sizeof(want), "%s:2:1: unknown option 'nosuch'", name);
    assert_string_equal(r.err.msg, want);
    /* A comment of one mebibyte is read, one byte more is not. */
    assert_int_equal(ftruncate(fd, 0), 0);
    char *big = malloc((1 << 20) + 1);
    assert_non_null(big);
    memset(big, '#', 1 << 20);
    assert_int_equal(pwrite(fd, big, 1 << 20, 0), 1 << 20);
    assert_int_equal(bj_opt_yaml(r.sets, 2, name, &r.err), 0);
    assert_int_equal(pwrite(fd, "#", 1, 1 << 20), 1);
    assert_int_equal(bj_opt_yaml(r.sets, 2, name, &r.err), -EFBIG);
    free(big);
    close(fd);
    unlink(name);
    assert_int_equal(bj_opt_yaml(r.sets, 2, name, &r.err), -ENOENT);
    snprintf(want, sizeof(want), "open %s", name);
    assert_string_equal(r.err.msg, want);
    assert_int_equal(bj_opt_yaml(r.sets, 2, "/", &r.err), -EISDIR);
    fini(&r);
}

/* A message with a path of maximum length still names the error. */
static void yaml_long_path(void **state)
{
    (void)state;
    struct opt_rig r;
    char name[4000];
    init(&r);
    memset(name, 'd', sizeof(name));
    memcpy(name + sizeof(name) - 8, "/f.yaml", 8);
    assert_int_equal(
        bj_opt_yaml_text(r.sets, 2, name, BJ_SLICE("log.level: loud"), &r.err),
        -EINVAL);
    assert_non_null(strstr(r.err.msg, "/f.yaml:1:12: log.level: 'loud' is not "
                                      "one of error, warn, info, debug"));
    fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_texts),
        cmocka_unit_test(yaml_bombs),
        cmocka_unit_test(yaml_files),
        cmocka_unit_test(yaml_long_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
