/* The processes below a directory: limits, malformed lines, entries that are
 * not processes. */
#include "tests/unit/lib/fakejob.h"

#include "core/find/pids.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void test_pids(void **state)
{
    (void)state;
    char path[PATH_CAP], deep[PATH_CAP] = "p";
    pid_t pids[8];
    fake_dir("p/a/b");
    fake_path("p", path);
    assert_false(bj_pids_any(path));
    fake_append("p/cgroup.procs", "");
    assert_int_equal(bj_pids_below(AT_FDCWD, path, pids, 8), 0);
    assert_false(bj_pids_any(path));
    fake_append("p/a/b/cgroup.procs", "17\n18");
    fake_append("p/cgroup.procs", "5\n0\n");
    assert_int_equal(bj_pids_below(AT_FDCWD, path, pids, 8), 3);
    assert_int_equal(pids[0], 5);
    assert_int_equal(pids[1], 17);
    assert_int_equal(pids[2], 18);
    assert_int_equal(bj_pids_below(AT_FDCWD, path, pids, 2), 2);
    assert_int_equal(bj_pids_below(AT_FDCWD, path, pids, 0), 0);
    assert_true(bj_pids_any(path));
    assert_true(bj_pids_has(path, 18));
    assert_false(bj_pids_has(path, 1));
    assert_false(bj_pids_has(path, 8));
    /* a process of another pid namespace counts, although it has no id here */
    fake_dir("q");
    fake_append("q/cgroup.procs", "0\n");
    assert_true(bj_pids_any(fake_path("q", path)));
    assert_int_equal(bj_pids_below(AT_FDCWD, path, pids, 8), 0);
    /* v2 reports it in one file */
    fake_append("q/cgroup.events", "populated 0\nfrozen 0\n");
    assert_false(bj_pids_any(path));
    assert_false(bj_pids_any(fake_path("none", path)));
    assert_int_equal(bj_pids_below(AT_FDCWD, path, pids, 8), -ENOENT);
    /* nested too deeply, and a loop of links */
    for (int i = 0; i < BJ_PIDS_DEPTH + 1; i++)
        memcpy(deep + 1 + 2 * i, "/d", 3);
    fake_join(deep, 99);
    assert_false(bj_pids_has(fake_path("p", path), 99));
    assert_int_equal(symlink(path, fake_path("p/a/loop", deep)), 0);
    assert_int_equal(bj_pids_below(AT_FDCWD, path, pids, 8), 3);
}

/* More ids than fit into a buffer. */
static void test_many_pids(void **state)
{
    (void)state;
    enum { N = 20000 };
    char path[PATH_CAP];
    FILE *f;
    fake_dir("m");
    assert_non_null(f = fopen(fake_path("m/cgroup.procs", path), "w"));
    for (int i = 1; i <= N; i++)
        fprintf(f, "%d\n", i * 7);
    assert_int_equal(fclose(f), 0);
    pid_t *pids = malloc(N * sizeof(*pids));
    fake_path("m", path);
    assert_int_equal(bj_pids_below(AT_FDCWD, path, pids, N), N);
    for (int i = 0; i < N; i++)
        assert_int_equal(pids[i], (i + 1) * 7);
    free(pids);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pids),
        TEST(test_many_pids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
