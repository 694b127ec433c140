/* Identities: labels, sanitised text, reference counts. */
#include "core/find/ident.h"

#include "core/model/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
    const char *jobid, *node, *user, *account;
    bool label_user, label_account;
    const char *want;
} labels[] = {
    {"4711", NULL, "anna", "physics", true, true,
     "jobid=\"4711\",user=\"anna\",account=\"physics\""},
    {"4711", NULL, "anna", "physics", false, true,
     "jobid=\"4711\",account=\"physics\""},
    {"4711", NULL, "anna", "physics", true, false,
     "jobid=\"4711\",user=\"anna\""},
    {"4711", NULL, NULL, NULL, true, true, "jobid=\"4711\""},
    {"3", "node01", "bob", NULL, true, true,
     "jobid=\"3\",slurm_node=\"node01\",user=\"bob\""},
    {"123[4].srv", NULL, "a\"b\\c", "x\ny", true, true,
     "jobid=\"123[4].srv\",user=\"a\\\"b\\\\c\",account=\"x?y\""},
    {"1", NULL, "\xff", "\xc3\xa9", true, true,
     "jobid=\"1\",user=\"\xef\xbf\xbd\",account=\"\xc3\xa9\""},
    {NULL, NULL, "anna", NULL, true, true, "jobid=\"\",user=\"anna\""},
};

static void test_labels(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(labels); i++) {
        struct bj_conf conf = {.label_user = labels[i].label_user,
                               .label_account = labels[i].label_account};
        struct bj_slice f[BJ_ID_FIELDS] = {
            [BJ_ID_JOBID] = bj_slice_str(labels[i].jobid),
            [BJ_ID_NODE] = bj_slice_str(labels[i].node),
            [BJ_ID_USER] = bj_slice_str(labels[i].user),
            [BJ_ID_ACCOUNT] = bj_slice_str(labels[i].account)};
        struct bj_ident *id = bj_ident_new(f, &conf);
        assert_non_null(id);
        assert_string_equal(id->labels.p, labels[i].want);
        assert_int_equal(id->labels.n, strlen(labels[i].want));
        bj_ident_unref(id);
    }
}

static void test_fields(void **state)
{
    (void)state;
    struct bj_conf conf = {.label_user = true, .label_account = true};
    struct bj_slice f[BJ_ID_FIELDS];
    char text[BJ_ID_FIELDS][8];
    for (int i = 0; i < BJ_ID_FIELDS; i++) {
        snprintf(text[i], sizeof(text[i]), "f%d", i);
        f[i] = bj_slice_str(text[i]);
    }
    f[BJ_ID_QOS] = (struct bj_slice){0};
    struct bj_ident *id = bj_ident_new(f, &conf);
    memset(text, 'x', sizeof(text)); /* the identity must not refer to it */
    for (int i = 0; i < BJ_ID_FIELDS; i++) {
        char want[8] = "";
        if (i != BJ_ID_QOS)
            snprintf(want, sizeof(want), "f%d", i);
        assert_string_equal(id->f[i].p, want);
        assert_int_equal(id->f[i].n, strlen(want));
    }
    assert_true(id->n.start_sec == BJ_ABSENT);
    assert_false(id->complete);
    bj_ident_unref(id);
}

/* A field has 128 bytes at most, and is cut between characters. */
static void test_long(void **state)
{
    (void)state;
    struct bj_conf conf = {.label_user = true, .label_account = true};
    char text[600];
    for (size_t i = 0; i < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    struct bj_slice f[BJ_ID_FIELDS] = {
        [BJ_ID_USER] = {text, sizeof(text)},
        [BJ_ID_ACCOUNT] = {text + 1, sizeof(text) - 1},
    };
    struct bj_ident *id = bj_ident_new(f, &conf);
    assert_int_equal(id->f[BJ_ID_USER].n, 128);
    assert_int_equal(id->f[BJ_ID_ACCOUNT].n, 127); /* 3 + 62 * 2 */
    bj_ident_unref(id);
    memset(text, '"', sizeof(text)); /* each is two bytes in a label */
    f[BJ_ID_JOBID] = (struct bj_slice){"1", 1};
    id = bj_ident_new(f, &conf);
    assert_int_equal(id->labels.n,
                     strlen("jobid=\"1\",user=\"\",account=\"\"") + 4 * 128);
    bj_ident_unref(id);
}

static struct bj_ident *of_job(const char *p, size_t n)
{
    struct bj_conf conf = {0};
    struct bj_slice f[BJ_ID_FIELDS] = {[BJ_ID_JOBID] = {p, n}};
    return bj_ident_new(f, &conf);
}

/* Ids that look the same when sanitised must stay different: a duplicate
 * series makes the whole scrape fail. The hashes are those of Python's
 * functools.reduce(lambda h, c: ((h ^ c) * 16777619) % 2**32, b,
 * 2166136261). */
static void test_ids_stay_apart(void **state)
{
    (void)state;
    struct bj_ident *a = of_job("a\nb", 3), *b = of_job("a\tb", 3),
                    *c = of_job("a?b", 3);
    assert_string_equal(a->f[BJ_ID_JOBID].p, "a?b~28e4c710");
    assert_string_equal(b->f[BJ_ID_JOBID].p, "a?b~42e2b167");
    assert_string_equal(c->f[BJ_ID_JOBID].p, "a?b");
    /* a sanitised id does not change again */
    struct bj_ident *again = of_job(a->f[BJ_ID_JOBID].p, a->f[BJ_ID_JOBID].n);
    assert_string_equal(again->f[BJ_ID_JOBID].p, a->f[BJ_ID_JOBID].p);
    char text[200];
    memset(text, 'x', sizeof(text));
    struct bj_ident *d = of_job(text, 199), *e = of_job(text, 200),
                    *f = of_job(text, 128);
    assert_int_equal(d->f[BJ_ID_JOBID].n, 128);
    assert_int_equal(e->f[BJ_ID_JOBID].n, 128);
    assert_string_not_equal(d->f[BJ_ID_JOBID].p, e->f[BJ_ID_JOBID].p);
    assert_int_equal(f->f[BJ_ID_JOBID].p[127], 'x');
    const struct bj_ident *all[] = {a, b, c, d, e, f, again};
    for (size_t i = 0; i < COUNT(all); i++)
        bj_ident_unref(all[i]);
}

static void test_refs(void **state)
{
    (void)state;
    struct bj_ident *id = of_job("1", 1);
    assert_ptr_equal(bj_ident_ref(id), id);
    bj_ident_unref(id);
    assert_string_equal(id->f[BJ_ID_JOBID].p, "1");
    bj_ident_unref(id);
    bj_ident_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_long),   cmocka_unit_test(test_ids_stay_apart),
        cmocka_unit_test(test_refs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
