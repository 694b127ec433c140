/* Options of batch scripts, and the reply of `sacct -B`, as Slurm 22.05.8
 * prints it. */
#include "base/buf.h"
#include "sched/sbatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RULE                                                                   \
    "------------------------------------------------------------------------" \
    "-"                                                                        \
    "-------"

static void expect(const char *what, struct bj_slice got, const char *want)
{
    if (!bj_slice_eq(got, bj_slice_str(want)))
        fail_msg("%s:\n  %.*s\ninstead of\n  %s", what, (int)got.n,
                 got.p ? got.p : "", want);
}

static struct bj_slice read_all(struct bj_script_options *o, const char *script)
{
    struct bj_slice rest = bj_slice_str(script), line;
    memset(o, 0, sizeof(*o));
    for (unsigned i = 1; bj_slice_line(&rest, &line); i++)
        bj_script_options_line(o, i, line, false);
    return bj_script_options_text(o);
}

static void test_options(void **state)
{
    static const struct {
        const char *script, *options;
    } cases[] = {
        {"#!/bin/bash\n#SBATCH --mem=64G\n#SBATCH -n 4 -c2\necho\n",
         "2 --mem=64G; 3 -n 4; 3 -c2"},
        /* sbatch reads no further than the first command */
        {"#!/bin/bash\n\n  # a comment\n#SBATCH -t 5\ntrue\n#SBATCH --mem=1G\n",
         "4 -t 5"},
        {"#!/bin/sh\ntrue\n", "none"},
        /* other options, and comments, are not kept */
        {"#!/bin/sh\n#SBATCH -J secret --comment=\"my token\" --export=A=b\n"
         "#SBATCH --mem 2G # not --mem=3G\n",
         "3 --mem 2G"},
        {"#!/bin/sh\n#SBATCH --wckey 'a b' --mail-user=x@y -n 2\n", "2 -n 2"},
        {"#!/bin/sh\n#SBATCH --gres=gpu:a100:2,lustre:1 --exclusive\n",
         "2 --gres=gpu:a100:2,lustre:1; 2 --exclusive"},
        /* of options that place tasks only the name */
        {"#!/bin/sh\n#SBATCH -w n[1-4] --hint nomultithread -N 1-2\n",
         "2 --nodelist=; 2 --hint=; 2 -N 1-2"},
        /* of unknown ones, too: short forms, plugins of the site */
        {"#!/bin/sh\n#SBATCH --site-plugin=password --mem-per-c=4G\n",
         "2 --site-plugin=; 2 --mem-per-c="},
        /* what cannot be read */
        {"#!/bin/sh\n#SBATCH --mem=\"4 G\"\n", "0 ?"},
        {"#!/bin/sh\n#SBATCH -N 1\n#SBATCH --mem=$X\n", "2 -N 1; 0 ?"},
        {"#!/bin/sh\n#SBATCH -N 1\n#SBATCH hetjob\n#SBATCH -N 2\n",
         "2 -N 1; 4 -N 2; 0 ?"},
        {"#!/bin/sh\n#PBS -l mem=4gb\n", "0 ?"},
        {"#!/bin/sh\n#SBATCH --mem\n", "0 ?"},
        {"#!/bin/sh\n#SBATCH -HQ\n", "0 ?"},
    };
    struct bj_script_options o;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(cases[i].script, read_all(&o, cases[i].script),
               cases[i].options);
}

static void test_next(void **state)
{
    struct bj_slice rest = BJ_SLICE("2 -n 4; 31 --mem=2G"), option;
    unsigned line;
    (void)state;
    assert_true(bj_script_options_next(&rest, &line, &option));
    assert_int_equal(line, 2);
    expect("first", option, "-n 4");
    assert_true(bj_script_options_next(&rest, &line, &option));
    assert_int_equal(line, 31);
    expect("second", option, "--mem=2G");
    assert_false(bj_script_options_next(&rest, &line, &option));
    rest = BJ_SLICE("--mem=2G");
    assert_false(bj_script_options_next(&rest, &line, &option));
}

/* A long script: what does not fit is noted, once. */
static void test_bounds(void **state)
{
    struct bj_script_options o = {.n = 0};
    (void)state;
    for (unsigned i = 1; i < 500; i++)
        bj_script_options_line(&o, i, BJ_SLICE("#SBATCH --ntasks=4"), false);
    const struct bj_slice all = bj_script_options_text(&o);
    assert_true(all.n <= BJ_SCRIPT_OPTIONS);
    expect("end", (struct bj_slice){all.p + all.n - 5, 5}, "; 0 ?");
    memset(&o, 0, sizeof(o));
    bj_script_options_line(&o, 1, BJ_SLICE("#SBATCH -n 4"), true);
    expect("a line that was cut", bj_script_options_text(&o), "1 -n 4; 0 ?");
}

/* --- the reply -------------------------------------------------------------
 */

struct got {
    struct bj_buf text;
};

static void take(void *ctx, size_t which, unsigned number, struct bj_slice line,
                 bool cut)
{
    struct got *g = ctx;
    bj_buf_printf(&g->text, "%zu.%u%s %.*s\n", which, number, cut ? "+" : "",
                  (int)(line.n > 30 ? 30 : line.n), line.n > 0 ? line.p : "");
}

static void read_reply(const char *text, const char *const *id, size_t ids,
                       const char *want)
{
    for (size_t step = 1; step <= strlen(text); step += step) {
        struct got g = {{0}};
        struct bj_scripts s = {.id = id, .ids = ids, .ctx = &g, .line = take};
        for (size_t at = 0; at < strlen(text); at += step) {
            const size_t n = strlen(text + at);
            assert_true(bj_scripts_feed(
                &s, (struct bj_slice){text + at, n < step ? n : step}));
        }
        bj_scripts_end(&s);
        expect("reply", (struct bj_slice){g.text.p, g.text.len}, want);
        bj_buf_free(&g.text);
    }
}

static void test_reply(void **state)
{
    static const char *const ids[] = {"3437400", "3437403", "3437401_1"};
    static const char *const one[] = {"3437400"};
    (void)state;
    read_reply("Batch Script for 3437400\n" RULE "\n#!/bin/bash\n\ntrue\n\n"
               "Batch Script for 3437403\n" RULE "\nNONE\n\n"
               "Batch Script for 3437401_1\n" RULE "\n#!/bin/sh\n",
               ids, 3,
               "0.1 #!/bin/bash\n0.2 \n0.3 true\n0.4 \n1.1 NONE\n1.2 \n2.1 "
               "#!/bin/sh\n");
    /* headings of other jobs, and without a rule, are text */
    read_reply("Batch Script for 3437400\n" RULE "\n#!/bin/bash\n"
               "Batch Script for 1\n" RULE "\nBatch Script for 3437403\n--\n",
               ids, 3,
               "0.1 #!/bin/bash\n0.2 Batch Script for 1\n0.3 "
               "------------------------------\n0.4 Batch Script for 3437403\n"
               "0.5 --\n");
    /* A script with the heading of another job: that one is there twice. */
    read_reply("Batch Script for 3437400\n" RULE "\n#!/bin/bash\n"
               "Batch Script for 3437403\n" RULE "\n#SBATCH -n 9\n\n"
               "Batch Script for 3437403\n" RULE "\nNONE\n\n",
               ids, 3,
               "0.1 #!/bin/bash\n1.1 #SBATCH -n 9\n1.2 \n1.1 NONE\n1.2 \n");
    /* Of a single job all the rest is its script. */
    read_reply("Batch Script for 3437400\n" RULE "\n#!/bin/bash\n"
               "Batch Script for 3437400\n" RULE "\n#SBATCH -n 9\n",
               one, 1,
               "0.1 #!/bin/bash\n0.2 Batch Script for 3437400\n0.3 "
               "------------------------------\n0.4 #SBATCH -n 9\n");
    read_reply("sacct: no heading\n", one, 1, "");
}

static void test_long_line(void **state)
{
    static const char *const one[] = {"7"};
    enum { LENGTH = 3 * BJ_SCRIPT_LINE };
    struct bj_buf text = {0};
    (void)state;
    bj_buf_str(&text, "Batch Script for 7\n" RULE "\n");
    for (int i = 0; i < LENGTH; i++)
        bj_buf_str(&text, "x");
    bj_buf_put(&text, "\ny\n", 4);
    read_reply(text.p, one, 1, "0.1+ xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n0.2 y\n");
    bj_buf_free(&text);
}

/* Any bytes are read. */
static void test_random(void **state)
{
    static const char *const ids[] = {"1", "2"};
    static const char *const pieces[] = {"Batch Script for 1\n",
                                         RULE,
                                         "\n",
                                         "#SBATCH ",
                                         "--mem=",
                                         "\"",
                                         "'",
                                         "\\",
                                         "-n",
                                         "4 ",
                                         "#",
                                         "=",
                                         ",",
                                         "-",
                                         "--",
                                         "gpu:",
                                         "; ",
                                         "NONE",
                                         "x y",
                                         "\t",
                                         "Batch Script for 2\n" RULE "\n"};
    (void)state;
    srandom(1);
    for (int round = 0; round < 3000; round++) {
        struct got g = {{0}};
        struct bj_scripts s = {.id = ids, .ids = 2, .ctx = &g, .line = take};
        struct bj_script_options o = {.n = 0};
        struct bj_buf line = {0};
        for (int i = 0; i < 40; i++) {
            const char c = (char)random();
            const struct bj_slice p =
                random() % 8 == 0
                    ? (struct bj_slice){&c, 1}
                    : bj_slice_str(
                          pieces[(size_t)random() %
                                 (sizeof(pieces) / sizeof(pieces[0]))]);
            assert_true(bj_scripts_feed(&s, p));
            bj_buf_slice(&line, p);
        }
        bj_scripts_end(&s);
        struct bj_slice rest = {line.p, line.len}, part;
        for (unsigned i = 1; bj_slice_line(&rest, &part); i++) {
            bj_script_options_line(&o, i, part, false);
            o.ended = false;
        }
        const struct bj_slice all = bj_script_options_text(&o);
        assert_true(all.n > 0 && all.n <= BJ_SCRIPT_OPTIONS);
        assert_null(memchr(all.p, '"', all.n));
        assert_null(memchr(all.p, '\n', all.n));
        bj_buf_free(&line);
        bj_buf_free(&g.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),   cmocka_unit_test(test_next),
        cmocka_unit_test(test_bounds),    cmocka_unit_test(test_reply),
        cmocka_unit_test(test_long_line), cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
