/* The tree of watched directories when memory runs out: nothing is forgotten.
 */
#include "core/find/tree.h"

#include "core/find/layout.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/fail.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { HITS = 3 };
static const char *const hits[HITS] = {"slurm/job_1", "slurm/job_2", "pbs/3"};
static unsigned found[HITS];

static unsigned classify(void *ctx, const char *rel)
{
    (void)ctx;
    return strcmp(rel, "slurm") == 0 || strcmp(rel, "pbs") == 0 ? BJ_PATH_INNER
           : strchr(rel, '/')                                   ? BJ_PATH_HIT
                                                                : BJ_PATH_OTHER;
}

static void *appeared(void *ctx, const char *rel, bool again)
{
    (void)ctx;
    (void)again;
    for (unsigned i = 0; i < HITS; i++)
        if (strcmp(rel, hits[i]) == 0) {
            found[i]++;
            return &found[i];
        }
    fail_msg("%s", rel);
    return NULL;
}

static void lost(void *ctx, void *cookie)
{
    (void)ctx;
    (void)cookie;
    fail_msg("nothing was removed");
}

/* A scan in which an allocation fails reports it; the next one, for which no
 * directory has changed, finds what was left out. */
static void test_no_memory(void **state)
{
    const struct bj_tree_ops ops = {
        .classify = classify, .appeared = appeared, .lost = lost};
    const char *root = tmp_make();
    unsigned long n = 0;
    (void)state;
    for (unsigned i = 0; i < HITS; i++)
        tmp_dir(hits[i]);
    for (bool failed = true; failed; n++) {
        struct bj_fdpool pool = {.max = 0};
        struct bj_tree *t = NULL;
        memset(found, 0, sizeof(found));
        assert_int_equal(bj_tree_new(root, &ops, &pool, &t), 0);
        bj_fail_after(n);
        int r = bj_tree_scan(t, false);
        failed = bj_fail_stop();
        assert_int_equal(r, failed ? -ENOMEM : 0);
        assert_int_equal(bj_tree_scan(t, false), 0);
        for (unsigned i = 0; i < HITS; i++)
            assert_int_equal(found[i], 1);
        bj_tree_free(t, false);
    }
    assert_in_range(n, HITS, 100);
    tmp_gone();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
