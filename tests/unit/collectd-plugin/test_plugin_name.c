/* Names for collectd: readable, clean, and different for different texts. The
 * expected hashes were computed by another implementation (FNV-1a of every part
 * and a NUL after it, folded to 48 bits). */
#include "collectd-plugin/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define X32 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X113 X32 X32 X32 "xxxxxxxxxxxxxxxxx"

static const struct {
    const char *text, *name;
} texts[] = {
    {"", ""},
    {"0", "0"},
    {"8:0", "8:0"},
    {"dm-0", "dm-0"},
    {"anna@site.example", "anna@site.example"},
    {"123[4].pbs01", "123[4].pbs01"},
    {"/usr/bin/python3.11", ":usr:bin:python3.11"},
    {"/opt/my_app-2/x", ":opt:my_app-2:x"},
    {"(other)", "[other]"},
    {"1a2b3c4d-5e6f-4081-92a3-b4c5d6e7f809",
     "1a2b3c4d-5e6f-4081-92a3-b4c5d6e7f809"},
    {X113 "xxxxxxxxxxxxxx", X113 "xxxxxxxxxxxxxx"}, /* 127 bytes */
    /* texts with characters that must be replaced, or too long */
    {"a b", "a_b--b782aaf9e15f"},
    {"\xc3\xa9", "_--231c1dfaa458"},
    {"a\\b", "a_b--83835ae0dda7"},
    {"1_-/;=,", "1_-____--dcac8151bdbb"},
    {"/opt/my app/x", ":opt:my_app:x--0270e58faeec"},
    {"/usr/bin/python3 (deleted)", ":usr:bin:python3_[deleted]--b1ca05b32339"},
    {X113 "xxxxxxxxxxxxxxx", X113 "--5638324d6d0b"}, /* 128 bytes */
    /* texts that look like the name of another text */
    {":usr:bin", ":usr:bin--54e7f85f72c5"},
    {"[other]", "[other]--01b199b6ccf2"},
    {"/a:b/c", ":a:b:c--9a21801846d5"},
    {"(odd/]", "[odd:]--2ce3634b0ce8"},
    {"run--0123456789ab", "run--0123456789ab--238904740320"},
};

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char name[BJ_NAME_SIZE];
        bj_name_text(bj_slice_str(texts[i].text), name);
        assert_string_equal(name, texts[i].name);
    }
}

static const struct {
    const char *jobid, *sluid, *node, *step, *job_name, *step_name;
} jobs[] = {
    {"4711", "", "", "0", "4711", "4711.0"},
    {"4711", "", "", "batch", "4711", "4711.batch"},
    {"4711", "", "n1", "extern", "4711@n1", "4711@n1.extern"},
    {"4711_7", "s1", "", "0", "4711_7", "4711_7.0"},
    {"123[4].pbs01", "", "", "x", "123[4].pbs01", "123[4].pbs01.x"},
    {"", "sABC", "", "0", "sABC", "sABC.0"},
    {"", "", "n1", "0", "", ""},
    /* the same characters in other parts */
    {"1.2", "", "", "3", "1.2", "1.2.3"},
    {"1", "", "", "2.3", "1", "1.2.3--6c18732eea32"},
    {"5", "", "n1", "0", "5@n1", "5@n1.0"},
    {"5@n1", "", "", "0", "5@n1--cf7212f8bc7e", NULL},
    {"5", "", "a@b", "0", "5@a@b--bff688cd2af1", NULL},
};

static void test_jobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct bj_ident id = {.f = {[BJ_ID_JOBID] = bj_slice_str(jobs[i].jobid),
                                    [BJ_ID_SLUID] = bj_slice_str(jobs[i].sluid),
                                    [BJ_ID_NODE] = bj_slice_str(jobs[i].node)}};
        char name[BJ_NAME_SIZE];
        bj_name_job(&id, name);
        assert_string_equal(name, jobs[i].job_name);
        bj_name_step(&id, bj_slice_str(jobs[i].step), name);
        if (jobs[i].step_name)
            assert_string_equal(name, jobs[i].step_name);
    }
}

/* All texts of four characters from an alphabet of critical ones. */
enum { ALPHABET = 11, WORDS = ALPHABET * ALPHABET * ALPHABET * ALPHABET };

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void test_unique(void **state)
{
    static const char alphabet[ALPHABET] = "/:()[]_a -\xff";
    char(*names)[BJ_NAME_SIZE] = calloc(WORDS, BJ_NAME_SIZE);
    (void)state;
    assert_non_null(names);
    for (size_t i = 0; i < WORDS; i++) {
        char word[4];
        size_t k = i;
        for (size_t c = 0; c < sizeof(word); c++, k /= ALPHABET)
            word[c] = alphabet[k % ALPHABET];
        bj_name_text((struct bj_slice){word, sizeof(word)}, names[i]);
        assert_true(strspn(names[i], "abcdef0123456789_.:@+-[]") ==
                    strlen(names[i]));
    }
    qsort(names, WORDS, BJ_NAME_SIZE, by_name);
    for (size_t i = 1; i < WORDS; i++)
        assert_string_not_equal(names[i - 1], names[i]);
    free(names);
}

/* Each part of a job may be as long as a label, or longer. */
static void test_long_parts(void **state)
{
    char big[4 * 128];
    (void)state;
    memset(big, 'j', sizeof(big));
    struct bj_slice all = {big, sizeof(big)}, some = {big, 128};
    struct bj_ident id = {.f = {[BJ_ID_JOBID] = all, [BJ_ID_NODE] = all}};
    char a[BJ_NAME_SIZE], b[BJ_NAME_SIZE];
    bj_name_step(&id, all, a);
    bj_name_step(&id, some, b);
    assert_int_equal(strlen(a), BJ_NAME_SIZE - 1);
    assert_int_equal(strlen(b), BJ_NAME_SIZE - 1);
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_unique),
        cmocka_unit_test(test_long_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
