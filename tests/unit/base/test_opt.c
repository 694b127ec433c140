/* Options: one table, filled from text, the command line and YAML. */
#include "base/opt.h"
#include "base/opt_value.h"
#include "tests/unit/lib/optroom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void presets(void **state)
{
    (void)state;
    struct opt_rig r;
    char got[300];
    init(&r);
    show(&r, got, sizeof(got));
    assert_string_equal(got, "");
    assert_int_equal(r.c.listen.n, 0);
    assert_int_equal(bj_opt_finish(&r.sets[0], &r.err), 0);
    show(&r, got, sizeof(got));
    assert_string_equal(got, "listen=:9010 listen=[::1]:9011");
    /* The presets again, over existing values. */
    assert_int_equal(bj_opt_presets(&r.sets[0], &r.err), 0);
    assert_int_equal(r.c.listen.n, 0);
    fini(&r);
    fini(&r);
}

/* A table whose preset violates its own limits is an error. */
static void presets_are_checked(void **state)
{
    (void)state;
    static const struct bj_opt bad[] = {
        {.name = "path.procfs", MEMBER(STR, proc), .preset = "/proc"},
        {.name = "job-files",
         MEMBER(LIST, files),
         .preset = "a,z",
         .choices = "a|b"},
        {.name = "max-jobs",
         MEMBER(U64, jobs),
         .lo = 1,
         .hi = 10,
         .preset = "11"},
        {.name = "log.level", MEMBER(STR, level), .preset = "info"},
        {0},
    };
    struct conf c = {0};
    struct bj_optset set = {bad, &c};
    struct bj_err err = {0};
    assert_int_equal(bj_opt_presets(&set, &err), -ERANGE);
    assert_string_equal(err.msg,
                        "preset: max-jobs: '11' is not between 1 and 10");
    assert_int_equal(bj_opt_finish(&set, &err), -EINVAL);
    assert_string_equal(err.msg, "preset: job-files: 'z' is not one of a, b");
    bj_opt_free(&set);
    assert_true(!c.proc && !c.level && !c.files.v);
}

/* A value, and the options that it changes or the error message. */
static const struct {
    struct bj_slice name, value;
    int status;
    const char *want;
} values[] = {
    {S("collector.cpu"), S("false"), 0, "cpu=0"},
    {S("collector.cpu"), S("NO"), 0, "cpu=0"},
    {S("collector.cpu"), S("Off"), 0, "cpu=0"},
    {S("collector.cpu"), S("0"), 0, "cpu=0"},
    {S("open-fds"), S("true"), 0, "fds=1"},
    {S("open-fds"), S("yes"), 0, "fds=1"},
    {S("open-fds"), S("on"), 0, "fds=1"},
    {S("open-fds"), S("1"), 0, "fds=1"},
    {S("OpenFDs"), S("1"), 0, "fds=1"},
    {S("open_fds"), S("1"), 0, "fds=1"},
    {S("open-fds"), S(""), -EINVAL, "open-fds: '' is not true or false"},
    {S("open-fds"), S("2"), -EINVAL, "open-fds: '2' is not true or false"},
    {S("open-fds"), S("tru"), -EINVAL, "open-fds: 'tru' is not true or false"},
    {S("open-fds"), S("true\0"), -EINVAL,
     "open-fds: 'true?' is not true or false"},
    {S("open-fds"), S(" 1"), -EINVAL, "open-fds: ' 1' is not true or false"},

    {S("max-jobs"), S("1"), 0, "jobs=1"},
    {S("MaxJobs"), S("65536"), 0, "jobs=65536"},
    {S("max-jobs"), S("0"), -ERANGE,
     "max-jobs: '0' is not between 1 and 65536"},
    {S("max-jobs"), S("65537"), -ERANGE,
     "max-jobs: '65537' is not between 1 and 65536"},
    {S("max-jobs"), S("18446744073709551616"), -ERANGE,
     "max-jobs: '18446744073709551616' is not between 1 and 65536"},
    {S("max-jobs"), S("-1"), -EINVAL, "max-jobs: '-1' is not a whole number"},
    {S("max-jobs"), S("1.0"), -EINVAL, "max-jobs: '1.0' is not a whole number"},
    {S("max-jobs"), S(""), -EINVAL, "max-jobs: '' is not a whole number"},
    {S("max-jobs"), S("0x10"), -EINVAL,
     "max-jobs: '0x10' is not a whole number"},
    {S("free"), S("18446744073709551615"), 0, "free=18446744073709551615"},
    {S("free"), S("18446744073709551616"), -ERANGE,
     "free: '18446744073709551616' is not between 0 and "
     "18446744073709551615"},

    {S("web.timeout"), S("250ms"), 0, "timeout=250000"},
    {S("web.timeout"), S("2"), 0, "timeout=2000000"},
    {S("web.timeout"), S("0.5"), 0, "timeout=500000"},
    {S("web.timeout"), S("1h"), 0, "timeout=3600000000"},
    {S("web.timeout"), S("999us"), -ERANGE,
     "web.timeout: '999us' is not between 1ms and 1h"},
    {S("web.timeout"), S("61m"), -ERANGE,
     "web.timeout: '61m' is not between 1ms and 1h"},
    {S("web.timeout"), S("soon"), -EINVAL,
     "web.timeout: 'soon' is not a duration such as 250ms, 15s, 2m or 1h"},
    {S("web.max-size"), S("1M"), 0, "size=1048576"},
    {S("web.max-size"), S("2048"), 0, "size=2048"},
    {S("web.max-size"), S("1023"), -ERANGE,
     "web.max-size: '1023' is not between 1K and 1G"},
    {S("web.max-size"), S("1MB"), -EINVAL,
     "web.max-size: '1MB' is not a size such as 4096, 64K, 16M or 1G"},

    {S("path.procfs"), S("/p"), 0, "proc=/p"},
    {S("PathProcfs"), S(""), 0, "proc="},
    {S("path.procfs"), S("a\0b"), -EINVAL,
     "path.procfs: 'a?b' contains a NUL byte"},
    {S("log.level"), S("debug"), 0, "level=debug"},
    {S("log.level"), S("loud"), -EINVAL,
     "log.level: 'loud' is not one of error, warn, info, debug"},
    {S("log.level"), S("info|debug"), -EINVAL,
     "log.level: 'info|debug' is not one of error, warn, info, debug"},
    {S("log.level"), S(""), -EINVAL,
     "log.level: '' is not one of error, warn, info, debug"},
    {S("cluster"), S("\xc3\xa9"), 0, "cluster=\xc3\xa9"},
    {S("cluster"), S(""), 0, "cluster="},
    {S("cluster"), S("-x"), -EINVAL, "cluster: '-x' begins with a dash"},
    {S("job-files"), S("-x"), -EINVAL, "job-files: '-x' begins with a dash"},
    {S("job-files"), S("/a"), 0, "file=/a"},
    {S("job-files"), S(""), 0, ""},
    {S("job-files"), S("\0"), -EINVAL, "job-files: '?' contains a NUL byte"},

    {S("web.fast"), S("1"), 0, "fast=1"},
    {S("webname"), S("x"), 0, "name=x"},
    {S("nosuch"), S("x"), -EINVAL, "unknown option 'nosuch'"},
    {S(""), S("x"), -EINVAL, "unknown option ''"},
    {S("."), S("x"), -EINVAL, "unknown option '.'"},
    {S("web"), S("x"), -EINVAL, "unknown option 'web'"},
    {S("web.names"), S("x"), -EINVAL, "unknown option 'web.names'"},
    {S("web.name\0"), S("x"), -EINVAL, "unknown option 'web.name?'"},
    {S("a\nb"), S("x"), -EINVAL, "unknown option 'a?b'"},
    {S("cluster\xff"), S("x"), -EINVAL, "unknown option 'cluster\xef\xbf\xbd'"},
    {S("cluster"), S("0123456789012345678901234567890123456789"), 0,
     "cluster=0123456789012345678901234567890123456789"},
};

static void setting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        struct opt_rig r;
        char got[300];
        init(&r);
        int status =
            bj_opt_set(r.sets, 2, values[i].name, values[i].value, &r.err);
        assert_int_equal(status, values[i].status);
        assert_int_equal(
            bj_opt_set(r.sets, 2, values[i].name, values[i].value, NULL),
            values[i].status);
        if (status == 0 && r.c.files.n == 2) {
            assert_string_equal(r.c.files.v[1], r.c.files.v[0]);
            free(r.c.files.v[--r.c.files.n]);
        }
        show(&r, got, sizeof(got));
        assert_string_equal(status == 0 ? got : r.err.msg, values[i].want);
        if (status < 0)
            assert_string_equal(got, ""); /* nothing was changed */
        fini(&r);
    }
}

/* Messages shorten a long value, so that the rest stays readable. */
static void long_values_in_messages(void **state)
{
    (void)state;
    struct opt_rig r;
    char value[1000];
    init(&r);
    memset(value, 'x', sizeof(value));
    assert_int_equal(bj_opt_set(r.sets, 2, BJ_SLICE("log.level"),
                                (struct bj_slice){value, sizeof(value)},
                                &r.err),
                     -EINVAL);
    assert_non_null(strstr(r.err.msg, "xxx' is not one of error"));
    fini(&r);
}

static void lists(void **state)
{
    (void)state;
    struct opt_rig r;
    char got[300];
    init(&r);
    bj_opt_set(r.sets, 2, BJ_SLICE("WebListenAddress"), BJ_SLICE("a"), NULL);
    bj_opt_set(r.sets, 2, BJ_SLICE("WebListenAddress"), BJ_SLICE("b"), NULL);
    assert_int_equal(bj_opt_finish(&r.sets[0], &r.err), 0);
    show(&r, got, sizeof(got));
    assert_string_equal(got, "listen=a listen=b");
    /* The list was emptied: the preset does not return. */
    bj_opt_set(r.sets, 2, BJ_SLICE("web.listen-address"), BJ_SLICE(""), NULL);
    assert_int_equal(bj_opt_finish(&r.sets[0], &r.err), 0);
    show(&r, got, sizeof(got));
    assert_string_equal(got, "");

    for (int i = 0; i < BJ_OPT_LIST_MAX; i++)
        assert_int_equal(
            bj_opt_set(r.sets, 2, BJ_SLICE("job-files"), BJ_SLICE("x"), &r.err),
            0);
    assert_int_equal(
        bj_opt_set(r.sets, 2, BJ_SLICE("job-files"), BJ_SLICE("x"), &r.err),
        -ERANGE);
    assert_string_equal(r.err.msg, "job-files: more than 1024 values");
    assert_int_equal(r.c.files.n, BJ_OPT_LIST_MAX);
    fini(&r);
}

/* A list whose values have no commas also takes "a,b", and "+a" adds to its
 * preset. */
static void lists_with_commas(void **state)
{
    (void)state;
    static const struct bj_opt opts[] = {
        {.name = "by",
         .kind = BJ_OPT_LIST,
         .preset = "user,node",
         .choices = "user|node|host"},
        {.name = NULL},
    };
    static const struct {
        const char *value[2], *want;
        int status;
    } cases[] = {
        {{"user,host"}, "user host ", 0},
        {{"user", "host"}, "user host ", 0},
        {{"+host"}, "user node host ", 0},
        {{"host", "+user"}, "host user ", 0},
        {{"", "+user"}, "user ", 0},
        {{","}, "user node ", 0},
        {{"host,nope"}, "user node ", -EINVAL},
        {{"+nope"}, "user node ", -EINVAL},
        {{NULL}, "user node ", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bj_strv list = {0};
        const struct bj_optset set = {opts, &list};
        char got[80] = "";
        int r = bj_opt_presets(&set, NULL);
        for (int k = 0; k < 2 && cases[i].value[k]; k++)
            r = bj_opt_set(&set, 1, BJ_SLICE("by"),
                           bj_slice_str(cases[i].value[k]), NULL);
        assert_int_equal(r, cases[i].status);
        assert_int_equal(bj_opt_finish(&set, NULL), 0);
        for (size_t k = 0; k < list.n; k++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s ",
                     list.v[k]);
        assert_string_equal(got, cases[i].want);
        bj_opt_free(&set);
    }
}

/* A preset with commas shows that values have none. */
static void list_with_a_preset(void **state)
{
    static const struct bj_opt opts[] = {
        {.name = "dir", .kind = BJ_OPT_LIST, .preset = "/a,/b"},
        {.name = "text", .kind = BJ_OPT_LIST, .off = sizeof(struct bj_strv)},
        {.name = NULL},
    };
    struct bj_strv list[2] = {0};
    const struct bj_optset set = {opts, list};
    (void)state;
    assert_int_equal(bj_opt_presets(&set, NULL), 0);
    bj_opt_set(&set, 1, BJ_SLICE("dir"), BJ_SLICE("/c,/d"), NULL);
    bj_opt_set(&set, 1, BJ_SLICE("text"), BJ_SLICE("x,y"), NULL);
    assert_int_equal(bj_opt_finish(&set, NULL), 0);
    assert_int_equal(list[0].n, 2);
    assert_string_equal(list[0].v[1], "/d");
    assert_int_equal(list[1].n, 1);
    assert_string_equal(list[1].v[0], "x,y");
    bj_opt_free(&set);
}

static void durations(void **state)
{
    static const struct {
        struct bj_slice in;
        int status;
        uint64_t usec;
    } cases[] = {
        {S("0"), 0, 0},
        {S("0s"), 0, 0},
        {S("15"), 0, 15000000},
        {S("0.000001"), 0, 1},
        {S("1.50"), 0, 1500000},
        {S("1us"), 0, 1},
        {S("250ms"), 0, 250000},
        {S("2m"), 0, 120000000},
        {S("1h"), 0, 3600000000},
        {S("1d"), 0, 86400000000},
        {S("1.5d"), 0, 129600000000},
        {S("1h30m"), 0, 5400000000},
        {S("1d1h1m1s1ms1us"), 0, 90061001001},
        {S("0.001ms"), 0, 1},
        {S("213503982d"), 0, 18446744044800000000u},
        {S("213503983d"), -ERANGE, 0},
        {S("18446744073709"), 0, 18446744073709000000u},
        {S("18446744073709.551615"), 0, UINT64_MAX},
        {S("18446744073709.551616"), -ERANGE, 0},
        {S("18446744073709551615us"), 0, UINT64_MAX},
        {S("18446744073709551616us"), -ERANGE, 0},
        {S("1s18446744073709551615us"), -ERANGE, 0},
        {S("99999999999999999999"), -ERANGE, 0},
        {S(""), -EINVAL, 0},
        {S(" 1s"), -EINVAL, 0},
        {S("1 s"), -EINVAL, 0},
        {S("1s "), -EINVAL, 0},
        {S("-1s"), -EINVAL, 0},
        {S("s"), -EINVAL, 0},
        {S(".5"), -EINVAL, 0},
        {S("1."), -EINVAL, 0},
        {S("1.s"), -EINVAL, 0},
        {S("1.0000001"), -EINVAL, 0},
        {S("0.5us"), -EINVAL, 0},
        {S("1.0005ms"), -EINVAL, 0},
        {S("1e3"), -EINVAL, 0},
        {S("1S"), -EINVAL, 0},
        {S("1ns"), -EINVAL, 0},
        {S("1w"), -EINVAL, 0},
        {S("1min"), -EINVAL, 0},
        {S("30m1h"), -EINVAL, 0},
        {S("1m1m"), -EINVAL, 0},
        {S("1m30"), -EINVAL, 0},
        {S("1s\0"), -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t v = 4711;
        assert_int_equal(bj_duration_parse(cases[i].in, &v), cases[i].status);
        assert_int_equal(v, cases[i].status ? 4711 : cases[i].usec);
    }
}

static void sizes(void **state)
{
    static const struct {
        struct bj_slice in;
        int status;
        uint64_t bytes;
    } cases[] = {
        {S("0"), 0, 0},
        {S("4096"), 0, 4096},
        {S("64K"), 0, 65536},
        {S("64k"), 0, 65536},
        {S("16MiB"), 0, 16777216},
        {S("1G"), 0, 1073741824},
        {S("3T"), 0, 3298534883328},
        {S("16777215T"), 0, 18446742974197923840u},
        {S("16777216T"), -ERANGE, 0},
        {S("18446744073709551615"), 0, UINT64_MAX},
        {S("18446744073709551616"), -ERANGE, 0},
        {S(""), -EINVAL, 0},
        {S("K"), -EINVAL, 0},
        {S("1KB"), -EINVAL, 0},
        {S("1Ki"), -EINVAL, 0},
        {S("1iB"), -EINVAL, 0},
        {S("1B"), -EINVAL, 0},
        {S("1P"), -EINVAL, 0},
        {S("1.5G"), -EINVAL, 0},
        {S("1 G"), -EINVAL, 0},
        {S("-1"), -EINVAL, 0},
        {S("1KK"), -EINVAL, 0},
        {S("1\x0b"), -EINVAL, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t v = 4711;
        assert_int_equal(bj_size_parse(cases[i].in, &v), cases[i].status);
        assert_int_equal(v, cases[i].status ? 4711 : cases[i].bytes);
    }
}

static void amounts_as_text(void **state)
{
    (void)state;
    char buf[BJ_AMOUNT_MAX];
    assert_string_equal(bj_duration_text(0, buf), "0s");
    assert_string_equal(bj_duration_text(1, buf), "1us");
    assert_string_equal(bj_duration_text(1500000, buf), "1500ms");
    assert_string_equal(bj_duration_text(5400000000, buf), "90m");
    assert_string_equal(bj_duration_text(UINT64_MAX, buf),
                        "18446744073709551615us");
    assert_string_equal(bj_size_text(0, buf), "0");
    assert_string_equal(bj_size_text(1, buf), "1");
    assert_string_equal(bj_size_text(65536, buf), "64K");
    assert_string_equal(bj_size_text(UINT64_MAX, buf), "18446744073709551615");
    /* The parser reads back what was written. */
    for (unsigned bit = 0; bit < 64; bit++)
        for (int off = -1; off <= 1; off++) {
            uint64_t v = (UINT64_C(1) << bit) + (uint64_t)off, back = 0;
            assert_int_equal(bj_duration_parse(
                                 bj_slice_str(bj_duration_text(v, buf)), &back),
                             0);
            assert_int_equal(back, v);
            assert_int_equal(
                bj_size_parse(bj_slice_str(bj_size_text(v, buf)), &back), 0);
            assert_int_equal(back, v);
        }
}

/* Arguments are separated by '|' here. */
static const struct {
    const char *args;
    int status;
    const char *want;
} lines[] = {
    {"", 0, ""},
    {"--max-jobs|7", 0, "jobs=7"},
    {"--max-jobs=7", 0, "jobs=7"},
    {"--max-jobs=7|--max-jobs=8", 0, "jobs=8"},
    {"--MAX_JOBS=7", 0, "jobs=7"},
    {"--path.procfs=", 0, "proc="},
    {"--path.procfs|", 0, "proc="},
    {"--path.procfs|-", 0, "proc=-"},
    {"--path.procfs==a=b", 0, "proc==a=b"},
    {"--path.procfs=--x", 0, "proc=--x"},
    {"--open-fds", 0, "fds=1"},
    {"--open-fds=true", 0, "fds=1"},
    {"--open-fds=false", 0, ""},
    {"--open-fds|--no-open-fds", 0, ""},
    {"--no-collector.cpu", 0, "cpu=0"},
    {"--no-collector.cpu|--collector.cpu", 0, ""},
    {"--collector.cpu=0", 0, "cpu=0"},
    {"--job-files|a|--job-files=b", 0, "file=a file=b"},
    {"--web.fast|--web.name=x|--max-jobs=3", 0, "jobs=3 fast=1 name=x"},
    {"--max-jobs", -EINVAL, "--max-jobs needs a value"},
    {"--max-jobs|--open-fds", -EINVAL, "--max-jobs needs a value"},
    {"--max-jobs=", -EINVAL, "max-jobs: '' is not a whole number"},
    {"--max-jobs=x", -EINVAL, "max-jobs: 'x' is not a whole number"},
    {"--no-max-jobs", -EINVAL,
     "unknown option '--no-max-jobs' (--help lists them)"},
    {"--no-collector.cpu=1", -EINVAL, "--no-collector.cpu takes no value"},
    {"--no-", -EINVAL, "unknown option '--no-' (--help lists them)"},
    {"--nosuch", -EINVAL, "unknown option '--nosuch' (--help lists them)"},
    {"--nosuch=1", -EINVAL, "unknown option '--nosuch' (--help lists them)"},
    {"--=1", -EINVAL, "unknown option '--' (--help lists them)"},
    {"--", -EINVAL, "'--' is not an option"},
    {"-", -EINVAL, "'-' is not an option"},
    {"-max-jobs=1", -EINVAL,
     "'-max-jobs=1': options begin with two dashes (--help lists them)"},
    {"extra", -EINVAL, "'extra' is not an option"},
    {"--open-fds|true", -EINVAL, "'true' is not an option"},
    {"--max-jobs=5|--nosuch|--max-jobs=6", -EINVAL,
     "unknown option '--nosuch' (--help lists them)"},
};

/* Cut text at '|' into an argument vector; text must outlive it. */
static int cut(char *text, char *argv[8])
{
    int argc = 0;
    argv[argc++] = text;
    for (char *p = text; *p; p++)
        if (*p == '|') {
            *p = '\0';
            argv[argc++] = p + 1;
        }
    return argc;
}

static void command_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct opt_rig r;
        char text[100], got[300], *argv[8];
        init(&r);
        snprintf(text, sizeof(text), "prog%s%s", lines[i].args[0] ? "|" : "",
                 lines[i].args);
        int argc = cut(text, argv);
        assert_int_equal(bj_opt_argv(r.sets, 2, argc, argv, &r.err),
                         lines[i].status);
        show(&r, got, sizeof(got));
        assert_string_equal(lines[i].status == 0 ? got : r.err.msg,
                            lines[i].want);
        assert_int_equal(bj_opt_argv(r.sets, 2, argc, argv, NULL),
                         lines[i].status);
        fini(&r);
    }
    assert_int_equal(bj_opt_argv(NULL, 0, 0, NULL, NULL), 0);
}

/* A later source replaces a list; the values of one source are collected. */
static void sources_replace_lists(void **state)
{
    (void)state;
    struct opt_rig r;
    char got[300], a[] = "p|--job-files=a|--job-files=b|--max-jobs=2",
                   b[] = "p|--job-files=c|--job-files=d", *argv[8];
    init(&r);
    int argc = cut(a, argv);
    assert_int_equal(bj_opt_argv(r.sets, 2, argc, argv, &r.err), 0);
    assert_int_equal(bj_opt_argv(r.sets, 2, argc, argv, &r.err), 0);
    show(&r, got, sizeof(got));
    assert_string_equal(got, "jobs=2 file=a file=b");
    argc = cut(b, argv);
    assert_int_equal(bj_opt_argv(r.sets, 2, argc, argv, &r.err), 0);
    show(&r, got, sizeof(got));
    assert_string_equal(got, "jobs=2 file=c file=d");
    assert_int_equal(
        bj_opt_yaml_text(r.sets, 2, "f", BJ_SLICE("job-files: [e, f]"), &r.err),
        0);
    show(&r, got, sizeof(got));
    assert_string_equal(got, "jobs=2 file=e file=f");
    assert_int_equal(
        bj_opt_yaml_text(r.sets, 2, "f", BJ_SLICE("job-files: g"), &r.err), 0);
    show(&r, got, sizeof(got));
    assert_string_equal(got, "jobs=2 file=g");
    fini(&r);
}

/* A BOOL may record whether a source has set it. */
static void flags_record_that_they_were_set(void **state)
{
    (void)state;
    struct opt_rig r;
    init(&r);
    assert_true(r.c.flag);
    assert_false(r.c.flag_set);
    bj_opt_set(r.sets, 2, BJ_SLICE("collector.cpu"), BJ_SLICE("x"), NULL);
    assert_false(r.c.flag_set);
    bj_opt_set(r.sets, 2, BJ_SLICE("collector.cpu"), BJ_SLICE("1"), NULL);
    assert_true(r.c.flag_set);
    assert_int_equal(bj_opt_presets(&r.sets[0], NULL), 0);
    assert_false(r.c.flag_set);
    fini(&r);
}

static void find_by_name(void **state)
{
    (void)state;
    struct opt_rig r;
    const struct bj_optset *set = NULL;
    init(&r);
    assert_ptr_equal(bj_opt_find(r.sets, 2, BJ_SLICE("WEB_NAME"), &set),
                     &other_opts[1]);
    assert_ptr_equal(set, &r.sets[1]);
    assert_ptr_equal(bj_opt_find(r.sets, 2, BJ_SLICE("Path.Proc-FS"), NULL),
                     &conf_opts[7]);
    assert_null(bj_opt_find(r.sets, 1, BJ_SLICE("web.name"), NULL));
    assert_null(bj_opt_find(r.sets, 0, BJ_SLICE("web.name"), NULL));
    assert_null(bj_opt_find(r.sets, 2, (struct bj_slice){NULL, 0}, NULL));
    fini(&r);
}

static const char help[] =
    "      --[no-]collector.cpu      Read CPU time. (default: true)\n"
    "      --collector.cpu.rest=N    More of it.\n"
    "      --[no-]open-fds           Count descriptors. (default: false)\n"
    "      --max-jobs=1024           Jobs followed at a time.\n"
    "      --free=N                  Any number.\n"
    "      --web.timeout=15s         Time that a request may take from its "
    "first byte\n"
    "                                to the last one of the answer, whatever "
    "the\n"
    "                                client does.\n"
    "      --web.max-size=64K        Longest request.\n"
    "      --path.procfs=\"/proc\"     Where procfs is mounted.\n"
    "      --log.level=\"info\"        What is logged. One of: error, warn, "
    "info,\n"
    "                                debug.\n"
    "      --cluster=NAME            Name of the cluster.\n"
    "      --job-files=DIR ...       Directories with files of the prolog.\n"
    "      --web.listen-address=\":9010,[::1]:9011\" ...\n"
    "                                Where to listen.\n";

static void help_text(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    bj_opt_help(&(struct bj_optset){conf_opts, NULL}, &b);
    assert_false(b.failed);
    bj_buf_put(&b, "", 1);
    assert_string_equal(b.p, help);
    for (const char *p = b.p, *end; *p; p = end + 1) {
        end = strchr(p, '\n');
        assert_true(end - p <= 80);
    }
    bj_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets),
        cmocka_unit_test(presets_are_checked),
        cmocka_unit_test(setting),
        cmocka_unit_test(long_values_in_messages),
        cmocka_unit_test(lists),
        cmocka_unit_test(lists_with_commas),
        cmocka_unit_test(list_with_a_preset),
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(amounts_as_text),
        cmocka_unit_test(command_lines),
        cmocka_unit_test(sources_replace_lists),
        cmocka_unit_test(flags_record_that_they_were_set),
        cmocka_unit_test(find_by_name),
        cmocka_unit_test(help_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
