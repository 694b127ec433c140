/* Options of the exporter: their precedence, and messages about mistakes. */
#include "standalone/conf.h"

#include "tests/unit/lib/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
enum { ARGS = 8 };

static char file[] = "/tmp/bj-test-conf.XXXXXX";

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Load a command line in which "FILE" stands for the test's configuration
 * file. */
static int load(struct bj_exporter_conf *c, const char *const args[ARGS],
                struct bj_err *err)
{
    static char config[64];
    char *argv[ARGS + 2] = {(char *)(uintptr_t) "batchjob_exporter"};
    int argc = 1;
    snprintf(config, sizeof(config), "--config.file=%s", file);
    for (int i = 0; i < ARGS && args[i]; i++)
        argv[argc++] =
            strcmp(args[i], "FILE") == 0 ? config : (char *)(uintptr_t)args[i];
    *c = (struct bj_exporter_conf){0};
    return bj_exporter_conf_load(c, argc, argv, err);
}

static void defaults(void **state)
{
    (void)state;
    struct bj_exporter_conf c;
    assert_int_equal(load(&c, (const char *[ARGS]){NULL}, NULL), 0);
    assert_int_equal(c.listen.n, 1);
    assert_string_equal(c.listen.v[0], ":9010");
    assert_string_equal(c.telemetry_path, "/metrics");
    assert_int_equal(c.max_requests, 40);
    assert_int_equal(c.request_usec, 10000000);
    assert_int_equal(c.interval_usec, 0);
    assert_int_equal(c.max_age_usec, 0);
    assert_true(c.gzip);
    assert_null(c.program.help);
    assert_false(c.program.version);
    assert_string_equal(c.program.log_level, "info");
    assert_string_equal(c.program.log_format, "logfmt");
    assert_string_equal(c.core.procfs, "/proc");
    bj_exporter_conf_free(&c);
}

static void line_over_file_over_defaults(void **state)
{
    (void)state;
    struct bj_exporter_conf c;
    write_file("web:\n"
               "  listen-address: [ '127.0.0.1:1', '127.0.0.1:2' ]\n"
               "  max-requests: 7\n"
               "  telemetry-path: /file\n"
               "path.procfs: /file/proc\n"
               "path.sysfs: /file/sys\n"
               "collector.node: false\n");
    const char *args[ARGS] = {"--path.procfs=/line/proc", "FILE",
                              "--web.telemetry-path=/line"};
    assert_int_equal(load(&c, args, NULL), 0);
    assert_int_equal(c.listen.n, 2);
    assert_string_equal(c.listen.v[1], "127.0.0.1:2");
    assert_int_equal(c.max_requests, 7);
    assert_string_equal(c.telemetry_path, "/line");
    assert_string_equal(c.core.procfs, "/line/proc");
    assert_string_equal(c.core.sysfs, "/file/sys");
    assert_string_equal(c.core.cgroupfs, "/sys/fs/cgroup");
    assert_false(c.core.collect[BJ_COLLECT_NODE]);
    assert_true(c.core.collect[BJ_COLLECT_CPU]);
    bj_exporter_conf_free(&c);

    const char *more[ARGS] = {"--web.listen-address=:1", "FILE",
                              "--web.listen-address=[::1]:2", "--no-web.gzip"};
    assert_int_equal(load(&c, more, NULL), 0);
    assert_int_equal(c.listen.n, 2);
    assert_string_equal(c.listen.v[0], ":1");
    assert_string_equal(c.listen.v[1], "[::1]:2");
    assert_false(c.gzip);
    bj_exporter_conf_free(&c);
}

static void help_and_version_need_nothing_else(void **state)
{
    (void)state;
    struct bj_exporter_conf c;
    const char *help[ARGS] = {"--help", "--config.file=/nowhere/x"};
    assert_int_equal(load(&c, help, NULL), 0);
    assert_non_null(c.program.help);
    bj_exporter_conf_free(&c);
    const char *version[ARGS] = {"--version", "--web.telemetry-path=x"};
    assert_int_equal(load(&c, version, NULL), 0);
    assert_true(c.program.version);
    bj_exporter_conf_free(&c);
}

/* A dialect of another exporter sets its port and enables the collectors that
 * it needs, unless options set them. */
static const struct {
    const char *args[ARGS];
    const char *listen;
    bool process, percore;
} dialects[] = {
    {{"--web.dialect=native"}, ":9010", false, false},
    {{"--web.dialect=slurm-job-exporter"}, ":9798", true, true},
    {{"--web.dialect=jobstats"}, ":9306", false, false},
    {{"--web.dialect=jobs_exporter"}, ":9010", true, true},
    {{"--web.dialect=vpenso"}, ":8080", false, false},
    {{"--web.dialect=mila"}, ":19998", false, false},
    {{"--web.dialect=prometheus-slurm-exporter"}, ":9092", false, false},
    {{"--web.dialect=prometheus-slurm-exporter-1.8"}, ":9092", false, false},
    {{"--web.dialect=jobstats", "--web.listen-address=:9010"},
     ":9010",
     false,
     false},
    {{"--web.dialect=slurm-job-exporter", "--no-collector.process"},
     ":9798",
     false,
     true},
};

static void dialect_defaults(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(dialects); i++) {
        struct bj_exporter_conf c;
        struct bj_err err = {0};
        assert_int_equal(load(&c, dialects[i].args, &err), 0);
        assert_int_equal(c.listen.n, 1);
        assert_string_equal(c.listen.v[0], dialects[i].listen);
        assert_int_equal(c.core.collect[BJ_COLLECT_PROCESS],
                         dialects[i].process);
        assert_int_equal(c.core.collect[BJ_COLLECT_PERCORE],
                         dialects[i].percore);
        bj_exporter_conf_free(&c);
    }
}

/* "FILE" stands for the file's name in messages. */
static const struct {
    const char *args[ARGS];
    const char *text; /* of the file */
    const char *want;
} mistakes[] = {
    {{"--web.telemetry-path=metrics"},
     NULL,
     "web.telemetry-path: 'metrics' is not a path such as /metrics"},
    {{"--web.telemetry-path=/"},
     NULL,
     "web.telemetry-path: '/' is not a path such as /metrics"},
    {{"--web.telemetry-path=/a b"},
     NULL,
     "web.telemetry-path: '/a b' is not a path such as /metrics"},
    {{"--web.telemetry-path=/a/../b"},
     NULL,
     "web.telemetry-path: '/a/../b' is not a path such as /metrics"},
    {{"--web.telemetry-path=/<b>"},
     NULL,
     "web.telemetry-path: '/<b>' is not a path such as /metrics"},
    {{"--web.telemetry-path="},
     NULL,
     "web.telemetry-path: '' is not a path such as /metrics"},
    {{"--web.telemetry-path=/health"},
     NULL,
     "web.telemetry-path: '/health' is already used"},
    {{"--trace.enabled", "--trace.path=trace"},
     NULL,
     "trace.path: 'trace' is not a path such as /trace, or is already used"},
    {{"--trace.enabled", "--trace.path=/metrics"},
     NULL,
     "trace.path: '/metrics' is not a path such as /trace, or is already used"},
    {{"--trace.enabled", "--trace.path=/metrics/x"},
     NULL,
     "trace.path: '/metrics/x' is not a path such as /trace, or is already "
     "used"},
    {{"--trace.enabled", "--trace.path=/health"},
     NULL,
     "trace.path: '/health' is not a path such as /trace, or is already used"},
    {{"--web.dialect=nobody"},
     NULL,
     "web.dialect: 'nobody' is not one of native, batchjob_monitoring, ..."},
    {{"--dialect.exclude=a(b"},
     NULL,
     "dialect.exclude: at byte 3: missing closing parenthesis"},
    {{"--dialect.prefix=9"},
     NULL,
     "dialect.prefix: '9' is not a valid prefix of metric names"},
    {{"--web.listen-address=9010"},
     NULL,
     "web.listen-address: '9010' is not HOST:PORT, :PORT or [IPV6]:PORT"},
    {{"--web.listen-address=:9010", "--web.listen-address=::1:80"},
     NULL,
     "web.listen-address: '::1:80' is not HOST:PORT, :PORT or [IPV6]:PORT"},
    {{"--web.listen-address=x:65536"},
     NULL,
     "web.listen-address: 'x:65536' is not HOST:PORT, :PORT or [IPV6]:PORT"},
    {{"--web.listen-address="},
     NULL,
     "web.listen-address: at least one is required"},
    {{"--web.max-requests=0"},
     NULL,
     "web.max-requests: '0' is not between 1 and 5000"},
    {{"--web.request-timeout=1ms"},
     NULL,
     "web.request-timeout: '1ms' is not between 100ms and 1h"},
    {{"--sample.interval=soon"},
     NULL,
     "sample.interval: 'soon' is not a duration such as 250ms, 15s, 2m or 1h"},
    {{"--log.level=loud"},
     NULL,
     "log.level: 'loud' is not one of debug, info, warn, error"},
    {{"--dialect.also=nobody"},
     NULL,
     "dialect.also: 'nobody' is not one of native, batchjob_monitoring, ..."},
    {{"--nonsense"}, NULL, "unknown option '--nonsense' (--help lists them)"},
    {{"-x"}, NULL, "'-x': options begin with two dashes (--help lists them)"},
    {{"--config.file=/nowhere/x.yml"}, NULL, "config.file: /nowhere/x.yml"},
    {{"FILE"},
     "help: all\n",
     "FILE: config.file, help and version are valid only on the command line"},
    {{"FILE"},
     "config.file: x\n",
     "FILE: config.file, help and version are valid only on the command line"},
    {{"FILE"},
     "web:\n  max-requests: many\n",
     "FILE:2:17: web.max-requests: 'many' is not a whole number"},
    {{"FILE"},
     "webb:\n  gzip: no\n",
     "FILE:1:1: unknown option 'webb'; did you mean 'web'?"},
};

static void mistake_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        struct bj_exporter_conf c;
        struct bj_err err = {0};
        char want[256] = "";
        struct bj_slice w = bj_slice_str(mistakes[i].want);
        if (mistakes[i].text)
            write_file(mistakes[i].text);
        if (bj_slice_starts(w, BJ_SLICE("FILE")))
            snprintf(want, sizeof(want), "%s%s", file, w.p + 4);
        else
            snprintf(want, sizeof(want), "%s", w.p);
        assert_true(load(&c, mistakes[i].args, &err) < 0);
        char *dots = strstr(want, "...");
        if (dots) /* the list of all dialects */
            err.msg[dots - want] = *dots = '\0';
        assert_string_equal(err.msg, want);
        bj_exporter_conf_free(&c);
    }
}

static void check_help(void *ctx, struct bj_slice group, const struct bj_opt *o)
{
    const char *const *page = ctx; /* --help=all, --help */
    (void)group;
    if (!strstr(page[0], o->name))
        fail_msg("%s is not in --help=all", o->name);
    if (!o->rare && !strstr(page[1], o->name))
        fail_msg("%s is not in --help", o->name);
    if (o->help[strlen(o->help) - 1] != '.')
        fail_msg("%s: its help does not end with a full stop", o->name);
}

static void help(void **state)
{
    (void)state;
    struct bj_exporter_conf c;
    struct bj_optset sets[BJ_EXPORTER_SETS];
    struct bj_buf all = {0}, some = {0};
    bj_exporter_conf_sets(&c, sets);
    bj_exporter_conf_help(true, &all);
    bj_exporter_conf_help(false, &some);
    bj_buf_put(&all, "", 1);
    bj_buf_put(&some, "", 1);
    assert_false(all.failed || some.failed);
    const char *pages[] = {all.p, some.p};
    bj_opt_walk(sets, BJ_EXPORTER_SETS, check_help, pages);
    assert_non_null(strstr(some.p, "\nweb:\n"));
    assert_non_null(strstr(some.p, "--path.cgroupfs"));
    assert_null(strstr(some.p, "--path.procfs"));
    bj_buf_free(&all);
    bj_buf_free(&some);
}

/* Whether the text contains the name; roff's escapes are ignored. */
static bool contains_name(const char *text, const char *name)
{
    for (; *text; text++) {
        size_t i = 0, n = 0;
        for (; name[i] && text[n]; n++) {
            if (text[n] == '\\')
                continue;
            if (text[n] != name[i])
                break;
            i++;
        }
        if (!name[i])
            return true;
    }
    return false;
}

/* Whether a list contains a word. */
static bool has(const struct bj_strv *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i], word) == 0)
            return true;
    return false;
}

/* A dialect of the cluster selects the groupings and sources that it needs,
 * unless options name others. */
static void dialect_cluster_options(void **state)
{
    struct bj_exporter_conf c;
    const char *plain[ARGS] = {"--web.dialect=vpenso"};
    const char *named[ARGS] = {"--web.dialect=vpenso", "--cluster.by=user",
                               "--cluster.source=none"};
    (void)state;
    assert_int_equal(load(&c, plain, NULL), 0);
    assert_true(c.core.collect[BJ_COLLECT_CLUSTER]);
    assert_true(has(&c.core.scheduler.by, "node"));
    assert_true(has(&c.core.scheduler.by, "qos"));
    assert_true(has(&c.core.scheduler.extra, "shares"));
    bj_exporter_conf_free(&c);
    assert_int_equal(load(&c, named, NULL), 0);
    assert_int_equal(c.core.scheduler.by.n, 1);
    assert_int_equal(c.core.scheduler.extra.n, 1);
    bj_exporter_conf_free(&c);
}

/* Values that only dialects need are collected only for the selected
 * dialects. */
static void dialect_extras(void **state)
{
    static const struct {
        const char *args[ARGS];
        unsigned extras;
        bool process;
        const char *port;
    } v[] = {
        {{"--web.dialect=native"}, 0, false, ":9010"},
        {{"--dialect.exe-count"}, BJ_EXTRA_EXES, false, ":9010"},
        {{"--web.dialect=jobs_exporter"},
         BJ_EXTRA_NAMES | BJ_EXTRA_RATE,
         true,
         ":9010"},
        {{"--dialect.also=jobs_exporter", "--dialect.also=cgroup_exporter"},
         BJ_EXTRA_NAMES | BJ_EXTRA_RATE | BJ_EXTRA_CPUS,
         true,
         ":9010"},
        {{"--web.dialect=jobs_exporter", "--dialect.strict"},
         BJ_EXTRA_NAMES | BJ_EXTRA_RATE | BJ_EXTRA_ALIVE | BJ_EXTRA_STATM |
             BJ_EXTRA_SLEEP,
         true,
         ":9010"},
        {{"--web.dialect=jobstats", "--dialect.strict"}, 0, false, ":9306"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct bj_exporter_conf c;
        assert_int_equal(load(&c, v[i].args, NULL), 0);
        assert_int_equal(c.core.extras, v[i].extras);
        assert_int_equal(c.core.collect[BJ_COLLECT_PROCESS], v[i].process);
        assert_string_equal(c.listen.v[0], v[i].port);
        bj_exporter_conf_free(&c);
    }
}

/* With trace.enabled, values of each job of the queue are kept. */
static void each_job(void **state)
{
    struct bj_exporter_conf c;
    const char *plain[ARGS] = {"--collector.cluster"};
    const char *traced[ARGS] = {"--collector.cluster", "--trace.enabled"};
    (void)state;
    assert_int_equal(load(&c, plain, NULL), 0);
    assert_false(c.core.scheduler.each_job);
    assert_int_equal(c.core.extras, 0);
    bj_exporter_conf_free(&c);
    assert_int_equal(load(&c, traced, NULL), 0);
    assert_true(c.core.scheduler.each_job);
    bj_exporter_conf_free(&c);
}

/* The manual names every option, and the example file is valid. Both paths are
 * relative to the root of the source. */
static void check_manual(void *ctx, struct bj_slice group,
                         const struct bj_opt *o)
{
    (void)group;
    if (!contains_name(ctx, o->name))
        fail_msg("%s is not in the manual", o->name);
}

static void manual_and_example(void **state)
{
    (void)state;
    static char text[65536];
    FILE *f = fopen("docs/man/batchjob_exporter.8", "r");
    if (!f)
        skip();
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    struct bj_exporter_conf c;
    struct bj_optset sets[BJ_EXPORTER_SETS];
    bj_exporter_conf_sets(&c, sets);
    bj_opt_walk(sets, BJ_EXPORTER_SETS, check_manual, text);
    struct bj_err err = {0};
    const char *args[ARGS] = {"--config.file=examples/exporter.yml"};
    if (load(&c, args, &err) < 0)
        fail_msg("%s", err.msg);
    bj_exporter_conf_free(&c);
}

static int load_once(void *arg)
{
    struct bj_exporter_conf c;
    (void)arg;
    const char *args[ARGS] = {"FILE", "--web.telemetry-path=/x"};
    int r = load(&c, args, NULL);
    bj_exporter_conf_free(&c);
    return r;
}

static void out_of_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    write_file("cluster: c\n");
    assert_true(bj_fail_each(load_once, NULL) > 10);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(line_over_file_over_defaults),
        cmocka_unit_test(help_and_version_need_nothing_else),
        cmocka_unit_test(dialect_defaults),
        cmocka_unit_test(dialect_cluster_options),
        cmocka_unit_test(dialect_extras),
        cmocka_unit_test(mistake_messages),
        cmocka_unit_test(help),
        cmocka_unit_test(each_job),
        cmocka_unit_test(manual_and_example),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
