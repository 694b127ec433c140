/* --help by group, and options whose value may be left out. */
#include "base/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct grouped {
    bool plain;
    uint64_t size, age;
    char *mode;
};
static const struct bj_opt grouped_opts[] = {
    {.name = "file.size",
     .kind = BJ_OPT_SIZE,
     .off = offsetof(struct grouped, size),
     .help = "Size of a file. More of it."},
    {.name = "plain",
     .kind = BJ_OPT_BOOL,
     .off = offsetof(struct grouped, plain),
     .help = "Plain."},
    {.name = "file.age",
     .kind = BJ_OPT_DURATION,
     .off = offsetof(struct grouped, age),
     .help = "Age of a file.",
     .rare = true},
    {.name = "only.mode",
     .kind = BJ_OPT_STR,
     .off = offsetof(struct grouped, mode),
     .choices = "short|all",
     .bare = "short",
     .help = "Mode."},
    {0},
};

static void help_by_group(void **state)
{
    (void)state;
    static const char *const want[] = {
        "\nfile:\n"
        "      --file.size=BYTES         Size of a file.\n"
        "\ngeneral:\n"
        "      --[no-]plain              Plain. (default: false)\n"
        "      --only.mode[=short|all]   Mode. One of: short, all.\n",
        "\nfile:\n"
        "      --file.size=BYTES         Size of a file. More of it.\n"
        "      --file.age=TIME           Age of a file.\n"
        "\ngeneral:\n"
        "      --[no-]plain              Plain. (default: false)\n"
        "      --only.mode[=short|all]   Mode. One of: short, all.\n"};
    const struct bj_optset set = {grouped_opts, NULL};
    for (int all = 0; all < 2; all++) {
        struct bj_buf b = {0};
        bj_opt_help_groups(&set, 1, all, &b);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, want[all]);
        bj_buf_free(&b);
    }
}

static void values_left_out(void **state)
{
    (void)state;
    static struct {
        char arg[16];
        const char *mode;
    } v[] = {{"--only.mode", "short"}, {"--only.mode=all", "all"}};
    static char program[] = "x", plain[] = "--plain";
    for (size_t i = 0; i < 2; i++) {
        struct grouped c = {0};
        const struct bj_optset set = {grouped_opts, &c};
        char *argv[] = {program, v[i].arg, plain, NULL};
        assert_int_equal(bj_opt_argv(&set, 1, 3, argv, NULL), 0);
        assert_string_equal(c.mode, v[i].mode);
        assert_true(c.plain);
        bj_opt_free(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_by_group),
        cmocka_unit_test(values_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
