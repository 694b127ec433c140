/* Each memory allocation fails in turn: the call returns -ENOMEM, its data
 * remain valid, and nothing leaks (the address sanitizer checks that). */
#include "base/arena.h"
#include "base/buf.h"
#include "base/opt.h"
#include "tests/unit/lib/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct conf {
    char *proc, *cluster;
    uint64_t jobs;
    struct bj_strv files, listen;
};

#define AT(type, member)                                                       \
    .kind = BJ_OPT_##type, .off = offsetof(struct conf, member)

static const struct bj_opt opts[] = {
    {.name = "path.procfs", AT(STR, proc), .preset = "/proc", .help = "a"},
    {.name = "cluster", AT(STR, cluster), .help = "b"},
    {.name = "max-jobs", AT(U64, jobs), .preset = "1024", .help = "c"},
    {.name = "job-files", AT(LIST, files), .help = "d"},
    {.name = "web.listen", AT(LIST, listen), .preset = ":1,:2", .help = "e"},
    {0},
};

/* Configure a structure with fill, between the presets and the finish. */
static int configure(int (*fill)(const struct bj_optset *, void *,
                                 struct bj_err *),
                     void *arg)
{
    struct conf c = {0};
    struct bj_optset set = {opts, &c};
    struct bj_err err = {0};
    int r = bj_opt_presets(&set, &err);
    if (r == 0)
        r = fill(&set, arg, &err);
    if (r == 0)
        r = bj_opt_finish(&set, &err);
    assert_int_equal(err.code, r);
    assert_true(r == 0 || err.msg[0]);
    if (r == 0) {
        assert_int_equal(c.files.n, 2);
        assert_int_equal(c.listen.n, 2);
        assert_string_equal(c.cluster, "x");
    }
    bj_opt_free(&set);
    return r;
}

static int fill_by_text(const struct bj_optset *set, void *arg,
                        struct bj_err *err)
{
    static const char *const pairs[][2] = {
        {"job-files", "none"}, {"job-files", ""},  {"job-files", "a"},
        {"job-files", "b"},    {"cluster", "old"}, {"cluster", "x"},
    };
    int r = 0;
    (void)arg;
    for (size_t i = 0; i < COUNT(pairs) && r == 0; i++)
        r = bj_opt_set(set, 1, bj_slice_str(pairs[i][0]),
                       bj_slice_str(pairs[i][1]), err);
    return r;
}

static int fill_by_argv(const struct bj_optset *set, void *arg,
                        struct bj_err *err)
{
    char first[] = "--job-files=a", second[] = "--job-files", value[] = "b",
         third[] = "--cluster=x";
    char *argv[] = {first, first, second, value, third};
    (void)arg;
    return bj_opt_argv(set, 1, COUNT(argv), argv, err);
}

#define YAML                                                                   \
    "# comment\n"                                                              \
    "cluster: x\n"                                                             \
    "path:\n  procfs: \"/p\\x41\"\n"                                           \
    "job-files:\n  - a\n  - |\n    b\n"                                        \
    "web: {listen: [c, d]}\n"

static int fill_by_yaml(const struct bj_optset *set, void *arg,
                        struct bj_err *err)
{
    (void)arg;
    return bj_opt_yaml_text(set, 1, "f", BJ_SLICE(YAML), err);
}

static int fill_by_file(const struct bj_optset *set, void *arg,
                        struct bj_err *err)
{
    return bj_opt_yaml(set, 1, arg, err);
}

static int by_text(void *arg)
{
    return configure(fill_by_text, arg);
}

static int by_argv(void *arg)
{
    return configure(fill_by_argv, arg);
}

static int by_yaml(void *arg)
{
    return configure(fill_by_yaml, arg);
}

static int by_file(void *arg)
{
    return configure(fill_by_file, arg);
}

static void options(void **state)
{
    (void)state;
    assert_true(bj_fail_each(by_text, NULL) > 10);
    assert_true(bj_fail_each(by_argv, NULL) > 10);
    assert_true(bj_fail_each(by_yaml, NULL) > 20);
    char name[] = "/tmp/bj-test-oom-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, YAML, sizeof(YAML) - 1), sizeof(YAML) - 1);
    close(fd);
    assert_true(bj_fail_each(by_file, name) > 21);
    unlink(name);
}

/* With an error in the YAML and too little memory, either error is reported. */
static void errors_in_yaml(void **state)
{
    static const char *const texts[] = {"cluster: [x\n", "cluster: \xff\n",
                                        "a: &b c\n", "cluster: x\n---\n",
                                        "cluster: x\ncluster: y\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        for (unsigned long n = 0;; n++) {
            struct conf c = {0};
            struct bj_optset set = {opts, &c};
            struct bj_err err = {0};
            bj_fail_from(n);
            int r =
                bj_opt_yaml_text(&set, 1, "f", bj_slice_str(texts[i]), &err);
            bool failed = bj_fail_stop();
            assert_true(r < 0 && err.code == r && err.msg[0]);
            bj_opt_free(&set);
            if (!failed) {
                assert_true(r == -EINVAL || r == -ENOENT);
                break;
            }
        }
}

static int help(void *arg)
{
    struct bj_buf b = {0};
    (void)arg;
    bj_opt_help(&(struct bj_optset){opts, NULL}, &b);
    int r = b.failed ? -ENOMEM : 0;
    bj_buf_free(&b);
    return r;
}

static int buffer(void *arg)
{
    struct bj_buf b = {0};
    (void)arg;
    for (unsigned i = 0; i < 1000; i++) {
        bj_buf_printf(&b, "metric_%u{label=\"", i);
        bj_buf_label(&b, BJ_SLICE("a\"b"));
        bj_buf_str(&b, "\"} ");
        bj_buf_fixed(&b, i * 1500000, 6);
        bj_buf_str(&b, "\n");
    }
    /* Either an allocation failed or all lines are there. */
    struct bj_slice rest = {b.p, b.len}, line;
    unsigned lines = 0;
    while (bj_slice_line(&rest, &line))
        lines++;
    assert_true(b.failed || lines == 1000);
    int r = b.failed ? -ENOMEM : 0;
    bj_buf_free(&b);
    assert_false(b.failed);
    return r;
}

static void buffers(void **state)
{
    (void)state;
    assert_true(bj_fail_each(buffer, NULL) > 5);
    assert_true(bj_fail_each(help, NULL) > 1);
}

static int arena(void *arg)
{
    struct bj_arena a = {0};
    (void)arg;
    int r = 0;
    for (size_t i = 0; i < 2000; i++) {
        char *p = bj_arena_alloc(&a, i % 300);
        if (p)
            memset(p, 'x', i % 300);
        struct bj_slice s = bj_arena_copy(&a, BJ_SLICE("word"));
        assert_true(bj_slice_eq(s, BJ_SLICE("word")) ||
                    (a.failed && s.n == 0 && s.p[0] == '\0'));
    }
    if (a.failed)
        r = -ENOMEM;
    bj_arena_free(&a);
    return r;
}

/* A reset without a block does not fail: the next allocation tries again. */
static void arenas(void **state)
{
    (void)state;
    assert_true(bj_fail_each(arena, NULL) > 3);
    struct bj_arena a = {0};
    for (int i = 0; i < 100; i++)
        assert_non_null(bj_arena_alloc(&a, 1000));
    bj_fail_after(0);
    bj_arena_reset(&a);
    assert_true(bj_fail_stop());
    assert_int_equal(a.failed, 0);
    assert_non_null(bj_arena_alloc(&a, 1000));
    bj_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options),
        cmocka_unit_test(errors_in_yaml),
        cmocka_unit_test(buffers),
        cmocka_unit_test(arenas),
    };
    if (!bj_fail_works()) {
        print_message("# skipped: malloc cannot be made to fail here\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
