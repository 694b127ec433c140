/* The man page describes every option of --help, with its default. */
#include "apiserver/conf/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char manual[65536];

/* Find the entry of an option in the manual, which writes each '-' of a name as
 * "\-". */
static const char *find_entry(const char *name, size_t n, bool negatable)
{
    char want[128] = "\\-\\-";
    size_t at = strlen(want);
    if (negatable)
        at += (size_t)snprintf(want + at, sizeof(want) - at, "[no\\-]");
    for (size_t i = 0; i < n; i++) {
        if (name[i] == '-')
            want[at++] = '\\';
        want[at++] = name[i];
    }
    want[at++] = negatable ? '\n' : '=';
    want[at] = '\0';
    const char *entry = strstr(manual, want);
    if (!entry)
        fail_msg("%.*s is not in the manual", (int)n, name);
    return entry;
}

/* Check that the entry has the default of --help, if it is a number. */
static void expect_number(const char *entry, const char *value)
{
    char want[128];
    int n = (int)strcspn(value, " \n");
    if (value[0] < '0' || value[0] > '9')
        return;
    snprintf(want, sizeof(want), "\nDefault: %.*s.\n", n, value);
    const char *found = strstr(entry, want), *next = strstr(entry, "\n.TP");
    if (!found || (next && found > next))
        fail_msg("%.40s: the manual has no %s", entry, want + 1);
}

static void options(void **state)
{
    static const char no[] = "[no-]";
    struct bj_buf help = {0};
    unsigned n = 0;
    (void)state;
    FILE *f = fopen("docs/man/batchjob_stats_server.8", "r");
    if (!f)
        skip();
    manual[fread(manual, 1, sizeof(manual) - 1, f)] = '\0';
    fclose(f);
    bj_api_conf_help(true, &help);
    bj_buf_put(&help, "", 1);
    for (const char *p = help.p; (p = strstr(p, "\n      --")); n++) {
        p += strlen("\n      --");
        bool negatable = strncmp(p, no, strlen(no)) == 0;
        p += negatable ? strlen(no) : 0;
        size_t name = strspn(p, "abcdefghijklmnopqrstuvwxyz.-");
        const char *entry = find_entry(p, name, negatable);
        if (p[name] == '=')
            expect_number(entry, p + name + 1);
    }
    assert_true(n > 30);
    bj_buf_free(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
