/* Command lines with words between options, and times as users write them. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "base/opt.h"
#include "base/tz.h"
#include "report/form/when.h"

#include <string.h>
#include <time.h>

struct conf {
    char *user;
    bool utc;
    struct bj_strv job;
};

enum { DAY = 86400, T0 = 1700000000 };

static const struct bj_opt options[] = {
    {.name = "user", .kind = BJ_OPT_STR, .off = offsetof(struct conf, user)},
    {.name = "utc", .kind = BJ_OPT_BOOL, .off = offsetof(struct conf, utc)},
    {.name = "store.job",
     .kind = BJ_OPT_LIST,
     .off = offsetof(struct conf, job)},
    {.name = NULL},
};

/* Command lines, and the options and words into which they are divided. */
static const struct {
    const char *line, *options, *words;
} lines[] = {
    {"", "", ""},
    {"1 2", "", "1 2"},
    {"--user x 1", "--user x", "1"},
    {"1 --user x 2", "--user x", "1 2"},
    {"--user=x 1", "--user=x", "1"},
    {"--utc 1", "--utc", "1"},
    {"--no-utc 1", "--no-utc", "1"},
    {"--store.job 1 2 --store-job 3 4", "--store.job 1 --store-job 3", "2 4"},
    {"-u x 1 -t 2", "--user x --utc", "1 2"},
    {"-x 1", "-x", "1"},
    {"-ux 1", "-ux", "1"},
    {"--user -u 1", "--user -u", "1"},
    {"--user -- 1", "--user --", "1"},
    {"--unknown 1", "--unknown", "1"},
    {"--utc -- --user 1 --", "--utc", "--user 1 --"},
    {"- 1", "", "- 1"},
    {"1 --user", "--user", "1"},
};

static void join(char *const *v, char *to, size_t cap)
{
    to[0] = '\0';
    for (; *v; v++) {
        size_t n = strlen(to);
        snprintf(to + n, cap - n, "%s%s", n ? " " : "", *v);
    }
}

static void test_words(void **state)
{
    (void)state;
    struct bj_opt_letter letters[] = {{'u', "--user"}, {'t', "--utc"}, {0, ""}};
    const struct bj_optset set = {options, NULL};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[200], got[200], program[] = "p";
        char *argv[20] = {program}, *word[20], *p = text;
        int argc = 1;
        snprintf(text, sizeof(text), "%s", lines[i].line);
        while (*p) {
            argv[argc++] = p;
            p += strcspn(p, " ");
            if (*p)
                *p++ = '\0';
        }
        size_t n = bj_opt_words(&set, 1, letters, &argc, argv, word);
        join(word, got, sizeof(got));
        assert_string_equal(got, lines[i].words);
        assert_null(word[n]);
        join(argv + 1, got, sizeof(got));
        assert_string_equal(got, lines[i].options);
        assert_null(argv[argc]);
    }
}

static void test_time(void **state)
{
    static const struct {
        const char *text;
        bool utc;
        int64_t want; /* INT64_MIN: refused */
    } cases[] = {
        {"2023-11-14T22:13:20Z", false, T0},
        {"2023-11-14T22:13:20+01:00", true, T0 - 3600},
        {"2023-11-14T22:13:20", true, T0},
        {"2023-11-14T23:13:20", false, T0},
        {"2023-07-01T00:00:00", false, 1688162400}, /* summer time */
        {"2023-11-14", true, T0 - T0 % DAY},
        {"7d", false, T0 - 7 * DAY},
        {"1h30m", true, T0 - 5400},
        {"now", false, T0},
        {"now-2hours", false, T0 - 7200},
        {"now-1day", true, T0 - DAY},
        {"now-3weeks", true, T0 - 21 * DAY},
        {"now-60", true, T0 - 60},
        {"now+60", true, INT64_MIN},
        {"now-", true, INT64_MIN},
        {"now-2fortnights", true, INT64_MIN},
        {"today", true, T0 - T0 % DAY},
        {"yesterday", true, T0 - T0 % DAY - DAY},
        {"today", false, T0 - T0 % DAY - 3600},
        {"yesterday", false, T0 - T0 % DAY - DAY - 3600},
        {"tomorrow", true, INT64_MIN},
        {"20231114", true, INT64_MIN}, /* not a number of seconds */
        {"2023-02-30", true, INT64_MIN},
        {"-1d", true, INT64_MIN},
    };
    (void)state;
    struct bj_tz *tz = NULL;
    assert_int_equal(bj_tz_load("CET-1CEST,M3.5.0,M10.5.0/3", &tz, NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t got = INT64_MIN;
        bj_tz_use(cases[i].utc ? NULL : tz);
        int r = bj_when_parse(cases[i].text, T0, &got);
        assert_int_equal(r, cases[i].want == INT64_MIN ? -EINVAL : 0);
        assert_int_equal(got, cases[i].want);
    }
    bj_tz_use(NULL);
    bj_tz_free(tz);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
